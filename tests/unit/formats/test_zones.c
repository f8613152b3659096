#include "zones_builder.h"

#include "formats/zones.h"

#define LOCATION_1 "LOCATION, 1, A, a, a.c, 1\n"

static const char *string_of(const struct zones_read_result *result, uint32_t id)
{
	return timeline_get_string(result->timeline, id);
}

static const struct zone *zone_of(const struct zones_read_result *result, uint32_t id)
{
	assert_true(id < timeline_count_zone(result->timeline));
	return timeline_get_zone(result->timeline, id);
}

static void assert_bad(const char *text, const char *message)
{
	struct zones_read_result result;

	assert_int_equal(builder_read(&format_zones, text, strlen(text), false, &result), -EBADMSG);
	assert_string_equal(result.error.message, message);
	builder_release(&result);
}

static void assert_written(const char *text, const char *expected)
{
	struct zones_read_result result;
	struct text written;

	builder_read_zones(text, &result);
	written = builder_write(&format_zones, &result, (struct format_opts){0});
	assert_string_equal(written.data, expected);
	text_release(&written);
	builder_release(&result);
}

static void assert_same_when_written(const char *text)
{
	assert_written(text, text);
}

static void a_zone_has_its_location_its_thread_and_its_times(void **state _unused_)
{
	struct zones_read_result result;
	const struct zone *zone;
	const struct source_location *location;

	builder_read_zones("THREAD, 7, worker\n"
			   "LOCATION, 3, Load, load_level, src/level.c, 42\n"
			   "ZONE_START, 8000, 7, 100, 3\nZONE_END, 8000, 250\n",
			   &result);
	zone = zone_of(&result, 0);
	location = timeline_get_location(result.timeline, zone->location);
	assert_string_equal(string_of(&result, zone->name), "Load");
	assert_string_equal(string_of(&result, location->function), "load_level");
	assert_string_equal(string_of(&result, location->file), "src/level.c");
	assert_int_equal(location->line, 42);
	assert_int_equal(zone->start_ns, 100);
	assert_int_equal(zone->end_ns, 250);
	assert_string_equal(
		string_of(&result, timeline_get_thread(result.timeline, zone->thread)->name),
		"worker");
	builder_release(&result);
}

static void every_attribute_of_a_zone_survives(void **state _unused_)
{
	assert_same_when_written("THREAD, 1, t\n" LOCATION_1 "ZONE_START, 8000, 1, 10, 1\n"
				 "ZONE_NAME, 8000, other\n"
				 "ZONE_CATEGORY, 8000, io\n"
				 "ZONE_PARAM, 8000, n, 123\n"
				 "ZONE_CATEGORY, 8000, net\n"
				 "ZONE_FLOW, 8000, 5\n"
				 "ZONE_FLOW_T, 8000, 18446744073709551615\n"
				 "ZONE_END, 8000, 20\n");
}

static void attributes_go_to_the_zone_they_name_not_to_the_innermost(void **state _unused_)
{
	struct zones_read_result result;

	builder_read_zones(LOCATION_1
			   "ZONE_START, 8000, 1, 10, 1\nZONE_START, 7000, 1, 20, 1\n"
			   "ZONE_NAME, 8000, outer\nZONE_END, 7000, 30\nZONE_END, 8000, 40\n",
			   &result);
	assert_string_equal(string_of(&result, zone_of(&result, 0)->name), "outer");
	assert_string_equal(string_of(&result, zone_of(&result, 1)->name), "A");
	builder_release(&result);
}

static void counters_are_whole_numbers_or_decimals(void **state _unused_)
{
	struct zones_read_result result;
	const struct counter_value *values;

	builder_read_zones("COUNTER_TRACK, 9, load\nCOUNTER_VALUE, 9, 5, -9223372036854775808\n"
			   "COUNTER_VALUE, 9, 6, 1.5\nCOUNTER_VALUE, 9, 7, -2.5e-1\n"
			   "COUNTER_VALUE, 9, 8, 18446744073709551615\nCOUNTER_VALUE, 9, 9, +4\n",
			   &result);
	assert_int_equal(timeline_count_counter_value(result.timeline), 5);
	values = timeline_get_counter_value(result.timeline, 0);
	assert_true(values[0].type == VALUE_I64 && values[0].value.i64 == INT64_MIN);
	assert_true(values[1].type == VALUE_DOUBLE && values[1].value.number == 1.5);
	assert_true(values[2].value.number == -0.25);
	assert_true(values[3].type == VALUE_DOUBLE && values[3].value.number > 1.8e19);
	assert_true(values[4].value.i64 == 4);
	builder_release(&result);
}

