/*
 * The heatmap of time and filters by time.
 */
#include "viewer/times.h"

#include <errno.h>
#include <stdio.h>

#include "formats/native.h"
#include "profile_builder.h"
#include "viewer/answers.h"
#include "viewer/extract.h"
#include "viewer/tables.h"
#include "viewer/time_grid.h"
#include "viewer_fixture.h"

/* From 10.000 s to 13.500 s; a sample without time. */
static const char script[] = "web 7 [000] 10.000: 30 cycles:\n\t2 f (x)\n\t1 main (x)\n\n"
			     "web 7 [000] 10.019: 5 cycles:\n\t2 f (x)\n\t1 main (x)\n\n"
			     "db 8 [000] 11.020: 40 cycles:\n\t3 g (x)\n\t1 main (x)\n\n"
			     "web 7 [000] 12.000: 31 cycles:\n\t2 f (x)\n\t1 main (x)\n\n"
			     "db 8 [000] 13.500: 7 cycles:\n\t2 f (x)\n\t1 main (x)\n\n"
			     "db 8 [000] 9 cycles:\n\t2 f (x)\n\t1 main (x)\n\n";
#define TOTAL 122

static uint32_t open_script(struct session *session, const char *text)
{
	struct error error = {0};
	uint32_t source;

	assert_int_equal(session_import(session,
					&(struct session_input){"perf.txt", text, strlen(text),
								"perf-script"},
					&source, &error),
			 0);
	return source;
}

static struct session *open_new(void)
{
	struct session *session = session_new();

	assert_non_null(session);
	open_script(session, script);
	return session;
}

static uint64_t get_sum(struct session *session, const char *filters)
{
	fixture_query(session, NULL, FLAME_CALLEES, filters);
	return session_get_weights(session)->sum;
}

/* ---- filters ------------------------------------------------------------------------------ */

static void range_takes_what_was_taken_from_its_start_to_before_its_end(void **state _unused_)
{
	struct session *session = open_new();

	assert_int_equal(get_sum(session, "+time:0-1"), 30);
	assert_int_equal(get_sum(session, "+time:0-19"), 30);
	assert_int_equal(get_sum(session, "+time:0-20"), 35);
	assert_int_equal(get_sum(session, "+time:1-2000"), 45);
	assert_int_equal(get_sum(session, "+time:1020-3501"), 78);
	assert_int_equal(get_sum(session, "+time:4000-9000"), 0);
	session_free(session);
}

static void inside_and_outside_are_the_whole(void **state _unused_)
{
	struct session *session = open_new();

	for (unsigned int from = 0; from < 3600; from += 310) {
		for (unsigned int to = from + 1; to < 3600; to += 270) {
			char inside[64];
			char outside[64];

			snprintf(inside, sizeof(inside), "+time:%u-%u", from, to);
			snprintf(outside, sizeof(outside), "-time:%u-%u", from, to);
			assert_int_equal(get_sum(session, inside) + get_sum(session, outside),
					 TOTAL);
		}
	}
	session_free(session);
}

static void several_ranges_and_other_filters_must_all_hold(void **state _unused_)
{
	struct session *session = open_new();

	assert_int_equal(get_sum(session, "+time:0-3000\n-time:1000-2000"), 66);
	assert_int_equal(get_sum(session, "+time:0-2000\n+time:10-9000"), 45);
	assert_int_equal(get_sum(session, "-time:0-1\n-time:2000-2001"), 61);
	assert_int_equal(get_sum(session, "+thread:db\n+time:0-2000"), 40);
	assert_int_equal(get_sum(session, "-function:f\n-time:0-2000"), 0);
	assert_int_equal(get_sum(session, NULL), TOTAL);
	session_free(session);
}

static void all_views_follow(void **state _unused_)
{
	struct session *session = open_new();
	_cleanup_free_ struct table_row *rows = NULL;
	struct profile *extracted;
	size_t count;
	char *list;

	fixture_query(session, "main", FLAME_CALLEES, "+time:0-2000");
	list = fixture_list(session, FLAME_CALLEES);
	assert_string_equal(list, "f 35,g 40");
	free(list);
	assert_int_equal(table_of_threads(session_get_graph(session),
					  session_get_weights_opts(session), &rows, &count),
			 0);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].total, 35);
	assert_int_equal(rows[1].total, 40);
	assert_int_equal(extract_view(session, &extracted), 0);
	assert_int_equal(profile_count_samples(extracted), 2);
	assert_int_equal(profile_get_sample(extracted, 0)->value, 35);
	assert_int_equal(profile_get_sample(extracted, 1)->value, 40);
	profile_free(extracted);
	session_free(session);
}

