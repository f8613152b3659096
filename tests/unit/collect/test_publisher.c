/*
 * Mappings on their way to the sampling program. Its maps are memory that the test can look into; the
 * one by pid, which has no memory of its own, is libbpf's two calls, written again here. So is what is known of HotSpot.
 */
#include "collect/elf/elf_files.h"
#include "collect/tables/table_builder.h"

const struct runtime_build *get_build_of_test(const struct elf_files *files,
					      const struct mapped_file *mapped);
int get_layout_of_test(const struct elf_files *files, const struct mapped_file *mapped,
		       const struct objfile_layout **ret);
int builder_of_test(const struct table_builder_opts *opts, struct table_builder **ret);

#define elf_files_get_runtime get_build_of_test
#define elf_files_get_layout  get_layout_of_test
#define table_builder_new     builder_of_test
#include "collect/runtimes/process_runtime.c"
#include "collect/tables/publisher.c"
#undef elf_files_get_runtime
#undef elf_files_get_layout
#undef table_builder_new

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "failing_memory.h"
#include "process/process_fixture.h"
#include "unit.h"
#include "unwind/table_fixture.h"

#define PROCESSES_FD 1000 /* no descriptors of ours */
#define LAYOUTS_FD   1001
#define NUM_PIDS     (WIRE_MAX_LAYOUTS_EACH + 32)
#define FIRST_PID    20 /* of many */
#define BIAS         0x7f0000000000ull

static struct unwind_process published[NUM_PIDS]; /* by pid, where there is one */
static bool is_published[NUM_PIDS];
static unsigned int num_layouts; /* that were published */
static struct wire_runtime_layout last_layout;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags _unused_)
{
	uint32_t pid = *(const uint32_t *)key;

	if (fd == LAYOUTS_FD) {
		assert_int_equal(pid, num_layouts);
		num_layouts++;
		memcpy(&last_layout, value, sizeof(last_layout));
		return 0;
	}
	assert_int_equal(fd, PROCESSES_FD);
	assert_true(pid < NUM_PIDS);
	memcpy(&published[pid], value, sizeof(published[pid]));
	is_published[pid] = true;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	uint32_t pid = *(const uint32_t *)key;

	assert_int_equal(fd, PROCESSES_FD);
	assert_true(pid < NUM_PIDS);
	is_published[pid] = false;
	return 0;
}

/* Shards for table rows. Builder threads call this, too. */
static bool has_shards;

int bpf_map_create(enum bpf_map_type type _unused_, const char *name _unused_,
		   __u32 key_size _unused_, __u32 value_size, __u32 max_entries _unused_,
		   const struct bpf_map_create_opts *opts _unused_)
{
	int fd;

	errno = ENOSPC;
	if (!has_shards)
		return -errno;
	fd = memfd_create("shard", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, value_size) ? fd : -errno;
}

int bpf_map_update_batch(int fd _unused_, const void *keys _unused_, const void *values _unused_,
			 __u32 *count _unused_, const struct bpf_map_batch_opts *opts _unused_)
{
	return 0;
}

static uid_t builder_user; /* of the last builder */
static int builder_error;
static struct table_cache *builder_cache;

int builder_of_test(const struct table_builder_opts *opts, struct table_builder **ret)
{
	struct table_builder_opts ours = *opts;

	if (builder_error)
		return builder_error;
	builder_user = opts->user;
	builder_cache = opts->cache;
	ours.user = 0; /* as we are */
	return table_builder_new(&ours, ret);
}

/* All files have a HotSpot, of which this is known. */
static enum hotspot_presence presence;
static bool is_of_each; /* no two processes say the same */
static uint32_t
	silent_files; /* of the first ones none says anything, whatever is known of others */

static pid_t unread_pid; /* 0: none; of its files none says anything either */

/* All open files contain it; NULL: none. */
static const struct runtime_build *build;
static int layout_error; /* of any file; 0: it is read */

const struct runtime_build *get_build_of_test(const struct elf_files *files _unused_,
					      const struct mapped_file *mapped)
{
	return mapped->fd >= 0 ? build : NULL;
}

int get_layout_of_test(const struct elf_files *files, const struct mapped_file *mapped,
		       const struct objfile_layout **ret)
{
	return layout_error ? layout_error : elf_files_get_layout(files, mapped, ret);
}

static struct hotspot_layouts *known_hotspots;

struct hotspot_layouts *hotspot_layouts_new(const struct file_table *files _unused_,
					    const struct elf_files *elf_files _unused_)
{
	known_hotspots = malloc(1);
	return known_hotspots;
}

void hotspot_layouts_free(struct hotspot_layouts *hotspots)
{
	free(hotspots);
}

enum hotspot_presence hotspot_layouts_read(struct hotspot_layouts *hotspots,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias)
{
	static struct hotspot_layout layouts[NUM_PIDS];
	struct hotspot_layout *layout = &layouts[process->pid];

	assert_non_null(hotspots);
	assert_ptr_equal(hotspots, known_hotspots);
	if (mapping->file == FILE_NONE)
		return HOTSPOT_ABSENT;
	if (mapping->file < silent_files || (pid_t)process->pid == unread_pid)
		return HOTSPOT_UNREAD;
	*layout = (struct hotspot_layout){.support = SUPPORT_KNOWN, .major = 17};
	layout->wire.heaps = is_of_each ? process->pid : 1;
	*ret = layout;
	*ret_bias = BIAS;
	return presence;
}

struct scene {
	struct fixture *fixture;
	struct elf_files *elf_files;
	struct hotspot_layouts *hotspots;
	struct runtime_sources sources;
	struct unwind_maps maps;
	struct publisher *publisher;
};

