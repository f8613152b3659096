#include "process/jitdump.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"
#include "process/code_owner.h"
#include "process/growing_file.h"
#include "process/jit_code.h"

#define MAGIC               0x4a695444u
#define FLAG_ARCH_TIMESTAMP 1u
#define HEADER_MIN_BYTES    40
#define HEADER_MAX_BYTES    4096
#define RECORD_PREFIX_BYTES 16
#define LOAD_BYTES          (RECORD_PREFIX_BYTES + 40) /* the name follows */
#define MOVE_BYTES          (RECORD_PREFIX_BYTES + 48)
#define NAME_MAX_BYTES      (16u << 10)
#define CHUNK_BYTES         (64u << 10)
#define CODE_MAX_BITS       62

enum jitdump_record { JIT_CODE_LOAD, JIT_CODE_MOVE };

struct jitdump {
	struct jit_code *code;
	pid_t pid;
	uint64_t read_bytes;  /* of the file; the next record starts here */
	uint64_t read_ns;     /* when the file was read to its end; 0: never */
	uint64_t total_bytes; /* read in total, without skipped code */
	uint64_t num_malformed;
	uint64_t latest_ns; /* upper bound for the times of records */
	uint64_t offset_ns; /* from the records' clock to ours */
	bool has_header;
	bool is_swapped; /* its byte order is not ours */
	bool has_foreign_clock;
	struct growing_file file;
};

struct jitdump *jitdump_new(pid_t pid)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));

	if (!dump)
		return NULL;
	dump->pid = pid;
	dump->latest_ns = UINT64_MAX;
	dump->code = jit_code_new();
	if (!dump->code) {
		free(dump);
		return NULL;
	}
	return dump;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	growing_file_release(&dump->file);
	jit_code_free(dump->code);
	free(dump);
}

pid_t jitdump_get_pid(const char *path)
{
	const char *name = path_basename(path);
	char *end;
	long pid;

	if (!string_starts_with(name, "jit-") || name[4] < '1' || name[4] > '9')
		return 0;
	errno = 0;
	pid = strtol(name + 4, &end, 10);
	if (errno || pid > INT_MAX || !string_equals(end, ".dump"))
		return 0;
	return (pid_t)pid;
}

int jitdump_check(const char *proc_root, pid_t pid, const char *path, int fd, pid_t *ret_pid,
		  struct error *error)
{
	struct code_owner owner;
	int err = code_owner_read(proc_root, pid, &owner);

	if (err)
		return error_set(error, err, "%s/%d/status: cannot read it: %s", proc_root, pid,
				 strerror(-err));
	/* A child inherits its parent's mapping. */
	if (jitdump_get_pid(path) != owner.inner_pid)
		return error_set(error, -EPERM, "%s: belongs to a process other than %d", path,
				 owner.inner_pid);
	err = code_owner_check(&owner, path, fd, error);
	if (err)
		return err;
	*ret_pid = owner.inner_pid;
	return 0;
}

static uint32_t read_u32(struct bytes *bytes, bool is_swapped)
{
	uint32_t value = bytes_u32(bytes);

	return is_swapped ? __builtin_bswap32(value) : value;
}

static uint64_t read_u64(struct bytes *bytes, bool is_swapped)
{
	uint64_t value = bytes_u64(bytes);

	return is_swapped ? __builtin_bswap64(value) : value;
}

/* Returns 0 with *ret_size, the bytes to skip: 0 if the header is incomplete. Or -EINVAL. */
static int read_header(struct jitdump *dump, const void *data, size_t size, uint64_t *ret_size)
{
	struct bytes bytes = bytes_of(data, size);
	uint32_t magic;
	uint32_t total_bytes;
	uint64_t flags;

	*ret_size = 0;
	if (size < HEADER_MIN_BYTES)
		return 0;
	magic = bytes_u32(&bytes);
	dump->is_swapped = magic == __builtin_bswap32(MAGIC);
	if (magic != MAGIC && !dump->is_swapped)
		return -EINVAL;
	bytes_skip(&bytes, sizeof(uint32_t)); /* version: only one exists */
	total_bytes = read_u32(&bytes, dump->is_swapped);
	bytes_skip(&bytes, 3 * sizeof(uint32_t)); /* machine, padding, pid: the name contains it */
	bytes_skip(&bytes, sizeof(uint64_t));     /* time of creation */
	flags = read_u64(&bytes, dump->is_swapped);
	if (total_bytes < HEADER_MIN_BYTES || total_bytes > HEADER_MAX_BYTES)
		return -EINVAL;
	dump->has_foreign_clock = flags & FLAG_ARCH_TIMESTAMP;
	dump->has_header = true;
	*ret_size = total_bytes;
	return 0;
}

