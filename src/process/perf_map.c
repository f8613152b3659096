/*
 * The file contains no times, so its growth has to provide them: lines added since the last read
 * are newer than that. The last new line has the time of the file's latest change. The others were
 * added at some time in between, and count from its start on; frequent reads keep their number low.
 * If the file is written anew, all its lines are new, and have the time of its latest change: such
 * a file is written at once.
 */
#include "process/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "process/growing_file.h"
#include "process/jit_code.h"

#define READ_MAX_BYTES (128ull << 20)
#define LINE_MAX_BYTES (64u << 10)
#define CODE_MAX_BITS  62

struct perf_map {
	struct jit_code *code;
	uint64_t num_malformed;
	uint64_t read_bytes;  /* of the file; the next line starts here */
	uint64_t total_bytes; /* ever read, again if the file was written anew */
	uint64_t read_ns;     /* when the file was read to its end; 0: never */
	bool is_in_long_line; /* the next newline ends a line that was too long */
	struct growing_file file;
};

struct perf_map_line {
	uint64_t start;
	uint64_t end; /* first byte after it */
	const char *name;
};

struct perf_map *perf_map_new(void)
{
	struct perf_map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->code = jit_code_new();
	if (!map->code) {
		free(map);
		return NULL;
	}
	return map;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	growing_file_release(&map->file);
	jit_code_free(map->code);
	free(map);
}