static int make_map(size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static int set_up_with(void **state, const struct unwind_table_opts *opts)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	void *fixture;

	assert_int_equal(set_up(&fixture), 0);
	scene->fixture = fixture;
	memset(is_published, 0, sizeof(is_published));
	num_layouts = 0;
	build = NULL;
	layout_error = 0;
	unread_pid = 0;
	presence = HOTSPOT_ABSENT;
	is_of_each = false;
	silent_files = 0;
	has_shards = false;
	scene->maps = (struct unwind_maps){
		.pages_fd = make_map(sizeof(struct unwind_page) * UNWIND_MAX_PAGES),
		.mappings_fd = make_map(sizeof(struct unwind_mapping) * UNWIND_MAX_MAPPINGS),
		.shards_fd = -1, /* no file has a table */
		.processes_fd = PROCESSES_FD,
		.layouts_fd = LAYOUTS_FD,
	};
	assert_int_equal(elf_files_new(0, &scene->elf_files), 0);
	scene->hotspots = hotspot_layouts_new(scene->fixture->files, scene->elf_files);
	assert_non_null(scene->hotspots);
	scene->sources = (struct runtime_sources){
		.files = scene->fixture->files,
		.elf_files = scene->elf_files,
		.hotspots = scene->hotspots,
	};
	assert_int_equal(
		publisher_new(&scene->sources, scene->fixture->table, opts, &scene->publisher), 0);
	assert_int_equal(publisher_start(scene->publisher, &scene->maps), 0);
	*state = scene;
	return 0;
}

static int set_up_scene(void **state)
{
	return set_up_with(state, &(struct unwind_table_opts){.no_cache = true});
}

static int tear_down_scene(void **state)
{
	struct scene *scene = *state;
	void *fixture = scene->fixture;

	publisher_free(scene->publisher);
	hotspot_layouts_free(scene->hotspots);
	elf_files_free(scene->elf_files);
	close(scene->maps.pages_fd);
	close(scene->maps.mappings_fd);
	free(scene);
	return tear_down(&fixture);
}

/* Of a process, its mapping by number, as the sampling program sees it. */
static struct unwind_mapping get_mapping(const struct scene *scene, pid_t pid, uint32_t number)
{
	struct unwind_mapping mapping;

	assert_true(number < published[pid].num_mappings);
	assert_int_equal(pread(scene->maps.mappings_fd, &mapping, sizeof(mapping),
			       (off_t)((published[pid].first_mapping + number) * sizeof(mapping))),
			 sizeof(mapping));
	return mapping;
}

/* A new process with so many mappings that no file backs. */
static void add_mapped(struct scene *scene, pid_t pid, uint32_t num_mappings)
{
	on_fork(scene->fixture, 100, pid, 1);
	for (uint64_t i = 0; i < num_mappings; i++)
		on_mmap(scene->fixture, 101, pid, 0x10000 * (i + 1), 0x10000 * (i + 1) + 0x1000,
			"//anon");
}

static uint64_t count_dropped(const struct scene *scene)
{
	return publisher_get_statistics(scene->publisher).num_dropped;
}

static void mappings_are_published_by_pid(void **state)
{
	struct scene *scene = *state;

	add_mapped(scene, PID, 3);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_true(is_published[PID]);
	assert_int_equal(published[PID].num_mappings, 3);
	assert_int_equal(count_dropped(scene), 0);
	on_exit_of(scene->fixture, 110, PID);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_false(is_published[PID]);
	assert_int_equal(count_dropped(scene), 0);
}

/* With it, the search would miss the mapping before it: that of the vdso. */
static void the_vsyscall_page_is_not_published(void **state)
{
	struct scene *scene = *state;

	add_mapped(scene, PID, 2);
	on_mmap(scene->fixture, 102, PID, 0xffffffffff600000, 0xffffffffff601000, "[vsyscall]");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].num_mappings, 2);
	assert_int_equal(get_mapping(scene, PID, 1).start, 0x20000);
	add_mapped(scene, CHILD, 0);
	on_mmap(scene->fixture, 102, CHILD, 0xffffffffff600000, 0xffffffffff601000, "[vsyscall]");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[CHILD].num_mappings, 0);
}

static void a_process_whose_mappings_find_no_room_is_counted(void **state)
{
	struct scene *scene = *state;

	add_mapped(scene, PID, UNWIND_MAX_MAPPINGS - 8);
	add_mapped(scene, CHILD, 9);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_true(is_published[PID]);
	assert_false(is_published[CHILD]);
	assert_int_equal(count_dropped(scene), 1);
}

