/*
 * `stackwide doctor`: which features this machine supports and permits, and how to get the others.
 * Finally a short recording, which alone decides the exit status.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/confinement.h"
#include "base/log.h"
#include "base/table_format.h"
#include "base/text.h"
#include "cli/options/command.h"
#include "cli/options/terminal.h"
#include "cli/record/doctor.h"
#include "cli/record/recording.h"
#include "collect/kernel_features.h"
#include "collect/recorder.h"
#include "runtime/runtime.h"

#define TEST_NS           (500 * NS_PER_MS)
#define TEST_FREQUENCY_HZ 199
#define READ_NS           (50 * NS_PER_MS)

static const struct option_spec doctor_options[] = {{0}};

/* Columns before the details. */
#define DETAIL_COLUMN 30

/* A fix may be a command to copy, so it stays on one line. */
static void print_finding(const struct finding *finding)
{
	_cleanup_(text_release) struct text text = {0};
	size_t num_columns = terminal_get().num_columns;
	size_t width = strlen(finding->detail) + strlen("; ") + strlen(finding->fix);

	text_printf(&text, "%-8s %-20s ", finding->is_ok ? "ok" : "missing", finding->name);
	table_append_words(&text, finding->detail, DETAIL_COLUMN, num_columns);
	if (finding->fix[0] && num_columns && DETAIL_COLUMN + width > num_columns)
		text_printf(&text, ";\n%*s%s", DETAIL_COLUMN, "", finding->fix);
	else if (finding->fix[0])
		text_printf(&text, "; %s", finding->fix);
	puts(text.failed ? finding->name : text.data);
	fflush(stdout);
}

/* Use CPU until end_ns, so that there is something to sample even on an idle machine. */
static void spin_until(uint64_t end_ns)
{
	while (clock_now_ns() < end_ns)
		;
}

/* Number of processes listed in a line. */
#define MAX_NAMED 5

/* Whether two processes share a line: same version, known or not. */
static bool are_alike(const struct runtime_process *a, const struct runtime_process *b)
{
	return a->runtime == b->runtime && a->major == b->major && a->minor == b->minor &&
	       a->is_known == b->is_known;
}

/* Report the processes that are like `first`. */
static void report_version(const struct runtime_process *first, size_t count)
{
	struct finding finding = {.name = "interpreters", .is_ok = first->is_known};
	const struct runtime_row *row = runtime_get(first->runtime);
	bool is_named = runtime_is_named(first->runtime);
	_cleanup_(text_release) struct text text = {0};
	bool has_version = first->major || first->minor;
	char version[RUNTIME_VERSION_BYTES];
	size_t num_listed = 0;

	for (size_t i = 0; i < count; i++) {
		if (!are_alike(first, &first[i]))
			continue;
		if (num_listed++ >= MAX_NAMED)
			continue;
		text_printf(&text, "%s%u ", num_listed > 1 ? ", " : "", first[i].pid);
		table_append_name(&text, first[i].comm, strlen(first[i].comm),
				  sizeof(first[i].comm));
	}
	if (text.failed)
		return;
	runtime_format_version(first->runtime, first->major, first->minor, version);
	snprintf(finding.detail, sizeof(finding.detail), "%s%s%s in %zu process%s: %s%s%s",
		 row->name, has_version ? " " : "", has_version ? version : "", num_listed,
		 num_listed > 1 ? "es" : "", text.data, num_listed > MAX_NAMED ? ", …" : "",
		 first->is_known ? ""
		 : is_named      ? "; its frames are not supported"
				 : "; unsupported build");
	if (row->advice)
		snprintf(finding.fix, sizeof(finding.fix), "to name its code, use %s", row->advice);
	else if (!first->is_known)
		snprintf(finding.fix, sizeof(finding.fix), "stacks show the interpreter itself");
	print_finding(&finding);
}

