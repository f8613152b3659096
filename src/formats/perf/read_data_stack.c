/*
 * A sample of perf.data as a stack of the profile.
 *
 * The kernel walked its own stack, and the user stack by frame pointers. The result is the chain,
 * addresses with marks between them for the kind of the code that follows. With `--call-graph
 * dwarf` the chain ends where user code starts. Beside it are the user's registers and a copy of
 * the top of the user stack, which import->walk() turns into addresses. Frames are collected
 * innermost first, each with the kind of its code, and then become locations from the outermost in.
 *
 * Addresses are return addresses, but for the innermost of each kind, which is the pc or the entry
 * into the kernel; a return address is made 1 less, so that it is inside the call.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/perf/data.h"

/* Levels of a walk; the recorder keeps as many. */
#define MAX_WALKED 512

/* Marks in a chain of addresses: the code that follows is of another kind. Source: perf_event.h. */
#define CONTEXT_HYPERVISOR    ((uint64_t)-32)
#define CONTEXT_KERNEL        ((uint64_t)-128)
#define CONTEXT_USER          ((uint64_t)-512)
#define CONTEXT_USER_DEFERRED ((uint64_t)-640) /* the user part is in a record of its own */
#define CONTEXT_GUEST         ((uint64_t)-2048)
#define CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define CONTEXT_GUEST_USER    ((uint64_t)-2560)
#define CONTEXT_MIN           ((uint64_t)-4095)

void perf_stacks_release(struct perf_stacks *stacks)
{
	array_release(&stacks->levels);
	free(stacks->pcs);
}

static enum perf_level_kind get_kind(unsigned int cpu_mode)
{
	switch (cpu_mode) {
	case PERF_CPU_KERNEL:
		return PERF_LEVEL_KERNEL;
	case PERF_CPU_HYPERVISOR:
		return PERF_LEVEL_HYPERVISOR;
	case PERF_CPU_GUEST_KERNEL:
		return PERF_LEVEL_GUEST_KERNEL;
	case PERF_CPU_GUEST_USER:
		return PERF_LEVEL_GUEST;
	default:
		return PERF_LEVEL_USER;
	}
}

static enum perf_level_kind get_context(uint64_t mark, enum perf_level_kind before)
{
	switch (mark) {
	case CONTEXT_HYPERVISOR:
		return PERF_LEVEL_HYPERVISOR;
	case CONTEXT_KERNEL:
		return PERF_LEVEL_KERNEL;
	case CONTEXT_USER:
		return PERF_LEVEL_USER;
	case CONTEXT_GUEST_KERNEL:
		return PERF_LEVEL_GUEST_KERNEL;
	case CONTEXT_GUEST:
	case CONTEXT_GUEST_USER:
		return PERF_LEVEL_GUEST;
	default:
		return before;
	}
}

/* Add the next outer frame. The first of its kind is a pc, not a return address. */
static int add_level(struct perf_stacks *stacks, enum perf_level_kind kind, uint64_t pc,
		     bool is_exact)
{
	struct perf_level *level = array_add(&stacks->levels);

	if (!level)
		return -ENOMEM;
	*level = (struct perf_level){.pc = is_exact || !pc ? pc : pc - 1, .kind = kind};
	return 0;
}

static int add_chain(struct perf_stacks *stacks, struct bytes chain, enum perf_level_kind kind)
{
	bool is_exact = true;

	while (bytes_left(&chain)) {
		uint64_t pc = bytes_u64(&chain);

		if (pc < CONTEXT_MIN) {
			int err = add_level(stacks, kind, pc, is_exact);

			if (err)
				return err;
			is_exact = false;
			continue;
		}
		kind = get_context(pc, kind);
		is_exact = true;
		if (pc == CONTEXT_USER_DEFERRED) {
			stacks->is_truncated = true;
			return 0;
		}
	}
	return 0;
}

static int walk(struct perf_stacks *stacks, const struct perf_image *image,
		struct import_stack *stack)
{
	struct import *import = stacks->import;
	size_t count = 1;
	int is_complete = 0;

