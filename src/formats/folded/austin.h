/*
 * The folded text of austin, which samples Python:
 *
 *	# austin: 3.7.0
 *	# mode: wall
 *
 *	P42;T0:7f10;a.py:main:3 120
 *	# duration: 383010
 *
 * The lines "# KEY: VALUE" describe the run. In folded text `#` is data, and a line such as the
 * last one a stack: in austin's alone they are distinguished.
 */
#ifndef FORMATS_FOLDED_AUSTIN_H
#define FORMATS_FOLDED_AUSTIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether it is austin's text: it starts with such lines, and they name the version, or the mode,
 * followed by a stack that starts with process and thread.
 */
bool austin_detect(const uint8_t *data, size_t size);

/* Whether a line of such a text, with or without its end, is not a stack. */
bool austin_is_metadata(const uint8_t *line, size_t size);

#endif
