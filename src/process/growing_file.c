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

void growing_file_release(struct growing_file *file)
{
	array_release(&file->blocks);
}

static void add_to_hash(struct growing_hash *hash, const char *bytes, size_t size)
{
	uint64_t word;

	for (; size && hash->num_bytes % sizeof(word); size--, bytes++) {
		hash->word |= (uint64_t)(uint8_t)*bytes << hash->num_bytes % sizeof(word) * 8;
		if (++hash->num_bytes % sizeof(word))
			continue;
		hash->hash = hash_mix(hash->hash, hash->word);
		hash->word = 0;
	}
	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash->hash = hash_mix(hash->hash, word);
		hash->num_bytes += sizeof(word);
	}
	memcpy(&hash->word, bytes, size);
	hash->num_bytes += size;
}

/* There is room for the blocks. */
static void add_to_blocks(struct growing_file *file, const char *bytes, size_t size)
{
	while (size) {
		size_t room = GROWING_FILE_BLOCK_BYTES - (size_t)file->last.num_bytes;
		size_t part = size < room ? size : room;
		uint64_t *added;

		add_to_hash(&file->last, bytes, part);
		bytes += part;
		size -= part;
		if (part < room)
			return;
		added = array_add(&file->blocks);
		if (!added)
			return; /* impossible */
		*added = file->last.hash;
		file->last = (struct growing_hash){0};
	}
}

static bool has_block(const struct growing_file *file, int fd, size_t number)
{
	bool is_last = number == file->blocks.length;
	size_t size = is_last ? (size_t)file->last.num_bytes : GROWING_FILE_BLOCK_BYTES;
	char bytes[GROWING_FILE_BLOCK_BYTES];
	struct growing_hash found = {0};

	if (!size)
		return true;
	if (pread(fd, bytes, size, (off_t)number * GROWING_FILE_BLOCK_BYTES) != (ssize_t)size)
		return false;
	add_to_hash(&found, bytes, size);
	return is_last ? found.hash == file->last.hash && found.word == file->last.word
		       : found.hash == file->blocks.items[number];
}

static void pass_time(struct growing_file *file)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t gained = (now_ns - file->compared_ns) / (NS_PER_SECOND / (64 << 10)) *
			  (GROWING_FILE_COMPARED_BYTES / (64 << 10));

	if (!gained)
		return;
	file->compared_bytes -= gained < file->compared_bytes ? gained : file->compared_bytes;
	file->compared_ns = now_ns;
}

/* Whether the bytes that were read are still there, as far as they may be compared now. */
static bool has_blocks(struct growing_file *file, int fd)
{
	pass_time(file);
	for (; file->num_uncompared && file->compared_bytes < GROWING_FILE_COMPARED_BYTES;
	     file->num_uncompared--) {
		if (file->next_block > file->blocks.length)
			file->next_block = 0;
		if (!has_block(file, fd, file->next_block++))
			return false;
		file->compared_bytes += GROWING_FILE_BLOCK_BYTES;
	}
	return true;
}

/* Start again at the start of the file. */
static void forget(struct growing_file *file)
{
	struct growing_file empty = {
		.compared_bytes = file->compared_bytes,
		.compared_ns = file->compared_ns,
		.is_settled = file->is_settled,
	};

	array_release(&file->blocks);
	*file = empty;
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
	bool was_settled = file->is_settled;

	if (fstat(fd, &status))
		return -errno;
	version = (struct file_version){
		.num_bytes = (uint64_t)status.st_size,
		.modified = status.st_mtim,
		.changed = status.st_ctim,
	};
	is_same = file_version_is_same(&version, &file->version);
	file->is_settled = is_settled(&status);
	/* Once more when it is settled, for bytes that were written at the same time. */
	if (!is_same || file->is_settled != was_settled)
		file->num_uncompared = file->blocks.length + 1;
	*ret_bytes = version.num_bytes;
	*ret_is_new =
		(file->end && (file->device != status.st_dev || file->inode != status.st_ino)) ||
		((!is_same || !was_settled) &&
		 (version.num_bytes < file->end ||
		  !has_bytes(fd, 0, file->head, file->head_bytes) ||
		  !has_bytes(fd, file->end - file->tail_bytes, file->tail, file->tail_bytes))) ||
		!has_blocks(file, fd);
	if (*ret_is_new)
		forget(file);
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->version = version;
	return 0;
}

static size_t get_room(size_t used)
{
	return GROWING_FILE_MARK_BYTES - used;
}

int growing_file_note(struct growing_file *file, uint64_t offset, const void *bytes, size_t size)
{
	const char *text = bytes;
	size_t num_head = size < get_room(file->head_bytes) ? size : get_room(file->head_bytes);
	size_t num_tail = size < GROWING_FILE_MARK_BYTES ? size : GROWING_FILE_MARK_BYTES;
	size_t num_kept = offset != file->end                     ? 0
			  : file->tail_bytes < get_room(num_tail) ? file->tail_bytes
								  : get_room(num_tail);

	if (!size)
		return 0;
	/* Room for each block that ends in these bytes. */
	if (array_reserve(&file->blocks, file->blocks.length + size / GROWING_FILE_BLOCK_BYTES + 1))
		return -ENOMEM;
	if (offset ==
	    (uint64_t)file->blocks.length * GROWING_FILE_BLOCK_BYTES + file->last.num_bytes)
		add_to_blocks(file, text, size);
	if (offset == file->head_bytes) {
		memcpy(file->head + file->head_bytes, text, num_head);
		file->head_bytes += num_head;
	}
	memmove(file->tail, file->tail + file->tail_bytes - num_kept, num_kept);
	memcpy(file->tail + num_kept, text + size - num_tail, num_tail);
	file->tail_bytes = num_kept + num_tail;
	file->end = offset + size;
	return 0;
}