static void decimals_are_written_as_the_shortest_ones_that_are_the_same(void **state _unused_)
{
	assert_written("COUNTER_TRACK, 9, c\nCOUNTER_VALUE, 9, 5, 0.10\nCOUNTER_VALUE, 9, 6, 2.\n"
		       "COUNTER_VALUE, 9, 7, -.0\nCOUNTER_VALUE, 9, 8, 1E+300\n"
		       "COUNTER_VALUE, 9, 9, 0.30000000000000004\n",
		       "COUNTER_TRACK, 1, c\nCOUNTER_VALUE, 1, 5, 0.1\nCOUNTER_VALUE, 1, 6, 2.0\n"
		       "COUNTER_VALUE, 1, 7, -0.0\nCOUNTER_VALUE, 1, 8, 1e+300\n"
		       "COUNTER_VALUE, 1, 9, 0.30000000000000004\n");
}

static void commands_may_be_in_any_letter_case(void **state _unused_)
{
	assert_written("thread, 1, x\nThread,2,y\n", "THREAD, 1, x\nTHREAD, 2, y\n");
}

static void blanks_around_fields_do_not_count(void **state _unused_)
{
	assert_written(" \tTHREAD ,\t1\t,  a b \t\n", "THREAD, 1, a b\n");
	assert_written("THREAD , \"2\" , \" x \" \t\n", "THREAD, 2, \" x \"\n");
}

static void quotes_keep_commas_blanks_and_doubled_quotes(void **state _unused_)
{
	assert_same_when_written("THREAD, 1, \"a, b\"\nTHREAD, 2, \"say \"\"hi\"\"\"\n"
				 "THREAD, 3, \"\"\"\"\"\"\nTHREAD, 4, #x\n");
	assert_written("THREAD,1,\"\"\nTHREAD,2,\"#x\"\n", "THREAD, 1, \nTHREAD, 2, #x\n");
	assert_written("THREAD,1,a \"b\" c\n", "THREAD, 1, \"a \"\"b\"\" c\"\n");
}

static void lines_end_in_any_of_three_ways(void **state _unused_)
{
	const char *expected = "THREAD, 1, a\nTHREAD, 2, b\nTHREAD, 3, c\n";

	assert_written("THREAD,1,a\r\nTHREAD,2,b\r\n\r\nTHREAD,3,c", expected);
	assert_written("THREAD,1,a\rTHREAD,2,b\r\rTHREAD,3,c\r", expected);
	assert_bad("\r\n\n\rX\n", "x:4: unknown command 'X'");
}

static void comments_blank_lines_and_a_byte_order_mark_are_skipped(void **state _unused_)
{
	assert_written("\xef\xbb\xbfTHREAD, 1, x\n\n  # THREAD, 2, y\n#\n\t\n", "THREAD, 1, x\n");
}

static void an_empty_file_is_an_empty_timeline(void **state _unused_)
{
	assert_written("", "");
	assert_written("# nothing", "");
}

static void pointers_may_be_hexadecimal(void **state _unused_)
{
	assert_written(LOCATION_1 "STACK, 0x1000, 0X2000, s\nZONE_START, 0x1Ff0, 1, 5, 1\n"
				  "ZONE_END, 8176, 6\n",
		       "THREAD, 1, Unknown\nSTACK, 4096, 8192, s\n" LOCATION_1
		       "ZONE_START, 8176, 1, 5, 1\nZONE_END, 8176, 6\n");
}

