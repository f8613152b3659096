#include "collect/stacks/user_walks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"

INTERN_TABLE(user_stack_table, struct user_stack_count, stack);

struct user_walks {
	struct profile *profile;
	struct process_table *processes;
	struct stack_resolver *resolver;
	enum user_stacks kind;
	uint32_t max_depth;
	struct runtime_stacks *runtimes; /* NULL: native frames alone are wanted */
	struct user_stack_table stacks;
};

struct user_walks *user_walks_new(struct profile *profile, struct process_table *processes,
				  struct stack_resolver *resolver, enum user_stacks kind,
				  uint32_t max_depth)
{
	struct user_walks *walks = calloc(1, sizeof(*walks));

	if (!walks)
		return NULL;
	walks->profile = profile;
	walks->processes = processes;
	walks->resolver = resolver;
	walks->kind = kind;
	walks->max_depth = max_depth;
	return walks;
}

void user_walks_free(struct user_walks *walks)
{
	if (!walks)
		return;
	user_stack_table_release(&walks->stacks);
	free(walks);
}

void user_walks_set_runtimes(struct user_walks *walks, struct runtime_stacks *runtimes)
{
	walks->runtimes = runtimes;
}

bool user_walks_are_taken(const struct user_walks *walks)
{
	return walks->kind != USER_STACKS_NONE;
}

const struct user_stack_count *user_walks_get_stacks(const struct user_walks *walks,
						     size_t *ret_count)
{
	*ret_count = walks->stacks.length;
	return walks->stacks.items;
}

static int count_stack(struct user_walks *walks, uint32_t stack, bool is_at_limit)
{
	struct user_stack_count *count;
	uint32_t item;
	int err = user_stack_table_intern(&walks->stacks,
					  &(struct user_stack_count){.stack = stack}, &item);

	if (err)
		return err;
	count = &walks->stacks.items[item];
	count->num_samples++;
	count->num_at_limit += is_at_limit;
	return 0;
}

/* How a walk ends that finds neither the old program's mappings nor its memory. */
static bool is_end_without_memory(const struct wire_sample *sample)
{
	switch ((enum walk_end)sample->walk_end) {
	case WALK_UNFINISHED:
	case WALK_NO_PROCESS:
	case WALK_NO_MAPPING:
	case WALK_READ_FAILED:
	case WALK_NON_INCREASING_CFA:
	case WALK_NO_RETURN_ADDRESS:
		return true;
	case WALK_COMPLETE:
	case WALK_NO_TABLE:
	case WALK_NO_RULE:
	case WALK_UNSUPPORTED:
	case WALK_TOO_DEEP:
	case WALK_FP_CHAIN:
	case WALK_SKIPPED_FRAME:
	case WALK_JIT_CODE:
	case WALK_32_BIT:
	case NUM_WALK_ENDS:
		break;
	}
	return false;
}

/*
 * Inside exec, the registers are those of the old program, but the memory may already be that of
 * the new one: then the kernel's work is all that there is. A walk of more than one frame has found
 * the old stack; a single pc proves nothing. A walk that lacked a table or a rule is truncated,
 * whichever program the memory belongs to.
 */
static bool is_stack_gone(const struct user_walks *walks, const struct user_walk *walk)
{
	if (walk->is_in_exec || !(walk->sample->flags & WIRE_SAMPLE_IN_EXEC))
		return walk->is_in_exec;
	if (walk->known && walk->known->num_pcs >= 2)
		return false;
	return walks->kind != USER_STACKS_TABLE || is_end_without_memory(walk->sample);
}

/*
 * Why a complete walk is not believed: a step by frame pointer certainly skipped a caller, or
 * possibly did in generated code that may not keep frame pointers.
 */
static enum walk_end find_disbelief(const struct user_walks *walks, const struct process *process,
				    const struct stack_evidence *evidence)
{
	if (evidence->proof == CALL_DISPROVEN)
		return WALK_SKIPPED_FRAME;
	if (evidence->goes_by_fp_through_it &&
	    !process_table_keeps_frame_pointers(walks->processes, process->id))
		return WALK_JIT_CODE;
	return WALK_COMPLETE;
}

/* evidence: with RUNTIME_NONE, the interpreter's frames are missing. */
static void count_runtime(struct user_walks *walks, const struct user_walk *walk,
			  const struct stack_evidence *evidence)
{
	const struct runtime_verdict verdict = {.fit = evidence->runtime_fit,
						.may_lack_inlined = evidence->may_lack_inlined};
	const struct known_stack *known = walk->known;
	bool reads_pcs;

	if (!walks->runtimes || !walk->counts_runtime)
		return;
	reads_pcs = known && runtime_stacks_counts_by_file(walks->runtimes, walk->process);
	runtime_stacks_count(walks->runtimes, walk->process, verdict,
			     reads_pcs ? stack_resolver_read_pcs(walks->resolver, known) : NULL,
			     reads_pcs ? known->num_pcs : 0);
}

static int resolve(struct user_walks *walks, const struct user_walk *walk,
		   const struct raw_stack *raw, uint32_t *stack, struct stack_evidence *evidence)
{
	return stack_resolver_resolve(walks->resolver, raw, walk->process, walk->sample->time_ns,
				      stack, evidence);
}

static struct raw_stack get_raw(const struct user_walks *walks, const struct user_walk *walk)
{
	struct raw_stack raw = raw_stack_of(walk->known);

	if (!walks->runtimes)
		return raw;
	raw.runtime_frames = walk->sample->runtime_stack;
	if (!raw.runtime_frames &&
	    runtime_stacks_get_runtime(walks->runtimes, walk->process).is_known)
		raw.runtime_frames = RUNTIME_NO_FRAMES;
	raw.generation = walk->sample->generation;
	return raw;
}

