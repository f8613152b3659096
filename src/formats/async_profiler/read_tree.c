/*
 * Up to version 2.9:  <li><div>[0] 79.69% 1,180 self: 0.00% 0</div><span class="t1"> main</span>
 * From 3.0 on:        <li><div>79.69% [1,180] &#8226; self: 0.00% [0]</div> <span
 * class="t1">main</span>
 *
 * Version 1 calls its colors by their names. Without children the div has a class.
 */
#include "formats/async_profiler/read_tree.h"

#include <string.h>

#include "base/array.h"

static struct piece after(struct piece piece, const char *mark)
{
	const char *found = memmem(piece.start, piece.length, mark, strlen(mark));
	const char *start = found ? found + strlen(mark) : piece.start + piece.length;

	return (struct piece){start, (size_t)(piece.start + piece.length - start)};
}

/* 1,234,567 at the beginning; false when there is no digit, or more than 64 bits hold. */
static bool parse_count(struct piece text, uint64_t *ret)
{
	uint64_t count = 0;
	size_t i = 0;

	for (; i < text.length; i++) {
		char c = text.start[i];

		if (c == ',' && i)
			continue;
		if (c < '0' || c > '9')
			break;
		if (__builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, c - '0', &count))
			return false;
	}
	*ret = count;
	return i > 0;
}

/* What follows the next share: "79.69% 1,180" or "79.69% [1,180]". */
static bool parse_share(struct piece text, uint64_t *ret)
{
	struct piece count = piece_trim(after(text, "%"));

	if (count.length && count.start[0] == '[')
		count = (struct piece){count.start + 1, count.length - 1};
	return parse_count(count, ret);
}

static uint8_t parse_type(struct piece class)
{
	static const char *const colors[] = {"green\"", "aqua\"", "brown\"", "yellow\"", "red\""};

	for (uint8_t i = 0; i < ARRAY_LENGTH(colors); i++)
		if (piece_starts_with(class, colors[i]))
			return i;
	return class.length > 1 && class.start[0] == 't' ? (uint8_t)((class.start[1] - '0') & 7)
							 : 0;
}

bool async_profiler_tree_parse_frame(struct piece line, struct async_profiler_tree_frame *ret)
{
	static const char end_of_name[] = "</span>";
	struct piece class = after(line, "<span class=\"");
	struct piece name = after(class, ">");
	struct piece self = after(line, " self: ");

	if (!piece_starts_with(line, "<li><div") || !piece_ends_with(name, end_of_name) ||
	    !parse_share(after(line, ">"), &ret->total))
		return false;
	ret->has_self = self.start < class.start && parse_share(self, &ret->self);
	if (!ret->has_self)
		ret->self = 0;
	ret->type = parse_type(class);
	ret->name = (struct piece){name.start, name.length - strlen(end_of_name)};
	return true;
}

bool async_profiler_tree_parse_total(struct piece line, struct piece *ret_units,
				     uint64_t *ret_total)
{
	struct piece units = after(line, " view, total ");
	struct piece total = after(units, ": ");

	if (!parse_count(total, ret_total))
		return false;
	units.length = (size_t)(total.start - units.start) - strlen(": ");
	*ret_units = units;
	return true;
}
