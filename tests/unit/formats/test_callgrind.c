#include "import_fixture.h"

#define FORMAT (&format_callgrind)

#define ESTIMATED                                                                 \
	"FILE: stacks are estimated from calls between pairs of functions; self " \
	"costs are exact\n"

/* The example of the format's description. */
static const char manual[] = "# callgrind format\n"
			     "events: Instructions\n"
			     "\n"
			     "fl=file1.c\n"
			     "fn=main\n"
			     "16 20\n"
			     "cfn=func1\n"
			     "calls=1 50\n"
			     "16 400\n"
			     "cfi=file2.c\n"
			     "cfn=func2\n"
			     "calls=3 20\n"
			     "16 400\n"
			     "\n"
			     "fn=func1\n"
			     "51 100\n"
			     "cfi=file2.c\n"
			     "cfn=func2\n"
			     "calls=2 20\n"
			     "51 300\n"
			     "\n"
			     "fl=file2.c\n"
			     "fn=func2\n"
			     "20 700\n";

static const char manual_stacks[] = "main 20\nmain;func1 100\nmain;func1;func2 300\n"
				    "main;func2 400\n";

static void calls_become_stacks(void **state _unused_)
{
	assert_warned(FORMAT, manual, ESTIMATED, manual_stacks);
}

static void names_may_be_numbers_from_their_second_time_on(void **state _unused_)
{
	assert_warned(FORMAT,
		      "events: Instructions\nfl=(1) file1.c\nfl=(2) file2.c\nfn=(1) main\n"
		      "fn=(2) func1\nfn=(3) func2\nfl=(1)\nfn=(1)\n16 20\ncfn=(2)\ncalls=1 50\n"
		      "16 400\ncfi=(2)\ncfn=(3)\ncalls=3 20\n16 400\nfn=(2)\n51 100\ncfi=(2)\n"
		      "cfn=(3)\ncalls=2 20\n51 300\nfl=(2)\nfn=(3)\n20 700\n",
		      ESTIMATED, manual_stacks);
}

static void positions_may_be_relative_and_hexadecimal(void **state _unused_)
{
	assert_stacks(FORMAT,
		      "positions: instr line\nevents: ticks\nfn=func\n0x80001234 90 1\n+3 * 5\n"
		      "-0x1 -1 0x10\njump=1 0x80 +3\n* *\n",
		      0, "func 22\n");
}

static void events_are_metrics_and_may_be_left_out(void **state _unused_)
{
	static const char text[] = "events: Cycles Instructions Flops\nfn=main\n15 90 14 2\n"
				   "16 20 12\n";

	assert_stacks(FORMAT, text, 0, "main 110\n");
	assert_stacks(FORMAT, text, 1, "main 26\n");
	assert_stacks(FORMAT, text, 2, "main 2\n");
}

static void lines_may_be_indented(void **state _unused_)
{
	assert_stacks(FORMAT, "\tevents: Ir\r\n  fn= f \n \t1  2\t\n", 0, "f 2\n");
}

static void inlined_code_belongs_to_its_function(void **state _unused_)
{
	assert_stacks(FORMAT, "events: Ir\nfl=a.c\nfn=f\n1 2\nfi=a.h\n7 3\nfe=a.c\n2 4\n", 0,
		      "f 9\n");
}

static void functions_of_one_name_in_two_files_are_two(void **state _unused_)
{
	struct imported imported = {0};
	static const char text[] =
		"events: Ir\nob=/lib/a.so\nfl=a.c\nfn=f\n1 2\nfl=b.c\nfn=f\n1 3\n"
		"fl=a.c\nfn=f\n1 4\n";

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_int_equal(profile_count_samples(imported.profile), 2);
	assert_string_equal(profile_get_string(imported.profile,
					       profile_get_frame(imported.profile, 0)->module),
			    "a.so");
	imported_release(&imported);
}

/* f is called by a for a third, and has costs that no integer third is of. */
static void a_function_is_shared_among_its_callers_in_proportion(void **state _unused_)
{
	assert_warned(FORMAT,
		      "events: Ir\nfn=a\n1 0\ncfn=f\ncalls=1 0\n1 33\nfn=b\n1 1\ncfn=f\ncalls=1 0\n"
		      "1 67\nfn=f\n1 50\ncfn=g\ncalls=1 0\n1 50\nfn=g\n1 50\n",
		      ESTIMATED, "a;f 17\na;f;g 16\nb 1\nb;f 33\nb;f;g 34\n");
}

