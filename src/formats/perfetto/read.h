/*
 * What the parts of the reader of Perfetto traces share: read.c reads packets, read_clocks.c
 * their times, read_interned.c what they refer to by number, read_threads.c, read_tracks.c and
 * read_owners.c who is who, read_samples.c, read_events.c, read_waits.c and read_sched.c what happened,
 * and read_zones.c makes zones of events.
 *
 * Field numbers are those of google/perfetto v55.3; perfetto.proto has those that stackwide
 * writes.
 */
#ifndef FORMATS_PERFETTO_READ_H
#define FORMATS_PERFETTO_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/text.h"
#include "formats/import.h"
#include "formats/perfetto/event_type.h"
#include "formats/protobuf_reader.h"
#include "timeline/timeline.h"

/* Ids from here on are our writer's invention: the number is not known. */
#define PERFETTO_SYNTHETIC_ID 2000000000u

#define PERFETTO_NONE     UINT32_MAX
#define PERFETTO_BOOTTIME 6 /* the clock */

/* What all parts of the reader know. */
struct perfetto_trace {
	struct import *import;     /* borrowed */
	struct timeline *timeline; /* of the import; where it wants none, for the reader alone */
	size_t offset;             /* in the file, of the packet that is being read */
	uint64_t num_bytes;        /* of packets, decompressed: bounds what is kept of them */
};

/* ---- what is referred to by number -------------------------------------------------------- */

/* By field of InternedData. */
enum perfetto_interned_kind {
	PERFETTO_INTERNED_CATEGORY = 1, /* these are strings of the timeline */
	PERFETTO_INTERNED_EVENT_NAME = 2,
	PERFETTO_INTERNED_ANNOTATION_NAME = 3,
	PERFETTO_INTERNED_STRING_VALUE = 29,
	PERFETTO_INTERNED_KERNEL_SYMBOL = 26,
	PERFETTO_INTERNED_SOURCE_LOCATION = 4,
	PERFETTO_INTERNED_FUNCTION = 5, /* these are strings of the profile */
	PERFETTO_INTERNED_SHORT_NAME =
		1000, /* no field: a part of the function of the same number */
	PERFETTO_INTERNED_BUILD_ID = 16,
	PERFETTO_INTERNED_PATH = 17,
	PERFETTO_INTERNED_SOURCE_PATH = 18,
	PERFETTO_INTERNED_MAPPING = 19,
	PERFETTO_INTERNED_FRAME = 6,
	PERFETTO_INTERNED_CALLSTACK = 7, /* stacks of the profile */
};

struct perfetto_source {
	uint32_t function; /* strings of the timeline */
	uint32_t file;
	uint32_t line;
};

struct perfetto_entry {
	uint64_t iid;
	uint32_t kind;
	uint32_t value;
};
INTERN_TABLE(perfetto_entries, struct perfetto_entry, kind, iid);

struct perfetto_mapping {
	uint32_t path; /* strings of the profile */
	uint32_t build_id;
	uint64_t load_bias; /* what ELF addresses are above file offsets */
	bool has_load_bias;
};

struct perfetto_frame {
	struct frame frame;
	uint64_t address;
	uint32_t mapping; /* PERFETTO_NONE */
	bool has_address;
	bool is_elf_address;  /* of ours; those of others are */
	bool is_unsymbolized; /* its address is all that is known: see read_code.c */
};

/* Of one sequence, until its state is cleared. */
struct perfetto_interned {
	struct perfetto_entries entries;
	ARRAY(struct perfetto_source) sources;
	ARRAY(struct perfetto_mapping) mappings;
	ARRAY(struct perfetto_frame) frames;
};

struct perfetto_interned *perfetto_interned_new(void); /* NULL when out of memory */
void perfetto_interned_free(struct perfetto_interned *interned);
/* PERFETTO_NONE when the sequence has told of none, or `interned` is NULL. */
uint32_t perfetto_interned_find(const struct perfetto_interned *interned,
				enum perfetto_interned_kind kind, uint64_t iid);
/* NULL when there is none. */
const struct perfetto_source *perfetto_interned_find_source(
	const struct perfetto_interned *interned, uint64_t iid);

_must_check_ int perfetto_interned_put(struct perfetto_interned *interned,
				       enum perfetto_interned_kind kind, uint64_t iid,
				       uint32_t value);

