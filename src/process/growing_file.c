#include "process/growing_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

/* Times of files are those of the kernel's last timer interrupt. There are at least 100 a second. */
#define SETTLING_NS (20 * NS_PER_MS)

static bool has_bytes(int fd, uint64_t offset, const char *bytes, size_t size)
{
	char found[GROWING_FILE_MARK_BYTES];

	return !size || (pread(fd, found, size, (off_t)offset) == (ssize_t)size &&
			 memcmp(found, bytes, size) == 0);
}

static void add_to_hash(struct growing_hash *hash, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		hash->word |= (uint64_t)(uint8_t)bytes[i] << hash->num_bytes % 8 * 8;
		if (++hash->num_bytes % 8)
			continue;
		hash->hash = hash_mix(hash->hash, hash->word);
		hash->word = 0;
	}
}

/* Whether the bytes that were read are still there, as far as their hash shows. */
static bool has_all_bytes(struct growing_file *file, int fd)
{
	char chunk[16 * 1024];
	struct growing_hash found = {0};

	if (file->whole.num_bytes != file->end ||
	    file->compared_bytes + file->end > GROWING_FILE_COMPARED_BYTES)
		return true;
	file->compared_bytes += file->end;
	while (found.num_bytes < file->end) {
		uint64_t left = file->end - found.num_bytes;
		ssize_t got = pread(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk),
				    (off_t)found.num_bytes);

		if (got <= 0)
			return false;
		add_to_hash(&found, chunk, (size_t)got);
	}
	return found.hash == file->whole.hash && found.word == file->whole.word;
}

/* The time of the calendar may have been set back: then it is not settled. */
static bool is_settled(const struct stat *status)
{
	uint64_t written_ns = (uint64_t)status->st_mtim.tv_sec * NS_PER_SECOND +
			      (uint64_t)status->st_mtim.tv_nsec;
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);

	return written_ns < now_ns && now_ns - written_ns > SETTLING_NS;
}

int growing_file_check(struct growing_file *file, int fd, bool *ret_is_new, uint64_t *ret_bytes)
{
	struct file_version version;
	struct stat status;
	bool is_same;

	if (fstat(fd, &status))
		return -errno;
	version = (struct file_version){
		.num_bytes = (uint64_t)status.st_size,
		.modified = status.st_mtim,
		.changed = status.st_ctim,
	};
	is_same = file_version_is_same(&version, &file->version);
	*ret_is_new = false;
	*ret_bytes = version.num_bytes;
	if (file->end && (file->device != status.st_dev || file->inode != status.st_ino))
		*ret_is_new = true;
	else if (!file->is_settled || !is_same)
		*ret_is_new =
			version.num_bytes < file->end ||
			!has_bytes(fd, 0, file->head, file->head_bytes) ||
			!has_bytes(fd, file->end - file->tail_bytes, file->tail,
				   file->tail_bytes) ||
			(!is_same && version.num_bytes == file->end && !has_all_bytes(file, fd));
	if (*ret_is_new)
		*file = (struct growing_file){.compared_bytes = file->compared_bytes};
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->version = version;
	file->is_settled = is_settled(&status);
	return 0;
}

static size_t get_room(size_t used)
{
	return GROWING_FILE_MARK_BYTES - used;
}

void growing_file_note(struct growing_file *file, uint64_t offset, const void *bytes, size_t size)
{
	const char *text = bytes;
	size_t num_head = size < get_room(file->head_bytes) ? size : get_room(file->head_bytes);
	size_t num_tail = size < GROWING_FILE_MARK_BYTES ? size : GROWING_FILE_MARK_BYTES;
	size_t num_kept = offset != file->end                     ? 0
			  : file->tail_bytes < get_room(num_tail) ? file->tail_bytes
								  : get_room(num_tail);

	if (!size)
		return;
	if (offset == file->whole.num_bytes)
		add_to_hash(&file->whole, text, size);
	if (offset == file->head_bytes) {
		memcpy(file->head + file->head_bytes, text, num_head);
		file->head_bytes += num_head;
	}
	memmove(file->tail, file->tail + file->tail_bytes - num_kept, num_kept);
	memcpy(file->tail + num_kept, text + size - num_tail, num_tail);
	file->tail_bytes = num_kept + num_tail;
	file->end = offset + size;
}
