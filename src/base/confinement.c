#include "base/confinement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

#define STATM_MAX_BYTES 4096
#define URGENT_NICENESS (-10)

#define OWN_USER_NAME   "stackwide"
#define FIRST_FREE_USER 61184u
#define LAST_FREE_USER  65519u
#define MAX_TRIES       32

/* ---- memory and time ---- */

/* The address space of this process in bytes; 0: unknown. */
static uint64_t get_mapped_bytes(void)
{
	_cleanup_(text_release) struct text text = {0};
	unsigned long pages = 0;

	if (file_read_at(AT_FDCWD, "/proc/self/statm", STATM_MAX_BYTES, &text) ||
	    sscanf(text.data, "%lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limit(__rlimit_resource_t resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value)
		value = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = value;
	if (setrlimit(resource, &limit))
		log_debug("cannot set a resource limit: %s", strerror(errno));
}

/* No core file either: it would contain data that root has read. */
static void set_limits(const struct confinement *confinement)
{
	uint64_t mapped_bytes = confinement->memory_bytes ? get_mapped_bytes() : 0;

	set_limit(RLIMIT_CORE, 0);
	if (mapped_bytes)
		set_limit(RLIMIT_AS, mapped_bytes + confinement->memory_bytes);
	if (confinement->cpu_s)
		set_limit(RLIMIT_CPU, confinement->cpu_s);
	if (confinement->file_bytes)
		set_limit(RLIMIT_FSIZE, confinement->file_bytes);
}

/* ---- user and capabilities ---- */

/* Search only the file: no other process is asked, and no code of plugins is loaded. */
static bool find_in_passwd(bool (*is_wanted)(const struct passwd *entry, const void *context),
			   const void *context, uid_t *ret)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry;
	bool is_found = false;

	if (!file)
		return false;
	while (!is_found && (entry = fgetpwent(file))) {
		is_found = is_wanted(entry, context);
		*ret = entry->pw_uid;
	}
	fclose(file);
	return is_found;
}

static bool has_name(const struct passwd *entry, const void *name)
{
	return string_equals(entry->pw_name, name) && entry->pw_uid != 0;
}

static bool has_uid(const struct passwd *entry, const void *uid)
{
	return entry->pw_uid == *(const uid_t *)uid;
}

static bool is_in_use(uid_t uid)
{
	uid_t found;

	errno = 0;
	if (getpriority(PRIO_USER, uid) != -1 || errno != ESRCH)
		return true;
	return find_in_passwd(has_uid, &uid, &found);
}

uid_t confinement_choose_user(void)
{
	uid_t user;

	if (geteuid() != 0)
		return CONFINEMENT_DEFAULT_USER;
	if (find_in_passwd(has_name, OWN_USER_NAME, &user))
		return user;
	for (int i = 0; i < MAX_TRIES; i++) {
		uint32_t number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			break;
		user = FIRST_FREE_USER + number % (LAST_FREE_USER - FIRST_FREE_USER + 1);
		if (!is_in_use(user))
			return user;
	}
	return CONFINEMENT_DEFAULT_USER;
}

/* In a container, root may lack the right to become another, and users may be unknown. */
static bool change_user(uid_t user)
{
	if (geteuid() != 0)
		return true;
	if (setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user)) {
		log_debug("cannot become user %u: %s", user, strerror(errno));
		return user != CONFINEMENT_DEFAULT_USER && change_user(CONFINEMENT_DEFAULT_USER);
	}
	return true;
}

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

int confinement_become(uid_t user, gid_t group, const gid_t *groups, size_t num_groups)
{
	if (setgroups(num_groups, groups) || setresgid(group, group, group) ||
	    setresuid(user, user, user) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return drop_capabilities() ? 0 : -EPERM;
}

/* ---- system calls ---- */

/* Without conditions on their arguments. */
static const int allowed_calls[] = {
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(lseek),
	SCMP_SYS(fstat),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(pwrite64),
	SCMP_SYS(close),
	SCMP_SYS(dup),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendto), /* send(2) of a connected socket; no other address can be reached */
	SCMP_SYS(recvfrom),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mincore),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrusage),
	SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getuid),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Commands of fcntl(2), without those that send signals to others (F_SETOWN). */
static const int allowed_controls[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,
				       F_SETFD, F_GETFL,         F_SETFL};

/* Allow a call if this argument, masked, has this value. */
static int allow_if(scmp_filter_ctx filter, int call, unsigned int argument, uint64_t mask,
		    uint64_t value)
{
	const struct scmp_arg_cmp condition = {argument, SCMP_CMP_MASKED_EQ, mask, value};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &condition);
}

/*
 * Returns 0 or negative errno. Files are used only by their descriptors; mapped memory is never
 * executable; a terminal's size may be asked for; abort() may signal ourselves.
 */
static int add_rules(scmp_filter_ctx filter)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(allowed_calls); i++)
		err |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed_calls[i], 0);
	for (size_t i = 0; i < ARRAY_LENGTH(allowed_controls); i++)
		err |= allow_if(filter, SCMP_SYS(fcntl), 1, UINT32_MAX,
				(uint64_t)allowed_controls[i]);
	err |= allow_if(filter, SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH);
	err |= allow_if(filter, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
	err |= allow_if(filter, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
	err |= allow_if(filter, SCMP_SYS(ioctl), 1, UINT32_MAX, TIOCGWINSZ);
	err |= allow_if(filter, SCMP_SYS(ioctl), 1, UINT32_MAX, TCGETS);
	err |= allow_if(filter, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint64_t)getpid());
	return err;
}

