/*
 * Data exchanged by the BPF programs and user space: record layouts, counters, limits.
 *
 * Included by both sides. Fixed-width types, explicit padding, no pointers. Every record is written
 * by the BPF program and starts with its type.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "wire/registers.h"
#include "wire/types.h"

/* Levels of one stack that are kept; deeper ones are truncated at the outer end and marked so. */
#define WIRE_MAX_FRAMES 512
/* Stacks that each CPU remembers having sent. A power of two. */
#define WIRE_STACK_CACHE_SLOTS 4096
/* CPUs that share one ring buffer. A power of two. */
#define WIRE_CPUS_PER_RING 8
#define WIRE_COMM_SIZE     16
#define WIRE_NOT_WOKEN     (~0ull)
/* Unknown generation: this kernel has no exec counter that we know. */
#define WIRE_GENERATION_UNKNOWN (~0ull)

enum wire_record_type {
	WIRE_SAMPLE = 1,
	WIRE_STACK = 2,
	WIRE_RAW_SAMPLE = 3,
	WIRE_STACK_AREA = 4,
	WIRE_SCHEDULE = 5,      /* wire/schedule.h */
	WIRE_WAKEUP = 6,        /* nothing but its type: it is sent to wake user space */
	WIRE_KWORKS = 7,        /* wire/schedule.h */
	WIRE_RUNTIME_STACK = 8, /* wire/runtime.h */
	WIRE_RUNTIME_CODE = 9,  /* likewise */
	WIRE_RAW_REQUEST = 13,
};

enum wire_sample_flag {
	WIRE_SAMPLE_IN_KERNEL = 1 << 0,      /* interrupted in kernel mode */
	WIRE_SAMPLE_IN_EXEC = 1 << 1,        /* inside execve: registers and memory may disagree */
	WIRE_SAMPLE_NO_USER_MEMORY = 1 << 2, /* kernel thread, exiting, or has not run yet */
	/* Off-CPU: how the thread had left the CPU that it has just got again, or has not yet. */
	WIRE_SAMPLE_BLOCKED = 1 << 3,         /* it slept */
	WIRE_SAMPLE_UNINTERRUPTIBLE = 1 << 4, /* it slept, and no signal could wake it */
	WIRE_SAMPLE_PREEMPTED = 1 << 5,       /* it was still runnable */
	WIRE_SAMPLE_THROUGHOUT = 1 << 6,      /* it has not run since the start of the recording */
	/* In a tick: a system call that has not ended, of a thread that no hit was seen of. */
	WIRE_SAMPLE_UNDER_WAY = 1 << 6,
	/*
	 * Neither a tick nor a wait, but a waker when it ended a wait. The thread is the running
	 * one, which is unrelated if an interrupt was the waker; its tid is 0 on an idle CPU.
	 */
	WIRE_SAMPLE_WAKER = 1 << 7,
};
#define WIRE_SAMPLE_OFF_CPU \
	(WIRE_SAMPLE_BLOCKED | WIRE_SAMPLE_UNINTERRUPTIBLE | WIRE_SAMPLE_PREEMPTED)

/*
 * Above the number of a system call: it is of the 32-bit table, or of one of the two tables. Without
 * a mark it is of the 64-bit table.
 */
#define WIRE_CALL_32_BIT        (1ull << 32)
#define WIRE_CALL_UNKNOWN_TABLE (1ull << 33)

