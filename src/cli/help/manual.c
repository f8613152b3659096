/* Makes a manual page of a command's descriptor: summary, usage, options, help. */
#include <string.h>

#include "base/text.h"
#include "cli/files/format_list.h"
#include "cli/help/generated_text.h"

/*
 * A character, escaped for man(7). A plain "-" would be typeset as a hyphen, which nobody can paste
 * into a shell.
 */
static void print_char(char c, FILE *out)
{
	if (c == '\\')
		fputs("\\e", out);
	else if (c == '-')
		fputs("\\-", out);
	else
		fputc(c, out);
}

/* Print text; a dot or a quote at the start of a line is escaped, else it would be a request. */
static void print_text(const char *text, FILE *out)
{
	bool is_line_start = true;

	for (; *text; text++) {
		if (is_line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		print_char(*text, out);
		is_line_start = *text == '\n';
	}
}

/* Usage and help keep their line breaks and indentation. */
static void print_as_it_is(const char *text, FILE *out)
{
	fputs(".nf\n", out);
	print_text(text, out);
	if (*text && text[strlen(text) - 1] != '\n')
		fputc('\n', out);
	fputs(".fi\n", out);
}

static void print_options(const struct option_spec *option, FILE *out)
{
	for (; option->name; option++) {
		if (!option->help)
			continue;
		fputs(".TP\n\\fB", out);
		if (option->short_name)
			fprintf(out, "\\-%c\\fR, \\fB", option->short_name);
		fputs("\\-\\-", out);
		print_text(option->name, out);
		fputs("\\fR", out);
		if (option->argument) {
			fputs(" \\fI", out);
			print_text(option->argument, out);
			fputs("\\fR", out);
		}
		fputc('\n', out);
		print_text(option->help, out);
		fputc('\n', out);
	}
}

static void print_usage(const char *usage, FILE *out)
{
	/* The first line starts with "Usage: "; skip it. */
	if (string_starts_with(usage, "Usage: "))
		usage += strlen("Usage: ");
	fputs(".nf\n", out);
	while (*usage) {
		size_t length = strcspn(usage, "\n");

		for (size_t i = 0; i < length; i++)
			print_char(usage[i], out);
		fputc('\n', out);
		usage += length;
		usage += *usage == '\n';
		usage += strspn(usage, " ");
	}
	fputs(".fi\n", out);
}

static void print_format_name(const struct format *format, FILE *out)
{
	fputs(".TP\n\\fB", out);
	print_text(format->name, out);
	fputs("\\fR", out);
	if (format->extension[0]) {
		fputs(" (", out);
		print_text(format->extension, out);
		fputc(')', out);
	}
}

static void print_format(const struct format *format, void *context)
{
	FILE *out = context;

	print_format_name(format, out);
	fprintf(out, ", %s\n", !format->read ? "write" : !format->write ? "read" : "read, write");
	print_text(format->summary, out);
	fputc('\n', out);
}

static void print_written_format(const struct format *format, void *context)
{
	FILE *out = context;

	if (!format->write)
		return;
	print_format_name(format, out);
	fputc('\n', out);
	print_text(format->summary, out);
	fputc('\n', out);
}

void manual_print_formats(FILE *out)
{
	format_list_for_each(print_written_format, out);
}

void manual_print(const struct command *command, FILE *out)
{
	fputs(".TH STACKWIDE\\-", out);
	for (const char *c = command->name; *c; c++)
		print_char(*c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c, out);
	fprintf(out, " 1 \"\" \"stackwide %s\" \"User Commands\"\n", STACKWIDE_VERSION);
	fputs(".SH NAME\nstackwide\\-", out);
	print_text(command->name, out);
	fputs(" \\- ", out);
	print_text(command->summary, out);
	fputs("\n.SH SYNOPSIS\n", out);
	print_usage(command->usage, out);
	if (command->help) {
		fputs(".SH DESCRIPTION\n", out);
		print_as_it_is(command->help, out);
	}
	fputs(".SH OPTIONS\n", out);
	print_options(command->options, out);
	print_options(options_get_common(), out);
	if (string_equals(command->name, "convert")) {
		fputs(".SH FORMATS\nBy the name that \\-\\-to and \\-\\-from take:\n", out);
		format_list_for_each(print_format, out);
	}
	fputs(".SH SEE ALSO\n.BR stackwide (1)\n", out);
}
