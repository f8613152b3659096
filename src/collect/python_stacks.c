#include "collect/python_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/log.h"
#include "runtime/python.h"
#include "runtime/python_code.h"

const char *python_fit_get_name(enum python_fit fit)
{
	static const char *const names[NUM_PYTHON_FITS] = {
		[PYTHON_NONE] = "none",
		[PYTHON_FITS] = "fits",
		[PYTHON_FITS_NOT] = "fits_not",
		[PYTHON_NO_THREAD] = "no_thread",
		[PYTHON_UNREADABLE] = "unreadable",
		[PYTHON_EARLY] = "early",
		[PYTHON_UNKNOWN] = "unknown_build",
		[PYTHON_OUTSIDE] = "outside",
	};

	return names[fit];
}

struct known_frames {
	uint64_t hash;
	uint32_t first; /* in the array of frames */
	uint16_t num_frames;
	uint16_t end; /* enum wire_python_end */
};
INTERN_TABLE(known_frames_table, struct known_frames, hash);

/* The file of a process that has the interpreter in it, while its mappings are these. */
struct mapped_python {
	uint32_t process;
	uint32_t mappings_version;
	struct python_version version;
};
INTERN_TABLE(mapped_python_table, struct mapped_python, process, mappings_version);

struct python_stacks {
	struct profile *profile;
	const struct file_table *files;
	const struct elf_files *elf_files;
	enum runtime_frames shown;
	struct known_frames_table known;
	ARRAY(struct wire_python_frame) frames;
	struct python_codes *codes;
	struct mapped_python_table images;
	struct python_counts counts[PYTHON_MINOR_MAX + 1];
	ARRAY(bool) is_counted; /* by process: it is among these */
	uint64_t num_lost_codes;
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

void python_stacks_forget(struct python_stacks *stacks)
{
	python_codes_free(stacks->codes);
	stacks->codes = NULL;
	known_frames_table_release(&stacks->known);
	array_release(&stacks->frames);
}

void python_stacks_free(struct python_stacks *stacks)
{
	if (!stacks)
		return;
	python_stacks_forget(stacks);
	mapped_python_table_release(&stacks->images);
	array_release(&stacks->is_counted);
	free(stacks);
}

int python_stacks_add_code(struct python_stacks *stacks, const struct wire_python_code *record,
			   size_t size)
{
	int err;

	if (size < sizeof(*record))
		return 0;
	err = python_codes_add(stacks->codes, record);
	if (!err || err == -ENOMEM)
		return err;
	/* What is not kept has no name. */
	stacks->num_lost_codes++;
	return 0;
}

uint64_t python_stacks_get_lost_codes(const struct python_stacks *stacks)
{
	return stacks->num_lost_codes;
}

int python_stacks_add_stack(struct python_stacks *stacks, const struct wire_python_stack *record,
			    size_t size)
{
	size_t header = offsetof(struct wire_python_stack, frames);
	struct known_frames known = {.first = (uint32_t)stacks->frames.length};
	uint32_t item;

	if (size < header || record->num_frames > WIRE_MAX_PYTHON_FRAMES ||
	    record->num_frames > (size - header) / sizeof(record->frames[0]))
		return 0;
	known.hash = record->hash;
	if (known_frames_table_find(&stacks->known, &known) != HASH_INDEX_NONE)
		return 0;
	known.num_frames = record->num_frames;
	known.end = record->end;
	if (array_reserve(&stacks->frames, stacks->frames.length + record->num_frames))
		return -ENOMEM;
	memcpy(stacks->frames.items + stacks->frames.length, record->frames,
	       record->num_frames * sizeof(record->frames[0]));
	stacks->frames.length += record->num_frames;
	return known_frames_table_add(&stacks->known, &known, &item);
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

struct python_version python_stacks_get_version(struct python_stacks *stacks,
						const struct process *process)
{
	struct mapped_python image = {.process = process->id,
				      .mappings_version = process->mappings_version};
	uint32_t item = mapped_python_table_find(&stacks->images, &image);
	const struct mapping *mappings;
	size_t count;

	if (item != HASH_INDEX_NONE)
		return stacks->images.items[item].version;
	mappings = process_get_mappings(process, &count);
	for (size_t i = 0; i < count && !image.version.minor; i++) {
		const struct python_build *build = find_build(stacks, &mappings[i]);

		if (build)
			image.version = (struct python_version){(uint16_t)build->minor,
								build->support == PYTHON_KNOWN};
	}
	if (mapped_python_table_add(&stacks->images, &image, &item))
		log_debug("out of memory: it will be looked for again");
	return image.version;
}

/* Whether a process is counted for the first time. What there is no memory for is not counted. */
static bool is_new(struct python_stacks *stacks, const struct process *process)
{
	while (stacks->is_counted.length <= process->id)
		if (!array_add(&stacks->is_counted))
			return false;
	if (stacks->is_counted.items[process->id])
		return false;
	stacks->is_counted.items[process->id] = true;
	return true;
}

void python_stacks_count(struct python_stacks *stacks, const struct process *process,
			 enum python_fit fit)
{
	struct python_version version = python_stacks_get_version(stacks, process);
	struct python_counts *counts;

	if (!version.minor || version.minor > PYTHON_MINOR_MAX)
		return;
	if (!version.is_known)
		fit = PYTHON_UNKNOWN;
	else if (fit == PYTHON_NONE)
		fit = PYTHON_EARLY;
	counts = &stacks->counts[version.minor];
	counts->processes += is_new(stacks, process);
	counts->samples++;
	counts->fits[fit]++;
}

const struct python_counts *python_stacks_get_counts(const struct python_stacks *stacks)
{
	return stacks->counts;
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
static int locate_frame(struct python_stacks *stacks, const struct python_sample *source,
			const struct wire_python_frame *wire, uint32_t *ret)
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
		frame.line = python_code_get_line(code, wire->instruction);
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

static uint32_t count_runs(const struct wire_python_frame *frames, uint32_t num_frames)
{
	uint32_t num_runs = 0;

	for (uint32_t i = 0; i < num_frames; i++)
		num_runs += (frames[i].instruction & WIRE_PYTHON_ENTRY_FRAME) != 0;
	return num_runs;
}

static uint32_t put_native(uint32_t num_pcs, struct python_level *ret)
{
	for (uint32_t i = 0; i < num_pcs; i++)
		ret[i] = (struct python_level){.pc = i};
	return num_pcs;
}

/* The frames that one call has evaluated, from *frame on. */
static int put_run(struct python_stacks *stacks, const struct python_sample *source,
		   const struct known_frames *known, uint32_t *frame, struct python_level *ret,
		   uint32_t *num)
{
	while (*frame < known->num_frames) {
		const struct wire_python_frame *wire =
			&stacks->frames.items[known->first + (*frame)++];
		struct python_level level = {.pc = PYTHON_LEVEL_FRAME};
		int err = locate_frame(stacks, source, wire, &level.location);

		if (err)
			return err;
		ret[(*num)++] = level;
		if (wire->instruction & WIRE_PYTHON_ENTRY_FRAME)
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

static int put_together(struct python_stacks *stacks, const struct python_sample *source,
			const struct known_frames *known, const struct native_levels *native,
			struct python_level *ret, uint32_t *ret_num)
{
	uint32_t num_evaluations = 0;
	uint32_t frame = 0;

	*ret_num = 0;
	for (uint32_t i = 0; i < native->num_levels; i++) {
		if (native->kinds[i] == LEVEL_EVALUATION && num_evaluations++ >= native->num_idle) {
			int err = put_run(stacks, source, known, &frame, ret, ret_num);

			if (err)
				return err;
			/* What called the outermost one that is kept is not known. */
			if (known->end == WIRE_PYTHON_DEEP && frame == known->num_frames)
				return 0;
		}
		if (!is_left_out(stacks, native->kinds[i], frame > 0))
			ret[(*ret_num)++] = (struct python_level){.pc = i};
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
static bool fits(const struct known_frames *known, uint32_t num_runs, uint32_t num_evaluations,
		 bool is_whole)
{
	if (num_runs == num_evaluations)
		return true;
	if (num_runs < num_evaluations)
		return known->end == WIRE_PYTHON_DEEP;
	return !is_whole;
}

bool python_stacks_is_deep(const struct python_stacks *stacks, uint64_t hash)
{
	uint32_t item =
		known_frames_table_find(&stacks->known, &(struct known_frames){.hash = hash});

	return item != HASH_INDEX_NONE && stacks->known.items[item].end == WIRE_PYTHON_DEEP;
}

static enum python_fit find_end(const struct known_frames *known)
{
	switch ((enum wire_python_end)known->end) {
	case WIRE_PYTHON_COMPLETE:
	case WIRE_PYTHON_DEEP:
		return PYTHON_FITS;
	case WIRE_PYTHON_NO_THREAD:
		return PYTHON_NO_THREAD;
	case WIRE_PYTHON_UNREADABLE:
	case NUM_WIRE_PYTHON_ENDS:
		break;
	}
	return PYTHON_UNREADABLE;
}

int python_stacks_splice(struct python_stacks *stacks, const struct python_sample *source,
			 const uint64_t *pcs, uint32_t num_pcs, struct python_level *ret,
			 uint32_t *ret_num, enum python_fit *ret_fit)
{
	uint32_t item = known_frames_table_find(&stacks->known,
						&(struct known_frames){.hash = source->frames});
	const struct known_frames *known =
		item == HASH_INDEX_NONE ? NULL : &stacks->known.items[item];
	struct native_levels native;
	uint32_t num_runs;

	*ret_num = put_native(num_pcs, ret);
	find_kinds(stacks, source->process, pcs, num_pcs, &native);
	/* The interpreter begins or ends: it has no state of the thread yet, or none any more. */
	if (source->is_whole && !native.num_evaluations && !(known && known->num_frames)) {
		*ret_fit = PYTHON_OUTSIDE;
		return 0;
	}
	*ret_fit = known ? find_end(known) : PYTHON_EARLY;
	if (*ret_fit != PYTHON_FITS)
		return 0;
	num_runs = count_runs(stacks->frames.items + known->first, known->num_frames);
	if (num_runs + 1 == native.num_evaluations && known->end == WIRE_PYTHON_COMPLETE &&
	    is_between_frames(&native))
		native.num_idle = 1;
	if (!fits(known, num_runs, native.num_evaluations - native.num_idle, source->is_whole)) {
		*ret_fit = PYTHON_FITS_NOT;
		return 0;
	}
	return put_together(stacks, source, known, &native, ret, ret_num);
}
