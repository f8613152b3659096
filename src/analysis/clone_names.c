/*
 * Two builds of one program number its clones, lambdas and closures differently: foo.constprop.0 in
 * one is foo.constprop.1 in the other. Only a name on one side needs a match. It gets its base name
 * if the other side has another such name of the same function, or the function itself: foo for
 * foo.cold. A name on both sides stays, so that no change of it can vanish in a sum.
 *
 * Sources of the patterns: GCC's clone_function_name(), LLVM's PartialInliner, HotColdSplitting,
 * ThinLTO promotion and UniqueInternalLinkageNames; the demanglers of binutils and LLVM; rustc's
 * legacy and v0 mangling; the closure names of Go's compiler; javac's LambdaToMethod.
 */
#include "analysis/normalize.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/frame_tree.h"
#include "analysis/function_list.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/text.h"

#define RUST_HASH_DIGITS 16

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static size_t count_digits(const char *name, size_t start, size_t end)
{
	size_t i = start;

	while (i < end && is_digit(name[i]))
		i++;
	return i - start;
}

static bool ends_with(const char *name, size_t length, const char *suffix)
{
	size_t suffix_length = strlen(suffix);

	return length > suffix_length &&
	       !memcmp(name + length - suffix_length, suffix, suffix_length);
}

/* Length without "::h0123456789abcdef", of Rust. */
static size_t strip_hash(const char *name, size_t length)
{
	size_t start = length - RUST_HASH_DIGITS;

	if (length <= RUST_HASH_DIGITS + 3 || memcmp(name + start - 3, "::h", 3))
		return length;
	for (size_t i = start; i < length; i++)
		if (!is_hex_digit(name[i]))
			return length;
	return start - 3;
}

/* Length without " [clone .cold]" of binutils or " (.cold)" of LLVM. */
static size_t strip_bracket(const char *name, size_t length)
{
	static const struct {
		const char *open;
		char close;
	} brackets[] = {{" [clone .", ']'}, {" (.", ')'}};

	for (size_t i = 0; i < ARRAY_LENGTH(brackets); i++) {
		size_t open_length = strlen(brackets[i].open);

		if (name[length - 1] != brackets[i].close)
			continue;
		for (size_t start = length - 1; start-- > 1 && name[start] != brackets[i].close;)
			if (length - start > open_length &&
			    !memcmp(name + start, brackets[i].open, open_length))
				return start;
	}
	return length;
}

/* Length without ".constprop.0", ".cold", ".llvm.123" or the ".12" of a nested function. */
static size_t strip_suffix(const char *name, size_t length)
{
	static const char *const words[] = {
		".constprop", ".isra",  ".part",   ".cold",        ".lto_priv",
		".llvm",      ".clone", ".__uniq", ".specialized", ".localalias",
	};
	size_t end = length;

	if (!memrchr(name, '.', length))
		return length;
	while (end > 0 && is_digit(name[end - 1]))
		end--;
	/* Not after a digit: python3.11 is a program, and 1.5 a number. */
	if (end < length && (end < 2 || name[end - 1] != '.' || !is_word(name[end - 2])))
		return length;
	end -= end < length;
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		size_t start = end - strlen(words[i]);

		if (ends_with(name, end, words[i]))
			return strchr(" ([", name[start - 1]) ? length : start;
	}
	return end < length && is_digit(name[end - 1]) ? length : end;
}

static size_t strip_suffixes(const char *name, size_t length)
{
	size_t stripped = length;

	do {
		length = stripped;
		if (length < 2)
			return length;
		stripped = strip_suffix(name, length);
		if (stripped == length)
			stripped = strip_bracket(name, length);
		if (stripped == length)
			stripped = strip_hash(name, length);
	} while (stripped < length);
	return length;
}

static bool is_behind(const char *name, size_t i, const char *word)
{
	size_t length = strlen(word);

	return i >= length && name[i - 1] == word[length - 1] &&
	       !memcmp(name + i - length, word, length);
}

