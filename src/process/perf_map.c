/*
 * JIT compilers move and recompile code, so that a long file names the same addresses over and
 * over, in ranges that overlap in any way. The map therefore keeps only what is visible from above:
 * a sorted list of disjoint intervals. There is one operation, overlay(): lay one such list over
 * another, in linear time. New lines become a list by halving them until a half is one already
 * (most JITs allocate upwards), then laying the newer half over the older one; and the result is
 * laid over what is known from before.
 */
#include "process/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/text.h"

#define FILE_MAX_BYTES (512ull << 20)
#define LINE_MAX_BYTES (64u << 10)

struct perf_map_interval {
	uint64_t start;
	uint64_t end;  /* first byte after it */
	uint64_t name; /* offset in names */
};

struct interval_list {
	ARRAY(struct perf_map_interval) list; /* sorted and disjoint */
};

struct perf_map {
	struct interval_list intervals;
	ARRAY(struct perf_map_interval) new_lines; /* in the order of the file */
	struct text names;                         /* each with its NUL */
	uint64_t num_malformed;
	uint64_t read_bytes;  /* of the file; the next line starts here */
	bool is_in_long_line; /* the next newline ends a line that was too long */
};

struct perf_map *perf_map_new(void)
{
	return calloc(1, sizeof(struct perf_map));
}

static void clear(struct perf_map *map)
{
	array_release(&map->intervals.list);
	array_release(&map->new_lines);
	text_release(&map->names);
	*map = (struct perf_map){0};
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	clear(map);
	free(map);
}

static void interval_list_release(struct interval_list *intervals)
{
	array_release(&intervals->list);
}

/* Append what is left of an interval; the caller has made room. */
static void append(struct interval_list *ret, const struct perf_map_interval *interval,
		   uint64_t start, uint64_t end)
{
	if (start < end)
		ret->list.items[ret->list.length++] = (struct perf_map_interval){
			.start = start, .end = end, .name = interval->name};
}

/* ret (empty before) becomes what is visible when newer is laid over older. */
static int overlay(const struct perf_map_interval *older, size_t num_older,
		   const struct perf_map_interval *newer, size_t num_newer,
		   struct interval_list *ret)
{
	size_t o = 0;
	uint64_t visible_from = 0; /* older intervals are hidden or written below this address */

	/* Every newer interval splits one older one at most. */
	if (array_reserve(&ret->list, num_older + 2 * num_newer))
		return -ENOMEM;
	for (size_t n = 0; n < num_newer; n++) {
		for (; o < num_older && older[o].start < newer[n].start; o++) {
			bool is_cut = older[o].end > newer[n].start;
			uint64_t start =
				older[o].start > visible_from ? older[o].start : visible_from;

			append(ret, &older[o], start, is_cut ? newer[n].start : older[o].end);
			if (is_cut)
				break;
		}
		append(ret, &newer[n], newer[n].start, newer[n].end);
		visible_from = newer[n].end;
		while (o < num_older && older[o].end <= visible_from)
			o++;
	}
	for (; o < num_older; o++)
		append(ret, &older[o],
		       older[o].start > visible_from ? older[o].start : visible_from, older[o].end);
	return 0;
}

static bool is_disjoint(const struct perf_map_interval *lines, size_t num_lines)
{
	for (size_t i = 1; i < num_lines; i++)
		if (lines[i].start < lines[i - 1].end)
			return false;
	return true;
}

/* ret (empty before) becomes what is visible of lines, the oldest of which comes first. */
static int flatten(const struct perf_map_interval *lines, size_t num_lines,
		   struct interval_list *ret)
{
	_cleanup_(interval_list_release) struct interval_list older = {0};
	_cleanup_(interval_list_release) struct interval_list newer = {0};
	size_t half = num_lines / 2;
	int err;

	if (is_disjoint(lines, num_lines))
		return overlay(NULL, 0, lines, num_lines, ret);
	err = flatten(lines, half, &older);
	if (err)
		return err;
	err = flatten(lines + half, num_lines - half, &newer);
	if (err)
		return err;
	return overlay(older.list.items, older.list.length, newer.list.items, newer.list.length,
		       ret);
}

/* Make the new lines visible. */
static int take_new_lines(struct perf_map *map)
{
	_cleanup_(interval_list_release) struct interval_list newer = {0};
	struct interval_list all = {0};
	int err;

	if (!map->new_lines.length)
		return 0;
	err = flatten(map->new_lines.items, map->new_lines.length, &newer);
	if (err)
		return err;
	err = overlay(map->intervals.list.items, map->intervals.list.length, newer.list.items,
		      newer.list.length, &all);
	if (err)
		return err;
	interval_list_release(&map->intervals);
	map->intervals = all;
	array_release(&map->new_lines);
	return 0;
}

