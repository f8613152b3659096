/* The program of events: weight of a hit, period, requests, probes, allocators, counters. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "counted.bpf.c"
#undef const
/* clang-format on */

#define SP 0x7ffc00001000

static struct task_struct task;
static struct task_struct other;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(counters);
	FAKE_PER_CPU(end_counters);
	FAKE_PER_CPU(period_states);
	FAKE_PER_CPU(running);
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(own_times);
	FAKE_PER_CPU(filter_scratches);
	FAKE_ARRAY(event_filter, 2);
	FAKE_PER_CPU(raw_budget);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_ARRAY(raw_samples, 1);
	FAKE_HASH(unwind_processes, 2);
	FAKE_ARRAY(sent_stacks, 1);
	FAKE_ARRAY(arguments, 2);
	FAKE_ARRAY(own_code, 2);
	FAKE_HASH(open_calls, 2);
	FAKE_HASH(calls, 2);
	FAKE_ARRAY(file_starts, 2);
	FAKE_HASH(requests, 2);
	FAKE_HASH(returning, 2);
	FAKE_HASH(reallocations, 2);
	FAKE_HASH(blocks, 2);
	FAKE_STACK(free_slots, uint32_t, 2);
	FAKE_HASH(target_tids, 2);
	FAKE_RINGS(rings);
	task = (struct task_struct){.pid = 7, .tgid = 6};
	fake_kernel.task = &task;
	fake_kernel.pid_tgid = 6ull << 32 | 7;
	fake_kernel.kernel_stack[0] = 0xffffffff81000000;
	fake_kernel.num_kernel_frames = 1;
	fake_kernel.now_ns = 1000;
	is_recording = true;
	fixed_period = samples_per_window = hit_weight = 1;
	weight_bytes = weight_offset = 0;
	weight_scale = 1;
	is_weight_signed = weighs_time = has_calls = false;
	is_filtered = is_of_cgroup = false;
	is_of_probe = is_probe_of_user_mode = points_differ = is_of_allocator = is_live = false;
	request_kinds = 0;
	take_user_stacks = false;
	take_kernel_stacks = true;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_counters *get_counters(void)
{
	return get_per_cpu(&counters);
}

/* Each hit is in exactly one counter or pending. */
static void expect_balance(uint64_t num_pending)
{
	const struct wire_counters *counter = get_counters();
	const struct wire_counters *ends = get_per_cpu(&end_counters);

	assert_int_equal(counter->fired,
			 counter->idle + counter->filtered + counter->unmatched +
				 counter->weightless + counter->unseen_begin + counter->unfinished +
				 counter->below_period + counter->sends.sent +
				 counter->sends.lost_ring_sample + counter->sends.lost_ring_stack +
				 counter->lost_block + ends->sends.sent +
				 ends->sends.lost_ring_sample + num_pending);
}

static const struct wire_sample *get_sample(void)
{
	return fake_record_last(WIRE_SAMPLE);
}

static void a_sample_stands_for_the_period(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	uint64_t record = 0;

	fixed_period = 3;
	fake_kernel.random = 2; /* each distance is the period */
	for (int i = 0; i < 8; i++)
		on_tracepoint(&record);
	assert_int_equal(counter->fired, 8);
	assert_int_equal(counter->sends.sent, 2);
	assert_int_equal(counter->below_period, 6);
	assert_int_equal(get_sample()->weight, 3);
	assert_int_equal(((const struct wire_period_state *)get_per_cpu(&period_states))->weight,
			 2);
	expect_balance(0);
}

/* With equal distances all samples would be of the same one of the four. */
static void a_fixed_period_is_in_no_step_with_the_program(void **state _unused_)
{
	const struct wire_period_state *period = get_per_cpu(&period_states);
	uint64_t sums[4] = {0};
	uint64_t sum = 0;
	uint64_t record = 0;

	fixed_period = 100;
	for (int i = 0; i < 20000; i++) {
		uint64_t num_records = fake_kernel.num_records;

		on_tracepoint(&record);
		fake_kernel.random = fake_kernel.random * 1103515245 + 12345;
		if (fake_kernel.num_records == num_records)
			continue;
		assert_in_range(get_sample()->weight, 50, 150);
		sums[i % 4] += get_sample()->weight;
	}
	for (int i = 0; i < 4; i++) {
		assert_in_range(sums[i], 3000, 7000);
		sum += sums[i];
	}
	assert_int_equal(sum + period->weight, 20000);
	/* Each hit is a sample. */
	fixed_period = 1;
	fake_kernel.random = 7;
	*(struct wire_period_state *)get_per_cpu(&period_states) = (struct wire_period_state){0};
	on_tracepoint(&record);
	assert_int_equal(get_sample()->weight, 1);
	assert_int_equal(period->weight, 0);
}

static void a_field_can_be_the_weight_of_a_hit(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	struct {
		uint64_t head;
		int32_t weight;
		uint32_t next;
	} record = {1, 250, 0xffffffff};

	fixed_period = 100;
	weight_offset = 8;
	weight_bytes = 4;
	on_tracepoint(&record); /* each distance is 50 */
	assert_int_equal(get_sample()->weight, 250);
	record.weight = 0;
	on_tracepoint(&record);
	assert_int_equal(counter->weightless, 1);
	is_weight_signed = true;
	record.weight = -1;
	on_tracepoint(&record);
	assert_int_equal(counter->weightless, 2);
	record.weight = 49;
	on_tracepoint(&record);
	record.weight = 50; /* plus the rest */
	on_tracepoint(&record);
	assert_int_equal(counter->sends.sent, 2);
	assert_int_equal(get_sample()->weight, 50);
	assert_int_equal(((const struct wire_period_state *)get_per_cpu(&period_states))->weight,
			 49);
	weight_bytes = 8;
	is_weight_signed = false;
	on_tracepoint(&record); /* larger than any amount */
	assert_int_equal(counter->weightless, 3);
	expect_balance(0);
}

static void a_field_may_be_in_units(void **state _unused_)
{
	struct {
		uint64_t head;
		uint32_t num_sectors;
	} record = {1, 8};

	weight_offset = 8;
	weight_bytes = 4;
	weight_scale = 512;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->weight, 4096);
	record.num_sectors = 0;
	on_tracepoint(&record);
	assert_int_equal(((const struct wire_counters *)get_counters())->weightless, 1);
	expect_balance(0);
}

static void the_period_adapts_to_the_rate(void **state _unused_)
{
	struct wire_period_state *period = get_per_cpu(&period_states);
	uint64_t record = 0;
	uint64_t sum = 0;
	uint64_t num = 0;

	fixed_period = 0;
	samples_per_window = 2;
	for (int i = 0; i < 200; i++) {
		on_tracepoint(&record);
		fake_kernel.random++;
	}
	assert_true(period->period >= 16);
	assert_int_equal(period->period & (period->period - 1), 0);
	for (uint64_t i = 0; i < fake_kernel.num_records; i++) {
		if (fake_record_type(i) != WIRE_SAMPLE)
			continue;
		sum += ((const struct wire_sample *)fake_kernel.records[i].bytes)->weight;
		num++;
	}
	assert_int_equal(sum + period->weight, 200);
	assert_int_equal(num, get_counters()->sends.sent);
	/* At a low rate each sample halves the period. */
	for (int i = 0; i < 10; i++) {
		fake_kernel.now_ns += 9 * WINDOW_NS;
		period->weight = period->next;
		on_tracepoint(&record);
	}
	assert_int_equal(period->period, 1);
	/* After a silence one hit is enough, which has no weight but its own. */
	period->period = period->next = 1000;
	fake_kernel.now_ns += MAX_SILENCE_NS - 1;
	period->sample_ns = fake_kernel.now_ns - MAX_SILENCE_NS + 1;
	period->weight = 0;
	on_tracepoint(&record);
	assert_int_equal(period->weight, 1);
	fake_kernel.now_ns++;
	on_tracepoint(&record);
	assert_int_equal(period->weight, 0);
	assert_int_equal(get_sample()->weight, 1);
	assert_int_equal(get_sample()->earlier_weight, 1);
	/* Halved for each window of it. */
	assert_int_equal(period->period, 250);
	assert_in_range(period->next, 125, 375);
	fake_kernel.now_ns += 100 * WINDOW_NS;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->earlier_weight, 0);
	assert_int_equal(period->period, 1);
	on_tracepoint(&record);
	assert_int_equal(get_sample()->weight, 1);
	expect_balance(0);
}

