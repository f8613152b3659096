#include "collect/python_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/python.h"
#include "runtime/python_code.h"

struct python_stacks {
	struct profile *profile;
	const struct file_table *files;
	const struct elf_files *elf_files;
	enum runtime_frames shown;
	struct python_codes *codes;
};

struct python_stacks *python_stacks_new(struct profile *profile, const struct file_table *files,
					const struct elf_files *elf_files,
					enum runtime_frames shown)
{
	struct python_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->profile = profile;
	stacks->files = files;
	stacks->elf_files = elf_files;
	stacks->shown = shown;
	stacks->codes = python_codes_new();
	if (!stacks->codes) {
		python_stacks_free(stacks);
		return NULL;
	}
	return stacks;
}

void python_stacks_free(struct python_stacks *stacks)
{
	if (!stacks)
		return;
	python_codes_free(stacks->codes);
	free(stacks);
}

int python_stacks_add_code(struct python_stacks *stacks, const struct wire_python_code *record)
{
	return python_codes_add(stacks->codes, record);
}

/* The interpreter in a mapping; NULL: it has none. */
static const struct python_build *find_build(const struct python_stacks *stacks,
					     const struct mapping *mapping)
{
	if (!mapping || mapping->file == FILE_NONE)
		return NULL;
	return elf_files_get_python(stacks->elf_files,
				    file_table_get(stacks->files, mapping->file));
}

/* What a level of the native stack is. */
enum native_level {
	LEVEL_OTHER,
	LEVEL_INTERPRETER, /* a function of the file that has the interpreter in it */
	LEVEL_EVALUATION,  /* a call of the one that evaluates frames */
};

static bool is_evaluation(const struct python_build *build, uint64_t elf_address)
{
	for (unsigned int i = 0; i < build->num_eval_parts; i++)
		if (elf_address >= build->eval_parts[i].start &&
		    elf_address < build->eval_parts[i].end)
			return true;
	return false;
}

/*
 * calls_evaluation  the level that it has called is such one: with -X perf, each function has a piece of generated code that
 *                   does this, and bears its name
 */
static enum native_level find_kind(const struct python_stacks *stacks,
				   const struct process *process, uint64_t pc,
				   bool calls_evaluation)
{
	const struct mapping *mapping = process_find_mapping(process, pc);
	const struct python_build *build = find_build(stacks, mapping);
	struct objfile_mapping mapped;
	const struct objfile_layout *layout;
	uint64_t bias;

	if (mapping && mapping->file == FILE_NONE && calls_evaluation)
		return LEVEL_INTERPRETER;
	if (!build || build->support != PYTHON_KNOWN)
		return LEVEL_OTHER;
	mapped = (struct objfile_mapping){mapping->start, mapping->end, mapping->file_offset};
	if (elf_files_get_layout(stacks->elf_files, file_table_get(stacks->files, mapping->file),
				 &layout) ||
	    objfile_layout_get_bias(layout, &mapped, &bias))
		return LEVEL_OTHER;
	return is_evaluation(build, pc - bias) ? LEVEL_EVALUATION : LEVEL_INTERPRETER;
}

/* The frame's location: its name, its file as its module and its source, and the line that ran. */
static int locate_frame(struct python_stacks *stacks, const struct runtime_sample *source,
			const struct wire_runtime_frame *wire, uint32_t *ret)
{
	const struct python_code *code =
		python_codes_find(stacks->codes, source->process->pid, source->generation,
				  wire->code, wire->fingerprint);
	struct frame frame = {.kind = FRAME_PYTHON};
	const char *name = code && *code->name ? code->name : "[unknown]";
	const char *file = code ? code->file : "";
	const char *base = strrchr(file, '/');
	int err = profile_add_frame_name(stacks->profile, name, strlen(name), &frame.name);

	if (err)
		return err;
	err = profile_add_string(stacks->profile, name, &frame.full_name);
	if (err)
		return err;
	err = profile_add_string(stacks->profile, base ? base + 1 : file, &frame.module);
	if (err)
		return err;
	err = profile_add_string(stacks->profile, file, &frame.file);
	if (err)
		return err;
	if (code)
		frame.line = python_code_get_line(code, wire->position);
	return profile_add_frame_location(stacks->profile, &frame, ret);
}

/* The levels of a native stack, and which of them are calls that evaluate frames. */
struct native_levels {
	enum native_level kinds[WIRE_MAX_FRAMES];
	uint32_t num_levels;
	uint32_t num_evaluations;
	uint32_t num_idle; /* of these, the innermost ones that evaluate nothing now */
};

static void find_kinds(const struct python_stacks *stacks, const struct process *process,
		       const uint64_t *pcs, uint32_t num_pcs, struct native_levels *ret)
{
	ret->num_levels = num_pcs;
	ret->num_evaluations = ret->num_idle = 0;
	for (uint32_t i = 0; i < num_pcs; i++) {
		bool is_exact = !i || (pcs[i] & WIRE_PC_EXACT);
		bool calls_evaluation = i && ret->kinds[i - 1] == LEVEL_EVALUATION;

		ret->kinds[i] = find_kind(stacks, process, (pcs[i] & ~WIRE_PC_MARKS) - !is_exact,
					  calls_evaluation);
		ret->num_evaluations += ret->kinds[i] == LEVEL_EVALUATION;
	}
}

