/*
 * JavaScript functions in the stacks of processes that run V8. The sampling program sends the
 * function of each native frame that is a V8 frame of a function. The function replaces the
 * interpreter's own code, or the generated code. V8's own functions stay native frames with their
 * symbols. WebAssembly functions have the names in their module.
 *
 * Inlined functions have no V8 frame. The code describes which ones an instruction is in
 * (runtime/v8_inlines.h). The description is read in the memory of the process when the code is
 * first seen. If that fails, the stack may lack inlined functions, which is counted.
 *
 * The line of a frame is the first line of its function: V8 has tables of lines only for functions
 * that an exception has passed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/runtimes/runtime_ops.h"
#include "process/process_memory.h"
#include "runtime/v8_function.h"
#include "runtime/v8_inlines.h"
#include "runtime/v8_source.h"
#include "runtime/v8_wasm.h"
#include "wire/wire.h"

/* Prefix of a module script's path. */
#define FILE_URL "file://"

/* A WebAssembly level of a stack. */
struct v8_level {
	const struct process *process;
	const struct v8_wasm_layout *layout;
	uint64_t generation;
	uint64_t instance;
	uint64_t pc; /* in the function */
	bool is_innermost;
	bool calls_entry;
};

struct v8_stacks {
	struct runtime_context context;
	struct v8_functions *functions;
	struct v8_sources *sources;
	struct v8_wasm_modules *modules;
	struct v8_inlines *inlines;
	uint64_t num_lost_functions;
};

static void free_stacks(void *runtime)
{
	struct v8_stacks *stacks = runtime;

	if (!stacks)
		return;
	v8_functions_free(stacks->functions);
	v8_sources_free(stacks->sources);
	v8_wasm_modules_free(stacks->modules);
	v8_inlines_free(stacks->inlines);
	free(stacks);
}

static void *create(const struct runtime_context *context, enum wire_runtime runtime _unused_)
{
	struct v8_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	stacks->context = *context;
	stacks->functions = v8_functions_new();
	stacks->sources = v8_sources_new();
	stacks->modules = v8_wasm_modules_new();
	stacks->inlines = v8_inlines_new();
	if (!stacks->functions || !stacks->sources || !stacks->modules || !stacks->inlines) {
		free_stacks(stacks);
		return NULL;
	}
	return stacks;
}

/* The source of the function's script is read now, as V8 may move it. */
static int add_code(void *runtime, const void *code)
{
	struct v8_stacks *stacks = runtime;
	const struct wire_v8_function *record = code;
	struct process_memory process = {.opener = stacks->context.opener,
					 .pid = (pid_t)record->pid};
	const struct v8_memory memory = {.read = process_memory_read, .context = &process};
	uint32_t source;
	int err = v8_sources_add(stacks->sources, record, &memory, &source);

	/* A function whose source is over the limit only lacks its line. */
	if (err && err != -ENOSPC)
		return err;
	return v8_functions_add(stacks->functions, record, source);
}

/* Start line of a function; 0: unknown. */
static uint32_t find_line(const struct v8_stacks *stacks, const struct v8_function *function)
{
	int64_t line = function->line;

	if (!line)
		line = v8_sources_get_line(stacks->sources, function->source, function->position);
	if (!line || line + function->first_line <= 0)
		return 0;
	return (uint32_t)(line + function->first_line);
}

static const char *get_name(const struct v8_function *function)
{
	if (function->name[0])
		return function->name;
	return function->is_name_missing ? "[unknown]" : "(anonymous)";
}

/*
 * The location of a function: its name, its file as its module and its source, and its start line.
 */
