#include "cli/options/unknown_option.h"

#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "cli/options/command.h"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static char printed[1024];

static void report(const struct command *command, const char *name, const char *word)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);

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
				    "'stackwide convert' has --min-width\n");
	assert_report("--to=1", "stackwide: unknown option '--to=1': 'stackwide convert' has --to; "
				"see 'stackwide help report'\n");
	assert_string_equal(unknown_option_find_command("to"), "convert");
	assert_null(unknown_option_find_command("t"));
	assert_null(unknown_option_find_command("o from"));
	assert_null(unknown_option_find_command(""));
}

static bool has_option(const struct command *command, const char *name)
{
	for (const struct option_spec *spec = command->options; spec->name; spec++)
		if (string_equals(spec->name, name))
			return true;
	return false;
}

/* All options of all commands, and each command that is named has it. */
static void every_option_has_a_command(void **state _unused_)
{
	size_t num_options = 0;

	for (const struct command *const *command = command_get_all(); *command; command++)
		for (const struct option_spec *spec = (*command)->options; spec->name; spec++) {
			const char *found = unknown_option_find_command(spec->name);
			bool is_right = false;

			if (!spec->help || (*command)->is_hidden)
				continue;
			num_options++;
			if (!found)
				fail_msg("no command for --%s", spec->name);
			for (const struct command *const *owner = command_get_all(); *owner;
			     owner++)
				is_right |= string_equals((*owner)->name, found) &&
					    has_option(*owner, spec->name);
			if (!is_right)
				fail_msg("%s has no --%s", found, spec->name);
		}
	assert_true(num_options > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_misspelt_option_suggests_the_right_one),
		cmocka_unit_test(options_of_other_tools_name_ours),
		cmocka_unit_test(an_option_of_another_command_names_it),
		cmocka_unit_test(every_option_has_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
