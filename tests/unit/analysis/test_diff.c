#include "analysis/diff.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diff_parts.h"
#include "profile_builder.h"

#define NUM_STACKS 80
#define NUM_PAIRS  200

/* A comparison that is filled stack by stack. */
struct pair {
	struct profile *profile;
	struct diff_opts opts;
};

static struct pair make_pair(void)
{
	struct pair pair = {.profile = profile_new()};

	builder_add_thread(pair.profile, 0, 0, "");
	assert_int_equal(
		profile_add_metric(pair.profile, METRIC_BEFORE, "count", &pair.opts.before.metric),
		0);
	assert_int_equal(
		profile_add_metric(pair.profile, METRIC_AFTER, "count", &pair.opts.after.metric),
		0);
	return pair;
}

static void add_stack(struct pair *pair, const char *folded, uint64_t before, uint64_t after)
{
	uint32_t stack = builder_add_stack(pair->profile, folded);

	assert_int_equal(
		profile_add_sample(pair->profile, 0, stack, pair->opts.before.metric, before), 0);
	assert_int_equal(
		profile_add_sample(pair->profile, 0, stack, pair->opts.after.metric, after), 0);
}

static void compare(const struct pair *pair, struct frame_tree *tree, struct diff_table *table)
{
	assert_int_equal(frame_tree_init(tree, pair->profile), 0);
	assert_int_equal(diff_table_init(table, tree, &pair->opts), 0);
}

static void release(struct pair *pair, struct frame_tree *tree, struct diff_table *table)
{
	diff_table_release(table);
	frame_tree_release(tree);
	profile_free(pair->profile);
}

static const struct diff_row *find_row(const struct diff_table *table, const char *function)
{
	for (size_t i = 0; i < table->num_rows; i++)
		if (string_equals(table->rows[i].function, function))
			return &table->rows[i];
	fail_msg("there is no row '%s'", function);
	return NULL;
}

static void shares_of_both_sides_are_compared(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "main;a", 50, 400);
	add_stack(&pair, "main;b", 50, 600);
	compare(&pair, &tree, &table);
	assert_int_equal(table.before_sum, 100);
	assert_int_equal(table.after_sum, 1000);
	assert_int_equal(find_row(&table, "a")->self.before, 50);
	assert_int_equal(find_row(&table, "a")->self.after, 400);
	assert_float_equal((float)find_row(&table, "a")->self.change, -0.1f, 1e-6f);
	assert_float_equal((float)find_row(&table, "main")->total.change, 0, 1e-6f);
	release(&pair, &tree, &table);
}

static void a_function_of_one_side_only_has_0_on_the_other(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "main;old", 500, 0);
	add_stack(&pair, "main;new", 0, 500);
	compare(&pair, &tree, &table);
	assert_int_equal(find_row(&table, "old")->self.after, 0);
	assert_float_equal((float)find_row(&table, "new")->self.change, 1, 1e-6f);
	assert_false(find_row(&table, "old")->is_noise);
	release(&pair, &tree, &table);
}

static void what_really_changed_comes_first_then_its_callers_then_noise(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "main;caller;slower", 1000, 2000);
	add_stack(&pair, "main;other", 9000, 8000);
	add_stack(&pair, "main;rare", 3, 5);
	compare(&pair, &tree, &table);
	assert_string_equal(table.rows[0].function, "other");
	assert_string_equal(table.rows[1].function, "slower");
	assert_string_equal(table.rows[2].function, "caller");
	assert_true(table.rows[2].self.is_noise);
	assert_false(table.rows[2].is_noise);
	assert_true(find_row(&table, "rare")->is_noise);
	assert_true(find_row(&table, "main")->is_noise);
	release(&pair, &tree, &table);
}

static void the_number_of_samples_decides_where_weights_are_none(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "main;a", 500000000, 600000000);
	add_stack(&pair, "main;b", 500000000, 400000000);
	pair.opts.before.num_samples = 20;
	pair.opts.after.num_samples = 20;
	compare(&pair, &tree, &table);
	assert_true(find_row(&table, "a")->is_noise);
	diff_table_release(&table);
	pair.opts.before.num_samples = 2000;
	pair.opts.after.num_samples = 2000;
	assert_int_equal(diff_table_init(&table, &tree, &pair.opts), 0);
	assert_false(find_row(&table, "a")->is_noise);
	release(&pair, &tree, &table);
}

