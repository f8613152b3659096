#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "base/table_format.h"
#include "cli/report/history_row.h"
#include "profile_builder.h"

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t a = builder_add_thread(profile, 1, 1, "nginx");
	uint32_t b = builder_add_thread(profile, 2, 2, "nginx");
	uint32_t c = builder_add_thread(profile, 3, 3, "postgres");
	struct sampling sampling = {.duration_ns = 2000000000,
				    .period_ns = 10000000,
				    .complete_stacks = 3,
				    .truncated_stacks = 1};

	builder_add_sample(profile, a, "main;serve", 40);
	builder_add_sample(profile, b, "main;serve;read_[k]", 30);
	builder_add_sample(profile, c, "main;scan", 50);
	profile_add_sampling(profile, &sampling);
	return profile;
}

static void a_row_sums_a_capture_up(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct history_row row;

	assert_int_equal(history_row_init(&row, "a.pb.gz", 5, profile), 0);
	assert_int_equal(row.samples, 120);
	assert_string_equal(row.process, "nginx"); /* both processes together */
	assert_int_equal(row.process_weight, 70);
	assert_string_equal(row.function, "scan");
	assert_int_equal(row.function_weight, 50);
	assert_true(row.load > 0.599 && row.load < 0.601); /* 1.2 s of CPU in 2 s */
	assert_true(row.complete > 0.749 && row.complete < 0.751);
	history_row_release(&row);
	profile_free(profile);
}

