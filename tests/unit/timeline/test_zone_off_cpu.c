#include "timeline/zone_off_cpu.h"

#include <errno.h>

#include "timeline/timeline_builder.h"

#define OFF true
#define ON  false

/* A thread leaves its CPU, or gets one. */
struct step {
	uint64_t time_ns;
	int32_t tid;
	bool is_off;
};

struct schedule {
	const struct step *steps;
	size_t num_steps;
	size_t next;
	int error; /* after the last step */
};

static int rewind_schedule(void *context)
{
	((struct schedule *)context)->next = 0;
	return 0;
}

/* The other side of each switch is the idle thread. */
static int next_event(void *context, void *ret)
{
	struct schedule *schedule = context;
	const struct step *step;

	if (schedule->next == schedule->num_steps)
		return schedule->error;
	step = &schedule->steps[schedule->next++];
	*(struct schedule_event *)ret =
		(struct schedule_event){.on_cpu = {.time_ns = step->time_ns,
						   .previous_tid = step->is_off ? step->tid : 0,
						   .next_tid = step->is_off ? 0 : step->tid}};
	return 1;
}

/* The first thread's tid is 100, the second one's 101. */
static void set_up(struct tracked *tracked)
{
	tracked_init(tracked);
	tracked_add_thread(tracked, 100);
	tracked_add_thread(tracked, 101);
}

static int add(struct tracked *tracked, struct schedule *schedule)
{
	struct timeline_source source = {
		.rewind = rewind_schedule, .next = next_event, .context = schedule};

	timeline_set_schedule(tracked->timeline, &source);
	return zone_off_cpu_add(tracked->timeline);
}

static void add_steps(struct tracked *tracked, const struct step *steps, size_t num_steps)
{
	struct schedule schedule = {.steps = steps, .num_steps = num_steps};

	assert_int_equal(add(tracked, &schedule), 0);
}

/* 0: the zone has no such parameter. */
static uint64_t off_cpu_ns(const struct tracked *tracked, uint32_t zone)
{
	const struct zone_attribute *attribute =
		timeline_next_attribute(tracked->timeline, zone, NULL);

	if (!attribute)
		return 0;
	assert_string_equal(timeline_get_string(tracked->timeline, attribute->name), "off_cpu_ns");
	assert_int_equal(attribute->kind, ATTRIBUTE_PARAMETER);
	assert_int_equal(attribute->type, VALUE_U64);
	assert_null(timeline_next_attribute(tracked->timeline, zone, attribute));
	return attribute->value.u64;
}

static void a_zone_has_what_its_thread_waited_inside_it(void **state _unused_)
{
	static const struct step steps[] = {
		{50, 100, OFF}, {90, 100, ON},   {120, 100, OFF}, {130, 101, OFF}, {150, 100, ON},
		{160, 101, ON}, {170, 100, OFF}, {180, 100, ON},  {210, 100, OFF}, {290, 100, ON},
	};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_start(&tracked, 7000, 0, 160);
	tracked_end(&tracked, 7000, 190);
	tracked_start(&tracked, 7000, 0, 191);
	tracked_end(&tracked, 7000, 192);
	tracked_end(&tracked, 8000, 200);
	tracked_finish(&tracked, 200);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 0), 30 + 10);
	assert_int_equal(off_cpu_ns(&tracked, 1), 10);
	assert_int_equal(off_cpu_ns(&tracked, 2), 0);
	tracked_release(&tracked);
}

static void what_a_thread_did_elsewhere_is_not_in_the_zone_that_waited_for_it(void **state _unused_)
{
	static const struct step steps[] = {
		{110, 100, OFF}, {120, 100, ON}, {220, 100, OFF}, {230, 100, ON},
		{250, 101, OFF}, {270, 101, ON}, {280, 100, OFF}, {300, 100, ON},
	};
	struct tracked tracked;

	set_up(&tracked);
	/* A fiber that the first thread leaves at 200, for its own stack, and the second goes on with. */
	tracked_start(&tracked, 0x80000, 0, 100);
	tracked_start(&tracked, 0x4000, 0, 200);
	tracked_start(&tracked, 0x7f000, 1, 240);
	tracked_end(&tracked, 0x7f000, 290);
	tracked_end(&tracked, 0x80000, 295);
	tracked_end(&tracked, 0x4000, 310);
	tracked_finish(&tracked, 310);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 0), 10 + 20);
	assert_int_equal(off_cpu_ns(&tracked, 1), 10 + 20);
	assert_int_equal(off_cpu_ns(&tracked, 2), 20);
	tracked_release(&tracked);
}

static void a_zone_that_started_before_the_schedule_has_what_is_known(void **state _unused_)
{
	static const struct step steps[] = {{1000, 101, OFF}, {1300, 100, ON}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_start(&tracked, 80000, 1, 20);
	tracked_end(&tracked, 80000, 2000);
	tracked_end(&tracked, 8000, 1400);
	tracked_finish(&tracked, 2000);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	/* It ran when the zone began, so that it must have left its CPU unseen; since when? */
	assert_int_equal(off_cpu_ns(&tracked, 0), 0);
	/* Nobody knows what came after the last event. */
	assert_int_equal(off_cpu_ns(&tracked, 1), 300);
	tracked_release(&tracked);
}

static void a_thread_that_starts_a_zone_runs_whatever_was_lost(void **state _unused_)
{
	static const struct step steps[] = {
		{110, 100, OFF}, {150, 100, OFF}, {160, 100, ON}, {900, 101, OFF}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_start(&tracked, 7000, 0, 140);
	tracked_end(&tracked, 7000, 170);
	tracked_end(&tracked, 8000, 200);
	tracked_finish(&tracked, 200);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 0), 30 + 10);
	assert_int_equal(off_cpu_ns(&tracked, 1), 10);
	tracked_release(&tracked);
}

