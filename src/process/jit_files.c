#include "process/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/jit_code.h"
#include "process/jitdump.h"
#include "process/perf_map.h"

/* Pauses between looks at the path of a perf-map: with a name somewhere, and without one. */
#define LOOK_NS          NS_PER_SECOND
#define NAMELESS_LOOK_NS (20 * NS_PER_MS)

void jit_files_init(struct jit_files *jit)
{
	*jit = (struct jit_files){
		.perf_map_fd = -1, .jitdump_fd = -1, .next_perf_map_fd = -1, .next_jitdump_fd = -1};
}

static void close_file(int *fd)
{
	cleanup_closep(fd);
	*fd = -1;
}

void jit_files_release(struct jit_files *jit)
{
	close_file(&jit->perf_map_fd);
	close_file(&jit->jitdump_fd);
	close_file(&jit->next_perf_map_fd);
	close_file(&jit->next_jitdump_fd);
	perf_map_free(jit->perf_map);
	jitdump_free(jit->jitdump);
	jit_files_init(jit);
}

void jit_files_empty(struct jit_files *jit)
{
	struct jit_files emptied = {
		.perf_map_fd = -1,
		.jitdump_fd = -1,
		.next_perf_map_fd = -1,
		.next_jitdump_fd = -1,
		.next_search_ns = jit->next_search_ns,
		.owner = jit->owner,
		.is_followed = jit->is_followed,
		.are_names_truncated = true,
		.was_emptied = true,
	};

	jit_files_release(jit);
	*jit = emptied;
}

static void note_owner(struct jit_files *jit, int fd)
{
	struct stat status;

	if (!(jit->perf_map && jit->jitdump) && fstat(fd, &status) == 0)
		jit->owner = status.st_uid;
}

/*
 * A file that loses its name changes an attribute. The watch ends with the file or the instance.
 * Without a watch the file is read a little later.
 */
static void watch(int watch_fd, int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (watch_fd >= 0 && inotify_add_watch(watch_fd, path, IN_MODIFY | IN_ATTRIB) < 0)
		log_debug("%s: cannot watch it", path);
}

/* Returns 0 or -ENOMEM; ret is unchanged if it cannot be opened. */
static int open_perf_map(struct slow_opener *opener, const char *proc_root, pid_t pid, int *ret)
{
	struct error error = {0};
	int err = perf_map_open(opener, proc_root, pid, ret, &error);

	if (err == -ENOMEM)
		return err;
	if (err && err != -ENOENT)
		log_debug("%s, skipping", error.message);
	return 0;
}

static int search_perf_map(struct jit_files *jit, struct slow_opener *opener, const char *proc_root,
			   pid_t pid, int watch_fd)
{
	int err = open_perf_map(opener, proc_root, pid, &jit->perf_map_fd);

	if (err || jit->perf_map_fd < 0)
		return err;
	jit->perf_map = perf_map_new();
	if (!jit->perf_map) {
		close_file(&jit->perf_map_fd);
		return -ENOMEM;
	}
	jit->looked_ns = clock_now_ns();
	note_owner(jit, jit->perf_map_fd);
	watch(watch_fd, jit->perf_map_fd);
	return 0;
}

/*
 * Whether to look at the path again. A file that was replaced has no name any more, unless it was
 * given another one.
 */
static bool may_be_replaced(struct jit_files *jit)
{
	uint64_t now_ns = clock_now_ns();
	struct stat status;
	bool has_name;

	if (jit->perf_map_fd < 0 || jit->next_perf_map_fd >= 0)
		return false;
	has_name = !fstat(jit->perf_map_fd, &status) && status.st_nlink;
	if (now_ns - jit->looked_ns < (has_name ? LOOK_NS : NAMELESS_LOOK_NS))
		return false;
	jit->looked_ns = now_ns;
	return true;
}

