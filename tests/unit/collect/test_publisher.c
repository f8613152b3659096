/*
 * Mappings on their way to the sampling program. Its maps are memory that the test can look into; the
 * one by pid, which has no memory of its own, is libbpf's two calls, written again here. So is what is known of HotSpot.
 */
#define elf_files_get_python get_python_of_test
#include "collect/publisher.c"
#undef elf_files_get_python

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "process/process_fixture.h"
#include "unit.h"
#include "unwind/table_fixture.h"

#define PROCESSES_FD 1000 /* no descriptors of ours */
#define LAYOUTS_FD   1001
#define PYTHON_FD    1002
#define NUM_PIDS     (WIRE_MAX_HOTSPOT_LAYOUTS + 32)
#define FIRST_PID    20 /* of many */
#define BIAS         0x7f0000000000ull

static struct unwind_process published[NUM_PIDS]; /* by pid, where there is one */
static bool is_published[NUM_PIDS];
static unsigned int num_layouts; /* of HotSpot, that were published */
static unsigned int num_python_layouts;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags _unused_)
{
	uint32_t pid = *(const uint32_t *)key;

	if (fd == PYTHON_FD) {
		num_python_layouts++;
		return 0;
	}
	if (fd == LAYOUTS_FD) {
		num_layouts++;
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

/* All files have a HotSpot, of which this is known. */
static enum hotspot_presence presence;
static bool is_of_each; /* no two processes say the same */
static uint32_t
	silent_files; /* of the first ones none says anything, whatever is known of others */

static pid_t unread_pid; /* 0: none; of its files none says anything either */

/* All files that are open have it in them. */
static const struct python_build *python;

const struct python_build *get_python_of_test(const struct elf_files *files _unused_,
					      const struct mapped_file *mapped)
{
	return mapped->fd >= 0 ? python : NULL;
}

struct hotspot_layouts *hotspot_layouts_new(const struct file_table *files _unused_,
					    const struct elf_files *elf_files _unused_)
{
	return malloc(1);
}

void hotspot_layouts_free(struct hotspot_layouts *hotspots)
{
	free(hotspots);
}

enum hotspot_presence hotspot_layouts_read(struct hotspot_layouts *hotspots _unused_,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias)
{
	static struct hotspot_layout layouts[NUM_PIDS];
	struct hotspot_layout *layout = &layouts[process->pid];

	if (mapping->file == FILE_NONE)
		return HOTSPOT_ABSENT;
	if (mapping->file < silent_files || (pid_t)process->pid == unread_pid)
		return HOTSPOT_UNREAD;
	*layout = (struct hotspot_layout){.support = HOTSPOT_KNOWN, .major = 17};
	layout->wire.heaps = is_of_each ? process->pid : 1;
	*ret = layout;
	*ret_bias = BIAS;
	return presence;
}

struct scene {
	struct fixture *fixture;
	struct elf_files *elf_files;
	struct hotspot_layouts *hotspots;
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
	num_layouts = num_python_layouts = 0;
	python = NULL;
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
		.hotspot_layouts_fd = LAYOUTS_FD,
		.python_layouts_fd = PYTHON_FD,
	};
	assert_int_equal(elf_files_new(0, &scene->elf_files), 0);
	scene->hotspots = hotspot_layouts_new(scene->fixture->files, scene->elf_files);
	assert_non_null(scene->hotspots);
	assert_int_equal(publisher_new(&scene->maps, scene->fixture->files, scene->elf_files,
				       scene->hotspots, scene->fixture->table, opts,
				       &scene->publisher),
			 0);
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

/* Map a file with call-frame information. */
static int write_program(const struct scene *scene)
{
	_cleanup_(text_release) struct text path =
		fake_proc_path(&scene->fixture->proc, "8/root/lib/program");
	struct table_file file = table_file_of_text();
	struct text bytes;
	int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, TEXT, 0x100, NO_CODE);
	bytes = table_file_write(&file);
	assert_true(fd >= 0);
	assert_int_equal(file_write_fd(fd, bytes.data, bytes.length), 0);
	text_release(&bytes);
	table_file_release(&file);
	return fd;
}

/* The recorder's file table does this for each open file. */
static void read_build_id(const struct scene *scene)
{
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t size;

	assert_int_equal(elf_files_read_build_id(scene->elf_files,
						 file_table_get(scene->fixture->files, 0)->fd,
						 build_id, &size),
			 -ENODATA);
}

static void map_program(struct scene *scene, pid_t pid)
{
	close(write_program(scene));
	on_mmap(scene->fixture, 101, pid, TEXT, TEXT + TEXT_SIZE, "/lib/program");
	read_build_id(scene);
}

/* Wait for the first table. */
static struct unwind_table_counts take_tables(struct scene *scene)
{
	assert_int_equal(publisher_update(scene->publisher), 0);
	while (!publisher_get_taken_count(scene->publisher))
		assert_true(publisher_wait(scene->publisher, clock_now_ns() + 60 * NS_PER_SECOND));
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

	has_shards = true;
	on_fork(scene->fixture, 100, PID, 1);
	on_mmap(scene->fixture, 101, PID, TEXT, TEXT + TEXT_SIZE, "/lib/program");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(scene->publisher->codes.items[0].state, CODE_UNREADABLE);
	file_table_set_found(scene->fixture->files, 0, write_program(scene), false);
	read_build_id(scene);
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
	pid_t last = FIRST_PID + WIRE_MAX_HOTSPOT_LAYOUTS;

	is_of_each = true;
	presence = HOTSPOT_UNREAD;
	for (pid_t pid = FIRST_PID; pid <= last; pid++)
		add_java(scene, pid);
	presence = HOTSPOT_READ;
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(num_layouts, WIRE_MAX_HOTSPOT_LAYOUTS);
	assert_int_equal(published[last - 1].hotspot_layout, WIRE_MAX_HOTSPOT_LAYOUTS);
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

/* Its state is where the file says, as far from there as the file is from its addresses. */
static void python_is_published_once_for_each_file(void **state)
{
	struct scene *scene = *state;
	const struct python_build build = {.support = PYTHON_KNOWN, .runtime = TEXT + 0x50};
	const struct objfile_layout *layout;
	uint64_t bias;

	python = &build;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	assert_int_equal(elf_files_get_layout(scene->elf_files,
					      file_table_get(scene->fixture->files, 0), &layout),
			 0);
	/* The mapping has the file from its first byte on. */
	bias = TEXT + layout->segments.items[0].file_offset - layout->segments.items[0].elf_address;
	assert_true(bias > 0);
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].python_layout, 1);
	assert_int_equal(published[PID].python_runtime, build.runtime + bias);
	is_published[PID] = false;
	on_mmap(scene->fixture, 102, PID, 0x7000000, 0x7001000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_true(is_published[PID]);
	assert_int_equal(published[PID].python_layout, 1);
	assert_int_equal(published[PID].python_runtime, build.runtime + bias);
	assert_int_equal(num_python_layouts, 1);
}

static void assert_options(const struct unwind_table_opts *opts, bool has_python, bool goes_by_fp)
{
	const struct python_build build = {.support = PYTHON_KNOWN, .runtime = TEXT + 0x50};
	struct unwind_mapping mapping;
	struct scene *scene;
	void *state;

	assert_int_equal(set_up_with(&state, opts), 0);
	scene = state;
	python = &build;
	on_fork(scene->fixture, 100, PID, 1);
	map_program(scene, PID);
	on_mmap(scene->fixture, 102, PID, 0x7000000, 0x7001000, "//anon");
	assert_int_equal(publisher_update(scene->publisher), 0);
	assert_int_equal(published[PID].num_mappings, 2);
	assert_int_equal(pread(scene->maps.mappings_fd, &mapping, sizeof(mapping),
			       (off_t)((published[PID].first_mapping + 1) * sizeof(mapping))),
			 sizeof(mapping));
	assert_int_equal(mapping.start, 0x7000000);
	assert_int_equal((mapping.flags & UNWIND_MAPPING_HAS_NO_CFI) != 0, goes_by_fp);
	assert_int_equal(published[PID].python_layout != 0, has_python);
	(void)tear_down_scene(&state);
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
		SCENE_TEST(python_is_published_once_for_each_file),
		cmocka_unit_test(options_say_what_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
