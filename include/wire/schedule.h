/*
 * Data exchanged by the scheduling program and user space: events of threads, and of the kernel's
 * own work.
 *
 * Included by both sides, like wire/wire.h. A CPU's events are collected into batches; a batch is
 * one record of a ring. Its slots are in order of time. Names are reported once: both sides keep,
 * for every CPU, WIRE_SCHEDULE_NAMES names by tid modulo that number. So the name in user space's
 * slot of an event is the event's.
 */
#ifndef WIRE_SCHEDULE_H
#define WIRE_SCHEDULE_H

#include "wire/wire.h"

/* Slots of one batch. */
#define WIRE_SCHEDULE_SLOTS 128
/* Names that each CPU remembers having emitted. A power of two. */
#define WIRE_SCHEDULE_NAMES 512

enum wire_schedule_kind {
	WIRE_SCHEDULE_SWITCH = 1, /* the CPU switches to tid */
	/* The same, though the previous one was still runnable. */
	WIRE_SCHEDULE_SWITCH_PREEMPTED = 2,
	WIRE_SCHEDULE_WAKEUP = 3,              /* the thread on the CPU wakes tid */
	WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT = 4, /* an interrupt on the CPU wakes tid */
	WIRE_SCHEDULE_NAME = 5,                /* tid's name is in the next slot */
	WIRE_SCHEDULE_UNSEEN =
		6, /* the CPU runs tid without a switch to it; the next slot has the time */
};

/* The priority of a thread of the deadline class, which the kernel counts as -1. */
#define WIRE_SCHEDULE_DEADLINE 255

struct wire_schedule_event {
	wire_u64 time_ns; /* CLOCK_BOOTTIME; of a name: the thread's pid */
	wire_u32 tid;
	wire_u16 state;   /* of a switch: task state | exit state, as the kernel keeps them, of the
			     thread that leaves; of a wakeup: the CPU it is to run on */
	wire_u8 priority; /* of tid, as the kernel counts: 120 is nice 0 */
	wire_u8 kind;     /* enum wire_schedule_kind */
};

/*
 * A switch without an event: until when the CPU was seen to run the previous thread, and since when
 * tid. There is no other event of the CPU in between.
 */
struct wire_schedule_unseen {
	wire_u64 known_until_ns;
	wire_u64 runs_since_ns;
};

union wire_schedule_slot {
	struct wire_schedule_event event;
	struct wire_schedule_unseen unseen;
	char name[WIRE_COMM_SIZE];
};
_Static_assert(sizeof(union wire_schedule_slot) == 16, "a slot is part of the wire format");

struct wire_schedule {
	wire_u32 type;   /* WIRE_SCHEDULE */
	wire_u32 number; /* number of the CPU's batch, from 0; a gap means a loss */
	wire_u32 tid;    /* running before the first event; 0: idle, or no target */
	wire_u16 cpu;
	wire_u16 num_slots;    /* only these are sent */
	wire_u32 num_switches; /* in these slots */
	wire_u32 num_wakeups;
	union wire_schedule_slot slots[WIRE_SCHEDULE_SLOTS];
};
_Static_assert(sizeof(struct wire_schedule) == 24 + 16 * WIRE_SCHEDULE_SLOTS,
	       "struct wire_schedule is part of the wire format");

/*
 * The thread that a CPU runs by the events so far, and the thread seen to run there since. The
 * sampling program records the latter at its ticks.
 */
struct wire_schedule_running {
	wire_u32 tid;        /* 0: idle, or not a target */
	wire_u32 num_leaves; /* number of times that thread had left a CPU before, modulo 2^32 */
	wire_u64 seen_ns;    /* when it was last seen to run */
	wire_u32 other_tid;  /* another one seen after that */
	wire_u32 other_leaves;
	wire_u64 other_since_ns; /* when it was first seen; 0: none */
};
_Static_assert(sizeof(struct wire_schedule_running) == 32,
	       "struct wire_schedule_running is part of the wire format");