static void range_that_is_none_is_refused(void **state _unused_)
{
	static const char *const filters[] = {"+time:5",   "+time:-5",  "+time:5-",  "-time:5-5",
					      "+time:6-5", "+time:a-b", "+time:1-2x"};
	struct session *session = open_new();

	for (size_t i = 0; i < ARRAY_LENGTH(filters); i++) {
		struct error error = {0};
		uint64_t *values;

		assert_int_equal(
			times_apply(session_get_profile(session), filters[i], &values, &error),
			-EINVAL);
		assert_non_null(strstr(error.message, filters[i]));
	}
	session_free(session);
}

static void times_count_from_the_first_sample_of_each_file(void **state _unused_)
{
	struct session *session = open_new();

	open_script(session, "web 7 [000] 900.500: 1000 cycles:\n\t2 f (x)\n\n"
			     "web 7 [000] 901.500: 2000 cycles:\n\t2 f (x)\n\n");
	assert_int_equal(get_sum(session, "+time:0-10"), 1030);
	assert_int_equal(get_sum(session, "+time:1000-1010"), 2000);
	session_free(session);
}

static int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* Open a copy of a profile, which it frees. */
static void open_copy(struct session *session, struct profile *profile)
{
	struct profile *copy = profile_new();
	struct text packed = {0};
	struct sink sink = {.write = append, .context = &packed};
	struct error error = {0};
	uint32_t source;

	assert_int_equal(profile_keep_timestamps(copy), 0);
	assert_int_equal(profile_merge(copy, profile), 0);
	assert_int_equal(native_write(copy, &(struct native_opts){.has_times = true}, &sink), 0);
	assert_int_equal(
		session_import(session,
			       &(struct session_input){"page", packed.data, packed.length, NULL},
			       &source, &error),
		0);
	text_release(&packed);
	profile_free(copy);
	profile_free(profile);
}

/* A moment of weight 5 at 1 s, and an interval of weight 300 from there to 4 s. */
static void open_interval(struct session *session)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 7, "f");
	uint32_t stack = builder_add_stack(profile, "f");
	uint32_t metric;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, "f", "f", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 305), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, stack, metric, 5, 1000000000), 0);
	assert_int_equal(
		profile_add_interval(profile, thread, stack, metric, 300, 1000000000, 4000000000),
		0);
	open_copy(session, profile);
}

/* Durations of 0 at the end of their column are left out. */
static void moments_behind_intervals_are_read(void **state _unused_)
{
	struct session *session = session_new();
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 7, 7, "f");
	uint32_t outer = builder_add_stack(profile, "f");
	uint32_t inner = builder_add_stack(profile, "f;g");
	uint32_t metric;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, "f", "f", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, outer, metric, 300), 0);
	assert_int_equal(
		profile_add_interval(profile, thread, outer, metric, 300, 1000000000, 4000000000),
		0);
	assert_int_equal(profile_add_sample(profile, thread, inner, metric, 9), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, inner, metric, 4, 1500000000), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, inner, metric, 5, 2500000000), 0);
	open_copy(session, profile);
	assert_int_equal(get_sum(session, "+time:0-1000"), 104);
	assert_int_equal(get_sum(session, "+time:1000-9000"), 205);
	session_free(session);
}

static void a_range_takes_the_part_of_an_interval_that_is_inside(void **state _unused_)
{
	struct session *session = session_new();

	open_interval(session);
	assert_int_equal(get_sum(session, "+time:0-1000"), 105);
	assert_int_equal(get_sum(session, "+time:1000-2000"), 100);
	assert_int_equal(get_sum(session, "+time:1500-9000"), 150);
	assert_int_equal(get_sum(session, "+time:3000-9000"), 0);
	assert_int_equal(get_sum(session, "-time:1000-2000"), 205);
	assert_int_equal(get_sum(session, "-time:0-1"), 300);
	/* Ranges that overlap, touch and contain each other. */
	assert_int_equal(get_sum(session, "-time:500-1000\n-time:700-2000\n-time:2000-2100"), 145);
	assert_int_equal(get_sum(session, "+time:0-2000\n+time:1000-9000\n-time:1200-1300"), 90);
	assert_int_equal(get_sum(session, "+time:0-1000\n+time:2000-3000"), 0);
	session_free(session);
}

/* ---- the grid ----------------------------------------------------------------------------- */

static uint64_t sum_cells(const struct time_grid *grid, uint64_t from_ms, uint64_t to_ms)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < (size_t)grid->num_columns * TIME_GRID_ROWS; i++)
		if (i * grid->row_ms >= from_ms && i * grid->row_ms < to_ms)
			sum += grid->cells[i];
	return sum;
}

