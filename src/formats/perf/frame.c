/*
 * A stack line: pc, symbol, offset, and in brackets the file.
 *
 *	  7f1e214c24d9 Foo::bar(int)+0x19 (/usr/lib/libfoo.so)
 *
 * The rules are those of stackcollapse-perf.pl. A symbol `a->b` is an outer function and what was
 * inlined into it (perf-map-agent writes them so for Java); argument lists are cut, except
 * (anonymous namespace) and Go's receivers `.(*T).`; quotes go; [unknown] becomes the file's name.
 * A frame is the kernel's when its file is in square brackets or is a vmlinux. Unlike there,
 * `operator->` is a name, and the frames that perf marks as (inlined) are inlined ones.
 *
 * A frame without symbol is named by a blank, as it is there, and not [unknown].
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "formats/perf/frame.h"
#include "formats/piece.h"

#define UNKNOWN   "[unknown]"
#define NO_SYMBOL " "
#define ANONYMOUS "(anonymous namespace)"

struct frame_line {
	struct piece symbol;
	struct piece file; /* empty when none is printed */
};

int perf_frames_init(struct perf_frames *frames, struct profile *profile)
{
	*frames = (struct perf_frames){.profile = profile, .keys = string_table_new()};
	return frames->keys ? 0 : -ENOMEM;
}

void perf_frames_release(struct perf_frames *frames)
{
	string_table_free(frames->keys);
	array_release(&frames->levels);
	array_release(&frames->locations);
	text_release(&frames->key);
}

