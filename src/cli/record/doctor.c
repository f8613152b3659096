/*
 * Every check examines one thing that a recording needs or would profit from, and reports its
 * finding in a word or two. If something is missing, it names the command to fix it. Checks change
 * nothing. They read through a descriptor of the root, so that tests can put a folder there. They
 * do not ask the kernel themselves: doctor->kernel has the answers that only a try can give.
 */
#include "cli/record/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"

#define MAX_FILE_BYTES (1u << 20)
#define FIRST_KALLSYMS 4096
#define MIN_OPEN_FILES 4096
#define INITIAL_PID_NS "pid:[4026531836]" /* Linux include/linux/proc_ns.h PROC_PID_INIT_INO */

/* Both return true: the check's own result only tells whether it applies. */
static _printf_(2, 3) bool is_fine(struct finding *finding, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, arguments);
	va_end(arguments);
	finding->is_ok = true;
	return true;
}

/* fix  the command; may be empty */
static _printf_(3, 4) bool is_missing(struct finding *finding, const char *fix, const char *format,
				      ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(finding->detail, sizeof(finding->detail), format, arguments);
	va_end(arguments);
	snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
	finding->is_ok = false;
	return true;
}

/*
 * The start of a file below the root, without its last newline; false if it cannot be read.
 * O_NONBLOCK: below a root that is not the machine's, any of these may be a FIFO.
 */
