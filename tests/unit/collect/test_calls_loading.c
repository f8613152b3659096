/* Which programs of threads in system calls are loaded, with which maps, and when the kernel refuses some of it. */
#include "collect/programs/calls_program.c"

#include "unit.h"

#include <fcntl.h>

static struct calls_bpf *skeleton; /* that was opened last */
static unsigned int num_loads;
static int load_error;
static bool refuses_copies; /* of stacks of other threads */

int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
		 void (*close)(void *context) _unused_, void *context)
{
	const struct calls_load *load = context;
	struct bpf_object_skeleton *opened;
	int err = open(context, &opened);

	skeleton = load->program->bpf;
	num_loads++;
	if (err)
		return err;
	assert_ptr_equal(opened, skeleton->skeleton);
	return refuses_copies && load->copies_stacks ? -EINVAL : load_error;
}

/* Files by the program that fills them. */
static const struct bpf_program *files[4];
static int file_fds[4];
static unsigned int num_files;
static unsigned int fail_file; /* its number, from 1 on; 0: none */
static int run_error;
static unsigned int num_runs, num_reads;

int thread_iterator_open(const struct bpf_program *program)
{
	if (num_files + 1 == fail_file)
		return -EMFILE;
	files[num_files] = program;
	file_fds[num_files] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return file_fds[num_files++];
}

int thread_iterator_run(int *file)
{
	num_runs++;
	close(*file);
	*file = -1;
	return run_error;
}

int thread_iterator_read(int *file, int (*handle)(const void *record, size_t size, void *context),
			 void *context, uint64_t *ret_num)
{
	num_reads++;
	assert_int_equal(*file, file_fds[1]);
	*ret_num = 5;
	return handle("x", 1, context);
}

uint64_t thread_iterator_get_cgroup_id(int cgroup_fd)
{
	return cgroup_fd < 0 ? 0 : 1000 + (uint64_t)cgroup_fd;
}

static const struct bpf_map *reused[8];
static int reused_fds[8];
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

static struct sampling_program_opts sampling;

const struct sampling_program_opts *sampling_program_get_opts(
	const struct sampling_program *program _unused_)
{
	return &sampling;
}

static struct calls_opts opts;
static struct calls_program *program;

