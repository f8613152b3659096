/*
 * The child of fork() and vfork() may run the same instructions, but its stack has the callers of its
 * parent. So two more things are required. The system call must have the number of clone() or clone3().
 * The code must drop the old stack: it clears rbp, which the ABI demands of an outermost frame, or it
 * pops words that it has not pushed. After that it runs straight to exit().
 */
#include "unwind/x86_64/clone_child.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "objfile/x86_64/instruction.h"
#include "unwind/x86_64/code_scan.h"

/* Maximum distance from the load of the call's number to the system call, in bytes; in musl: 33. */
#define MAX_NUMBER_DISTANCE 64
/* Maximum number of instructions in the new thread's part. musl has 7. */
#define MAX_INSTRUCTIONS 40
/* Maximum number of branches after the test: one for errors, one for the parent. */
#define MAX_BRANCHES 2

#define CALL_EXIT       60
#define CALL_EXIT_GROUP 231
#define NUMBER_UNKNOWN  (-1)

enum { AX, FP = 5 };
enum { REX_B = 1, REX_R = 4 };
enum { CONDITION_E = 4, CONDITION_NE, CONDITION_S = 8, CONDITION_L = 12 };

static const uint8_t syscall_code[] = {0x0f, 0x05};

/* State while the new thread's part is read. */
struct child_state {
	int32_t number; /* rax, or NUMBER_UNKNOWN */
	int32_t pushed; /* the last number that was pushed, or NUMBER_UNKNOWN */
	unsigned int num_pushed;
	bool has_dropped_stack;
	bool has_called;
};

void clone_children_release(struct clone_children *children)
{
	array_release(&children->items);
}

static bool is_one_byte(const struct instruction *instruction, uint8_t opcode)
{
	return instruction->map == INSTRUCTION_MAP_ONE_BYTE && !instruction->is_vex &&
	       instruction->opcode == opcode;
}

static bool is_syscall(const struct instruction *instruction)
{
	return instruction->map == INSTRUCTION_MAP_0F && !instruction->is_vex &&
	       instruction->opcode == 0x05;
}

/* test %eax,%eax or test %rax,%rax */
static bool is_test_of_result(const struct instruction *instruction)
{
	return is_one_byte(instruction, 0x85) && instruction->modrm == 0xc0 &&
	       !(instruction->rex & (REX_B | REX_R));
}

static uint8_t get_condition(const struct instruction *instruction)
{
	return instruction->opcode & 15;
}

/* Whether the number of clone() or clone3() is loaded before the system call. */
static bool has_number(const uint8_t *code, size_t offset)
{
	static const struct {
		uint8_t bytes[6];
		uint8_t size;
	} loads[] = {
		{{0xb0, 56}, 2},                  /* mov $56,%al */
		{{0x6a, 56}, 2},                  /* push $56 */
		{{0xb8, 56, 0, 0, 0}, 5},         /* mov $56,%eax */
		{{0xc7, 0xc0, 56, 0, 0, 0}, 6},   /* mov $56,%rax */
		{{0xb8, 0xb3, 1, 0, 0}, 5},       /* mov $435,%eax */
		{{0xc7, 0xc0, 0xb3, 1, 0, 0}, 6}, /* mov $435,%rax */
	};
	size_t size = offset < MAX_NUMBER_DISTANCE ? offset : MAX_NUMBER_DISTANCE;

	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		if (memmem(code + offset - size, size, loads[i].bytes, loads[i].size))
			return true;
	return false;
}

/* The register in an opcode's last three bits. */
static unsigned int get_opcode_register(const struct instruction *instruction)
{
	return (instruction->opcode & 7) | (instruction->rex & REX_B ? 8 : 0);
}

/* The register operand of the ModRM byte; 16: memory. */
static unsigned int get_rm(const struct instruction *instruction)
{
	if (instruction->modrm >> 6 != 3)
		return 16;
	return (instruction->modrm & 7) | (instruction->rex & REX_B ? 8 : 0);
}

static unsigned int get_reg(const struct instruction *instruction)
{
	return (instruction->modrm >> 3 & 7) | (instruction->rex & REX_R ? 8 : 0);
}

static void read_pop(struct child_state *state, unsigned int popped)
{
	if (!state->num_pushed)
		state->has_dropped_stack = true;
	else
		state->num_pushed--;
	if (popped == AX)
		state->number = state->pushed;
	state->pushed = NUMBER_UNKNOWN;
}

static void read_push(struct child_state *state, int32_t number)
{
	state->num_pushed++;
	state->pushed = number;
}

/* xor of a register with itself */
static bool is_clear(const struct instruction *instruction)
{
	return (is_one_byte(instruction, 0x31) || is_one_byte(instruction, 0x33)) &&
	       get_rm(instruction) == get_reg(instruction);
}

/* mov or lea to another register than rax, or a store. */
static bool keeps_number(const struct instruction *instruction)
{
	if (is_one_byte(instruction, 0x89))
		return get_rm(instruction) != AX;
	if (is_one_byte(instruction, 0x8b) || is_one_byte(instruction, 0x8d))
		return get_reg(instruction) != AX;
	return false;
}

