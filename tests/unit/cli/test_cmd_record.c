/* When a recording hands over to the next one, when it ends, and what becomes of its command. Recordings are the test's. */
#include "base/clock.h"

static uint64_t now_of_test(void);

#define clock_now_ns                    now_of_test
#define outputs_close                   close_outputs_of_test
#define recorder_has_ended              has_recorder_ended
#define recorder_hand_over              hand_over_recorder
#define recorder_list_descendants       list_descendants
#define recording_finish                finish_recording
#define recording_is_empty              is_recording_empty
#define recording_open_outputs          open_recording_outputs
#define recording_read                  read_recording
#define recording_release               release_recording
#define recording_set_up                set_up_recording
#define recording_start                 start_recording
#define recording_stop                  stop_recording
#define stop_request_get_fd             get_stop_fd_of_test
#define stop_request_get_signal         get_signal_of_test
#define target_hints_explain_no_samples explain_no_samples
#define target_is_alive                 is_target_alive
#define workload_get_exit_status        get_workload_status
#define workload_has_ended              has_workload_ended
#define workload_signal                 signal_workload
#define workload_wait                   wait_for_workload
#include "cli/cmd_record.c"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static struct record_command session;
static uint64_t now_ns;
static char calls[1024]; /* in order */
static bool is_empty;
static int statuses[8]; /* of recording_finish(), one after the other */
static size_t num_finished;
static uint32_t numbers[8]; /* of the files of each */
static int open_status, set_up_status, stop_status;
static int stop_signal, sent_signal;
static bool ends_by_itself, ends_when_told;
static pid_t dead_pid;
static pid_t descendants[] = {30, 31};
static size_t num_descendants;
static uint64_t target_ends_ns, read_takes_ns;
static struct target seen_target;
static struct recording *finished_recording;
static char message[4096];

static void note(const char *call)
{
	snprintf(calls + strlen(calls), sizeof(calls) - strlen(calls), "%s ", call);
}

static uint64_t now_of_test(void)
{
	return now_ns;
}

void close_outputs_of_test(struct outputs *outputs _unused_)
{
	note("close");
}

bool has_recorder_ended(const struct recorder *recorder _unused_)
{
	return now_ns >= target_ends_ns;
}

void hand_over_recorder(struct recorder *last, struct recorder *next)
{
	assert_ptr_not_equal(last, next);
	note("hand-over");
}

int list_descendants(const struct recorder *recorder _unused_, const pid_t *pids _unused_,
		     size_t num_pids _unused_, pid_t **ret, size_t *ret_count)
{
	*ret = calloc(ARRAY_LENGTH(descendants), sizeof(**ret));
	assert_non_null(*ret);
	memcpy(*ret, descendants, sizeof(descendants));
	*ret_count = num_descendants;
	return 0;
}

int open_recording_outputs(struct recording *recording)
{
	numbers[num_finished] = recording->number;
	return open_status;
}

int finish_recording(struct recording *recording, int stop_fd _unused_)
{
	finished_recording = recording;
	return statuses[num_finished++];
}

bool is_recording_empty(const struct recording *recording _unused_)
{
	return is_empty;
}

int read_recording(struct recording *recording _unused_, uint64_t end_ns, int stop_fd _unused_,
		   int other_fd _unused_)
{
	now_ns += read_takes_ns;
	if (now_ns > end_ns)
		now_ns = end_ns;
	return 0;
}

void release_recording(struct recording *recording)
{
	if (recording->recorder)
		note("release");
	*recording = (struct recording){0};
}

int set_up_recording(struct recording *recording, const struct target *target)
{
	static int others[2];
	static size_t num_set_up;

	note("set-up");
	recording->recorder = (struct recorder *)&others[num_set_up++ % 2];
	seen_target = *target;
	return set_up_status;
}

void start_recording(struct recording *recording _unused_, uint64_t start_ns _unused_)
{
	note("start");
}

int stop_recording(struct recording *recording _unused_)
{
	note("stop");
	return stop_status;
}

int get_stop_fd_of_test(const struct stop_request *stop_request _unused_)
{
	return 77;
}

int get_signal_of_test(const struct stop_request *stop_request _unused_)
{
	return stop_signal;
}

void explain_no_samples(const struct record_options *options _unused_,
			uint64_t duration_ns _unused_)
{
	note("explain");
}

bool is_target_alive(pid_t id)
{
	return id != dead_pid;
}

