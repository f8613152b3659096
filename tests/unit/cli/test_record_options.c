/* Each option of a recording, the limits of its numbers, which go together, and the events that are asked for. */
#define event_paths_find    find_no_paths
#define event_paths_release release_no_paths
#define events_parse        parse_event
#define events_filter       filter_events
#define probes_locate       locate_probes
#include "cli/record/record_options.c"

#include "failing_memory.h"
#include "unit.h"

#define MAX_ARGS 16

static struct record_options options;
static char storage[MAX_ARGS + 1][128];
static char *argv[MAX_ARGS + 2];

/* Events of the test: their lists are their names. */
static unsigned int num_paths; /* that are held */
static int parse_error, filter_error, locate_error;
static const char *error_text;
static char filters[256];
static struct probe_search last_search;
static struct target last_target;
static unsigned int events_each; /* list */
static unsigned int num_left_out;

void find_no_paths(struct event_paths *ret)
{
	*ret = (struct event_paths){0};
	num_paths++;
}

void release_no_paths(struct event_paths *paths _unused_)
{
	num_paths--;
}

static enum event_kind find_kind(const char *name)
{
	if (string_equals(name, "cycles") || string_equals(name, "instructions"))
		return EVENT_HARDWARE;
	return strstr(name, "clock") ? EVENT_SOFTWARE : EVENT_TRACEPOINT;
}

int parse_event(const struct event_paths *paths _unused_, const char *text, struct event_list *ret,
		struct error *error)
{
	if (parse_error)
		return error_text ? error_set(error, parse_error, "%s", error_text) : parse_error;
	for (unsigned int i = 0; i < events_each; i++) {
		struct event *added = array_add(&ret->events);

		assert_non_null(added);
		*added = (struct event){
			.name = strdup(text),
			.kind = find_kind(text),
			.type = find_kind(text) == EVENT_HARDWARE ? 0 : 1,
			.config = 0,
			.num_left_out = num_left_out,
		};
	}
	return 0;
}

int filter_events(const struct event_paths *paths _unused_, const char *expression, size_t first,
		  struct event_list *list, struct error *error _unused_)
{
	snprintf(filters + strlen(filters), sizeof(filters) - strlen(filters), "%s:%zu/%zu,",
		 expression, first, list->events.length);
	return filter_error;
}

int locate_probes(const struct event_paths *paths _unused_, const struct probe_search *search,
		  struct event_list *list _unused_, struct error *error _unused_)
{
	last_search = *search;
	last_target = search->allocating ? *search->allocating : (struct target){0};
	return locate_error;
}

