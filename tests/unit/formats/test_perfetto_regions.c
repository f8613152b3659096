/* Stack regions in Perfetto traces: when the trace is read again, it is known how far their bounds are. */
#include "formats/format.h"
#include "zones_builder.h"

static uint32_t add_string(struct timeline *timeline, const char *string)
{
	uint32_t id;

	assert_int_equal(timeline_add_string(timeline, string, &id), 0);
	return id;
}

static void regions_come_back_with_what_is_known_of_their_bounds(void **state _unused_)
{
	static const enum region_kind kinds[] = {REGION_DECLARED, REGION_PARTIAL, REGION_IMPLICIT};
	struct zones_read_result first = {.profile = profile_new(), .timeline = timeline_new()};
	struct timeline_process process = {.pid = 7};
	struct timeline_thread thread = {.tid = 7};
	struct zones_read_result second;
	struct text trace;

	process.name = thread.name = add_string(first.timeline, "server");
	assert_int_equal(timeline_add_process(first.timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_thread(first.timeline, &thread, NULL), 0);
	for (uint32_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		struct stack_region region = {.start = 0x10000 * (i + 1),
					      .end = 0x10000 * (i + 1) + 0x2000,
					      .name = add_string(first.timeline, "stack"),
					      .kind = (uint8_t)kinds[i]};
		struct occupancy occupancy = {.start_ns = 100 * i, .end_ns = 100 * i + 50};

		assert_int_equal(timeline_add_region(first.timeline, &region, &occupancy.region),
				 0);
		assert_int_equal(timeline_add_occupancy(first.timeline, &occupancy, NULL), 0);
	}
	trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	assert_int_equal(timeline_count_region(second.timeline), ARRAY_LENGTH(kinds));
	for (uint32_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		const struct stack_region *region = timeline_get_region(second.timeline, i);

		assert_int_equal(region->start, 0x10000 * (i + 1));
		assert_int_equal(region->end, 0x10000 * (i + 1) + 0x2000);
		assert_int_equal(region->kind, kinds[i]);
	}
	text_release(&trace);
	builder_release(&second);
	builder_release(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_come_back_with_what_is_known_of_their_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
