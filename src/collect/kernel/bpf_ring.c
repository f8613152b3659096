#include "collect/kernel/bpf_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every record starts at a multiple of this, so that its head never wraps. */
#define RECORD_ALIGN 8

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
	produced = mmap(NULL, page + size_bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (produced == MAP_FAILED) {
		int err = -errno;

		munmap(consumed, page);
		return err;
	}
	/* Processes without rights are forked of us. */
	(void)madvise(consumed, page, MADV_DONTFORK);
	(void)madvise(produced, page + size_bytes, MADV_DONTFORK);
	*ring = (struct bpf_ring){
		.fd = fd,
		.consumed = consumed,
		.pages = produced,
		.produced = produced,
		.data = (const char *)produced + page,
		.size_bytes = size_bytes,
	};
	return 0;
}

void bpf_ring_release(struct bpf_ring *ring)
{
	if (ring->consumed) {
		munmap(ring->consumed, page_bytes());
		munmap(ring->pages, page_bytes() + ring->size_bytes);
		close(ring->fd);
	}
	text_release(&ring->wrapped);
	*ring = (struct bpf_ring){.fd = -1};
}

/* The bytes at a position, contiguous; NULL when out of memory. */
static const void *get_record(struct bpf_ring *ring, uint64_t position, size_t size)
{
	size_t start = position & (ring->size_bytes - 1);
	size_t first = ring->size_bytes - start;

	if (size <= first)
		return ring->data + start;
	text_truncate(&ring->wrapped, 0);
	text_append(&ring->wrapped, ring->data + start, first);
	text_append(&ring->wrapped, ring->data, size - first);
	return ring->wrapped.failed ? NULL : ring->wrapped.data;
}

int bpf_ring_read(struct bpf_ring *ring,
		  int (*handle)(const void *record, size_t size, void *context), void *context)
{
	uint64_t position = *ring->consumed;
	uint64_t end = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);

	while (position < end) {
		const uint32_t *head =
			(const void *)(ring->data + (position & (ring->size_bytes - 1)));
		uint32_t length = __atomic_load_n(head, __ATOMIC_ACQUIRE);
		size_t size = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		int err = 0;

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