	if (!stacks->pcs)
		stacks->pcs = calloc(MAX_WALKED, sizeof(*stacks->pcs));
	if (!stacks->pcs)
		return -ENOMEM;
	stack->mappings = image->mappings.items;
	stack->num_mappings = image->mappings.length;
	stacks->pcs[0] = stack->registers.pc | IMPORT_PC_EXACT;
	if (import->walk)
		is_complete = import->walk(import->context, stack, stacks->pcs, MAX_WALKED, &count);
	if (is_complete < 0)
		return is_complete;
	stacks->is_truncated |= !is_complete;
	stacks->num_complete += is_complete;
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = stacks->pcs[i];
		int err = add_level(stacks, PERF_LEVEL_USER, pc & ~IMPORT_PC_EXACT,
				    pc & IMPORT_PC_EXACT);

		if (err)
			return err;
	}
	return 0;
}

/*
 * Code of other machines, a guest or the hypervisor, has no names here. It is one level, whatever
 * its depth.
 */
static int add_foreign_location(struct profile *profile, enum perf_level_kind kind, uint32_t *ret)
{
	const char *name = kind == PERF_LEVEL_HYPERVISOR     ? "[hypervisor]"
			   : kind == PERF_LEVEL_GUEST_KERNEL ? "[guest.kernel]"
							     : "[guest]";
	struct frame frame = {.kind = kind == PERF_LEVEL_GUEST ? FRAME_USER : FRAME_KERNEL};
	int err = profile_add_string(profile, name, &frame.name);

	if (err)
		return err;
	frame.full_name = frame.module = frame.name;
	return profile_add_frame_location(profile, &frame, ret);
}

static int add_location(struct perf_stacks *stacks, const struct perf_image *image,
			const struct perf_level *level, uint32_t *ret)
{
	struct profile *profile = stacks->import->profile;
	const struct import_mapping *mapping;

	if (level->kind == PERF_LEVEL_KERNEL)
		return profile_add_location(profile, LOCATION_KERNEL, stacks->import->source,
					    level->pc, ret);
	if (level->kind != PERF_LEVEL_USER)
		return add_foreign_location(profile, level->kind, ret);
	mapping = perf_image_find_mapping(image, level->pc);
	if (!mapping || mapping->module == IMPORT_NO_MODULE)
		return profile_add_location(profile, LOCATION_PROCESS, image->process, level->pc,
					    ret);
	return profile_add_location(profile, LOCATION_FILE, mapping->module,
				    level->pc - mapping->start + mapping->file_offset, ret);
}

int perf_stacks_add(struct perf_stacks *stacks, const struct perf_image *image,
		    const struct perf_sample *sample, unsigned int cpu_mode, uint32_t *ret)
{
	enum perf_level_kind kind = get_kind(cpu_mode);
	struct import_stack copied = sample->stack;
	uint32_t stack = STACK_EMPTY;
	int err = 0;

	stacks->levels.length = 0;
	stacks->is_truncated = false;
	if (sample->has_chain)
		err = add_chain(stacks, sample->chain, kind);
	else if (sample->ip && (kind != PERF_LEVEL_USER || !sample->has_stack))
		err = add_level(stacks, kind, sample->ip, true);
	if (err)
		return err;
	if (sample->has_stack) {
		err = walk(stacks, image, &copied);
		if (err)
			return err;
	}
	stacks->import->counts.truncated_stacks += stacks->is_truncated;
	if (stacks->is_truncated && stacks->levels.length) {
		err = profile_add_truncated_frame(stacks->import->profile, stack, &stack);
		if (err)
			return err;
	}
	for (size_t i = stacks->levels.length; i-- > 0;) {
		const struct perf_level *level = &stacks->levels.items[i];
		uint32_t location;

		if (level->kind > PERF_LEVEL_KERNEL && i && level[-1].kind == level->kind)
			continue;
		err = add_location(stacks, image, level, &location);
		if (err)
			return err;
		err = profile_add_stack(stacks->import->profile, stack, location, &stack);
		if (err)
			return err;
	}
	*ret = stack;
	return 0;
}
