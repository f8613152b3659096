/*
 * The code is followed from each start with a worklist of positions. For each instruction reached,
 * the state there and the start it was reached from are recorded:
 *
 *	start ──push──sub──call────test──je──────────add──pop──ret     (its state is that of an entry:
 *	                    │              └─mov──jmp──┘                 the start is confirmed)
 *	                    └ the callee is a separate start
 *
 * - Two states at one instruction: the start is wrong (or, if it was only guessed, the later one).
 * - A return or a jump out of the code in any other state than at the entry: the start is wrong.
 * - Execution from one start reaches the code of another in the same state: both starts are right
 *   or both are wrong.
 * - Execution continues after a call, unless the callee does not return. This is unknown, so these
 *   positions are followed last, and a conflict with other code proves nothing.
 * - The targets of a jump through a table follow the jump, in its state: they are tried as separate
 *   starts. All leftover code after a function is tried with the state of an entry. Jumps through
 *   registers also go to addresses that the same function takes, which chain the parts of large
 *   functions.
 */
#include "unwind/x86_64/code_rules.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objfile/x86_64/instruction.h"

#define ALIGNMENT 16
/* Between a copy of rsp and its alignment: bytes of pushes and the like. */
#define MAX_UP_TO_ALIGNMENT 64
/* A start is followed again when a call in it turns out not to return. */
#define MAX_RETRIES              64
#define MAX_RETRIED_INSTRUCTIONS (1u << 20)
/*
 * Followed and found wrong, in instructions per byte of code: guesses that overlap would take time
 * that is quadratic in its size. When they are used up guesses are not tried.
 */
#define MAX_FORGOTTEN_PER_BYTE 4
#define MIN_MAX_FORGOTTEN      (1u << 16)
/* Functions that do not return are found one after the other: _Exit, exit, abort, … */
#define MAX_PASSES 6
/* Rounds over starts that lead into each other; the longest known chains have 5. */
#define MAX_ROUNDS 64
/* In `owners`: not the first byte of an instruction that was reached. */
#define OWNER_NONE   0
#define OWNER_INSIDE UINT32_MAX

/* Code that was followed from one start. */
struct code_rules_owner {
	size_t offset;
	struct stack_state jump_state; /* of its jumps through tables */
	size_t behind_jump;            /* offset after the last one */
	size_t behind_exit_jump;       /* likewise of a jump that may leave the function as well */
	size_t first_taken;            /* of its own in `taken` */
	size_t end_taken;
	bool has_jump;  /* through a table; all in one state */
	bool has_jumps; /* in different ones */
	bool has_exit_jump;
	bool is_known;
	bool is_address_taken; /* by code that was followed */
	bool is_lost;          /* the CFA is unknown in some places */
	bool leads_on;         /* into code of other starts */
	bool is_wrong;
	bool is_confirmed;
};

/* A start that is only guessed. */
struct code_guess {
	size_t offset;
	bool is_address_taken;
};

/* An address in the code that code of a start takes. */
struct code_taken {
	uint32_t owner;
	size_t target;
	struct stack_state state;
};

/* Code of one start leads into the code of another one, in the same state. */
struct code_edge {
	uint32_t from;
	uint32_t to;
};

/* The next position to follow. */
struct code_position {
	size_t offset;
	struct stack_state state;
	bool is_behind_call;
};

enum code_flag {
	CODE_STARTS = 1 << 0,         /* a function is known to start there */
	CODE_IS_BEHIND_CALL = 1 << 1, /* reached because the call before it may return */
	CODE_IS_NO_RETURN = 1 << 2,   /* the call before it does not */
	CODE_IS_ENDLESS = 1 << 3,     /* a function that does not return starts there */
	CODE_IS_GUESSED = 1 << 4,     /* in `guessed`: a guess that calls itself is added once */
	CODE_IS_TAKEN = 1 << 5,       /* the same, with its address taken */
};

struct code_rules {
	const uint8_t *code;
	size_t size;
	size_t capacity; /* bytes that there is room for */
	uint64_t address;
	struct stack_state *states; /* by offset; of instructions that have an owner */
	uint32_t *owners;           /* index in `starts` + 1 */
	uint8_t *flags;             /* by offset: enum code_flag */
	ARRAY(struct code_rules_owner) starts;
	ARRAY(struct code_edge) edges;
	ARRAY(struct code_taken) taken;
	ARRAY(struct code_position) worklist;
	ARRAY(struct code_position) deferred; /* after calls */
	ARRAY(size_t) known;                  /* starts that are still to be followed */
	ARRAY(struct code_guess) guessed;     /* guessed starts; the caller's are first */
	size_t num_given;                     /* number of the caller's guesses */
	ARRAY(struct code_exit) exits;
	ARRAY(size_t) reached;    /* instructions, from the last starts */
	size_t num_forgotten;     /* instructions, in this pass */
	unsigned int num_retries; /* of the last start */
	bool is_to_follow;        /* there are new starts */
	bool was_followed;
	bool must_retry;
	bool has_new_guess; /* a guess that is not forgotten */
};

