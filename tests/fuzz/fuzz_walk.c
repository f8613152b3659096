/*
 * The walk, by rules over a stack that are all somebody else's choice. The input is in order:
 * the registers, a byte's number of mappings (at most 4), of rows (at most 64) and of rules (at
 * most 32), and these; the rest are the words of the stack. What is missing is zero.
 *
 * An address is a byte, which says what kind it is, and its value: 16 bits in the code or on the
 * stack, 64 bits of anything, or nothing for zero.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "require.h"

#define WALK_INLINE static inline
#include "unwind/plain_step.h"

#define CODE         0x7f0000400000ull
#define STACK        0x7ffc00001000ull
#define MAX_MAPPINGS 4
#define MAX_ROWS     64
#define MAX_RULES    32
#define UNTOUCHED    0x5555555555555555ull

enum address_kind { IN_CODE, ON_STACK, ANY, ZERO, NUM_ADDRESS_KINDS };

struct scene {
	struct walk walk; /* first: what the walk hands to its callbacks */
	struct unwind_mapping mappings[MAX_MAPPINGS];
	struct unwind_row rows[MAX_ROWS]; /* in no order */
	struct unwind_rule rules[MAX_RULES];
	uint32_t num_mappings;
	uint32_t num_rows;
	uint32_t num_rules;
	uint64_t *stack; /* on the heap, so that no word more can be read */
	size_t num_words;
	wire_u8 last_op;     /* of the last rule: enum unwind_cfa_op */
	bool is_landing_pad; /* the last rule leads to one */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t take_address(struct bytes *input)
{
	switch ((enum address_kind)(bytes_u8(input) % NUM_ADDRESS_KINDS)) {
	case IN_CODE:
		return CODE + bytes_u16(input);
	case ON_STACK:
		return STACK + bytes_u16(input);
	case ANY:
		return bytes_u64(input);
	case ZERO:
	case NUM_ADDRESS_KINDS:
		break;
	}
	return 0;
}

static void take_registers(struct bytes *input, struct walk *walk)
{
#define TAKE_REGISTER(name, ...) walk->registers.name = take_address(input);
	WIRE_FOR_EACH_REGISTER(TAKE_REGISTER)
#undef TAKE_REGISTER
	walk->is_exact = 1;
	walk->is_innermost = 1;
}

static void take_rule(struct bytes *input, struct unwind_rule *rule)
{
	/* Not all of these are operations. */
	rule->cfa_op = bytes_u8(input) & 31;
	rule->fp_op = bytes_u8(input) & 7;
	rule->bx_op = bytes_u8(input) & 7;
	rule->ra_op = bytes_u8(input) & 3;
	rule->cfa_offset = (int)bytes_u32(input);
	rule->fp_offset = (short)bytes_u16(input);
	rule->bx_offset = (short)bytes_u16(input);
}

static void take_tables(struct bytes *input, struct scene *scene)
{
	scene->num_mappings = bytes_u8(input) % (MAX_MAPPINGS + 1);
	scene->num_rows = bytes_u8(input) % (MAX_ROWS + 1);
	scene->num_rules = bytes_u8(input) % MAX_RULES + 1;
	for (uint32_t i = 0; i < scene->num_mappings; i++) {
		scene->mappings[i].start = take_address(input);
		scene->mappings[i].end = take_address(input);
		scene->mappings[i].bias = take_address(input);
		scene->mappings[i].flags = bytes_u8(input);
	}
	for (uint32_t i = 0; i < scene->num_rows; i++) {
		scene->rows[i].pc_low = bytes_u16(input);
		scene->rows[i].rule = (uint16_t)(bytes_u8(input) % scene->num_rules);
	}
	for (uint32_t i = 0; i < scene->num_rules; i++)
		take_rule(input, &scene->rules[i]);
}

static void take_stack(struct bytes *input, struct scene *scene)
{
	size_t max_words = bytes_left(input);

	scene->stack = calloc(max_words ? max_words : 1, sizeof(*scene->stack));
	require(scene->stack != NULL);
	while (bytes_left(input))
		scene->stack[scene->num_words++] = take_address(input);
	scene->stack = realloc(scene->stack, scene->num_words * sizeof(*scene->stack) + 1);
	require(scene->stack != NULL);
}

static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	const struct scene *scene = (const struct scene *)walk;
	uint64_t num_bytes = scene->num_words * sizeof(*scene->stack);

	*ret = 0; /* as a failed read does in the kernel */
	if (address < STACK || num_bytes < sizeof(*ret) ||
	    address - STACK > num_bytes - sizeof(*ret))
		return -1;
	memcpy(ret, (const char *)scene->stack + (address - STACK), sizeof(*ret));
	return 0;
}

static inline int walk_find_mapping(struct walk *walk, wire_u64 pc)
{
	const struct scene *scene = (const struct scene *)walk;

	for (uint32_t i = 0; i < scene->num_mappings; i++) {
		if (pc < scene->mappings[i].start || pc >= scene->mappings[i].end)
			continue;
		walk->mapping = scene->mappings[i];
		return 1;
	}
	return 0;
}

static inline wire_u64 walk_get_thread_pointer(struct walk *walk _unused_)
{
	return STACK + 8;
}

static inline int walk_may_have_signal_stack(struct walk *walk _unused_, wire_u64 start _unused_,
					     wire_u64 num_bytes _unused_)
{
	return 1;
}

static inline void walk_note_frame_pointer(struct walk *walk _unused_, wire_u64 fp _unused_)
{
}

