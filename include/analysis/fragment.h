/*
 * Fragments: the callers of a sequence of frames, and its callees.
 *
 * A fragment is a list of frames, each called by the one before: a, or a -> b -> a. It may occur
 * several times in a stack, and occurrences may overlap. A stack that contains it counts once: its
 * caller is the caller of the *first* occurrence, its callee the callee of the *last*, and if the
 * last occurrence ends the stack, the stack's weight is the fragment's own. Therefore, for every
 * fragment, recursive or not,
 *
 *     sum of callers = inclusive = sum of callees + exclusive
 *
 * A stack that starts with the fragment counts for a caller of its own, FRAGMENT_NO_CALLER.
 *
 * A frame is given by its name, as `foo` or, with the mark of folded text, as `foo_[k]`; without
 * the mark any kind and module match. The fragment without frames is in every stack: its occurrence
 * is before the outermost frame for callees, and behind the innermost for callers.
 *
 * Pure: no I/O. Results borrow the profile.
 */
#ifndef ANALYSIS_FRAGMENT_H
#define ANALYSIS_FRAGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "analysis/frame_tree.h"
#include "analysis/occurrences.h"
#include "base/attributes.h"

/* A frame of a fragment. */
struct fragment_frame {
	uint32_t name;          /* as of frame_tree_get_name(); STRING_NONE: in no stack */
	const char *annotation; /* static; NULL: any */
};

struct fragment {
	struct fragment_frame *frames; /* outermost first */
	size_t num_frames;
};

/*
 * text  frames joined by `;`, outermost first; NULL is the fragment without frames (and "" one
 *       frame with an empty name, as folded text may have it)
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int fragment_init(struct fragment *fragment, const struct frame_tree *tree,
			       const char *text);
void fragment_release(struct fragment *fragment);

/*
 * Find the occurrences of a fragment in the tree; a fragment without frames has none. Returns 0 or
 * -ENOMEM.
 *
 * ret  zero before; the caller releases it in any case
 */
_must_check_ int fragment_find(const struct fragment *fragment, const struct frame_tree *tree,
			       struct occurrences *ret);

/*
 * Find the stacks that start with a fragment, by node of the tree. All stacks start with a fragment
 * without frames. Returns 0 or -ENOMEM.
 *
 * ret  has room for all nodes
 */
_must_check_ int fragment_find_starts(const struct fragment *fragment,
				      const struct frame_tree *tree, bool *ret);

enum fragment_direction {
	FRAGMENT_CALLERS, /* its callers: children are callers */
	FRAGMENT_CALLEES, /* its callees: children are callees */
};

/* The frames below or above a fragment, merged by name. */
struct fragment_node {
	uint32_t frame;        /* one with this name; may be FRAME_NONE */
	uint32_t parent;       /* a smaller index; for node 0: 0 */
	uint32_t first_child;  /* largest total first, then by name; 0: no child */
	uint32_t next_sibling; /* 0: no sibling */
	uint64_t total;        /* weight that passes through the node */
	uint64_t self;         /* of stacks that end here (callees) or start here (callers) */
};

/*
 * A node's children are consecutive. Node 0 is the fragment itself: its total is the inclusive
 * weight; its self weight is the exclusive one in the tree of callees, and that of
 * FRAGMENT_NO_CALLER in the tree of callers. The nodes below it are the fragment's callees or
 * callers.
 */
struct fragment_tree {
	struct fragment_node *nodes;
	size_t num_nodes;
};

#define FRAGMENT_NO_CALLER "[root]"

/*
 * metric, selection  selects samples, and the part of their weight; a selection of NULL is all of
 *                    them
 * max_depth          number of levels below node 0. Deeper weight counts as self weight of the last
 *                    level; 0: all
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the sum of the weights exceeds 64 bits.
 */
_must_check_ int fragment_tree_init(struct fragment_tree *ret, const struct frame_tree *tree,
				    const struct fragment *fragment,
				    enum fragment_direction direction, uint32_t metric,
				    const struct selection *selection, size_t max_depth);
void fragment_tree_release(struct fragment_tree *tree);

#endif
