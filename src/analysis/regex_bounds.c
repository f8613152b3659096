#include "analysis/filter.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What an expression would be when written out. */
struct written {
	uint64_t lengths[REGEX_MAX_DEPTH + 1]; /* of each open group, so far */
	uint64_t last;                         /* of the last part, which may be repeated */
	unsigned int depth;
};

static void add_part(struct written *written, uint64_t length)
{
	written->last = length;
	written->lengths[written->depth] += length;
}

/* Behind a bracket expression, as in [^]a-z[:digit:]]; at the end where it is not closed. */
static const char *skip_bracket(const char *c)
{
	c += 1 + (c[1] == '^');
	if (*c == ']')
		c++;
	while (*c && *c != ']') {
		const char *end = NULL;

		if (c[0] == '[' && (c[1] == ':' || c[1] == '.' || c[1] == '=')) {
			const char closing[3] = {c[1], ']', '\0'};

			end = strstr(c + 2, closing);
		}
		c = end ? end + 2 : c + 1;
	}
	return *c ? c + 1 : c;
}

/* The most that {2}, {2,} or {2,5} asks to be written. */
static uint64_t read_count(const char *c)
{
	char *end;
	uint64_t least = strtoul(c + 1, &end, 10);
	uint64_t most = *end == ',' ? strtoul(end + 1, NULL, 10) : least;

	return most > least ? most : least;
}

static void repeat(struct written *written, uint64_t count)
{
	uint64_t more = count > 1 ? count - 1 : 0;

	if (count > REGEX_MAX_LENGTH || written->last > REGEX_MAX_LENGTH)
		more = REGEX_MAX_LENGTH;
	written->lengths[written->depth] += more * written->last;
	written->last += more * written->last;
}

static void close_group(struct written *written)
{
	uint64_t length = written->lengths[written->depth];

	if (!written->depth)
		return;
	written->depth--;
	add_part(written, length);
}

int regex_check_bounds(const char *regex, struct error *error)
{
	struct written written = {0};
	const char *c = regex;

	while (*c) {
		const char *next = c + 1;

		if (*c == '\\' && c[1]) {
			next = c + 2;
			add_part(&written, 1);
		} else if (*c == '[') {
			next = skip_bracket(c);
			add_part(&written, 1);
		} else if (*c == '(') {
			if (written.depth == REGEX_MAX_DEPTH)
				return error_set(error, -EINVAL,
						 "at character %zu: more than %d parentheses are "
						 "open",
						 (size_t)(c - regex) + 1, REGEX_MAX_DEPTH);
			written.lengths[++written.depth] = 0;
			written.last = 0;
		} else if (*c == ')') {
			close_group(&written);
		} else if (*c == '{') {
			repeat(&written, read_count(c));
			next = c + 1 + strcspn(c + 1, "}");
			next += *next == '}';
		} else {
			add_part(&written, 1);
		}
		if (written.lengths[written.depth] > REGEX_MAX_LENGTH)
			return error_set(error, -EINVAL,
					 "at character %zu: with its repetitions it is longer than "
					 "%d characters",
					 (size_t)(c - regex) + 1, REGEX_MAX_LENGTH);
		c = next;
	}
	return 0;
}
