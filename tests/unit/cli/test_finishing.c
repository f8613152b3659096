/*
 * The writer may die at any point, stop or hang. The tests check when another writer replaces it, and that files are
 * committed once. Writers are children that follow a script. The test controls the clock.
 */
#include "base/clock.h"

#include <stdint.h>

static uint64_t fake_now_ns;  /* 0: real time */
static uint64_t fake_step_ns; /* added at each read */
static uint64_t read_now(void)
{
	if (!fake_now_ns)
		return clock_now_ns();
	fake_now_ns += fake_step_ns;
	return fake_now_ns;
}

#define clock_now_ns() read_now()
/* Descriptors of the test in the place of those of a recorder and of zones. */
#define recorder_add_fds     add_fds_of_recorder
#define zones_inputs_add_fds add_fds_of_zones
#define outputs_add_fds      add_fds_of_outputs
/* What a recorder has recorded. */
#define recorder_get_profile    get_profile_of_test
#define recorder_get_event_name get_event_name_of_test
#include "cli/record/finishing.c"
#undef clock_now_ns

#include "caught_output.h"
#include "test_folder.h"
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* Calls of the keeper. */
static unsigned int num_commits;
static unsigned int num_rewinds;
static int rewind_error;

static int commit_files(void *context _unused_)
{
	num_commits++;
	return EXIT_DONE;
}

static int rewind_files(void *context _unused_)
{
	num_rewinds++;
	return rewind_error;
}

static const struct recording_keeper keeper = {.commit = commit_files, .rewind = rewind_files};
static struct recording recording;
static struct finishing finishing;

static int set_up(void **state _unused_)
{
	num_commits = num_rewinds = 0;
	rewind_error = 0;
	fake_now_ns = fake_step_ns = 0;
	recording = (struct recording){.keeper = &keeper};
	finishing = (struct finishing){
		.recording = &recording, .stream = {-1, -1}, .control = {-1, -1}};
	return 0;
}

static int tear_down(void **state _unused_)
{
	release(&finishing);
	return 0;
}

/* Steps of a writer; a string is a script. */
enum deed {
	FILL = 'f',    /* reports OUTPUTS_FILLED */
	STATS = 's',   /* reports STATS_FILLED */
	FAILED = 'o',  /* reports OUTPUT_FAILED for output 1 */
	BEYOND = 'b',  /* the same for outputs that do not exist */
	SHORT = 'p',   /* sends a part of a report */
	ANSWER = 'a',  /* waits for the commitment */
	STOP = 't',    /* SIGSTOP */
	WAIT = 'w',    /* hangs */
	DIE = 'd',     /* SIGKILL */
	FAIL = 'x',    /* exits with an error */
	SUCCEED = '0', /* exits */
};

static void do_deed(enum deed deed, int control)
{
	struct commitment answer;

	switch (deed) {
	case FILL:
		(void)!say(control, OUTPUTS_FILLED, 0);
		break;
	case STATS:
		(void)!say(control, STATS_FILLED, 0);
		break;
	case FAILED:
		(void)!say(control, OUTPUT_FAILED, 1);
		break;
	case BEYOND:
		(void)!say(control, OUTPUT_FAILED, 3);
		(void)!say(control, OUTPUT_FAILED, UINT32_MAX);
		break;
	case SHORT:
		(void)!send(control, &(char){OUTPUTS_FILLED}, 1, MSG_NOSIGNAL);
		break;
	case ANSWER:
		if (recv(control, &answer, sizeof(answer), 0) != sizeof(answer))
			_exit(9);
		break;
	case STOP:
		raise(SIGSTOP);
		break;
	case WAIT:
		for (;;)
			pause();
	case DIE:
		raise(SIGKILL);
		break;
	case FAIL:
		_exit(EXIT_FAILED);
	case SUCCEED:
		_exit(EXIT_DONE);
	}
}

static void start(const char *deeds)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, finishing.control),
			 0);
	finishing.writer = fork();
	assert_true(finishing.writer >= 0);
	if (!finishing.writer) {
		close(finishing.control[0]);
		for (; *deeds; deeds++)
			do_deed((enum deed) * deeds, finishing.control[1]);
		_exit(8);
	}
	finishing.writer_cpu_ns = UINT64_MAX; /* hides its CPU time */
	finishing.writer_worked_ns = read_now();
}

/* Returns the exit status of the recording. */
static int finish(int stop_fd)
{
	int status;
	int writer_status;

	status = supervise(&finishing, stop_fd);
	writer_status = reap_writer(&finishing);
	return status ? status : writer_status;
}