static size_t limit_size(size_t size)
{
	return size > CODE_RULES_MAX_BYTES ? CODE_RULES_MAX_BYTES : size;
}

struct code_rules *code_rules_new(const uint8_t *code, size_t size, uint64_t address)
{
	struct code_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return NULL;
	size = limit_size(size);
	rules->code = code;
	rules->size = rules->capacity = size;
	rules->address = address;
	rules->states = calloc(size + 1, sizeof(*rules->states));
	rules->owners = calloc(size + 1, sizeof(*rules->owners));
	rules->flags = calloc(size + 1, sizeof(*rules->flags));
	if (rules->states && rules->owners && rules->flags)
		return rules;
	code_rules_free(rules);
	return NULL;
}

void code_rules_move(struct code_rules *rules, const uint8_t *code, size_t size, uint64_t address)
{
	size = limit_size(size);
	assert(size <= rules->capacity);
	memset(rules->owners, 0, rules->size * sizeof(*rules->owners));
	memset(rules->flags, 0, rules->size * sizeof(*rules->flags));
	rules->code = code;
	rules->size = size;
	rules->address = address;
	rules->starts.length = rules->edges.length = rules->taken.length = rules->exits.length = 0;
	rules->known.length = rules->guessed.length = rules->num_given = 0;
	rules->reached.length = 0;
	rules->num_forgotten = 0;
	rules->is_to_follow = rules->was_followed = false;
}

void code_rules_free(struct code_rules *rules)
{
	if (!rules)
		return;
	free(rules->states);
	free(rules->owners);
	free(rules->flags);
	array_release(&rules->starts);
	array_release(&rules->edges);
	array_release(&rules->taken);
	array_release(&rules->worklist);
	array_release(&rules->deferred);
	array_release(&rules->known);
	array_release(&rules->guessed);
	array_release(&rules->exits);
	array_release(&rules->reached);
	free(rules);
}

static bool is_start(const struct code_rules *rules, size_t offset)
{
	return rules->flags[offset] & CODE_STARTS;
}

static struct code_rules_owner *get_owner(struct code_rules *rules, uint32_t owner)
{
	return &rules->starts.items[owner - 1];
}

static int add_to_worklist(struct code_rules *rules, const struct code_position *position)
{
	struct code_position *added = position->is_behind_call ? array_add(&rules->deferred)
							       : array_add(&rules->worklist);

	if (!added)
		return -ENOMEM;
	*added = *position;
	return 0;
}

static int add_known(struct code_rules *rules, size_t offset)
{
	size_t *added;

	if (offset >= rules->size || is_start(rules, offset))
		return 0;
	added = array_add(&rules->known);
	if (!added)
		return -ENOMEM;
	*added = offset;
	rules->flags[offset] |= CODE_STARTS;
	return 0;
}

static int add_guessed(struct code_rules *rules, size_t offset, bool is_address_taken)
{
	uint8_t flag = is_address_taken ? CODE_IS_TAKEN : CODE_IS_GUESSED;
	struct code_guess *added;

	if (offset >= rules->size || rules->flags[offset] & (flag | CODE_IS_TAKEN))
		return 0;
	added = array_add(&rules->guessed);
	if (!added)
		return -ENOMEM;
	*added = (struct code_guess){offset, is_address_taken};
	rules->flags[offset] |= flag;
	return 0;
}

/* Record the start of a function outside of this code. */
static int add_exit(struct code_rules *rules, size_t target, bool is_known, bool is_address_taken)
{
	struct code_exit *added = array_add(&rules->exits);

	if (!added)
		return -ENOMEM;
	*added = (struct code_exit){
		.address = rules->address + target,
		.kind = is_known           ? CODE_START_KNOWN
			: is_address_taken ? CODE_START_ADDRESS_TAKEN
					   : CODE_START_GUESSED,
	};
	return 0;
}

/* Execution reaches an instruction that was reached before. */
static int meet(struct code_rules *rules, uint32_t owner, const struct code_position *position)
{
	uint32_t other = rules->owners[position->offset];
	struct code_edge *edge;

	if (other == OWNER_INSIDE) {
		if (!position->is_behind_call)
			get_owner(rules, owner)->is_wrong = true;
		return 0;
	}
	if (!stack_state_is_same(&rules->states[position->offset], &position->state)) {
		if (position->is_behind_call)
			return 0;
		/* Reached by a jump: so the call before it is likely not to return. */
		if (other == owner && rules->flags[position->offset] & CODE_IS_BEHIND_CALL &&
		    rules->num_retries < MAX_RETRIES &&
		    rules->num_retries * rules->reached.length < MAX_RETRIED_INSTRUCTIONS) {
			rules->flags[position->offset] |= CODE_IS_NO_RETURN;
			rules->must_retry = true;
			return 0;
		}
		get_owner(rules, owner)->is_wrong = true;
		if (get_owner(rules, owner)->is_known)
			get_owner(rules, other)->is_wrong = true;
		return 0;
	}
	if (other == owner || position->is_behind_call)
		return 0;
	edge = array_add(&rules->edges);
	if (!edge)
		return -ENOMEM;
	*edge = (struct code_edge){owner, other};
	get_owner(rules, owner)->leads_on = true;
	return 0;
}

