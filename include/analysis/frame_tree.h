/*
 * The stacks of a profile with one node per frame: the base of all queries about frames.
 *
 * A stack is a chain of locations, and a location has several frames if calls were inlined there;
 * here each frame is a node of its own. Nodes are not merged: stacks that differ in an address have
 * nodes of their own, and sums are made by name. Made in one pass, without hashing, so that it
 * costs little even with a million stacks.
 *
 * Pure: no I/O. Borrows the profile, which must not change while the tree is in use.
 */
#ifndef ANALYSIS_FRAME_TREE_H
#define ANALYSIS_FRAME_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"

/* The root represents no frame; every outermost frame has it as parent. */
#define FRAME_TREE_ROOT 0u
/* The frame of a location that was not symbolized, and of the root. */
#define FRAME_NONE UINT32_MAX

struct frame_tree {
	const struct profile *profile;
	uint32_t num_nodes;    /* ids run from 0 to this number minus 1 */
	uint32_t *parents;     /* by node; the caller, always a smaller id */
	uint32_t *frames;      /* by node; a frame of the profile, or FRAME_NONE */
	uint32_t *stack_nodes; /* by stack of the profile: the node of its innermost frame */
	/* Links by node, in order of ids; FRAME_TREE_ROOT: none. */
	uint32_t *first_children;
	uint32_t *next_siblings;
	uint32_t unknown_name; /* of FRAME_NONE: "[unknown]" */
	uint32_t num_names;    /* all names are below; for arrays by name */
};

/* Returns 0 or -ENOMEM. */
_must_check_ int frame_tree_init(struct frame_tree *tree, const struct profile *profile);
void frame_tree_release(struct frame_tree *tree);

/* Names are strings of the profile, plus one if it lacks "[unknown]". Compare them by id. */
static inline uint32_t frame_tree_get_name(const struct frame_tree *tree, uint32_t frame)
{
	return frame == FRAME_NONE ? tree->unknown_name
				   : profile_get_frame(tree->profile, frame)->name;
}

/* The id of a name, or STRING_NONE. */
uint32_t frame_tree_find_name(const struct frame_tree *tree, const char *text, size_t length);

/* The name as text: borrowed from the profile, NUL-terminated. ret_length in bytes; may be NULL. */
const char *frame_tree_get_name_text(const struct frame_tree *tree, uint32_t frame,
				     size_t *ret_length);

/* The suffix of the name in folded text: the text of its mark. */
const char *frame_get_annotation(const struct frame *frame);

#endif