static int run_writer(const char *deeds)
{
	start(deeds);
	cleanup_closep(&finishing.control[1]);
	finishing.control[1] = -1;
	return finish(-1);
}

static void a_writer_that_succeeds_is_not_replaced(void **state _unused_)
{
	assert_int_equal(run_writer("fas0"), EXIT_DONE);
	assert_int_equal(num_commits, 1);
	assert_false(finishing.was_writer_lost);
	assert_false(can_start_over(&finishing));
	assert_int_equal(num_rewinds, 0);
}

static void a_writer_that_dies_before_the_commit_is_replaced(void **state _unused_)
{
	assert_int_equal(run_writer("d"), EXIT_FAILED);
	assert_int_equal(num_commits, 0);
	assert_true(can_start_over(&finishing));
	assert_int_equal(num_rewinds, 1);
	rewind_error = -ESPIPE;
	assert_false(can_start_over(&finishing));
}

/* The files exist by then. */
static void a_writer_that_dies_after_the_commit_is_not_replaced(void **state _unused_)
{
	static const char *const deeds[] = {"fd", "fad", "fasd"};

	for (size_t i = 0; i < ARRAY_LENGTH(deeds); i++) {
		tear_down(NULL);
		set_up(NULL);
		assert_int_equal(run_writer(deeds[i]), EXIT_FAILED);
		assert_true(finishing.was_writer_lost);
		assert_true(finishing.is_filled);
		assert_int_equal(num_commits, 1);
		assert_false(can_start_over(&finishing));
		assert_int_equal(num_rewinds, 0);
	}
}

/* A compromised writer may repeat its report. */
static void files_are_committed_once(void **state _unused_)
{
	assert_int_equal(run_writer("fafsf0"), EXIT_DONE);
	assert_int_equal(num_commits, 1);
}

static const char *find_appeared(struct outputs *outputs)
{
	static char names[8];
	size_t length = 0;

	for (size_t i = 0; i < outputs->length; i++) {
		const char *path = output_file_get_path(outputs->items[i].file);

		if (!unlink(path))
			names[length++] = path[strlen(path) - 1];
	}
	names[length] = '\0';
	outputs_close(outputs);
	return names;
}

/* Three files, a to c, which the writer has filled with nothing. */
static const char *run_writer_of_files(const char *deeds, int expected)
{
	struct output items[3] = {0};
	struct outputs outputs = {.items = items, .length = 3};
	char path[PATH_MAX];

	for (size_t i = 0; i < outputs.length; i++) {
		snprintf(path, sizeof(path), "%s/%c", test_parent_folder(), (int)('a' + i));
		assert_int_equal(output_file_open(path, OUTPUT_MODE_PRIVATE, &items[i].file, NULL),
				 0);
	}
	recording.keeper = NULL;
	recording.outputs = &outputs;
	assert_int_equal(run_writer(deeds), expected);
	return find_appeared(&outputs);
}

static void files_that_failed_do_not_appear(void **state)
{
	assert_string_equal(run_writer_of_files("fas0", EXIT_DONE), "abc");
	tear_down(state);
	set_up(state);
	assert_string_equal(run_writer_of_files("ofasx", EXIT_FAILED), "ac");
	tear_down(state);
	set_up(state);
	assert_string_equal(run_writer_of_files("x", EXIT_FAILED), "");
}

/* Its numbers may be anything, and what it reports later comes too late. */
static void a_writer_only_fails_files_that_exist(void **state)
{
	assert_string_equal(run_writer_of_files("bpfaos0", EXIT_DONE), "abc");
	tear_down(state);
	set_up(state);
	assert_int_equal(run_writer("obfas0"), EXIT_DONE);
	assert_int_equal(num_commits, 1);
}

/* The writer reported its error. */
static void a_writer_that_fails_is_not_replaced(void **state _unused_)
{
	assert_int_equal(run_writer("x"), EXIT_FAILED);
	assert_int_equal(num_commits, 0);
	assert_false(can_start_over(&finishing));
	tear_down(NULL);
	set_up(NULL);
	assert_int_equal(run_writer("fax"), EXIT_FAILED);
	assert_int_equal(num_commits, 1);
	assert_false(can_start_over(&finishing));
}

static void a_stopped_writer_is_continued(void **state _unused_)
{
	assert_int_equal(run_writer("tfats0"), EXIT_DONE);
	assert_int_equal(num_commits, 1);
	assert_false(finishing.was_writer_lost);
}

