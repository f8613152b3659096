/*
 * The table of functions that every Go program carries for its own tracebacks (.gopclntab, the
 * "pclntab"): their addresses and names, and the stack depth at each address. Stripping a program
 * does not remove it.
 *
 *	struct go_table table;
 *	if (go_table_find(elf, &table))
 *		for (uint32_t i = 0; i < table.num_functions; i++)
 *			if (go_table_read(&table, i, &function))
 *				…
 *
 * The file is untrusted. Nothing here allocates; all data is borrowed from the Elf. Not
 * thread-safe, as libelf is not.
 */
#ifndef OBJFILE_GO_TABLE_H
#define OBJFILE_GO_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct go_table {
	struct bytes index;     /* address and description of each function, and the last end */
	struct bytes functions; /* descriptions; their offsets count from its start */
	struct bytes names;     /* likewise */
	struct bytes pcsp;      /* likewise */
	uint64_t text_start;    /* ELF address, added to the addresses in the table */
	uint64_t size;          /* of the section, in bytes */
	uint32_t num_functions;
	uint8_t address_size; /* size of an address in the table: 4 or 8 bytes */
	uint8_t code_align;   /* code offsets are in units of this many bytes */
};

struct go_function {
	const char *name;     /* "main.main", "main.(*T).Run.func1" */
	uint64_t start;       /* ELF address */
	uint64_t end;         /* start of the next function: includes the padding before it */
	uint32_t pcsp_offset; /* 0: SP deltas are unknown */
};

/*
 * Find the table of a little-endian 64-bit program, of Go 1.2 to 1.27.
 *
 * Position-independent programs from a C linker (-buildmode=pie with cgo) are found since Go 1.18.
 *
 * Returns false if there is no table in a known format.
 *
 * Source: Go, src/cmd/link/internal/ld/pcln.go, src/debug/gosym/pclntab.go, src/runtime/symtab.go.
 */
bool go_table_find(Elf *elf, struct go_table *ret);

/* The function at an index below num_functions. Returns false if its entry is malformed. */
bool go_table_read(const struct go_table *table, uint32_t index, struct go_function *ret);

/* A walk over the SP deltas (pcsp) of one function, in order of address. */
struct go_pcsp {
	struct bytes bytes;
	uint64_t end;     /* ELF address up to which the SP delta holds */
	int64_t sp_delta; /* bytes between the stack pointer and the return address */
	uint8_t code_align;
	bool is_started;
};

/* start, pcsp_offset   those of struct go_function */
struct go_pcsp go_pcsp_start(const struct go_table *table, uint64_t start, uint32_t pcsp_offset);

/*
 * Step to the next SP delta, which starts where the previous one ended. Returns false at the end.
 */
bool go_pcsp_next(struct go_pcsp *pcsp);

#endif
