/*
 * A regular expression as a program: a nondeterministic automaton, whose states are instructions.
 *
 * Characters are grouped into classes: characters that no set of the expression distinguishes are
 * one class. So the width of the automaton's tables depends on the expression, not on Unicode.
 */
#ifndef ANALYSIS_REGEX_PROGRAM_H
#define ANALYSIS_REGEX_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/regex_parse.h"
#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"

/* Always has this number, and is the only one of its kind. */
#define REGEX_MATCH_INSTRUCTION 0u

enum regex_operation {
	REGEX_OP_MATCH,
	REGEX_OP_SET,   /* a character of the set, then next */
	REGEX_OP_SPLIT, /* next, and other */
	/* Go to next if this holds between two characters. */
	REGEX_OP_START,
	REGEX_OP_END,
	REGEX_OP_BOUNDARY,
	REGEX_OP_NO_BOUNDARY,
};

struct regex_instruction {
	enum regex_operation operation;
	uint32_t next;
	uint32_t other; /* of a split; of a set: its number */
};

struct regex_program {
	ARRAY(struct regex_instruction) instructions;
	uint32_t start;
	struct regex_sets sets;       /* of classes */
	ARRAY(uint32_t) class_starts; /* by class: its first character; in order, the first 0 */
	uint16_t ascii_classes[128];
	/* Whether a class has characters of words, by class. NULL if no instruction needs it. */
	bool *is_word;
};

/*
 * pattern  source of the tree, for the position of an error
 * tree     its sets become the program's
 * ret      the caller releases it, also on failure; all zero before
 *
 * Returns 0, -ENOMEM, or -EINVAL with position and reason in error.
 *
 * Source: K. Thompson, Regular expression search algorithm, CACM 11(6), 1968.
 */
_must_check_ int regex_compile(const char *pattern, struct regex_tree *tree,
			       struct regex_program *ret, struct error *error);
void regex_program_release(struct regex_program *program);

static inline uint32_t regex_find_class(const struct regex_program *program, uint32_t character)
{
	return (uint32_t)array_count_front(&program->class_starts, start, *start <= character) - 1;
}

#endif
