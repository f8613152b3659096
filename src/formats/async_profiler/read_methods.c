/*
 * The methods of a heat map: class and name are numbers of strings, which the page has as a list.
 * Names are put together when a sample needs them, as the page's script does.
 *
 * async-profiler makes a thread of a frame: "[main tid=7]" is the first "method" of its stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/async_profiler/read_heatmap.h"
#include "formats/async_profiler/read_titles.h"
#include "formats/reader.h"
#include "timeline/timeline.h"

/* More than any real page has, beside its own size: a few long strings may name many methods. */
#define MAX_NAME_BYTES 16777216

#define NO_LINE       0xffff
#define CLASSLESS_MIN 3 /* native, C++ and kernel frames: in some versions the class is hidden */
#define CLASSLESS_MAX 5

int async_profiler_heatmap_fail(struct import *import, const void *at, const char *expected)
{
	return import_fail_byte(import, (uint64_t)((const uint8_t *)at - import->data),
				"expected %s of a heat map", expected);
}

bool async_profiler_find_after(struct slice page, const char *mark, struct slice *ret)
{
	const char *found = memmem(page.start, page.length, mark, strlen(mark));

	if (!found)
		return false;
	found += strlen(mark);
	*ret = (struct slice){found, (size_t)(page.start + page.length - found)};
	return true;
}

/* The digits between S and E. */
int async_profiler_methods_find_digits(const struct async_profiler_methods *methods,
				       const char *mark, struct async_profiler_packed *ret)
{
	struct slice text = methods->page;
	const char *end = NULL;

	if (async_profiler_find_after(methods->page, mark, &text))
		end = memmem(text.start, text.length, "</pre>", strlen("</pre>"));
	if (!end || end - text.start < 2 || text.start[0] != 'S' || end[-1] != 'E')
		return async_profiler_heatmap_fail(methods->import, text.start, "the data");
	*ret = (struct async_profiler_packed){(const uint8_t *)text.start + 1,
					      (const uint8_t *)end - 1};
	return 0;
}

/*
 * let cpool = ["java/lang/Thread","run",]; a list in JavaScript. Strings are found by their
 * quotes, and stay in the page.
 */
static int read_strings(struct async_profiler_methods *methods)
{
	struct slice text;
	size_t *offset;

	if (!async_profiler_find_after(methods->page, "let cpool = [", &text))
		return async_profiler_heatmap_fail(methods->import, methods->page.start,
						   "the names");
	for (size_t i = 0; i < text.length; i++) {
		if (text.start[i] == ']')
			return 0;
		if (text.start[i] != '"')
			continue;
		offset = array_add(&methods->strings);
		if (!offset)
			return -ENOMEM;
		*offset = (size_t)(text.start + i - methods->page.start);
		for (i++; i < text.length && text.start[i] != '"'; i++)
			i += text.start[i] == '\\';
	}
	return async_profiler_heatmap_fail(methods->import, text.start + text.length,
					   "the end of the names");
}

/*
 * The numbers of a method, one behind the other in a packed form (unpack.c); line and type have a
 * fixed width.
 */
static int read_methods(struct async_profiler_methods *methods)
{
	struct async_profiler_packed data;
	uint32_t ignored;
	uint32_t count;
	uint32_t type;
	int err = async_profiler_methods_find_digits(methods, "<pre id=\"methods\">", &data);

	if (err)
		return err;
	if (!async_profiler_packed_take_digit(&data, &ignored) ||
	    !async_profiler_packed_take_number(&data, &count))
		return async_profiler_heatmap_fail(methods->import, data.next,
						   "the number of methods");
	while (count--) {
		struct async_profiler_method *method = array_add(&methods->items);

		if (!method)
			return -ENOMEM;
		if (!async_profiler_packed_take_number(&data, &method->class) ||
		    !async_profiler_packed_take_number(&data, &method->name) ||
		    !async_profiler_packed_take_bits(&data, 3, &ignored) ||
		    !async_profiler_packed_take_bits(&data, 3, &method->line) ||
		    !async_profiler_packed_take_bits(&data, 1, &type))
			return async_profiler_heatmap_fail(methods->import, data.next, "a method");
		method->type = (uint8_t)type;
	}
	return 0;
}

/* Nothing for a number that no string has. */
static void append_string(const struct async_profiler_methods *methods, uint32_t number,
			  struct text *text)
{
	const char *end = methods->page.start + methods->page.length;
	const char *at;