static int set_up(void **state _unused_)
{
	parse_error = filter_error = locate_error = 0;
	error_text = NULL;
	filters[0] = '\0';
	events_each = 1;
	num_left_out = 0;
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int parse(const char *const *words)
{
	int argc = 0;

	argv[argc++] = strcpy(storage[0], "stackwide record");
	for (; words[argc - 1]; argc++)
		argv[argc] = strcpy(storage[argc], words[argc - 1]);
	argv[argc] = NULL;
	return record_options_parse(&options, argc, argv);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

/* Until the next one. */
#define EXPECT_PARSED(...)                               \
	do {                                             \
		record_options_release(&options);        \
		assert_int_equal(PARSE(__VA_ARGS__), 0); \
	} while (0)
#define EXPECT_REFUSED(...)                                    \
	do {                                                   \
		record_options_release(&options);              \
		assert_int_equal(PARSE(__VA_ARGS__), -EINVAL); \
	} while (0)

static int tear_down(void **state _unused_)
{
	record_options_release(&options);
	options = (struct record_options){0};
	assert_int_equal(num_paths, 0);
	return 0;
}

static void without_options_all_is_as_documented(void **state _unused_)
{
	EXPECT_PARSED("-d", "1");
	assert_int_equal(options.frequency_hz, 99);
	assert_int_equal(options.user_stacks, USER_STACKS_TABLE);
	assert_int_equal(options.runtime_frames, RUNTIME_FRAMES_MANAGED);
	assert_true(options.symbolize_limit_ns == 60 * NS_PER_SECOND);
	assert_true(options.symbolize_user > 0);
	assert_int_equal(options.outputs.requests.length, 1);
	assert_false(options.no_fp_steps || options.no_kernel_stacks || options.no_inlines ||
		     options.no_table_cache || options.records_schedule ||
		     options.records_off_cpu || options.takes_wakers || options.takes_futexes ||
		     options.only_futexes || options.checks_calls || options.is_for_user ||
		     options.leaves_children_out || options.wants_system);
	assert_int_equal(options.event_count, 0);
	assert_true(options.flush_ns == 0);
	assert_null(options.command);
	assert_null(options.stats_path);
	assert_int_equal(record_options_get_target(&options).kind, TARGET_SYSTEM);
}

static void each_switch_is_its_own(void **state _unused_)
{
	static const char *const words[] = {"--no-cache",    "--no-inline", "--sched", "--off-cpu",
					    "--check-calls", "--all",       "--user"};

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		if (i == 6)
			EXPECT_PARSED(words[i], "--", "ls");
		else
			EXPECT_PARSED(words[i]);
		assert_int_equal(options.no_table_cache, i == 0);
		assert_int_equal(options.no_inlines, i == 1);
		assert_int_equal(options.records_schedule, i == 2);
		assert_int_equal(options.records_off_cpu, i == 3);
		assert_int_equal(options.checks_calls, i == 4);
		assert_int_equal(options.wants_system, i == 5);
		assert_int_equal(options.is_for_user, i == 6);
	}
}

static void words_are_those_of_the_manual(void **state _unused_)
{
	static const struct {
		const char *word;
		enum user_stacks kind;
		bool no_fp_steps;
	} walks[] = {{"auto", USER_STACKS_TABLE, false},
		     {"table", USER_STACKS_TABLE, true},
		     {"fp", USER_STACKS_FP, false},
		     {"none", USER_STACKS_NONE, false}};
	static const char *const runtimes[] = {
		[RUNTIME_FRAMES_MANAGED] = "managed",
		[RUNTIME_FRAMES_ALL] = "all",
		[RUNTIME_FRAMES_NATIVE] = "native",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(walks); i++) {
		EXPECT_PARSED("--user-stacks", walks[i].word);
		assert_int_equal(options.user_stacks, walks[i].kind);
		assert_int_equal(options.no_fp_steps, walks[i].no_fp_steps);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++) {
		EXPECT_PARSED("--runtime-frames", runtimes[i]);
		assert_int_equal(options.runtime_frames, i);
	}
	EXPECT_PARSED("--kernel-stacks", "on");
	assert_false(options.no_kernel_stacks);
	EXPECT_PARSED("--kernel-stacks", "off");
	assert_true(options.no_kernel_stacks);
	EXPECT_REFUSED("--user-stacks", "dwarf");
	EXPECT_REFUSED("--runtime-frames", "some");
	EXPECT_REFUSED("--kernel-stacks", "maybe");
}

static void numbers_have_their_limits(void **state _unused_)
{
	EXPECT_PARSED("-F", "1");
	assert_int_equal(options.frequency_hz, 1);
	EXPECT_PARSED("-F", "1000000");
	assert_int_equal(options.frequency_hz, 1000000);
	EXPECT_REFUSED("-F", "0");
	EXPECT_REFUSED("-F", "1000001");
	EXPECT_PARSED("--buffer-size", "1G");
	assert_int_equal(options.ring_bytes, 1u << 30);
	EXPECT_PARSED("--buffer-size", "64K");
	assert_int_equal(options.ring_bytes, 65536);
	EXPECT_REFUSED("--buffer-size", "0");
	EXPECT_REFUSED("--buffer-size", "1025M");
	EXPECT_REFUSED("--buffer-size", "x");
	EXPECT_PARSED("--off-cpu", "--period", "1h");
	assert_true(options.off_cpu_period_ns == 3600 * NS_PER_SECOND);
	EXPECT_PARSED("--off-cpu", "--min-block", "1h");
	assert_true(options.min_block_ns == 3600 * NS_PER_SECOND);
	EXPECT_PARSED("-e", "x", "-c", "9223372036854775807");
	assert_true(options.event_count == INT64_MAX);
	EXPECT_PARSED("-e", "x", "-c", "1");
	assert_int_equal(options.event_count, 1);
	EXPECT_REFUSED("-e", "x", "-c", "0");
	EXPECT_REFUSED("-e", "x", "-c", "9223372036854775808");
	EXPECT_REFUSED("-p", "2147483648");
	EXPECT_PARSED("-p", "2147483647");
	assert_int_equal(options.pids.items[0], INT_MAX);
	EXPECT_PARSED("-t", "7,8");
	assert_int_equal(options.tids.length, 2);
	assert_int_equal(options.tids.items[1], 8);
	assert_int_equal(options.pids.length, 0);
	EXPECT_REFUSED("-t", "7,");
}

static void times_are_taken_as_they_are_written(void **state _unused_)
{
	EXPECT_PARSED("-d", "500ms", "--flush", "5m", "--symbolize-limit", "2s", "--stats",
		      "s.json");
	assert_true(options.duration_ns == 500 * NS_PER_MS);
	assert_true(options.flush_ns == 300 * NS_PER_SECOND);
	assert_true(options.symbolize_limit_ns == 2 * NS_PER_SECOND);
	assert_string_equal(options.stats_path, "s.json");
	EXPECT_REFUSED("-d", "soon");
	EXPECT_REFUSED("--flush", "soon");
	EXPECT_REFUSED("--symbolize-limit", "soon");
}

/* A name or a number, and never root. */
static void names_are_read_by_a_user_without_rights(void **state _unused_)
{
	const struct passwd *nobody = getpwnam("nobody");

	EXPECT_PARSED("--symbolize-user", "1");
	assert_int_equal(options.symbolize_user, 1);
	EXPECT_PARSED("--symbolize-user", "4294967294");
	assert_true(options.symbolize_user == 4294967294);
	EXPECT_REFUSED("--symbolize-user", "4294967295");
	EXPECT_REFUSED("--symbolize-user", "0");
	EXPECT_REFUSED("--symbolize-user", "root");
	EXPECT_REFUSED("--symbolize-user", "no such user");
	if (!nobody)
		return;
	EXPECT_PARSED("--symbolize-user", "nobody");
	assert_int_equal(options.symbolize_user, nobody->pw_uid);
}

/* Names that options had: accepted, but not shown. */
static void earlier_names_of_options_are_accepted(void **state _unused_)
{
	EXPECT_PARSED("--naming-limit", "3s", "--naming-user", "2");
	assert_true(options.symbolize_limit_ns == 3 * NS_PER_SECOND);
	assert_int_equal(options.symbolize_user, 2);
	EXPECT_REFUSED("--naming-limit", "soon");
	EXPECT_REFUSED("--naming-user", "root");
	for (const struct option_spec *spec = record_option_specs; spec->name; spec++)
		assert_true(!strstr(spec->name, "naming") || !spec->help);
}

static void zones_are_a_list_of_files(void **state _unused_)
{
	EXPECT_PARSED("--zones", "a,b", "--zones", "c", "-o", "x.pftrace");
	assert_int_equal(options.zones_paths.length, 3);
	assert_string_equal(options.zones_paths.items[0], "a");
	assert_string_equal(options.zones_paths.items[1], "b");
	assert_string_equal(options.zones_paths.items[2], "c");
	EXPECT_REFUSED("--zones", "a,,b");
	EXPECT_REFUSED("--zones", "");
}

static void some_options_exclude_each_other(void **state _unused_)
{
	EXPECT_REFUSED("-p", "1", "-t", "2");
	EXPECT_REFUSED("-p", "1", "--cgroup", "x");
	EXPECT_REFUSED("-a", "--cgroup", "x");
	EXPECT_REFUSED("-t", "1", "-a");
	EXPECT_REFUSED("--no-children");
	EXPECT_REFUSED("--no-children", "-t", "1");
	EXPECT_PARSED("--no-children", "-p", "1");
	assert_true(record_options_get_target(&options).leaves_children_out);
	EXPECT_PARSED("--no-children", "-p", "1", "--children");
	assert_false(record_options_get_target(&options).leaves_children_out);
	EXPECT_REFUSED("--user");
	EXPECT_REFUSED("-c", "5");
	EXPECT_REFUSED("--flush", "5m", "-t", "1");
	EXPECT_PARSED("--flush", "5m", "-p", "1");
	EXPECT_REFUSED("--flush", "5m", "--zones", "a");
	EXPECT_REFUSED("--off-cpu", "--metric", "cycles");
	EXPECT_PARSED("--off-cpu", "--metric", "samples");
	EXPECT_PARSED("--off-cpu", "--metric", "preempted");
	EXPECT_PARSED("-e", "x", "--metric", "y");
	EXPECT_REFUSED("--wakers");
	EXPECT_REFUSED("--off-cpu", "--futexes");
	EXPECT_REFUSED("-e", "x", "--off-cpu", "--metric", "offwake");
}

static void a_target_is_what_was_named(void **state _unused_)
{
	struct target target;

	EXPECT_PARSED("-p", "5,6");
	target = record_options_get_target(&options);
	assert_int_equal(target.kind, TARGET_PROCESSES);
	assert_int_equal(target.num_ids, 2);
	assert_int_equal(target.ids[1], 6);
	EXPECT_PARSED("-t", "7");
	target = record_options_get_target(&options);
	assert_int_equal(target.kind, TARGET_THREADS);
	assert_int_equal(target.num_ids, 1);
	assert_int_equal(target.ids[0], 7);
	EXPECT_PARSED("--cgroup", "some");
	target = record_options_get_target(&options);
	assert_int_equal(target.kind, TARGET_CGROUP);
	assert_string_equal(target.cgroup_path, "some");
}

static void a_command_follows_two_dashes(void **state _unused_)
{
	EXPECT_PARSED("--", "ls");
	assert_string_equal(options.command[0], "ls");
	EXPECT_REFUSED("--");
	EXPECT_REFUSED("ls", "--", "ls");
	EXPECT_REFUSED("ls");
}

static void short_options_stand_for_events(void **state _unused_)
{
	static const char *const expected[] = {"page-faults",
					       "syscalls,syscall-time",
					       "block-io,block-io-time,block-discard",
					       "alloc",
					       "alloc-live",
					       "cycles"};

	EXPECT_PARSED("--faults", "--syscalls", "--io", "--alloc", "--live", "-e", "cycles");
	assert_int_equal(options.event_lists.length, ARRAY_LENGTH(expected));
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		assert_string_equal(options.event_lists.items[i], expected[i]);
}

/* To the events of the list before it. */
static void a_filter_goes_to_the_events_before_it(void **state _unused_)
{
	EXPECT_REFUSED("--filter", "a");
	events_each = 2;
	EXPECT_PARSED("-e", "one", "-e", "two", "--filter", "a", "--filter", "b", "-e", "three",
		      "--filter", "c");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE); /* twins */
	assert_string_equal(filters, "a:2/4,b:2/4,c:4/6,");
	filters[0] = '\0';
	filter_error = -EINVAL;
	EXPECT_PARSED("-e", "one", "--filter", "a", "--filter", "b");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	assert_string_equal(filters, "a:0/2,");
}