/* Write a file, below a root that both processes have. */
static void write_file(struct scene *scene, const char *path, bool has_cfi)
{
	char place[64];
	_cleanup_(text_release) struct text whole = {0};
	struct table_file file = table_file_of_text();
	struct text bytes;
	int fd;

	snprintf(place, sizeof(place), "8/root%s", path);
	whole = fake_proc_path(&scene->fixture->proc, place);
	fd = open(whole.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	/* It is mapped once more. */
	if (fd < 0 && errno == EEXIST)
		return;
	if (has_cfi) {
		frame_writer_add_cie(&file.eh_frame, &usual_cie);
		frame_writer_add_function(&file.eh_frame, TEXT, 0x100, NO_CODE);
	}
	bytes = table_file_write(&file);
	assert_true(fd >= 0);
	assert_int_equal(file_write_fd(fd, bytes.data, bytes.length), 0);
	/* It is older than its mappings, which are soon after the machine's start. */
	assert_int_equal(futimens(fd, (const struct timespec[2]){{0}}), 0);
	close(fd);
	text_release(&bytes);
	table_file_release(&file);
}

static void write_program(struct scene *scene, const char *path)
{
	write_file(scene, path, true);
}

/* The recorder's file table does this for each open file. */
static void read_build_id(struct scene *scene, uint32_t number)
{
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t size;

	assert_int_equal(elf_files_read_build_id(scene->elf_files,
						 file_table_get(scene->fixture->files, number)->fd,
						 build_id, &size),
			 -ENODATA);
}

static void map_file(struct scene *scene, pid_t pid, uint64_t start, const char *path,
		     uint32_t number)
{
	on_mmap(scene->fixture, 101, pid, start, start + TEXT_SIZE, path);
	read_build_id(scene, number);
}

static void map_program(struct scene *scene, pid_t pid)
{
	write_program(scene, "/lib/program");
	map_file(scene, pid, TEXT, "/lib/program", 0);
}

/* Wait for so many tables. */
static void take_until(struct scene *scene, uint64_t count)
{
	while (publisher_get_taken_count(scene->publisher) < count)
		assert_true(publisher_wait(scene->publisher, clock_now_ns() + 60 * NS_PER_SECOND));
}

static struct unwind_table_counts take_tables(struct scene *scene)
{
	assert_int_equal(publisher_update(scene->publisher), 0);
	take_until(scene, 1);
	return publisher_get_statistics(scene->publisher);
}

static void a_stored_table_is_counted(void **state)
{
	struct scene *scene = *state;
	struct unwind_table_counts counts;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	counts = take_tables(scene);
	assert_int_equal(counts.num_objfiles, 1);
	assert_int_equal(counts.num_dropped, 0);
	assert_true(counts.num_rows > 0);
	assert_true(counts.frame_info_bytes > 0);
}

static void a_file_that_is_opened_later_gets_its_table(void **state)
{
	struct scene *scene = *state;
	_cleanup_(text_release) struct text path =
		fake_proc_path(&scene->fixture->proc, "8/root/lib/program");

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	on_mmap(scene->fixture, 101, PID, TEXT, TEXT + TEXT_SIZE, "/lib/program");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(scene->publisher->codes.items[0].state, CODE_UNREADABLE);
	write_program(scene, "/lib/program");
	file_table_set_found(scene->fixture->files, 0, open(path.data, O_RDONLY | O_CLOEXEC),
			     false);
	read_build_id(scene, 0);
	on_mmap(scene->fixture, 102, PID, 0x7000000, 0x7001000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_not_equal(scene->publisher->codes.items[0].state, CODE_UNREADABLE);
	assert_int_equal(take_tables(scene).num_objfiles, 1);
}

static void a_table_without_room_is_counted_as_dropped(void **state)
{
	struct scene *scene = *state;
	struct unwind_table_counts counts;

	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	counts = take_tables(scene);
	assert_int_equal(counts.num_objfiles, 0);
	assert_int_equal(counts.num_dropped, 1);
	assert_int_equal(counts.num_rows, 0);
}

/* Java with its code, and nothing that is mapped later. */
static void add_java(struct scene *scene, pid_t pid)
{
	add_mapped(scene, pid, 1);
	on_mmap(scene->fixture, 102, pid, 0x50000, 0x60000, "/lib/libjvm.so");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_true(is_published[pid]);
	assert_int_equal(published[pid].hotspot_layout, 0);
}

static void hotspot_is_published_when_it_says_something(void **state)
{
	struct scene *scene = *state;

	presence = HOTSPOT_UNREAD;
	add_java(scene, PID);
	add_java(scene, CHILD);
	for (int i = 0; i < 3; i++)
		assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].hotspot_layout, 0);
	presence = HOTSPOT_READ;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].hotspot_layout, 1);
	assert_int_equal(published[CHILD].hotspot_layout, 1);
	assert_true(published[PID].hotspot_bias == BIAS);
	assert_int_equal(num_layouts, 1);
	/* Its code is where no file is. */
	assert_int_equal(get_mapping(scene, PID, 0).flags,
			 UNWIND_MAPPING_HAS_NO_CFI | UNWIND_MAPPING_HAS_HOTSPOT);
	assert_int_equal(get_mapping(scene, PID, 1).flags & UNWIND_MAPPING_HAS_HOTSPOT, 0);
	/* Once. */
	is_published[PID] = false;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_false(is_published[PID]);
}

static void files_that_say_nothing_are_in_nobodys_way(void **state)
{
	struct scene *scene = *state;

	presence = HOTSPOT_UNREAD;
	silent_files = 1;
	add_mapped(scene, PID, 1);
	on_mmap(scene->fixture, 102, PID, 0x30000, 0x40000, "/lib/silent.so");
	on_mmap(scene->fixture, 102, PID, 0x50000, 0x60000, "/lib/libjvm.so");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].hotspot_layout, 0);
	presence = HOTSPOT_READ;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].hotspot_layout, 1);
}

static void what_processes_say_of_hotspot_is_published_apart(void **state)
{
	struct scene *scene = *state;

	presence = HOTSPOT_UNREAD;
	add_java(scene, PID);
	add_java(scene, CHILD);
	presence = HOTSPOT_READ;
	is_of_each = true;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(num_layouts, 2);
	assert_int_equal(published[PID].hotspot_layout + published[CHILD].hotspot_layout, 1 + 2);
}

