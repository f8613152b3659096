/*
 * A hash table of rules. Nearly every row has a known rule, so the lookup of the first slot is
 * inline in the header. The table is sparse, so the first slot is usually right. This file adds
 * rules and grows the table.
 */
#include "unwind/rule_dictionary.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NUM_SLOTS 4096
/* Most slots are free, so that nearly every rule is found at the first probe. */
#define SLOTS_PER_RULE 4
/* Probes for one rule. Only a file that was made to collide needs more: such rules are dropped. */
#define PROBES_MAX 128

static int make_slots(struct rule_dictionary *dictionary, uint32_t num_slots)
{
	uint16_t *slots = calloc(num_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(dictionary->slots);
	dictionary->slots = slots;
	dictionary->num_slots = num_slots;
	dictionary->shift = (unsigned int)__builtin_clz(num_slots) + 1;
	return 0;
}

int rule_dictionary_init(struct rule_dictionary *dictionary)
{
	struct unwind_rule *rule;

	*dictionary = (struct rule_dictionary){0};
	if (make_slots(dictionary, FIRST_NUM_SLOTS) || !array_add(&dictionary->rules))
		return -ENOMEM;
	rule = array_add(&dictionary->rules);
	if (!rule)
		return -ENOMEM;
	rule->cfa_op = UNWIND_CFA_UNSUPPORTED;
	return 0;
}

void rule_dictionary_release(struct rule_dictionary *dictionary)
{
	array_release(&dictionary->rules);
	free(dictionary->slots);
	*dictionary = (struct rule_dictionary){0};
}

static bool is_same(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The slot of the rule, or a free slot for it; NULL if neither is near. */
static uint16_t *find_slot(const struct rule_dictionary *dictionary, const struct unwind_rule *rule)
{
	uint32_t mask = dictionary->num_slots - 1;
	uint32_t first = rule_dictionary_hash(rule) >> dictionary->shift;

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		uint16_t *slot = &dictionary->slots[(first + i) & mask];

		if (*slot == RULE_NONE || is_same(&dictionary->rules.items[*slot], rule))
			return slot;
	}
	return NULL;
}

static int grow(struct rule_dictionary *dictionary)
{
	int err = make_slots(dictionary, dictionary->num_slots * 2);

	if (err)
		return err;
	for (size_t i = RULE_UNSUPPORTED + 1; i < dictionary->rules.length; i++) {
		uint16_t *slot = find_slot(dictionary, &dictionary->rules.items[i]);

		/* A rule without a slot stays valid for its rows, and is not found again. */
		if (slot)
			*slot = (uint16_t)i;
	}
	return 0;
}

int rule_dictionary_add_slowly(struct rule_dictionary *dictionary, const struct unwind_rule *rule,
			       uint16_t *ret)
{
	struct unwind_rule *added;
	uint16_t *slot;

	if (rule->cfa_op == UNWIND_CFA_NONE || rule->cfa_op == UNWIND_CFA_UNSUPPORTED) {
		*ret = rule->cfa_op == UNWIND_CFA_NONE ? RULE_NONE : RULE_UNSUPPORTED;
		return 0;
	}
	slot = find_slot(dictionary, rule);
	if (slot && *slot != RULE_NONE) {
		*ret = *slot;
		return 0;
	}
	if (!slot || dictionary->rules.length >= RULE_DICTIONARY_MAX) {
		dictionary->num_spilled++;
		*ret = RULE_UNSUPPORTED;
		return 0;
	}
	added = array_add(&dictionary->rules);
	if (!added)
		return -ENOMEM;
	*added = *rule;
	*slot = (uint16_t)(dictionary->rules.length - 1);
	*ret = *slot;
	return dictionary->rules.length > dictionary->num_slots / SLOTS_PER_RULE ? grow(dictionary)
										 : 0;
}
