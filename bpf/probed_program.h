/*
 * Programs with probes (uprobes and uretprobes, ours or others'). If a function's return is probed,
 * the kernel has replaced its return address by that of a trampoline, and keeps the original. An
 * instruction replaced by a breakpoint is executed elsewhere, on the page that starts with the
 * trampoline. A walk must see the original return address, and the program at its original
 * position.
 */
#ifndef BPF_PROBED_PROGRAM_H
#define BPF_PROBED_PROGRAM_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */
#include "task.h"

/* No return address. */
#define NO_TRAMPOLINE (1ull << 63)

/* The kernel's own limit (MAX_URETPROBE_DEPTH). */
#define MAX_PROBED_RETURNS 64

/* Trampoline that such functions return to in a program with this memory. */
static __always_inline __u64 find_trampoline(struct mm_struct *mm)
{
	struct xol_area *area;
	__u64 trampoline;

	if (!bpf_core_field_exists(mm->uprobes_state.xol_area))
		return NO_TRAMPOLINE;
	area = BPF_CORE_READ(mm, uprobes_state.xol_area);
	if (!area) /* as in most programs */
		return NO_TRAMPOLINE;
	trampoline = BPF_CORE_READ(area, vaddr);
	return trampoline ? trampoline : NO_TRAMPOLINE;
}

/* A divisor of MAX_PROBED_RETURNS. */
#define PROBED_RETURNS_AT_ONCE 8

/*
 * Look at some return instances, from this one on. Gives that of an address in the stack, else the
 * next one, or 0. Not static: see user_walk.h.
 */
__attribute__((noinline)) __u64 skip_some_returns(__u64 first, __u64 address)
{
	struct return_instance *instance = (void *)first;

	for (int i = 0; i < PROBED_RETURNS_AT_ONCE && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == address)
			break;
		instance = BPF_CORE_READ(instance, next);
	}
	return (__u64)instance;
}

/*
 * The original return address at an address in the running thread's stack; 0: not a replaced one.
 */
static __always_inline __u64 find_probed_return(__u64 address)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *instance;

	if (!bpf_core_field_exists(task->utask))
		return 0;
	instance = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < MAX_PROBED_RETURNS && instance; i += PROBED_RETURNS_AT_ONCE)
		instance = (void *)skip_some_returns((__u64)instance, address);
	if (!instance || BPF_CORE_READ(instance, stack) != address)
		return 0;
	return BPF_CORE_READ(instance, orig_ret_vaddr);
}

/*
 * Slots of the page, each with one instruction; the first one has the trampoline
 * (UPROBE_XOL_SLOT_BYTES).
 */
#define XOL_SLOT_BYTES 128
#define XOL_AREA_BYTES 4096

/* Move the running thread's registers from that page to its original position. */
static __always_inline void leave_probe(struct user_registers *registers, __u64 trampoline)
{
	__u64 offset = registers->PC_REGISTER - trampoline;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *instance;
	__u64 distance;

	if (offset >= XOL_AREA_BYTES || !bpf_core_field_exists(task->utask))
		return;
	if (offset >= XOL_SLOT_BYTES) {
		distance = registers->PC_REGISTER - BPF_CORE_READ(task, utask, xol_vaddr);
		if (distance <= MAX_INSTRUCTION)
			registers->PC_REGISTER = BPF_CORE_READ(task, utask, vaddr) + distance;
		return;
	}
	instance = BPF_CORE_READ(task, utask, return_instances);
	if (!instance)
		return;
	/* The trampoline may have pushed something. */
	registers->sp = BPF_CORE_READ(instance, stack) + RETURN_ADDRESS_BYTES;
	registers->PC_REGISTER = BPF_CORE_READ(instance, orig_ret_vaddr);
}

#endif