static struct time_grid make_grid(struct session *session, const char *fragment,
				  const char *filters, uint32_t max_columns)
{
	struct time_grid grid;

	fixture_query(session, fragment, FLAME_CALLEES, filters);
	assert_int_equal(time_grid_init(&grid, session, max_columns), 0);
	return grid;
}

static void columns_are_seconds_and_rows_20_milliseconds(void **state _unused_)
{
	struct session *session = open_new();
	struct time_grid grid = make_grid(session, NULL, NULL, 600);

	assert_int_equal(grid.row_ms, 20);
	assert_int_equal(grid.num_columns, 4);
	assert_int_equal(grid.span_ms, 3501);
	assert_int_equal(grid.cells[0], 35);
	assert_int_equal(grid.cells[TIME_GRID_ROWS + 1], 40);
	assert_int_equal(grid.cells[2 * TIME_GRID_ROWS], 31);
	assert_int_equal(grid.cells[3 * TIME_GRID_ROWS + 25], 7);
	assert_int_equal(grid.timeless, 9);
	time_grid_release(&grid);
	session_free(session);
}

static void cells_and_what_has_no_time_are_the_whole(void **state _unused_)
{
	static const struct {
		const char *fragment;
		const char *filters;
		uint64_t total;
	} cases[] = {
		{NULL, NULL, TOTAL},
		{"main;f", NULL, 82},
		{"g", NULL, 40},
		{NULL, "+thread:db", 56},
		{"f", "-thread:db", 66},
		{NULL, "+time:0-1", TOTAL}, /* a range is shown within the whole */
	};
	struct session *session = open_new();

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct time_grid grid =
			make_grid(session, cases[i].fragment, cases[i].filters, 600);

		assert_int_equal(sum_cells(&grid, 0, UINT64_MAX) + grid.timeless, cases[i].total);
		time_grid_release(&grid);
	}
	session_free(session);
}

static void cells_of_a_range_are_what_the_filter_takes(void **state _unused_)
{
	struct session *session = open_new();
	struct time_grid grid = make_grid(session, NULL, NULL, 600);

	for (unsigned int from = 0; from < 3600; from += 20) {
		char filter[64];

		snprintf(filter, sizeof(filter), "+time:%u-%u", from, from + 1000);
		assert_int_equal(get_sum(session, filter), sum_cells(&grid, from, from + 1000));
	}
	time_grid_release(&grid);
	session_free(session);
}

static void long_recordings_get_columns_of_more_seconds(void **state _unused_)
{
	struct session *session = open_new();
	struct time_grid grid = make_grid(session, NULL, NULL, 3);

	assert_int_equal(grid.row_ms, 100);
	assert_int_equal(grid.num_columns, 1);
	assert_int_equal(sum_cells(&grid, 0, UINT64_MAX), TOTAL - 9);
	time_grid_release(&grid);
	session_free(session);
}

static void absurd_times_still_fit(void **state _unused_)
{
	struct session *session = session_new();
	struct time_grid grid;

	open_script(session, "a 7 [000] 0.0: 1 c:\n\t2 f (x)\n\n"
			     "a 7 [000] 18446744073.7: 2 c:\n\t2 f (x)\n\n");
	grid = make_grid(session, NULL, NULL, 1);
	assert_int_equal(grid.num_columns, 1);
	assert_int_equal(sum_cells(&grid, 0, UINT64_MAX), 3);
	time_grid_release(&grid);
	grid = make_grid(session, NULL, NULL, 600);
	assert_true(grid.num_columns <= 600);
	assert_int_equal(sum_cells(&grid, 0, UINT64_MAX), 3);
	time_grid_release(&grid);
	session_free(session);
}

static void what_is_not_shown_has_no_part_in_it(void **state _unused_)
{
	struct session *session = open_new();
	uint32_t second = open_script(session, "web 7 [000] 900.5: 1000 cycles:\n\t2 f (x)\n\n"
					       "web 7 [000] 990.5: 2000 cycles:\n\t2 f (x)\n\n");
	struct time_grid grid = make_grid(session, NULL, NULL, 600);

	assert_int_equal(grid.num_columns, 91);
	time_grid_release(&grid);
	session_get_source(session, second)->side = SIDE_OFF;
	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.num_columns, 4);
	assert_int_equal(sum_cells(&grid, 0, UINT64_MAX), TOTAL - 9);
	time_grid_release(&grid);
	session_get_source(session, 0)->is_gone = true;
	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.num_columns, 0);
	time_grid_release(&grid);
	session_free(session);
}

