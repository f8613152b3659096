/* The options of `stackwide record`, parsed and checked. */
#ifndef CLI_RECORD_RECORD_OPTIONS_H
#define CLI_RECORD_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "cli/files/output_options.h"
#include "cli/options/options.h"
#include "collect/events.h"
#include "collect/recorder.h"
#include "collect/target.h"
#include "runtime/runtime.h"

/* Options of all commands that record, and of `record` alone. */
enum record_option {
	OPTION_ALL = 1,
	OPTION_PID,
	OPTION_TID,
	OPTION_CGROUP,
	OPTION_FREQUENCY,
	OPTION_DURATION,
	OPTION_USER_STACKS,
	OPTION_RUNTIME_FRAMES,
	OPTION_KERNEL_STACKS,
	OPTION_NO_CACHE,
	OPTION_NO_INLINE,
	OPTION_SCHED,
	OPTION_FLUSH,
	OPTION_STATS,
	OPTION_BUFFER_SIZE,
	OPTION_CHECK_CALLS,
	OPTION_ZONES,
	OPTION_CHILDREN,
	OPTION_NO_CHILDREN,
	OPTION_SYMBOLIZE_LIMIT,
	OPTION_SYMBOLIZE_USER,
	OPTION_USER,
	OPTION_OFF_CPU,
	OPTION_PERIOD,
	OPTION_WAKERS,
	OPTION_FUTEXES,
	OPTION_LOCKS,
	OPTION_SHOWN_METRIC,
	OPTION_MIN_BLOCK,
	OPTION_EVENT,
	OPTION_COUNT,
	OPTION_FAULTS,
	OPTION_SYSCALLS,
	OPTION_IO,
	OPTION_ALLOC,
	OPTION_LIVE,
	OPTION_FILTER,
};

/* Lines for a command's table. */
#define RECORD_TARGET_SPECS                                                                       \
	{OPTION_ALL, 'a', "all", NULL, "sample the whole machine (default)"},                     \
		{OPTION_PID, 'p', "pid", "PID[,PID...]",                                          \
		 "sample these processes and their children until\n"                              \
		 "the processes end"},                                                            \
		{OPTION_CHILDREN, 0, "children", NULL,                                            \
		 "with -p: include children, existing and future\n"                               \
		 "(default)"},                                                                    \
		{OPTION_NO_CHILDREN, 0, "no-children", NULL, "with -p: only these processes"},    \
		{OPTION_TID, 't', "tid", "TID[,TID...]",                                          \
		 "sample these threads and their descendants"},                                   \
		{OPTION_CGROUP, 0, "cgroup", "PATH", "sample a cgroup (v2) and its descendants"}, \
	{                                                                                         \
		OPTION_FREQUENCY, 'F', "frequency", "HZ", "samples per second and CPU (99)"       \
	}
#define RECORD_SAMPLING_SPECS                                                      \
	{OPTION_USER_STACKS, 0, "user-stacks", "auto|table|fp|none",               \
	 "how to unwind user stacks: auto (by unwind table;\n"                     \
	 "by frame pointer in code that cannot have one;\n"                        \
	 "default), table, fp or none"},                                           \
		{OPTION_RUNTIME_FRAMES, 0, "runtime-frames", "managed|all|native", \
		 "for " INTERPRETER_LANGUAGES ":\n"                                \
		 "frames of the program (managed, default), of the\n"              \
		 "interpreter (native), or both (all)"},                           \
		{OPTION_KERNEL_STACKS, 0, "kernel-stacks", "on|off",               \
		 "whether to take kernel stacks (on)"},                            \
		{OPTION_NO_CACHE, 0, "no-cache", NULL,                             \
		 "rebuild all unwind tables and store none in\n"                   \
		 "/var/cache/stackwide"},                                          \
		{OPTION_NO_INLINE, 0, "no-inline", NULL,                           \
		 "do not show inlined calls: debug information is\n"               \
		 "not read"},                                                      \
		{OPTION_SYMBOLIZE_LIMIT, 0, "symbolize-limit", "TIME",             \
		 "time limit for symbolization (60s); remaining\n"                 \
		 "frames are shown as file+offset"},                               \
	{                                                                          \
		OPTION_SYMBOLIZE_USER, 0, "symbolize-user", "USER",                \
			"when run as root: user for helper processes that\n"       \
			"read programs and write files (default: an unused\n"      \
			"one)"                                                     \
	}

/* Earlier names, hidden. */
#define RECORD_ALIAS_SPECS                                            \
	{OPTION_SYMBOLIZE_LIMIT, 0, "naming-limit", "TIME", NULL},    \
	{                                                             \
		OPTION_SYMBOLIZE_USER, 0, "naming-user", "USER", NULL \
	}

