/* How soon readings follow each other after wakeups. */
#include "cli/record/read_pace.h"

#include "unit.h"

#include "base/attributes.h"

#define START_NS (1000 * NS_PER_SECOND)

/* Wakeups come all the time. Returns the time of the reading. */
static uint64_t read_after(struct read_pace *pace, uint64_t now_ns)
{
	uint64_t next_ns = read_pace_get_next_ns(pace, now_ns);

	read_pace_add(pace, next_ns);
	return next_ns;
}

static void a_reading_follows_a_wakeup_soon(void **state _unused_)
{
	struct read_pace pace = {0};

	for (uint64_t now_ns = START_NS; now_ns < START_NS + NS_PER_SECOND;
	     now_ns += READ_DISTANCE_NS)
		assert_int_equal(read_after(&pace, now_ns), now_ns + READ_GATHER_NS);
}

static void some_readings_follow_each_other_soon(void **state _unused_)
{
	struct read_pace pace = {0};
	uint64_t now_ns = START_NS;

	for (int i = 0; i < READ_BURST; i++)
		now_ns = read_after(&pace, now_ns);
	assert_int_equal(now_ns, START_NS + READ_BURST * READ_GATHER_NS);
	/* After a pause they may do so again. */
	now_ns += READ_BURST * READ_DISTANCE_NS;
	for (uint64_t i = 1; i <= READ_BURST; i++)
		assert_int_equal(read_after(&pace, now_ns), now_ns + READ_GATHER_NS);
}

static void many_wakeups_have_the_mean_distance(void **state _unused_)
{
	struct read_pace pace = {0};
	uint64_t now_ns = START_NS;

	for (int i = 0; i < 1000; i++) {
		uint64_t next_ns = read_after(&pace, now_ns);

		assert_true(next_ns >= now_ns + READ_GATHER_NS);
		assert_true(next_ns <= now_ns + READ_DISTANCE_NS);
		now_ns = next_ns;
	}
	assert_true(now_ns >= START_NS + (1000 - READ_BURST) * READ_DISTANCE_NS);
	assert_true(now_ns <= START_NS + 1000 * READ_DISTANCE_NS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reading_follows_a_wakeup_soon),
		cmocka_unit_test(some_readings_follow_each_other_soon),
		cmocka_unit_test(many_wakeups_have_the_mean_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