/* What is left of a hit may reach the next distance, which is half a period here. */
static void a_sample_covers_all_distances_of_a_hit(void **state _unused_)
{
	struct wire_period_state *period = get_per_cpu(&period_states);
	uint64_t record = 0;

	fixed_period = 0;
	hit_weight = 8 + 2 * 8 + 5;
	period->period = period->next = 8;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->weight, 8 + 2 * 8 + 4);
	assert_int_equal(period->weight, 1);
	assert_int_equal(period->next, 4);
	fake_kernel.random = 8;
	hit_weight = 4 - 1 + 4;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->weight, 4);
	assert_int_equal(period->weight, 4);
	assert_int_equal(period->next, 8); /* 8 - 4 + (8 << 32 | 8) % 9 */
}

/* The record of the hit is the field. */
static void hits_that_do_not_match_the_filter_are_counted(void **state _unused_)
{
	static struct wire_filter_part parts[2];
	const struct wire_counters *counter = get_counters();
	uint32_t number[] = {7, 0};

	for (uint32_t i = 0; i < 2; i++)
		parts[i].predicate.when_false = WIRE_FILTER_FAILS;
	parts[0].predicate.when_true = 1;
	parts[0].predicate.kind = WIRE_PREDICATE_NUMBER;
	parts[0].predicate.size = 4;
	parts[0].predicate.value = 7;
	parts[0].predicate.holds_for = WIRE_IS_EQUAL;
	parts[1].predicate.when_true = WIRE_FILTER_PASSES;
	parts[1].predicate.kind = WIRE_PREDICATE_COMM;
	parts[1].predicate.holds_for = WIRE_IS_EQUAL;
	parts[1].pattern.length = 2;
	parts[1].pattern.accepts['t'] = 1 << 1;
	parts[1].pattern.accepts['h'] = 1 << 2;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(fake_map_update(fake_map_find(&event_filter), &i, &parts[i]), 0);
	fake_kernel.comm = "th";
	on_filtered_tracepoint(number);
	assert_int_equal(counter->sends.sent, 1);
	fake_kernel.comm = "thr";
	on_filtered_tracepoint(number);
	fake_kernel.comm = "t";
	on_filtered_tracepoint(number);
	fake_kernel.comm = "th";
	number[0] = 8;
	on_filtered_tracepoint(number);
	assert_int_equal(counter->unmatched, 3);
	assert_int_equal(counter->sends.sent, 1);
	on_tracepoint(number);
	assert_int_equal(counter->sends.sent, 2);
	expect_balance(0);
}

static void a_full_ring_counts_lost_hits(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	uint64_t record = 0;

	fake_kernel.ring_room = 0;
	on_tracepoint(&record);
	assert_int_equal(counter->sends.lost_ring_stack, 1);
	fake_kernel.ring_room = 1;
	on_tracepoint(&record);
	assert_int_equal(counter->sends.lost_ring_sample, 1);
	expect_balance(0);
}

static void hits_outside_the_target_are_filtered(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	uint64_t record = 0;

	is_of_cgroup = true;
	on_tracepoint(&record);
	assert_int_equal(counter->filtered, 1);
	is_of_cgroup = false;
	is_filtered = true;
	on_tracepoint(&record);
	assert_int_equal(counter->filtered, 2);
	is_recording = false;
	on_tracepoint(&record);
	assert_int_equal(counter->fired, 2);
	expect_balance(0);
}

static void hits_of_the_idle_thread_count_for_the_whole_machine(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	uint64_t record = 0;

	fake_kernel.pid_tgid = 0;
	on_tracepoint(&record);
	assert_int_equal(counter->sends.sent, 1);
	is_filtered = true;
	on_tracepoint(&record);
	assert_int_equal(counter->idle + counter->filtered, 1);
	expect_balance(0);
}

/* The running thread returns from this call. */
static void make_call(struct user_registers *registers, uint64_t number, uint64_t result)
{
	*registers = (struct user_registers){
		.orig_ax = number, .ax = (unsigned long)-38, .cs = USER_CODE};
	fake_kernel.registers = registers;
	on_start(NULL);
	registers->ax = result;
}

static void a_system_call_weighs_its_time(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	struct user_registers registers;
	uint64_t record = 0;

	weighs_time = has_calls = true;
	make_call(&registers, 1, 5);
	fake_kernel.now_ns += 400;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->weight, 400);
	assert_int_equal(get_sample()->call, 2);
	on_tracepoint(&record); /* the call ended before */
	assert_int_equal(counter->unseen_begin, 1);
	make_call(&registers, 1, 5);
	on_tracepoint(&record); /* 1 ns at least */
	assert_int_equal(get_sample()->weight, 1);
	fake_kernel.pid_tgid = 0;
	make_call(&registers, 1, 5);
	assert_int_equal(fake_map_find(&calls)->num_entries, 0);
	fake_kernel.pid_tgid = 6ull << 32 | 7;
	is_filtered = true;
	make_call(&registers, 1, 5);
	assert_int_equal(fake_map_find(&calls)->num_entries, 0);
	expect_balance(0);
}

/* The registers of sigreturn(2) are those of the interrupted code when it returns. */
static void a_system_call_has_the_number_of_its_start(void **state _unused_)
{
	struct user_registers registers;
	uint64_t record = 0;

	weighs_time = has_calls = true;
	make_call(&registers, 15, 5);
	registers.orig_ax = (unsigned long)-1;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->call, 16);
	/* A thread that executes a program may get another tid. */
	make_call(&registers, 59, 0);
	fake_kernel.pid_tgid = 6ull << 32 | 6;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->call, 60);
	assert_int_equal(get_counters()->sends.sent, 2);
	expect_balance(0);
}

static void new_threads_and_programs_have_made_no_call(void **state _unused_)
{
	static const uint64_t numbers[] = {56, 57, 58, 435, 59, 322};
	static const uint64_t numbers_32[] = {120, 2, 190, 435, 11, 358};
	static const uint64_t numbers_x32[] = {56, 57, 58, 435, 520, 545};
	const struct wire_counters *counter = get_counters();
	struct user_registers registers;
	uint64_t record = 0;

	weighs_time = has_calls = true;
	fake_kernel.registers = &registers;
	for (int i = 0; i < 6; i++) {
		registers = (struct user_registers){.orig_ax = numbers[i], .cs = USER_CODE};
		on_tracepoint(&record);
		registers.orig_ax = numbers_x32[i] | SHORT_POINTERS_BIT;
		on_tracepoint(&record);
		task.thread_info.status = CALL_STATUS_32_BIT;
		registers.orig_ax = numbers_32[i];
		on_tracepoint(&record);
		task.thread_info.status = 0;
	}
	assert_int_equal(counter->unmatched, 18);
	/* Nor has one whose task was that of a thread which has ended in a call. */
	make_call(&registers, 34, 0);
	registers.orig_ax = 56;
	on_tracepoint(&record);
	assert_int_equal(counter->unmatched, 19);
	assert_int_equal(fake_map_find(&calls)->num_entries, 0);
	registers.orig_ax = 2; /* open() may give 0 */
	on_tracepoint(&record);
	assert_int_equal(counter->unmatched, 19);
	assert_int_equal(counter->unseen_begin, 1);
	expect_balance(0);
}

