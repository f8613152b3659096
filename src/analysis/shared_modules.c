/*
 * The same function may have a different module on each side of a comparison. It would be lost on
 * one side and new on the other.
 *
 * Folded text and other formats have functions without modules. Compared with a file that has them,
 * modules are ignored. And a program or a library may have another file name in each build,
 * libssl.so.1.1 and libssl.so.3. If only one side has a function's module, the function of this
 * name in a module that only the other side has is matched, if there is exactly one such module.
 */
#include "analysis/normalize.h"

#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"
#include "base/text.h"

/*
 * Whether a sample of the metric has a stack, or a stack called from it; by stack of the profile.
 */
static bool *find_stacks(const struct profile *profile, uint32_t metric)
{
	bool *is_used = calloc((size_t)profile_count_stacks(profile) + 1, sizeof(*is_used));

	if (!is_used)
		return NULL;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t stack = sample->stack;

		if (sample->metric != metric || !sample->value)
			continue;
		for (; stack != STACK_EMPTY && !is_used[stack];
		     stack = profile_get_stack_parent(profile, stack))
			is_used[stack] = true;
	}
	return is_used;
}

/* Folded text has no modules, except the kernel's: no sample need be visited. */
static bool has_modules(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_frames(profile); i++) {
		const struct frame *frame = profile_get_frame(profile, i);

		if (frame->kind != FRAME_KERNEL && frame->module != STRING_EMPTY)
			return true;
	}
	return false;
}

/* Kernel frames have a module even in folded text, from their mark. */
static bool has_module(const struct profile *profile, uint32_t stack)
{
	const struct location *location =
		profile_get_location(profile, profile_get_stack_location(profile, stack));

	for (uint32_t i = 0; i < location->num_frames; i++) {
		const struct frame *frame = profile_get_frame(profile, location->first_frame + i);

		if (frame->kind != FRAME_KERNEL && frame->module != STRING_EMPTY)
			return true;
	}
	return false;
}

static int find_modules(const struct profile *profile, uint32_t metric, bool *ret)
{
	_cleanup_free_ bool *is_used = find_stacks(profile, metric);

	*ret = false;
	if (!is_used)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile_count_stacks(profile) && !*ret; i++)
		*ret = is_used[i] && has_module(profile, i);
	return 0;
}

int shared_modules_apply(struct profile *profile, uint32_t before, uint32_t after,
			 enum missing_modules *ret)
{
	bool has_before, has_after;
	int err;

	*ret = MODULES_SHARED;
	if (!has_modules(profile))
		return 0;
	err = find_modules(profile, before, &has_before);
	if (err)
		return err;
	err = find_modules(profile, after, &has_after);
	if (err || has_before == has_after)
		return err;
	*ret = has_after ? MODULES_MISSING_BEFORE : MODULES_MISSING_AFTER;
	for (uint32_t i = 0; i < profile_count_frames(profile); i++)
		if (profile_get_frame(profile, i)->kind != FRAME_KERNEL)
			profile_set_frame_module(profile, i, STRING_EMPTY);
	return 0;
}

/* ---- modules with another name ------------------------------------------------------------ */

enum { SEEN_BEFORE = 1, SEEN_AFTER = 2 };

/*
 * Functions with the same name, apart from compilers' numbers, in modules that only one side has.
 */
struct moved_function {
	uint32_t name;   /* string of the profile */
	uint32_t before; /* module; STRING_EMPTY: none */
	uint32_t after;
	bool is_ambiguous; /* a side has it in several such modules */
};

INTERN_TABLE(moved_functions, struct moved_function, name);

struct module_matcher {
	struct profile *profile;
	uint8_t *sides;         /* by string: the sides that have this module */
	uint32_t *functions_of; /* by frame: number in functions, or HASH_INDEX_NONE */
	struct moved_functions functions;
	struct text text;
};

static void release(struct module_matcher *matcher)
{
	free(matcher->sides);
	free(matcher->functions_of);
	moved_functions_release(&matcher->functions);
	text_release(&matcher->text);
}

static void mark_frames(struct module_matcher *matcher, uint32_t stack, uint8_t side)
{
	const struct profile *profile = matcher->profile;
	const struct location *location =
		profile_get_location(profile, profile_get_stack_location(profile, stack));

	for (uint32_t i = 0; i < location->num_frames; i++)
		matcher->sides[profile_get_frame(profile, location->first_frame + i)->module] |=
			side;
}

static int mark_modules(struct module_matcher *matcher, uint32_t metric, uint8_t side)
{
	_cleanup_free_ bool *is_used = find_stacks(matcher->profile, metric);

	if (!is_used)
		return -ENOMEM;
	for (uint32_t i = 1; i < profile_count_stacks(matcher->profile); i++)
		if (is_used[i])
			mark_frames(matcher, i, side);
	return 0;
}

