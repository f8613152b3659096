/* Patterns of x86-64 in the code of Perl; perl/find.c searches for them. */
#ifndef RUNTIME_X86_64_PERL_CODE_H
#define RUNTIME_X86_64_PERL_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/file_data.h"

/* Whether code calls a function by its pointer at an offset of the interpreter. */
bool perl_code_calls(const uint8_t *code, size_t size, uint16_t offset);

/*
 * Find the next function that passes itself to another one, as its second argument.
 *
 * at   offset to search from; becomes the one to go on from
 * ret  address of the other function
 *
 * Returns false if there are no more.
 */
bool perl_code_find_handover(const struct code_section *code, uint64_t *at, uint64_t *ret);

#endif