static void nothing_is_said_where_the_number_of_samples_cannot_be_known(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "main;a", 500000000, 900000000);
	add_stack(&pair, "main;b", 500000000, 100000000);
	pair.opts.is_doubtful = true;
	compare(&pair, &tree, &table);
	assert_true(find_row(&table, "a")->is_noise);
	assert_float_equal((float)find_row(&table, "a")->self.change, 0.4f, 1e-6f);
	assert_float_equal((float)find_row(&table, "a")->self.low, -1, 1e-6f);
	assert_float_equal((float)find_row(&table, "a")->self.high, 1, 1e-6f);
	release(&pair, &tree, &table);
}

static void an_empty_side_shows_nothing(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "main;a", 0, 600);
	compare(&pair, &tree, &table);
	assert_true(find_row(&table, "a")->is_noise);
	assert_float_equal((float)find_row(&table, "a")->self.before_share, 0, 1e-6f);
	release(&pair, &tree, &table);
}

static uint32_t add_jitted(struct pair *pair, const char *module)
{
	struct frame frame = {.kind = FRAME_JIT};
	uint32_t location;
	uint32_t stack;

	assert_int_equal(profile_add_string(pair->profile, "jitted", &frame.name), 0);
	assert_int_equal(profile_add_string(pair->profile, module, &frame.module), 0);
	assert_int_equal(profile_add_frame_location(pair->profile, &frame, &location), 0);
	assert_int_equal(profile_add_stack(pair->profile, STACK_EMPTY, location, &stack), 0);
	return stack;
}

static void code_made_at_run_time_is_the_same_under_every_pid(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	assert_int_equal(profile_add_sample(pair.profile, 0, add_jitted(&pair, "perf-12.map"),
					    pair.opts.before.metric, 5),
			 0);
	assert_int_equal(profile_add_sample(pair.profile, 0, add_jitted(&pair, "perf-345.map"),
					    pair.opts.after.metric, 7),
			 0);
	assert_int_equal(profile_add_sample(pair.profile, 0, add_jitted(&pair, "perf-x.map"),
					    pair.opts.after.metric, 1),
			 0);
	compare(&pair, &tree, &table);
	assert_int_equal(table.num_rows, 2);
	assert_int_equal(find_row(&table, "jitted")->self.before, 5);
	assert_int_equal(find_row(&table, "jitted")->self.after, 7);
	release(&pair, &tree, &table);
}

static void a_side_beyond_64_bits_is_an_error(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	add_stack(&pair, "a", UINT64_MAX, 1);
	add_stack(&pair, "b", 1, 1);
	assert_int_equal(frame_tree_init(&tree, pair.profile), 0);
	assert_int_equal(diff_table_init(&table, &tree, &pair.opts), -EOVERFLOW);
	release(&pair, &tree, &table);
}

#define NUM_RUNS 5
#define MS       1000000ull

/* A comparison of several runs a side, each of a source of its own; source 0 has nothing. */
struct runs_pair {
	struct pair pair;
	struct diff_run runs[2][NUM_RUNS];
};

static void make_runs_pair(struct runs_pair *runs, size_t num_before, size_t num_after)
{
	struct profile *profile;
	uint32_t source;

	runs->pair = make_pair();
	profile = runs->pair.profile;
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
	for (size_t i = 0; i < num_before + num_after; i++) {
		bool is_after = i >= num_before;

		assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
		runs->runs[is_after][is_after ? i - num_before : i] =
			(struct diff_run){source, source + 1};
	}
	runs->pair.opts.before.runs = (struct diff_runs){runs->runs[0], num_before, false};
	runs->pair.opts.after.runs = (struct diff_runs){runs->runs[1], num_after, false};
}

static void add_to_source(struct pair *pair, uint32_t source, uint32_t metric, const char *folded,
			  uint64_t weight)
{
	struct thread thread = {.source = source};
	uint32_t id;

	assert_int_equal(profile_add_thread(pair->profile, &thread, &id), 0);
	assert_int_equal(profile_add_sample(pair->profile, id,
					    builder_add_stack(pair->profile, folded), metric,
					    weight),
			 0);
}

/* shares  of main;hot in a run, in 1 of 100 */
static void add_runs(struct runs_pair *runs, bool is_after, const double *shares, size_t count,
		     uint64_t weight)
{
	uint32_t metric = is_after ? runs->pair.opts.after.metric : runs->pair.opts.before.metric;

	for (size_t i = 0; i < count; i++) {
		uint32_t source = runs->runs[is_after][i].first_source;
		uint64_t hot = (uint64_t)(shares[i] * (double)weight / 100);

		add_to_source(&runs->pair, source, metric, "main;hot", hot);
		add_to_source(&runs->pair, source, metric, "main;cold", weight - hot);
	}
}

