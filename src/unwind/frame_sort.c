/*
 * Linkers write functions object file by object file, and each has parts in several places (hot,
 * cold, start-up). So functions are mostly, but hardly ever entirely, in order of address. A radix
 * sort goes from the lowest digit to the highest digit that differs.
 */
#include "unwind/frame_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define NUM_DIGITS (1u << DIGIT_BITS)
/* Fewer are sorted by comparing: counting digits costs as much for one function as for many. */
#define COUNTED_MIN 512

static int compare(const void *a, const void *b)
{
	const struct frame_function *left = a;
	const struct frame_function *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->cie != right->cie)
		return left->cie < right->cie ? -1 : 1;
	return left->program_offset < right->program_offset ? -1 : 1;
}

static bool is_sorted(const struct frame_function *functions, size_t length)
{
	for (size_t i = 1; i < length; i++)
		if (compare(&functions[i - 1], &functions[i]) > 0)
			return false;
	return true;
}

/* The bits that differ between the starts. */
static uint64_t get_difference(const struct frame_function *functions, size_t length)
{
	uint64_t difference = 0;

	for (size_t i = 1; i < length; i++)
		difference |= functions[i].start ^ functions[0].start;
	return difference;
}

/* Stable sort by the digit at `shift`. */
static void sort_by_digit(const struct frame_function *from, struct frame_function *to,
			  size_t length, unsigned int shift)
{
	size_t next[NUM_DIGITS] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < length; i++)
		next[from[i].start >> shift & (NUM_DIGITS - 1)]++;
	for (size_t digit = 0; digit < NUM_DIGITS; digit++) {
		size_t count = next[digit];

		next[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < length; i++)
		to[next[from[i].start >> shift & (NUM_DIGITS - 1)]++] = from[i];
}

/* Sorted by start already. Only hostile files have many functions that start together. */
static void sort_equal_starts(struct frame_function *functions, size_t length)
{
	size_t end;

	for (size_t first = 0; first < length; first = end) {
		for (end = first + 1; end < length; end++)
			if (functions[end].start != functions[first].start)
				break;
		if (end - first > 1)
			qsort(&functions[first], end - first, sizeof(*functions), compare);
	}
}

int frame_sort(struct frame_function *functions, size_t length)
{
	uint64_t difference = get_difference(functions, length);
	struct frame_function *from = functions;
	struct frame_function *copy;
	struct frame_function *to;

	if (is_sorted(functions, length))
		return 0;
	if (length < COUNTED_MIN) {
		qsort(functions, length, sizeof(*functions), compare);
		return 0;
	}
	copy = to = malloc(length * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 64 && difference >> shift; shift += DIGIT_BITS) {
		struct frame_function *sorted = to;

		if (!(difference >> shift & (NUM_DIGITS - 1)))
			continue;
		sort_by_digit(from, to, length, shift);
		to = from;
		from = sorted;
	}
	if (from != functions)
		memcpy(functions, from, length * sizeof(*functions));
	free(copy);
	sort_equal_starts(functions, length);
	return 0;
}