static int search_next_perf_map(struct jit_files *jit, struct slow_opener *opener,
				const char *proc_root, pid_t pid, int watch_fd)
{
	struct stat old;
	struct stat found;
	int fd = -1;
	int err = open_perf_map(opener, proc_root, pid, &fd);

	if (err || fd < 0)
		return err;
	if (fstat(fd, &found) || fstat(jit->perf_map_fd, &old) ||
	    (found.st_dev == old.st_dev && found.st_ino == old.st_ino)) {
		close(fd);
		return 0;
	}
	jit->next_perf_map_fd = fd;
	watch(watch_fd, fd);
	return 0;
}

/* Try a mapping as a jitdump. */
static int try_jitdump(struct jit_files *jit, const char *proc_root, pid_t pid,
		       const struct mapped_file *file, uint32_t number, int watch_fd)
{
	struct error error = {0};
	pid_t inner_pid;
	int *fd = jit->jitdump ? &jit->next_jitdump_fd : &jit->jitdump_fd;
	int err;

	if (file->fd < 0 || !jitdump_get_pid(file->path))
		return 0;
	err = jitdump_check(proc_root, pid, file->path, file->fd, &inner_pid, &error);
	if (err == -ENOMEM)
		return err;
	if (err) {
		log_debug("%s, skipping", error.message);
		return 0;
	}
	if (!jit->jitdump) {
		jit->jitdump = jitdump_new(inner_pid);
		if (!jit->jitdump)
			return -ENOMEM;
		note_owner(jit, file->fd);
	}
	jit->jitdump_file = number;
	*fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (*fd >= 0)
		watch(watch_fd, *fd);
	return 0;
}

/* A jitdump that was mapped later has a higher number. */
static int search_jitdump(struct jit_files *jit, const char *proc_root, pid_t pid,
			  const struct file_table *files, const struct mapping_list *mappings,
			  int watch_fd)
{
	array_for_each (&mappings->sorted, mapping) {
		int err;

		if (jit->next_jitdump_fd >= 0)
			break;
		if (mapping->file == FILE_NONE ||
		    (jit->jitdump && mapping->file <= jit->jitdump_file))
			continue;
		err = try_jitdump(jit, proc_root, pid, file_table_get(files, mapping->file),
				  mapping->file, watch_fd);
		if (err)
			return err;
	}
	return 0;
}

int jit_files_search(struct jit_files *jit, const char *proc_root, pid_t pid,
		     const struct file_table *files, const struct mapping_list *mappings,
		     int watch_fd)
{
	int err;

	if (jit->was_emptied)
		return 0;
	if (!jit->perf_map) {
		err = search_perf_map(jit, file_table_get_opener(files), proc_root, pid, watch_fd);
		if (err)
			return err;
	}
	return search_jitdump(jit, proc_root, pid, files, mappings, watch_fd);
}

int jit_files_search_next(struct jit_files *jit, const char *proc_root, pid_t pid,
			  const struct file_table *files, const struct mapping_list *mappings,
			  int watch_fd)
{
	int err = may_be_replaced(jit) ? search_next_perf_map(jit, file_table_get_opener(files),
							      proc_root, pid, watch_fd)
				       : 0;

	if (err || !jit->jitdump)
		return err;
	return search_jitdump(jit, proc_root, pid, files, mappings, watch_fd);
}

static int read_jitdump(struct jit_files *jit, uint64_t limit_bytes)
{
	bool was_foreign = jitdump_has_foreign_clock(jit->jitdump);
	int err = jitdump_refresh(jit->jitdump, jit->jitdump_fd, limit_bytes);

	if (!was_foreign && jitdump_has_foreign_clock(jit->jitdump))
		log_debug("jitdump with a clock of its own: names change when it grows");
	return err;
}

/* After an error, which is no failure: earlier names are kept. */
static void finish_file(struct jit_files *jit, int *fd, int err)
{
	jit->are_names_truncated |= err == -EFBIG;
	close_file(fd);
}

