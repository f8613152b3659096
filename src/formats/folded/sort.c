/*
 * Multikey quicksort, eight bytes at a time. Stacks have long common prefixes: a comparison of
 * whole stacks would read these again and again. Here the next eight bytes of each are its key, a
 * number in the entry. Entries are parted in three by one of the keys. Only those in the middle,
 * whose keys are equal, go on to the next eight bytes.
 *
 *	depth 0   main;par|se_args 3     main;par|se_text;memchr 5     main;run|;step 9
 *	          `------- equal: sorted by what follows ------'       > the others
 *
 * Bytes behind a stack's end count as zeros; if that makes keys equal, the shorter one is first.
 */
#include "formats/folded/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 8
/* So few are sorted one by one. */
#define FEW 12
/* Stacks may be anywhere in memory: they are prefetched so many entries ahead. */
#define AHEAD 16

/* A number that compares as the bytes do. */
static uint64_t read_key(const struct folded_entry *entry, size_t depth)
{
	size_t left = entry->length > depth ? entry->length - depth : 0;
	uint64_t key = 0;

	memcpy(&key, entry->stack + (left ? depth : 0), left < KEY_BYTES ? left : KEY_BYTES);
	return __builtin_bswap64(key);
}

/* Compares two that have the same key at the depth. */
static int compare_rests(const struct folded_entry *a, const struct folded_entry *b, size_t depth)
{
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = 0;

	depth += KEY_BYTES;
	if (shorter > depth)
		order = memcmp(a->stack + depth, b->stack + depth, shorter - depth);
	if (order)
		return order;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static bool is_before(const struct folded_entry *a, const struct folded_entry *b, size_t depth)
{
	return a->key != b->key ? a->key < b->key : compare_rests(a, b, depth) < 0;
}

static void sort_few(struct folded_entry *entries, size_t count, size_t depth)
{
	for (size_t i = 1; i < count; i++) {
		struct folded_entry entry = entries[i];
		size_t place = i;

		for (; place && is_before(&entry, &entries[place - 1], depth); place--)
			entries[place] = entries[place - 1];
		entries[place] = entry;
	}
}

static void swap(struct folded_entry *a, struct folded_entry *b)
{
	struct folded_entry entry = *a;

	*a = *b;
	*b = entry;
}

static uint64_t get_median(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b) {
		uint64_t key = a;

		a = b;
		b = key;
	}
	return c < a ? a : c > b ? b : c;
}

/* The median of nine that are spread over all; few orders of lines are bad for that. */
static uint64_t choose_pivot(const struct folded_entry *entries, size_t count)
{
	uint64_t medians[3];
	size_t step = count / 9;

	for (size_t i = 0; i < 3; i++)
		medians[i] = get_median(entries[3 * i * step].key, entries[(3 * i + 1) * step].key,
					entries[(3 * i + 2) * step].key);
	return get_median(medians[0], medians[1], medians[2]);
}

struct folded_parts {
	size_t num_less;
	size_t num_equal;
};

static struct folded_parts part_entries(struct folded_entry *entries, size_t count, uint64_t pivot)
{
	size_t less = 0;
	size_t greater = count;

	for (size_t i = 0; i < greater;) {
		if (entries[i].key < pivot)
			swap(&entries[less++], &entries[i++]);
		else if (entries[i].key > pivot)
			swap(&entries[i], &entries[--greater]);
		else
			i++;
	}
	return (struct folded_parts){less, greater - less};
}

static int compare_ended(const void *left, const void *right)
{
	const struct folded_entry *a = left;
	const struct folded_entry *b = right;

	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/*
 * Among entries with equal keys, those that end within the key are first; the next key of the
 * others is read. Returns the number of ended ones.
 */
static size_t go_deeper(struct folded_entry *entries, size_t count, size_t depth)
{
	size_t num_ended = 0;

	for (size_t i = 0; i < count; i++)
		if (entries[i].length <= depth + KEY_BYTES)
			swap(&entries[num_ended++], &entries[i]);
	if (num_ended > 1)
		qsort(entries, num_ended, sizeof(*entries), compare_ended);
	for (size_t i = num_ended; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(entries[i + AHEAD].stack + depth + KEY_BYTES);
		entries[i].key = read_key(&entries[i], depth + KEY_BYTES);
	}
	return num_ended;
}

struct folded_range {
	struct folded_entry *entries;
	size_t count;
	size_t depth; /* whose keys the entries have */
};

/* Calls itself for all but the largest part, so that it nests no deeper than a logarithm. */
static void sort_range(struct folded_range range)
{
	while (range.count > FEW) {
		uint64_t pivot = choose_pivot(range.entries, range.count);
		struct folded_parts parts = part_entries(range.entries, range.count, pivot);
		struct folded_entry *equal = range.entries + parts.num_less;
		size_t num_ended = go_deeper(equal, parts.num_equal, range.depth);
		struct folded_range ranges[] = {
			{range.entries, parts.num_less, range.depth},
			{equal + num_ended, parts.num_equal - num_ended, range.depth + KEY_BYTES},
			{equal + parts.num_equal, range.count - parts.num_less - parts.num_equal,
			 range.depth},
		};
		size_t largest = 0;

		for (size_t i = 1; i < 3; i++)
			if (ranges[i].count > ranges[largest].count)
				largest = i;
		for (size_t i = 0; i < 3; i++)
			if (i != largest)
				sort_range(ranges[i]);
		range = ranges[largest];
	}
	sort_few(range.entries, range.count, range.depth);
}

void folded_sort(struct folded_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		entries[i].key = read_key(&entries[i], 0);
	sort_range((struct folded_range){entries, count, 0});
}
