#include "runtime/x86_64/ruby_code.h"

#include <errno.h>
#include <string.h>

#include "objfile/x86_64/instruction.h"

/* From the address of a new frame on until that runs. */
#define MAX_PUSH_INSTRUCTIONS 64
#define CONTEXT_FRAME         16 /* of a context: the innermost frame */

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

int ruby_code_get_thread_local(const uint8_t *code, uint64_t address, struct runtime_build *build)
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

/* Whether an indirect branch may go there (endbr64): then it is so many bytes long. */
static size_t skip_branch_mark(const uint8_t *code)
{
	static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa};

	return memcmp(code, mark, sizeof(mark)) == 0 ? sizeof(mark) : 0;
}

bool ruby_code_get_variable(const uint8_t *code, uint64_t address, uint64_t *ret)
{
	static const uint8_t load[] = {0x8b, 0x05}; /* mov …(%rip),%eax */
	size_t at = skip_branch_mark(code);

	if (memcmp(code + at, load, sizeof(load)) != 0 || code[at + 6] != 0xc3)
		return false;
	*ret = address + at + 6 + (uint64_t)(int64_t)get_int(code + at + 2);
	return true;
}

/* The target of a jump or call whose distance is in these bytes of a section. */
static uint64_t get_target(const struct code_section *code, size_t distance)
{
	return code->address + distance + 4 + (uint64_t)(int64_t)get_int(code->bytes + distance);
}

bool ruby_code_find_jump(const struct code_section *code, uint64_t *offset, uint64_t *ret_start,
			 uint64_t *ret_target)
{
	static const uint8_t jump[] = {0x31, 0xff, 0xe9}; /* xor %edi,%edi; jmp … */
	const uint8_t *at = code->bytes + *offset;
	const uint8_t *end = code->bytes + code->size;
	size_t start;

	if (end - at < RUBY_CODE_JUMP_BYTES)
		return false;
	at = memmem(at, (size_t)(end - at) - 4, jump, sizeof(jump));
	if (!at)
		return false;
	start = (size_t)(at - code->bytes);
	*offset = start + 1;
	*ret_start = code->address + start;
	*ret_target = get_target(code, start + sizeof(jump));
	return true;
}

bool ruby_code_is_call(const struct code_section *code, size_t offset, uint64_t target)
{
	return code->bytes[offset] == 0xe8 && get_target(code, offset + 1) == target;
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

/* ruby_code_find_push(), if the register `reg` has the frame's address. */
static bool find_store(const struct code_section *code, size_t at, unsigned int reg,
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

bool ruby_code_find_push(const struct code_section *code, size_t offset, int32_t frame_bytes,
			 struct evaluation_push *ret)
{
	const uint8_t *bytes = code->bytes + offset;
	struct instruction made;
	struct operands operands;

	/* lea -FRAME_BYTES(…),… */
	return (bytes[0] & 0xf8) == 0x48 && bytes[1] == 0x8d &&
	       (bytes[3] == (uint8_t)-frame_bytes || bytes[4] == (uint8_t)-frame_bytes) &&
	       instruction_decode(bytes, code->size - offset, &made) &&
	       get_operands(&made, &operands) && operands.displacement == -frame_bytes &&
	       find_store(code, offset + made.length, operands.reg, ret);
}
