/*
 * Compiles from the end to the start: each part is compiled when its successor is known, so that no
 * instruction has to be completed later, except those that lead back.
 */
#include "analysis/regex_program.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/regex.h"

struct regex_compiler {
	const char *pattern;
	const struct regex_tree *tree;
	struct regex_program *program;
	struct error *error;
};

/* ---- classes -------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* A class starts at the start of a range, and behind its end. */
static int split_classes(struct regex_program *program, const struct regex_range *ranges,
			 size_t num_ranges)
{
	for (size_t i = 0; i < num_ranges; i++) {
		if (array_reserve(&program->class_starts, program->class_starts.length + 2))
			return -ENOMEM;
		program->class_starts.items[program->class_starts.length++] = ranges[i].first;
		program->class_starts.items[program->class_starts.length++] = ranges[i].last + 1;
	}
	return 0;
}

static void sort_classes(struct regex_program *program)
{
	uint32_t *starts = program->class_starts.items;
	size_t num_classes = 1;

	qsort(starts, program->class_starts.length, sizeof(*starts), compare_starts);
	for (size_t i = 1; i < program->class_starts.length; i++)
		if (starts[i] != starts[num_classes - 1])
			starts[num_classes++] = starts[i];
	program->class_starts.length = num_classes;
}

static bool asks_for_words(const struct regex_tree *tree)
{
	array_for_each (&tree->nodes, node)
		if (node->kind == REGEX_BOUNDARY || node->kind == REGEX_NO_BOUNDARY)
			return true;
	return false;
}

static int make_classes(struct regex_program *program, struct regex_tree *tree)
{
	bool has_words = asks_for_words(tree);
	uint32_t *first = array_add(&program->class_starts); /* 0 */

	if (!first || split_classes(program, tree->sets.ranges.items, tree->sets.ranges.length))
		return -ENOMEM;
	if (has_words && split_classes(program, regex_word_ranges, ARRAY_LENGTH(regex_word_ranges)))
		return -ENOMEM;
	sort_classes(program);
	for (uint32_t c = 0; c < ARRAY_LENGTH(program->ascii_classes); c++)
		program->ascii_classes[c] = (uint16_t)regex_find_class(program, c);
	array_for_each (&tree->sets.ranges, range) {
		range->first = regex_find_class(program, range->first);
		range->last = regex_find_class(program, range->last);
	}
	if (!has_words)
		return 0;
	program->is_word = calloc(program->class_starts.length, sizeof(*program->is_word));
	if (!program->is_word)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LENGTH(regex_word_ranges); i++)
		for (uint32_t c = regex_word_ranges[i].first; c <= regex_word_ranges[i].last; c++)
			program->is_word[program->ascii_classes[c]] = true;
	return 0;
}

/* ---- instructions --------------------------------------------------------------------------- */

/* repeat  the innermost repetition that it belongs to; NULL: none */
static int add_instruction(struct regex_compiler *compiler, const struct regex_node *repeat,
			   struct regex_instruction instruction, uint32_t *ret)
{
	struct regex_program *program = compiler->program;
	struct regex_instruction *added;

	if (program->instructions.length == REGEX_MAX_INSTRUCTIONS)
		return regex_refuse(compiler->pattern, repeat ? repeat->offset : 0, compiler->error,
				    "with its repetitions it is larger than %d characters",
				    REGEX_MAX_INSTRUCTIONS);
	added = array_add(&program->instructions);
	if (!added)
		return error_set(compiler->error, -ENOMEM, "out of memory");
	*added = instruction;
	*ret = (uint32_t)program->instructions.length - 1;
	return 0;
}

static int compile_node(struct regex_compiler *compiler, const struct regex_node *repeat,
			uint32_t number, uint32_t next, uint32_t *ret);

/* Children are linked from first to last, but compiled from last to first. */
static int compile_sequence(struct regex_compiler *compiler, const struct regex_node *repeat,
			    const struct regex_node *node, uint32_t next, uint32_t *ret)
{
	const struct regex_node *nodes = compiler->tree->nodes.items;
	ARRAY(uint32_t) children = {0};
	int err = 0;

	for (uint32_t i = node->first_child; i != REGEX_NO_NODE && !err; i = nodes[i].next) {
		uint32_t *child = array_add(&children);

		if (child)
			*child = i;
		else
			err = error_set(compiler->error, -ENOMEM, "out of memory");
	}
	while (!err && children.length)
		err = compile_node(compiler, repeat, children.items[--children.length], next,
				   &next);
	array_release(&children);
	*ret = next;
	return err;
}

