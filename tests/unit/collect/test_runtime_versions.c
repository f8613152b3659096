/*
 * Which interpreter a process runs, of those that its files have in them, and whose frames a stack gets. Files, mappings and the
 * interpreters' own parts are the test's.
 */
#include <errno.h>
#include <string.h>

#include "collect/elf/elf_files.h"
#include "collect/runtimes/hotspot_layouts.h"
#include "collect/runtimes/hotspot_stacks.h"
#include "collect/runtimes/python_stacks.h"
#include "collect/runtimes/script_stacks.h"
#include "collect/runtimes/v8_stacks.h"

#define hotspot_layouts_read         read_hotspot_of_test
#define elf_files_get_python         get_python_of_test
#define elf_files_get_v8             get_v8_of_test
#define elf_files_get_script         get_script_of_test
#define elf_files_find_named_runtime find_named_of_test
#define elf_files_get_layout         get_layout_of_test
#define objfile_layout_get_bias      get_bias_of_test
#define file_table_get               get_file_of_test
#define process_get_mappings         get_mappings_of_test
#define python_stacks_splice         splice_python
#define v8_stacks_splice             splice_v8
#define hotspot_stacks_splice        splice_hotspot
#define script_stacks_splice         splice_script
#define python_stacks_add_code       add_python
#define v8_stacks_add_function       add_v8
#define hotspot_stacks_add_method    add_hotspot
#define script_stacks_add_function   add_script
#define v8_stacks_get_lost           get_lost_v8
#define hotspot_stacks_get_dropped   get_dropped_hotspot
#define v8_stacks_free               free_v8
#define hotspot_stacks_free          free_hotspot
#define python_stacks_free           free_python
#define script_stacks_free           free_script
enum hotspot_presence read_hotspot_of_test(struct hotspot_layouts *layouts,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias);
const struct python_build *get_python_of_test(const struct elf_files *files,
					      const struct mapped_file *mapped);
const struct v8_build *get_v8_of_test(const struct elf_files *files,
				      const struct mapped_file *mapped);
const struct script_build *get_script_of_test(const struct elf_files *files,
					      const struct mapped_file *mapped);
int find_named_of_test(const struct elf_files *files, const struct mapped_file *mapped,
		       uint32_t *ret);
int get_layout_of_test(const struct elf_files *files, const struct mapped_file *mapped,
		       const struct objfile_layout **ret);
int get_bias_of_test(const struct objfile_layout *layout, const struct objfile_mapping *mapping,
		     uint64_t *ret);
const struct mapped_file *get_file_of_test(const struct file_table *table, uint32_t file);
const struct mapping *get_mappings_of_test(const struct process *process, size_t *ret_count);
int splice_python(struct python_stacks *stacks, const struct runtime_sample *source,
		  const struct runtime_frame_list *frames, const uint64_t *pcs, uint32_t num_pcs,
		  struct runtime_level *ret, uint32_t *ret_num, enum runtime_fit *ret_fit);
int splice_v8(struct v8_stacks *stacks, const struct runtime_sample *source,
	      const struct v8_build *build, const struct runtime_frame_list *frames,
	      const uint64_t *pcs, uint32_t num_pcs, struct runtime_level *ret, uint32_t *ret_num,
	      struct runtime_verdict *ret_verdict);
int splice_hotspot(struct hotspot_stacks *stacks, const struct runtime_sample *source,
		   const struct runtime_frame_list *frames, const uint64_t *pcs, uint32_t num_pcs,
		   struct runtime_level *ret, uint32_t *ret_num,
		   struct runtime_verdict *ret_verdict);
int splice_script(struct script_stacks *stacks, enum wire_runtime which,
		  const struct runtime_sample *source, const struct runtime_frame_list *frames,
		  const uint64_t *pcs, uint32_t num_pcs, struct runtime_level *ret,
		  uint32_t *ret_num, enum runtime_fit *ret_fit);