/* ---- sequences ---------------------------------------------------------------------------- */

struct perfetto_clock {
	uint32_t id;
	bool is_incremental;
	uint64_t multiplier; /* nanoseconds of its unit */
	uint64_t offset_ns;  /* to add for CLOCK_BOOTTIME, modulo 2^64 */
	uint64_t last_ns;    /* of an incremental clock */
};

/* One writer of packets. */
struct perfetto_sequence {
	uint32_t id;
	bool is_valid;          /* its state is complete: nothing was lost since it was cleared */
	bool is_ours;           /* stackwide's samples: see perfetto.proto */
	uint32_t default_clock; /* 0: none */
	uint64_t default_track;
	uint32_t metric_name; /* strings of the profile */
	uint32_t metric_unit;
	uint32_t frequency; /* of a recording, in Hz; 0: none */
	uint32_t metric;    /* of the profile; PERFETTO_NONE before its first sample */
	uint32_t pid;       /* of the thread whose sequence it is */
	uint32_t tid;
	ARRAY(struct perfetto_clock) clocks;
	struct perfetto_interned *interned; /* NULL before it has told of anything */
};
INTERN_TABLE(perfetto_sequence_table, struct perfetto_sequence, id);

struct perfetto_sequences {
	struct perfetto_trace *trace; /* borrowed */
	struct perfetto_sequence_table items;
	uint32_t last; /* that was found */
};

/* Those of all sequences. */
struct perfetto_clocks {
	struct perfetto_trace *trace; /* borrowed */
	ARRAY(struct perfetto_clock) items;
};

/* ---- who and where ------------------------------------------------------------------------ */

struct perfetto_process {
	uint32_t pid;
	uint32_t name;     /* string of the timeline */
	uint64_t since_ns; /* from when on the pid means this one */
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t parent_pid;
	uint32_t command_line; /* string of the timeline */
	uint32_t uid;
	bool has_uid;
	bool is_group;    /* ours: no process, but the place of the threads of others */
	bool is_grouped;  /* ours: one of these others */
	uint32_t order;   /* in the file */
	uint32_t process; /* of the timeline; TIMELINE_NONE before it is used */
};

struct perfetto_thread {
	uint32_t pid;
	uint32_t grouped_pid; /* of its process, where pid is a group's; 0: it is none */
	uint32_t tid;
	uint32_t name; /* string of the timeline */
	uint64_t since_ns;
	uint32_t order;
	bool has_name;   /* be it an empty one */
	uint32_t thread; /* of the timeline; TIMELINE_NONE before it is used */
};

/* A process or thread that nothing describes. */
struct perfetto_unknown {
	uint32_t pid;
	uint32_t tid; /* of a thread */
	bool is_thread;
	uint32_t item; /* of the timeline */
};
INTERN_TABLE(perfetto_unknown_table, struct perfetto_unknown, is_thread, pid, tid);

/* Processes and threads. */
struct perfetto_threads {
	struct perfetto_trace *trace;             /* borrowed */
	ARRAY(struct perfetto_process) processes; /* by pid and time, once all are there */
	ARRAY(struct perfetto_thread) items;      /* by pid, tid and time */
	struct perfetto_unknown_table unknown;
	ARRAY(uint32_t) profile_threads; /* by thread of the timeline; their ids plus one */
	ARRAY(uint32_t) profile_processes;
};

/* What a track is for; the later ones are of our own traces. */
enum perfetto_role {
	PERFETTO_TRACK,
	PERFETTO_COUNTER,
	PERFETTO_REGION,     /* slices say who is on it */
	PERFETTO_ZONES,      /* of a region */
	PERFETTO_FILL,       /* of a region */
	PERFETTO_NUM_STACKS, /* regions in use */
	PERFETTO_SIZE_STACKS,
	PERFETTO_STACK_IN_USE, /* tells nothing that regions do not */
	PERFETTO_WAITS,        /* of a thread */
};

