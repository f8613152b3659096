/* The program of who ends waits: what it shares with that of off-CPU time. Objects are opened, and not loaded. */
#include "collect/programs/wakers_program.c"

#include <off_cpu.skel.h>
#include <string.h>

#include "unit.h"

static struct wakers_bpf *skeleton;
static unsigned int num_reused;
static const struct bpf_map *reused[4];
static int reused_fds[4];
static int reuse_error;
static int attach_error;
static int load_error;
static int share_error;
static unsigned int num_attached;
static unsigned int num_destroyed;

/* A map's descriptor is the length of its name. */
int bpf_map__fd(const struct bpf_map *map)
{
	return (int)strlen(bpf_map__name(map));
}

int bpf_map__reuse_fd(struct bpf_map *map, int fd)
{
	assert_true(num_reused < ARRAY_LENGTH(reused));
	reused[num_reused] = map;
	reused_fds[num_reused++] = fd;
	return reuse_error;
}

struct bpf_link *bpf_program__attach(const struct bpf_program *program)
{
	assert_ptr_equal(program, skeleton->progs.on_woken_by);
	errno = attach_error;
	num_attached += !attach_error;
	return attach_error ? NULL : (struct bpf_link *)&num_attached;
}

int bpf_link__destroy(struct bpf_link *link)
{
	num_destroyed += link != NULL;
	return 0;
}

int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
		 void (*close)(void *context) _unused_, void *context)
{
	struct bpf_object_skeleton *opened;
	int err = open(context, &opened);

	skeleton = ((struct wakers_program *)context)->bpf;
	if (!err)
		assert_ptr_equal(opened, skeleton->skeleton);
	return err ? err : load_error;
}

void sampling_program_get_namespace(const struct sampling_program *program _unused_,
				    volatile __u64 *ret_dev, volatile __u64 *ret_inode)
{
	*ret_dev = 44;
	*ret_inode = 55;
}

int sampling_program_share_maps(const struct sampling_program *program _unused_,
				const struct bpf_object *object _unused_)
{
	return share_error;
}

int bpf_counters_read(int map_fd, void *ret, size_t size)
{
	assert_int_equal(map_fd, strlen("waker_counters"));
	assert_int_equal(size, sizeof(struct wire_waker_counters));
	memset(ret, 1, size);
	return -EIO;
}

int own_times_add(struct own_times *times _unused_, const struct bpf_object *object)
{
	assert_ptr_equal(object, skeleton->obj);
	return -ENOMEM;
}

static struct off_cpu_bpf *off_cpu;
static struct wakers_program_opts opts;
static struct wakers_program *program;

static int set_up(void **state _unused_)
{
	num_reused = num_attached = num_destroyed = 0;
	reuse_error = attach_error = load_error = share_error = 0;
	off_cpu = off_cpu_bpf__open();
	assert_non_null(off_cpu);
	opts = (struct wakers_program_opts){.waits = {.period_ns = 1000, .cgroup_fd = -1},
					    .off_cpu = off_cpu->obj};
	program = NULL;
	return 0;
}

static int tear_down(void **state _unused_)
{
	wakers_program_free(program);
	off_cpu_bpf__destroy(off_cpu);
	return 0;
}

static void make(void)
{
	wakers_program_free(program);
	num_reused = 0;
	assert_int_equal(wakers_program_new(&opts, NULL, &program), 0);
}

static void notes_and_cgroups_are_those_of_off_cpu_time(void **state _unused_)
{
	for (unsigned int in_tasks = 0; in_tasks < 2; in_tasks++) {
		opts.notes_in_tasks = in_tasks;
		make();
		assert_int_equal(num_reused, 2);
		assert_ptr_equal(reused[0], in_tasks ? skeleton->maps.departures_of_tasks
						     : skeleton->maps.departures_by_tid);
		assert_int_equal(reused_fds[0],
				 strlen(in_tasks ? "departures_of_tasks" : "departures_by_tid"));
		assert_ptr_equal(reused[1], skeleton->maps.cgroups);
		assert_int_equal(bpf_map__autocreate(skeleton->maps.departures_of_tasks), in_tasks);
		assert_int_equal(bpf_map__autocreate(skeleton->maps.departures_by_tid), !in_tasks);
		assert_int_equal(skeleton->rodata->notes_in_tasks, in_tasks);
	}
}

static void the_program_knows_what_is_sampled(void **state _unused_)
{
	make();
	assert_int_equal(skeleton->rodata->period_ns, 1000);
	assert_int_equal(skeleton->rodata->pid_namespace_dev, 44);
	assert_int_equal(skeleton->rodata->pid_namespace_inode, 55);
	assert_int_equal(bpf_map__max_entries(skeleton->maps.sent_stacks),
			 libbpf_num_possible_cpus());
	assert_int_equal(bpf_map__max_entries(skeleton->maps.raw_samples),
			 libbpf_num_possible_cpus());
	for (unsigned int i = 0; i < 5; i++) {
		opts.waits.cgroup_fd = i == 1 ? 0 : -1;
		opts.waits.is_filtered = i == 2;
		opts.waits.no_user_stacks = i == 3;
		opts.waits.walks_by_table = i == 4;
		make();
		assert_int_equal(skeleton->rodata->is_of_cgroup, i == 1);
		assert_int_equal(skeleton->rodata->is_filtered, i == 2);
		assert_int_equal(skeleton->rodata->take_user_stacks, i != 3);
		assert_int_equal(skeleton->rodata->walks_by_table, i == 4);
	}
}

static void it_is_detached_at_the_stop(void **state _unused_)
{
	struct wire_waker_counters counters, ones;

	make();
	assert_int_equal(num_attached, 1);
	assert_false(skeleton->bss->is_recording);
	wakers_program_start(program);
	assert_true(skeleton->bss->is_recording);
	wakers_program_stop(program);
	assert_false(skeleton->bss->is_recording);
	assert_int_equal(num_destroyed, 1);
	memset(&ones, 1, sizeof(ones));
	assert_int_equal(wakers_program_read_counters(program, &counters), -EIO);
	assert_memory_equal(&counters, &ones, sizeof(ones));
	assert_int_equal(wakers_program_read_time(program, NULL), -ENOMEM);
	wakers_program_free(program);
	program = NULL;
	assert_int_equal(num_destroyed, 1);
	make();
	wakers_program_free(program);
	program = NULL;
	assert_int_equal(num_destroyed, 2);
}

static void errors_of_the_kernel_are_returned(void **state _unused_)
{
	struct {
		int *error;
		int value;
		int err;
	} cases[] = {{&load_error, -EINVAL, -EINVAL},
		     {&share_error, -ENOENT, -ENOENT},
		     {&reuse_error, -EBADF, -EBADF},
		     {&attach_error, EBUSY, -EBUSY}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		num_reused = 0;
		*cases[i].error = cases[i].value;
		assert_int_equal(wakers_program_new(&opts, NULL, &program), cases[i].err);
		assert_null(program);
		*cases[i].error = 0;
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(notes_and_cgroups_are_those_of_off_cpu_time),
		TEST(the_program_knows_what_is_sampled),
		TEST(it_is_detached_at_the_stop),
		TEST(errors_of_the_kernel_are_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
