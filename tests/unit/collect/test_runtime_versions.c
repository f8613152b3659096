/*
 * Which runtime a process runs, of those that its files contain, and whose frames a stack gets. Files, mappings and the
 * interpreters' own parts are the test's.
 */
#include <errno.h>
#include <string.h>

#include "collect/elf/elf_files.h"
#include "collect/runtimes/hotspot_layouts.h"
#include "collect/runtimes/runtime_ops.h"

#define hotspot_layouts_read    read_hotspot_of_test
#define elf_files_get_runtime   get_build_of_test
#define elf_files_get_layout    get_layout_of_test
#define objfile_layout_get_bias get_bias_of_test
#define file_table_get          get_file_of_test
#define process_get_mappings    get_mappings_of_test
#define runtime_ops_get         get_ops_of_test
enum hotspot_presence read_hotspot_of_test(struct hotspot_layouts *layouts,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias);
const struct runtime_build *get_build_of_test(const struct elf_files *files,
					      const struct mapped_file *mapped);
int get_layout_of_test(const struct elf_files *files, const struct mapped_file *mapped,
		       const struct objfile_layout **ret);
int get_bias_of_test(const struct objfile_layout *layout, const struct objfile_mapping *mapping,
		     uint64_t *ret);
const struct mapped_file *get_file_of_test(const struct file_table *table, uint32_t file);
const struct mapping *get_mappings_of_test(const struct process *process, size_t *ret_count);
const struct runtime_ops *get_ops_of_test(enum wire_runtime runtime);
#include "collect/runtimes/process_runtime.c"
#include "collect/runtimes/runtime_stacks.c"

#include "unit.h"

/* ---- files ---------------------------------------------------------------------------------------------------------- */

#define NUM_FILES 8

