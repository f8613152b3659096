#include "collect/target.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/file.h"
#include "base/text.h"

/* In the flags of /proc/PID/stat. Source: include/linux/sched.h. */
#define PF_KTHREAD 0x00200000

static void closedirp(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

bool target_is_of_threads(const struct target *target)
{
	return target->kind == TARGET_PROCESSES || target->kind == TARGET_THREADS;
}

int target_for_each_thread(pid_t pid, int (*visit)(pid_t tid, void *context), void *context)
{
	_cleanup_(closedirp) DIR *folder = NULL;
	char path[64];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(folder))) {
		int err;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = visit((pid_t)strtol(entry->d_name, NULL, 10), context);
		if (err)
			return err;
	}
	return 0;
}

pid_t target_get_pid(pid_t tid)
{
	_cleanup_(text_release) struct text status = {0};
	char path[64];
	const char *line;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	err = file_read_at(AT_FDCWD, path, 65536, &status);
	if (err == -ENOMEM)
		return err;
	if (err || !status.length)
		return -ESRCH;
	line = strstr(status.data, "\nTgid:");
	return line ? (pid_t)strtol(line + strlen("\nTgid:"), NULL, 10) : -ESRCH;
}

int target_read_state(pid_t id, struct target_state *ret)
{
	_cleanup_(text_release) struct text stat = {0};
	unsigned long num_threads = 0;
	unsigned int flags = 0;
	const char *name;
	const char *fields;
	char path[64];
	int err;

	*ret = (struct target_state){0};
	snprintf(path, sizeof(path), "/proc/%d/stat", id);
	err = file_read_at(AT_FDCWD, path, 4096, &stat);
	if (err == -ENOMEM)
		return err;
	if (err || !stat.length)
		return -ESRCH;
	name = strchr(stat.data, '(');
	fields = strrchr(stat.data, ')'); /* the last one: the name may hold any character */
	if (!name || !fields || fields < name ||
	    sscanf(fields, ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu",
		   &ret->letter, &ret->parent_pid, &flags, &num_threads) != 4)
		return -ESRCH;
	snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)(fields - name - 1), name + 1);
	ret->is_kernel_thread = flags & PF_KTHREAD;
	ret->has_ended = ret->letter == 'X' || (ret->letter == 'Z' && num_threads <= 1);
	return 0;
}

bool target_is_alive(pid_t id)
{
	struct target_state state;

	return target_read_state(id, &state) != -ESRCH && !state.has_ended;
}

/* Find the mount point of cgroup2; text is left empty if it is not mounted. */
static void find_cgroup_mount(struct text *ret)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;

	if (!mounts)
		return;
	while (!ret->length && !ret->failed && (entry = getmntent(mounts)))
		if (string_equals(entry->mnt_type, "cgroup2"))
			text_append_string(ret, entry->mnt_dir);
	endmntent(mounts);
}

static bool is_cgroup(const char *path)
{
	struct statfs status;

	return !statfs(path, &status) && status.f_type == CGROUP2_SUPER_MAGIC;
}

int target_open_cgroup(const char *path, struct error *error)
{
	_cleanup_(text_release) struct text full = {0};
	int fd;

	find_cgroup_mount(&full);
	if (full.failed)
		return -ENOMEM;
	if (!full.length)
		return error_set(error, -ENOTSUP,
				 "no cgroup2 file system is mounted; mount one with 'mount -t "
				 "cgroup2 none /sys/fs/cgroup'");
	if (path[0] == '/' && is_cgroup(path))
		text_truncate(&full, 0);
	else if (path[0] != '/')
		text_append_char(&full, '/');
	text_append_string(&full, path);
	if (full.failed)
		return -ENOMEM;
	fd = open(full.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set(error, -errno, "cannot open cgroup '%s': %s", full.data,
				 strerror(errno));
	return fd;
}

int target_read_online_cpus(bool *cpus, size_t num_cpus)
{
	_cleanup_(text_release) struct text list = {0};
	int err = file_read_at(AT_FDCWD, "/sys/devices/system/cpu/online", 65536, &list);
	const char *at = list.data;
	int num_online = 0;

	if (err)
		return err;
	memset(cpus, 0, num_cpus * sizeof(*cpus));
	while (at && isdigit((unsigned char)*at)) {
		char *end;
		unsigned long first = strtoul(at, &end, 10);
		unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (unsigned long cpu = first; cpu <= last && cpu < num_cpus; cpu++) {
			cpus[cpu] = true;
			num_online++;
		}
		at = *end == ',' ? end + 1 : end;
	}
	return num_online;
}