/* idle_ns  since the writer last worked */
static bool is_idle_after(uint64_t idle_ns, bool is_symbolizing)
{
	fake_now_ns = 1000 * NS_PER_SECOND;
	finishing.writer = getpid();
	finishing.writer_cpu_ns = UINT64_MAX;
	finishing.writer_worked_ns = fake_now_ns - idle_ns;
	return is_writer_idle(&finishing, is_symbolizing);
}

static void a_writer_is_idle_after_a_minute(void **state _unused_)
{
	assert_false(is_idle_after(60 * NS_PER_SECOND, false));
	assert_true(is_idle_after(60 * NS_PER_SECOND + 1, false));
	/* The writer waits for names. */
	assert_false(is_idle_after(90 * NS_PER_SECOND, true));
	assert_int_equal(finishing.writer_worked_ns, fake_now_ns);
	/* After the commit the writer has no time limit. */
	finishing.is_filled = true;
	assert_false(is_idle_after(90 * NS_PER_SECOND, false));
}

static void after_ctrl_c_a_writer_is_idle_after_two_seconds(void **state _unused_)
{
	finishing.is_stopped = true;
	assert_false(is_idle_after(2 * NS_PER_SECOND, false));
	assert_true(is_idle_after(2 * NS_PER_SECOND + 1, false));
	assert_false(is_idle_after(90 * NS_PER_SECOND, true));
	finishing.is_filled = true;
	assert_true(is_idle_after(2 * NS_PER_SECOND + 1, false));
}

static void a_writer_that_uses_cpu_time_is_not_idle(void **state _unused_)
{
	fake_now_ns = 1000 * NS_PER_SECOND;
	finishing.writer = getpid();
	assert_false(is_writer_idle(&finishing, false)); /* its CPU time grew */
	assert_true(finishing.writer_cpu_ns > 0);
	assert_int_equal(finishing.writer_worked_ns, fake_now_ns);
}

/* The reader of a pipe may be slow. */
static void only_ctrl_c_ends_a_writer_of_a_pipe(void **state _unused_)
{
	struct error error = {0};
	char path[32];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	assert_int_equal(output_file_open(path, OUTPUT_MODE_PRIVATE, &recording.stats_file, &error),
			 0);
	assert_false(is_idle_after(90 * NS_PER_SECOND, false));
	finishing.was_writer_lost = true;
	assert_false(can_start_over(&finishing));
	assert_int_equal(num_rewinds, 0);
	finishing.is_stopped = true;
	assert_true(is_idle_after(90 * NS_PER_SECOND, false));
	output_file_free(recording.stats_file);
	close(fds[0]);
	close(fds[1]);
}

static void an_idle_writer_is_replaced(void **state _unused_)
{
	fake_now_ns = 1000 * NS_PER_SECOND;
	start("w");
	cleanup_closep(&finishing.control[1]);
	finishing.control[1] = -1;
	fake_now_ns += 60 * NS_PER_SECOND + 1;
	assert_int_equal(finish(-1), EXIT_FAILED);
	assert_true(finishing.was_writer_lost);
	assert_int_equal(num_commits, 0);
	assert_true(can_start_over(&finishing));
}

static void ctrl_c_ends_an_idle_writer(void **state _unused_)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "", 1), 1);
	fake_now_ns = 1000 * NS_PER_SECOND;
	start("w");
	cleanup_closep(&finishing.control[1]);
	finishing.control[1] = -1;
	fake_now_ns += 2 * NS_PER_SECOND + 1;
	assert_int_equal(finish(fds[0]), EXIT_FAILED);
	assert_true(finishing.is_stopped);
	assert_true(finishing.was_writer_lost);
	close(fds[0]);
	close(fds[1]);
}

/* Its end of the socket never closes: the test holds a copy. */
static void a_writer_that_cannot_be_killed_is_left_behind(void **state _unused_)
{
	fake_now_ns = 1000 * NS_PER_SECOND;
	start("w");
	fake_now_ns += 60 * NS_PER_SECOND + 1;
	fake_step_ns = NS_PER_SECOND;
	assert_int_equal(finish(-1), EXIT_FAILED);
	assert_true(finishing.was_writer_lost);
	assert_true(is_writer_left_behind(&finishing));
	finishing.writer_killed_ns = 0;
	assert_false(is_writer_left_behind(&finishing));
}

