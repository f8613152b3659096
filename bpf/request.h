/*
 * Requests to block devices: a sample is taken when a request is made, and kept until its end,
 * which determines the sample's weight. Start and end are matched by device and sector.
 */
#ifndef BPF_REQUEST_H
#define BPF_REQUEST_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */
#include "wire/request.h"
#include "wire/wire.h"

/* Set by user space before loading: kinds of requests, as bits; 0: hits are not requests. */
const volatile __u32 request_kinds = 0;
/* Offsets in the records of a request's start. */
const volatile __u32 start_device_offset = 0;
const volatile __u32 start_sector_offset = 0;
const volatile __u32 start_letters_offset = 0;
const volatile __u32 start_bytes_offset = 0;
const volatile __u32 start_num_sectors_offset = 0;

/* Commands of drivers, REQ_OP_SCSI_IN to REQ_OP_DRV_OUT, have no place on the device. */
#define REQ_OP_MASK       0xff
#define FIRST_PASSTHROUGH 32
#define LAST_PASSTHROUGH  35
#define SECTOR_UNKNOWN    (~0ull)
#define DEVICE_MINOR_BITS 20

/* Maximum number of sampled requests in flight. */
#define MAX_REQUESTS 16384

/*
 * The sample of each; its wait_ns is the time of the start, its weight the number of requests that
 * it represents.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REQUESTS);
	__type(key, struct wire_request_key);
	__type(value, struct wire_sample);
} requests SEC(".maps");

static __always_inline enum wire_request_kind read_kind(void *record)
{
	char letters[4] = {0};
	__u32 num_bytes = 0;
	__u32 num_sectors = 0;

	(void)bpf_probe_read_kernel(letters, sizeof(letters), record + start_letters_offset);
	(void)bpf_probe_read_kernel(&num_bytes, sizeof(num_bytes), record + start_bytes_offset);
	(void)bpf_probe_read_kernel(&num_sectors, sizeof(num_sectors),
				    record + start_num_sectors_offset);
	return wire_request_kind(letters, num_bytes, num_sectors);
}

static __always_inline bool read_key(void *record, struct wire_request_key *ret)
{
	*ret = (struct wire_request_key){0};
	return !bpf_probe_read_kernel(&ret->device, sizeof(ret->device),
				      record + start_device_offset) &&
	       !bpf_probe_read_kernel(&ret->sector, sizeof(ret->sector),
				      record + start_sector_offset);
}

static __always_inline bool is_of_driver(__u32 operation)
{
	return operation >= FIRST_PASSTHROUGH && operation <= LAST_PASSTHROUGH;
}

static __always_inline __u32 get_operation(struct request *request)
{
	return BPF_CORE_READ(request, cmd_flags) & REQ_OP_MASK;
}

/* The key, as the kernel writes it to that record. */
static __always_inline struct wire_request_key get_key(struct request *request)
{
	struct request___with_disk *older = (void *)request;
	struct wire_request_key key = {.sector = BPF_CORE_READ(request, __sector)};
	struct gendisk *disk;

	if (bpf_core_field_exists(older->rq_disk))
		disk = BPF_CORE_READ(older, rq_disk);
	else
		disk = BPF_CORE_READ(request, q, disk);
	if (disk)
		key.device = BPF_CORE_READ(disk, major) << DEVICE_MINOR_BITS |
			     BPF_CORE_READ(disk, first_minor);
	if (key.sector == SECTOR_UNKNOWN || is_of_driver(get_operation(request)))
		key.sector = 0;
	return key;
}

#endif
