/*
 * A block is copied once, when the next one of its ring has started. The ring's next block is
 * always in the same place, behind the last one, so an idle ring costs one short read. Blocks that
 * were overwritten before we read them are skipped: a reader of the copy finds the gaps by the
 * numbers.
 *
 * All is read by pread(): another user's program may truncate the file, so touching a mapping of it
 * could kill us. The file's own data is trusted only to find blocks in it. The size of a read, and
 * of the whole copy, is limited.
 */
#include "cli/record/zones_collector.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "formats/zones.h"

#define MAX_CAPACITY_BYTES (64u << 20) /* of declarations */
#define MAX_RING_BLOCKS    65536u
#define MAX_RINGS          4096u
#define MAX_READS          32768u       /* at a time: 128 MB */
#define MAX_COPY_BYTES     (1ull << 30) /* the copy is in memory when it is read */

struct zones_collector {
	int fd;
	int copy_fd; /* -1: nothing copied */
	dev_t device;
	ino_t inode;
	uint64_t blocks_offset;
	uint32_t ring_blocks;
	ARRAY(uint64_t) sequences; /* by ring: of the last processed block */
	uint64_t copied_bytes;     /* of blocks */
	bool has_failed;
	uint8_t block[ZONES_RINGS_BLOCK_BYTES];
};

int zones_collector_new(int fd, const struct stat *status, struct zones_collector **ret)
{
	uint8_t start[64];
	struct zones_rings_header header;
	struct zones_collector *collector;

	if (file_read_range(fd, start, sizeof(start), 0) ||
	    !zones_rings_parse_header(start, sizeof(start), &header) ||
	    header.capacity_bytes > MAX_CAPACITY_BYTES || !header.ring_blocks ||
	    header.ring_blocks > MAX_RING_BLOCKS)
		return -EINVAL;
	collector = calloc(1, sizeof(*collector));
	if (!collector)
		return -ENOMEM;
	collector->fd = fd;
	collector->copy_fd = -1;
	collector->device = status->st_dev;
	collector->inode = status->st_ino;
	collector->blocks_offset = ZONES_RINGS_HEADER_BYTES + (uint64_t)header.capacity_bytes;
	collector->ring_blocks = header.ring_blocks;
	*ret = collector;
	return 0;
}

void zones_collector_free(struct zones_collector *collector)
{
	if (!collector)
		return;
	close(collector->fd);
	if (collector->copy_fd >= 0)
		close(collector->copy_fd);
	array_release(&collector->sequences);
	free(collector);
}

bool zones_collector_is_of(const struct zones_collector *collector, const struct stat *status)
{
	return collector->device == status->st_dev && collector->inode == status->st_ino;
}

/* ---- the copy ----------------------------------------------------------------------------- */

static void fail(struct zones_collector *collector, const char *reason)
{
	if (!collector->has_failed)
		log_warning("cannot copy zones in shared memory: %s", reason);
	collector->has_failed = true;
}

static void add_block(struct zones_collector *collector)
{
	struct error error = {0};
	int err;

	if (collector->has_failed)
		return;
	if (collector->copied_bytes >= MAX_COPY_BYTES) {
		fail(collector, "more than 1 GB");
		return;
	}
	if (collector->copy_fd < 0)
		collector->copy_fd = file_open_anonymous(file_get_temporary_folder(), &error);
	if (collector->copy_fd < 0) {
		fail(collector, error.message);
		return;
	}
	err = file_write_at(collector->copy_fd, collector->block, sizeof(collector->block),
			    collector->blocks_offset + collector->copied_bytes);
	if (err)
		fail(collector, strerror(-err));
	else
		collector->copied_bytes += sizeof(collector->block);
}

/* ---- blocks ------------------------------------------------------------------------------- */

static uint64_t get_offset(const struct zones_collector *collector, uint32_t ring,
			   uint64_t sequence)
{
	uint64_t number =
		(uint64_t)ring * collector->ring_blocks + (sequence - 1) % collector->ring_blocks;

	return collector->blocks_offset + number * ZONES_RINGS_BLOCK_BYTES;
}