static void recursion_is_truncated(void **state _unused_)
{
	assert_warned(FORMAT,
		      "events: Ir\nfn=main\n1 1\ncfn=f\ncalls=1 0\n1 10\nfn=f\n1 6\ncfn=f\n"
		      "calls=5 0\n1 30\ncfn=g\ncalls=5 0\n1 9\nfn=g\n1 4\ncfn=f\ncalls=1 0\n1 7\n",
		      ESTIMATED, "main 1\nmain;f 6\nmain;f;g 4\n");
}

static void a_ring_that_nobody_calls_starts_somewhere(void **state _unused_)
{
	assert_warned(FORMAT,
		      "events: Ir\nfn=a\n1 1\ncfn=b\ncalls=1 0\n1 5\nfn=b\n1 2\ncfn=a\ncalls=1 0\n"
		      "1 5\n",
		      ESTIMATED, "a 1\na;b 2\n");
}

/* Calls that were not seen, as collection was off: the rest starts with the function. */
static void what_no_call_accounts_for_is_a_stack_of_its_own(void **state _unused_)
{
	assert_warned(FORMAT, "events: Ir\nfn=main\n1 1\ncfn=f\ncalls=1 0\n1 4\nfn=f\n1 10\n",
		      ESTIMATED, "f 6\nmain 1\nmain;f 4\n");
}

static void parts_are_summed(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		"version: 1\npid: 7\ncmd: /bin/prog -x\npart: 1\nevents: Ir Dr\nfn=(1) f\n1 2 "
		"3\ntotals: 2 3\npart: 2\nevents: Dr Ir\nfn=(1)\n1 5 7\ntotals: 5 7\n",
		0, "prog;f 9\n");
}

static void threads_are_kept_apart(void **state _unused_)
{
	static const char text[] =
		"pid: 7\ncmd: prog\nthread: 1\nevents: Ir\nfn=f\n1 2\nthread: 2\nevents: Ir\nfn=f\n"
		"1 3\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_int_equal(profile_count_threads(imported.profile), 2);
	assert_int_equal(profile_count_processes(imported.profile), 1);
	assert_int_equal(profile_get_thread(imported.profile, 1)->tid, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct sample *sample = profile_get_sample(imported.profile, i);

		assert_int_equal(sample->value, 2 + sample->thread);
	}
	imported_release(&imported);
}

static void totals_that_differ_are_reported(void **state _unused_)
{
	assert_warned(FORMAT, "events: Ir\nfn=f\n1 2\ntotals: 3\n",
		      "FILE: the costs add up to 2 Ir, but the summary of the file is 3\n",
		      "f 2\n");
}

/* As callgrind writes them, totals are at the end and summaries in the header. */
static void a_truncated_file_of_callgrind_has_less_than_its_summary(void **state _unused_)
{
	static const char text[] = "creator: callgrind-3.19.0\nevents: Ir\nsummary: 5\nfn=f\n1 2\n";

	assert_warned(FORMAT, text,
		      "FILE: the costs add up to 2 Ir, but the summary of the file is 5\n",
		      "f 2\n");
	/* Others have summaries of another kind. */
	assert_warned(FORMAT, text + strlen("creator: callgrind-3.19.0\n"), "", "f 2\n");
}

static void malformed_lines_are_reported(void **state _unused_)
{
	assert_warned(FORMAT, "events: Ir\nfn=f\n1 2\nx\n1 2x\nfn=(3)\ncalls=1 1\n",
		      "FILE:4: malformed, skipping\nFILE:5: malformed, skipping\n"
		      "FILE:6: a number without a name, skipping\n"
		      "FILE:7: a call of nothing, skipping\n",
		      "f 2\n");
}

/* Memory that was freed. */
static void costs_are_added_with_their_signs(void **state _unused_)
{
	assert_stacks(FORMAT, "events: Memory\nfn=f\n1 -16\n2 20\n3 -1\n", 0, "f 3\n");
	assert_warned(FORMAT,
		      "events: Memory\nfn=f\n1 4\ncfn=g\ncalls=1 1\n1 -2\ncfn=g\ncalls=1 1\n"
		      "1 9\nfn=g\n1 -2\n2 9\ntotals: 11\n",
		      "FILE: stacks are estimated from calls between pairs of functions; self "
		      "costs are exact\n",
		      "f 4\nf;g 7\n");
	assert_refused(FORMAT, "events: Memory\nfn=f\n1 -16\n",
		       "FILE: at byte 0: expected costs above 0: all sums are negative");
}

