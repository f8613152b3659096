/*
 * Regular expressions: a line that is one, then texts, a line each. Whatever room the table of states
 * has, a text is matched or not; in a group, an expression is the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/regex.h"
#include "base/text.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NULL where it is refused, which has a reason. */
static struct regex *compile(const char *pattern, uint32_t max_states)
{
	struct error error = {0};
	struct regex *regex = NULL;
	int err = regex_new(pattern, &regex, &error);

	require(!err == !error.message[0]);
	require(!err == (regex != NULL));
	if (regex)
		regex_limit_cache(regex, max_states);
	return regex;
}

/* Only a flag has to stand at the start, and only here the expression is one level deeper. */
static struct regex *compile_group(const char *pattern)
{
	struct text group = {0};
	bool ignores_case = string_starts_with(pattern, "(?i)");
	struct regex *regex;

	text_printf(&group, "%s(?:%s)", ignores_case ? "(?i)" : "",
		    pattern + (ignores_case ? 4 : 0));
	require(!group.failed);
	regex = compile(group.data, 0x10000);
	text_release(&group);
	return regex;
}

static void match_lines(struct regex *const *regexes, const char *texts, const char *end)
{
	while (texts < end) {
		const char *line_end = memchr(texts, '\n', (size_t)(end - texts));
		size_t length = (size_t)((line_end ? line_end : end) - texts);
		bool is_match = regex_matches(regexes[0], texts, length);

		for (int i = 1; i < 4; i++)
			require(!regexes[i] ||
				regex_matches(regexes[i], texts, length) == is_match);
		texts += length + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	const char *line_end = size ? memchr(bytes, '\n', size) : NULL;
	size_t length = line_end ? (size_t)(line_end - bytes) : size;
	char *pattern = strndup(bytes, length);
	struct regex *regexes[4];

	require(pattern != NULL);
	regexes[0] = compile(pattern, 0x10000);
	regexes[1] = compile(pattern, 2);
	regexes[2] = compile(pattern, 0);
	regexes[3] = compile_group(pattern);
	if (regexes[0])
		match_lines(regexes, bytes + length + (line_end != NULL), bytes + size);
	for (int i = 0; i < 4; i++)
		regex_free(regexes[i]);
	free(pattern);
	return 0;
}