static bool read_start(const struct doctor *doctor, const char *path, char *buffer, size_t size)
{
	_cleanup_close_ int fd = openat(doctor->root_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : read(fd, buffer, size - 1);

	if (got < 0)
		return false;
	while (got && buffer[got - 1] == '\n')
		got--;
	buffer[got] = '\0';
	return true;
}

static bool read_long(const struct doctor *doctor, const char *path, long *ret)
{
	char buffer[64];
	char *end;

	if (!read_start(doctor, path, buffer, sizeof(buffer)))
		return false;
	*ret = strtol(buffer, &end, 10);
	return end != buffer;
}

static bool exists(const struct doctor *doctor, const char *path)
{
	return faccessat(doctor->root_fd, path, F_OK, 0) == 0;
}

/* The value behind "NAME:" in /proc/self/status. */
static bool read_status(const struct doctor *doctor, const char *name, char *ret, size_t size)
{
	char status[8192];
	const char *line;

	if (!read_start(doctor, "proc/self/status", status, sizeof(status)))
		return false;
	line = strstr(status, name);
	if (!line)
		return false;
	line += strlen(name);
	line += strspn(line, "\t ");
	snprintf(ret, size, "%.*s", (int)strcspn(line, "\n"), line);
	return true;
}

/*
 * CapEff of /proc/self/status is the effective set as a hexadecimal number, one bit per capability
 * (capabilities(7)).
 */
static bool has_capability(const struct doctor *doctor, unsigned int number)
{
	char set[64];

	if (!read_status(doctor, "\nCapEff:", set, sizeof(set)))
		return false;
	return strtoull(set, NULL, 16) >> number & 1;
}

static bool check_kernel(const struct doctor *doctor, struct finding *ret)
{
	char release[128] = "";

	if (!read_start(doctor, "proc/sys/kernel/osrelease", release, sizeof(release)))
		return is_missing(ret, "mount -t proc proc /proc", "cannot read /proc");
	return is_fine(ret, "Linux %s", release);
}

static bool check_btf(const struct doctor *doctor, struct finding *ret)
{
	if (exists(doctor, "sys/kernel/btf/vmlinux"))
		return is_fine(ret, "/sys/kernel/btf/vmlinux");
	return is_missing(ret, "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y",
			  "the kernel has no type information: user stacks only by frame pointer "
			  "(--user-stacks fp), and no --sched");
}

/* True if unknown; the finding then states that. */
static bool is_unknown(const struct doctor *doctor, struct finding *ret)
{
	if (doctor->kernel.can_be_asked)
		return false;
	return is_missing(ret, "sudo stackwide doctor", "cannot be checked without CAP_BPF");
}

static bool check_stack_areas(const struct doctor *doctor, struct finding *ret)
{
	if (is_unknown(doctor, ret))
		return true;
	if (doctor->kernel.has_find_vma)
		return is_fine(ret, "the kernel reports the mapping of a stack pointer");
	return is_missing(ret, "boot Linux 5.17 or newer if that matters",
			  "no bpf_find_vma(): the stack regions of traces are guessed from stack "
			  "pointers");
}

static bool check_registers(const struct doctor *doctor, struct finding *ret)
{
	if (is_unknown(doctor, ret))
		return true;
	if (doctor->kernel.has_task_registers)
		return is_fine(ret, "the kernel reports where it saved them");
	return is_fine(ret, "no bpf_task_pt_regs(): read from the end of the kernel stack");
}

static bool check_off_cpu(const struct doctor *doctor, struct finding *ret)
{
	if (is_unknown(doctor, ret))
		return true;
	if (doctor->kernel.switch_in)
		return is_fine(ret, "sampled when a thread gets a CPU again (%s)",
			       doctor->kernel.switch_in);
	return is_missing(ret, "boot Linux 6.16 or newer, or one with CONFIG_KPROBES=y",
			  "neither sched_exit_tp, nor fentry or kprobe of finish_task_switch: no "
			  "--off-cpu");
}

static bool check_build_ids(const struct doctor *doctor, struct finding *ret)
{
	if (is_unknown(doctor, ret))
		return true;
	if (doctor->kernel.reports_build_ids)
		return is_fine(ret, "reported with the events of mappings");
	return is_missing(ret, "boot Linux 5.12 or newer if that matters",
			  "not reported with the events of mappings: a file that is gone before it "
			  "is opened is known by device and inode only");
}

/* The soft limit of locked memory is in about the eighth line, "unlimited" or a number. */
static bool has_unlimited_locked_memory(const struct doctor *doctor)
{
	char limits[4096];
	char value[32];
	const char *line;

	if (!read_start(doctor, "proc/self/limits", limits, sizeof(limits)))
		return false;
	line = strstr(limits, "Max locked memory");
	return line && sscanf(line, "Max locked memory %31s", value) == 1 &&
	       string_equals(value, "unlimited");
}

static bool check_locked_memory(const struct doctor *doctor, struct finding *ret)
{
	if (is_unknown(doctor, ret))
		return true;
	if (!doctor->kernel.counts_bpf_as_locked)
		return is_fine(ret, "RLIMIT_MEMLOCK does not apply to BPF");
	if (has_unlimited_locked_memory(doctor))
		return is_fine(ret, "BPF counts as locked memory; not limited");
	if (has_capability(doctor, CAP_SYS_RESOURCE))
		return is_fine(ret,
			       "BPF counts as locked memory; CAP_SYS_RESOURCE lifts the limit");
	return is_missing(ret, "ulimit -l unlimited",
			  "BPF counts as locked memory, which is limited");
}

struct capability {
	unsigned int number;
	const char *name;
	const char *use;
};

/* The first capability that is needed but missing. */
static const struct capability *find_missing(const struct doctor *doctor,
					     const struct capability *needed)
{
	for (; needed->name; needed++)
		if (!has_capability(doctor, needed->number))
			return needed;
	return NULL;
}

/* CAP_SYS_ADMIN included both before Linux 5.8 split them off, and still does. */
static bool check_capabilities(const struct doctor *doctor, struct finding *ret)
{
	static const struct capability needed[] = {
		{CAP_BPF, "CAP_BPF", "load the sampling program"},
		{CAP_PERFMON, "CAP_PERFMON", "sample"},
		{0},
	};
	const struct capability *missing = find_missing(doctor, needed);

	if (!missing)
		return is_fine(ret, "CAP_BPF and CAP_PERFMON");
	if (has_capability(doctor, CAP_SYS_ADMIN))
		return is_fine(ret, "CAP_SYS_ADMIN, which includes CAP_BPF and CAP_PERFMON");
	return is_missing(ret, "sudo stackwide doctor", "%s, to %s", missing->name, missing->use);
}

static bool check_file_access(const struct doctor *doctor, struct finding *ret)
{
	static const struct capability needed[] = {
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "read the mappings of other users' processes"},
		{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "read programs that are private"},
		{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
		 "read programs that were deleted or replaced"},
		{0},
	};
	const struct capability *missing = find_missing(doctor, needed);

	if (missing && missing->number == CAP_CHECKPOINT_RESTORE &&
	    has_capability(doctor, CAP_SYS_ADMIN))
		missing = NULL;
	if (!missing)
		return is_fine(ret, "files of all processes can be read");
	return is_missing(ret, "sudo stackwide doctor", "%s, to %s: their frames have no names",
			  missing->name, missing->use);
}