int add_python(struct python_stacks *stacks, const struct wire_python_code *record);
int add_v8(struct v8_stacks *stacks, const struct wire_v8_function *record);
int add_hotspot(struct hotspot_stacks *stacks, const struct wire_hotspot_method *record);
int add_script(struct script_stacks *stacks, const struct wire_script_function *record);
uint64_t get_lost_v8(const struct v8_stacks *stacks);
uint64_t get_dropped_hotspot(const struct hotspot_stacks *stacks);
void free_v8(struct v8_stacks *stacks);
void free_hotspot(struct hotspot_stacks *stacks);
void free_python(struct python_stacks *stacks);
void free_script(struct script_stacks *stacks);
#include "collect/runtimes/runtime_stacks.c"

#include "unit.h"

/* ---- files ---------------------------------------------------------------------------------------------------------- */

#define NUM_FILES 8

/* What a file has in it. */
static struct file {
	enum hotspot_presence hotspot;
	struct hotspot_layout hotspot_layout;
	struct python_build python;
	struct v8_build v8;
	struct script_build script;
	bool has_python;
	bool has_v8;
	bool has_script;
	bool is_named;
} files[NUM_FILES];
static struct mapping mappings[NUM_FILES];
static size_t num_mappings;
static unsigned int num_asked; /* for HotSpot */
static bool has_no_layout;
static bool has_no_bias;

/* A file is known by its place in the array. */
static const struct file *file_of(const struct mapped_file *mapped)
{
	return (const struct file *)mapped;
}

const struct mapped_file *get_file_of_test(const struct file_table *table _unused_, uint32_t file)
{
	assert_in_range(file, 0, NUM_FILES - 1);
	return (const struct mapped_file *)&files[file];
}

const struct mapping *get_mappings_of_test(const struct process *process _unused_,
					   size_t *ret_count)
{
	*ret_count = num_mappings;
	return mappings;
}

enum hotspot_presence read_hotspot_of_test(struct hotspot_layouts *layouts _unused_,
					   const struct process *process _unused_,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias)
{
	num_asked++;
	*ret_bias = 0;
	*ret = &files[mapping->file].hotspot_layout;
	return files[mapping->file].hotspot;
}

const struct python_build *get_python_of_test(const struct elf_files *elf_files _unused_,
					      const struct mapped_file *mapped)
{
	return file_of(mapped)->has_python ? &file_of(mapped)->python : NULL;
}

const struct v8_build *get_v8_of_test(const struct elf_files *elf_files _unused_,
				      const struct mapped_file *mapped)
{
	return file_of(mapped)->has_v8 ? &file_of(mapped)->v8 : NULL;
}

const struct script_build *get_script_of_test(const struct elf_files *elf_files _unused_,
					      const struct mapped_file *mapped)
{
	return file_of(mapped)->has_script ? &file_of(mapped)->script : NULL;
}

int find_named_of_test(const struct elf_files *elf_files _unused_, const struct mapped_file *mapped,
		       uint32_t *ret)
{
	*ret = 2;
	return file_of(mapped)->is_named ? 0 : -ENOENT;
}

int get_layout_of_test(const struct elf_files *elf_files _unused_,
		       const struct mapped_file *mapped _unused_, const struct objfile_layout **ret)
{
	*ret = NULL;
	return has_no_layout ? -ENOEXEC : 0;
}

int get_bias_of_test(const struct objfile_layout *layout _unused_,
		     const struct objfile_mapping *mapping, uint64_t *ret)
{
	*ret = mapping->start - mapping->file_offset;
	assert_true(mapping->end > mapping->start);
	return has_no_bias ? -ENOENT : 0;
}

/* ---- interpreters' parts -------------------------------------------------------------------------------------------- */

/* Which one was asked last; NUM_WIRE_RUNTIMES: none. */
static enum wire_runtime asked;
static struct runtime_frame_list given;
static unsigned int v8_major;
static int add_error;
static int num_added[NUM_WIRE_RUNTIMES];
static unsigned int num_freed;
static uint64_t num_lost;