static void ids_may_be_any_integers(void **state _unused_)
{
	assert_written("THREAD, +5, a\nTHREAD, -1, b\nTHREAD, 18446744073709551616, c\n",
		       "THREAD, 5, a\nTHREAD, 18446744073709551615, b\nTHREAD, 0, c\n");
}

static void a_thread_is_unknown_until_it_is_declared(void **state _unused_)
{
	struct zones_read_result result;

	builder_read_zones(LOCATION_1 "ZONE_START, 8000, 1, 10, 1\nZONE_END, 8000, 20\n"
				      "ZONE_START, 80000, 2, 10, 1\nZONE_END, 80000, 20\n"
				      "THREAD, 1, late\n",
			   &result);
	assert_string_equal(string_of(&result, timeline_get_thread(result.timeline, 0)->name),
			    "late");
	assert_string_equal(string_of(&result, timeline_get_thread(result.timeline, 1)->name),
			    "Unknown");
	builder_release(&result);
}

static void open_zones_end_at_the_last_time_with_a_warning(void **state _unused_)
{
	struct zones_read_result result;

	builder_read_zones(LOCATION_1 "COUNTER_TRACK, 1, c\nZONE_START, 8000, 1, 10, 1\n"
				      "COUNTER_VALUE, 1, 70, 0\nZONE_START, 80000, 2, 20, 1\n",
			   &result);
	assert_int_equal(zone_of(&result, 0)->end_ns, 70);
	assert_int_equal(zone_of(&result, 1)->end_ns, 70);
	assert_string_equal(result.warnings.data,
			    "x: 2 zones were still open at the end: they end at 70 ns\n");
	builder_release(&result);
}