static void what_is_around_a_wait_whose_end_was_lost_has_it_too(void **state _unused_)
{
	static const struct step steps[] = {
		{120, 100, OFF}, {230, 100, OFF}, {270, 100, ON}, {310, 100, OFF}, {900, 101, OFF}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_start(&tracked, 7000, 0, 110);
	tracked_end(&tracked, 7000, 190);
	tracked_start(&tracked, 7000, 0, 200);
	tracked_end(&tracked, 7000, 280);
	tracked_start(&tracked, 7000, 0, 300);
	tracked_end(&tracked, 7000, 390);
	tracked_end(&tracked, 8000, 400);
	tracked_finish(&tracked, 400);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 1), 70);
	assert_int_equal(off_cpu_ns(&tracked, 2), 40);
	assert_int_equal(off_cpu_ns(&tracked, 3), 80);
	assert_int_equal(off_cpu_ns(&tracked, 0), 80 + 40 + 90);
	tracked_release(&tracked);
}

static void add_sample(struct tracked *tracked, uint32_t thread, uint64_t time_ns)
{
	struct timeline_sample sample = {.time_ns = time_ns, .thread = thread, .weight = 1};

	assert_int_equal(timeline_add_sample(tracked->timeline, &sample, NULL), 0);
}

static void a_thread_that_is_sampled_runs_whatever_was_lost(void **state _unused_)
{
	/* Nobody has seen that the first thread came back, twice; it is sampled then. */
	static const struct step steps[] = {
		{120, 100, OFF}, {300, 100, OFF}, {340, 100, ON}, {350, 100, OFF}, {900, 101, OFF}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_end(&tracked, 8000, 500);
	tracked_finish(&tracked, 500);
	add_sample(&tracked, 0, 110);
	add_sample(&tracked, 0, 130);
	add_sample(&tracked, 0, 140);
	add_sample(&tracked, 1, 355);
	add_sample(&tracked, 0, 360);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 0), 10 + 40 + 10);
	tracked_release(&tracked);
}

/* That is what a sample of hardware sees that is taken while the kernel switches. */
static void a_sample_after_a_switch_does_not_end_a_wait_whose_end_is_known(void **state _unused_)
{
	static const struct step steps[] = {{120, 100, OFF}, {300, 100, ON}, {900, 101, OFF}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_end(&tracked, 8000, 500);
	tracked_finish(&tracked, 500);
	add_sample(&tracked, 0, 121);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 0), 180);
	tracked_release(&tracked);
}

static void a_thread_that_was_sampled_before_its_first_switch_ran_then(void **state _unused_)
{
	static const struct step steps[] = {{90, 101, OFF}, {300, 100, ON}, {900, 101, OFF}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 10);
	tracked_end(&tracked, 8000, 500);
	tracked_finish(&tracked, 500);
	add_sample(&tracked, 0, 200);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(off_cpu_ns(&tracked, 0), 0);
	tracked_release(&tracked);
}

static void a_zone_that_was_left_open_has_the_wait_that_it_ends_in(void **state _unused_)
{
	static const struct step steps[] = {{120, 100, OFF}, {500, 101, OFF}};
	struct tracked tracked;

	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_start(&tracked, 80000, 1, 300);
	tracked_finish(&tracked, 300);
	add_steps(&tracked, steps, ARRAY_LENGTH(steps));
	assert_int_equal(timeline_get_zone(tracked.timeline, 0)->end_ns, 300);
	assert_int_equal(off_cpu_ns(&tracked, 0), 180);
	tracked_release(&tracked);
}

static void without_a_schedule_or_zones_there_is_nothing_to_add(void **state _unused_)
{
	struct schedule schedule = {.error = -EIO};
	struct tracked tracked;

	set_up(&tracked);
	assert_int_equal(add(&tracked, &schedule), 0);
	tracked_release(&tracked);
	set_up(&tracked);
	tracked_start(&tracked, 8000, 0, 100);
	tracked_end(&tracked, 8000, 100);
	tracked_finish(&tracked, 100);
	assert_int_equal(zone_off_cpu_add(tracked.timeline), 0);
	assert_int_equal(off_cpu_ns(&tracked, 0), 0);
	/* A schedule that cannot be read is an error. */
	assert_int_equal(add(&tracked, &schedule), -EIO);
	tracked_release(&tracked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zone_has_what_its_thread_waited_inside_it),
		cmocka_unit_test(what_a_thread_did_elsewhere_is_not_in_the_zone_that_waited_for_it),
		cmocka_unit_test(a_zone_that_started_before_the_schedule_has_what_is_known),
		cmocka_unit_test(a_thread_that_starts_a_zone_runs_whatever_was_lost),
		cmocka_unit_test(what_is_around_a_wait_whose_end_was_lost_has_it_too),
		cmocka_unit_test(a_thread_that_is_sampled_runs_whatever_was_lost),
		cmocka_unit_test(a_sample_after_a_switch_does_not_end_a_wait_whose_end_is_known),
		cmocka_unit_test(a_thread_that_was_sampled_before_its_first_switch_ran_then),
		cmocka_unit_test(a_zone_that_was_left_open_has_the_wait_that_it_ends_in),
		cmocka_unit_test(without_a_schedule_or_zones_there_is_nothing_to_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