static void take_off(uint64_t *left_bytes, uint64_t read_bytes)
{
	*left_bytes -= read_bytes < *left_bytes ? read_bytes : *left_bytes;
}

static int read_one_jitdump(struct jit_files *jit, uint64_t *left_bytes)
{
	uint64_t before = jitdump_get_total_bytes(jit->jitdump);
	int err = read_jitdump(jit, *left_bytes);

	if (err == -ENOMEM)
		return err;
	take_off(left_bytes, jitdump_get_total_bytes(jit->jitdump) - before);
	if (err)
		finish_file(jit, &jit->jitdump_fd, err);
	return 0;
}

static int read_one_perf_map(struct jit_files *jit, uint64_t *left_bytes)
{
	uint64_t before = perf_map_get_total_bytes(jit->perf_map);
	int err = perf_map_refresh(jit->perf_map, jit->perf_map_fd, *left_bytes);

	if (err == -ENOMEM)
		return err;
	take_off(left_bytes, perf_map_get_total_bytes(jit->perf_map) - before);
	if (err)
		finish_file(jit, &jit->perf_map_fd, err);
	return 0;
}

/* Whether there is another file in the place of one that was read: it is the open one now. */
static bool take_next(int *fd, int *next)
{
	if (*next < 0)
		return false;
	close_file(fd);
	*fd = *next;
	*next = -1;
	return true;
}

int jit_files_read(struct jit_files *jit, uint64_t *left_bytes)
{
	int err = 0;

	do {
		if (jit->jitdump_fd >= 0 && *left_bytes)
			err = read_one_jitdump(jit, left_bytes);
		if (err)
			return err;
	} while (*left_bytes && take_next(&jit->jitdump_fd, &jit->next_jitdump_fd));
	do {
		if (jit->perf_map_fd >= 0 && *left_bytes)
			err = read_one_perf_map(jit, left_bytes);
		if (err)
			return err;
	} while (*left_bytes && take_next(&jit->perf_map_fd, &jit->next_perf_map_fd));
	jit->size_bytes = 0;
	if (jit->jitdump)
		jit->size_bytes += jit_code_get_size_bytes(jitdump_get_code(jit->jitdump));
	if (jit->perf_map)
		jit->size_bytes += jit_code_get_size_bytes(perf_map_get_code(jit->perf_map));
	return 0;
}

/* The jitdump is first: its names have exact times. */
static size_t list_code(const struct jit_files *jit, const struct jit_code *ret[static 2])
{
	size_t count = 0;

	if (jit->jitdump)
		ret[count++] = jitdump_get_code(jit->jitdump);
	if (jit->perf_map)
		ret[count++] = perf_map_get_code(jit->perf_map);
	return count;
}

uint64_t jit_files_get_version(const struct jit_files *jit, uint64_t time_ns)
{
	const struct jit_code *code[2];
	size_t count = list_code(jit, code);
	uint64_t version = 0;

	for (size_t i = 0; i < count; i++)
		version = version << 32 | jit_code_count_until(code[i], time_ns);
	return version;
}

const char *jit_files_find(const struct jit_files *jit, uint64_t pc, uint64_t time_ns)
{
	const struct jit_code *code[2];
	size_t count = list_code(jit, code);
	const char *name = NULL;

	for (size_t i = 0; i < count && !name; i++)
		name = jit_code_find(code[i], pc, jit_code_count_until(code[i], time_ns));
	return name;
}

const char *jit_files_find_first(const struct jit_files *jit, uint64_t pc)
{
	const struct jit_code *code[2];
	size_t count = list_code(jit, code);
	const char *first = NULL;
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		uint64_t time_ns;
		const char *name = jit_code_find_first(code[i], pc, &time_ns);

		if (name && (!first || time_ns < first_ns)) {
			first = name;
			first_ns = time_ns;
		}
	}
	return first;
}
