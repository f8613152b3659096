/* The symbols that an ELF file defines. */
#ifndef OBJFILE_ELF_SYMBOLS_H
#define OBJFILE_ELF_SYMBOLS_H

#include <gelf.h>

#include "base/attributes.h"

/*
 * Visits a symbol. Returns 0 to go on; any other number ends the pass.
 *
 * name  borrowed as long as the ELF handle; may be empty
 */
typedef int symbol_visitor(void *context, const char *name, const GElf_Sym *symbol);

/*
 * Visit all symbols of .symtab and .dynsym that have a section: neither undefined ones nor absolute ones. A symbol
 * in both tables is visited twice. Returns 0, or the number that ended the pass.
 */
_must_check_ int objfile_for_each_symbol(Elf *elf, symbol_visitor *visit, void *context);

/*
 * The same for the symbols that other files see: those of .dynsym, or of .symtab in a file without
 * one. Undefined and absolute symbols are visited, too.
 */
_must_check_ int objfile_for_each_exported_symbol(Elf *elf, symbol_visitor *visit, void *context);

#endif
