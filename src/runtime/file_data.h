/* A file's own description, in the data it is loaded with. */
#ifndef RUNTIME_FILE_DATA_H
#define RUNTIME_FILE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"

/*
 * Read bytes of a loaded segment from the file. Data that is zeroed when loaded is not in the file.
 * Returns 0 or -ENOENT.
 */
_must_check_ int file_data_read(const struct objfile *objfile, uint64_t elf_address, void *ret,
				size_t size);

/* Whether these bytes of a loaded segment are not in the file: they are 0 when it is loaded. */
bool file_data_is_zeroed(const struct objfile *objfile, uint64_t elf_address, size_t size);

/* A section of code, at its ELF address. */
struct code_section {
	const uint8_t *bytes; /* borrowed from the ELF */
	uint64_t size;
	uint64_t address;
};

/*
 * The next section of code; before the first one *scn is NULL. Returns false when there are no
 * more.
 */
bool file_data_get_next_code(Elf *elf, Elf_Scn **scn, struct code_section *ret);

bool file_is_64_bit_little_endian(const struct objfile *objfile);

/* Whether it is of an architecture whose code the finders know, of 64 bits (not x32). */
bool file_has_known_code(const struct objfile *objfile);

struct file_symbol {
	bool is_there;
	uint64_t address; /* ELF address */
	uint64_t size;    /* in bytes */
};

/*
 * Find the symbols with these names that a file defines. If several have one name, the first
 * counts.
 */
void file_find_symbols(const struct objfile *objfile, const char *const *names, size_t num_names,
		       struct file_symbol *ret);

#endif
