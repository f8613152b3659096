#include "collect/kernel/perf_ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int perf_event_open(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int perf_ring_init(struct perf_ring *ring, int fd, size_t requested_bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t size = requested_bytes; size >= page_bytes; size /= 2) {
		void *pages =
			mmap(NULL, page_bytes + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (pages != MAP_FAILED) {
			*ring = (struct perf_ring){.fd = fd, .pages = pages, .size_bytes = size};
			return 0;
		}
		if (errno != EPERM && errno != ENOMEM)
			return -errno;
	}
	return -EPERM;
}

void perf_ring_release(struct perf_ring *ring)
{
	if (ring->pages)
		munmap(ring->pages, (size_t)sysconf(_SC_PAGESIZE) + ring->size_bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	text_release(&ring->record);
	*ring = (struct perf_ring){.fd = -1};
}

/* Copy bytes that may wrap around the end of the ring. */
static int copy_out(struct perf_ring *ring, uint64_t position, size_t size)
{
	const char *data = (const char *)ring->pages + ring->pages->data_offset;
	size_t start = position & (ring->size_bytes - 1);
	size_t first = ring->size_bytes - start < size ? ring->size_bytes - start : size;

	text_truncate(&ring->record, 0);
	text_append(&ring->record, data + start, first);
	text_append(&ring->record, data, size - first);
	return ring->record.failed ? -ENOMEM : 0;
}

int perf_ring_read(struct perf_ring *ring,
		   int (*handle)(const struct perf_event_header *record, void *context),
		   void *context)
{
	uint64_t head = __atomic_load_n(&ring->pages->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->pages->data_tail;
	int err = 0;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		err = copy_out(ring, tail, sizeof(header));
		if (err)
			break;
		memcpy(&header, ring->record.data, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			tail = head; /* the kernel never writes this; do not loop on it */
			break;
		}
		err = copy_out(ring, tail, header.size);
		tail += header.size;
		if (err)
			break;
		err = handle((const void *)ring->record.data, context);
		if (err)
			break;
	}
	__atomic_store_n(&ring->pages->data_tail, tail, __ATOMIC_RELEASE);
	return err;
}
