/*
 * The output of `stackwide report`: the flat table, callers and callees of a fragment, or the
 * wakers of waits in it; as text for people or as JSON for programs.
 */
#ifndef CLI_REPORT_REPORT_H
#define CLI_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "analysis/flat_table.h"
#include "analysis/fragment.h"
#include "analysis/frame_tree.h"
#include "analysis/sleepers.h"
#include "analysis/wakers.h"
#include "base/attributes.h"
#include "cli/options/terminal.h"
#include "formats/format.h"

enum report_question {
	REPORT_TABLE,
	REPORT_FRAGMENT, /* its callers and callees */
	REPORT_WAKERS,   /* the wakers of waits in it */
	REPORT_CHAIN,    /* and their wakers, in turn */
};

/* The question. */
struct report {
	enum report_question question;
	const struct frame_tree *tree;
	const struct selection *selection; /* NULL: all samples */
	uint32_t metric;
	size_t top;           /* maximum number of rows, or of children of a frame; 0: all */
	bool sorts_by_total;  /* of the flat table; else by self */
	bool groups_sleepers; /* one row in the flat table, excluded from their functions */
	const char *fragment; /* frames joined by `;`; NULL: REPORT_TABLE */
	enum fragment_direction direction; /* of the tree; both lists are shown anyway */
};

/* The answer. */
struct report_answer {
	const struct report *report;
	uint64_t *sums; /* by metric: weight of all selected samples */
	/* Set according to the question; the others are empty. */
	struct flat_table table;
	struct sleepers sleepers;     /* those grouped in it */
	struct fragment_tree callers; /* one level deep, unless it is the tree */
	struct fragment_tree callees;
	struct wakers_answer wakers;
	struct waker_chain chain;
};

/*
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weights of a metric together exceed 64 bits. May be
 * released in any case.
 */
_must_check_ int report_answer_init(struct report_answer *answer, const struct report *report);
void report_answer_release(struct report_answer *answer);

/* Each returns 0, -ENOMEM, or the error of the sink. */
_must_check_ int report_write_text(const struct report_answer *answer,
				   const struct terminal *terminal, const struct sink *sink);
_must_check_ int report_write_json(const struct report_answer *answer, const struct sink *sink);

#endif
