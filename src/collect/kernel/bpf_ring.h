/*
 * A ring that BPF programs write records to (BPF_MAP_TYPE_RINGBUF).
 *
 * libbpf's reader maps the data twice in a row, so that records do not wrap, and both mappings
 * count in our RSS. This reader maps the part that it reads, and copies the rare record that crosses
 * its end.
 *
 * Source: Documentation/bpf/ringbuf.rst in the kernel.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_KERNEL_BPF_RING_H
#define COLLECT_KERNEL_BPF_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"

struct bpf_ring {
	int fd;
	uint64_t *consumed;       /* bytes ever read; a page that we write */
	const uint64_t *produced; /* bytes ever written; a page that the kernel writes */
	size_t size_bytes;        /* of the data; a power of two */
	const char *window;       /* mapped part of the data; NULL: none yet */
	size_t window_start;      /* in the data */
	size_t window_bytes;
	struct text crossing; /* copy of a record that crosses the end of the window */
};

/*
 * Map the ring. Takes ownership of fd on success.
 *
 * Returns 0 or negative errno.
 */
_must_check_ int bpf_ring_init(struct bpf_ring *ring, int fd, size_t size_bytes);
void bpf_ring_release(struct bpf_ring *ring);

/*
 * Pass every complete record to handle(), in order of reservation.
 *
 * record  8-byte aligned; valid during the call
 * handle  returns 0 or negative errno, which stops after this record and is returned
 */
_must_check_ int bpf_ring_read(struct bpf_ring *ring,
			       int (*handle)(const void *record, size_t size, void *context),
			       void *context);

#endif
