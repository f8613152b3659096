#include <stdlib.h>

#include "import_fixture.h"

#define FORMAT (&format_sampling_prof)
#define CALLS_ARE_EXACT                                                                \
	"FILE: the file has no stacks: they are reconstructed from counts and calls, " \
	"which are exact; stacks may not be\n"
#define SEVERAL_FIT                                                              \
	"FILE: the file has no stacks: they are reconstructed from calls; self " \
	"counts are exact, totals and callers may not be\n"

static const struct call_tree_opts samples = {0};

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");

	builder_add_sample(profile, thread, "m.c:1:main;f.c:2:fib;f.c:2:fib;f.c:2:fib", 2);
	builder_add_sample(profile, thread, "m.c:1:main;f.c:3:a;f.c:4:b;f.c:3:a;f.c:4:b", 1);
	builder_add_sample(profile, thread, "m.c:1:main", 1);
	return profile;
}

static void elements_and_calls_count_once_per_sample(void **state _unused_)
{
	struct profile *profile = make_profile();

	assert_written(FORMAT, profile, samples,
		       "400\n\n"
		       "m.c:1:main,0\nf.c:2:fib,1\nf.c:3:a,2\nf.c:4:b,3\n\n"
		       "0,1,4\n1,2,2\n2,0,1\n3,1,1\n\n"
		       "-1,0,4\n0,1,2\n1,1,2\n0,2,1\n2,3,1\n3,2,1\n");
	profile_free(profile);
}

static void an_element_is_file_line_function_or_module_zero_function(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct frame frame = {.line = 7};
	uint32_t location;
	uint32_t stack;
	uint32_t metric;

	assert_int_equal(profile_add_string(profile, "run, fast", &frame.name), 0);
	assert_int_equal(profile_add_string(profile, "a.c", &frame.file), 0);
	assert_int_equal(profile_add_string(profile, "libx.so", &frame.module), 0);
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	frame.line = 0;
	assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
	assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, 1), 0);
	builder_add_sample(profile, thread, "plain", 2);
	assert_written(FORMAT, profile, samples,
		       "300\n\na.c:7:run, fast,0\nlibx.so:0:run, fast,1\n:0:plain,2\n\n"
		       "0,0,1\n1,1,1\n2,2,2\n\n-1,0,1\n0,1,1\n-1,2,2\n");
	profile_free(profile);
}

static void the_runtime_is_what_the_caller_knows(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	struct format_opts opts = {.observed_ms = 1234};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};

	builder_add_sample(profile, thread, "f", 1);
	assert_int_equal(format_sampling_prof.write(profile, &opts, &sink), 0);
	assert_string_equal(written.data, "1234\n\n:0:f,0\n\n0,1,1\n\n-1,0,1\n");
	text_release(&written);
	profile_free(profile);
}

static void assert_runtime(const struct profile *profile, const char *expected)
{
	struct format_opts opts = {0};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};

	text_append_string(&written, "");
	assert_int_equal(format_sampling_prof.write(profile, &opts, &sink), 0);
	written.data[strcspn(written.data, "\n")] = '\0';
	assert_string_equal(written.data, expected);
	text_release(&written);
}

/* As if they had run one after the other: SamplingProf's readme, "runtime chunk". */
static void the_runtime_is_that_of_all_sampled_threads(void **state _unused_)
{
	const struct sampling sampling = {.duration_ns = 4250000000};
	struct profile *profile = profile_new();
	uint32_t thread = 0;

	for (uint32_t tid = 1; tid <= 8; tid++) {
		thread = builder_add_thread(profile, 1, tid, "t");
		builder_add_sample(profile, thread, "a;b", 1);
	}
	profile_add_sampling(profile, &sampling);
	assert_runtime(profile, "34000");
	/* Renamed it is the same thread, and who has no sample was not seen. */
	builder_add_sample(profile, builder_add_thread(profile, 1, 8, "renamed"), "a", 1);
	builder_add_sample(profile, builder_add_thread(profile, 2, 9, "idle"), "a", 0);
	assert_runtime(profile, "34000");
	profile_free(profile);
}

static void recordings_are_as_long_as_each_was(void **state _unused_)
{
	static const char first[] = "1000\n\n:0:a,0\n\n0,1,1\n\n-1,0,1\n";
	static const char second[] = "200\n\n:0:a,0\n\n0,1,1\n\n-1,0,1\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, first, strlen(first)), 0);
	assert_int_equal(imported_read(&imported, FORMAT, second, strlen(second)), 0);
	assert_runtime(imported.profile, "1200");
	imported_release(&imported);
}