struct perfetto_track {
	uint64_t uuid;
	uint64_t parent_uuid;
	uint64_t region_begin; /* of a region's track */
	uint64_t region_end;
	uint32_t name;    /* strings of the timeline */
	uint32_t unit;    /* of a counter */
	uint32_t process; /* index; PERFETTO_NONE: not that of a process */
	uint32_t thread;  /* the same */
	uint32_t
		item; /* region, counter or last wait of the timeline; TIMELINE_NONE before it is used */
	uint32_t owner; /* thread of the timeline that slices are of; TIMELINE_NONE: not yet */
	uint32_t first_event; /* of its slices; PERFETTO_NONE */
	uint32_t last_event;
	uint32_t first_occupancy; /* of a region, in the timeline */
	uint32_t num_occupancies;
	int64_t multiplier;
	int64_t sum; /* of an incremental counter */
	bool is_counter;
	bool is_incremental;
	bool is_unsorted;
	bool is_guessed; /* the bounds of a region */
	bool is_queued;  /* of waits: the last slice was one of a run queue */
	uint8_t role;    /* enum perfetto_role */
};
INTERN_TABLE(perfetto_tracks_by_uuid, struct perfetto_track, uuid);

struct perfetto_track_table {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	struct perfetto_tracks_by_uuid items;
	uint32_t last; /* that was found */
};

/* A TrackEvent: its numbers by field. */
struct perfetto_track_event {
	uint64_t type;
	uint64_t track;
	uint32_t name; /* string of the timeline */
	uint32_t function;
	uint32_t file;
	uint32_t line;
	uint64_t extra_counter;
	uint64_t duration_ns; /* of a complete event, which has the type of a begin */
	uint64_t callstack;   /* iid; 0: none */
	struct bytes named_stack;
	bool is_complete;
	bool is_floating;
	bool has_value;
	int64_t value;
	double floating_value;
};

/* A slice begins or ends. */
struct perfetto_event {
	uint64_t time_ns;
	uint64_t end_ns; /* of a slice that is told at once; else 0 */
	uint64_t fill_bytes;
	uint32_t location;  /* of the timeline; TIMELINE_NONE: an end */
	uint32_t attribute; /* the last one's place + 1; 0: none */
	uint32_t next;      /* on its track */
};

struct perfetto_attribute {
	struct zone_attribute attribute; /* .next is the place + 1 of the one before */
};

/* Names of an address that were found later. */
struct perfetto_symbol {
	uint32_t path; /* strings of the profile */
	uint32_t build_id;
	uint64_t address;
	uint32_t first_line; /* in perfetto_symbols.lines; innermost first */
	uint32_t num_lines;
};
INTERN_TABLE(perfetto_symbol_table, struct perfetto_symbol, path, build_id, address);

struct perfetto_symbols {
	struct perfetto_trace *trace; /* borrowed */
	struct perfetto_symbol_table items;
	ARRAY(struct frame) lines;
};

/* Turns mappings, frames and callstacks into what a profile has. */
struct perfetto_code {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_symbols *symbols; /* borrowed */
	struct hash_index modules;        /* of the profile, by path and build ID */
	ARRAY(uint32_t) stack;            /* frames of the callstack that is being read */
	ARRAY(struct frame) frames;
	struct text text;
};

/* What a process has allocated at a stack, by the last dump. */
struct perfetto_heap_stack {
	uint32_t pid;
	uint32_t heap;  /* string of the profile */
	uint32_t stack; /* of the profile */
	uint32_t dump;  /* number of the last one that told of it */
	uint64_t time_ns;
	uint64_t values[6]; /* by metric */
};
INTERN_TABLE(perfetto_heap_stacks, struct perfetto_heap_stack, pid, heap, stack);

struct perfetto_samples {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	uint32_t num_metrics;
	uint64_t num_stackless;   /* samples whose stack nothing told of */
	struct sampling sampling; /* of our recording: sums, and what its samples have in common */
	uint64_t first_ns;        /* of the recording's samples */
	uint64_t last_ns;
};

/* The last instant that told of a wakeup; the wait that it ended comes next. */
struct perfetto_wakeup {
	uint64_t flow;   /* 0: there was none */
	uint32_t thread; /* of the timeline, on whose track it was */
	uint32_t stack;
	uint32_t waker_name; /* string of the timeline */
};

