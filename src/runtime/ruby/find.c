/*
 * Ruby in the symbols of a file, and in its code, for parts that have no symbol.
 *
 * The location of a thread's context is in each function that needs it; one that does nothing else
 * is exported. The address of global_symbols is in a function that returns its first word, the
 * number of symbols. Not all versions export vm_exec() or vm_exec_core(). But one small function
 * asks vm_exec_core() for the addresses of its instructions, by a jump at its end. The other caller
 * of vm_exec_core() is vm_exec().
 *
 * Compilers may have a context point to a frame before they write the frame, and Ruby did so before
 * 3.0: in between, the innermost frame may be stale data. That code is found by the addresses of
 * new frames.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"
#include "runtime/x86_64/ruby_code.h"

enum {
	VERSION,
	CONTEXT, /* before 3.0: the one context that runs */
	ERROR,   /* gives the current error of a thread */
	SYMBOLS, /* gives the first word of global_symbols */
	NUM_MARKERS,
};

static const char *const marker_names[NUM_MARKERS] = {
	[VERSION] = "ruby_version",
	[CONTEXT] = "ruby_current_execution_context_ptr",
	[ERROR] = "rb_errinfo",
	[SYMBOLS] = "rb_sym_immortal_count",
};

#define MAX_CODE_BYTES    64 /* of such a function */
#define MIN_CORE_BYTES    0x2000
#define MAX_VERSION_BYTES 16

/* Source: vm_core.h, iseq.h and include/ruby/internal/core/ of each version, and processes that ran it. */
static const struct known_version {
	unsigned int major;
	unsigned int minor;
	bool is_thread_local; /* each thread has its own context */
	struct wire_ruby_layout layout;
} known_versions[] = {
	{2,
	 7,
	 false,
	 {.frame_bytes = 56,
	  .line_bytes = 8,
	  .string_text = 16,
	  .context_thread = 0x38,
	  .context_native = 0x98,
	  .context_bytes = 0xb0,
	  .thread_context = 0x20,
	  .body_lines = 120}},
	{3,
	 1,
	 true,
	 {.frame_bytes = 64,
	  .line_bytes = 12,
	  .string_text = 16,
	  .context_thread = 0x30,
	  .context_native = 0x90,
	  .context_bytes = 0xa8,
	  .thread_context = 0x28,
	  .body_lines = 120}},
	{3,
	 2,
	 true,
	 {.frame_bytes = 64,
	  .line_bytes = 12,
	  .string_text = 24,
	  .context_thread = 0x30,
	  .context_native = 0x98,
	  .context_bytes = 0xb0,
	  .thread_context = 0x30,
	  .body_lines = 112}},
	{3,
	 3,
	 true,
	 {.frame_bytes = 56,
	  .line_bytes = 12,
	  .string_text = 24,
	  .context_thread = 0x30,
	  .context_native = 0x98,
	  .context_bytes = 0xb0,
	  .thread_context = 0x30,
	  .body_lines = 112}},
};

/* "3.1.2". Parts that are not numbers stay 0. */
static void find_version(const struct objfile *objfile, uint64_t address,
			 struct runtime_build *build)
{
	char text[MAX_VERSION_BYTES] = {0};
	const char *digits = text;
	unsigned int numbers[2] = {0};

	if (file_data_read(objfile, address, text, 4))
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		if (digits[0] < '0' || digits[0] > '9' || digits[1] != '.')
			return;
		numbers[i] = (unsigned int)(digits[0] - '0');
		digits += 2;
	}
	build->major = numbers[0];
	build->minor = numbers[1];
}

/*
 * Find where a function reads a variable of its thread. Puts that into the layout, with the state
 * to find it by.
 */
static int find_thread_local(const struct objfile *objfile, uint64_t function,
			     struct runtime_build *build)
{
	uint8_t code[MAX_CODE_BYTES];

	if (file_data_read(objfile, function, code, sizeof(code)))
		return -ENOENT;
	for (size_t i = 0; i + RUBY_CODE_THREAD_LOCAL_BYTES <= sizeof(code); i++)
		if (!ruby_code_get_thread_local(code + i, function + i, build))
			return 0;
	return -ENOENT;
}

/* The address of the variable that a function gives, and does nothing besides. */
static int find_variable(const struct objfile *objfile, uint64_t function, uint64_t *ret)
{
	uint8_t code[RUBY_CODE_VARIABLE_BYTES];

	if (file_data_read(objfile, function, code, sizeof(code)) ||
	    !ruby_code_get_variable(code, function, ret))
		return -ENOENT;
	return 0;
}

/* Whether a function starts a few bytes before, at most, and ends at the end. */
static bool is_small_function(struct frame_info *frames, uint64_t address, uint64_t end)
{
	struct code_bounds bounds;

	return !frame_info_find_bounds(frames, address, &bounds) && bounds.end == end &&
	       address - bounds.start <= 8;
}

/*
 * The jump to vm_exec_core() that is a whole function: no other function as large has one like it.
 */
