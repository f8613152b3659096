/*
 * Sections of an ELF file by name.
 */
#ifndef OBJFILE_ELF_SECTION_H
#define OBJFILE_ELF_SECTION_H

#include <gelf.h>

/* The first section of this name that has bytes in the file, readable or not; NULL: none. */
Elf_Scn *elf_section_find(Elf *elf, const char *wanted, GElf_Shdr *ret);

#endif