static void errors_of_events_have_their_exit_status(void **state _unused_)
{
	static const struct {
		int err;
		int status;
	} cases[] = {{-EINVAL, EXIT_USAGE},
		     {-E2BIG, EXIT_USAGE},
		     {-ENOTSUP, EXIT_NOT_PERMITTED},
		     {-EACCES, EXIT_NOT_PERMITTED},
		     {-EBUSY, EXIT_FAILED}};

	EXPECT_PARSED("-e", "one");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		parse_error = cases[i].err;
		assert_int_equal(record_options_find_events(&options), cases[i].status);
		parse_error = 0;
		locate_error = cases[i].err;
		assert_int_equal(record_options_find_events(&options), cases[i].status);
		locate_error = 0;
		event_list_release(&options.events);
	}
	assert_int_equal(record_options_find_events(&options), 0);
}

static void events_are_limited_in_number(void **state _unused_)
{
	events_each = MAX_EVENTS;
	EXPECT_PARSED("-e", "one");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE); /* twins */
	assert_int_equal(options.events.events.length, MAX_EVENTS);
	events_each = MAX_EVENTS + 1;
	EXPECT_PARSED("-e", "one");
	last_search.command = (char **)1;
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	assert_ptr_equal(last_search.command, (char **)1); /* nothing was looked for */
}

