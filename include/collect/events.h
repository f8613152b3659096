/*
 * Events that can be sampled, in perf's spelling, and their meaning on this machine:
 *
 *	page-faults           software, counted by the kernel
 *	cache-misses          hardware, counted by the CPU's PMU
 *	L1-dcache-load-misses the same, of a cache
 *	r01c4                 the same, by its number in the CPU's manual
 *	block:block_rq_issue  a tracepoint, a point in the kernel's code; `*` and `?` match any
 *	…{bytes:By}           the sum of a field of its records, and its unit
 *	cpu-migrations{2:us}  a software event with a constant weight, and its unit
 *	syscalls              each system call; syscall-time: their duration
 *	block-io              bytes read and written by block devices; block-discard: discarded;
 *	                      block-io-time: duration of their requests of all kinds
 *	alloc                 bytes that programs allocate, with any allocator
 *	alloc-live            those of them not freed by the end
 *	uprobe:libc:malloc    a user-chosen point in a program, library or the kernel (probes.h)
 *	…{arg1:By}            the sum of an argument
 *	cpu/event=0x3c/       any device below /sys/bus/event_source, by its names for fields
 *
 * Modifiers follow a colon, or the last slash: u (user mode), k (kernel), h (hypervisor) exclude
 * the modes that are not named; each p asks for a more precise address.
 */
#ifndef COLLECT_EVENTS_H
#define COLLECT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "collect/target.h"

enum event_kind {
	EVENT_SOFTWARE,
	EVENT_HARDWARE,
	EVENT_CACHE,
	EVENT_RAW,
	EVENT_DEVICE,
	EVENT_TRACEPOINT,
	EVENT_SYSTEM_CALL, /* all system calls, by their names */
	EVENT_BLOCK_IO,    /* requests to block devices */
	EVENT_PROBE,
	NUM_EVENT_KINDS,
};
/* A heading: "hardware". A literal. */
const char *event_kind_get_name(enum event_kind kind);

struct probe;

/* Requests to block devices. */
struct event_requests {
	uint32_t kinds; /* bits, by enum wire_request_kind; 0: not an event of requests */
	const char *
		end; /* name of the raw tracepoint at their end, a literal; NULL: they are not weighted by time */
	/* Offsets in the record of their start that identify the request. */
	uint16_t device_offset;
	uint16_t sector_offset;
	/* Offsets of its kind and size. */
	uint16_t letters_offset;
	uint16_t bytes_offset;
	uint16_t num_sectors_offset;
};

/* A requested event. */
struct event {
	char *name; /* as written, without modifiers; for a pattern, the matching name */
	enum event_kind kind;
	/* As in struct perf_event_attr. */
	uint32_t type;
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	/* For a tracepoint: the field with the weight of a hit; 0 bytes: every hit has weight 1. */
	const char *
		tracepoint; /* name of the tracepoint, a literal, if it differs from the event's name; else NULL */
	uint16_t field_offset;
	uint8_t field_bytes;
	bool is_field_signed;
	uint16_t field_scale; /* the weight is the field times this; 0: 1 */
	/* Other tracepoints whose records are the same, and whose hits count, too. */
	uint64_t more_configs[2];
	uint8_t num_more_configs;
	uint64_t hit_weight; /* constant weight of each hit otherwise; 0: 1 */
	/*
	 * Mean of the Poisson process, in units of weight, that picks the samples by default; 0: no
	 * such process.
	 */
	uint64_t mean_distance;
	bool is_live; /* memory samples; only memory not freed by the end counts */
	/*
	 * For a system call weighted by time: tracepoint number of its entry; 0: not weighted by
	 * time.
	 */
	uint64_t start_config;
	struct event_requests requests; /* to block devices */
	struct probe *probe;            /* NULL: not a probe */
	/* `alloc`: skipped files with an allocator: */
	uint32_t num_left_out;       /* of users with many */
	uint32_t num_too_large;      /* with too many functions */
	char *unit;                  /* NULL: a count */
	struct event_filter *filter; /* for a tracepoint; NULL: every hit counts */
	bool leaves_user_out;
	bool leaves_kernel_out;
	bool leaves_hypervisor_out;
	unsigned precision; /* precise_ip, 0 to 3 */
};

/* Whether it measures time or CPU cycles, and so is sampled at a frequency. */
bool event_is_clock(const struct event *event);
/*
 * Whether it is a clock that measures time: it is sampled at the frequency, even if a period is set
 * for other events.
 */
bool event_is_time(const struct event *event);
/* Whether its samples show all CPU time: at a frequency, each represents the same CPU time. */
bool event_shows_cpu_time(const struct event *event);
/*
 * Whether it is a trace event, the kernel's word for tracepoints and probes: a BPF program runs at
 * a code location, on any CPU.
 */