static void all_ends_of_the_sockets_are_closed(void **state _unused_)
{
	int stream[2];
	int control[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, finishing.stream),
			 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, finishing.control),
			 0);
	memcpy(stream, finishing.stream, sizeof(stream));
	memcpy(control, finishing.control, sizeof(control));
	end_stream(&finishing);
	assert_int_equal(fcntl(stream[0], F_GETFD), -1);
	assert_int_equal(recv(stream[1], control, 0, MSG_DONTWAIT), 0); /* end of file */
	memcpy(control, finishing.control, sizeof(control));
	end_stream(&finishing);
	release(&finishing);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fcntl(stream[i], F_GETFD), -1);
		assert_int_equal(fcntl(control[i], F_GETFD), -1);
		assert_int_equal(finishing.stream[i], -1);
		assert_int_equal(finishing.control[i], -1);
	}
}

enum holder {
	OF_STREAM,
	OF_CONTROL,
	OF_RECORDER,
	OF_ZONES,
	OF_OUTPUTS,
	OF_KEEPER,
	OF_NOBODY,
	NUM_HOLDERS,
};
static int held[NUM_HOLDERS];

void add_fds_of_recorder(const struct recorder *recorder _unused_, struct fd_list *fds)
{
	fd_list_add(fds, held[OF_RECORDER]);
}

void add_fds_of_zones(const struct zones_inputs *inputs _unused_, struct fd_list *fds)
{
	fd_list_add(fds, held[OF_ZONES]);
}

void add_fds_of_outputs(const struct outputs *outputs _unused_, struct fd_list *fds)
{
	fd_list_add(fds, held[OF_OUTPUTS]);
}

static void add_fds_of_keeper(const void *context _unused_, struct fd_list *fds)
{
	fd_list_add(fds, held[OF_KEEPER]);
}

/* In the writer: 0, or 1 + the lowest descriptor that is open and should not be, or the other way round. */
static int find_wrong_fd(const int *needed, size_t num_needed)
{
	for (int fd = 0; fd < 100; fd++) {
		bool is_needed = fd == STDERR_FILENO;

		for (size_t i = 0; i < num_needed; i++)
			is_needed |= needed[i] == fd;
		if ((fcntl(fd, F_GETFD) >= 0) != is_needed)
			return 1 + fd;
	}
	return 0;
}

/* Neither more, nor less: with one more it might reach the recorder's opener. */
static void a_writer_keeps_the_descriptors_that_it_needs(void **state _unused_)
{
	static const struct recording_keeper with_fds = {.add_fds = add_fds_of_keeper};
	struct fd_list stats = {0};
	struct error error = {0};
	char path[32];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	assert_int_equal(output_file_open(path, OUTPUT_MODE_PRIVATE, &recording.stats_file, &error),
			 0);
	output_file_add_fds(recording.stats_file, &stats);
	assert_int_equal(stats.fds.length, 1);
	for (int i = 0; i < NUM_HOLDERS; i++)
		held[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int has_keeper = 0; has_keeper <= 1; has_keeper++) {
		const int needed[] = {
			held[OF_STREAM],    held[OF_CONTROL],
			held[OF_RECORDER],  held[OF_ZONES],
			stats.fds.items[0], held[has_keeper ? OF_KEEPER : OF_OUTPUTS]};
		pid_t child;
		int status;

		recording.keeper = has_keeper ? &with_fds : NULL;
		child = fork();
		assert_true(child >= 0);
		if (!child)
			_exit(keep_fds(&recording, held[OF_STREAM], held[OF_CONTROL])
				      ? 255
				      : find_wrong_fd(needed, ARRAY_LENGTH(needed)));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < NUM_HOLDERS; i++)
		close(held[i]);
	fd_list_release(&stats);
	output_file_free(recording.stats_file);
	close(fds[0]);
	close(fds[1]);
}

static struct profile *recorded;

struct profile *get_profile_of_test(struct recorder *recorder _unused_)
{
	return recorded;
}

const char *get_event_name_of_test(const struct recorder *recorder _unused_)
{
	return "cycles";
}

/* Of a recording that prints nothing, as another process says what it has taken. */
static int sum_up_silently(uint64_t others_cpu_ns, uint64_t others_rss_bytes)
{
	const struct commitment others = {.cpu_ns = others_cpu_ns,
					  .max_rss_bytes = others_rss_bytes};
	const struct names names = {0};
	int control[2];
	uint8_t report = 0;
	int status;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	status = sum_up(&recording, &names, &others, control[1]);
	assert_int_equal(recv(control[0], &report, sizeof(report), MSG_DONTWAIT), 1);
	assert_int_equal(report, STATS_FILLED);
	close(control[0]);
	close(control[1]);
	return status;
}

