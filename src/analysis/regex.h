/*
 * Regular expressions: the one language of the command line and of the page.
 *
 * POSIX extended expressions, with common habits of other dialects:
 *
 *	.  [a-z]  [^a-z]  [[:alpha:]]   one character        \d \w \s  and  \D \W \S
 *	*  +  ?  {m}  {m,}  {m,n}       repetition           *? +? ?? … mean the same
 *	a|b  (a)  (?:a)                 alternatives, groups
 *	^  $  \b  \B                    start and end of the text; of a word, or not
 *	\t \n \r \f \v  \xHH  \.        characters
 *	(?i)                            at the start: letters of ASCII in either case
 *
 * A character is a code point of UTF-8; a byte outside any code point counts as one. Letters,
 * digits and words are those of ASCII. A backslash means the same within brackets as outside,
 * unlike in POSIX. There are neither back references nor look-around, so that matching needs no
 * backtracking: the time is linear in the length of the text, whatever the expression.
 *
 * Pure: no I/O. A regex must not be used by two threads at once, as matching fills its cache.
 */
#ifndef ANALYSIS_REGEX_H
#define ANALYSIS_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

#define REGEX_MAX_LENGTH       10000 /* of a pattern, in bytes */
#define REGEX_MAX_DEPTH        200   /* open parentheses */
#define REGEX_MAX_COUNT        1000  /* m and n of {m,n} */
#define REGEX_MAX_INSTRUCTIONS 20000 /* with repetitions expanded */

struct regex;

/*
 * pattern  NUL-terminated; not kept
 *
 * Returns 0, -ENOMEM, or -EINVAL with position and reason in error: "at character 3: …".
 *
 * Source: POSIX.1-2017, XBD 9.4 (extended regular expressions).
 */
_must_check_ int regex_new(const char *pattern, struct regex **ret, struct error *error);
void regex_free(struct regex *regex);

/*
 * Whether it matches anywhere in `length` bytes. Never fails: without memory for the cache, it is
 * slower.
 */
bool regex_matches(struct regex *regex, const char *text, size_t length);

/* For tests: limit the number of states, instead of the usual megabyte; 0: none. */
void regex_limit_cache(struct regex *regex, uint32_t max_states);

#endif
