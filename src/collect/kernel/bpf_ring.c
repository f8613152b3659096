#include "collect/kernel/bpf_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every record starts at a multiple of this, so that its head never wraps. */
#define RECORD_ALIGN 8

/* Size of the mapped part of the data. */
#define WINDOW_BYTES (256u << 10)

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int bpf_ring_init(struct bpf_ring *ring, int fd, size_t size_bytes)
{
	size_t page = page_bytes();
	void *consumed = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *produced;

	if (consumed == MAP_FAILED)
		return -errno;
	produced = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (produced == MAP_FAILED) {
		int err = -errno;

		munmap(consumed, page);
		return err;
	}
	/* Processes without rights are forked of us. */
	(void)madvise(consumed, page, MADV_DONTFORK);
	(void)madvise(produced, page, MADV_DONTFORK);
	*ring = (struct bpf_ring){
		.fd = fd,
		.consumed = consumed,
		.produced = produced,
		.size_bytes = size_bytes,
		.window_bytes = size_bytes < WINDOW_BYTES ? size_bytes : WINDOW_BYTES,
	};
	return 0;
}

static void unmap_window(struct bpf_ring *ring)
{
	if (ring->window)
		munmap((void *)(uintptr_t)ring->window, ring->window_bytes);
	ring->window = NULL;
}

void bpf_ring_release(struct bpf_ring *ring)
{
	if (ring->consumed) {
		munmap(ring->consumed, page_bytes());
		munmap((void *)(uintptr_t)ring->produced, page_bytes());
		unmap_window(ring);
		close(ring->fd);
	}
	text_release(&ring->crossing);
	*ring = (struct bpf_ring){.fd = -1};
}

/*
 * The bytes at a position, and how many of them are mapped; NULL if they cannot be mapped. Sizes and
 * starts of windows are powers of two, so a window never wraps.
 */
static const char *get_bytes(struct bpf_ring *ring, uint64_t position, size_t *ret_mapped)
{
	size_t offset = position & (ring->size_bytes - 1);
	size_t in_window = offset & (ring->window_bytes - 1);
	void *window;

	if (!ring->window || ring->window_start != offset - in_window) {
		unmap_window(ring);
		window = mmap(NULL, ring->window_bytes, PROT_READ, MAP_SHARED, ring->fd,
			      (off_t)(2 * page_bytes() + offset - in_window));
		if (window == MAP_FAILED)
			return NULL;
		(void)madvise(window, ring->window_bytes, MADV_DONTFORK);
		ring->window = window;
		ring->window_start = offset - in_window;
	}
	*ret_mapped = ring->window_bytes - in_window;
	return ring->window + in_window;
}

/* The bytes at a position, contiguous; NULL when out of memory. */
static const void *get_record(struct bpf_ring *ring, uint64_t position, size_t size)
{
	size_t mapped;
	const char *bytes = get_bytes(ring, position, &mapped);

	if (!bytes || size <= mapped)
		return bytes;
	text_truncate(&ring->crossing, 0);
	while (bytes && size) {
		size_t part = size < mapped ? size : mapped;

		text_append(&ring->crossing, bytes, part);
		position += part;
		size -= part;
		bytes = size ? get_bytes(ring, position, &mapped) : bytes;
	}
	return bytes && !ring->crossing.failed ? ring->crossing.data : NULL;
}

int bpf_ring_read(struct bpf_ring *ring,
		  int (*handle)(const void *record, size_t size, void *context), void *context)
{
	uint64_t position = *ring->consumed;
	uint64_t end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);

	while (position < end) {
		size_t mapped;
		/* Records are aligned: a head is in one window. */
		const uint32_t *head = (const void *)get_bytes(ring, position, &mapped);
		uint32_t length = head ? __atomic_load_n(head, __ATOMIC_ACQUIRE) : 0;
		size_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		int err = 0;

		if (!head)
			return -ENOMEM;
		if (length & BPF_RINGBUF_BUSY_BIT)
			/* Reserved but not submitted: records after it have to wait as well. */
			break;
		if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
			const void *record = get_record(ring, position + BPF_RINGBUF_HDR_SZ, size);

			err = record ? handle(record, size, context) : -ENOMEM;
		}
		position += (size + BPF_RINGBUF_HDR_SZ + RECORD_ALIGN - 1) &
			    ~(uint64_t)(RECORD_ALIGN - 1);
		__atomic_store_n(ring->consumed, position, __ATOMIC_RELEASE);
		if (err)
			return err;
	}
	return 0;
}