/* Step over a hexadecimal number. Returns where it ends; NULL when there is none, or too large. */
static const char *read_hex(const char *at, const char *end, uint64_t *ret)
{
	size_t num_digits;

	if (end - at >= 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	num_digits = hex_read(at, (size_t)(end - at), ret);
	return num_digits ? at + num_digits : NULL;
}

/* Step over at least one blank; NULL when there is none. */
static const char *skip_blanks(const char *at, const char *end)
{
	const char *start = at;

	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at > start ? at : NULL;
}

/* Returns the name's start, or NULL when the line is malformed. */
static const char *read_line(const char *line, const char *end, struct perf_map_interval *interval)
{
	uint64_t size_bytes;
	const char *at = read_hex(line, end, &interval->start);

	if (at)
		at = skip_blanks(at, end);
	if (at)
		at = read_hex(at, end, &size_bytes);
	/* One blank only: any further one is part of the name. */
	if (!at || at == end || (*at != ' ' && *at != '\t') || ++at == end)
		return NULL;
	if (!size_bytes || __builtin_add_overflow(interval->start, size_bytes, &interval->end) ||
	    memchr(at, '\0', (size_t)(end - at)))
		return NULL;
	return at;
}

/* Blank lines are skipped without a word. */
static int add_line(struct perf_map *map, const char *line, size_t length)
{
	struct perf_map_interval interval;
	struct perf_map_interval *added;
	const char *name;

	if (length && line[length - 1] == '\r')
		length--;
	if (!length)
		return 0;
	name = read_line(line, line + length, &interval);
	if (!name) {
		map->num_malformed++;
		return 0;
	}
	interval.name = map->names.length;
	text_append(&map->names, name, (size_t)(line + length - name));
	text_append_char(&map->names, '\0');
	added = array_add(&map->new_lines);
	if (!added || map->names.failed)
		return -ENOMEM;
	*added = interval;
	return 0;
}

/* Add the lines that have their newline. Returns in ret_size how many bytes they are. */
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
	if (done < size) {
		err = add_line(map, text + done, size - done);
		if (err)
			return err;
	}
	return take_new_lines(map);
}

/*
 * Add the lines of a piece of the file, and count the bytes that are done with. A piece that is
 * full without a newline is the beginning of a line that nobody needs.
 */
static int add_piece(struct perf_map *map, const char *piece, size_t size)
{
	size_t skipped = 0;
	size_t done;
	int err;

	if (map->is_in_long_line) {
		const char *newline = memchr(piece, '\n', size);

		skipped = newline ? (size_t)(newline - piece) + 1 : size;
		map->is_in_long_line = !newline;
	}
	err = add_whole_lines(map, piece + skipped, size - skipped, &done);
	if (err)
		return err;
	done += skipped;
	if (!done && size == LINE_MAX_BYTES) {
		map->num_malformed++;
		map->is_in_long_line = true;
		done = size;
	}
	map->read_bytes += done;
	return 0;
}

int perf_map_refresh(struct perf_map *map, int fd)
{
	char piece[LINE_MAX_BYTES];
	uint64_t before;
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size < map->read_bytes)
		clear(map);
	do {
		ssize_t got = pread(fd, piece, sizeof(piece), (off_t)map->read_bytes);
		int err;

		if (got < 0 && errno == EINTR)
			got = 0;
		if (got < 0)
			return -errno;
		before = map->read_bytes;
		err = add_piece(map, piece, (size_t)got);
		if (err)
			return err;
	} while (map->read_bytes > before && map->read_bytes < FILE_MAX_BYTES);
	if (take_new_lines(map))
		return -ENOMEM;
	return map->read_bytes < FILE_MAX_BYTES ? 0 : -EFBIG;
}

const char *perf_map_find(const struct perf_map *map, uint64_t pc)
{
	const struct perf_map_interval *items = map->intervals.list.items;
	size_t place = array_count_front(&map->intervals.list, interval, interval->end <= pc);

	if (place == map->intervals.list.length || pc < items[place].start)
		return NULL;
	return map->names.data + items[place].name;
}

uint64_t perf_map_get_malformed_count(const struct perf_map *map)
{
	return map->num_malformed;
}