static void calls_that_do_not_return_leave_nothing(void **state _unused_)
{
	struct user_registers registers;

	weighs_time = has_calls = true;
	make_call(&registers, 34, 0);
	assert_int_equal(fake_map_find(&calls)->num_entries, 1);
	make_call(&registers, 60, 0);
	assert_int_equal(fake_map_find(&calls)->num_entries, 0);
	make_call(&registers, 231, 0);
	assert_int_equal(fake_map_find(&calls)->num_entries, 0);
	task.thread_info.status = CALL_STATUS_32_BIT;
	for (size_t i = 0; i < 2; i++) {
		registers = (struct user_registers){.orig_ax = 60, .cs = USER_CODE};
		on_start(NULL);
		assert_int_equal(fake_map_find(&calls)->num_entries, 1);
		registers.orig_ax = i ? 252 : 1;
		on_start(NULL);
		assert_int_equal(fake_map_find(&calls)->num_entries, 0);
	}
}

static unsigned int num_disabled;
static unsigned int num_enabled;

void bpf_preempt_disable(void)
{
	num_disabled++;
}

void bpf_preempt_enable(void)
{
	num_enabled++;
}

static void a_probe_keeps_its_cpu_until_its_end(void **state _unused_)
{
	struct user_registers none = {0};

	num_disabled = num_enabled = 0;
	on_probe(&none);
	assert_int_equal(num_disabled + num_enabled, 0);
	keeps_cpu = true;
	on_probe(&none);
	on_return(&none);
	assert_int_equal(num_disabled, 2);
	assert_int_equal(num_enabled, 2);
	keeps_cpu = false;
}

static void a_hit_of_a_system_call_has_its_number(void **state _unused_)
{
	static struct mm_struct memory;
	struct user_registers registers = {.orig_ax = 202, .cs = USER_CODE};
	uint64_t record = 0;

	task.mm = &memory;
	fake_kernel.registers = &registers;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->call, 0);
	has_calls = true;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->call, 203);
	task.thread_info.status = CALL_STATUS_32_BIT; /* int $0x80 in 64-bit code */
	on_tracepoint(&record);
	assert_true(get_sample()->call == (203 | WIRE_CALL_32_BIT));
	weighs_time = true;
	make_call(&registers, 20, 5);
	on_tracepoint(&record);
	assert_true(get_sample()->call == (21 | WIRE_CALL_32_BIT));
	weighs_time = false;
	registers.orig_ax = (unsigned long)-1; /* none */
	on_tracepoint(&record);
	assert_int_equal(get_sample()->call, 0);
	task.mm = NULL;
	registers.orig_ax = 202;
	on_tracepoint(&record);
	assert_int_equal(get_sample()->call, 0);
}

/* Record of a tracepoint where a request starts. */
struct start {
	uint64_t sector;
	uint32_t device;
	uint32_t num_sectors;
	uint32_t num_bytes;
	char letters[4];
};

static void use_requests(uint32_t kinds)
{
	request_kinds = kinds;
	start_sector_offset = offsetof(struct start, sector);
	start_device_offset = offsetof(struct start, device);
	start_num_sectors_offset = offsetof(struct start, num_sectors);
	start_bytes_offset = offsetof(struct start, num_bytes);
	start_letters_offset = offsetof(struct start, letters);
}

static const struct start a_read = {10, 8 << 20 | 1, 8, 4096, "RA"};

static void end_request(uint64_t sector, uint32_t flags, uint64_t after_ns)
{
	struct gendisk disk = {.major = 8, .first_minor = 1};
	struct request_queue queue = {.disk = &disk};
	struct request request = {.q = &queue, .cmd_flags = flags, .__sector = sector};
	unsigned long long handed[] = {(uintptr_t)&request};

	fake_kernel.now_ns += after_ns;
	on_request_end(handed);
}

static void start_request(const struct start *record)
{
	on_request((void *)(uintptr_t)record);
}

static void a_request_weighs_its_time(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	const struct wire_counters *ends = get_per_cpu(&end_counters);

	use_requests(1u << WIRE_REQUEST_READ);
	start_request(&a_read);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 0);
	expect_balance(1);
	end_request(11, 0, 100); /* another sector */
	assert_int_equal(ends->sends.sent, 0);
	end_request(10, 0, 200);
	assert_int_equal(ends->sends.sent, 1);
	assert_int_equal(get_sample()->weight, 300);
	assert_int_equal(get_sample()->request, WIRE_REQUEST_READ);
	assert_int_equal(get_sample()->wait_ns, 0);
	assert_int_equal(get_sample()->time_ns, 1300);
	end_request(10, 0, 200);
	assert_int_equal(ends->sends.sent, 1);
	assert_int_equal(counter->fired, 1);
	expect_balance(0);
}

/* The thread that makes a request is in a process that has not been published. */
static void use_early_stack(void)
{
	static uint8_t stack[0x1000];
	static struct xol_area not_probed;
	static struct mm_struct memory;
	static struct user_registers registers;

	memory = (struct mm_struct){.start_stack = SP + 0x800, .uprobes_state = {&not_probed}};
	registers = (struct user_registers){.cs = USER_CODE, .sp = SP + 0x400, .ip = 0x400000};
	task.mm = &memory;
	fake_kernel.registers = &registers;
	memset(stack, 0x5a, sizeof(stack));
	fake_memory_add(SP, stack, sizeof(stack));
	take_user_stacks = walks_by_table = true;
	use_requests(1u << WIRE_REQUEST_READ);
}

static void an_early_request_sends_its_stack_when_it_is_made(void **state _unused_)
{
	const struct wire_raw_sample *raw;
	struct start record = a_read;

	use_early_stack();
	start_request(&record);
	raw = fake_record_last(WIRE_RAW_REQUEST);
	assert_int_equal(raw->sample.tid, 7);
	assert_int_equal(raw->sample.request_ns, 1000);
	assert_int_equal(raw->sample.walk_end, WALK_NO_PROCESS);
	assert_int_equal(raw->registers.sp, SP + 0x400);
	assert_int_equal(raw->num_bytes, 0x800 + STACK_END_MARGIN - 0x400);
	assert_int_equal(raw->bytes[raw->num_bytes - 1], 0x5a);
	/* It is no sample. */
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 0);
	assert_int_equal(fake_record_count(WIRE_RAW_SAMPLE), 0);
	expect_balance(1);
	end_request(10, 0, 200);
	assert_int_equal(get_sample()->request_ns, 1000);
	assert_int_equal(get_sample()->wait_ns, 0);
	assert_int_equal(get_sample()->weight, 200);
	/* The request is known without its stack, too. */
	fake_kernel.ring_quarters = 2;
	start_request(&record);
	assert_int_equal(fake_record_count(WIRE_RAW_REQUEST), 1);
	end_request(10, 0, 300);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 2);
	assert_int_equal(get_sample()->request_ns, 0);
	assert_int_equal(get_sample()->weight, 300);
	expect_balance(0);
}

static void a_request_whose_stack_is_walked_sends_no_copy(void **state _unused_)
{
	use_early_stack();
	walks_by_table = false; /* by frame pointers: whole or not, there is nothing to wait for */
	start_request(&a_read);
	end_request(10, 0, 200);
	assert_int_equal(fake_record_count(WIRE_RAW_REQUEST), 0);
	assert_int_equal(get_sample()->request_ns, 0);
}

static void a_sample_stands_for_requests(void **state _unused_)
{
	use_requests(1u << WIRE_REQUEST_READ);
	fixed_period = 2;
	fake_kernel.random = 2; /* each distance is the period */
	start_request(&a_read);
	assert_int_equal(get_counters()->below_period, 1);
	start_request(&a_read);
	end_request(10, 0, 300);
	assert_int_equal(get_sample()->weight, 600);
	expect_balance(0);
}