static void an_event_is_asked_for_once(void **state _unused_)
{
	EXPECT_PARSED("-e", "one", "-e", "two", "-e", "three");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_string_equal(record_options_get_metric(&options), "one");
	EXPECT_PARSED("-e", "one", "-e", "two", "-e", "one");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	assert_string_equal(find_twin(&options)->name, "one");
}

/* The time on a CPU is known by ticks that come with it. */
static void waits_need_a_clock(void **state _unused_)
{
	EXPECT_PARSED("--off-cpu", "-e", "sched:x");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	EXPECT_PARSED("--off-cpu", "-e", "sched:x", "-e", "cpu-clock");
	assert_int_equal(record_options_find_events(&options), 0);
	EXPECT_PARSED("--off-cpu", "-e", "cycles");
	assert_int_equal(record_options_find_events(&options), 0);
	/* A sample for so many cycles is no time. */
	EXPECT_PARSED("--off-cpu", "-e", "cycles", "-c", "1000");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	EXPECT_PARSED("--off-cpu", "-e", "cpu-clock", "-c", "1000");
	assert_int_equal(record_options_find_events(&options), 0);
}

static void a_metric_is_one_of_those_that_are_recorded(void **state _unused_)
{
	EXPECT_PARSED("-e", "one", "-e", "two", "--metric", "two");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_string_equal(record_options_get_metric(&options), "two");
	EXPECT_PARSED("-e", "one", "--metric", "three");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	EXPECT_PARSED("-e", "one", "--metric", "wall");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
	EXPECT_PARSED("-e", "cpu-clock", "--off-cpu", "--metric", "wall");
	assert_int_equal(record_options_find_events(&options), 0);
	EXPECT_PARSED("-e", "cpu-clock", "--off-cpu", "--metric", "samples");
	assert_int_equal(record_options_find_events(&options), EXIT_USAGE);
}

