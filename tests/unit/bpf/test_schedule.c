/* The scheduling program: batches of switches, wakeups and kernel work. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "schedule.bpf.c"
#undef const
/* clang-format on */

#define FIRST_NS 1000
/* A batch with more slots is sent (make_room()). */
#define FULL_SLOTS (WIRE_SCHEDULE_SLOTS - 9)

int __preempt_count; /* of the kernel */

static struct task_struct idle;
static struct task_struct first;
static struct task_struct second;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(cpus);
	FAKE_PER_CPU(own_times);
	FAKE_PER_CPU(counters);
	FAKE_PER_CPU(running_threads);
	FAKE_ARRAY(names, WIRE_SCHEDULE_NAMES);
	FAKE_ARRAY(kworks, NUM_WIRE_KWORK_KINDS);
	FAKE_HASH(workers, 2);
	FAKE_HASH(target_tids, 4);
	FAKE_RINGS(rings);
	idle = (struct task_struct){.comm = "swapper", .prio = 120};
	first = (struct task_struct){.pid = 7, .tgid = 6, .comm = "first", .prio = 121};
	memcpy(first.comm + 8, "thread", 7); /* behind a NUL */
	second = (struct task_struct){.pid = 8, .tgid = 8, .comm = "second", .prio = -1};
	is_filtered = false;
	__preempt_count = 0;
	fake_kernel.now_ns = FIRST_NS;
	fake_kernel.boot_offset_ns = 50;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_schedule_counters *get_counters(void)
{
	return get_per_cpu(&counters);
}

static struct wire_schedule *get_batch(void)
{
	struct wire_schedule_cpu *cpu = get_per_cpu(&cpus);

	return &cpu->batch;
}

/* The kernel counts the switch before it reports it. */
static void switch_threads(struct task_struct *from, struct task_struct *to, uint32_t state)
{
	from->nvcsw++;
	fake_kernel.now_ns += 10;
	on_switch_state_last(NULL, false, from, to, state);
}

static void wake(struct task_struct *waker, struct task_struct *woken)
{
	fake_kernel.task = waker;
	fake_kernel.now_ns += 10;
	on_wakeup(NULL, woken);
}

/* Number of events of a kind in the batch, and the last one. */
static uint32_t count_events(uint32_t kind, struct wire_schedule_event *ret_last)
{
	const struct wire_schedule *batch = get_batch();
	uint32_t count = 0;

	for (uint32_t i = 0; i < batch->num_slots; i++) {
		const struct wire_schedule_event *event = &batch->slots[i].event;

		if (event->kind == kind) {
			count++;
			*ret_last = *event;
		}
		if (event->kind == WIRE_SCHEDULE_NAME || event->kind == WIRE_SCHEDULE_UNSEEN)
			i++;
	}
	return count;
}

static void a_switch_has_the_next_thread_and_the_state_of_the_last(void **state _unused_)
{
	struct wire_schedule_event event;

	switch_threads(&idle, &first, 0);
	switch_threads(&first, &second, 2);
	assert_int_equal(count_events(WIRE_SCHEDULE_SWITCH, &event), 2);
	assert_int_equal(event.tid, 8);
	assert_int_equal(event.state, 2);
	assert_int_equal(event.time_ns, FIRST_NS + 20 + 50);
	assert_int_equal(event.priority, WIRE_SCHEDULE_DEADLINE);
	assert_int_equal(count_events(WIRE_SCHEDULE_NAME, &event), 2);
	assert_int_equal(event.time_ns, 8);
	assert_string_equal(get_batch()->slots[0].event.kind == WIRE_SCHEDULE_NAME
				    ? get_batch()->slots[1].name
				    : "",
			    "first");
	assert_int_equal(get_counters()->switches, 2);
	assert_int_equal(get_counters()->unseen, 0);
	second.nvcsw++;
	on_switch(NULL, true, &second, &first);
	assert_int_equal(count_events(WIRE_SCHEDULE_SWITCH_PREEMPTED, &event), 1);
	/* A name is sent once, and again after a change. */
	assert_int_equal(count_events(WIRE_SCHEDULE_NAME, &event), 2);
	first.comm[0] = 'F';
	switch_threads(&first, &second, 1);
	switch_threads(&second, &first, 1);
	assert_int_equal(count_events(WIRE_SCHEDULE_NAME, &event), 3);
}