/* Unknown ones last. */
static int compare_versions(const void *a, const void *b)
{
	const struct runtime_process *x = a;
	const struct runtime_process *y = b;

	if (x->runtime != y->runtime)
		return x->runtime < y->runtime ? -1 : 1;
	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	if (x->is_known != y->is_known)
		return x->is_known ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The interpreters whose frames would be recorded, and those whose frames would not. */
static void report_interpreters(const struct recorder *recorder)
{
	_cleanup_free_ struct runtime_process *processes = NULL;
	size_t count;

	if (recorder_list_runtimes(recorder, &processes, &count))
		return;
	if (count)
		qsort(processes, count, sizeof(*processes), compare_versions);
	for (size_t i = 0; i < count; i++)
		if (!i || !are_alike(&processes[i - 1], &processes[i]))
			report_version(&processes[i], count - i);
}

/*
 * The checks alone cannot show whether recording works. Half a second gives about a hundred samples
 * of each busy CPU.
 */
static int try_recording(struct recorder_account *ret, const char **ret_event_name,
			 struct error *error)
{
	struct recorder_opts opts = {
		.target = {.kind = TARGET_SYSTEM},
		.frequency_hz = TEST_FREQUENCY_HZ,
		.user_stacks = USER_STACKS_TABLE,
		.tables = {.worker_user = confinement_choose_user()},
	};
	_cleanup_(recorder_freep) struct recorder *recorder = NULL;
	int err = recorder_new(&opts, &recorder, error);
	uint64_t end_ns;

	if (err)
		return err;
	recorder_start(recorder);
	end_ns = clock_now_ns() + TEST_NS;
	while (clock_now_ns() < end_ns) {
		spin_until(clock_now_ns() + READ_NS);
		err = recorder_read(recorder, error);
		if (err)
			return err;
	}
	err = recorder_stop(recorder, error);
	if (err)
		return err;
	report_interpreters(recorder);
	*ret = recorder_get_account(recorder);
	*ret_event_name = recorder_get_event_name(recorder);
	return 0;
}

static void report_account(const struct recorder_account *account, const char *event_name,
			   struct finding *ret)
{
	uint64_t lost = losses_sum_samples(account->lost);
	uint64_t complete = account->walks[WALK_COMPLETE];
	uint64_t num_walks = 0;

	for (size_t end = 0; end < NUM_WALK_ENDS; end++)
		num_walks += account->walks[end];
	ret->is_ok = account->samples > 0 && recorder_account_is_balanced(account);
	snprintf(ret->detail, sizeof(ret->detail),
		 "%" PRIu64 " sample%s in %.1f s on %u CPU%s (%s); %" PRIu64 " of %" PRIu64
		 " user stack%s complete, %" PRIu64 " sample%s lost",
		 account->samples, account->samples == 1 ? "" : "s",
		 (double)account->duration_ns / 1e9, account->num_cpus,
		 account->num_cpus == 1 ? "" : "s", event_name, complete, num_walks,
		 num_walks == 1 ? "" : "s", lost, lost == 1 ? "" : "s");
	if (!ret->is_ok)
		snprintf(ret->fix, sizeof(ret->fix), "please report this as a bug");
}

static int record_for_test(void)
{
	struct finding finding = {.name = "test recording"};
	struct recorder_account account;
	const char *event_name;
	struct error error = {0};
	int err = try_recording(&account, &event_name, &error);

	if (err)
		snprintf(finding.detail, sizeof(finding.detail), "%.250s",
			 error.message[0] ? error.message : strerror(-err));
	else
		report_account(&account, event_name, &finding);
	print_finding(&finding);
	if (err == -EPERM || err == -ENOTSUP)
		return EXIT_NOT_PERMITTED;
	return finding.is_ok ? EXIT_DONE : EXIT_FAILED;
}

/* kernel_can_be_asked() is called first: the other functions follow in the order of the members. */
static struct kernel_answers ask_kernel(void)
{
	return (struct kernel_answers){
		.can_be_asked = kernel_can_be_asked(),
		.has_find_vma = kernel_has_find_vma(),
		.has_task_registers = kernel_has_task_registers(),
		.reports_build_ids = kernel_reports_build_ids(),
		.counts_bpf_as_locked = kernel_counts_bpf_as_locked(),
		.switch_in = kernel_find_switch_in_hook().function,
	};
}

/* Try it in a process; its exit status is the set of parts that took effect. */
static unsigned int try_confinement(void)
{
	struct confinement confinement = {.user = confinement_choose_user()};
	int wait_status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return 0;
	if (!pid)
		_exit((int)confinement_enter(&confinement));
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(wait_status) ? (unsigned int)WEXITSTATUS(wait_status) : 0;
}

static int refuse(int id _unused_, const char *value _unused_, void *context _unused_)
{
	return -EINVAL; /* there are no options of its own */
}

static int run_doctor(int argc, char **argv)
{
	int first_operand;
	int parsed = options_parse(doctor_options, argc, argv, refuse, NULL, &first_operand);
	_cleanup_close_ int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct doctor doctor = {
		.root_fd = root_fd,
		.is_root = geteuid() == 0,
	};
	struct finding finding;

	if (parsed)
		return parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;
	if (first_operand < argc) {
		log_error("unexpected '%s'; see 'stackwide help doctor'", argv[first_operand]);
		return EXIT_USAGE;
	}
	recording_take_messages();
	doctor.kernel = ask_kernel();
	doctor.confinement = try_confinement();
	for (size_t i = 0; doctor_check(&doctor, i, &finding); i++)
		print_finding(&finding);
	return record_for_test();
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "check if recording works here, and list missing requirements",
	.usage = "Usage: stackwide doctor",
	.help = "Prints a line for each requirement: ok, or the problem, its consequence and the\n"
		"command that fixes it. Prints another one for each version of a "
		"running\n"
		"interpreter or runtime, with its processes:\n"
		"  " INTERPRETER_NAMES " (with frames)\n"
		"  " NAMED_RUNTIME_NAMES "\n"
		"The last line is a real recording of half a second. If it is ok, recording works\n"
		"in spite of the lines above.\n"
		"\n"
		"Exit status: 0 recording works, 1 it failed, 4 not permitted or not "
		"supported.\n",
	.options = doctor_options,
	.run = run_doctor,
};
