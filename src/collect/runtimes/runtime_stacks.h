/*
 * Frames of interpreters in the stacks of the processes that run them: what the sampling program has sent of them, how they
 * are put into the native stack (runtime_ops.h), and for how many samples that could be done.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_RUNTIME_STACKS_H
#define COLLECT_RUNTIMES_RUNTIME_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/account.h"
#include "collect/runtimes/process_runtime.h"
#include "collect/user_stacks.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "wire/runtime.h"
#include "wire/wire.h"

struct runtime_stacks;

/* What they point to is borrowed. frames: not RUNTIME_FRAMES_NATIVE. Returns NULL when out of memory. */
struct runtime_stacks *runtime_stacks_new(struct profile *profile,
					  const struct runtime_sources *sources,
					  enum runtime_frames frames);
void runtime_stacks_free(struct runtime_stacks *stacks);

/*
 * Remember a record that the sampling program has sent: frames, or what says which function one is of. Other records, and
 * those of a wrong size, are ignored. Returns 0 or -ENOMEM.
 */
_must_check_ int runtime_stacks_add(struct runtime_stacks *stacks, const void *data, size_t size);

/* A level of a stack. */
struct runtime_level {
	uint32_t pc;       /* its number in the native stack; or one of these */
	uint32_t location; /* in the profile, of an interpreter's frame */
};
#define RUNTIME_LEVEL_FRAME UINT32_MAX
#define RUNTIME_LEVEL_SKIPPED \
	(UINT32_MAX - 1) /* a caller is missing here: what is outside of it does not count */
#define RUNTIME_LEVEL_OUTERMOST \
	(UINT32_MAX - 2) /* the last one: the stack starts here, whatever the native one does */
#define RUNTIME_MAX_LEVELS (WIRE_MAX_FRAMES + WIRE_MAX_RUNTIME_FRAMES)

/* No stack's hash: these are odd. */
#define RUNTIME_NO_FRAMES 2

/* Of whom a stack is, and what else was sent of it. */
struct runtime_sample {
	const struct process *process;
	uint64_t generation; /* the sample's */
	uint64_t frames;     /* hash of the interpreter's frames; RUNTIME_NO_FRAMES: none came */
	bool is_whole;       /* the native stack goes to the outermost function */
};

/* How the frames of a stack were put into it. */
struct runtime_verdict {
	enum runtime_fit fit;
	bool may_lack_inlined; /* inlined functions of a level are unknown */
	bool proves_steps; /* the interpreter's frames lie where the walk followed frame pointers */
};

/*
 * The levels of a stack with the frames in it, innermost first.
 *
 * pcs  as struct wire_stack has them
 * ret  RUNTIME_MAX_LEVELS; those of the native stack alone where ret_verdict->fit is not RUNTIME_FITS
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int runtime_stacks_splice(struct runtime_stacks *stacks,
				       const struct runtime_sample *source, const uint64_t *pcs,
				       uint32_t num_pcs, struct runtime_level *ret,
				       uint32_t *ret_num, struct runtime_verdict *ret_verdict);

/* Whether the outer ones of these frames are not kept. */
bool runtime_stacks_is_deep(const struct runtime_stacks *stacks, uint64_t hash);

/* The runtime that a process runs. It is looked for once, until its mappings change. */
struct process_runtime runtime_stacks_get_runtime(struct runtime_stacks *stacks,
						  const struct process *process);

/*
 * Whether a futex that a thread of a process waits for is the global interpreter lock of CPython: that of the main
 * interpreter lies in _PyRuntime, its mutex and its condition variables, and of what else does nothing is a futex.
 * Locks of subinterpreters that have their own lie elsewhere.
 */
bool runtime_stacks_is_gil(struct runtime_stacks *stacks, const struct process *process,
			   uint64_t futex);

/* Whether a sample of a process counts for what it runs only where a frame is in that one's file. */
bool runtime_stacks_counts_by_file(struct runtime_stacks *stacks, const struct process *process);

/*
 * A sample of a process, whether that runs an interpreter or not. A fit of RUNTIME_NONE: its frames did not come. pcs: its
 * stack, where that is asked for (runtime_stacks_counts_by_file()).
 */
void runtime_stacks_count(struct runtime_stacks *stacks, const struct process *process,
			  struct runtime_verdict verdict, const uint64_t *pcs, uint32_t num_pcs);
/* Borrowed until the next one is counted. */
const struct runtime_counts *runtime_stacks_get_counts(const struct runtime_stacks *stacks,
						       size_t *ret_count);

/* How many functions were not kept: there were too many, or they were none. Their frames have no name. */
uint64_t runtime_stacks_get_lost_codes(const struct runtime_stacks *stacks);

/* After the last sample: give back what was sent. The counts stay. */
void runtime_stacks_forget(struct runtime_stacks *stacks);

#endif
