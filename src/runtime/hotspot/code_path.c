/*
 * The next code in memory is not always the next to run: a compiler puts rare code at the end, and
 * between two places one method may end and another one start. So instructions are followed one by
 * one:
 *
 *     mov …                       the sample
 *     jmp 1f ──────────┐
 *     call …           │          described, but never reached
 *  1: add … <──────────┘
 *     jl 0b                       backward: a loop's work is at its head
 *
 * Other branches are not taken, as compilers lay out code for that; their targets are stored. The
 * path ends at a return, at a jump that is indirect or out of the code, and at an unknown
 * instruction.
 */
#include "runtime/hotspot/code_path.h"

#include <errno.h>
#include <stdbool.h>

#include "objfile/architecture.h"
#include "objfile/instruction_flow.h"

/*
 * Maximum number of instructions decoded for one path. Places are a few dozen instructions apart,
 * in unrolled loops some hundreds.
 */
#define MAX_INSTRUCTIONS 1000

size_t described_code_find_behind(const struct described_code *code, int32_t offset)
{
	size_t low = 0;
	size_t high = code->num_pc_descs;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (code->pc_descs[middle].pc <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct pc_desc *described_code_find_at(const struct described_code *code, int32_t offset)
{
	size_t behind = described_code_find_behind(code, offset);
	const struct pc_desc *desc = behind ? &code->pc_descs[behind - 1] : NULL;

	return desc && desc->pc == offset && desc->scope > 0 ? desc : NULL;
}

static bool decode_at(const struct described_code *code, int64_t offset,
		      struct instruction_flow *ret)
{
	return offset >= 0 && (uint64_t)offset < code->num_bytes &&
	       architecture_decode(architecture_here(), code->bytes + offset,
				   code->num_bytes - (size_t)offset, ret);
}

/*
 * Whether a description is for the call before it, not for the instruction there. An instruction
 * starts at each described place, so that decoding from the previous place shows it. When in doubt
 * it is for a call, as most are.
 */
static bool is_of_call(const struct described_code *code, const struct pc_desc *desc,
		       unsigned int *num_left)
{
	const struct pc_desc *before = desc > code->pc_descs ? desc - 1 : NULL;
	int64_t offset = before && before->pc > 0 ? before->pc : 0;
	bool is_call = false;

	while (offset < desc->pc) {
		struct instruction_flow instruction;

		if (!*num_left || !decode_at(code, offset, &instruction))
			return true;
		--*num_left;
		offset += instruction.length;
		is_call = instruction.kind == INSTRUCTION_CALL;
	}
	return is_call || offset != desc->pc;
}

int code_path_find(const struct described_code *code, int32_t offset, struct code_path *ret)
{
	unsigned int num_left = MAX_INSTRUCTIONS;
	int64_t next = offset;
	bool has_jumped = true; /* whether the code before it has not run, as far as known */
	bool has_turned = false;

	ret->num_branches = 0;
	while (num_left) {
		struct instruction_flow instruction;
		int64_t target;

		/*
		 * The last call may return to the address after the code, which cannot be decoded.
		 */
		if (next < 0 || next > INT32_MAX)
			return -ENOENT;
		ret->end = described_code_find_at(code, (int32_t)next);
		if (ret->end && !(has_jumped && is_of_call(code, ret->end, &num_left)))
			return 0;
		if (!num_left || !decode_at(code, next, &instruction))
			return -ENOENT;
		num_left--;
		target = next + instruction.length + instruction.distance;
		has_jumped = false;
		switch (instruction.kind) {
		case INSTRUCTION_PLAIN:
		case INSTRUCTION_PADDING:
		case INSTRUCTION_CALL: /* if it is not described, the JVM does not stop in it */
			break;
		case INSTRUCTION_BRANCH:
			if (target <= next) {
				has_jumped = !has_turned;
				has_turned = true;
				break;
			}
			if (ret->num_branches == CODE_PATH_MAX_BRANCHES || target > INT32_MAX)
				return -ENOENT;
			ret->branches[ret->num_branches++] = (int32_t)target;
			break;
		case INSTRUCTION_SHORT_JUMP:
		case INSTRUCTION_JUMP:
			if (!instruction.is_direct)
				return -ENOENT;
			has_jumped = true;
			break;
		case INSTRUCTION_RETURN:
		case INSTRUCTION_END:
			return -ENOENT;
		}
		next = has_jumped ? target : next + instruction.length;
	}
	return -ENOENT;
}