/*
 * Whether the walk may have used the rules of other code for a frame: that was mapped there in the
 * version that the walk used. If so, sets the level of the innermost such frame.
 */
static bool find_outdated_level(const struct user_walks *walks, const struct user_walk *walk,
				uint32_t *ret)
{
	uint32_t version = walk->sample->mappings_version;
	const uint64_t *pcs;

	if (!version || version >= walk->process->mappings_version)
		return false;
	pcs = stack_resolver_read_pcs(walks->resolver, walk->known);
	for (uint32_t i = 0; i < walk->known->num_pcs; i++) {
		bool is_exact = pcs[i] & WIRE_PC_EXACT;
		const struct mapping *mapping =
			process_find_mapping(walk->process, (pcs[i] & ~WIRE_PC_MARKS) - !is_exact);

		*ret = i;
		if (mapping && mapping->since > version)
			return true;
	}
	return false;
}

/* From a step by the rules of other code on, the callers are wrong. */
static void cut_outdated(const struct user_walks *walks, const struct user_walk *walk,
			 struct raw_stack *raw)
{
	uint32_t level;

	if (!find_outdated_level(walks, walk, &level))
		return;
	raw->num_pcs = level + 1;
	raw->is_cut = true;
	walk->sample->walk_end = WALK_NO_PROCESS;
}

/* A walk that ended early: it is complete all the same if the stack starts in a coroutine. */
static int resolve_early(struct user_walks *walks, const struct user_walk *walk,
			 const struct raw_stack *raw, uint32_t *whole,
			 struct stack_evidence *evidence)
{
	uint32_t base = *whole;
	int err;

	if (!raw->runtime_frames || raw->runtime_frames == RUNTIME_NO_FRAMES)
		return 0;
	err = resolve(walks, walk, raw, whole, evidence);
	if (err)
		return err;
	if (evidence->is_coroutine)
		walk->sample->walk_end = find_disbelief(walks, walk->process, evidence);
	else
		*whole = base;
	return 0;
}

/* A complete walk, whose result may not be believed. */
static int resolve_complete(struct user_walks *walks, const struct user_walk *walk,
			    struct raw_stack *raw, uint32_t *whole, struct stack_evidence *evidence)
{
	int err;

	raw->is_whole = true;
	err = resolve(walks, walk, raw, whole, evidence);
	if (err)
		return err;
	walk->sample->walk_end = find_disbelief(walks, walk->process, evidence);
	raw->is_whole = walk->sample->walk_end == WALK_COMPLETE;
	if (raw->is_whole && evidence->runtime_fit == RUNTIME_FITS &&
	    runtime_stacks_is_deep(walks->runtimes, raw->runtime_frames))
		walk->sample->walk_end = WALK_TOO_DEEP;
	return 0;
}

/* The truncation is the outermost frame. Alone, it would be a function that ran. */
static int add_truncated(struct user_walks *walks, const struct user_walk *walk,
			 struct raw_stack *raw, uint32_t *stack, struct stack_evidence *evidence)
{
	int err = 0;

	if (walk->known || walk->has_frame_above)
		err = profile_add_truncated_frame(walks->profile, *stack, stack);
	if (err || !walk->known)
		return err;
	raw->is_32_bit = walk->sample->walk_end == WALK_32_BIT;
	return resolve(walks, walk, raw, stack, evidence);
}

/* The user stack of a walk by table. */
static int add_walked_stack(struct user_walks *walks, const struct user_walk *walk, uint32_t *stack,
			    bool *ret_is_truncated)
{
	struct stack_evidence evidence = {.proof = CALL_PROVEN};
	struct wire_sample *sample = walk->sample;
	struct raw_stack raw = {0};
	uint32_t whole = *stack;
	int err = 0;

	if (walk->known) {
		raw = get_raw(walks, walk);
		cut_outdated(walks, walk, &raw);
		err = sample->walk_end == WALK_COMPLETE
			      ? resolve_complete(walks, walk, &raw, &whole, &evidence)
			      : resolve_early(walks, walk, &raw, &whole, &evidence);
	}
	if (err)
		return err;
	walk->counts->walks[sample->walk_end < NUM_WALK_ENDS ? sample->walk_end : 0]++;
	*ret_is_truncated = sample->walk_end != WALK_COMPLETE;
	if (*ret_is_truncated) {
		err = add_truncated(walks, walk, &raw, stack, &evidence);
	} else {
		walk->counts->unproven += evidence.proof == CALL_UNPROVEN;
		*stack = whole;
	}
	if (!err)
		count_runtime(walks, walk, &evidence);
	return err;
}

int user_walks_add(struct user_walks *walks, const struct user_walk *walk, uint32_t *stack,
		   bool *ret_is_truncated)
{
	const struct known_stack *known = walk->known;
	struct stack_evidence evidence;

	*ret_is_truncated = false;
	if (is_stack_gone(walks, walk)) {
		walk->counts->in_exec++;
		return 0;
	}
	if (walks->kind == USER_STACKS_TABLE)
		return add_walked_stack(walks, walk, stack, ret_is_truncated);
	if (known) {
		const struct raw_stack raw = raw_stack_of(known);
		int err = resolve(walks, walk, &raw, stack, &evidence);

		if (err)
			return err;
	}
	if (!walk->is_tick)
		return 0;
	if (!known)
		return count_stack(walks, STACK_EMPTY, false);
	return count_stack(walks, *stack, known->num_pcs >= walks->max_depth);
}
