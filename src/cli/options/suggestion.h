/*
 * The known word that a misspelt word probably means: "record" for "recrod".
 */
#ifndef CLI_OPTIONS_SUGGESTION_H
#define CLI_OPTIONS_SUGGESTION_H

#include <stddef.h>

struct suggestion {
	const char *wanted; /* the misspelt word; borrowed */
	const char *word; /* the most similar known word so far; borrowed. NULL: no similar word */
	size_t distance;  /* between the two, in edits */
};

/* Offer a known word. If several are equally similar, the first stays. */
void suggestion_offer(struct suggestion *suggestion, const char *word);

#endif
