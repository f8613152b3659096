/*
 * Which runtimes a recording advises to start with other options.
 */
#include "unit.h"

#include <string.h>

#include "cli/record/runtime_advice.h"

#define ROW(name, file, weight)                                                            \
	{                                                                                  \
		.function = (name), .function_length = sizeof(name) - 1, .module = (file), \
		.total = weight                                                            \
	}

static void assert_advice_with(const struct recorder_account *ticks, struct flat_row *rows,
			       size_t num_rows, const char *frame_pointers, const char *names)
{
	struct flat_table table = {.rows = rows, .num_rows = num_rows, .sum = 1000};
	struct text text = {0};

	text_append_string(&text, "");
	runtime_advice_append_frame_pointers(&text, &table, ticks, "> ");
	assert_string_equal(text.data, frame_pointers);
	text_truncate(&text, 0);
	text_append_string(&text, "");
	runtime_advice_append_names(&text, &table, ticks, "> ");
	assert_string_equal(text.data, names);
	text_release(&text);
}

/* No process has an interpreter, or none was looked for. */
static void assert_advice(struct flat_row *rows, size_t num_rows, const char *frame_pointers,
			  const char *names)
{
	static const struct recorder_account nothing;

	assert_advice_with(&nothing, rows, num_rows, frame_pointers, names);
}

#define JAVA_FRAME_POINTERS "> Java keeps them with -XX:+PreserveFramePointer\n"
#define JAVA_NAMES                                                    \
	"> Java names its code with -XX:+UnlockDiagnosticVMOptions\n" \
	"> -XX:+DumpPerfMapAtExit, or after 'jcmd PID Compiler.perfmap'\n"

#define NODE_NAMES "> Node.js names its code with --perf-basic-prof\n"

static void java_has_options_for_both(_unused_ void **state)
{
	struct flat_row rows[] = {ROW("[anon]", "", 10), ROW("JavaMain", "libjvm.so", 1)};

	assert_advice(rows, ARRAY_LENGTH(rows), JAVA_FRAME_POINTERS, JAVA_NAMES);
}

static void java_that_is_known_needs_none(_unused_ void **state)
{
	struct flat_row rows[] = {ROW("[anon]", "", 900), ROW("JavaMain", "libjvm.so", 1),
				  ROW("node::Start", "node", 1)};
	struct recorder_account ticks = {
		.runtimes = {{.runtime = WIRE_RUNTIME_HOTSPOT, .major = 17, .samples = 9},
			     {.runtime = WIRE_RUNTIME_V8, .major = 9, .minor = 1, .samples = 9}},
		.num_runtimes = 2};

	ticks.runtimes[0].fits[RUNTIME_EARLY] = 9;
	ticks.runtimes[1].fits[RUNTIME_UNKNOWN] = 9;
	assert_advice_with(&ticks, rows, ARRAY_LENGTH(rows), "", NODE_NAMES);
	/* Code without a name is that of other programs. */
	ticks.runtimes[1].fits[RUNTIME_UNKNOWN] = 0;
	assert_advice_with(&ticks, rows, ARRAY_LENGTH(rows), "", "");
	ticks.runtimes[1].fits[RUNTIME_UNKNOWN] = 9;
	/* Of other versions there are some that are not known. */
	ticks.num_runtimes = 3;
	ticks.runtimes[2] = (struct runtime_counts){.runtime = WIRE_RUNTIME_HOTSPOT, .major = 8};
	ticks.runtimes[2].fits[RUNTIME_UNKNOWN] = 1;
	assert_advice_with(&ticks, rows, ARRAY_LENGTH(rows), JAVA_FRAME_POINTERS,
			   JAVA_NAMES NODE_NAMES);
}

static void others_have_one_for_names(_unused_ void **state)
{
	struct flat_row rows[] = {ROW("[anon]", "", 900), ROW("node::Start", "libnode.so.108", 1)};

	assert_advice(rows, ARRAY_LENGTH(rows), "", NODE_NAMES);
}

/* Whose code may lie in memory that is mapped twice. */
static void runtimes_that_are_known_by_name_have_one_as_well(_unused_ void **state)
{
	struct flat_row rows[] = {ROW("main", "x", 1), ROW("[memfd:vmem]", "[anon]", 900)};
	struct flat_row named[] = {ROW("[memfd:vmem", "x", 9), ROW("lists:sort/1", "[jit]", 900)};
	struct recorder_account ticks = {0};

	for (enum wire_runtime i = NUM_WIRE_INTERPRETERS; i < NUM_WIRE_RUNTIMES; i++)
		ticks.runtimes[ticks.num_runtimes++] =
			(struct runtime_counts){.runtime = i, .samples = 9};
	assert_advice_with(
		&ticks, rows, ARRAY_LENGTH(rows), "",
		"> .NET names its code with DOTNET_PerfMapEnabled=1 in its environment\n"
		"> BEAM names its code with +JPperf true (erl), from OTP 24 on\n"
		"> LuaJIT names its code with XCFLAGS=-DLUAJIT_USE_PERFTOOLS when it is built\n"
		"> Mono names its code with --jitmap (mono)\n");
	assert_advice_with(&ticks, named, ARRAY_LENGTH(named), "", "");
}

static void nothing_is_said_where_little_has_no_name(_unused_ void **state)
{
	struct flat_row rows[] = {ROW("[anon]", "", 9), ROW("main", "node", 991)};
	struct flat_row named[] = {ROW("[anonymous]", "", 900), ROW("main", "node", 991)};

	assert_advice(rows, ARRAY_LENGTH(rows), "", "");
	assert_advice(named, ARRAY_LENGTH(named), "", "");
}

static void programs_with_similar_names_are_no_runtimes(_unused_ void **state)
{
	struct flat_row rows[] = {ROW("[anon]", "", 900), ROW("main", "node_exporter", 1),
				  ROW("main", "mylibjvm.so", 1)};

	assert_advice(rows, ARRAY_LENGTH(rows), "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(java_has_options_for_both),
		cmocka_unit_test(java_that_is_known_needs_none),
		cmocka_unit_test(others_have_one_for_names),
		cmocka_unit_test(runtimes_that_are_known_by_name_have_one_as_well),
		cmocka_unit_test(nothing_is_said_where_little_has_no_name),
		cmocka_unit_test(programs_with_similar_names_are_no_runtimes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
