/* What is taken for a feature of the kernel: by what it answers to programs that do nothing. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/file.h"

static int read_type(int folder, const char *path, size_t limit, struct text *ret);
static int open_fake_event(const struct perf_event_attr *attr, pid_t tid, int cpu);
/* libbpf declares its options const before 1.5, and not from there on. */
static int load_fake_program(enum bpf_prog_type type, const char *name, const char *license,
			     const struct bpf_insn *instructions, size_t num_instructions,
			     const struct bpf_prog_load_opts *opts);

#define file_read_at    read_type
#define perf_event_open open_fake_event
#define bpf_prog_load   load_fake_program
#include "collect/kernel/kernel_features.c"
#undef file_read_at
#undef perf_event_open
#undef bpf_prog_load

#include "unit.h"

static int new_fd(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static const char *kprobe_type;
static const char *schedstat;

static int read_type(int folder, const char *path, size_t limit _unused_, struct text *ret)
{
	bool is_schedstat = !strcmp(path, "/proc/thread-self/schedstat");
	const char *content = is_schedstat ? schedstat : kprobe_type;

	assert_int_equal(folder, AT_FDCWD);
	if (!is_schedstat)
		assert_string_equal(path, "/sys/bus/event_source/devices/kprobe/type");
	if (!content)
		return -ENOENT;
	text_append_string(ret, content);
	return 0;
}

static const char *probed_function; /* that may be probed; NULL: none */
static bool takes_build_ids;

static int open_fake_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	assert_int_equal(tid, 0);
	assert_int_equal(cpu, -1);
	assert_int_equal(attr->size, sizeof(*attr));
	if (attr->build_id) {
		assert_true(attr->mmap && attr->mmap2 && attr->disabled && attr->exclude_kernel);
		assert_int_equal(attr->type, PERF_TYPE_SOFTWARE);
		assert_int_equal(attr->config, PERF_COUNT_SW_DUMMY);
		return takes_build_ids ? new_fd() : -EINVAL;
	}
	assert_int_equal(attr->type, 6);
	return probed_function &&
			       !strcmp((const char *)(uintptr_t)attr->kprobe_func, probed_function)
		       ? new_fd()
		       : -ENOENT;
}

static bool may_ask;
static enum bpf_func_id known_helper;
static enum bpf_prog_type last_type;

int libbpf_probe_bpf_helper(enum bpf_prog_type type, enum bpf_func_id helper,
			    const void *opts _unused_)
{
	last_type = type;
	return !may_ask || helper == known_helper;
}

static const char *traced; /* that has an ID; NULL: none */
static enum bpf_attach_type traced_type;

int libbpf_find_vmlinux_btf_id(const char *name, enum bpf_attach_type type)
{
	return traced && !strcmp(name, traced) && type == traced_type ? 7 : -ENOENT;
}

static bool refuses_programs;
static enum bpf_attach_type loaded_type;

static int load_fake_program(enum bpf_prog_type type, const char *name _unused_,
			     const char *license _unused_,
			     const struct bpf_insn *instructions _unused_, size_t num_instructions,
			     const struct bpf_prog_load_opts *opts)
{
	assert_int_equal(num_instructions, 2);
	last_type = type;
	loaded_type = opts->expected_attach_type;
	if (type == BPF_PROG_TYPE_TRACING)
		assert_int_equal(opts->attach_btf_id, 7);
	return refuses_programs ? -EPERM : new_fd();
}

static bool refuses_hooks;

int bpf_raw_tracepoint_open(const char *name, int fd)
{
	assert_null(name);
	assert_true(fd >= 0);
	return refuses_hooks ? -EINVAL : new_fd();
}

static int link_result; /* 0: it is opened */

int uprobe_link_open(const struct uprobe_link_opts *opts)
{
	assert_true(opts->program_fd >= 0 && opts->file_fd >= 0);
	assert_int_equal(opts->num_points, 1);
	assert_int_equal(loaded_type, UPROBE_LINK_ATTACH_TYPE);
	assert_int_equal(last_type, BPF_PROG_TYPE_KPROBE);
	return link_result ? link_result : new_fd();
}

void bpf_log_start(void)
{
}

