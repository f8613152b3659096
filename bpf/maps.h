/*
 * Maps of more than one program: the rings for records, counters, and the filter that user space
 * sets. Every program has maps of its own, unless user space makes it share another one's.
 */
#ifndef BPF_MAPS_H
#define BPF_MAPS_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */
#include "wire/wire.h"

/* A map with one value for each CPU. */
#define PER_CPU(value_type, name)                        \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, 1);                  \
		__type(key, __u32);                      \
		__type(value, value_type);               \
	} name SEC(".maps")

/* This CPU's value in such a map. It is never NULL, but the verifier does not know that. */
static __always_inline void *get_per_cpu(void *map)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(map, &zero);
}

/* Set by user space before loading. Else every thread is a target. */
const volatile bool is_filtered = false;

/*
 * Key: tid. In our own pid namespace, user space identifies threads by their numbers there: such a
 * key has WIRE_NAMED_IN_NAMESPACE set. Value: enum wire_target, and above it bits that distinguish
 * two threads that had the same tid. User space makes room for WIRE_MAX_TARGETS if there is a
 * filter. The sampling program keeps it in step with forks (target_filter.h).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} target_tids SEC(".maps");

static __always_inline __u32 get_target_state(__u64 key)
{
	__u32 *target = bpf_map_lookup_elem(&target_tids, &key);

	return target ? *target & WIRE_TARGET_MASK : 0;
}

/* A ring for every WIRE_CPUS_PER_RING CPUs; user space sizes both before loading. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* The ring of this CPU, or NULL, which cannot be: there is one for every possible CPU. */
static __always_inline void *get_ring(void)
{
	__u32 number = bpf_get_smp_processor_id() / WIRE_CPUS_PER_RING;

	return bpf_map_lookup_elem(&rings, &number);
}

/* How full the ring is, in quarters: 0 to 3. */
static __always_inline __u64 get_full_quarters(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 4 /
	       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
}

static __always_inline long send(void *ring, void *record, __u64 size)
{
	return bpf_ringbuf_output(ring, record, size,
				  get_full_quarters(ring) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * If only some threads are sampled, not every event of every process wakes user space: the programs
 * wake it when something happens to those threads.
 */
static __always_inline void wake_user_space(void)
{
	void *ring = get_ring();
	__u64 record = WIRE_WAKEUP;

	if (ring) /* without room in the ring it is awake */
		bpf_ringbuf_output(ring, &record, sizeof(record), BPF_RB_FORCE_WAKEUP);
}

#endif
