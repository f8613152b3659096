#include "collect/kernel/permission_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

/* The kernel's own user namespace maps every id to itself. */
#define ALL_IDS 4294967295u

/* The number after "NAME:" in /proc/self/status; 0 if not found. */
static uint64_t find_number(const struct text *status, const char *name, int base)
{
	const char *line = status->length ? strstr(status->data, name) : NULL;

	return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

static bool is_in_user_namespace(int root_fd)
{
	_cleanup_(text_release) struct text map = {0};
	unsigned int inside;
	unsigned int outside;
	unsigned int count;

	if (file_read_at(root_fd, "proc/self/uid_map", 65536, &map) || !map.length ||
	    sscanf(map.data, "%u %u %u", &inside, &outside, &count) != 3)
		return false;
	return inside != 0 || outside != 0 || count != ALL_IDS;
}

static bool is_locked_down(int root_fd)
{
	_cleanup_(text_release) struct text modes = {0};

	return !file_read_at(root_fd, "sys/kernel/security/lockdown", 4096, &modes) &&
	       modes.length && strstr(modes.data, "[confidentiality]");
}

/*
 * With these arguments both calls fail with EINVAL or EFAULT in a process that has the
 * capabilities. So EPERM means that a filter rejects them.
 */
static bool is_call_refused(long number)
{
	return syscall(number, number == SYS_bpf ? -1L : 0L, NULL, 0, 0, 0) < 0 && errno == EPERM;
}

struct permission_probe permission_probe_run(int root_fd, long number)
{
	_cleanup_(text_release) struct text status = {0};

	if (file_read_at(root_fd, "proc/self/status", 65536, &status))
		text_truncate(&status, 0);
	return (struct permission_probe){
		.capabilities = find_number(&status, "\nCapEff:", 16),
		.has_seccomp_filter = find_number(&status, "\nSeccomp:", 10) == 2,
		.is_call_refused = is_call_refused(number),
		.is_in_user_namespace = is_in_user_namespace(root_fd),
		.is_locked_down = is_locked_down(root_fd),
	};
}

static bool has_capability(const struct permission_probe *permission_probe, unsigned int number)
{
	return permission_probe->capabilities >> number & 1;
}

const char *permission_probe_explain(const struct permission_probe *permission_probe)
{
	bool can_load = has_capability(permission_probe, CAP_BPF);
	bool can_sample = has_capability(permission_probe, CAP_PERFMON);

	if (!has_capability(permission_probe, CAP_SYS_ADMIN) && !(can_load && can_sample)) {
		if (can_load)
			return "CAP_PERFMON is missing; run with sudo, or add it";
		if (can_sample)
			return "CAP_BPF is missing; run with sudo, or add it";
		return "CAP_BPF and CAP_PERFMON are missing; run with sudo, or add them";
	}
	if (permission_probe->is_in_user_namespace)
		return "root of a user namespace is not root of the machine; run as root of "
		       "the machine (docker run --userns=host, sudo podman run)";
	if (permission_probe->has_seccomp_filter && permission_probe->is_call_refused)
		return "a seccomp filter forbids the call, as in containers; allow bpf and "
		       "perf_event_open (docker run --security-opt seccomp=unconfined)";
	if (permission_probe->is_locked_down)
		return "kernel lockdown is set to confidentiality; boot with lockdown=integrity";
	if (permission_probe->has_seccomp_filter)
		return "a seccomp filter or a security policy denies it; see the kernel's "
		       "log; in a container, allow bpf and perf_event_open";
	return "a security policy (SELinux, AppArmor) denies it; see the kernel's log";
}

const char *permission_probe_explain_call(long number)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct permission_probe permission_probe = permission_probe_run(root_fd, number);

	return permission_probe_explain(&permission_probe);
}
