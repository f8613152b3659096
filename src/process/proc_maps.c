#include "process/proc_maps.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "process/proc_file.h"

#define DELETED_SUFFIX " (deleted)"

/* The unread part of a line. */
struct line_rest {
	const char *at;
	const char *end;
};

static bool take_char(struct line_rest *rest, char wanted)
{
	if (rest->at == rest->end || *rest->at != wanted)
		return false;
	rest->at++;
	return true;
}

/*
 * At least one digit, and no value above `max`. Unlike sscanf(), refuses a number that is too large
 * instead of taking its lower part.
 */
static bool take_number(struct line_rest *rest, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *start = rest->at;
	uint64_t value = 0;

	for (; rest->at < rest->end; rest->at++) {
		uint32_t digit = hex_digit_value(*rest->at);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value) || value > max)
			return false;
	}
	*ret = value;
	return rest->at > start;
}

static bool take_permissions(struct line_rest *rest, bool *ret_is_executable)
{
	static const char letters[4][2] = {{'r', '-'}, {'w', '-'}, {'x', '-'}, {'p', 's'}};

	if (rest->end - rest->at < 4)
		return false;
	for (size_t i = 0; i < 4; i++)
		if (rest->at[i] != letters[i][0] && rest->at[i] != letters[i][1])
			return false;
	*ret_is_executable = rest->at[2] == 'x';
	rest->at += 4;
	return true;
}

/*
 * Remove the suffix " (deleted)", if present. A file may be called "a (deleted)" without being
 * deleted; the kernel leaves that ambiguous.
 */
static bool take_deleted_suffix(struct line_rest *path)
{
	size_t length = strlen(DELETED_SUFFIX);

	if ((size_t)(path->end - path->at) < length ||
	    memcmp(path->end - length, DELETED_SUFFIX, length) != 0)
		return false;
	path->end -= length;
	return true;
}

/*
 * The kernel escapes newlines here and nothing else, not even backslashes: any other escape is part
 * of the file's name. Paths beyond PATH_MAX exist (openat() makes them); they get the same name as
 * in perf events.
 */
static void copy_path(char *ret, size_t size, struct line_rest path)
{
	size_t length = 0;

	while (path.at < path.end) {
		bool is_newline = path.end - path.at >= 4 && memcmp(path.at, "\\012", 4) == 0;

		if (length == size - 1) {
			memcpy(ret, "//toolong", sizeof("//toolong"));
			return;
		}
		ret[length++] = is_newline ? '\n' : *path.at;
		path.at += is_newline ? 4 : 1;
	}
	ret[length] = '\0';
}

/*
 * START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH, all but the inode hexadecimal. The path is
 * the rest of the line, blanks included.
 */
int proc_mapping_read(const char *line, size_t length, struct proc_mapping *ret,
		      struct error *error)
{
	struct line_rest rest = {.at = line, .end = line + length};
	uint64_t start, end, file_offset, dev_major, dev_minor, inode;
	bool is_executable;

	if (!take_number(&rest, 16, UINT64_MAX, &start) || !take_char(&rest, '-') ||
	    !take_number(&rest, 16, UINT64_MAX, &end) || !take_char(&rest, ' ') ||
	    !take_permissions(&rest, &is_executable) || !take_char(&rest, ' ') ||
	    !take_number(&rest, 16, UINT64_MAX, &file_offset) || !take_char(&rest, ' ') ||
	    !take_number(&rest, 16, UINT32_MAX, &dev_major) || !take_char(&rest, ':') ||
	    !take_number(&rest, 16, UINT32_MAX, &dev_minor) || !take_char(&rest, ' ') ||
	    !take_number(&rest, 10, UINT64_MAX, &inode))
		return error_set(error, -EINVAL,
				 "expected `START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH`");
	if (start >= end)
		return error_set(error, -EINVAL, "a mapping must end after its start");
	if (rest.at < rest.end && *rest.at != ' ')
		return error_set(error, -EINVAL, "expected a space after the inode");
	while (take_char(&rest, ' '))
		;
	if (rest.at < rest.end && memchr(rest.at, '\0', (size_t)(rest.end - rest.at)))
		return error_set(error, -EINVAL, "a path must not hold a NUL byte");

	ret->start = start;
	ret->end = end;
	ret->file_offset = file_offset;
	ret->inode = inode;
	ret->dev_major = (uint32_t)dev_major;
	ret->dev_minor = (uint32_t)dev_minor;
	ret->is_executable = is_executable;
	ret->is_deleted = take_deleted_suffix(&rest);
	copy_path(ret->path, sizeof(ret->path), rest);
	return 0;
}

int proc_maps_for_each(const char *text, size_t size,
		       int (*visit)(const struct proc_mapping *mapping, void *context),
		       void *context, struct error *error)
{
	struct proc_mapping mapping;
	const char *at = text;
	size_t left = size;

	for (size_t line_number = 1; left; line_number++) {
		const char *newline = memchr(at, '\n', left);
		size_t length = newline ? (size_t)(newline - at) : left;
		struct error line_error;
		int err = proc_mapping_read(at, length, &mapping, &line_error);

		if (err)
			return error_set(error, err, "maps line %zu: %s", line_number,
					 line_error.message);
		err = visit(&mapping, context);
		if (err)
			return err;
		length += newline ? 1 : 0;
		at += length;
		left -= length;
	}
	return 0;
}

int proc_maps_read(struct slow_opener *opener, const char *proc_root, pid_t pid,
		   int (*visit)(const struct proc_mapping *mapping, void *context), void *context)
{
	_cleanup_(text_release) struct text maps = {0};
	int err = proc_file_read_slow(opener, proc_root, pid, "maps", PROC_MAPS_MAX_BYTES, &maps);

	return err ? err : proc_maps_for_each(maps.data, maps.length, visit, context, NULL);
}
