#include "base/near_names.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Number of letters to insert, delete or change to turn one into the other (Levenshtein). */
static size_t measure_distance(const char *a, const char *b)
{
	size_t row[NEAR_NAMES_MAX_BYTES + 1];
	size_t length = strlen(b);

	for (size_t i = 0; i <= length; i++)
		row[i] = i;
	for (; *a; a++) {
		size_t diagonal = row[0]++;

		for (size_t i = 0; i < length; i++) {
			size_t changed = diagonal + (tolower(*a) != tolower(b[i]));

			diagonal = row[i + 1];
			row[i + 1] = min(changed, min(row[i], row[i + 1]) + 1);
		}
	}
	return row[length];
}

void near_names_compare(struct near_names *near, const char *name)
{
	size_t length = strnlen(name, NEAR_NAMES_MAX_BYTES);
	size_t word_length = strnlen(near->word, NEAR_NAMES_MAX_BYTES);
	size_t limit = min(word_length / 3 + 1, 4);
	size_t place = near->num_found;
	size_t distance;

	if (length == NEAR_NAMES_MAX_BYTES || word_length == NEAR_NAMES_MAX_BYTES)
		return;
	if (strcasestr(name, near->word))
		distance = 1;
	else if (length > word_length + limit || word_length > length + limit)
		return; /* most of a hundred thousand symbols */
	else
		distance = measure_distance(near->word, name);
	if (distance > limit)
		return;
	while (place > 0 && near->found[place - 1].distance > distance)
		place--;
	for (size_t i = 0; i < near->num_found; i++)
		if (string_equals(near->found[i].name, name))
			return;
	if (place == NEAR_NAMES_MAX)
		return;
	if (near->num_found < NEAR_NAMES_MAX)
		near->num_found++;
	memmove(&near->found[place + 1], &near->found[place],
		(near->num_found - 1 - place) * sizeof(near->found[0]));
	near->found[place].distance = distance;
	snprintf(near->found[place].name, sizeof(near->found[place].name), "%s", name);
}

void near_names_format(const struct near_names *near, char ret[NEAR_NAMES_TEXT_BYTES])
{
	size_t length = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < near->num_found; i++)
		length += (size_t)snprintf(ret + length, NEAR_NAMES_TEXT_BYTES - length, "%s'%s'",
					   i == 0                    ? "; did you mean "
					   : i + 1 < near->num_found ? ", "
								     : " or ",
					   near->found[i].name);
	if (near->num_found)
		snprintf(ret + length, NEAR_NAMES_TEXT_BYTES - length, "?");
}
