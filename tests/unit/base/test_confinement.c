/*
 * Each thing is tried in a child that has been confined, and says by its exit status whether it was
 * as it should be.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/confinement.h"
#include "unit.h"

#define FAILED_STATUS 1
#define PASSED_STATUS 0

/* What the child has from before. */
struct held {
	int file_fd;   /* a file with "0123456789" */
	int status_fd; /* /proc/self/status of the child */
	int pipe_fd;
};

static int open_file(void)
{
	int fd = memfd_create("file", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789", 10), 10);
	return fd;
}

/* Run a function in a confined child. Returns the child's wait status. */
static int try_confined(bool (*try)(const struct held *held), uint64_t memory_bytes)
{
	struct confinement confinement = {.user = CONFINEMENT_DEFAULT_USER,
					  .memory_bytes = memory_bytes};
	struct held held = {.file_fd = open_file()};
	int pipe_fds[2];
	int wait_status;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	held.pipe_fd = pipe_fds[1];
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		unsigned int parts;

		held.status_fd = open("/proc/self/status", O_RDONLY);
		parts = confinement_enter(&confinement);
		if (parts != (CONFINED_CAPABILITIES | CONFINED_USER | CONFINED_SYSTEM_CALLS))
			_exit(FAILED_STATUS);
		_exit(try(&held) ? PASSED_STATUS : FAILED_STATUS);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close(held.file_fd);
	return wait_status;
}

static void assert_confined(bool (*try)(const struct held *held))
{
	int wait_status = try_confined(try, 0);

	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), PASSED_STATUS);
}

static bool is_refused(long result)
{
	return result == -1 && errno == EPERM;
}

static bool opens_nothing(const struct held *held _unused_)
{
	struct stat status;

	return is_refused(open("/etc/passwd", O_RDONLY)) && is_refused(open("/tmp", O_RDONLY)) &&
	       is_refused(openat(AT_FDCWD, "/dev/null", O_WRONLY)) &&
	       is_refused(stat("/etc/passwd", &status)) && is_refused(unlink("/nothing")) &&
	       is_refused(mkdir("/tmp/nothing", 0700)) && is_refused(access("/", F_OK));
}

static bool starts_nothing(const struct held *held _unused_)
{
	char name[] = "true";
	char *arguments[] = {name, NULL};

	return is_refused(fork()) && is_refused(execv("/bin/true", arguments)) &&
	       is_refused(syscall(SYS_clone3, NULL, 0)) && is_refused(vfork());
}

static bool reaches_nobody(const struct held *held _unused_)
{
	return is_refused(socket(AF_INET, SOCK_STREAM, 0)) &&
	       is_refused(socket(AF_UNIX, SOCK_STREAM, 0)) && is_refused(kill(getpid(), 0)) &&
	       is_refused(kill(-1, 0)) && is_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL)) &&
	       is_refused(syscall(SYS_tgkill, 1, 1, 0)) &&
	       is_refused(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0)) &&
	       is_refused(syscall(SYS_bpf, 0, NULL, 0));
}

static bool maps_no_code(const struct held *held)
{
	size_t page = 4096;
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory != MAP_FAILED &&
	       mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, held->file_fd, 0) ==
		       MAP_FAILED &&
	       errno == EPERM && is_refused(mprotect(memory, page, PROT_READ | PROT_EXEC)) &&
	       !mprotect(memory, page, PROT_READ);
}

static int compare_bytes(const void *left, const void *right)
{
	return *(const unsigned char *)left - *(const unsigned char *)right;
}

static bool works_with_what_it_holds(const struct held *held)
{
	size_t size = 20 << 20;
	unsigned char *memory = malloc(size);
	struct stat status;
	char bytes[4];

	if (!memory || fstat(held->file_fd, &status) || status.st_size != 10)
		return false;
	for (size_t i = 0; i < size; i++)
		memory[i] = (unsigned char)(i * 7);
	qsort(memory, size, 1, compare_bytes);
	free(memory);
	return pread(held->file_fd, bytes, sizeof(bytes), 3) == sizeof(bytes) &&
	       !memcmp(bytes, "3456", sizeof(bytes)) && lseek(held->file_fd, 0, SEEK_SET) == 0 &&
	       read(held->file_fd, bytes, 1) == 1 && write(held->pipe_fd, "x", 1) == 1 &&
	       fcntl(held->file_fd, F_DUPFD_CLOEXEC, 0) >= 0 &&
	       is_refused(fcntl(held->file_fd, F_SETOWN, 1));
}

static bool has_no_rights(const struct held *held)
{
	static const char *const wanted[] = {"CapInh:\t0000000000000000",
					     "CapPrm:\t0000000000000000",
					     "CapEff:\t0000000000000000",
					     "CapAmb:\t0000000000000000",
					     "NoNewPrivs:\t1",
					     "Seccomp:\t2"};
	char text[8192] = "";

	if (pread(held->status_fd, text, sizeof(text) - 1, 0) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++)
		if (!strstr(text, wanted[i]))
			return false;
	return getuid() != 0;
}

