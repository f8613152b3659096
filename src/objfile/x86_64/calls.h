/* Calls and returns of x86-64: members of struct architecture. */
#ifndef OBJFILE_X86_64_CALLS_H
#define OBJFILE_X86_64_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool call_ends(const uint8_t *bytes, size_t size);
bool call_read_direct(const uint8_t *code, int32_t *ret_distance);
bool call_replaces_return_address(const uint8_t *code, size_t size);

#endif