static int compile_alternatives(struct regex_compiler *compiler, const struct regex_node *repeat,
				const struct regex_node *node, uint32_t next, uint32_t *ret)
{
	const struct regex_node *nodes = compiler->tree->nodes.items;
	uint32_t child = node->first_child;
	uint32_t entry;
	int err = compile_node(compiler, repeat, child, next, &entry);

	while (!err && nodes[child].next != REGEX_NO_NODE) {
		uint32_t other;

		child = nodes[child].next;
		err = compile_node(compiler, repeat, child, next, &other);
		if (err)
			return err;
		err = add_instruction(compiler, repeat,
				      (struct regex_instruction){REGEX_OP_SPLIT, entry, other},
				      &entry);
	}
	*ret = entry;
	return err;
}

/* x* : a split that leads into x, whose successor is the split. ret_body is the start of x. */
static int compile_loop(struct regex_compiler *compiler, const struct regex_node *node,
			uint32_t next, uint32_t *ret_split, uint32_t *ret_body)
{
	int err = add_instruction(
		compiler, node, (struct regex_instruction){REGEX_OP_SPLIT, next, next}, ret_split);

	if (err)
		return err;
	err = compile_node(compiler, node, node->first_child, *ret_split, ret_body);
	if (err)
		return err;
	compiler->program->instructions.items[*ret_split].next = *ret_body;
	return 0;
}

/*
 * x{2,4} is xx(x(x)?)?, and x{2,} is xx+. If x is empty, as in (){1000}, once is enough; nested
 * ones would otherwise take forever without reaching any limit.
 */
static int compile_repeat(struct regex_compiler *compiler, const struct regex_node *node,
			  uint32_t next, uint32_t *ret)
{
	uint32_t num_copies = node->least;
	uint32_t entry = next;
	int err = 0;

	if (node->most == REGEX_NO_LIMIT) {
		uint32_t split;
		uint32_t body;

		err = compile_loop(compiler, node, next, &split, &body);
		if (err)
			return err;
		entry = num_copies ? body : split;
		num_copies -= num_copies > 0;
	}
	for (uint32_t i = node->least; node->most != REGEX_NO_LIMIT && i < node->most; i++) {
		uint32_t body;

		err = compile_node(compiler, node, node->first_child, entry, &body);
		if (err)
			return err;
		if (body == entry)
			break;
		err = add_instruction(compiler, node,
				      (struct regex_instruction){REGEX_OP_SPLIT, body, next},
				      &entry);
		if (err)
			return err;
	}
	while (num_copies-- > 0) {
		uint32_t before = entry;

		err = compile_node(compiler, node, node->first_child, entry, &entry);
		if (err)
			return err;
		if (entry == before)
			break;
	}
	*ret = entry;
	return 0;
}

/* ret  the start of the part, which `next` follows; next itself for an empty part */
static int compile_node(struct regex_compiler *compiler, const struct regex_node *repeat,
			uint32_t number, uint32_t next, uint32_t *ret)
{
	static const enum regex_operation operations[] = {
		[REGEX_SET] = REGEX_OP_SET,
		[REGEX_START] = REGEX_OP_START,
		[REGEX_END] = REGEX_OP_END,
		[REGEX_BOUNDARY] = REGEX_OP_BOUNDARY,
		[REGEX_NO_BOUNDARY] = REGEX_OP_NO_BOUNDARY,
	};
	const struct regex_node *node = &compiler->tree->nodes.items[number];

	switch (node->kind) {
	case REGEX_SEQUENCE:
		return compile_sequence(compiler, repeat, node, next, ret);
	case REGEX_ALTERNATIVES:
		return compile_alternatives(compiler, repeat, node, next, ret);
	case REGEX_REPEAT:
		return compile_repeat(compiler, node, next, ret);
	case REGEX_SET:
	case REGEX_START:
	case REGEX_END:
	case REGEX_BOUNDARY:
	case REGEX_NO_BOUNDARY:
		break;
	}
	return add_instruction(compiler, repeat,
			       (struct regex_instruction){operations[node->kind], next, node->set},
			       ret);
}

int regex_compile(const char *pattern, struct regex_tree *tree, struct regex_program *ret,
		  struct error *error)
{
	struct regex_compiler compiler = {pattern, tree, ret, error};
	uint32_t match;
	int err;

	if (make_classes(ret, tree))
		return error_set(error, -ENOMEM, "out of memory");
	err = add_instruction(&compiler, NULL, (struct regex_instruction){REGEX_OP_MATCH, 0, 0},
			      &match);
	if (err)
		return err;
	err = compile_node(&compiler, NULL, tree->root, match, &ret->start);
	if (err)
		return err;
	ret->sets = tree->sets;
	tree->sets = (struct regex_sets){0};
	return 0;
}

void regex_program_release(struct regex_program *program)
{
	array_release(&program->instructions);
	array_release(&program->sets.items);
	array_release(&program->sets.ranges);
	array_release(&program->class_starts);
	free(program->is_word);
	*program = (struct regex_program){0};
}