/* A record's time, CLOCK_MONOTONIC, as a time of ours. */
static uint64_t get_time_ns(const struct jitdump *dump, uint64_t time_ns)
{
	uint64_t ours_ns;

	if (dump->has_foreign_clock)
		return dump->read_ns;
	ours_ns = time_ns + dump->offset_ns;
	return ours_ns < dump->latest_ns ? ours_ns : dump->latest_ns;
}

static int add_code(struct jitdump *dump, uint64_t time_ns, uint64_t start, uint64_t num_bytes,
		    const char *name, size_t length)
{
	uint64_t end;

	if (!num_bytes || num_bytes >> CODE_MAX_BITS ||
	    __builtin_add_overflow(start, num_bytes, &end) || !length) {
		dump->num_malformed++;
		return 0;
	}
	return jit_code_add(dump->code, get_time_ns(dump, time_ns), start, end, name, length);
}

/* The record's next number is its pid, followed by the tid and an address. */
static bool is_of_other_process(struct jitdump *dump, struct bytes *record)
{
	bool is_other = read_u32(record, dump->is_swapped) != (uint32_t)dump->pid;

	bytes_skip(record, sizeof(uint32_t) + sizeof(uint64_t));
	dump->num_malformed += is_other;
	return is_other;
}

/* Returns 1 if the name is incomplete. */
static int read_load(struct jitdump *dump, uint64_t time_ns, struct bytes *record,
		     size_t record_bytes)
{
	uint64_t start;
	uint64_t num_bytes;
	const char *name;
	size_t name_bytes;
	const char *end;

	if (is_of_other_process(dump, record))
		return 0;
	start = read_u64(record, dump->is_swapped);
	num_bytes = read_u64(record, dump->is_swapped);
	bytes_skip(record, sizeof(uint64_t)); /* number of the code */
	name_bytes = bytes_left(record);
	if (name_bytes > NAME_MAX_BYTES)
		name_bytes = NAME_MAX_BYTES;
	name = bytes_take(record, name_bytes);
	end = memchr(name, '\0', name_bytes);
	if (end)
		return add_code(dump, time_ns, start, num_bytes, name, (size_t)(end - name));
	if (name_bytes < NAME_MAX_BYTES && LOAD_BYTES + name_bytes < record_bytes)
		return 1;
	dump->num_malformed++;
	return 0;
}

/* Code keeps its name when it moves. */
static int read_move(struct jitdump *dump, uint64_t time_ns, struct bytes *record)
{
	uint64_t old_start;
	uint64_t start;
	uint64_t num_bytes;
	const char *found;
	char *name;
	int err;

	if (is_of_other_process(dump, record))
		return 0;
	old_start = read_u64(record, dump->is_swapped);
	start = read_u64(record, dump->is_swapped);
	num_bytes = read_u64(record, dump->is_swapped);
	found = jit_code_find(dump->code, old_start, SIZE_MAX);
	if (!found) {
		dump->num_malformed++;
		return 0;
	}
	name = strdup(found); /* copied, since adding the new name may move it */
	if (!name)
		return -ENOMEM;
	err = add_code(dump, time_ns, start, num_bytes, name, strlen(name));
	free(name);
	return err;
}

/*
 * Read the record at the start of the data. Returns its size in *ret_size; this may exceed the
 * data, since the code after the name is not read. 0 if the record is incomplete.
 */
