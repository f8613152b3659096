/*
 * Raw stacks are kept by hash (known_stacks.h). Resolved stacks are kept by hash, process and version of the mappings,
 * which hardly changes unless libraries are loaded: most samples find theirs.
 *
 * A location is a file and an offset, or an address. Nothing is symbolized here.
 *
 * Limits: both tables grow with the number of different stacks, and nothing is evicted before the end. Two stacks with
 * the same hash of 64 bits would become one.
 */
#include "collect/stacks/stack_resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

/*
 * The profile's stack for a raw stack: for a user stack, under one version of the mappings of one
 * process; for a kernel stack, on top of one user stack.
 */
struct resolved_stack {
	uint32_t known;   /* its number; with HAS_RUNTIME, of the pair */
	uint32_t owner;   /* user: process id; kernel: 0 */
	uint32_t outer;   /* kernel: stack it is called from; user: none or a truncation */
	uint32_t version; /* user: of the mappings; kernel: KERNEL_STACK */
	uint32_t stack;   /* in the profile */
	struct stack_evidence evidence;
	bool has_unmapped; /* one of its pcs is in no mapping */
	/* User: its names are of this version of the code that the process generated. */
	uint64_t code_version;
};
_Static_assert(sizeof(struct resolved_stack) == 32, "there are many stacks");
#define KERNEL_STACK UINT32_MAX
#define HAS_RUNTIME  (1u << 31)

/* A native stack and the frames of an interpreter in it. */
struct runtime_pair {
	uint64_t frames;
	uint32_t known;
	bool is_whole;
};

INTERN_TABLE(resolved_stack_table, struct resolved_stack, known, owner, outer, version);
INTERN_TABLE(runtime_pair_table, struct runtime_pair, frames, known, is_whole);
struct stack_resolver {
	struct profile *profile;
	struct process_table *processes;
	bool checks_steps;
	struct call_check *call_check; /* NULL: no check */
	struct fp_step_check *fp_step_check;
	struct runtime_stacks *runtimes; /* NULL: native frames alone */
	struct known_stacks stacks;
	uint64_t pcs[WIRE_MAX_FRAMES]; /* of the stack that is being resolved, innermost first */
	struct runtime_level levels[RUNTIME_MAX_LEVELS]; /* likewise */
	struct resolved_stack_table resolved_stacks;
	struct runtime_pair_table runtime_pairs;
};

struct stack_resolver *stack_resolver_new(struct profile *profile, struct process_table *processes,
					  bool checks_steps)
{
	struct stack_resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->profile = profile;
	resolver->processes = processes;
	resolver->checks_steps = checks_steps;
	return resolver;
}

void stack_resolver_forget(struct stack_resolver *resolver)
{
	known_stacks_release(&resolver->stacks);
	resolved_stack_table_release(&resolver->resolved_stacks);
	runtime_pair_table_release(&resolver->runtime_pairs);
}

void stack_resolver_free(struct stack_resolver *resolver)
{
	if (!resolver)
		return;
	stack_resolver_forget(resolver);
	free(resolver);
}

void stack_resolver_set_fp_step_check(struct stack_resolver *resolver, struct fp_step_check *check)
{
	resolver->fp_step_check = check;
}

void stack_resolver_set_call_check(struct stack_resolver *resolver, struct call_check *check)
{
	resolver->call_check = check;
}

void stack_resolver_set_runtimes(struct stack_resolver *resolver, struct runtime_stacks *runtimes)
{
	resolver->runtimes = runtimes;
}

const struct known_stack *stack_resolver_find(const struct stack_resolver *resolver, uint64_t hash)
{
	return known_stacks_find(&resolver->stacks, hash);
}

const uint64_t *stack_resolver_read_pcs(struct stack_resolver *resolver,
					const struct known_stack *known)
{
	known_stacks_get_pcs(&resolver->stacks, known, resolver->pcs);
	return resolver->pcs;
}

int stack_resolver_add(struct stack_resolver *resolver, const struct wire_stack *record,
		       size_t size)
{
	size_t header = offsetof(struct wire_stack, pcs);

	if (size < header || record->num_frames > WIRE_MAX_FRAMES ||
	    record->num_frames > (size - header) / sizeof(record->pcs[0]))
		return 0;
	if (stack_resolver_find(resolver, record->hash))
		return 0;
	return known_stacks_add(&resolver->stacks, record->hash, record->pcs, record->num_frames);
}