static void decimals_make_no_runtime(void **state _unused_)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, "a 1.5\nb 2.5\n", 12), 0);
	assert_int_equal(import_unify_decimals(&imported.import), 0);
	assert_runtime(imported.profile, "400");
	imported_release(&imported);
}

/* Two lines of a function are two elements, with whatever they are looked at. */
static void an_element_is_named_as_a_whole(void **state _unused_)
{
	static const char text[] = "300\n\na.rb:5:fib,0\na.rb:9:fib,1\nlibc:0:read,2\n\n"
				   "0,1,3\n1,1,2\n2,1,1\n\n-1,0,3\n0,1,2\n1,2,1\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile, samples,
		       "a.rb:5:fib 1\na.rb:5:fib;a.rb:9:fib 1\na.rb:5:fib;a.rb:9:fib;read 1\n");
	assert_written(FORMAT, imported.profile, samples, text);
	imported_release(&imported);
}

static void stacks_are_rebuilt_where_calls_leave_no_choice(void **state _unused_)
{
	static const char text[] = "1567.5\n\n"
				   "lib/a,b.rb:1:root,7\nx.rb:2:leaf,3\n:0:middle,5\n\n"
				   "3,4,6\n5,1,7\n7,2,9\n\n"
				   "-1,7,9\n7,5,7\n5,3,6\n3,3,6\n";
	struct imported imported = {0};

	/* leaf: 4 of its own, and 2 that are missing: the file is not quite consistent. */
	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_not_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, samples,
		       "lib/a,b.rb:1:root 2\nlib/a,b.rb:1:root;middle 1\n"
		       "lib/a,b.rb:1:root;middle;x.rb:2:leaf;x.rb:2:leaf 4\n");
	imported_release(&imported);
}

static void what_is_written_is_read_again(void **state _unused_)
{
	static const char text[] = "250\n\n"
				   "m.c:1:main,0\nf.c:2:fib,1\nlibc:0:read,2\n\n"
				   "0,1,4\n1,2,2\n2,1,1\n\n"
				   "-1,0,4\n0,1,2\n1,1,2\n0,2,1\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(FORMAT, imported.profile, samples, text);
	imported_release(&imported);
}

static void files_and_lines_of_elements_are_kept(void **state _unused_)
{
	static const char text[] = "1\n\nC:/x/a.rb:12:run,0\n\n0,1,1\n\n-1,0,1\n";
	struct imported imported = {0};
	const struct frame *frame;

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	frame = profile_get_frame(imported.profile, 0);
	assert_string_equal(profile_get_string(imported.profile, frame->name), "C:/x/a.rb:12:run");
	assert_string_equal(profile_get_string(imported.profile, frame->file), "C:/x/a.rb");
	assert_int_equal(frame->line, 12);
	imported_release(&imported);
}

static void with_several_callers_each_has_its_part(void **state _unused_)
{
	assert_warned(FORMAT,
		      "1\n\n:0:main,0\n:0:a,1\n:0:b,2\n:0:f,3\n\n"
		      "0,0,9\n1,0,4\n2,0,5\n3,9,9\n\n"
		      "-1,0,9\n0,1,4\n0,2,5\n1,3,4\n2,3,5\n",
		      CALLS_ARE_EXACT, "main;a;f 4\nmain;b;f 5\n");
	/* What f calls is divided as f itself is; and again without a row of the root. */
	assert_warned(FORMAT,
		      "1\n\n:0:main,0\n:0:a,1\n:0:b,2\n:0:f,3\n:0:g,4\n\n"
		      "0,1,10\n1,0,4\n2,0,5\n3,3,9\n4,6,6\n\n"
		      "0,1,4\n0,2,5\n1,3,4\n2,3,5\n3,4,6\n",
		      CALLS_ARE_EXACT,
		      "main 1\nmain;a;f 1\nmain;a;f;g 3\nmain;b;f 2\nmain;b;f;g 3\n");
	/* They do not fit together: the most frequent caller is taken. */
	assert_warned(FORMAT,
		      "1\n\n:0:main,0\n:0:a,1\n:0:b,2\n:0:f,3\n\n"
		      "0,0,9\n1,0,4\n2,0,5\n3,9,9\n\n"
		      "-1,0,9\n0,1,4\n0,2,5\n1,3,3\n2,3,5\n",
		      SEVERAL_FIT, "main;b;f 9\n");
}

