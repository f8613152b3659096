/*
 * The rules of one table, each kept once: many rows share few rules.
 *
 * Bounded in size and in time per rule, whatever rules come: they are made from untrusted bytes.
 */
#ifndef UNWIND_RULE_DICTIONARY_H
#define UNWIND_RULE_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "wire/unwind.h"

/* A row's index of its rule has 16 bits. */
#define RULE_DICTIONARY_MAX 65535

#define RULE_NONE        0 /* index of UNWIND_CFA_NONE in every dictionary */
#define RULE_UNSUPPORTED 1 /* index of UNWIND_CFA_UNSUPPORTED */

struct rule_dictionary {
	ARRAY(struct unwind_rule) rules;
	uint16_t *slots; /* open addressing; RULE_NONE: free */
	uint32_t num_slots;
	uint64_t num_spilled; /* how often a rule found no room */
};

/* Returns 0 or -ENOMEM; release it in any case. */
_must_check_ int rule_dictionary_init(struct rule_dictionary *dictionary);
void rule_dictionary_release(struct rule_dictionary *dictionary);

/*
 * ret   index of the rule, which is added when it is new; RULE_UNSUPPORTED when there is no room
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int rule_dictionary_add(struct rule_dictionary *dictionary,
				     const struct unwind_rule *rule, uint16_t *ret);

#endif
