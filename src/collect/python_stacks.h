/*
 * Frames of CPython, and where they belong in the stacks of the processes that run it. The interpreter's frames are
 * collected beside the native stack; each call of the C function that evaluates them is a level of that stack, in whose
 * place the frames come that it has evaluated. That works where there are as many such levels as the interpreter says
 * that there were calls: else nothing is put together.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PYTHON_STACKS_H
#define COLLECT_PYTHON_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/elf_files.h"
#include "collect/recorder.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "wire/python.h"
#include "wire/wire.h"

struct python_stacks;

/* All are borrowed. frames: not RUNTIME_FRAMES_NATIVE. Returns NULL when out of memory. */
struct python_stacks *python_stacks_new(struct profile *profile, const struct file_table *files,
					const struct elf_files *elf_files,
					enum runtime_frames frames);
void python_stacks_free(struct python_stacks *stacks);

/* Remember what the sampling program has sent. Records of a wrong size are ignored. Both return 0 or -ENOMEM. */
_must_check_ int python_stacks_add_code(struct python_stacks *stacks,
					const struct wire_python_code *record, size_t size);
_must_check_ int python_stacks_add_stack(struct python_stacks *stacks,
					 const struct wire_python_stack *record, size_t size);

/* A level of a stack. */
struct python_level {
	uint32_t pc;       /* its number; or PYTHON_LEVEL_FRAME */
	uint32_t location; /* in the profile, of a frame of Python */
};
#define PYTHON_LEVEL_FRAME UINT32_MAX
#define PYTHON_MAX_LEVELS  (WIRE_MAX_FRAMES + WIRE_MAX_PYTHON_FRAMES)

/* A sample of a process, whether that runs CPython or not. fit: PYTHON_NONE: its frames did not come. */
void python_stacks_count(struct python_stacks *stacks, const struct process *process,
			 enum python_fit fit);
/* By minor version: PYTHON_MINOR_MAX + 1 of them; borrowed. */
const struct python_counts *python_stacks_get_counts(const struct python_stacks *stacks);

/* After the last sample: give back what was sent. The counts stay. */
void python_stacks_forget(struct python_stacks *stacks);

/* How many code objects were not kept: there were too many, or they were none. Their frames have no name. */
uint64_t python_stacks_get_lost_codes(const struct python_stacks *stacks);

/* No stack's hash: these are odd. */
#define PYTHON_NO_FRAMES 2

/* Of whom a stack is, and what else was sent of it. */
struct python_sample {
	const struct process *process;
	uint64_t generation; /* the sample's */
	uint64_t frames;     /* hash of the interpreter's frames; PYTHON_NO_FRAMES: none came */
	bool is_whole;       /* the native stack goes to the outermost function */
};

/*
 * The levels of a stack with the frames in it, innermost first.
 *
 * pcs  as struct wire_stack has them
 * ret  PYTHON_MAX_LEVELS; those of the native stack alone where *ret_fit is not PYTHON_FITS
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int python_stacks_splice(struct python_stacks *stacks,
				      const struct python_sample *source, const uint64_t *pcs,
				      uint32_t num_pcs, struct python_level *ret, uint32_t *ret_num,
				      enum python_fit *ret_fit);

/* Whether the outer ones of these frames are not kept. */
bool python_stacks_is_deep(const struct python_stacks *stacks, uint64_t hash);

struct python_version {
	uint16_t minor; /* of version 3; 0: none is there */
	bool is_known;  /* else its frames are shown as native code */
};

/* Of the CPython that a process has mapped. */
struct python_version python_stacks_get_version(struct python_stacks *stacks,
						const struct process *process);

#endif