static void only_files_with_times_say_so(void **state _unused_)
{
	struct session *session = open_new();
	struct text text = {0};

	fixture_open(session, "b.folded", "a;b 4\n");
	answer_overview(session, &text);
	assert_non_null(strstr(text.data, "\"hasTimes\":true},{\"name\":\"b.folded\""));
	assert_non_null(strstr(text.data, "\"hasTimes\":false}]"));
	text_release(&text);
	session_free(session);
}

static void an_interval_has_a_part_in_each_of_its_cells(void **state _unused_)
{
	struct session *session = session_new();
	struct time_grid grid;

	open_interval(session);
	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.num_columns, 4);
	assert_int_equal(grid.span_ms, 3001);
	assert_int_equal(grid.cells[0], 7);
	for (size_t i = 1; i < 150; i++)
		assert_int_equal(grid.cells[i], 2);
	assert_int_equal(grid.cells[150], 0);
	assert_int_equal(grid.timeless, 0);
	time_grid_release(&grid);
	session_free(session);
}

/* Open a file of ours that knows the calendar: samples of weight 2 at its start, 4 after 1.99 s. */
static uint32_t open_packed(struct session *session)
{
	struct profile *profile = profile_new();
	struct text packed = {0};
	struct sink sink = {.write = append, .context = &packed};
	struct error error = {0};
	uint32_t thread = builder_add_thread(profile, 7, 7, "f");
	uint32_t stack = builder_add_stack(profile, "f");
	uint32_t metric;
	uint32_t source;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_metric(profile, "f", "f", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 6), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, stack, metric, 2, 5000000), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, stack, metric, 4, 1995000000), 0);
	assert_int_equal(profile_set_clock(profile, 0, 1699999999995000000), 0);
	assert_int_equal(native_write(profile, &(struct native_opts){.has_times = true}, &sink), 0);
	assert_int_equal(
		session_import(session,
			       &(struct session_input){"page", packed.data, packed.length, NULL},
			       &source, &error),
		0);
	text_release(&packed);
	profile_free(profile);
	return source;
}

static void packed_session_has_its_times_again(void **state _unused_)
{
	struct session *session = session_new();
	struct time_grid grid;

	open_packed(session);
	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.num_columns, 2);
	assert_int_equal(grid.start_ms, 1700000000000);
	assert_int_equal(grid.cells[TIME_GRID_ROWS + 49], 4);
	time_grid_release(&grid);
	assert_int_equal(get_sum(session, "+time:0-1990"), 2);
	session_free(session);
}

static void only_a_file_that_is_shown_alone_has_a_date(void **state _unused_)
{
	struct session *session = session_new();
	struct time_grid grid;
	uint32_t first = open_packed(session);
	uint32_t second = open_script(session, script);

	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.start_ms, 0);
	assert_int_equal(grid.span_ms, 3501);
	time_grid_release(&grid);
	session_get_source(session, second)->side = SIDE_OFF;
	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.start_ms, 1700000000000);
	time_grid_release(&grid);
	/* The other one knows no calendar. */
	session_get_source(session, first)->side = SIDE_OFF;
	session_get_source(session, second)->side = SIDE_SHOWN;
	grid = make_grid(session, NULL, NULL, 600);
	assert_int_equal(grid.start_ms, 0);
	time_grid_release(&grid);
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range_takes_what_was_taken_from_its_start_to_before_its_end),
		cmocka_unit_test(inside_and_outside_are_the_whole),
		cmocka_unit_test(several_ranges_and_other_filters_must_all_hold),
		cmocka_unit_test(all_views_follow),
		cmocka_unit_test(range_that_is_none_is_refused),
		cmocka_unit_test(times_count_from_the_first_sample_of_each_file),
		cmocka_unit_test(a_range_takes_the_part_of_an_interval_that_is_inside),
		cmocka_unit_test(moments_behind_intervals_are_read),
		cmocka_unit_test(an_interval_has_a_part_in_each_of_its_cells),
		cmocka_unit_test(columns_are_seconds_and_rows_20_milliseconds),
		cmocka_unit_test(cells_and_what_has_no_time_are_the_whole),
		cmocka_unit_test(cells_of_a_range_are_what_the_filter_takes),
		cmocka_unit_test(long_recordings_get_columns_of_more_seconds),
		cmocka_unit_test(absurd_times_still_fit),
		cmocka_unit_test(what_is_not_shown_has_no_part_in_it),
		cmocka_unit_test(only_files_with_times_say_so),
		cmocka_unit_test(packed_session_has_its_times_again),
		cmocka_unit_test(only_a_file_that_is_shown_alone_has_a_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
