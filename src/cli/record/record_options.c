#include "cli/record/record_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>

#include "base/clock.h"
#include "base/confinement.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/options/command.h"
#include "collect/events.h"
#include "profile/profile.h"

#define DEFAULT_FREQUENCY_HZ 99
#define MAX_FREQUENCY_HZ     1000000

/* Below it a sample would cost more than the time it represents. */
#define MIN_PERIOD_NS (10 * NS_PER_SECOND / 1000000)
#define MAX_PERIOD_NS (3600 * NS_PER_SECOND)
#define MIN_BLOCK_NS  (NS_PER_SECOND / 1000000)

#define MAX_RING_BYTES             (1u << 30)
#define DEFAULT_SYMBOLIZE_LIMIT_NS (60 * NS_PER_SECOND)

const struct option_spec record_option_specs[] = {
	RECORD_TARGET_SPECS,
	{OPTION_DURATION, 'd', "duration", "TIME",
	 "stop after 10, 10s, 500ms, 5m or 1h; a COMMAND\n"
	 "that is still running gets SIGTERM"},
	OUTPUT_FILE_SPECS,
	OUTPUT_COMPRESS_SPEC,
	OUTPUT_FRAME_SPECS,
	RECORD_SAMPLING_SPECS,
	RECORD_EVENT_SPECS,
	{OPTION_USER, 0, "user", NULL,
	 "run COMMAND as the user who called sudo\n"
	 "($SUDO_USER), not as root"},
	{OPTION_OFF_CPU, 0, "off-cpu", NULL,
	 "also sample threads that wait, blocked or for a\n"
	 "CPU: metrics cpu, blocked, uninterruptible,\n"
	 "run-queue, preempted, and wall for all of them"},
	{OPTION_WAKERS, 0, "wakers", NULL,
	 "with --off-cpu: also record who ends the waits,\n"
	 "with its stack: metric offwake, format offwake"},
	{OPTION_FUTEXES, 0, "futexes", NULL,
	 "with --wakers: add the address of the futex that a\n"
	 "thread waited for (locks use futexes) as a frame:\n"
	 "[futex 0x...]"},
	{OPTION_LOCKS, 0, "locks", NULL,
	 "waits for locks and who released them: --off-cpu\n"
	 "--wakers --futexes, but only waits for futexes"},
	{OPTION_PERIOD, 0, "period", "TIME",
	 "with --off-cpu: off-CPU time of a thread per\n"
	 "sample (default: the time between samples of a\n"
	 "CPU); 10us, 5ms"},
	{OPTION_MIN_BLOCK, 0, "min-block", "TIME",
	 "with --off-cpu: skip shorter times off the CPU,\n"
	 "from losing a CPU to getting one again; 100us, 5ms"},
	{OPTION_SHOWN_METRIC, 0, "metric", "NAME",
	 "with --off-cpu or -e: metric of files that hold\n"
	 "only one (default: wall, in microseconds in folded\n"
	 "files; with --locks offwake; else the first event)"},
	{OPTION_SCHED, 0, "sched", NULL,
	 "add scheduling to the trace (.pftrace): when each\n"
	 "thread ran, why it stopped, who woke it"},
	{OPTION_FLUSH, 0, "flush", "TIME",
	 "write the files every TIME and start new ones,\n"
	 "numbered: profile.1.folded"},
	{OPTION_ZONES, 0, "zones", "FILE[,FILE...]",
	 "add zones to the .pftrace: those that programs\n"
	 "write to FILE while recording (see\n"
	 "stackwide-zones(3))"},
	{OPTION_STATS, 0, "stats", "FILE", "write the account of the run as JSON"},
	SVG_OPTION_SPECS,
	RECORD_ALIAS_SPECS,
	{OPTION_BUFFER_SIZE, 0, "buffer-size", "BYTES", NULL},
	{OPTION_CHECK_CALLS, 0, "check-calls", NULL, NULL},
	{0},
};

static int refuse(const char *option, const char *value, const char *expected)
{
	log_error("%s '%s': %s; see 'stackwide help record'", option, value, expected);
	return -EINVAL;
}

/* PID[,PID…] */
static int add_id(struct record_options *options, int id, const char *number)
{
	uint64_t value;
	pid_t *added;

	if (option_read_number(number, 1, INT_MAX, &value))
		return -EINVAL;
	added = id == OPTION_PID ? array_add(&options->pids) : array_add(&options->tids);
	if (!added)
		return -ENOMEM;
	*added = (pid_t)value;
	return 0;
}