/* Digits behind these words of Go, up to a '.', '-' or the end, and ".2.3" behind them. */
static size_t measure_go_number(const char *name, size_t i, size_t end)
{
	static const char *const words[] = {".func", ".gowrap", ".deferwrap", "-range"};
	size_t next = i + count_digits(name, i, end);

	if (next < end && name[next] != '.' && name[next] != '-')
		return 0;
	for (size_t j = 0; j < ARRAY_LENGTH(words); j++) {
		size_t more;

		if (!is_behind(name, i, words[j]))
			continue;
		while (next + 1 < end && name[next] == '.' &&
		       (more = count_digits(name, next + 1, end)))
			next += 1 + more;
		return next - i;
	}
	return 0;
}

/*
 * Length of the number at i that distinguishes clones: {lambda(int)#1}, {closure#0}; 'lambda0' and
 * $_0 of LLVM; main.f.func1 of Go; lambda$main$0 and Outer$1 of Java. 0: no such number.
 */
static size_t measure_number(const char *name, size_t i, size_t end)
{
	size_t num_digits;
	size_t next;

	/* A number starts behind another character: a name of many digits is read once. */
	if (i < 2 || !is_digit(name[i]) || is_digit(name[i - 1]))
		return 0;
	num_digits = count_digits(name, i, end);
	next = i + num_digits;
	if (name[i - 1] == '#')
		return next < end && name[next] == '}' ? num_digits : 0;
	if (is_behind(name, i, "'lambda"))
		return next < end && name[next] == '\'' ? num_digits : 0;
	if (next < end && is_word(name[next]))
		return 0;
	if (is_behind(name, i, "$_") || (name[i - 1] == '$' && is_word(name[i - 2])))
		return num_digits;
	return measure_go_number(name, i, end);
}

void clone_base_append(struct text *text, const char *name, size_t length)
{
	size_t end = strip_suffixes(name, length);

	for (size_t i = 0; i < end;) {
		size_t number = measure_number(name, i, end);
		size_t start = i;

		if (!number) {
			do
				i++;
			while (i < end && !is_digit(name[i]));
			text_append(text, name + start, i - start);
			continue;
		}
		i += number;
		/* {lambda#1} and {lambda} are the same. */
		if (text->length && text->data[text->length - 1] == '#')
			text_truncate(text, text->length - 1);
	}
}

/* Functions with the same base name in one module. */
struct clone_group {
	uint32_t base;   /* string of the profile */
	uint32_t module; /* string of the profile */
	bool is_before;  /* a function of only this side, or the one with the base name itself */
	bool is_after;
};

INTERN_TABLE(clone_table, struct clone_group, base, module);

struct clone_matcher {
	struct profile *profile;
	struct frame_tree tree;
	struct function_list functions;
	struct function_weight *before; /* by function */
	struct function_weight *after;
	uint32_t *groups_of; /* by function */
	struct clone_table groups;
	struct text text;
};

static void release(struct clone_matcher *matcher)
{
	free(matcher->before);
	free(matcher->after);
	free(matcher->groups_of);
	clone_table_release(&matcher->groups);
	text_release(&matcher->text);
	function_list_release(&matcher->functions);
	frame_tree_release(&matcher->tree);
}

static int add_base(struct profile *profile, struct text *text, const char *name, size_t length,
		    uint32_t *ret)
{
	text_truncate(text, 0);
	text_append_string(text, "");
	clone_base_append(text, name, length);
	if (text->failed)
		return -ENOMEM;
	return string_table_add(profile_get_strings(profile), text->data, text->length, ret);
}

/* Whether clone_base_append() would remove a part of the name. */
static bool is_clone(const char *name, size_t length)
{
	if (strip_suffixes(name, length) != length)
		return true;
	for (size_t i = 0; i < length; i++)
		if (measure_number(name, i, length))
			return true;
	return false;
}

