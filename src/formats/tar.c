/*
 * An archive is a sequence of blocks of 512 bytes: a header, its file's content padded to a block,
 * the next header, until a block of zeros. A path of more than 100 bytes, or a large size, is in a
 * record of its own before the header. Such records are GNU's (type L) or pax's (types x and g).
 */
#include "formats/tar.h"

#include <errno.h>
#include <string.h>

#include "formats/reader.h"

#define BLOCK_BYTES 512

/* Offsets and lengths of a header's fields. */
enum { NAME = 0, NAME_BYTES = 100 };
enum { SIZE = 124, SIZE_BYTES = 12 };
enum { CHECKSUM = 148, CHECKSUM_BYTES = 8 };
enum { TYPE = 156 };
enum { MAGIC = 257, MAGIC_BYTES = 5 };
enum { PREFIX = 345, PREFIX_BYTES = 155 };

/* PATH_MAX: longer names are damaged or hostile. */
#define MAX_NAME_BYTES 4096

/* Fields of the next file that records before its header override. */
struct overrides {
	const char *name; /* borrowed from the archive; NULL: none */
	size_t name_length;
	uint64_t size;
	bool has_size;
};

struct tar_reader {
	struct tar *tar;
	const uint8_t *data;
	size_t size;
	size_t offset; /* of the next header */
	struct overrides overrides;
};