static int read_ids(struct record_options *options, int id, const char *value)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy;

	while (rest) {
		const char *number = strsep(&rest, ",");
		int err;

		err = add_id(options, id, number);
		if (err == -ENOMEM)
			return err;
		if (err)
			return refuse(id == OPTION_PID ? "--pid" : "--tid", value,
				      "expected numbers joined by commas");
	}
	return copy ? 0 : -ENOMEM;
}

/* FILE[,FILE…] */
static int add_zones(struct record_options *options, const char *value)
{
	_cleanup_free_ char *copy = strdup(value);
	char *rest = copy;

	while (rest) {
		const char *path = strsep(&rest, ",");
		char **added;

		if (!*path)
			return refuse("--zones", value, "expected names of files joined by commas");
		added = array_add(&options->zones_paths);
		if (!added)
			return -ENOMEM;
		*added = strdup(path);
		if (!*added) {
			options->zones_paths.length--;
			return -ENOMEM;
		}
	}
	return copy ? 0 : -ENOMEM;
}

static int add_filter(struct record_options *options, const char *value)
{
	struct filter_option *added;

	if (!options->event_lists.length) {
		log_error(
			"--filter '%s': no tracepoint precedes it; put --event TRACEPOINT before it",
			value);
		return -EINVAL;
	}
	added = array_add(&options->filters);
	if (!added)
		return -ENOMEM;
	*added = (struct filter_option){.event_list = options->event_lists.length - 1,
					.expression = value};
	return 0;
}

/* Without -o, one file with a generated name. */
static int finish_outputs(struct record_options *options)
{
	if (!options->outputs.requests.length)
		return output_options_handle(&options->outputs, OPTION_OUTPUT, NULL, "record");
	return output_options_finish(&options->outputs);
}

static int read_frequency(struct record_options *options, const char *value)
{
	uint64_t number;

	if (option_read_number(value, 1, MAX_FREQUENCY_HZ, &number))
		return refuse("--frequency", value, "expected a number from 1 to 1000000");
	options->frequency_hz = (uint32_t)number;
	return 0;
}

static int read_word(struct record_options *options, int id, const char *value)
{
	static const char *const walks[] = {"auto", "table", "fp", "none", NULL};
	static const enum user_stacks kinds[] = {USER_STACKS_TABLE, USER_STACKS_TABLE,
						 USER_STACKS_FP, USER_STACKS_NONE};
	static const char *const switches[] = {"on", "off", NULL};
	static const char *const runtimes[] = {"managed", "all", "native", NULL};
	int word;

	if (id == OPTION_USER_STACKS) {
		word = option_find_word(value, walks);
		if (word < 0)
			return refuse("--user-stacks", value, "expected auto, table, fp or none");
		options->user_stacks = kinds[word];
		options->no_fp_steps = word == 1;
	} else if (id == OPTION_RUNTIME_FRAMES) {
		word = option_find_word(value, runtimes);
		if (word < 0)
			return refuse("--runtime-frames", value, "expected managed, all or native");
		options->runtime_frames = (enum runtime_frames)word;
	} else {
		word = option_find_word(value, switches);
		if (word < 0)
			return refuse("--kernel-stacks", value, "expected on or off");
		options->no_kernel_stacks = word == 1;
	}
	return 0;
}

/* A name or a number; root is refused, as it would change nothing. */
static int read_user(struct record_options *options, const char *value)
{
	const struct passwd *user = getpwnam(value);
	uint64_t number = user ? user->pw_uid : 0;

	if (!user && option_read_number(value, 1, UINT32_MAX - 1, &number))
		return refuse("--symbolize-user", value, "no such user");
	if (!number)
		return refuse("--symbolize-user", value, "expected a user without privileges");
	options->symbolize_user = (uid_t)number;
	return 0;
}

/* Add a list, as in -e. */
static int add_events(struct record_options *options, const char *value)
{
	const char **list = array_add(&options->event_lists);

	if (!list)
		return -ENOMEM;
	*list = value;
	return 0;
}