/* Whoever takes the room may do so on purpose: those that have theirs keep it. */
static void processes_whose_hotspot_finds_no_room_are_counted(void **state)
{
	struct scene *scene = *state;
	pid_t last = FIRST_PID + WIRE_MAX_LAYOUTS_EACH;

	is_of_each = true;
	presence = HOTSPOT_UNREAD;
	for (pid_t pid = FIRST_PID; pid <= last; pid++)
		add_java(scene, pid);
	presence = HOTSPOT_READ;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(num_layouts, WIRE_MAX_LAYOUTS_EACH);
	assert_int_equal(published[last - 1].hotspot_layout, WIRE_MAX_LAYOUTS_EACH);
	assert_int_equal(published[last].hotspot_layout, 0);
	assert_int_equal(count_dropped(scene), 1);
	/* However often it changes. */
	on_mmap(scene->fixture, 103, last, 0x80000, 0x90000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[last].num_mappings, 3);
	assert_int_equal(count_dropped(scene), 1);
}

static void processes_that_end_are_not_waited_for(void **state)
{
	struct scene *scene = *state;

	presence = HOTSPOT_UNREAD;
	add_java(scene, PID);
	add_java(scene, CHILD);
	on_exit_of(scene->fixture, 110, PID);
	on_exec(scene->fixture, 110, CHILD, "true");
	assert_int_equal(publisher_update(scene->publisher), 0);
	presence = HOTSPOT_READ;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_false(is_published[PID]);
	assert_int_equal(published[CHILD].hotspot_layout, 0);
	assert_int_equal(num_layouts, 0);
}

/* The others are published while it says nothing. */
static void a_process_that_says_nothing_waits_alone(void **state)
{
	struct scene *scene = *state;
	const pid_t pids[] = {FIRST_PID, FIRST_PID + 1, FIRST_PID + 2};

	presence = HOTSPOT_UNREAD;
	for (size_t i = 0; i < ARRAY_LENGTH(pids); i++)
		add_java(scene, pids[i]);
	/* Its last mapping has no file. */
	on_mmap(scene->fixture, 103, FIRST_PID + 1, 0x80000, 0x90000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	presence = HOTSPOT_READ;
	unread_pid = FIRST_PID + 1;
	for (int i = 0; i < 2; i++) {
		is_published[FIRST_PID + 1] = false;
		assert_int_equal(publisher_update(scene->publisher), 0);
		assert_false(is_published[FIRST_PID + 1]);
		assert_int_equal(published[FIRST_PID].hotspot_layout, 1);
		assert_int_equal(published[FIRST_PID + 1].hotspot_layout, 0);
		assert_int_equal(published[FIRST_PID + 2].hotspot_layout, 1);
	}
	unread_pid = 0;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[FIRST_PID + 1].hotspot_layout, 1);
}

/* However often it changes. */
static void a_process_that_says_nothing_waits_once(void **state)
{
	struct scene *scene = *state;

	presence = HOTSPOT_UNREAD;
	add_java(scene, PID);
	for (uint64_t i = 0; i < 3; i++) {
		on_mmap(scene->fixture, 103 + i, PID, 0x80000 + 0x10000 * i, 0x90000 + 0x10000 * i,
			"//anon");
		assert_int_equal(publisher_update(scene->publisher), 0);
		assert_int_equal(scene->publisher->waiting.length, 1);
	}
}

/* Nothing else tells when it is initialized. Some never are. */
static void a_waiting_process_is_looked_at_less_and_less_often(void **state)
{
	struct scene *scene = *state;
	struct publisher *publisher = scene->publisher;
	uint64_t start_ns;

	assert_true(publisher_get_look_ns(publisher) == UINT64_MAX);
	presence = HOTSPOT_UNREAD;
	add_java(scene, PID);
	start_ns = publisher->waiting_ns;
	assert_true(start_ns > 0);
	/* Looking at it does not start the wait again. */
	assert_int_equal(publisher_update(publisher), 0);
	assert_true(publisher->waiting_ns == start_ns);
	assert_true(publisher->looked_ns >= start_ns);
	publisher->looked_ns = start_ns - 1;
	assert_int_equal(publisher_get_look_ns(publisher), start_ns - 1 + MIN_LOOK_NS);
	publisher->looked_ns = start_ns + 1;
	assert_int_equal(publisher_get_look_ns(publisher), start_ns + 1 + MIN_LOOK_NS);
	publisher->looked_ns = start_ns + 40 * NS_PER_MS;
	assert_int_equal(publisher_get_look_ns(publisher), start_ns + 50 * NS_PER_MS);
	publisher->looked_ns = start_ns + 60 * NS_PER_SECOND;
	assert_int_equal(publisher_get_look_ns(publisher), publisher->looked_ns + MAX_LOOK_NS);
	presence = HOTSPOT_READ;
	assert_int_equal(publisher_update(publisher), 0);
	assert_true(publisher_get_look_ns(publisher) == UINT64_MAX);
}

/* One that nobody waits for would be shown as native code to the end. */
static void short_memory_is_an_error_where_hotspot_says_nothing_yet(void **state)
{
	struct scene *scene = *state;
	bool has_failed = true;
	int64_t num_before = 0;

	presence = HOTSPOT_UNREAD;
	for (pid_t pid = FIRST_PID; has_failed; pid++, num_before++) {
		int err;

		on_fork(scene->fixture, 100, pid, 1);
		on_mmap(scene->fixture, 102, pid, 0x50000, 0x60000, "/lib/libjvm.so");
		failing_memory_start(num_before);
		err = publisher_update(scene->publisher);
		has_failed = failing_memory_end_with(err);
		if (!has_failed)
			assert_int_equal(scene->publisher->waiting.length, 1);
		array_release(&scene->publisher->waiting);
	}
	assert_true(num_before > 1);
}

