#include "cli/options/options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/options/unknown_option.h"

#define HELP_COLUMN 30

static const struct option_spec common_options[] = {
	{OPTION_QUIET, 'q', "quiet", NULL, "print errors only"},
	{OPTION_VERBOSE, 'v', "verbose", NULL, "print more details"},
	{OPTION_HELP, 'h', "help", NULL, "print this help"},
	{0},
};

const struct option_spec *options_get_common(void)
{
	return common_options;
}

struct tables {
	ARRAY(struct option) long_options;
	struct text short_options;
};

static void tables_release(struct tables *tables)
{
	array_release(&tables->long_options);
	text_release(&tables->short_options);
}

static int add_specs(struct tables *tables, const struct option_spec *specs)
{
	for (; specs->name; specs++) {
		struct option *added = array_add(&tables->long_options);

		if (!added)
			return -ENOMEM;
		*added = (struct option){
			.name = specs->name,
			.has_arg = specs->argument ? required_argument : no_argument,
			.val = specs->id,
		};
		if (!specs->short_name)
			continue;
		text_append_char(&tables->short_options, specs->short_name);
		if (specs->argument)
			text_append_char(&tables->short_options, ':');
	}
	return 0;
}

static const struct option_spec *find_spec(const struct option_spec *specs, int found)
{
	for (; specs->name; specs++)
		if (specs->id == found || specs->short_name == found)
			return specs;
	return NULL;
}

/* "FILE..." */
static bool takes_several(const struct option_spec *spec)
{
	return spec->argument && string_ends_with(spec->argument, "...");
}

/* Whether a word can be the value of an option before it: "-" is standard input. */
static bool is_value(const char *word)
{
	return word[0] != '-' || word[1] == '\0';
}

/* "stackwide report" gives " report". */
static const char *get_subcommand(char **argv)
{
	const char *subcommand = strchr(argv[0], ' ');

	return subcommand ? subcommand : "";
}

/*
 * The word with an unknown short option: getopt_long() is still inside it if more letters follow.
 */
static const char *find_short_word(int argc, char **argv, int letter)
{
	const char *word = argv[optind - 1];

	if (word[0] == '-' && word[1] != '-' && word[strlen(word) - 1] == letter)
		return word;
	return optind < argc ? argv[optind] : word;
}

/* Report why getopt_long() refused an option. Returns -EINVAL. */
static int report_bad_option(const struct option_spec *specs, int found, int argc, char **argv)
{
	const struct option_spec *spec = optopt ? find_spec(specs, optopt) : NULL;

	if (!spec && optopt)
		spec = find_spec(common_options, optopt);
	if (spec && found == ':')
		log_error("--%s needs a value, %s; see 'stackwide help%s'", spec->name,
			  spec->argument, get_subcommand(argv));
	else if (spec)
		log_error("--%s takes no value; see 'stackwide help%s'", spec->name,
			  get_subcommand(argv));
	else
		unknown_option_report(argv[0], specs,
				      optopt ? find_short_word(argc, argv, optopt)
					     : argv[optind - 1]);
	return -EINVAL;
}

/*
 * getopt_long() accepts abbreviated names: --dur for --duration. But --to must not mean --top, as
 * other commands have an option --to, nor perf's --comm our --common-names. Returns as
 * options_parse().
 */
static int check_long_name(const struct option_spec *specs, char **argv, const char *name)
{
	const char *word = argv[optind - 1];
	_cleanup_free_ char *written = NULL;

	if (optarg == word)
		word = argv[optind - 2];
	if (!string_starts_with(word, "--"))
		return 0;
	written = strndup(word + 2, strcspn(word + 2, "="));
	if (!written)
		return -ENOMEM;
	if (string_equals(written, name) ||
	    (!unknown_option_find_command(written) && !unknown_option_is_of_other_tool(written)))
		return 0;
	unknown_option_report(argv[0], specs, word);
	return -EINVAL;
}

/*
 * Whether a word that starts with one dash consists of short options: "-hv", but not "-http=:8080".
 */
static bool is_cluster(const struct option_spec *specs, const char *word)
{
	if (word[0] != '-' || word[1] == '-')
		return true;
	for (const char *c = word + 1; *c; c++)
		if (!find_spec(specs, *c) && !find_spec(common_options, *c))
			return false;
	return true;
}

/* Handle one option. Returns as options_parse(). */
static int handle_option(const struct option_spec *specs, int found, int argc, char **argv,
			 int (*handle)(int id, const char *value, void *context), void *context)
{
	const struct option_spec *spec;
	const char *word;
	int err;

	if (found == '?' || found == ':')
		return report_bad_option(specs, found, argc, argv);
	spec = find_spec(specs, found);
	if (!spec)
		spec = find_spec(common_options, found);
	assert(spec);
	switch (spec->id) {
	case OPTION_HELP:
		word = find_short_word(argc, argv, 'h');
		if (is_cluster(specs, word))
			return 1;
		unknown_option_report(argv[0], specs, word);
		return -EINVAL;
	case OPTION_QUIET:
		log_set_level(LOG_LEVEL_QUIET);
		return 0;
	case OPTION_VERBOSE:
		log_set_level(LOG_LEVEL_VERBOSE);
		return 0;
	}
	err = handle(spec->id, optarg, context);
	/* getopt_long() continues at optind, and counts all words before it to the option. */
	while (!err && takes_several(spec) && optind < argc && is_value(argv[optind]))
		err = handle(spec->id, argv[optind++], context);
	return err;
}