int record_options_handle(struct record_options *options, int id, const char *value)
{
	if (id >= (int)OPTION_OUTPUT)
		return output_options_handle(&options->outputs, id, value, "record");
	switch ((enum record_option)id) {
	case OPTION_ALL:
		options->wants_system = true;
		return 0;
	case OPTION_PID:
	case OPTION_TID:
		return read_ids(options, id, value);
	case OPTION_CHILDREN:
	case OPTION_NO_CHILDREN:
		options->leaves_children_out = id == OPTION_NO_CHILDREN;
		return 0;
	case OPTION_CGROUP:
		options->cgroup_path = value;
		return 0;
	case OPTION_FREQUENCY:
		return read_frequency(options, value);
	case OPTION_EVENT:
		return add_events(options, value);
	case OPTION_FAULTS:
		return add_events(options, "page-faults");
	case OPTION_SYSCALLS:
		return add_events(options, "syscalls,syscall-time");
	case OPTION_IO:
		return add_events(options, "block-io,block-io-time,block-discard");
	case OPTION_ALLOC:
		return add_events(options, "alloc");
	case OPTION_LIVE:
		return add_events(options, "alloc-live");
	case OPTION_FILTER:
		return add_filter(options, value);
	case OPTION_COUNT:
		if (option_read_number(value, 1, INT64_MAX, &options->event_count))
			return refuse("--count", value, "expected a number above 0");
		return 0;
	case OPTION_DURATION:
		if (option_read_duration(value, &options->duration_ns))
			return refuse("--duration", value,
				      "expected a time such as 10, 500ms or 5m");
		return 0;
	case OPTION_USER_STACKS:
	case OPTION_RUNTIME_FRAMES:
	case OPTION_KERNEL_STACKS:
		return read_word(options, id, value);
	case OPTION_CHECK_CALLS:
		options->checks_calls = true;
		return 0;
	case OPTION_NO_CACHE:
		options->no_table_cache = true;
		return 0;
	case OPTION_NO_INLINE:
		options->no_inlines = true;
		return 0;
	case OPTION_SCHED:
		options->records_schedule = true;
		return 0;
	case OPTION_OFF_CPU:
		options->records_off_cpu = true;
		return 0;
	case OPTION_WAKERS:
		options->takes_wakers = true;
		return 0;
	case OPTION_FUTEXES:
		options->takes_futexes = true;
		return 0;
	case OPTION_LOCKS:
		options->records_off_cpu = options->takes_wakers = true;
		options->takes_futexes = options->only_futexes = true;
		return 0;
	case OPTION_PERIOD:
		if (option_read_duration(value, &options->off_cpu_period_ns) ||
		    options->off_cpu_period_ns < MIN_PERIOD_NS ||
		    options->off_cpu_period_ns > MAX_PERIOD_NS)
			return refuse("--period", value,
				      "expected a time from 10us to 1h, such as 500us or 10ms");
		return 0;
	case OPTION_MIN_BLOCK:
		if (option_read_duration(value, &options->min_block_ns) ||
		    options->min_block_ns < MIN_BLOCK_NS || options->min_block_ns > MAX_PERIOD_NS)
			return refuse("--min-block", value,
				      "expected a time from 1us to 1h, such as 100us or 5ms");
		return 0;
	case OPTION_SHOWN_METRIC:
		options->metric = value;
		return 0;
	case OPTION_FLUSH:
		if (option_read_duration(value, &options->flush_ns))
			return refuse("--flush", value, "expected a time such as 60, 5m or 1h");
		return 0;
	case OPTION_ZONES:
		return add_zones(options, value);
	case OPTION_STATS:
		options->stats_path = value;
		return 0;
	case OPTION_SYMBOLIZE_LIMIT:
		if (option_read_duration(value, &options->symbolize_limit_ns))
			return refuse("--symbolize-limit", value,
				      "expected a time such as 60, 500ms or 5m");
		return 0;
	case OPTION_SYMBOLIZE_USER:
		return read_user(options, value);
	case OPTION_USER:
		options->is_for_user = true;
		return 0;
	case OPTION_BUFFER_SIZE:
		if (option_read_size(value, &options->ring_bytes) || !options->ring_bytes ||
		    options->ring_bytes > MAX_RING_BYTES)
			return refuse("--buffer-size", value,
				      "expected a size up to 1G, such as 64K or 4M");
		return 0;
	}
	return -EINVAL;
}

static int handle(int id, const char *value, void *context)
{
	return record_options_handle(context, id, value);
}

/* The metrics of a recording of waits. */
static bool is_metric(const char *name)
{
	for (enum wait_kind kind = 0; kind < NUM_WAIT_KINDS; kind++)
		if (string_equals(name, wait_kind_get_name(kind)))
			return true;
	return string_equals(name, "samples") || string_equals(name, "cpu") ||
	       string_equals(name, METRIC_WALL) || string_equals(name, METRIC_OFFWAKE);
}