/* The function is left. */
static void leave_function(struct code_rules *rules, uint32_t owner,
			   const struct stack_state *state)
{
	if (stack_state_is_at_exit(state))
		get_owner(rules, owner)->is_confirmed = true;
	else
		get_owner(rules, owner)->is_wrong = true;
}

/* A jump through a register or memory: to another function, or through a table of this one. */
static void jump_anywhere(struct code_rules *rules, uint32_t owner, const struct stack_state *state,
			  size_t behind)
{
	struct code_rules_owner *start = get_owner(rules, owner);

	/* In a guess it may also be a jump through a table, in a function with a frame. */
	if (stack_state_is_at_exit(state)) {
		start->is_confirmed |= start->is_known;
		start->has_exit_jump = true;
		start->behind_exit_jump = behind;
		return;
	}
	start->behind_jump = behind;
	if (start->has_jump && !stack_state_is_same(&start->jump_state, state))
		start->has_jumps = true;
	start->has_jump = true;
	start->jump_state = *state;
}

/* A jump through a pointer at a place of its own, as in a PLT: no table of a function. */
static bool is_through_slot(const struct instruction *instruction)
{
	return instruction->opcode == 0xff && (instruction->modrm & 0xc7) == 0x05;
}

/* lea of an address in the file: of a function, it may be. */
static bool takes_address(const struct instruction *instruction)
{
	return instruction->map == INSTRUCTION_MAP_ONE_BYTE && !instruction->is_vex &&
	       instruction->opcode == 0x8d && (instruction->modrm & 0xc7) == 0x05;
}

static int note_address(struct code_rules *rules, uint32_t owner, size_t target,
			const struct stack_state *state)
{
	struct code_taken *added;

	if (target >= rules->size)
		return add_exit(rules, target, false, true);
	added = array_add(&rules->taken);
	if (!added)
		return -ENOMEM;
	*added = (struct code_taken){owner, target, *state};
	return add_guessed(rules, target, true);
}

/* A jump or branch to an offset that may be outside. */
static int jump(struct code_rules *rules, uint32_t owner, size_t target,
		const struct stack_state *state)
{
	if (target < rules->size)
		return add_to_worklist(rules, &(struct code_position){target, *state, false});
	leave_function(rules, owner, state);
	/* A tail call. */
	return stack_state_is_at_exit(state)
		       ? add_exit(rules, target, get_owner(rules, owner)->is_known, false)
		       : 0;
}

/* Callees of known code are known, too. */
static int note_call(struct code_rules *rules, uint32_t owner, size_t target)
{
	if (target >= rules->size)
		return add_exit(rules, target, get_owner(rules, owner)->is_known, false);
	return get_owner(rules, owner)->is_known ? add_known(rules, target)
						 : add_guessed(rules, target, false);
}

/* Mark the instruction as reached, unless it overlaps one that was reached before. */
static int reach(struct code_rules *rules, uint32_t owner, const struct code_position *position,
		 size_t end, bool *ret_is_free)
{
	size_t *reached;

	*ret_is_free = false;
	for (size_t i = position->offset; i < end; i++)
		if (rules->owners[i])
			return 0;
	reached = array_add(&rules->reached);
	if (!reached)
		return -ENOMEM;
	*reached = position->offset;
	rules->owners[position->offset] = owner;
	rules->states[position->offset] = position->state;
	if (position->is_behind_call)
		rules->flags[position->offset] |= CODE_IS_BEHIND_CALL;
	for (size_t i = position->offset + 1; i < end; i++)
		rules->owners[i] = OWNER_INSIDE;
	*ret_is_free = true;
	return 0;
}

/* and $…,%rsp */
static bool has_alignment(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i + 3 <= size; i++)
		if (code[i + 2] == 0xe4 && code[i] == 0x48 && (code[i + 1] & ~2) == 0x81)
			return true;
	return false;
}