#define RECORD_EVENT_SPECS                                                     \
	{OPTION_EVENT, 'e', "event", "EVENT[,EVENT...]",                       \
	 "sample these events, spelled as for perf, each as\n"                 \
	 "a metric: page-faults, cache-misses:u,\n"                            \
	 "sched:sched_process_*, uprobe:libc:malloc\n"                         \
	 "(default: cycles, else cpu-clock); 'stackwide\n"                     \
	 "events' lists them"},                                                \
		{OPTION_FILTER, 0, "filter", "EXPRESSION",                     \
		 "keep only hits of the preceding -e tracepoints\n"            \
		 "that match, as in the kernel's filters: 'count >\n"          \
		 "4096 && comm ~ \"ng*\"'"},                                   \
		{OPTION_COUNT, 'c', "count", "N",                              \
		 "with -e: sample every N events, bytes or ns (the\n"          \
		 "unit of the event) on average; not for cpu-clock\n"          \
		 "and task-clock (default: at the frequency of -F,\n"          \
		 "ten times that for events that are not clocks)"},            \
		{OPTION_FAULTS, 0, "faults", NULL,                             \
		 "code that touches new memory, in page faults (each\n"        \
		 "maps a page, a huge page or several pages of a\n"            \
		 "file): -e page-faults"},                                     \
		{OPTION_SYSCALLS, 0, "syscalls", NULL,                         \
		 "system calls by name, their number and duration:\n"          \
		 "-e syscalls,syscall-time"},                                  \
		{OPTION_IO, 0, "io", NULL,                                     \
		 "reads and writes of disks, bytes and duration: -e\n"         \
		 "block-io,block-io-time,block-discard"},                      \
		{OPTION_ALLOC, 0, "alloc", NULL,                               \
		 "bytes allocated: -e alloc (one sample per 512 KiB\n"         \
		 "on average; -c 1: every call). Allocators in files\n"        \
		 "mapped later count some milliseconds later, or a\n"          \
		 "second on a busy machine"},                                  \
	{                                                                      \
		OPTION_LIVE, 0, "live", NULL,                                  \
			"memory allocated and not freed by the end, by age:\n" \
			"-e alloc-live"                                        \
	}

/* An argument of --filter. */
struct filter_option {
	size_t event_list; /* number of the preceding -e */
	const char *expression;
};

struct record_options {
	bool wants_system; /* -a */
	ARRAY(pid_t) pids;
	bool leaves_children_out; /* --no-children: skip children of the pids */
	ARRAY(pid_t) tids;
	const char *cgroup_path;
	char **command;   /* the arguments after --; NULL: none */
	bool is_for_user; /* --user: run the command as $SUDO_USER */
	uint32_t frequency_hz;
	ARRAY(const char *) event_lists; /* of -e */
	ARRAY(struct filter_option) filters;
	struct event_list events;      /* found for these; see record_options_find_events() */
	uint64_t event_count;          /* 0: by frequency */
	uint64_t duration_ns;          /* 0: unlimited */
	struct output_options outputs; /* at least one request */
	uint64_t flush_ns;             /* 0: one file */
	const char *stats_path;
	ARRAY(char *) zones_paths; /* of --zones; owned */
	uint64_t symbolize_limit_ns;
	uid_t symbolize_user;
	bool no_kernel_stacks;
	enum user_stacks user_stacks;
	bool no_fp_steps; /* --user-stacks table: never by frame pointer */
	enum runtime_frames runtime_frames;
	bool no_table_cache;
	bool checks_calls;
	bool no_inlines;
	bool records_schedule;
	bool records_off_cpu;
	bool takes_wakers;
	bool takes_futexes;
	bool only_futexes;          /* --locks: skip other waits */
	uint64_t off_cpu_period_ns; /* 0 in the options: use the frequency's */
	uint64_t min_block_ns;      /* of off-CPU time; 0: sample all */
	const char *metric;         /* for outputs with one metric; NULL: the default */
	uint64_t ring_bytes;        /* 0: the default */
};

extern const struct option_spec record_option_specs[];

/*
 * Returns 0, 1 when help was asked for, or negative (usage error, reported). Values are borrowed from
 * argv.
 */
_must_check_ int record_options_parse(struct record_options *options, int argc, char **argv);
/*
 * Functions for other commands with the same options: defaults, one option, the final check. The
 * last two return 0, or negative (usage error, reported).
 */
void record_options_init(struct record_options *options);
_must_check_ int record_options_handle(struct record_options *options, int id, const char *value);
_must_check_ int record_options_check(const struct record_options *options);
void record_options_release(struct record_options *options);

/*
 * After the check: find the events of -e on this machine. Returns 0 or an exit status (reported):
 * EXIT_USAGE, or EXIT_NOT_PERMITTED if the machine lacks an event.
 */
_must_check_ int record_options_find_events(struct record_options *options);

/* Sampling period of a thread's off-CPU time; 0: not sampled. */
uint64_t record_options_get_off_cpu_period_ns(const struct record_options *options);

/* The metric of files with only one. */
const char *record_options_get_metric(const struct record_options *options);

/* The target of -p, -t and --cgroup; the whole system without them. Borrows from the options. */
struct target record_options_get_target(const struct record_options *options);

#endif
