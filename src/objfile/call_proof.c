/*
 * The target of a direct call is known. The frame below the one that it returns to belongs to
 * that function, or to one that it has jumped to (a tail call). The possible functions are found by
 * following the jumps that leave it:
 *
 *	call f     f: … jmp g     g: … ret        a frame of f or of g
 *
 * A frame of any other function proves that a frame between the two is missing. This must never be
 * claimed wrongly. So it is claimed only for functions with known bounds that can be decoded
 * completely, and that leave only by direct jumps and plain returns. PLT entries, jump tables and
 * thunks that return to an address which they have pushed prove nothing.
 *
 * Limits: code that was changed in memory. 32-bit code has the same direct calls but other
 * instructions, so only calls of the function itself prove anything. Functions are decoded
 * linearly, so data between their instructions may hide a jump.
 */
#include "objfile/call_proof.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "objfile/architecture.h"
#include "objfile/instruction_flow.h"

#define MAX_TAIL_CALLEES   16
#define MAX_FOLLOWED_BYTES (64u << 10) /* of one function */

/* The functions that a call may have led to. */
struct callees {
	const struct architecture *architecture;
	struct code_bounds functions[MAX_TAIL_CALLEES];
	size_t count;
	uint64_t start_of_callee; /* of the wanted function; UINT64_MAX: elsewhere */
};

/* The target of the direct call that ends at the address. */
static bool find_target(const struct objfile *objfile, const struct architecture *architecture,
			uint64_t return_address, uint64_t *ret)
{
	uint8_t code[CALL_MAX_BYTES];
	int32_t distance;

	if (objfile_read_code(objfile, return_address - sizeof(code), code, sizeof(code)) ||
	    !architecture->read_direct_call(code, &distance))
		return false;
	*ret = return_address + (uint64_t)(int64_t)distance;
	return true;
}

/* The bounds of a function as call-frame information or a symbol's size has them. */
static int find_known_bounds(struct objfile *objfile, uint64_t elf_address, struct code_bounds *ret)
{
	struct frame_info *frame_info;
	struct symbol symbol;
	int err = objfile_get_frame_info(objfile, &frame_info);

	if (err)
		return err;
	err = frame_info_find_bounds(frame_info, elf_address, ret);
	if (err != -ENOENT)
		return err;
	err = objfile_find_symbol(objfile, elf_address, &symbol);
	if (err)
		return err;
	*ret = (struct code_bounds){symbol.start, symbol.end};
	return symbol.is_size_known ? 0 : -ENOENT;
}

static int find_start(struct objfile *objfile, uint64_t elf_address, uint64_t *ret)
{
	struct symbol symbol;
	int err = objfile_find_symbol(objfile, elf_address, &symbol);

	if (err == -ENOENT)
		return objfile_find_function(objfile, elf_address, ret);
	if (!err)
		*ret = symbol.start;
	return err;
}

/*
 * Add the function at the target, unless it is there already. Returns 0, -ENOENT (unknown bounds,
 * and not the wanted callee) or -ENOMEM.
 */
static int add_callee(struct objfile *objfile, struct callees *callees, uint64_t target,
		      bool is_called)
{
	struct code_bounds bounds;
	int err;

	for (size_t i = 0; i < callees->count; i++)
		if (target >= callees->functions[i].start && target < callees->functions[i].end)
			return 0;
	err = find_known_bounds(objfile, target, &bounds);
	/* A call leads to the start of a function, or a relocation of the code is not in the file. */
	if (!err && is_called && bounds.start != target)
		err = -ENOENT;
	if (err == -ENOENT && target == callees->start_of_callee) {
		bounds = (struct code_bounds){target, target + 1};
		err = 0;
	}
	if (err)
		return err;
	if (callees->count == MAX_TAIL_CALLEES)
		return -ENOENT;
	callees->functions[callees->count++] = bounds;
	return 0;
}