/* Whether rsp is aligned before execution goes elsewhere. */
static bool is_alignment_near(const struct code_rules *rules, size_t offset)
{
	size_t left = rules->size - offset;
	size_t end = offset + (left < MAX_UP_TO_ALIGNMENT ? left : MAX_UP_TO_ALIGNMENT);
	struct instruction instruction;

	/* Most code has nothing that looks like it. */
	if (!has_alignment(rules->code + offset, end - offset))
		return false;
	while (offset < end) {
		if (!instruction_decode(rules->code + offset, rules->size - offset, &instruction) ||
		    instruction.kind != INSTRUCTION_PLAIN)
			return false;
		if (stack_effect_is_alignment(&instruction))
			return true;
		offset += instruction.length;
	}
	return false;
}

/*
 * next  offset after the instruction
 */
static void apply_effect(const struct code_rules *rules, const struct instruction *instruction,
			 size_t next, struct stack_state *state)
{
	uint8_t copy_register = state->copy_register;
	int16_t copy = state->copy;

	stack_effect_apply(state, instruction);
	/* All else that copies of rsp are made for would have loops join in different states. */
	if (state->copy && !state->aligned_sp &&
	    (state->copy != copy || state->copy_register != copy_register) &&
	    !is_alignment_near(rules, next))
		stack_state_drop_copy(state);
}

/* Go on until execution does so elsewhere. */
static int follow(struct code_rules *rules, uint32_t owner, struct code_position position)
{
	while (position.offset < rules->size) {
		struct instruction instruction;
		bool is_local = false;
		bool is_free;
		size_t next;
		int err;

		if (rules->owners[position.offset])
			return meet(rules, owner, &position);
		if (position.is_behind_call && is_start(rules, position.offset))
			return 0;
		if (!instruction_decode(rules->code + position.offset,
					rules->size - position.offset, &instruction)) {
			get_owner(rules, owner)->is_wrong |= !position.is_behind_call;
			return 0;
		}
		next = position.offset + instruction.length;
		err = reach(rules, owner, &position, next, &is_free);
		if (err)
			return err;
		if (!is_free) {
			get_owner(rules, owner)->is_wrong |= !position.is_behind_call;
			return 0;
		}
		switch (instruction.kind) {
		case INSTRUCTION_PADDING:
			/* Aligned code after a call may be an unknown function. */
			if (position.is_behind_call && !get_owner(rules, owner)->is_known &&
			    (rules->address + next) % ALIGNMENT == 0)
				return 0;
			break;
		case INSTRUCTION_PLAIN:
			position.is_behind_call = false;
			if (takes_address(&instruction))
				err = note_address(rules, owner,
						   next + (size_t)(int64_t)instruction.displacement,
						   &position.state);
			apply_effect(rules, &instruction, next, &position.state);
			break;
		case INSTRUCTION_CALL:
			if (instruction.is_direct) {
				size_t target = next + (size_t)(int64_t)instruction.distance;

				if (!instruction.distance)
					return 0; /* to learn the own address: not followed */
				if (target < rules->size && rules->flags[target] & CODE_IS_ENDLESS)
					return 0;
				err = note_call(rules, owner, target);
				if (err)
					return err;
				is_local = target < rules->size;
			}
			/* Local functions of assembly may leave more alone than others. */
			if (!is_local)
				stack_effect_apply_call(&position.state);
			position = (struct code_position){next, position.state, true};
			if (next < rules->size && rules->flags[next] & CODE_IS_NO_RETURN)
				return 0;
			return add_to_worklist(rules, &position);
		case INSTRUCTION_BRANCH:
			position.is_behind_call = false;
			stack_effect_apply(&position.state, &instruction);
			err = jump(rules, owner, next + (size_t)(int64_t)instruction.distance,
				   &position.state);
			break;
		case INSTRUCTION_SHORT_JUMP:
			return jump(rules, owner, next + (size_t)(int64_t)instruction.distance,
				    &position.state);
		case INSTRUCTION_JUMP:
			if (is_through_slot(&instruction)) {
				leave_function(rules, owner, &position.state);
				return 0;
			}
			if (instruction.is_direct)
				return jump(rules, owner,
					    next + (size_t)(int64_t)instruction.distance,
					    &position.state);
			jump_anywhere(rules, owner, &position.state, next);
			return 0;
		case INSTRUCTION_RETURN:
			leave_function(rules, owner, &position.state);
			return 0;
		case INSTRUCTION_END:
			return 0;
		}
		if (err)
			return err;
		if (stack_state_is_lost(&position.state)) {
			get_owner(rules, owner)->is_lost = true;
			return 0;
		}
		position.offset = next;
	}
	return 0;
}

static int follow_worklist(struct code_rules *rules, uint32_t owner)
{
	while (!rules->must_retry && (rules->worklist.length || rules->deferred.length)) {
		struct code_position position =
			rules->worklist.length ? rules->worklist.items[--rules->worklist.length]
					       : rules->deferred.items[--rules->deferred.length];
		int err = follow(rules, owner, position);

		if (err)
			return err;
	}
	return 0;
}

/* Counts before a start is followed. */
struct code_mark {
	size_t num_edges;
	size_t num_taken;
	size_t num_reached;
};

