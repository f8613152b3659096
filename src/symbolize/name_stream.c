/*
 * A message is a row of records. A record is a byte for its kind and:
 *
 *	BEGIN      the number of strings that the profile had at the fork (u32): start of a writer
 *	STRING     length (u32), bytes: the writer's next string; the first has the number of BEGIN
 *	LOCATION   id (u32), reason, whether its symbol is sizeless, whether its ELF address is known
 *	           (u8 each), that address (u64), number of frames (u8); per frame: name, full
 *	           name, module, file, line (u32), kind, whether it is inlined (u8)
 *	OUTERMOST  id (u32)
 *	PROGRESS   done, total (u32)
 *	FACTS      whether kallsyms is restricted, whether debug information is split (u8), length of
 *	           the path with debug information that was not read (u32), bytes
 *
 * A string of the profile at the fork is known to both by its id.
 */
#include "symbolize/name_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"

enum name_record_kind { START = 1, STRING, LOCATION, OUTERMOST, PROGRESS, FACTS };

#define MAX_FRAMES  64
#define FLUSH_BYTES (32u << 10)
#define FLUSH_NS    NS_PER_MS
#define PAUSE_TEXT  "..."

/* Limit of the strings of all messages. */
#define MAX_ALL_BYTES (1ull << 30)

/* ---- writing ---- */

struct name_writer {
	int fd;
	const struct profile *profile;
	struct text message;
	uint32_t num_old_strings;
	uint32_t num_sent; /* of the new strings */
	uint32_t *numbers; /* number of each new string when sent, by id; UINT32_MAX: not yet */
	size_t capacity;
	uint64_t flushed_ns;
};

static void put_u8(struct name_writer *writer, uint8_t value)
{
	text_append(&writer->message, &value, sizeof(value));
}

static void put_u32(struct name_writer *writer, uint32_t value)
{
	text_append(&writer->message, &value, sizeof(value));
}

static void put_u64(struct name_writer *writer, uint64_t value)
{
	text_append(&writer->message, &value, sizeof(value));
}

struct name_writer *name_writer_new(int fd, const struct profile *profile)
{
	struct name_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->fd = fd;
	writer->profile = profile;
	writer->num_old_strings = profile_count_strings(profile);
	put_u8(writer, START);
	put_u32(writer, writer->num_old_strings);
	return writer;
}

void name_writer_free(struct name_writer *writer)
{
	if (!writer)
		return;
	text_release(&writer->message);
	free(writer->numbers);
	free(writer);
}

