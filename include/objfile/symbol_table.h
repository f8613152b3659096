/*
 * The functions of ELF files and their names, by address.
 *
 * Not thread-safe while it is built; afterwards any number of threads may look up.
 */
#ifndef OBJFILE_SYMBOL_TABLE_H
#define OBJFILE_SYMBOL_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct symbol_table;

struct symbol {
	const char *name;   /* as the linker sees it (mangled) */
	uint64_t start;     /* ELF address */
	uint64_t end;       /* first address after it, at most: where the next symbol starts */
	bool is_size_known; /* else the end is only a limit */
};

/*
 * Read .symtab, .dynsym and Go's table of functions of every file in elfs. They are views of one
 * program: the stripped file, its .gnu_debugdata, its separate debug file.
 *
 *  - Functions count, and symbols without type where the section is executable (assembly).
 *  - An address belongs to the innermost symbol whose size covers it. A symbol without size
 *    may reach to the next symbol or to the end of its section, and never into a sized one; how
 *    far it does is for the caller to find out.
 *  - Stubs of the first file's procedure linkage table are named after what they call: "abs@plt".
 *  - Of several names for one range the best stays, as symbol_names_compare() has it, after the
 *    binding: global, weak, local.
 *
 * ret   names in it are borrowed from elfs, which must outlive it
 *
 * Returns 0 or -ENOMEM. What cannot be read is left out.
 *
 * Source: ELF gABI "Symbol Table".
 */
_must_check_ int symbol_table_new(Elf *const elfs[], size_t num_elfs, struct symbol_table **ret);
void symbol_table_free(struct symbol_table *table);

/* Returns 0 or -ENOENT. The name is borrowed from the table. */
_must_check_ int symbol_table_find(const struct symbol_table *table, uint64_t elf_address,
				   struct symbol *ret);

/*
 * Which of two names for the same code is the better one to show: fewer leading underscores, then
 * shorter, then bytewise smaller. Negative when it is a, positive when it is b.
 */
int symbol_names_compare(const char *a, const char *b);

#endif
