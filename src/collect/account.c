#include "collect/account.h"

#include "profile/profile.h"

#define LOSS_ROW(name, key, kinds, explanation) [LOSS_##name] = {key, kinds, explanation},
static const struct {
	const char *key;
	unsigned int kinds; /* enum loss_kind */
	const char *explanation;
} losses[NUM_LOSSES] = {LOSSES(LOSS_ROW)};

const char *loss_get_key(enum loss loss)
{
	return losses[loss].key;
}

const char *loss_explain(enum loss loss)
{
	return losses[loss].explanation;
}

bool loss_is(enum loss loss, unsigned int kinds)
{
	return (losses[loss].kinds & kinds) == kinds;
}

uint64_t losses_sum(const uint64_t lost[static NUM_LOSSES])
{
	uint64_t sum = 0;

	for (enum loss loss = 0; loss < NUM_LOSSES; loss++)
		sum += lost[loss];
	return sum;
}

uint64_t losses_sum_samples(const uint64_t lost[static NUM_LOSSES])
{
	uint64_t sum = 0;

	for (enum loss loss = 0; loss < NUM_LOSSES; loss++)
		if (!loss_is(loss, LOSS_BEFORE_SAMPLE))
			sum += lost[loss];
	return sum;
}

static bool are_kworks_balanced(const struct kwork_counts *counts)
{
	return counts->fired == counts->kept + counts->lost_ring + counts->lost_nested +
					counts->lost_storage + counts->unseen_begin;
}

bool scheduling_counts_are_balanced(const struct scheduling_counts *counts)
{
	return are_kworks_balanced(&counts->kworks) &&
	       counts->fired == counts->switches + counts->wakeups + counts->lost_ring +
					counts->lost_nested + counts->lost_storage +
					counts->lost_unseen;
}

const char *wait_kind_get_name(enum wait_kind kind)
{
	switch (kind) {
	case WAIT_BLOCKED:
		return METRIC_BLOCKED;
	case WAIT_UNINTERRUPTIBLE:
		return "uninterruptible";
	case WAIT_RUN_QUEUE:
		return "run-queue";
	case WAIT_PREEMPTED:
		return "preempted";
	case NUM_WAIT_KINDS:
		break;
	}
	return "unknown";
}

const char *runtime_fit_get_name(enum runtime_fit fit)
{
	static const char *const names[NUM_RUNTIME_FITS] = {
		[RUNTIME_NONE] = "none",
		[RUNTIME_FITS] = "fits",
		[RUNTIME_FITS_NOT] = "fits_not",
		[RUNTIME_NO_THREAD] = "no_thread",
		[RUNTIME_UNREADABLE] = "unreadable",
		[RUNTIME_EARLY] = "early",
		[RUNTIME_UNKNOWN] = "unknown_build",
		[RUNTIME_OUTSIDE] = "outside",
	};

	return names[fit];
}