int name_writer_flush(struct name_writer *writer)
{
	ssize_t sent;

	if (writer->message.failed)
		return -ENOMEM;
	if (!writer->message.length)
		return 0;
	do {
		sent = send(writer->fd, writer->message.data, writer->message.length, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	text_truncate(&writer->message, 0);
	writer->flushed_ns = clock_now_ns();
	return 0;
}

bool name_writer_has_unsent(const struct name_writer *writer)
{
	return writer->message.length > 0;
}

static int flush_when_due(struct name_writer *writer)
{
	if (writer->message.length < FLUSH_BYTES && clock_now_ns() - writer->flushed_ns < FLUSH_NS)
		return writer->message.failed ? -ENOMEM : 0;
	return name_writer_flush(writer);
}

static int reserve_numbers(struct name_writer *writer, uint32_t string)
{
	size_t wanted = string - writer->num_old_strings + 1;
	size_t capacity = writer->capacity ? writer->capacity : 1024;
	uint32_t *numbers;

	if (wanted <= writer->capacity)
		return 0;
	while (capacity < wanted)
		capacity *= 2;
	numbers = realloc(writer->numbers, capacity * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	memset(numbers + writer->capacity, 0xff, (capacity - writer->capacity) * sizeof(*numbers));
	writer->numbers = numbers;
	writer->capacity = capacity;
	return 0;
}

/* The string's number for the reader; sends it first if needed. */
static int add_string(struct name_writer *writer, uint32_t string, uint32_t *ret)
{
	size_t length = profile_get_string_length(writer->profile, string);
	const char *bytes = profile_get_string(writer->profile, string);
	uint32_t *number;
	int err;

	if (string < writer->num_old_strings) {
		*ret = string;
		return 0;
	}
	err = reserve_numbers(writer, string);
	if (err)
		return err;
	number = &writer->numbers[string - writer->num_old_strings];
	if (*number != UINT32_MAX) {
		*ret = *number;
		return 0;
	}
	if (writer->message.length + length > FLUSH_BYTES) {
		err = name_writer_flush(writer);
		if (err)
			return err;
	}
	put_u8(writer, STRING);
	if (length <= NAME_STREAM_MAX_NAME_BYTES) {
		put_u32(writer, (uint32_t)length);
		text_append(&writer->message, bytes, length);
	} else {
		put_u32(writer, NAME_STREAM_MAX_NAME_BYTES);
		text_append(&writer->message, bytes,
			    NAME_STREAM_MAX_NAME_BYTES - strlen(PAUSE_TEXT));
		text_append_string(&writer->message, PAUSE_TEXT);
	}
	*ret = *number = writer->num_old_strings + writer->num_sent++;
	return 0;
}

int name_writer_add_location(struct name_writer *writer, uint32_t id)
{
	const struct location *location = profile_get_location(writer->profile, id);
	uint32_t strings[MAX_FRAMES][4];
	int err = 0;

	if (location->num_frames > MAX_FRAMES)
		return -EINVAL;
	/* Strings first: they may not interrupt a record. */
	for (uint32_t i = 0; i < location->num_frames && !err; i++) {
		const struct frame *frame =
			profile_get_frame(writer->profile, location->first_frame + i);
		const uint32_t ids[4] = {frame->name, frame->full_name, frame->module, frame->file};

		for (size_t k = 0; k < ARRAY_LENGTH(ids) && !err; k++)
			err = add_string(writer, ids[k], &strings[i][k]);
	}
	if (err)
		return err;
	put_u8(writer, LOCATION);
	put_u32(writer, id);
	put_u8(writer, location->unnamed_reason);
	put_u8(writer, location->is_sizeless);
	put_u8(writer, location->has_elf_address);
	put_u64(writer, location->elf_address);
	put_u8(writer, (uint8_t)location->num_frames);
	for (uint32_t i = 0; i < location->num_frames; i++) {
		const struct frame *frame =
			profile_get_frame(writer->profile, location->first_frame + i);

		for (size_t k = 0; k < ARRAY_LENGTH(strings[i]); k++)
			put_u32(writer, strings[i][k]);
		put_u32(writer, frame->line);
		put_u8(writer, frame->kind);
		put_u8(writer, frame->is_inlined);
	}
	return flush_when_due(writer);
}

int name_writer_add_outermost(struct name_writer *writer, uint32_t location)
{
	put_u8(writer, OUTERMOST);
	put_u32(writer, location);
	return flush_when_due(writer);
}

int name_writer_add_progress(struct name_writer *writer, uint32_t num_done, uint32_t num_total)
{
	put_u8(writer, PROGRESS);
	put_u32(writer, num_done);
	put_u32(writer, num_total);
	return flush_when_due(writer);
}

int name_writer_add_facts(struct name_writer *writer, const struct symbolizer *symbolizer)
{
	struct unread_debug_info unread = symbolizer_get_unread_debug_info(symbolizer);
	size_t length = unread.path ? strlen(unread.path) : 0;

	if (length > NAME_STREAM_MAX_NAME_BYTES)
		length = 0;
	put_u8(writer, FACTS);
	put_u8(writer, symbolizer_is_kernel_restricted(symbolizer));
	put_u8(writer, unread.is_split);
	put_u32(writer, (uint32_t)length);
	text_append(&writer->message, length ? unread.path : "", length);
	return name_writer_flush(writer);
}

/* ---- reading ---- */

void names_release(struct names *names)
{
	free(names->outermost);
	free(names->unread_path);
	*names = (struct names){0};
}

bool names_are_outermost(const struct names *names, uint32_t location)
{
	return location < names->num_locations && names->outermost &&
	       names->outermost[location / 8] >> (location % 8) & 1;
}

void name_reader_release(struct name_reader *reader)
{
	free(reader->strings);
	free(reader->frame_names);
	reader->strings = reader->frame_names = NULL;
	reader->num_strings = reader->capacity = 0;
}

static int read_start(struct name_reader *reader, struct bytes *bytes)
{
	uint32_t num_old_strings = bytes_u32(bytes);

	if (bytes->failed || num_old_strings > profile_count_strings(reader->profile))
		return -EBADMSG;
	reader->num_old_strings = num_old_strings;
	reader->num_strings = 0;
	return 0;
}

static int reserve_strings(struct name_reader *reader)
{
	size_t capacity = reader->capacity ? 2 * reader->capacity : 1024;
	uint32_t *strings;
	uint32_t *frame_names;

	if (reader->num_strings < reader->capacity)
		return 0;
	strings = realloc(reader->strings, capacity * sizeof(*strings));
	if (!strings)
		return -ENOMEM;
	reader->strings = strings;
	frame_names = realloc(reader->frame_names, capacity * sizeof(*frame_names));
	if (!frame_names)
		return -ENOMEM;
	reader->frame_names = frame_names;
	reader->capacity = capacity;
	return 0;
}

/* Length and bytes, without NUL; or NULL. */
static const char *read_bytes(struct bytes *bytes, uint32_t *ret_length)
{
	const char *data;

	*ret_length = bytes_u32(bytes);
	if (bytes->failed || *ret_length > NAME_STREAM_MAX_NAME_BYTES)
		return NULL;
	data = bytes_take(bytes, *ret_length);
	return data && !memchr(data, '\0', *ret_length) ? data : NULL;
}

static int read_string(struct name_reader *reader, struct bytes *bytes)
{
	char copy[NAME_STREAM_MAX_NAME_BYTES + 1];
	uint32_t length;
	const char *data = read_bytes(bytes, &length);
	int err;

	if (!data)
		return -EBADMSG;
	reader->num_bytes += length + sizeof(uint32_t);
	if (reader->num_bytes > MAX_ALL_BYTES)
		return -EBADMSG;
	err = reserve_strings(reader);
	if (err)
		return err;
	memcpy(copy, data, length);
	copy[length] = '\0';
	err = profile_add_string(reader->profile, copy, &reader->strings[reader->num_strings]);
	if (err)
		return err;
	reader->frame_names[reader->num_strings++] = STRING_NONE;
	return 0;
}

/* Map a string of the writer to one of the profile. */
static int find_string(const struct name_reader *reader, uint32_t number, uint32_t *ret)
{
	if (number < reader->num_old_strings) {
		*ret = number;
		return 0;
	}
	if (number - reader->num_old_strings >= reader->num_strings)
		return -EBADMSG;
	*ret = reader->strings[number - reader->num_old_strings];
	return 0;
}

/* The same for the name of a frame, which is fit for folded text. */
static int find_frame_name(struct name_reader *reader, uint32_t number, uint32_t *ret)
{
	struct profile *profile = reader->profile;
	uint32_t *known = NULL;
	uint32_t string;
	int err = find_string(reader, number, &string);

	if (err)
		return err;
	if (number >= reader->num_old_strings)
		known = &reader->frame_names[number - reader->num_old_strings];
	if (known && *known != STRING_NONE) {
		*ret = *known;
		return 0;
	}
	err = profile_add_frame_name(profile, profile_get_string(profile, string),
				     profile_get_string_length(profile, string), ret);
	if (!err && known)
		*known = *ret;
	return err;
}

static int read_frame(struct name_reader *reader, struct bytes *bytes, struct frame *frame)
{
	uint32_t numbers[4];
	int err;

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		numbers[i] = bytes_u32(bytes);
	*frame = (struct frame){.line = bytes_u32(bytes), .kind = bytes_u8(bytes)};
	frame->is_inlined = bytes_u8(bytes) != 0;
	if (bytes->failed || frame->kind >= NUM_FRAME_KINDS)
		return -EBADMSG;
	err = find_frame_name(reader, numbers[0], &frame->name);
	if (err)
		return err;
	err = find_string(reader, numbers[1], &frame->full_name);
	if (err)
		return err;
	err = find_string(reader, numbers[2], &frame->module);
	return err ? err : find_string(reader, numbers[3], &frame->file);
}

/* Whether such a location may have these frames. */
static bool fits_location(const struct location *location, const struct frame *frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((frames[i].kind == FRAME_KERNEL) != (location->space == LOCATION_KERNEL))
			return false;
	return location->space != LOCATION_NAMED;
}

static int read_location(struct name_reader *reader, struct bytes *bytes)
{
	struct frame frames[MAX_FRAMES];
	uint32_t id = bytes_u32(bytes);
	uint8_t reason = bytes_u8(bytes);
	uint8_t is_sizeless = bytes_u8(bytes);
	uint8_t has_elf_address = bytes_u8(bytes);
	uint64_t elf_address = bytes_u64(bytes);
	uint8_t num_frames = bytes_u8(bytes);
	int err;

	if (bytes->failed || id >= profile_count_locations(reader->profile) ||
	    reason >= NUM_UNNAMED_REASONS || !num_frames || num_frames > MAX_FRAMES)
		return -EBADMSG;
	for (uint8_t i = 0; i < num_frames; i++) {
		err = read_frame(reader, bytes, &frames[i]);
		if (err)
			return err;
	}
	if (!fits_location(profile_get_location(reader->profile, id), frames, num_frames))
		return -EBADMSG;
	if (profile_get_location(reader->profile, id)->num_frames)
		return 0; /* from another writer, which was killed halfway */
	err = profile_set_frames(reader->profile, id, frames, num_frames,
				 (enum unnamed_reason)reason);
	if (err)
		return err;
	if (is_sizeless)
		profile_mark_sizeless(reader->profile, id);
	if (has_elf_address)
		profile_set_elf_address(reader->profile, id, elf_address);
	return 0;
}

static int read_outermost(struct name_reader *reader, struct bytes *bytes)
{
	struct names *names = reader->names;
	uint32_t id = bytes_u32(bytes);

	if (bytes->failed || id >= profile_count_locations(reader->profile))
		return -EBADMSG;
	if (!names->outermost) {
		names->num_locations = profile_count_locations(reader->profile);
		names->outermost = calloc(names->num_locations / 8 + 1, 1);
		if (!names->outermost)
			return -ENOMEM;
	}
	if (id < names->num_locations)
		names->outermost[id / 8] |= (uint8_t)(1 << id % 8);
	return 0;
}

static int read_progress(struct name_reader *reader, struct bytes *bytes)
{
	uint32_t num_done = bytes_u32(bytes);
	uint32_t num_total = bytes_u32(bytes);

	if (bytes->failed)
		return -EBADMSG;
	if (reader->progress)
		reader->progress(num_done, num_total, reader->context);
	return 0;
}

static int read_facts(struct name_reader *reader, struct bytes *bytes)
{
	struct names *names = reader->names;
	bool is_restricted = bytes_u8(bytes) != 0;
	bool is_split = bytes_u8(bytes) != 0;
	uint32_t length;
	const char *path = read_bytes(bytes, &length);

	if (!path)
		return -EBADMSG;
	names->is_kernel_restricted |= is_restricted;
	if (!length || names->unread_path)
		return 0;
	names->unread_path = strndup(path, length);
	names->is_unread_split = is_split;
	return names->unread_path ? 0 : -ENOMEM;
}

static int read_record(struct name_reader *reader, struct bytes *bytes)
{
	switch ((enum name_record_kind)bytes_u8(bytes)) {
	case START:
		return read_start(reader, bytes);
	case STRING:
		return read_string(reader, bytes);
	case LOCATION:
		return read_location(reader, bytes);
	case OUTERMOST:
		return read_outermost(reader, bytes);
	case PROGRESS:
		return read_progress(reader, bytes);
	case FACTS:
		return read_facts(reader, bytes);
	}
	return -EBADMSG;
}

int name_reader_read(struct name_reader *reader, const void *message, size_t size)
{
	struct bytes bytes = bytes_of(message, size);

	while (bytes_left(&bytes)) {
		int err = read_record(reader, &bytes);

		if (err)
			return err;
	}
	return 0;
}

static int read_messages(struct name_reader *reader, int fd, char *message)
{
	for (;;) {
		ssize_t got = recv(fd, message, NAME_STREAM_MAX_MESSAGE, MSG_TRUNC);
		int err;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		if ((size_t)got > NAME_STREAM_MAX_MESSAGE)
			return -EBADMSG;
		err = name_reader_read(reader, message, (size_t)got);
		if (err)
			return err;
	}
}

int names_read(int fd, struct profile *profile, name_progress progress, void *context,
	       struct names *ret)
{
	struct name_reader reader = {
		.profile = profile, .names = ret, .progress = progress, .context = context};
	_cleanup_free_ char *message = malloc(NAME_STREAM_MAX_MESSAGE);
	int err = message ? read_messages(&reader, fd, message) : -ENOMEM;

	name_reader_release(&reader);
	if (err != -EBADMSG)
		return err;
	ret->is_damaged = true;
	return 0;
}
