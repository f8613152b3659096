/*
 * Walks a copy of a stack: that of a raw sample, for which the BPF program lacked a table, or one in
 * a perf.data file of perf record --call-graph dwarf. The caller has the tables.
 */
#ifndef UNWIND_REPLAY_H
#define UNWIND_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/registers.h"
#include "wire/unwind.h"

struct objfile_layout;
struct unwind_table;

/* Memory as it was when the stack was copied. */
struct replay_memory {
	uint64_t address;
	const uint8_t *bytes; /* borrowed */
	size_t size;          /* in bytes */
};

struct replay_stack {
	struct wire_registers registers;
	/* What was seen in code that cannot be read any more, as in struct walk; else 0. */
	uint8_t entry_bytes;
	uint8_t cfa_offset;
	uint8_t frame_setup;
	struct replay_memory stack;
	struct replay_memory far; /* what a signal handler on a stack of its own has interrupted, or
				     the end of a deep stack; else empty */
};

/* The code that is mapped at an address. */
struct replay_code {
	struct unwind_mapping mapping;
	const struct objfile_layout *layout; /* for its bytes; NULL: they cannot be read */
	int fd;                              /* likewise */
	const struct unwind_table *table;    /* find_rule's own; may be NULL */
};

struct replay_source {
	/* Whether an executable mapping holds the pc. ret is all zeros before. */
	bool (*find_code)(void *context, uint64_t pc, struct replay_code *ret);
	/* Whether there is a rule for the address; asked for code with UNWIND_MAPPING_HAS_TABLE. */
	bool (*find_rule)(void *context, const struct replay_code *code, uint64_t elf_address,
			  struct unwind_rule *ret);
	void *context;
};

/*
 * Walk from the registers on.
 *
 * pcs               WIRE_MAX_FRAMES long; innermost first, as in struct wire_stack
 * ret_num_frames    of them, at least one
 * ret_outermost_sp  the stack pointer of the outermost frame; 0: the walk did not get there
 *
 * Returns how the walk ended.
 */
enum walk_end replay_walk(const struct replay_stack *stack, const struct replay_source *source,
			  uint64_t *pcs, uint32_t *ret_num_frames, uint64_t *ret_outermost_sp);

#endif
