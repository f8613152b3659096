/*
 * Patterns that names are compared with: a literal, or a regular expression between slashes.
 *
 * Only bytes before a NUL count. Pure: no I/O.
 */
#ifndef ANALYSIS_PATTERN_H
#define ANALYSIS_PATTERN_H

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"

struct regex;

struct pattern {
	char *literal;       /* NULL when it is a regular expression */
	struct regex *regex; /* NULL when it is a literal */
};

/* Returns 0, -ENOMEM, or -EINVAL with the reason in error. */
_must_check_ int pattern_init(struct pattern *pattern, const char *text, struct error *error);
void pattern_release(struct pattern *pattern);

/* A literal must equal the whole text; a regular expression matches anywhere in it. */
bool pattern_matches(const struct pattern *pattern, const char *text);
/* The same for a path or its base name. */
bool pattern_matches_path(const struct pattern *pattern, const char *path);
/* The same for a number in decimal. */
bool pattern_matches_number(const struct pattern *pattern, unsigned int number);

#endif
