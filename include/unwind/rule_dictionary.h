/*
 * The rules of one table, each stored once, since a table has few different rules.
 *
 * Bounded in size and in time per rule, because rules are made from untrusted bytes.
 */
#ifndef UNWIND_RULE_DICTIONARY_H
#define UNWIND_RULE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "wire/unwind.h"

/* A row stores the index of its rule in 16 bits. */
#define RULE_DICTIONARY_MAX 65535

#define RULE_NONE        0 /* index of UNWIND_CFA_NONE in every dictionary */
#define RULE_UNSUPPORTED 1 /* index of UNWIND_CFA_UNSUPPORTED */

struct rule_dictionary {
	ARRAY(struct unwind_rule) rules;
	uint16_t *slots;      /* open addressing; RULE_NONE: free; no slot has RULE_UNSUPPORTED */
	uint32_t num_slots;   /* a power of two */
	unsigned int shift;   /* hash >> shift is a slot */
	uint64_t num_spilled; /* rows whose rule did not fit */
};

/* Returns 0 or -ENOMEM; release it in both cases. */
_must_check_ int rule_dictionary_init(struct rule_dictionary *dictionary);
void rule_dictionary_release(struct rule_dictionary *dictionary);

/* Private: the slow path of rule_dictionary_add(). */
_must_check_ int rule_dictionary_add_slowly(struct rule_dictionary *dictionary,
					    const struct unwind_rule *rule, uint16_t *ret);

/* A multiplicative hash: the upper bits depend on all bits of the rule. */
static inline uint32_t rule_dictionary_hash(const struct unwind_rule *rule)
{
	uint64_t first;
	uint32_t second;

	memcpy(&first, rule, sizeof(first));
	memcpy(&second, (const char *)rule + sizeof(first), sizeof(second));
	return (uint32_t)((first ^ second * 0xff51afd7ed558ccdull) * 0x9e3779b97f4a7c15ull >> 32);
}

/*
 * ret   index of the rule, which is added if new; RULE_UNSUPPORTED if the dictionary is full
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ static inline int rule_dictionary_add(struct rule_dictionary *dictionary,
						   const struct unwind_rule *rule, uint16_t *ret)
{
	uint16_t index = dictionary->slots[rule_dictionary_hash(rule) >> dictionary->shift];

	/* Nearly always the first slot has the rule. A free slot is index 0. */
	if (index == RULE_NONE || memcmp(&dictionary->rules.items[index], rule, sizeof(*rule)) != 0)
		return rule_dictionary_add_slowly(dictionary, rule, ret);
	*ret = index;
	return 0;
}

#endif
