#include "analysis/fragment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile_builder.h"

/* What a fragment came to, in the words of the tests: "name weight, name weight". */
struct outcome {
	uint64_t inclusive;
	uint64_t exclusive;
	char callers[256];
	char callees[256];
};

static void print_children(const struct fragment_tree *result, const struct frame_tree *tree,
			   char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (uint32_t i = result->nodes[0].first_child; i; i = result->nodes[i].next_sibling)
		used += (size_t)snprintf(
			out + used, size - used, "%s%s %llu", used ? ", " : "",
			frame_tree_get_name_text(tree, result->nodes[i].frame, NULL),
			(unsigned long long)result->nodes[i].total);
}

static struct outcome measure(const struct profile *profile, const char *text)
{
	struct outcome outcome;
	struct fragment_tree callers;
	struct fragment_tree callees;
	struct fragment fragment;
	struct frame_tree tree;

	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(fragment_init(&fragment, &tree, text), 0);
	assert_int_equal(
		fragment_tree_init(&callers, &tree, &fragment, FRAGMENT_CALLERS, 0, NULL, 1), 0);
	assert_int_equal(
		fragment_tree_init(&callees, &tree, &fragment, FRAGMENT_CALLEES, 0, NULL, 1), 0);
	outcome.inclusive = callees.nodes[0].total;
	outcome.exclusive = callees.nodes[0].self;
	assert_int_equal(callers.nodes[0].total, outcome.inclusive);
	print_children(&callers, &tree, outcome.callers, sizeof(outcome.callers));
	print_children(&callees, &tree, outcome.callees, sizeof(outcome.callees));
	fragment_tree_release(&callers);
	fragment_tree_release(&callees);
	fragment_release(&fragment);
	frame_tree_release(&tree);
	return outcome;
}

static struct profile *make_profile(const char *const *lines)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");

	for (; *lines; lines++) {
		const char *space = strrchr(*lines, ' ');
		char stack[256];

		snprintf(stack, sizeof(stack), "%.*s", (int)(space - *lines), *lines);
		builder_add_sample(profile, thread, stack, strtoull(space + 1, NULL, 10));
	}
	return profile;
}

static void the_caller_is_of_the_first_and_the_callee_of_the_last_occurrence(void **state _unused_)
{
	static const char *const lines[] = {"main;a;b;a;b;a;c 5", NULL};
	struct profile *profile = make_profile(lines);
	struct outcome outcome = measure(profile, "a;b;a");

	assert_int_equal(outcome.inclusive, 5);
	assert_int_equal(outcome.exclusive, 0);
	assert_string_equal(outcome.callers, "main 5");
	assert_string_equal(outcome.callees, "c 5");
	profile_free(profile);
}

static void a_recursive_function_counts_once_in_a_stack(void **state _unused_)
{
	static const char *const lines[] = {"r;f;g;f 3", "r;f;h 2", "r;h 1", NULL};
	struct profile *profile = make_profile(lines);
	struct outcome outcome = measure(profile, "f");

	assert_int_equal(outcome.inclusive, 5);
	assert_int_equal(outcome.exclusive, 3);
	assert_string_equal(outcome.callers, "r 5");
	assert_string_equal(outcome.callees, "h 2");
	profile_free(profile);
}

static void a_stack_that_starts_with_the_fragment_has_no_caller(void **state _unused_)
{
	static const char *const lines[] = {"f;g 3", "r;f 2", NULL};
	struct profile *profile = make_profile(lines);
	struct outcome outcome = measure(profile, "f");

	assert_int_equal(outcome.inclusive, 5);
	assert_string_equal(outcome.callers, "r 2");
	profile_free(profile);
}

static void a_fragment_that_occurs_nowhere_weighs_nothing(void **state _unused_)
{
	static const char *const lines[] = {"main;a;b 5", NULL};
	struct profile *profile = make_profile(lines);

	assert_int_equal(measure(profile, "b;a").inclusive, 0);
	assert_int_equal(measure(profile, "absent").inclusive, 0);
	assert_int_equal(measure(profile, "").inclusive, 0);
	profile_free(profile);
}

