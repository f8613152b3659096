/*
 * A stack line of `perf script`: pc, symbol, offset, and in brackets the file.
 *
 *	  7f1e214c24d9 Foo::bar(int)+0x19 (/usr/lib/libfoo.so)
 *
 * These parts do not end where they seem to: symbols have blanks and brackets in them, files
 * too, and any part may be missing, by the fields that perf was asked to print. The line is
 * therefore taken apart from both ends: the pc off its front, the file and then the offset off its
 * end, and the rest is the symbol. A recording has few different lines, so the result of a line
 * without its pc and offset is looked up by its text.
 *
 * The rules are those of stackcollapse-perf.pl. A symbol `a->b` is an outer function and one
 * inlined into it (perf-map-agent writes them so for Java); argument lists are stripped, except
 * (anonymous namespace) and Go's receivers `.(*T).`; quotes go; [unknown] becomes the file's name.
 * A frame is the kernel's when its file is in square brackets or is a vmlinux. There are three
 * differences. Brackets within a name do not end it (`function<int (int)>::operator()`),
 * `operator->` is a name, and the frames that perf marks as (inlined) are inlined ones.
 *
 * A frame without symbol is named by a blank, as it is there, and not [unknown].
 */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "formats/perf/frame.h"
#include "formats/reader.h"
#include "formats/slice.h"

#define UNKNOWN   "[unknown]"
#define NO_SYMBOL " "
#define ANONYMOUS "(anonymous namespace)"

struct frame_line {
	struct slice symbol;
	struct slice file; /* empty when none is printed */
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
	struct slice rest = slice_trim((struct slice){line, length});
	size_t digits = 0;

	while (digits < rest.length && is_hex_digit(rest.start[digits]))
		digits++;
	return digits && digits < rest.length && is_blank_char(rest.start[digits]);
}

/* Strip "+0x19". */
static struct slice strip_offset(struct slice symbol)
{
	size_t length = symbol.length;

	while (length && is_hex_digit(symbol.start[length - 1]))
		length--;
	if (length != symbol.length && length >= 3 &&
	    memcmp(symbol.start + length - 3, "+0x", 3) == 0)
		symbol.length = length - 3;
	return symbol;
}

/*
 * The line ends in the file: " (FILE)". It may have blanks and brackets itself, and a deleted one
 * is printed as "(FILE (deleted))": it starts at the bracket that the last one closes. If none
 * does, as brackets of a file need not be pairs, it starts at the last one that follows a blank. A
 * bracket that follows no blank belongs to the symbol: "operator()".
 */
static bool split_file(struct slice *symbol, struct slice *ret_file)
{
	const char *text = symbol->start;
	size_t end = symbol->length;
	size_t start = end;
	int depth = 0;

	if (!slice_ends_with(*symbol, ")"))
		return false;
	do {
		start--;
		depth += text[start] == ')';
		depth -= text[start] == '(';
	} while (depth && start);
	if (depth)
		for (start = end - 1; start && !(text[start] == '(' && text[start - 1] == ' ');)
			start--;
	if (!start || text[start - 1] != ' ')
		return false;
	*ret_file = (struct slice){text + start + 1, end - start - 2};
	symbol->length = start - 1;
	if (slice_ends_with(*ret_file, " (deleted)"))
		ret_file->length -= strlen(" (deleted)");
	*ret_file = strip_offset(*ret_file);
	return true;
}

static bool parse_line(const char *text, size_t length, struct frame_line *ret)
{
	struct slice rest = slice_trim((struct slice){text, length});
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
	ret->symbol = strip_offset(slice_trim(ret->symbol));
	return true;
}

static struct slice get_base_name(struct slice file)
{
	const char *slash = memrchr(file.start, '/', file.length);

	if (slash) {
		file.length -= (size_t)(slash + 1 - file.start);
		file.start = slash + 1;
	}
	return file;
}

/* vmlinux, vmlinux-6.1.0-13-amd64, vmlinux.debug */
static bool is_kernel_image(struct slice file)
{
	static const char image[] = "vmlinux";
	struct slice name = get_base_name(file);

	return slice_starts_with(name, image) &&
	       (name.length == strlen(image) || strchr("-.", name.start[strlen(image)]));
}