int get_workload_status(const struct workload *workload _unused_)
{
	return 42;
}

bool has_workload_ended(struct workload *workload _unused_)
{
	return ends_by_itself;
}

void signal_workload(const struct workload *workload _unused_, int number)
{
	sent_signal = number;
}

bool wait_for_workload(struct workload *workload _unused_, int timeout_ms _unused_)
{
	return ends_by_itself || (sent_signal && ends_when_told);
}

static int set_up_test(void **state _unused_)
{
	static int first;

	session = (struct record_command){.recording.recorder = (struct recorder *)&first};
	now_ns = 1000 * NS_PER_SECOND;
	calls[0] = '\0';
	is_empty = ends_by_itself = false;
	ends_when_told = true;
	memset(statuses, 0, sizeof(statuses));
	num_finished = 0;
	open_status = set_up_status = stop_status = stop_signal = sent_signal = 0;
	dead_pid = 0;
	num_descendants = ARRAY_LENGTH(descendants);
	target_ends_ns = UINT64_MAX;
	read_takes_ns = NS_PER_SECOND / 10;
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

/* ---- files one after the other ---- */

static void a_flush_that_failed_fails_the_whole(void **state _unused_)
{
	session.options.flush_ns = NS_PER_SECOND;
	statuses[0] = EXIT_FAILED;
	(void)!run_finisher(&session);
	assert_int_equal(session.finish_status, EXIT_FAILED);
	/* Those that come after it are good. */
	(void)!run_finisher(&session);
	assert_int_equal(session.finish_status, EXIT_FAILED);
	assert_int_equal(finish(&session), EXIT_FAILED);
	assert_int_equal(num_finished, 3);
}

static void a_last_interval_that_fails_fails_the_whole(void **state _unused_)
{
	session.options.flush_ns = NS_PER_SECOND;
	statuses[0] = EXIT_BAD_INPUT;
	assert_int_equal(finish(&session), EXIT_FAILED);
	session.finish_status = 0;
	assert_int_equal(finish(&session), EXIT_DONE);
	/* What cannot be opened is not written. */
	num_finished = 0;
	open_status = EXIT_FAILED;
	assert_int_equal(finish(&session), EXIT_FAILED);
	assert_int_equal(num_finished, 0);
}

static void intervals_without_samples_have_no_file_and_no_number(void **state _unused_)
{
	session.options.flush_ns = NS_PER_SECOND;
	is_empty = true;
	assert_int_equal(finish(&session), EXIT_DONE);
	assert_int_equal(num_finished, 0);
	assert_string_equal(calls, "explain ");
	start_finisher(&session, &session.recording);
	assert_false(session.has_finisher);
	assert_int_equal(session.num_flushes, 0);
	is_empty = false;
	session.recording.recorder = (struct recorder *)&session;
	start_finisher(&session, &session.recording);
	join_finisher(&session);
	assert_int_equal(finish(&session), EXIT_DONE);
	assert_int_equal(num_finished, 2);
	assert_int_equal(numbers[0], 1);
	assert_int_equal(numbers[1], 2);
	assert_null(strstr(calls, "explain close")); /* there was a file */
}

static void the_next_one_samples_before_the_last_one_stops(void **state _unused_)
{
	session.options.flush_ns = NS_PER_SECOND;
	assert_int_equal(flush(&session), EXIT_DONE);
	assert_non_null(strstr(calls, "set-up start hand-over stop "));
	join_finisher(&session);
	assert_non_null(strstr(calls, "release "));
	assert_ptr_equal(finished_recording, &session.finishing);
	assert_int_equal(num_finished, 1);
}

static void a_next_one_that_cannot_be_set_up_leaves_the_last_one(void **state _unused_)
{
	struct recorder *recorder = session.recording.recorder;

	set_up_status = EXIT_NOT_PERMITTED;
	assert_int_equal(flush(&session), EXIT_NOT_PERMITTED);
	assert_string_equal(calls, "set-up release ");
	assert_ptr_equal(session.recording.recorder, recorder);
	set_up_status = 0;
	stop_status = EXIT_FAILED;
	assert_int_equal(flush(&session), EXIT_FAILED);
	assert_false(session.has_finisher);
	assert_int_equal(num_finished, 0);
}

static void the_next_one_has_the_descendants_of_the_target(void **state _unused_)
{
	pid_t pid = 12;
	_cleanup_free_ pid_t *ids = NULL;
	struct target target;

	*(pid_t *)array_add(&session.options.pids) = pid;
	assert_int_equal(inherit_target(&session, &target, &ids), 0);
	assert_int_equal(target.num_ids, 2);
	assert_int_equal(target.ids[1], 31);
	assert_true(target.may_be_gone);
	assert_false(target.starts_on_exec);
	/* None is left: nothing more is set up. */
	num_descendants = 0;
	assert_int_equal(flush(&session), EXIT_DONE);
	assert_string_equal(calls, "");
	/* Without children the processes are what they were. */
	session.options.leaves_children_out = true;
	free(ids);
	ids = NULL;
	assert_int_equal(inherit_target(&session, &target, &ids), 0);
	assert_int_equal(target.num_ids, 1);
	assert_int_equal(target.ids[0], 12);
	assert_true(target.may_be_gone);
	array_release(&session.options.pids);
}

static unsigned int count_calls(const char *call)
{
	unsigned int count = 0;

	for (const char *found = calls; (found = strstr(found, call)); found += strlen(call))
		count++;
	return count;
}

static void intervals_are_as_long_as_was_asked_for(void **state _unused_)
{
	session.options.flush_ns = NS_PER_SECOND;
	session.options.duration_ns = 3500 * NS_PER_MS;
	/* Each is written before the next one is over. */
	is_empty = true;
	assert_int_equal(record(&session), 0);
	assert_true(session.is_time_over);
	assert_int_equal(now_ns, 1003500 * NS_PER_MS);
	assert_int_equal(count_calls("hand-over"), 3);
	assert_int_equal(count_calls("stop"), 4);
}

static void an_interval_waits_for_the_files_of_the_one_before(void **state _unused_)
{
	session.options.flush_ns = NS_PER_SECOND;
	session.options.duration_ns = 2 * NS_PER_SECOND;
	session.has_finisher = true; /* which does not end */
	assert_int_equal(record(&session), 0);
	session.has_finisher = false;
	assert_int_equal(count_calls("hand-over"), 0);
	assert_int_equal(count_calls("stop"), 1);
}

/* ---- the end ---- */

static void the_duration_is_not_the_end_of_the_target(void **state _unused_)
{
	session.options.duration_ns = NS_PER_SECOND;
	target_ends_ns = now_ns + NS_PER_SECOND / 2;
	assert_int_equal(record(&session), 0);
	assert_false(session.is_time_over);
	target_ends_ns = UINT64_MAX;
	assert_int_equal(record(&session), 0);
	assert_true(session.is_time_over);
	stop_signal = SIGTERM;
	assert_int_equal(record(&session), 0);
	assert_false(session.is_time_over);
}

static void processes_have_ended_when_all_have(void **state _unused_)
{
	*(pid_t *)array_add(&session.options.pids) = 12;
	*(pid_t *)array_add(&session.options.pids) = 13;
	assert_false(has_target_ended(&session));
	dead_pid = 12;
	assert_false(has_target_ended(&session));
	dead_pid = 13;
	assert_false(has_target_ended(&session));
	session.options.pids.length = 1;
	dead_pid = 12;
	assert_true(has_target_ended(&session));
	/* Of a command, that. */
	session.workload.pid = 99;
	assert_false(has_target_ended(&session));
	ends_by_itself = true;
	assert_true(has_target_ended(&session));
	array_release(&session.options.pids);
}

static void a_signal_does_not_end_the_naming_too(void **state _unused_)
{
	assert_int_equal(get_stop_fd(&session), 77);
	stop_signal = SIGINT;
	assert_int_equal(get_stop_fd(&session), -1);
}

/* ---- the command ---- */

static void a_command_that_outlives_the_recording_is_ended(void **state _unused_)
{
	stop_workload(&session);
	assert_int_equal(sent_signal, 0); /* there is none */
	session.workload.pid = 99;
	stop_workload(&session);
	assert_int_equal(sent_signal, SIGTERM);
	stop_signal = SIGHUP;
	stop_workload(&session);
	assert_int_equal(sent_signal, SIGHUP);
	/* The terminal has sent it one. */
	sent_signal = 0;
	stop_signal = SIGINT;
	stop_workload(&session);
	assert_int_equal(sent_signal, 0);
	stop_signal = 0;
	ends_by_itself = true;
	stop_workload(&session);
	assert_int_equal(sent_signal, 0);
}

static void the_status_is_the_commands_unless_the_time_was_over(void **state _unused_)
{
	assert_int_equal(finish_workload(&session), 0);
	session.workload.pid = 99;
	ends_by_itself = true;
	assert_int_equal(finish_workload(&session), 42);
	session.is_time_over = true;
	assert_int_equal(finish_workload(&session), 0);
	stop_signal = SIGTERM;
	assert_int_equal(finish_workload(&session), 42);
	/* One that does not go by itself is told to. */
	ends_by_itself = false;
	assert_int_equal(finish_workload(&session), 42);
	assert_int_equal(sent_signal, SIGTERM);
}

static void a_command_that_stays_is_told_of(void **state _unused_)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status;

	session.workload.pid = 99;
	ends_when_told = false;
	status = finish_workload(&session);
	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(status, 0);
	assert_int_equal(sent_signal, SIGTERM);
	assert_string_equal(
		message,
		"stackwide: warning: the command (process 99) is still running after SIGTERM\n");
}

