/*
 * Walks a copy of a stack: a raw sample, for which the BPF program lacked a table, or a stack in a
 * perf.data file of perf record --call-graph dwarf. The caller provides the tables.
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

/* Memory contents when the stack was copied. */
struct replay_memory {
	uint64_t address;
	const uint8_t *bytes; /* borrowed */
	size_t size;          /* in bytes */
};

struct replay_stack {
	struct wire_registers registers;
	/* Observations about code that can no longer be read, as in struct walk; 0: none. */
	uint8_t entry_bytes;
	uint8_t cfa_offset;
	uint8_t frame_setup;
	bool has_signal_stack; /* the following two are known */
	/* The thread's alternate stack for signal handlers; 0 bytes: none. */
	uint64_t signal_stack;
	uint64_t signal_stack_bytes;
	struct replay_memory stack;
	/*
	 * The interrupted stack of a signal handler with its own stack, or the end of a deep one.
	 */
	struct replay_memory far;
};

/* The code that is mapped at an address. */
struct replay_code {
	struct unwind_mapping mapping;
	const struct objfile_layout *layout; /* for reading its bytes; NULL: unreadable */
	int fd;                              /* likewise */
	uint32_t file;                       /* a number of the source's, for has_changed */
	const struct unwind_table *table;    /* for use by find_rule; may be NULL */
};

struct replay_source {
	/* Whether an executable mapping holds the pc. *ret is zeroed before the call. */
	bool (*find_code)(void *context, uint64_t pc, struct replay_code *ret);
	/* Whether the address has a rule; called only for code with UNWIND_MAPPING_HAS_TABLE. */
	bool (*find_rule)(void *context, const struct replay_code *code, uint64_t elf_address,
			  struct unwind_rule *ret);
	/* Whether the file of code was overwritten: its bytes are not used. NULL: never. */
	bool (*has_changed)(void *context, const struct replay_code *code);
	void *context;
};

/*
 * Walk the stack, starting at the registers.
 *
 * pcs               WIRE_MAX_FRAMES long; innermost first, as in struct wire_stack
 * ret_num_frames    number of pcs, at least one
 * ret_outermost_sp  stack pointer of the outermost frame; 0: the walk did not reach it
 *
 * Returns the reason why the walk ended.
 */
enum walk_end replay_walk(const struct replay_stack *stack, const struct replay_source *source,
			  uint64_t *pcs, uint32_t *ret_num_frames, uint64_t *ret_outermost_sp);

#endif
