/* What a file says of itself in the data that it is loaded with. */
#ifndef RUNTIME_FILE_DATA_H
#define RUNTIME_FILE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"

/* Bytes of a loaded segment as the file has them: of what is zeroed when it is loaded there are none. Returns 0 or -ENOENT. */
_must_check_ int file_data_read(const struct objfile *objfile, uint64_t elf_address, void *ret,
				size_t size);

/* Whether these bytes of a loaded segment are no part of the file: they are 0 when it is loaded. */
bool file_data_is_zeroed(const struct objfile *objfile, uint64_t elf_address, size_t size);

bool file_is_64_bit_little_endian(const struct objfile *objfile);

/*
 * Whether the names of a file's own symbols have this one, which has its end in it: they are looked through as they lie
 * there, as each file that is mapped is asked. What programs export for their libraries is dynamic; other symbols count
 * where there is nothing else.
 */
bool file_has_symbol_name(Elf *elf, const char *name, size_t size);

#endif
