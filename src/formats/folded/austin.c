#include "formats/folded/austin.h"

#include "formats/slice.h"

/* It has half a dozen. */
#define MAX_HEAD_LINES 64

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take "# KEY: " off the line; the key is a word of small letters. */
static bool take_key(struct slice *line, struct slice *ret_key)
{
	size_t end = 2;

	if (!slice_starts_with(*line, "# "))
		return false;
	while (end < line->length &&
	       ((line->start[end] >= 'a' && line->start[end] <= 'z') || line->start[end] == '_'))
		end++;
	*ret_key = (struct slice){line->start + 2, end - 2};
	if (!ret_key->length || end + 1 >= line->length || line->start[end] != ':' ||
	    line->start[end + 1] != ' ')
		return false;
	line->start += end + 2;
	line->length -= end + 2;
	return true;
}

/* "3.7.0", and nothing behind it: "# austin: 3.7 5" is a stack. */
static bool is_version(struct slice text)
{
	size_t num_dots = 0;

	for (size_t i = 0; i < text.length; i++) {
		num_dots += text.start[i] == '.';
		if (!is_digit(text.start[i]) && text.start[i] != '.')
			return false;
	}
	return num_dots && is_digit(text.start[0]);
}

/* "wall", and no number behind it. */
static bool is_word(struct slice text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.start[i] < 'a' || text.start[i] > 'z')
			return false;
	return text.length;
}

/* "P42;T0:7f10;…" */
static bool has_process_and_thread(struct slice line)
{
	size_t digits = 1;

	if (!line.length || line.start[0] != 'P')
		return false;
	while (digits < line.length && is_digit(line.start[digits]))
		digits++;
	return digits > 1 && digits + 1 < line.length && line.start[digits] == ';' &&
	       line.start[digits + 1] == 'T';
}

/*
 * We never write the lines that decide: folded text that is read and written again is read as
 * folded text again.
 */
bool austin_detect(const uint8_t *data, size_t size)
{
	struct lines lines = lines_of(data, size);
	bool has_mode = false;
	struct slice line;
	struct slice key;

	while (lines.number < MAX_HEAD_LINES && lines_take(&lines, &line)) {
		line = slice_trim(line);
		if (!line.length)
			continue;
		if (!take_key(&line, &key))
			return has_mode && has_process_and_thread(line);
		if (slice_equals(key, "austin") && is_version(line))
			return true;
		has_mode = has_mode || (slice_equals(key, "mode") && is_word(line));
	}
	return false;
}

bool austin_is_metadata(const uint8_t *line, size_t size)
{
	struct slice rest = {(const char *)line, size};
	struct slice key;

	return take_key(&rest, &key);
}