static void a_command_is_the_target_if_there_is_no_other(void **state _unused_)
{
	struct target target;

	session.workload.pid = 99;
	target = choose_target(&session);
	assert_int_equal(target.kind, TARGET_PROCESSES);
	assert_int_equal(target.num_ids, 1);
	assert_int_equal(target.ids[0], 99);
	assert_true(target.starts_on_exec);
	session.options.wants_system = true;
	assert_int_equal(choose_target(&session).kind, TARGET_SYSTEM);
	session.options.wants_system = false;
	*(pid_t *)array_add(&session.options.tids) = 5;
	target = choose_target(&session);
	assert_int_equal(target.kind, TARGET_THREADS);
	assert_int_equal(target.ids[0], 5);
	array_release(&session.options.tids);
}

/* ---- what was asked for ---- */

static int choose(const char *path, const char *format)
{
	struct output_request *request = array_add(&session.options.outputs.requests);
	struct caught_output caught;
	int status;

	assert_non_null(request);
	*request = (struct output_request){.path = path, .format = format};
	caught = caught_output_start(STDERR_FILENO);
	status = choose_formats(&session);
	caught_output_end(&caught, message, sizeof(message));
	free(session.outputs.items);
	session.outputs = (struct outputs){0};
	array_release(&session.options.outputs.requests);
	return status;
}

