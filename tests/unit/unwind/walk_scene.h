/*
 * The walk over a stack and rules that the tests make: one mapping of functions of 256 bytes, one
 * rule for each.
 */
#ifndef WALK_SCENE_H
#define WALK_SCENE_H

#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"

#define WALK_INLINE static inline
#include "unwind/plain_step.h"

#define CODE          0x7f0000400000ull
#define BIAS          0x7f0000000000ull
#define JIT           0x7f0000800000ull /* a second mapping, where no rules are */
#define CODE_SIZE     0x1000
#define FUNCTION_SIZE 0x100
#define NUM_FUNCTIONS (CODE_SIZE / FUNCTION_SIZE)
#define STACK         0x7ffc00001000ull
#define NUM_WORDS     (WIRE_MAX_FRAMES + 8)
#define FAR           (STACK + (1u << 20)) /* a part of the stack, too */
#define UNREADABLE    0x10008ull

/* Functions: where the walk starts, who called it, and the outermost. */
enum { INNER, CALLER, OUTER = NUM_FUNCTIONS - 1 };

#define START_OF(function)    (CODE + (function)*FUNCTION_SIZE)
#define RETURN_INTO(function) (START_OF(function) + 0x20)
#define EXACT(pc)             ((pc) | WIRE_PC_EXACT)
#define ENTRY_STEP(pc)        ((pc) | WIRE_PC_ENTRY_STEP)
#define FP_STEP(pc)           ((pc) | WIRE_PC_FP_STEP)
#define WORD(n)               (STACK + 8ull * (n))
#define RULE(op, offset, ...) \
	((struct unwind_rule){.cfa_op = (op), .cfa_offset = (offset), __VA_ARGS__})
#define ASSERT_WALK(scene, end, ...)                             \
	assert_walk(scene, end, (const uint64_t[]){__VA_ARGS__}, \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

struct scene {
	struct walk walk; /* first: what the walk hands to its callbacks */
	struct unwind_mapping mappings[2];
	struct unwind_rule rules[NUM_FUNCTIONS];
	uint64_t stack[NUM_WORDS];
	uint64_t far[4];
	uint8_t code[CODE_SIZE];           /* readable, too */
	uint64_t pcs[WIRE_MAX_FRAMES + 1]; /* the last one is not the walk's */
	unsigned int num_searches;
	/* The thread has this alternate stack, instead of any that is asked for. */
	bool has_signal_stack;
	uint64_t signal_stack;
	uint64_t signal_stack_bytes;
	uint64_t thread_pointer;
};

static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t offset = address - STACK;

	if (address >= FAR && address - FAR <= sizeof(scene->far) - sizeof(*ret))
		memcpy(ret, (const char *)scene->far + (address - FAR), sizeof(*ret));
	else if (address >= STACK && offset <= sizeof(scene->stack) - sizeof(*ret))
		memcpy(ret, (const char *)scene->stack + offset, sizeof(*ret));
	else if (address >= CODE && address - CODE <= sizeof(scene->code) - sizeof(*ret))
		memcpy(ret, scene->code + (address - CODE), sizeof(*ret));
	else
		return -1;
	return 0;
}

static inline int walk_find_mapping(struct walk *walk, wire_u64 pc)
{
	struct scene *scene = (struct scene *)walk;

	scene->num_searches++;
	for (int i = 0; i < 2; i++) {
		if (pc < scene->mappings[i].start || pc >= scene->mappings[i].end)
			continue;
		walk->mapping = scene->mappings[i];
		return 1;
	}
	return 0;
}

static inline wire_u64 walk_get_thread_pointer(struct walk *walk)
{
	return ((const struct scene *)walk)->thread_pointer;
}

static inline int walk_may_have_signal_stack(struct walk *walk, wire_u64 start, wire_u64 num_bytes)
{
	const struct scene *scene = (const struct scene *)walk;

	return !scene->has_signal_stack ||
	       (scene->signal_stack == start && scene->signal_stack_bytes == num_bytes);
}

static inline void walk_note_frame_pointer(struct walk *walk _unused_, wire_u64 fp _unused_)
{
}

static inline const struct unwind_rule *walk_find_rule(struct walk *walk, wire_u64 elf_address)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t function = (elf_address - (CODE - BIAS)) / FUNCTION_SIZE;

	return function < NUM_FUNCTIONS ? &scene->rules[function] : NULL;
}

/* Every address has a rule here, in any mapping: the plain step itself must look at the mapping. */
static inline const struct unwind_rule *walk_find_known_rule(struct walk *walk,
							     wire_u64 elf_address)
{
	const struct scene *scene = (const struct scene *)walk;

	return &scene->rules[elf_address / FUNCTION_SIZE % NUM_FUNCTIONS];
}

static inline int walk_read_plain(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	return walk_read(walk, address, ret);
}

/* The thread is in INNER, whose rule is given; its sp is STACK, which holds what the others say. */
static _unused_ struct scene scene_of(struct unwind_rule inner)
{
	struct scene scene = {
		.walk = {.registers = {.pc = START_OF(INNER) + 4, .sp = STACK},
			 .is_exact = 1,
			 .is_innermost = 1},
		.mappings = {{.start = CODE,
			      .end = CODE + CODE_SIZE,
			      .bias = BIAS,
			      .flags = UNWIND_MAPPING_HAS_TABLE},
			     {.start = JIT,
			      .end = JIT + CODE_SIZE,
			      .flags = UNWIND_MAPPING_HAS_NO_CFI}},
		.rules = {[INNER] = inner, [OUTER] = {.cfa_op = UNWIND_CFA_STOP}},
	};

	scene.pcs[WIRE_MAX_FRAMES] = UINT64_MAX;
	return scene;
}