static void lost_requests_are_counted(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();
	const struct wire_counters *ends = get_per_cpu(&end_counters);
	struct start record = a_read;

	use_requests(1u << WIRE_REQUEST_READ);
	fake_kernel.ring_room = 0; /* for the stack */
	start_request(&record);
	assert_int_equal(counter->sends.lost_ring_stack, 1);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	for (record.sector = 1; record.sector <= 3; record.sector++)
		start_request(&record);
	assert_int_equal(counter->sends.lost_ring_sample, 1); /* two are pending */
	expect_balance(2);
	fake_kernel.ring_room = 0;
	end_request(1, 0, 5);
	assert_int_equal(ends->sends.lost_ring_sample, 1);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	end_request(2, 0, 5);
	assert_int_equal(ends->sends.sent, 1);
	expect_balance(0);
}

/* The kernel merged it with another request. */
static void a_request_without_end_is_counted(void **state _unused_)
{
	use_requests(1u << WIRE_REQUEST_READ);
	start_request(&a_read);
	start_request(&a_read);
	assert_int_equal(get_counters()->unfinished, 1);
	expect_balance(1);
	end_request(10, 0, 5);
	expect_balance(0);
}

static void requests_of_other_kinds_do_not_match(void **state _unused_)
{
	struct start record = a_read;

	use_requests(1u << WIRE_REQUEST_WRITE);
	on_tracepoint(&record);
	assert_int_equal(get_counters()->unmatched, 1);
	record.letters[0] = 'W';
	on_tracepoint(&record);
	assert_int_equal(get_counters()->sends.sent, 1);
	assert_int_equal(get_sample()->request, WIRE_REQUEST_WRITE);
	expect_balance(0);
}

/* At its start the command looks like an operation on zones. */
static void a_command_of_the_driver_is_recognized_at_its_end(void **state _unused_)
{
	struct start record = {0, 8 << 20 | 1, 0, 0, "N"};

	use_requests(1u << WIRE_REQUEST_ZONE | 1u << WIRE_REQUEST_OTHER);
	start_request(&record);
	end_request(99, FIRST_PASSTHROUGH, 5);
	assert_int_equal(get_sample()->request, WIRE_REQUEST_OTHER);
	start_request(&record);
	end_request(99, LAST_PASSTHROUGH, 5);
	assert_int_equal(get_sample()->request, WIRE_REQUEST_OTHER);
	start_request(&record);
	end_request(SECTOR_UNKNOWN, LAST_PASSTHROUGH + 1, 5);
	assert_int_equal(get_sample()->request, WIRE_REQUEST_ZONE);
	expect_balance(0);
}

/* ---- probes ---- */

static void set_argument(uint32_t point, struct wire_argument argument)
{
	assert_int_equal(fake_map_update(fake_map_find(&arguments), &point, &argument), 0);
}

static void a_probe_weighs_its_argument(void **state _unused_)
{
	static uint64_t words[] = {0, 0xffffffff00000123};
	struct user_registers registers = {.di = 20, .si = 30, .sp = SP, .dx = 1};
	const struct wire_counters *counter = get_counters();

	is_of_probe = is_probe_of_user_mode = true;
	set_argument(0, (struct wire_argument){
				.source = WIRE_ARGUMENT_REGISTER, .bytes = 8, .base = WORD_OF(di)});
	on_probe(&registers);
	assert_int_equal(get_sample()->weight, 20);
	set_argument(0, (struct wire_argument){.source = WIRE_ARGUMENT_PRODUCT,
					       .bytes = 8,
					       .base = WORD_OF(di),
					       .index = WORD_OF(si)});
	on_probe(&registers);
	assert_int_equal(get_sample()->weight, 600);
	registers.si = 1ull << 48; /* overflow */
	on_probe(&registers);
	assert_int_equal(counter->weightless, 1);
	registers.di = 1ull << 17; /* a product of 65 bits, whichever is the larger one */
	registers.si = (1ull << 47) + 1;
	on_probe(&registers);
	assert_int_equal(counter->weightless, 2);
	registers.di = registers.si;
	registers.si = 1ull << 17;
	on_probe(&registers);
	assert_int_equal(counter->weightless, 3);
	fake_memory_add(SP, words, sizeof(words));
	set_argument(0, (struct wire_argument){.source = WIRE_ARGUMENT_MEMORY,
					       .bytes = 4,
					       .base = WORD_OF(sp),
					       .index = WORD_OF(dx),
					       .scale = 4,
					       .displacement = 4});
	on_probe(&registers);
	assert_int_equal(get_sample()->weight, 0x123);
	registers.sp = 0x10; /* unreadable */
	on_probe(&registers);
	assert_int_equal(counter->weightless, 4);
	registers.di = 0xff;
	set_argument(0, (struct wire_argument){.source = WIRE_ARGUMENT_REGISTER,
					       .bytes = 1,
					       .is_signed = 1,
					       .base = WORD_OF(di)});
	on_probe(&registers);
	assert_int_equal(counter->weightless, 5);
	registers.di = 0x17f;
	on_probe(&registers);
	assert_int_equal(get_sample()->weight, 0x7f);
	expect_balance(0);
}

/* A preempted run of the program still uses the scratch area. */
static void a_hit_inside_another_hit_is_counted(void **state _unused_)
{
	struct wire_running *mine = get_per_cpu(&running);
	struct user_registers registers = {0};

	mine->num_running = 1;
	on_probe(&registers);
	assert_int_equal(mine->lost, 1);
	assert_int_equal(mine->num_running, 1);
	assert_int_equal(get_counters()->fired, 0);
	mine->num_running = 0;
	on_probe(&registers);
	on_probe(&registers);
	assert_int_equal(mine->lost, 1);
	assert_int_equal(mine->num_running, 0);
	assert_int_equal(get_counters()->fired, 2);
	is_recording = false;
	mine->num_running = 1;
	on_probe(&registers);
	assert_int_equal(mine->lost, 1);
	assert_int_equal(mine->num_running, 1);
}

/* ---- allocators ---- */

#define CALLER 0x500000 /* outside the allocator */
#define MALLOC 0x700000
#define MEMORY 3
static uint64_t stack_words[4];
static struct user_registers call;

static void use_allocator(void)
{
	static struct mm_struct memory = {.context = {MEMORY}};
	struct wire_own_code own = {.offsets = {(uint64_t)-0x100},
				    .bytes = {0x400},
				    .jump_register = WIRE_NO_REGISTER,
				    .pointer_register = WIRE_NO_REGISTER};

	is_of_probe = is_probe_of_user_mode = is_of_allocator = points_differ = true;
	fixed_period = 1000;
	task.mm = other.mm = &memory;
	for (uint32_t point = 0; point < 2; point++) {
		set_argument(point, (struct wire_argument){.source = WIRE_ARGUMENT_REGISTER,
							   .bytes = 8,
							   .base = WORD_OF(di),
							   .frees = WIRE_NO_REGISTER});
		assert_int_equal(fake_map_update(fake_map_find(&own_code), &point, &own), 0);
	}
	stack_words[0] = CALLER;
	fake_memory_add(SP, stack_words, sizeof(stack_words));
	call = (struct user_registers){.ip = MALLOC, .sp = SP, .di = 5000, .cs = USER_CODE};
}

/* Each call is a call of its own (is_hit_again()). */
static void allocate(uint64_t bytes)
{
	struct wire_running *mine = get_per_cpu(&running);

	mine->pc = 0;
	call.di = bytes;
	on_probe(&call);
}

static void an_allocation_of_the_mean_or_more_is_a_sample(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();

	use_allocator();
	fake_kernel.random = 1580030168; /* 1/e: each distance equals the mean */
	allocate(1000);
	assert_int_equal(get_sample()->weight, 1000);
	allocate(5000);
	assert_int_equal(get_sample()->weight, 5000);
	allocate(0);
	assert_int_equal(counter->weightless, 1);
	for (int i = 0; i < 3000; i++)
		allocate(10);
	assert_int_equal(counter->fired, 3003);
	assert_int_equal(counter->sends.sent, 2 + 29);
	assert_int_equal(counter->below_period, 3000 - 29);
	assert_int_equal(get_sample()->weight, 1000);
	expect_balance(0);
}