static int locate(struct v8_stacks *stacks, const struct v8_function *function, bool is_inlined,
		  uint32_t *ret)
{
	struct frame frame = {.kind = FRAME_JAVASCRIPT, .is_inlined = is_inlined};
	const char *name = get_name(function);
	const char *file = function->file;
	const char *base;
	int err;

	if (string_starts_with(file, FILE_URL "/"))
		file += strlen(FILE_URL);
	base = strrchr(file, '/');
	/* Files that are built into the program keep their whole name: node:internal/timers. */
	if (string_starts_with(file, "node:"))
		base = NULL;
	err = profile_name_frame(stacks->context.profile, name, name, base ? base + 1 : file,
				 &frame);
	if (err)
		return err;
	err = profile_add_string(stacks->context.profile, file, &frame.file);
	if (err)
		return err;
	/* Only a file has lines. */
	if (*file)
		frame.line = find_line(stacks, function);
	return profile_add_frame_location(stacks->context.profile, &frame, ret);
}

/* Bytes of the name of a function of WebAssembly that has none: "wasm-function[4294967295]". */
#define WASM_NAME_BYTES 32

/*
 * The location of a level's WebAssembly function, and whether it has a frame yet. Returns 0,
 * -ENOENT (unknown) or -ENOMEM.
 */
static int locate_wasm(struct v8_stacks *stacks, const struct v8_level *level, uint32_t *ret,
		       bool *ret_has_frame)
{
	struct process_memory process = {.opener = stacks->context.opener,
					 .pid = level->process->pid};
	const struct v8_memory memory = {.read = process_memory_read, .context = &process};
	const struct v8_wasm_place place = {
		.pid = (uint32_t)level->process->pid,
		.generation = level->generation,
		.instance = level->instance,
		.pc = level->pc,
		.is_innermost = level->is_innermost,
		.calls_entry = level->calls_entry,
	};
	struct frame frame = {.kind = FRAME_JAVASCRIPT};
	struct v8_wasm_function function;
	char number[WASM_NAME_BYTES];
	const char *name;
	int err = v8_wasm_find(stacks->modules, level->layout, &memory, &place, &function);

	if (err)
		return err;
	*ret_has_frame = function.has_frame;
	name = wasm_module_get_name(function.module, function.number);
	if (!name) {
		snprintf(number, sizeof(number), "wasm-function[%" PRIu32 "]", function.number);
		name = number;
	}
	err = profile_name_frame(stacks->context.profile, name, name, "wasm", &frame);
	return err ? err : profile_add_frame_location(stacks->context.profile, &frame, ret);
}

/*
 * Whether a whole stack was walked without frame pointers, through code of files alone. V8's own
 * code has no call-frame information, so there is no frame of JavaScript then.
 */
static bool is_native(const struct runtime_splice *splice)
{
	for (uint32_t i = 0; i < splice->num_pcs; i++) {
		bool is_exact = !i || (splice->pcs[i] & WIRE_PC_EXACT);
		const struct mapping *mapping = process_find_mapping(
			splice->source->process, (splice->pcs[i] & ~WIRE_PC_MARKS) - !is_exact);

		if ((splice->pcs[i] & WIRE_PC_FP_STEP) || !mapping || mapping->file == FILE_NONE)
			return false;
	}
	return splice->source->is_whole;
}

/* If the sampling program did not reach the outer levels, a whole stack was walked later. */
static enum runtime_fit find_fit(const struct runtime_splice *splice)
{
	const struct runtime_frame_list *frames = &splice->frames;

	if (!frames->have_come || (frames->end == WIRE_RUNTIME_PARTIAL && splice->source->is_whole))
		return is_native(splice) ? RUNTIME_OUTSIDE : RUNTIME_EARLY;
	if (frames->end == WIRE_RUNTIME_UNREADABLE)
		return RUNTIME_UNREADABLE;
	return frames->length ? RUNTIME_FITS : RUNTIME_OUTSIDE;
}

/* A level of JavaScript. Returns 0, -ENOENT (its function is unknown, or V8's own) or -ENOMEM. */
static int locate_function(struct v8_stacks *stacks, const struct runtime_sample *source,
			   const struct wire_runtime_frame *frame, uint32_t *ret)
{
	const struct v8_function *function =
		v8_functions_find(stacks->functions, source->process->pid, source->generation,
				  frame->code, frame->fingerprint);

	if (!function || function->is_builtin)
		return -ENOENT;
	return locate(stacks, function, false, ret);
}

