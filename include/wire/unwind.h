/*
 * Unwind tables as the sampling program reads them: for every code address the rule that leads to
 * the calling frame. Written by user space (room unwind), read by the BPF program and by the same
 * walk in user space.
 *
 *	page   64 KiB of an objfile's text: where its rows are
 *	row    from this address on (up to the next row) this rule holds
 *	rule   how to find the caller's frame; a dictionary, because few rules serve many rows
 */
#ifndef WIRE_UNWIND_H
#define WIRE_UNWIND_H

#include "wire/wire.h"

#define UNWIND_PAGE_SHIFT 16

/* Marks of a user pc of a stack; user addresses end far below. */
#define WIRE_PC_EXACT      (1ull << 63) /* not a return address */
#define WIRE_PC_FP_STEP    (1ull << 62) /* its caller was found by frame pointer */
#define WIRE_PC_ENTRY_STEP (1ull << 61) /* its caller was found on top of the stack */
#define WIRE_PC_MARKS      (WIRE_PC_EXACT | WIRE_PC_FP_STEP | WIRE_PC_ENTRY_STEP)

/* Sorted by pc_low within a page; the first row of a page that has rows has pc_low 0. */
struct unwind_row {
	wire_u16 pc_low; /* low 16 bits of the ELF address */
	wire_u16 rule;   /* index in the dictionary; 0 is the rule UNWIND_CFA_NONE */
};
_Static_assert(sizeof(struct unwind_row) == 4, "4 bytes a row is what makes tables small");

/* How to compute the canonical frame address: the caller's stack pointer after the return. */
enum unwind_cfa_op {
	UNWIND_CFA_NONE = 0, /* no call-frame information for these addresses */
	UNWIND_CFA_SP,       /* sp + cfa_offset */
	UNWIND_CFA_FP,       /* frame pointer + cfa_offset */
	UNWIND_CFA_BX,       /* bx + cfa_offset: ld.so's _dl_runtime_resolve */
	/* A register that nobody saves, + cfa_offset. It is known in the innermost frame, and in
	   the callers of assembly that leaves it alone. */
	UNWIND_CFA_R10, /* while a realigned frame is being set up */
	UNWIND_CFA_AX,  /* these five: OpenSSL's assembly */
	UNWIND_CFA_SI,
	UNWIND_CFA_DI,
	UNWIND_CFA_R9,
	UNWIND_CFA_R11,
	UNWIND_CFA_CX,       /* cx + cfa_offset: a landing pad is about to be entered; innermost
				  frame only */
	UNWIND_CFA_DEREF_SP, /* 8 bytes at sp + cfa_offset */
	UNWIND_CFA_DEREF_FP, /* 8 bytes at frame pointer + cfa_offset: realigned frames (DRAP) */
	UNWIND_CFA_DEREF_SP_ADD, /* 8 bytes at the stack pointer, and more: see
				    UNWIND_STORED_COPY(). Assembly that aligns its frame and
				    stores the old stack pointer */
	UNWIND_CFA_PLT,          /* sp + 8, and 8 more where (pc & 15) >= cfa_offset */
	UNWIND_CFA_GOROUTINE,    /* on the stack of the goroutine whose description is at sp +
				  cfa_offset; the 8 bytes below are the distance from the stack's
				  end; fp is saved there or nowhere, see walk_find_goroutine() */
	UNWIND_CFA_FP_ELSEWHERE, /* frame pointer + cfa_offset, perhaps on another stack: code of Go
				    that calls C on the thread's own stack */
	UNWIND_CFA_COPY_ELSEWHERE, /* as UNWIND_CFA_COPY, of a stack pointer perhaps on another stack:
				      code of Go's race detector */
	UNWIND_CFA_CLONE, /* sp + cfa_offset, behind the system call of clone(); with 0 in ax it is the
				  new thread there, and outermost */
	UNWIND_CFA_COPY, /* see UNWIND_COPY(): a register holds the stack pointer from before
			     assembly aligned it. It is known in the innermost frame, and in the caller
			     of functions that push nothing */
	/* From here on there is no CFA to compute. */
	UNWIND_CFA_SIGNAL,      /* a signal frame: all registers are in the ucontext at sp. With
			       cfa_offset 1 it starts at the next byte: the kernel has put its
			       address on the stack. The code at this byte is a return */
	UNWIND_CFA_JUMP,        /* longjmp has loaded pc, sp and fp into dx, r8 and r9, and bx is at
			       di; innermost frame only */
	UNWIND_CFA_SCHEDULED,   /* where the thread's current goroutine was left: see
				   UNWIND_SCHEDULED_BYTES() */
	UNWIND_CFA_CONTEXT,     /* setcontext loads all registers from the ucontext at dx; innermost
			       frame only */
	UNWIND_CFA_STOP,        /* the outermost frame: the return address is undefined. With
			       cfa_offset 1 it starts at the next byte, and nobody called it:
			       its address was put on a new stack (makecontext) */
	UNWIND_CFA_UNSUPPORTED, /* there is a rule, but not one of these */
};