static void what_no_output_shows_is_refused(void **state _unused_)
{
	char zones[] = "g.zones";

	assert_int_equal(choose("a.folded", NULL), 0);
	assert_int_equal(choose("a.nothing", NULL), EXIT_USAGE);
	*(char **)array_add(&session.options.zones_paths) = zones;
	assert_int_equal(choose("a.pftrace", NULL), 0);
	assert_int_equal(choose("a.folded", NULL), EXIT_USAGE);
	assert_non_null(strstr(message, "--zones needs a trace"));
	array_release(&session.options.zones_paths);
	session.options.records_schedule = true;
	assert_int_equal(choose("a.pftrace", NULL), 0);
	assert_int_equal(choose("a.folded", NULL), EXIT_USAGE);
	assert_non_null(strstr(message, "--sched needs a trace"));
	session.options.records_schedule = false;
	assert_int_equal(choose("a.folded", "offwake"), EXIT_USAGE);
	assert_non_null(strstr(message, "needs --off-cpu --wakers"));
	session.options.takes_wakers = true;
	assert_int_equal(choose("a.folded", "offwake"), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_flush_that_failed_fails_the_whole),
		TEST(a_last_interval_that_fails_fails_the_whole),
		TEST(intervals_without_samples_have_no_file_and_no_number),
		TEST(the_next_one_samples_before_the_last_one_stops),
		TEST(a_next_one_that_cannot_be_set_up_leaves_the_last_one),
		TEST(the_next_one_has_the_descendants_of_the_target),
		TEST(intervals_are_as_long_as_was_asked_for),
		TEST(an_interval_waits_for_the_files_of_the_one_before),
		TEST(the_duration_is_not_the_end_of_the_target),
		TEST(processes_have_ended_when_all_have),
		TEST(a_signal_does_not_end_the_naming_too),
		TEST(a_command_that_outlives_the_recording_is_ended),
		TEST(the_status_is_the_commands_unless_the_time_was_over),
		TEST(a_command_that_stays_is_told_of),
		TEST(a_command_is_the_target_if_there_is_no_other),
		TEST(what_no_output_shows_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
