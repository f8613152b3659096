/*
 * The text of a regular expression as a tree. regex.h describes the language.
 *
 * Characters are code points; a byte outside any character is a character of its own, above all
 * code points. Pure: no I/O.
 */
#ifndef ANALYSIS_REGEX_PARSE_H
#define ANALYSIS_REGEX_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "base/utf8.h"

#define REGEX_BROKEN_BYTE    0x110000u
#define REGEX_LAST_CHARACTER (REGEX_BROKEN_BYTE + 0xff)
#define REGEX_NO_NODE        UINT32_MAX

/* Both ends are inclusive. */
struct regex_range {
	uint32_t first;
	uint32_t last;
};

/* Ranges in order that neither overlap nor touch. */
struct regex_set {
	uint32_t first_range;
	uint32_t num_ranges;
};

struct regex_sets {
	ARRAY(struct regex_set) items;
	ARRAY(struct regex_range) ranges; /* of all */
};

enum regex_node_kind {
	REGEX_SET, /* one character */
	REGEX_START,
	REGEX_END,
	REGEX_BOUNDARY,
	REGEX_NO_BOUNDARY,
	REGEX_SEQUENCE,
	REGEX_ALTERNATIVES,
	REGEX_REPEAT,
};

#define REGEX_NO_LIMIT UINT32_MAX

struct regex_node {
	enum regex_node_kind kind;
	uint32_t first_child; /* REGEX_NO_NODE: none */
	uint32_t next;        /* of the same parent */
	uint32_t set;         /* of a REGEX_SET: its number */
	uint32_t least;       /* of a REGEX_REPEAT */
	uint32_t most;        /* of a REGEX_REPEAT; may be REGEX_NO_LIMIT */
	uint32_t offset;      /* of a REGEX_REPEAT: its position, in bytes of the pattern */
	uint32_t height;      /* levels below */
};

struct regex_tree {
	ARRAY(struct regex_node) nodes;
	struct regex_sets sets; /* of characters */
	uint32_t root;
};

/* Ranges of \w; \b is between one of these characters and another. */
extern const struct regex_range regex_word_ranges[4];

/* The character at the start of `size` bytes, at least one. Returns its length. */
static inline size_t regex_decode(const char *text, size_t size, uint32_t *ret)
{
	size_t length = utf8_decode(text, size, ret);

	if (utf8_is_broken(*ret, length))
		*ret = REGEX_BROKEN_BYTE + (uint8_t)*text;
	return length;
}

/* Report "at character 3: " of the pattern, and the reason. Returns -EINVAL. */
_printf_(4, 5) int regex_refuse(const char *pattern, size_t offset, struct error *error,
				const char *format, ...);

/*
 * ret  the caller releases it, also on failure; all zero before
 *
 * Returns 0, -ENOMEM, or -EINVAL with position and reason in error.
 */
_must_check_ int regex_parse(const char *pattern, struct regex_tree *ret, struct error *error);
void regex_tree_release(struct regex_tree *tree);

#endif