/* /lib/modules/6.1.0/kernel/fs/ext4/ext4.ko, perhaps compressed or with .debug behind it */
static bool is_kernel_module(struct slice file)
{
	static const char *const ends[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz", ".ko.debug"};

	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++)
		if (slice_ends_with(file, ends[i]))
			return true;
	return false;
}

/* A kernel's file or [name]; perf calls code of a JIT without a map "[JIT] tid 77". */
static bool is_kernel(struct slice file)
{
	if (!file.length || slice_contains(file, "unknown"))
		return false;
	return (file.start[0] == '[' && !slice_starts_with(file, "[JIT]")) ||
	       is_kernel_image(file) || is_kernel_module(file);
}

static size_t count_digits(struct slice slice)
{
	size_t count = 0;

	while (count < slice.length && slice.start[count] >= '0' && slice.start[count] <= '9')
		count++;
	return count;
}

/* Whether a name is the prefix, a number and the end. */
static bool is_numbered(struct slice name, const char *prefix, const char *end)
{
	size_t digits;

	if (!slice_starts_with(name, prefix))
		return false;
	name.start += strlen(prefix);
	name.length -= strlen(prefix);
	digits = count_digits(name);
	name.start += digits;
	name.length -= digits;
	return digits && slice_starts_with(name, end);
}

/* perf-77.map of any directory, and jitted-77-12.so, which `perf inject --jit` writes. */
static bool is_jit(struct slice file)
{
	struct slice name = get_base_name(file);

	return is_numbered(name, "perf-", ".map") ||
	       (is_numbered(name, "jitted-", "-") && slice_ends_with(name, ".so")) ||
	       slice_starts_with(file, "[JIT]");
}

/* net/http.(*Client).Do */
static bool is_go_method(struct slice name)
{
	const char *open = memmem(name.start, name.length, ".(", 2);

	return open && memmem(open + 2, (size_t)(name.start + name.length - open) - 2, ").", 2);
}

/* The length of the operator's name at the start of the text, or 0. */
static size_t get_operator_length(struct slice text)
{
	/* Among operators with brackets, the longer ones are first. */
	static const char *const operators[] = {
		"()", "<=>", "<<=", "<<", "<=", "<", ">>=", ">>", ">=", ">", "->*", "->",
	};
	static const char word[] = "operator";

	if (!slice_starts_with(text, word))
		return 0;
	text.start += strlen(word);
	text.length -= strlen(word);
	for (size_t i = 0; i < ARRAY_LENGTH(operators); i++)
		if (slice_starts_with(text, operators[i]))
			return strlen(word) + strlen(operators[i]);
	return strlen(word);
}

/* The length of the "(…)" at the start of the text; 0 if it is not closed. */
static size_t get_group_length(struct slice text)
{
	int depth = 0;

	for (size_t i = 0; i < text.length; i++) {
		depth += text.start[i] == '(';
		depth -= text.start[i] == ')';
		if (!depth)
			return i + 1;
	}
	return 0;
}

/* Whether the name goes on behind an argument list: "main(int, char**)::{lambda()#1}". */
static bool has_member(struct slice rest)
{
	return slice_starts_with(rest, "::") || slice_starts_with(rest, " const::");
}

/*
 * Strips from the first bracket that is not inside another one: those of "function<int (int)>" are
 * no arguments. If the others are no pairs, as in the names of regular expressions, strips from the
 * first one on. In Go a bracket may be a receiver: such a name has no arguments.
 */
static struct slice strip_arguments(struct slice name)
{
	size_t first = name.length;
	int depth = 0;

	if (is_go_method(name))
		return name;
	for (size_t i = 0; i < name.length; i++) {
		struct slice rest = {name.start + i, name.length - i};
		size_t skipped = get_operator_length(rest);

		if (slice_starts_with(rest, ANONYMOUS))
			skipped = strlen(ANONYMOUS);
		else if (slice_starts_with(rest, "->"))
			skipped = strlen("->");
		if (skipped) {
			i += skipped - 1;
			continue;
		}
		if (rest.start[0] == '(' && first == name.length)
			first = i;
		if (rest.start[0] == '(' && !depth) {
			size_t length = get_group_length(rest);
			struct slice behind = {rest.start + length, rest.length - length};

			if (!length || !has_member(behind))
				return (struct slice){name.start, i};
		}
		if (memchr("<{(", rest.start[0], 3))
			depth++;
		else if (depth && memchr(">})", rest.start[0], 3))
			depth--;
	}
	if (depth)
		name.length = first;
	return name;
}

