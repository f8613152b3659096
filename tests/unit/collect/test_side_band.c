/*
 * Records of the kernel, written by the test, applied to a process table on a fake /proc. No ring is
 * opened.
 */
#include "collect/processes/side_band.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "failing_memory.h"
#include "process/process_fixture.h"
#include "unit.h"

struct scene {
	struct fixture *fixture;
	struct event_queue *queue;
	struct side_band *side_band;
};

static int set_up_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	void *fixture;

	assert_int_equal(set_up(&fixture), 0);
	scene->fixture = fixture;
	scene->queue = event_queue_new();
	scene->side_band =
		side_band_new(scene->queue, 0, scene->fixture->files, scene->fixture->table);
	assert_non_null(scene->side_band);
	*state = scene;
	return 0;
}

static int tear_down_scene(void **state)
{
	struct scene *scene = *state;
	void *fixture = scene->fixture;

	side_band_free(scene->side_band);
	event_queue_free(scene->queue);
	free(scene);
	return tear_down(&fixture);
}

/* A PERF_RECORD_LOST as side_band_read() queues it: with the file that it does not have behind it. */
static void lose(struct scene *scene, uint64_t num_lost)
{
	const struct {
		struct perf_event_header header;
		uint64_t id;
		uint64_t num_lost;
		uint32_t pid, tid;
		uint64_t time_ns;
		uint32_t file, padding;
	} record = {
		.header = {.type = PERF_RECORD_LOST, .size = offsetof(__typeof__(record), file)},
		.num_lost = num_lost,
		.file = FILE_NONE,
	};

	assert_int_equal(side_band_apply(scene->side_band, 100, &record, sizeof(record)), 0);
}

/* A PERF_RECORD_COMM of an exec, as side_band_read() queues it: with what it runs behind it. */
static void exec_script(struct scene *scene, uint64_t time_ns, uint32_t script_size,
			const char *script)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char comm[8];
		uint32_t sample_pid, sample_tid;
		uint64_t time_ns;
		uint32_t file, script_size;
		char script[16];
	} record = {
		.header = {.type = PERF_RECORD_COMM,
			   .misc = PERF_RECORD_MISC_COMM_EXEC,
			   .size = offsetof(__typeof__(record), file)},
		.pid = PID,
		.tid = PID,
		.comm = "python3",
		.file = FILE_NONE,
		.script_size = script_size,
	};

	strncpy(record.script, script, sizeof(record.script) - 1);
	assert_int_equal(side_band_apply(scene->side_band, time_ns, &record,
					 offsetof(__typeof__(record), script) + script_size),
			 0);
}

static void what_an_exec_runs_is_known_at_its_turn(void **state)
{
	struct scene *scene = *state;

	process_table_keep_scripts(scene->fixture->table);
	on_fork(scene->fixture, 100, PID, 7);
	exec_script(scene, 110, 8, "a.py");
	assert_string_equal(process_get_script(find(scene->fixture, 120, PID, NO_GEN)), "a.py");
	/* It could not be read. */
	exec_script(scene, 130, 0, "");
	assert_string_equal(process_get_script(find(scene->fixture, 140, PID, NO_GEN)), "");
}

static uint32_t count_processes(const struct scene *scene)
{
	return process_table_get_count(scene->fixture->table);
}

static void lost_records_are_counted(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(side_band_get_lost_count(scene->side_band), 0);
	lose(scene, 7);
	lose(scene, 5);
	assert_int_equal(side_band_get_lost_count(scene->side_band), 12);
}

static void proc_is_read_again_after_a_loss(void **state)
{
	struct scene *scene = *state;

	add_process(scene->fixture, PID, "new", "1000-2000 r-xp 0 fe:00 12 /no/new\n");
	assert_int_equal(side_band_catch_up(scene->side_band), 0);
	assert_int_equal(count_processes(scene), 0);
	lose(scene, 1);
	assert_int_equal(count_processes(scene), 1);
	assert_mapped(scene->fixture, process_table_get(scene->fixture->table, 0), 0x1000,
		      "/no/new");
}

/* Whoever can make the kernel lose records must not make us read /proc all the time. */
static void a_loss_soon_after_another_one_is_made_up_for_before_the_end(void **state)
{
	struct scene *scene = *state;

	lose(scene, 1);
	add_process(scene->fixture, PID, "late", "");
	assert_int_equal(count_processes(scene), 0);
	lose(scene, 1);
	assert_int_equal(side_band_catch_up(scene->side_band), 0);
	assert_int_equal(count_processes(scene), 1);
	/* Once: there was no loss since. */
	add_process(scene->fixture, CHILD, "later", "");
	assert_int_equal(side_band_catch_up(scene->side_band), 0);
	assert_int_equal(count_processes(scene), 1);
}

static void of_a_target_only_its_processes_are_read_again(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(side_band_follow(scene->side_band, PID), 0);
	add_process(scene->fixture, PID, "wanted", "");
	add_process(scene->fixture, CHILD, "other", "");
	lose(scene, 1);
	assert_int_equal(count_processes(scene), 1);
	assert_int_equal(process_table_get(scene->fixture->table, 0)->pid, PID);
}

