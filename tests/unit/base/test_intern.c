#include "base/intern.h"

#include <string.h>

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct edge {
	uint32_t from;
	uint32_t to;
	uint64_t weight;
};
INTERN_TABLE(edge_table, struct edge, from, to);

struct word {
	const char *text;
};

static uint64_t hash_word(const struct word *word)
{
	return hash_bytes(word->text, strlen(word->text));
}

static bool is_same_word(const struct word *a, const struct word *b)
{
	return strcmp(a->text, b->text) == 0;
}

INTERN_TABLE_BY(word_table, struct word, hash_word, is_same_word);

static uint32_t intern_edge(struct edge_table *edges, uint32_t from, uint32_t to)
{
	uint32_t number = HASH_INDEX_NONE;

	assert_int_equal(edge_table_intern(edges, &(struct edge){.from = from, .to = to}, &number),
			 0);
	return number;
}

static void items_are_numbered_as_they_come_and_found_again(void **state _unused_)
{
	struct edge_table edges = {0};

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(intern_edge(&edges, i, i + 1), i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(intern_edge(&edges, i, i + 1), i);
	assert_int_equal(edges.length, 1000);
	edge_table_release(&edges);
}

static void all_the_fields_tell_items_apart_and_no_others(void **state _unused_)
{
	struct edge_table edges = {0};
	uint32_t number = intern_edge(&edges, 1, 2);

	edges.items[number].weight = 7;
	assert_int_equal(intern_edge(&edges, 1, 3), 1);
	assert_int_equal(intern_edge(&edges, 2, 2), 2);
	assert_int_equal(intern_edge(&edges, 2, 1), 3);
	assert_int_equal(intern_edge(&edges, 1, 2), number);
	assert_int_equal(edges.items[number].weight, 7);
	edge_table_release(&edges);
}

static void what_was_not_added_is_not_found(void **state _unused_)
{
	struct edge_table edges = {0};

	assert_int_equal(edge_table_find(&edges, &(struct edge){.from = 1}), HASH_INDEX_NONE);
	(void)intern_edge(&edges, 1, 2);
	assert_int_equal(edge_table_find(&edges, &(struct edge){.from = 1}), HASH_INDEX_NONE);
	edge_table_release(&edges);
}

static void a_table_may_have_its_own_way_to_compare(void **state _unused_)
{
	struct word_table words = {0};
	char copy[] = "two";
	uint32_t number = HASH_INDEX_NONE;

	assert_int_equal(word_table_add(&words, &(struct word){"one"}, &number), 0);
	assert_int_equal(word_table_add(&words, &(struct word){"two"}, &number), 0);
	assert_int_equal(word_table_find(&words, &(struct word){copy}), 1);
	word_table_release(&words);
}

static void a_table_that_was_released_is_empty(void **state _unused_)
{
	struct edge_table edges = {0};

	(void)intern_edge(&edges, 1, 2);
	edge_table_release(&edges);
	assert_int_equal(edge_table_find(&edges, &(struct edge){.from = 1, .to = 2}),
			 HASH_INDEX_NONE);
	assert_int_equal(intern_edge(&edges, 3, 4), 0);
	edge_table_release(&edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_numbered_as_they_come_and_found_again),
		cmocka_unit_test(all_the_fields_tell_items_apart_and_no_others),
		cmocka_unit_test(what_was_not_added_is_not_found),
		cmocka_unit_test(a_table_may_have_its_own_way_to_compare),
		cmocka_unit_test(a_table_that_was_released_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
