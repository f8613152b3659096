/*
 * An argument of a probe, read where it is when the probe is hit: a register, or memory that registers lead to. Where
 * that is may differ between the places of one probe.
 */
#ifndef BPF_PROBE_ARGUMENT_H
#define BPF_PROBE_ARGUMENT_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */
#include "wire/wire.h"

/* Set by user space before loading. */
const volatile bool is_of_probe = false;
/* Of a uprobe or its kind: registers and memory are those of a program. */
const volatile bool is_probe_of_user_mode = false;
/* Places have arguments of their own: they are attached with their number. */
const volatile bool has_places = false;

/* By the number of the place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_argument);
} arguments SEC(".maps");

static __always_inline __u32 get_place(void *ctx)
{
	if (has_places && HAS_HELPER(get_attach_cookie))
		return bpf_get_attach_cookie(ctx);
	return 0;
}

/* A word of struct pt_regs, which no program may read at a place that is not fixed. */
static __always_inline __u64 read_word(void *ctx, __u8 number)
{
	__u64 value = 0;

	(void)bpf_probe_read_kernel(&value, sizeof(value), ctx + (number & 63) * 8);
	return value;
}

/* Its value; nothing, if that is below 0 or cannot be read. */
static __always_inline __u64 read_argument(void *ctx, const struct wire_argument *argument)
{
	__u32 num_bits = argument->bytes * 8;
	__u64 value;

	if (argument->source == WIRE_ARGUMENT_CONSTANT) {
		value = argument->displacement;
	} else {
		value = read_word(ctx, argument->base);
		if (argument->source == WIRE_ARGUMENT_MEMORY) {
			__u64 address = value + argument->displacement;

			if (argument->index != WIRE_NO_REGISTER)
				address += read_word(ctx, argument->index) * argument->scale;
			value = 0;
			if (bpf_probe_read_user(&value, argument->bytes & 15, (void *)address))
				return 0;
		}
	}
	if (num_bits < 64)
		value &= (1ull << (num_bits & 63)) - 1;
	if (argument->is_signed && value >> ((num_bits - 1) & 63) & 1)
		return 0;
	return value;
}

#endif
