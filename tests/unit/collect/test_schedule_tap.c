/* The scheduling program's hook, and what is left in its maps at the end. The test replaces libbpf's calls. */
#include "collect/programs/schedule_tap.c"

#include "unit.h"

#define NUM_CPUS 3

/* Descriptors of maps; a map's descriptor is its address. */
enum { COUNTERS = 1, CPUS, KWORKS, RINGS };

static struct wire_schedule_cpu schedule_cpus[NUM_CPUS];
static struct wire_kwork_cpu kwork_cpus[NUM_WIRE_KWORK_KINDS][NUM_CPUS];
static struct wire_schedule_counters counters;
static uint64_t misses; /* of each program */
static int unreadable;  /* descriptor of a map */

int libbpf_num_possible_cpus(void)
{
	return NUM_CPUS;
}

int bpf_map__fd(const struct bpf_map *map)
{
	return (int)(uintptr_t)map;
}

int bpf_program__fd(const struct bpf_program *program _unused_)
{
	return 99;
}

/* Programs at odd addresses were not loaded. */
bool bpf_program__autoload(const struct bpf_program *program)
{
	return !((uintptr_t)program & 1);
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *size _unused_)
{
	assert_int_equal(fd, 99);
	((struct bpf_prog_info *)info)->recursion_misses = misses;
	return 0;
}

int bpf_map_update_elem(int fd, const void *key _unused_, const void *value _unused_,
			__u64 flags _unused_)
{
	assert_int_equal(fd, RINGS);
	errno = EPERM;
	return unreadable == RINGS ? -1 : 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint32_t item = *(const uint32_t *)key;

	errno = EIO;
	if (fd == unreadable)
		return -1;
	if (fd == CPUS)
		memcpy(value, schedule_cpus, sizeof(schedule_cpus));
	else if (fd == KWORKS)
		memcpy(value, kwork_cpus[item], sizeof(kwork_cpus[item]));
	else
		for (int cpu = 0; cpu < NUM_CPUS; cpu++)
			memcpy((char *)value + (size_t)cpu * sizeof(counters), &counters,
			       sizeof(counters));
	return 0;
}

static uint32_t num_batches;
static uint32_t num_kworks;
static uint32_t num_slots;
static int record_error;

static int take_record(const void *record, size_t size, void *context _unused_)
{
	if (record_error)
		return record_error;
	if (size == sizeof(struct wire_kworks)) {
		num_slots += ((const struct wire_kworks *)record)->num_slots;
		num_kworks++;
	} else {
		assert_int_equal(size, sizeof(struct wire_schedule));
		num_slots += ((const struct wire_schedule *)record)->num_slots;
		num_batches++;
	}
	return 0;
}

static struct schedule_bpf bpf;
static struct schedule_tap tap;

static struct bpf_program *get_program(uintptr_t address)
{
	return (struct bpf_program *)address;
}

/* A stop closes it. */
static void give_ring(void)
{
	tap.rings.epoll_fd = -1;
	tap.rings.rings.items = calloc(1, sizeof(*tap.rings.rings.items)); /* of none */
	assert_non_null(tap.rings.rings.items);
}

static int set_up(void **state _unused_)
{
	bpf = (struct schedule_bpf){0};
	bpf.maps.counters = (struct bpf_map *)(uintptr_t)COUNTERS;
	bpf.maps.cpus = (struct bpf_map *)(uintptr_t)CPUS;
	bpf.maps.kworks = (struct bpf_map *)(uintptr_t)KWORKS;
	bpf.maps.rings = (struct bpf_map *)(uintptr_t)RINGS;
	bpf.progs.on_irq_end = get_program(2);
	bpf.progs.on_softirq_end = get_program(3); /* not loaded */
	bpf.progs.on_work_end = get_program(4);
	tap = (struct schedule_tap){.bpf = &bpf, .opts.on_record = take_record};
	give_ring();
	memset(schedule_cpus, 0, sizeof(schedule_cpus));
	memset(kwork_cpus, 0, sizeof(kwork_cpus));
	counters = (struct wire_schedule_counters){0};
	misses = 0;
	unreadable = record_error = 0;
	num_batches = num_kworks = num_slots = 0;
	return 0;
}

static int tear_down(void **state _unused_)
{
	array_release(&tap.rings.rings);
	return 0;
}

/* Each has what no other one has. */
static void counts_of_all_cpus_and_kinds_are_added_up(void **state _unused_)
{
	struct wire_kwork_counters expected = {0};
	uint64_t number = 1;

	for (uint32_t kind = 0; kind < NUM_WIRE_KWORK_KINDS; kind++)
		for (uint32_t cpu = 0; cpu < NUM_CPUS; cpu++) {
			struct wire_kwork_counters *counts = &kwork_cpus[kind][cpu].counters;

			*counts = (struct wire_kwork_counters){.taken = number,
							       .lost_nested = number * 1000,
							       .unseen_begin = number * 1000000,
							       .lost_ring = number * 1000000000};
			expected.taken += counts->taken;
			expected.lost_nested += counts->lost_nested;
			expected.unseen_begin += counts->unseen_begin;
			expected.lost_ring += counts->lost_ring;
			number *= 2;
		}
	misses = 7; /* of each of two programs that were loaded */
	assert_int_equal(schedule_tap_stop(&tap), 0);
	expected.lost_nested += 14;
	assert_int_equal(schedule_tap_get_kwork_counters(&tap).taken, expected.taken);
	assert_int_equal(schedule_tap_get_kwork_counters(&tap).lost_nested, expected.lost_nested);
	assert_int_equal(schedule_tap_get_kwork_counters(&tap).unseen_begin, expected.unseen_begin);
	assert_int_equal(schedule_tap_get_kwork_counters(&tap).lost_ring, expected.lost_ring);
	assert_int_equal(num_kworks + num_batches, 0);
}

