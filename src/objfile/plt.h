/*
 * The stubs that a program calls functions of other files by (procedure linkage table).
 */
#ifndef OBJFILE_PLT_H
#define OBJFILE_PLT_H

#include <libelf.h>

#include "base/attributes.h"
#include "objfile/plt_stubs.h"

/*
 * Read .plt, .plt.sec, .plt.got and .iplt of a known architecture, as written by GNU ld, gold, lld
 * and mold. A stub is identified by the GOT word that it jumps through; a relocation of that word
 * gives the function. Stubs with an unknown target are skipped.
 *
 * Returns 0 or -ENOMEM; in both cases plt_release() frees the entries read so far.
 */
_must_check_ int plt_read(Elf *elf, struct plt *plt);

#endif