static int note(enum wire_runtime which, const struct runtime_frame_list *frames)
{
	asked = which;
	given = *frames;
	return -EIO;
}

int splice_python(struct python_stacks *stacks _unused_,
		  const struct runtime_sample *source _unused_,
		  const struct runtime_frame_list *frames, const uint64_t *pcs _unused_,
		  uint32_t num_pcs _unused_, struct runtime_level *ret _unused_,
		  uint32_t *ret_num _unused_, enum runtime_fit *ret_fit)
{
	*ret_fit = RUNTIME_FITS;
	return note(WIRE_RUNTIME_PYTHON, frames);
}

int splice_v8(struct v8_stacks *stacks _unused_, const struct runtime_sample *source _unused_,
	      const struct v8_build *build, const struct runtime_frame_list *frames,
	      const uint64_t *pcs _unused_, uint32_t num_pcs _unused_,
	      struct runtime_level *ret _unused_, uint32_t *ret_num _unused_,
	      struct runtime_verdict *ret_verdict)
{
	v8_major = build->major;
	ret_verdict->fit = RUNTIME_FITS;
	return note(WIRE_RUNTIME_V8, frames);
}

int splice_hotspot(struct hotspot_stacks *stacks _unused_,
		   const struct runtime_sample *source _unused_,
		   const struct runtime_frame_list *frames, const uint64_t *pcs _unused_,
		   uint32_t num_pcs _unused_, struct runtime_level *ret _unused_,
		   uint32_t *ret_num _unused_, struct runtime_verdict *ret_verdict)
{
	*ret_verdict = (struct runtime_verdict){.fit = RUNTIME_FITS};
	return note(WIRE_RUNTIME_HOTSPOT, frames);
}

int splice_script(struct script_stacks *stacks _unused_, enum wire_runtime which,
		  const struct runtime_sample *source _unused_,
		  const struct runtime_frame_list *frames, const uint64_t *pcs _unused_,
		  uint32_t num_pcs _unused_, struct runtime_level *ret _unused_,
		  uint32_t *ret_num _unused_, enum runtime_fit *ret_fit)
{
	*ret_fit = RUNTIME_FITS;
	return note(which, frames);
}

int add_python(struct python_stacks *stacks _unused_,
	       const struct wire_python_code *record _unused_)
{
	num_added[WIRE_RUNTIME_PYTHON]++;
	return add_error;
}

int add_v8(struct v8_stacks *stacks _unused_, const struct wire_v8_function *record _unused_)
{
	num_added[WIRE_RUNTIME_V8]++;
	return add_error;
}

int add_hotspot(struct hotspot_stacks *stacks _unused_,
		const struct wire_hotspot_method *record _unused_)
{
	num_added[WIRE_RUNTIME_HOTSPOT]++;
	return add_error;
}

int add_script(struct script_stacks *stacks _unused_,
	       const struct wire_script_function *record _unused_)
{
	num_added[WIRE_RUNTIME_PHP]++;
	return add_error;
}

uint64_t get_lost_v8(const struct v8_stacks *part _unused_)
{
	return num_lost;
}

uint64_t get_dropped_hotspot(const struct hotspot_stacks *part _unused_)
{
	return 10 * num_lost;
}

void free_v8(struct v8_stacks *part)
{
	num_freed += part != NULL;
}

void free_hotspot(struct hotspot_stacks *part)
{
	num_freed += 10 * (part != NULL);
}

void free_python(struct python_stacks *part)
{
	num_freed += 100 * (part != NULL);
}

