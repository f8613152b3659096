/*
 * Frames of interpreters in which a C function evaluates them: they are collected beside the native stack; each call of that
 * function is a level of that stack, in whose place the frames come that it has evaluated. That works where there are as many
 * such levels as the interpreter says that there were calls: else nothing is put together.
 */
#ifndef COLLECT_RUNTIMES_EVALUATED_STACKS_H
#define COLLECT_RUNTIMES_EVALUATED_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/elf/elf_files.h"
#include "collect/runtimes/runtime_stacks.h"
#include "process/file_table.h"
#include "runtime/evaluation.h"

/* An interpreter, and what there is to know of its code and its frames. All is borrowed. */
struct evaluated_runtime {
	const struct file_table *files;
	const struct elf_files *elf_files;
	enum runtime_frames shown;
	/* A process has one list of frames, whichever thread asks: those that evaluate none are not the interpreter's. */
	bool has_one_thread;
	/* A frame is there before the call that evaluates it. */
	bool has_frame_before_call;
	/* In the position of a frame: those further out ran on another native stack; 0: there are none. */
	uint32_t stack_begin_flag;
	/* It is no frame, but has WIRE_RUNTIME_ENTRY_FRAME of a call that has evaluated none of its own; 0: likewise. */
	uint32_t no_frame_flag;
	/* The function that evaluates frames is called for it again and again, and may not be running; 0: likewise. */
	uint32_t may_wait_flag;
	/* Where a call evaluates no frame, yet or any more, the frames say so themselves. */
	bool tells_idle_calls;
	/*
	 * Whether a file switches between coroutines that take turns on one native stack, each with a list of frames of its own; NULL:
	 * none does.
	 */
	bool (*switches_coroutines)(const struct mapped_file *file);
	void *context; /* of the other functions */
	/* The parts of the function that evaluates frames; NULL: the file has none that is known. */
	const struct evaluation_part *(*find_parts)(const void *context,
						    const struct mapped_file *file,
						    unsigned int *ret_num);
	/*
	 * Whether the innermost frame, as the interpreter says at an ELF address of the file, may not be written yet; NULL:
	 * it says so only then.
	 */
	bool (*is_unwritten)(const void *context, const struct mapped_file *file,
			     uint64_t elf_address);
	/* Where a frame is in the profile, by its number among these. Returns 0 or -ENOMEM. */
	int (*locate)(void *context, const struct runtime_sample *source,
		      const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret);
};

/* As runtime_stacks_splice(). */
_must_check_ int evaluated_stacks_splice(const struct evaluated_runtime *runtime,
					 const struct runtime_sample *source,
					 const struct runtime_frame_list *frames,
					 const uint64_t *pcs, uint32_t num_pcs,
					 struct runtime_level *ret, uint32_t *ret_num,
					 enum runtime_fit *ret_fit);

#endif