/*
 * Check one frame of a user stack. Code interrupted by a signal follows no call, and neither does
 * the trampoline that the handler returns to, which is the frame before it.
 */
static int check_call(struct stack_resolver *resolver, const struct raw_stack *raw,
		      const struct process *process, uint32_t level)
{
	const uint64_t *pcs = resolver->pcs;
	uint64_t pc = pcs[level] & ~WIRE_PC_MARKS;
	const struct mapping *mapping;

	if (level == 0 || (pcs[level] & WIRE_PC_EXACT) ||
	    (level + 1 < raw->num_pcs && (pcs[level + 1] & WIRE_PC_EXACT)))
		return 0;
	mapping = process_find_mapping(process, pc - 1);
	if (!mapping || mapping->file == FILE_NONE)
		return 0;
	return call_check_add(resolver->call_check, mapping->file,
			      pc - mapping->start + mapping->file_offset);
}

/* Check a step between two frames by the call before the outer one. */
static int prove_step(struct stack_resolver *resolver, const struct process *process,
		      uint32_t callee, uint32_t caller, enum call_proof *ret)
{
	const uint64_t *pcs = resolver->pcs;
	bool is_exact = !callee || (pcs[callee] & WIRE_PC_EXACT);
	uint64_t callee_pc = (pcs[callee] & ~WIRE_PC_MARKS) - !is_exact;

	*ret = CALL_UNPROVEN;
	if (!resolver->fp_step_check)
		return 0;
	return fp_step_check_step(resolver->fp_step_check, process, callee_pc,
				  pcs[caller] & ~WIRE_PC_MARKS, ret);
}

/*
 * The innermost function's return address was taken from the top of the stack. If the function has
 * a frame, the return address is another word, and the frame pointer has led to its caller.
 */
static int check_entry_step(struct stack_resolver *resolver, const struct process *process,
			    struct raw_stack *raw, enum call_proof *ret)
{
	const uint64_t *pcs = resolver->pcs;
	enum call_proof by_fp = CALL_DISPROVEN;
	int err;

	*ret = CALL_PROVEN;
	if (raw->num_pcs < 2 || !(pcs[0] & WIRE_PC_ENTRY_STEP))
		return 0;
	err = prove_step(resolver, process, 0, 1, ret);
	if (err || *ret == CALL_PROVEN)
		return err;
	if (raw->num_pcs > 2 && (pcs[1] & WIRE_PC_FP_STEP)) {
		err = prove_step(resolver, process, 0, 2, &by_fp);
		if (err)
			return err;
	}
	if (by_fp == CALL_PROVEN || (*ret == CALL_DISPROVEN && by_fp == CALL_UNPROVEN)) {
		raw->left_out = 1;
		*ret = by_fp;
	} else if (*ret == CALL_DISPROVEN) {
		raw->num_pcs = 1;
	} else {
		*ret = CALL_PROVEN; /* as good as a rule */
	}
	return 0;
}

/*
 * Check the steps by frame pointer, which are marked. The first disproven one ends the stack: raw
 * is truncated there. In 32-bit code so does the first one that is not proven: most of it is
 * compiled without frame pointers. The evidence has the combined result.
 */
static int check_fp_steps(struct stack_resolver *resolver, const struct process *process,
			  struct raw_stack *raw, struct resolved_stack *resolved)
{
	const uint64_t *pcs = resolver->pcs;
	enum call_proof entry_proof;
	int err = check_entry_step(resolver, process, raw, &entry_proof);

	if (err)
		return err;
	resolved->evidence.proof = (uint8_t)entry_proof;
	for (uint32_t i = raw->left_out ? 2 : 0; i + 1 < raw->num_pcs; i++) {
		enum call_proof proof;

		if (!raw->is_32_bit && !(pcs[i] & WIRE_PC_FP_STEP))
			continue;
		err = prove_step(resolver, process, i, i + 1, &proof);
		if (err)
			return err;
		/* Nothing is called from an address without code. */
		if (!process_find_mapping(process, (pcs[i + 1] & ~WIRE_PC_MARKS) - 1)) {
			proof = CALL_DISPROVEN;
			resolved->has_unmapped = true;
		}
		if (proof != CALL_PROVEN)
			resolved->evidence.proof = (uint8_t)proof;
		if (proof == CALL_DISPROVEN || (raw->is_32_bit && proof != CALL_PROVEN))
			raw->num_pcs = i + 1;
	}
	return 0;
}

