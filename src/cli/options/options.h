/*
 * Command-line options from one table: parsed with getopt_long, and printed as help.
 */
#ifndef CLI_OPTIONS_OPTIONS_H
#define CLI_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"

struct option_spec {
	int id;               /* for the command's handler; above 0 */
	char short_name;      /* 0: none */
	const char *name;     /* long name, without dashes */
	const char *argument; /* name of its value, "FILE"; "FILE..." for several; NULL: none */
	const char *help;     /* NULL: a hidden option for developers */
};

/* -h, -q and -v, which all commands have. */
enum common_option { OPTION_HELP = 1000, OPTION_QUIET, OPTION_VERBOSE };

/*
 * Pass every option to handle(), in order. Options may follow operands. Words after `--` are not
 * parsed. An option of several values takes all words up to the next option: handle() gets each of
 * them.
 *
 * handle() returns 0, or a negative number after reporting an error, which stops.
 * ret_first_operand  index in argv of the first operand; operands are last
 *
 * Returns 0, 1 if help was asked for (nothing is printed), or negative (usage error, reported).
 */
_must_check_ int options_parse(const struct option_spec *specs, int argc, char **argv,
			       int (*handle)(int id, const char *value, void *context),
			       void *context, int *ret_first_operand);

/* The options of all commands, as a table. */
const struct option_spec *options_get_common(void);

void options_print_help(const struct option_spec *specs, FILE *out);

/* Values. Each returns 0 or -EINVAL. */

/* 10, 10s, 1.5s, 200ms, 50us, 5m, 1h, 2d: above 0. */
_must_check_ int option_read_duration(const char *value, uint64_t *ret_ns);
/* Decimal digits only, from low to high. */
_must_check_ int option_read_number(const char *value, uint64_t low, uint64_t high, uint64_t *ret);

/* The value of --top; errors are printed. */
_must_check_ int option_read_top(const char *value, size_t *ret);

/* 4096, 500M, 2G: K, M, G and T are powers of 1024. */
_must_check_ int option_read_size(const char *value, uint64_t *ret_bytes);

/* The index of the value in a list that NULL ends, or -1. */
int option_find_word(const char *value, const char *const *words);

#endif