static void errors_name_the_line(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{"THREAD, 1, a\nFIBER, 1\n", "x:2: unknown command 'FIBER'"},
		{",\n", "x:1: unknown command ''"},
		{"THREAD\n", "x:1: THREAD takes 2 arguments, not 0"},
		{"thread, 1, a,\n", "x:1: THREAD takes 2 arguments, not 3"},
		{"THREAD, 1, a # c, d\n", "x:1: THREAD takes 2 arguments, not 3"},
		{"THREAD, 1_0, a\n", "x:1: expected a thread id, not '1_0'"},
		{"THREAD, , a\n", "x:1: expected a thread id, not ''"},
		{"THREAD, 0x1, a\n", "x:1: expected a thread id, not '0x1'"},
		{"THREAD, 1, \"a\n", "x:1: the quote is not closed on this line"},
		{"THREAD, 1, \"a\" b\n", "x:1: expected a comma after the closing quote"},
		{"STACK, 0x, 5, a\n", "x:1: expected a pointer, not '0x'"},
		{"STACK, -5, 5, a\n", "x:1: expected a pointer, not '-5'"},
		{"STACK, 0x10000000000000000, 5, a\n",
		 "x:1: expected a pointer, not '0x10000000000000000'"},
		{"STACK, 18446744073709551616, 5, a\n",
		 "x:1: expected a pointer, not '18446744073709551616'"},
		{"STACK, 9, 9, a\n", "x:1: the stack starts at 9, not before its end, 9"},
		{"STACK, 4000, 5000, A\nSTACK, 6000, 7000, B\n",
		 "x:2: the stack overlaps 'A', which is at [4000, 8192)"},
		{"THREAD,1,a\nTHREAD,1,b\n", "x:2: thread 1 is declared a second time"},
		{LOCATION_1 LOCATION_1, "x:2: location 1 is declared a second time"},
		{"LOCATION,1,A,a,a.c,4294967296\n",
		 "x:1: expected a line number, not '4294967296'"},
		{"COUNTER_TRACK,1,a\nCOUNTER_TRACK,1,b\n",
		 "x:2: counter track 1 is declared a second time"},
		{"COUNTER_VALUE,1,1,1\n", "x:1: counter track 1 is not declared"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,-1,1\n", "x:2: expected a time, not '-1'"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,1,nan\n", "x:2: expected a number, not 'nan'"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,1,0x1p3\n",
		 "x:2: expected a number, not '0x1p3'"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,1,1e999\n",
		 "x:2: expected a finite number, not '1e999'"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,1,18446744073709551616\n",
		 "x:2: expected a number of at most 64 bits, not '18446744073709551616'"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,1,-9223372036854775809\n",
		 "x:2: expected a number of at most 64 bits, not '-9223372036854775809'"},
		{"ZONE_START,8000,1,1,1\n", "x:1: location 1 is not declared"},
		{"COUNTER_TRACK,1,a\nCOUNTER_VALUE,1,9223372036854775808,1\n",
		 "x:2: the time 9223372036854775808 exceeds 2^63 - 1"},
		{"ZONE_END,5,6\n", "x:1: no zone is open at pointer 5"},
		{"ZONE_NAME,5,a\n", "x:1: no zone is open at pointer 5"},
		{"ZONE_PARAM,5,a,b\n", "x:1: no zone is open at pointer 5"},
		{"ZONE_FLOW,5,6\n", "x:1: no zone is open at pointer 5"},
		{"ZONE_FLOW_T,5,6\n", "x:1: no zone is open at pointer 5"},
		{"ZONE_CATEGORY,5,a\n", "x:1: no zone is open at pointer 5"},
		{LOCATION_1 "ZONE_START,8000,1,1,1\nZONE_START,8000,1,2,1\n",
		 "x:3: a zone is already open at pointer 8000"},
		{LOCATION_1 "ZONE_START,8000,1,1,1\nZONE_START,7000,1,2,1\nZONE_END,8000,3\n",
		 "x:4: the zone at pointer 8000 is not the innermost open one of its stack"},
		{LOCATION_1 "ZONE_START,8000,1,5,1\nZONE_END,8000,4\n",
		 "x:3: the time 4 is before the last one on the zone's stack"},
		{"THREAD, 1, a\n\x1b[2J\n", "x:2: unknown command '?[2J'"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_bad(cases[i].text, cases[i].message);
}

/*
 * As the original's second sample: a thread goes on with the stack of another one, which then takes
 * something else up on it that was before.
 */
static const char two_threads_on_a_stack[] =
	"THREAD, 100, main\nTHREAD, 101, worker\nSTACK, 4096, 16384, one\n" LOCATION_1
	"ZONE_START, 16000, 100, 0, 1\nZONE_START, 15000, 100, 10, 1\n"
	"ZONE_START, 14000, 100, 13, 1\nZONE_END, 14000, 200\nZONE_END, 15000, 503\n"
	"ZONE_START, 15000, 101, 504, 1\nZONE_END, 15000, 600\n"
	"ZONE_START, 15000, 100, 210, 1\nZONE_PARAM, 15000, is, late\n"
	"ZONE_START, 14000, 100, 220, 1\nZONE_END, 14000, 230\nZONE_END, 15000, 300\n"
	"ZONE_START, 15000, 100, 310, 1\nZONE_END, 15000, 320\n"
	"ZONE_END, 16000, 601\n";

static void where_time_goes_back_zones_are_on_a_second_track(void **state _unused_)
{
	struct zones_read_result result;
	struct zones_read_result again;
	const struct zone *late;
	struct text written;

	builder_read_zones(two_threads_on_a_stack, &result);
	assert_string_equal(result.warnings.data,
			    "x:12: the time 210 is before the last one on the zone's stack: such "
			    "zones are on 'one, track 2'\n");
	assert_int_equal(timeline_count_zone(result.timeline), 7);
	late = zone_of(&result, 4);
	assert_true(late->start_ns == 210 && late->end_ns == 300);
	assert_int_equal(late->parent, TIMELINE_NONE);
	assert_int_not_equal(late->last_attribute, TIMELINE_NONE);
	assert_int_equal(zone_of(&result, 5)->parent, 4);
	assert_int_equal(zone_of(&result, 6)->region, late->region);
	/* Written, they are like any other. */
	written = builder_write(&format_zones, &result, (struct format_opts){0});
	builder_read_zones(written.data, &again);
	assert_string_equal(again.warnings.data, "");
	assert_int_equal(timeline_count_zone(again.timeline), 7);
	assert_written(written.data, written.data);
	text_release(&written);
	builder_release(&again);
	builder_release(&result);
	assert_int_equal(builder_read_strictly(&format_zones, two_threads_on_a_stack,
					       strlen(two_threads_on_a_stack), &result),
			 -EBADMSG);
	assert_string_equal(result.error.message,
			    "x:12: the time 210 is before the last one on the zone's stack");
	builder_release(&result);
}

static void a_truncated_last_line_is_a_warning(void **state _unused_)
{
	/* The last one is a record, but the program that marks its process would have ended it. */
	static const char *const texts[] = {
		"THREAD, 1, a\n" LOCATION_1 "ZONE_STA",
		"THREAD, 1, a\n" LOCATION_1 "STACK, 4096, 81",
		"THREAD, 1, a\n" LOCATION_1 "THREAD, 2, \"b",
		"#! process 1 p\n" LOCATION_1 "COUNTER_TRACK, 1, a",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct zones_read_result result;

		builder_read_zones(texts[i], &result);
		assert_string_equal(result.warnings.data,
				    "x:3: the last line is truncated, skipping\n");
		assert_int_equal(timeline_count_location(result.timeline), 1);
		assert_int_equal(timeline_count_region(result.timeline), 0);
		assert_int_equal(timeline_count_counter_track(result.timeline), 0);
		assert_string_equal(result.error.message, "");
		builder_release(&result);
		assert_int_equal(
			builder_read_strictly(&format_zones, texts[i], strlen(texts[i]), &result),
			-EBADMSG);
		builder_release(&result);
	}
	assert_bad("ZONE_STA", "x:1: unknown command 'ZONE_STA'");
	assert_bad("ZONE_STA\nTHREAD, 1, a", "x:1: unknown command 'ZONE_STA'");
}

static void leniently_duplicates_and_undeclared_counters_are_warnings(void **state _unused_)
{
	static const char text[] = "THREAD,1,a\nTHREAD,1,b\n" LOCATION_1 "LOCATION,1,B,b,b.c,2\n"
				   "COUNTER_TRACK,1,c\nCOUNTER_TRACK,1,d\nCOUNTER_VALUE,2,1,1\n"
				   "ZONE_START,8000,1,1,1\nZONE_END,8000,2\n";
	struct zones_read_result result;

	assert_int_equal(builder_read(&format_zones, text, strlen(text), true, &result), 0);
	assert_string_equal(result.warnings.data, "x:2: thread 1 is declared a second time\n"
						  "x:4: location 1 is declared a second time\n"
						  "x:6: counter track 1 is declared a second time\n"
						  "x:7: counter track 2 is not declared\n");
	assert_string_equal(string_of(&result, timeline_get_thread(result.timeline, 0)->name), "b");
	assert_string_equal(string_of(&result, zone_of(&result, 0)->name), "B");
	assert_string_equal(
		string_of(&result, timeline_get_counter_track(result.timeline, 0)->name), "d");
	builder_release(&result);
	assert_int_equal(builder_read(&format_zones, "ZONE_END,1,1", 12, true, &result), -EBADMSG);
	builder_release(&result);
}

static void sections_of_several_processes_do_not_mix(void **state _unused_)
{
	static const char text[] = "#! process 10 one\n"
				   "THREAD, 1, a\nSTACK, 4096, 8192, s\n" LOCATION_1
				   "ZONE_START, 8000, 1, 5, 1\nZONE_END, 8000, 9\n"
				   "#! process 11 two words\n"
				   "THREAD, 1, b\nSTACK, 4096, 8192, s\nLOCATION, 1, B, b, b.c, 2\n"
				   "ZONE_START, 8000, 1, 3, 1\nZONE_END, 8000, 4\n";

	assert_same_when_written(text);
}

static void a_name_with_a_line_end_stays_on_its_line(void **state _unused_)
{
	struct zones_read_result result = {.profile = profile_new(), .timeline = timeline_new()};
	struct timeline_process process = {.pid = 5};
	struct timeline_thread thread = {.tid = 1};
	struct text written;

	assert_int_equal(timeline_add_string(result.timeline, "p\n2", &process.name), 0);
	assert_int_equal(timeline_add_process(result.timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_string(result.timeline, "a\nb\r", &thread.name), 0);
	assert_int_equal(timeline_add_thread(result.timeline, &thread, NULL), 0);
	written = builder_write(&format_zones, &result, (struct format_opts){0});
	assert_string_equal(written.data, "#! process 5 p 2\nTHREAD, 1, \"a b \"\n");
	text_release(&written);
	builder_release(&result);
}

static void events_are_written_in_order_of_time(void **state _unused_)
{
	assert_written(LOCATION_1 "THREAD,1,a\nTHREAD,2,b\nCOUNTER_TRACK,1,c\n"
				  "ZONE_START,8000,1,310,1\nZONE_START,80000,2,400,1\n"
				  "ZONE_END,80000,500\nZONE_END,8000,385\n"
				  "COUNTER_VALUE,1,350,2\n",
		       "THREAD, 1, a\nTHREAD, 2, b\n" LOCATION_1 "COUNTER_TRACK, 1, c\n"
		       "ZONE_START, 8000, 1, 310, 1\nCOUNTER_VALUE, 1, 350, 2\n"
		       "ZONE_END, 8000, 385\nZONE_START, 80000, 2, 400, 1\nZONE_END, 80000, 500\n");
}

/* Sorted by time, 12000 would be within the reach of 20480, and the zones would not nest. */
static void starts_keep_their_order_so_that_regions_stay_the_same(void **state _unused_)
{
	assert_same_when_written("THREAD, 1, a\n" LOCATION_1 "ZONE_START, 12000, 1, 20, 1\n"
				 "ZONE_START, 20480, 1, 10, 1\nZONE_END, 20480, 15\n"
				 "ZONE_START, 20480, 1, 16, 1\nZONE_END, 20480, 30\n"
				 "ZONE_END, 12000, 50\n");
}

static void a_stack_holds_zones_that_stand_before_it(void **state _unused_)
{
	struct zones_read_result result;

	builder_read_zones(LOCATION_1 "ZONE_START, 0x3800, 1, 10, 1\nSTACK, 0x2000, 0x4000, s\n"
				      "ZONE_START, 0x3700, 1, 20, 1\nZONE_END, 0x3700, 30\n"
				      "ZONE_END, 0x3800, 40\n",
			   &result);
	assert_int_equal(timeline_count_region(result.timeline), 1);
	assert_int_equal(zone_of(&result, 1)->parent, 0);
	builder_release(&result);
	assert_bad("# 1\nSTACK, 1, 5, a\nSTACK, 2, 3, b\n",
		   "x:3: the stack overlaps 'a', which is at [1, 4096)");
}

static void zones_of_no_length_nest_again_when_read_back(void **state _unused_)
{
	assert_same_when_written(
		"THREAD, 1, a\n" LOCATION_1 "ZONE_START, 8000, 1, 5, 1\n"
		"ZONE_START, 7000, 1, 5, 1\nZONE_END, 7000, 5\n"
		"ZONE_START, 7000, 1, 5, 1\nZONE_END, 7000, 5\n"
		"ZONE_END, 8000, 5\nZONE_START, 8000, 1, 5, 1\nZONE_END, 8000, 5\n");
}

static void as_a_profile_a_stack_of_zones_weighs_its_own_time(void **state _unused_)
{
	struct zones_read_result result;
	struct text folded;

	builder_read_zones("THREAD,1,main\n" LOCATION_1 "LOCATION,2,B,b,b.c,2\n"
			   "ZONE_START,8000,1,0,1\nZONE_START,7000,1,10,2\nZONE_END,7000,30\n"
			   "ZONE_START,7000,1,40,2\nZONE_END,7000,45\nZONE_END,8000,100\n",
			   &result);
	folded = builder_write(&format_folded, &result, (struct format_opts){0});
	assert_string_equal(folded.data, "main;A 75\nmain;A;B 25\n");
	assert_string_equal(format_get_metric_unit(result.profile, 0), "nanoseconds");
	text_release(&folded);
	builder_release(&result);
}

static void what_was_written_before_ends_where_the_last_section_then_starts(void **state _unused_)
{
	static const char text[] = "#! process 1 a\nTHREAD, 1, a\n#! process 2 b\nTHREAD, 2, b\n"
				   "#! process 3 c\n";
	const uint8_t *data = (const uint8_t *)text;
	size_t size = strlen(text);
	size_t second = (size_t)(strstr(text, "#! process 2") - text);
	size_t third = (size_t)(strstr(text, "#! process 3") - text);

	assert_int_equal(zones_find_section(data, size, 0), 0);
	assert_int_equal(zones_find_section(data, size, second - 1), 0);
	assert_int_equal(zones_find_section(data, size, second), second);
	assert_int_equal(zones_find_section(data, size, third - 1), second);
	assert_int_equal(zones_find_section(data, size, third), third);
	assert_int_equal(zones_find_section(data, size, size), third);
	/* The file has become shorter: it is another one. */
	assert_int_equal(zones_find_section(data, size, size + 1), 0);
	assert_int_equal(zones_find_section((const uint8_t *)"THREAD, 1, a\n", 13, 13), 0);
	assert_int_equal(zones_find_section((const uint8_t *)"#", 1, 1), 0);
}

static void the_format_is_known_by_its_first_record(void **state _unused_)
{
	const char *text = "# x\n\n thread , 1, a\n";

	assert_ptr_equal(format_detect("x", (const uint8_t *)text, strlen(text)), &format_zones);
	assert_null(format_detect("x", (const uint8_t *)"THREADS,1", 9));
	assert_ptr_equal(format_detect("x.zones", (const uint8_t *)"THREADS,1", 9), &format_zones);
	assert_ptr_equal(format_detect("x.zones", NULL, 0), &format_zones);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zone_has_its_location_its_thread_and_its_times),
		cmocka_unit_test(every_attribute_of_a_zone_survives),
		cmocka_unit_test(attributes_go_to_the_zone_they_name_not_to_the_innermost),
		cmocka_unit_test(counters_are_whole_numbers_or_decimals),
		cmocka_unit_test(decimals_are_written_as_the_shortest_ones_that_are_the_same),
		cmocka_unit_test(commands_may_be_in_any_letter_case),
		cmocka_unit_test(blanks_around_fields_do_not_count),
		cmocka_unit_test(quotes_keep_commas_blanks_and_doubled_quotes),
		cmocka_unit_test(lines_end_in_any_of_three_ways),
		cmocka_unit_test(comments_blank_lines_and_a_byte_order_mark_are_skipped),
		cmocka_unit_test(an_empty_file_is_an_empty_timeline),
		cmocka_unit_test(pointers_may_be_hexadecimal),
		cmocka_unit_test(ids_may_be_any_integers),
		cmocka_unit_test(a_thread_is_unknown_until_it_is_declared),
		cmocka_unit_test(open_zones_end_at_the_last_time_with_a_warning),
		cmocka_unit_test(errors_name_the_line),
		cmocka_unit_test(where_time_goes_back_zones_are_on_a_second_track),
		cmocka_unit_test(a_truncated_last_line_is_a_warning),
		cmocka_unit_test(leniently_duplicates_and_undeclared_counters_are_warnings),
		cmocka_unit_test(sections_of_several_processes_do_not_mix),
		cmocka_unit_test(a_name_with_a_line_end_stays_on_its_line),
		cmocka_unit_test(events_are_written_in_order_of_time),
		cmocka_unit_test(starts_keep_their_order_so_that_regions_stay_the_same),
		cmocka_unit_test(a_stack_holds_zones_that_stand_before_it),
		cmocka_unit_test(zones_of_no_length_nest_again_when_read_back),
		cmocka_unit_test(as_a_profile_a_stack_of_zones_weighs_its_own_time),
		cmocka_unit_test(what_was_written_before_ends_where_the_last_section_then_starts),
		cmocka_unit_test(the_format_is_known_by_its_first_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