static struct code_mark get_mark(const struct code_rules *rules)
{
	return (struct code_mark){rules->edges.length, rules->taken.length, rules->reached.length};
}

/* As if nothing had been followed since. */
static void forget(struct code_rules *rules, const struct code_mark *mark)
{
	for (size_t i = mark->num_reached; i < rules->reached.length; i++) {
		size_t offset = rules->reached.items[i];

		rules->owners[offset] = OWNER_NONE;
		rules->flags[offset] &= (uint8_t)~CODE_IS_BEHIND_CALL;
		while (++offset < rules->size && rules->owners[offset] == OWNER_INSIDE)
			rules->owners[offset] = OWNER_NONE;
	}
	rules->edges.length = mark->num_edges;
	rules->taken.length = mark->num_taken;
	rules->num_forgotten += rules->reached.length - mark->num_reached;
	rules->reached.length = mark->num_reached;
	rules->worklist.length = rules->deferred.length = 0;
}

/* Check a known start in code that was followed from another one. */
static void check_start(struct code_rules *rules, size_t offset, const struct stack_state *state)
{
	if (rules->owners[offset] != OWNER_INSIDE &&
	    stack_state_is_same(&rules->states[offset], state))
		return;
	while (rules->owners[offset] == OWNER_INSIDE)
		offset--;
	get_owner(rules, rules->owners[offset])->is_wrong = true;
}

static int add_start(struct code_rules *rules, size_t offset, const struct stack_state *state,
		     bool is_known)
{
	struct code_position position = {offset, *state, false};
	struct code_mark mark = get_mark(rules);
	struct code_rules_owner *start;
	int err;

	if (rules->owners[offset] && is_known)
		check_start(rules, offset, state);
	if (rules->owners[offset] || rules->starts.length >= OWNER_INSIDE - 2)
		return 0;
	start = array_add(&rules->starts);
	if (!start)
		return -ENOMEM;
	rules->num_retries = 0;
	do {
		rules->must_retry = false;
		*start = (struct code_rules_owner){.offset = offset, .is_known = is_known};
		err = add_to_worklist(rules, &position);
		if (!err)
			err = follow_worklist(rules, (uint32_t)rules->starts.length);
		if (err)
			return err;
		if (rules->must_retry)
			forget(rules, &mark);
		rules->num_retries++;
	} while (rules->must_retry);
	start->first_taken = mark.num_taken;
	start->end_taken = rules->taken.length;
	return 0;
}

int code_rules_add_start(struct code_rules *rules, uint64_t address, enum code_start_kind kind)
{
	size_t offset = address - rules->address;
	size_t num_known = rules->known.length;
	int err;

	if (kind == CODE_START_KNOWN) {
		err = add_known(rules, offset);
		rules->is_to_follow |= rules->known.length > num_known;
		return err;
	}
	rules->is_to_follow |= !rules->was_followed;
	/* Those of the code itself are found again. */
	if (rules->was_followed) {
		for (size_t i = rules->num_given; i < rules->guessed.length; i++)
			rules->flags[rules->guessed.items[i].offset] &=
				(uint8_t) ~(CODE_IS_GUESSED | CODE_IS_TAKEN);
		rules->guessed.length = rules->num_given;
	}
	err = add_guessed(rules, offset, kind == CODE_START_ADDRESS_TAKEN);
	rules->num_given = rules->guessed.length;
	return err;
}

bool code_rules_must_follow(const struct code_rules *rules)
{
	return rules->is_to_follow || !rules->was_followed;
}

/* The first byte that is not padding and was not reached. */
static size_t find_rest(const struct code_rules *rules, size_t offset)
{
	struct instruction instruction;

	while (offset < rules->size) {
		if (rules->owners[offset] || !rules->code[offset])
			offset++;
		else if (instruction_decode(rules->code + offset, rules->size - offset,
					    &instruction) &&
			 instruction.kind == INSTRUCTION_PADDING)
			offset += instruction.length;
		else
			break;
	}
	return offset;
}

/*
 * Whether the code never returns nor leaves: all of its ways end in calls that do not return, or go
 * round for ever. Nothing can confirm such a start, but that it is a call's target or its address
 * is taken.
 */
static bool is_endless(const struct code_rules_owner *start)
{
	return (start->is_known || start->is_address_taken) && !start->is_wrong &&
	       !start->is_lost && !start->leads_on && !start->has_jump;
}

static bool is_exhausted(const struct code_rules *rules)
{
	return rules->num_forgotten > MIN_MAX_FORGOTTEN &&
	       rules->num_forgotten / MAX_FORGOTTEN_PER_BYTE > rules->size;
}

static size_t skip_padding(const struct code_rules *rules, size_t offset)
{
	struct instruction instruction;

	while (offset < rules->size && !rules->owners[offset]) {
		if (!instruction_decode(rules->code + offset, rules->size - offset, &instruction) ||
		    instruction.kind != INSTRUCTION_PADDING)
			break;
		offset += instruction.length;
	}
	return offset;
}