static void a_full_batch_is_sent(void **state _unused_)
{
	const struct wire_schedule *sent;

	while (!fake_kernel.num_records) {
		switch_threads(&idle, &first, 0);
		switch_threads(&first, &idle, 1);
	}
	sent = fake_record_last(WIRE_SCHEDULE);
	assert_int_equal(sent->number, 0);
	assert_in_range(sent->num_slots, FULL_SLOTS + 1, WIRE_SCHEDULE_SLOTS);
	assert_int_equal(fake_kernel.records[0].size,
			 offsetof(struct wire_schedule, slots) + 16ull * sent->num_slots);
	assert_int_equal(get_batch()->number, 1);
	assert_int_equal(get_counters()->switches, sent->num_switches + get_batch()->num_switches);
	assert_int_equal(get_counters()->lost_ring_switches, 0);
}

/* The batch starts with its name: the reader has nothing of the batches before. */
static void a_batch_starts_with_the_running_thread(void **state _unused_)
{
	struct wire_schedule_cpu *cpu = get_per_cpu(&cpus);

	switch_threads(&idle, &first, 0);
	cpu->batch.num_slots = FULL_SLOTS + 1;
	cpu->name_generation++; /* its names are told again */
	wake(&first, &second);
	assert_int_equal(fake_record_count(WIRE_SCHEDULE), 1);
	assert_int_equal(cpu->batch.tid, 7);
	assert_int_equal(cpu->batch.slots[0].event.kind, WIRE_SCHEDULE_NAME);
	assert_int_equal(cpu->batch.slots[0].event.tid, 7);
	assert_memory_equal(cpu->batch.slots[1].name, first.comm, sizeof(first.comm));
}

/* Two names, a switch that was not seen, and a switch. */
static void a_run_has_room_for_all_that_it_emits(void **state _unused_)
{
	struct wire_schedule_cpu *cpu = get_per_cpu(&cpus);
	struct wire_schedule_event event;
	struct task_struct third = {.pid = 9, .tgid = 9, .comm = "third"};

	switch_threads(&idle, &first, 0);
	memset(cpu->batch.slots, 0, sizeof(cpu->batch.slots));
	cpu->batch.num_slots = FULL_SLOTS;
	switch_threads(&second, &third, 1);
	assert_int_equal(fake_kernel.num_records, 0);
	assert_int_equal(count_events(WIRE_SCHEDULE_UNSEEN, &event), 1);
	assert_int_equal(count_events(WIRE_SCHEDULE_SWITCH, &event), 1);
	assert_int_equal(event.tid, 9);
	assert_true(cpu->batch.num_slots <= WIRE_SCHEDULE_SLOTS);
	assert_int_equal(get_counters()->switches, 2);
	switch_threads(&third, &idle, 1);
	assert_int_equal(fake_kernel.num_records, 1);
}

/* The CPU was idle by the events. */
static void an_unseen_switch_from_idle_is_reported(void **state _unused_)
{
	switch_threads(&first, &idle, 1);
	switch_threads(&second, &idle, 1);
	assert_int_equal(get_counters()->unseen, 1);
	is_filtered = true;
	switch_threads(&first, &idle, 1);
	assert_int_equal(get_counters()->unseen, 1);
}