/* INNER pushed nothing: its return address into CALLER is at STACK, and CALLER has this rule. */
static _unused_ struct scene scene_of_two(struct unwind_rule inner, struct unwind_rule caller)
{
	struct scene scene = scene_of(inner);

	scene.rules[CALLER] = caller;
	scene.stack[0] = RETURN_INTO(CALLER);
	return scene;
}

/* In the second mapping, with this frame pointer. */
static _unused_ struct scene scene_in_jit(uint64_t fp)
{
	struct scene scene = scene_of((struct unwind_rule){0});

	scene.walk.registers.pc = JIT + 4;
	scene.walk.registers.fp = fp;
	return scene;
}

/* What is in front of a return address. */
static _unused_ void add_call_before(struct scene *scene, uint64_t return_address)
{
	scene->code[return_address - CODE - 5] = 0xe8;
}

/* Plain steps are taken in the mapping of the previous frame. The first frame has no previous one. */
static inline void find_first_mapping(struct scene *scene)
{
	walk_find_mapping(&scene->walk, scene->walk.registers.pc - !scene->walk.is_exact);
}

/* A step. A plain one does the same. */
static _unused_ int take_step(struct scene *scene)
{
	struct scene plain = *scene;
	bool is_plain;
	bool is_ended;

	find_first_mapping(&plain);
	is_plain = !walk_take_plain_steps(&plain.walk, plain.pcs, 1);

	if (!is_plain)
		assert_memory_equal(plain.pcs, scene->pcs, sizeof(plain.pcs));
	is_ended = walk_step(&scene->walk, scene->pcs);
	if (!is_plain)
		return is_ended;
	assert_false(is_ended);
	assert_memory_equal(&plain.walk, &scene->walk, sizeof(plain.walk));
	assert_memory_equal(plain.pcs, scene->pcs, sizeof(plain.pcs));
	return 0;
}

/* The walk from here, with plain steps in a loop. */
static _unused_ struct scene walk_in_loops(const struct scene *start)
{
	struct scene scene = *start;
	unsigned int num_steps = 1;

	find_first_mapping(&scene);
	while (!walk_take_plain_steps(&scene.walk, scene.pcs, 16) ||
	       !walk_step(&scene.walk, scene.pcs))
		assert_true(++num_steps <= WIRE_MAX_FRAMES + 1);
	return scene;
}

/* Takes the walk to its end. */
static _unused_ void assert_walk(struct scene *scene, enum walk_end end, const uint64_t *pcs,
				 size_t num_frames)
{
	const struct scene in_loops = walk_in_loops(scene);
	unsigned int num_steps = 1;

	while (!take_step(scene))
		assert_true(++num_steps <= WIRE_MAX_FRAMES + 1);
	assert_int_equal(scene->walk.end, end);
	assert_int_equal(scene->walk.num_frames, num_frames);
	assert_memory_equal(scene->pcs, pcs, num_frames * sizeof(*pcs));
	assert_true(scene->pcs[WIRE_MAX_FRAMES] == UINT64_MAX);
	assert_memory_equal(&in_loops.walk, &scene->walk, sizeof(scene->walk));
	assert_memory_equal(in_loops.pcs, scene->pcs, sizeof(scene->pcs));
}

/* The walk goes from INNER right to the outermost frame. */
static _unused_ void assert_reaches_outer(struct scene *scene)
{
	ASSERT_WALK(scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), RETURN_INTO(OUTER));
}

/* The walk gets by way of CALLER to the outermost frame, or to no more than CALLER. */
static _unused_ void assert_passes_caller(struct scene *scene)
{
	ASSERT_WALK(scene, WALK_COMPLETE, EXACT(START_OF(INNER) + 4), RETURN_INTO(CALLER),
		    RETURN_INTO(OUTER));
}

static _unused_ void assert_ends_in_caller(struct scene *scene, enum walk_end end)
{
	ASSERT_WALK(scene, end, EXACT(START_OF(INNER) + 4), RETURN_INTO(CALLER));
}

static _unused_ void assert_ends_in_inner(struct scene *scene, enum walk_end end)
{
	ASSERT_WALK(scene, end, EXACT(START_OF(INNER) + 4));
}

static _unused_ void assert_ends_in_jit(struct scene *scene, enum walk_end end)
{
	ASSERT_WALK(scene, end, EXACT(JIT + 4));
	assert_int_equal(scene->walk.num_fp_steps, 0);
}

/* INNER is the handler's return trampoline, and CALLER was interrupted. */
static _unused_ struct scene scene_of_signal(struct unwind_rule caller)
{
	struct scene scene = scene_of_two(RULE(UNWIND_CFA_SIGNAL, 0), caller);

	scene.stack[WALK_CONTEXT_FP / 8] = WORD(32);
	scene.stack[WALK_CONTEXT_BX / 8] = WORD(36);
	scene.stack[WALK_CONTEXT_SP / 8] = WORD(40);
	scene.stack[WALK_CONTEXT_PC / 8] = START_OF(CALLER);
	return scene;
}

/* CALLER finds its frame by a register after INNER did something to it. */
static _unused_ struct scene scene_of_register(uint8_t caller_op, struct unwind_rule inner)
{
	struct scene scene;

	inner.cfa_op = UNWIND_CFA_SP;
	inner.cfa_offset = 8;
	scene = scene_of_two(inner, RULE(caller_op, 16));
	scene.walk.registers.fp = WORD(20);
	scene.walk.registers.bx = WORD(24);
	return scene;
}

#endif
