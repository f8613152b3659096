#include "profile/profile.h"

#include <errno.h>
#include <stdio.h>

#include "formats/format.h"
#include "profile_builder.h"

static int collect(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

static void write_folded(const struct profile *profile, uint32_t metric, struct text *text)
{
	struct format_opts opts = {.tree = {.metric = metric, .root = TREE_ROOT_TID}};
	struct sink sink = {.write = collect, .context = text};

	text_append_string(text, "");
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	assert_false(text->failed);
}

static void assert_folded(const struct profile *profile, uint32_t metric, const char *expected)
{
	_cleanup_(text_release) struct text text = {0};

	write_folded(profile, metric, &text);
	assert_string_equal(text.data, expected);
}

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)*seed * limit) >> 32);
}

/*
 * Threads, kernel and user addresses with several frames, modules, two metrics: whatever there is.
 */
static struct profile *make_random(uint32_t seed)
{
	static const char *const names[] = {"a", "b", "c"};
	struct profile *profile = profile_new();
	uint32_t owner = 0;
	uint32_t metric;

	for (uint32_t i = 0; i < 3; i++)
		builder_add_thread(profile, 1 + random_below(&seed, 2), i, names[i]);
	for (uint32_t i = 0; i < 2; i++) {
		struct module module = {.build_id_size = 1, .build_id = {(uint8_t)i}};

		assert_int_equal(profile_add_module(profile, &module, &owner), 0);
		assert_int_equal(
			profile_add_metric(profile, i ? "bytes" : "samples", "count", &metric), 0);
	}
	for (int i = 0; i < 40; i++) {
		uint32_t stack = STACK_EMPTY;

		for (uint32_t depth = 1 + random_below(&seed, 5); depth; depth--) {
			static const enum location_space spaces[] = {LOCATION_FILE, LOCATION_KERNEL,
								     LOCATION_PROCESS};
			struct frame frames[2] = {0};
			uint32_t before = profile_count_locations(profile);
			uint32_t location;

			for (int j = 0; j < 2; j++)
				assert_int_equal(profile_add_string(profile,
								    names[random_below(&seed, 3)],
								    &frames[j].name),
						 0);
			assert_int_equal(profile_add_location(profile,
							      spaces[random_below(&seed, 3)],
							      random_below(&seed, 2),
							      random_below(&seed, 4), &location),
					 0);
			if (profile_count_locations(profile) > before)
				assert_int_equal(profile_set_frames(profile, location, frames,
								    1 + random_below(&seed, 2),
								    UNNAMED_NOT),
						 0);
			assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
		}
		assert_int_equal(profile_add_sample(profile, random_below(&seed, 3), stack,
						    random_below(&seed, 2),
						    random_below(&seed, 100)),
				 0);
	}
	return profile;
}

static void merge(struct profile *into, uint32_t seed)
{
	struct profile *from = make_random(seed);

	assert_int_equal(profile_merge(into, from), 0);
	profile_free(from);
}

static void merging_into_an_empty_profile_copies(void **state _unused_)
{
	for (uint32_t seed = 1; seed < 50; seed++) {
		struct profile *original = make_random(seed);
		struct profile *copy = profile_new();
		_cleanup_(text_release) struct text text = {0};

		merge(copy, seed);
		for (uint32_t metric = 0; metric < 2; metric++) {
			text_truncate(&text, 0);
			write_folded(original, metric, &text);
			assert_folded(copy, metric, text.data);
		}
		profile_free(original);
		profile_free(copy);
	}
}

static void the_order_of_merging_makes_no_difference(void **state _unused_)
{
	for (uint32_t seed = 1; seed < 50; seed++) {
		struct profile *one = make_random(seed);
		struct profile *other = make_random(seed + 1000);
		_cleanup_(text_release) struct text text = {0};

		merge(one, seed + 1000);
		merge(one, seed + 2000);
		merge(other, seed + 2000);
		merge(other, seed);
		for (uint32_t metric = 0; metric < 2; metric++) {
			text_truncate(&text, 0);
			write_folded(one, metric, &text);
			assert_folded(other, metric, text.data);
		}
		profile_free(one);
		profile_free(other);
	}
}

static void merging_twice_doubles_every_weight(void **state _unused_)
{
	struct profile *from = profile_new();
	struct profile *into = profile_new();
	uint32_t thread = builder_add_thread(from, 1, 2, "t");

	builder_add_sample(from, thread, "main;f_[k]", 3);
	builder_add_sample(from, thread, "main", 0);
	assert_int_equal(profile_merge(into, from), 0);
	assert_int_equal(profile_merge(into, from), 0);
	assert_folded(into, 0, "t-1/2;main 0\nt-1/2;main;f_[k] 6\n");
	assert_int_equal(profile_count_metrics(into), 1);
	profile_free(from);
	profile_free(into);
}

