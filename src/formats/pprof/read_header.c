/* Reading pprof's profile format: everything but samples and code. See read.c. */
#include <string.h>

#include "base/text.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/read.h"

/* Ours have about thirty. */
#define MAX_ACCOUNT_NAMES 256
#define MAX_ACCOUNT_NAME  64

/*
 * A ValueType: its two strings. Borrowed from the profile's string table. Both strings become
 * strings of the profile: metrics need them with a NUL.
 */
static int read_type(struct pprof_reader *reader, struct bytes message, size_t offset,
		     const char *ret[2])
{
	struct profile *profile = reader->import->profile;
	uint64_t strings[2] = {0};
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (field.type == PROTOBUF_VARINT && (field.number == 1 || field.number == 2))
			strings[field.number - 1] = field.value;
	for (int i = 0; i < 2; i++) {
		struct bytes string;
		uint32_t id;
		int err = pprof_index_get_string(&reader->index, strings[i], "a sample type",
						 offset, &string);

		if (err)
			return err;
		err = string_table_add(profile_get_strings(profile), (const char *)string.data,
				       string.size, &id);
		if (err)
			return err;
		ret[i] = profile_get_string(profile, id);
	}
	return 0;
}

/* Two types of the same name and unit become one metric: their values are added up. */
static int add_sample_type(struct pprof_reader *reader, struct bytes message, size_t offset)
{
	struct import *import = reader->import;
	const char *strings[2];
	int err;

	if (reader->num_metrics == PPROF_MAX_SAMPLE_TYPES)
		return import_fail_byte(import, offset, "more than %d sample types",
					PPROF_MAX_SAMPLE_TYPES);
	err = read_type(reader, message, offset, strings);
	if (err)
		return err;
	err = profile_add_metric(import->profile, strings[0], strings[1],
				 &reader->metrics[reader->num_metrics]);
	if (err)
		return err;
	reader->num_metrics++;
	return 0;
}

static bool starts_with(struct bytes comment, const char *word)
{
	size_t length = strlen(word);

	return comment.size >= length && !memcmp(comment.data, word, length);
}

/* The decimal number from there to the end, or 0. */
static uint64_t read_number(struct bytes comment, size_t start)
{
	uint64_t number = 0;

	for (size_t i = start; i < comment.size; i++) {
		if (comment.data[i] < '0' || comment.data[i] > '9' ||
		    __builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, comment.data[i] - (uint64_t)'0', &number))
			return 0;
	}
	return number;
}

/* The number that follows a word, or 0. */
static uint64_t read_count(struct bytes comment, const char *word)
{
	return starts_with(comment, word) ? read_number(comment, strlen(word)) : 0;
}

static bool is_in_account_name(uint8_t character)
{
	return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9') ||
	       character == '_' || character == '.';
}

/*
 * "account.NAME=COUNT". Comments are free text, so they are trusted only in files that stackwide
 * wrote. Names are checked letter by letter: they are shown to people, and written again.
 */
static int read_account(struct pprof_reader *reader, struct bytes comment)
{
	char name[MAX_ACCOUNT_NAME + 1] = {0};
	size_t start = strlen(PPROF_ACCOUNT);
	size_t length = 0;

	if (!reader->is_ours || !starts_with(comment, PPROF_ACCOUNT) ||
	    reader->num_account_names >= MAX_ACCOUNT_NAMES)
		return 0;
	while (start + length < comment.size && length < MAX_ACCOUNT_NAME &&
	       is_in_account_name(comment.data[start + length]))
		length++;
	if (!length || start + length >= comment.size || comment.data[start + length] != '=')
		return 0;
	memcpy(name, comment.data + start, length);
	/* Tallies with this prefix are made by the reader of this file. */
	if (string_starts_with(name, "import."))
		return 0;
	reader->num_account_names++;
	return profile_add_tally(reader->import->profile, reader->import->source, name,
				 read_number(comment, start + length + 1));
}