static void calls_inside_the_allocator_have_no_weight(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();

	use_allocator();
	/* The calls are before their return addresses. */
	stack_words[0] = MALLOC - 0x100 + 1;
	allocate(5000);
	stack_words[0] = MALLOC + 0x2ff + 1;
	allocate(5000);
	assert_int_equal(counter->weightless, 2);
	stack_words[0] = MALLOC + 0x300 + 1;
	allocate(5000);
	stack_words[0] = MALLOC - 0x100;
	allocate(5000);
	assert_int_equal(counter->sends.sent, 2);
	expect_balance(0);
}

/* They are counted as filtered, and the points in them are dropped. */
static void our_own_allocations_are_left_out(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();

	use_allocator();
	own_pid = (uint32_t)(fake_kernel.pid_tgid >> 32);
	allocate(5000);
	assert_int_equal(counter->filtered, 1);
	assert_int_equal(counter->sends.sent, 0);
	own_pid++;
	allocate(5000);
	assert_int_equal(counter->sends.sent, 1);
	own_pid = 0;
	expect_balance(0);
}

/* A file known under two inodes is probed twice. */
static void one_call_hit_at_two_points_counts_once(void **state _unused_)
{
	use_allocator();
	on_probe(&call);
	fake_kernel.cookie = 1;
	on_probe(&call);
	assert_int_equal(get_counters()->fired, 1);
	call.sp += 8;
	on_probe(&call);
	assert_int_equal(get_counters()->fired, 2);
	/* The same point again is another call. */
	on_probe(&call);
	assert_int_equal(get_counters()->fired, 3);
	/* Another thread's stack may have the same address, as in a process after a fork. */
	fake_kernel.task = &other;
	fake_kernel.cookie = 0;
	on_probe(&call);
	assert_int_equal(get_counters()->fired, 4);
}

static void a_tail_call_counts_once(void **state _unused_)
{
	struct wire_own_code own = {.jump_register = WORD_OF(si),
				    .jump_limit = 16,
				    .pointer_register = WIRE_NO_REGISTER};
	uint32_t first = 0;

	use_allocator();
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &first, &own), 0);
	set_argument(0, (struct wire_argument){.source = WIRE_ARGUMENT_REGISTER,
					       .bytes = 8,
					       .base = WORD_OF(di),
					       .may_jump = 1,
					       .frees = WIRE_NO_REGISTER});
	call.si = 16;
	on_probe(&call);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	on_probe(&call);
	assert_int_equal(get_counters()->sends.sent, 1);
	assert_int_equal(get_counters()->weightless, 1);
	/* Where it came from, nothing was jumped to: a call like the last one counts. */
	call.ip = MALLOC;
	fake_kernel.cookie = 0;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 2);
	/* Beyond the limit of the register there is no jump. */
	fake_map_find(&open_calls)->num_entries = 0;
	call.si = 17;
	call.ip = MALLOC;
	fake_kernel.cookie = 0;
	on_probe(&call);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	on_probe(&call);
	assert_int_equal(get_counters()->sends.sent, 4);
	expect_balance(0);
}

/* A wrapper in file 1 jumps to a function of file 2. */
static void use_wrapper(uint32_t second_file)
{
	struct wire_own_code own = {.jump_register = WIRE_NO_REGISTER,
				    .pointer_register = WIRE_NO_REGISTER,
				    .file = 1,
				    .jumps_out = 1};
	uint32_t point = 0;

	use_allocator();
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &point, &own), 0);
	set_argument(0, (struct wire_argument){.source = WIRE_ARGUMENT_REGISTER,
					       .bytes = 8,
					       .base = WORD_OF(di),
					       .may_jump = 1,
					       .frees = WIRE_NO_REGISTER});
	own.file = second_file;
	own.jumps_out = 0;
	point = 1;
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &point, &own), 0);
}

static void a_jump_to_another_file_counts_once(void **state _unused_)
{
	use_wrapper(2);
	for (uint32_t i = 1; i < 3; i++) {
		call.ip = MALLOC;
		fake_kernel.cookie = 0;
		allocate(5000);
		call.ip = MALLOC + 0x1000;
		fake_kernel.cookie = 1;
		allocate(5000);
		assert_int_equal(get_counters()->sends.sent, i);
		assert_int_equal(get_counters()->weightless, i);
	}
	expect_balance(0);
}

/* Another recorder probes the first function's return, and has replaced its return address by then. */
static void a_jump_out_of_a_function_with_a_probed_return_counts_once(void **state _unused_)
{
	static struct xol_area area = {.vaddr = 0x7fff0000};
	static struct mm_struct memory = {.uprobes_state = {&area}};

	use_wrapper(2);
	task.mm = &memory;
	allocate(5000);
	stack_words[0] = area.vaddr;
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 1);
	assert_int_equal(get_counters()->weightless, 1);
}

/* The size that the program has asked for counts. */
static void a_jump_to_another_file_may_ask_for_more(void **state _unused_)
{
	use_wrapper(2);
	for (uint32_t i = 1; i < 3; i++) {
		call.ip = MALLOC;
		fake_kernel.cookie = 0;
		allocate(5000);
		call.ip = MALLOC + 0x1000;
		fake_kernel.cookie = 1;
		allocate(5016);
		assert_int_equal(get_counters()->sends.sent, i);
		assert_int_equal(get_counters()->weightless, i);
		assert_int_equal(get_sample()->weight, 5000);
	}
	expect_balance(0);
}

/*
 * A program's own function jumps to malloc, which a wrapper passes on, and then to a function that
 * it does not wrap: that is no part of the first call.
 */
static void a_call_after_the_jump_counts(void **state _unused_)
{
	use_wrapper(2);
	allocate(5000);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5000);
	allocate(6000);
	assert_int_equal(get_counters()->sends.sent, 2);
	assert_int_equal(get_counters()->weightless, 1);
	/* After another thread on this CPU it is unknown. */
	call.ip = MALLOC;
	fake_kernel.cookie = 0;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 3);
	fake_kernel.task = &other;
	fake_kernel.pid_tgid++;
	allocate(7000);
	fake_kernel.task = &task;
	fake_kernel.pid_tgid--;
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5016);
	assert_int_equal(get_counters()->weightless, 2);
	expect_balance(0);
}

/* A wrapper that searches the next function at its first call allocates before it jumps there. */
static void a_call_within_the_call_leaves_the_jump_alone(void **state _unused_)
{
	static uint64_t deeper[] = {CALLER};

	use_wrapper(2);
	fake_memory_add(SP - 0x100, deeper, sizeof(deeper));
	allocate(5000);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	call.sp -= 0x100;
	allocate(100000);
	call.sp += 0x100;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 2);
	assert_int_equal(get_counters()->weightless, 1);
	expect_balance(0);
}

/* Jump through the wrapper at this stack pointer. */
static void jump_at(uint64_t sp)
{
	call.sp = sp;
	call.ip = MALLOC;
	fake_kernel.cookie = 0;
	allocate(5000);
}

static void land_at(uint64_t sp)
{
	call.sp = sp;
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5016);
}

