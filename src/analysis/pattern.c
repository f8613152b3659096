#include "analysis/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/regex.h"
#include "base/text.h"

/* Between slashes. */
static bool is_regex(const char *text)
{
	size_t length = strlen(text);

	return length >= 2 && text[0] == '/' && text[length - 1] == '/';
}

static int compile(struct pattern *pattern, const char *text, struct error *error)
{
	_cleanup_free_ char *regex = strndup(text + 1, strlen(text) - 2);
	struct error reason = {0};
	int err;

	if (!regex)
		return error_set(error, -ENOMEM, "out of memory");
	if (!*regex)
		return error_set(error, -EINVAL,
				 "the regular expression between the slashes of "
				 "'//' is missing");
	err = regex_new(regex, &pattern->regex, &reason);
	if (err == -EINVAL)
		return error_set(error, err, "the regular expression %.200s is not valid: %s", text,
				 reason.message);
	return err ? error_set(error, err, "%s", reason.message) : 0;
}

int pattern_init(struct pattern *pattern, const char *text, struct error *error)
{
	*pattern = (struct pattern){0};
	if (!is_regex(text)) {
		pattern->literal = strdup(text);
		return pattern->literal ? 0 : error_set(error, -ENOMEM, "out of memory");
	}
	return compile(pattern, text, error);
}

void pattern_release(struct pattern *pattern)
{
	regex_free(pattern->regex);
	free(pattern->literal);
	*pattern = (struct pattern){0};
}

bool pattern_matches(const struct pattern *pattern, const char *text)
{
	if (pattern->literal)
		return string_equals(pattern->literal, text);
	return regex_matches(pattern->regex, text, strlen(text));
}

/* People write "libc.so.6" as well as the whole path. */
bool pattern_matches_path(const struct pattern *pattern, const char *path)
{
	return pattern_matches(pattern, path) || pattern_matches(pattern, path_basename(path));
}

bool pattern_matches_number(const struct pattern *pattern, unsigned int number)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", number);
	return pattern_matches(pattern, digits);
}
