/*
 * Budgets of symbolization for the owners of the files that it reads: one user's files cannot use
 * up the time of all. An owner over budget loses debug information first, then all names. All
 * owners together have the budget of three, because one user may own files under several user ids.
 * Not thread-safe.
 */
#ifndef CLI_RECORD_OWNER_BUDGETS_H
#define CLI_RECORD_OWNER_BUDGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "symbolize/symbolizer.h"

struct owner_budget {
	uid_t owner;
	uint8_t caution;     /* enum symbolizer_caution, for all files of the owner */
	uint32_t num_faults; /* since the caution rose, like the next one */
	uint64_t spent_ns;   /* CPU time */
};

/* Zero except limit_ns. */
struct owner_budgets {
	uint64_t limit_ns; /* for all of symbolization */
	struct owner_budget all;
	ARRAY(struct owner_budget) owners;
};

void owner_budgets_release(struct owner_budgets *budgets);

/*
 * Charge an owner with CPU time and faults. Returns whether the owner, or all together, exceeded
 * the budget: their caution has risen.
 */
bool owner_budgets_charge(struct owner_budgets *budgets, uid_t owner, uint64_t cpu_ns,
			  uint32_t num_faults);

enum symbolizer_caution owner_budgets_get_caution(const struct owner_budgets *budgets, uid_t owner);

/* The owner's CPU time limit until the caution rises, ns. */
uint64_t owner_budgets_get_limit(const struct owner_budgets *budgets, uid_t owner);

#endif