/* Handlers interrupt wrappers before they jump. */
static void a_jump_of_a_call_that_a_signal_interrupts_counts_once(void **state _unused_)
{
	static uint64_t deeper[] = {CALLER + 0x100, 0, 0, 0, CALLER + 0x200};

	use_wrapper(2);
	fake_memory_add(SP - 0x100, deeper, sizeof(deeper));
	for (uint32_t i = 1; i < 3; i++) {
		jump_at(SP);
		jump_at(SP - 0xe0);
		jump_at(SP - 0x100);
		land_at(SP - 0x100);
		land_at(SP - 0xe0);
		assert_int_equal(get_counters()->weightless, 3 * i - 1);
		land_at(SP);
		assert_int_equal(get_counters()->sends.sent, 3 * i);
		assert_int_equal(get_counters()->weightless, 3 * i);
	}
	/* Beside another thread on this CPU. */
	jump_at(SP);
	fake_kernel.task = &other;
	fake_kernel.pid_tgid++;
	land_at(SP);
	fake_kernel.task = &task;
	fake_kernel.pid_tgid--;
	jump_at(SP - 0x100);
	land_at(SP - 0x100);
	land_at(SP);
	assert_int_equal(get_counters()->weightless, 8);
	/* The next one is a call of the program. */
	land_at(SP);
	assert_int_equal(get_counters()->weightless, 8);
	expect_balance(0);
}

/* Above that of the thread. */
static void a_signal_handler_may_have_a_stack_of_its_own(void **state _unused_)
{
	static uint64_t handler[] = {CALLER + 0x100, 0, 0, 0, CALLER + 0x200};

	use_wrapper(2);
	task.sas_ss_sp = SP + 0x10000;
	task.sas_ss_size = 0x1000;
	fake_memory_add(SP + 0x10100, handler, sizeof(handler));
	for (uint32_t i = 1; i < 3; i++) {
		jump_at(SP);
		jump_at(SP + 0x10120);
		land_at(SP + 0x10120);
		jump_at(SP + 0x10100);
		land_at(SP + 0x10100);
		land_at(SP);
		assert_int_equal(get_counters()->sends.sent, 3 * i);
		assert_int_equal(get_counters()->weightless, 3 * i);
	}
	/* After another thread on this CPU, too. */
	jump_at(SP);
	fake_kernel.task = &other;
	fake_kernel.pid_tgid++;
	land_at(SP);
	fake_kernel.task = &task;
	fake_kernel.pid_tgid--;
	jump_at(SP + 0x10100);
	land_at(SP + 0x10100);
	land_at(SP);
	assert_int_equal(get_counters()->weightless, 8);
	/* The thread's own calls do end each other. */
	jump_at(SP);
	stack_words[1] = CALLER;
	jump_at(SP + 8);
	land_at(SP);
	assert_int_equal(get_counters()->weightless, 8);
	expect_balance(0);
}

/* More calls than there is room for: those that have returned give way first. */
static void many_calls_at_different_depths_leave_the_jump_alone(void **state _unused_)
{
	static uint64_t deeper[16];

	use_wrapper(2);
	fake_memory_add(SP - 0x80, deeper, sizeof(deeper));
	jump_at(SP);
	for (uint32_t i = 1; i < 16; i++) {
		deeper[16 - i] = CALLER + 0x100 + i;
		jump_at(SP - 8 * i);
		land_at(SP - 8 * i);
		deeper[16 - i] = 0;
	}
	land_at(SP);
	assert_int_equal(get_counters()->sends.sent, 16);
	assert_int_equal(get_counters()->weightless, 16);
	expect_balance(0);
}

/* The helper that a wrapper has jumped to calls another allocator. */
static void a_sample_has_the_return_address_of_a_wrapper_that_jumped(void **state _unused_)
{
	static uint64_t deeper[] = {CALLER + 0x200, CALLER + 0x100};

	use_wrapper(2);
	fake_memory_add(SP - 0x48, deeper, sizeof(deeper));
	allocate(5000);
	assert_int_equal(get_sample()->entered_from, 0);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	call.sp -= 0x40;
	allocate(5000);
	assert_int_equal(get_sample()->entered_from, CALLER);
	/* The helper calls the wrapper itself; so the call before counts. */
	call.ip = MALLOC;
	fake_kernel.cookie = 0;
	for (int i = 0; i < 2; i++) {
		allocate(5000);
		assert_int_equal(get_sample()->entered_from, CALLER);
	}
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	call.sp -= 8;
	allocate(5000);
	assert_int_equal(get_sample()->entered_from, CALLER + 0x100);
	/* The last ones have returned. */
	deeper[1] = 0;
	allocate(5000);
	assert_int_equal(get_sample()->entered_from, CALLER);
	stack_words[0] = 0;
	allocate(5000);
	assert_int_equal(get_sample()->entered_from, 0);
	assert_int_equal(get_counters()->sends.sent, 7);
	expect_balance(0);
}

/* The hook that glibc starts with removes itself, and jumps to the function. */
static void a_function_that_its_hook_jumps_to_counts_once(void **state _unused_)
{
	static uint64_t hook;
	struct wire_own_code own = {.jump_register = WIRE_NO_REGISTER,
				    .pointer_register = WIRE_NO_REGISTER,
				    .hook_offset = 0x2000,
				    .file = 1,
				    .jumps_out = 1};
	uint32_t point = 0;

	use_wrapper(2);
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &point, &own), 0);
	fake_memory_add(MALLOC + 0x2000, &hook, sizeof(hook));
	hook = 0x123456;
	allocate(5000);
	hook = 0;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 1);
	assert_int_equal(get_counters()->weightless, 1);
	/* In a loop. */
	for (uint32_t i = 2; i < 4; i++) {
		allocate(5000);
		assert_int_equal(get_counters()->sends.sent, i);
	}
	assert_int_equal(get_counters()->weightless, 1);
	expect_balance(0);
}

/* It allocates by itself, or by the function, without the hook. */
static void calls_of_a_program_with_a_hook_count_each(void **state _unused_)
{
	static uint64_t hook = 0x123456;
	static uint64_t deeper[] = {CALLER + 0x100};
	struct wire_own_code own = {.jump_register = WIRE_NO_REGISTER,
				    .pointer_register = WIRE_NO_REGISTER,
				    .hook_offset = 0x2000,
				    .file = 1,
				    .jumps_out = 1};
	uint32_t point = 0;

	use_wrapper(2);
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &point, &own), 0);
	fake_memory_add(MALLOC + 0x2000, &hook, sizeof(hook));
	fake_memory_add(SP - 0x100, deeper, sizeof(deeper));
	for (uint32_t i = 1; i < 4; i++) {
		allocate(5000);
		assert_int_equal(get_counters()->sends.sent, i);
		assert_int_equal(get_sample()->entered_from, 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		hook = 0x123456;
		call.sp = SP;
		allocate(5000);
		assert_int_equal(get_sample()->entered_from, 0);
		hook = 0;
		call.sp = SP - 0x100;
		allocate(5000);
		assert_true(get_sample()->entered_from == (CALLER | WIRE_ENTERED_BY_HOOK));
	}
	assert_int_equal(get_counters()->sends.sent, 7);
	expect_balance(0);
}

/* All functions of a file that is mapped later start to count at one time. */
static void calls_before_the_start_of_a_file_do_not_count(void **state _unused_)
{
	uint64_t start_ns = 5000;
	uint32_t first = 0;

	use_wrapper(2);
	assert_int_equal(fake_map_update(fake_map_find(&file_starts), &first, &start_ns), 0);
	fake_kernel.now_ns = 4999;
	allocate(5000);
	assert_int_equal(get_counters()->weightless, 1);
	/* What it jumps to does. */
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 1);
	fake_kernel.now_ns = 5000;
	call.ip = MALLOC;
	fake_kernel.cookie = 0;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 2);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5000);
	assert_int_equal(get_counters()->weightless, 2);
	expect_balance(0);
}

/* So that calls from other allocators can be told. */
static void without_user_stacks_a_sample_has_the_caller(void **state _unused_)
{
	const struct wire_stack *stack;
	static uint64_t deeper[] = {CALLER + 0x100};

	use_wrapper(2);
	fake_memory_add(SP - 0x40, deeper, sizeof(deeper));
	allocate(5000);
	stack = fake_record_last(WIRE_STACK);
	assert_int_equal(get_sample()->user_stack, stack->hash);
	assert_int_equal(stack->num_frames, 2);
	assert_int_equal(stack->pcs[0], MALLOC);
	assert_int_equal(stack->pcs[1], CALLER);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	call.sp -= 0x40;
	allocate(5000);
	stack = fake_record_last(WIRE_STACK);
	assert_int_equal(stack->num_frames, 3);
	assert_int_equal(stack->pcs[1], CALLER + 0x100);
	assert_int_equal(stack->pcs[2], CALLER);
}

