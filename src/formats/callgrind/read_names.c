/*
 * Reading callgrind's profiles: compressed names, and the functions that they make up.
 *
 * "(12) memcpy" defines a number and uses the name at once, "(12)" uses it again, and a plain name
 * has no number. A number may be defined a second time, as when Xdebug appends to a file: then the
 * newer name counts from there on.
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "formats/callgrind/read.h"

#define UNKNOWN "???"

void callgrind_names_release(struct callgrind_names *names)
{
	callgrind_name_table_release(&names->table);
	processes_release(&names->processes);
}

int callgrind_add_string(struct callgrind_names *names, struct slice slice, uint32_t *ret)
{
	return string_table_add(profile_get_strings(names->import->profile), slice.start,
				slice.length, ret);
}

/* "name", "(1) name", or "(1)" for a name that was defined before. */
int callgrind_read_name(struct callgrind_names *names, struct slice text,
			enum callgrind_name_kind kind, uint32_t *ret)
{
	struct callgrind_name name = {.kind = kind};
	const char *end = text.length ? memchr(text.start, ')', text.length) : NULL;
	uint32_t found;
	int err;

	if (!end || text.start[0] != '(' ||
	    !parse_u64(text.start + 1, (size_t)(end - text.start) - 1, &name.id))
		return callgrind_add_string(names, text, ret);
	text.length -= (size_t)(end - text.start) + 1;
	text.start = end + 1;
	text = slice_trim(text);
	found = callgrind_name_table_find(&names->table, &name);
	if (!text.length && found == HASH_INDEX_NONE) {
		*ret = STRING_EMPTY;
		return reader_skip_line(names->import, names->line, "a number without a name");
	}
	if (!text.length) {
		*ret = names->table.items[found].string;
		return 0;
	}
	err = callgrind_add_string(names, text, &name.string);
	*ret = name.string;
	if (err)
		return err;
	if (found != HASH_INDEX_NONE) {
		names->table.items[found].string = name.string;
		return 0;
	}
	return callgrind_name_table_add(&names->table, &name, &found);
}

static int find_thread(struct callgrind_names *names)
{
	struct profile *profile = names->import->profile;
	struct thread thread = {
		.tid = (uint32_t)(names->tid ? names->tid : names->pid),
		.comm = names->comm,
		.source = names->import->source,
	};
	int err;

	if (names->has_thread)
		return 0;
	names->has_thread = true;
	err = reader_find_process(&names->processes, profile, (uint32_t)names->pid, names->comm,
				  &thread.process);
	if (err)
		return err;
	return profile_add_thread(profile, &thread, &names->thread);
}

/* The base name of an object's path; "???" is callgrind's word for unknown. */
static int add_module(struct callgrind_names *names, uint32_t object, uint32_t *ret)
{
	const char *path = profile_get_string(names->import->profile, object);

	*ret = STRING_EMPTY;
	return string_equals(path, UNKNOWN)
		       ? 0
		       : profile_add_string(names->import->profile, path_basename(path), ret);
}

int callgrind_find_named(struct callgrind_names *names, uint32_t object, uint32_t file,
			 uint32_t name, uint32_t *ret)
{
	struct profile *profile = names->import->profile;
	struct frame frame = {.file = file};
	uint32_t location;
	int err = find_thread(names);

	if (err)
		return err;
	err = add_module(names, object, &frame.module);
	if (string_equals(profile_get_string(profile, file), UNKNOWN))
		frame.file = STRING_EMPTY;
	if (err)
		return err;
	err = profile_add_frame_name(profile, profile_get_string(profile, name),
				     profile_get_string_length(profile, name), &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	err = profile_add_frame_location(profile, &frame, &location);
	if (err)
		return err;
	return callgrind_find_function(names->graph, names->thread, location, ret);
}