/* "NUMBER", and the text behind it; false: no number, or it is too large. */
static bool take_number(struct bytes *comment, uint64_t *ret)
{
	size_t start = comment->offset;

	*ret = 0;
	while (bytes_left(comment) && comment->data[comment->offset] >= '0' &&
	       comment->data[comment->offset] <= '9')
		if (__builtin_mul_overflow(*ret, 10u, ret) ||
		    __builtin_add_overflow(*ret, comment->data[comment->offset++] - (uint64_t)'0',
					   ret))
			return false;
	return comment->offset > start;
}

static bool take_word(struct bytes *comment, const char *word)
{
	size_t length = strlen(word);
	const void *taken = bytes_take(comment, length);

	return taken && !memcmp(taken, word, length);
}

/* "samples=COUNT of TOTAL NAME/UNIT"; several of one type are of files that were merged. */
static void read_sample_count(struct pprof_reader *reader, struct bytes comment)
{
	struct profile *profile = reader->import->profile;
	uint64_t count;
	uint64_t total;

	if (!reader->is_ours || !take_word(&comment, PPROF_SAMPLES) ||
	    !take_number(&comment, &count) || !take_word(&comment, " of ") ||
	    !take_number(&comment, &total) || !take_word(&comment, " "))
		return;
	for (size_t i = 0; i < reader->num_metrics; i++) {
		const struct metric *metric = profile_get_metric(profile, reader->metrics[i]);
		struct bytes rest = comment;

		if (take_word(&rest, profile_get_string(profile, metric->name)) &&
		    take_word(&rest, "/") &&
		    take_word(&rest, profile_get_string(profile, metric->unit)) &&
		    !bytes_left(&rest)) {
			reader->totals[i].num_samples += count;
			reader->totals[i].stated += total;
			return;
		}
	}
}

/*
 * A comment of another writer that starts with the same words would have to end in a number, too.
 */
static int read_comment(struct pprof_reader *reader, uint64_t index, size_t offset,
			struct sampling *sampling)
{
	struct bytes comment;
	int err = pprof_index_get_string(&reader->index, index, "a comment", offset, &comment);

	if (err)
		return err;
	reader->is_ours |= starts_with(comment, PPROF_COMMENT);
	sampling->complete_stacks += read_count(comment, PPROF_COMPLETE_STACKS);
	sampling->truncated_stacks += read_count(comment, PPROF_TRUNCATED_STACKS);
	sampling->lost_samples += read_count(comment, PPROF_LOST_SAMPLES);
	read_sample_count(reader, comment);
	return read_account(reader, comment);
}

static int read_comments(struct pprof_reader *reader, struct protobuf_field field, size_t offset,
			 struct sampling *sampling)
{
	if (field.type == PROTOBUF_VARINT)
		return read_comment(reader, field.value, offset, sampling);
	while (bytes_left(&field.body)) {
		uint64_t index = protobuf_read_varint(&field.body);
		int err;

		if (field.body.failed)
			return import_fail_byte(reader->import, offset, "broken comments");
		err = read_comment(reader, index, offset, sampling);
		if (err)
			return err;
	}
	return 0;
}

/* Nothing is negative here but by mistake. */
static uint64_t read_positive(uint64_t value)
{
	return value > INT64_MAX ? 0 : value;
}

static int read_header_field(struct pprof_reader *reader, struct protobuf_field field,
			     size_t offset, struct sampling *sampling, bool *is_cpu_time)
{
	bool has_bytes = field.type == PROTOBUF_BYTES;
	const char *strings[2];
	int err;

	switch (field.number) {
	case PPROF_FIELD_SAMPLE_TYPE:
		return has_bytes ? add_sample_type(reader, field.body, offset) : 0;
	case PPROF_FIELD_COMMENT:
		return read_comments(reader, field, offset, sampling);
	case PPROF_FIELD_TIME:
		sampling->start_ns = read_positive(field.value);
		return 0;
	case PPROF_FIELD_DURATION:
		sampling->duration_ns = read_positive(field.value);
		return 0;
	case PPROF_FIELD_PERIOD:
		sampling->period_ns = read_positive(field.value);
		return 0;
	case PPROF_FIELD_PERIOD_TYPE:
		*is_cpu_time = false;
		if (!has_bytes)
			return 0;
		err = read_type(reader, field.body, offset, strings);
		if (err)
			return err;
		*is_cpu_time = string_equals(strings[0], "cpu") &&
			       string_equals(strings[1], "nanoseconds");
		return 0;
	}
	return 0;
}

