/*
 * The system calls that threads are in: since when, and which. The program of an event keeps them.
 * Iterators over threads add those that are under way when the recording starts, and read those that
 * are when it ends.
 */
#ifndef BPF_SYSTEM_CALL_H
#define BPF_SYSTEM_CALL_H

#include "registers.h"
#include "wire/wire.h"

/* Threads at a time. */
#define MAX_CALLING 65536

/*
 * Keyed by the thread's task, as an exec may change its tid: the system call that it is in. If a
 * thread's entry was evicted, the start of its call is unknown at the end.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_CALLING);
	__type(key, __u64);
	__type(value, struct wire_call);
} calls SEC(".maps");

/* A call, as in struct wire_sample, that does not return. */
static __always_inline bool ends_thread(__u64 call)
{
	__u32 number = get_call_number(call);

	return call & WIRE_CALL_32_BIT ? ENDS_THREAD_32(number) : ENDS_THREAD(number);
}

/* Whether a thread returns from the call that has made it. */
static __always_inline bool is_new_thread(__u64 call, const struct user_registers *registers)
{
	__u32 number = get_call_number(call);

	if (registers->RETURN_VALUE)
		return false;
	return call & WIRE_CALL_32_BIT ? MAKES_THREAD_32(number) : MAKES_THREAD(number);
}

/* Whether a thread starts a program. */
static __always_inline bool is_new_program(__u64 call, const struct user_registers *registers)
{
	__u32 number = get_call_number(call);

	if (registers->RETURN_VALUE)
		return false;
	return call & WIRE_CALL_32_BIT ? EXECUTES_32(number) : EXECUTES(number);
}

/* A duration in a sample. */
static __always_inline __u32 get_duration_ms(__u64 time_ns)
{
	__u64 time_ms = time_ns / 1000000;

	return time_ms > 0xffffffff ? 0xffffffff : time_ms;
}

#endif