/*
 * Code of a start may continue at an address in this state. If the state of other code there is the
 * same, both are right or both are wrong.
 */
static int note_target(struct code_rules *rules, uint32_t owner, size_t target,
		       const struct stack_state *state)
{
	uint32_t other = rules->owners[target];
	struct code_edge *edge;

	if (other == OWNER_NONE || other == OWNER_INSIDE || other == owner ||
	    !stack_state_is_same(&rules->states[target], state))
		return 0;
	edge = array_add(&rules->edges);
	if (!edge)
		return -ENOMEM;
	*edge = (struct code_edge){owner, other};
	get_owner(rules, owner)->leads_on = true;
	return 0;
}

static int try_start(struct code_rules *rules, size_t offset, const struct stack_state *state,
		     bool is_address_taken, bool is_target);

static int try_target(struct code_rules *rules, uint32_t owner, size_t target,
		      const struct stack_state *state)
{
	int err;

	if (target >= rules->size)
		return 0;
	err = try_start(rules, target, state, false, true);
	return err ? err : note_target(rules, owner, target, state);
}

/*
 * Code after a target of a table is likely to be another target, unless it is the known start of a
 * function.
 */
static void inherit_jump(struct code_rules *rules, size_t target, const struct stack_state *state)
{
	uint32_t owner = target < rules->size ? rules->owners[target] : OWNER_NONE;
	struct code_rules_owner *start;

	if (owner == OWNER_NONE || owner == OWNER_INSIDE)
		return;
	start = get_owner(rules, owner);
	if (start->is_known || start->offset != target || start->has_jump)
		return;
	start->has_jump = true;
	start->jump_state = *state;
}

/* Likewise, if the jump was in the state of an entry. */
static void inherit_exit_jump(struct code_rules *rules, size_t target)
{
	uint32_t owner = target < rules->size ? rules->owners[target] : OWNER_NONE;

	if (owner != OWNER_NONE && owner != OWNER_INSIDE &&
	    get_owner(rules, owner)->offset == target)
		get_owner(rules, owner)->has_exit_jump = true;
}

/*
 * Try the possible targets of jumps through registers: the code after them, and addresses that the
 * function has taken.
 */
static int try_jump_targets(struct code_rules *rules, uint32_t owner)
{
	const struct stack_state entry = STACK_STATE_AT_ENTRY;
	struct code_rules_owner start = *get_owner(rules, owner);
	int err = 0;

	if (start.is_wrong)
		return 0;
	if (start.has_jump && !start.has_jumps) {
		size_t behind = skip_padding(rules, start.behind_jump);

		err = try_target(rules, owner, behind, &start.jump_state);
		inherit_jump(rules, behind, &start.jump_state);
		for (size_t i = start.first_taken; !err && i < start.end_taken; i++)
			err = try_target(rules, owner, rules->taken.items[i].target,
					 &start.jump_state);
	}
	/*
	 * Aligned code, or code after padding, may be another function, which proves nothing about
	 * this one.
	 */
	if (!err && start.has_exit_jump && !start.is_confirmed &&
	    (rules->address + start.behind_exit_jump) % ALIGNMENT != 0 &&
	    skip_padding(rules, start.behind_exit_jump) == start.behind_exit_jump) {
		err = try_target(rules, owner, start.behind_exit_jump, &entry);
		inherit_exit_jump(rules, start.behind_exit_jump);
	}
	return err;
}

/*
 * Try a guess. If its code reaches neither an end that confirms it nor other code, undo all of it.
 *
 * is_target  a target of a jump of another guess: the targets of its own jumps are not tried
 */
static int try_start(struct code_rules *rules, size_t offset, const struct stack_state *state,
		     bool is_address_taken, bool is_target)
{
	struct code_mark mark = get_mark(rules);
	const struct code_rules_owner *start;
	uint32_t owner;
	int err;

	if (rules->owners[offset] || is_exhausted(rules))
		return 0;
	err = add_start(rules, offset, state, false);
	if (err || !rules->owners[offset])
		return err;
	owner = (uint32_t)rules->starts.length;
	get_owner(rules, owner)->is_address_taken = is_address_taken;
	err = is_target ? 0 : try_jump_targets(rules, owner);
	if (err)
		return err;
	start = get_owner(rules, owner);
	if (start->is_wrong || !(start->is_confirmed || start->leads_on || is_endless(start)))
		forget(rules, &mark);
	else
		rules->has_new_guess = true;
	return 0;
}

/* The same for a guess without references from other guesses. */
static int try_guess(struct code_rules *rules, size_t offset, const struct stack_state *state,
		     bool is_address_taken)
{
	rules->reached.length = 0;
	return try_start(rules, offset, state, is_address_taken, false);
}