/* The caller of an allocator is known by a walk of tables alone. */
static void an_allocator_has_no_caller_without_tables(void **state _unused_)
{
	static const struct {
		const char *walk;
		bool lacks_callers;
	} cases[] = {{"auto", false}, {"table", false}, {"fp", true}, {"none", true}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		EXPECT_PARSED("-e", "one", "--user-stacks", cases[i].walk);
		assert_int_equal(record_options_find_events(&options), 0);
		assert_int_equal(last_search.lacks_callers, cases[i].lacks_callers);
	}
}

/* Allocators are looked for in the target, or in the command that is to be run. */
static void probes_are_looked_for_in_the_target(void **state _unused_)
{
	EXPECT_PARSED("-e", "one");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_int_equal(last_search.target, 0);
	assert_non_null(last_search.allocating);
	assert_int_equal(last_target.kind, TARGET_SYSTEM);
	assert_null(last_search.command);
	assert_int_equal(last_search.worker_user, options.symbolize_user);
	EXPECT_PARSED("-e", "one", "-p", "5,6", "--", "ls");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_int_equal(last_search.target, 5);
	assert_non_null(last_search.allocating);
	assert_int_equal(last_target.kind, TARGET_PROCESSES);
	assert_string_equal(last_search.command[0], "ls");
	EXPECT_PARSED("-e", "one", "-t", "7");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_int_equal(last_search.target, 7);
	EXPECT_PARSED("-e", "one", "--", "ls");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_null(last_search.allocating);
	EXPECT_PARSED("-e", "one", "-a", "--", "ls");
	assert_int_equal(record_options_find_events(&options), 0);
	assert_non_null(last_search.allocating);
	/* Without events there is nothing to refuse. */
	EXPECT_PARSED("-d", "1");
	assert_int_equal(record_options_find_events(&options), 0);
	EXPECT_PARSED("--off-cpu", "--metric", "samples");
	assert_int_equal(record_options_find_events(&options), 0);
}

