/*
 * What a recording counts: what became of every tick, how far the user stacks reach, and what was
 * done for them. Plain values.
 */
#ifndef COLLECT_ACCOUNT_H
#define COLLECT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "process/process_table.h"
#include "wire/unwind.h"

/*
 * How far the user stacks of a number of samples reach, where the kernel followed frame pointers:
 * whether their ends are the outermost frames is for the symbolizer to say.
 */
struct user_stack_count {
	uint32_t stack; /* in the profile, without kernel levels; STACK_EMPTY: none was got */
	uint64_t num_samples;
	uint64_t num_at_limit; /* of these, walks that the kernel's depth limit ended */
};

/* Unwind tables that were made, or taken from the cache. */
struct unwind_table_counts {
	uint64_t num_objfiles; /* with a table */
	uint64_t num_rows;
	uint64_t size_bytes;       /* of kernel memory for rows and rules */
	uint64_t frame_info_bytes; /* of .eh_frame and .debug_frame that tables were made from */
	uint64_t build_ns;         /* CPU time, summed over the worker threads */
	uint64_t build_wall_ns;    /* the same by the clock: with waiting, and what comes before and
				      after a table is made */
	uint64_t num_dropped;      /* tables and processes for which there was no room */
};

/* What became of every event of the scheduler; switches and wakings are those that are kept. */
struct scheduling_counts {
	bool is_recorded;
	uint64_t fired;
	uint64_t switches;
	uint64_t wakings;
	uint64_t lost_ring;    /* the ring was full */
	uint64_t lost_nested;  /* an interrupt woke a thread while another event was taken down */
	uint64_t lost_storage; /* the temporary file could not be written */
};

/* They add up. Meaningful after recorder_stop(). */
bool scheduling_counts_are_balanced(const struct scheduling_counts *counts);

/* Return addresses that were looked at; see struct recorder_opts. */
struct call_check_counts {
	uint64_t checked; /* each once per file */
	uint64_t failed;  /* of these, not after a call */
};

/* Of every tick: fired = idle + filtered + samples + what was lost. */
struct recorder_account {
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t samples;
	uint64_t lost_ring_sample;
	uint64_t lost_ring_stack;
	uint64_t lost_unknown_stack;
	uint64_t walks[NUM_WALK_ENDS]; /* user stacks walked by table, by how that ended */
	uint64_t recovered;            /* of the complete ones, those walked later */
	uint64_t in_exec;              /* samples whose user stack was being replaced */
	uint64_t lost_side_band;       /* process events: not samples */
	uint64_t late_events;          /* that came too late to be put into order */
	uint64_t unfollowed;           /* new threads that there was no room to follow */
	uint64_t duration_ns;          /* from start to stop, or to now */
	uint32_t num_cpus;             /* online at the start */
	struct process_table_stats processes;
	struct unwind_table_counts tables;   /* all 0 without tables */
	struct scheduling_counts scheduling; /* all 0 unless it is recorded */
	struct call_check_counts calls;      /* all 0 unless calls are checked */
};

/* The account adds up. Meaningful after recorder_stop(). */
static inline bool recorder_account_is_balanced(const struct recorder_account *account)
{
	return account->fired == account->idle + account->filtered + account->samples +
					 account->lost_ring_sample + account->lost_ring_stack +
					 account->lost_unknown_stack;
}

#endif
