#include "collect/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "collect/bpf_log.h"
#include "collect/perf_ring.h"

bool kernel_has_types(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL) == 1;
}

/*
 * libbpf's probes load a tiny program and look at the error. Without the right to load programs
 * they cannot tell "not permitted" from "not there"; asking for a helper that no kernel has shows
 * whether their answers mean anything.
 */
bool kernel_can_be_asked(void)
{
	bpf_log_start();
	return !has_helper((enum bpf_func_id)INT_MAX);
}

bool kernel_has_find_vma(void)
{
	return has_helper(BPF_FUNC_find_vma);
}

bool kernel_has_task_registers(void)
{
	return has_helper(BPF_FUNC_task_pt_regs);
}

bool kernel_reports_build_ids(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.exclude_kernel = 1,
		.disabled = 1,
	};
	int fd = perf_event_open(&attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Linux 5.11 charges BPF memory to cgroups instead of RLIMIT_MEMLOCK. There is no probe for that,
 * but for a helper that came with the same version; libbpf does the same.
 */
bool kernel_counts_bpf_as_locked(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SOCKET_FILTER, BPF_FUNC_ktime_get_coarse_ns,
				       NULL) != 1;
}