/* Add the functions that this one may jump to. Returns as add_callee(). */
static int follow_jumps(struct objfile *objfile, struct callees *callees,
			const struct code_bounds *function)
{
	size_t size = function->end - function->start;
	struct instruction_flow instruction;
	_cleanup_free_ uint8_t *code = NULL;
	bool goes_on = true; /* after the last instruction */
	size_t last = 0;

	if (function->end - function->start > MAX_FOLLOWED_BYTES)
		return -ENOENT;
	code = malloc(size + 1);
	if (!code)
		return -ENOMEM;
	if (objfile_read_code(objfile, function->start, code, size))
		return -ENOENT;
	for (size_t offset = 0; offset < size; last = offset, offset += instruction.length) {
		uint64_t target;
		bool is_inside;
		int err;

		if (!architecture_decode(callees->architecture, code + offset, size - offset,
					 &instruction))
			return -ENOENT;
		if (instruction.kind == INSTRUCTION_RETURN &&
		    callees->architecture->replaces_return_address(code + last, offset - last))
			return -ENOENT;
		goes_on = instruction.kind == INSTRUCTION_PADDING
				  ? goes_on
				  : instruction.kind == INSTRUCTION_PLAIN ||
					    instruction.kind == INSTRUCTION_BRANCH;
		if (instruction.kind == INSTRUCTION_JUMP && !instruction.is_direct)
			return -ENOENT;
		if (!instruction.is_direct)
			continue;
		target = function->start + offset + instruction.length +
			 (uint64_t)(int64_t)instruction.distance;
		is_inside = target >= function->start && target < function->end;
		if (instruction.kind == INSTRUCTION_CALL) {
			/* A thunk calls into itself to have a return address to replace. */
			if (is_inside && target != function->start)
				return -ENOENT;
			continue;
		}
		err = is_inside ? 0 : add_callee(objfile, callees, target, false);
		if (err)
			return err;
	}
	return goes_on ? add_callee(objfile, callees, function->end, false) : 0;
}

/* Returns as add_callee(), and -ENOENT also when nothing can be proven. */
static int find_callees(struct objfile *objfile, uint64_t target, uint64_t callee,
			struct callees *callees, bool *ret_is_callee)
{
	int err = add_callee(objfile, callees, target, true);

	for (size_t i = 0; !err && i < callees->count; i++) {
		const struct code_bounds function = callees->functions[i];

		if (function.start == callees->start_of_callee ||
		    (callee >= function.start && callee < function.end)) {
			*ret_is_callee = true;
			return 0;
		}
		err = follow_jumps(objfile, callees, &function);
	}
	*ret_is_callee = false;
	return err;
}

/* objfile_prove_call(), worked out anew. */
static int prove(struct objfile *objfile, const struct architecture *architecture,
		 uint64_t return_address, uint64_t callee, enum call_proof *ret)
{
	struct callees callees = {.architecture = architecture, .start_of_callee = UINT64_MAX};
	uint64_t target;
	bool is_callee;
	int err = 0;

	*ret = CALL_UNPROVEN;
	if (!find_target(objfile, architecture, return_address, &target))
		return 0;
	if (callee != OBJFILE_ELSEWHERE)
		err = find_start(objfile, callee, &callees.start_of_callee);
	if (err && err != -ENOENT)
		return err;
	if (objfile_is_32_bit(objfile)) {
		*ret = target == callees.start_of_callee ? CALL_PROVEN : CALL_UNPROVEN;
		return 0;
	}
	err = find_callees(objfile, target, callee, &callees, &is_callee);
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	*ret = is_callee ? CALL_PROVEN : CALL_DISPROVEN;
	return 0;
}

int objfile_prove_call(struct objfile *objfile, uint64_t return_address, uint64_t callee,
		       enum call_proof *ret)
{
	struct proven_call call = {.return_address = return_address, .callee = callee};
	const struct architecture *architecture = objfile_get_call_architecture(objfile);
	struct proven_calls *calls = objfile_get_proven_calls(objfile);
	uint32_t number;
	int err;

	*ret = CALL_UNPROVEN;
	if (!architecture)
		return 0;
	number = proven_calls_find(calls, &call);
	if (number != HASH_INDEX_NONE) {
		*ret = calls->items[number].proof;
		return 0;
	}
	err = prove(objfile, architecture, return_address, callee, &call.proof);
	if (err)
		return err;
	*ret = call.proof;
	return proven_calls_add(calls, &call, &number);
}