/* Whatever of it is short by one. */
static void an_account_that_does_not_add_up_is_a_failure(void **state _unused_)
{
	static const struct record_options options = {0};
	struct recorder_account *ticks = &recording.account.ticks;
	uint64_t *const sums[] = {&ticks->fired, &ticks->off_cpu.fired, &ticks->scheduling.fired,
				  &ticks->scheduling.kworks.fired};

	recorded = profile_new();
	recording.options = &options;
	recording.is_silent = true;
	log_set_level(LOG_LEVEL_QUIET);
	ticks->fired = ticks->samples = 100;
	ticks->off_cpu.fired = ticks->off_cpu.samples = 100;
	assert_int_equal(sum_up_silently(0, 0), EXIT_DONE);
	for (size_t i = 0; i < ARRAY_LENGTH(sums); i++) {
		++*sums[i];
		assert_int_equal(sum_up_silently(0, 0), EXIT_FAILED);
		--*sums[i];
	}
	assert_int_equal(sum_up_silently(0, 0), EXIT_DONE);
	profile_free(recorded);
}

static void what_a_run_has_taken_is_that_of_all_its_processes(void **state _unused_)
{
	static const struct record_options options = {0};
	const struct account *account = &recording.account;
	uint64_t own_ns = account_read_cpu_ns();

	recorded = profile_new();
	recording.options = &options;
	recording.is_silent = true;
	assert_int_equal(sum_up_silently(1000 * NS_PER_SECOND, 1ull << 50), EXIT_DONE);
	assert_true(account->total_cpu_ns >= 1000 * NS_PER_SECOND + own_ns);
	assert_true(account->max_rss_bytes == 1ull << 50);
	recording.account.recording_rss_bytes = 1ull << 51;
	assert_int_equal(sum_up_silently(0, 1ull << 50), EXIT_DONE);
	assert_true(account->max_rss_bytes == 1ull << 51);
	recording.account.recording_rss_bytes = 1;
	assert_int_equal(sum_up_silently(0, 1), EXIT_DONE);
	assert_in_range(account->max_rss_bytes, 4096, 1ull << 40); /* ours */
	profile_free(recorded);
}

/* Who holds probes that were not taken away, and what is waited for. */
static void each_reason_for_probes_that_are_left_is_named(void **state _unused_)
{
	static const struct {
		struct left_probes left;
		const char *text;
	} cases[] = {
		{{0}, ""},
		{{.keeper = 12, .silent = 34}, "as process 34 does not answer; process 12"},
		{{.keeper = 12}, "still attached; process 12"},
		{{.ended_early = true}, "was ended by somebody else"},
	};

	log_set_level(LOG_LEVEL_NORMAL);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct caught_output caught = caught_output_start(STDERR_FILENO);
		char printed[512];

		warn_of_left_probes(&cases[i].left);
		caught_output_end(&caught, printed, sizeof(printed));
		assert_non_null(strstr(printed, cases[i].text));
		assert_int_equal(!printed[0], i == 0);
		assert_null(strstr(printed, "process 0"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_writer_that_succeeds_is_not_replaced),
		TEST(a_writer_that_dies_before_the_commit_is_replaced),
		TEST(a_writer_that_dies_after_the_commit_is_not_replaced),
		TEST(files_are_committed_once),
		TEST(files_that_failed_do_not_appear),
		TEST(a_writer_only_fails_files_that_exist),
		TEST(a_writer_that_fails_is_not_replaced),
		TEST(a_stopped_writer_is_continued),
		TEST(a_writer_is_idle_after_a_minute),
		TEST(after_ctrl_c_a_writer_is_idle_after_two_seconds),
		TEST(a_writer_that_uses_cpu_time_is_not_idle),
		TEST(only_ctrl_c_ends_a_writer_of_a_pipe),
		TEST(an_idle_writer_is_replaced),
		TEST(ctrl_c_ends_an_idle_writer),
		TEST(a_writer_that_cannot_be_killed_is_left_behind),
		TEST(all_ends_of_the_sockets_are_closed),
		TEST(a_writer_keeps_the_descriptors_that_it_needs),
		TEST(an_account_that_does_not_add_up_is_a_failure),
		TEST(what_a_run_has_taken_is_that_of_all_its_processes),
		TEST(each_reason_for_probes_that_are_left_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