/* Read a hexadecimal number. Returns its end; NULL if there are no digits or it is too large. */
static const char *read_hex(const char *at, const char *end, uint64_t *ret)
{
	size_t num_digits;

	if (end - at >= 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	num_digits = hex_read(at, (size_t)(end - at), ret);
	return num_digits ? at + num_digits : NULL;
}

/* Skip at least one blank; NULL without one. */
static const char *skip_blanks(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at > start ? at : NULL;
}

static bool read_line(const char *line, const char *end, struct perf_map_line *ret)
{
	uint64_t size_bytes;
	const char *at = read_hex(line, end, &ret->start);

	if (at)
		at = skip_blanks(at, end);
	if (at)
		at = read_hex(at, end, &size_bytes);
	/* Skip a single blank: any further one is part of the name. */
	if (!at || at == end || (*at != ' ' && *at != '\t') || ++at == end)
		return false;
	ret->name = at;
	return size_bytes && !(size_bytes >> CODE_MAX_BITS) &&
	       !__builtin_add_overflow(ret->start, size_bytes, &ret->end) &&
	       !memchr(at, '\0', (size_t)(end - at));
}

/* Blank lines are skipped silently. */
static int add_line(struct perf_map *map, const char *text, size_t length)
{
	struct perf_map_line line;

	if (length && text[length - 1] == '\r')
		length--;
	if (!length)
		return 0;
	if (!read_line(text, text + length, &line)) {
		map->num_malformed++;
		return 0;
	}
	return jit_code_add(map->code, map->read_ns, line.start, line.end, line.name,
			    (size_t)(text + length - line.name));
}

/* Add complete lines. Returns their size in ret_size, in bytes. */
static int add_whole_lines(struct perf_map *map, const char *text, size_t size, size_t *ret_size)
{
	size_t done = 0;
	const char *newline;

	while (done < size && (newline = memchr(text + done, '\n', size - done)) != NULL) {
		int err = add_line(map, text + done, (size_t)(newline - text) - done);

		if (err)
			return err;
		done = (size_t)(newline - text) + 1;
	}
	*ret_size = done;
	return 0;
}

int perf_map_add_text(struct perf_map *map, const char *text, size_t size)
{
	size_t done;
	int err = add_whole_lines(map, text, size, &done);

	if (err)
		return err;
	return done < size ? add_line(map, text + done, size - done) : 0;
}

/*
 * Add the lines of a chunk of the file, and advance read_bytes. A full chunk without a newline is
 * the start of a line that is too long; the rest of the line is skipped.
 */
static int add_chunk(struct perf_map *map, const char *chunk, size_t size)
{
	size_t skipped = 0;
	size_t done;
	int err;

	if (map->is_in_long_line) {
		const char *newline = memchr(chunk, '\n', size);

		skipped = newline ? (size_t)(newline - chunk) + 1 : size;
		map->is_in_long_line = !newline;
	}
	err = add_whole_lines(map, chunk + skipped, size - skipped, &done);
	if (err)
		return err;
	done += skipped;
	if (!done && size == LINE_MAX_BYTES) {
		map->num_malformed++;
		map->is_in_long_line = true;
		done = size;
	}
	err = growing_file_note(&map->file, map->read_bytes, chunk, done);
	if (err)
		return err;
	map->read_bytes += done;
	return 0;
}

/*
 * When a file was changed last, but not in the future. A program may set the time of modification
 * back, even before the last read, but not that of the inode's change.
 */
static uint64_t get_change_ns(const struct perf_map *map, const struct timespec *modified,
			      const struct timespec *changed)
{
	uint64_t change_ns = clock_from_calendar_ns(modified);
	uint64_t inode_ns = clock_from_calendar_ns(changed);
	uint64_t now_ns = clock_now_ns();

	if (change_ns < map->read_ns && change_ns < inode_ns)
		change_ns = inode_ns;
	return change_ns < now_ns ? change_ns : now_ns;
}

/* Start again if the file was written anew. ret_bytes  its size. Returns 0 or negative errno. */
static int check_file(struct perf_map *map, int fd, bool *ret_is_new, uint64_t *ret_bytes)
{
	ino_t inode = map->file.inode;
	int err = growing_file_check(&map->file, fd, ret_is_new, ret_bytes);

	if (err || !*ret_is_new)
		return err;
	/* Another file may have been written before the last read of this one. */
	if (map->file.inode != inode)
		map->read_ns = 0;
	map->read_ns = get_change_ns(map, &map->file.version.modified, &map->file.version.changed);
	map->num_malformed = 0;
	map->read_bytes = 0;
	map->is_in_long_line = false;
	return 0;
}

int perf_map_refresh(struct perf_map *map, int fd, uint64_t limit_bytes)
{
	char chunk[LINE_MAX_BYTES];
	uint64_t now_ns = clock_now_ns();
	uint64_t num_before = jit_code_count_until(map->code, UINT64_MAX);
	uint64_t done_bytes = 0;
	uint64_t before;
	uint64_t size_bytes;
	struct stat status;
	bool is_new;
	int err = check_file(map, fd, &is_new, &size_bytes);

	if (err)
		return err;
	if (size_bytes == map->read_bytes) {
		map->read_ns = now_ns;
		return 0;
	}
	do {
		ssize_t got = -1;

		if (map->total_bytes >= READ_MAX_BYTES)
			return -EFBIG;
		got = pread(fd, chunk, sizeof(chunk), (off_t)map->read_bytes);
		if (got < 0 && errno == EINTR)
			got = 0;
		if (got < 0)
			return -errno;
		before = map->read_bytes;
		/* It may have been written anew before these bytes were read. */
		err = check_file(map, fd, &is_new, &size_bytes);
		if (err)
			return err;
		if (is_new)
			continue;
		err = add_chunk(map, chunk, (size_t)got);
		if (err)
			return err;
		done_bytes += map->read_bytes - before;
		map->total_bytes += map->read_bytes - before;
	} while ((is_new || map->read_bytes > before) && done_bytes < limit_bytes);
	if (done_bytes >= limit_bytes)
		return 0;
	/* The file's own time may be early by up to a timer interrupt of the kernel. */
	if (jit_code_count_until(map->code, UINT64_MAX) > num_before && !fstat(fd, &status))
		jit_code_delay_last(map->code,
				    get_change_ns(map, &status.st_mtim, &status.st_ctim));
	map->read_ns = now_ns;
	return 0;
}

const struct jit_code *perf_map_get_code(const struct perf_map *map)
{
	return map->code;
}

uint64_t perf_map_get_total_bytes(const struct perf_map *map)
{
	return map->total_bytes;
}

uint64_t perf_map_get_malformed_count(const struct perf_map *map)
{
	return map->num_malformed;
}
