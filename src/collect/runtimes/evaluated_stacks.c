#include "collect/runtimes/evaluated_stacks.h"

/* Kind of a frame of the native stack. */
enum native_level {
	LEVEL_OTHER,
	LEVEL_INTERPRETER, /* a function of the file that has the interpreter in it */
	LEVEL_EVALUATION,  /* a call of the evaluating function */
	LEVEL_INNER,       /* a call by that of the function's other part */
	LEVEL_GOING_ON,    /* of the interpreter: another such call continues the evaluation */
};

static enum native_level find_part(const struct runtime_build *build, uint64_t elf_address)
{
	for (unsigned int i = 0; i < build->num_eval_parts; i++) {
		const struct evaluation_part *part = &build->eval_parts[i];

		if (elf_address >= part->start && elf_address < part->end)
			return part->is_inner  ? LEVEL_INNER
			       : part->goes_on ? LEVEL_GOING_ON
					       : LEVEL_EVALUATION;
	}
	return LEVEL_INTERPRETER;
}

/* Whether the innermost frame may not be written yet when this instruction runs. */
static bool is_unwritten(const struct runtime_build *build, uint64_t elf_address)
{
	for (unsigned int i = 0; i < build->num_pushes; i++)
		if (elf_address >= build->pushes[i].start && elf_address < build->pushes[i].end)
			return true;
	return false;
}

/*
 * calls_evaluation  This frame calls one that evaluates frames. With -X perf, each Python function
 *                   has a trampoline in generated code that does so and bears the function's name.
 * ret_is_unwritten  The innermost interpreter frame may not be written yet, if this is the
 *                   innermost native frame.
 */
static enum native_level find_kind(const struct evaluated_runtime *runtime,
				   const struct process *process, uint64_t pc,
				   bool calls_evaluation, bool *ret_is_unwritten)
{
	const struct mapping *mapping = process_find_mapping(process, pc);
	const struct runtime_sources *sources = runtime->context->sources;
	const struct runtime_build *build;
	const struct objfile_layout *layout;
	struct objfile_mapping mapped;
	uint64_t bias;

	*ret_is_unwritten = false;
	if (!mapping)
		return LEVEL_OTHER;
	if (mapping->file == FILE_NONE)
		return calls_evaluation ? LEVEL_INTERPRETER : LEVEL_OTHER;
	build = runtime_sources_get_build(sources, mapping->file);
	if (!build || build->runtime != runtime->runtime || build->support != SUPPORT_KNOWN)
		return LEVEL_OTHER;
	mapped = (struct objfile_mapping){mapping->start, mapping->end, mapping->file_offset};
	if (elf_files_get_layout(sources->elf_files, file_table_get(sources->files, mapping->file),
				 &layout) ||
	    objfile_layout_get_bias(layout, &mapped, &bias))
		return LEVEL_OTHER;
	*ret_is_unwritten = is_unwritten(build, pc - bias);
	return find_part(build, pc - bias);
}

/* The levels of a native stack, and which of them are calls that evaluate frames. */
struct native_levels {
	enum native_level kinds[WIRE_MAX_FRAMES];
	uint32_t num_levels;
	uint32_t num_evaluations;
	uint32_t num_idle; /* of these, the innermost ones without a frame now */
	bool is_unwritten; /* the innermost frame may be */
	bool is_coroutine; /* the outermost level has started it */
};

/* If an inner call continues the frames of an outer one, only the inner one is counted. */
static void join_calls(struct native_levels *native)
{
	bool goes_on = false;

	for (uint32_t i = 0; i < native->num_levels; i++) {
		enum native_level *kind = &native->kinds[i];

		if (*kind == LEVEL_GOING_ON) {
			goes_on = i && native->kinds[i - 1] == LEVEL_EVALUATION;
			*kind = LEVEL_INTERPRETER;
		} else if (*kind == LEVEL_EVALUATION && goes_on) {
			*kind = LEVEL_INTERPRETER;
			native->num_evaluations--;
			goes_on = false;
		} else if (*kind != LEVEL_INTERPRETER) {
			goes_on = false;
		}
	}
}

static void find_kinds(const struct evaluated_runtime *runtime, const struct process *process,
		       const uint64_t *pcs, uint32_t num_pcs, struct native_levels *ret)
{
	ret->num_levels = num_pcs;
	ret->num_evaluations = ret->num_idle = 0;
	ret->is_unwritten = ret->is_coroutine = false;
	for (uint32_t i = 0; i < num_pcs; i++) {
		bool is_exact = !i || (pcs[i] & WIRE_PC_EXACT);
		bool calls_evaluation = i && ret->kinds[i - 1] == LEVEL_EVALUATION;
		bool is_unwritten;

		ret->kinds[i] = find_kind(runtime, process, (pcs[i] & ~WIRE_PC_MARKS) - !is_exact,
					  calls_evaluation, &is_unwritten);
		if (!i)
			ret->is_unwritten = is_unwritten;
		ret->num_evaluations += ret->kinds[i] == LEVEL_EVALUATION;
	}
	join_calls(ret);
}

