#include "collect/kernel_features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "collect/kernel/bpf_log.h"
#include "collect/kernel/perf_ring.h"
#include "collect/kernel/uprobe_link.h"

#define SCHEDSTAT_BYTES 256

bool kernel_has_types(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0;
}

static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL) == 1;
}

/*
 * libbpf's probes load a tiny program and check the error. Without the right to load programs they
 * cannot distinguish "not permitted" from "missing"; probing a helper that no kernel has shows
 * whether their results are valid.
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
 * Linux 5.11 charges BPF memory to cgroups instead of RLIMIT_MEMLOCK. Only a helper of the same
 * version can be probed; libbpf does the same.
 */
bool kernel_counts_bpf_as_locked(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SOCKET_FILTER, BPF_FUNC_ktime_get_coarse_ns,
				       NULL) != 1;
}

/* A program that does nothing. Returns its descriptor or negative errno. */
static int load_nothing(enum bpf_prog_type type, struct bpf_prog_load_opts *opts)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(type, "probe", "GPL", nothing, ARRAY_LENGTH(nothing), opts);
}

/* The third number is how often this thread has got a CPU. */
bool kernel_keeps_queue_times(void)
{
	unsigned long long num_arrivals = 0;
	struct text text = {0};
	bool is_known =
		!file_read_at(AT_FDCWD, "/proc/thread-self/schedstat", SCHEDSTAT_BYTES, &text) &&
		text.data && sscanf(text.data, "%*u %*u %llu", &num_arrivals) == 1;

	text_release(&text);
	return is_known && num_arrivals;
}

/*
 * A kernel with these links rejects a file that is not regular with its own error; one without them
 * rejects the attach type.
 */
bool kernel_has_uprobe_links(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = UPROBE_LINK_ATTACH_TYPE);
	_cleanup_close_ int program_fd = load_nothing(BPF_PROG_TYPE_KPROBE, &opts);
	_cleanup_close_ int folder_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct uprobe_link_point point = {0};
	int link_fd;

	if (program_fd < 0 || folder_fd < 0)
		return false;
	link_fd = uprobe_link_open(&(struct uprobe_link_opts){
		.program_fd = program_fd, .file_fd = folder_fd, .points = &point, .num_points = 1});
	if (link_fd >= 0)
		close(link_fd);
	return link_fd == -EBADF;
}

/* It is attached for a moment: some kernels have a hook and reject it. */
static bool can_trace(enum bpf_attach_type type, const char *name)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	int id = libbpf_find_vmlinux_btf_id(name, type);
	int program;
	int link;

	if (id <= 0)
		return false;
	opts.attach_btf_id = (__u32)id;
	program = load_nothing(BPF_PROG_TYPE_TRACING, &opts);
	if (program < 0)
		return false;
	link = bpf_raw_tracepoint_open(NULL, program);
	if (link >= 0)
		close(link);
	close(program);
	return link >= 0;
}

static bool can_probe(const char *function)
{
	_cleanup_(text_release) struct text type = {0};
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.kprobe_func = (uintptr_t)function,
	};
	int fd;

	if (file_read_at(AT_FDCWD, "/sys/bus/event_source/devices/kprobe/type", 64, &type) ||
	    !type.length)
		return false;
	attr.type = (__u32)strtoul(type.data, NULL, 10);
	fd = perf_event_open(&attr, 0, -1);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

struct switch_in_hook kernel_find_switch_in_hook(void)
{
	/* GCC renames a function when it has dropped one of its arguments. */
	static const char *const functions[] = {"finish_task_switch", "finish_task_switch.isra.0"};

	if (can_trace(BPF_TRACE_RAW_TP, "sched_exit_tp"))
		return (struct switch_in_hook){SWITCH_IN_TRACEPOINT, "sched_exit_tp"};
	if (can_trace(BPF_TRACE_FENTRY, functions[0]))
		return (struct switch_in_hook){SWITCH_IN_ENTRY, functions[0]};
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (can_probe(functions[i]))
			return (struct switch_in_hook){SWITCH_IN_PROBE, functions[i]};
	return (struct switch_in_hook){.kind = SWITCH_IN_NONE};
}
