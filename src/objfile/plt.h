/*
 * The stubs that a program calls functions of other files by (procedure linkage table).
 */
#ifndef OBJFILE_PLT_H
#define OBJFILE_PLT_H

#include <libelf.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

/* Either symbol or resolver is set. */
struct plt_stub {
	uint64_t start;     /* ELF addresses */
	uint64_t end;       /* first address after it */
	const char *symbol; /* of the function that it leads to; borrowed from the file */
	uint64_t resolver;  /* ELF address of the code that chooses the function (ifunc) */
};

struct plt {
	ARRAY(struct plt_stub) stubs;
};

void plt_release(struct plt *plt);

/*
 * Read .plt, .plt.sec, .plt.got and .iplt of x86-64 and aarch64, as written by GNU ld, gold, lld
 * and mold. A stub is identified by the GOT word that it jumps through; a relocation of that word
 * gives the function. Stubs with an unknown target are skipped.
 *
 * Returns 0 or -ENOMEM; in both cases plt_release() frees the entries read so far.
 *
 * Source: psABI x86-64 5.2 "Procedure Linkage Table", 13.2 "IBT PLT"; ELF for AArch64.
 */
_must_check_ int plt_read(Elf *elf, struct plt *plt);

#endif