static int set_up(void **state _unused_)
{
	kprobe_type = "6\n";
	probed_function = traced = NULL;
	takes_build_ids = refuses_programs = refuses_hooks = false;
	may_ask = true;
	known_helper = BPF_FUNC_unspec;
	link_result = -EBADF;
	return 0;
}

static void helpers_are_asked_for(void **state _unused_)
{
	assert_true(kernel_can_be_asked());
	assert_false(kernel_has_find_vma());
	assert_false(kernel_has_task_registers());
	assert_true(kernel_counts_bpf_as_locked());
	known_helper = BPF_FUNC_find_vma;
	assert_true(kernel_has_find_vma());
	assert_int_equal(last_type, BPF_PROG_TYPE_PERF_EVENT);
	known_helper = BPF_FUNC_task_pt_regs;
	assert_true(kernel_has_task_registers());
	assert_false(kernel_has_find_vma());
	known_helper = BPF_FUNC_ktime_get_coarse_ns;
	assert_false(kernel_counts_bpf_as_locked());
	/* Who may not load programs gets the same answer to all. */
	may_ask = false;
	assert_false(kernel_can_be_asked());
}

static void events_with_build_ids_are_tried(void **state _unused_)
{
	assert_false(kernel_reports_build_ids());
	takes_build_ids = true;
	assert_true(kernel_reports_build_ids());
}

/* A folder is refused by who knows these links. */
static void links_to_files_are_known_by_their_refusal(void **state _unused_)
{
	assert_true(kernel_has_uprobe_links());
	link_result = -EINVAL;
	assert_false(kernel_has_uprobe_links());
	link_result = 0;
	assert_false(kernel_has_uprobe_links());
	link_result = -EBADF;
	refuses_programs = true;
	assert_false(kernel_has_uprobe_links());
}

static void expect_hook(enum switch_in_kind kind, const char *function)
{
	struct switch_in_hook hook = kernel_find_switch_in_hook();

	assert_int_equal(hook.kind, kind);
	if (function)
		assert_string_equal(hook.function, function);
	else
		assert_null(hook.function);
}

static void the_best_hook_is_found_first(void **state _unused_)
{
	static const char *const functions[] = {"finish_task_switch", "finish_task_switch.isra.0"};

	expect_hook(SWITCH_IN_NONE, NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
		probed_function = functions[i];
		expect_hook(SWITCH_IN_PROBE, functions[i]);
	}
	traced = "finish_task_switch";
	traced_type = BPF_TRACE_FENTRY;
	expect_hook(SWITCH_IN_ENTRY, traced);
	/* Some kernels know one and refuse it. */
	refuses_hooks = true;
	expect_hook(SWITCH_IN_PROBE, functions[1]);
	refuses_hooks = false;
	refuses_programs = true;
	expect_hook(SWITCH_IN_PROBE, functions[1]);
	refuses_programs = false;
	traced = "sched_exit_tp";
	traced_type = BPF_TRACE_RAW_TP;
	expect_hook(SWITCH_IN_TRACEPOINT, traced);
	assert_int_equal(last_type, BPF_PROG_TYPE_TRACING);
	assert_int_equal(loaded_type, BPF_TRACE_RAW_TP);
}

static void without_kprobes_no_function_is_probed(void **state _unused_)
{
	static const char *const types[] = {NULL, ""};

	probed_function = "finish_task_switch";
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		kprobe_type = types[i];
		expect_hook(SWITCH_IN_NONE, NULL);
	}
}

static void times_in_run_queues_are_known_by_our_own(void **state _unused_)
{
	schedstat = NULL; /* not configured */
	assert_false(kernel_keeps_queue_times());
	schedstat = "0 0 0\n"; /* not kept */
	assert_false(kernel_keeps_queue_times());
	schedstat = "";
	assert_false(kernel_keeps_queue_times());
	schedstat = "1206444 0 1\n";
	assert_true(kernel_keeps_queue_times());
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(helpers_are_asked_for),
		TEST(events_with_build_ids_are_tried),
		TEST(links_to_files_are_known_by_their_refusal),
		TEST(the_best_hook_is_found_first),
		TEST(times_in_run_queues_are_known_by_our_own),
		TEST(without_kprobes_no_function_is_probed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
