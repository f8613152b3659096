/* Which programs of sleeping threads are loaded, with which maps, and what is open when the kernel refuses some of it. */
#include "collect/programs/sleepers_program.c"

#include "unit.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/stat.h>

static struct sleepers_bpf *skeleton; /* that was opened last */
static unsigned int num_loads;
static int load_error;
static bool refuses_copies; /* of stacks of other threads */

int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
		 void (*close)(void *context) _unused_, void *context)
{
	struct bpf_object_skeleton *opened;
	int err = open(context, &opened);

	skeleton = ((struct sleepers_load *)context)->program->bpf;
	num_loads++;
	if (err)
		return err;
	assert_ptr_equal(opened, skeleton->skeleton);
	return refuses_copies && ((struct sleepers_load *)context)->copies_stacks ? -EINVAL
										  : load_error;
}

/* Files by the program that fills them. */
static const struct bpf_program *attached[8];
static unsigned int num_attached;
static unsigned int num_destroyed;
static const char *refused_name;
static bool refuses_file;
static int file_fds[8];
static unsigned int num_files;

struct bpf_link *bpf_program__attach_iter(const struct bpf_program *program,
					  const struct bpf_iter_attach_opts *opts)
{
	assert_null(opts);
	errno = EBUSY;
	if (refused_name && !refuses_file && !strcmp(bpf_program__name(program), refused_name))
		return NULL;
	attached[num_attached++] = program;
	return (struct bpf_link *)&attached[num_attached - 1];
}

int bpf_link__fd(const struct bpf_link *link)
{
	return (int)((const struct bpf_program *const *)link - attached);
}

int bpf_link__destroy(struct bpf_link *link)
{
	num_destroyed += link != NULL;
	return 0;
}

int bpf_iter_create(int link_fd)
{
	errno = EMFILE;
	if (refused_name && refuses_file &&
	    !strcmp(bpf_program__name(attached[link_fd]), refused_name))
		return -EMFILE;
	file_fds[num_files] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return file_fds[num_files++];
}

static const struct bpf_map *reused[16]; /* a load that fails is tried again */
static int reused_fds[16];
static unsigned int num_reused;
static unsigned int fail_reuse; /* its number, from 1 on; 0: none */

int bpf_map__reuse_fd(struct bpf_map *map, int fd)
{
	if (num_reused + 1 == fail_reuse)
		return -EBADF;
	reused[num_reused] = map;
	reused_fds[num_reused++] = fd;
	return 0;
}

int sampling_program_get_map(const struct sampling_program *program _unused_, const char *name)
{
	assert_string_equal(name, "target_tids");
	return 33;
}

void sampling_program_get_namespace(const struct sampling_program *program _unused_,
				    volatile __u64 *ret_dev, volatile __u64 *ret_inode)
{
	*ret_dev = 44;
	*ret_inode = 55;
}

static struct off_cpu_program_opts off_cpu;
static struct sleepers_opts opts;
static struct sleepers_program *program;

