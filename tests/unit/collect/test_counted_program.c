/* Reading the counters of an event's program. The test replaces libbpf's calls; no program is loaded. */
#include "collect/programs/counted_program.c"

#include "unit.h"

#include <fcntl.h>

/* Descriptors of the maps. */
enum { COUNTERS = 1, END_COUNTERS, REQUESTS, BLOCKS, RUNNING, PERIOD_STATES, NUM_FDS };

static bool is_unreadable[NUM_FDS];
static struct wire_counters counters;
static struct wire_counters end_counters;
static struct wire_running running;
static struct wire_period_state period_state;
static struct wire_block blocks[3];
static uint64_t num_requests;
static uint64_t misses;

int bpf_map__fd(const struct bpf_map *map)
{
	return (int)(uintptr_t)map;
}

int bpf_program__fd(const struct bpf_program *program _unused_)
{
	return 99;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *size _unused_)
{
	assert_int_equal(fd, 99);
	((struct bpf_prog_info *)info)->recursion_misses = misses;
	return 0;
}

/* The same value for each CPU. */
static int copy_to_cpus(const void *value, size_t size, void *ret)
{
	int num_cpus = libbpf_num_possible_cpus();

	for (int i = 0; i < num_cpus; i++)
		memcpy((char *)ret + (size_t)i * size, value, size);
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	errno = ENOENT;
	if (is_unreadable[fd])
		return -ENOENT;
	switch (fd) {
	case COUNTERS:
		return copy_to_cpus(&counters, sizeof(counters), value);
	case END_COUNTERS:
		return copy_to_cpus(&end_counters, sizeof(end_counters), value);
	case RUNNING:
		return copy_to_cpus(&running, sizeof(running), value);
	case PERIOD_STATES:
		return copy_to_cpus(&period_state, sizeof(period_state), value);
	case BLOCKS:
		memcpy(value, &blocks[((const struct wire_block_key *)key)->address],
		       sizeof(blocks[0]));
		return 0;
	}
	return -ENOENT;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	if (fd == REQUESTS) {
		const struct wire_request_key *last = key;
		struct wire_request_key found = {.sector = last ? last->sector + 1 : 0};

		if (found.sector >= num_requests)
			return -ENOENT;
		memcpy(next, &found, sizeof(found));
	} else {
		const struct wire_block_key *last = key;
		struct wire_block_key found = {.address = last ? last->address + 1 : 0};

		assert_int_equal(fd, BLOCKS);
		if (found.address >= ARRAY_LENGTH(blocks))
			return -ENOENT;
		memcpy(next, &found, sizeof(found));
	}
	return 0;
}

static void *map_of(int fd)
{
	return (void *)(uintptr_t)fd;
}

static struct counted_bpf skeleton;
static struct counted_program program;

static int set_up(void **state _unused_)
{
	memset(is_unreadable, 0, sizeof(is_unreadable));
	counters = end_counters = (struct wire_counters){0};
	running = (struct wire_running){0};
	period_state = (struct wire_period_state){0};
	num_requests = misses = 0;
	skeleton.maps.counters = map_of(COUNTERS);
	skeleton.maps.end_counters = map_of(END_COUNTERS);
	skeleton.maps.requests = map_of(REQUESTS);
	skeleton.maps.blocks = map_of(BLOCKS);
	skeleton.maps.running = map_of(RUNNING);
	skeleton.maps.period_states = map_of(PERIOD_STATES);
	program = (struct counted_program){.bpf = &skeleton, .kind = EVENT_BLOCK_IO};
	return 0;
}

static struct wire_counters read_counters(void)
{
	struct wire_counters ret;

	assert_int_equal(counted_program_read_counters(&program, &ret), 0);
	return ret;
}

/* The program at the start of a request and the one at its end count apart. */
static void lost_requests_are_counted(void **state _unused_)
{
	uint64_t num_cpus = (uint64_t)libbpf_num_possible_cpus();
	struct wire_counters sum;

	counters =
		(struct wire_counters){.fired = 100, .sends.lost_ring_sample = 3, .unfinished = 1};
	end_counters = (struct wire_counters){.sends.sent = 5, .sends.lost_ring_sample = 7};
	sum = read_counters();
	assert_int_equal(sum.fired, 100 * num_cpus);
	assert_int_equal(sum.sends.sent, 5 * num_cpus);
	assert_int_equal(sum.sends.lost_ring_sample, 10 * num_cpus);
	assert_int_equal(sum.unfinished, num_cpus);
}

static void pending_requests_are_counted(void **state _unused_)
{
	static const uint64_t nums[] = {0, 1, 2, 3, 1000};

	for (size_t i = 0; i < ARRAY_LENGTH(nums); i++) {
		num_requests = nums[i];
		assert_int_equal(read_counters().unfinished, nums[i]);
	}
	program.kind = EVENT_PROBE;
	assert_int_equal(read_counters().unfinished, 0);
}

