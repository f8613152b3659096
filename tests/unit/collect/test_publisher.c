/*
 * Mappings on their way to the sampling program. Its maps are memory that the test can look into; the
 * one by pid, which has no memory of its own, is libbpf's two calls, written again here.
 */
#include "collect/publisher.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/process_fixture.h"
#include "unit.h"

#define PROCESSES_FD 1000 /* no descriptor of ours */
#define NUM_PIDS     64

static struct unwind_process published[NUM_PIDS]; /* by pid, where there is one */
static bool is_published[NUM_PIDS];

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags _unused_)
{
	uint32_t pid = *(const uint32_t *)key;

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

struct scene {
	struct fixture *fixture;
	struct elf_files *elf_files;
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

static int set_up_scene(void **state)
{
	struct unwind_table_opts opts = {.no_cache = true};
	struct scene *scene = calloc(1, sizeof(*scene));
	void *fixture;

	assert_int_equal(set_up(&fixture), 0);
	scene->fixture = fixture;
	memset(is_published, 0, sizeof(is_published));
	scene->maps = (struct unwind_maps){
		.pages_fd = make_map(sizeof(struct unwind_page) * UNWIND_MAX_PAGES),
		.mappings_fd = make_map(sizeof(struct unwind_mapping) * UNWIND_MAX_MAPPINGS),
		.shards_fd = -1, /* no file has a table */
		.processes_fd = PROCESSES_FD,
	};
	assert_int_equal(elf_files_new(0, &scene->elf_files), 0);
	assert_int_equal(publisher_new(&scene->maps, scene->fixture->files, scene->elf_files,
				       scene->fixture->table, &opts, &scene->publisher),
			 0);
	*state = scene;
	return 0;
}

static int tear_down_scene(void **state)
{
	struct scene *scene = *state;
	void *fixture = scene->fixture;

	publisher_free(scene->publisher);
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

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_scene, tear_down_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(mappings_are_published_by_pid),
		SCENE_TEST(a_process_whose_mappings_find_no_room_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
