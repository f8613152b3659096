/*
 * Features that not every kernel has, detected by trying them, never by the version: distributions
 * backport features and omit others.
 *
 * The probes of helpers load tiny BPF programs. Without permission for that they always return
 * false; see kernel_can_be_asked().
 */
#ifndef COLLECT_KERNEL_FEATURES_H
#define COLLECT_KERNEL_FEATURES_H

#include <stdbool.h>

/*
 * Whether we may load BPF programs, so that the other functions can probe. Call this first: after
 * it, libbpf's messages about missing features are shown only with -v.
 */
bool kernel_can_be_asked(void);
/* Type information (BTF) of the kernel. */
bool kernel_has_types(void);
/* The VMA of a stack pointer can be looked up: bpf_find_vma(), Linux 5.17. */
bool kernel_has_find_vma(void);
/* User registers can be found from inside the kernel: bpf_task_pt_regs(), Linux 5.15. */
bool kernel_has_task_registers(void);
/* Events of mappings carry the build ID of the file: perf's build_id, Linux 5.12. */
bool kernel_reports_build_ids(void);
/*
 * The scheduler keeps each thread's time in run queues. Its configuration decides
 * that, and before Linux 5.14 its command line.
 */
bool kernel_keeps_queue_times(void);
/* One link attaches a program to many points of a file: uprobe_multi, Linux 6.6. */
bool kernel_has_uprobe_links(void);
/*
 * The hook where a program sees, in the thread itself, that it has got a CPU again. The first
 * available one, in this order.
 */
enum switch_in_kind {
	SWITCH_IN_NONE,
	SWITCH_IN_TRACEPOINT, /* sched_exit_tp, Linux 6.16 */
	SWITCH_IN_ENTRY,      /* fentry of finish_task_switch */
	SWITCH_IN_PROBE,      /* kprobe of finish_task_switch */
};
struct switch_in_hook {
	enum switch_in_kind kind;
	const char *function; /* or tracepoint; a literal */
};
struct switch_in_hook kernel_find_switch_in_hook(void);
/* Memory of BPF maps counts against RLIMIT_MEMLOCK: before Linux 5.11. */
bool kernel_counts_bpf_as_locked(void);

#endif