/* An observation of a thread: its code at a tick, or its wait when it gets a CPU again. */
struct wire_sample {
	wire_u32 type; /* WIRE_SAMPLE */
	wire_u32 pid;
	wire_u32 tid;
	wire_u16 cpu;
	wire_u8 flags;         /* enum wire_sample_flag */
	wire_u8 walk_end;      /* enum walk_end of the user stack (wire/unwind.h) */
	wire_u64 time_ns;      /* CLOCK_BOOTTIME; off-CPU: when it got a CPU, or the end */
	wire_u64 generation;   /* the kernel's exec counter of the process */
	wire_u64 user_stack;   /* hash of a wire_stack sent before; 0: none was taken */
	wire_u64 kernel_stack; /* likewise */
	wire_u64 user_sp;      /* user stack pointer, 0: none */
	wire_u64 outermost_sp; /* the same for the outermost frame; 0: not reached by the walk */
	wire_u32 num_periods;  /* weight in periods; for a tick 1 */
	union {
		wire_u32 num_queue_periods; /* off-CPU: those after it was woken, when it waited for
					       a CPU */
		wire_u32 event;             /* of a tick: number of the requested event, from 0 */
	};
	union {
		/*
		 * In a waker's sample: its number. In a wait: the number of its waker's sample; 0:
		 * none; WIRE_NOT_WOKEN: the wait has not ended.
		 */
		wire_u64 wakeup;
		wire_u64 weight; /* in a tick: events since the last one */
	};
	union {
		/* Address of the futex that a wait is for; 0: another wait, or unknown. */
		wire_u64 futex;
		/*
		 * For a system call: its number plus one, below WIRE_CALL_32_BIT, and its table;
		 * else 0.
		 */
		wire_u64 call;
		/* For memory that may stay live: the number of its slot plus one; else 0. */
		wire_u64 block;
		/* For a request to a block device: enum wire_request_kind; else 0. */
		wire_u64 request;
	};
	wire_u64 runtime_stack; /* hash of a wire_runtime_stack sent before; 0: none */
	/* Off-CPU: time until it was woken, and from then until time_ns; both 0: new thread. */
	union {
		wire_u64 wait_ns;
		/*
		 * In a tick after a silence: weight of the hits before it, which belongs to the last
		 * sample of the CPU.
		 */
		wire_u64 earlier_weight;
		/*
		 * Return address of an allocator's function that the thread has entered, and may
		 * not have returned from. It may have jumped to code without a probe, and is in no
		 * frame then. For allocations; 0: unknown. WIRE_ENTERED_BY_HOOK is added if it has
		 * jumped to a hook, which may be in any file.
		 */
		wire_u64 entered_from;
#define WIRE_ENTERED_BY_HOOK (1ull << 63)
	};
	union {
		wire_u64 queue_ns;
		/*
		 * For a request that has ended: CLOCK_MONOTONIC of its start; 0: no
		 * WIRE_RAW_REQUEST was sent for it.
		 */
		wire_u64 request_ns;
	};
	/* Version of the process's mappings that the walk used; 0: unknown, or no walk by table. */
	wire_u32 mappings_version;
	/* Duration of an event, which has ended; 0: none, or below 1 ms. */
	wire_u32 duration_ms;
	char comm[WIRE_COMM_SIZE]; /* of the thread, NUL-terminated */
};
_Static_assert(sizeof(struct wire_sample) == 136, "struct wire_sample is part of the wire format");

/*
 * A stack, sent before the first sample that refers to it. The same stack may be sent again.
 */
struct wire_stack {
	wire_u32 type; /* WIRE_STACK */
	wire_u32 num_frames;
	wire_u64 hash;                 /* of the pcs; never 0 */
	wire_u64 pcs[WIRE_MAX_FRAMES]; /* innermost first; only num_frames are sent. All but the
					  innermost are return addresses */
};
_Static_assert(sizeof(struct wire_stack) == 16 + 8 * WIRE_MAX_FRAMES,
	       "struct wire_stack is part of the wire format");

/*
 * Maximum size of a raw stack: compilers have used more than 64 KiB while their largest libraries
 * are still without table. While a ring is more than a quarter full, fewer pages are taken, which
 * is enough for most stacks; when it is more than half full, none, to leave room for samples.
 */
#define WIRE_RAW_PAGES       31
#define WIRE_RAW_FEW_PAGES   8
#define WIRE_RAW_PAGE_BYTES  4096
#define WIRE_RAW_STACK_BYTES ((WIRE_RAW_PAGES + 1) * WIRE_RAW_PAGE_BYTES)
/*
 * Limits of raw samples per CPU and second; beyond them only the walked part is sent. A starting
 * program has thousands of page faults within milliseconds, with a kilobyte of stack each.
 */
#define WIRE_RAW_SAMPLES_PER_SECOND 8192
#define WIRE_RAW_BYTES_PER_SECOND   (64u << 20)

/*
 * A sample with the stack itself instead of a walk, if a table was missing: user space walks it
 * later. sample.user_stack is 0. There may be a second part. If a signal handler has its own stack,
 * it is the interrupted stack. If a stack is too deep, it is the end of the stack, with half of the
 * pages: a single frame may take half a megabyte (rustc).
 *
 * A WIRE_RAW_REQUEST is not a sample, but the stack of a request to a block device that has just
 * been made. Its sample is sent when the request has ended, with the same thread ID and request_ns.
 */
