/*
 * Requests to block devices: a sample is taken where a request is made, and kept until it has ended, which says how much
 * the sample weighs. Begin and end know each other by the device and the sector.
 */
#ifndef BPF_REQUEST_H
#define BPF_REQUEST_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */
#include "wire/wire.h"

/* Set by user space before loading: where the records of a request's begin and of its end have them. */
const volatile __u32 begin_device_offset = 0;
const volatile __u32 begin_sector_offset = 0;
const volatile __u32 end_device_offset = 0;
const volatile __u32 end_sector_offset = 0;

/* On their way at a time, of those that are sampled. */
#define MAX_REQUESTS 16384

/* The sample of each; its wait_ns is when it was made, its weight how many requests it stands for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, struct wire_request_key);
	__type(value, struct wire_sample);
} requests SEC(".maps");

static __always_inline bool read_key(void *record, __u32 device_offset, __u32 sector_offset,
				     struct wire_request_key *ret)
{
	*ret = (struct wire_request_key){0};
	return !bpf_probe_read_kernel(&ret->device, sizeof(ret->device), record + device_offset) &&
	       !bpf_probe_read_kernel(&ret->sector, sizeof(ret->sector), record + sector_offset);
}

#endif