static void a_full_ring_counts_the_events_of_a_batch(void **state _unused_)
{
	const struct wire_schedule *batch = get_batch();
	struct wire_schedule_event event;

	fake_kernel.ring_room = 0;
	while (!batch->number) {
		switch_threads(&idle, &first, 0);
		wake(&first, &second);
		wake(&first, &second);
		switch_threads(&first, &idle, 1);
	}
	assert_int_equal(get_counters()->lost_ring_switches + batch->num_switches,
			 get_counters()->switches);
	assert_int_equal(get_counters()->lost_ring_wakeups + batch->num_wakeups,
			 get_counters()->wakeups);
	assert_true(get_counters()->lost_ring_switches > 0);
	assert_true(get_counters()->lost_ring_wakeups > get_counters()->lost_ring_switches / 2);
	/* Names of a lost batch are sent again. */
	switch_threads(&idle, &first, 0);
	wake(&first, &second);
	assert_int_equal(count_events(WIRE_SCHEDULE_NAME, &event), 2);
}

static void a_wakeup_has_its_cpu_and_its_context(void **state _unused_)
{
	struct wire_schedule_event event;

	switch_threads(&idle, &first, 0);
	second.thread_info.cpu = 3;
	wake(&first, &second);
	assert_int_equal(count_events(WIRE_SCHEDULE_WAKEUP, &event), 1);
	assert_int_equal(event.tid, 8);
	assert_int_equal(event.state, 3);
	__preempt_count = 0x00010000;
	wake(&first, &second);
	__preempt_count = 0x00000100;
	wake(&first, &second);
	assert_int_equal(count_events(WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT, &event), 2);
	__preempt_count = 0x00000200; /* softirqs disabled, not running */
	wake(&first, &second);
	assert_int_equal(count_events(WIRE_SCHEDULE_WAKEUP, &event), 2);
	assert_int_equal(get_counters()->wakeups, 4);
}

/* An interrupt wakes a thread while the program adds an event. */
static void a_nested_wakeup_is_counted(void **state _unused_)
{
	struct wire_schedule_cpu *cpu = get_per_cpu(&cpus);

	switch_threads(&idle, &first, 0);
	cpu->is_busy = true;
	wake(&first, &second);
	assert_int_equal(get_counters()->wakeups, 1);
	assert_int_equal(get_counters()->lost_nested, 1);
	assert_int_equal(get_batch()->num_wakeups, 0);
	cpu->is_busy = false;
	wake(&first, &second);
	wake(&first, &second);
	assert_int_equal(get_counters()->wakeups, 3);
	assert_int_equal(get_counters()->lost_nested, 1);
}

/* The kernel did not report the switch to the second thread. */
static void a_switch_without_event_is_reported(void **state _unused_)
{
	const struct wire_schedule *batch = get_batch();
	struct wire_schedule_running *running = get_per_cpu(&running_threads);
	struct wire_schedule_event event;
	uint32_t number;

	switch_threads(&idle, &first, 0); /* at 1010 */
	running->other_tid = 8;
	running->other_leaves = 0;
	running->other_since_ns = 1015; /* seen by a tick */
	switch_threads(&second, &idle, 1);
	assert_int_equal(get_counters()->unseen, 1);
	assert_int_equal(get_counters()->switches, 2);
	assert_int_equal(count_events(WIRE_SCHEDULE_UNSEEN, &event), 1);
	assert_int_equal(event.tid, 8);
	for (number = 0; batch->slots[number].event.kind != WIRE_SCHEDULE_UNSEEN; number++)
		assert_true(number < batch->num_slots);
	assert_int_equal(batch->slots[number + 1].unseen.known_until_ns, 1010 + 50);
	assert_int_equal(batch->slots[number + 1].unseen.runs_since_ns, 1015);
}

/* Since when the last of the unseen threads runs. */
static uint64_t get_unseen_since(void)
{
	const struct wire_schedule *batch = get_batch();
	uint64_t since_ns = 0;

	for (uint32_t i = 0; i < batch->num_slots; i++) {
		uint32_t kind = batch->slots[i].event.kind;

		if (kind != WIRE_SCHEDULE_NAME && kind != WIRE_SCHEDULE_UNSEEN)
			continue;
		i++;
		if (kind == WIRE_SCHEDULE_UNSEEN)
			since_ns = batch->slots[i].unseen.runs_since_ns;
	}
	return since_ns;
}