struct wire_raw_sample {
	struct wire_sample sample; /* its type is WIRE_RAW_SAMPLE or WIRE_RAW_REQUEST */
	struct wire_registers registers;
	wire_u64 far_sp;        /* start of the second part */
	wire_u32 num_bytes;     /* of the stack, from registers.sp up */
	wire_u32 num_far_bytes; /* of the second part, from far_sp up; 0: none */
	/* Observations of code, which is not included, as in struct walk. */
	wire_u8 entry_bytes;
	wire_u8 cfa_offset;
	wire_u8 frame_setup;
	wire_u8 has_signal_stack; /* the following two are known */
	wire_u8 padding[4];
	/* The thread's alternate stack for signal handlers (sigaltstack); 0 bytes: none. */
	wire_u64 signal_stack;
	wire_u64 signal_stack_bytes;
	wire_u8 bytes[WIRE_RAW_STACK_BYTES]; /* one after the other; only the used part is sent */
};
_Static_assert(sizeof(struct wire_raw_sample) ==
		       136 + sizeof(struct wire_registers) + 40 + WIRE_RAW_STACK_BYTES,
	       "struct wire_raw_sample is part of the wire format");

enum wire_stack_kind {
	WIRE_STACK_NONE,
	WIRE_STACK_MAIN,           /* the stack on which the program started */
	WIRE_STACK_THREAD,         /* the thread's own, with the thread's own data above it */
	WIRE_STACK_SIGNAL,         /* set by the thread for its signal handlers (sigaltstack) */
	WIRE_STACK_OTHER,          /* some mapping */
	WIRE_STACK_GOROUTINE,      /* a goroutine's, or that of Go's scheduler (g0) */
	WIRE_STACK_BOUNDED_THREAD, /* the thread's own, with the bounds that its C library has noted */
};

/*
 * The memory that a thread's stack pointer was in, sent before the sample with that time. The same
 * may be sent again.
 */
struct wire_stack_area {
	wire_u32 type; /* WIRE_STACK_AREA */
	wire_u32 pid;
	wire_u32 tid;
	wire_u32 kind;       /* enum wire_stack_kind */
	wire_u64 time_ns;    /* CLOCK_BOOTTIME */
	wire_u64 generation; /* as in wire_sample */
	wire_u64
		start; /* of the whole mapping; exact for signals, goroutines and bounded threads */
	wire_u64 end;  /* first byte after it */
	wire_u64 user_sp;        /* stack pointer in it */
	wire_u64 thread_pointer; /* WIRE_STACK_THREAD: the stack is below it; else 0 */
};
_Static_assert(sizeof(struct wire_stack_area) == 64,
	       "struct wire_stack_area is part of the wire format");

/* Threads that a filter can hold at a time. */
#define WIRE_MAX_TARGETS 65536
/* On a tid in a filter that is the number in our pid namespace, not in the first one. */
#define WIRE_NAMED_IN_NAMESPACE (1ull << 32)

enum wire_target {
	WIRE_TARGET = 1,
	WIRE_TARGET_FROM_EXEC = 2, /* only when it has executed a program */
};
/* Above these bits: low bits of the thread's start time; 0 if user space named it. */
#define WIRE_TARGET_BITS 8
#define WIRE_TARGET_MASK ((1u << WIRE_TARGET_BITS) - 1)

/* Counts of the samples that a program has taken. */
struct wire_sends {
	wire_u64 sent;             /* a wire_sample went into the ring, or to the reader */
	wire_u64 lost_ring_sample; /* no room in the ring for the sample */
	wire_u64 lost_ring_stack;  /* no room in the ring for its stack */
};

static inline void wire_sends_add(struct wire_sends *sum, const struct wire_sends *more)
{
	sum->sent += more->sent;
	sum->lost_ring_sample += more->lost_ring_sample;
	sum->lost_ring_stack += more->lost_ring_stack;
}

/*
 * Counts of runs of the sampling program, per CPU; each run adds to `fired` and to exactly one of
 * the others.
 */
struct wire_counters {
	wire_u64 fired;
	wire_u64 idle;     /* the CPU ran nothing */
	wire_u64 filtered; /* the thread was no target */
	/*
	 * Tracepoint: its filter does not match; request: of another kind; end of a system call: a
	 * new thread or program, which has made none.
	 */
	wire_u64 unmatched;
	/*
	 * Tracepoint: its field is not above 0, or no amount; allocator: no call from outside, or
	 * hits of its file do not count yet.
	 */
	wire_u64 weightless;
	wire_u64 unseen_begin; /* for events weighted by time: the start is unknown */
	wire_u64 unfinished;   /* for events weighted by time: the end was not seen */
	wire_u64 below_period; /* for tracepoints: not enough yet for a sample */
	struct wire_sends sends;
	wire_u64 lost_block;  /* no room for memory that may be live */
	wire_u64 lost_weight; /* of lost samples of events, which is in no other count */
	wire_u64 unfollowed;  /* not of a run: new threads that could not be remembered */
	wire_u64 outside;     /* of those filtered: targets that our pid namespace does not show */
};
_Static_assert(sizeof(struct wire_counters) == 120,
	       "struct wire_counters is part of the wire format");

