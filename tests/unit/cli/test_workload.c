/* A command that is held until it is let go: what it inherits, how it ends, what stays open. */
#include "cli/record/workload.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the shell's line of /proc/PID/status has these words; by the shell itself. */
#define HAS_STATUS(key, words)                                                             \
	"while read key words; do [ $key != " key " ] || { [ \"$(echo $words)\" = '" words \
	"' ]; exit; }; done </proc/$$/status; exit 1"

static struct stop_request *stop_request;
static struct workload workload;

static char blocked_before[32]; /* signals, as /proc/PID/status has them */

static int set_up(void **state _unused_)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	assert_non_null(status);
	blocked_before[0] = '\0';
	while (fgets(line, sizeof(line), status))
		(void)sscanf(line, "SigBlk: %31s", blocked_before);
	fclose(status);
	assert_int_equal(strlen(blocked_before), 16);
	stop_request = stop_request_new(NULL);
	assert_non_null(stop_request);
	return 0;
}

static int tear_down(void **state _unused_)
{
	stop_request_free(stop_request);
	return 0;
}

static unsigned int count_fds(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* The arguments of a shell; execvpe() does not change them. */
#define WORD(text) ((char *)(uintptr_t)(text))
#define SH(script) ((char *const[]){WORD("/bin/sh"), WORD("-c"), WORD(script), NULL})

static void start(char *const *argv, const struct workload_user *user)
{
	struct error error = {0};

	assert_int_equal(workload_start(&workload, argv, user, stop_request, &error), 0);
	assert_false(workload_has_ended(&workload));
}

/* Returns the exit status of a whole run. */
static int run(char *const *argv, const struct workload_user *user)
{
	struct error error = {0};
	unsigned int num_fds = count_fds();

	start(argv, user);
	assert_int_equal(workload_release(&workload, argv, &error), 0);
	assert_true(workload_wait(&workload, 60000));
	workload_close(&workload);
	assert_int_equal(count_fds(), num_fds);
	return workload_get_exit_status(&workload);
}

static void its_exit_status_is_that_of_a_shell(void **state _unused_)
{
	assert_int_equal(run(SH("exit 0"), NULL), 0);
	assert_int_equal(run(SH("exit 7"), NULL), 7);
	assert_int_equal(run(SH("kill -TERM $$"), NULL), 128 + SIGTERM);
}

static void it_does_not_run_before_it_is_let_go(void **state _unused_)
{
	unsigned int num_fds = count_fds();
	pid_t pid;

	start(SH("exit 0"), NULL);
	pid = workload.pid;
	assert_false(workload_wait(&workload, 20));
	workload_close(&workload);
	/* It is gone, and reaped. */
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(count_fds(), num_fds);
	workload_close(&workload);
}

static void a_program_that_is_missing_is_told(void **state _unused_)
{
	char *const argv[] = {WORD("/no/such program"), NULL};
	unsigned int num_fds = count_fds();
	struct error error = {0};

	start(argv, NULL);
	assert_int_equal(workload_release(&workload, argv, &error), -ENOENT);
	assert_string_equal(error.message,
			    "cannot run '/no/such program': No such file or directory");
	assert_true(workload_wait(&workload, 60000));
	assert_int_equal(workload_get_exit_status(&workload), 1);
	workload_close(&workload);
	assert_int_equal(count_fds(), num_fds);
}

static void one_that_was_killed_before_cannot_be_let_go(void **state _unused_)
{
	char *const *argv = SH("exit 0");
	struct error error = {0};

	signal(SIGPIPE, SIG_IGN);
	start(argv, NULL);
	workload_signal(&workload, SIGKILL);
	assert_true(workload_wait(&workload, 60000));
	assert_int_equal(workload_release(&workload, argv, &error), -EPIPE);
	assert_string_equal(error.message, "cannot run '/bin/sh': it was killed");
	workload_close(&workload);
}

/* Its pid may be another process's by then. */
static void one_that_has_ended_gets_no_signal(void **state _unused_)
{
	char byte = 0;
	int ends[2];
	int status;
	pid_t other;

	assert_int_equal(run(SH("exit 0"), NULL), 0);
	assert_int_equal(pipe(ends), 0);
	other = fork();
	assert_true(other >= 0);
	if (!other)
		_exit(read(ends[0], &byte, 1) == 1 ? 3 : 4);
	workload.pid = other;
	workload_signal(&workload, SIGKILL);
	assert_int_equal(write(ends[1], &byte, 1), 1);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_true(WIFEXITED(status));
	close(ends[0]);
	close(ends[1]);
}

/* Whatever is open in us without FD_CLOEXEC is so in it, too. */
static void it_inherits_neither_our_descriptors_nor_our_mask(void **state _unused_)
{
	unsigned int num_inherited = 0;
	char script[256];

	for (int fd = 0; fd < 50; fd++)
		num_inherited += fcntl(fd, F_GETFD) == 0;
	snprintf(script, sizeof(script),
		 "i=0 n=0; while [ $i -lt 50 ]; do [ -L /proc/$$/fd/$i ] && n=$((n + 1)); "
		 "i=$((i + 1)); done; [ $n = %u ]",
		 num_inherited);
	assert_int_equal(run(SH(script), NULL), 0);
	snprintf(script, sizeof(script), HAS_STATUS("SigBlk:", "%s"), blocked_before);
	assert_int_equal(run(SH(script), NULL), 0);
}

static void as_another_user_it_has_that_users_ids_and_names(void **state _unused_)
{
	const struct passwd *nobody = getpwnam("nobody");
	struct workload_user user;
	struct error error = {0};
	unsigned int num_homes = 0;
	char *groups;
	char script[512];

	if (geteuid() || !nobody) {
		print_message("skipped: only root can become other users\n");
		skip();
	}
	setenv("HOME", "/of/root", 1);
	setenv("USERS", "kept", 1);
	assert_int_equal(workload_user_init(&user, "nobody", &error), 0);
	for (size_t i = 0; user.environment[i]; i++)
		num_homes += !strncmp(user.environment[i], "HOME=", 5);
	assert_int_equal(num_homes, 1);
	snprintf(script, sizeof(script),
		 "[ \"$HOME\" = '%s' ] && [ $USER = nobody ] && [ $LOGNAME = nobody ] && "
		 "[ \"$USERS\" = kept ]",
		 nobody->pw_dir);
	assert_int_equal(run(SH(script), &user), 0);
	snprintf(script, sizeof(script), HAS_STATUS("Uid:", "%u %u %u %u"), nobody->pw_uid,
		 nobody->pw_uid, nobody->pw_uid, nobody->pw_uid);
	assert_int_equal(run(SH(script), &user), 0);
	snprintf(script, sizeof(script), HAS_STATUS("Gid:", "%u %u %u %u"), nobody->pw_gid,
		 nobody->pw_gid, nobody->pw_gid, nobody->pw_gid);
	assert_int_equal(run(SH(script), &user), 0);
	/* The groups are the user's, and none of ours. */
	assert_true(user.num_groups >= 1);
	script[0] = '\0';
	for (size_t i = 0; i < user.num_groups; i++)
		snprintf(script + strlen(script), sizeof(script) - strlen(script), "%s%u",
			 i ? " " : "", user.groups[i]);
	groups = strdup(script);
	assert_non_null(groups);
	snprintf(script, sizeof(script), HAS_STATUS("Groups:", "%s"), groups);
	free(groups);
	assert_int_equal(run(SH(script), &user), 0);
	workload_user_release(&user);
	assert_null(user.environment);
}

static void a_user_that_is_missing_is_told(void **state _unused_)
{
	struct workload_user user;
	struct error error = {0};

	assert_int_equal(workload_user_init(&user, "no such user", &error), -ENOENT);
	assert_string_equal(error.message, "no such user: 'no such user' (SUDO_USER)");
	workload_user_release(&user);
}

static void without_descriptors_none_is_started(void **state _unused_)
{
	unsigned int num_fds = count_fds();
	struct error error = {0};
	struct rlimit limit;
	int first_free = dup(0);

	close(first_free);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* Of the first pipe; of both. */
	for (rlim_t more = 1; more <= 3; more += 2) {
		struct rlimit few = {.rlim_cur = (rlim_t)first_free + more,
				     .rlim_max = limit.rlim_max};
		int err;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		err = workload_start(&workload, SH("exit 0"), NULL, stop_request, &error);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(err, -EMFILE);
		assert_int_equal(count_fds(), num_fds);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(its_exit_status_is_that_of_a_shell),
		TEST(it_does_not_run_before_it_is_let_go),
		TEST(a_program_that_is_missing_is_told),
		TEST(one_that_was_killed_before_cannot_be_let_go),
		TEST(one_that_has_ended_gets_no_signal),
		TEST(it_inherits_neither_our_descriptors_nor_our_mask),
		TEST(as_another_user_it_has_that_users_ids_and_names),
		TEST(a_user_that_is_missing_is_told),
		TEST(without_descriptors_none_is_started),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