static inline const struct unwind_rule *walk_find_rule(struct walk *walk, wire_u64 elf_address)
{
	struct scene *scene = (struct scene *)walk;
	const struct unwind_row *best = NULL;
	const struct unwind_rule *rule;
	uint16_t key = elf_address & 0xffff;

	require(walk->mapping.flags & UNWIND_MAPPING_HAS_TABLE);
	for (uint32_t i = 0; i < scene->num_rows; i++)
		if (scene->rows[i].pc_low <= key && (!best || scene->rows[i].pc_low > best->pc_low))
			best = &scene->rows[i];
	if (!best)
		return NULL;
	rule = &scene->rules[best->rule];
	/* At the byte before such a frame only a return starts: an ordinary step. */
	scene->last_op = rule->cfa_op >= UNWIND_CFA_SIGNAL &&
					 rule->cfa_op != UNWIND_CFA_UNSUPPORTED &&
					 rule->cfa_op != UNWIND_CFA_SCHEDULED && rule->cfa_offset &&
					 walk->is_exact
				 ? UNWIND_CFA_SP
				 : rule->cfa_op;
	scene->is_landing_pad = rule->cfa_op == UNWIND_CFA_CX || rule->ra_op == UNWIND_RA_IN_CX;
	return rule;
}

static inline const struct unwind_rule *walk_find_known_rule(struct walk *walk,
							     wire_u64 elf_address)
{
	return walk_find_rule(walk, elf_address);
}

static inline int walk_read_plain(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	return walk_read(walk, address, ret);
}

/* Whether the step by this rule may lead to another stack. */
static bool is_jump(const struct scene *scene)
{
	return scene->last_op == UNWIND_CFA_SIGNAL || scene->last_op == UNWIND_CFA_CONTEXT ||
	       scene->last_op == UNWIND_CFA_JUMP;
}

/* Likewise, at any frame: the goroutine's stack lies anywhere. */
static bool is_goroutine(const struct scene *scene)
{
	return scene->last_op == UNWIND_CFA_GOROUTINE ||
	       scene->last_op == UNWIND_CFA_FP_ELSEWHERE ||
	       scene->last_op == UNWIND_CFA_COPY_ELSEWHERE ||
	       scene->last_op == UNWIND_CFA_SCHEDULED;
}

/* Each step adds one frame, and leads up the stack unless all registers were exchanged. */
static unsigned int walk_all(struct scene *scene, uint64_t *pcs)
{
	struct walk *walk = &scene->walk;
	unsigned int num_steps = 0;
	bool is_ended;

	do {
		struct walk before = *walk;
		struct scene plain = *scene;
		uint64_t plain_pc = UNTOUCHED;
		bool is_plain = !walk_take_plain_steps(&plain.walk, pcs, 1);

		if (walk->num_frames < WIRE_MAX_FRAMES)
			plain_pc = pcs[walk->num_frames];
		require(is_plain || plain_pc == UNTOUCHED);
		scene->last_op = UNWIND_CFA_NONE;
		is_ended = walk_step(walk, pcs);
		if (is_plain)
			require(!is_ended && pcs[before.num_frames] == plain_pc &&
				!memcmp(&plain.walk, walk, sizeof(*walk)));
		require(++num_steps <= WIRE_MAX_FRAMES + 1);
		if (is_ended && walk->end == WALK_TOO_DEEP) {
			require(walk->num_frames == before.num_frames);
			break;
		}
		require(walk->num_frames == before.num_frames + 1);
		require((pcs[before.num_frames] & ~WIRE_PC_MARKS) ==
			(before.registers.pc & ~WIRE_PC_MARKS));
		require(!before.is_exact || (pcs[before.num_frames] & WIRE_PC_EXACT));
		if (is_ended)
			break;
		require(walk->end == WALK_UNFINISHED);
		require(!walk->is_innermost);
		require(walk->is_exact == (scene->last_op == UNWIND_CFA_SIGNAL) ||
			scene->last_op == UNWIND_CFA_CONTEXT || scene->is_landing_pad);
		require(before.is_innermost || scene->last_op == UNWIND_CFA_SIGNAL ||
			!is_jump(scene));
		require(is_jump(scene) || is_goroutine(scene) ||
			walk->registers.sp > before.registers.sp ||
			(walk->registers.sp == before.registers.sp && before.is_innermost));
		require(walk->registers.pc >= WALK_PC_MIN && !(walk->registers.pc & WIRE_PC_MARKS));
		require(!(pcs[before.num_frames] & WIRE_PC_FP_STEP) ==
				(walk->num_fp_steps == before.num_fp_steps) ||
			(before.registers.pc & WIRE_PC_FP_STEP));
	} while (!is_ended);
	return num_steps;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	struct scene scene = {0};
	/* On the heap and no longer than the walk may write. */
	uint64_t *pcs = malloc(WIRE_MAX_FRAMES * sizeof(*pcs));

	require(pcs != NULL);
	for (uint32_t i = 0; i < WIRE_MAX_FRAMES; i++)
		pcs[i] = UNTOUCHED;
	take_registers(&input, &scene.walk);
	take_tables(&input, &scene);
	take_stack(&input, &scene);
	require(walk_all(&scene, pcs) > 0);
	require(scene.walk.num_frames > 0 && scene.walk.num_frames <= WIRE_MAX_FRAMES);
	/* Whoever includes the walk goes on from there. */
	require((scene.walk.end > WALK_UNFINISHED && scene.walk.end < NUM_WALK_ENDS) ||
		scene.walk.end == WALK_AT_HOTSPOT_CODE);
	require(scene.walk.end != WALK_TOO_DEEP || scene.walk.num_frames == WIRE_MAX_FRAMES);
	require(scene.walk.num_fp_steps < scene.walk.num_frames);
	for (uint32_t i = scene.walk.num_frames; i < WIRE_MAX_FRAMES; i++)
		require(pcs[i] == UNTOUCHED);
	free(scene.stack);
	free(pcs);
	return 0;
}
