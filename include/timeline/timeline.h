/*
 * The timeline: events by time, thread and stack region. The second noun that all stages share,
 * beside the profile.
 *
 * A region is a range of memory that code executes on: a thread's stack, a fiber's. A zone is a
 * stretch of execution that the program itself reports; zones belong to regions, not to threads,
 * and those of one region nest. An occupancy is the time that a thread was on a region; those of
 * one region do not overlap, nor do those of one thread. Fill is the number of used bytes of a
 * region: those between its end, where the stack starts, and the stack pointer.
 *
 * Times are nanoseconds of CLOCK_BOOTTIME. Strings are ids of the timeline's string table; ids of
 * every kind are dense, from 0. Items are stored as they are added: zones in order of start within
 * each region, occupancies in order within each region; across regions in any.
 *
 * Items of one kind are borrowed until the next add of that kind. Every add returns 0 or -ENOMEM
 * unless stated otherwise. No I/O. Not thread-safe; several timelines may be used in parallel.
 */
#ifndef TIMELINE_TIMELINE_H
#define TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "profile/string_table.h"

#define TIMELINE_NONE UINT32_MAX

struct timeline;

/* A process image. pid and start together distinguish a reused pid, and an exec. */
struct timeline_process {
	uint32_t pid;          /* 0: not in the input */
	uint32_t parent_pid;   /* of the process that had it when this one started; 0: not known */
	uint32_t name;         /* string */
	uint32_t command_line; /* string; empty: not known */
	uint32_t uid;
	bool has_uid;
	uint64_t start_ns;
	uint64_t end_ns; /* after all of its events; 0: it did not end, or unknown */
};

/* Name of a thread that no input has named. */
#define TIMELINE_UNNAMED_THREAD "Unknown"

struct timeline_thread {
	uint32_t process;
	uint32_t name;     /* string */
	uint64_t tid;      /* the program's id for it: the kernel's tid, or any number */
	uint64_t start_ns; /* 0: not known. Distinguishes threads with the same tid */
	uint64_t named_ns; /* time of the name; 0: not known; UINT64_MAX: named by zones */
};

enum region_kind {
	REGION_DECLARED, /* the program or the kernel reported its bounds */
	REGION_IMPLICIT, /* guessed from a pointer; see timeline/region_map.h */
	REGION_PARTIAL,  /* the end is known; `start` is the lowest address known to belong to it */
};

/* [start, end); the stack grows from end down. */
struct stack_region {
	uint64_t start; /* of an implicit region: the lowest pointer seen */
	uint64_t end;
	uint32_t process;
	uint32_t name; /* string */
	uint8_t kind;  /* enum region_kind */
};

struct source_location {
	uint32_t name; /* string: name of a zone that starts there */
	uint32_t function;
	uint32_t file;
	uint32_t line;
};

struct zone {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t pointer; /* into the region; tells open zones apart */
	uint32_t region;
	uint32_t thread; /* the thread at its start */
	uint32_t parent; /* the zone around it, on the same region; TIMELINE_NONE */
	uint32_t location;
	uint32_t name;           /* string */
	uint32_t last_attribute; /* of a ring, see timeline_next_attribute(); new: TIMELINE_NONE */
};

enum attribute_kind {
	ATTRIBUTE_PARAMETER,
	ATTRIBUTE_CATEGORY,         /* value.string */
	ATTRIBUTE_FLOW,             /* value.u64: all zones with this number, in order of time */
	ATTRIBUTE_TERMINATING_FLOW, /* the same, and the flow ends here */
};

enum value_type { VALUE_STRING, VALUE_BOOL, VALUE_I64, VALUE_U64, VALUE_DOUBLE };

struct zone_attribute {
	union {
		uint32_t string; /* id */
		bool boolean;
		int64_t i64;
		uint64_t u64;
		double number;
	} value;
	uint32_t name; /* string; of a parameter */
	uint32_t next; /* set by the timeline */
	uint8_t kind;  /* enum attribute_kind */
	uint8_t type;  /* enum value_type; of a parameter */
};

struct occupancy {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t pointer; /* the first one seen; 0 when unknown */
	uint32_t region;
	uint32_t thread;
};

/* An occupancy from a source, which knows the next ones. */
struct numbered_occupancy {
	struct occupancy occupancy;
	uint32_t number;     /* in order of end; those of one region are in order */
	bool is_handed_over; /* the next one of its region is another thread's */
};

/* A fill that no zone reports: from the stack pointer of a sample, or 0 when a region is left. */
struct region_fill {
	uint64_t time_ns;
	uint64_t bytes;
	uint32_t region;
};