/* Slices, until all are there and become zones and occupancies. */
struct perfetto_slices {
	struct perfetto_trace *trace;        /* borrowed */
	struct perfetto_track_table *tracks; /* borrowed */
	struct perfetto_samples *samples;    /* borrowed: events with stacks are some */
	struct perfetto_code *code;          /* borrowed */
	ARRAY(struct perfetto_event) events;
	ARRAY(struct perfetto_attribute) attributes;
	struct hash_index locations; /* of the timeline */
	uint32_t first_zone;         /* of the timeline, that is this trace's */
	uint64_t last_ns;            /* time of the last event */
	uint64_t num_skipped;        /* ends without a begin, and what is too much */
	uint64_t num_stacks;         /* of slices: a timeline has no place for them */
	struct perfetto_wakeup wakeup;
	struct text text;
};

struct perfetto_heaps {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_samples *samples; /* borrowed: counts stacks that are not there */
	struct perfetto_code *code;       /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	struct perfetto_heap_stacks stacks;
	uint32_t num_dumps; /* that have begun */
	uint64_t num_truncated;
	struct text text;
};

struct perfetto_sched_event {
	struct schedule_event event;
	size_t order; /* in which it was read, for events of the same time */
};

/* Of the kernel's own work, the last of a kind on a CPU, or of a thread, that began. */
struct perfetto_kwork {
	uint32_t kind;  /* enum kwork_kind */
	uint32_t owner; /* the CPU; of an item of a workqueue the thread's tid */
	uint64_t begin_ns;
	uint32_t name; /* string of the timeline */
	bool is_open;
};
INTERN_TABLE(perfetto_kworks, struct perfetto_kwork, kind, owner);

#define PERFETTO_MAX_CPUS 65536u

/* Scheduling, until all of it is there and becomes part of the timeline. */
struct perfetto_sched {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	ARRAY(struct perfetto_sched_event) events;
	struct perfetto_kworks kworks;
	uint64_t num_unread; /* other events of the kernel */
};

/* A packet, as far as all kinds are alike. */
struct perfetto_packet {
	struct perfetto_sequence *sequence; /* NULL: it has none */
	uint64_t time_ns;
	bool has_time;
};

/* Whether there may be one more of something of which there are `count`. */
static inline bool perfetto_has_room(const struct perfetto_trace *trace, size_t count,
				     unsigned int bytes_each)
{
	return count < 65536 + trace->num_bytes / bytes_each;
}

static inline int perfetto_add_string(struct perfetto_trace *trace, struct bytes string,
				      uint32_t *ret)
{
	return timeline_add_bytes(trace->timeline, string.size ? (const char *)string.data : "",
				  string.size, ret);
}

/* A number that the sequence has not told (its packet was lost) gives the empty string. */
static inline uint32_t perfetto_find_string(const struct perfetto_packet *packet,
					    enum perfetto_interned_kind kind, uint64_t iid)
{
	uint32_t string = packet->sequence
				  ? perfetto_interned_find(packet->sequence->interned, kind, iid)
				  : PERFETTO_NONE;

	return string == PERFETTO_NONE ? STRING_EMPTY : string;
}

static inline int perfetto_add_profile_string(struct perfetto_trace *trace, struct bytes string,
					      uint32_t *ret)
{
	return string_table_add(profile_get_strings(trace->import->profile),
				string.size ? (const char *)string.data : "", string.size, ret);
}

/* All below return as format.read where nothing else is said. */

/* read_clocks.c: the sequence may be NULL. */
_must_check_ int perfetto_clocks_read_snapshot(struct perfetto_clocks *clocks,
					       struct perfetto_sequence *sequence,
					       struct bytes message);
/* As nanoseconds of CLOCK_BOOTTIME; clock 0 is that one. An incremental clock moves on. */
uint64_t perfetto_clocks_convert(struct perfetto_clocks *clocks, struct perfetto_sequence *sequence,
				 uint64_t clock, uint64_t time);
void perfetto_clocks_release(struct perfetto_clocks *clocks);

/* read_sequences.c: NULL when out of memory, or when there are too many. */
struct perfetto_sequence *perfetto_sequences_find(struct perfetto_sequences *sequences,
						  uint32_t id);
/* What it has told is no longer valid. */
void perfetto_sequence_clear(struct perfetto_sequence *sequence);
void perfetto_sequences_release(struct perfetto_sequences *sequences);

/* read_interned.c: what a packet tells of. */
_must_check_ int perfetto_read_interned(struct perfetto_code *code,
					struct perfetto_sequence *sequence, struct bytes message);