/* A filter by time leaves 10 of the 40 of each sample. */
static void parts_of_samples_are_parts_of_runs(void **state _unused_)
{
	static const double shares[] = {10, 20};
	struct runs_pair runs;
	struct diff_side_opts *side = &runs.pair.opts.before;
	struct diff_parts parts;
	uint64_t kept[4];
	uint64_t values[4];

	make_runs_pair(&runs, 2, 0);
	add_runs(&runs, false, shares, 2, 400);
	assert_int_equal(profile_count_samples(runs.pair.profile), 4);
	for (uint32_t i = 0; i < 4; i++)
		kept[i] = profile_get_sample(runs.pair.profile, i)->value / 4;
	side->values = kept;
	assert_int_equal(diff_parts_init(&parts, runs.pair.profile, side), 0);
	assert_int_equal(parts.num_parts, 2);
	for (size_t part = 0; part < 2; part++) {
		diff_parts_get_values(&parts, part, values);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(values[i], i / 2 == part ? kept[i] : 0);
	}
	diff_parts_release(&parts);
	profile_free(runs.pair.profile);
}

/* 5 % before, 6 % after; standard errors of 0.6 each, and t of 1.25, where the samples are sure of it. */
static void runs_that_differ_as_much_as_the_sides_show_no_change(void **state _unused_)
{
	static const double before[] = {4, 5, 6};
	static const double after[] = {5, 6, 7};
	struct runs_pair runs;
	struct frame_tree tree;
	struct diff_table table;
	const struct diff_row *hot;

	make_runs_pair(&runs, 3, 3);
	add_runs(&runs, false, before, 3, 100000);
	add_runs(&runs, true, after, 3, 100000);
	compare(&runs.pair, &tree, &table);
	hot = find_row(&table, "hot");
	assert_true(hot->is_noise);
	/* Of Welch: four degrees, 1 point more or less 2.776 * sqrt(1/3 + 1/3). */
	assert_float_equal((float)hot->self.degrees, 4, 0.2f);
	assert_float_equal((float)hot->self.low, (float)(0.01 - 0.0227), 1e-3f);
	assert_float_equal((float)hot->self.high, (float)(0.01 + 0.0227), 1e-3f);
	assert_int_equal(table.before_slices, 0);
	diff_table_release(&table);
	runs.pair.opts.before.runs.are_slices = true;
	runs.pair.opts.after.runs.are_slices = true;
	assert_int_equal(diff_table_init(&table, &tree, &runs.pair.opts), 0);
	assert_true(find_row(&table, "hot")->is_noise);
	assert_int_equal(table.before_slices, 3);
	diff_table_release(&table);
	runs.pair.opts.before.runs.length = 0;
	runs.pair.opts.after.runs.length = 0;
	assert_int_equal(diff_table_init(&table, &tree, &runs.pair.opts), 0);
	assert_false(find_row(&table, "hot")->is_noise);
	release(&runs.pair, &tree, &table);
}

static void runs_that_agree_show_a_change(void **state _unused_)
{
	static const double before[] = {5, 5.1, 4.9, 5.05, 4.95};
	static const double after[] = {6, 6.1, 5.9, 6.05, 5.95};
	struct runs_pair runs;
	struct frame_tree tree;
	struct diff_table table;

	make_runs_pair(&runs, 5, 5);
	add_runs(&runs, false, before, 5, 100000);
	add_runs(&runs, true, after, 5, 100000);
	compare(&runs.pair, &tree, &table);
	assert_false(find_row(&table, "hot")->is_noise);
	release(&runs.pair, &tree, &table);
}

/* However alike the runs are: so few samples make no run that sure. */
static void runs_that_are_alike_show_no_more_than_their_samples(void **state _unused_)
{
	static const double before[] = {5, 5, 5, 5, 5};
	static const double after[] = {6, 6, 6, 6, 6};
	struct runs_pair runs;
	struct frame_tree tree;
	struct diff_table table;

	make_runs_pair(&runs, 5, 5);
	add_runs(&runs, false, before, 5, 100);
	add_runs(&runs, true, after, 5, 100);
	compare(&runs.pair, &tree, &table);
	assert_true(find_row(&table, "hot")->is_noise);
	assert_float_equal((float)find_row(&table, "hot")->self.before_samples, 500, 1e-3f);
	release(&runs.pair, &tree, &table);
}

