/*
 * The state of a search is a set of instructions of the program: those where the next character is
 * expected. A step leads from a set and a character to the next set. Known sets are kept as states
 * with their steps, in a table, so that most steps are one look-up. This is a deterministic
 * automaton that is made while it is used. When the table is full it is emptied. If this happens
 * after few steps, the text has other states everywhere, and the rest of it is read without the
 * table. So time is linear in the text, and memory bounded, whatever the expression.
 *
 * A match may start anywhere: every step adds the start again. Assertions (^ $ \b) can be decided
 * only when the next character is known, and wait in the set until then; the end of the text is a
 * class of characters of its own. Only the existence of a match is asked for, so the first set with
 * the instruction REGEX_OP_MATCH ends the search.
 *
 * Sources: K. Thompson, Regular expression search algorithm, CACM 11(6), 1968; R. Cox, Regular
 * Expression Matching in the Wild, 2010 (the cache, and when to do without it).
 */
#include "analysis/regex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/regex_program.h"
#include "base/hash.h"

#define CACHE_BYTES  (1u << 20)
#define LEAST_STATES 16
#define MOST_STATES  0x10000

/* If a state leads to a new one in fewer steps than this, the cache is a burden. */
#define LEAST_USES 10

/* Numbers of special states without a set. */
enum { STATE_UNKNOWN, STATE_MATCH, STATE_DEAD, NUM_SPECIAL_STATES };

/* The context between two characters. */
struct regex_position {
	bool is_start;
	bool is_end;
	bool is_next_known; /* else assertions other than ^ are deferred */
	bool is_boundary;
};

struct regex {
	struct regex_program program;
	uint32_t end_class; /* behind all classes of characters */

	/* A set has a bit for each instruction, followed by those below; its size in words. */
	size_t num_words;
	uint32_t word_bit;  /* the previous character belongs to a word */
	uint32_t start_bit; /* start of the text: no character before */
	bool has_assertions;
	uint64_t *survives_step; /* instructions that matter after a step, and both bits */
	uint64_t *current;       /* sets in work */
	uint64_t *next;
	uint64_t *resolved;
	uint32_t *stack; /* of instructions; room for all */

	/* The table: a row for each state, special ones too, with a column for each class. */
	ARRAY(uint32_t) steps; /* the number of the next state times the number of columns */
	size_t num_columns;
	ARRAY(uint64_t) sets; /* of the states */
	struct hash_index index;
	uint32_t num_states;
	uint32_t max_states;
	uint32_t first_state; /* before the text; STATE_UNKNOWN: not made yet */
	size_t num_uses;      /* characters since the table was emptied, or fewer */
};

/* ---- sets of instructions ------------------------------------------------------------------- */

