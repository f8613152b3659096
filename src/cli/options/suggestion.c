#include "cli/options/suggestion.h"

#include <string.h>

#define MAX_LENGTH 32

static size_t get_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Edits from one word to the other: a letter inserted, removed or replaced, or two neighbours swapped
 * (optimal string alignment). Both words have at most MAX_LENGTH letters.
 */
static size_t measure_distance(const char *a, const char *b)
{
	size_t rows[3][MAX_LENGTH + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];
	size_t length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		last[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			row[j] = get_min(last[j - 1] + (a[i - 1] != b[j - 1]),
					 get_min(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = get_min(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[length];
}

void suggestion_offer(struct suggestion *suggestion, const char *word)
{
	size_t length = strlen(suggestion->wanted);
	size_t distance;

	if (!length || length > MAX_LENGTH || strlen(word) > MAX_LENGTH)
		return;
	/* A word's start counts as one edit. */
	distance = length > 1 && !strncmp(word, suggestion->wanted, length)
			   ? 1
			   : measure_distance(suggestion->wanted, word);
	/* At most a third of the letters: beyond that it is another word. */
	if (distance > (length + 2) / 3 || (suggestion->word && distance >= suggestion->distance))
		return;
	suggestion->word = word;
	suggestion->distance = distance;
}