static bool restrict_system_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = -ENOMEM;

	if (filter) {
		err = add_rules(filter);
		if (!err)
			err = seccomp_load(filter);
		seccomp_release(filter);
	}
	if (err)
		log_debug("cannot restrict system calls: %s", strerror(-err));
	return !err;
}

/* Changing the user clears the parent-death signal, so that is set afterwards. */
unsigned int confinement_enter(const struct confinement *confinement)
{
	pid_t parent = getppid();
	unsigned int parts = 0;

	set_limits(confinement);
	parts |= change_user(confinement->user) ? CONFINED_USER : 0;
	if (!drop_capabilities()) {
		log_debug("cannot drop capabilities: %s", strerror(errno));
		return parts;
	}
	parts |= CONFINED_CAPABILITIES;
	if (confinement->name)
		(void)prctl(PR_SET_NAME, confinement->name, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	parts |= restrict_system_calls() ? CONFINED_SYSTEM_CALLS : 0;
	return parts;
}

/* ---- the process that samples ---- */

int confinement_keep_sampling_rights(bool is_administrator)
{
	static const unsigned int retained[] = {
		CAP_BPF,
		CAP_PERFMON,
		CAP_SYS_PTRACE,
		CAP_DAC_READ_SEARCH,
		CAP_CHECKPOINT_RESTORE,
		CAP_SYSLOG,
		CAP_DAC_OVERRIDE,
		CAP_FOWNER,
		CAP_SETUID,
		CAP_SETGID,
		CAP_KILL,
	};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	uint32_t allowed[_LINUX_CAPABILITY_U32S_3] = {0};

	for (size_t i = 0; i < ARRAY_LENGTH(retained); i++)
		allowed[CAP_TO_INDEX(retained[i])] |= CAP_TO_MASK(retained[i]);
	if (is_administrator)
		allowed[CAP_TO_INDEX(CAP_SYS_ADMIN)] |= CAP_TO_MASK(CAP_SYS_ADMIN);
	if (syscall(SYS_capget, &header, sets))
		return -errno;
	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
		sets[i].permitted &= allowed[i];
		sets[i].effective &= allowed[i];
		sets[i].inheritable = 0;
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &header, sets) ? -errno : 0;
}

/*
 * Socket pairs remain allowed, for our own processes. The leak checker stops our threads by ptrace.
 */
static const int refused_calls[] = {
	SCMP_SYS(process_vm_writev),
#if !IS_SANITIZED
	SCMP_SYS(ptrace),
#endif
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(move_mount),
	SCMP_SYS(fsopen),
	SCMP_SYS(open_tree),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
};

int confinement_refuse_all_but_sampling(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err;

	if (!filter)
		return -ENOMEM;
	err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* The library skips calls that this architecture does not have. */
	for (size_t i = 0; !err && i < ARRAY_LENGTH(refused_calls); i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused_calls[i], 0);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

/* ---- priority ---- */

void confinement_raise_priority(void)
{
	if (getpriority(PRIO_PROCESS, 0) == 0 && setpriority(PRIO_PROCESS, 0, URGENT_NICENESS))
		log_debug("cannot raise the priority: %s", strerror(errno));
}

void confinement_lower_priority(void)
{
	if (getpriority(PRIO_PROCESS, 0) < 0)
		(void)setpriority(PRIO_PROCESS, 0, 0);
}

void confinement_die_with(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
}

/* ---- descriptors ---- */

void fd_list_add(struct fd_list *list, int fd)
{
	int *added = fd < 0 ? NULL : array_add(&list->fds);

	if (added)
		*added = fd;
	else if (fd >= 0)
		list->failed = true;
}

void fd_list_release(struct fd_list *list)
{
	array_release(&list->fds);
}

/* The number of an open descriptor in this range, or -1. */
static int find_open(DIR *folder, unsigned int first, unsigned int last)
{
	const struct dirent *entry;

	while ((entry = readdir(folder))) {
		char *end;
		unsigned long fd = strtoul(entry->d_name, &end, 10);

		if (end != entry->d_name && !*end && fd >= first && fd <= last &&
		    (int)fd != dirfd(folder))
			return (int)fd;
	}
	return -1;
}

/* Linux before 5.9 has no close_range(2), and some containers refuse it. */
static void close_range_of(unsigned int first, unsigned int last)
{
	struct rlimit limit;
	DIR *folder;
	int fd;

	if (first > last || !syscall(SYS_close_range, first, last, 0))
		return;
	folder = opendir("/proc/self/fd");
	if (folder) {
		while ((fd = find_open(folder, first, last)) >= 0)
			close(fd);
		closedir(folder);
		return;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	for (unsigned int number = first; number <= last && number < limit.rlim_cur; number++)
		close((int)number);
}

static int compare_fds(const void *left, const void *right)
{
	int a = *(const int *)left;
	int b = *(const int *)right;

	return (a > b) - (a < b);
}

int confinement_close_others(struct fd_list *kept)
{
	unsigned int next = 0;

	if (kept->failed)
		return -ENOMEM;
	if (kept->fds.length)
		qsort(kept->fds.items, kept->fds.length, sizeof(*kept->fds.items), compare_fds);
	array_for_each (&kept->fds, fd) {
		if ((unsigned int)*fd < next)
			continue;
		if ((unsigned int)*fd > next)
			close_range_of(next, (unsigned int)*fd - 1);
		next = (unsigned int)*fd + 1;
	}
	close_range_of(next, UINT_MAX);
	return 0;
}