/* Most profiles have no clones, and need no tree. */
static bool has_clones(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_frames(profile); i++) {
		uint32_t name = profile_get_frame(profile, i)->name;

		if (is_clone(profile_get_string(profile, name),
			     profile_get_string_length(profile, name)))
			return true;
	}
	return false;
}

static int weigh(struct clone_matcher *matcher, uint32_t metric, struct function_weight **ret)
{
	uint64_t sum;

	*ret = calloc(matcher->functions.num_functions, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	return function_list_weigh(&matcher->functions, metric, NULL, *ret, &sum);
}

static int init(struct clone_matcher *matcher, uint32_t before, uint32_t after)
{
	int err = frame_tree_init(&matcher->tree, matcher->profile);

	if (err)
		return err;
	err = function_list_init(&matcher->functions, &matcher->tree, true);
	if (err)
		return err;
	matcher->groups_of = calloc(matcher->functions.num_functions, sizeof(*matcher->groups_of));
	if (!matcher->groups_of)
		return -ENOMEM;
	err = weigh(matcher, before, &matcher->before);
	return err ? err : weigh(matcher, after, &matcher->after);
}

static int add_function(struct clone_matcher *matcher, size_t i)
{
	const struct function *function = &matcher->functions.functions[i];
	bool is_before = matcher->before[i].total;
	bool is_after = matcher->after[i].total;
	struct clone_group group = {0};
	struct clone_group *found;
	int err = add_base(matcher->profile, &matcher->text, function->name, function->name_length,
			   &group.base);

	if (err)
		return err;
	err = string_table_add(profile_get_strings(matcher->profile), function->module,
			       strlen(function->module), &group.module);
	if (err)
		return err;
	err = clone_table_intern(&matcher->groups, &group, &matcher->groups_of[i]);
	if (err)
		return err;
	found = &matcher->groups.items[matcher->groups_of[i]];
	if (is_before && is_after && function->name_length != matcher->text.length)
		return 0;
	found->is_before |= is_before;
	found->is_after |= is_after;
	return 0;
}

static bool is_matched(const struct clone_matcher *matcher, size_t function)
{
	const struct clone_group *group = &matcher->groups.items[matcher->groups_of[function]];

	return !matcher->before[function].total != !matcher->after[function].total &&
	       group->is_before && group->is_after;
}

static void list_matches(const struct clone_matcher *matcher, struct clone_matches *matches)
{
	for (size_t i = 0; i < matcher->functions.num_functions; i++) {
		if (!is_matched(matcher, i))
			continue;
		if (matches->num_names < CLONE_EXAMPLES)
			matches->examples[matches->num_names] =
				matcher->functions.functions[i].name;
		matches->num_names++;
	}
}

static int rename_frames(struct clone_matcher *matcher)
{
	struct profile *profile = matcher->profile;

	for (uint32_t i = 0; i < profile_count_frames(profile); i++) {
		uint32_t function = matcher->functions.by_frame[i];
		uint32_t full_name = profile_get_frame(profile, i)->full_name;
		int err;

		if (!is_matched(matcher, function))
			continue;
		err = add_base(profile, &matcher->text, profile_get_string(profile, full_name),
			       profile_get_string_length(profile, full_name), &full_name);
		if (err)
			return err;
		profile_set_frame_names(profile, i,
					matcher->groups.items[matcher->groups_of[function]].base,
					full_name);
	}
	return 0;
}

int clone_names_match(struct profile *profile, uint32_t before, uint32_t after,
		      struct clone_matches *ret)
{
	_cleanup_(release) struct clone_matcher matcher = {.profile = profile};
	int err;

	*ret = (struct clone_matches){0};
	if (!has_clones(profile))
		return 0;
	err = init(&matcher, before, after);
	if (err)
		return err;
	for (size_t i = 0; i < matcher.functions.num_functions; i++) {
		err = add_function(&matcher, i);
		if (err)
			return err;
	}
	list_matches(&matcher, ret);
	return ret->num_names ? rename_frames(&matcher) : 0;
}
