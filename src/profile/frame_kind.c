#include "profile/frame_kind.h"

#include <assert.h>
#include <string.h>

#define INFO(name, word, mark, category, color, number, type) \
	[FRAME_##name] = {word, mark, category, color, number, type},
const struct frame_kind_info frame_kinds[NUM_FRAME_KINDS] = {FRAME_KINDS(INFO)};
#undef INFO

enum frame_kind frame_kind_find_perfetto(uint64_t number)
{
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++)
		if (number == frame_kinds[kind].perfetto_number)
			return kind;
	return FRAME_USER;
}

enum frame_kind frame_kind_find_type(const char *type, enum frame_kind other)
{
	for (enum frame_kind kind = 0; kind < NUM_FRAME_KINDS; kind++)
		if (*type && strcmp(type, frame_kinds[kind].type) == 0)
			return kind;
	return other;
}

uint8_t frame_kind_get_mark(uint8_t kind, bool is_inlined)
{
	if (is_inlined && kind != FRAME_KERNEL)
		return FRAME_MARK_INLINED;
	return kind < FRAME_MARK_INLINED ? kind : FRAME_MARK_NONE;
}

const char *frame_mark_get_text(uint8_t mark)
{
	assert(mark < NUM_FRAME_MARKS);
	return mark == FRAME_MARK_INLINED ? "_[i]" : frame_kinds[mark].mark;
}

bool frame_mark_strip(const char *name, size_t *length, uint8_t *ret_mark)
{
	/*
	 * All marks end like this, and most names do not: a quick check for each frame of folded
	 * text.
	 */
	if (!*length || name[*length - 1] != ']')
		return false;
	for (uint8_t mark = 0; mark < NUM_FRAME_MARKS; mark++) {
		const char *text = frame_mark_get_text(mark);
		size_t size = strlen(text);

		if (!size || *length < size || memcmp(name + *length - size, text, size) != 0)
			continue;
		*length -= size;
		*ret_mark = mark;
		return true;
	}
	return false;
}