static struct file {
	bool has_runtime;
	struct runtime_build build;
	enum hotspot_presence hotspot;
	struct hotspot_layout hotspot_layout;
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

const struct runtime_build *get_build_of_test(const struct elf_files *elf_files _unused_,
					      const struct mapped_file *mapped)
{
	return file_of(mapped)->has_runtime ? &file_of(mapped)->build : NULL;
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

/* A part, by its interpreter. */
static struct part {
	int num_added;
	int num_freed;
	uint64_t num_lost;
} parts[NUM_WIRE_INTERPRETERS];

/* Which one was asked last; NUM_WIRE_RUNTIMES: none. */
static enum wire_runtime asked;
static struct runtime_splice given;
static int add_error;

static void free_part(void *context)
{
	struct part *part = context;

	if (part)
		part->num_freed++;
}

static int add_part_code(void *context, const void *record _unused_)
{
	struct part *part = context;

	part->num_added++;
	return add_error;
}

static int splice_part(void *context, struct runtime_splice *splice)
{
	asked = (enum wire_runtime)((struct part *)context - parts);
	given = *splice;
	splice->verdict.fit = RUNTIME_FITS;
	splice->num_levels = 42;
	return -EIO;
}

static uint64_t count_lost_of_part(const void *context)
{
	const struct part *part = context;

	return part->num_lost;
}

/* The size of the record tells the interpreter, and every other one counts. */
const struct runtime_ops *get_ops_of_test(enum wire_runtime runtime)
{
	static struct runtime_ops ops[NUM_WIRE_INTERPRETERS];

	assert_in_range(runtime, 0, NUM_WIRE_INTERPRETERS - 1);
	ops[runtime] = (struct runtime_ops){
		.free = free_part,
		.add_code = add_part_code,
		.code_bytes = sizeof(struct wire_runtime_code) + 8 * runtime,
		.splice = splice_part,
		.count_lost = runtime % 2 ? count_lost_of_part : NULL,
	};
	return &ops[runtime];
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

static struct runtime_stacks *stacks;
static struct process process;

static int set_up(void **state _unused_)
{
	memset(files, 0, sizeof(files));
	memset(parts, 0, sizeof(parts));
	num_mappings = 0;
	num_asked = 0;
	has_no_layout = has_no_bias = false;
	asked = NUM_WIRE_RUNTIMES;
	add_error = 0;
	stacks = calloc(1, sizeof(*stacks));
	assert_non_null(stacks);
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		stacks->of_runtimes[i] = &parts[i];
	process = (struct process){.id = 1, .mappings_version = 1};
	return 0;
}

static int tear_down(void **state _unused_)
{
	runtime_stacks_free(stacks);
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		assert_int_equal(parts[i].num_freed, 1);
	return 0;
}

/* Other mappings than before. */
static void remap(void)
{
	process.mappings_version++;
	num_mappings = 0;
	memset(files, 0, sizeof(files));
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

static struct file *map_build(enum wire_runtime runtime, enum runtime_support support,
			      unsigned int major, unsigned int minor)
{
	struct file *file = map_file();

	file->has_runtime = true;
	file->build = (struct runtime_build){.runtime = runtime,
					     .support = support,
					     .major = major,
					     .minor = minor,
					     .state = 0x5000,
					     .state_bytes = 0x100};
	return file;
}

static struct file *map_python(unsigned int minor, enum runtime_support support)
{
	return map_build(WIRE_RUNTIME_PYTHON, support, 3, minor);
}

static struct file *map_hotspot(enum hotspot_presence presence, enum runtime_support support)
{
	struct file *file = map_build(WIRE_RUNTIME_HOTSPOT, SUPPORT_BY_PROCESS, 0, 0);

	file->hotspot = presence;
	file->hotspot_layout = (struct hotspot_layout){.support = support, .major = 17};
	return file;
}

static void expect(bool is_there, bool is_known, enum wire_runtime which, uint16_t major,
		   uint16_t minor)
{
	struct process_runtime runtime = runtime_stacks_get_runtime(stacks, &process);

	assert_int_equal(runtime.is_there, is_there);
	assert_int_equal(runtime.is_known, is_known);
	assert_int_equal(runtime.runtime, which);
	assert_int_equal(runtime.major, major);
	assert_int_equal(runtime.minor, minor);
	remap();
}

static void each_runtime_has_its_version(void **state _unused_)
{
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_RUNTIMES; runtime++) {
		if (runtime == WIRE_RUNTIME_HOTSPOT)
			continue;
		map_build(runtime, SUPPORT_KNOWN, 5, 36);
		expect(true, true, runtime, 5, 36);
		map_build(runtime, SUPPORT_UNKNOWN_BUILD, 5, 36);
		expect(true, false, runtime, 5, 36);
	}
	map_build(WIRE_RUNTIME_LUA, SUPPORT_NAME_ONLY, 0, 0);
	expect(true, false, WIRE_RUNTIME_LUA, 0, 0);
	map_hotspot(HOTSPOT_READ, SUPPORT_KNOWN);
	expect(true, true, WIRE_RUNTIME_HOTSPOT, 17, 0);
	map_hotspot(HOTSPOT_READ, SUPPORT_UNKNOWN_VERSION);
	expect(true, false, WIRE_RUNTIME_HOTSPOT, 17, 0);
	map_hotspot(HOTSPOT_UNREADABLE, SUPPORT_KNOWN);
	expect(true, false, WIRE_RUNTIME_HOTSPOT, 0, 0);
	map_file();
	expect(false, false, 0, 0, 0);
	expect(false, false, 0, 0, 0);
}

/* Whatever order they are mapped in. */
static void the_first_runtime_of_several_counts(void **state _unused_)
{
	map_build(WIRE_RUNTIME_PERL, SUPPORT_KNOWN, 5, 36);
	map_build(WIRE_RUNTIME_V8, SUPPORT_KNOWN, 11, 3);
	map_python(11, SUPPORT_KNOWN);
	expect(true, true, WIRE_RUNTIME_PYTHON, 3, 11);
	map_python(11, SUPPORT_KNOWN);
	map_build(WIRE_RUNTIME_V8, SUPPORT_KNOWN, 11, 3);
	map_build(WIRE_RUNTIME_PERL, SUPPORT_KNOWN, 5, 36);
	expect(true, true, WIRE_RUNTIME_PYTHON, 3, 11);
	/* Of two of one kind the first. */
	map_file();
	map_python(11, SUPPORT_KNOWN);
	map_python(12, SUPPORT_KNOWN);
	assert_int_equal(runtime_stacks_get_runtime(stacks, &process).file, 1);
	expect(true, true, WIRE_RUNTIME_PYTHON, 3, 11);
}

/* It is the one whose frames are shown. */
static void a_known_build_precedes_an_unknown_one(void **state _unused_)
{
	map_python(15, SUPPORT_UNKNOWN_VERSION);
	map_build(WIRE_RUNTIME_PERL, SUPPORT_KNOWN, 5, 36);
	expect(true, true, WIRE_RUNTIME_PERL, 5, 36);
	map_build(WIRE_RUNTIME_V8, SUPPORT_UNKNOWN_VERSION, 9, 0);
	map_build(WIRE_RUNTIME_V8, SUPPORT_KNOWN, 11, 3);
	expect(true, true, WIRE_RUNTIME_V8, 11, 3);
	map_build(WIRE_RUNTIME_LUA, SUPPORT_NAME_ONLY, 0, 0);
	map_python(15, SUPPORT_UNKNOWN_VERSION);
	expect(true, false, WIRE_RUNTIME_PYTHON, 3, 15);
	map_hotspot(HOTSPOT_UNREAD, SUPPORT_KNOWN);
	map_build(WIRE_RUNTIME_RUBY, SUPPORT_KNOWN, 3, 1);
	expect(true, true, WIRE_RUNTIME_RUBY, 3, 1);
}

/* Memory has no file. */
static void memory_holds_no_interpreter(void **state _unused_)
{
	map_hotspot(HOTSPOT_READ, SUPPORT_KNOWN);
	mappings[0].file = FILE_NONE;
	expect(false, false, 0, 0, 0);
	assert_int_equal(num_asked, 0);
}

/* A virtual machine that starts has not said anything yet. */
static void a_starting_java_is_asked_again(void **state _unused_)
{
	struct file *file = map_hotspot(HOTSPOT_UNREAD, SUPPORT_KNOWN);

	assert_false(runtime_stacks_get_runtime(stacks, &process).is_there);
	assert_false(runtime_stacks_get_runtime(stacks, &process).is_there);
	assert_int_equal(num_asked, 2);
	file->hotspot = HOTSPOT_READ;
	assert_true(runtime_stacks_get_runtime(stacks, &process).is_there);
	assert_int_equal(num_asked, 3);
	assert_true(runtime_stacks_get_runtime(stacks, &process).is_known);
	assert_int_equal(num_asked, 3);
	/* Other mappings, another process. */
	process.mappings_version++;
	runtime_stacks_get_runtime(stacks, &process);
	process.id++;
	runtime_stacks_get_runtime(stacks, &process);
	assert_int_equal(num_asked, 5);
}

static void the_lock_of_python_is_in_its_runtime(void **state _unused_)
{
	const uint64_t start = 0x10000 - 0x1000 + 0x5000;

	map_python(11, SUPPORT_KNOWN);
	map_python(12, SUPPORT_KNOWN);
	assert_false(runtime_stacks_is_gil(stacks, &process, start - 1));
	assert_true(runtime_stacks_is_gil(stacks, &process, start));
	assert_true(runtime_stacks_is_gil(stacks, &process, start + 0xff));
	assert_false(runtime_stacks_is_gil(stacks, &process, start + 0x100));
	/* Of the second one it is not known. */
	assert_false(runtime_stacks_is_gil(stacks, &process, start + 0x10000));
}

static void a_lock_may_be_unknown(void **state _unused_)
{
	map_build(WIRE_RUNTIME_V8, SUPPORT_KNOWN, 11, 3);
	assert_false(runtime_stacks_is_gil(stacks, &process, 0));
	remap();
	map_python(11, SUPPORT_UNKNOWN_BUILD);
	assert_false(runtime_stacks_is_gil(stacks, &process, 0x14000));
	remap();
	map_python(11, SUPPORT_KNOWN);
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
	assert_int_equal(num, 42);
	assert_false(verdict.may_lack_inlined);
}

static void frames_that_came_say_whose_they_are(void **state _unused_)
{
	for (unsigned int i = 0; i < NUM_WIRE_INTERPRETERS; i++)
		add_stack(1001 + 100 * i, (enum wire_runtime)i, (uint16_t)(i + 1));
	for (unsigned int i = 0; i < NUM_WIRE_INTERPRETERS; i++) {
		splice(1001 + 100 * i);
		assert_int_equal(asked, i);
		assert_true(given.frames.have_come);
		assert_int_equal(given.frames.length, i + 1);
		assert_int_equal(given.frames.end, WIRE_RUNTIME_PARTIAL);
		for (unsigned int frame = 0; frame <= i; frame++)
			assert_int_equal(given.frames.items[frame].code, 1001 + 100 * i + frame);
	}
	/* As many as a stack has. */
	add_stack(5001, WIRE_RUNTIME_PHP, WIRE_MAX_RUNTIME_FRAMES);
	splice(5001);
	assert_int_equal(given.frames.length, WIRE_MAX_RUNTIME_FRAMES);
	add_stack(5003, WIRE_RUNTIME_PHP, 3);
	splice(5003);
	assert_int_equal(given.frames.length, 3);
	assert_int_equal(given.frames.items[0].code, 5003);
	/* The same once more adds nothing. */
	add_stack(1001, WIRE_RUNTIME_V8, 9);
	splice(1001);
	assert_int_equal(asked, WIRE_RUNTIME_PYTHON);
	assert_int_equal(given.frames.length, 1);
}

/* What the process runs. */
static void without_frames_the_mappings_decide(void **state _unused_)
{
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		remap();
		if (runtime == WIRE_RUNTIME_HOTSPOT)
			map_hotspot(HOTSPOT_READ, SUPPORT_KNOWN);
		else
			map_build(runtime, SUPPORT_KNOWN, 12, 1);
		splice(RUNTIME_NO_FRAMES);
		assert_int_equal(asked, runtime);
		assert_false(given.frames.have_come);
		assert_int_equal(given.frames.length, 0);
		assert_ptr_equal(given.build, &files[0].build);
	}
}

/* A runtime that is known by name alone, or none: the frames of an interpreter that has gone were lost. */
static void stacks_of_others_stay_native(void **state _unused_)
{
	static const uint64_t pcs[] = {0x10, 0x20, 0x30};
	const struct runtime_sample source = {.process = &process, .frames = 77};

	for (int i = 0; i < 2; i++) {
		struct runtime_level levels[RUNTIME_MAX_LEVELS];
		struct runtime_verdict verdict = {.may_lack_inlined = true};
		uint32_t num;

		assert_int_equal(
			runtime_stacks_splice(stacks, &source, pcs, 3, levels, &num, &verdict), 0);
		assert_int_equal(asked, NUM_WIRE_RUNTIMES);
		assert_int_equal(verdict.fit, RUNTIME_EARLY);
		assert_false(verdict.may_lack_inlined);
		assert_int_equal(num, 3);
		for (uint32_t level = 0; level < 3; level++)
			assert_int_equal(levels[level].pc, level);
		remap();
		map_build(WIRE_RUNTIME_LUAJIT, SUPPORT_NAME_ONLY, 0, 0);
	}
}

/* Of another interpreter than the one whose frames came nothing is handed on. */
static void a_build_is_that_of_the_frames(void **state _unused_)
{
	map_build(WIRE_RUNTIME_V8, SUPPORT_KNOWN, 11, 3);
	add_stack(1001, WIRE_RUNTIME_V8, 1);
	add_stack(1003, WIRE_RUNTIME_PERL, 1);
	splice(1001);
	assert_ptr_equal(given.build, &files[0].build);
	splice(1003);
	assert_int_equal(asked, WIRE_RUNTIME_PERL);
	assert_null(given.build);
}

/* Shorter ones are none. */
static void records_go_to_their_interpreter(void **state _unused_)
{
	static uint64_t bytes[1024];
	struct wire_runtime_code *record = (struct wire_runtime_code *)bytes;

	record->type = WIRE_RUNTIME_CODE;
	for (uint8_t runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		size_t size = get_ops_of_test(runtime)->code_bytes;

		record->runtime = runtime;
		assert_int_equal(runtime_stacks_add(stacks, record, size - 1), 0);
		assert_int_equal(parts[runtime].num_added, 0);
		assert_int_equal(runtime_stacks_add(stacks, record, size), 0);
		assert_int_equal(parts[runtime].num_added, 1);
	}
	record->runtime = NUM_WIRE_INTERPRETERS;
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(bytes)), 0);
	record->runtime = WIRE_RUNTIME_PYTHON;
	record->type = 99;
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(bytes)), 0);
	assert_int_equal(runtime_stacks_add(stacks, record, 3), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		assert_int_equal(parts[i].num_added, 1);
	/* What was not kept has no name. */
	record->type = WIRE_RUNTIME_CODE;
	add_error = -ENOSPC;
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 0);
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(bytes)), 0);
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(bytes)), 0);
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 2);
	add_error = -ENOMEM;
	assert_int_equal(runtime_stacks_add(stacks, record, sizeof(bytes)), -ENOMEM);
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 2);
}

