/* Parts of an operand in an assembler's language, as notes of USDT probes have them. */
#ifndef OBJFILE_OPERAND_H
#define OBJFILE_OPERAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a number, which may have a sign, up to the end of an operand. */
bool operand_read_number(const char *text, const char *end, int64_t *ret);
/* Whether a text of this length is the word. */
bool operand_is_word(const char *text, size_t length, const char *word);

#endif