/* The end of the block at the offset: the first point where execution does not continue. */
static size_t skip_block(const struct code_rules *rules, size_t offset)
{
	struct instruction instruction;

	while (offset < rules->size && !rules->owners[offset]) {
		if (!instruction_decode(rules->code + offset, rules->size - offset, &instruction))
			return offset + ALIGNMENT - (rules->address + offset) % ALIGNMENT;
		offset += instruction.length;
		if (instruction.kind == INSTRUCTION_JUMP ||
		    instruction.kind == INSTRUCTION_SHORT_JUMP ||
		    instruction.kind == INSTRUCTION_RETURN || instruction.kind == INSTRUCTION_END)
			break;
	}
	return offset;
}

/*
 * owner      owner of the last instruction before the offset, or OWNER_NONE
 * is_behind  the offset is directly after that instruction
 */
static int try_rest(struct code_rules *rules, size_t offset, uint32_t owner, bool is_behind)
{
	const struct stack_state entry = STACK_STATE_AT_ENTRY;
	struct code_rules_owner before =
		owner ? *get_owner(rules, owner) : (struct code_rules_owner){0};
	bool is_aligned = (rules->address + offset) % ALIGNMENT == 0;
	bool is_behind_exit_jump = is_behind && before.has_exit_jump;
	int err = 0;

	if (before.has_jump && !before.has_jumps) {
		err = try_guess(rules, offset, &before.jump_state, false);
		inherit_jump(rules, offset, &before.jump_state);
	}
	if (err || rules->owners[offset] || !(is_aligned || is_behind_exit_jump))
		return err;
	err = try_guess(rules, offset, &entry, false);
	if (!err && is_behind_exit_jump)
		inherit_exit_jump(rules, offset);
	return err;
}

static int follow_rest(struct code_rules *rules)
{
	uint32_t owner = OWNER_NONE; /* of the last instruction before the offset */
	size_t last = SIZE_MAX;      /* offset of that instruction */
	size_t last_tried = SIZE_MAX;
	size_t looked_at = 0;
	size_t offset = 0;

	while ((offset = find_rest(rules, offset)) < rules->size) {
		int err;

		for (; looked_at < offset; looked_at++) {
			if (rules->owners[looked_at] == OWNER_NONE ||
			    rules->owners[looked_at] == OWNER_INSIDE)
				continue;
			owner = rules->owners[looked_at];
			last = looked_at;
		}
		err = try_rest(rules, offset, owner, last != last_tried);
		if (err)
			return err;
		last_tried = last;
		if (!rules->owners[offset])
			offset = skip_block(rules, offset);
	}
	return 0;
}

/* Only referenced by unknown code, although functions are aligned: these are tried last. */
static bool is_unlikely(const struct code_rules *rules, size_t index)
{
	const struct code_guess *guess = &rules->guessed.items[index];

	return index < rules->num_given && !guess->is_address_taken &&
	       (rules->address + guess->offset) % ALIGNMENT != 0;
}

static int try_guesses(struct code_rules *rules, bool are_unlikely)
{
	const struct stack_state entry = STACK_STATE_AT_ENTRY;

	for (size_t i = 0; i < rules->guessed.length; i++) {
		struct code_guess guess = rules->guessed.items[i];
		int err = 0;

		if (is_unlikely(rules, i) == are_unlikely)
			err = try_guess(rules, guess.offset, &entry, guess.is_address_taken);
		if (err)
			return err;
	}
	return 0;
}

/* Known code is followed first, since targets of jumps are guesses. */
static int follow_known_jumps(struct code_rules *rules)
{
	size_t num_known = rules->starts.length;

	for (size_t i = 0; i < num_known; i++) {
		int err;

		if (!rules->starts.items[i].has_jump || rules->starts.items[i].is_confirmed)
			continue;
		rules->reached.length = 0;
		err = try_jump_targets(rules, (uint32_t)(i + 1));
		if (err)
			return err;
	}
	return 0;
}

static int follow_all(struct code_rules *rules)
{
	const struct stack_state entry = STACK_STATE_AT_ENTRY;
	int err;

	/* Known starts add others that they call. */
	for (size_t i = 0; i < rules->known.length; i++) {
		rules->reached.length = 0;
		err = add_start(rules, rules->known.items[i], &entry, true);
		if (err)
			return err;
	}
	err = follow_known_jumps(rules);
	if (err)
		return err;
	err = try_guesses(rules, false);
	if (err)
		return err;
	err = follow_rest(rules);
	if (err)
		return err;
	rules->has_new_guess = false;
	err = try_guesses(rules, true);
	return err || !rules->has_new_guess ? err : follow_rest(rules);
}

