/*
 * Architectures: everything that depends on the machine of an ELF file, or on the machine that
 * records. A row without has_unwind_tables is not supported but for probes and linkage tables.
 *
 * To add an architecture, or the rest of one:
 *
 *	1  src/objfile/ARCH/architecture.c  its struct, and a row in src/objfile/architecture.c. Users
 *	                                    do without members that are NULL or 0
 *	2  src/objfile/ARCH/         instructions, calls, ends and starts of functions
 *	3  include/wire/arch_ARCH.h  registers of a walk, a line each with their numbers for kernel,
 *	                             perf, DWARF and ucontext; include/wire/registers.h chooses it
 *	4  include/unwind/ARCH/      walk_steps.h: the CFA by a rule, and steps without a rule, for
 *	                             unwind/walk.h; v8_code.h for unwind/v8_code.h
 *	5  src/unwind/ARCH/          frame_forms.h: its call-frame information, for frame_rule.c and
 *	                             frame_program.c; recognized code, for unwind_table.c: signal
 *	                             frames, context switches, functions that nothing describes
 *	6  bpf/arch_ARCH.h           user registers and their roles; bpf/kernel.h chooses it
 *	7  include/runtime/ARCH/     hotspot_code.h, glibc_thread.h: for the walks of HotSpot and Perl
 *	8  src/runtime/ARCH/         ruby_code.h, perl_code.h: for the finders of Ruby and Perl
 *	9  packaging/, scripts/install-deps
 */
#ifndef OBJFILE_ARCHITECTURE_H
#define OBJFILE_ARCHITECTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct instruction_flow;
struct plt;
struct plt_slots;
struct probe_argument;
struct range_map;

/* Bytes of code that find_start() searches before and after an address. */
#define FUNCTION_START_REACH (32u << 10)
/* Size of the longest call of any architecture, in bytes. */
#define CALL_MAX_BYTES 9

struct architecture {
	uint16_t machine; /* e_machine of the ELF header */
	/* The same of 32-bit code whose direct calls are encoded alike; 0: none. */
	uint16_t machine_of_32_bits;
	const char *name; /* for messages */

	/* ---- probes: registers by their position, in words, in struct pt_regs ---- */
	const uint8_t *arguments; /* registers of a function's arguments, in their order */
	unsigned int num_arguments;
	uint8_t result;
	/* Reads an operand of a statically defined probe. Returns false for others. */
	bool (*read_operand)(const char *text, const char *end, struct probe_argument *ret);

	/* ---- linkage tables ---- */
	struct {
		uint32_t jump_slot;
		uint32_t glob_dat;
		uint32_t irelative;
	} relocations;
	/* Adds the stubs of a section with code. Returns 0 or -ENOMEM. */
	int (*read_stubs)(struct plt *plt, const struct plt_slots *slots, struct bytes code,
			  uint64_t elf_address, uint64_t entry_size);

	/* ---- code ---- */
	unsigned int instruction_bytes; /* of each; 0: they have different sizes */
	/* As code_flow_split(); NULL: functions without a recorded end have none. */
	int (*split_code)(const uint8_t *code, size_t size, uint64_t address,
			  struct range_map *ret);
	/* As function_start_find(); NULL: functions without symbol have no start. */
	bool (*find_start)(const uint8_t *code, size_t size, uint64_t address, size_t offset,
			   size_t *ret);
	/*
	 * Bytes to skip before a point whose instruction the kernel can emulate for a probe; see
	 * allocator.c.
	 */
	size_t (*skip_slow_start)(const uint8_t *code, size_t size);
	bool has_unwind_tables; /* unwind_table_new() knows its rules */

	/* ---- instructions; the code below ends or starts with one ---- */
	/* See architecture_decode(). */
	bool (*decode)(const uint8_t *code, size_t size, struct instruction_flow *ret);
	bool (*is_comparison)(const uint8_t *code, size_t size); /* it changes flags only */
	bool (*ends_in_call)(const uint8_t *code, size_t size);
	/* Returns false if the code, CALL_MAX_BYTES of it, does not certainly end in a direct call. */
	bool (*read_direct_call)(const uint8_t *code, int32_t *ret_distance);
	/* Whether the instruction before a return puts the address there that it returns to. */
	bool (*replaces_return_address)(const uint8_t *code, size_t size);

	/* ---- the system ---- */
	uint32_t ld_cache_flags; /* of /etc/ld.so.cache, for its 64-bit libraries */
	const char *musl_path;   /* of musl's C library */
	/* SCMP_ARCH_* of system calls by 64-bit code, by 32-bit code, and with pointers of 32 bits. */
	struct {
		uint32_t native;
		uint32_t of_32_bits;
		uint32_t short_pointers; /* 0: none */
	} system_calls;
	/* Prefixes of the kernel's functions for interrupts; the last one is NULL. */
	const char *const *interrupts;
};

/* The architecture of an e_machine; NULL: unknown. Valid always. */
const struct architecture *architecture_find(uint16_t machine);

/* The same, for an e_machine of 64 or 32 bits. */
const struct architecture *architecture_find_of_any_size(uint16_t machine);

/*
 * Decode an instruction. Returns false if it is truncated or unknown, or if the architecture is
 * NULL, or its code unknown.
 */
bool architecture_decode(const struct architecture *architecture, const uint8_t *code, size_t size,
			 struct instruction_flow *ret);

/* The architecture of the machine that this program runs on. Valid always. */
const struct architecture *architecture_here(void);

#endif