int options_parse(const struct option_spec *specs, int argc, char **argv,
		  int (*handle)(int id, const char *value, void *context), void *context,
		  int *ret_first_operand)
{
	_cleanup_(tables_release) struct tables tables = {0};
	int index = -1;
	int err;
	int found;

	text_append_char(&tables.short_options, ':'); /* makes getopt_long() print nothing itself */
	err = add_specs(&tables, specs);
	if (err)
		return err;
	err = add_specs(&tables, common_options);
	if (err)
		return err;
	text_append_string(&tables.short_options, "");
	if (!array_add(&tables.long_options) || tables.short_options.failed)
		return -ENOMEM;
	optind = 0; /* glibc: reinitialize, as argv may have been parsed before */
	while ((found = getopt_long(argc, argv, tables.short_options.data,
				    tables.long_options.items, &index)) != -1) {
		if (index >= 0 && found != '?' && found != ':') {
			err = check_long_name(specs, argv, tables.long_options.items[index].name);
			if (err)
				return err;
		}
		index = -1;
		err = handle_option(specs, found, argc, argv, handle, context);
		if (err)
			return err;
	}
	*ret_first_operand = optind;
	return 0;
}

/* Print text from the help column on; further lines are indented to it. */
static void print_wrapped(const char *help, FILE *out)
{
	for (const char *c = help; *c; c++) {
		fputc(*c, out);
		if (*c == '\n')
			fprintf(out, "%*s", HELP_COLUMN, "");
	}
	fputc('\n', out);
}

static void print_specs(const struct option_spec *specs, FILE *out)
{
	for (; specs->name; specs++) {
		int width;

		if (!specs->help)
			continue;
		width = specs->short_name ? fprintf(out, "  -%c, ", specs->short_name)
					  : fprintf(out, "      ");
		width += fprintf(out, "--%s", specs->name);
		if (specs->argument)
			width += fprintf(out, " %s", specs->argument);
		if (width + 1 < HELP_COLUMN)
			fprintf(out, "%*s", HELP_COLUMN - width, "");
		else
			fprintf(out, "\n%*s", HELP_COLUMN, "");
		print_wrapped(specs->help, out);
	}
}

void options_print_help(const struct option_spec *specs, FILE *out)
{
	fputs("Options:\n", out);
	print_specs(specs, out);
	print_specs(common_options, out);
}

int option_read_duration(const char *value, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {
		{"", 1e9},   {"s", 1e9},    {"ms", 1e6},    {"us", 1e3},
		{"m", 60e9}, {"h", 3600e9}, {"d", 86400e9},
	};
	char *end;
	double number;

	if (!isdigit((unsigned char)value[0]) && value[0] != '.')
		return -EINVAL;
	if (strspn(value, "0123456789.") == 0 || strpbrk(value, "xXeE"))
		return -EINVAL;
	number = strtod(value, &end);
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		double ns = number * units[i].ns;

		if (!string_equals(end, units[i].suffix))
			continue;
		if (ns < 1 || ns > 9e18)
			return -EINVAL;
		*ret_ns = (uint64_t)ns;
		return 0;
	}
	return -EINVAL;
}

int option_read_number(const char *value, uint64_t low, uint64_t high, uint64_t *ret)
{
	char *end;
	unsigned long long number;

	if (!isdigit((unsigned char)value[0]))
		return -EINVAL;
	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno || *end || number < low || number > high)
		return -EINVAL;
	*ret = number;
	return 0;
}

int option_read_top(const char *value, size_t *ret)
{
	uint64_t number;

	if (option_read_number(value, 1, UINT32_MAX, &number)) {
		log_error("--top '%s': expected a number from 1", value);
		return -EINVAL;
	}
	*ret = (size_t)number;
	return 0;
}

int option_find_word(const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (string_equals(value, words[i]))
			return i;
	return -1;
}

int option_read_size(const char *value, uint64_t *ret_bytes)
{
	static const char units[] = "KMGT";
	char digits[24];
	size_t length = strlen(value);
	const char *unit;
	uint64_t number;

	if (!length || length >= sizeof(digits))
		return -EINVAL;
	unit = strchr(units, value[length - 1]);
	memcpy(digits, value, length + 1);
	if (unit)
		digits[length - 1] = '\0';
	if (option_read_number(digits, 0, UINT64_MAX, &number))
		return -EINVAL;
	if (unit && __builtin_mul_overflow(number, 1ull << (10 * (unit - units + 1)), &number))
		return -EINVAL;
	*ret_bytes = number;
	return 0;
}