/* Of each f<number>: how often it is innermost, and in a stack at all. */
static void assert_counts(const struct profile *profile, const uint64_t *self,
			  const uint64_t *total, int count)
{
	uint64_t innermost[64] = {0};
	uint64_t in_all[64] = {0};

	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		bool is_innermost = true;

		for (uint32_t stack = sample->stack; stack != STACK_EMPTY;
		     stack = profile_get_stack_parent(profile, stack)) {
			const struct location *location = profile_get_location(
				profile, profile_get_stack_location(profile, stack));
			const char *name = profile_get_string(
				profile, profile_get_frame(profile, location->first_frame)->name);
			int number = atoi(name + 1);

			assert_in_range(number, 0, count - 1);
			innermost[number] += is_innermost ? sample->value : 0;
			in_all[number] += sample->value;
			is_innermost = false;
		}
	}
	for (int i = 0; i < count; i++) {
		assert_int_equal(innermost[i], self[i]);
		assert_int_equal(in_all[i], total[i]);
	}
}

/* Self counts, totals and calls are those of the file, whatever the calls are: a graph in layers, by chance. */
static void what_is_divided_is_written_as_it_was(void **state _unused_)
{
	enum { NUM_LAYERS = 5, WIDTH = 4, NUM = NUM_LAYERS * WIDTH };
	uint32_t seed = 1;

	for (int round = 0; round < 50; round++) {
		uint64_t come[NUM] = {0};
		uint64_t self[NUM] = {0};
		struct text file = {0};
		struct text calls = {0};
		struct imported imported = {0};

		text_append_string(&file, "1\n\n");
		for (int id = 0; id < NUM; id++)
			text_printf(&file, ":0:f%d,%d\n", id, id);
		for (int id = 0; id < NUM; id++) {
			uint64_t left;

			seed = seed * 1664525 + 1013904223;
			if (id < WIDTH) {
				come[id] = seed >> 20;
				text_printf(&calls, "-1,%d,%llu\n", id,
					    (unsigned long long)come[id]);
			}
			left = come[id];
			for (int to = (id / WIDTH + 1) * WIDTH;
			     to < (id / WIDTH + 2) * WIDTH && to < NUM; to++) {
				uint64_t part = left / (2 + (seed >> (to % 7 + 8)) % 3);

				if (!part)
					continue;
				text_printf(&calls, "%d,%d,%llu\n", id, to,
					    (unsigned long long)part);
				come[to] += part;
				left -= part;
			}
			self[id] = left;
		}
		text_append_char(&file, '\n');
		for (int id = 0; id < NUM; id++)
			text_printf(&file, "%d,%llu,%llu\n", id, (unsigned long long)self[id],
				    (unsigned long long)come[id]);
		text_append_char(&file, '\n');
		text_append(&file, calls.data, calls.length);
		assert_int_equal(imported_read(&imported, FORMAT, file.data, file.length), 0);
		assert_string_equal(imported.warnings.data, CALLS_ARE_EXACT);
		assert_counts(imported.profile, self, come, NUM);
		text_release(&file);
		text_release(&calls);
		imported_release(&imported);
	}
}

/* As the first writer of the format has it: who was outermost, the totals say. */
static void without_calls_from_the_root_totals_say_who_is_outermost(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "10000\n\n./a.rb:5:fib,1\n./a.rb:9:main,2\n\n1,60,60\n2,40,100\n\n2,1,60\n",
		      0, "./a.rb:9:main 40\n./a.rb:9:main;./a.rb:5:fib 60\n");
	/* Calls of itself say nothing of that. */
	assert_stacks(FORMAT, "1\n\n:0:f,1\n:0:m,2\n\n1,6,6\n2,4,10\n\n2,1,6\n2,2,10\n", 0,
		      "m;m 4\nm;m;f 6\n");
	/* Two, and one of them is called as well. */
	assert_warned(FORMAT, "1\n\n:0:f,1\n:0:m,2\n\n1,7,7\n2,4,8\n\n2,1,4\n", CALLS_ARE_EXACT,
		      "f 3\nm 4\nm;f 4\n");
	/* In a circle the one with the greatest total. */
	assert_warned(FORMAT, "1\n\n:0:f,1\n:0:m,2\n\n1,2,5\n2,4,6\n\n2,1,6\n1,2,6\n", SEVERAL_FIT,
		      "m 4\nm;f 2\n");
}