static int find_core(struct objfile *objfile, struct frame_info *frames, struct code_bounds *ret)
{
	struct code_bounds found = {0};
	struct code_section code;
	Elf_Scn *scn = NULL;

	while (file_data_get_next_code(objfile_get_elf(objfile), &scn, &code)) {
		uint64_t offset = 0;
		uint64_t start;
		uint64_t target;

		while (ruby_code_find_jump(&code, &offset, &start, &target)) {
			struct code_bounds bounds;

			if (!is_small_function(frames, start, start + RUBY_CODE_JUMP_BYTES) ||
			    frame_info_find_bounds(frames, target, &bounds) ||
			    bounds.start != target || bounds.end - target < MIN_CORE_BYTES)
				continue;
			if (found.start && found.start != target)
				return -ENOENT;
			found = bounds;
		}
	}
	*ret = found;
	return found.start ? 0 : -ENOENT;
}

/* A function that evaluates frames. Returns 0, or -ENOENT when there are too many. */
static int add_evaluation(const struct code_bounds *bounds, struct runtime_build *build)
{
	for (unsigned int i = 0; i < build->num_eval_parts; i++)
		if (build->eval_parts[i].start == bounds->start)
			return 0;
	if (build->num_eval_parts == EVALUATION_MAX_PARTS - 1)
		return -ENOENT;
	build->eval_parts[build->num_eval_parts++] =
		(struct evaluation_part){.start = bounds->start, .end = bounds->end};
	return 0;
}

/* Find the callers of vm_exec_core(), and that itself. */
static int find_evaluation(struct objfile *objfile, struct runtime_build *build)
{
	struct code_section code;
	struct frame_info *frames;
	struct code_bounds core;
	Elf_Scn *scn = NULL;

	if (objfile_get_frame_info(objfile, &frames) || find_core(objfile, frames, &core))
		return -ENOENT;
	scn = NULL;
	while (file_data_get_next_code(objfile_get_elf(objfile), &scn, &code)) {
		for (size_t i = 0; i + 5 <= code.size; i++) {
			struct code_bounds bounds;

			if (!ruby_code_is_call(&code, i, core.start) ||
			    frame_info_find_bounds(frames, code.address + i, &bounds))
				continue;
			if (add_evaluation(&bounds, build))
				return -ENOENT;
		}
	}
	if (!build->num_eval_parts)
		return -ENOENT;
	build->eval_parts[build->num_eval_parts++] =
		(struct evaluation_part){.start = core.start, .end = core.end, .is_inner = true};
	return 0;
}

/* Returns 0, or -ENOENT if not found, or if there are too many. */
static int find_pushes(struct objfile *objfile, struct runtime_build *build)
{
	int32_t frame_bytes = build->layout.ruby.frame_bytes;
	struct code_section code;
	Elf_Scn *scn = NULL;

	while (file_data_get_next_code(objfile_get_elf(objfile), &scn, &code)) {
		for (size_t i = 0; i + 5 <= code.size; i++) {
			struct evaluation_push push;

			if (!ruby_code_find_push(&code, i, frame_bytes, &push))
				continue;
			if (build->num_pushes == EVALUATION_MAX_PUSHES)
				return -ENOENT;
			build->pushes[build->num_pushes++] = push;
		}
	}
	return build->num_pushes ? 0 : -ENOENT;
}

static int find_context_of_all(const struct file_symbol *markers, struct runtime_build *build)
{
	build->layout.ruby.context = WIRE_RUBY_CONTEXT_OF_ALL;
	build->state = markers[CONTEXT].address;
	return build->state ? 0 : -ENOENT;
}

static const struct known_version *look_up_version(const struct runtime_build *build)
{
	for (size_t i = 0; i < ARRAY_LENGTH(known_versions); i++)
		if (known_versions[i].major == build->major &&
		    known_versions[i].minor == build->minor)
			return &known_versions[i];
	return NULL;
}

static enum runtime_support find_layout(struct objfile *objfile, const struct file_symbol *markers,
					struct runtime_build *build)
{
	const struct known_version *known = look_up_version(build);
	uint64_t symbols;

	if (!known)
		return SUPPORT_UNKNOWN_VERSION;
	if (find_variable(objfile, markers[SYMBOLS].address, &symbols))
		return SUPPORT_UNKNOWN_BUILD;
	build->layout.ruby = known->layout;
	build->state = symbols;
	if (known->is_thread_local ? find_thread_local(objfile, markers[ERROR].address, build)
				   : find_context_of_all(markers, build))
		return SUPPORT_UNKNOWN_BUILD;
	build->layout.ruby.symbols = symbols - build->state;
	if (find_evaluation(objfile, build))
		return SUPPORT_UNKNOWN_BUILD;
	return find_pushes(objfile, build) ? SUPPORT_UNKNOWN_BUILD : SUPPORT_KNOWN;
}

int ruby_find(struct objfile *objfile, struct runtime_build *build)
{
	struct runtime_build found = *build;
	struct file_symbol markers[NUM_MARKERS];

	file_find_symbols(objfile, marker_names, NUM_MARKERS, markers);
	if (!markers[VERSION].address || !markers[ERROR].address)
		return -ENOENT;
	find_version(objfile, markers[VERSION].address, &found);
	found.support = SUPPORT_UNKNOWN_BUILD;
	if (file_is_64_bit_little_endian(objfile))
		found.support = find_layout(objfile, markers, &found);
	if (found.support == SUPPORT_KNOWN) {
		*build = found;
		return 0;
	}
	build->support = found.support;
	build->major = found.major;
	build->minor = found.minor;
	return 0;
}