static void batches_that_have_started_are_passed_on(void **state _unused_)
{
	schedule_cpus[0].batch.num_slots = 1;
	schedule_cpus[2].batch.num_slots = 20;
	kwork_cpus[0][1].batch.num_slots = 3;
	kwork_cpus[NUM_WIRE_KWORK_KINDS - 1][2].batch.num_slots = 4;
	assert_int_equal(schedule_tap_stop(&tap), 0);
	assert_int_equal(num_batches, 2);
	assert_int_equal(num_kworks, 2);
	assert_int_equal(num_slots, 28);
	record_error = -ENOSPC;
	give_ring();
	assert_int_equal(schedule_tap_stop(&tap), -ENOSPC);
	memset(kwork_cpus, 0, sizeof(kwork_cpus));
	assert_int_equal(schedule_tap_stop(&tap), -ENOSPC);
}

static void a_map_that_cannot_be_read_is_an_error(void **state _unused_)
{
	static const int maps[] = {CPUS, KWORKS};

	for (size_t i = 0; i < ARRAY_LENGTH(maps); i++) {
		unreadable = maps[i];
		assert_int_equal(schedule_tap_stop(&tap), -EIO);
	}
	unreadable = RINGS;
	assert_int_equal(schedule_tap_stop(&tap), -EPERM);
}

/* The kernel did not run the program for these wakeups. */
static void wakeups_that_the_kernel_missed_are_lost(void **state _unused_)
{
	struct wire_schedule_counters read;

	counters =
		(struct wire_schedule_counters){.switches = 1, .wakeups = 10, .lost_nested = 100};
	misses = 5;
	assert_int_equal(schedule_tap_stop(&tap), 0);
	assert_int_equal(schedule_tap_read_counters(&tap, &read), 0);
	assert_int_equal(read.switches, NUM_CPUS);
	assert_int_equal(read.wakeups, 10 * NUM_CPUS + 5);
	assert_int_equal(read.lost_nested, 100 * NUM_CPUS + 5);
}

/*
 * The kernel's types with one tracepoint: its own argument, then those that `order` names: b is a
 * bool, t a task, s a state.
 */
static struct btf *make_types(const char *order)
{
	struct btf *btf = btf__new_empty();
	int is_bool = btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
	int state = btf__add_int(btf, "unsigned int", 4, 0);
	int task = btf__add_ptr(btf, btf__add_struct(btf, "task_struct", 64));
	int own = btf__add_ptr(btf, 0);
	int function = btf__add_func_proto(btf, 0);

	assert_int_equal(btf__add_func_param(btf, "__data", own), 0);
	for (; *order; order++)
		assert_int_equal(btf__add_func_param(btf, "",
						     *order == 'b'   ? is_bool
						     : *order == 't' ? task
								     : state),
				 0);
	assert_true(btf__add_typedef(btf, "btf_trace_sched_switch", btf__add_ptr(btf, function)) >
		    0);
	return btf;
}

static void assert_arguments(const char *order, enum switch_arguments expected)
{
	struct btf *btf = make_types(order);

	assert_int_equal(schedule_tap_probe_switch(btf), expected);
	btf__free(btf);
}

static void arguments_are_seen_in_the_kernels_types(void **state _unused_)
{
	assert_arguments("btt", SWITCH_PREVIOUS_NEXT);
	assert_arguments("bstt", SWITCH_STATE_PREVIOUS_NEXT);
	assert_arguments("btts", SWITCH_PREVIOUS_NEXT_STATE);
}

static void arguments_that_nobody_knows_are_refused(void **state _unused_)
{
	assert_arguments("bt", SWITCH_UNKNOWN);
	assert_arguments("bst", SWITCH_UNKNOWN);
	assert_arguments("", SWITCH_UNKNOWN);
}

static void without_the_tracepoint_there_are_none(void **state _unused_)
{
	struct btf *btf = btf__new_empty();

	assert_int_equal(schedule_tap_probe_switch(btf), SWITCH_UNKNOWN);
	btf__free(btf);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_seen_in_the_kernels_types),
		cmocka_unit_test(arguments_that_nobody_knows_are_refused),
		cmocka_unit_test(without_the_tracepoint_there_are_none),
		TEST(counts_of_all_cpus_and_kinds_are_added_up),
		TEST(batches_that_have_started_are_passed_on),
		TEST(a_map_that_cannot_be_read_is_an_error),
		TEST(wakeups_that_the_kernel_missed_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