	number -= methods->numbers_from_1; /* 0, no string, wraps to a number that none has */
	if (number >= methods->strings.length)
		return;
	at = methods->page.start + methods->strings.items[number] + 1;
	for (; at < end && *at != '"'; at++) {
		at += *at == '\\' && at + 1 < end;
		text_append_char(text, *at);
	}
}

/* Class, dot, method; either may be missing. The page's script decides which classes it hides. */
static int make_name(struct async_profiler_methods *methods,
		     const struct async_profiler_method *method, struct text *name,
		     bool *ret_is_class)
{
	_cleanup_(text_release) struct text last = {0};

	append_string(methods, method->class, name);
	append_string(methods, method->name, &last);
	*ret_is_class = !last.length;
	if (last.length) {
		if (methods->hides_classes && method->type >= CLASSLESS_MIN &&
		    method->type <= CLASSLESS_MAX)
			text_truncate(name, 0);
		if (name->length)
			text_append_char(name, '.');
		text_append(name, last.data, last.length);
	}
	text_append_string(name, "");
	if (name->failed || last.failed)
		return -ENOMEM;
	methods->name_bytes += name->length;
	if (methods->name_bytes > MAX_NAME_BYTES + methods->page.length)
		return async_profiler_heatmap_fail(methods->import, methods->import->data,
						   "shorter names");
	return 0;
}

/* Adds it to the only process: the page has no others. */
static int add_thread(struct async_profiler_methods *methods, struct slice comm, uint32_t tid,
		      uint32_t *ret)
{
	struct profile *profile = methods->import->profile;
	uint32_t anonymous = methods->threads.items[0].profile;
	struct thread thread = {.source = methods->import->source,
				.tid = tid,
				.process = profile_get_thread(profile, anonymous)->process};
	struct async_profiler_thread *added = array_add(&methods->threads);
	int err;

	if (!added)
		return -ENOMEM;
	err = string_table_add(profile_get_strings(profile), comm.start, comm.length, &thread.comm);
	added->timeline = TIMELINE_NONE;
	added->tid = tid;
	*ret = (uint32_t)(methods->threads.length - 1);
	if (err)
		return err;
	return profile_add_thread(profile, &thread, &added->profile);
}

static int add_location(struct async_profiler_methods *methods,
			struct async_profiler_method *method, const struct text *name,
			bool is_class)
{
	struct profile *profile = methods->import->profile;
	struct frame frame = {.line = method->line == NO_LINE ? 0 : method->line};
	/*
	 * A class without a method is the kind of an allocation or a wait: its type is only a
	 * colour.
	 */
	int err = is_class ? 0 : async_profiler_set_kind(profile, method->type, &frame);

	if (err)
		return err;
	err = profile_add_frame_name(profile, name->data, name->length, &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	return profile_add_frame_location(profile, &frame, &method->location);
}

static int make_method(struct async_profiler_methods *methods, struct async_profiler_method *method)
{
	_cleanup_(text_release) struct text name = {0};
	struct slice comm;
	uint32_t tid;
	bool is_class;
	int err = make_name(methods, method, &name, &is_class);

	method->is_found = true;
	method->location = ASYNC_PROFILER_NO_LOCATION;
	if (err)
		return err;
	if (method->is_start &&
	    async_profiler_parse_thread((struct slice){name.data, name.length}, &comm, &tid))
		return add_thread(methods, comm, tid, &method->thread);
	return add_location(methods, method, &name, is_class);
}

int async_profiler_methods_find(struct async_profiler_methods *methods, uint32_t number,
				struct async_profiler_method *ret)
{
	struct async_profiler_method *method = &methods->items.items[number - 1];
	int err = method->is_found ? 0 : make_method(methods, method);

	*ret = *method;
	return err;
}

int async_profiler_methods_init(struct async_profiler_methods *methods, struct import *import)
{
	struct async_profiler_thread *anonymous = array_add(&methods->threads);
	int err = anonymous ? reader_add_anonymous_thread(import, &anonymous->profile) : -ENOMEM;

	if (err)
		return err;
	anonymous->timeline = TIMELINE_NONE;
	methods->import = import;
	methods->page = (struct slice){(const char *)import->data, import->size};
	/* Versions differ in these two points, and the page's own script shows which it is. */
	methods->numbers_from_1 = slice_contains(methods->page, "cpool[className - 1]");
	methods->hides_classes = slice_contains(methods->page, "if (type >= 3 && type <= 5)");
	err = read_strings(methods);
	if (err)
		return err;
	return read_methods(methods);
}

void async_profiler_methods_release(struct async_profiler_methods *methods)
{
	array_release(&methods->strings);
	array_release(&methods->items);
	array_release(&methods->threads);
}