void free_script(struct script_stacks *part)
{
	num_freed += 1000 * (part != NULL);
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

static struct runtime_stacks *stacks;
static struct process process;

static int set_up(void **state _unused_)
{
	memset(files, 0, sizeof(files));
	num_mappings = 0;
	num_asked = num_freed = 0;
	num_lost = 0;
	has_no_layout = has_no_bias = false;
	asked = NUM_WIRE_RUNTIMES;
	add_error = 0;
	memset(num_added, 0, sizeof(num_added));
	stacks = calloc(1, sizeof(*stacks));
	assert_non_null(stacks);
	process = (struct process){.id = 1, .mappings_version = 1};
	return 0;
}

static int tear_down(void **state _unused_)
{
	runtime_stacks_free(stacks);
	return 0;
}

/* A mapping of the next file. */
static struct file *map_file(void)
{
	mappings[num_mappings] = (struct mapping){
		.start = 0x10000 * (num_mappings + 1),
		.end = 0x10000 * (num_mappings + 1) + 0x8000,
		.file_offset = 0x1000,
		.file = (uint32_t)num_mappings,
	};
	return &files[num_mappings++];
}

static struct file *map_python(unsigned int minor, enum python_support support)
{
	struct file *file = map_file();

	file->has_python = true;
	file->python = (struct python_build){.support = support,
					     .major = 3,
					     .minor = minor,
					     .runtime = 0x5000,
					     .runtime_bytes = 0x100};
	return file;
}

static struct file *map_v8(unsigned int major, enum v8_support support)
{
	struct file *file = map_file();

	file->has_v8 = true;
	file->v8 = (struct v8_build){.support = support, .major = major, .minor = 3};
	return file;
}

static struct file *map_script(enum wire_runtime runtime, enum script_support support)
{
	struct file *file = map_file();

	file->has_script = true;
	file->script = (struct script_build){
		.support = support, .runtime = runtime, .major = 5, .minor = 36};
	return file;
}

static struct file *map_hotspot(enum hotspot_presence presence, enum hotspot_support support)
{
	struct file *file = map_file();

	file->hotspot = presence;
	file->hotspot_layout = (struct hotspot_layout){.support = support, .major = 17};
	return file;
}

/* Its mappings are other ones now. */
static void expect_version(bool is_there, bool is_known, enum runtime_kind kind, uint16_t major,
			   uint16_t minor)
{
	struct runtime_version version;

	process.mappings_version++;
	version = runtime_stacks_get_version(stacks, &process);
	assert_int_equal(version.is_there, is_there);
	assert_int_equal(version.is_known, is_known);
	assert_int_equal(version.kind, kind);
	assert_int_equal(version.major, major);
	assert_int_equal(version.minor, minor);
	num_mappings = 0;
	memset(files, 0, sizeof(files));
}

static void each_interpreter_has_its_version(void **state _unused_)
{
	map_python(11, PYTHON_KNOWN);
	expect_version(true, true, RUNTIME_PYTHON, 3, 11);
	map_python(15, PYTHON_UNKNOWN_VERSION);
	expect_version(true, false, RUNTIME_PYTHON, 3, 15);
	map_v8(11, V8_KNOWN);
	expect_version(true, true, RUNTIME_V8, 11, 3);
	map_v8(11, V8_UNKNOWN_BUILD);
	expect_version(true, false, RUNTIME_V8, 11, 3);
	map_script(WIRE_RUNTIME_PHP, SCRIPT_KNOWN);
	expect_version(true, true, RUNTIME_PHP, 5, 36);
	map_script(WIRE_RUNTIME_RUBY, SCRIPT_UNKNOWN_VERSION);
	expect_version(true, false, RUNTIME_RUBY, 5, 36);
	map_script(WIRE_RUNTIME_PERL, SCRIPT_KNOWN);
	expect_version(true, true, RUNTIME_PERL, 5, 36);
	map_hotspot(HOTSPOT_READ, HOTSPOT_KNOWN);
	expect_version(true, true, RUNTIME_HOTSPOT, 17, 0);
	map_hotspot(HOTSPOT_READ, HOTSPOT_UNKNOWN_VERSION);
	expect_version(true, false, RUNTIME_HOTSPOT, 17, 0);
	map_hotspot(HOTSPOT_UNREADABLE, HOTSPOT_KNOWN);
	expect_version(true, false, RUNTIME_HOTSPOT, 0, 0);
	map_file()->is_named = true;
	expect_version(true, false, RUNTIME_NAMED + 2, 0, 0);
	map_file();
	expect_version(false, false, 0, 0, 0);
	expect_version(false, false, 0, 0, 0);
}

/* Whatever order they are mapped in. */
static void the_first_kind_of_several_counts(void **state _unused_)
{
	map_script(WIRE_RUNTIME_PERL, SCRIPT_KNOWN);
	map_v8(11, V8_KNOWN);
	map_python(11, PYTHON_KNOWN);
	expect_version(true, true, RUNTIME_PYTHON, 3, 11);
	map_python(11, PYTHON_KNOWN);
	map_v8(11, V8_KNOWN);
	map_script(WIRE_RUNTIME_PERL, SCRIPT_KNOWN);
	expect_version(true, true, RUNTIME_PYTHON, 3, 11);
	/* Of two of one kind the first. */
	map_file();
	map_python(11, PYTHON_KNOWN);
	map_python(12, PYTHON_KNOWN);
	expect_version(true, true, RUNTIME_PYTHON, 3, 11);
	assert_int_equal(stacks->images.items[2].file, 1);
}

/* Memory has no file. */
static void memory_holds_no_interpreter(void **state _unused_)
{
	map_python(11, PYTHON_KNOWN);
	mappings[0].file = FILE_NONE;
	expect_version(false, false, 0, 0, 0);
	assert_int_equal(num_asked, 0);
}

/* A virtual machine that starts has not said anything yet. */
static void a_starting_java_is_asked_again(void **state _unused_)
{
	struct file *file = map_hotspot(HOTSPOT_UNREAD, HOTSPOT_KNOWN);

	assert_false(runtime_stacks_get_version(stacks, &process).is_there);
	assert_false(runtime_stacks_get_version(stacks, &process).is_there);
	assert_int_equal(num_asked, 2);
	file->hotspot = HOTSPOT_READ;
	assert_true(runtime_stacks_get_version(stacks, &process).is_there);
	assert_int_equal(num_asked, 3);
	assert_true(runtime_stacks_get_version(stacks, &process).is_known);
	assert_int_equal(num_asked, 3);
	/* Other mappings, another process. */
	process.mappings_version++;
	runtime_stacks_get_version(stacks, &process);
	process.id++;
	runtime_stacks_get_version(stacks, &process);
	assert_int_equal(num_asked, 5);
}

static void the_lock_of_python_is_in_its_runtime(void **state _unused_)
{
	const uint64_t start = 0x10000 - 0x1000 + 0x5000;

	map_python(11, PYTHON_KNOWN);
	map_python(12, PYTHON_KNOWN);
	assert_false(runtime_stacks_is_gil(stacks, &process, start - 1));
	assert_true(runtime_stacks_is_gil(stacks, &process, start));
	assert_true(runtime_stacks_is_gil(stacks, &process, start + 0xff));
	assert_false(runtime_stacks_is_gil(stacks, &process, start + 0x100));
	/* Of the second one it is not known. */
	assert_false(runtime_stacks_is_gil(stacks, &process, start + 0x10000));
}

static void a_lock_may_be_unknown(void **state _unused_)
{
	map_v8(11, V8_KNOWN);
	assert_false(runtime_stacks_is_gil(stacks, &process, 0));
	process.mappings_version++;
	num_mappings = 0;
	map_python(11, PYTHON_UNKNOWN_BUILD);
	assert_false(runtime_stacks_is_gil(stacks, &process, 0x14000));
	process.mappings_version++;
	num_mappings = 0;
	map_python(11, PYTHON_KNOWN);
	has_no_layout = true;
	assert_false(runtime_stacks_is_gil(stacks, &process, 0x14000));
	process.mappings_version++;
	has_no_layout = false;
	has_no_bias = true;
	assert_false(runtime_stacks_is_gil(stacks, &process, 0x14000));
	process.mappings_version++;
	has_no_bias = false;
	assert_true(runtime_stacks_is_gil(stacks, &process, 0x14000));
}

static void add_stack(uint64_t hash, enum wire_runtime runtime, uint16_t num_frames)
{
	static struct wire_runtime_stack record;

	record = (struct wire_runtime_stack){.type = WIRE_RUNTIME_STACK,
					     .num_frames = num_frames,
					     .runtime = runtime,
					     .end = WIRE_RUNTIME_PARTIAL,
					     .hash = hash};
	for (uint16_t i = 0; i < num_frames; i++)
		record.frames[i].code = hash + i;
	assert_int_equal(runtime_stacks_add(stacks, &record, sizeof(record)), 0);
}

static void splice(uint64_t hash)
{
	const struct runtime_sample source = {.process = &process, .frames = hash};
	struct runtime_verdict verdict = {.may_lack_inlined = true};
	uint32_t num;

	asked = NUM_WIRE_RUNTIMES;
	assert_int_equal(runtime_stacks_splice(stacks, &source, NULL, 0, NULL, &num, &verdict),
			 -EIO);
	assert_int_equal(verdict.fit, RUNTIME_FITS);
	assert_false(verdict.may_lack_inlined);
}

static void frames_that_came_say_whose_they_are(void **state _unused_)
{
	for (unsigned int i = 0; i < NUM_WIRE_RUNTIMES; i++)
		add_stack(1001 + 100 * i, (enum wire_runtime)i, (uint16_t)(i + 1));
	for (unsigned int i = 0; i < NUM_WIRE_RUNTIMES; i++) {
		splice(1001 + 100 * i);
		assert_int_equal(asked, i);
		assert_true(given.have_come);
		assert_int_equal(given.length, i + 1);
		assert_int_equal(given.end, WIRE_RUNTIME_PARTIAL);
		for (unsigned int frame = 0; frame <= i; frame++)
			assert_int_equal(given.items[frame].code, 1001 + 100 * i + frame);
	}
	/* As many as a stack has. */
	add_stack(5001, WIRE_RUNTIME_PHP, WIRE_MAX_RUNTIME_FRAMES);
	splice(5001);
	assert_int_equal(given.length, WIRE_MAX_RUNTIME_FRAMES);
	add_stack(5003, WIRE_RUNTIME_PHP, 3);
	splice(5003);
	assert_int_equal(given.length, 3);
	assert_int_equal(given.items[0].code, 5003);
	/* The same once more adds nothing. */
	add_stack(1001, WIRE_RUNTIME_V8, 9);
	splice(1001);
	assert_int_equal(asked, WIRE_RUNTIME_PYTHON);
	assert_int_equal(given.length, 1);
}

/* What the process runs. */
static void without_frames_the_mappings_decide(void **state _unused_)
{
	splice(RUNTIME_NO_FRAMES);
	assert_int_equal(asked, WIRE_RUNTIME_PYTHON);
	assert_false(given.have_come);
	assert_int_equal(given.length, 0);
	process.mappings_version++;
	map_v8(12, V8_KNOWN);
	splice(RUNTIME_NO_FRAMES);
	assert_int_equal(asked, WIRE_RUNTIME_V8);
	assert_int_equal(v8_major, 12);
	process.mappings_version++;
	num_mappings = 0;
	memset(files, 0, sizeof(files));
	map_hotspot(HOTSPOT_READ, HOTSPOT_KNOWN);
	splice(RUNTIME_NO_FRAMES);
	assert_int_equal(asked, WIRE_RUNTIME_HOTSPOT);
	for (unsigned int i = WIRE_RUNTIME_PHP; i <= WIRE_RUNTIME_PERL; i++) {
		process.mappings_version++;
		num_mappings = 0;
		memset(files, 0, sizeof(files));
		map_script((enum wire_runtime)i, SCRIPT_KNOWN);
		splice(RUNTIME_NO_FRAMES);
		assert_int_equal(asked, i);
	}
}

/* The build that is known of two. */
static void v8_is_the_first_that_is_known(void **state _unused_)
{
	map_v8(9, V8_UNKNOWN_VERSION);
	map_v8(11, V8_KNOWN);
	map_v8(12, V8_KNOWN);
	splice(RUNTIME_NO_FRAMES);
	assert_int_equal(v8_major, 11);
}

/* Shorter ones are none. */
static void records_go_to_their_interpreter(void **state _unused_)
{
	static const struct {
		enum wire_runtime runtime;
		uint32_t type;
		size_t size;
	} kinds[] = {
		{WIRE_RUNTIME_PYTHON, WIRE_PYTHON_CODE, sizeof(struct wire_python_code)},
		{WIRE_RUNTIME_V8, WIRE_V8_FUNCTION, sizeof(struct wire_v8_function)},
		{WIRE_RUNTIME_HOTSPOT, WIRE_HOTSPOT_METHOD, sizeof(struct wire_hotspot_method)},
		{WIRE_RUNTIME_PHP, WIRE_SCRIPT_FUNCTION, sizeof(struct wire_script_function)}};
	static uint64_t record[1024];
	uint32_t *type = (uint32_t *)record;

	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		assert_true(kinds[i].size <= sizeof(record));
		*type = kinds[i].type;
		assert_int_equal(runtime_stacks_add(stacks, record, kinds[i].size - 1), 0);
		assert_int_equal(num_added[kinds[i].runtime], 0);
		assert_int_equal(runtime_stacks_add(stacks, record, kinds[i].size), 0);
		assert_int_equal(num_added[kinds[i].runtime], 1);
		assert_int_equal(runtime_stacks_get_lost_codes(stacks), 0);
	}
	*type = 99;
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(record)), 0);
	assert_int_equal(runtime_stacks_add(stacks, record, 3), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		assert_int_equal(num_added[kinds[i].runtime], 1);
	/* What was not kept has no name. */
	*type = WIRE_PYTHON_CODE;
	add_error = -ENOSPC;
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(record)), 0);
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(record)), 0);
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 2);
	add_error = -ENOMEM;
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(record)), -ENOMEM);
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 2);
}

