/*
 * Names without the addresses that some producers put into them, so that the same code has the same
 * name in two recordings.
 */
#ifndef ANALYSIS_STRIPPED_NAME_H
#define ANALYSIS_STRIPPED_NAME_H

#include <stddef.h>

struct text;

/* Append a name with 0x... in the place of every 0x and the hexadecimal digits behind it. */
void stripped_name_append(struct text *text, const char *name, size_t length);

#endif