/* A program's own function may jump to either: the wrapper of malloc has returned by then. */
static void a_wrapper_that_jumps_out_is_not_continued_in_its_own_file(void **state _unused_)
{
	use_wrapper(1);
	allocate(5000);
	call.ip = MALLOC + 0x1000;
	fake_kernel.cookie = 1;
	allocate(5000);
	assert_int_equal(get_counters()->sends.sent, 2);
	assert_int_equal(get_counters()->weightless, 0);
	expect_balance(0);
}

/* Another depth of the stack, another size, or another caller. */
static void a_call_unlike_the_last_one_counts(void **state _unused_)
{
	static const struct {
		uint64_t sp, bytes, caller;
	} more[] = {{8, 0, 0}, {0, 8, 0}, {0, 0, 8}};
	struct wire_own_code own = {.jump_register = WORD_OF(si),
				    .jump_limit = 16,
				    .pointer_register = WIRE_NO_REGISTER};
	uint32_t first = 0;

	use_allocator();
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &first, &own), 0);
	set_argument(0, (struct wire_argument){.source = WIRE_ARGUMENT_REGISTER,
					       .bytes = 8,
					       .base = WORD_OF(di),
					       .may_jump = 1,
					       .frees = WIRE_NO_REGISTER});
	for (size_t i = 0; i < ARRAY_LENGTH(more); i++) {
		fake_map_find(&open_calls)->num_entries = 0;
		stack_words[0] = stack_words[1] = CALLER;
		call.sp = SP;
		call.ip = MALLOC;
		fake_kernel.cookie = 0;
		allocate(5000);
		stack_words[0] += more[i].caller;
		call.sp += more[i].sp;
		call.ip = MALLOC + 0x1000;
		fake_kernel.cookie = 1;
		allocate(5000 + more[i].bytes);
		assert_int_equal(get_counters()->sends.sent, 2 * (i + 1));
		assert_int_equal(get_counters()->weightless, 0);
	}
	expect_balance(0);
}

static void use_live(void)
{
	uint32_t slots[] = {1, 0};

	use_allocator();
	is_live = true;
	for (size_t i = 0; i < ARRAY_LENGTH(slots); i++)
		assert_int_equal(bpf_map_push_elem(&free_slots, &slots[i], 0), 0);
}

static uint64_t count_free(void)
{
	return fake_map_find(&free_slots)->num_entries;
}

static void return_from(uint64_t address)
{
	struct user_registers registers = {.sp = SP + 8, .ax = address};

	on_return(&registers);
}

static void free_block(uint64_t address)
{
	set_argument(1, (struct wire_argument){.source = WIRE_ARGUMENT_NONE, .frees = WORD_OF(di)});
	fake_kernel.cookie = 1;
	call.di = address;
	on_probe(&call);
	fake_kernel.cookie = 0;
}

static void a_freed_block_returns_its_slot(void **state _unused_)
{
	struct user_registers inner = {.sp = SP, .ax = 0x9000};

	use_live();
	allocate(5000);
	assert_int_equal(get_sample()->block, 1); /* slot 0 */
	assert_int_equal(count_free(), 1);
	on_return(&inner); /* a function called by the allocator */
	assert_int_equal(fake_map_find(&blocks)->num_entries, 0);
	return_from(0x9000);
	assert_int_equal(fake_map_find(&blocks)->num_entries, 1);
	free_block(0x9008);
	free_block(0);
	assert_int_equal(count_free(), 1);
	free_block(0x9000);
	assert_int_equal(count_free(), 2);
	assert_int_equal(fake_map_find(&blocks)->num_entries, 0);
	free_block(0x9000);
	assert_int_equal(count_free(), 2);
	assert_int_equal(get_counters()->fired, 1);
	return_from(0x9000); /* the call returned before */
	assert_int_equal(fake_map_find(&blocks)->num_entries, 0);
}

/* As a child of vfork() does. */
static void a_process_that_shares_memory_frees_its_blocks(void **state _unused_)
{
	static struct mm_struct copy = {.context = {MEMORY + 1}};
	struct wire_running *mine = get_per_cpu(&running);

	use_live();
	other.pid = 8;
	allocate(5000);
	return_from(0x9000);
	fake_kernel.task = &other;
	fake_kernel.pid_tgid += 1ull << 32 | 1;
	free_block(0x9000);
	assert_int_equal(count_free(), 2);
	/* Not those of a fork(), nor of a program that the thread has executed. */
	fake_kernel.cookie = 0;
	allocate(5000);
	return_from(0xa000);
	other.mm = &copy;
	other.self_exec_id++;
	free_block(0xa000);
	assert_int_equal(count_free(), 1);
	other.mm = task.mm;
	other.pid++;
	mine->num_running = 1;
	free_block(0xa000);
	assert_int_equal(count_free(), 2);
	mine->num_running = 0;
}

/* A kernel that does not number them. */
static void without_the_number_of_its_memory_a_process_has_its_own_blocks(void **state _unused_)
{
	use_live();
	fake_kernel.lacked_field = "MEMORY_NUMBER";
	allocate(5000);
	return_from(0x9000);
	fake_kernel.pid_tgid += 1ull << 32 | 1;
	task.pid++;
	free_block(0x9000);
	assert_int_equal(count_free(), 1);
	fake_kernel.pid_tgid -= 1ull << 32 | 1;
	task.pid--;
	free_block(0x9000);
	assert_int_equal(count_free(), 2);
}

static void blocks_without_a_slot_are_counted(void **state _unused_)
{
	use_live();
	allocate(5000);
	return_from(0x9000);
	allocate(5000);
	return_from(0xa000);
	assert_int_equal(count_free(), 0);
	allocate(5000);
	assert_int_equal(get_counters()->lost_block, 1);
	assert_int_equal(get_counters()->lost_weight, 5000);
	assert_int_equal(get_counters()->sends.sent, 2);
	free_block(0xa000);
	allocate(5000);
	assert_int_equal(get_sample()->block, 2); /* slot 1 */
	assert_int_equal(get_counters()->sends.sent, 3);
	expect_balance(0);
}

static void calls_without_a_block_return_their_slot(void **state _unused_)
{
	use_live();
	allocate(5000);
	return_from(0); /* out of memory */
	assert_int_equal(count_free(), 2);
	/* longjmp() left the first call. */
	allocate(5000);
	allocate(5000);
	assert_int_equal(count_free(), 1);
	return_from(0x9000);
	/* The address of a block freed unseen comes again. */
	allocate(5000);
	return_from(0x9000);
	assert_int_equal(count_free(), 1);
	assert_int_equal(fake_map_find(&blocks)->num_entries, 1);
}

/* A library's malloc() calls libc's, which has a place of its own. */
static void calls_within_calls_keep_their_blocks(void **state _unused_)
{
	const struct wire_block_key outer = {.address = 0x9010, .memory = MEMORY};
	const struct wire_block_key inner = {.address = 0x9000, .memory = MEMORY};
	struct user_registers registers = {.sp = SP + 8 - 0x100, .ax = 0x9000};

	use_live();
	allocate(5000);
	call.sp -= 0x100;
	stack_words[0] = CALLER;
	fake_memory_add(call.sp, stack_words, sizeof(stack_words));
	call.ip = MALLOC + 0x1000;
	allocate(5016);
	assert_int_equal(count_free(), 0);
	on_return(&registers);
	return_from(0x9010);
	assert_non_null(fake_map_lookup(fake_map_find(&blocks), &outer));
	assert_non_null(fake_map_lookup(fake_map_find(&blocks), &inner));
	/* If both have one address, the outer call's stack is that of the block. */
	free_block(0x9000);
	free_block(0x9010);
	assert_int_equal(count_free(), 2);
}