/*
 * perf_event_paranoid restricts users without CAP_PERFMON: 1 and above forbids events of a whole
 * CPU, 2 and above kernel samples.
 */
static bool check_paranoid(const struct doctor *doctor, struct finding *ret)
{
	long level;

	if (!read_long(doctor, "proc/sys/kernel/perf_event_paranoid", &level))
		return is_missing(ret, "boot a kernel built with CONFIG_PERF_EVENTS=y",
				  "the kernel has no perf events");
	if (level < 1 || has_capability(doctor, CAP_PERFMON) ||
	    has_capability(doctor, CAP_SYS_ADMIN))
		return is_fine(ret, "%ld; no restriction", level);
	return is_missing(ret, "sudo sysctl kernel.perf_event_paranoid=0",
			  "%ld; other users' processes and the kernel cannot be sampled", level);
}

/* The mode in brackets is the active one: "none [integrity] confidentiality". */
static bool check_lockdown(const struct doctor *doctor, struct finding *ret)
{
	char modes[128];

	if (!read_start(doctor, "sys/kernel/security/lockdown", modes, sizeof(modes)))
		return is_fine(ret, "off");
	if (strstr(modes, "[confidentiality]"))
		return is_missing(ret, "boot with lockdown=integrity",
				  "%s: sampling and reading the kernel are forbidden", modes);
	return is_fine(ret, "%s", modes);
}

static bool check_jit(const struct doctor *doctor, struct finding *ret)
{
	long mode;

	/* Kernels that always compile have no switch that could be 0. */
	if (!read_long(doctor, "proc/sys/net/core/bpf_jit_enable", &mode) || mode > 0)
		return is_fine(ret, "BPF programs are compiled");
	return is_missing(ret, "sudo sysctl net.core.bpf_jit_enable=1",
			  "BPF programs are interpreted: sampling costs several times as much");
}

/*
 * perf rings are locked memory: perf_event_mlock_kb per CPU is free, more counts against the user's
 * limit.
 */
static bool check_ring_memory(const struct doctor *doctor, struct finding *ret)
{
	long limit_kb;
	char limit[128];

	if (has_capability(doctor, CAP_IPC_LOCK))
		return is_fine(ret, "not limited");
	if (!read_long(doctor, "proc/sys/kernel/perf_event_mlock_kb", &limit_kb))
		return is_fine(ret, "limit unknown");
	snprintf(limit, sizeof(limit), "%ld kB per CPU for rings", limit_kb);
	if (limit_kb >= 516) /* the kernel's default */
		return is_fine(ret, "%s", limit);
	return is_missing(ret, "sudo sysctl kernel.perf_event_mlock_kb=516",
			  "%s: process events may be lost on a busy machine", limit);
}