/* The stack that is put together. */
struct v8_splice {
	struct v8_stacks *stacks;
	const struct runtime_sample *source;
	const struct runtime_build *build;
	const uint64_t *pcs;
	struct runtime_level *levels; /* RUNTIME_MAX_LEVELS long */
	uint32_t num_levels;
	bool may_lack_inlined;
};

static bool is_exact(const struct v8_splice *splice, uint32_t i)
{
	return !i || (splice->pcs[i] & WIRE_PC_EXACT);
}

/*
 * Locate level i. For a JavaScript level, ret_has_frame stays unchanged. Returns as
 * locate_function().
 */
static int locate_level(const struct v8_splice *splice, const struct wire_runtime_frame *frame,
			uint32_t i, uint32_t *ret, bool *ret_has_frame)
{
	const struct runtime_sample *source = splice->source;
	const uint64_t *pcs = splice->pcs;
	const struct v8_level level = {
		.process = source->process,
		.layout = &splice->build->wasm,
		.generation = source->generation,
		.instance = frame->code,
		.pc = (pcs[i] & ~WIRE_PC_MARKS) - !is_exact(splice, i),
		.is_innermost = is_exact(splice, i) && (pcs[i] & WIRE_PC_FP_STEP),
		.calls_entry =
			i == 1 && (pcs[0] & WIRE_PC_ENTRY_STEP) && (pcs[1] & WIRE_PC_FP_STEP),
	};

	if (frame->fingerprint == WIRE_V8_WASM)
		return locate_wasm(splice->stacks, &level, ret, ret_has_frame);
	return locate_function(splice->stacks, source, frame, ret);
}

/* Add a function that was inlined. A stack may lack it if there is no room for it. */
static int add_inlined_function(void *context, const struct wire_v8_function *record)
{
	struct v8_stacks *stacks = context;
	int err = add_code(stacks, record);

	if (err && err != -ENOMEM) {
		stacks->num_lost_functions++;
		return 0;
	}
	return err;
}

/* Whether the code is mapped from a file: the interpreter, or V8's own functions, which are not optimized code. */
static bool is_in_file(const struct v8_splice *splice, uint64_t pc)
{
	const struct mapping *mapping = process_find_mapping(splice->source->process, pc);

	return mapping && mapping->file != FILE_NONE;
}

/* Put a frame for an inlined function. V8's own functions have none. */
static int put_inlined(struct v8_splice *splice, const struct v8_inlined_function *inlined)
{
	const struct runtime_sample *source = splice->source;
	struct runtime_level level = {.pc = RUNTIME_LEVEL_FRAME};
	const struct v8_function *function =
		v8_functions_find(splice->stacks->functions, (uint32_t)source->process->pid,
				  source->generation, inlined->address, inlined->fingerprint);
	int err;

	if (!function) {
		splice->may_lack_inlined = true;
		return 0;
	}
	if (function->is_builtin)
		return 0;
	err = locate(splice->stacks, function, true, &level.location);
	if (err)
		return err;
	splice->levels[splice->num_levels++] = level;
	return 0;
}

