/*
 * Ids below the number of the profile's strings are these strings; the others are our own. A text
 * that is a string of the profile is never among our own, so that equal labels have one id.
 */
#include "analysis/frame_labels.h"

#include <errno.h>

#include "analysis/frame_tree.h"

#define NOT_MADE UINT32_MAX

int frame_labels_init(struct frame_labels *labels, const struct profile *profile,
		      bool no_annotations)
{
	uint32_t count = profile_count_frames(profile);

	*labels = (struct frame_labels){
		.profile = profile,
		.no_annotations = no_annotations,
		.own = string_table_new(),
		.by_frame = calloc(count ? count : 1, sizeof(*labels->by_frame)),
	};
	if (!labels->own || !labels->by_frame)
		return -ENOMEM;
	memset(labels->by_frame, 0xff, count * sizeof(*labels->by_frame)); /* NOT_MADE */
	return 0;
}

void frame_labels_release(struct frame_labels *labels)
{
	string_table_free(labels->own);
	free(labels->by_frame);
	text_release(&labels->text);
	*labels = (struct frame_labels){0};
}

/* Whether `;` or line ends would break a folded line. */
static bool breaks_line(const char *text, size_t length)
{
	return memchr(text, ';', length) || memchr(text, '\n', length);
}

static int add_clean_text(struct frame_labels *labels, const char *text, size_t length,
			  uint32_t *ret)
{
	uint32_t num_strings = profile_count_strings(labels->profile);
	uint32_t id = profile_find_string(labels->profile, text, length);
	int err = 0;

	if (id == STRING_NONE) {
		err = string_table_add(labels->own, text, length, &id);
		id += num_strings;
	}
	if (err)
		return err;
	*ret = id;
	return 0;
}

/* Add labels->text. */
static int clean_and_add(struct frame_labels *labels, uint32_t *ret)
{
	struct text *text = &labels->text;

	if (text->failed)
		return -ENOMEM;
	for (size_t i = 0; i < text->length; i++) {
		if (text->data[i] == ';')
			text->data[i] = ':';
		else if (text->data[i] == '\n')
			text->data[i] = ' ';
	}
	return add_clean_text(labels, text->data, text->length, ret);
}

int frame_labels_add_text(struct frame_labels *labels, const char *text, size_t length,
			  uint32_t *ret)
{
	text_truncate(&labels->text, 0);
	text_append(&labels->text, text, length);
	return clean_and_add(labels, ret);
}

/* Most names need no change: their label is the name's own string, without a copy. */
int frame_labels_add_frame(struct frame_labels *labels, uint32_t id, uint32_t *ret)
{
	const struct frame *frame = profile_get_frame(labels->profile, id);
	const char *name = profile_get_string(labels->profile, frame->name);
	size_t length = profile_get_string_length(labels->profile, frame->name);
	const char *annotation = labels->no_annotations ? "" : frame_get_annotation(frame);
	int err = 0;

	if (labels->by_frame[id] == NOT_MADE && !*annotation && !breaks_line(name, length))
		labels->by_frame[id] = frame->name;
	if (labels->by_frame[id] == NOT_MADE) {
		text_truncate(&labels->text, 0);
		text_append(&labels->text, name, length);
		text_append_string(&labels->text, annotation);
		err = clean_and_add(labels, &labels->by_frame[id]);
	}
	*ret = labels->by_frame[id];
	return err;
}

const char *frame_labels_get(const struct frame_labels *labels, uint32_t label, size_t *ret_length)
{
	uint32_t num_strings = profile_count_strings(labels->profile);

	if (label < num_strings) {
		*ret_length = profile_get_string_length(labels->profile, label);
		return profile_get_string(labels->profile, label);
	}
	*ret_length = string_table_get_length(labels->own, label - num_strings);
	return string_table_get(labels->own, label - num_strings);
}

/* Number of ids, not of labels: many of the profile's strings are not labels. */
uint32_t frame_labels_get_count(const struct frame_labels *labels)
{
	return profile_count_strings(labels->profile) + string_table_get_count(labels->own);
}

int frame_labels_find_kinds(const struct frame_labels *labels, uint8_t **ret)
{
	uint8_t *kinds = calloc(frame_labels_get_count(labels), sizeof(*kinds));

	if (!kinds)
		return -ENOMEM;
	for (uint32_t i = profile_count_frames(labels->profile); i-- > 0;)
		if (labels->by_frame[i] != NOT_MADE)
			kinds[labels->by_frame[i]] = profile_get_frame(labels->profile, i)->kind;
	*ret = kinds;
	return 0;
}
