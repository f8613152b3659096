/*
 * Whether a hit of a tracepoint passes the filter: evaluates include/wire/event_filter.h on its
 * record.
 *
 * Functions that are not static are verified separately, once, so that sixteen predicates cost the
 * verifier no more than one. Arguments other than numbers are passed through the scratch area.
 */
#ifndef BPF_EVENT_FILTER_H
#define BPF_EVENT_FILTER_H

#include "maps.h"

#define FILTER_INLINE static __always_inline
#include "wire/event_filter.h"

/* The filter of the event: user space makes it as long. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_filter_part);
} event_filter SEC(".maps");

struct filter_scratch {
	__u64 record; /* its address */
	char text[WIRE_FILTER_TEXT_BYTES];
};
PER_CPU(struct filter_scratch, filter_scratches);

static __always_inline const struct wire_filter_part *filter_get_part(wire_u32 index)
{
	return bpf_map_lookup_elem(&event_filter, &index);
}

static __always_inline int filter_read(const struct filter_hit *hit, wire_u64 address,
				       wire_u32 num_bytes, wire_u64 *ret)
{
	*ret = 0;
	/* Numbers are little endian. */
	return bpf_probe_read_kernel(ret, num_bytes > 8 ? 8 : num_bytes, (void *)address) ? -1 : 0;
}

static __always_inline wire_u32 filter_get_cpu(void)
{
	return bpf_get_smp_processor_id();
}

static __always_inline wire_u32 filter_get_tid(void)
{
	return (__u32)bpf_get_current_pid_tgid();
}

static __always_inline int filter_copy_text(const struct filter_hit *hit, wire_u64 address,
					    wire_u32 num_bytes, int is_of_user)
{
	struct filter_scratch *scratch = get_per_cpu(&filter_scratches);
	__u64 size = num_bytes;
	long num_read;

	barrier_var(size); /* the verifier must see the limit */
	if (!scratch || size > sizeof(scratch->text))
		return -1;
	if (is_of_user)
		num_read = bpf_probe_read_user_str(scratch->text, size, (void *)address);
	else
		num_read = bpf_probe_read_kernel_str(scratch->text, size, (void *)address);
	return num_read < 0 ? -1 : 0;
}

static __always_inline int filter_copy_comm(void)
{
	struct filter_scratch *scratch = get_per_cpu(&filter_scratches);

	return scratch && !bpf_get_current_comm(scratch->text, 16) ? 0 : -1;
}

__attribute__((noinline)) int match_filter_text(__u32 index)
{
	const struct wire_filter_part *part = filter_get_part(index);
	const struct filter_scratch *scratch = get_per_cpu(&filter_scratches);
	__u64 states = 1;

	if (!part || !scratch)
		return 0;
	for (int i = 0; i < WIRE_FILTER_TEXT_BYTES && scratch->text[i] && states; i++)
		states = filter_step(&part->pattern, states, (wire_u8)scratch->text[i]);
	return filter_is_match(&part->pattern, states);
}

static __always_inline int filter_match_text(wire_u32 index)
{
	return match_filter_text(index);
}

/* Evaluates the filter on the record whose address is in the scratch area. */
__attribute__((noinline)) int evaluate_filter(void)
{
	const struct filter_scratch *scratch = get_per_cpu(&filter_scratches);
	struct filter_hit hit;

	if (!scratch)
		return 0;
	hit.record = scratch->record;
	return filter_passes(&hit);
}

static __always_inline bool passes_filter(void *record)
{
	struct filter_scratch *scratch = get_per_cpu(&filter_scratches);

	if (!scratch)
		return false; /* impossible */
	scratch->record = (__u64)record;
	return evaluate_filter();
}

#endif