/* Octal digits between blanks or, if the first bit is set (GNU, for over 8 GB), big-endian. */
static bool parse_number(const uint8_t *field, size_t length, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	if (field[0] & 0x80) {
		value = field[0] & 0x7f;
		for (i = 1; i < length; i++) {
			/* The next byte would exceed 63 bits. */
			if (value >> 55)
				return false;
			value = value << 8 | field[i];
		}
		*ret = value;
		return true;
	}
	while (i < length && field[i] == ' ')
		i++;
	for (; i < length && field[i] >= '0' && field[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(field[i] - '0');
	*ret = value;
	return i == length || field[i] == ' ' || field[i] == '\0';
}

/*
 * Check the checksum: the sum of the header's bytes, with its own field taken as blanks. Without
 * the checksum anything with a name in front would be an archive. Old programs summed signed bytes;
 * those archives are refused if names have bytes above 0x7f.
 */
static bool is_header(const uint8_t *header)
{
	uint64_t checksum;
	uint64_t sum = 0;

	if (!parse_number(header + CHECKSUM, CHECKSUM_BYTES, &checksum))
		return false;
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		sum += i >= CHECKSUM && i < CHECKSUM + CHECKSUM_BYTES ? ' ' : header[i];
	return sum == checksum;
}

bool tar_detect(const uint8_t *data, size_t size)
{
	return size >= BLOCK_BYTES && data[NAME] && is_header(data);
}

static bool is_end(const uint8_t *header)
{
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		if (header[i])
			return false;
	return true;
}

static void stop(struct tar_reader *reader, const char *fault)
{
	reader->tar->fault = fault;
	reader->tar->fault_offset = reader->offset;
}

/*
 * Append a path without its empty parts and those that are `.`; false when a part is `..`. Files
 * are looked up by their paths below the archive's top: no path leads out of it.
 */
static bool append_path(struct text *names, const char *path, size_t length)
{
	const char *end = path + length;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t part = (size_t)((slash ? slash : end) - path);

		if (part == 2 && path[0] == '.' && path[1] == '.')
			return false;
		if (part && !(part == 1 && path[0] == '.')) {
			if (names->length && names->data[names->length - 1])
				text_append_char(names, '/');
			text_append(names, path, part);
		}
		path += part + 1;
	}
	return true;
}

/* The name by the records before the header, else by the header; false if it has a part "..". */
static bool append_name(const struct tar_reader *reader, const uint8_t *header)
{
	const char *text = (const char *)header;
	struct text *names = &reader->tar->names;
	size_t start = names->length;
	size_t length = strnlen(text + PREFIX, PREFIX_BYTES);
	bool is_fit;

	if (reader->overrides.name) {
		is_fit = append_path(names, reader->overrides.name, reader->overrides.name_length);
	} else {
		/* In GNU's old format ("ustar  ") these bytes have another meaning. */
		is_fit = memcmp(text + MAGIC, "ustar\0", MAGIC_BYTES + 1) != 0 ||
			 append_path(names, text + PREFIX, length);
		is_fit =
			is_fit && append_path(names, text + NAME, strnlen(text + NAME, NAME_BYTES));
	}
	return is_fit && names->length > start;
}

static int add_file(struct tar_reader *reader, const uint8_t *header, size_t size)
{
	struct text *names = &reader->tar->names;
	size_t start = names->length;
	struct tar_file *added;

	if (!append_name(reader, header)) {
		if (!names->failed)
			text_truncate(names, start);
		return names->failed ? -ENOMEM : 0;
	}
	text_append_char(names, '\0');
	added = names->failed ? NULL : array_add(&reader->tar->files);
	if (!added)
		return -ENOMEM;
	*added = (struct tar_file){
		.name = start, .offset = reader->offset + BLOCK_BYTES, .size = size};
	return 0;
}

/* Take one "LENGTH KEY=VALUE\n" of a pax record. */
static void take_pax(struct overrides *overrides, const char *key, size_t length)
{
	const char *equals = memchr(key, '=', length);
	size_t key_length = equals ? (size_t)(equals - key) : 0;
	const char *value = key + key_length + 1;
	size_t value_length = length - key_length - 1;

	if (!equals)
		return;
	if (key_length == 4 && memcmp(key, "path", 4) == 0 && value_length <= MAX_NAME_BYTES) {
		overrides->name = value;
		overrides->name_length = strnlen(value, value_length);
	} else if (key_length == 4 && memcmp(key, "size", 4) == 0) {
		overrides->has_size = parse_u64(value, value_length, &overrides->size);
	}
}

/*
 * LENGTH counts itself, the blank and the line feed. A record that contradicts itself ends the
 * list: there is no way to find the next one.
 */
static void read_pax(struct overrides *overrides, const char *text, size_t size)
{
	size_t offset = 0;

	while (offset < size) {
		const char *blank = memchr(text + offset, ' ', size - offset);
		size_t digits = blank ? (size_t)(blank - text) - offset : 0;
		uint64_t length;

		if (!blank || !parse_u64(text + offset, digits, &length) || length < digits + 2 ||
		    length > size - offset)
			return;
		take_pax(overrides, blank + 1, (size_t)length - digits - 2);
		offset += (size_t)length;
	}
}

/* Whether an entry of the type has content in the archive. */
static bool has_content(uint8_t type)
{
	return type < '1' || type > '6';
}

/*
 * Records before a header hold for the next file alone: they are forgotten with every other entry.
 * Two types are not needed: g, which would give the same name or size to all following files, and
 * K, the target of a link.
 */
static int read_entry(struct tar_reader *reader, const uint8_t *header, size_t size)
{
	const char *content = (const char *)header + BLOCK_BYTES;
	uint8_t type = header[TYPE];
	int err = 0;

	switch (type) {
	case 'x':
		read_pax(&reader->overrides, content, size);
		return 0;
	case 'L':
		if (size <= MAX_NAME_BYTES) {
			reader->overrides.name = content;
			reader->overrides.name_length = strnlen(content, size);
		}
		return 0;
	case 'K':
	case 'g':
		return 0;
	case '\0':
	case '0':
	case '7':
		err = add_file(reader, header, size);
		break;
	default:
		break;
	}
	reader->overrides = (struct overrides){0};
	return err;
}

/*
 * The size of an entry's content; false if it is not all there. Links, devices and directories may
 * have a size, and have no content. A record's own size is in its header: values of a record before
 * it are about the file.
 */
static bool get_size(const struct tar_reader *reader, const uint8_t *header, size_t *ret)
{
	uint64_t size;

	*ret = 0;
	if (!has_content(header[TYPE]))
		return true;
	if (!parse_number(header + SIZE, SIZE_BYTES, &size))
		return false;
	if (reader->overrides.has_size && header[TYPE] != 'x' && header[TYPE] != 'L')
		size = reader->overrides.size;
	*ret = (size_t)size;
	return size <= reader->size - reader->offset - BLOCK_BYTES;
}

int tar_read(struct tar *tar, const uint8_t *data, size_t size)
{
	struct tar_reader reader = {.tar = tar, .data = data, .size = size};

	while (reader.offset < size) {
		const uint8_t *header = data + reader.offset;
		size_t content;
		int err;

		if (size - reader.offset < BLOCK_BYTES) {
			stop(&reader, "the archive is truncated");
			return 0;
		}
		if (is_end(header))
			return 0;
		if (!is_header(header)) {
			stop(&reader, "not a header of a tar archive");
			return 0;
		}
		if (!get_size(&reader, header, &content)) {
			stop(&reader, "a file of the archive is truncated");
			return 0;
		}
		err = read_entry(&reader, header, content);
		if (err)
			return err;
		content += (BLOCK_BYTES - content % BLOCK_BYTES) % BLOCK_BYTES;
		if (content > size - reader.offset - BLOCK_BYTES)
			content = size - reader.offset - BLOCK_BYTES; /* the padding is missing */
		reader.offset += BLOCK_BYTES + content;
	}
	stop(&reader, "the archive is truncated");
	return 0;
}

void tar_release(struct tar *tar)
{
	array_release(&tar->files);
	text_release(&tar->names);
	*tar = (struct tar){0};
}