static void assert_options(const struct unwind_table_opts *opts, bool has_python, bool goes_by_fp)
{
	const struct runtime_build known = {.support = SUPPORT_KNOWN, .state = TEXT + 0x50};
	struct unwind_mapping mapping;
	struct scene *scene;
	void *state;

	assert_int_equal(set_up_with(&state, opts), 0);
	scene = state;
	build = &known;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	on_mmap(scene->fixture, 102, PID, 0x7000000, 0x7001000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].num_mappings, 2);
	mapping = get_mapping(scene, PID, 1);
	assert_int_equal(mapping.start, 0x7000000);
	assert_int_equal((mapping.flags & UNWIND_MAPPING_HAS_NO_CFI) != 0, goes_by_fp);
	assert_int_equal(published[PID].runtime.layout != 0, has_python);
	(void)tear_down_scene(&state);
}

static void maps_that_cannot_be_mapped_are_an_error(void **state)
{
	struct scene *scene = *state;
	struct unwind_maps maps = scene->maps;
	struct publisher *made = NULL;

	maps.mappings_fd = -1;
	assert_int_equal(publisher_new(&scene->sources, scene->fixture->table,
				       &(struct unwind_table_opts){.no_cache = true}, &made),
			 0);
	assert_int_equal(publisher_start(made, &maps), -EBADF);
	publisher_free(made);
}

static int make_publisher(struct scene *scene, const struct unwind_table_opts *opts)
{
	struct publisher *made = NULL;
	int err = publisher_new(&scene->sources, scene->fixture->table, opts, &made);

	assert_int_equal(!made, err != 0);
	if (!err)
		err = publisher_start(made, &scene->maps);
	publisher_free(made);
	return err;
}

static void without_threads_that_build_tables_there_is_none(void **state)
{
	builder_error = -EAGAIN;
	assert_int_equal(make_publisher(*state, &(struct unwind_table_opts){.no_cache = true}),
			 -EAGAIN);
	builder_error = 0;
	publisher_free(NULL);
}

/* Without one tables are built at every run. */
static void a_cache_is_used_where_it_can_be_opened(void **state)
{
	struct scene *scene = *state;
	_cleanup_(text_release) struct text cache = fake_proc_path(&scene->fixture->proc, "cache");
	_cleanup_(text_release) struct text file = fake_proc_path(&scene->fixture->proc, "file");
	struct unwind_table_opts opts = {.cache_folder = cache.data};

	assert_int_equal(make_publisher(scene, &opts), 0);
	assert_non_null(builder_cache);
	opts.no_cache = true;
	assert_int_equal(make_publisher(scene, &opts), 0);
	assert_null(builder_cache);
	fake_proc_write(&scene->fixture->proc, "file", "no directory");
	opts = (struct unwind_table_opts){.cache_folder = file.data};
	assert_int_equal(make_publisher(scene, &opts), 0);
	assert_null(builder_cache);
}

/* Foreign files are read without root's rights. */
static void tables_are_built_as_the_user_for_it(void **state _unused_)
{
	void *made;

	assert_int_equal(set_up_with(&made, &(struct unwind_table_opts){.no_cache = true,
									.worker_user = 65534}),
			 0);
	assert_int_equal(builder_user, 65534);
	(void)tear_down_scene(&made);
}

/* How far a mapping of the whole file is from its ELF addresses. */
static uint64_t get_bias(struct scene *scene, uint64_t start)
{
	const struct objfile_layout *layout;

	assert_int_equal(elf_files_get_layout(scene->elf_files,
					      file_table_get(scene->fixture->files, 0), &layout),
			 0);
	return start + layout->segments.items[0].file_offset -
	       layout->segments.items[0].elf_address;
}

static void assert_has_table(const struct scene *scene, pid_t pid, uint32_t number, uint64_t start)
{
	struct unwind_mapping mapping = get_mapping(scene, pid, number);

	assert_int_equal(mapping.start, start);
	assert_int_equal(mapping.flags, UNWIND_MAPPING_HAS_TABLE | UNWIND_MAPPING_HAS_NO_CFI);
	assert_true(mapping.num_pages > 0);
	assert_int_equal(mapping.base_page, TEXT >> UNWIND_PAGE_SHIFT);
}

static void a_table_comes_to_all_mappings_of_its_file(void **state)
{
	struct scene *scene = *state;
	struct unwind_mapping mapping;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	on_mmap(scene->fixture, 101, PID, 0x7000000, 0x7001000, "//anon");
	on_mmap(scene->fixture, 101, PID, 0x8000000, 0x8000000 + TEXT_SIZE, "/lib/program");
	assert_int_equal(publisher_update(scene->publisher), 0);
	mapping = get_mapping(scene, PID, 0);
	assert_int_equal(mapping.start, TEXT);
	assert_int_equal(mapping.end, TEXT + TEXT_SIZE);
	assert_int_equal(mapping.bias, get_bias(scene, TEXT));
	(void)take_tables(scene);
	assert_has_table(scene, PID, 0, TEXT);
	assert_int_equal(get_mapping(scene, PID, 1).flags, UNWIND_MAPPING_HAS_NO_CFI);
	assert_has_table(scene, PID, 2, 0x8000000);
	/* One that maps it later has it at once. */
	on_fork(scene->fixture, 110, CHILD, PID);
	on_mmap(scene->fixture, 111, CHILD, 0x9000000, 0x9000000 + TEXT_SIZE, "/lib/program");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_has_table(scene, CHILD, 3, 0x9000000);
	assert_int_equal(get_mapping(scene, CHILD, 3).bias, get_bias(scene, 0x9000000));
	assert_int_equal(publisher_get_taken_count(scene->publisher), 1);
}