static void a_circle_of_calls_ends(void **state _unused_)
{
	assert_warned(FORMAT, "1\n\n:0:a,0\n:0:b,1\n\n0,1,3\n1,2,3\n\n0,1,3\n1,0,3\n", SEVERAL_FIT,
		      "a 1\na;b 2\n");
}

static void malformed_lines_are_skipped(void **state _unused_)
{
	assert_warned(FORMAT,
		      "1\r\n\r\n:0:a,0\r\nno id\r\n:0:b,0\r\n\r\n0,1,1\r\n0,1,1\r\n9,1,1\r\n\r\n"
		      "-1,0,1\r\n-1,9,1\r\n",
		      "FILE:4: expected an element and its own id, skipping\n"
		      "FILE:5: expected an element and its own id, skipping\n"
		      "FILE:8: expected the id of an element, its self and its total, skipping\n"
		      "FILE:9: expected the id of an element, its self and its total, skipping\n"
		      "FILE:12: expected the ids of caller and callee and a count, skipping\n",
		      "a 1\n");
}

static void a_file_without_all_its_tables_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE:1: the file ends before its last table");
	assert_refused(FORMAT, "12\n\n:0:a,0\n\n0,1,1\n",
		       "FILE:5: the file ends before its last table");
	assert_refused(FORMAT, "x\n\n:0:a,0\n\n", "FILE:1: expected the runtime in milliseconds");
	assert_refused(FORMAT, "12\n\n:0:a,0\n\n0,x,1\n\n-1,0,1\n",
		       "FILE:7: no element has both self and total");
}

/* The first is ours, the second is of the tool that the format is from. */
static void a_profile_without_samples_is_read_as_one(void **state _unused_)
{
	static const char *const texts[] = {"12\n\n\n\n", "12.5\n\n\n\n\n\n\n"};

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct imported imported = {0};

		assert_int_equal(imported_read(&imported, FORMAT, texts[i], strlen(texts[i])), 0);
		assert_string_equal(imported.warnings.data, "");
		assert_written(FORMAT, imported.profile, (struct call_tree_opts){0}, "12\n\n\n\n");
		imported_release(&imported);
	}
	assert_refused(FORMAT, "12\n\n", "FILE:2: the file ends before its last table");
	assert_refused(FORMAT, "12\n\n\nx\n", "FILE:4: ");
}

static enum detection detect(const char *text)
{
	return format_sampling_prof.detect((const uint8_t *)text, strlen(text));
}

static void the_format_is_known_by_its_content(void **state _unused_)
{
	assert_int_equal(detect("12.5\n\na:1:b,0\n"), DETECTED_SURE);
	assert_int_equal(detect("12\n\na 5\n"), DETECTED_NOT);
	assert_int_equal(detect("a 12\na 5\nb,7\n"), DETECTED_NOT);
	assert_int_equal(detect(""), DETECTED_NOT);
	assert_int_equal(detect("12\n\n\n\n"), DETECTED_MAYBE);
	assert_int_equal(detect("12\n\n\n"), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_and_calls_count_once_per_sample),
		cmocka_unit_test(an_element_is_file_line_function_or_module_zero_function),
		cmocka_unit_test(the_runtime_is_what_the_caller_knows),
		cmocka_unit_test(the_runtime_is_that_of_all_sampled_threads),
		cmocka_unit_test(recordings_are_as_long_as_each_was),
		cmocka_unit_test(decimals_make_no_runtime),
		cmocka_unit_test(an_element_is_named_as_a_whole),
		cmocka_unit_test(stacks_are_rebuilt_where_calls_leave_no_choice),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(files_and_lines_of_elements_are_kept),
		cmocka_unit_test(with_several_callers_each_has_its_part),
		cmocka_unit_test(what_is_divided_is_written_as_it_was),
		cmocka_unit_test(without_calls_from_the_root_totals_say_who_is_outermost),
		cmocka_unit_test(a_circle_of_calls_ends),
		cmocka_unit_test(malformed_lines_are_skipped),
		cmocka_unit_test(a_file_without_all_its_tables_is_refused),
		cmocka_unit_test(a_profile_without_samples_is_read_as_one),
		cmocka_unit_test(the_format_is_known_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