static int set_up(void **state _unused_)
{
	num_loads = num_attached = num_destroyed = num_files = num_reused = fail_reuse = 0;
	load_error = 0;
	refuses_copies = refuses_file = false;
	refused_name = NULL;
	off_cpu = (struct off_cpu_program_opts){
		.period_ns = 1000, .min_block_ns = 20, .scheduler_pc = 30, .cgroup_fd = -1};
	opts = (struct sleepers_opts){.off_cpu = &off_cpu, .departures_fd = 11, .states_fd = 22};
	program = NULL;
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int tear_down(void **state _unused_)
{
	sleepers_program_free(program);
	for (unsigned int i = 0; i < num_files; i++)
		assert_int_equal(fcntl(file_fds[i], F_GETFD), -1);
	return 0;
}

static void make(void)
{
	sleepers_program_free(program);
	num_loads = num_attached = num_destroyed = num_files = num_reused = 0;
	assert_int_equal(sleepers_program_new(&opts, &program), 0);
}

static void each_program_has_its_file(void **state _unused_)
{
	make();
	assert_non_null(program);
	assert_int_equal(num_attached, 3);
	assert_ptr_equal(attached[0], skeleton->progs.note_sleeper);
	assert_ptr_equal(attached[1], skeleton->progs.count_thread);
	assert_ptr_equal(attached[2], skeleton->progs.send_sleeper);
	assert_int_equal(program->note_fd, file_fds[0]);
	assert_int_equal(program->count_fd, file_fds[1]);
	assert_int_equal(program->send_fd, file_fds[2]);
	/* A file holds its link. */
	assert_int_equal(num_destroyed, 3);
	assert_false(bpf_program__autoload(skeleton->progs.send_sleeper_with_stack));
	assert_true(bpf_program__autoload(skeleton->progs.send_sleeper));
}

static void stacks_are_copied_where_tables_walk_them(void **state _unused_)
{
	off_cpu.walks_by_table = true;
	make();
	assert_int_equal(num_loads, 1);
	assert_ptr_equal(attached[2], skeleton->progs.send_sleeper_with_stack);
	assert_true(bpf_program__autoload(skeleton->progs.send_sleeper_with_stack));
	assert_false(bpf_program__autoload(skeleton->progs.send_sleeper));
	off_cpu.no_user_stacks = true;
	make();
	assert_ptr_equal(attached[2], skeleton->progs.send_sleeper);
	/* A kernel that refuses to copy them shows the threads. */
	off_cpu.no_user_stacks = false;
	refuses_copies = true;
	make();
	assert_non_null(program);
	assert_int_equal(num_loads, 2);
	assert_ptr_equal(attached[2], skeleton->progs.send_sleeper);
}

static void maps_of_the_others_are_shared(void **state _unused_)
{
	for (unsigned int in_tasks = 0; in_tasks < 2; in_tasks++) {
		opts.notes_in_tasks = in_tasks;
		make();
		assert_int_equal(num_reused, 3);
		assert_ptr_equal(reused[0], in_tasks ? skeleton->maps.departures_of_tasks
						     : skeleton->maps.departures_by_tid);
		assert_int_equal(reused_fds[0], 11);
		assert_ptr_equal(reused[1], skeleton->maps.states);
		assert_int_equal(reused_fds[1], 22);
		assert_ptr_equal(reused[2], skeleton->maps.target_tids);
		assert_int_equal(reused_fds[2], 33);
		assert_int_equal(bpf_map__autocreate(skeleton->maps.departures_of_tasks), in_tasks);
		assert_int_equal(bpf_map__autocreate(skeleton->maps.departures_by_tid), !in_tasks);
		assert_false(bpf_map__autocreate(skeleton->maps.rings));
		assert_false(bpf_map__autocreate(skeleton->maps.sent_stacks));
		assert_false(bpf_map__autocreate(skeleton->maps.counters));
		assert_int_equal(skeleton->rodata->notes_in_tasks, in_tasks);
	}
	for (fail_reuse = 1; fail_reuse <= 3; fail_reuse++) {
		make();
		assert_null(program);
		assert_int_equal(num_attached, 0);
	}
}

static void the_programs_know_what_is_sampled(void **state _unused_)
{
	struct stat status;
	const struct sleepers_bpf__rodata *constants;

	make();
	constants = skeleton->rodata;
	assert_int_equal(constants->period_ns, 1000);
	assert_int_equal(constants->min_block_ns, 20);
	assert_int_equal(constants->scheduler_pc, 30);
	assert_int_equal(constants->cgroup_id, 0);
	assert_int_equal(constants->pid_namespace_dev, 44);
	assert_int_equal(constants->pid_namespace_inode, 55);
	for (unsigned int i = 0; i < 5; i++) {
		off_cpu = (struct off_cpu_program_opts){.only_futexes = i == 0,
							.is_filtered = i == 1,
							.no_user_stacks = i == 2,
							.no_kernel_stacks = i == 3,
							.walks_by_table = i == 4,
							.cgroup_fd = -1};
		make();
		constants = skeleton->rodata;
		assert_int_equal(constants->only_futexes, i == 0);
		assert_int_equal(constants->is_filtered, i == 1);
		assert_int_equal(constants->take_user_stacks, i != 2);
		assert_int_equal(constants->take_kernel_stacks, i != 3);
		assert_int_equal(constants->walks_by_table, i == 4);
	}
	/* A cgroup is known by its folder's inode. */
	off_cpu.cgroup_fd = open("/", O_PATH | O_CLOEXEC);
	assert_int_equal(fstat(off_cpu.cgroup_fd, &status), 0);
	make();
	assert_int_equal(skeleton->rodata->cgroup_id, status.st_ino);
	close(off_cpu.cgroup_fd);
	make();
	assert_int_equal(skeleton->rodata->cgroup_id, 0);
}

/* Whichever is refused, the files before it are closed. */
static void without_all_programs_there_is_none(void **state _unused_)
{
	static const char *const names[] = {"note_sleeper", "count_thread", "send_sleeper"};

	for (unsigned int i = 0; i < 6; i++) {
		refused_name = names[i / 2];
		refuses_file = i % 2;
		make();
		assert_null(program);
		assert_int_equal(num_files, i / 2);
		for (unsigned int file = 0; file < num_files; file++)
			assert_int_equal(fcntl(file_fds[file], F_GETFD), -1);
		assert_int_equal(num_destroyed, num_attached);
	}
	refused_name = NULL;
	load_error = -EPERM;
	make();
	assert_null(program);
	assert_int_equal(num_loads, 1);
	off_cpu.walks_by_table = true;
	make();
	assert_null(program);
	assert_int_equal(num_loads, 2);
}

static void times_are_those_of_both_clocks(void **state _unused_)
{
	int64_t offset_ns = clock_get_offset_ns(CLOCK_MONOTONIC);

	make();
	sleepers_program_note(program, 77);
	assert_int_equal(skeleton->bss->start_ns, 77);
	assert_int_equal(fcntl(file_fds[0], F_GETFD), -1);
	assert_int_equal(fcntl(file_fds[1], F_GETFD) < 0, 0);
	assert_int_equal(sleepers_program_count(program, 78, 1000000000000), 0);
	assert_int_equal(skeleton->bss->start_ns, 78);
	assert_int_equal(skeleton->bss->end_boot_ns, 1000000000000);
	assert_in_range(skeleton->bss->end_ns, 1000000000000 - (uint64_t)offset_ns - 1000000,
			1000000000000 - (uint64_t)offset_ns + 1000000);
	assert_int_equal(fcntl(file_fds[1], F_GETFD), -1);
	assert_int_equal(fcntl(file_fds[2], F_GETFD) < 0, 0);
	/* They run once. */
	assert_int_equal(sleepers_program_count(program, 78, 1000000000000), -EALREADY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_program_has_its_file),
		TEST(stacks_are_copied_where_tables_walk_them),
		TEST(maps_of_the_others_are_shared),
		TEST(the_programs_know_what_is_sampled),
		TEST(without_all_programs_there_is_none),
		TEST(times_are_those_of_both_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