/*
 * CPU time of programs' runs, per CPU. Computed by user space: num_runs - runs_left runs have
 * ended, and each took timed_ns / num_timed on average.
 */
struct wire_own_time {
	wire_u64 num_runs;  /* including those left */
	wire_u64 runs_left; /* runs until one is timed, including it */
	wire_u64 num_timed;
	wire_u64 timed_ns;
	wire_u64 started_ns; /* of the run that is timed now; 0: none is */
};
_Static_assert(sizeof(struct wire_own_time) == 40,
	       "struct wire_own_time is part of the wire format");

/*
 * State of an event whose hits a program counts, per CPU: its sampling period, and the weight since
 * the last sample.
 */
struct wire_period_state {
	wire_u64 period;
	wire_u64 next;        /* weight for the next sample: about a period */
	wire_u64 weight;      /* weight since the last sample, which is not in that */
	wire_u64 sample_ns;   /* time of the last sample */
	wire_u64 window_ns;   /* start of the window */
	wire_u64 num_samples; /* in it */
};
_Static_assert(sizeof(struct wire_period_state) == 48,
	       "struct wire_period_state is part of the wire format");

/* The system call that a thread is in. */
struct wire_call {
	wire_u64 start_ns; /* CLOCK_MONOTONIC */
	wire_u64 number;   /* as in struct wire_sample */
};
_Static_assert(sizeof(struct wire_call) == 16, "struct wire_call is part of the wire format");

/* A request to a block device, while it is on its way; the key of a map that user space counts. */
struct wire_request_key {
	wire_u64 sector;
	wire_u32 device;
	wire_u32 padding;
};
_Static_assert(sizeof(struct wire_request_key) == 16,
	       "struct wire_request_key is part of the wire format");

/* Source of the weight of a probe's hit. */
enum wire_argument_source {
	WIRE_ARGUMENT_NONE, /* one */
	WIRE_ARGUMENT_CONSTANT,
	WIRE_ARGUMENT_REGISTER,
	WIRE_ARGUMENT_MEMORY,  /* at base + index * scale + displacement */
	WIRE_ARGUMENT_PRODUCT, /* of the registers base and index */
};

#define WIRE_NO_REGISTER 255

/*
 * Location of the weight; user space writes it before the first hit. Registers are words of struct
 * pt_regs.
 */
struct wire_argument {
	wire_u64 displacement; /* signed; or the constant itself */
	wire_u8 source;        /* enum wire_argument_source */
	wire_u8 bytes;         /* 1, 2, 4 or 8 */
	wire_u8 is_signed;
	wire_u8 base;
	wire_u8 index; /* or WIRE_NO_REGISTER */
	wire_u8 scale;
	/* For an allocator: */
	wire_u8 may_jump; /* see struct wire_own_code */
	wire_u8 frees;    /* the register with the address that it frees; or WIRE_NO_REGISTER */
};
_Static_assert(sizeof(struct wire_argument) == 16,
	       "struct wire_argument is part of the wire format");

/* Maximum number of ranges of an allocator's code; user space knows the others. */
#define WIRE_MAX_OWN_CODE 24

/*
 * For a point in an allocator: ranges of the allocator's own code, whose calls have been counted
 * already. Relative to the point, so that they are valid wherever the file is mapped.
 */
struct wire_own_code {
	wire_u64 offsets[WIRE_MAX_OWN_CODE]; /* signed */
	wire_u64 bytes[WIRE_MAX_OWN_CODE];   /* 0: no more */
	/* It may continue at another point by a jump, if this register is at most the limit. */
	wire_u64 jump_register; /* as in struct wire_argument; WIRE_NO_REGISTER: it does not */
	wire_u64 jump_limit;
	wire_u64 pointer_register; /* has the address' location; WIRE_NO_REGISTER: it is returned */
	/*
	 * Offset of a pointer to a hook; signed. If that is not NULL, the function jumps there, and
	 * may be entered again by a jump. 0: no hook.
	 */
	wire_u64 hook_offset;
	wire_u32 file;      /* number of its file, from 1 on */
	wire_u16 jumps_out; /* it may continue in other code by a jump */
	/* Stacks lack callers: it may call another allocator, and is remembered for that. */
	wire_u16 calls_out;
};
_Static_assert(sizeof(struct wire_own_code) == 424,
	       "struct wire_own_code is part of the wire format");