/* The number of a process's regions with open zones from this time on. In order of time. */
struct regions_in_use {
	uint64_t time_ns;
	uint64_t bytes; /* the size of those that are declared */
	uint32_t number;
	uint32_t process;
};

struct counter_track {
	uint32_t process;
	uint32_t name; /* string */
	uint32_t unit; /* string; empty: just a value */
};

struct counter_value {
	uint64_t time_ns;
	union {
		int64_t i64;
		double number;
	} value;
	uint32_t track;
	uint8_t type; /* VALUE_I64 or VALUE_DOUBLE */
};

/* A name that a thread had before the one that struct timeline_thread has. */
struct thread_name {
	uint32_t thread;
	uint32_t name;     /* string */
	uint64_t until_ns; /* the thread's next name is that of a later item, or the last one */
};

enum task_event_kind {
	TASK_FORK,   /* the thread made a process */
	TASK_EXEC,   /* the thread started a program, the first one of its process */
	TASK_EXIT,   /* the thread was the first one of its process, which ended */
	TASK_RENAME, /* the thread got another name */
};

/* Something that happened to a thread, at a moment. */
struct task_event {
	uint64_t time_ns;
	uint32_t thread;
	uint32_t child_pid; /* of a fork */
	uint32_t name;      /* string, of an exec and a rename: the name from then on */
	uint8_t kind;       /* enum task_event_kind */
};

/* The next state of a thread that leaves its CPU, as the tracepoint sched_switch encodes it. */
#define TASK_STATE_PREEMPTED 0x100

struct sched_switch {
	uint64_t time_ns;
	int32_t previous_tid;
	int32_t next_tid;      /* 0: idle */
	int32_t next_priority; /* as the kernel counts: 120 is nice 0 */
	uint32_t next_name;    /* string */
	uint32_t cpu;
	uint16_t previous_state; /* the tracepoint's bits; 0: still runnable */
};

struct sched_waking {
	uint64_t time_ns;
	int32_t tid;
	int32_t priority;
	uint32_t name; /* string */
	uint32_t cpu;  /* of the waker, which is the thread that runs there then */
	uint32_t target_cpu;
	bool is_in_interrupt; /* an interrupt woke it, not the thread that it interrupted */
};

enum kwork_kind {
	KWORK_IRQ,       /* the handler of an interrupt */
	KWORK_SOFTIRQ,   /* work that a handler has left for later */
	KWORK_WORKQUEUE, /* an item of a workqueue, by a thread, which may sleep meanwhile */
};

/* Work of the kernel that belongs to no thread. */
struct timeline_kwork {
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t cpu;    /* CPU of its end */
	uint32_t number; /* of the interrupt, or the softirq's kind; tid of the thread */
	uint32_t name;   /* string: of an interrupt's handler, of an item's function */
	uint8_t kind;    /* enum kwork_kind */
};

struct schedule_event {
	bool is_wakeup;
	union {
		struct sched_switch on_cpu;
		struct sched_waking wakeup;
	};
};

/*
 * Items that are too many for memory: read one after another, as often as wanted.
 */
struct timeline_source {
	/* Start over: the next item is the first one. Returns 0 or negative errno. */
	int (*rewind)(void *context);
	/* Returns 1 and the item, 0 after the last, or negative errno. */
	int (*next)(void *context, void *ret);
	void (*free)(void *context); /* NULL: the context is borrowed; else the timeline owns it */
	void *context;
};

enum sample_mode { SAMPLE_MODE_UNKNOWN, SAMPLE_MODE_KERNEL, SAMPLE_MODE_USER };

/* A sample in time; its stack is an id of the profile that belongs to the timeline. */
struct timeline_sample {
	uint64_t time_ns;
	uint64_t weight;
	uint32_t thread;
	uint32_t stack;
	uint16_t cpu;
	uint8_t metric;        /* of the profile: metric of the weight */
	uint8_t mode : 4;      /* enum sample_mode */
	bool is_truncated : 1; /* the stack lacks its outer end */
};

enum off_cpu_state {
	OFF_CPU_BLOCKED,         /* it waited for an event */
	OFF_CPU_UNINTERRUPTIBLE, /* the same, and no signal could wake it */
	OFF_CPU_PREEMPTED,       /* it wanted to run on */
};

/*
 * An interval that a thread was off its CPU, of those that were sampled. Those of one thread do not
 * overlap. The weights are those of its samples, more or less than its duration.
 */