/* The same of heap profiles up to 2019, which told it themselves. */
_must_check_ int perfetto_read_interned_of_heap(struct perfetto_code *code,
						struct perfetto_sequence *sequence,
						struct bytes message);

/* read_code.c: the sequence has an `interned`. */
_must_check_ int perfetto_code_read_mapping(struct perfetto_code *code,
					    struct perfetto_interned *interned,
					    struct bytes message);
_must_check_ int perfetto_code_read_frame(struct perfetto_code *code,
					  const struct perfetto_sequence *sequence,
					  struct bytes message);
/* One that is told in full, outermost frame first: names, files and lines, no addresses. */
_must_check_ int perfetto_code_read_named_stack(struct perfetto_code *code, struct bytes message,
						uint32_t *ret);
_must_check_ int perfetto_code_read_callstack(struct perfetto_code *code,
					      const struct perfetto_sequence *sequence,
					      struct bytes message);
void perfetto_code_release(struct perfetto_code *code);

/* read_symbols.c: in the first round. */
_must_check_ int perfetto_symbols_read(struct perfetto_symbols *symbols, struct bytes message);
/*
 * The frames of an address, innermost first; borrowed, as long as nothing is read. They have
 * neither module nor kind. NULL when there are none.
 */
const struct frame *perfetto_symbols_find(const struct perfetto_symbols *symbols,
					  const struct perfetto_mapping *mapping, uint64_t address,
					  size_t *ret_count);
void perfetto_symbols_release(struct perfetto_symbols *symbols);

/* read_sched.c: a bundle of the kernel's events; all into the timeline, when all packets are read. */
_must_check_ int perfetto_sched_read(struct perfetto_sched *sched,
				     const struct perfetto_packet *packet, struct bytes message);
_must_check_ int perfetto_sched_finish(struct perfetto_sched *sched);
void perfetto_sched_release(struct perfetto_sched *sched);
/* The machine, into the timeline. */
_must_check_ int perfetto_read_system(struct perfetto_trace *trace, struct bytes message);

/* read_heap.c. */
_must_check_ int perfetto_heaps_read(struct perfetto_heaps *heaps,
				     const struct perfetto_packet *packet, struct bytes message);
/* Into the profile, when all packets are read. */
_must_check_ int perfetto_heaps_finish(struct perfetto_heaps *heaps);
void perfetto_heaps_release(struct perfetto_heaps *heaps);

/* read_threads.c: descriptors, in the first round. ret  its place, or PERFETTO_NONE: too many */
_must_check_ int perfetto_threads_read_process(struct perfetto_threads *threads,
					       struct bytes message, uint64_t since_ns,
					       uint32_t *ret);
_must_check_ int perfetto_threads_read_thread(struct perfetto_threads *threads,
					      struct bytes message, uint64_t since_ns,
					      uint32_t *ret);
/* A process of ours that readers have as threads of a group. */
_must_check_ int perfetto_threads_read_grouped(struct perfetto_threads *threads,
					       struct bytes message);
_must_check_ int perfetto_threads_read_tree(struct perfetto_threads *threads, struct bytes message,
					    uint64_t since_ns);
/*
 * By number, then by time. Writes where each is now, by where it was: as many as there are
 * processes and threads.
 */
void perfetto_threads_sort(struct perfetto_threads *threads, uint32_t *process_places,
			   uint32_t *thread_places);
/* The timeline's process or thread for a described one, or for ids at a time. */
_must_check_ int perfetto_threads_use_process(struct perfetto_threads *threads,
					      struct perfetto_process *known, uint32_t *ret);
_must_check_ int perfetto_threads_use(struct perfetto_threads *threads,
				      struct perfetto_thread *known, uint64_t time_ns,
				      uint32_t *ret);
_must_check_ int perfetto_threads_find_process(struct perfetto_threads *threads, uint32_t pid,
					       uint64_t time_ns, uint32_t *ret);
_must_check_ int perfetto_threads_find(struct perfetto_threads *threads, uint32_t pid, uint32_t tid,
				       uint64_t time_ns, uint32_t *ret);
/* A thread of the timeline that nothing describes. */
_must_check_ int perfetto_threads_add(struct perfetto_threads *threads, uint32_t process,
				      uint32_t tid, uint32_t name, uint32_t *ret);