static uint32_t count_runs(const struct wire_runtime_frame *frames, uint32_t num_frames)
{
	uint32_t num_runs = 0;

	for (uint32_t i = 0; i < num_frames; i++)
		num_runs += (frames[i].position & WIRE_RUNTIME_ENTRY_FRAME) != 0;
	return num_runs;
}

static uint32_t put_native(uint32_t num_pcs, struct runtime_level *ret)
{
	for (uint32_t i = 0; i < num_pcs; i++)
		ret[i] = (struct runtime_level){.pc = i};
	return num_pcs;
}

/* How many of the frames ran on the native stack. */
static uint32_t count_own(const struct evaluated_runtime *runtime,
			  const struct runtime_frame_list *frames)
{
	for (uint32_t i = 0; i < frames->length; i++)
		if (frames->items[i].position & runtime->stack_start_flag)
			return i + 1;
	return frames->length;
}

/*
 * Put the frames that one call has evaluated, from *frame on. After the last ones that ran on this
 * stack, put all others.
 */
static int put_run(const struct evaluated_runtime *runtime, const struct runtime_sample *source,
		   const struct runtime_frame_list *frames, uint32_t *frame,
		   struct runtime_level *ret, uint32_t *num)
{
	uint32_t num_own = count_own(runtime, frames);

	while (*frame < frames->length) {
		uint32_t number = (*frame)++;
		struct runtime_level level = {.pc = RUNTIME_LEVEL_FRAME};

		if (!(frames->items[number].position & runtime->no_frame_flag)) {
			int err = runtime->locate(runtime->stacks, source, frames, number,
						  &level.location);

			if (err)
				return err;
			ret[(*num)++] = level;
		}
		if (number + 1 < num_own &&
		    (frames->items[number].position & WIRE_RUNTIME_ENTRY_FRAME))
			return 0;
	}
	return 0;
}

/*
 * Keep the interpreter's own functions that the innermost frame has called: they are its work.
 * Those between frames, and the callers of the outermost frame, are the interpreter's machinery.
 */
static bool is_left_out(const struct evaluated_runtime *runtime, enum native_level kind,
			bool has_frames)
{
	return runtime->context->shown == RUNTIME_FRAMES_MANAGED &&
	       (kind == LEVEL_INNER || (has_frames && kind != LEVEL_OTHER));
}

static int put_together(const struct evaluated_runtime *runtime,
			const struct runtime_sample *source,
			const struct runtime_frame_list *frames, const struct native_levels *native,
			struct runtime_level *ret, uint32_t *ret_num)
{
	uint32_t num_evaluations = 0;
	uint32_t frame = 0;

	*ret_num = 0;
	for (uint32_t i = 0; i < native->num_levels; i++) {
		if (native->kinds[i] == LEVEL_EVALUATION && num_evaluations++ >= native->num_idle) {
			int err = put_run(runtime, source, frames, &frame, ret, ret_num);

			if (err)
				return err;
			/* The callers of the outermost frame that was kept are unknown. */
			if (frames->end == WIRE_RUNTIME_DEEP && frame == frames->length)
				return 0;
		}
		if (!is_left_out(runtime, native->kinds[i], frame > 0))
			ret[(*ret_num)++] = (struct runtime_level){.pc = i};
	}
	if (native->is_coroutine)
		ret[(*ret_num)++] = (struct runtime_level){.pc = RUNTIME_LEVEL_OUTERMOST};
	return 0;
}

/*
 * Whether the innermost call that evaluates frames has not started its first one yet, or is done:
 * only the interpreter's own code runs then.
 */
static bool is_between_frames(const struct native_levels *native)
{
	uint32_t level = 0;

	while (level < native->num_levels &&
	       (native->kinds[level] == LEVEL_INTERPRETER || native->kinds[level] == LEVEL_INNER))
		level++;
	return level < native->num_levels && native->kinds[level] == LEVEL_EVALUATION;
}

/*
 * Leave out an innermost frame that has not started. Either it is not written yet, or the call that
 * will evaluate it has not started: then there is one call less than the interpreter reports.
 */
static void skip_unstarted(const struct evaluated_runtime *runtime,
			   const struct native_levels *native, struct runtime_frame_list *frames)
{
	uint32_t num_runs = count_runs(frames->items, count_own(runtime, frames));

	if (!frames->length)
		return;
	if (!native->is_unwritten &&
	    (!runtime->has_frame_before_call || num_runs != native->num_evaluations + 1 ||
	     frames->end != WIRE_RUNTIME_COMPLETE ||
	     !(frames->items[0].position & WIRE_RUNTIME_ENTRY_FRAME) || !is_between_frames(native)))
		return;
	frames->items++;
	frames->length--;
}

/* Whether a frame's code is in a file that switches between coroutines. */
static bool is_switch(const struct evaluated_runtime *runtime, const struct process *process,
		      const uint64_t *pcs, const struct native_levels *native, uint32_t level)
{
	bool is_exact = !level || (pcs[level] & WIRE_PC_EXACT);
	const struct mapping *mapping;

	if (native->kinds[level] != LEVEL_OTHER)
		return false;
	mapping = process_find_mapping(process, (pcs[level] & ~WIRE_PC_MARKS) - !is_exact);
	return mapping && mapping->file != FILE_NONE &&
	       runtime->switches_coroutines(
		       file_table_get(runtime->context->sources->files, mapping->file));
}