static void a_table_without_room_leaves_its_mappings_alone(void **state)
{
	struct scene *scene = *state;

	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	(void)take_tables(scene);
	assert_int_equal(get_mapping(scene, PID, 0).flags, 0);
	assert_int_equal(get_mapping(scene, PID, 0).num_pages, 0);
	/* And the next one. */
	write_program(scene, "/lib/other");
	map_file(scene, PID, 0x8000000, "/lib/other", 1);
	assert_int_equal(publisher_update(scene->publisher), 0);
	take_until(scene, 2);
	assert_int_equal(count_dropped(scene), 2);
}

static void a_file_without_call_frame_information_goes_by_frame_pointer(void **state)
{
	struct scene *scene = *state;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	write_file(scene, "/lib/program", false);
	map_file(scene, PID, TEXT, "/lib/program", 0);
	(void)take_tables(scene);
	on_mmap(scene->fixture, 101, PID, 0x8000000, 0x8000000 + TEXT_SIZE, "/lib/program");
	assert_int_equal(publisher_update(scene->publisher), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(get_mapping(scene, PID, i).flags, UNWIND_MAPPING_HAS_NO_CFI);
		assert_int_equal(get_mapping(scene, PID, i).num_pages, 0);
	}
	assert_int_equal(publisher_get_statistics(scene->publisher).num_objfiles, 0);
	assert_int_equal(count_dropped(scene), 0);
}

/* Whoever waits for events waits for tables by their descriptor. */
static void an_update_takes_the_tables_that_are_ready(void **state)
{
	struct scene *scene = *state;
	struct pollfd ready = {.fd = publisher_get_fd(scene->publisher), .events = POLLIN};

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	assert_int_equal(publisher_update(scene->publisher), 0);
	if (!publisher_get_taken_count(scene->publisher))
		assert_int_equal(poll(&ready, 1, 60000), 1);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(publisher_get_taken_count(scene->publisher), 1);
	assert_has_table(scene, PID, 0, TEXT);
}

static void all_tables_are_in_the_sum(void **state)
{
	struct scene *scene = *state;
	struct unwind_table_counts first;
	struct unwind_table_counts both;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	first = take_tables(scene);
	write_program(scene, "/lib/other");
	map_file(scene, PID, 0x8000000, "/lib/other", 1);
	assert_int_equal(publisher_update(scene->publisher), 0);
	take_until(scene, 2);
	both = publisher_get_statistics(scene->publisher);
	assert_int_equal(both.num_objfiles, 2);
	assert_int_equal(both.frame_info_bytes, 2 * first.frame_info_bytes);
	assert_int_equal(both.num_rows, 2 * first.num_rows);
	assert_true(first.build_ns > 0 && both.build_ns > first.build_ns);
	assert_true(first.size_bytes > 0);
	assert_true(first.build_wall_ns > 0);
	/* The second table is behind the first one. */
	on_mmap(scene->fixture, 102, PID, 0x9000000, 0x9000000 + TEXT_SIZE, "/lib/other");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(get_mapping(scene, PID, 0).first_page, 1);
	assert_true(get_mapping(scene, PID, 0).num_pages > 0);
	for (uint32_t i = 1; i < 3; i++)
		assert_int_equal(get_mapping(scene, PID, i).first_page,
				 1 + get_mapping(scene, PID, 0).num_pages);
	/* There is nothing more to wait for. */
	assert_false(publisher_wait(scene->publisher, clock_now_ns()));
	assert_int_equal(publisher_get_taken_count(scene->publisher), 2);
}

/* JIT compilers map such files. */
static void code_of_a_file_that_is_no_elf_goes_by_frame_pointer(void **state)
{
	struct scene *scene = *state;

	layout_error = -ENOEXEC;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(get_mapping(scene, PID, 0).flags, UNWIND_MAPPING_HAS_NO_CFI);
	assert_int_equal(get_mapping(scene, PID, 0).end, TEXT + TEXT_SIZE);
	assert_int_equal(count_dropped(scene), 0);
	assert_false(publisher_wait(scene->publisher, clock_now_ns()));
}

static void a_file_that_nobody_can_read_in_time_is_counted_once(void **state _unused_)
{
	static const int errors[] = {-ETIMEDOUT, -ECHILD, -EBADMSG};

	for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
		struct scene *scene;
		void *made;

		assert_int_equal(set_up_scene(&made), 0);
		scene = made;
		layout_error = errors[i];
		on_fork(scene->fixture, 100, PID, 1);
		map_program(scene, PID);
		assert_int_equal(publisher_update(scene->publisher), 0);
		assert_int_equal(count_dropped(scene), 1);
		assert_int_equal(get_mapping(scene, PID, 0).flags, 0);
		/* It is not asked for again. */
		layout_error = 0;
		on_mmap(scene->fixture, 102, PID, 0x8000000, 0x8001000, "//anon");
		assert_int_equal(publisher_update(scene->publisher), 0);
		assert_int_equal(count_dropped(scene), 1);
		assert_false(publisher_wait(scene->publisher, clock_now_ns()));
		(void)tear_down_scene(&made);
	}
}

static void short_memory_is_an_error_of_a_file(void **state)
{
	struct scene *scene = *state;

	layout_error = -ENOMEM;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	assert_int_equal(publisher_update(scene->publisher), -ENOMEM);
	assert_int_equal(count_dropped(scene), 0);
}