/* A tick has seen another thread, or an earlier run of this one. */
static void an_unseen_run_does_not_start_with_another_one(void **state _unused_)
{
	struct wire_schedule_running *running = get_per_cpu(&running_threads);

	switch_threads(&idle, &first, 0);
	running->other_tid = 9;
	running->other_leaves = 0;
	running->other_since_ns = 1065;
	switch_threads(&second, &idle, 1);
	assert_int_equal(get_unseen_since(), 1020 + 50);
	switch_threads(&idle, &first, 0);
	running->other_tid = 8;
	running->other_leaves = 0; /* it has left a CPU since */
	running->other_since_ns = 1085;
	switch_threads(&second, &idle, 1);
	assert_int_equal(get_unseen_since(), 1040 + 50);
	assert_int_equal(get_counters()->unseen, 2);
}

static void only_targets_and_their_neighbours_are_reported(void **state _unused_)
{
	struct wire_schedule_event event;
	uint64_t tid = 7;
	uint32_t target = WIRE_TARGET;

	is_filtered = true;
	switch_threads(&idle, &second, 0);
	switch_threads(&second, &idle, 1);
	wake(&second, &second);
	assert_int_equal(get_counters()->switches, 0);
	assert_int_equal(get_counters()->wakeups, 0);
	assert_int_equal(fake_map_update(fake_map_find(&target_tids), &tid, &target), 0);
	switch_threads(&idle, &first, 0);
	switch_threads(&first, &second, 1);
	assert_int_equal(count_events(WIRE_SCHEDULE_SWITCH, &event), 2);
	assert_int_equal(event.tid, 8);
	switch_threads(&second, &idle, 1); /* the end of its run */
	assert_int_equal(count_events(WIRE_SCHEDULE_SWITCH, &event), 3);
	assert_int_equal(event.tid, 0);
	switch_threads(&idle, &second, 0);
	assert_int_equal(get_counters()->switches, 3);
}

static const struct wire_kwork_counters *get_kwork_counters(uint32_t kind)
{
	return &get_kwork(kind)->counters;
}

static void serve_irq(int number)
{
	struct irqaction action = {.name = "device"};

	on_irq(NULL, number, &action);
	fake_kernel.now_ns += 5;
	on_irq_end(NULL, number, &action, 0);
}

static void an_interrupt_is_reported_when_it_ends(void **state _unused_)
{
	const struct wire_kworks *batch = &get_kwork(WIRE_KWORK_IRQ)->batch;

	serve_irq(9);
	assert_int_equal(batch->num_slots, 1);
	assert_int_equal(batch->slots[0].number, 9);
	assert_int_equal(batch->slots[0].start_ns, FIRST_NS + 50);
	assert_int_equal(batch->slots[0].end_ns, FIRST_NS + 55);
	assert_string_equal(batch->slots[0].name, "device");
	for (uint32_t i = 1; i < WIRE_KWORK_SLOTS; i++) {
		assert_int_equal(fake_kernel.num_records, 0);
		serve_irq(9);
	}
	assert_int_equal(fake_record_count(WIRE_KWORKS), 1);
	assert_int_equal(batch->num_slots, 0);
	assert_int_equal(get_kwork_counters(WIRE_KWORK_IRQ)->taken, WIRE_KWORK_SLOTS);
	assert_int_equal(get_kwork_counters(WIRE_KWORK_IRQ)->lost_ring, 0);
}

static void a_full_ring_counts_lost_kernel_work(void **state _unused_)
{
	fake_kernel.ring_room = 0;
	for (uint32_t i = 0; i < 2 * WIRE_KWORK_SLOTS + 1; i++)
		serve_irq(9);
	assert_int_equal(get_kwork_counters(WIRE_KWORK_IRQ)->taken, 2 * WIRE_KWORK_SLOTS + 1);
	assert_int_equal(get_kwork_counters(WIRE_KWORK_IRQ)->lost_ring, 2 * WIRE_KWORK_SLOTS);
}