static void a_frame_is_meant_with_or_without_its_mark(void **state _unused_)
{
	static const char *const lines[] = {"a;read_[k] 1", "a;read 2", "a;read_[j] 4", NULL};
	struct profile *profile = make_profile(lines);

	assert_int_equal(measure(profile, "a;read").inclusive, 7);
	assert_int_equal(measure(profile, "a;read_[k]").inclusive, 1);
	assert_int_equal(measure(profile, "read_[j]").inclusive, 4);
	assert_int_equal(measure(profile, "read_[i]").inclusive, 0);
	profile_free(profile);
}

static void the_fragment_without_frames_is_the_whole_tree(void **state _unused_)
{
	static const char *const lines[] = {"a;b 1", "a;c 2", "b 4", NULL};
	struct profile *profile = make_profile(lines);
	struct outcome outcome = measure(profile, NULL);

	assert_int_equal(outcome.inclusive, 7);
	assert_string_equal(outcome.callees, "b 4, a 3");
	assert_string_equal(outcome.callers, "b 5, c 2");
	profile_free(profile);
}

static void a_very_deep_recursion_is_measured(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	_cleanup_(text_release) struct text stack = {0};
	_cleanup_(text_release) struct text fragment = {0};

	for (int i = 0; i < 2000; i++)
		text_append_string(&stack, i ? ";a" : "a");
	for (int i = 0; i < 1000; i++)
		text_append_string(&fragment, i ? ";a" : "a");
	builder_add_sample(profile, thread, stack.data, 3);
	assert_int_equal(measure(profile, fragment.data).exclusive, 3);
	profile_free(profile);
}

/*
 * Random recursive profiles. The reference is written for clarity: a stack is an array of letters,
 * occurrences are found by comparing at every place.
 */
#define NUM_LETTERS 3
#define MAX_DEPTH   12
#define NUM_STACKS  60

struct stack {
	char letters[MAX_DEPTH + 1];
	uint64_t weight;
};

struct line {
	char text[2 * MAX_DEPTH + 32];
	uint64_t weight;
};

struct lines {
	struct line items[NUM_STACKS];
	size_t length;
};

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)*seed * limit) >> 32);
}

static void add_line(struct lines *lines, const char *text, uint64_t weight)
{
	for (size_t i = 0; i < lines->length; i++) {
		if (string_equals(lines->items[i].text, text)) {
			lines->items[i].weight += weight;
			return;
		}
	}
	snprintf(lines->items[lines->length].text, sizeof(lines->items[0].text), "%s", text);
	lines->items[lines->length++].weight = weight;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left;
	const struct line *b = right;

	return strcmp(a->text, b->text);
}

static void assert_same_lines(struct lines *a, struct lines *b)
{
	qsort(a->items, a->length, sizeof(struct line), compare_lines);
	qsort(b->items, b->length, sizeof(struct line), compare_lines);
	assert_int_equal(a->length, b->length);
	for (size_t i = 0; i < a->length; i++) {
		assert_string_equal(a->items[i].text, b->items[i].text);
		assert_int_equal(a->items[i].weight, b->items[i].weight);
	}
}

/* What is above the first, or below the last occurrence in each stack, read away from it. */
static void expect_lines(const struct stack *stacks, const char *letters,
			 enum fragment_direction direction, struct lines *lines)
{
	lines->length = 0;
	for (size_t i = 0; i < NUM_STACKS; i++) {
		const char *first = strstr(stacks[i].letters, letters);
		const char *last = first;
		char rest[MAX_DEPTH + 1] = "";

		if (!first)
			continue;
		for (const char *next = first; next; next = strstr(next + 1, letters))
			last = next;
		if (direction == FRAGMENT_CALLEES)
			strcpy(rest, last + strlen(letters));
		else
			for (const char *c = first; c-- > stacks[i].letters;)
				strncat(rest, c, 1);
		add_line(lines, rest, stacks[i].weight);
	}
}