/* Code that replaced other code: it has a name of its own, not that of its address. */
static int locate_replaced(struct stack_resolver *resolver, const char *name, uint32_t *ret)
{
	struct frame frame = {.kind = FRAME_JIT};
	int err = profile_name_frame(resolver->profile, name, name, JIT_MODULE, &frame);

	return err ? err : profile_add_frame_location(resolver->profile, &frame, ret);
}

/* The location of a pc in memory that no ELF file backs. */
static int locate_generated(struct stack_resolver *resolver, const struct process *process,
			    uint64_t time_ns, uint64_t pc, uint32_t *ret)
{
	const char *name;
	const char *first;
	int err = process_table_follow_code(resolver->processes, time_ns, process->id);

	if (err)
		return err;
	name = process_find_code(process, pc, time_ns);
	first = name ? process_find_first_code(process, pc) : NULL;
	if (name && !(first && strcmp(name, first) == 0))
		return locate_replaced(resolver, name, ret);
	return profile_add_location(resolver->profile, LOCATION_PROCESS, process->id, pc, ret);
}

/* The location of a user pc by the process's present mappings. is_fp_step: of the step out of it. */
static int locate(struct stack_resolver *resolver, const struct process *process, uint64_t time_ns,
		  uint64_t pc, bool is_fp_step, struct resolved_stack *resolved, uint32_t *ret)
{
	const struct mapping *mapping = process_find_mapping(process, pc);
	bool is_generated = process_table_is_generated(resolver->processes, process, pc);

	resolved->has_unmapped |= !mapping;
	resolved->evidence.has_generated_code |= is_generated;
	resolved->evidence.goes_by_fp_through_it |= is_generated && is_fp_step;
	if (is_generated)
		return locate_generated(resolver, process, time_ns, pc, ret);
	return profile_add_location(resolver->profile, LOCATION_FILE, mapping->file,
				    pc - mapping->start + mapping->file_offset, ret);
}

/*
 * Add a frame of a raw stack on top of resolved->stack. For a return address, pc - 1 is in the
 * call.
 */
static int resolve_level(struct stack_resolver *resolver, const struct raw_stack *raw,
			 const struct process *process, uint64_t time_ns, uint32_t level,
			 struct resolved_stack *resolved)
{
	uint64_t pc = resolver->pcs[level];
	bool is_exact = level == 0 || (process && (pc & WIRE_PC_EXACT));
	bool is_fp_step = process && (pc & WIRE_PC_FP_STEP);
	uint32_t location;
	int err;

	if (level && level == raw->left_out)
		return 0;
	if (process)
		pc &= ~WIRE_PC_MARKS;
	pc -= !is_exact;
	if (process)
		err = locate(resolver, process, time_ns, pc, is_fp_step, resolved, &location);
	else
		err = profile_add_location(resolver->profile, LOCATION_KERNEL, 0, pc, &location);
	if (err)
		return err;
	if (process && resolver->call_check) {
		err = check_call(resolver, raw, process, level);
		if (err)
			return err;
	}
	return profile_add_stack(resolver->profile, resolved->stack, location, &resolved->stack);
}

/*
 * Add the frames of a raw stack, outermost first, on top of resolved->stack. process is NULL for
 * kernel stacks.
 */
static int resolve(struct stack_resolver *resolver, const struct raw_stack *raw,
		   const struct process *process, uint64_t time_ns, struct resolved_stack *resolved)
{
	for (uint32_t i = raw->num_pcs; i-- > raw->num_inner;) {
		int err = resolve_level(resolver, raw, process, time_ns, i, resolved);

		if (err)
			return err;
	}
	return 0;
}

/* The same with the frames of the interpreter in it. */
static int resolve_with_runtime(struct stack_resolver *resolver, const struct raw_stack *raw,
				const struct process *process, uint64_t time_ns,
				struct resolved_stack *resolved)
{
	const struct runtime_sample source = {.process = process,
					      .generation = raw->generation,
					      .frames = raw->runtime_frames,
					      .is_whole = raw->is_whole};
	struct runtime_verdict verdict;
	uint32_t num_levels;
	int err = runtime_stacks_splice(resolver->runtimes, &source, resolver->pcs, raw->num_pcs,
					resolver->levels, &num_levels, &verdict);

