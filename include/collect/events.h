/*
 * Events that can be sampled, spelled as perf spells them, and what these words mean on this machine:
 *
 *	page-faults           software, counted by the kernel
 *	cache-misses          hardware, counted by the CPU's PMU
 *	L1-dcache-load-misses the same, of a cache
 *	r01c4                 the same, by the number that the CPU's manual gives it
 *	block:block_rq_issue  a tracepoint, a point in the kernel's code; `*` and `?` match any
 *	…{bytes:By}           of its records, the sum of a field, and what that is counted in
 *	page-faults{4096:By}  of what the kernel counts, as much for each, and what that is counted in
 *	syscalls              each system call; syscall-time: how long they take
 *	block-io              bytes that block devices read and write; block-discard: that they discard;
 *	                      block-io-time: how long their requests take, of all kinds
 *	alloc                 bytes that programs allocate, by whichever allocator they have
 *	alloc-live            those of them that were not freed by the end
 *	uprobe:libc:malloc    a point in a program, a library or the kernel that somebody names (probes.h)
 *	…{arg1:By}            the sum of an argument
 *	cpu/event=0x3c/       of any device below /sys/bus/event_source, by what it calls its parts
 *
 * Modifiers follow a colon, or the last slash: u (user mode), k (kernel), h (hypervisor) leave out what is not
 * named; each p asks for more precision of where it was.
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
	EVENT_SYSTEM_CALL, /* all of them, by their names */
	EVENT_BLOCK_IO,    /* requests to block devices */
	EVENT_PROBE,
	NUM_EVENT_KINDS,
};
/* A heading: "hardware". A literal. */
const char *event_kind_get_name(enum event_kind kind);

struct probe;

/* Requests to block devices. */
struct event_requests {
	uint32_t kinds; /* bits, by enum wire_request_kind; 0: the event is no requests */
	const char *
		end; /* the raw tracepoint where they end, a literal; NULL: their time is not weighed */
	/* Where the records of their begin say which one it is. */
	uint16_t device_offset;
	uint16_t sector_offset;
	/* And what it does. */
	uint16_t letters_offset;
	uint16_t bytes_offset;
	uint16_t num_sectors_offset;
};

/* An event that was asked for. */
struct event {
	char *name; /* as written, without modifiers; of a pattern, what matched */
	enum event_kind kind;
	/* As in struct perf_event_attr. */
	uint32_t type;
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	/* Of a tracepoint: the field that a hit weighs; 0 bytes: every hit weighs one. */
	const char *
		tracepoint; /* its name, a literal, where the event has another one; NULL: name has it */
	uint16_t field_offset;
	uint8_t field_bytes;
	bool is_field_signed;
	uint64_t hit_weight; /* what each weighs else; 0: one */
	/* Samples are points of a Poisson process over the weight, of this mean where nothing else is asked for; 0: they are not. */
	uint64_t mean_distance;
	bool is_live; /* samples are of memory, and only those count that was not freed in the end */
	/* Of a system call: the number of the tracepoint where it begins, from where its time is weighed; 0: it is not. */
	uint64_t begin_config;
	struct event_requests requests; /* to block devices */
	struct probe *probe;            /* NULL: it is none */
	uint32_t
		num_left_out; /* of `alloc`: files with an allocator, of users that have too many of them */
	char *unit;           /* NULL: it is counted */
	struct event_filter *filter; /* of a tracepoint; NULL: every hit counts */
	bool leaves_user_out;
	bool leaves_kernel_out;
	bool leaves_hypervisor_out;
	unsigned precision; /* precise_ip, 0 to 3 */
};

/* Whether it measures time, or the CPU's work: samples of it are taken so often a second. */
bool event_is_clock(const struct event *event);
/* Of the clocks, those that measure time: their samples come at the frequency, whatever else is counted. */
bool event_is_time(const struct event *event);
/* Whether samples of it say what uses the CPUs, all of it: at a frequency each stands for the same CPU time. */
bool event_shows_cpu_time(const struct event *event);
/*
 * Whether it is a trace event, as the kernel calls tracepoints and probes: code at which a program runs, on whatever
 * CPU.
 */
bool event_is_trace_event(const struct event *event);
/* Of what its samples weigh: "nanoseconds", "count", or what was written. Borrowed from the event. */
const char *event_get_unit(const struct event *event);

/* That a recording may have: a program is loaded for each. */
#define MAX_EVENTS 16

struct event_list {
	ARRAY(struct event) events;
};
void event_list_release(struct event_list *list);

