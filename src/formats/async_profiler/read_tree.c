/*
 * A frame of a call tree is a line:
 *
 *	up to version 2.9:
 *	<li><div>[0] 79.69% 1,180 self: 0.00% 0</div><span class="t1"> main</span>
 *	from version 3.0 on:
 *	<li><div>79.69% [1,180] &#8226; self: 0.00% [0]</div> <span class="t1">main</span>
 *
 * Version 1 names its colours ("green") where later ones number them ("t1"). The div of a frame
 * without callees has a class as well. The callees follow in a nested <ul>.
 */
#include "formats/async_profiler/read_tree.h"

#include <string.h>

#include "base/array.h"

static struct slice after(struct slice slice, const char *mark)
{
	const char *found = memmem(slice.start, slice.length, mark, strlen(mark));
	const char *start = found ? found + strlen(mark) : slice.start + slice.length;

	return (struct slice){start, (size_t)(slice.start + slice.length - start)};
}

/* 1,234,567 at the start; false if there is no digit, or more than 64 bits hold. */
static bool parse_count(struct slice text, uint64_t *ret)
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

/* The count after the next share: "79.69% 1,180" or "79.69% [1,180]". */
static bool parse_share(struct slice text, uint64_t *ret)
{
	struct slice count = slice_trim(after(text, "%"));

	if (count.length && count.start[0] == '[')
		count = (struct slice){count.start + 1, count.length - 1};
	return parse_count(count, ret);
}

static uint8_t parse_type(struct slice class)
{
	static const char *const colors[] = {"green\"", "aqua\"", "brown\"", "yellow\"", "red\""};

	for (uint8_t i = 0; i < ARRAY_LENGTH(colors); i++)
		if (slice_starts_with(class, colors[i]))
			return i;
	return class.length > 1 && class.start[0] == 't' ? (uint8_t)((class.start[1] - '0') & 7)
							 : 0;
}

bool async_profiler_tree_parse_frame(struct slice line, struct async_profiler_tree_frame *ret)
{
	static const char end_of_name[] = "</span>";
	struct slice class = after(line, "<span class=\"");
	struct slice name = after(class, ">");
	struct slice self = after(line, " self: ");

	if (!slice_starts_with(line, "<li><div") || !slice_ends_with(name, end_of_name) ||
	    !parse_share(after(line, ">"), &ret->total))
		return false;
	ret->has_self = self.start < class.start && parse_share(self, &ret->self);
	if (!ret->has_self)
		ret->self = 0;
	ret->type = parse_type(class);
	ret->name = (struct slice){name.start, name.length - strlen(end_of_name)};
	return true;
}

bool async_profiler_tree_parse_total(struct slice line, struct slice *ret_units,
				     uint64_t *ret_total)
{
	struct slice units = after(line, " view, total ");
	struct slice total = after(units, ": ");

	if (!parse_count(total, ret_total))
		return false;
	units.length = (size_t)(total.start - units.start) - strlen(": ");
	*ret_units = units;
	return true;
}