static void a_single_run_varies_as_those_of_the_other_side(void **state _unused_)
{
	static const double before[] = {4, 5, 6};
	static const double after[] = {6};
	struct runs_pair runs;
	struct frame_tree tree;
	struct diff_table table;
	const struct diff_row *hot;

	make_runs_pair(&runs, 3, 1);
	add_runs(&runs, false, before, 3, 100000);
	add_runs(&runs, true, after, 1, 100000);
	compare(&runs.pair, &tree, &table);
	hot = find_row(&table, "hot");
	assert_true(hot->is_noise);
	assert_float_equal((float)hot->self.degrees, 2, 1e-6f);
	assert_float_equal((float)(hot->self.before_samples / hot->self.after_samples), 3, 1e-4f);
	release(&runs.pair, &tree, &table);
}

/* 8 s, a sample a millisecond: every other second starts with num_hot of main;hot. */
static void add_bursts(struct pair *pair, uint32_t metric, uint64_t num_hot)
{
	uint32_t hot = builder_add_stack(pair->profile, "main;hot");
	uint32_t cold = builder_add_stack(pair->profile, "main;cold");

	for (uint64_t ms = 0; ms < 8000; ms++) {
		uint32_t stack = ms / 1000 % 2 == 0 && ms % 1000 < num_hot ? hot : cold;

		assert_int_equal(profile_add_sample(pair->profile, 0, stack, metric, 1), 0);
		assert_int_equal(profile_add_timestamp(pair->profile, 0, stack, metric, 1, ms * MS),
				 0);
	}
}

static void what_comes_in_bursts_is_not_taken_for_independent_samples(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;
	const struct diff_row *hot;

	assert_int_equal(profile_keep_timestamps(pair.profile), 0);
	add_bursts(&pair, pair.opts.before.metric, 500);
	add_bursts(&pair, pair.opts.after.metric, 600);
	compare(&pair, &tree, &table);
	hot = find_row(&table, "hot");
	assert_int_equal(table.before_slices, 24);
	assert_int_equal(table.after_slices, 24);
	assert_true(hot->is_noise);
	assert_true(hot->self.before_samples < 200);
	assert_true(hot->self.low < 0);
	release(&pair, &tree, &table);
}

static void what_runs_evenly_loses_nothing_by_slices(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;
	uint32_t hot = builder_add_stack(pair.profile, "main;hot");
	uint32_t cold = builder_add_stack(pair.profile, "main;cold");

	assert_int_equal(profile_keep_timestamps(pair.profile), 0);
	for (uint64_t ms = 0; ms < 8000; ms++)
		for (int i = 0; i < 2; i++) {
			uint32_t metric = i ? pair.opts.after.metric : pair.opts.before.metric;
			uint32_t stack = ms % 20 < (i ? 3u : 2u) ? hot : cold;

			assert_int_equal(profile_add_sample(pair.profile, 0, stack, metric, 1), 0);
			assert_int_equal(
				profile_add_timestamp(pair.profile, 0, stack, metric, 1, ms * MS),
				0);
		}
	compare(&pair, &tree, &table);
	assert_float_equal((float)find_row(&table, "hot")->self.before_samples, 8000, 1e-3f);
	assert_false(find_row(&table, "hot")->is_noise);
	release(&pair, &tree, &table);
}

static void a_moment_of_time_has_no_slices(void **state _unused_)
{
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;
	uint32_t hot = builder_add_stack(pair.profile, "main;hot");

	assert_int_equal(profile_keep_timestamps(pair.profile), 0);
	add_stack(&pair, "main;hot", 100, 100);
	for (uint64_t ms = 0; ms < 9; ms++)
		assert_int_equal(profile_add_timestamp(pair.profile, 0, hot,
						       pair.opts.before.metric, 10, ms * MS),
				 0);
	compare(&pair, &tree, &table);
	assert_int_equal(table.before_slices, 0);
	assert_int_equal(table.after_slices, 0);
	release(&pair, &tree, &table);
}

static uint32_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* As in real profiles: few stacks have most of the weight, and most have hardly any. */
static void draw(uint64_t *seed, uint64_t num_samples, uint64_t *counts)
{
	double sum = 0;

	for (int i = 0; i < NUM_STACKS; i++)
		sum += 1.0 / (i + 1);
	for (uint64_t sample = 0; sample < num_samples; sample++) {
		double left = (double)random_next(seed) / (double)(1u << 31) * sum;
		int i = 0;

		while (i < NUM_STACKS - 1 && (left -= 1.0 / (i + 1)) > 0)
			i++;
		counts[i]++;
	}
}