/* Read the second number of "Max open files 1024 1048576 files". */
static bool read_hard_limit(const struct doctor *doctor, unsigned long *ret)
{
	char limits[4096];
	const char *line;

	if (!read_start(doctor, "proc/self/limits", limits, sizeof(limits)))
		return false;
	line = strstr(limits, "Max open files");
	return line && sscanf(line, "Max open files %*s %lu", ret) == 1;
}

/* The hard limit, since a recording raises the soft one to it. */
static bool check_open_files(const struct doctor *doctor, struct finding *ret)
{
	unsigned long limit;

	if (!read_hard_limit(doctor, &limit))
		return is_fine(ret, "not limited");
	if (limit >= MIN_OPEN_FILES)
		return is_fine(ret, "%lu", limit);
	return is_missing(ret, "ulimit -Hn 65536",
			  "%lu; every mapped file of the machine needs one", limit);
}

static bool check_pmu(const struct doctor *doctor, struct finding *ret)
{
	if (exists(doctor, "sys/bus/event_source/devices/cpu") ||
	    exists(doctor, "sys/bus/event_source/devices/cpu_core") ||
	    exists(doctor, "sys/bus/event_source/devices/armv8_pmuv3_0"))
		return is_fine(ret, "the CPU counts cycles");
	return is_missing(ret, "give the virtual machine a PMU if its host can",
			  "sampling by timer (cpu-clock): kernel code that runs with interrupts "
			  "off shows up where it enables them");
}

static bool check_kallsyms(const struct doctor *doctor, struct finding *ret)
{
	char start[FIRST_KALLSYMS];

	if (!read_start(doctor, "proc/kallsyms", start, sizeof(start)) || !start[0])
		return is_missing(ret, "boot a kernel built with CONFIG_KALLSYMS_ALL=y",
				  "kernel functions have no names: no /proc/kallsyms");
	for (const char *line = start; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		/* Some per-CPU symbols are at 0 for all users. */
		if (line[strspn(line, "0")] != ' ' && line[0])
			return is_fine(ret, "kernel functions have names");
	}
	return is_missing(ret,
			  has_capability(doctor, CAP_SYSLOG) ? "sudo sysctl kernel.kptr_restrict=1"
							     : "sudo stackwide doctor",
			  "kernel functions have no names: /proc/kallsyms hides the addresses");
}

static bool check_tracefs(const struct doctor *doctor, struct finding *ret)
{
	if (exists(doctor, "sys/kernel/tracing/events") ||
	    exists(doctor, "sys/kernel/debug/tracing/events"))
		return is_fine(ret, "mounted; not needed for stacks");
	if (has_capability(doctor, CAP_SYS_ADMIN))
		return is_fine(ret, "not mounted; recordings mount it privately");
	return is_missing(ret, "sudo mount -t tracefs tracefs /sys/kernel/tracing",
			  "not mounted or not readable; not needed for stacks");
}

static bool check_debug_info(const struct doctor *doctor, struct finding *ret)
{
	if (exists(doctor, "usr/lib/debug/.build-id"))
		return is_fine(ret, "separate debug files are in /usr/lib/debug");
	return is_missing(ret,
			  exists(doctor, "usr/bin/apt-get")
				  ? "sudo apt-get install libc6-dbg"
				  : "install your system's debug packages",
			  "no separate debug files in /usr/lib/debug: system libraries show no "
			  "inlined calls");
}

static bool check_debuginfod(const struct doctor *doctor, struct finding *ret)
{
	bool has_client = exists(doctor, "usr/bin/debuginfod-find");

	if (has_client && getenv("DEBUGINFOD_URLS"))
		return is_fine(ret,
			       "debuginfod-find can fetch debug files; recordings ask no server");
	return is_missing(ret,
			  has_client ? "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org"
				     : "sudo apt-get install debuginfod",
			  "debug files cannot be fetched by build ID; not needed for stacks");
}