/* It could not be opened when it was first mapped. */
static void a_file_that_is_opened_later_has_its_table_then(void **state)
{
	struct scene *scene = *state;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	on_mmap(scene->fixture, 101, PID, TEXT, TEXT + TEXT_SIZE, "/lib/program");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(get_mapping(scene, PID, 0).flags, 0);
	assert_false(publisher_wait(scene->publisher, clock_now_ns()));
	write_program(scene, "/lib/program");
	map_file(scene, PID, 0x8000000, "/lib/program", 0);
	(void)take_tables(scene);
	assert_has_table(scene, PID, 0, TEXT);
	assert_has_table(scene, PID, 1, 0x8000000);
}

/* It changes, so that it is published once more. */
static void publish_again(struct scene *scene, pid_t pid)
{
	static uint64_t address = 0x10000000;

	is_published[pid] = false;
	on_mmap(scene->fixture, 112, pid, address, address + 0x1000, "//anon");
	address += 0x2000;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_true(is_published[pid]);
}

static void map_other(struct scene *scene, uint64_t start, const char *path)
{
	write_program(scene, path);
	on_mmap(scene->fixture, 120, PID, start, start + TEXT_SIZE, path);
	for (uint32_t i = 0; i < file_table_get_count(scene->fixture->files); i++)
		read_build_id(scene, i);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].version,
			 find(scene->fixture, 121, PID, NO_GEN)->mappings_version);
}

static void settle_all(struct scene *scene)
{
	array_for_each (&scene->publisher->published, process)
		process->settles_ns = process->settles_ns ? 1 : 0;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(scene->publisher->unsettled.length, 0);
}

/* Until then user space walks their stacks: the next replacement is not known in time. */
static void mappings_that_replace_others_get_their_tables_when_they_have_settled(void **state)
{
	struct scene *scene = *state;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	(void)take_tables(scene);
	map_other(scene, 0x8000000, "/lib/first");
	take_until(scene, 2);
	assert_has_table(scene, PID, 1, 0x8000000);
	map_other(scene, 0x8000000, "/lib/second");
	assert_int_equal(get_mapping(scene, PID, 1).flags, 0);
	take_until(scene, 3);
	assert_int_equal(get_mapping(scene, PID, 1).flags, 0);
	map_other(scene, 0x9000000, "/lib/first");
	assert_has_table(scene, PID, 0, TEXT);
	assert_int_equal(get_mapping(scene, PID, 1).flags, 0);
	assert_has_table(scene, PID, 2, 0x9000000);
	map_other(scene, 0x8000000, "/lib/first");
	assert_int_equal(get_mapping(scene, PID, 1).flags, 0);
	assert_int_equal(scene->publisher->unsettled.length, 1);
	settle_all(scene);
	for (uint32_t i = 1; i < 3; i++)
		assert_has_table(scene, PID, i, 0x7000000 + i * 0x1000000);
	/* Others as before. */
	map_other(scene, 0xa000000, "/lib/second");
	assert_has_table(scene, PID, 3, 0xa000000);
	map_other(scene, 0xa000000, "/lib/first");
	assert_int_equal(get_mapping(scene, PID, 3).flags, 0);
	assert_has_table(scene, PID, 1, 0x8000000);
	/* A child has no part in that. */
	on_fork(scene->fixture, 130, CHILD, PID);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_has_table(scene, CHILD, 3, 0xa000000);
	/* Nor does a process that has ended. */
	on_exit_of(scene->fixture, 140, PID);
	settle_all(scene);
	assert_false(is_published[PID]);
}

/* Its state is where the file says, as far from there as the file is from its addresses. */
static void an_interpreter_is_published_and_its_layout_once(void **state)
{
	static const struct runtime_build unknown = {.support = SUPPORT_UNKNOWN_BUILD};
	struct scene *scene = *state;
	unsigned int number = 0;

	build = &unknown;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].runtime.layout, 0);
	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		struct runtime_build known = {.runtime = runtime,
					      .support = SUPPORT_KNOWN,
					      .state = TEXT + 0x50 + runtime,
					      .layout = {.runtime = runtime}};

		if (runtime == WIRE_RUNTIME_HOTSPOT)
			continue;
		number++;
		build = &known;
		for (int i = 0; i < 2; i++) {
			publish_again(scene, PID);
			assert_int_equal(published[PID].runtime.layout, number);
			assert_int_equal(published[PID].runtime.runtime, runtime);
			assert_int_equal(published[PID].runtime.state,
					 known.state + get_bias(scene, TEXT));
		}
		assert_int_equal(num_layouts, number);
		assert_int_equal(last_layout.runtime, runtime);
	}
	build = NULL;
}

/* Of one interpreter: another one finds room. */
static void a_layout_too_many_is_not_published(void **state)
{
	struct runtime_build known = {.runtime = WIRE_RUNTIME_PERL,
				      .support = SUPPORT_KNOWN,
				      .layout = {.runtime = WIRE_RUNTIME_PERL}};
	struct scene *scene = *state;

	build = &known;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	for (uint16_t i = 0; i <= WIRE_MAX_LAYOUTS_EACH; i++) {
		known.layout.perl.phase = i;
		publish_again(scene, PID);
		assert_int_equal(published[PID].runtime.layout,
				 i < WIRE_MAX_LAYOUTS_EACH ? i + 1 : 0);
	}
	known.runtime = known.layout.runtime = WIRE_RUNTIME_PHP;
	publish_again(scene, PID);
	assert_int_equal(published[PID].runtime.layout, WIRE_MAX_LAYOUTS_EACH + 1);
	build = NULL;
}

/* Its code is walked by its layout, and its frames come with that. */
static void hotspot_is_no_interpreter_beside_itself(void **state)
{
	static const struct runtime_build hotspot = {.runtime = WIRE_RUNTIME_HOTSPOT,
						     .support = SUPPORT_BY_PROCESS};
	struct scene *scene = *state;

	build = &hotspot;
	presence = HOTSPOT_READ;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	publish_again(scene, PID);
	assert_int_equal(published[PID].hotspot_layout, 1);
	assert_int_equal(published[PID].runtime.layout, 0);
	build = NULL;
}