static void what_was_lost_stays_when_the_parts_go(void **state _unused_)
{
	num_lost = 3;
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 0);
	stacks->v8 = (void *)1;
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 3);
	stacks->hotspot = (void *)1;
	stacks->python = (void *)1;
	stacks->script = (void *)1;
	stacks->num_lost_codes = 100;
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 133);
	runtime_stacks_forget(stacks);
	assert_int_equal(num_freed, 1111);
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 133);
	runtime_stacks_forget(stacks);
	assert_int_equal(num_freed, 1111);
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 133);
}

static void kinds_have_names(void **state _unused_)
{
	char version[RUNTIME_VERSION_BYTES];

	assert_string_equal(runtime_kind_get_name(RUNTIME_PYTHON), "Python");
	assert_string_equal(runtime_kind_get_name(RUNTIME_PERL), "Perl");
	assert_null(runtime_kind_get_named(RUNTIME_NAMED - 1));
	assert_ptr_equal(runtime_kind_get_named(RUNTIME_NAMED), named_runtime_get(0));
	assert_string_equal(runtime_kind_get_name(RUNTIME_NAMED + 1), named_runtime_get(1)->name);
	runtime_format_version(RUNTIME_HOTSPOT, 17, 4, version);
	assert_string_equal(version, "17");
	runtime_format_version(RUNTIME_RUBY, 3, 1, version);
	assert_string_equal(version, "3.1");
	runtime_format_version(RUNTIME_RUBY, UINT16_MAX, UINT16_MAX, version);
	assert_string_equal(version, "65535.65535");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_interpreter_has_its_version),
		TEST(the_first_kind_of_several_counts),
		TEST(memory_holds_no_interpreter),
		TEST(a_starting_java_is_asked_again),
		TEST(the_lock_of_python_is_in_its_runtime),
		TEST(a_lock_may_be_unknown),
		TEST(frames_that_came_say_whose_they_are),
		TEST(without_frames_the_mappings_decide),
		TEST(v8_is_the_first_that_is_known),
		TEST(records_go_to_their_interpreter),
		TEST(what_was_lost_stays_when_the_parts_go),
		TEST(kinds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