static bool check_cgroup(const struct doctor *doctor, struct finding *ret)
{
	_cleanup_(text_release) struct text mounts = {0};

	if (!file_read_at(doctor->root_fd, "proc/self/mounts", MAX_FILE_BYTES, &mounts) &&
	    mounts.length && strstr(mounts.data, " cgroup2 "))
		return is_fine(ret, "version 2 is mounted");
	return is_missing(ret, "sudo mount -t cgroup2 none /sys/fs/cgroup/unified",
			  "version 2 is not mounted: --cgroup does not work");
}

/*
 * The inode of the first process namespace is fixed in the kernel; any other number is a nested
 * namespace.
 */
static bool check_container(const struct doctor *doctor, struct finding *ret)
{
	char name[64] = "";
	bool is_container = exists(doctor, ".dockerenv") || exists(doctor, "run/.containerenv");
	ssize_t length = readlinkat(doctor->root_fd, "proc/self/ns/pid", name, sizeof(name) - 1);

	if (length > 0)
		name[length] = '\0';
	if (length > 0 && !string_equals(name, INITIAL_PID_NS))
		return is_missing(ret, "start the container with --pid=host --privileged",
				  "separate pid namespace: code that runs outside has no names");
	return is_fine(ret, is_container ? "in a container that sees all processes" : "none");
}

/* Recording works without it, but an attacker who exploits a bug of ours can do more. */
static bool check_confinement(const struct doctor *doctor, struct finding *ret)
{
	if (!(doctor->confinement & CONFINED_CAPABILITIES))
		return is_missing(
			ret, "allow no_new_privs and capset(2)",
			"ELF readers cannot drop their privileges: frames are not symbolized");
	if (!(doctor->confinement & CONFINED_USER))
		return is_missing(ret, "give the container CAP_SETUID and CAP_SETGID",
				  "ELF readers keep uid 0, without capabilities");
	if (!(doctor->confinement & CONFINED_SYSTEM_CALLS))
		return is_missing(ret, "boot a kernel built with CONFIG_SECCOMP_FILTER=y",
				  "no seccomp: ELF readers could open files and start processes");
	return is_fine(ret, "ELF readers run unprivileged, under seccomp");
}

static bool check_cache(const struct doctor *doctor, struct finding *ret)
{
	if (exists(doctor, "var/cache/stackwide"))
		return is_fine(ret, "/var/cache/stackwide");
	return is_missing(
		ret,
		doctor->is_root ? "mkdir -p /var/cache/stackwide"
				: "sudo mkdir -p /var/cache/stackwide",
		"unwind tables are not cached yet; the first recording as root creates the cache");
}

bool doctor_check(const struct doctor *doctor, size_t index, struct finding *ret)
{
	static const struct {
		const char *name;
		bool (*check)(const struct doctor *doctor, struct finding *ret);
	} checks[] = {
		{"kernel", check_kernel},
		{"BTF", check_btf},
		{"stack lookup", check_stack_areas},
		{"user registers", check_registers},
		{"build IDs", check_build_ids},
		{"waits", check_off_cpu},
		{"locked memory", check_locked_memory},
		{"capabilities", check_capabilities},
		{"file access", check_file_access},
		{"perf_event_paranoid", check_paranoid},
		{"lockdown", check_lockdown},
		{"BPF compiler", check_jit},
		{"ring memory", check_ring_memory},
		{"open files", check_open_files},
		{"PMU", check_pmu},
		{"kallsyms", check_kallsyms},
		{"tracefs", check_tracefs},
		{"debug info", check_debug_info},
		{"debuginfod", check_debuginfod},
		{"cgroups", check_cgroup},
		{"container", check_container},
		{"confinement", check_confinement},
		{"table cache", check_cache},
	};

	if (index >= ARRAY_LENGTH(checks))
		return false;
	*ret = (struct finding){.name = checks[index].name};
	return checks[index].check(doctor, ret);
}