static bool is_word(char c)
{
	return is_hex_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool perf_frame_has_pc(const char *line, size_t length)
{
	struct piece rest = piece_trim((struct piece){line, length});
	size_t digits = 0;

	while (digits < rest.length && is_hex_digit(rest.start[digits]))
		digits++;
	return digits && digits < rest.length && is_blank_char(rest.start[digits]);
}

/* Cut "+0x19" off. */
static struct piece strip_offset(struct piece symbol)
{
	size_t length = symbol.length;

	while (length && is_hex_digit(symbol.start[length - 1]))
		length--;
	if (length != symbol.length && length >= 3 &&
	    memcmp(symbol.start + length - 3, "+0x", 3) == 0)
		symbol.length = length - 3;
	return symbol;
}

/* The file stands between the last " (" and the last ")". A deleted one is printed "(FILE
 * (deleted))". */
static bool split_file(struct piece *symbol, struct piece *ret_file)
{
	const char *close = memrchr(symbol->start, ')', symbol->length);
	size_t end = close ? (size_t)(close - symbol->start) : 0;
	struct piece inner = {symbol->start, end};

	if (piece_ends_with(inner, " (deleted)"))
		inner.length -= strlen(" (deleted)");
	end = inner.length;
	while (end >= 2 && !(symbol->start[end - 1] == '(' && symbol->start[end - 2] == ' '))
		end--;
	if (end < 2)
		return false;
	*ret_file = (struct piece){symbol->start + end, inner.length - end};
	symbol->length = end - 2;
	return true;
}

static bool parse_line(const char *text, size_t length, struct frame_line *ret)
{
	struct piece rest = piece_trim((struct piece){text, length});
	size_t word = 0;

	while (word < rest.length && is_word(rest.start[word]))
		word++;
	if (!word)
		return false;
	rest.start += word;
	rest.length -= word;
	*ret = (struct frame_line){.symbol = rest, .file = {rest.start, 0}};
	if (!split_file(&ret->symbol, &ret->file) && !perf_frame_has_pc(text, length))
		return false;
	ret->symbol = strip_offset(piece_trim(ret->symbol));
	return true;
}

static bool is_kernel(struct piece file)
{
	return file.length && (file.start[0] == '[' || piece_ends_with(file, "vmlinux")) &&
	       !piece_contains(file, "unknown");
}

static bool is_jit(struct piece file)
{
	static const char prefix[] = "/tmp/perf-";
	const char *found = memmem(file.start, file.length, prefix, strlen(prefix));
	const char *end = file.start + file.length;
	const char *digits = found ? found + strlen(prefix) : NULL;
	const char *p = digits;

	while (p && p < end && *p >= '0' && *p <= '9')
		p++;
	return p && p > digits && end - p >= 4 && memcmp(p, ".map", 4) == 0;
}

static struct piece get_base_name(struct piece file)
{
	const char *slash = memrchr(file.start, '/', file.length);

	if (slash) {
		file.length -= (size_t)(slash + 1 - file.start);
		file.start = slash + 1;
	}
	return file;
}

/* net/http.(*Client).Do */
static bool is_go_method(struct piece name)
{
	const char *open = memmem(name.start, name.length, ".(", 2);

	return open && memmem(open + 2, (size_t)(name.start + name.length - open) - 2, ").", 2);
}

static struct piece cut_arguments(struct piece name)
{
	if (is_go_method(name))
		return name;
	for (size_t i = 0; i < name.length; i++) {
		struct piece rest = {name.start + i, name.length - i};

		if (rest.start[0] == '(' && !piece_starts_with(rest, ANONYMOUS))
			return (struct piece){name.start, i};
	}
	return name;
}

static int add_name(struct profile *profile, struct piece symbol, struct piece file, bool is_java,
		    uint32_t *ret)
{
	_cleanup_(text_release) struct text text = {0};
	struct piece name = symbol;
	size_t length = 0;
	size_t skipped;

	if (piece_equals(symbol, UNKNOWN) && file.length && !piece_equals(file, UNKNOWN)) {
		name = get_base_name(file);
		text_append_char(&text, '[');
		text_append(&text, name.start, name.length);
		text_append_char(&text, ']');
		name = (struct piece){text.data, text.length};
	} else {
		text_append(&text, symbol.start, symbol.length);
		name.start = text.data;
	}
	if (text.failed)
		return -ENOMEM;
	name = cut_arguments(name);
	for (size_t i = 0; i < name.length; i++)
		if (text.data[i] != '"' && text.data[i] != '\'')
			text.data[length++] = text.data[i];
	skipped = is_java && length && text.data[0] == 'L' && memchr(text.data, '/', length);
	return profile_add_frame_name(profile, text.data + skipped, length - skipped, ret);
}

static int add_level(struct perf_frames *frames, struct piece symbol, struct piece file,
		     bool is_java, bool is_inlined)
{
	struct profile *profile = frames->profile;
	struct piece module = get_base_name(file);
	struct frame frame = {.is_inlined = is_inlined || piece_equals(file, "inlined")};
	uint32_t *added;
	int err = add_name(profile, symbol, file, is_java, &frame.name);

	if (!err && !symbol.length)
		err = profile_add_string(profile, NO_SYMBOL, &frame.name);
	if (err)
		return err;
	if (is_kernel(file))
		frame.kind = FRAME_KERNEL;
	else if (is_jit(file))
		frame.kind = FRAME_JIT;
	frame.full_name = frame.name;
	if (symbol.length)
		err = profile_add_frame_name(profile, symbol.start, symbol.length,
					     &frame.full_name);
	if (!err && module.length && !piece_equals(file, UNKNOWN) && !piece_equals(file, "inlined"))
		err = string_table_add(profile_get_strings(profile), module.start, module.length,
				       &frame.module);
	added = err ? NULL : array_add(&frames->locations);
	if (!added)
		return -ENOMEM;
	return profile_add_frame_location(profile, &frame, added);
}

/* The length up to the next "->", unless that belongs to `operator->`. */
static size_t find_inlined(struct piece symbol)
{
	static const char operator[] = "operator";

	for (size_t i = 0; i + 1 < symbol.length; i++) {
		struct piece before = {symbol.start, i};

		if (symbol.start[i] == '-' && symbol.start[i + 1] == '>' &&
		    !piece_ends_with(before, operator))
			return i;
	}
	return symbol.length;
}

static int add_levels(struct perf_frames *frames, const struct frame_line *line, bool is_java)
{
	struct piece symbol = line->symbol;
	bool is_inlined = false;
	int err = 0;

	/* The name of a process in brackets is no frame. */
	if (symbol.length && symbol.start[0] == '(' && !piece_starts_with(symbol, ANONYMOUS))
		return 0;
	do {
		struct piece part = {symbol.start, find_inlined(symbol)};
		size_t used = part.length == symbol.length ? part.length : part.length + 2;

		err = add_level(frames, part, line->file, is_java, is_inlined);
		is_inlined = true;
		symbol.start += used;
		symbol.length -= used;
	} while (!err && symbol.length);
	return err;
}

/* What the locations depend on, which leaves out the pc and the offset. */
static int make_key(struct perf_frames *frames, const struct frame_line *line, bool is_java)
{
	text_truncate(&frames->key, 0);
	text_append_char(&frames->key, is_java ? 'j' : ' ');
	text_append(&frames->key, line->file.start, line->file.length);
	text_append_char(&frames->key, ' ');
	text_append(&frames->key, line->symbol.start, line->symbol.length);
	return frames->key.failed ? -ENOMEM : 0;
}

int perf_frames_find(struct perf_frames *frames, const char *line, size_t length, bool is_java,
		     struct perf_levels *ret)
{
	struct frame_line parsed;
	uint32_t id;
	int err;

	if (!parse_line(line, length, &parsed))
		return -EINVAL;
	err = make_key(frames, &parsed, is_java);
	if (!err)
		err = string_table_add(frames->keys, frames->key.data, frames->key.length, &id);
	if (err)
		return err;
	if (id < frames->levels.length) {
		*ret = frames->levels.items[id];
		return 0;
	}
	while (id >= frames->levels.length)
		if (!array_add(&frames->levels))
			return -ENOMEM;
	ret->first = (uint32_t)frames->locations.length;
	err = add_levels(frames, &parsed, is_java);
	ret->count = (uint32_t)frames->locations.length - ret->first;
	frames->levels.items[id] = *ret;
	return err;
}