/*
 * cfa_offset of UNWIND_CFA_DEREF_SP_ADD: bytes from the stack pointer to the copy, and from the
 * copied address up to the CFA.
 */
#define UNWIND_STORED_COPY_PLACE_MIN (-(1 << 19))
#define UNWIND_STORED_COPY_PLACE_MAX ((1 << 19) - 1)
#define UNWIND_STORED_COPY_BYTES_MAX 2047
#define UNWIND_STORED_COPY(place, bytes) \
	((place)-UNWIND_STORED_COPY_PLACE_MIN + (bytes) * (1 << 20))
#define UNWIND_STORED_COPY_PLACE(offset) \
	((long long)((offset)&0xfffff) + UNWIND_STORED_COPY_PLACE_MIN)
#define UNWIND_STORED_COPY_BYTES(offset) ((offset) >> 20)
/*
 * cfa_offset of UNWIND_CFA_COPY: the register by its number in call-frame information, and bytes
 * from its value to the CFA.
 */
#define UNWIND_COPY_BYTES_MAX        ((1 << 27) - 1)
#define UNWIND_COPY(number, bytes)   ((bytes)*16 + (number))
#define UNWIND_COPY_REGISTER(offset) ((offset)&15)
#define UNWIND_COPY_BYTES(offset)    ((long long)(offset) >> 4)

/*
 * The numbers of UNWIND_CFA_SCHEDULED: bytes from the goroutine's saved stack pointer to the CFA, 0
 * if its pc was saved, too; offset of the pointer to a goroutine from the thread pointer; offset of
 * the current goroutine in the description of a thread.
 */
#define UNWIND_SCHEDULED_BYTES(rule)   ((rule)->cfa_offset)
#define UNWIND_SCHEDULED_TLS(rule)     ((rule)->bx_offset)
#define UNWIND_SCHEDULED_CURRENT(rule) ((rule)->fp_offset)

/* Location of the caller's value of a register. */
enum unwind_register_op {
	UNWIND_REGISTER_SAME = 0,
	UNWIND_REGISTER_AT_CFA,    /* saved at CFA + offset */
	UNWIND_REGISTER_AT_FP,     /* saved at (this frame's) frame pointer + offset */
	UNWIND_REGISTER_UNDEFINED, /* lost */
};

/* Location of the return address. */
enum unwind_ra_op {
	UNWIND_RA_AT_CFA = 0, /* at CFA - 8 */
	UNWIND_RA_IN_DI,      /* in di: vfork; innermost frame only */
	UNWIND_RA_IN_CX,      /* in cx: landing pads; likewise */
};

struct unwind_rule {
	int cfa_offset;  /* in bytes */
	short fp_offset; /* in bytes, for fp_op */
	short bx_offset; /* in bytes, for bx_op */
	union {
		struct {
			wire_u8 cfa_op; /* enum unwind_cfa_op */
			wire_u8 fp_op;  /* enum unwind_register_op, for the frame pointer */
			wire_u8 bx_op;  /* enum unwind_register_op, for bx */
			wire_u8 ra_op;  /* enum unwind_ra_op */
		};
		wire_u32 ops; /* all four: UNWIND_OPS() */
	};
};
/* Machines are little endian. */
#define UNWIND_OPS(cfa, fp, bx, ra) ((cfa) | (fp) << 8 | (bx) << 16 | (ra) << 24)
_Static_assert(sizeof(struct unwind_rule) == 12, "struct unwind_rule is part of the wire format");

struct unwind_page {
	wire_u32 first_row;
	wire_u32 num_rows; /* 0: no rule for these 64 KiB */
};
_Static_assert(sizeof(struct unwind_page) == 8, "struct unwind_page is part of the wire format");

/*
 * Rows and rules in kernel memory are split into shards. A page's rows are in one shard, and a
 * rule's index counts within its shard, so that neither can overflow: rows and rules that do not
 * fit start the next shard.
 */
#define UNWIND_SHARD_ROWS  (1u << 16) /* 256 KiB */
#define UNWIND_SHARD_RULES (1u << 10) /* of 70 programs and libraries together: 600 */