struct change_tally {
	uint64_t compared;
	uint64_t called_changed;
	uint64_t outside_interval; /* of self: the interval does not hold the true change, 0 */
};

static void compare_equal_recordings(uint64_t *seed, uint64_t before_samples,
				     uint64_t after_samples, struct change_tally *tally)
{
	uint64_t before[NUM_STACKS] = {0};
	uint64_t after[NUM_STACKS] = {0};
	struct pair pair = make_pair();
	struct frame_tree tree;
	struct diff_table table;

	draw(seed, before_samples, before);
	draw(seed, after_samples, after);
	for (int i = 0; i < NUM_STACKS; i++) {
		char stack[64];

		snprintf(stack, sizeof(stack), "main;group%d;function%d", i % 7, i);
		if (before[i] || after[i])
			add_stack(&pair, stack, before[i], after[i]);
	}
	compare(&pair, &tree, &table);
	for (size_t i = 0; i < table.num_rows; i++) {
		const struct diff_row *row = &table.rows[i];

		tally->compared++;
		tally->called_changed += !row->is_noise;
		tally->outside_interval += row->self.low > 0 || row->self.high < 0;
	}
	release(&pair, &tree, &table);
}

static void recordings_of_the_same_thing_are_hardly_ever_called_changed(void **state _unused_)
{
	struct change_tally tally = {0};
	uint64_t seed = 42;

	for (int i = 0; i < NUM_PAIRS; i++)
		compare_equal_recordings(&seed, 1000 + 10 * (uint64_t)i, 3000, &tally);
	print_message("# %llu compared, %llu called changed, %llu intervals missed\n",
		      (unsigned long long)tally.compared, (unsigned long long)tally.called_changed,
		      (unsigned long long)tally.outside_interval);
	assert_true(tally.compared > NUM_PAIRS * 50);
	assert_true(tally.called_changed * 100 <= tally.compared * 7);
	/* One in twenty may miss; where there are few samples the interval is rather too wide. */
	assert_true(tally.outside_interval * 100 <= tally.compared * 6);
	assert_true(tally.outside_interval * 100 >= tally.compared * 1);
}

static void a_real_change_is_found_among_many_functions(void **state _unused_)
{
	uint64_t seed = 7;
	int found = 0;

	for (int i = 0; i < 50; i++) {
		uint64_t counts[2][NUM_STACKS] = {0};
		struct pair pair = make_pair();
		struct frame_tree tree;
		struct diff_table table;

		draw(&seed, 5000, counts[0]);
		draw(&seed, 5000, counts[1]);
		counts[1][9] *= 2; /* about 2 % become 4 % */
		for (int j = 0; j < NUM_STACKS; j++) {
			char stack[64];

			snprintf(stack, sizeof(stack), "main;function%d", j);
			add_stack(&pair, stack, counts[0][j], counts[1][j]);
		}
		compare(&pair, &tree, &table);
		found += !find_row(&table, "function9")->self.is_noise;
		release(&pair, &tree, &table);
	}
	assert_true(found >= 45); /* where chance was against it, it is not */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_both_sides_are_compared),
		cmocka_unit_test(a_function_of_one_side_only_has_0_on_the_other),
		cmocka_unit_test(what_really_changed_comes_first_then_its_callers_then_noise),
		cmocka_unit_test(the_number_of_samples_decides_where_weights_are_none),
		cmocka_unit_test(nothing_is_said_where_the_number_of_samples_cannot_be_known),
		cmocka_unit_test(an_empty_side_shows_nothing),
		cmocka_unit_test(code_made_at_run_time_is_the_same_under_every_pid),
		cmocka_unit_test(a_side_beyond_64_bits_is_an_error),
		cmocka_unit_test(runs_that_differ_as_much_as_the_sides_show_no_change),
		cmocka_unit_test(parts_of_samples_are_parts_of_runs),
		cmocka_unit_test(runs_that_agree_show_a_change),
		cmocka_unit_test(runs_that_are_alike_show_no_more_than_their_samples),
		cmocka_unit_test(a_single_run_varies_as_those_of_the_other_side),
		cmocka_unit_test(what_comes_in_bursts_is_not_taken_for_independent_samples),
		cmocka_unit_test(what_runs_evenly_loses_nothing_by_slices),
		cmocka_unit_test(a_moment_of_time_has_no_slices),
		cmocka_unit_test(recordings_of_the_same_thing_are_hardly_ever_called_changed),
		cmocka_unit_test(a_real_change_is_found_among_many_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
