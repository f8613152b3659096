/*
 * What the running kernel has of what is not everywhere: found by asking it, never by its version.
 *
 * The probes of helpers load tiny BPF programs. Without the right to do that the answers mean
 * nothing.
 */
#ifndef COLLECT_KERNEL_FEATURES_H
#define COLLECT_KERNEL_FEATURES_H

#include <stdbool.h>

/* Whether we may load BPF programs, to ask by. */
bool kernel_can_be_asked(void);
/* Type information (BTF) of the kernel. */
bool kernel_has_types(void);
/* The memory that a stack pointer lies in can be looked up: bpf_find_vma(), Linux 5.17. */
bool kernel_has_find_vma(void);
/* The helper that tells where user registers are saved: bpf_task_pt_regs(), Linux 5.15. */
bool kernel_has_task_registers(void);
/* Events of mappings carry the build ID of the file: perf's build_id, Linux 5.12. */
bool kernel_tells_build_ids(void);
/* Memory of BPF maps counts against RLIMIT_MEMLOCK: before Linux 5.11. */
bool kernel_counts_bpf_as_locked(void);

#endif
