/*
 * The call tree: every path of named frames with its weight. Frames with the same label under the
 * same caller are one node, whatever their addresses.
 *
 * Pure: from a profile, no I/O. Borrows the profile's strings and stacks: the profile must not
 * change while the tree is in use.
 */
#ifndef ANALYSIS_CALL_TREE_H
#define ANALYSIS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/thread_label.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct call_tree_opts {
	enum tree_root root;
	/* do not mark labels with _[k] kernel, _[i] inlined, _[j] JIT, and stacks with [truncated] */
	bool no_annotations;
	uint32_t metric;   /* metric of the samples in the tree */
	bool has_baseline; /* a comparison: includes the samples of a second metric */
	uint32_t baseline;
	bool keeps_samples; /* for call_tree_get_sample_node() */
	bool keeps_kinds;   /* for call_tree_get_kind() */
};

struct call_tree;

/*
 * Nodes have ids from 0, the root, to call_tree_get_count() minus 1; a parent's id is smaller
 * than its children's.
 */
#define CALL_TREE_ROOT 0u
#define CALL_TREE_NONE 0u /* no node: the root is nobody's child */

/*
 * Labels are fit for folded text: without `;` and line ends. thread_label.h describes the first
 * level of a thread's stacks.
 *
 * opts may be NULL. Returns 0, -ENOMEM, or -EOVERFLOW if the weight of equal stacks exceeds 64
 * bits.
 */
_must_check_ int call_tree_new(const struct profile *profile, const struct call_tree_opts *opts,
			       struct call_tree **ret);
void call_tree_free(struct call_tree *tree);
static inline void call_tree_freep(struct call_tree **tree)
{
	call_tree_free(*tree);
}

uint32_t call_tree_get_count(const struct call_tree *tree);
uint32_t call_tree_get_parent(const struct call_tree *tree, uint32_t node);
/* Borrowed until call_tree_free(); ret_length in bytes. */
const char *call_tree_get_label(const struct call_tree *tree, uint32_t node, size_t *ret_length);
/*
 * The children of a node in bytewise order of their labels, which are all different; then
 * CALL_TREE_NONE. A walk from the root visits every node that a stack ends at or leads through,
 * once:
 *
 *     for (child = call_tree_get_first_child(tree, node); child != CALL_TREE_NONE;
 *          child = call_tree_get_next_sibling(tree, child))
 */
uint32_t call_tree_get_first_child(const struct call_tree *tree, uint32_t node);
uint32_t call_tree_get_next_sibling(const struct call_tree *tree, uint32_t node);
/* Weight of the stacks that end here; may be 0. */
uint64_t call_tree_get_self(const struct call_tree *tree, uint32_t node);
/* The same in the baseline metric. */
uint64_t call_tree_get_baseline(const struct call_tree *tree, uint32_t node);
/* Weight of the stacks that end here or lead through here. */
uint64_t call_tree_get_total(const struct call_tree *tree, uint32_t node);
uint64_t call_tree_get_baseline_total(const struct call_tree *tree, uint32_t node);
/* Whether the sum of all weights exceeds 64 bits: then only the totals are wrong. */
bool call_tree_has_overflown_total(const struct call_tree *tree);
/* The end node of a sample of the metric or the baseline; with keeps_samples only. */
uint32_t call_tree_get_sample_node(const struct call_tree *tree, uint32_t sample);
/*
 * The kind of a frame with the node's label, enum frame_kind; with keeps_kinds only. If folded text
 * does not distinguish several kinds, the first one's; for a thread FRAME_USER.
 */
uint8_t call_tree_get_kind(const struct call_tree *tree, uint32_t node);
/* Whether a stack ends here, even with a weight of 0. */
bool call_tree_has_samples(const struct call_tree *tree, uint32_t node);

#endif