bool event_is_trace_event(const struct event *event);
/* Whether it is of allocations. */
bool event_is_of_allocators(const struct event *event);
/* Unit of its weights: "nanoseconds", "count", or as written. Borrowed from the event. */
const char *event_get_unit(const struct event *event);

/* Maximum per recording; each event loads a program. */
#define MAX_EVENTS 16

struct event_list {
	ARRAY(struct event) events;
};
void event_list_release(struct event_list *list);

/* Paths of the kernel's descriptions of events. */
struct event_paths {
	const char *devices; /* of PMUs: "/sys/bus/event_source/devices" */
	const char *tracing; /* directory of tracefs, "/sys/kernel/tracing"; NULL: no tracefs */
	int tracing_mount; /* descriptor of our private mount; -1: tracefs is mounted already, or missing */
	char tracing_mount_path[32];
};
/*
 * Find the paths on this machine. If tracefs is not mounted, mount it until event_paths_release(),
 * detached from any folder so that nobody else sees it. Mounting needs CAP_SYS_ADMIN.
 */
void event_paths_find(struct event_paths *ret);
void event_paths_release(struct event_paths *paths);

/*
 * Add the events of a comma-separated list, as in the argument of -e.
 *
 * Returns 0 or, with error filled, -EINVAL (error has the word and similar names), -E2BIG (more
 * than MAX_EVENTS), -ENOTSUP (not of this machine), -EACCES (its description is unreadable); or
 * -ENOMEM.
 */
_must_check_ int events_parse(const struct event_paths *paths, const char *text,
			      struct event_list *ret, struct error *error);

/*
 * Restrict the events from index `first` on to hits that match an expression in the kernel's filter
 * syntax (its Documentation/trace/events.rst). Further calls narrow it down.
 *
 * Returns 0 or, with error filled, -EINVAL (error has the position and the expected token, or the
 * event that is no tracepoint), -E2BIG (too many comparisons), -EACCES; or -ENOMEM.
 */
_must_check_ int events_filter(const struct event_paths *paths, const char *expression,
			       size_t first, struct event_list *list, struct error *error);

/* An available event. All strings are borrowed for the call. */
struct event_offer {
	enum event_kind kind;
	const char *name;
	const char *alias;   /* another name for it; NULL: none */
	const char *purpose; /* one line; NULL: unknown */
};

/*
 * Pass all events of this machine to handle(), by kind. Hardware events are tried out first.
 *
 * pattern  `*` and `?` match any; without them, a substring. NULL: all
 *
 * Returns 0, the first nonzero result of handle(), -EACCES (after all others) if tracepoints are
 * not readable, or -ENOMEM.
 */
_must_check_ int events_list(const struct event_paths *paths, const char *pattern,
			     int (*handle)(const struct event_offer *offer, void *context),
			     void *context);

/*
 * Probes among events: user-chosen points in programs, libraries and the kernel, at which the
 * kernel runs our BPF program.
 *
 *	uprobe:/usr/bin/x:function+0x10   function or point of a file, or of an ldconfig library
 *	uprobe:/usr/bin/x:ns::f(int)      the same of C++ and Rust, by mangled or demangled name
 *	uretprobe:libc:malloc{retval:By}  where it returns; the return value is a weight
 *	uretprobe:libc:poll{retval:s32}   the same, with a type; a unit may follow: {retval:s32:By}
 *	usdt:/usr/bin/x:provider:name     a probe that the program's author has defined
 *	kprobe:vfs_read{arg3}             a function of the kernel; an argument is a weight
 *	kretprobe:vfs_read
 *	alloc                             functions of all allocators that the target has mapped,
 *	                                  or may load from ldconfig; the requested size is a weight.
 *	                                  Those mapped later are followed (allocator_follower.h)
 *
 * The kernel replaces the instruction in every process that maps the file, and restores it when the
 * recording ends in any way: a probe lives as long as its perf event, which is a file descriptor.
 *
 * Not thread-safe.
 */

struct probe_search {
	pid_t target; /* files are those in its view; 0: in ours */
	/* Target whose loaded allocators are probed; NULL: none. Borrowed */
	const struct target *allocating;
	char *const *
		command; /* and of the command that is started later: its arguments; NULL: none. Borrowed */
	uid_t worker_user;    /* user of the processes that read the files, if we are root */
	bool lacks_callers;   /* user stacks do, or none are taken */
	const char *kallsyms; /* list of the kernel's functions; NULL: /proc/kallsyms */
};

/*
 * Find the locations of the probes among the events, before a recording starts.
 *
 * Returns 0, -EINVAL (no such file, function or argument), -ENOTSUP (this kernel has no such
 * probes), -EACCES (the file is not readable), with error filled; or another negative errno.
 */
_must_check_ int probes_locate(const struct event_paths *paths, const struct probe_search *search,
			       struct event_list *events, struct error *error);

#endif
