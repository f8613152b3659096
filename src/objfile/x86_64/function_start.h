/*
 * Starts of functions without symbol or call-frame information, found by the padding between them.
 */
#ifndef OBJFILE_X86_64_FUNCTION_START_H
#define OBJFILE_X86_64_FUNCTION_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/architecture.h"

/*
 * The last function start at or before an offset into x86-64 code.
 *
 * code      the bytes around the offset: FUNCTION_START_REACH before and after it, as far as there
 *           is code
 * address   ELF address of the first byte
 * ret       offset of the start in code
 *
 * Returns false if no start is found, or if the code as a whole does not show starts.
 */
bool function_start_find(const uint8_t *code, size_t size, uint64_t address, size_t offset,
			 size_t *ret);

#endif
