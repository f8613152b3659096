#include "cli/report/report.h"

#include <errno.h>

/* Sum all metrics, not just the one that is shown: JSON has them. */
static int sum_metrics(struct report_answer *answer)
{
	const struct report *report = answer->report;
	const struct profile *profile = report->tree->profile;

	answer->sums = calloc((size_t)profile_count_metrics(profile) + 1, sizeof(*answer->sums));
	if (!answer->sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint64_t *sum = &answer->sums[sample->metric];

		if (selection_contains(report->selection, i) &&
		    __builtin_add_overflow(*sum, sample->value, sum))
			return -EOVERFLOW;
	}
	return 0;
}

/*
 * Depth 0 is all levels. Callers and callees of the fragment are listed in either case, so the
 * other direction needs one level.
 */
static int add_callers_and_callees(struct report_answer *answer, const struct fragment *fragment)
{
	const struct report *report = answer->report;
	bool has_callers = report->direction == FRAGMENT_CALLERS;
	int err = fragment_tree_init(&answer->callers, report->tree, fragment, FRAGMENT_CALLERS,
				     report->metric, report->selection, has_callers ? 0 : 1);

	if (err)
		return err;
	return fragment_tree_init(&answer->callees, report->tree, fragment, FRAGMENT_CALLEES,
				  report->metric, report->selection, has_callers ? 1 : 0);
}

static int make_table(struct report_answer *answer)
{
	const struct report *report = answer->report;

	if (report->groups_sleepers) {
		int err = sleepers_find(report->tree->profile, report->metric, report->selection,
					&answer->sleepers);

		if (err)
			return err;
	}
	return sleepers_group(&answer->sleepers, report->tree, report->metric, report->selection,
			      &answer->table);
}

static int answer_table(struct report_answer *answer)
{
	int err = make_table(answer);

	if (!err && answer->report->sorts_by_total)
		flat_table_sort_by_total(&answer->table);
	return err;
}

static int answer_question(struct report_answer *answer)
{
	const struct report *report = answer->report;
	_cleanup_(fragment_release) struct fragment fragment = {0};
	const struct wakers_opts wakers = {
		.metric = report->metric, .selection = report->selection, .fragment = &fragment};
	int err = fragment_init(&fragment, report->tree, report->fragment);

	if (err)
		return err;
	switch (report->question) {
	case REPORT_TABLE:
		return answer_table(answer);
	case REPORT_FRAGMENT:
		return add_callers_and_callees(answer, &fragment);
	case REPORT_WAKERS:
		return wakers_answer_init(&answer->wakers, report->tree, &wakers);
	case REPORT_CHAIN:
		return waker_chain_init(&answer->chain, report->tree, &wakers);
	}
	return 0;
}

int report_answer_init(struct report_answer *answer, const struct report *report)
{
	int err;

	*answer = (struct report_answer){.report = report};
	err = sum_metrics(answer);
	if (err)
		return err;
	return answer_question(answer);
}

void report_answer_release(struct report_answer *answer)
{
	free(answer->sums);
	flat_table_release(&answer->table);
	sleepers_release(&answer->sleepers);
	fragment_tree_release(&answer->callers);
	fragment_tree_release(&answer->callees);
	wakers_answer_release(&answer->wakers);
	waker_chain_release(&answer->chain);
}
