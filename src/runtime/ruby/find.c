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
#include "objfile/x86_64/instruction.h"
#include "runtime/file_data.h"
#include "runtime/finder.h"

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

#define MAX_CODE_BYTES     64 /* of such a function */
#define THREAD_LOCAL_BYTES 16 /* of the longest way to read a variable of a thread */
#define MIN_CORE_BYTES     0x2000
#define MAX_VERSION_BYTES  16
/* From the address of a new frame on until that runs. */
#define MAX_PUSH_INSTRUCTIONS 64
#define CONTEXT_FRAME         16 /* of a context: the innermost frame */

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

static int32_t get_int(const uint8_t *bytes)
{
	int32_t number;

	memcpy(&number, bytes, sizeof(number));
	return number;
}

static bool bytes_are_at(const uint8_t *code, const void *bytes, size_t size)
{
	return memcmp(code, bytes, size) == 0;
}

/*
 * How the code at an address reads a thread-local variable. In a library: the argument of
 * __tls_get_addr(). In a program: an offset from the thread pointer, in the code or at a place in
 * the linker's table. The byte sequences are fixed, so that a linker can replace them by better
 * ones.
 *
 * Source: ELF Handling For Thread-Local Storage, sections 4.4.6 and 4.4.7.
 */
static int get_thread_local(const uint8_t *code, uint64_t address, struct runtime_build *build)
{
	static const uint8_t argument[] = {0x66, 0x48, 0x8d, 0x3d}; /* lea …(%rip),%rdi */
	static const uint8_t call[] = {0x66, 0x66, 0x48, 0xe8};
	static const uint8_t place[] = {0x48, 0x8b, 0x05};              /* mov …(%rip),%rax */
	static const uint8_t constant[] = {0x48, 0xc7, 0xc0};           /* mov $…,%rax */
	static const uint8_t load[] = {0x64, 0x48, 0x8b, 0x00};         /* mov %fs:(%rax),%rax */
	static const uint8_t direct[] = {0x64, 0x48, 0x8b, 0x04, 0x25}; /* mov %fs:…,%rax */
	struct wire_ruby_layout *layout = &build->layout.ruby;
	int32_t offset = 0;

	if (bytes_are_at(code, argument, sizeof(argument)) &&
	    bytes_are_at(code + 8, call, sizeof(call))) {
		layout->context = WIRE_RUBY_CONTEXT_BY_INDEX;
		build->state = address + 8 + (uint64_t)(int64_t)get_int(code + 4);
		return 0;
	}
	if (bytes_are_at(code, place, sizeof(place)) &&
	    bytes_are_at(code + 7, load, sizeof(load))) {
		layout->context = WIRE_RUBY_CONTEXT_BY_OFFSET;
		build->state = address + 7 + (uint64_t)(int64_t)get_int(code + 3);
		return 0;
	}
	if (bytes_are_at(code, constant, sizeof(constant)) &&
	    bytes_are_at(code + 7, load, sizeof(load)))
		offset = get_int(code + 3);
	else if (bytes_are_at(code, direct, sizeof(direct)))
		offset = get_int(code + 5);
	if (offset >= 0) /* above the thread pointer is memory of the C library */
		return -ENOENT;
	layout->context = WIRE_RUBY_CONTEXT_IN_CODE;
	layout->context_offset = (uint64_t)(int64_t)offset;
	return 0;
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
	for (size_t i = 0; i + THREAD_LOCAL_BYTES <= sizeof(code); i++)
		if (!get_thread_local(code + i, function + i, build))
			return 0;
	return -ENOENT;
}