/* A call of an allocator that may continue at another point. */
struct wire_open_call {
	wire_u64 sp;
	wire_u64 return_address;
	wire_u64 weight;
	wire_u32 point;
	wire_u32 file;
	/* It may continue, by a jump: */
	wire_u8 jumps_in;  /* at any point, with the same weight */
	wire_u8 jumps_out; /* at a point of another file, with any weight */
	wire_u8 is_hooked; /* in a hook; and, once that has removed itself, at the same point */
	wire_u8 is_on_signal_stack;
	wire_u8 padding[4];
};
_Static_assert(sizeof(struct wire_open_call) == 40,
	       "struct wire_open_call is part of the wire format");

/* So many calls enclose each other, such as those of a signal handler. A power of two. */
#define WIRE_MAX_OPEN_CALLS 4

/* A thread's calls that may enclose the next one. On each stack, stack pointers fall. */
struct wire_open_calls {
	struct wire_open_call calls[WIRE_MAX_OPEN_CALLS]; /* a ring */
	wire_u32 last; /* number of the innermost one; its place is the remainder */
	wire_u32 count;
};
_Static_assert(sizeof(struct wire_open_calls) == 168,
	       "struct wire_open_calls is part of the wire format");

/* Memory that is allocated, and sampled, at a time. */
#define WIRE_MAX_BLOCKS 65536

/* A block of a memory, which processes may share. */
struct wire_block_key {
	wire_u64 address;
	wire_u64 memory; /* its number in the kernel; if that is unknown, the process's pid */
};
_Static_assert(sizeof(struct wire_block_key) == 16,
	       "struct wire_block_key is part of the wire format");

struct wire_block {
	wire_u64 time_ns; /* of its sample */
	wire_u32 slot;
	wire_u32 padding;
};
_Static_assert(sizeof(struct wire_block) == 16, "struct wire_block is part of the wire format");

/* A call of an allocator that has not returned. Allocators call each other. */
struct wire_call_key {
	wire_u64 sp; /* when it was called */
	wire_u32 tid;
	wire_u32 padding;
};
_Static_assert(sizeof(struct wire_call_key) == 16,
	       "struct wire_call_key is part of the wire format");

/* A function that is about to allocate. */
struct wire_returning {
	wire_u64 pointer; /* location of the address; 0: returned */
	struct wire_block block;
};
_Static_assert(sizeof(struct wire_returning) == 24,
	       "struct wire_returning is part of the wire format");

/* A function that frees a block unless it fails. */
struct wire_reallocation {
	wire_u64 address;
	struct wire_block block;
	wire_u32 point;
	wire_u32 frees_always; /* nothing is asked for: no address is no failure */
};
_Static_assert(sizeof(struct wire_reallocation) == 32,
	       "struct wire_reallocation is part of the wire format");

enum wire_arrival {
	WIRE_BY_CALL,
	WIRE_PERHAPS_BY_JUMP, /* if it is like a call of the thread at the same depth */
	WIRE_BY_HOOK,         /* by a jump of a hook that the function has called */
};

/* State of a probe's program, per CPU. */
struct wire_running {
	wire_u64 num_running; /* started and not ended: all but the last one are preempted */
	wire_u64 lost;        /* hits while another run had started */
	/* For an allocator, the last hit: one file may be known as several, and each is hit. */
	wire_u64 task; /* its address in the kernel */
	wire_u64 pc;
	wire_u64 sp;
	wire_u64 point;
	/*
	 * Stack pointers of that thread's calls which may continue by a jump, innermost last. A call
	 * at the same depth or above ends them.
	 */
	wire_u64 jump_sps[WIRE_MAX_OPEN_CALLS];
	wire_u64 num_jumps;
	wire_u64 known_sp; /* highest of that thread since another one; above, they are unknown */
	wire_u64 arrival;  /* enum wire_arrival of the last hit */
	/* For live memory, the last thread that freed a block, and its memory as in wire_block_key: */
	wire_u64 freeing_tid;  /* 0: no thread yet */
	wire_u64 freeing_exec; /* its number of execs */
	wire_u64 memory;
};
_Static_assert(sizeof(struct wire_running) == 128,
	       "struct wire_running is part of the wire format");

#endif