/* Where the kernel describes its events. */
struct event_paths {
	const char *devices; /* of PMUs: "/sys/bus/event_source/devices" */
	const char *tracing; /* directory of tracefs, "/sys/kernel/tracing"; NULL: no tracefs */
	int tracing_mount; /* descriptor of our private mount; -1: tracefs is mounted already, or missing */
	char tracing_mount_path[32];
};
/*
 * Of this machine. Where tracefs is not mounted, it is mounted until event_paths_release(), in no folder, so that nobody else sees it;
 * that takes CAP_SYS_ADMIN.
 */
void event_paths_find(struct event_paths *ret);
void event_paths_release(struct event_paths *paths);

/*
 * Add the events of a list with commas, as an argument of -e has it.
 *
 * Returns 0; -EINVAL (error says which word, and what comes near it), -E2BIG (more than MAX_EVENTS), -ENOTSUP (it
 * may be an event, but not of this machine), -EACCES (what the kernel says of it may not be read), all with error
 * filled; or -ENOMEM.
 */
_must_check_ int events_parse(const struct event_paths *paths, const char *text,
			      struct event_list *ret, struct error *error);

/*
 * Let the events of a list from the index `first` on be those hits alone that an expression matches, in the syntax of
 * the kernel's filters (its Documentation/trace/events.rst). Further ones narrow it down.
 *
 * Returns 0; -EINVAL (error says where in the expression, and what was expected; or which event is no tracepoint), -E2BIG
 * (too many comparisons), -EACCES, all with error filled; or -ENOMEM.
 */
_must_check_ int events_filter(const struct event_paths *paths, const char *expression,
			       size_t first, struct event_list *list, struct error *error);

/* An event that there is. All borrowed for the call. */
struct event_offer {
	enum event_kind kind;
	const char *name;
	const char *alias;   /* another name for it; NULL: none */
	const char *purpose; /* what it is good for, a line; NULL: it is not known */
};

/*
 * Give handle() all that this machine offers, by kind. Hardware is asked whether it counts them.
 *
 * pattern  `*` and `?` match any; without them it is searched for. NULL: all
 *
 * Returns 0, what handle() returned if that was not 0, -EACCES after all others where tracepoints may not be read, or
 * -ENOMEM.
 */
_must_check_ int events_list(const struct event_paths *paths, const char *pattern,
			     int (*handle)(const struct event_offer *offer, void *context),
			     void *context);

/*
 * Probes among events: points in programs, libraries and the kernel that somebody names, at which the kernel then
 * runs a program of ours.
 *
 *	uprobe:/usr/bin/x:function+0x10   a function, or a point in it; of a file, or of a library as ldconfig knows it
 *	uprobe:/usr/bin/x:ns::f(int)      the same of C++ and Rust, by its mangled or its demangled name
 *	uretprobe:libc:malloc{retval:By}  where it returns; what it returns is a weight
 *	uretprobe:libc:poll{retval:s32}   the same, of a type; with a unit {retval:s32:By}
 *	usdt:/usr/bin/x:provider:name     where its author has left a note
 *	kprobe:vfs_read{arg3}             a function of the kernel; an argument is a weight
 *	kretprobe:vfs_read
 *	alloc                             the functions of all allocators that the target has mapped, or will as far as ldconfig
 *	                                  knows them; the size that is asked for is a weight
 *
 * The kernel replaces the instruction in every process that maps the file, and puts it back when the recording ends,
 * however that does: a probe lives as long as its perf event, which is a file descriptor.
 *
 * Not thread-safe.
 */

struct probe_search {
	pid_t target; /* files are those that it sees; 0: those that we see */
	/* Whose allocators are looked for, as far as they run already; NULL: nobody's. Borrowed */
	const struct target *allocating;
	char *const *
		command; /* and whose that is started later, as an argument vector; NULL: nobody's. Borrowed */
	uid_t worker_user;    /* whom the processes become that read the files, if we are root */
	const char *kallsyms; /* where the kernel's functions are listed; NULL: /proc/kallsyms */
};

/*
 * Find out where the probes among the events lie, before any recording begins.
 *
 * Returns 0; -EINVAL (there is no such file, function or argument), -ENOTSUP (this kernel has no such probes),
 * -EACCES (the file may not be read), with error filled; or another negative errno.
 */
_must_check_ int probes_locate(const struct event_paths *paths, const struct probe_search *search,
			       struct event_list *events, struct error *error);

#endif