static int set_up(void **state _unused_)
{
	num_loads = num_files = fail_file = num_reused = fail_reuse = num_runs = num_reads = 0;
	load_error = run_error = 0;
	refuses_copies = false;
	sampling = (struct sampling_program_opts){.walks_by_table = true};
	opts = (struct calls_opts){.event = 3, .cgroup_fd = -1, .calls_fd = 11};
	program = NULL;
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int tear_down(void **state _unused_)
{
	calls_program_free(program);
	for (unsigned int i = 0; i < num_files; i++)
		assert_int_equal(fcntl(file_fds[i], F_GETFD), -1);
	return 0;
}

static void make(void)
{
	calls_program_free(program);
	num_loads = num_files = num_reused = 0;
	assert_int_equal(calls_program_new(&opts, &program), 0);
}

static void stacks_are_copied_where_tables_walk_them(void **state _unused_)
{
	for (unsigned int i = 0; i < 4; i++) {
		bool copies = i == 0;

		sampling.walks_by_table = i != 1;
		sampling.no_user_stacks = i == 2;
		refuses_copies = i == 3;
		make();
		assert_non_null(program);
		assert_int_equal(num_loads, i == 3 ? 2 : 1);
		assert_int_equal(num_files, 2);
		assert_ptr_equal(files[0], skeleton->progs.note_call);
		assert_ptr_equal(files[1], copies ? skeleton->progs.send_call_with_stack
						  : skeleton->progs.send_call);
		assert_int_equal(bpf_program__autoload(skeleton->progs.send_call_with_stack),
				 copies);
		assert_int_equal(bpf_program__autoload(skeleton->progs.send_call), !copies);
		assert_true(bpf_program__autoload(skeleton->progs.note_call));
	}
}

static void maps_of_the_others_are_shared(void **state _unused_)
{
	make();
	assert_int_equal(num_reused, 2);
	assert_ptr_equal(reused[0], skeleton->maps.calls);
	assert_int_equal(reused_fds[0], 11);
	assert_ptr_equal(reused[1], skeleton->maps.target_tids);
	assert_int_equal(reused_fds[1], 33);
	assert_false(bpf_map__autocreate(skeleton->maps.rings));
	assert_false(bpf_map__autocreate(skeleton->maps.sent_stacks));
	assert_true(bpf_map__autocreate(skeleton->maps.calls));
	for (fail_reuse = 1; fail_reuse <= 2; fail_reuse++) {
		make();
		assert_null(program);
		assert_int_equal(num_files, 0);
	}
}

static void the_programs_know_what_is_sampled(void **state _unused_)
{
	const struct calls_bpf__rodata *constants;

	for (unsigned int i = 0; i < 4; i++) {
		sampling = (struct sampling_program_opts){
			.is_filtered = i == 0, .no_user_stacks = i == 1, .walks_by_table = i == 2};
		opts.cgroup_fd = i == 3 ? 9 : -1;
		make();
		constants = skeleton->rodata;
		assert_int_equal(constants->event_number, 3);
		assert_int_equal(constants->is_filtered, i == 0);
		assert_int_equal(constants->take_user_stacks, i != 1);
		assert_int_equal(constants->walks_by_table, i == 2);
		assert_int_equal(constants->cgroup_id, i == 3 ? 1009 : 0);
		assert_int_equal(constants->pid_namespace_dev, 44);
		assert_int_equal(constants->pid_namespace_inode, 55);
	}
}

/* Whichever is refused, the files before it are closed. */
static void without_all_programs_there_is_none(void **state _unused_)
{
	sampling.walks_by_table = false;
	for (fail_file = 1; fail_file <= 2; fail_file++) {
		make();
		assert_null(program);
		assert_int_equal(num_files, fail_file - 1);
		for (unsigned int i = 0; i < num_files; i++)
			assert_int_equal(fcntl(file_fds[i], F_GETFD), -1);
	}
	fail_file = 0;
	load_error = -EPERM;
	make();
	assert_null(program);
	assert_int_equal(num_loads, 1);
	sampling.walks_by_table = true;
	make();
	assert_null(program);
	assert_int_equal(num_loads, 2);
}

static int refuse(const void *record _unused_, size_t size, void *context)
{
	assert_int_equal(size, 1);
	return *(const int *)context;
}

static void times_are_those_of_both_clocks(void **state _unused_)
{
	int64_t offset_ns = clock_get_offset_ns(CLOCK_MONOTONIC);
	uint64_t start_ns = clock_read_ns(CLOCK_MONOTONIC);
	uint64_t count = 0;
	int answer = -EBADMSG;

	make();
	run_error = -EINTR; /* is only a message */
	calls_program_note(program);
	assert_in_range(skeleton->bss->start_ns, start_ns, clock_read_ns(CLOCK_MONOTONIC));
	calls_program_note(program);
	assert_int_equal(num_runs, 1);
	assert_int_equal(calls_program_read(program, 1000000000000, refuse, &answer, &count),
			 -EBADMSG);
	assert_int_equal(count, 5);
	assert_int_equal(num_reads, 1);
	assert_int_equal(skeleton->bss->end_boot_ns, 1000000000000);
	assert_in_range(skeleton->bss->end_ns, 1000000000000 - (uint64_t)offset_ns - 1000000,
			1000000000000 - (uint64_t)offset_ns + 1000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stacks_are_copied_where_tables_walk_them),
		TEST(maps_of_the_others_are_shared),
		TEST(the_programs_know_what_is_sampled),
		TEST(without_all_programs_there_is_none),
		TEST(times_are_those_of_both_clocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
