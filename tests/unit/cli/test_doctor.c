#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/confinement.h"
#include "base/text.h"
#include "cli/record/doctor.h"
#include "test_folder.h"
#include "unit.h"

#define CAPS_OF_ROOT "CapEff:\t000001ffffffffff\n"
#define CAPS_NONE    "CapEff:\t0000000000000000\n"

/* A machine of files below a folder. */
struct machine {
	char path[TEST_PATH_BYTES];
	struct doctor doctor;
};

static int set_up(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));

	test_folder_make(machine->path);
	machine->doctor.root_fd = open(machine->path, O_RDONLY | O_DIRECTORY);
	assert_true(machine->doctor.root_fd >= 0);
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

	close(machine->doctor.root_fd);
	assert_int_equal(nftw(machine->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(machine);
	return 0;
}

/* Write a file, and the folders it is in. */
static void put(struct machine *machine, const char *path, const char *content)
{
	char *copy = strdup(path);
	int fd;

	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdirat(machine->doctor.root_fd, copy, 0700); /* it may be there */
		*slash = '/';
	}
	fd = openat(machine->doctor.root_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
	free(copy);
}

static struct finding look_up(const struct machine *machine, const char *name)
{
	struct finding finding;

	for (size_t i = 0; doctor_check(&machine->doctor, i, &finding); i++) {
		/* Each is ok without a cure, or says what is missing. */
		assert_true(finding.detail[0]);
		assert_true(!finding.is_ok || !finding.fix[0]);
		if (string_equals(finding.name, name))
			return finding;
	}
	fail_msg("nobody looks for '%s'", name);
	return finding;
}

static void assert_ok(const struct machine *machine, const char *name)
{
	assert_true(look_up(machine, name).is_ok);
}

static void assert_missing(const struct machine *machine, const char *name, const char *fix)
{
	struct finding finding = look_up(machine, name);

	assert_false(finding.is_ok);
	if (!strstr(finding.fix, fix))
		fail_msg("'%s' does not say '%s'", finding.fix, fix);
}

static void the_kernel_is_named_whatever_its_version(void **state)
{
	assert_missing(*state, "kernel", "mount -t proc");
	put(*state, "proc/sys/kernel/osrelease", "4.19.0\n");
	assert_string_equal(look_up(*state, "kernel").detail, "Linux 4.19.0");
	assert_ok(*state, "kernel");
}

static void what_a_kernel_lacks_is_reported(void **state)
{
	struct machine *machine = *state;

	machine->doctor.kernel = (struct kernel_answers){.can_be_asked = true};
	assert_missing(machine, "stack lookup", "5.17");
	assert_missing(machine, "build IDs", "5.12");
	assert_missing(machine, "waits", "6.16");
	assert_ok(machine, "user registers");
	assert_non_null(strstr(look_up(machine, "user registers").detail, "bpf_task_pt_regs"));
	machine->doctor.kernel.has_find_vma = machine->doctor.kernel.reports_build_ids = true;
	assert_ok(machine, "stack lookup");
	assert_ok(machine, "build IDs");
	machine->doctor.kernel.switch_in = "sched_exit_tp";
	assert_ok(machine, "waits");
}

static void a_kernel_that_cannot_be_asked_denies_nothing(void **state)
{
	assert_missing(*state, "stack lookup", "sudo");
	assert_missing(*state, "user registers", "sudo");
	assert_missing(*state, "build IDs", "sudo");
	assert_missing(*state, "waits", "sudo");
	assert_missing(*state, "locked memory", "sudo");
}

static void locked_memory_matters_where_bpf_counts_as_such(void **state)
{
	struct machine *machine = *state;

	machine->doctor.kernel = (struct kernel_answers){.can_be_asked = true};
	assert_ok(machine, "locked memory");
	machine->doctor.kernel.counts_bpf_as_locked = true;
	put(machine, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	put(machine, "proc/self/limits",
	    "Limit                     Soft Limit           Hard Limit           Units\n"
	    "Max locked memory         65536                unlimited            bytes\n");
	assert_missing(machine, "locked memory", "ulimit -l unlimited");
	put(machine, "proc/self/limits",
	    "Max locked memory         unlimited            unlimited            bytes\n");
	assert_ok(machine, "locked memory");
	put(machine, "proc/self/limits",
	    "Max locked memory         65536                65536                bytes\n");
	put(machine, "proc/self/status", "Name:\tx\n" CAPS_OF_ROOT);
	assert_ok(machine, "locked memory");
}

static void missing_capabilities_are_reported(void **state)
{
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_OF_ROOT);
	assert_ok(*state, "capabilities");
	assert_ok(*state, "file access");
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	assert_missing(*state, "capabilities", "sudo");
	assert_missing(*state, "file access", "sudo");
	put(*state, "proc/self/status", "Name:\tx\nCapEff:\t000000c000000000\n");
	assert_ok(*state, "capabilities");
	assert_missing(*state, "file access", "sudo");
}

/* CAP_SYS_ADMIN stands for CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE, and for no other one. */
static void an_administrator_has_not_all_rights(void **state)
{
	static const struct {
		const char *status;
		const char *missing; /* NULL: none */
	} cases[] = {
		{"Name:\tx\nCapEff:\t0000000000200000\n", "CAP_SYS_PTRACE, to read the mappings"},
		{"Name:\tx\nCapEff:\t0000000000280000\n",
		 "CAP_DAC_READ_SEARCH, to read programs that are "
		 "private"},
		{"Name:\tx\nCapEff:\t0000000000280004\n", NULL},
		{"Name:\tx\nCapEff:\t0000010000080004\n", NULL},
		{"Name:\tx\nCapEff:\t0000000000080004\n",
		 "CAP_CHECKPOINT_RESTORE, to read programs that "
		 "were deleted"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct finding finding;

		put(*state, "proc/self/status", cases[i].status);
		finding = look_up(*state, "file access");
		assert_int_equal(finding.is_ok, !cases[i].missing);
		if (cases[i].missing)
			assert_non_null(strstr(finding.detail, cases[i].missing));
		assert_int_equal(look_up(*state, "capabilities").is_ok, i < 3);
	}
}

/* Each right that readers of programs keep is worse than the one below it. */
static void readers_of_programs_without_rights_are_asked_for(void **state)
{
	struct machine *machine = *state;
	unsigned int all = CONFINED_CAPABILITIES | CONFINED_USER | CONFINED_SYSTEM_CALLS;

	machine->doctor.confinement = all;
	assert_ok(machine, "confinement");
	machine->doctor.confinement = all & ~CONFINED_SYSTEM_CALLS;
	assert_missing(machine, "confinement", "CONFIG_SECCOMP_FILTER");
	machine->doctor.confinement = all & ~CONFINED_USER;
	assert_missing(machine, "confinement", "CAP_SETUID and CAP_SETGID");
	machine->doctor.confinement = CONFINED_USER | CONFINED_SYSTEM_CALLS;
	assert_missing(machine, "confinement", "no_new_privs");
}

static void a_paranoid_kernel_holds_back_only_the_unprivileged(void **state)
{
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	put(*state, "proc/sys/kernel/perf_event_paranoid", "4\n");
	assert_missing(*state, "perf_event_paranoid", "sysctl kernel.perf_event_paranoid=");
	put(*state, "proc/sys/kernel/perf_event_paranoid", "-1\n");
	assert_ok(*state, "perf_event_paranoid");
	put(*state, "proc/sys/kernel/perf_event_paranoid", "4\n");
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_OF_ROOT);
	assert_ok(*state, "perf_event_paranoid");
}

static void lockdown_matters_when_it_is_confidentiality(void **state)
{
	assert_ok(*state, "lockdown");
	put(*state, "sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	assert_ok(*state, "lockdown");
	put(*state, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	assert_missing(*state, "lockdown", "lockdown=integrity");
}

static void hidden_kernel_addresses_are_reported(void **state)
{
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_OF_ROOT);
	assert_missing(*state, "kallsyms", "CONFIG_KALLSYMS");
	put(*state, "proc/kallsyms",
	    "0000000000000000 A fixed_percpu_data\n"
	    "ffffffff81000000 T _text\n");
	assert_ok(*state, "kallsyms");
	put(*state, "proc/kallsyms",
	    "0000000000000000 A fixed_percpu_data\n"
	    "0000000000000000 T _text\n");
	assert_missing(*state, "kallsyms", "sysctl kernel.kptr_restrict=1");
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	assert_missing(*state, "kallsyms", "sudo stackwide");
}

/* Root's recordings mount it. */
static void tracefs_is_missing_only_without_rights_to_mount_it(void **state)
{
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	assert_missing(*state, "tracefs", "sudo mount -t tracefs");
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_OF_ROOT);
	assert_ok(*state, "tracefs");
	assert_non_null(strstr(look_up(*state, "tracefs").detail, "recordings mount it privately"));
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	put(*state, "sys/kernel/debug/tracing/events/x", "");
	assert_ok(*state, "tracefs");
	assert_null(strstr(look_up(*state, "tracefs").detail, "recordings mount it privately"));
}

static void tracefs_is_found_where_it_is_mounted(void **state)
{
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	put(*state, "sys/kernel/tracing/events/x", "");
	assert_ok(*state, "tracefs");
}

static void limits_are_reported(void **state)
{
	put(*state, "proc/self/limits",
	    "Limit                     Soft Limit           Hard Limit           Units\n"
	    "Max open files            1024                 4096                 files\n");
	assert_ok(*state, "open files");
	put(*state, "proc/self/limits",
	    "Max open files            1024                 1024                 files\n");
	assert_missing(*state, "open files", "ulimit -Hn");
	put(*state, "proc/self/status", "Name:\tx\n" CAPS_NONE);
	put(*state, "proc/sys/kernel/perf_event_mlock_kb", "64\n");
	assert_missing(*state, "ring memory", "kernel.perf_event_mlock_kb=516");
}

static void an_interpreted_bpf_is_reported(void **state)
{
	assert_ok(*state, "BPF compiler");
	put(*state, "proc/sys/net/core/bpf_jit_enable", "0\n");
	assert_missing(*state, "BPF compiler", "sysctl net.core.bpf_jit_enable=1");
}

static void a_namespace_of_its_own_is_reported(void **state)
{
	struct machine *machine = *state;

	put(machine, "proc/self/ns/x", "");
	assert_int_equal(symlinkat("pid:[4026531836]", machine->doctor.root_fd, "proc/self/ns/pid"),
			 0);
	assert_ok(machine, "container");
	assert_int_equal(unlinkat(machine->doctor.root_fd, "proc/self/ns/pid", 0), 0);
	assert_int_equal(symlinkat("pid:[4026532200]", machine->doctor.root_fd, "proc/self/ns/pid"),
			 0);
	assert_missing(machine, "container", "--pid=host");
}

static void what_a_file_is_there_for_is_reported_by_its_absence(void **state)
{
	assert_missing(*state, "BTF", "CONFIG_DEBUG_INFO_BTF");
	put(*state, "sys/kernel/btf/vmlinux", "");
	assert_ok(*state, "BTF");
	assert_missing(*state, "cgroups", "mount -t cgroup2");
	put(*state, "proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	assert_ok(*state, "cgroups");
	assert_missing(*state, "PMU", "");
	put(*state, "sys/bus/event_source/devices/cpu/type", "4\n");
	assert_ok(*state, "PMU");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_kernel_is_named_whatever_its_version),
		TEST(what_a_kernel_lacks_is_reported),
		TEST(a_kernel_that_cannot_be_asked_denies_nothing),
		TEST(locked_memory_matters_where_bpf_counts_as_such),
		TEST(missing_capabilities_are_reported),
		TEST(readers_of_programs_without_rights_are_asked_for),
		TEST(an_administrator_has_not_all_rights),
		TEST(a_paranoid_kernel_holds_back_only_the_unprivileged),
		TEST(lockdown_matters_when_it_is_confidentiality),
		TEST(hidden_kernel_addresses_are_reported),
		TEST(tracefs_is_missing_only_without_rights_to_mount_it),
		TEST(tracefs_is_found_where_it_is_mounted),
		TEST(limits_are_reported),
		TEST(an_interpreted_bpf_is_reported),
		TEST(a_namespace_of_its_own_is_reported),
		TEST(what_a_file_is_there_for_is_reported_by_its_absence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