static void kernel_work_without_start_is_counted(void **state _unused_)
{
	const struct wire_kwork_counters *counter = get_kwork_counters(WIRE_KWORK_SOFTIRQ);

	on_softirq_end(NULL, 3);
	assert_int_equal(counter->unseen_begin, 1);
	on_softirq(NULL, 3);
	on_softirq_end(NULL, 4);
	assert_int_equal(counter->unseen_begin, 2);
	on_softirq_end(NULL, 3); /* the softirq ended before */
	assert_int_equal(counter->unseen_begin, 3);
	on_softirq(NULL, 3);
	on_softirq_end(NULL, 3);
	assert_int_equal(counter->taken, 1);
	assert_int_equal(counter->unseen_begin, 3);
}

static void nested_kernel_work_is_counted(void **state _unused_)
{
	struct wire_kwork_cpu *cpu = get_kwork(WIRE_KWORK_SOFTIRQ);

	cpu->is_busy = true;
	on_softirq(NULL, 3);
	on_softirq_end(NULL, 3);
	assert_int_equal(cpu->counters.lost_nested, 1);
	assert_int_equal(cpu->counters.taken, 0);
	cpu->is_busy = false;
	for (int i = 0; i < 2; i++) {
		on_softirq(NULL, 3);
		on_softirq_end(NULL, 3);
	}
	assert_int_equal(cpu->counters.lost_nested, 1);
	assert_int_equal(cpu->counters.taken, 2);
}

static void work_on(uint32_t tid, struct work_struct *item)
{
	fake_kernel.pid_tgid = tid;
	on_work(NULL, item);
}

static void end_work(uint32_t tid)
{
	fake_kernel.pid_tgid = tid;
	on_work_end(NULL);
}

/* A worker may sleep while another one works. */
static void each_worker_has_its_item(void **state _unused_)
{
	struct work_struct items[] = {{.func = (void *)0x100}, {.func = (void *)0x200}};
	const struct wire_kworks *batch = &get_kwork(WIRE_KWORK_WORKQUEUE)->batch;
	const struct wire_kwork_counters *counter = get_kwork_counters(WIRE_KWORK_WORKQUEUE);

	work_on(20, &items[0]);
	fake_kernel.now_ns += 7;
	work_on(21, &items[1]);
	work_on(22, &items[1]); /* the map is full */
	end_work(22);
	assert_int_equal(counter->unseen_begin, 1);
	end_work(20);
	end_work(21);
	assert_int_equal(counter->taken, 2);
	assert_int_equal(batch->slots[0].number, 20);
	assert_int_equal(batch->slots[0].function, 0x100);
	assert_int_equal(batch->slots[0].start_ns, FIRST_NS + 50);
	assert_int_equal(batch->slots[1].function, 0x200);
	assert_int_equal(batch->slots[1].start_ns, FIRST_NS + 57);
	end_work(21);
	assert_int_equal(counter->unseen_begin, 2);
	work_on(22, &items[1]);
	end_work(22);
	assert_int_equal(counter->taken, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_switch_has_the_next_thread_and_the_state_of_the_last),
		TEST(a_full_batch_is_sent),
		TEST(a_batch_starts_with_the_running_thread),
		TEST(a_run_has_room_for_all_that_it_emits),
		TEST(an_unseen_switch_from_idle_is_reported),
		TEST(a_full_ring_counts_the_events_of_a_batch),
		TEST(a_wakeup_has_its_cpu_and_its_context),
		TEST(a_nested_wakeup_is_counted),
		TEST(a_switch_without_event_is_reported),
		TEST(an_unseen_run_does_not_start_with_another_one),
		TEST(only_targets_and_their_neighbours_are_reported),
		TEST(an_interrupt_is_reported_when_it_ends),
		TEST(a_full_ring_counts_lost_kernel_work),
		TEST(kernel_work_without_start_is_counted),
		TEST(nested_kernel_work_is_counted),
		TEST(each_worker_has_its_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