static int read_record(struct jitdump *dump, const void *data, size_t size, uint64_t *ret_size)
{
	struct bytes head = bytes_of(data, size);
	uint32_t kind = read_u32(&head, dump->is_swapped);
	uint32_t record_bytes = read_u32(&head, dump->is_swapped);
	uint64_t time_ns = read_u64(&head, dump->is_swapped);
	size_t needed = RECORD_PREFIX_BYTES;
	struct bytes record;
	int err = 0;

	*ret_size = 0;
	if (head.failed)
		return 0;
	if (record_bytes < RECORD_PREFIX_BYTES)
		return -EINVAL;
	if (kind == JIT_CODE_LOAD)
		needed = LOAD_BYTES;
	else if (kind == JIT_CODE_MOVE)
		needed = MOVE_BYTES;
	if (record_bytes < needed) {
		dump->num_malformed++;
		*ret_size = record_bytes;
		return 0;
	}
	if (size < needed)
		return 0;
	record = bytes_of(data, size < record_bytes ? size : record_bytes);
	bytes_skip(&record, RECORD_PREFIX_BYTES);
	if (kind == JIT_CODE_LOAD)
		err = read_load(dump, time_ns, &record, record_bytes);
	else if (kind == JIT_CODE_MOVE)
		err = read_move(dump, time_ns, &record);
	if (err < 0)
		return err;
	if (err == 0)
		*ret_size = record_bytes;
	return 0;
}

int jitdump_add_bytes(struct jitdump *dump, const void *data, size_t size, uint64_t *ret_used)
{
	const uint8_t *bytes = data;
	uint64_t step;

	*ret_used = 0;
	do {
		const uint8_t *at = bytes + *ret_used;
		size_t left = size - (size_t)*ret_used;
		int err = dump->has_header ? read_record(dump, at, left, &step)
					   : read_header(dump, at, left, &step);

		if (err)
			return err;
		*ret_used += step;
	} while (step && *ret_used < size);
	return 0;
}

/* Start again if the file was written anew. Returns 0 or negative errno. */
static int check_file(struct jitdump *dump, int fd, bool *ret_is_new)
{
	uint64_t size_bytes;
	int err = growing_file_check(&dump->file, fd, ret_is_new, &size_bytes);

	if (err || !*ret_is_new)
		return err;
	dump->read_bytes = 0;
	dump->has_header = false;
	return 0;
}

int jitdump_refresh(struct jitdump *dump, int fd, uint64_t limit_bytes)
{
	uint8_t chunk[CHUNK_BYTES];
	uint64_t now_ns = clock_now_ns();
	uint64_t start_bytes = dump->total_bytes;
	size_t num_before = jit_code_count_until(dump->code, UINT64_MAX);
	struct stat status;
	uint64_t used;
	bool is_new;

	dump->latest_ns = now_ns;
	dump->offset_ns = clock_get_offset_ns(CLOCK_MONOTONIC);
	do {
		ssize_t got = pread(fd, chunk, sizeof(chunk), (off_t)dump->read_bytes);
		int err;

		if (got < 0 && errno == EINTR)
			got = 0;
		if (got < 0)
			return -errno;
		/* It may have been written anew before these bytes were read. */
		err = check_file(dump, fd, &is_new);
		if (err)
			return err;
		used = 1;
		if (is_new)
			continue;
		err = jitdump_add_bytes(dump, chunk, (size_t)got, &used);
		if (growing_file_note(&dump->file, dump->read_bytes, chunk,
				      used < (uint64_t)got ? (size_t)used : (size_t)got))
			return -ENOMEM;
		dump->read_bytes += used;
		dump->total_bytes += used < (uint64_t)got ? used : (uint64_t)got;
		if (err)
			return err;
		if (dump->read_bytes > INT64_MAX)
			return -EINVAL;
	} while (used && dump->total_bytes - start_bytes < limit_bytes);
	if (used)
		return 0;
	/* As in a perf-map, which has no times at all. */
	if (dump->has_foreign_clock && jit_code_count_until(dump->code, UINT64_MAX) > num_before &&
	    !fstat(fd, &status))
		jit_code_delay_last(dump->code, clock_from_calendar_ns(&status.st_mtim));
	dump->read_ns = now_ns;
	return 0;
}

const struct jit_code *jitdump_get_code(const struct jitdump *dump)
{
	return dump->code;
}

uint64_t jitdump_get_total_bytes(const struct jitdump *dump)
{
	return dump->total_bytes;
}

bool jitdump_has_foreign_clock(const struct jitdump *dump)
{
	return dump->has_foreign_clock;
}

uint64_t jitdump_get_malformed_count(const struct jitdump *dump)
{
	return dump->num_malformed;
}