/* One profile with a single location. */
static struct profile *make_located(enum location_space space, uint64_t address, const char *name)
{
	struct profile *profile = profile_new();
	struct module module = {.build_id_size = 2, .build_id = {1, 2}};
	struct frame frame = {0};
	uint32_t location;
	uint32_t stack;
	uint32_t id;

	builder_add_thread(profile, 1, 1, "t");
	assert_int_equal(profile_add_string(profile, "/bin/x", &module.path), 0);
	assert_int_equal(profile_add_module(profile, &module, &id), 0);
	assert_int_equal(profile_add_string(profile, name, &frame.name), 0);
	assert_int_equal(profile_add_location(profile, space, 0, address, &location), 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &id), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, id, 1), 0);
	return profile;
}

static void equal_modules_and_addresses_are_one(void **state _unused_)
{
	struct profile *into = make_located(LOCATION_FILE, 64, "f");
	struct profile *from = make_located(LOCATION_FILE, 64, "f");

	assert_int_equal(profile_merge(into, from), 0);
	assert_int_equal(profile_count_modules(into), 1);
	assert_int_equal(profile_count_locations(into), 1);
	assert_int_equal(profile_count_processes(into), 2);
	profile_free(into);
	profile_free(from);
}

static void an_address_with_other_names_keeps_both(void **state _unused_)
{
	struct profile *into = make_located(LOCATION_KERNEL, 64, "old_kernel");
	struct profile *from = make_located(LOCATION_KERNEL, 64, "new_kernel");

	assert_int_equal(profile_merge(into, from), 0);
	assert_folded(into, 0, "t-1/1;new_kernel 1\nt-1/1;old_kernel 1\n");
	profile_free(into);
	profile_free(from);
}

static void threads_stay_with_their_sources(void **state _unused_)
{
	struct profile *recorded = make_located(LOCATION_KERNEL, 1, "f");
	struct profile *read = make_located(LOCATION_KERNEL, 1, "f");
	uint32_t name;
	uint32_t id;

	assert_int_equal(profile_add_string(read, "in.folded", &name), 0);
	assert_int_equal(profile_add_source(read, name, &id), 0);
	assert_int_equal(profile_merge(recorded, read), 0);
	assert_int_equal(profile_count_sources(recorded), 2);
	assert_string_equal(profile_get_string(recorded, profile_get_source(recorded, 0)), "");
	assert_int_equal(profile_get_thread(recorded, 0)->source, 0);
	assert_int_equal(profile_get_thread(recorded, 1)->source, 1);
	profile_free(recorded);
	profile_free(read);
}

/* A profile of one file, or a recording; something is known of it. */
static struct profile *make_account(const char *file, uint64_t count)
{
	struct profile *profile = make_located(LOCATION_KERNEL, 1, "f");
	struct sampling sampling = {.duration_ns = count};
	uint32_t source = 0;
	uint32_t name;

	if (file) {
		assert_int_equal(profile_add_string(profile, file, &name), 0);
		assert_int_equal(profile_add_source(profile, name, &source), 0);
		assert_int_equal(profile_add_string(profile, "morning", &name), 0);
		provenance_set_label(profile_get_provenance(profile), source, name);
	}
	profile_add_sampling(profile, &sampling);
	assert_int_equal(profile_add_tally(profile, source, "fired", count), 0);
	return profile;
}

static void assert_account(const struct profile *profile, uint32_t source, uint64_t count)
{
	const struct provenance *provenance = profile_get_provenance(profile);
	uint64_t sum = 0;

	assert_non_null(provenance_find_sampling(provenance, source));
	assert_int_equal(provenance_find_sampling(provenance, source)->duration_ns, count);
	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++)
		if (provenance_get_tally(provenance, i)->source == source)
			sum += provenance_get_tally(provenance, i)->count;
	assert_int_equal(sum, count);
}

static void accounts_and_labels_stay_with_their_sources(void **state _unused_)
{
	struct profile *into = make_account("a", 3);
	struct profile *from = make_account("b", 5);

	assert_int_equal(profile_merge(into, from), 0);
	assert_account(into, 0, 3);
	assert_account(into, 1, 5);
	assert_int_equal(profile_get_sampling(into)->duration_ns, 8);
	assert_string_equal(
		profile_get_string(into, provenance_get_label(profile_get_provenance(into), 1)),
		"morning");
	profile_free(into);
	profile_free(from);
}

static void the_account_of_a_recording_stays_apart_from_those_of_files(void **state _unused_)
{
	for (int is_first = 0; is_first < 2; is_first++) {
		struct profile *into = make_account(is_first ? NULL : "a", 3);
		struct profile *from = make_account(is_first ? "a" : NULL, 5);

		assert_int_equal(profile_merge(into, from), 0);
		assert_int_equal(profile_count_sources(into), 2);
		assert_account(into, 0, 3);
		assert_account(into, 1, 5);
		profile_free(into);
		profile_free(from);
	}
}

