/*
 * Reading pprof's profile format: the frames that a profile asks its readers to drop, such as the
 * functions of an allocator in a profile of the heap.
 *
 * drop_frames and keep_frames are regular expressions of whole names of functions. A frame whose
 * name matches the first and not the second is dropped with all frames that it called. If it was
 * inlined, the functions around it stay. The outermost frames of a sample stay until one does not
 * match, so that no sample loses its whole stack.
 *
 * Source: Prune() in profile/prune.go of github.com/google/pprof.
 */
#include <errno.h>
#include <string.h>

#include "analysis/filter.h"
#include "base/text.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/read.h"

/* A longer name is kept: no real expression matches it. */
#define MAX_NAME_BYTES 16384

enum { UNKNOWN, KEPT, DROPPED }; /* by string */

/* A NUL would end the expression before its end. Returns 0, -ENOMEM or -EINVAL. */
static int compile(struct bytes pattern, struct filter **ret, struct error *error)
{
	static const char ignore_case[] = "(?i)";
	_cleanup_(text_release) struct text text = {0};
	const char *flag = "";

	if (memchr(pattern.data, '\0', pattern.size))
		return error_set(error, -EINVAL, "the regular expression contains a NUL");
	if (pattern.size >= strlen(ignore_case) &&
	    !memcmp(pattern.data, ignore_case, strlen(ignore_case))) {
		flag = ignore_case; /* must be at the start */
		pattern.data += strlen(ignore_case);
		pattern.size -= strlen(ignore_case);
	}
	text_printf(&text, "function:/%s^(", flag);
	text_append(&text, (const char *)pattern.data, pattern.size);
	text_append_string(&text, ")$/");
	return text.failed ? -ENOMEM : filter_new(text.data, false, ret, error);
}

static int compile_field(struct pprof_reader *reader, uint64_t string, const char *name,
			 struct filter **ret)
{
	struct error error = {0};
	struct bytes pattern;
	int err = pprof_index_get_string(&reader->index, string, name, 0, &pattern);

	if (err || !pattern.size)
		return err;
	err = compile(pattern, ret, &error);
	if (err == -EINVAL)
		import_warn(reader->import, "%s: %s; all frames are kept", name, error.message);
	return err;
}

int pprof_reader_prepare_pruning(struct pprof_reader *reader)
{
	struct pprof_pruning *pruning = &reader->pruning;
	struct bytes bytes = bytes_of(reader->import->data, reader->import->size);
	struct protobuf_field field;
	uint64_t drop = 0;
	uint64_t keep = 0;
	int err;

	if (reader->import->keeps_all_frames)
		return 0;
	while (protobuf_next(&bytes, &field)) {
		if (field.type == PROTOBUF_VARINT && field.number == PPROF_FIELD_DROP_FRAMES)
			drop = field.value;
		else if (field.type == PROTOBUF_VARINT && field.number == PPROF_FIELD_KEEP_FRAMES)
			keep = field.value;
	}
	if (!drop)
		return 0;
	err = compile_field(reader, drop, "drop_frames", &pruning->drop);
	if (err && err != -EINVAL)
		return err;
	if (pruning->drop)
		err = compile_field(reader, keep, "keep_frames", &pruning->keep);
	if (err == -EINVAL) {
		filter_free(pruning->drop);
		pruning->drop = NULL;
		return 0;
	}
	if (err || !pruning->drop)
		return err;
	pruning->strings = calloc((size_t)reader->index.num_strings + 1, 1);
	pruning->locations =
		calloc((size_t)reader->index.locations.count + 1, sizeof(*pruning->locations));
	return pruning->strings && pruning->locations ? 0 : -ENOMEM;
}

void pprof_reader_release_pruning(struct pprof_reader *reader)
{
	struct pprof_pruning *pruning = &reader->pruning;

	filter_free(pruning->drop);
	filter_free(pruning->keep);
	free(pruning->strings);
	free(pruning->locations);
	text_release(&pruning->name);
}

/* Without the dot of PowerPC's entry points and without the arguments. */
static void simplify(struct text *name)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	size_t start = name->length && name->data[0] == '.';
	size_t length = name->length;

	for (size_t i = start; i < length; i++) {
		size_t skipped = 0;

		for (size_t j = 0; j < ARRAY_LENGTH(reserved); j++)
			if (string_starts_with(name->data + i, reserved[j]))
				skipped = strlen(reserved[j]);
		if (skipped)
			i += skipped - 1;
		else if (name->data[i] == '(')
			length = i;
	}
	memmove(name->data, name->data + start, length - start);
	text_truncate(name, length - start);
}