/* The same, read from the tree that is tested; and its sums. */
static void read_lines(const struct fragment_tree *result, const struct frame_tree *tree,
		       struct lines *lines)
{
	lines->length = 0;
	for (uint32_t i = 0; i < result->num_nodes; i++) {
		const struct fragment_node *node = &result->nodes[i];
		char path[MAX_DEPTH + 1] = "";
		uint64_t below = 0;
		uint64_t before = UINT64_MAX;

		for (uint32_t child = node->first_child; child;
		     child = result->nodes[child].next_sibling) {
			assert_int_equal(result->nodes[child].parent, i);
			assert_true(result->nodes[child].total <= before);
			before = result->nodes[child].total;
			below += before;
		}
		assert_int_equal(node->total, below + node->self);
		for (uint32_t at = i; at; at = result->nodes[at].parent) {
			memmove(path + 1, path, strlen(path) + 1);
			path[0] = *frame_tree_get_name_text(tree, result->nodes[at].frame, NULL);
		}
		if (node->self)
			add_line(lines, path, node->self);
	}
}

/* The location of one letter or, the second one inlined into the first, of two. */
static uint32_t add_location(struct profile *profile, const char *letters, size_t num_frames)
{
	uint32_t num_locations = profile_count_locations(profile);
	uint64_t address = num_frames == 2 ? (uint64_t)letters[0] << 8 | (uint64_t)letters[1]
					   : (uint64_t)letters[0];
	struct frame frames[2] = {0};
	uint32_t location;

	for (size_t i = 0; i < num_frames; i++)
		assert_int_equal(string_table_add(profile_get_strings(profile), &letters[i], 1,
						  &frames[num_frames - 1 - i].name),
				 0);
	frames[0].is_inlined = num_frames == 2;
	assert_int_equal(profile_add_location(profile, LOCATION_KERNEL, 0, address, &location), 0);
	if (profile_count_locations(profile) > num_locations)
		assert_int_equal(
			profile_set_frames(profile, location, frames, num_frames, UNNAMED_NOT), 0);
	return location;
}

/* One letter a frame. Stacks with the same outer part share it, or, inlined otherwise, do not. */
static void add_stack(struct profile *profile, const struct stack *stack, uint32_t *seed)
{
	uint32_t id = STACK_EMPTY;
	size_t depth = strlen(stack->letters);

	for (size_t i = 0; i < depth;) {
		size_t num_frames = i + 1 < depth && random_below(seed, 8) == 0 ? 2 : 1;
		uint32_t location = add_location(profile, &stack->letters[i], num_frames);

		assert_int_equal(profile_add_stack(profile, id, location, &id), 0);
		i += num_frames;
	}
	assert_int_equal(profile_add_sample(profile, 0, id, 0, stack->weight), 0);
}

static void check_fragment(const struct frame_tree *tree, const struct stack *stacks,
			   const char *letters)
{
	struct fragment_tree results[2];
	struct fragment fragment;
	struct lines expected;
	struct lines lines;
	char text[16] = "";

	for (size_t i = 0, length = strlen(letters); i < length; i++) {
		text[2 * i] = letters[i];
		text[2 * i + 1] = i + 1 < length ? ';' : '\0';
	}
	assert_int_equal(fragment_init(&fragment, tree, text), 0);
	for (int direction = FRAGMENT_CALLERS; direction <= FRAGMENT_CALLEES; direction++) {
		assert_int_equal(fragment_tree_init(&results[direction], tree, &fragment,
						    (enum fragment_direction)direction, 0, NULL, 0),
				 0);
		expect_lines(stacks, letters, (enum fragment_direction)direction, &expected);
		read_lines(&results[direction], tree, &lines);
		assert_same_lines(&expected, &lines);
	}
	/* read_lines() has seen that the sums of both sides are these. */
	assert_int_equal(results[0].nodes[0].total, results[1].nodes[0].total);
	fragment_tree_release(&results[0]);
	fragment_tree_release(&results[1]);
	fragment_release(&fragment);
}