static void costs_that_stay_below_zero_are_reported(void **state _unused_)
{
	assert_warned(FORMAT, "events: Time Memory\nfn=f\n1 2 -16\n",
		      "FILE: 1 function has negative costs of Memory (16 in all), skipping\n",
		      "f 2\n");
	assert_warned(FORMAT, "events: Memory\nfn=f\n1 5\nfn=g\n1 2\n1 -3\nfn=h\n1 -1\n",
		      "FILE: 2 functions have negative costs of Memory (2 in all), skipping\n",
		      "f 5\n");
}

static void what_has_no_events_is_refused(void **state _unused_)
{
	assert_refused(FORMAT, "", "FILE: at byte 0: expected a line 'events:'");
	assert_refused(FORMAT, "fn=f\n1 2\n", "FILE: at byte 0: expected a line 'events:'");
	assert_refused(FORMAT, "fn=f\n1 2\nevents: Ir\n",
		       "FILE:2: expected a line 'events:' before");
}

static void costs_beyond_64_bits_are_refused(void **state _unused_)
{
	assert_refused(FORMAT, "events: Ir\nfn=f\n1 18446744073709551615\nfn=g\n1 1\n",
		       "FILE:5: the costs exceed 64 bits");
}

static void the_content_decides_the_format(void **state _unused_)
{
	static const char *const sure[] = {
		"# callgrind format\n",
		"version: 1\ncreator: xdebug 3\npositions: line\n\nevents: T\n",
		"desc: I1 cache: 1\r\ncmd: ./a\r\nevents: Ir\r\n"};
	static const char *const not [] = {"", "version: 1\n", "a;b 1\nevents: Ir\n", "fn=f\n"};

	for (size_t i = 0; i < ARRAY_LENGTH(sure); i++) {
		assert_int_equal(FORMAT->detect((const uint8_t *)sure[i], strlen(sure[i])),
				 DETECTED_SURE);
		assert_ptr_equal(format_detect("x.bin", (const uint8_t *)sure[i], strlen(sure[i])),
				 FORMAT);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(not ); i++)
		assert_int_equal(FORMAT->detect((const uint8_t *)not [i], strlen(not [i])),
				 DETECTED_NOT);
}

/* ---- a program without recursion ---- */

#define NUM_FUNCTIONS 12

struct costs {
	uint64_t self[NUM_FUNCTIONS];
	uint64_t calls[NUM_FUNCTIONS][NUM_FUNCTIONS];
};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Runs of a program in which functions call only those of greater numbers. */
static void run_program(struct costs *costs, uint32_t seed)
{
	for (int run = 0; run < 200; run++) {
		uint64_t weight = next_random(&seed) % 1000;
		uint32_t function = 0;

		while (next_random(&seed) % 4) {
			uint32_t callee = function + 1 + next_random(&seed) % 4;

			if (callee >= NUM_FUNCTIONS)
				break;
			costs->calls[function][callee] += weight;
			function = callee;
		}
		costs->self[function] += weight;
	}
}

static void write_program(const struct costs *costs, struct text *text)
{
	text_append_string(text, "events: Ir\n");
	for (int f = 0; f < NUM_FUNCTIONS; f++) {
		text_printf(text, "fn=%c\n1 %llu\n", 'a' + f, (unsigned long long)costs->self[f]);
		for (int c = 0; c < NUM_FUNCTIONS; c++)
			if (costs->calls[f][c])
				text_printf(text, "cfn=%c\ncalls=1 1\n1 %llu\n", 'a' + c,
					    (unsigned long long)costs->calls[f][c]);
	}
}

static uint32_t get_function(const struct profile *profile, uint32_t stack)
{
	const struct location *location =
		profile_get_location(profile, profile_get_stack_location(profile, stack));
	uint32_t name = profile_get_frame(profile, location->first_frame)->name;

	return (uint32_t)(profile_get_string(profile, name)[0] - 'a');
}

static void add_up(const struct profile *profile, struct costs *costs)
{
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t stack = sample->stack;
		uint32_t function = get_function(profile, stack);

		costs->self[function] += sample->value;
		while ((stack = profile_get_stack_parent(profile, stack)) != STACK_EMPTY) {
			uint32_t caller = get_function(profile, stack);

			costs->calls[caller][function] += sample->value;
			function = caller;
		}
	}
}

