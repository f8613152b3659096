/*
 * The table is sorted, so that titles start like the one before them. The first character of a line
 * encodes the number of common characters: ' ' plus that number, at most '~' - ' '. The first title
 * has none.
 */
#include "formats/async_profiler/read_titles.h"

#include <errno.h>
#include <string.h>

#include "formats/reader.h"

#define NO_NAME UINT32_MAX

void async_profiler_titles_release(struct async_profiler_titles *titles)
{
	text_release(&titles->text);
	array_release(&titles->offsets);
	array_release(&titles->names);
}

/*
 * A string of JavaScript in single quotes. The escaped characters depend on the version: quotes
 * always, backslashes if they are escaped themselves.
 */
bool async_profiler_take_string(const char *start, size_t length, bool has_backslashes,
				struct text *text)
{
	size_t i = 1;

	if (!length || start[0] != '\'')
		return false;
	for (; i < length && start[i] != '\''; i++) {
		i += start[i] == '\\' && i + 1 < length &&
		     (start[i + 1] == '\'' || (has_backslashes && start[i + 1] == '\\'));
		text_append_char(text, start[i]);
	}
	return i < length;
}

static const char *get_title(const struct async_profiler_titles *titles, size_t number,
			     size_t *ret_length)
{
	size_t start = titles->offsets.items[number];
	size_t end = number + 1 < titles->offsets.length ? titles->offsets.items[number + 1]
							 : titles->text.length;

	*ret_length = end - start;
	return titles->text.data ? titles->text.data + start : "";
}

/* own  the text of a line: the shared length as a character, and the rest; the first, the title */
static void append_title(struct async_profiler_titles *titles, const struct text *own)
{
	size_t count = titles->offsets.length;
	size_t shared = 0;
	size_t length = 0;
	size_t first = 0;

	if (count > 1) {
		first = titles->offsets.items[count - 2];
		length = titles->offsets.items[count - 1] - first;
		if (own->length && own->data[0] >= ' ')
			shared = (size_t)(own->data[0] - ' ');
	}
	for (size_t i = 0; i < shared && i < length; i++)
		text_append_char(&titles->text, titles->text.data[first + i]);
	if (own->length > (count > 1))
		text_append(&titles->text, own->data + (count > 1), own->length - (count > 1));
}

int async_profiler_titles_add(struct async_profiler_titles *titles, const char *line, size_t length)
{
	_cleanup_(text_release) struct text own = {0};
	bool is_string = async_profiler_take_string(line, length, true, &own);
	size_t *offset = array_add(&titles->offsets);
	uint32_t *name = array_add(&titles->names);

	if (!offset || !name)
		return -ENOMEM;
	*offset = titles->text.length;
	*name = NO_NAME;
	append_title(titles, &own);
	if (own.failed || titles->text.failed)
		return -ENOMEM;
	return is_string ? 0 : -EINVAL;
}

/* Names are made when a frame needs them: a table has unused titles. */
int async_profiler_titles_find(struct async_profiler_titles *titles, struct profile *profile,
			       uint32_t number, uint32_t *ret)
{
	uint32_t *name = &titles->names.items[number];
	size_t length;
	const char *title = get_title(titles, number, &length);
	int err = 0;

	if (*name == NO_NAME)
		err = profile_add_frame_name(profile, title, length, name);
	*ret = *name;
	return err;
}

/* "[main tid=7]": the last "tid=" counts, as a thread may be called anything. */
bool async_profiler_parse_thread(struct slice name, struct slice *ret_comm, uint32_t *ret_tid)
{
	const char *mark = NULL;
	uint64_t tid;

	if (name.length < 7 || name.start[0] != '[' || name.start[name.length - 1] != ']')
		return false;
	for (size_t i = 1; i + 4 < name.length; i++)
		if (memcmp(name.start + i, "tid=", 4) == 0)
			mark = name.start + i;
	if (!mark || !parse_u64(mark + 4, (size_t)(name.start + name.length - mark) - 5, &tid) ||
	    tid > UINT32_MAX || (mark > name.start + 1 && mark[-1] != ' '))
		return false;
	*ret_comm = slice_trim((struct slice){name.start + 1, (size_t)(mark - name.start) - 1});
	*ret_tid = (uint32_t)tid;
	return true;
}

/*
 * Types of async-profiler's frames: 0 interpreted, 1 compiled by JIT, 2 inlined, 3 native, 4 C++, 5
 * kernel, 6 compiled by C1.
 */
int async_profiler_set_kind(struct profile *profile, unsigned int type, struct frame *frame)
{
	static const unsigned int compiled = 1, inlined = 2, kernel = 5, compiled_too = 6;

	frame->is_inlined = type == inlined;
	if (type == compiled || type == compiled_too)
		frame->kind = FRAME_JIT;
	if (type != kernel)
		return 0;
	frame->kind = FRAME_KERNEL;
	return profile_add_string(profile, "[kernel]", &frame->module);
}