/* Limits of the kernel's side, all powers of two. */
#define UNWIND_MAX_SHARDS   256        /* 16 M rows: some 1000 files */
#define UNWIND_MAX_PAGES    (1u << 16) /* 4 GiB of text */
#define UNWIND_MAX_MAPPINGS (1u << 15)

struct unwind_shard {
	struct unwind_row rows[UNWIND_SHARD_ROWS];
	struct unwind_rule rules[UNWIND_SHARD_RULES];
};

/* Why a walk ended. Sent with every sample. */
enum walk_end {
	WALK_UNFINISHED = 0,
	WALK_COMPLETE,           /* at a frame that is marked the outermost */
	WALK_NO_PROCESS,         /* its mappings were not published yet */
	WALK_NO_MAPPING,         /* nothing known is mapped there */
	WALK_NO_TABLE,           /* its file's table is not built yet */
	WALK_NO_RULE,            /* the table has nothing for the address */
	WALK_UNSUPPORTED,        /* the table's rule is not one of ours */
	WALK_READ_FAILED,        /* the stack could not be read */
	WALK_TOO_DEEP,           /* WIRE_MAX_FRAMES */
	WALK_NON_INCREASING_CFA, /* the caller's frame would be below */
	WALK_FP_CHAIN, /* code without call-frame information, and no frame pointer either */
	WALK_NO_RETURN_ADDRESS, /* not an address of code */
	WALK_SKIPPED_FRAME,     /* a step by frame pointer left out a caller; only user space finds
				   that */
	WALK_JIT_CODE, /* it went by frame pointer through generated code that may not keep them;
			  only user space knows that */
	WALK_32_BIT,   /* the thread runs 32-bit code: the kernel has followed its frame pointers */
	NUM_WALK_ENDS,
};

/* Language of a function that has called the code that sets up its frame. */
enum walk_frame_setup { WALK_FRAME_SETUP_NONE, WALK_FRAME_SETUP_JAVASCRIPT, WALK_FRAME_SETUP_WASM };

/* It goes on, in code of HotSpot's, by runtime/hotspot_walk.h: no end, and never sent. */
#define WALK_AT_HOTSPOT_CODE ((enum walk_end)(NUM_WALK_ENDS + 1))

enum unwind_mapping_flag {
	UNWIND_MAPPING_HAS_TABLE = 1 << 0, /* first_page and its rows can be used */
	/* Known to have no call-frame information (JIT, anonymous code): frame pointers may be
	   followed. With HAS_TABLE: only where the table has no rule. */
	UNWIND_MAPPING_HAS_NO_CFI = 1 << 1,
	UNWIND_MAPPING_HAS_TRAMPOLINES = 1 << 2, /* CPython's may be in it, see walk.h; no table */
	UNWIND_MAPPING_HAS_HOTSPOT = 1 << 3,     /* its code may be in it; no table */
};

/* An executable mapping of a process, in the form that the walk uses. */
struct unwind_mapping {
	wire_u64 start;
	wire_u64 end;        /* first byte after it */
	wire_u64 bias;       /* pc minus ELF address */
	wire_u32 first_page; /* in the global array of pages; its first_row is shard << 16 | row */
	wire_u32 num_pages;
	wire_u32 base_page; /* page of the ELF address space at first_page */
	wire_u32 flags;     /* enum unwind_mapping_flag */
};
_Static_assert(sizeof(struct unwind_mapping) == 40,
	       "struct unwind_mapping is part of the wire format");

/* The interpreter of a process. */
struct unwind_runtime {
	wire_u64
		state; /* address of the variable that leads to its frames: _PyRuntime, executor_globals, … */
	wire_u32 layout;  /* number in the map of layouts, plus 1; 0: no interpreter */
	wire_u32 runtime; /* enum wire_runtime */
};

/* The mappings of a process, by pid: sorted by start, in the global array. */
struct unwind_process {
	wire_u32 first_mapping;
	wire_u32 num_mappings;
	wire_u64 generation; /* the kernel's exec counter that they belong to; or unknown */
	struct unwind_runtime runtime; /* its interpreter, but for HotSpot */
	/* HotSpot, whose code is part of the native stack: a process may have another interpreter besides. */
	wire_u64 hotspot_bias;   /* address in the process minus ELF address */
	wire_u32 hotspot_layout; /* as in struct unwind_runtime */
	wire_u32 version;        /* of its mappings, for the samples that are walked by them */
};

#endif