/* A part that is shown as all would hide the rest. */
static void only_all_stacks_are_shown_as_all(void **state _unused_)
{
	static const struct {
		double complete;
		const char *text;
	} cases[] = {{1, "\"complete\": 1.0000"},
		     {0.99999, "\"complete\": 0.9999"},
		     {0.5, "\"complete\": 0.5000"},
		     {0, "\"complete\": 0.0000"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char file[] = "a";
		struct history_row row = {.file = file,
					  .samples = 1,
					  .weight = 1,
					  .load = -1,
					  .complete = cases[i].complete};
		struct text text = {0};

		history_row_print_json(&row, &text);
		assert_non_null(strstr(text.data, cases[i].text));
		text_release(&text);
	}
}

/* What weighs otherwise than 1, as bytes do: there are as many samples as the account says. */
static void samples_of_an_event_are_those_of_the_account(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct history_row row;
	struct text text = {0};
	uint32_t thread = builder_add_thread(profile, 1, 1, "dd");

	builder_add_sample(profile, thread, "main;read", 3000);
	assert_int_equal(profile_rename_metric(profile, 0, "page-faults", "count"), 0);
	assert_int_equal(profile_add_tally(profile, 0, "samples", 7), 0);
	assert_int_equal(history_row_init(&row, "a.pb.gz", 5, profile), 0);
	assert_int_equal(row.samples, 7);
	assert_int_equal(row.weight, 3000);
	assert_true(row.load < 0);
	history_row_print(&row, &text, 0);
	assert_non_null(strstr(text.data, "100% dd"));
	text_truncate(&text, 0);
	history_row_print_json(&row, &text);
	assert_non_null(strstr(text.data, "\"samples\": 7, \"lost\": 0, \"weight\": 3000"));
	assert_non_null(strstr(text.data, "{\"name\": \"dd\", \"weight\": 3000}"));
	text_release(&text);
	history_row_release(&row);
	profile_free(profile);
}

static void what_is_not_known_is_not_claimed(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct text text = {0};
	struct history_row row;

	assert_int_equal(history_row_init(&row, "empty", 0, profile), 0);
	history_row_print(&row, &text, 0);
	assert_non_null(strstr(text.data, " - "));
	assert_null(strchr(text.data, '%'));
	text_truncate(&text, 0);
	history_row_print_json(&row, &text);
	assert_null(strstr(text.data, "load"));
	assert_null(strstr(text.data, "process"));
	text_release(&text);
	history_row_release(&row);
	profile_free(profile);
}

/* Columns of the longer of both lines. */
static size_t measure_table(const struct history_row *row, size_t num_columns)
{
	struct text text = {0};
	const char *newline;
	size_t heading, line;

	history_print_heading(&text, num_columns);
	history_row_print(row, &text, num_columns);
	newline = strchr(text.data, '\n');
	assert_non_null(newline);
	heading = (size_t)(newline - text.data);
	line = table_get_name_width(newline + 1, strlen(newline + 1) - 1);
	text_release(&text);
	return heading > line ? heading : line;
}

static void a_table_is_as_wide_as_the_terminal(void **state _unused_)
{
	static const char name[] = "a_name_of_more_than_twenty-eight_characters";
	struct profile *profile = profile_new();
	struct history_row row;

	builder_add_sample(profile, builder_add_thread(profile, 1, 1, name), name, 5);
	assert_int_equal(history_row_init(&row, "a.pb.gz", 5, profile), 0);
	assert_int_equal(measure_table(&row, 0), 131);
	for (size_t columns = 77; columns < 200; columns++)
		assert_in_range(measure_table(&row, columns), columns < 131 ? columns - 2 : 131,
				columns < 131 ? columns : 131);
	history_row_release(&row);
	profile_free(profile);
}

/* 02:30 comes twice on 2026-10-25 in Berlin. */
static void an_hour_that_comes_twice_has_two_offsets(void **state _unused_)
{
	struct history_row row;
	struct text text = {0};

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(history_row_init_damaged(&row, "a", 1792888200), 0);
	history_row_print(&row, &text, 0);
	row.time_s += 3600;
	history_row_print(&row, &text, 0);
	assert_string_equal(text.data, "2026-10-25 02:30:00 +0200  damaged\n"
				       "2026-10-25 02:30:00 +0100  damaged\n");
	text_release(&text);
	history_row_release(&row);
}

static void json_is_json_whatever_the_names_are(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct text text = {0};
	enum json_token token;
	struct history_row row;
	struct json json;

	builder_add_sample(profile, builder_add_thread(profile, 1, 1, "a\"\\\n\xff"), "f\"", 1);
	assert_int_equal(history_row_init(&row, "dir\"/x", 1795262400, profile), 0);
	history_row_print_json(&row, &text);
	assert_non_null(strstr(text.data, "\"time\": \"2026-11-21T12:00:00Z\""));
	json = json_of(text.data, text.length);
	while ((token = json_next(&json)) != JSON_END)
		assert_int_not_equal(token, JSON_FAILED);
	json_release(&json);
	text_release(&text);
	history_row_release(&row);
	profile_free(profile);
}

static void long_names_are_truncated_between_characters(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct text text = {0};
	struct history_row row;

	/* 29 characters, the last of which have two bytes. */
	builder_add_sample(profile, builder_add_thread(profile, 1, 1, "t"),
			   "aaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 1);
	assert_int_equal(history_row_init(&row, "x", 0, profile), 0);
	history_row_print(&row, &text, 0);
	assert_non_null(strstr(text.data, "aaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9\xc3\xa9…\n"));
	text_release(&text);
	history_row_release(&row);
	profile_free(profile);
}

static void the_sparkline_has_a_bar_where_a_capture_is(void **state _unused_)
{
	struct history_row rows[3] = {
		{.time_s = 0, .load = 1}, {.time_s = 50, .load = 4}, {.time_s = 99, .load = 0}};
	struct text text = {0};

	history_print_sparkline(rows, 3, 10, &text);
	assert_string_equal(text.data, "▃    █   ▁\n");
	text_release(&text);
}

static void without_load_there_is_no_sparkline(void **state _unused_)
{
	struct history_row row = {.load = -1};
	struct text text = {0};

	history_print_sparkline(&row, 1, 10, &text);
	history_print_sparkline(&row, 0, 10, &text);
	assert_int_equal(text.length, 0);
	text_release(&text);
}

static struct text to_text(const struct history_row *row)
{
	struct text text = {0};

	assert_true(history_row_append_text(row, &text));
	assert_null(strchr(text.data, '\n'));
	return text;
}

/* Both outputs. */
static struct text print(const struct history_row *row)
{
	struct text text = {0};

	history_row_print(row, &text, 0);
	history_row_print_json(row, &text);
	return text;
}

static void assert_text_gives_row(const struct history_row *row)
{
	struct text text = to_text(row);
	struct text expected = print(row);
	struct history_row again;
	struct text printed;

	assert_int_equal(history_row_init_text(&again, row->file, row->time_s, text.data), 0);
	printed = print(&again);
	assert_string_equal(printed.data, expected.data);
	assert_true(again.load == row->load && again.complete == row->complete);
	history_row_release(&again);
	text_release(&printed);
	text_release(&expected);
	text_release(&text);
}

static void a_row_becomes_text_and_a_row_again(void **state _unused_)
{
	struct profile *profile = make_profile();
	struct history_row row;

	assert_int_equal(history_row_init(&row, "a.pb.gz", 1795262400, profile), 0);
	row.load = 1.0 / 3;
	row.lost = UINT64_MAX;
	assert_text_gives_row(&row);
	history_row_release(&row);
	profile_free(profile);
	/* Nothing is known. */
	profile = profile_new();
	assert_int_equal(history_row_init(&row, "a.pb.gz", 1795262400, profile), 0);
	assert_text_gives_row(&row);
	history_row_release(&row);
	profile_free(profile);
}

static void no_name_breaks_the_text(void **state _unused_)
{
	char name[] = "]\"\\\n\x1b\x7f,\xc3\xa9\xef\xbf\xbd";
	char null[] = "\t null";
	char none[] = "";
	char broken[] = "not UTF-8: \xff";
	struct history_row row = {
		.file = none, .samples = 1, .process = name, .function = null, .module = none};
	struct text text = {0};

	assert_text_gives_row(&row);
	row.module = broken;
	assert_false(history_row_append_text(&row, &text));
	row.module = none;
	row.is_damaged = true;
	assert_false(history_row_append_text(&row, &text));
	text_release(&text);
}

static void what_is_no_text_of_a_row_is_refused(void **state _unused_)
{
	static const char *const texts[] = {
		"",
		"null",
		"{}",
		"[]",
		"[1,2,9,3,4,5,\"p\",6,\"f\",\"m\"]",
		"[1,2,3,4,5,\"p\",6,\"f\",\"m\",7]", /* an older version's: without the weight */
		"[1,2,9,3,4,5,\"p\",6,\"f\",\"m\",7,8]",
		"[1,2,9,3,4,5,\"p\",6,\"f\",\"m\",7]]",
		"[1,2,9,3,4,5,\"p\",6,\"f\",\"m\",7",
		"[-1,2,9,3,4,5,\"p\",6,\"f\",\"m\",7]",
		"[1,2,9,3,1e999,5,\"p\",6,\"f\",\"m\",7]",
		"[1,2,9,3,4,5,\"p\\u0000\",6,\"f\",\"m\",7]",
		"[1,2,9,3,4,5,\"p\",6,\"f\",null,7]",
		"[1,2,9,3,4,5,\"p\",6,null,\"m\",7]",
		"[1,2,9,3,4,5,6,6,\"f\",\"m\",7]",
		"[\"1\",2,9,3,4,5,\"p\",6,\"f\",\"m\",7]",
		"[18446744073709551616,2,9,3,4,5,\"p\",6,\"f\",\"m\",7]",
	};
	struct history_row row;

	assert_int_equal(history_row_init_text(&row, "a", 0, "[1,2,9,3,4,5,\"p\",6,\"f\",\"m\",7]"),
			 0);
	history_row_release(&row);
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		if (history_row_init_text(&row, "a", 0, texts[i]) != -EINVAL)
			fail_msg("'%s' is taken for a row", texts[i]);
		history_row_release(&row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_sums_a_capture_up),
		cmocka_unit_test(samples_of_an_event_are_those_of_the_account),
		cmocka_unit_test(only_all_stacks_are_shown_as_all),
		cmocka_unit_test(what_is_not_known_is_not_claimed),
		cmocka_unit_test(a_table_is_as_wide_as_the_terminal),
		cmocka_unit_test(an_hour_that_comes_twice_has_two_offsets),
		cmocka_unit_test(json_is_json_whatever_the_names_are),
		cmocka_unit_test(long_names_are_truncated_between_characters),
		cmocka_unit_test(the_sparkline_has_a_bar_where_a_capture_is),
		cmocka_unit_test(without_load_there_is_no_sparkline),
		cmocka_unit_test(a_row_becomes_text_and_a_row_again),
		cmocka_unit_test(no_name_breaks_the_text),
		cmocka_unit_test(what_is_no_text_of_a_row_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