/*
 * A coroutine runs on top of the function that started it, but that function may have returned
 * since: the coroutine's stack starts where the switching file called it. Count only the calls that
 * evaluated the coroutine's frames (num_runs of them have a call of their own), and leave out
 * everything further out.
 */
static void end_at_switch(const struct evaluated_runtime *runtime, const struct process *process,
			  const uint64_t *pcs, uint32_t num_runs, struct native_levels *native)
{
	bool may_be_idle = !runtime->tells_idle_calls && is_between_frames(native);
	uint32_t num_evaluations = 0;

	for (uint32_t i = 0; i < native->num_levels; i++) {
		num_evaluations += native->kinds[i] == LEVEL_EVALUATION;
		if (num_evaluations > num_runs + may_be_idle)
			return;
		if (num_evaluations < num_runs || !num_evaluations ||
		    !is_switch(runtime, process, pcs, native, i))
			continue;
		native->num_levels = i + 1;
		native->num_evaluations = num_evaluations;
		native->is_coroutine = true;
		return;
	}
}

/* Whether the innermost frame waits: the evaluating function is called for it again and again. */
static bool waits(const struct evaluated_runtime *runtime, const struct runtime_frame_list *frames)
{
	const uint32_t flags = runtime->may_wait_flag | WIRE_RUNTIME_ENTRY_FRAME;

	return runtime->may_wait_flag && frames->length &&
	       (frames->items[0].position & flags) == flags;
}

/*
 * If an outer end is unknown on either side, they need not match there. But if the stack ends
 * before any evaluating call, as in compiled code, no frame has a place.
 */
static bool fits(const struct runtime_frame_list *frames, uint32_t num_runs,
		 uint32_t num_evaluations, bool is_whole)
{
	if (num_runs == num_evaluations)
		return true;
	if (num_runs < num_evaluations)
		return frames->end == WIRE_RUNTIME_DEEP;
	return !is_whole && num_evaluations;
}

static enum runtime_fit find_end(const struct runtime_frame_list *frames)
{
	switch ((enum wire_runtime_end)frames->end) {
	case WIRE_RUNTIME_COMPLETE:
	case WIRE_RUNTIME_PROVEN:
	case WIRE_RUNTIME_DEEP:
		return RUNTIME_FITS;
	case WIRE_RUNTIME_NO_THREAD:
		return RUNTIME_NO_THREAD;
	case WIRE_RUNTIME_PARTIAL:
	case WIRE_RUNTIME_UNREADABLE:
	case NUM_WIRE_RUNTIME_ENDS:
		break;
	}
	return RUNTIME_UNREADABLE;
}

int evaluated_stacks_splice(const struct evaluated_runtime *runtime, struct runtime_splice *splice)
{
	const struct runtime_sample *source = splice->source;
	struct runtime_frame_list started = splice->frames;
	enum runtime_fit *fit = &splice->verdict.fit;
	struct native_levels native;
	uint32_t num_runs;

	splice->num_levels = put_native(splice->num_pcs, splice->levels);
	find_kinds(runtime, source->process, splice->pcs, splice->num_pcs, &native);
	/* The interpreter is starting or exiting: it has no state of the thread. */
	if (source->is_whole && !native.num_evaluations && !started.length) {
		*fit = RUNTIME_OUTSIDE;
		return 0;
	}
	/* The frames are another thread's, or none runs; or compiled code has ended the native stack. */
	if (runtime->has_one_thread && !native.num_evaluations) {
		*fit = source->is_whole ? RUNTIME_OUTSIDE : RUNTIME_FITS_NOT;
		return 0;
	}
	*fit = started.have_come ? find_end(&started) : RUNTIME_EARLY;
	if (*fit != RUNTIME_FITS)
		return 0;
	if (source->is_whole)
		skip_unstarted(runtime, &native, &started);
	num_runs = count_runs(started.items, count_own(runtime, &started));
	while (num_runs > native.num_evaluations && source->is_whole && waits(runtime, &started)) {
		started.items++;
		started.length--;
		num_runs--;
	}
	if (runtime->switches_coroutines && started.end == WIRE_RUNTIME_COMPLETE &&
	    num_runs < native.num_evaluations + !source->is_whole)
		end_at_switch(runtime, source->process, splice->pcs, num_runs, &native);
	if (!runtime->tells_idle_calls && num_runs + 1 == native.num_evaluations &&
	    started.end == WIRE_RUNTIME_COMPLETE && is_between_frames(&native))
		native.num_idle = 1;
	if (!fits(&started, num_runs, native.num_evaluations - native.num_idle, source->is_whole)) {
		*fit = RUNTIME_FITS_NOT;
		return 0;
	}
	return put_together(runtime, source, &started, &native, splice->levels,
			    &splice->num_levels);
}