static void functions_and_calls_keep_their_costs(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= 50; seed++) {
		struct imported imported = {0};
		struct text text = {0};
		struct costs expected = {0};
		struct costs got = {0};

		run_program(&expected, seed);
		write_program(&expected, &text);
		assert_int_equal(imported_read(&imported, FORMAT, text.data, text.length), 0);
		assert_string_equal(imported.warnings.data, ESTIMATED);
		add_up(imported.profile, &got);
		assert_memory_equal(&got, &expected, sizeof(got));
		text_release(&text);
		imported_release(&imported);
	}
}

/* 2^60 ways through 60 pairs of functions. */
static void too_many_stacks_become_one(void **state _unused_)
{
	struct imported imported = {0};
	struct text text = {0};
	uint64_t self = 0;

	text_append_string(&text, "events: Ir\n");
	for (int i = 0; i < 60; i++)
		for (int side = 0; side < 2; side++)
			text_printf(&text,
				    "fn=f%d_%d\n1 1000\ncfn=f%d_0\ncalls=1 1\n1 %d\ncfn=f%d_1\n"
				    "calls=1 1\n1 %d\n",
				    i, side, i + 1, 1000 * (60 - i), i + 1, 1000 * (60 - i));
	assert_int_equal(imported_read(&imported, FORMAT, text.data, text.length), 0);
	assert_non_null(strstr(imported.warnings.data, "too many stacks"));
	assert_in_range(profile_count_stacks(imported.profile), 1000, 500000);
	for (uint32_t i = 0; i < profile_count_samples(imported.profile); i++)
		self += profile_get_sample(imported.profile, i)->value;
	assert_int_equal(self, 120000);
	text_release(&text);
	imported_release(&imported);
}

static void a_long_chain_of_calls_is_bounded(void **state _unused_)
{
	struct imported imported = {0};
	struct text text = {0};

	text_append_string(&text, "events: Ir\n");
	for (int i = 0; i < 30000; i++)
		text_printf(&text, "fn=f%d\n1 1\ncfn=f%d\ncalls=1 1\n1 %d\n", i, i + 1, 30000 - i);
	assert_int_equal(imported_read(&imported, FORMAT, text.data, text.length), 0);
	assert_int_equal(profile_count_samples(imported.profile), 30000);
	for (uint32_t i = 0; i < profile_count_samples(imported.profile); i++) {
		uint32_t stack = profile_get_sample(imported.profile, i)->stack;
		int depth = 0;

		for (; stack != STACK_EMPTY; depth++)
			stack = profile_get_stack_parent(imported.profile, stack);
		assert_in_range(depth, 1, 1001);
	}
	text_release(&text);
	imported_release(&imported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_become_stacks),
		cmocka_unit_test(names_may_be_numbers_from_their_second_time_on),
		cmocka_unit_test(positions_may_be_relative_and_hexadecimal),
		cmocka_unit_test(events_are_metrics_and_may_be_left_out),
		cmocka_unit_test(lines_may_be_indented),
		cmocka_unit_test(inlined_code_belongs_to_its_function),
		cmocka_unit_test(functions_of_one_name_in_two_files_are_two),
		cmocka_unit_test(a_function_is_shared_among_its_callers_in_proportion),
		cmocka_unit_test(recursion_is_truncated),
		cmocka_unit_test(a_ring_that_nobody_calls_starts_somewhere),
		cmocka_unit_test(what_no_call_accounts_for_is_a_stack_of_its_own),
		cmocka_unit_test(parts_are_summed),
		cmocka_unit_test(threads_are_kept_apart),
		cmocka_unit_test(totals_that_differ_are_reported),
		cmocka_unit_test(a_truncated_file_of_callgrind_has_less_than_its_summary),
		cmocka_unit_test(malformed_lines_are_reported),
		cmocka_unit_test(costs_are_added_with_their_signs),
		cmocka_unit_test(costs_that_stay_below_zero_are_reported),
		cmocka_unit_test(what_has_no_events_is_refused),
		cmocka_unit_test(costs_beyond_64_bits_are_refused),
		cmocka_unit_test(the_content_decides_the_format),
		cmocka_unit_test(functions_and_calls_keep_their_costs),
		cmocka_unit_test(too_many_stacks_become_one),
		cmocka_unit_test(a_long_chain_of_calls_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