static bool has_bit(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

static void add_bit(uint64_t *set, uint32_t bit)
{
	set[bit / 64] |= 1ull << (bit % 64);
}

static bool holds(enum regex_operation operation, const struct regex_position *position)
{
	switch (operation) {
	case REGEX_OP_START:
		return position->is_start;
	case REGEX_OP_END:
		return position->is_next_known && position->is_end;
	case REGEX_OP_BOUNDARY:
		return position->is_next_known && position->is_boundary;
	case REGEX_OP_NO_BOUNDARY:
		return position->is_next_known && !position->is_boundary;
	case REGEX_OP_MATCH:
	case REGEX_OP_SET:
	case REGEX_OP_SPLIT:
		break;
	}
	return false;
}

/* Add an instruction, and all that can be reached from it without a character. */
static void add_instructions(struct regex *regex, uint64_t *set, uint32_t instruction,
			     const struct regex_position *position)
{
	const struct regex_instruction *instructions = regex->program.instructions.items;
	size_t depth = 0;

	if (has_bit(set, instruction))
		return;
	add_bit(set, instruction);
	regex->stack[depth++] = instruction;
	while (depth) {
		const struct regex_instruction *at = &instructions[regex->stack[--depth]];
		bool is_split = at->operation == REGEX_OP_SPLIT;

		if (!is_split && !holds(at->operation, position))
			continue;
		if (is_split && !has_bit(set, at->other)) {
			add_bit(set, at->other);
			regex->stack[depth++] = at->other;
		}
		if (!has_bit(set, at->next)) {
			add_bit(set, at->next);
			regex->stack[depth++] = at->next;
		}
	}
}

static bool set_contains(const struct regex_program *program, uint32_t number, uint32_t class)
{
	const struct regex_set *set = &program->sets.items.items[number];
	const struct regex_range *ranges = program->sets.ranges.items + set->first_range;
	size_t num_before = count_front(ranges, set->num_ranges, range, range->last < class);

	return num_before < set->num_ranges && ranges[num_before].first <= class;
}

/* With the next class known: the set, and the instructions behind its assertions. */
static const uint64_t *resolve(struct regex *regex, const uint64_t *from, uint32_t class)
{
	const struct regex_program *program = &regex->program;
	const bool *is_word = program->is_word;
	struct regex_position position = {
		.is_start = has_bit(from, regex->start_bit),
		.is_end = class == regex->end_class,
		.is_next_known = true,
	};
	uint64_t *set = regex->resolved;

	if (is_word)
		position.is_boundary =
			has_bit(from, regex->word_bit) != (!position.is_end && is_word[class]);
	memcpy(set, from, regex->num_words * sizeof(*set));
	for (size_t i = 0; i < regex->num_words; i++) {
		for (uint64_t bits = from[i]; bits; bits &= bits - 1) {
			uint32_t bit = (uint32_t)(64 * i + (size_t)__builtin_ctzll(bits));

			if (bit < regex->word_bit &&
			    holds(program->instructions.items[bit].operation, &position))
				add_instructions(regex, set, program->instructions.items[bit].next,
						 &position);
		}
	}
	return set;
}

/*
 * A step: the set reached from `from` by a character of this class, or by the end of the text.
 * Returns whether there is a match, and then leaves `to` unfinished.
 */
static bool step(struct regex *regex, const uint64_t *from, uint32_t class, uint64_t *to)
{
	static const struct regex_position behind = {0};
	const struct regex_program *program = &regex->program;

	if (regex->has_assertions) {
		from = resolve(regex, from, class);
		if (has_bit(from, REGEX_MATCH_INSTRUCTION))
			return true;
	}
	memset(to, 0, regex->num_words * sizeof(*to));
	if (class == regex->end_class)
		return false;
	for (size_t i = 0; i < regex->num_words; i++) {
		for (uint64_t bits = from[i]; bits; bits &= bits - 1) {
			uint32_t bit = (uint32_t)(64 * i + (size_t)__builtin_ctzll(bits));
			const struct regex_instruction *at;

			if (bit >= regex->word_bit)
				break;
			at = &program->instructions.items[bit];
			if (at->operation == REGEX_OP_SET &&
			    set_contains(program, at->other, class))
				add_instructions(regex, to, at->next, &behind);
		}
	}
	add_instructions(regex, to, program->start, &behind);
	if (program->is_word && program->is_word[class])
		add_bit(to, regex->word_bit);
	for (size_t i = 0; i < regex->num_words; i++)
		to[i] &= regex->survives_step[i];
	return has_bit(to, REGEX_MATCH_INSTRUCTION);
}

/* The set before the first character. Returns whether there is a match already. */
static bool start(struct regex *regex, uint64_t *set)
{
	static const struct regex_position first = {.is_start = true};

	memset(set, 0, regex->num_words * sizeof(*set));
	add_instructions(regex, set, regex->program.start, &first);
	if (regex->has_assertions)
		add_bit(set, regex->start_bit);
	for (size_t i = 0; i < regex->num_words; i++)
		set[i] &= regex->survives_step[i];
	return has_bit(set, REGEX_MATCH_INSTRUCTION);
}

/* ---- states --------------------------------------------------------------------------------- */

static void empty_table(struct regex *regex)
{
	hash_index_release(&regex->index);
	regex->sets.length = 0;
	regex->steps.length = 0;
	regex->num_states = 0;
	regex->first_state = STATE_UNKNOWN;
	regex->num_uses = 0;
}

static bool is_set(const void *owner, uint32_t item, const void *key)
{
	const struct regex *regex = owner;
	const uint64_t *set = regex->sets.items + (item - NUM_SPECIAL_STATES) * regex->num_words;

	return memcmp(set, key, regex->num_words * sizeof(*set)) == 0;
}

/*
 * Add a row and a set, for the state with this hash. Returns its number, or STATE_UNKNOWN when out
 * of memory.
 */
static uint32_t add_state(struct regex *regex, const uint64_t *set, uint64_t hash)
{
	uint32_t state = NUM_SPECIAL_STATES + regex->num_states;
	size_t num_steps = (state + 1) * regex->num_columns;

	if (array_reserve(&regex->steps, num_steps) ||
	    array_reserve(&regex->sets, (regex->num_states + 1) * regex->num_words) ||
	    hash_index_add(&regex->index, hash, state))
		return STATE_UNKNOWN;
	memset(regex->steps.items + regex->steps.length, 0,
	       (num_steps - regex->steps.length) * sizeof(*regex->steps.items));
	regex->steps.length = num_steps;
	memcpy(regex->sets.items + regex->sets.length, set, regex->num_words * sizeof(*set));
	regex->sets.length += regex->num_words;
	regex->num_states++;
	return state;
}

/*
 * The state of a set. Returns STATE_UNKNOWN if the table cannot, or should not, be used.
 *
 * ret_is_emptied  whether all other states have become invalid
 */
static uint32_t find_state(struct regex *regex, const uint64_t *set, bool *ret_is_emptied)
{
	uint64_t hash = hash_bytes(set, regex->num_words * sizeof(*set));
	uint32_t state = hash_index_find(&regex->index, hash, is_set, regex, set);
	bool is_burden = regex->num_uses / LEAST_USES < regex->num_states;

	*ret_is_emptied = false;
	if (state != HASH_INDEX_NONE)
		return state;
	state = STATE_UNKNOWN;
	if (regex->num_states < regex->max_states)
		state = add_state(regex, set, hash);
	if (state != STATE_UNKNOWN)
		return state;
	empty_table(regex);
	*ret_is_emptied = true;
	return is_burden || !regex->max_states ? STATE_UNKNOWN : add_state(regex, set, hash);
}

/* No instruction is in the set: whatever follows, there is no match. */
static bool is_dead(const struct regex *regex, const uint64_t *set)
{
	for (size_t i = 0; i < regex->num_words; i++) {
		uint64_t bits = set[i];

		if (i == regex->word_bit / 64)
			bits &= ~(1ull << (regex->word_bit % 64));
		if (bits)
			return false;
	}
	return true;
}

/* Match without the table, starting at a set. */
static bool simulate(struct regex *regex, const uint64_t *set, const char *text, const char *end)
{
	if (set != regex->current)
		memcpy(regex->current, set, regex->num_words * sizeof(*set));
	while (text < end) {
		uint64_t *last = regex->current;
		uint32_t character;

		text += regex_decode(text, (size_t)(end - text), &character);
		if (step(regex, last, regex_find_class(&regex->program, character), regex->next))
			return true;
		regex->current = regex->next;
		regex->next = last;
	}
	return step(regex, regex->current, regex->end_class, regex->next);
}

/*
 * Make a step that is not in the table yet. Returns the next state; if that is STATE_UNKNOWN, its
 * set is regex->next.
 */
static uint32_t make_step(struct regex *regex, uint32_t row, uint32_t class)
{
	size_t number = row / regex->num_columns - NUM_SPECIAL_STATES;
	const uint64_t *from = regex->sets.items + number * regex->num_words;
	bool is_emptied = false;
	uint32_t state;

	if (step(regex, from, class, regex->next))
		state = STATE_MATCH;
	else if (class == regex->end_class || is_dead(regex, regex->next))
		state = STATE_DEAD;
	else
		state = find_state(regex, regex->next, &is_emptied);
	if (!is_emptied)
		regex->steps.items[row + class] = (uint32_t)(state * regex->num_columns);
	return state;
}

static uint32_t make_first_state(struct regex *regex)
{
	bool is_emptied;

	if (start(regex, regex->next))
		return STATE_MATCH;
	return find_state(regex, regex->next, &is_emptied);
}

bool regex_matches(struct regex *regex, const char *text, size_t length)
{
	const struct regex_program *program = &regex->program;
	const uint32_t last_special = (uint32_t)(STATE_DEAD * regex->num_columns);
	const char *end = text + length;
	const char *counted = text;
	const uint32_t *steps;
	uint32_t row;

	if (regex->first_state == STATE_UNKNOWN)
		regex->first_state = make_first_state(regex);
	if (regex->first_state == STATE_MATCH)
		return true;
	if (regex->first_state == STATE_UNKNOWN)
		return simulate(regex, regex->next, text, end);
	row = (uint32_t)(regex->first_state * regex->num_columns);
	steps = regex->steps.items;
	for (;;) {
		uint32_t class = regex->end_class;
		uint32_t next;
		uint32_t state;

		if (text < end && (uint8_t)*text < 0x80) {
			class = program->ascii_classes[(uint8_t)*text++];
		} else if (text < end) {
			uint32_t character;

			text += regex_decode(text, (size_t)(end - text), &character);
			class = regex_find_class(program, character);
		}
		next = steps[row + class];
		if (next > last_special) {
			row = next;
			continue;
		}
		state = (uint32_t)(next / regex->num_columns);
		if (state == STATE_UNKNOWN) {
			regex->num_uses += (size_t)(text - counted);
			counted = text;
			state = make_step(regex, row, class);
			steps = regex->steps.items;
		}
		if (state == STATE_UNKNOWN)
			return simulate(regex, regex->next, text, end);
		if (state < NUM_SPECIAL_STATES) {
			regex->num_uses += (size_t)(text - counted);
			return state == STATE_MATCH;
		}
		row = (uint32_t)(state * regex->num_columns);
	}
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int prepare(struct regex *regex)
{
	const struct regex_program *program = &regex->program;
	uint32_t num_instructions = (uint32_t)program->instructions.length;
	size_t state_bytes;

	regex->end_class = (uint32_t)program->class_starts.length;
	regex->num_columns = regex->end_class + 1;
	regex->word_bit = num_instructions;
	regex->start_bit = num_instructions + 1;
	regex->num_words = (num_instructions + 2 + 63) / 64;
	regex->survives_step = calloc(regex->num_words, sizeof(*regex->survives_step));
	regex->current = calloc(regex->num_words, sizeof(*regex->current));
	regex->next = calloc(regex->num_words, sizeof(*regex->next));
	regex->resolved = calloc(regex->num_words, sizeof(*regex->resolved));
	regex->stack = calloc(num_instructions, sizeof(*regex->stack));
	if (!regex->survives_step || !regex->current || !regex->next || !regex->resolved ||
	    !regex->stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_instructions; i++) {
		enum regex_operation operation = program->instructions.items[i].operation;

		if (operation != REGEX_OP_SPLIT && operation != REGEX_OP_START)
			add_bit(regex->survives_step, i);
		regex->has_assertions |= operation >= REGEX_OP_START;
	}
	add_bit(regex->survives_step, regex->word_bit);
	add_bit(regex->survives_step, regex->start_bit);
	state_bytes = regex->num_columns * sizeof(*regex->steps.items) +
		      regex->num_words * sizeof(*regex->sets.items);
	regex->max_states = (uint32_t)(CACHE_BYTES / state_bytes);
	if (regex->max_states < LEAST_STATES)
		regex->max_states = LEAST_STATES;
	if (regex->max_states > MOST_STATES)
		regex->max_states = MOST_STATES;
	return 0;
}

int regex_new(const char *pattern, struct regex **ret, struct error *error)
{
	_cleanup_(regex_tree_release) struct regex_tree tree = {0};
	struct regex *regex;
	int err = regex_parse(pattern, &tree, error);

	if (err)
		return err;
	regex = calloc(1, sizeof(*regex));
	if (!regex)
		return error_set(error, -ENOMEM, "out of memory");
	err = regex_compile(pattern, &tree, &regex->program, error);
	if (!err && prepare(regex))
		err = error_set(error, -ENOMEM, "out of memory");
	if (err) {
		regex_free(regex);
		return err;
	}
	*ret = regex;
	return 0;
}

void regex_free(struct regex *regex)
{
	if (!regex)
		return;
	regex_program_release(&regex->program);
	hash_index_release(&regex->index);
	array_release(&regex->steps);
	array_release(&regex->sets);
	free(regex->survives_step);
	free(regex->current);
	free(regex->next);
	free(regex->resolved);
	free(regex->stack);
	free(regex);
}

void regex_limit_cache(struct regex *regex, uint32_t max_states)
{
	empty_table(regex);
	regex->max_states = max_states;
}
