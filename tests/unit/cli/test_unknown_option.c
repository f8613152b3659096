#include "cli/unknown_option.h"

#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "cli/command.h"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static char printed[1024];

static void report(const struct command *command, const char *name, const char *word)
{
	struct caught_output caught = caught_output_begin(STDERR_FILENO);

	unknown_option_report(name, command->options, word);
	caught_output_end(&caught, printed, sizeof(printed));
}

static void assert_report(const char *word, const char *expected)
{
	report(&command_report, "stackwide report", word);
	assert_string_equal(printed, expected);
}

static void a_misspelt_option_suggests_the_right_one(void **state _unused_)
{
	assert_report("--metrik",
		      "stackwide: unknown option '--metrik'; did you mean --metric? see "
		      "'stackwide help report'\n");
	assert_report("--verbos",
		      "stackwide: unknown option '--verbos'; did you mean --verbose? see "
		      "'stackwide help report'\n");
	assert_report("--bogus",
		      "stackwide: unknown option '--bogus'; see 'stackwide help report'\n");
	assert_report("-x", "stackwide: unknown option '-x'; see 'stackwide help report'\n");
}

static void options_of_other_tools_name_ours(void **state _unused_)
{
	assert_report("-top", "stackwide: unknown option '-top' (of pprof): use --top N\n");
	assert_report("--stdio",
		      "stackwide: unknown option '--stdio' (of perf): 'stackwide report' "
		      "prints text\n");
	assert_report("--percent-limit=3",
		      "stackwide: unknown option '--percent-limit=3' (of perf): use --top N\n");
	report(&command_convert, "stackwide convert", "--minwidth");
	assert_string_equal(printed,
			    "stackwide: unknown option '--minwidth' (of flamegraph.pl): use "
			    "--min-width PIXELS|N%\n");
	report(&command_record, "stackwide record", "-g");
	assert_string_equal(
		printed, "stackwide: unknown option '-g' (of perf): stacks are always recorded\n");
}

static void an_option_of_another_command_names_it(void **state _unused_)
{
	assert_report("--minwidth", "stackwide: unknown option '--minwidth' (of flamegraph.pl): "
				    "'stackwide convert' has --min-width PIXELS|N%\n");
	assert_report("--to=1", "stackwide: unknown option '--to=1': 'stackwide convert' has --to "
				"FORMAT; see 'stackwide help report'\n");
	assert_true(unknown_option_is_known("to"));
	assert_false(unknown_option_is_known("tu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_misspelt_option_suggests_the_right_one),
		cmocka_unit_test(options_of_other_tools_name_ours),
		cmocka_unit_test(an_option_of_another_command_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