static void check_profile(uint32_t seed)
{
	struct profile *profile = profile_new();
	struct stack stacks[NUM_STACKS];
	struct frame_tree tree;
	uint32_t metric;
	char letters[5];

	builder_add_thread(profile, 0, 0, "");
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	for (size_t i = 0; i < NUM_STACKS; i++) {
		uint32_t depth = 1 + random_below(&seed, MAX_DEPTH);

		stacks[i] = (struct stack){.weight = 1 + random_below(&seed, 9)};
		for (uint32_t level = 0; level < depth; level++)
			stacks[i].letters[level] = (char)('a' + random_below(&seed, NUM_LETTERS));
		add_stack(profile, &stacks[i], &seed);
	}
	assert_int_equal(frame_tree_init(&tree, profile), 0);
	for (int i = 1; i < 5 * 5 * 5 * 5; i++) { /* all of one to four letters */
		size_t length = 0;

		for (int rest = i; rest && rest % 5 < NUM_LETTERS + 1 && rest % 5; rest /= 5)
			letters[length++] = (char)('a' + rest % 5 - 1);
		letters[length] = '\0';
		if (length)
			check_fragment(&tree, stacks, letters);
	}
	frame_tree_release(&tree);
	profile_free(profile);
}

static void callers_and_callees_add_up_in_random_recursive_stacks(void **state _unused_)
{
	for (uint32_t seed = 1; seed <= 30; seed++)
		check_profile(seed);
}

static void only_selected_samples_of_the_metric_count(void **state _unused_)
{
	static const char *const lines[] = {"a;b 1", "a;c 2", "a 4", NULL};
	struct profile *profile = make_profile(lines);
	uint8_t is_selected[] = {1, 0, 1, 1};
	struct selection selection = {.is_selected = is_selected, .num_samples = 4};
	struct fragment_tree result;
	struct fragment fragment;
	struct frame_tree tree;
	uint32_t bytes;

	assert_int_equal(profile_add_metric(profile, "alloc", "bytes", &bytes), 0);
	assert_int_equal(
		profile_add_sample(profile, 0, profile_get_sample(profile, 0)->stack, bytes, 1000),
		0);
	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(fragment_init(&fragment, &tree, "a"), 0);
	assert_int_equal(
		fragment_tree_init(&result, &tree, &fragment, FRAGMENT_CALLEES, 0, &selection, 0),
		0);
	assert_int_equal(result.nodes[0].total, 5);
	assert_int_equal(result.nodes[0].self, 4);
	assert_int_equal(result.num_nodes, 2);
	fragment_tree_release(&result);
	fragment_release(&fragment);
	frame_tree_release(&tree);
	profile_free(profile);
}

static void a_sum_beyond_64_bits_is_an_error(void **state _unused_)
{
	static const char *const lines[] = {"a;b 18446744073709551615", "a;c 1", NULL};
	struct profile *profile = make_profile(lines);
	struct fragment_tree result;
	struct fragment fragment;
	struct frame_tree tree;

	assert_int_equal(frame_tree_init(&tree, profile), 0);
	assert_int_equal(fragment_init(&fragment, &tree, "a"), 0);
	assert_int_equal(
		fragment_tree_init(&result, &tree, &fragment, FRAGMENT_CALLEES, 0, NULL, 0),
		-EOVERFLOW);
	fragment_release(&fragment);
	frame_tree_release(&tree);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_caller_is_of_the_first_and_the_callee_of_the_last_occurrence),
		cmocka_unit_test(a_recursive_function_counts_once_in_a_stack),
		cmocka_unit_test(a_stack_that_starts_with_the_fragment_has_no_caller),
		cmocka_unit_test(a_fragment_that_occurs_nowhere_weighs_nothing),
		cmocka_unit_test(a_frame_is_meant_with_or_without_its_mark),
		cmocka_unit_test(the_fragment_without_frames_is_the_whole_tree),
		cmocka_unit_test(a_very_deep_recursion_is_measured),
		cmocka_unit_test(callers_and_callees_add_up_in_random_recursive_stacks),
		cmocka_unit_test(only_selected_samples_of_the_metric_count),
		cmocka_unit_test(a_sum_beyond_64_bits_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
