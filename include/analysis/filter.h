/*
 * Filters: they select the samples to look at.
 *
 * A filter is a kind and a pattern; it passes, or excludes, the samples that match. Patterns are
 * matched against names. Every distinct name, frame and stack is matched only once, so a filter
 * costs little even with a million samples.
 *
 * Pure: no I/O.
 */
#ifndef ANALYSIS_FILTER_H
#define ANALYSIS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/frame_tree.h"
#include "base/attributes.h"
#include "base/error.h"

/* The property of a sample that is matched. */
enum filter_kind {
	FILTER_FUNCTION, /* name of any frame, with or without the mark of its kind (foo, foo_[k]) or its
			    file and line (foo, a.rb:5:foo) */
	FILTER_FRAGMENT, /* frames joined by `;`, or a thread and the start of its stacks, as in
			    folded text; /…/ is matched against all frames of the stack */
	FILTER_THREAD,   /* name, id in decimal, or one of the labels of thread_label.h */
	FILTER_PROCESS,  /* name, or id in decimal */
	FILTER_FILE,     /* the input, or the source file of any frame; path or base name */
	FILTER_MODULE,   /* mapped file or kernel module of any frame; path or base name */
};

struct filter;

/* "function", …; NULL for a kind beyond the last. */
const char *filter_kind_get_name(enum filter_kind kind);

/*
 * text      "KIND:PATTERN", as in "function:main"; a PATTERN between slashes is a regular
 *           expression (src/analysis/regex.h), which matches anywhere unless it has anchors
 * excludes  exclude samples that match, instead of passing only these
 *
 * Returns 0, -ENOMEM, or -EINVAL with the reason in error.
 */
_must_check_ int filter_new(const char *text, bool excludes, struct filter **ret,
			    struct error *error);
void filter_free(struct filter *filter);

/*
 * Whether a filter of the kind function matches a function of this name.
 *
 * annotation  "_[k]" or another mark of its kind, which the pattern may have, or ""
 */
bool filter_matches_function(const struct filter *filter, const char *name, const char *annotation);

/* Whether the pattern is the text, or matches in it, whatever the kind of the filter. */
bool filter_matches_text(const struct filter *filter, const char *text);

/* A set of samples of one profile. */
struct selection {
	uint8_t *is_selected; /* by sample: 0 or 1 */
	uint32_t num_samples;
	/*
	 * The selected part of each sample's weight, for callers that need it; NULL: all. Borrowed.
	 */
	const uint64_t *values;
};

/*
 * The samples that pass all filters; without a filter, all samples.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int selection_init(struct selection *selection, const struct frame_tree *tree,
				struct filter *const *filters, size_t num_filters);
void selection_release(struct selection *selection);

/* A selection of NULL contains every sample. */
static inline bool selection_contains(const struct selection *selection, uint32_t sample)
{
	return !selection || selection->is_selected[sample];
}

static inline uint64_t selection_get_value(const struct selection *selection,
					   const struct profile *profile, uint32_t sample)
{
	return selection && selection->values ? selection->values[sample]
					      : profile_get_sample(profile, sample)->value;
}

#endif