/*
 * The string that names the default sample type. It is read separately, since the field may be
 * anywhere, also behind the sample types. pprof writes a 0 if it has none; only in files of ours it
 * is the name of a metric without one.
 */
static int find_default_type(struct pprof_reader *reader, uint64_t *ret, bool *ret_is_found)
{
	struct bytes bytes = bytes_of(reader->import->data, reader->import->size);
	struct protobuf_field field;
	bool is_ours = false;
	bool is_there = false;
	size_t offset = 0;

	for (; protobuf_next(&bytes, &field); offset = bytes.offset) {
		struct bytes comment;

		if (field.number == PPROF_FIELD_DEFAULT_TYPE && field.type == PROTOBUF_VARINT) {
			*ret = field.value;
			is_there = true;
		} else if (field.number == PPROF_FIELD_COMMENT && field.type == PROTOBUF_VARINT) {
			int err = pprof_index_get_string(&reader->index, field.value, "a comment",
							 offset, &comment);

			if (err)
				return err;
			is_ours |= starts_with(comment, PPROF_COMMENT);
		}
	}
	*ret_is_found = is_there && (*ret || is_ours);
	return 0;
}

/*
 * The default sample type becomes the first metric. Without one it is the last, as pprof has it: cpu
 * of Go's samples and cpu, delay of contentions and delay. Go's profiles of the heap mean the space in
 * use, wherever it is.
 */
static int add_default_type(struct pprof_reader *reader)
{
	struct import *import = reader->import;
	uint64_t default_type = 0;
	bool has_default = false;
	struct bytes bytes = bytes_of(import->data, import->size);
	struct protobuf_field field;
	const char *strings[2] = {NULL, NULL};
	uint32_t metric;
	int error = find_default_type(reader, &default_type, &has_default);

	if (error)
		return error;
	while (protobuf_next(&bytes, &field)) {
		struct bytes message = field.body;
		struct protobuf_field name;
		int err;

		if (field.number != PPROF_FIELD_SAMPLE_TYPE || field.type != PROTOBUF_BYTES)
			continue;
		err = read_type(reader, field.body, 0, strings);
		if (err)
			return err;
		if (!protobuf_next(&message, &name) || name.number != 1)
			name.value = 0;
		if (has_default ? name.value == default_type
				: string_equals(strings[0], "inuse_space"))
			return profile_add_metric(import->profile, strings[0], strings[1], &metric);
	}
	if (has_default || !strings[0])
		return 0;
	return profile_add_metric(import->profile, strings[0], strings[1], &metric);
}

/*
 * Whether we wrote the file is known from its first comment, which we write before those of the
 * account.
 */
int pprof_reader_read_header(struct pprof_reader *reader)
{
	struct import *import = reader->import;
	struct bytes bytes = bytes_of(import->data, import->size);
	struct sampling sampling = {0};
	struct protobuf_field field;
	bool is_cpu_time = false;
	size_t offset = 0;
	int err = add_default_type(reader);

	if (err)
		return err;
	while (protobuf_next(&bytes, &field)) {
		err = read_header_field(reader, field, offset, &sampling, &is_cpu_time);
		if (err)
			return err;
		offset = bytes.offset;
	}
	if (!reader->num_metrics)
		return import_fail_byte(import, import->size, "expected a sample type");
	/*
	 * The period of anything but time, such as bytes between two samples of the heap, is not
	 * ours.
	 */
	if (!is_cpu_time)
		sampling.period_ns = 0;
	profile_add_sampling(import->profile, &sampling);
	return 0;
}