struct timeline_wait {
	uint64_t start_ns;  /* when it left its CPU, or the start of the recording */
	uint64_t queued_ns; /* it was woken, and waited for a CPU from then on; else end_ns */
	uint64_t end_ns;    /* when it got one, or the recording ended */
	uint64_t weight;
	uint64_t queue_weight;
	uint32_t thread;
	uint32_t stack;       /* of the profile: where it waited */
	uint32_t waker_name;  /* string: name of the waker; empty: unknown, and so below */
	uint32_t waker_stack; /* of the profile */
	uint32_t waker; /* thread; TIMELINE_NONE: an interrupt, or no thread of the timeline */
	uint8_t state;  /* enum off_cpu_state */
};

/* The same moment on several clocks; the first at the start, again when they drift apart. */
struct clock_snapshot {
	uint64_t boottime_ns;
	uint64_t monotonic_ns;
	uint64_t realtime_ns;
};

/* The machine of the timeline; unknown values are 0 or the empty string. */
struct timeline_system {
	uint32_t kernel_release; /* strings */
	uint32_t kernel_version;
	uint32_t machine;
	uint32_t num_cpus;
	uint32_t sample_metric;    /* string: "cpu-clock" */
	uint32_t sample_frequency; /* Hz */
};

struct timeline *timeline_new(void); /* NULL when out of memory */
void timeline_free(struct timeline *timeline);
static inline void timeline_freep(struct timeline **timeline)
{
	timeline_free(*timeline);
}

_must_check_ int timeline_add_string(struct timeline *timeline, const char *string, uint32_t *ret);
_must_check_ int timeline_add_bytes(struct timeline *timeline, const char *string, size_t length,
				    uint32_t *ret);

/* The most items thread_name of a recording. */
#define TIMELINE_MAX_THREAD_NAMES (1u << 20)
/*
 * Rename a thread from this time on, unless it has a later name, or one of zones. A
 * name that it had before is kept as an item thread_name. Returns 0, 1 (there are too many of these
 * to keep it) or -ENOMEM.
 */
_must_check_ int timeline_rename_thread(struct timeline *timeline, uint32_t thread,
					const char *name, uint64_t time_ns);
const char *timeline_get_string(const struct timeline *timeline, uint32_t id);
struct string_table *timeline_get_strings(const struct timeline *timeline);

/*
 * Each gives a copy of *item the next id, and the id to *ret (which may be NULL). Ids inside an
 * item must exist.
 */
#define TIMELINE_ITEMS(name, type)                                                               \
	_must_check_ int timeline_add_##name(struct timeline *timeline, const struct type *item, \
					     uint32_t *ret);                                     \
	struct type *timeline_get_##name(const struct timeline *timeline, uint32_t id);          \
	uint32_t timeline_count_##name(const struct timeline *timeline);

TIMELINE_ITEMS(process, timeline_process)
TIMELINE_ITEMS(thread, timeline_thread)
TIMELINE_ITEMS(thread_name, thread_name)
TIMELINE_ITEMS(region, stack_region)
TIMELINE_ITEMS(location, source_location)
TIMELINE_ITEMS(zone, zone)
TIMELINE_ITEMS(occupancy, occupancy)
TIMELINE_ITEMS(fill, region_fill)
TIMELINE_ITEMS(in_use, regions_in_use)
TIMELINE_ITEMS(counter_track, counter_track)
TIMELINE_ITEMS(counter_value, counter_value)
TIMELINE_ITEMS(task_event, task_event)
TIMELINE_ITEMS(switch, sched_switch)
TIMELINE_ITEMS(wakeup, sched_waking)
TIMELINE_ITEMS(kwork, timeline_kwork)
TIMELINE_ITEMS(sample, timeline_sample)
TIMELINE_ITEMS(wait, timeline_wait)
TIMELINE_ITEMS(clock, clock_snapshot)

#undef TIMELINE_ITEMS

/* Add one more attribute to a zone. A parameter of a name that the zone has replaces its value. */
_must_check_ int timeline_add_attribute(struct timeline *timeline, uint32_t zone,
					const struct zone_attribute *attribute);
/*
 * The attributes of a zone in the order they were added: the first for NULL, then the one after
 * `attribute`; NULL after the last.
 */
const struct zone_attribute *timeline_next_attribute(const struct timeline *timeline, uint32_t zone,
						     const struct zone_attribute *attribute);

/* The id of an ended zone becomes free for the next one, and its attributes are gone. */
_must_check_ int timeline_remove_zone(struct timeline *timeline, uint32_t zone);