/* An option that has no effect without --off-cpu, or NULL. */
static const char *find_lonely_option(const struct record_options *options)
{
	if (options->records_off_cpu)
		return NULL;
	if (options->metric && !options->event_lists.length)
		return "--metric";
	if (options->takes_wakers)
		return "--wakers";
	if (options->min_block_ns)
		return "--min-block";
	return options->off_cpu_period_ns ? "--period" : NULL;
}

int record_options_check(const struct record_options *options)
{
	const char *lonely;
	int num_targets = (options->pids.length > 0) + (options->tids.length > 0) +
			  (options->cgroup_path != NULL) + options->wants_system;

	if (num_targets > 1) {
		log_error("give only one of --all, --pid, --tid and --cgroup");
		return -EINVAL;
	}
	if (options->leaves_children_out && !options->pids.length) {
		log_error("--no-children needs --pid");
		return -EINVAL;
	}
	if (options->is_for_user && !options->command) {
		log_error("--user needs a command: '-- COMMAND...'");
		return -EINVAL;
	}
	lonely = find_lonely_option(options);
	if (lonely) {
		log_error("%s needs --off-cpu%s", lonely,
			  string_equals(lonely, "--metric") ? " or -e" : "");
		return -EINVAL;
	}
	if (options->event_count && !options->event_lists.length) {
		log_error("--count needs --event");
		return -EINVAL;
	}
	if (options->metric && !options->event_lists.length && !is_metric(options->metric))
		return refuse("--metric", options->metric,
			      "expected wall, cpu, blocked, uninterruptible, run-queue, preempted, "
			      "samples or, with --wakers, offwake");
	if (options->metric && string_equals(options->metric, METRIC_OFFWAKE) &&
	    !options->takes_wakers) {
		log_error("--metric offwake needs --wakers");
		return -EINVAL;
	}
	if (options->takes_futexes && !options->takes_wakers) {
		log_error("--futexes needs --wakers");
		return -EINVAL;
	}
	if (options->flush_ns && options->tids.length) {
		log_error("--flush does not work with --tid; record the process of the threads "
			  "(--pid)");
		return -EINVAL;
	}
	if (options->flush_ns && options->zones_paths.length) {
		log_error("--flush does not work with --zones");
		return -EINVAL;
	}
	if (options->user_stacks == USER_STACKS_NONE &&
	    options->outputs.tree.root == TREE_ROOT_NONE)
		log_warning("--root none with --user-stacks none: samples in user mode have no "
			    "frames, and are missing in folded stacks and flame graphs");
	return 0;
}

void record_options_init(struct record_options *options)
{
	*options = (struct record_options){
		.frequency_hz = DEFAULT_FREQUENCY_HZ,
		.user_stacks = USER_STACKS_TABLE,
		.symbolize_limit_ns = DEFAULT_SYMBOLIZE_LIMIT_NS,
		.symbolize_user = confinement_choose_user(),
	};
}

int record_options_parse(struct record_options *options, int argc, char **argv)
{
	int first_operand;
	int end = 1;
	int err;

	record_options_init(options);
	while (end < argc && !string_equals(argv[end], "--"))
		end++;
	if (end < argc) {
		options->command = argv + end + 1;
		argv[end] = NULL; /* getopt_long expects a NULL behind argc items */
		if (!options->command[0]) {
			log_error("expected a command after '--'");
			return -EINVAL;
		}
	}
	err = options_parse(record_option_specs, end, argv, handle, options, &first_operand);
	if (err)
		return err;
	if (first_operand < end) {
		log_error("unexpected '%s'; put '--' before a command to run", argv[first_operand]);
		return -EINVAL;
	}
	err = finish_outputs(options);
	return err ? err : record_options_check(options);
}

static int find_events_in(struct record_options *options, const struct event_paths *paths,
			  struct error *error)
{
	struct probe_search search = {
		.worker_user = options->symbolize_user,
		.lacks_callers = options->user_stacks != USER_STACKS_TABLE,
	};
	struct target target = record_options_get_target(options);

	for (size_t i = 0; i < options->event_lists.length; i++) {
		size_t first = options->events.events.length;
		int err =
			events_parse(paths, options->event_lists.items[i], &options->events, error);

		if (err)
			return err;
		array_for_each (&options->filters, filter) {
			if (filter->event_list != i)
				continue;
			err = events_filter(paths, filter->expression, first, &options->events,
					    error);
			if (err)
				return err;
		}
	}
	if (options->events.events.length > MAX_EVENTS)
		return error_set(error, -E2BIG, "more than %d events", MAX_EVENTS);
	if (options->pids.length || options->tids.length)
		search.target =
			options->pids.length ? options->pids.items[0] : options->tids.items[0];
	/* A command is the target, unless another target is given. */
	if (target.kind != TARGET_SYSTEM || options->wants_system || !options->command)
		search.allocating = &target;
	search.command = options->command;
	return probes_locate(paths, &search, &options->events, error);
}

