/*
 * An argument of a probe, read when the probe is hit: a register, or memory addressed by registers.
 * Its location may differ between the points of one probe.
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
/* A uprobe or USDT probe: registers and memory are those of a program. */
const volatile bool is_probe_of_user_mode = false;
/* The points have different arguments: programs are attached with the point's number. */
const volatile bool points_differ = false;

/* Indexed by the number of the point. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_argument);
} arguments SEC(".maps");

static __always_inline __u32 get_point(void *ctx)
{
	if (points_differ && HAS_HELPER(get_attach_cookie))
		return bpf_get_attach_cookie(ctx);
	return 0;
}

/* A word of struct pt_regs, which no program may read at an offset that is not fixed. */
static __always_inline __u64 read_word(void *ctx, __u8 number)
{
	__u64 value = 0;

	(void)bpf_probe_read_kernel(&value, sizeof(value), ctx + (number & 63) * 8);
	return value;
}

/* The first arguments of functions, by their word: a direct load costs a tenth of read_word(). */
#define WORD_OF(name) (__builtin_offsetof(struct user_registers, name) / sizeof(__u64))

/* A register saved by the kernel. */
static __always_inline __u64 read_register(struct user_registers *registers, __u8 number)
{
	__u64 value;

	/*
	 * The barriers keep the compiler from merging both into one load, whose offset the verifier
	 * would not know.
	 */
	if (number == WORD_OF(FIRST_ARGUMENT)) {
		value = registers->FIRST_ARGUMENT;
		barrier_var(value);
		return value;
	}
	if (number == WORD_OF(SECOND_ARGUMENT)) {
		value = registers->SECOND_ARGUMENT;
		barrier_var(value);
		return value;
	}
	return read_word(registers, number);
}

/* Its value; nothing, if that is below 0 or cannot be read. */
static __always_inline __u64 read_argument(void *ctx, const struct wire_argument *argument)
{
	__u32 num_bytes = argument->bytes;
	__u32 num_bits = num_bytes * 8;
	__u64 value;

	if (argument->source == WIRE_ARGUMENT_CONSTANT) {
		value = argument->displacement;
	} else if (argument->source == WIRE_ARGUMENT_PRODUCT) {
		__u64 factor = read_register(ctx, argument->index);

		value = read_register(ctx, argument->base);
		/* A value from 2^48 on is not an amount, and might not fit into 64 bits. */
		if (value >> 48 || factor >> 48 || (value >> 32 && factor >> 16) ||
		    (factor >> 32 && value >> 16))
			return 0;
		value *= factor;
	} else {
		value = read_register(ctx, argument->base);
		if (argument->source == WIRE_ARGUMENT_MEMORY) {
			__u64 address = value + argument->displacement;

			if (argument->index != WIRE_NO_REGISTER)
				address += read_word(ctx, argument->index) * argument->scale;
			value = 0;
			if (num_bytes > sizeof(value) ||
			    bpf_probe_read_user(&value, num_bytes, (void *)address))
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
