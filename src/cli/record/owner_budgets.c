#include "cli/record/owner_budgets.h"

/*
 * An owner's share of the time with debug information, 1 s of 60 s. Half as much follows for
 * symbols only.
 */
#define OWNER_SHARE 60
/* Budget of all owners together, in budgets of one. */
#define ALL_OWNERS 3
#define MAX_FAULTS 3

void owner_budgets_release(struct owner_budgets *budgets)
{
	array_release(&budgets->owners);
}

static uint64_t get_limit(const struct owner_budgets *budgets, const struct owner_budget *budget)
{
	return budgets->limit_ns / OWNER_SHARE >> budget->caution;
}

/* num_owners  number of owners that share this budget */
static bool charge(const struct owner_budgets *budgets, struct owner_budget *budget,
		   uint64_t cpu_ns, uint32_t num_faults, uint32_t num_owners)
{
	if (budget->caution == READ_NOTHING)
		return false;
	budget->spent_ns += cpu_ns;
	budget->num_faults += num_faults;
	if (budget->spent_ns <= num_owners * get_limit(budgets, budget) &&
	    budget->num_faults < num_owners * MAX_FAULTS)
		return false;
	budget->caution++;
	budget->spent_ns = 0;
	budget->num_faults = 0;
	return true;
}

static struct owner_budget *find(const struct owner_budgets *budgets, uid_t owner)
{
	array_for_each (&budgets->owners, budget)
		if (budget->owner == owner)
			return budget;
	return NULL;
}

/* Returns NULL when out of memory. */
static struct owner_budget *find_or_add(struct owner_budgets *budgets, uid_t owner)
{
	struct owner_budget *found = find(budgets, owner);

	if (found)
		return found;
	found = array_add(&budgets->owners);
	if (found)
		*found = (struct owner_budget){.owner = owner};
	return found;
}

bool owner_budgets_charge(struct owner_budgets *budgets, uid_t owner, uint64_t cpu_ns,
			  uint32_t num_faults)
{
	struct owner_budget *budget = find_or_add(budgets, owner);
	bool has_risen = budget && charge(budgets, budget, cpu_ns, num_faults, 1);

	return charge(budgets, &budgets->all, cpu_ns, num_faults, ALL_OWNERS) || has_risen;
}

enum symbolizer_caution owner_budgets_get_caution(const struct owner_budgets *budgets, uid_t owner)
{
	const struct owner_budget *budget = find(budgets, owner);
	uint8_t caution = budget ? budget->caution : READ_ALL;

	return caution > budgets->all.caution ? caution : budgets->all.caution;
}

uint64_t owner_budgets_get_limit(const struct owner_budgets *budgets, uid_t owner)
{
	const struct owner_budget *budget = find(budgets, owner);

	return get_limit(budgets, budget ? budget : &(struct owner_budget){0});
}