static uint32_t count_runs(const struct wire_runtime_frame *frames, uint32_t num_frames)
{
	uint32_t num_runs = 0;

	for (uint32_t i = 0; i < num_frames; i++)
		num_runs += (frames[i].position & WIRE_PYTHON_ENTRY_FRAME) != 0;
	return num_runs;
}

static uint32_t put_native(uint32_t num_pcs, struct runtime_level *ret)
{
	for (uint32_t i = 0; i < num_pcs; i++)
		ret[i] = (struct runtime_level){.pc = i};
	return num_pcs;
}

/* The frames that one call has evaluated, from *frame on. */
static int put_run(struct python_stacks *stacks, const struct runtime_sample *source,
		   const struct runtime_frame_list *frames, uint32_t *frame,
		   struct runtime_level *ret, uint32_t *num)
{
	while (*frame < frames->length) {
		const struct wire_runtime_frame *wire = &frames->items[(*frame)++];
		struct runtime_level level = {.pc = RUNTIME_LEVEL_FRAME};
		int err = locate_frame(stacks, source, wire, &level.location);

		if (err)
			return err;
		ret[(*num)++] = level;
		if (wire->position & WIRE_PYTHON_ENTRY_FRAME)
			return 0;
	}
	return 0;
}

/*
 * Of the interpreter's own functions those are kept that the innermost frame has called: they are what it does. What
 * lies between frames, and what has called the outermost one, is how the interpreter goes about it.
 */
static bool is_left_out(const struct python_stacks *stacks, enum native_level kind, bool has_frames)
{
	return stacks->shown == RUNTIME_FRAMES_MANAGED && has_frames && kind != LEVEL_OTHER;
}

static int put_together(struct python_stacks *stacks, const struct runtime_sample *source,
			const struct runtime_frame_list *frames, const struct native_levels *native,
			struct runtime_level *ret, uint32_t *ret_num)
{
	uint32_t num_evaluations = 0;
	uint32_t frame = 0;

	*ret_num = 0;
	for (uint32_t i = 0; i < native->num_levels; i++) {
		if (native->kinds[i] == LEVEL_EVALUATION && num_evaluations++ >= native->num_idle) {
			int err = put_run(stacks, source, frames, &frame, ret, ret_num);

			if (err)
				return err;
			/* What called the outermost one that is kept is not known. */
			if (frames->end == WIRE_RUNTIME_DEEP && frame == frames->length)
				return 0;
		}
		if (!is_left_out(stacks, native->kinds[i], frame > 0))
			ret[(*ret_num)++] = (struct runtime_level){.pc = i};
	}
	return 0;
}

/*
 * Whether the innermost call that evaluates frames has not begun with its first one, or is done with it: nothing but the
 * interpreter's own code runs then.
 */
static bool is_between_frames(const struct native_levels *native)
{
	uint32_t level = 0;

	while (native->kinds[level] == LEVEL_INTERPRETER)
		level++;
	return native->kinds[level] == LEVEL_EVALUATION;
}

/* Outer ends that are not known on either side need not fit. */
static bool fits(const struct runtime_frame_list *frames, uint32_t num_runs,
		 uint32_t num_evaluations, bool is_whole)
{
	if (num_runs == num_evaluations)
		return true;
	if (num_runs < num_evaluations)
		return frames->end == WIRE_RUNTIME_DEEP;
	return !is_whole;
}

static enum runtime_fit find_end(const struct runtime_frame_list *frames)
{
	switch ((enum wire_runtime_end)frames->end) {
	case WIRE_RUNTIME_COMPLETE:
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

int python_stacks_splice(struct python_stacks *stacks, const struct runtime_sample *source,
			 const struct runtime_frame_list *frames, const uint64_t *pcs,
			 uint32_t num_pcs, struct runtime_level *ret, uint32_t *ret_num,
			 enum runtime_fit *ret_fit)
{
	struct native_levels native;
	uint32_t num_runs;

	*ret_num = put_native(num_pcs, ret);
	find_kinds(stacks, source->process, pcs, num_pcs, &native);
	/* The interpreter begins or ends: it has no state of the thread yet, or none any more. */
	if (source->is_whole && !native.num_evaluations && !frames->length) {
		*ret_fit = RUNTIME_OUTSIDE;
		return 0;
	}
	*ret_fit = frames->have_come ? find_end(frames) : RUNTIME_EARLY;
	if (*ret_fit != RUNTIME_FITS)
		return 0;
	num_runs = count_runs(frames->items, frames->length);
	if (num_runs + 1 == native.num_evaluations && frames->end == WIRE_RUNTIME_COMPLETE &&
	    is_between_frames(&native))
		native.num_idle = 1;
	if (!fits(frames, num_runs, native.num_evaluations - native.num_idle, source->is_whole)) {
		*ret_fit = RUNTIME_FITS_NOT;
		return 0;
	}
	return put_together(stacks, source, frames, &native, ret, ret_num);
}
