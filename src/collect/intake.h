/*
 * Records of the sampling program into the profile: every code address becomes a location in its
 * file, its kernel or its process, by the mappings of that moment.
 *
 * Stacks are remembered by hash as they arrive; samples must come in order of time, with the
 * process table at the same time.
 */
#ifndef COLLECT_INTAKE_H
#define COLLECT_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/call_check.h"
#include "collect/recorder.h"
#include "collect/trace_log.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "wire/unwind.h"
#include "wire/wire.h"

struct intake;

struct intake_counts {
	uint64_t samples;              /* in the profile */
	uint64_t unknown_stack;        /* lost: the stack they refer to never came */
	uint64_t walks[NUM_WALK_ENDS]; /* user stacks walked by table, by how the walk ended */
	uint64_t recovered;            /* of the complete ones, those that were walked later */
	uint64_t in_exec; /* user stacks that are not to be had: the program was being replaced */
};

/*
 * Everything is borrowed. In the profile, modules and processes get the numbers that they have in
 * files and processes. max_depth: levels at which the kernel stops following frame pointers.
 * Returns NULL when out of memory.
 */
struct intake *intake_new(struct profile *profile, struct file_table *files,
			  struct process_table *processes, uint32_t max_depth,
			  enum user_stacks user_stacks);
void intake_free(struct intake *intake);

/* From now on, check that every return address follows a call. Borrowed. */
void intake_set_call_check(struct intake *intake, struct call_check *check);

/* From now on, keep each sample with its time, too. Borrowed. */
void intake_set_trace_log(struct intake *intake, struct trace_log *log);

/* Remember a stack. Records of a wrong size are ignored. Returns 0 or -ENOMEM. */
_must_check_ int intake_add_stack(struct intake *intake, const struct wire_stack *record,
				  size_t size);

/* Returns 0, -ENOMEM or -EOVERFLOW. */
_must_check_ int intake_add_sample(struct intake *intake, const struct wire_sample *sample);

/*
 * A sample whose stack was walked later.
 *
 * process, is_in_exec   as process_table_find() gave them at the sample's time
 * stack                 filled in but for its hash; sample->walk_end says how its walk ended
 */
_must_check_ int intake_add_recovered(struct intake *intake, const struct wire_sample *sample,
				      const struct process *process, bool is_in_exec,
				      struct wire_stack *stack);

/*
 * Once all records are in: give the profile what the tables know by now of modules and
 * processes. Returns 0 or -ENOMEM.
 */
_must_check_ int intake_finish(struct intake *intake);

struct intake_counts intake_get_counts(const struct intake *intake);
/* Borrowed until the next record. */
const struct user_stack_count *intake_get_user_stacks(const struct intake *intake,
						      size_t *ret_count);

#endif
