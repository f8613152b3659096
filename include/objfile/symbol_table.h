/*
 * The functions of ELF files and their names, by address.
 *
 * Not thread-safe while it is built; afterwards any number of threads may read it.
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
 *  - Functions count, and symbols without type if the section is executable (assembly).
 *  - An address belongs to the innermost symbol whose size covers it. A symbol without size may
 *    extend to the next symbol or to the end of its section, but never into a sized one; the caller
 *    has to find its end.
 *  - Stubs of the first file's procedure linkage table are named after their target: "abs@plt".
 *  - If a range has several names, the best one is kept, by binding (global, weak, local), then by
 *    symbol_names_compare().
 *
 * ret   names in it are borrowed from elfs, which must outlive it
 *
 * Returns 0 or -ENOMEM. Unreadable parts are skipped.
 *
 * Source: ELF gABI "Symbol Table".
 */
_must_check_ int symbol_table_new(Elf *const elfs[], size_t num_elfs, struct symbol_table **ret);
void symbol_table_free(struct symbol_table *table);

/* Returns 0 or -ENOENT. The name is borrowed from the table. */
_must_check_ int symbol_table_find(const struct symbol_table *table, uint64_t elf_address,
				   struct symbol *ret);

/*
 * Which of two names for the same code is better to show: fewer leading underscores, then shorter,
 * then bytewise smaller. Negative if it is a, positive if it is b.
 */
int symbol_names_compare(const char *a, const char *b);

#endif
