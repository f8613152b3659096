#include "collect/kernel/permission_probe.h"

#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/attributes.h"
#include "test_folder.h"
#include "unit.h"

#define ROOT (~0ull)

/* A machine of files below a folder. */
struct machine {
	char path[TEST_PATH_BYTES];
	int root_fd;
};

static void put(const struct machine *machine, const char *path, const char *content)
{
	int fd = openat(machine->root_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
}

static int set_up(void **state)
{
	static const char *const folders[] = {"proc", "proc/self", "sys", "sys/kernel",
					      "sys/kernel/security"};
	struct machine *machine = calloc(1, sizeof(*machine));

	assert_non_null(machine);
	test_folder_make(machine->path);
	machine->root_fd = open(machine->path, O_RDONLY | O_DIRECTORY);
	assert_true(machine->root_fd >= 0);
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++)
		assert_int_equal(mkdirat(machine->root_fd, folders[i], 0700), 0);
	put(machine, "proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n");
	put(machine, "proc/self/uid_map", "         0          0 4294967295\n");
	put(machine, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	*state = machine;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status _unused_, int type _unused_,
			struct FTW *where _unused_)
{
	return remove(path);
}

static int tear_down(void **state)
{
	struct machine *machine = *state;

	close(machine->root_fd);
	assert_int_equal(nftw(machine->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(machine);
	return 0;
}

static void root_of_a_machine_has_nothing_against_it(void **state)
{
	const struct machine *machine = *state;
	struct permission_probe permission_probe = permission_probe_run(machine->root_fd, SYS_bpf);

	assert_true(permission_probe.capabilities == 0x1ffffffffff);
	assert_false(permission_probe.has_seccomp_filter);
	assert_false(permission_probe.is_in_user_namespace);
	assert_false(permission_probe.is_locked_down);
}

static void what_holds_us_back_is_read(void **state)
{
	const struct machine *machine = *state;
	struct permission_probe permission_probe;

	put(machine, "proc/self/status", "Name:\tx\nCapEff:\t0000004000000000\nSeccomp:\t2\n");
	put(machine, "proc/self/uid_map", "0 1000 1\n");
	put(machine, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	permission_probe = permission_probe_run(machine->root_fd, SYS_perf_event_open);
	assert_true(permission_probe.capabilities == 1ull << CAP_PERFMON);
	assert_true(permission_probe.has_seccomp_filter);
	assert_true(permission_probe.is_in_user_namespace);
	assert_true(permission_probe.is_locked_down);
}

static void strict_seccomp_is_no_filter(void **state)
{
	const struct machine *machine = *state;

	put(machine, "proc/self/status", "Seccomp:\t1\n");
	assert_false(permission_probe_run(machine->root_fd, SYS_bpf).has_seccomp_filter);
}

static void files_that_are_missing_or_empty_say_nothing(void **state)
{
	const struct machine *machine = *state;
	struct permission_probe permission_probe;

	put(machine, "proc/self/status", "");
	put(machine, "sys/kernel/security/lockdown", "");
	assert_int_equal(unlinkat(machine->root_fd, "proc/self/uid_map", 0), 0);
	permission_probe = permission_probe_run(machine->root_fd, SYS_bpf);
	assert_true(permission_probe.capabilities == 0);
	assert_false(permission_probe.is_in_user_namespace || permission_probe.is_locked_down);
}

static void assert_explained(struct permission_probe permission_probe, const char *word)
{
	const char *text = permission_probe_explain(&permission_probe);

	if (!strstr(text, word))
		fail_msg("'%s' does not name %s", text, word);
}

static void capabilities_that_are_missing_come_first(void **state _unused_)
{
	assert_explained((struct permission_probe){.is_locked_down = true},
			 "CAP_BPF and CAP_PERFMON");
	assert_explained((struct permission_probe){.capabilities = 1ull << CAP_BPF},
			 "CAP_PERFMON is");
	assert_explained((struct permission_probe){.capabilities = 1ull << CAP_PERFMON},
			 "CAP_BPF is");
}

static void the_most_likely_reason_is_named(void **state _unused_)
{
	struct permission_probe permission_probe = {.capabilities = ROOT,
						    .has_seccomp_filter = true,
						    .is_call_refused = true,
						    .is_in_user_namespace = true,
						    .is_locked_down = true};

	assert_explained(permission_probe, "user namespace");
	permission_probe.is_in_user_namespace = false;
	assert_explained(permission_probe, "seccomp filter forbids");
	permission_probe.is_call_refused = false;
	assert_explained(permission_probe, "lockdown");
	permission_probe.is_locked_down = false;
	assert_explained(permission_probe, "seccomp filter or a security policy");
	permission_probe.has_seccomp_filter = false;
	assert_explained(permission_probe, "SELinux");
}

static void a_call_that_is_refused_without_filter_is_a_policy(void **state _unused_)
{
	assert_explained((struct permission_probe){.capabilities = 1ull << CAP_SYS_ADMIN,
						   .is_call_refused = true},
			 "SELinux");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(root_of_a_machine_has_nothing_against_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_holds_us_back_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(strict_seccomp_is_no_filter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_that_are_missing_or_empty_say_nothing, set_up,
						tear_down),
		cmocka_unit_test(capabilities_that_are_missing_come_first),
		cmocka_unit_test(the_most_likely_reason_is_named),
		cmocka_unit_test(a_call_that_is_refused_without_filter_is_a_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