static void accounts_of_two_recordings_are_summed_up(void **state _unused_)
{
	struct profile *into = make_account(NULL, 3);
	struct profile *from = make_account(NULL, 5);

	assert_int_equal(profile_merge(into, from), 0);
	assert_int_equal(profile_count_sources(into), 0);
	assert_account(into, 0, 8);
	profile_free(into);
	profile_free(from);
}

static void one_metric_can_be_merged_under_another_name(void **state _unused_)
{
	struct profile *into = profile_new();
	struct profile *from = make_located(LOCATION_KERNEL, 1, "f");
	struct merged_metric metrics[1];
	struct profile_merge_opts opts = {.metrics = metrics, .num_metrics = 1};
	uint32_t bytes;

	assert_int_equal(profile_add_metric(from, "alloc", "bytes", &bytes), 0);
	assert_int_equal(profile_add_sample(from, 0, 1, bytes, 4096), 0);
	metrics[0] = (struct merged_metric){bytes, METRIC_BEFORE, "count"};
	assert_int_equal(profile_merge_with(into, from, &opts), 0);
	assert_int_equal(profile_count_metrics(into), 1);
	assert_int_equal(profile_find_metric(into, METRIC_BEFORE), 0);
	assert_folded(into, 0, "t-1/1;f 4096\n");
	profile_free(into);
	profile_free(from);
}

static void drop_digits(struct text *text, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (name[i] < '0' || name[i] > '9')
			text_append_char(text, name[i]);
}

static void names_can_be_changed_and_what_is_equal_then_is_one(void **state _unused_)
{
	struct profile_merge_opts opts = {.change_name = drop_digits};
	struct profile *into = profile_new();
	struct profile *from = profile_new();
	uint32_t thread = builder_add_thread(from, 1, 1, "t9");

	builder_add_sample(from, thread, "f1;g", 3);
	builder_add_sample(from, thread, "f2;g", 4);
	builder_add_sample(from, thread, "f2;12", 5);
	assert_int_equal(profile_merge_with(into, from, &opts), 0);
	assert_folded(into, 0, "t-1/1;f; 5\nt-1/1;f;g 7\n");
	profile_free(into);
	profile_free(from);
}

static void a_sum_beyond_64_bits_is_an_error(void **state _unused_)
{
	struct profile *into = profile_new();
	struct profile *from = profile_new();

	/* Two locations here, but equal frames: one stack there. */
	builder_add_thread(from, 0, 0, "");
	builder_add_sample(from, 0, "f", UINT64_MAX);
	builder_add_sample(from, 0, "f", 1);
	assert_int_equal(profile_merge(into, from), -EOVERFLOW);
	profile_free(into);
	profile_free(from);
}

static void numbers_of_samples_are_summed_up(void **state _unused_)
{
	struct profile *into = profile_new();
	struct profile *from = profile_new();

	for (int i = 0; i < 3; i++)
		builder_add_sample(from, builder_add_thread(from, 1, 1, "t"), "a", 100);
	builder_add_sample(into, builder_add_thread(into, 1, 1, "t"), "b", 100);
	assert_int_equal(profile_get_metric(from, 0)->num_samples, 3);
	profile_set_metric_samples(into, 0, 10); /* as a file said */
	assert_int_equal(profile_merge(into, from), 0);
	assert_int_equal(profile_get_metric(into, 0)->num_samples, 13);
	profile_set_metric_samples(from, 0, UINT64_MAX);
	assert_int_equal(profile_merge(into, from), 0);
	assert_int_equal(profile_get_metric(into, 0)->num_samples, UINT64_MAX);
	profile_free(into);
	profile_free(from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_into_an_empty_profile_copies),
		cmocka_unit_test(the_order_of_merging_makes_no_difference),
		cmocka_unit_test(merging_twice_doubles_every_weight),
		cmocka_unit_test(equal_modules_and_addresses_are_one),
		cmocka_unit_test(an_address_with_other_names_keeps_both),
		cmocka_unit_test(threads_stay_with_their_sources),
		cmocka_unit_test(accounts_and_labels_stay_with_their_sources),
		cmocka_unit_test(the_account_of_a_recording_stays_apart_from_those_of_files),
		cmocka_unit_test(accounts_of_two_recordings_are_summed_up),
		cmocka_unit_test(one_metric_can_be_merged_under_another_name),
		cmocka_unit_test(names_can_be_changed_and_what_is_equal_then_is_one),
		cmocka_unit_test(a_sum_beyond_64_bits_is_an_error),
		cmocka_unit_test(numbers_of_samples_are_summed_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