static int add_name(struct profile *profile, struct slice symbol, struct slice file, bool is_java,
		    uint32_t *ret)
{
	_cleanup_(text_release) struct text text = {0};
	struct slice name = symbol;
	size_t length = 0;
	size_t skipped;

	if (slice_equals(symbol, UNKNOWN) && file.length && !slice_equals(file, UNKNOWN)) {
		name = get_base_name(file);
		text_append_char(&text, '[');
		text_append(&text, name.start, name.length);
		text_append_char(&text, ']');
		name = (struct slice){text.data, text.length};
	} else {
		name = strip_arguments(name);
		text_append(&text, name.start, name.length);
		name.start = text.data;
	}
	if (text.failed)
		return -ENOMEM;
	for (size_t i = 0; i < name.length; i++)
		if (text.data[i] != '"' && text.data[i] != '\'')
			text.data[length++] = text.data[i];
	skipped = is_java && length && text.data[0] == 'L' && memchr(text.data, '/', length);
	return profile_add_frame_name(profile, text.data + skipped, length - skipped, ret);
}

static int add_level(struct perf_frames *frames, struct slice symbol, struct slice file,
		     bool is_java, bool is_inlined)
{
	struct profile *profile = frames->profile;
	struct slice module = get_base_name(file);
	bool is_marked = slice_equals(file, "inlined"); /* in place of the file */
	struct frame frame = {.is_inlined = is_inlined || is_marked};
	uint32_t *added;
	int err = add_name(profile, symbol, file, is_java, &frame.name);

	if (err)
		return err;
	if (!symbol.length) {
		err = profile_add_string(profile, NO_SYMBOL, &frame.name);
		if (err)
			return err;
	}
	if (is_kernel(file))
		frame.kind = FRAME_KERNEL;
	/* As perf.data and recordings call it: one kernel is one module. */
	if (slice_starts_with(file, "[kernel.kallsyms]"))
		module = (struct slice){KERNEL_MODULE, strlen(KERNEL_MODULE)};
	if (is_jit(file))
		frame.kind = FRAME_JIT;
	frame.full_name = frame.name;
	if (symbol.length) {
		err = profile_add_frame_name(profile, symbol.start, symbol.length,
					     &frame.full_name);
		if (err)
			return err;
	}
	if (module.length && !slice_equals(file, UNKNOWN) && !is_marked) {
		err = string_table_add(profile_get_strings(profile), module.start, module.length,
				       &frame.module);
		if (err)
			return err;
	}
	added = array_add(&frames->locations);
	if (!added)
		return -ENOMEM;
	return profile_add_frame_location(profile, &frame, added);
}

/*
 * The length up to the next "->", unless that belongs to `operator->` or, as blanks beside it show,
 * to a type: "<fn() -> T as Trait>::call".
 */
static size_t find_inlined(struct slice symbol)
{
	static const char operator[] = "operator";

	for (size_t i = 0; i + 1 < symbol.length; i++) {
		struct slice before = {symbol.start, i};

		if (symbol.start[i] == '-' && symbol.start[i + 1] == '>' &&
		    !slice_ends_with(before, operator) && !slice_ends_with(before, " "))
			return i;
	}
	return symbol.length;
}

static int add_levels(struct perf_frames *frames, const struct frame_line *line, bool is_java)
{
	struct slice symbol = line->symbol;
	bool is_inlined = false;

	/* The name of a process in brackets is not a frame. */
	if (symbol.length && symbol.start[0] == '(' && !slice_starts_with(symbol, ANONYMOUS))
		return 0;
	/* Once even without a symbol: such a frame has a name, too. */
	do {
		struct slice part = {symbol.start, find_inlined(symbol)};
		size_t used = part.length == symbol.length ? part.length : part.length + 2;
		int err = add_level(frames, part, line->file, is_java, is_inlined);

		if (err)
			return err;
		is_inlined = true;
		symbol.start += used;
		symbol.length -= used;
	} while (symbol.length);
	return 0;
}

/* The locations depend on this key, without the pc and the offset. */
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
	if (err)
		return err;
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
	if (err)
		return err;
	ret->count = (uint32_t)frames->locations.length - ret->first;
	frames->levels.items[id] = *ret;
	return 0;
}
