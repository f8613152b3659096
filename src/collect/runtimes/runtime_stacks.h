/*
 * Frames of interpreters in the stacks of the processes that run them. This keeps the frames sent
 * by the sampling program, splices them into native stacks (runtime_ops.h), and counts the samples
 * where that worked.
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

/*
 * All pointers in sources are borrowed. frames: not RUNTIME_FRAMES_NATIVE. Returns NULL when out of
 * memory.
 */
struct runtime_stacks *runtime_stacks_new(struct profile *profile,
					  const struct runtime_sources *sources,
					  enum runtime_frames frames);
void runtime_stacks_free(struct runtime_stacks *stacks);

/*
 * Remember a record that the sampling program has sent: frames, or the function of a frame. Other
 * records, and those of a wrong size, are ignored. Returns 0 or -ENOMEM.
 */
_must_check_ int runtime_stacks_add(struct runtime_stacks *stacks, const void *data, size_t size);

/* A level of a stack. */
struct runtime_level {
	uint32_t pc;       /* its number in the native stack; or one of these */
	uint32_t location; /* in the profile, of an interpreter's frame */
};
#define RUNTIME_LEVEL_FRAME UINT32_MAX
#define RUNTIME_LEVEL_SKIPPED \
	(UINT32_MAX - 1) /* a caller is missing here; those further out do not count */
#define RUNTIME_LEVEL_OUTERMOST \
	(UINT32_MAX - 2) /* the last one: the stack starts here, whatever the native one does */
#define RUNTIME_MAX_LEVELS (WIRE_MAX_FRAMES + WIRE_MAX_RUNTIME_FRAMES)

/* No stack's hash: these are odd. */
#define RUNTIME_NO_FRAMES 2

/* The process of a stack, and the data sent with it. */
struct runtime_sample {
	const struct process *process;
	uint64_t generation; /* the sample's */
	uint64_t frames;     /* hash of the interpreter's frames, or RUNTIME_NO_FRAMES */
	bool is_whole;       /* the native stack goes to the outermost function */
};

/* How the frames of a stack were put into it. */
struct runtime_verdict {
	enum runtime_fit fit;
	bool may_lack_inlined; /* inlined functions of a level are unknown */
	bool proves_steps; /* the interpreter's frames are where the walk followed frame pointers */
};

/*
 * The levels of a stack with the frames in it, innermost first.
 *
 * pcs  as in struct wire_stack
 * ret  RUNTIME_MAX_LEVELS; only the native levels if ret_verdict->fit is not RUNTIME_FITS
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
 * Whether a thread of a process waits for CPython's global interpreter lock, by the address of the
 * futex. The main interpreter's lock is in _PyRuntime: its mutex, its condition variables, and
 * nothing else there is a futex. Subinterpreters with a lock of their own have it elsewhere.
 */
bool runtime_stacks_is_gil(struct runtime_stacks *stacks, const struct process *process,
			   uint64_t futex);

/*
 * Whether a sample of a process counts for its runtime only if the stack has a frame in the
 * runtime's file.
 */
bool runtime_stacks_counts_by_file(struct runtime_stacks *stacks, const struct process *process);

/*
 * Count a sample of a process, whether the process runs an interpreter or not. fit RUNTIME_NONE:
 * its frames were not received. pcs: its stack, if needed (runtime_stacks_counts_by_file()).
 */
void runtime_stacks_count(struct runtime_stacks *stacks, const struct process *process,
			  struct runtime_verdict verdict, const uint64_t *pcs, uint32_t num_pcs);
/* Borrowed until the next one is counted. */
const struct runtime_counts *runtime_stacks_get_counts(const struct runtime_stacks *stacks,
						       size_t *ret_count);

/* Number of functions that were not kept: too many, or invalid. Their frames are unnamed. */
uint64_t runtime_stacks_get_lost_codes(const struct runtime_stacks *stacks);

/* After the last sample: free the received data. The counts stay. */
void runtime_stacks_forget(struct runtime_stacks *stacks);

#endif
