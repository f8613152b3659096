/*
 * qsort() and qsort_r() as in glibc: stable, so that the module and the program give the same
 * results. A bottom-up merge sort.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sorter {
	char *items;
	char *spare;
	size_t item_size;
	int (*compare)(const void *a, const void *b, void *context);
	void *context;
};

/* Merge [from, middle) and [middle, to) of items into spare. */
static void merge(const struct sorter *sorter, size_t from, size_t middle, size_t to)
{
	size_t size = sorter->item_size;
	char *target = sorter->spare + from * size;
	size_t left = from;
	size_t right = middle;

	for (size_t i = from; i < to; i++, target += size) {
		bool takes_left = left < middle &&
				  (right >= to || sorter->compare(sorter->items + left * size,
								  sorter->items + right * size,
								  sorter->context) <= 0);
		size_t taken = takes_left ? left++ : right++;

		memcpy(target, sorter->items + taken * size, size);
	}
}

void qsort_r(void *items, size_t count, size_t item_size,
	     int (*compare)(const void *a, const void *b, void *context), void *context)
{
	char *spare = malloc(count * item_size + 1);
	struct sorter sorter = {items, spare, item_size, compare, context};

	if (!spare)
		abort();
	for (size_t width = 1; width < count; width *= 2) {
		char *merged = sorter.spare;

		for (size_t from = 0; from < count; from += 2 * width) {
			size_t middle = from + width < count ? from + width : count;
			size_t to = middle + width < count ? middle + width : count;

			merge(&sorter, from, middle, to);
		}
		sorter.spare = sorter.items;
		sorter.items = merged;
	}
	if (sorter.items != items)
		memcpy(items, sorter.items, count * item_size);
	free(spare);
}

struct plain {
	int (*compare)(const void *a, const void *b);
};

static int compare_plain(const void *a, const void *b, void *context)
{
	const struct plain *plain = context;

	return plain->compare(a, b);
}

void qsort(void *items, size_t count, size_t item_size,
	   int (*compare)(const void *a, const void *b))
{
	struct plain plain = {compare};

	qsort_r(items, count, item_size, compare_plain, &plain);
}
