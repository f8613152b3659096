/* The rows of architecture.c, and functions that they share. */
#ifndef OBJFILE_ARCHITECTURES_H
#define OBJFILE_ARCHITECTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/architecture.h"

extern const struct architecture x86_64_architecture;
extern const struct architecture aarch64_architecture;

/* Reads a number, which may have a sign, up to the end of an operand. */
bool operand_read_number(const char *text, const char *end, int64_t *ret);
/* Whether a text of this length is the word. */
bool operand_is_word(const char *text, size_t length, const char *word);

#endif