/* The profile's thread for one of the timeline. */
_must_check_ int perfetto_threads_get_profile_id(struct perfetto_threads *threads, uint32_t thread,
						 uint32_t *ret);
void perfetto_threads_release(struct perfetto_threads *threads);

/* read_tracks.c: descriptors, in the first round. */
_must_check_ int perfetto_track_table_read(struct perfetto_track_table *tracks,
					   struct bytes message, uint64_t since_ns);
/* What each track is for, once all are described. */
void perfetto_track_table_set_roles(struct perfetto_track_table *tracks);
/* A track, made if nothing describes it; NULL when out of memory or there are too many. */
struct perfetto_track *perfetto_track_table_find(struct perfetto_track_table *tracks,
						 uint64_t uuid);
/* The track that is described above this one; NULL at the top. */
struct perfetto_track *perfetto_track_table_get_parent(const struct perfetto_track_table *tracks,
						       const struct perfetto_track *track);
void perfetto_track_table_release(struct perfetto_track_table *tracks);

/* read_owners.c: after the first round. */
_must_check_ int perfetto_owners_prepare(struct perfetto_track_table *tracks);
/* The timeline's thread whose slices are on the track. */
_must_check_ int perfetto_owners_find_thread(struct perfetto_track_table *tracks,
					     struct perfetto_track *track, uint32_t *ret);
/* The timeline's process that the track is of. */
_must_check_ int perfetto_owners_find_process(struct perfetto_track_table *tracks,
					      const struct perfetto_track *track, uint32_t *ret);
/* Its pid in the trace; 0 when it is of none. */
uint32_t perfetto_owners_get_pid(const struct perfetto_track_table *tracks,
				 const struct perfetto_track *track);

/* read_samples.c. */
_must_check_ int perfetto_samples_read(struct perfetto_samples *samples,
				       const struct perfetto_packet *packet, struct bytes message);
_must_check_ int perfetto_samples_read_streamed(struct perfetto_samples *samples,
						const struct perfetto_packet *packet,
						struct bytes message);
_must_check_ int perfetto_read_sample_defaults(struct perfetto_trace *trace,
					       struct perfetto_sequence *sequence,
					       struct bytes message);

/*
 * The profile's stack of a number; STACK_EMPTY, which is counted, where the sequence has not told
 * of it.
 */
uint32_t perfetto_samples_find_stack(struct perfetto_samples *samples,
				     const struct perfetto_sequence *sequence, uint64_t iid);

/* How our own recording was made, into the profile, when all packets are read. */
void perfetto_samples_finish(struct perfetto_samples *samples);

/*
 * An event with a stack, that a thread was in at the time: a sample of a metric of the event's name.
 */
_must_check_ int perfetto_samples_add_event(struct perfetto_samples *samples, uint32_t name,
					    uint32_t thread, uint32_t stack, uint64_t time_ns);

/* read_events.c. */
_must_check_ int perfetto_slices_read_event(struct perfetto_slices *slices,
					    const struct perfetto_packet *packet,
					    struct bytes message);

/* What our own traces tell of regions, from their counters. */
_must_check_ int perfetto_slices_add_fill(struct perfetto_slices *slices,
					  const struct perfetto_packet *packet, uint64_t bytes,
					  struct perfetto_track *track);
_must_check_ int perfetto_slices_add_in_use(struct perfetto_slices *slices,
					    const struct perfetto_packet *packet, uint64_t value,
					    const struct perfetto_track *track);

/* read_waits.c: an event of a track of waits, which our own traces have. */
_must_check_ int perfetto_slices_read_wait(struct perfetto_slices *slices,
					   const struct perfetto_packet *packet,
					   struct bytes message,
					   const struct perfetto_track_event *event,
					   struct perfetto_track *track);

/* Whether an instant is one of ours that tells who woke a thread. If so, it is taken. */
_must_check_ int perfetto_slices_take_wakeup(struct perfetto_slices *slices,
					     const struct perfetto_packet *packet,
					     struct bytes message,
					     const struct perfetto_track_event *event,
					     struct perfetto_track *track, bool *ret_is_one);

/* read_zones.c: slices to zones and occupancies, when all packets are read. */
_must_check_ int perfetto_slices_finish(struct perfetto_slices *slices);
void perfetto_slices_release(struct perfetto_slices *slices);

#endif