static bool aborts(const struct held *held _unused_)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}

static bool has_little_memory(const struct held *held _unused_)
{
	void *allowed =
		mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return allowed != MAP_FAILED &&
	       mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		       MAP_FAILED &&
	       errno == ENOMEM;
}

static void nothing_is_opened_by_path(void **state _unused_)
{
	assert_confined(opens_nothing);
}

static void no_process_is_started(void **state _unused_)
{
	assert_confined(starts_nothing);
}

static void no_process_is_reached(void **state _unused_)
{
	assert_confined(reaches_nobody);
}

static void nothing_becomes_code(void **state _unused_)
{
	assert_confined(maps_no_code);
}

static void memory_and_held_descriptors_are_used(void **state _unused_)
{
	assert_confined(works_with_what_it_holds);
}

static void capabilities_and_roots_user_are_gone(void **state _unused_)
{
	assert_confined(has_no_rights);
}

static void abort_ends_it(void **state _unused_)
{
	int wait_status = try_confined(aborts, 0);

	assert_true(WIFSIGNALED(wait_status));
	assert_int_equal(WTERMSIG(wait_status), SIGABRT);
}

static void memory_is_bounded(void **state _unused_)
{
	int wait_status = try_confined(has_little_memory, 64 << 20);

	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), PASSED_STATUS);
}

/* The calls that a recorder never makes again; with arguments that the kernel refuses for another reason. */
static const long calls_of_others[] = {
	SYS_process_vm_writev,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_execve,
	SYS_execveat,
	SYS_mount,
	SYS_umount2,
	SYS_move_mount,
	SYS_fsopen,
	SYS_open_tree,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_swapon,
	SYS_swapoff,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	SYS_open_by_handle_at,
	SYS_acct,
	SYS_quotactl,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_userfaultfd,
	SYS_mknodat,
};

static void a_recorder_only_samples(void **state _unused_)
{
	pid_t child = fork();
	int wait_status;

	assert_true(child >= 0);
	if (!child) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || confinement_refuse_all_but_sampling())
			_exit(ARRAY_LENGTH(calls_of_others));
		for (size_t i = 0; i < ARRAY_LENGTH(calls_of_others); i++)
			if (!is_refused(syscall(calls_of_others[i], -1L, -1L, -1L, -1L, -1L, -1L)))
				_exit((int)(100 + i));
		_exit(PASSED_STATUS);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), PASSED_STATUS);
}

static void the_user_of_children_is_nobody_elses(void **state _unused_)
{
	uid_t user = confinement_choose_user();
	int status;
	pid_t child;

	if (geteuid()) {
		assert_int_equal(user, CONFINEMENT_DEFAULT_USER);
		return;
	}
	assert_null(getpwuid(user));
	assert_in_range(user, 61184, 65519);
	/* No process has it, but one that becomes it. */
	errno = 0;
	assert_int_equal(getpriority(PRIO_USER, user), -1);
	assert_int_equal(errno, ESRCH);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct confinement confinement = {.user = user};

		_exit(confinement_enter(&confinement) & CONFINED_USER && getuid() == user
			      ? PASSED_STATUS
			      : FAILED_STATUS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void other_descriptors_are_closed(void **state _unused_)
{
	pid_t child = fork();
	int wait_status;

	assert_true(child >= 0);
	if (!child) {
		int first = dup(STDERR_FILENO);
		int second = dup(STDERR_FILENO);
		int third = fcntl(STDERR_FILENO, F_DUPFD, 100);
		struct fd_list kept = {0};

		fd_list_add(&kept, second);
		fd_list_add(&kept, -1);
		fd_list_add(&kept, STDERR_FILENO);
		fd_list_add(&kept, second);
		if (confinement_close_others(&kept))
			_exit(FAILED_STATUS);
		_exit(is_open(STDERR_FILENO) && is_open(second) && !is_open(first) &&
				      !is_open(third) && !is_open(STDIN_FILENO)
			      ? PASSED_STATUS
			      : FAILED_STATUS);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_int_equal(wait_status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_opened_by_path),
		cmocka_unit_test(no_process_is_started),
		cmocka_unit_test(no_process_is_reached),
		cmocka_unit_test(nothing_becomes_code),
		cmocka_unit_test(memory_and_held_descriptors_are_used),
		cmocka_unit_test(capabilities_and_roots_user_are_gone),
		cmocka_unit_test(abort_ends_it),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_recorder_only_samples),
		cmocka_unit_test(the_user_of_children_is_nobody_elses),
		cmocka_unit_test(other_descriptors_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
