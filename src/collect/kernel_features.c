#include "collect/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "collect/perf_ring.h"

bool kernel_has_types(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL) == 1;
}

/* A kernel that refuses to look at the question denies nothing: not even what no kernel has. */
bool kernel_can_be_asked(void)
{
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

bool kernel_tells_build_ids(void)
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

/* The helper came with the same version as the accounting by cgroups, as libbpf knows too. */
bool kernel_counts_bpf_as_locked(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SOCKET_FILTER, BPF_FUNC_ktime_get_coarse_ns,
				       NULL) != 1;
}