/* State of a CPU: the batch that it fills, and whether an event is being added. */
struct wire_schedule_cpu {
	struct wire_schedule batch;
	wire_u32 name_generation; /* names emitted in earlier generations may have been lost */
	wire_u8 is_busy;
	wire_u8 has_started;
	wire_u8 padding[2];
};
_Static_assert(sizeof(struct wire_schedule_cpu) == 24 + 16 * WIRE_SCHEDULE_SLOTS + 8,
	       "struct wire_schedule_cpu is part of the wire format");

/*
 * Per CPU. Every event of a target adds to `switches` or `wakeups`, and then to at most one of
 * the others.
 */
struct wire_schedule_counters {
	wire_u64 switches;
	wire_u64 wakeups;
	wire_u64 lost_ring_switches; /* no room in the ring for their batch */
	wire_u64 lost_ring_wakeups;
	wire_u64 lost_nested; /* wakeups by an interrupt while another event was being added */
	wire_u64 unseen;      /* switches that the kernel did not report; not among `switches` */
};
_Static_assert(sizeof(struct wire_schedule_counters) == 48,
	       "struct wire_schedule_counters is part of the wire format");

/*
 * Work of the kernel that belongs to no thread, in the kinds of `perf kwork`; each item is emitted
 * at its end. Only if the whole machine is recorded.
 */
enum wire_kwork_kind {
	WIRE_KWORK_IRQ,       /* the handler of an interrupt */
	WIRE_KWORK_SOFTIRQ,   /* work that a handler has deferred */
	WIRE_KWORK_WORKQUEUE, /* an item, by a worker thread, which may sleep meanwhile */
	NUM_WIRE_KWORK_KINDS,
};

/* Workers that can be at an item at a time. */
#define WIRE_KWORK_WORKERS   4096
#define WIRE_KWORK_SLOTS     64
#define WIRE_KWORK_NAME_SIZE 24

struct wire_kwork {
	wire_u64 start_ns; /* CLOCK_BOOTTIME */
	wire_u64 end_ns;
	wire_u32 number; /* of the interrupt, of the softirq's vector; tid of the worker */
	wire_u32 padding;
	union {
		wire_u64 function;               /* workqueue: address of its code */
		char name[WIRE_KWORK_NAME_SIZE]; /* irq: of the handler, NUL-terminated */
	};
};
_Static_assert(sizeof(struct wire_kwork) == 48, "struct wire_kwork is part of the wire format");

/* Items of one kind on one CPU, in the order of their ends. */
struct wire_kworks {
	wire_u32 type; /* WIRE_KWORKS */
	wire_u16 cpu;
	wire_u16 kind;      /* enum wire_kwork_kind */
	wire_u32 num_slots; /* filled slots; all are sent */
	wire_u32 padding;
	struct wire_kwork slots[WIRE_KWORK_SLOTS];
};
_Static_assert(sizeof(struct wire_kworks) == 16 + 48 * WIRE_KWORK_SLOTS,
	       "struct wire_kworks is part of the wire format");

/* Counts of items: each adds to exactly one, and some of those taken are lost later. */
struct wire_kwork_counters {
	wire_u64 taken;
	wire_u64 lost_nested;  /* it occurred while another one of its kind was being added */
	wire_u64 unseen_begin; /* its start is unknown */
	wire_u64 lost_ring;    /* of those taken: no room in the ring for their batch */
};
_Static_assert(sizeof(struct wire_kwork_counters) == 32,
	       "struct wire_kwork_counters is part of the wire format");

/* State of a CPU for each kind: different kinds may interrupt each other, but none itself. */
struct wire_kwork_cpu {
	struct wire_kwork_counters counters;
	wire_u64 start_ns; /* of the running item; 0: none */
	wire_u32 number;   /* its number */
	wire_u32 is_busy;  /* one is being added just now */
	struct wire_kworks batch;
};
_Static_assert(sizeof(struct wire_kwork_cpu) == 48 + 16 + 48 * WIRE_KWORK_SLOTS,
	       "struct wire_kwork_cpu is part of the wire format");

#endif