/*
 * Takes items as soon as they are known, if they are too many to keep. The trackers then do not add
 * them to the timeline, which holds only the open ones, and the items that they refer to:
 * processes, threads, regions, locations, counter tracks. All functions return 0 or negative errno,
 * which ends the work.
 */
struct timeline_consumer {
	/* The zone is the timeline's until it has ended; its parent still exists then. */
	int (*start_zone)(void *context, uint32_t zone);
	int (*end_zone)(void *context, uint32_t zone);
	/* For an open zone. */
	int (*rename_zone)(void *context, uint32_t zone, const char *name, size_t length);
	/* Its value is `string` if it is a string; that is not one of the timeline. */
	int (*add_attribute)(void *context, uint32_t zone, const struct zone_attribute *attribute,
			     const char *string, size_t length);
	/* When an occupancy starts, its end is not known yet. */
	int (*start_occupancy)(void *context, const struct occupancy *occupancy);
	int (*end_occupancy)(void *context, const struct occupancy *occupancy);
	/*
	 * A region's first zone starts, or its last one ends; for any region, in any order of time.
	 */
	int (*change_use)(void *context, uint32_t region, uint64_t time_ns, bool is_start);
	/* No more changes of the process follow. */
	int (*finish_uses)(void *context, uint32_t process);
	int (*add_counter_value)(void *context, const struct counter_value *value);
	void *context;
};

/*
 * Borrowed; NULL: no more consumer. Before the first zone, or when only occupancies are yet to be
 * added.
 */
void timeline_set_consumer(struct timeline *timeline, const struct timeline_consumer *consumer);
/* May return NULL. */
const struct timeline_consumer *timeline_get_consumer(const struct timeline *timeline);

void timeline_set_system(struct timeline *timeline, const struct timeline_system *system);
const struct timeline_system *timeline_get_system(const struct timeline *timeline);

/*
 * A source of more items than were added: struct schedule_event in order of time, timeline_sample,
 * region_fill, timeline_wait, timeline_kwork, task_event. Its items follow the added ones. Takes
 * ownership as the source requires.
 */
void timeline_set_schedule(struct timeline *timeline, const struct timeline_source *source);
void timeline_set_samples(struct timeline *timeline, const struct timeline_source *source);
void timeline_set_fills(struct timeline *timeline, const struct timeline_source *source);
void timeline_set_waits(struct timeline *timeline, const struct timeline_source *source);
void timeline_set_kworks(struct timeline *timeline, const struct timeline_source *source);
void timeline_set_task_events(struct timeline *timeline, const struct timeline_source *source);
/*
 * struct numbered_occupancy in order of start (occupancy_compare_starts()), in place of all that
 * were added, as the source knows better; none is added afterwards.
 */
void timeline_set_occupancies(struct timeline *timeline, const struct timeline_source *source);
/* May return NULL. */
const struct timeline_source *timeline_get_schedule(const struct timeline *timeline);
const struct timeline_source *timeline_get_occupancies(const struct timeline *timeline);

/*
 * Read all items of a kind, those of the source too: start with *position 0. One reader at a time.
 * Occupancies are in no order; for that there is occupancy_walk. Returns 1 and the item, 0 after
 * the last, or negative errno of the source.
 */
_must_check_ int timeline_next_sample(const struct timeline *timeline, uint64_t *position,
				      struct timeline_sample *ret);
_must_check_ int timeline_next_fill(const struct timeline *timeline, uint64_t *position,
				    struct region_fill *ret);
_must_check_ int timeline_next_wait(const struct timeline *timeline, uint64_t *position,
				    struct timeline_wait *ret);
_must_check_ int timeline_next_kwork(const struct timeline *timeline, uint64_t *position,
				     struct timeline_kwork *ret);
_must_check_ int timeline_next_task_event(const struct timeline *timeline, uint64_t *position,
					  struct task_event *ret);
_must_check_ int timeline_next_occupancy(const struct timeline *timeline, uint64_t *position,
					 struct occupancy *ret);

/* No zone, counter value, occupancy, switch or sample, and no source of any. */
bool timeline_is_empty(const struct timeline *timeline);

/*
 * Whether the clocks of two snapshots have advanced by different amounts, so that they must be
 * compared again: while a machine sleeps, CLOCK_MONOTONIC stops and CLOCK_BOOTTIME goes on; and
 * CLOCK_REALTIME may be set.
 */
bool clock_has_jumped(const struct clock_snapshot *before, const struct clock_snapshot *after);

#endif