/* Any instruction that is not recognized may have changed rax. */
static void read_plain(struct child_state *state, const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (instruction->map != INSTRUCTION_MAP_ONE_BYTE || instruction->is_vex) {
		state->number = NUMBER_UNKNOWN;
	} else if (is_clear(instruction)) {
		state->has_dropped_stack |= get_rm(instruction) == FP;
		if (get_rm(instruction) == AX)
			state->number = 0;
	} else if (opcode >= 0x50 && opcode <= 0x57) {
		read_push(state, NUMBER_UNKNOWN);
	} else if (opcode == 0x6a || opcode == 0x68) {
		read_push(state, instruction->immediate);
	} else if (opcode >= 0x58 && opcode <= 0x5f) {
		read_pop(state, get_opcode_register(instruction));
	} else if (opcode >= 0xb8 && opcode <= 0xbf) {
		if (get_opcode_register(instruction) == AX)
			state->number = instruction->immediate;
	} else if (opcode == 0xc7) {
		if (get_rm(instruction) == AX)
			state->number = instruction->immediate;
	} else if (opcode == 0xb0 && !instruction->rex) { /* al */
		state->number = state->number == NUMBER_UNKNOWN
					? NUMBER_UNKNOWN
					: (state->number & ~0xff) | (instruction->immediate & 0xff);
	} else if (!keeps_number(instruction)) {
		state->number = NUMBER_UNKNOWN;
	}
}

/* The end of a part that starts at the offset, if it runs straight to exit(); otherwise 0. */
static size_t find_end(const uint8_t *code, size_t size, size_t offset)
{
	struct child_state state = {.number = 0, .pushed = NUMBER_UNKNOWN};
	struct instruction instruction;

	for (int i = 0; i < MAX_INSTRUCTIONS; i++) {
		if (offset >= size ||
		    !instruction_decode(code + offset, size - offset, &instruction))
			return 0;
		offset += instruction.length;
		if (instruction.kind == INSTRUCTION_CALL) {
			if (!state.has_dropped_stack)
				return 0;
			state.has_called = true;
			state.number = NUMBER_UNKNOWN;
			continue;
		}
		if (instruction.kind == INSTRUCTION_PADDING && !is_one_byte(&instruction, 0xcc))
			continue;
		if (instruction.kind != INSTRUCTION_PLAIN)
			return 0;
		if (!is_syscall(&instruction)) {
			read_plain(&state, &instruction);
			continue;
		}
		if (state.number == CALL_EXIT || state.number == CALL_EXIT_GROUP)
			break;
		state.number = NUMBER_UNKNOWN;
	}
	if (!state.has_called || (state.number != CALL_EXIT && state.number != CALL_EXIT_GROUP) ||
	    !is_syscall(&instruction))
		return 0;
	/* Within the system call a thread's pc is at the byte after it. */
	if (offset < size && instruction_decode(code + offset, size - offset, &instruction) &&
	    instruction.kind == INSTRUCTION_END)
		offset += instruction.length;
	return offset;
}

/* Read the code after a system call, which ends at ret->call_end. */
static bool read_child(const uint8_t *code, size_t size, struct clone_child *ret)
{
	size_t offset = ret->call_end;
	struct instruction instruction;
	int64_t target;

	if (offset >= size || !instruction_decode(code + offset, size - offset, &instruction) ||
	    !is_test_of_result(&instruction))
		return false;
	for (int i = 0; i < MAX_BRANCHES; i++) {
		uint8_t condition;

		offset += instruction.length;
		if (offset >= size ||
		    !instruction_decode(code + offset, size - offset, &instruction) ||
		    instruction.kind != INSTRUCTION_BRANCH ||
		    (instruction.map == INSTRUCTION_MAP_ONE_BYTE &&
		     (instruction.opcode & 0xf0) != 0x70))
			return false;
		condition = get_condition(&instruction);
		if (condition != CONDITION_S && condition != CONDITION_L)
			break;
	}
	ret->test_end = ret->start = offset + instruction.length;
	if (get_condition(&instruction) == CONDITION_E) {
		target = (int64_t)ret->test_end + instruction.distance;
		if (target < 0 || (uint64_t)target >= size)
			return false;
		ret->start = (uint64_t)target;
	} else if (get_condition(&instruction) != CONDITION_NE) {
		return false;
	}
	ret->end = find_end(code, size, ret->start);
	return ret->end > ret->start;
}

bool clone_child_find(const uint8_t *code, size_t size, size_t offset, struct clone_child *ret)
{
	const uint8_t *found;

	while (offset < size &&
	       (found = memmem(code + offset, size - offset, syscall_code, sizeof(syscall_code)))) {
		size_t call = (size_t)(found - code);

		offset = call + sizeof(syscall_code);
		*ret = (struct clone_child){.call_end = offset};
		if (has_number(code, call) && read_child(code, size, ret))
			return true;
	}
	return false;
}

/* Maximum number in a file. Only hostile files have more. */
#define MAX_CHILDREN 64

static int look(void *context, const uint8_t *code, size_t size, uint64_t address)
{
	struct clone_children *children = context;
	struct clone_child found;
	size_t offset = 0;

	while (children->items.length < MAX_CHILDREN &&
	       clone_child_find(code, size, offset, &found)) {
		struct clone_child *added = array_add(&children->items);

		if (!added)
			return -ENOMEM;
		offset = found.call_end;
		*added = (struct clone_child){
			.call_end = address + found.call_end,
			.test_end = address + found.test_end,
			.start = address + found.start,
			.end = address + found.end,
		};
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct clone_child *x = a;
	const struct clone_child *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int clone_children_find(Elf *elf, const struct frame_reader *reader, uint64_t max_bytes,
			struct clone_children *ret)
{
	const struct code_scan scan = {look, ret};
	int err = code_scan_run(&scan, elf, reader, max_bytes);

	if (!err && ret->items.length)
		qsort(ret->items.items, ret->items.length, sizeof(*ret->items.items), compare);
	return err;
}
