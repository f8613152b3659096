/* Which programs of the schedule are loaded, with which maps, by what is recorded and what the kernel has. Nothing is loaded. */
#define btf__load_vmlinux_btf    load_types
#define libbpf_num_possible_cpus count_cpus
#define bpf_log_load             load_object
#define bpf_rings_init           make_rings
#define bpf_map__reuse_fd        reuse_map
#include "collect/programs/schedule_tap.c"

#include "unit.h"

#define RUNNING_FD 11
#define TARGETS_FD 22

static const char *order;         /* of the arguments of sched_switch: t is a task, s a number */
static const char *const *kworks; /* tracepoints, up to NULL */
static bool hides_count;          /* the kernel has no such symbol */
static unsigned int num_loads;
static const struct bpf_map *reused[8];
static int reused_fds[8];
static unsigned int num_reused;
static struct schedule_tap tap;

struct btf *load_types(void)
{
	struct btf *btf = btf__new_empty();
	int state = btf__add_int(btf, "unsigned int", 4, 0);
	int task = btf__add_ptr(btf, btf__add_struct(btf, "task_struct", 64));
	int own = btf__add_ptr(btf, 0);
	int function = btf__add_func_proto(btf, 0);
	int pointer;

	assert_int_equal(btf__add_func_param(btf, "__data", own), 0);
	for (const char *at = order; *at; at++)
		assert_int_equal(btf__add_func_param(btf, "", *at == 't' ? task : state), 0);
	pointer = btf__add_ptr(btf, function);
	assert_true(btf__add_typedef(btf, "btf_trace_sched_switch", pointer) > 0);
	for (size_t i = 0; kworks && kworks[i]; i++)
		assert_true(btf__add_typedef(btf, kworks[i], pointer) > 0);
	return btf;
}

int count_cpus(void)
{
	return 3;
}

int load_object(int (*open)(void *context, struct bpf_object_skeleton **ret),
		void (*close)(void *context) _unused_, void *context)
{
	struct bpf_object_skeleton *opened = NULL;
	int err = open(context, &opened);

	num_loads++;
	if (err)
		return err;
	assert_ptr_equal(opened, tap.bpf->skeleton);
	return hides_count && bpf_program__autoload(tap.bpf->progs.on_wakeup) ? -ENOENT : 0;
}

int make_rings(struct bpf_rings *rings _unused_, int map_fd _unused_, uint32_t num_cpus,
	       uint32_t size_bytes)
{
	assert_int_equal(num_cpus, 3);
	assert_int_equal(size_bytes, 4096);
	return 0;
}

int reuse_map(struct bpf_map *map, int fd)
{
	reused[num_reused] = map;
	reused_fds[num_reused++] = fd;
	return 0;
}

static int set_up(void **state _unused_)
{
	order = "stt";
	kworks = NULL;
	hides_count = false;
	tap = (struct schedule_tap){
		.opts = {.running_fd = RUNNING_FD, .targets_fd = -1, .ring_bytes = 4096}};
	return 0;
}

static int tear_down(void **state _unused_)
{
	schedule_bpf__destroy(tap.bpf);
	return 0;
}

static int load_again(void)
{
	schedule_bpf__destroy(tap.bpf);
	tap.bpf = NULL;
	num_loads = num_reused = 0;
	return load(&tap);
}

static void only_targets_are_recorded_where_there_are_some(void **state _unused_)
{
	assert_int_equal(load_again(), 0);
	assert_false(tap.bpf->rodata->is_filtered);
	assert_int_equal(num_reused, 1);
	assert_ptr_equal(reused[0], tap.bpf->maps.running_threads);
	assert_int_equal(reused_fds[0], RUNNING_FD);
	tap.opts.targets_fd = TARGETS_FD;
	assert_int_equal(load_again(), 0);
	assert_true(tap.bpf->rodata->is_filtered);
	assert_int_equal(num_reused, 2);
	assert_ptr_equal(reused[1], tap.bpf->maps.target_tids);
	assert_int_equal(reused_fds[1], TARGETS_FD);
}

/* The one that knows where the kernel has its arguments. */
static void one_program_of_switches_is_loaded(void **state _unused_)
{
	static const char *const orders[] = {"stt", "sstt", "stts"};

	for (size_t i = 0; i < ARRAY_LENGTH(orders); i++) {
		order = orders[i];
		assert_int_equal(load_again(), 0);
		const struct bpf_program *const programs[] = {tap.bpf->progs.on_switch,
							      tap.bpf->progs.on_switch_state_second,
							      tap.bpf->progs.on_switch_state_last};

		for (size_t k = 0; k < ARRAY_LENGTH(programs); k++)
			assert_int_equal(bpf_program__autoload(programs[k]), k == i);
		assert_ptr_equal(tap.switch_program, programs[i]);
	}
	order = "s";
	assert_int_equal(load_again(), -ENOENT);
}

static void where_the_count_is_hidden_idle_means_an_interrupt(void **state _unused_)
{
	assert_int_equal(load_again(), 0);
	assert_int_equal(num_loads, 1);
	assert_true(bpf_program__autoload(tap.bpf->progs.on_wakeup));
	assert_false(bpf_program__autoload(tap.bpf->progs.on_wakeup_without_count));
	assert_ptr_equal(tap.wakeup_program, tap.bpf->progs.on_wakeup);
	hides_count = true;
	assert_int_equal(load_again(), 0);
	assert_int_equal(num_loads, 2);
	assert_false(bpf_program__autoload(tap.bpf->progs.on_wakeup));
	assert_true(bpf_program__autoload(tap.bpf->progs.on_wakeup_without_count));
	assert_ptr_equal(tap.wakeup_program, tap.bpf->progs.on_wakeup_without_count);
}

/* Work of the kernel is recorded for the whole machine, where both its start and its end are known. */
static void work_has_both_its_programs_or_none(void **state _unused_)
{
	static const char *const known[] = {"btf_trace_irq_handler_entry",
					    "btf_trace_irq_handler_exit", "btf_trace_softirq_entry",
					    "btf_trace_workqueue_execute_end", NULL};
	struct schedule_bpf *bpf;

	kworks = known;
	assert_int_equal(load_again(), 0);
	bpf = tap.bpf;
	assert_true(bpf_program__autoload(bpf->progs.on_irq));
	assert_true(bpf_program__autoload(bpf->progs.on_irq_end));
	assert_false(bpf_program__autoload(bpf->progs.on_softirq));
	assert_false(bpf_program__autoload(bpf->progs.on_softirq_end));
	assert_false(bpf_program__autoload(bpf->progs.on_work));
	assert_false(bpf_program__autoload(bpf->progs.on_work_end));
	tap.opts.targets_fd = TARGETS_FD;
	assert_int_equal(load_again(), 0);
	bpf = tap.bpf;
	assert_false(bpf_program__autoload(bpf->progs.on_irq));
	assert_false(bpf_program__autoload(bpf->progs.on_irq_end));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_targets_are_recorded_where_there_are_some),
		TEST(one_program_of_switches_is_loaded),
		TEST(where_the_count_is_hidden_idle_means_an_interrupt),
		TEST(work_has_both_its_programs_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