static int make_side_band(void *context)
{
	struct scene *scene = context;
	struct side_band *made =
		side_band_new(scene->queue, 0, scene->fixture->files, scene->fixture->table);

	side_band_free(made);
	return made ? 0 : -ENOMEM;
}

static void a_side_band_without_memory_is_none(void **state)
{
	failing_memory_try_all(make_side_band, *state);
}

/* Records of PERF_RECORD_FORK, PERF_RECORD_KSYMBOL and PERF_RECORD_MMAP2. */
static int apply_one(struct scene *scene, unsigned int number)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, parent_pid, tid, parent_tid;
		uint64_t time_ns;
		uint32_t sample_pid, sample_tid;
		uint64_t sample_time_ns;
		uint32_t file, script_size;
	} fork = {
		.header = {.type = PERF_RECORD_FORK, .size = offsetof(__typeof__(fork), file)},
		.pid = PID,
		.tid = PID,
		.parent_pid = 7,
		.parent_tid = 7,
		.file = FILE_NONE,
	};
	const struct {
		struct perf_event_header header;
		uint64_t start;
		uint32_t size_bytes;
		uint16_t type, flags;
		char name[16];
		uint32_t sample_pid, sample_tid;
		uint64_t sample_time_ns;
		uint32_t file, script_size;
	} symbol = {
		.header = {.type = PERF_RECORD_KSYMBOL, .size = offsetof(__typeof__(symbol), file)},
		.start = 0xffff0000,
		.size_bytes = 0x100,
		.name = "bpf_prog_1",
		.file = FILE_NONE,
	};
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, length, file_offset;
		uint32_t dev_major, dev_minor;
		uint64_t inode, inode_generation;
		uint32_t prot, flags;
		char path[16];
		uint32_t sample_pid, sample_tid;
		uint64_t sample_time_ns;
		uint32_t file, script_size;
	} mmap = {
		.header = {.type = PERF_RECORD_MMAP2, .size = offsetof(__typeof__(mmap), file)},
		.pid = PID,
		.tid = PID,
		.start = 0x1000,
		.length = 0x1000,
		.inode = 12,
		.path = "/no/new",
		.file = FILE_NONE,
	};

	switch (number) {
	case 0:
		return side_band_follow(scene->side_band, PID);
	case 1:
		return side_band_apply(scene->side_band, 100, &fork, sizeof(fork));
	case 2:
		return side_band_apply(scene->side_band, 110, &mmap, sizeof(mmap));
	default:
		return side_band_apply(scene->side_band, 120, &symbol, sizeof(symbol));
	}
}

static void a_record_that_lacked_memory_can_be_applied_again(void **state _unused_)
{
	bool has_failed[4] = {false};
	int64_t num_before = 0;
	bool is_short;

	do {
		struct scene *scene;
		const struct process *process;
		void *made;
		size_t count;

		assert_int_equal(set_up_scene(&made), 0);
		scene = made;
		failing_memory_start(num_before++);
		for (unsigned int i = 0; i < ARRAY_LENGTH(has_failed); i++) {
			bool had_failed = failing_memory_has_failed;
			int err = apply_one(scene, i);

			/* Whether a process is gone need not be known: all is there in the end. */
			assert_true(!err ||
				    (err == -ENOMEM && failing_memory_has_failed != had_failed));
			has_failed[i] |= err != 0;
			if (err)
				assert_int_equal(apply_one(scene, i), 0);
		}
		is_short = failing_memory_end();
		process = find(scene->fixture, 130, PID, NO_GEN);
		assert_mapped(scene->fixture, process, 0x1000, "/no/new");
		assert_string_equal(side_band_get_kernel_code(scene->side_band, &count)[0].name,
				    "bpf_prog_1");
		assert_int_equal(count, 1);
		(void)tear_down_scene(&made);
	} while (is_short);
	for (unsigned int i = 0; i < ARRAY_LENGTH(has_failed); i++)
		assert_true(has_failed[i]);
}

static void proc_is_read_again_where_that_lacked_memory(void **state)
{
	struct scene *scene = *state;
	int64_t num_before = 0;

	/* The first loss is made up for at once, the second one later. */
	lose(scene, 1);
	add_process(scene->fixture, PID, "late", "1000-2000 r-xp 0 fe:00 12 /no/new\n");
	lose(scene, 1);
	for (;; num_before++) {
		int err;

		failing_memory_start(num_before);
		err = side_band_catch_up(scene->side_band);
		assert_int_equal(err, failing_memory_end() ? -ENOMEM : 0);
		if (!err)
			break;
	}
	assert_true(num_before > 0);
	assert_int_equal(count_processes(scene), 1);
	assert_mapped(scene->fixture, process_table_get(scene->fixture->table, 0), 0x1000,
		      "/no/new");
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_scene, tear_down_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(lost_records_are_counted),
		SCENE_TEST(what_an_exec_runs_is_known_at_its_turn),
		SCENE_TEST(proc_is_read_again_after_a_loss),
		SCENE_TEST(a_loss_soon_after_another_one_is_made_up_for_before_the_end),
		SCENE_TEST(of_a_target_only_its_processes_are_read_again),
		SCENE_TEST(a_side_band_without_memory_is_none),
		cmocka_unit_test(a_record_that_lacked_memory_can_be_applied_again),
		SCENE_TEST(proc_is_read_again_where_that_lacked_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
