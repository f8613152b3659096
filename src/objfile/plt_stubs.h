/* The stubs of a procedure linkage table, and the words that they jump through. */
#ifndef OBJFILE_PLT_STUBS_H
#define OBJFILE_PLT_STUBS_H

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

/* A word that the dynamic linker writes a function's address to. */
struct plt_slot {
	uint64_t address;
	const char *symbol;
	uint64_t resolver;
};

struct plt_slots {
	ARRAY(struct plt_slot) items;
	ARRAY(struct plt_slot) lazy; /* those of .rela.plt, in its order */
};

void plt_release(struct plt *plt);

/* For readers of stubs: the slot at an ELF address, or NULL. */
const struct plt_slot *plt_find_slot(const struct plt_slots *slots, uint64_t address);
/* Add a stub with its slot; without one it is skipped. Returns 0 or -ENOMEM. */
_must_check_ int plt_add_stub(struct plt *plt, uint64_t start, uint64_t size,
			      const struct plt_slot *slot);

#endif