static int find_events(struct record_options *options, struct error *error)
{
	struct event_paths paths;
	int err;

	event_paths_find(&paths);
	err = find_events_in(options, &paths, error);
	event_paths_release(&paths);
	return err;
}

/* Twice the same event would double the weight of its metric. */
static const struct event *find_twin(const struct record_options *options)
{
	array_for_each (&options->events.events, event)
		for (const struct event *other = options->events.events.items; other < event;
		     other++)
			if (string_equals(other->name, event->name))
				return event;
	return NULL;
}

/* Whether the ticks of an event measure CPU time. */
static bool has_clock(const struct record_options *options)
{
	array_for_each (&options->events.events, event)
		if (event_shows_cpu_time(event))
			return event_is_time(event) || !options->event_count;
	return false;
}

static bool has_metric(const struct record_options *options)
{
	array_for_each (&options->events.events, event)
		if (string_equals(event->name, options->metric))
			return true;
	return options->records_off_cpu && is_metric(options->metric) &&
	       !string_equals(options->metric, "samples");
}

int record_options_find_events(struct record_options *options)
{
	const struct event *twin;
	struct error error = {0};
	int err = find_events(options, &error);

	if (err) {
		log_error("%s", error.message[0] ? error.message : strerror(-err));
		if (err == -EBUSY || err == -ENOMEM)
			return EXIT_FAILED;
		return err == -ENOTSUP || err == -EACCES ? EXIT_NOT_PERMITTED : EXIT_USAGE;
	}
	if (!options->events.events.length)
		return 0;
	array_for_each (&options->events.events, event) {
		if (event->num_left_out)
			log_warning(
				"%s: %" PRIu32
				" files with an allocator of their own are skipped: their owners "
				"have too many of them",
				event->name, event->num_left_out);
		if (event->num_too_large)
			log_warning("%s: %" PRIu32
				    " files with an allocator of their own are skipped: they have "
				    "too many functions that allocate",
				    event->name, event->num_too_large);
	}
	twin = find_twin(options);
	if (twin) {
		log_error("--event: %s is given twice; different modifiers or filters need two "
			  "recordings",
			  twin->name);
		return EXIT_USAGE;
	}
	if (options->records_off_cpu && !has_clock(options)) {
		log_error("--off-cpu needs samples of CPU time: add '-e cpu-clock'");
		return EXIT_USAGE;
	}
	if (options->metric && !has_metric(options)) {
		log_error("--metric '%s': not one of the events; see 'stackwide help record'",
			  options->metric);
		return EXIT_USAGE;
	}
	return 0;
}

void record_options_release(struct record_options *options)
{
	array_release(&options->event_lists);
	array_release(&options->filters);
	event_list_release(&options->events);
	array_release(&options->pids);
	array_release(&options->tids);
	array_for_each (&options->zones_paths, path)
		free(*path);
	array_release(&options->zones_paths);
	output_options_release(&options->outputs);
}

struct target record_options_get_target(const struct record_options *options)
{
	if (options->pids.length)
		return (struct target){.kind = TARGET_PROCESSES,
				       .ids = options->pids.items,
				       .num_ids = options->pids.length,
				       .leaves_children_out = options->leaves_children_out};
	if (options->tids.length)
		return (struct target){.kind = TARGET_THREADS,
				       .ids = options->tids.items,
				       .num_ids = options->tids.length};
	if (options->cgroup_path)
		return (struct target){.kind = TARGET_CGROUP, .cgroup_path = options->cgroup_path};
	return (struct target){.kind = TARGET_SYSTEM};
}

uint64_t record_options_get_off_cpu_period_ns(const struct record_options *options)
{
	if (!options->records_off_cpu)
		return 0;
	return options->off_cpu_period_ns ? options->off_cpu_period_ns
					  : NS_PER_SECOND / options->frequency_hz;
}

const char *record_options_get_metric(const struct record_options *options)
{
	if (options->metric)
		return options->metric;
	if (options->only_futexes)
		return METRIC_OFFWAKE;
	if (options->records_off_cpu)
		return METRIC_WALL;
	return options->events.events.length ? options->events.events.items[0].name : "samples";
}
