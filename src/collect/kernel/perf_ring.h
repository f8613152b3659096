/*
 * A perf event with its ring of records in shared memory.
 *
 * Source: perf_event_open(2), "MMAP layout".
 */
#ifndef COLLECT_KERNEL_PERF_RING_H
#define COLLECT_KERNEL_PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"

/* perf_event_open(2), close-on-exec. Returns the file descriptor or negative errno. */
_must_check_ int perf_event_open(const struct perf_event_attr *attr, pid_t tid, int cpu);

struct perf_ring {
	int fd;
	struct perf_event_mmap_page *pages; /* control page, then the data */
	size_t size_bytes;                  /* of the data; a power of two */
	struct text record;                 /* copy of the record last read */
};

/*
 * Map the ring of an event. Requests requested_bytes (power of two), and takes less, down to a
 * page, if the kernel allows no more locked memory. Takes ownership of fd on success.
 *
 * Returns 0 or negative errno (-EPERM: even a page was too much).
 */
_must_check_ int perf_ring_init(struct perf_ring *ring, int fd, size_t requested_bytes);
void perf_ring_release(struct perf_ring *ring);

/*
 * Pass every record that is in the ring now to handle(), contiguous and in ring order. handle()
 * returns 0 or negative errno, which stops and is returned.
 */
_must_check_ int perf_ring_read(struct perf_ring *ring,
				int (*handle)(const struct perf_event_header *record,
					      void *context),
				void *context);

#endif
