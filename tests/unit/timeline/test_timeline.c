#include "timeline/timeline.h"

#include "timeline/timeline_builder.h"

static uint32_t add_zone(struct timeline *timeline)
{
	struct zone zone = {.parent = TIMELINE_NONE, .last_attribute = TIMELINE_NONE};
	uint32_t id;

	assert_int_equal(timeline_add_zone(timeline, &zone, &id), 0);
	return id;
}

static void add_flow(struct timeline *timeline, uint32_t zone, uint64_t flow)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_FLOW, .value.u64 = flow};

	assert_int_equal(timeline_add_attribute(timeline, zone, &attribute), 0);
}

static void add_number(struct timeline *timeline, uint32_t zone, const char *name, int64_t value)
{
	struct zone_attribute attribute = {
		.kind = ATTRIBUTE_PARAMETER, .type = VALUE_I64, .value.i64 = value};

	assert_int_equal(timeline_add_string(timeline, name, &attribute.name), 0);
	assert_int_equal(timeline_add_attribute(timeline, zone, &attribute), 0);
}

static void attributes_keep_their_order_and_their_zone(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	uint32_t outer = add_zone(timeline);
	uint32_t inner = add_zone(timeline);
	const struct zone_attribute *attribute = NULL;

	add_flow(timeline, outer, 1);
	add_flow(timeline, inner, 10);
	add_flow(timeline, outer, 2);
	add_flow(timeline, outer, 1);
	for (uint64_t expected = 1; expected <= 3; expected++) {
		attribute = timeline_next_attribute(timeline, outer, attribute);
		assert_int_equal(attribute->value.u64, expected == 3 ? 1 : expected);
	}
	assert_null(timeline_next_attribute(timeline, outer, attribute));
	attribute = timeline_next_attribute(timeline, inner, NULL);
	assert_int_equal(attribute->value.u64, 10);
	assert_null(timeline_next_attribute(timeline, inner, attribute));
	assert_null(timeline_next_attribute(timeline, add_zone(timeline), NULL));
	timeline_free(timeline);
}

static void the_last_parameter_of_a_name_wins(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	uint32_t zone = add_zone(timeline);
	uint32_t other = add_zone(timeline);
	const struct zone_attribute *attribute;

	add_number(timeline, zone, "n", 1);
	add_number(timeline, zone, "m", 2);
	add_number(timeline, other, "n", 3);
	add_number(timeline, zone, "n", 4);
	attribute = timeline_next_attribute(timeline, zone, NULL);
	assert_string_equal(timeline_get_string(timeline, attribute->name), "n");
	assert_int_equal(attribute->value.i64, 4);
	attribute = timeline_next_attribute(timeline, zone, attribute);
	assert_int_equal(attribute->value.i64, 2);
	assert_null(timeline_next_attribute(timeline, zone, attribute));
	assert_int_equal(timeline_next_attribute(timeline, other, NULL)->value.i64, 3);
	timeline_free(timeline);
}

static void a_timeline_with_declarations_only_is_empty(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	struct timeline_thread thread = {.tid = 1};
	struct counter_value value = {.type = VALUE_I64};

	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	assert_true(timeline_is_empty(timeline));
	assert_int_equal(timeline_add_counter_value(timeline, &value, NULL), 0);
	assert_false(timeline_is_empty(timeline));
	timeline_free(timeline);
}

static void a_thread_keeps_its_earlier_names(void **state _unused_)
{
	static const struct {
		const char *name;
		uint64_t time_ns;
		uint32_t num_earlier;
		const char *last;
	} steps[] = {
		{"a", 100, 0, "a"}, {"a", 200, 0, "a"}, {"b", 300, 1, "b"},
		{"c", 250, 1, "b"}, {"a", 300, 2, "a"},
	};
	struct timeline *timeline = timeline_new();
	uint32_t thread;

	assert_int_equal(timeline_add_thread(timeline, &(struct timeline_thread){.tid = 5}, NULL),
			 0);
	assert_int_equal(
		timeline_add_thread(timeline, &(struct timeline_thread){.tid = 7}, &thread), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
		assert_int_equal(
			timeline_rename_thread(timeline, thread, steps[i].name, steps[i].time_ns),
			0);
		assert_int_equal(timeline_count_thread_name(timeline), steps[i].num_earlier);
		assert_string_equal(
			timeline_get_string(timeline, timeline_get_thread(timeline, thread)->name),
			steps[i].last);
	}
	assert_string_equal(
		timeline_get_string(timeline, timeline_get_thread_name(timeline, 0)->name), "a");
	assert_int_equal(timeline_get_thread_name(timeline, 0)->until_ns, 300);
	assert_int_equal(timeline_get_thread_name(timeline, 1)->thread, thread);
	/* Zones have named it. */
	timeline_get_thread(timeline, thread)->named_ns = UINT64_MAX;
	assert_int_equal(timeline_rename_thread(timeline, thread, "d", 900), 0);
	assert_int_equal(timeline_count_thread_name(timeline), 2);
	timeline_free(timeline);
}

static void too_many_earlier_names_are_told(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	uint32_t thread;

	assert_int_equal(
		timeline_add_thread(timeline, &(struct timeline_thread){.tid = 7}, &thread), 0);
	for (uint32_t i = 0; i <= TIMELINE_MAX_THREAD_NAMES; i++)
		if (timeline_rename_thread(timeline, thread, i % 2 ? "a" : "b", i + 1))
			fail_msg("name %u is not kept", i);
	assert_int_equal(timeline_rename_thread(timeline, thread, "c", UINT32_MAX), 1);
	assert_int_equal(timeline_count_thread_name(timeline), TIMELINE_MAX_THREAD_NAMES);
	assert_string_equal(
		timeline_get_string(timeline, timeline_get_thread(timeline, thread)->name), "c");
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_keep_their_order_and_their_zone),
		cmocka_unit_test(the_last_parameter_of_a_name_wins),
		cmocka_unit_test(a_timeline_with_declarations_only_is_empty),
		cmocka_unit_test(a_thread_keeps_its_earlier_names),
		cmocka_unit_test(too_many_earlier_names_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