static void unreadable_counters_are_an_error(void **state _unused_)
{
	struct wire_counters sum;
	uint64_t value = 1;

	is_unreadable[END_COUNTERS] = true;
	assert_int_equal(counted_program_read_counters(&program, &sum), -ENOENT);
	is_unreadable[COUNTERS] = true;
	assert_int_equal(counted_program_read_counters(&program, &sum), -ENOENT);
	is_unreadable[RUNNING] = true;
	assert_int_equal(counted_program_read_preempted(&program, &value), -ENOENT);
	assert_int_equal(value, 0);
}

static void hits_inside_another_hit_are_counted(void **state _unused_)
{
	uint64_t lost;

	running.lost = 4;
	running.num_running = 9;
	assert_int_equal(counted_program_read_preempted(&program, &lost), 0);
	assert_int_equal(lost, 4 * (uint64_t)libbpf_num_possible_cpus());
}

static void skipped_hits_count_from_start_to_stop(void **state _unused_)
{
	struct counted_bpf__bss globals = {0};

	skeleton.bss = &globals;
	misses = 100;
	counted_program_start(&program);
	assert_true(globals.is_recording);
	misses = 130;
	assert_int_equal(counted_program_get_skipped(&program), 30);
	counted_program_end(&program);
	assert_false(globals.is_recording);
	misses = 1000;
	counted_program_stop(&program);
	assert_int_equal(counted_program_get_skipped(&program), 30);
}

static void the_stop_closes_all_links(void **state _unused_)
{
	struct counted_bpf__bss globals = {0};
	int fds[3];

	skeleton.bss = &globals;
	program.kind = EVENT_PROBE;
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++) {
		struct held_fd *added = array_add(&program.held.fds);

		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
		added->fd = fds[i];
	}
	counted_program_stop(&program);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	array_release(&program.held.fds);
}

static void the_rest_is_the_weight_after_the_last_sample(void **state _unused_)
{
	uint64_t rest;

	period_state.weight = 6;
	assert_int_equal(counted_program_read_rest(&program, &rest), 0);
	assert_int_equal(rest, 0); /* requests have no weight before their end */
	program.kind = EVENT_PROBE;
	assert_int_equal(counted_program_read_rest(&program, &rest), 0);
	assert_int_equal(rest, 6 * (uint64_t)libbpf_num_possible_cpus());
	program.has_exponential_distances = true;
	assert_int_equal(counted_program_read_rest(&program, &rest), 0);
	assert_int_equal(rest, 0);
}

static int add_rest(uint32_t cpu, uint64_t weight, void *context)
{
	uint64_t *sum = context;

	*sum += weight * (cpu + 1);
	return weight == 9 ? -EIO : 0;
}

static void each_cpu_has_its_rest(void **state _unused_)
{
	uint64_t num_cpus = (uint64_t)libbpf_num_possible_cpus();
	uint64_t sum = 0;

	period_state.weight = 6;
	assert_int_equal(counted_program_for_each_rest(&program, add_rest, &sum), 0);
	assert_int_equal(sum, 0);
	program.kind = EVENT_PROBE;
	assert_int_equal(counted_program_for_each_rest(&program, add_rest, &sum), 0);
	assert_int_equal(sum, 6 * num_cpus * (num_cpus + 1) / 2);
	period_state.weight = 9;
	sum = 0;
	assert_int_equal(counted_program_for_each_rest(&program, add_rest, &sum), -EIO);
	assert_int_equal(sum, 9);
	period_state.weight = 0;
	assert_int_equal(counted_program_for_each_rest(&program, add_rest, &sum), 0);
	is_unreadable[PERIOD_STATES] = true;
	assert_int_equal(counted_program_for_each_rest(&program, add_rest, &sum), -ENOENT);
	assert_int_equal(sum, 9);
}

static int add_block(const struct wire_block *block, void *context)
{
	uint64_t *slots = context;

	*slots = *slots * 10 + block->slot;
	return block->slot == 9 ? -EIO : 0;
}

static void each_live_block_is_reported(void **state _unused_)
{
	uint64_t slots = 0;

	for (uint32_t i = 0; i < ARRAY_LENGTH(blocks); i++)
		blocks[i] = (struct wire_block){.slot = i + 1};
	assert_int_equal(counted_program_for_each_block(&program, add_block, &slots), 0);
	assert_int_equal(slots, 0); /* blocks are not recorded */
	program.is_live = true;
	assert_int_equal(counted_program_for_each_block(&program, add_block, &slots), 0);
	assert_int_equal(slots, 123);
	blocks[1].slot = 9;
	slots = 0;
	assert_int_equal(counted_program_for_each_block(&program, add_block, &slots), -EIO);
	assert_int_equal(slots, 19);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lost_requests_are_counted),
		TEST(pending_requests_are_counted),
		TEST(unreadable_counters_are_an_error),
		TEST(hits_inside_another_hit_are_counted),
		TEST(skipped_hits_count_from_start_to_stop),
		TEST(the_stop_closes_all_links),
		TEST(the_rest_is_the_weight_after_the_last_sample),
		TEST(each_cpu_has_its_rest),
		TEST(each_live_block_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