static int find_is_dropped(struct pprof_reader *reader, uint64_t string, size_t offset,
			   uint8_t *ret)
{
	struct pprof_pruning *pruning = &reader->pruning;
	struct bytes name;
	int err =
		pprof_index_get_string(&reader->index, string, "a function's name", offset, &name);

	if (err)
		return err;
	*ret = KEPT;
	if (!name.size || name.size > MAX_NAME_BYTES)
		return 0;
	text_truncate(&pruning->name, 0);
	text_append(&pruning->name, (const char *)name.data, name.size);
	if (pruning->name.failed)
		return -ENOMEM;
	simplify(&pruning->name);
	if (filter_matches_text(pruning->drop, pruning->name.data) &&
	    (!pruning->keep || !filter_matches_text(pruning->keep, pruning->name.data)))
		*ret = DROPPED;
	return 0;
}

/* Whether the name of the function of a line is one to be dropped. */
static int match_line(struct pprof_reader *reader, struct bytes line, size_t offset,
		      bool *ret_is_dropped)
{
	enum { LINE_FUNCTION = 1, FUNCTION_NAME };
	struct protobuf_field field;
	uint64_t function = 0;
	uint64_t string = 0;
	uint32_t place;
	int err;

	*ret_is_dropped = false;
	while (protobuf_next(&line, &field))
		if (field.type == PROTOBUF_VARINT && field.number == LINE_FUNCTION)
			function = field.value;
	/* A broken location is reported when it is read. */
	if (!function || !pprof_table_find(&reader->index.functions, function, &place))
		return 0;
	offset = reader->index.functions.offsets[place];
	line = pprof_index_get_field(&reader->index, offset).body;
	while (protobuf_next(&line, &field))
		if (field.type == PROTOBUF_VARINT && field.number == FUNCTION_NAME)
			string = field.value;
	if (string >= reader->index.num_strings)
		return 0;
	if (reader->pruning.strings[string] == UNKNOWN) {
		err = find_is_dropped(reader, string, offset, &reader->pruning.strings[string]);
		if (err)
			return err;
	}
	*ret_is_dropped = reader->pruning.strings[string] == DROPPED;
	return 0;
}

static int match_location(struct pprof_reader *reader, uint32_t place, struct pprof_pruned *pruned)
{
	enum { LOCATION_LINE = 4 };
	size_t offset = reader->index.locations.offsets[place];
	struct bytes message = pprof_index_get_field(&reader->index, offset).body;
	struct protobuf_field field;

	*pruned = (struct pprof_pruned){.is_known = true};
	while (protobuf_next(&message, &field)) {
		bool is_dropped;
		int err;

		if (field.number != LOCATION_LINE || field.type != PROTOBUF_BYTES)
			continue;
		pruned->num_lines++;
		err = match_line(reader, field.body, offset, &is_dropped);
		if (err)
			return err;
		if (is_dropped)
			pruned->num_dropped = pruned->num_lines;
	}
	return 0;
}

static int find_pruned(struct pprof_reader *reader, uint64_t id, struct pprof_pruned *ret)
{
	struct pprof_pruned *pruned;
	uint32_t place;
	int err;

	*ret = (struct pprof_pruned){0};
	if (!pprof_table_find(&reader->index.locations, id, &place))
		return 0; /* reported when it is read */
	pruned = &reader->pruning.locations[place];
	if (!pruned->is_known) {
		err = match_location(reader, place, pruned);
		if (err)
			return err;
	}
	*ret = *pruned;
	return 0;
}

uint32_t pprof_reader_count_pruned_lines(const struct pprof_reader *reader, uint32_t place)
{
	const struct pprof_pruned *pruned;

	if (!reader->pruning.drop)
		return 0;
	pruned = &reader->pruning.locations[place];
	return pruned->num_dropped < pruned->num_lines ? pruned->num_dropped : 0;
}

int pprof_reader_prune(struct pprof_reader *reader, const uint64_t *ids, size_t num_ids,
		       size_t *ret_first)
{
	struct pprof_pruning *pruning = &reader->pruning;
	uint64_t num_frames = 0;
	size_t first = 0; /* of the locations that stay */
	bool has_kept = false;

	*ret_first = 0;
	if (!pruning->drop)
		return 0;
	for (size_t i = num_ids; i-- > 0;) {
		struct pprof_pruned pruned;
		bool is_whole;
		int err = find_pruned(reader, ids[i], &pruned);

		if (err)
			return err;
		is_whole = pruned.num_dropped && pruned.num_dropped == pruned.num_lines;
		if (i < first) { /* called by a dropped frame */
			num_frames += pruned.num_lines ? pruned.num_lines : 1;
		} else if (!pruned.num_dropped) {
			has_kept = true;
		} else if (is_whole && has_kept) {
			num_frames += pruned.num_lines;
			first = i + 1;
		} else if (!is_whole) {
			num_frames += pruned.num_dropped;
			if (has_kept)
				first = i;
		}
	}
	pruning->num_frames += num_frames;
	pruning->num_samples += num_frames > 0;
	*ret_first = first;
	return 0;
}