/* Frames of no interpreter. */
static void frames_of_a_named_runtime_are_not_kept(void **state _unused_)
{
	add_stack(1001, WIRE_RUNTIME_LUAJIT, 1);
	assert_int_equal(stacks->known.length, 0);
}

static void what_was_lost_stays_when_the_parts_go(void **state _unused_)
{
	parts[WIRE_RUNTIME_V8].num_lost = 3;
	parts[WIRE_RUNTIME_PERL].num_lost = 30;
	stacks->num_lost_codes = 100;
	assert_int_equal(runtime_stacks_get_lost_codes(stacks), 133);
	for (int i = 0; i < 2; i++) {
		runtime_stacks_forget(stacks);
		assert_int_equal(parts[WIRE_RUNTIME_V8].num_freed, 1);
		assert_int_equal(runtime_stacks_get_lost_codes(stacks), 133);
	}
}

static void runtimes_have_names(void **state _unused_)
{
	char version[RUNTIME_VERSION_BYTES];

	assert_string_equal(runtime_get(WIRE_RUNTIME_PYTHON)->name, "Python");
	assert_string_equal(runtime_get(WIRE_RUNTIME_PYTHON)->account_name, "cpython");
	assert_string_equal(runtime_get(WIRE_RUNTIME_PERL)->language, "Perl");
	assert_string_equal(runtime_get(WIRE_RUNTIME_SPIDERMONKEY)->name, "SpiderMonkey");
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_RUNTIMES; runtime++) {
		assert_int_equal(runtime_is_named(runtime), !runtime_get(runtime)->language);
		assert_true(runtime_is_named(runtime) || !runtime_get(runtime)->advice);
	}
	runtime_format_version(WIRE_RUNTIME_HOTSPOT, 17, 4, version);
	assert_string_equal(version, "17");
	runtime_format_version(WIRE_RUNTIME_RUBY, 3, 1, version);
	assert_string_equal(version, "3.1");
	runtime_format_version(WIRE_RUNTIME_RUBY, UINT16_MAX, UINT16_MAX, version);
	assert_string_equal(version, "65535.65535");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_runtime_has_its_version),
		TEST(the_first_runtime_of_several_counts),
		TEST(a_known_build_precedes_an_unknown_one),
		TEST(memory_holds_no_interpreter),
		TEST(a_starting_java_is_asked_again),
		TEST(the_lock_of_python_is_in_its_runtime),
		TEST(a_lock_may_be_unknown),
		TEST(frames_that_came_say_whose_they_are),
		TEST(without_frames_the_mappings_decide),
		TEST(stacks_of_others_stay_native),
		TEST(a_build_is_that_of_the_frames),
		TEST(records_go_to_their_interpreter),
		TEST(frames_of_a_named_runtime_are_not_kept),
		TEST(what_was_lost_stays_when_the_parts_go),
		TEST(runtimes_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
