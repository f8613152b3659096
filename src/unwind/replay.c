/*
 * The walk itself is walk.h, the same code that runs in BPF. This file has its callbacks, which
 * read from a copy of the stack instead of the thread's memory. Code is read from its file, as it
 * is unchanged there; all other memory is unreadable.
 */
#include "unwind/replay.h"

#include <string.h>

#include "objfile/objfile.h"

#define WALK_INLINE static inline
#include "unwind/walk.h"

struct replay {
	struct walk walk; /* first, so that callbacks can cast it back */
	const struct replay_stack *stack;
	const struct replay_source *source;
	struct replay_code code; /* of walk.mapping */
	struct unwind_rule rule; /* found last */
};

static int read_memory(const struct replay_memory *memory, uint64_t address, uint64_t *ret)
{
	/* Below the first address the difference is larger than any stack. */
	uint64_t offset = address - memory->address;

	if (memory->size < sizeof(*ret) || offset > memory->size - sizeof(*ret))
		return -1;
	memcpy(ret, memory->bytes + offset, sizeof(*ret));
	return 0;
}

/* Code is not in the copy, but unchanged in its file. */
static int read_code(const struct replay *replay, uint64_t address, uint64_t *ret)
{
	const struct replay_source *source = replay->source;
	struct replay_code code = {0};

	if (!source->find_code(source->context, address, &code) || !code.layout)
		return -1;
	if (objfile_layout_read_code(code.layout, code.fd, address - code.mapping.bias, ret,
				     sizeof(*ret)))
		return -1;
	return source->has_changed && source->has_changed(source->context, &code) ? -1 : 0;
}

static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	const struct replay *replay = (struct replay *)walk;

	if (!read_memory(&replay->stack->stack, address, ret) ||
	    !read_memory(&replay->stack->far, address, ret))
		return 0;
	return read_code(replay, address, ret);
}

static inline int walk_find_mapping(struct walk *walk, wire_u64 pc)
{
	struct replay *replay = (struct replay *)walk;

	replay->code = (struct replay_code){0};
	if (!replay->source->find_code(replay->source->context, pc, &replay->code))
		return 0;
	walk->mapping = replay->code.mapping;
	return 1;
}

/* Nothing that it leads to is in the copy. */
static inline wire_u64 walk_get_thread_pointer(struct walk *walk _unused_)
{
	return 0;
}

static inline int walk_may_have_signal_stack(struct walk *walk, wire_u64 start, wire_u64 num_bytes)
{
	const struct replay_stack *stack = ((const struct replay *)walk)->stack;

	return !stack->has_signal_stack ||
	       (stack->signal_stack == start && stack->signal_stack_bytes == num_bytes);
}

static inline void walk_note_frame_pointer(struct walk *walk _unused_, wire_u64 fp _unused_)
{
}

static inline const struct unwind_rule *walk_find_rule(struct walk *walk, wire_u64 elf_address)
{
	struct replay *replay = (struct replay *)walk;

	return replay->source->find_rule(replay->source->context, &replay->code, elf_address,
					 &replay->rule)
		       ? &replay->rule
		       : NULL;
}

enum walk_end replay_walk(const struct replay_stack *stack, const struct replay_source *source,
			  uint64_t *pcs, uint32_t *ret_num_frames, uint64_t *ret_outermost_sp)
{
	struct replay replay = {.stack = stack, .source = source};

	walk_start(&replay.walk, &stack->registers);
	replay.walk.entry_bytes = stack->entry_bytes;
	replay.walk.cfa_offset = stack->cfa_offset;
	replay.walk.frame_setup = stack->frame_setup;
	while (!walk_step(&replay.walk, pcs))
		;
	*ret_num_frames = replay.walk.num_frames;
	*ret_outermost_sp = replay.walk.end == WALK_COMPLETE ? replay.walk.registers.sp : 0;
	return (enum walk_end)replay.walk.end;
}