static void reallocate(uint64_t address, uint64_t bytes)
{
	set_argument(1, (struct wire_argument){.source = WIRE_ARGUMENT_REGISTER,
					       .bytes = 8,
					       .base = WORD_OF(si),
					       .frees = WORD_OF(di)});
	fake_kernel.cookie = 1;
	call.di = address;
	call.si = bytes;
	call.ip = MALLOC + 0x1000;
	on_probe(&call);
	call.ip = MALLOC;
}

static uint64_t count_blocks(void)
{
	return fake_map_find(&blocks)->num_entries;
}

static void a_block_stays_live_where_realloc_fails(void **state _unused_)
{
	use_live();
	allocate(5000);
	return_from(0x9000);
	reallocate(0x9000, 1ull << 50);
	assert_int_equal(count_blocks(), 1);
	return_from(0);
	assert_int_equal(count_blocks(), 1);
	/* Nothing is left of the failed call. */
	return_from(0x9000);
	assert_int_equal(count_blocks(), 1);
	/* In place, with a sample of its own. */
	reallocate(0x9000, 6000);
	assert_int_equal(count_free(), 0);
	return_from(0x9000);
	assert_int_equal(count_blocks(), 1);
	assert_int_equal(count_free(), 1);
	assert_int_equal(get_sample()->weight, 6000);
	/* To another address, without a sample. */
	fixed_period = 1 << 20;
	fake_kernel.random = 1580030168; /* 1/e: the distance is the mean */
	reallocate(0x9000, 1);
	return_from(0xa000);
	assert_int_equal(count_blocks(), 0);
	assert_int_equal(count_free(), 2);
}

static void realloc_to_nothing_frees(void **state _unused_)
{
	use_live();
	allocate(5000);
	return_from(0x9000);
	reallocate(0x9000, 0);
	return_from(0);
	assert_int_equal(count_blocks(), 0);
	assert_int_equal(count_free(), 2);
}

/* Before realloc() returns, another thread gets the address that it has freed. */
static void a_block_of_another_thread_stays(void **state _unused_)
{
	use_live();
	allocate(5000);
	return_from(0x9000);
	reallocate(0x9000, 0);
	fake_kernel.pid_tgid++;
	fake_kernel.task = &other;
	fake_kernel.cookie = 0;
	fake_kernel.now_ns++;
	allocate(7000);
	return_from(0x9000);
	fake_kernel.pid_tgid--;
	fake_kernel.cookie = 1;
	return_from(0);
	assert_int_equal(count_blocks(), 1);
}

/* The call of a function that was left by longjmp() is not that of another one. */
static void a_realloc_that_never_returned_frees_nothing(void **state _unused_)
{
	use_live();
	allocate(5000);
	return_from(0x9000);
	reallocate(0x9000, 6000);
	fake_kernel.cookie = 0;
	return_from(0xa000);
	assert_non_null(
		fake_map_lookup(fake_map_find(&blocks),
				&(struct wire_block_key){.address = 0x9000, .memory = MEMORY}));
	reallocate(0xb000, 6000);
	return_from(0xb000);
	assert_non_null(
		fake_map_lookup(fake_map_find(&blocks),
				&(struct wire_block_key){.address = 0x9000, .memory = MEMORY}));
}

static void an_argument_can_say_where_the_address_goes(void **state _unused_)
{
	struct wire_own_code own = {.jump_register = WIRE_NO_REGISTER,
				    .pointer_register = WORD_OF(si)};
	static uint64_t place = 0x9000;
	uint32_t point = 0;
	struct wire_block_key key = {.address = 0x9000, .memory = MEMORY};

	use_live();
	fake_memory_add(0x4000, &place, sizeof(place));
	assert_int_equal(fake_map_update(fake_map_find(&own_code), &point, &own), 0);
	call.si = 0x4000;
	allocate(5000);
	return_from(12); /* ENOMEM */
	assert_int_equal(count_free(), 2);
	allocate(5000);
	return_from(0);
	assert_non_null(fake_map_lookup(fake_map_find(&blocks), &key));
	call.si = 0x5000; /* unreadable */
	allocate(5000);
	return_from(0);
	assert_int_equal(count_free(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_stands_for_the_period),
		TEST(a_fixed_period_is_in_no_step_with_the_program),
		TEST(a_field_can_be_the_weight_of_a_hit),
		TEST(a_field_may_be_in_units),
		TEST(the_period_adapts_to_the_rate),
		TEST(a_sample_covers_all_distances_of_a_hit),
		TEST(hits_that_do_not_match_the_filter_are_counted),
		TEST(a_full_ring_counts_lost_hits),
		TEST(hits_outside_the_target_are_filtered),
		TEST(hits_of_the_idle_thread_count_for_the_whole_machine),
		TEST(a_system_call_weighs_its_time),
		TEST(a_system_call_has_the_number_of_its_start),
		TEST(new_threads_and_programs_have_made_no_call),
		TEST(calls_that_do_not_return_leave_nothing),
		TEST(a_probe_keeps_its_cpu_until_its_end),
		TEST(a_hit_of_a_system_call_has_its_number),
		TEST(a_request_weighs_its_time),
		TEST(an_early_request_sends_its_stack_when_it_is_made),
		TEST(a_request_whose_stack_is_walked_sends_no_copy),
		TEST(a_sample_stands_for_requests),
		TEST(lost_requests_are_counted),
		TEST(a_request_without_end_is_counted),
		TEST(requests_of_other_kinds_do_not_match),
		TEST(a_command_of_the_driver_is_recognized_at_its_end),
		TEST(a_probe_weighs_its_argument),
		TEST(a_hit_inside_another_hit_is_counted),
		TEST(an_allocation_of_the_mean_or_more_is_a_sample),
		TEST(calls_inside_the_allocator_have_no_weight),
		TEST(a_jump_to_another_file_may_ask_for_more),
		TEST(a_call_after_the_jump_counts),
		TEST(a_call_within_the_call_leaves_the_jump_alone),
		TEST(a_jump_of_a_call_that_a_signal_interrupts_counts_once),
		TEST(a_signal_handler_may_have_a_stack_of_its_own),
		TEST(many_calls_at_different_depths_leave_the_jump_alone),
		TEST(calls_of_a_program_with_a_hook_count_each),
		TEST(a_sample_has_the_return_address_of_a_wrapper_that_jumped),
		TEST(a_function_that_its_hook_jumps_to_counts_once),
		TEST(calls_before_the_start_of_a_file_do_not_count),
		TEST(without_user_stacks_a_sample_has_the_caller),
		TEST(our_own_allocations_are_left_out),
		TEST(one_call_hit_at_two_points_counts_once),
		TEST(a_tail_call_counts_once),
		TEST(a_call_unlike_the_last_one_counts),
		TEST(a_freed_block_returns_its_slot),
		TEST(a_process_that_shares_memory_frees_its_blocks),
		TEST(without_the_number_of_its_memory_a_process_has_its_own_blocks),
		TEST(blocks_without_a_slot_are_counted),
		TEST(calls_without_a_block_return_their_slot),
		TEST(an_argument_can_say_where_the_address_goes),
		TEST(a_jump_to_another_file_counts_once),
		TEST(a_jump_out_of_a_function_with_a_probed_return_counts_once),
		TEST(a_wrapper_that_jumps_out_is_not_continued_in_its_own_file),
		TEST(calls_within_calls_keep_their_blocks),
		TEST(a_block_stays_live_where_realloc_fails),
		TEST(realloc_to_nothing_frees),
		TEST(a_block_of_another_thread_stays),
		TEST(a_realloc_that_never_returned_frees_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
