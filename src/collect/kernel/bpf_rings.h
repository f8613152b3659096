/*
 * The rings of one BPF program, one for every WIRE_CPUS_PER_RING CPUs, and its per-CPU counters.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_KERNEL_BPF_RINGS_H
#define COLLECT_KERNEL_BPF_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "collect/kernel/bpf_ring.h"

struct bpf_rings {
	ARRAY(struct bpf_ring) rings;
	int epoll_fd; /* readable when one of them is */
};

/* Number of rings for a number of CPUs. */
uint32_t bpf_rings_get_count(uint32_t num_cpus);

/* Create an array of maps for the rings of so many CPUs. Returns a descriptor or negative errno. */
_must_check_ int bpf_rings_create_map(uint32_t num_cpus);

/*
 * Create the rings and put them into their map. The kernel then waits for an RCU grace period, some
 * tens of milliseconds.
 *
 * size_bytes  of each ring, at least; rounded up to a power of two, at most 1 GiB
 * map_fd      an array of maps with room for bpf_rings_get_count(); borrowed
 *
 * Returns 0 or negative errno; then bpf_rings_release() is due all the same.
 */
_must_check_ int bpf_rings_init(struct bpf_rings *rings, int map_fd, uint32_t num_cpus,
				uint32_t size_bytes);
void bpf_rings_release(struct bpf_rings *rings);

/* bpf_ring_read() of one after the other. */
_must_check_ int bpf_rings_read(struct bpf_rings *rings,
				int (*handle)(const void *record, size_t size, void *context),
				void *context);

/*
 * Sum up a structure of 64-bit counters over all CPUs.
 *
 * map_fd  a per-CPU array with one element of size bytes; borrowed
 * ret     size bytes
 *
 * Returns 0 or negative errno.
 */
_must_check_ int bpf_counters_read(int map_fd, void *ret, size_t size);

/* The same of each CPU: *ret is an array of *ret_num_cpus structures, to be freed by the caller. */
_must_check_ int bpf_counters_read_each(int map_fd, size_t size, void **ret, size_t *ret_num_cpus);

/*
 * Number of times the kernel skipped a program because one was running on the CPU already. 0 if the
 * kernel does not report it (before Linux 5.12) or does not count it for this kind of program.
 * Returns 0 or negative errno.
 */
_must_check_ int bpf_program_read_misses(int program_fd, uint64_t *ret);

#endif