/* Whether a function was found not to return, while some start is wrong. */
static bool has_learned(struct code_rules *rules)
{
	bool has_learned = false;
	bool has_wrong = false;

	array_for_each (&rules->starts, start) {
		has_wrong |= start->is_wrong;
		if (!is_endless(start) || start->is_confirmed ||
		    rules->flags[start->offset] & CODE_IS_ENDLESS)
			continue;
		rules->flags[start->offset] |= CODE_IS_ENDLESS;
		has_learned = true;
	}
	return has_learned && has_wrong;
}

static void start_again(struct code_rules *rules)
{
	rules->num_forgotten = 0;
	memset(rules->owners, 0, rules->size * sizeof(*rules->owners));
	for (size_t i = 0; i < rules->size; i++)
		rules->flags[i] &= CODE_STARTS | CODE_IS_ENDLESS;
	rules->starts.length = rules->edges.length = rules->exits.length = 0;
	rules->taken.length = 0;
	rules->guessed.length = rules->num_given;
	for (size_t i = 0; i < rules->num_given; i++)
		rules->flags[rules->guessed.items[i].offset] |=
			rules->guessed.items[i].is_address_taken ? CODE_IS_TAKEN : CODE_IS_GUESSED;
}

int code_rules_follow(struct code_rules *rules)
{
	int err;

	rules->is_to_follow = false;
	if (rules->was_followed)
		start_again(rules);
	rules->was_followed = true;
	err = follow_all(rules);
	for (unsigned int pass = 1; !err && pass < MAX_PASSES && has_learned(rules); pass++) {
		start_again(rules);
		err = follow_all(rules);
	}
	return err;
}

const struct code_exit *code_rules_get_exits(const struct code_rules *rules, size_t *ret_num)
{
	*ret_num = rules->exits.length;
	return rules->exits.items;
}

/* Parts of a function whose addresses it has taken, unless they might be functions themselves. */
static int add_edges_of_taken(struct code_rules *rules)
{
	array_for_each (&rules->taken, taken) {
		int err = stack_state_is_at_exit(&taken->state)
				  ? 0
				  : note_target(rules, taken->owner, taken->target, &taken->state);

		if (err)
			return err;
	}
	return 0;
}

/*
 * Spread the verdict on each start to all starts that lead into it. Returns false if it did not
 * settle.
 */
static bool spread(struct code_rules *rules)
{
	unsigned int num_rounds = 0;
	bool is_changed;

	array_for_each (&rules->starts, start)
		start->is_confirmed |= is_endless(start);
	if (add_edges_of_taken(rules))
		return false;
	do {
		is_changed = false;
		if (++num_rounds > MAX_ROUNDS)
			return false;
		array_for_each (&rules->edges, edge) {
			struct code_rules_owner *from = get_owner(rules, edge->from);
			const struct code_rules_owner *to = get_owner(rules, edge->to);

			if (to->is_wrong && !from->is_wrong)
				from->is_wrong = is_changed = true;
			if (to->is_confirmed && !from->is_confirmed)
				from->is_confirmed = is_changed = true;
		}
	} while (is_changed);
	return true;
}

static bool is_right(const struct code_rules *rules, size_t offset)
{
	uint32_t owner = rules->owners[offset];
	const struct code_rules_owner *start;

	if (owner == OWNER_NONE || owner == OWNER_INSIDE)
		return false;
	start = &rules->starts.items[owner - 1];
	return start->is_confirmed && !start->is_wrong;
}

static int add_row(struct code_rules *rules, size_t offset, struct code_stretches *ret)
{
	struct code_stretch *last =
		ret->items.length ? &ret->items.items[ret->items.length - 1] : NULL;
	bool is_same = last && last->end == rules->address + offset;
	struct frame_row *row;

	if (!is_same) {
		last = array_add(&ret->items);
		if (!last)
			return -ENOMEM;
		last->start = rules->address + offset;
		last->first_row = ret->rows.length;
	}
	last->end = rules->address + offset + 1;
	while (last->end - rules->address < rules->size &&
	       rules->owners[last->end - rules->address] == OWNER_INSIDE)
		last->end++;
	row = array_add(&ret->rows);
	if (!row)
		return -ENOMEM;
	row->elf_address = rules->address + offset;
	row->rule = stack_state_get_rule(&rules->states[offset]);
	if (is_same && memcmp(&row[-1].rule, &row->rule, sizeof(row->rule)) == 0)
		ret->rows.length--;
	else
		last->num_rows++;
	return 0;
}

int code_rules_get(struct code_rules *rules, struct code_stretches *ret)
{
	if (!spread(rules))
		return 0;
	for (size_t offset = 0; offset < rules->size; offset++) {
		int err = is_right(rules, offset) ? add_row(rules, offset, ret) : 0;

		if (err)
			return err;
	}
	return 0;
}

void code_stretches_release(struct code_stretches *stretches)
{
	array_release(&stretches->items);
	array_release(&stretches->rows);
}