/* The number of the block in the place of the given one; 0: none, or unreadable. */
static uint64_t read_sequence(const struct zones_collector *collector, uint32_t ring,
			      uint64_t sequence)
{
	uint64_t found;

	if (file_read_range(collector->fd, &found, sizeof(found),
			    get_offset(collector, ring, sequence)))
		return 0;
	return found;
}

/* Whether the collector's block is a copy of that one, not overwritten meanwhile. */
static bool read_block(struct zones_collector *collector, uint32_t ring, uint64_t sequence)
{
	uint64_t found;

	if (file_read_range(collector->fd, collector->block, sizeof(collector->block),
			    get_offset(collector, ring, sequence)))
		return false;
	memcpy(&found, collector->block, sizeof(found));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return found == sequence && read_sequence(collector, ring, sequence) == sequence;
}

/* Returns the number of reads that remain. */
static uint32_t collect_ring(struct zones_collector *collector, uint32_t ring, uint32_t num_reads)
{
	uint64_t *last = &collector->sequences.items[ring];

	while (num_reads) {
		uint64_t next = read_sequence(collector, ring, *last + 2);

		num_reads--;
		if (next > *last + 2) {
			/* The ring has wrapped around: the oldest block is the one behind that. */
			*last = next - collector->ring_blocks > *last
					? next - collector->ring_blocks
					: *last + 1;
			continue;
		}
		if (next != *last + 2)
			break;
		if (read_block(collector, ring, *last + 1))
			add_block(collector);
		++*last;
	}
	return num_reads;
}

static uint32_t count_rings(const struct zones_collector *collector)
{
	struct stat status;
	uint64_t count;

	if (fstat(collector->fd, &status) || (uint64_t)status.st_size <= collector->blocks_offset)
		return 0;
	count = ((uint64_t)status.st_size - collector->blocks_offset) /
		((uint64_t)collector->ring_blocks * ZONES_RINGS_BLOCK_BYTES);
	return count < MAX_RINGS ? (uint32_t)count : MAX_RINGS;
}

void zones_collector_collect(struct zones_collector *collector)
{
	uint32_t count = count_rings(collector);
	uint32_t num_reads = MAX_READS;

	for (uint32_t ring = 0; ring < count && num_reads; ring++) {
		if (ring == collector->sequences.length && !array_add(&collector->sequences))
			return;
		num_reads = collect_ring(collector, ring, num_reads);
	}
}

/* ---- the end ------------------------------------------------------------------------------ */

/* Header and declarations. Returns 0 or negative errno. */
static int copy_start(struct zones_collector *collector)
{
	for (uint64_t offset = 0; offset < collector->blocks_offset;) {
		uint64_t left = collector->blocks_offset - offset;
		size_t size =
			left < sizeof(collector->block) ? (size_t)left : sizeof(collector->block);
		int err = file_read_range(collector->fd, collector->block, size, offset);

		if (err)
			return err;
		err = file_write_at(collector->copy_fd, collector->block, size, offset);
		if (err)
			return err;
		offset += size;
	}
	return 0;
}

/* Copy the remaining blocks of each ring: its last one, and those added since. */
static void copy_rest(struct zones_collector *collector)
{
	uint32_t count = count_rings(collector);

	for (uint32_t ring = 0; ring < count; ring++) {
		uint64_t last =
			ring < collector->sequences.length ? collector->sequences.items[ring] : 0;

		for (uint64_t place = 1; place <= collector->ring_blocks; place++) {
			uint64_t sequence = read_sequence(collector, ring, place);

			if (sequence > last && read_block(collector, ring, sequence))
				add_block(collector);
		}
	}
}

int zones_collector_finish(struct zones_collector *collector)
{
	int err;

	if (collector->copy_fd < 0)
		return -1;
	err = copy_start(collector);
	if (err) {
		fail(collector, strerror(-err));
		return -1;
	}
	copy_rest(collector);
	return lseek(collector->copy_fd, 0, SEEK_SET) ? -1 : collector->copy_fd;
}