/* Put frames for the inlined functions of level i. num_left levels, with this one, keep their room. */
static int put_all_inlined(struct v8_splice *splice, const struct wire_runtime_frame *frame,
			   uint32_t i, uint32_t num_left)
{
	struct process_memory process = {.opener = splice->stacks->context.opener,
					 .pid = splice->source->process->pid};
	const struct v8_memory memory = {.read = process_memory_read, .context = &process};
	const struct v8_code_source source = {
		.code = &splice->build->code,
		.layout = &splice->build->layout.v8,
		.memory = &memory,
		.add_function = add_inlined_function,
		.context = splice->stacks,
	};
	const struct v8_code_place place = {
		.generation = splice->source->generation,
		.pc = splice->pcs[i] & ~WIRE_PC_MARKS,
		.function = frame->code,
		.pid = (uint32_t)splice->source->process->pid,
		.fingerprint = frame->fingerprint,
		.is_call = !is_exact(splice, i),
	};
	struct v8_inlined_chain chain;
	int err;

	if (frame->fingerprint == WIRE_V8_WASM || is_in_file(splice, place.pc - place.is_call))
		return 0;
	err = v8_inlines_find(splice->stacks->inlines, &source, &place, &chain);
	if (err == -ENOENT)
		splice->may_lack_inlined = true;
	if (err)
		return err == -ENOENT ? 0 : err;
	for (uint32_t k = 0; k < chain.num_functions; k++) {
		if (splice->num_levels + 2 * num_left >= RUNTIME_MAX_LEVELS) {
			splice->may_lack_inlined = true;
			return 0;
		}
		err = put_inlined(splice, &chain.functions[k]);
		if (err)
			return err;
	}
	return 0;
}

/* Put level i. frame: NULL if the sampling program has sent none. Returns 0, 1 (it is the last level) or -ENOMEM. */
static int put_level(struct v8_splice *splice, const struct wire_runtime_frame *frame, uint32_t i,
		     uint32_t num_left)
{
	struct runtime_level level = {.pc = RUNTIME_LEVEL_FRAME};
	bool has_frame = true;
	int err = frame ? locate_level(splice, frame, i, &level.location, &has_frame) : -ENOENT;

	if (err && err != -ENOENT)
		return err;
	/* The machine code that runs it is shown as its callee. */
	if (err || splice->stacks->context.shown == RUNTIME_FRAMES_ALL)
		splice->levels[splice->num_levels++] = (struct runtime_level){.pc = i};
	if (err)
		return 0;
	err = put_all_inlined(splice, frame, i, num_left);
	if (err)
		return err;
	splice->levels[splice->num_levels++] = level;
	if (has_frame)
		return 0;
	/* The frame pointer was its caller's, and has led to the caller's caller. */
	splice->levels[splice->num_levels++] = (struct runtime_level){.pc = RUNTIME_LEVEL_SKIPPED};
	return 1;
}

static int splice_frames(void *runtime, struct runtime_splice *request)
{
	static const struct runtime_build no_build = {.runtime = WIRE_RUNTIME_V8};
	const struct runtime_frame_list *frames = &request->frames;
	struct v8_splice splice = {
		.stacks = runtime,
		.source = request->source,
		.build = request->build ? request->build : &no_build,
		.pcs = request->pcs,
		.levels = request->levels,
	};
	uint32_t next = 0;
	int err = 0;

	request->verdict.fit = find_fit(request);
	for (uint32_t i = 0; i < request->num_pcs && !err; i++) {
		const struct wire_runtime_frame *frame = NULL;

		/*
		 * They are in the order of the levels; a hostile process's frames out of order are
		 * skipped.
		 */
		while (next < frames->length && frames->items[next].position < i)
			next++;
		if (next < frames->length && frames->items[next].position == i)
			frame = &frames->items[next];
		err = put_level(&splice, frame, i, request->num_pcs - i);
	}
	request->num_levels = splice.num_levels;
	request->verdict.may_lack_inlined = splice.may_lack_inlined;
	request->verdict.proves_steps = frames->have_come && frames->end == WIRE_RUNTIME_PROVEN;
	return err < 0 ? err : 0;
}

static uint64_t count_lost(const void *runtime)
{
	const struct v8_stacks *stacks = runtime;

	return stacks->num_lost_functions;
}

const struct runtime_ops v8_stack_ops = {
	.create = create,
	.free = free_stacks,
	.add_code = add_code,
	.code_bytes = sizeof(struct wire_v8_function),
	.splice = splice_frames,
	.count_lost = count_lost,
};