/* Whatever an option needs of it. */
static void short_memory_is_no_mistake_in_the_options(void **state _unused_)
{
	bool has_failed = true;

	for (int64_t num_before = 0; has_failed; num_before++) {
		int err;

		record_options_release(&options);
		failing_memory_start(num_before);
		err = PARSE("-p", "1,2", "-o", "a.folded", "-o", "b.pb", "--zones", "a,b", "-e",
			    "cycles", "--filter", "x", "--faults");
		has_failed = failing_memory_end_with(err);
		array_for_each (&options.zones_paths, path)
			assert_non_null(*path);
	}
	assert_int_equal(options.pids.length, 2);
	assert_int_equal(options.zones_paths.length, 2);
	assert_int_equal(options.outputs.requests.length, 2);
	EXPECT_PARSED("-e", "one");
	parse_error = -ENOMEM;
	assert_int_equal(record_options_find_events(&options), EXIT_FAILED);
}

static void times_of_waits_have_a_least_value(void **state _unused_)
{
	EXPECT_PARSED("--off-cpu", "--period", "10us");
	assert_true(options.off_cpu_period_ns == 10000);
	EXPECT_REFUSED("--off-cpu", "--period", "9us");
	EXPECT_REFUSED("--off-cpu", "--period", "3601s");
	EXPECT_PARSED("--off-cpu", "--min-block", "1us");
	assert_true(options.min_block_ns == 1000);
	EXPECT_REFUSED("--off-cpu", "--min-block", "0.9us");
	EXPECT_REFUSED("--off-cpu", "--min-block", "3601s");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_options_all_is_as_documented),
		TEST(each_switch_is_its_own),
		TEST(words_are_those_of_the_manual),
		TEST(numbers_have_their_limits),
		TEST(times_are_taken_as_they_are_written),
		TEST(names_are_read_by_a_user_without_rights),
		TEST(earlier_names_of_options_are_accepted),
		TEST(zones_are_a_list_of_files),
		TEST(some_options_exclude_each_other),
		TEST(a_target_is_what_was_named),
		TEST(a_command_follows_two_dashes),
		TEST(short_options_stand_for_events),
		TEST(a_filter_goes_to_the_events_before_it),
		TEST(errors_of_events_have_their_exit_status),
		TEST(events_are_limited_in_number),
		TEST(an_event_is_asked_for_once),
		TEST(waits_need_a_clock),
		TEST(a_metric_is_one_of_those_that_are_recorded),
		TEST(an_allocator_has_no_caller_without_tables),
		TEST(probes_are_looked_for_in_the_target),
		TEST(short_memory_is_no_mistake_in_the_options),
		TEST(times_of_waits_have_a_least_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
