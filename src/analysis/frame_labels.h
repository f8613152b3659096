/*
 * Frames as in folded text: the name, with its annotation, fit for a line. Equal labels have equal
 * ids.
 *
 * Pure: no I/O. Most labels are names of the profile as they are; only the others take memory.
 */
#ifndef ANALYSIS_FRAME_LABELS_H
#define ANALYSIS_FRAME_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

struct frame_labels {
	const struct profile *profile; /* borrowed; no string may be added to it meanwhile */
	bool no_annotations;
	struct string_table *own;
	uint32_t *by_frame;
	struct text text;
};

/* Returns 0 or -ENOMEM. */
_must_check_ int frame_labels_init(struct frame_labels *labels, const struct profile *profile,
				   bool no_annotations);
void frame_labels_release(struct frame_labels *labels);

/* The label of a frame of the profile. Returns 0 or -ENOMEM. */
_must_check_ int frame_labels_add_frame(struct frame_labels *labels, uint32_t frame, uint32_t *ret);
/* The label with this text; `;` becomes `:`, a line end a blank. Returns 0 or -ENOMEM. */
_must_check_ int frame_labels_add_text(struct frame_labels *labels, const char *text, size_t length,
				       uint32_t *ret);

/* Borrowed until frame_labels_release(); ret_length in bytes. */
const char *frame_labels_get(const struct frame_labels *labels, uint32_t label, size_t *ret_length);
/*
 * The kind of each label: that of its first frame, or FRAME_USER.
 *
 * ret  by label, enum frame_kind; the caller frees it, and adds no label as long as it is in use
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int frame_labels_find_kinds(const struct frame_labels *labels, uint8_t **ret);
/* Ids run from 0 to this number minus 1; not every one is in use. */
uint32_t frame_labels_get_count(const struct frame_labels *labels);

#endif