/* Whether an indirect branch may go there (endbr64): then it is so many bytes long. */
static size_t skip_branch_mark(const uint8_t *code)
{
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return memcmp(code, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;
}

/* The address of the variable that a function gives, and does nothing besides. */
static int find_variable(const struct objfile *objfile, uint64_t function, uint64_t *ret)
{
	static const uint8_t load[] = {0x8b, 0x05}; /* mov …(%rip),%eax */
	uint8_t code[12] = {0};
	size_t at;

	if (file_data_read(objfile, function, code, sizeof(code) - 1))
		return -ENOENT;
	at = skip_branch_mark(code);
	if (memcmp(code + at, load, sizeof(load)) != 0 || code[at + 6] != 0xc3)
		return -ENOENT;
	*ret = function + at + 6 + (uint64_t)(int64_t)get_int(code + at + 2);
	return 0;
}

/* The target of a jump or call whose distance is in these bytes of a section. */
static uint64_t get_target(const struct code_section *code, size_t distance)
{
	return code->address + distance + 4 + (uint64_t)(int64_t)get_int(code->bytes + distance);
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
	static const uint8_t jump[] = {0x31, 0xff, 0xe9}; /* xor %edi,%edi; jmp … */
	struct code_bounds found = {0};
	struct code_section code;
	Elf_Scn *scn = NULL;

	while (file_data_get_next_code(objfile_get_elf(objfile), &scn, &code)) {
		const uint8_t *at = code.bytes;
		const uint8_t *end = code.bytes + code.size;

		while (end - at >= 7 &&
		       (at = memmem(at, (size_t)(end - at) - 4, jump, sizeof(jump)))) {
			size_t offset = (size_t)(at++ - code.bytes);
			uint64_t target = get_target(&code, offset + sizeof(jump));
			struct code_bounds bounds;

			if (!is_small_function(frames, code.address + offset,
					       code.address + offset + 7) ||
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

			if (code.bytes[i] != 0xe8 || get_target(&code, i + 1) != core.start ||
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

/* Operands of lea and mov: a register, and one in memory, without an index. */
struct operands {
	unsigned int reg;
	int32_t displacement;
};

/* Returns false if it has no operand in memory of that form. */
static bool get_operands(const struct instruction *instruction, struct operands *ret)
{
	unsigned int mod = instruction->modrm >> 6;
	bool has_sib = (instruction->modrm & 7) == 4;

	if (!mod || mod == 3 || (has_sib && (instruction->sib & 0x38) != 0x20))
		return false;
	ret->reg = (instruction->modrm >> 3 & 7u) | (instruction->rex & 4u) << 1;
	ret->displacement = instruction->displacement;
	return true;
}

/*
 * Whether a function continues elsewhere here, or may: except branches, whose other paths are not
 * followed.
 */
static bool is_end(const struct instruction *instruction)
{
	return instruction->kind != INSTRUCTION_PLAIN && instruction->kind != INSTRUCTION_PADDING &&
	       instruction->kind != INSTRUCTION_BRANCH;
}

static bool is_store_to_context(const struct instruction *instruction, unsigned int reg)
{
	struct operands operands;

	return instruction->map == INSTRUCTION_MAP_ONE_BYTE && instruction->opcode == 0x89 &&
	       get_operands(instruction, &operands) && operands.reg == reg &&
	       operands.displacement == CONTEXT_FRAME;
}

/*
 * The code from behind the store of a frame's address in the context until the function continues
 * elsewhere: the frame's own code cannot run before that.
 *
 * reg  has the address
 *
 * Returns whether there is such a store.
 */
static bool find_push(const struct code_section *code, size_t at, unsigned int reg,
		      struct evaluation_push *ret)
{
	struct instruction instruction;

	*ret = (struct evaluation_push){0};
	for (unsigned int i = 0; i < MAX_PUSH_INSTRUCTIONS; i++) {
		if (!instruction_decode(code->bytes + at, code->size - at, &instruction))
			break;
		at += instruction.length;
		if (ret->start)
			ret->end = code->address + at;
		else if (is_store_to_context(&instruction, reg))
			ret->start = code->address + at;
		if (is_end(&instruction))
			break;
	}
	return ret->end != 0;
}

/* Returns 0, or -ENOENT if not found, or if there are too many. */
static int find_pushes(struct objfile *objfile, struct runtime_build *build)
{
	int32_t frame_bytes = build->layout.ruby.frame_bytes;
	struct code_section code;
	Elf_Scn *scn = NULL;

	while (file_data_get_next_code(objfile_get_elf(objfile), &scn, &code)) {
		for (size_t i = 0; i + 5 <= code.size; i++) {
			const uint8_t *bytes = code.bytes + i;
			struct instruction made;
			struct operands operands;
			struct evaluation_push push;

			/* lea -FRAME_BYTES(…),… */
			if ((bytes[0] & 0xf8) != 0x48 || bytes[1] != 0x8d ||
			    (bytes[3] != (uint8_t)-frame_bytes &&
			     bytes[4] != (uint8_t)-frame_bytes) ||
			    !instruction_decode(bytes, code.size - i, &made) ||
			    !get_operands(&made, &operands) ||
			    operands.displacement != -frame_bytes ||
			    !find_push(&code, i + made.length, operands.reg, &push))
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
