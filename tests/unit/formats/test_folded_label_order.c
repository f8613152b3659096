/*
 * Ranks compare as the labels do in a line: behind an inner one is `;`, behind the last one nothing.
 */
#include "unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/folded/label_order.h"

static uint32_t add(struct string_table *labels, const char *label)
{
	uint32_t id;

	assert_int_equal(string_table_add(labels, label, strlen(label), &id), 0);
	return id;
}

static void other_labels_may_sort_between_the_ranks_of_one(void **state _unused_)
{
	struct string_table *labels = string_table_new();
	uint32_t start = add(labels, "start");
	uint32_t main_run = add(labels, "main::run");
	uint32_t main_only = add(labels, "main");
	struct label_order order;

	assert_int_equal(label_order_init(&order, labels), 0);
	/* The empty label is in every table, and first: `;` sorts before a letter. */
	assert_int_equal(order.ranks[main_only].last, 3);
	assert_int_equal(order.ranks[main_run].last, 4);
	assert_int_equal(order.ranks[main_run].inner, 5);
	assert_int_equal(order.ranks[main_only].inner, 6);
	assert_int_equal(order.ranks[start].last, 7);
	assert_int_equal(order.ranks[start].inner, 8);
	assert_int_equal(order.labels[6], main_only);
	label_order_release(&order);
	string_table_free(labels);
}

/* A label of so many bytes, of those around `;` and others. */
static void draw(uint32_t *seed, char *label)
{
	static const char bytes[] = " :<a\xff";
	uint32_t length = (*seed >> 8) % 5;

	for (uint32_t i = 0; i < length; i++) {
		*seed = *seed * 1664525 + 1013904223;
		label[i] = bytes[(*seed >> 8) % 5];
	}
	*seed = *seed * 1664525 + 1013904223;
	label[length] = '\0';
}

static int compare(const char *a, bool is_a_inner, const char *b, bool is_b_inner)
{
	char text_a[8];
	char text_b[8];

	strcat(strcpy(text_a, a), is_a_inner ? ";" : "");
	strcat(strcpy(text_b, b), is_b_inner ? ";" : "");
	return strcmp(text_a, text_b);
}

static void ranks_are_in_the_order_of_the_text(void **state _unused_)
{
	struct string_table *labels = string_table_new();
	struct label_order order;
	uint32_t seed = 1;
	uint32_t count;

	for (int i = 0; i < 300; i++) {
		char label[8];

		draw(&seed, label);
		add(labels, label);
	}
	assert_int_equal(label_order_init(&order, labels), 0);
	count = string_table_get_count(labels);
	assert_true(count > 100);
	for (uint32_t i = 1; i < 2 * count; i++) {
		uint32_t a = order.labels[i];
		uint32_t b = order.labels[i + 1];

		assert_true(compare(string_table_get(labels, a), order.ranks[a].inner == i,
				    string_table_get(labels, b),
				    order.ranks[b].inner == i + 1) < 0);
		assert_true(order.ranks[a].inner == i || order.ranks[a].last == i);
	}
	label_order_release(&order);
	string_table_free(labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_labels_may_sort_between_the_ranks_of_one),
		cmocka_unit_test(ranks_are_in_the_order_of_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