static uint32_t count_records(const struct scene *scene, uint32_t id)
{
	return scene->publisher->published.items[id].range.count;
}

/* The image before an exec is not current any more. */
static void an_exec_takes_over_the_records(void **state)
{
	struct scene *scene = *state;

	add_mapped(scene, PID, 3);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(count_records(scene, 0), 8);
	on_exec(scene->fixture, 110, PID, "next");
	on_mmap(scene->fixture, 111, PID, 0x5000000, 0x5001000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(count_records(scene, 0), 0);
	assert_int_equal(count_records(scene, 1), 8);
	assert_int_equal(published[PID].num_mappings, 1);
	on_exit_of(scene->fixture, 120, PID);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(count_records(scene, 1), 0);
}

/* In the program, and called from there. */
static uint32_t walk(struct scene *scene, uint64_t *ret_caller)
{
	const uint64_t code = TEXT + get_bias(scene, TEXT);
	const uint64_t stack[] = {code + 0x20, 1};
	struct wire_raw_sample raw = {.registers = {.pc = code + 8, .sp = 0x7ffe0000},
				      .num_bytes = sizeof(stack)};
	struct wire_stack walked = {0};
	uint64_t outermost_sp;

	memcpy(raw.bytes, stack, sizeof(stack));
	(void)publisher_walk(scene->publisher, find(scene->fixture, 200, PID, NO_GEN), &raw,
			     &walked, &outermost_sp);
	assert_true(walked.num_frames > 0);
	assert_int_equal(walked.pcs[0] & ~WIRE_PC_MARKS, code + 8);
	*ret_caller = walked.num_frames > 1 ? (walked.pcs[1] & ~WIRE_PC_MARKS) - code : 0;
	return walked.num_frames;
}

/* Its process was gone before it was published. */
static void a_raw_stack_asks_for_its_table_and_is_walked_by_it(void **state)
{
	struct scene *scene = *state;
	uint64_t caller;

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	assert_int_equal(walk(scene, &caller), 1);
	take_until(scene, 1);
	assert_true(walk(scene, &caller) > 1);
	assert_int_equal(caller, 0x20);
}

static void options_say_what_is_walked(void **state _unused_)
{
	assert_options(&(struct unwind_table_opts){.no_cache = true}, true, true);
	assert_options(&(struct unwind_table_opts){.no_cache = true, .no_fp_steps = true}, true,
		       false);
	assert_options(
		&(struct unwind_table_opts){.no_cache = true, .runtime_frames = RUNTIME_FRAMES_ALL},
		true, true);
	assert_options(&(struct unwind_table_opts){.no_cache = true,
						   .runtime_frames = RUNTIME_FRAMES_NATIVE},
		       false, true);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_scene, tear_down_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(mappings_are_published_by_pid),
		SCENE_TEST(the_vsyscall_page_is_not_published),
		SCENE_TEST(a_process_whose_mappings_find_no_room_is_counted),
		SCENE_TEST(a_stored_table_is_counted),
		SCENE_TEST(a_file_that_is_opened_later_gets_its_table),
		SCENE_TEST(a_table_without_room_is_counted_as_dropped),
		SCENE_TEST(hotspot_is_published_when_it_says_something),
		SCENE_TEST(files_that_say_nothing_are_in_nobodys_way),
		SCENE_TEST(what_processes_say_of_hotspot_is_published_apart),
		SCENE_TEST(processes_whose_hotspot_finds_no_room_are_counted),
		SCENE_TEST(processes_that_end_are_not_waited_for),
		SCENE_TEST(a_process_that_says_nothing_waits_alone),
		SCENE_TEST(a_process_that_says_nothing_waits_once),
		SCENE_TEST(a_waiting_process_is_looked_at_less_and_less_often),
		SCENE_TEST(maps_that_cannot_be_mapped_are_an_error),
		SCENE_TEST(without_threads_that_build_tables_there_is_none),
		SCENE_TEST(a_cache_is_used_where_it_can_be_opened),
		cmocka_unit_test(tables_are_built_as_the_user_for_it),
		SCENE_TEST(short_memory_is_an_error_where_hotspot_says_nothing_yet),
		SCENE_TEST(a_table_comes_to_all_mappings_of_its_file),
		SCENE_TEST(a_table_without_room_leaves_its_mappings_alone),
		SCENE_TEST(a_file_without_call_frame_information_goes_by_frame_pointer),
		SCENE_TEST(an_update_takes_the_tables_that_are_ready),
		SCENE_TEST(all_tables_are_in_the_sum),
		SCENE_TEST(code_of_a_file_that_is_no_elf_goes_by_frame_pointer),
		cmocka_unit_test(a_file_that_nobody_can_read_in_time_is_counted_once),
		SCENE_TEST(short_memory_is_an_error_of_a_file),
		SCENE_TEST(a_file_that_is_opened_later_has_its_table_then),
		SCENE_TEST(mappings_that_replace_others_get_their_tables_when_they_have_settled),
		SCENE_TEST(an_interpreter_is_published_and_its_layout_once),
		SCENE_TEST(a_layout_too_many_is_not_published),
		SCENE_TEST(hotspot_is_no_interpreter_beside_itself),
		SCENE_TEST(an_exec_takes_over_the_records),
		SCENE_TEST(a_raw_stack_asks_for_its_table_and_is_walked_by_it),
		cmocka_unit_test(options_say_what_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