/* Whether each side has a module that the other lacks: otherwise nothing can have moved. */
static bool has_candidates(const struct module_matcher *matcher)
{
	size_t num_strings = profile_count_strings(matcher->profile);
	bool has_before = false;
	bool has_after = false;

	for (size_t i = STRING_EMPTY + 1; i < num_strings; i++) {
		has_before |= matcher->sides[i] == SEEN_BEFORE;
		has_after |= matcher->sides[i] == SEEN_AFTER;
	}
	return has_before && has_after;
}

/*
 * Whether it is a function of a module that only one side has. [unknown] in two modules is two
 * functions.
 */
static bool is_candidate(const struct module_matcher *matcher, const struct frame *frame)
{
	uint8_t sides = matcher->sides[frame->module];

	return frame->kind != FRAME_KERNEL && frame->module != STRING_EMPTY &&
	       (sides == SEEN_BEFORE || sides == SEEN_AFTER) &&
	       *profile_get_string(matcher->profile, frame->name) != '[';
}

static int add_candidate(struct module_matcher *matcher, const struct frame *frame, uint32_t *ret)
{
	struct string_table *strings = profile_get_strings(matcher->profile);
	struct moved_function function = {0};
	struct moved_function *found;
	uint32_t *module;
	int err;

	text_truncate(&matcher->text, 0);
	text_append_string(&matcher->text, "");
	clone_base_append(&matcher->text, profile_get_string(matcher->profile, frame->name),
			  profile_get_string_length(matcher->profile, frame->name));
	if (matcher->text.failed)
		return -ENOMEM;
	err = string_table_add(strings, matcher->text.data, matcher->text.length, &function.name);
	if (err)
		return err;
	err = moved_functions_intern(&matcher->functions, &function, ret);
	if (err)
		return err;
	found = &matcher->functions.items[*ret];
	module = matcher->sides[frame->module] == SEEN_BEFORE ? &found->before : &found->after;
	found->is_ambiguous |= *module != STRING_EMPTY && *module != frame->module;
	*module = frame->module;
	return 0;
}

static int add_candidates(struct module_matcher *matcher)
{
	uint32_t num_frames = profile_count_frames(matcher->profile);

	matcher->functions_of = malloc(((size_t)num_frames + 1) * sizeof(*matcher->functions_of));
	if (!matcher->functions_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_frames; i++) {
		/* A copy: new strings may move the borrowed frame. */
		struct frame frame = *profile_get_frame(matcher->profile, i);
		int err;

		matcher->functions_of[i] = HASH_INDEX_NONE;
		if (!is_candidate(matcher, &frame))
			continue;
		err = add_candidate(matcher, &frame, &matcher->functions_of[i]);
		if (err)
			return err;
	}
	return 0;
}

static bool has_moved(const struct moved_function *function)
{
	return !function->is_ambiguous && function->before != STRING_EMPTY &&
	       function->after != STRING_EMPTY;
}

static void list_moved(const struct module_matcher *matcher, struct moved_modules *ret)
{
	array_for_each (&matcher->functions, function) {
		if (!has_moved(function))
			continue;
		if (!ret->num_functions++) {
			ret->before = profile_get_string(matcher->profile, function->before);
			ret->after = profile_get_string(matcher->profile, function->after);
		}
	}
}

static void move_frames(struct module_matcher *matcher)
{
	for (uint32_t i = 0; i < profile_count_frames(matcher->profile); i++) {
		uint32_t number = matcher->functions_of[i];

		if (number != HASH_INDEX_NONE && has_moved(&matcher->functions.items[number]))
			profile_set_frame_module(matcher->profile, i,
						 matcher->functions.items[number].after);
	}
}

int moved_modules_match(struct profile *profile, uint32_t before, uint32_t after,
			struct moved_modules *ret)
{
	_cleanup_(release) struct module_matcher matcher = {.profile = profile};
	int err;

	*ret = (struct moved_modules){0};
	if (!has_modules(profile))
		return 0;
	matcher.sides = calloc(profile_count_strings(profile) + 1, sizeof(*matcher.sides));
	if (!matcher.sides)
		return -ENOMEM;
	err = mark_modules(&matcher, before, SEEN_BEFORE);
	if (err)
		return err;
	err = mark_modules(&matcher, after, SEEN_AFTER);
	if (err || !has_candidates(&matcher))
		return err;
	err = add_candidates(&matcher);
	if (err)
		return err;
	list_moved(&matcher, ret);
	move_frames(&matcher);
	return 0;
}