	if (err)
		return err;
	resolved->evidence.runtime_fit = (uint8_t)(verdict.fit & 7);
	resolved->evidence.may_lack_inlined = verdict.may_lack_inlined;
	if (verdict.proves_steps && resolved->evidence.proof == CALL_UNPROVEN)
		resolved->evidence.proof = CALL_PROVEN;
	for (uint32_t i = num_levels; i-- > 0;) {
		const struct runtime_level *level = &resolver->levels[i];

		if (level->pc == RUNTIME_LEVEL_SKIPPED) {
			resolved->stack = resolved->outer;
			resolved->evidence.proof = CALL_DISPROVEN;
			continue;
		}
		if (level->pc == RUNTIME_LEVEL_OUTERMOST) {
			resolved->evidence.is_coroutine = true;
			continue;
		}
		if (level->pc == RUNTIME_LEVEL_FRAME)
			err = profile_add_stack(resolver->profile, resolved->stack, level->location,
						&resolved->stack);
		else
			err = resolve_level(resolver, raw, process, time_ns, level->pc, resolved);
		if (err)
			return err;
	}
	return 0;
}

/* The identity of a stack among the resolved ones. */
static int find_number(struct stack_resolver *resolver, const struct raw_stack *raw, uint32_t *ret)
{
	struct runtime_pair pair = {.frames = raw->runtime_frames, .is_whole = raw->is_whole};
	int err;

	*ret = known_stacks_get_number(&resolver->stacks, raw->known);
	if (!raw->runtime_frames)
		return 0;
	pair.known = *ret;
	err = runtime_pair_table_intern(&resolver->runtime_pairs, &pair, ret);
	*ret |= HAS_RUNTIME;
	return err;
}

/*
 * resolve() with a cache by stack, version of the mappings and version of generated code, after
 * checking the steps by frame pointer. Stacks that are cut are rare, and not in the cache.
 */
int stack_resolver_resolve(struct stack_resolver *resolver, const struct raw_stack *raw,
			   const struct process *process, uint64_t time_ns, uint32_t *stack,
			   struct stack_evidence *ret_evidence)
{
	struct raw_stack truncated = *raw; /* truncated if a step is disproven */
	struct resolved_stack resolved = {
		.owner = process ? process->id : 0,
		.outer = *stack,
		.version = process ? process->mappings_version : KERNEL_STACK,
		.stack = *stack,
		.evidence.proof = CALL_PROVEN,
		.code_version = process ? process_get_code_version(process, time_ns) : 0,
	};
	struct resolved_stack *known;
	uint32_t item;
	int err = find_number(resolver, raw, &resolved.known);

	if (err)
		return err;
	item = raw->is_cut ? HASH_INDEX_NONE
			   : resolved_stack_table_find(&resolver->resolved_stacks, &resolved);
	known = item == HASH_INDEX_NONE ? NULL : &resolver->resolved_stacks.items[item];
	if (known &&
	    (!known->evidence.has_generated_code || known->code_version == resolved.code_version)) {
		*stack = known->stack;
		*ret_evidence = known->evidence;
		if (!known->has_unmapped)
			return 0;
		return process_table_look_for_moved(resolver->processes, time_ns, process->id);
	}
	stack_resolver_read_pcs(resolver, raw->known);
	if (process && resolver->checks_steps) {
		err = check_fp_steps(resolver, process, &truncated, &resolved);
		if (err)
			return err;
	}
	err = truncated.runtime_frames
		      ? resolve_with_runtime(resolver, &truncated, process, time_ns, &resolved)
		      : resolve(resolver, &truncated, process, time_ns, &resolved);
	if (err)
		return err;
	if (resolved.has_unmapped) {
		err = process_table_look_for_moved(resolver->processes, time_ns, process->id);
		if (err)
			return err;
	}
	*stack = resolved.stack;
	*ret_evidence = resolved.evidence;
	if (raw->is_cut)
		return 0;
	if (known) {
		*known = resolved;
		return 0;
	}
	return resolved_stack_table_add(&resolver->resolved_stacks, &resolved, &item);
}
