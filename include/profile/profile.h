/*
 * The profile: samples, weighted by stack, thread and metric. The noun that all stages share.
 *
 * A sample points at a stack; a stack is a chain of locations; a location is a code address
 * and, once it is symbolized, the frames found there: the function, preceded by the calls
 * inlined into it. A recorder adds locations by address and a symbolizer gives them frames;
 * an importer adds locations that have their frames from the start.
 *
 * A comparison is a profile with the metrics METRIC_BEFORE and METRIC_AFTER.
 *
 * All strings are ids of the profile's string table. Ids of every kind are dense, from 0.
 * No I/O. Not thread-safe; several profiles may be used in parallel.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arithmetic.h"
#include "base/attributes.h"
#include "base/text.h"
#include "profile/frame_kind.h"
#include "profile/provenance.h"
#include "profile/stack_table.h"
#include "profile/string_table.h"
#include "profile/timestamps.h"

#define BUILD_ID_MAX_BYTES 20

struct profile;

/* Where a location's address counts from. */
enum location_space {
	LOCATION_NAMED, /* no address: an importer knew only the name; address is a number */
	LOCATION_FILE,  /* owner: module; address: file offset */
	/* owner: module; address: ELF address, or how far it is from where the file's first byte
	   lies. For inputs that have no file offset, which takes the file's program headers */
	LOCATION_ELF,
	/* owner: 0, or the source, where each may have a kernel of its own; address: kernel virtual
	   address */
	LOCATION_KERNEL,
	LOCATION_PROCESS, /* owner: process; address: pc in memory that no ELF file backs (JIT) */
};

/* Why a frame has neither a function name nor a stable `objfile+0xoffset` name. */
enum unnamed_reason {
	UNNAMED_NOT,              /* it has one */
	UNNAMED_NO_MAPPING,       /* nothing known was mapped at the pc */
	UNNAMED_NO_FILE,          /* the mapped file could not be opened */
	UNNAMED_BUILD_ID_DIFFERS, /* the file found is not the one that was mapped */
	UNNAMED_NO_SYMBOL,        /* the file, kernel or perf-map has no name for the address */
	UNNAMED_NOT_REACHED,      /* the naming ended before it */
	NUM_UNNAMED_REASONS,
};

/* The reason's name in the account of a run: "no_mapping". */
const char *unnamed_reason_get_name(enum unnamed_reason reason);

#define JIT_MODULE "[jit]" /* the module of a FRAME_JIT that was recorded */

struct frame {
	/* For people: demangled, without parameter list, without annotation such as _[k]. Fit for
	   folded text where we name it; as it was where a folded file did. */
	uint32_t name;
	uint32_t full_name; /* demangled with parameters; equal to name where there are none */
	uint32_t module;    /* string: base name of file or kernel module; may be empty */
	uint32_t file;      /* string: source file; empty when unknown */
	uint32_t line;      /* from 1; 0 when unknown */
	uint8_t kind;       /* enum frame_kind */
	bool is_inlined;    /* the call was inlined into the next outer frame */
};

/* Field by field: the struct has padding. */
static inline bool frame_is_same(const struct frame *a, const struct frame *b)
{
	return a->name == b->name && a->full_name == b->full_name && a->module == b->module &&
	       a->file == b->file && a->line == b->line && a->kind == b->kind &&
	       a->is_inlined == b->is_inlined;
}

struct location {
	uint64_t address; /* what the space says; for a return address, the address minus 1 */
	/* Of LOCATION_FILE, where it is known: where the byte lies in the ELF's own address space. */
	uint64_t elf_address;
	uint32_t owner;
	uint8_t space;          /* enum location_space */
	uint8_t unnamed_reason; /* enum unnamed_reason */
	bool is_sizeless;     /* the symbol that names its function does not say where that ends */
	bool has_elf_address; /* it is known */
	uint32_t first_frame; /* innermost first: frames [first_frame, first_frame + num_frames) */
	uint32_t num_frames;  /* 0 before symbolizing; then at least 1 */
};

/* Whether the owner is a module. */
static inline bool location_is_in_module(const struct location *location)
{
	return location->space == LOCATION_FILE || location->space == LOCATION_ELF;
}

/* A mapped file. */
struct module {
	uint32_t path;
	uint32_t copy; /* string: path in the input it was read from of a copy; empty: none */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; 0 when it has none */
};

/* One process image: an exec starts a new one under the same pid. */
struct process_info {
	uint32_t pid;
	uint32_t comm;
	uint32_t script; /* what its interpreter runs: "manage.py"; empty: none, or not known */
};

struct thread {
	uint32_t process; /* index of its process_info */
	uint32_t tid;
	uint32_t comm;   /* at the time of its samples: a renamed thread is a new one */
	uint32_t source; /* index of the source it was read from; 0 in a recording */
};

/* What samples weigh. */
struct metric {
	uint32_t name; /* string: "samples", "cpu", "alloc" */
	uint32_t unit; /* string: "count", "nanoseconds", "bytes" */
	/* Weights are multiplied by 10 to the power of this, as an input had fractions of units. */
	uint8_t decimals;
	/* At least so many samples its weights are of: how often weight was added, or more where an
	   input says so. */
	uint64_t num_samples;
};

#define METRIC_NONE   UINT32_MAX
#define METRIC_BEFORE "before"
#define METRIC_AFTER  "after"
/* Of a recording of waits, in nanoseconds: those for an event, and all time, on a CPU and off it. */
#define METRIC_BLOCKED "blocked"
#define METRIC_WALL    "wall"

/* The innermost frame of a wait says which it is. */
#define BLOCKED_FRAME_NAME         "[blocked]"
#define UNINTERRUPTIBLE_FRAME_NAME "[uninterruptible]"
#define RUN_QUEUE_FRAME_NAME       "[run queue]"
#define PREEMPTED_FRAME_NAME       "[preempted]"

/*
 * The metric of blocked time by who ended it. Its stacks are those of waits, then a frame WAKER_SEPARATOR, and
 * what the waker did, from the inside out; the last frame is its thread's name, or one of the others.
 */
#define METRIC_OFFWAKE       "offwake"
#define WAKER_SEPARATOR      "--"
#define WAKER_INTERRUPT_NAME "[interrupt]"
#define WAKER_UNKNOWN_NAME   "[unknown waker]"
#define WAKER_NOBODY_NAME    "[not woken]" /* when the recording ended */
/*
 * A frame of these stacks before the separator, where that was asked for: what the wait was for. With an address,
 * "[futex 0x7f...]", but for those beyond the number that is told apart.
 */
#define WAKER_FUTEX_NAME  "[futex]"
#define WAKER_FUTEX_BEGIN "[futex 0x"

/* The weight of one thread's stack in one metric. No two samples are of the same three. */
struct sample {
	uint32_t thread;
	uint32_t stack;
	uint32_t metric;
	uint64_t value; /* summed weight; 0 where an input says so */
};

struct profile *profile_new(void); /* NULL when out of memory */
void profile_free(struct profile *profile);
static inline void profile_freep(struct profile **profile)
{
	profile_free(*profile);
}

/* Strings. The tables are borrowed, valid until profile_free(). */
_must_check_ int profile_add_string(struct profile *profile, const char *string, uint32_t *ret);
/*
 * The name of a frame as folded text can hold it: `;` becomes `:`, control characters a space,
 * blanks at the edges go, and what is empty then becomes [unknown].
 */
_must_check_ int profile_add_frame_name(struct profile *profile, const char *name, size_t length,
					uint32_t *ret);
/*
 * What a frame is called and where it is from: its name is as profile_add_frame_name() makes it.
 *
 * name, full_name, module   what struct frame has of them; copied, and no longer needed
 * ret                       the other members stay as they are
 *
 * Returns 0 or -ENOMEM; then some of the three may be set.
 */
_must_check_ int profile_name_frame(struct profile *profile, const char *name,
				    const char *full_name, const char *module, struct frame *ret);
/* The id of an equal string; STRING_NONE when the profile has none. */
uint32_t profile_find_string(const struct profile *profile, const char *string, size_t length);
const char *profile_get_string(const struct profile *profile, uint32_t id);
size_t profile_get_string_length(const struct profile *profile, uint32_t id);
uint32_t profile_count_strings(const struct profile *profile);
struct string_table *profile_get_strings(struct profile *profile);
/* One of its strings, added to another table, as that of another profile or of a timeline. */
_must_check_ int profile_copy_string(const struct profile *from, uint32_t string,
				     struct string_table *to, uint32_t *ret);

/*
 * Every profile_add_…() returns 0 or -ENOMEM, and gives the id of the equal item that is
 * already there, if any (modules and processes excepted: each call adds one).
 */
_must_check_ int profile_add_module(struct profile *profile, const struct module *module,
				    uint32_t *ret);
_must_check_ int profile_add_process(struct profile *profile, uint32_t pid, uint32_t comm,
				     uint32_t *ret);
_must_check_ int profile_add_thread(struct profile *profile, const struct thread *thread,
				    uint32_t *ret);
_must_check_ int profile_add_location(struct profile *profile, enum location_space space,
				      uint32_t owner, uint64_t address, uint32_t *ret);
_must_check_ int profile_add_stack(struct profile *profile, uint32_t parent, uint32_t location,
				   uint32_t *ret);
/* The same for a stack that is known not to be there; see stack_table.h. */
_must_check_ int profile_add_new_stack(struct profile *profile, uint32_t parent, uint32_t location,
				       uint32_t *ret);
/* Stacks that are there already; see stack_table.h. Settling returns 0 or -ENOMEM. */
_must_check_ int profile_settle_stacks(struct profile *profile);
uint32_t profile_find_stack(const struct profile *profile, uint32_t parent, uint32_t location);
/*
 * A location that has no address but one frame: the one that an importer read. Equal frames are
 * one location.
 */
_must_check_ int profile_add_frame_location(struct profile *profile, const struct frame *frame,
					    uint32_t *ret);
/* The name of code and of threads that have none. */
#define UNKNOWN_NAME "[unknown]"
/*
 * Callers that are not known: a stack that does not reach to where its thread began has this frame
 * as the outermost, as it would look like another root otherwise. Files that are read may have such
 * a frame elsewhere: folded text begins with the thread.
 */
#define TRUNCATED_FRAME_NAME "[truncated]"
/* Put that frame on a stack; STACK_EMPTY, where it is the outermost. Returns 0 or -ENOMEM. */
_must_check_ int profile_add_truncated_frame(struct profile *profile, uint32_t parent,
					     uint32_t *ret);
/* Whether a location is nothing but that frame. */
bool profile_is_truncated_frame(const struct profile *profile, uint32_t location);
/*
 * A thread that has never run while it was recorded, as most threads of a machine: the outermost frame of
 * its stacks, so that all of them can be shown as one, or left out. The functions as above.
 */
#define SLEPT_FRAME_NAME "[slept throughout]"
_must_check_ int profile_add_slept_frame(struct profile *profile, uint32_t parent, uint32_t *ret);
bool profile_is_slept_frame(const struct profile *profile, uint32_t location);
/* Name and unit are copied; a name may be there with several units. */
_must_check_ int profile_add_metric(struct profile *profile, const char *name, const char *unit,
				    uint32_t *ret);
/* A file that was read; each call adds one. name  string; as the user gave it */
_must_check_ int profile_add_source(struct profile *profile, uint32_t name, uint32_t *ret);
/*
 * Add weight to the sample of this thread, stack and metric, which is made when there is none,
 * also for a weight of 0. Returns 0, -ENOMEM, or -EOVERFLOW when the sum leaves 64 bits.
 */
_must_check_ int profile_add_sample(struct profile *profile, uint32_t thread, uint32_t stack,
				    uint32_t metric, uint64_t weight);
/* The same for a sample that is known not to be there: no search. Returns 0 or -ENOMEM. */
_must_check_ int profile_add_new_sample(struct profile *profile, uint32_t thread, uint32_t stack,
					uint32_t metric, uint64_t weight);

/*
 * From now on keep when samples were taken, as far as those who add them know. It costs 24 bytes
 * for each that was taken. Returns 0 or -ENOMEM.
 */
_must_check_ int profile_keep_timestamps(struct profile *profile);
/* As it was when it was new, but for what it keeps. Returns 0, or -ENOMEM with nothing changed. */
_must_check_ int profile_clear(struct profile *profile);
/* NULL: they are not kept. */
struct timestamps *profile_get_timestamps(const struct profile *profile);
/*
 * After profile_add_sample(): so much of that sample's weight was taken at this time. Does nothing
 * where timestamps are not kept, for a weight of 0 and for a sample that is not there. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int profile_add_timestamp(struct profile *profile, uint32_t thread, uint32_t stack,
				       uint32_t metric, uint64_t weight, uint64_t time_ns);
/* See timestamps_set_clock(). */
_must_check_ int profile_set_clock(struct profile *profile, uint32_t source, uint64_t zero_ns);

/*
 * Multiply the weights of a metric's samples, and of their timestamps: of those whose threads are of
 * a source from first_source on and before end_source. Returns 0, or -EOVERFLOW when one would leave
 * 64 bits, and then none is multiplied.
 */
_must_check_ int profile_multiply_samples(struct profile *profile, uint32_t metric,
					  uint32_t first_source, uint32_t end_source,
					  uint64_t factor);
/*
 * Scale the weights of a metric's samples, and of their timestamps, by a ratio of 1 or more: what was not counted is
 * taken to have been as what was. The sum is scaled exactly, but for a fraction of one. Returns 0, -ENOMEM, or
 * -EOVERFLOW when the sum would leave 64 bits, and then nothing is changed.
 */
_must_check_ int profile_scale_samples(struct profile *profile, uint32_t metric,
				       const struct ratio *ratio);
/* Only says it; see struct metric. */
void profile_set_metric_decimals(struct profile *profile, uint32_t metric, uint8_t decimals);

/* See struct metric. */
void profile_set_metric_samples(struct profile *profile, uint32_t metric, uint64_t num_samples);

/* Another weight for a sample that is there. */
void profile_set_sample_value(struct profile *profile, uint32_t sample, uint64_t value);

/*
 * Remove samples, which changes the ids of those after them, and the weight of timestamps that is more
 * than their sample's: the last ones of a sample lose it.
 *
 * is_removed  by sample
 *
 * Returns 0, or -ENOMEM with nothing changed.
 */
_must_check_ int profile_remove_samples(struct profile *profile, const uint8_t *is_removed);

/*
 * Give a location its frames, innermost first, at least one; they are copied.
 */
_must_check_ int profile_set_frames(struct profile *profile, uint32_t location,
				    const struct frame *frames, size_t num_frames,
				    enum unnamed_reason reason);

/* The symbol that the location's last frame is named by has no size. */
void profile_mark_sizeless(struct profile *profile, uint32_t location);

/* Where a location of LOCATION_FILE lies in its ELF's own address space. */
void profile_set_elf_address(struct profile *profile, uint32_t location, uint64_t elf_address);

/*
 * Free what only adding needs, when all has been added. It is made again should more be added.
 */
void profile_trim(struct profile *profile);

/* Another module for a frame: a string of the profile. */
void profile_set_frame_module(struct profile *profile, uint32_t id, uint32_t module);
/* Other names for a frame: strings of the profile. */
void profile_set_frame_names(struct profile *profile, uint32_t id, uint32_t name,
			     uint32_t full_name);

/* Another name and unit for a metric; they are copied. Returns 0 or -ENOMEM. */
_must_check_ int profile_rename_metric(struct profile *profile, uint32_t metric, const char *name,
				       const char *unit);

/* The first metric of this name, or METRIC_NONE. */
uint32_t profile_find_metric(const struct profile *profile, const char *name);

/*
 * METRIC_WALL of a recording of waits, among the metrics from `first` on; else METRIC_NONE. As it is all of
 * what was recorded, it is shown unless another metric is chosen. Other programs have a metric of that
 * name, too, but none of METRIC_BLOCKED beside it.
 */
uint32_t profile_find_wall_metric(const struct profile *profile, uint32_t first);

/*
 * The recordings that are in the profile, summed up. What is added belongs to the source that was
 * added last.
 */
void profile_add_sampling(struct profile *profile, const struct sampling *sampling);
const struct sampling *profile_get_sampling(const struct profile *profile);
/* What else is known of the sources; its strings are ids of the profile. Borrowed. */
struct provenance *profile_get_provenance(const struct profile *profile);
/* The same with a name that is no string of the profile yet. Returns 0 or -ENOMEM. */
_must_check_ int profile_add_tally(struct profile *profile, uint32_t source, const char *name,
				   uint64_t count);

/* The input that a module was read from holds a copy of it. copy  string; its path there */
void profile_set_module_copy(struct profile *profile, uint32_t module, uint32_t copy);

/* A changed comm of a process that is already there. */
void profile_set_process_comm(struct profile *profile, uint32_t process, uint32_t comm);
/* What a process runs (base/script_name.h). script  string, as profile_add_frame_name() makes it */
void profile_set_process_script(struct profile *profile, uint32_t process, uint32_t script);
/* Whether it is known of any process. */
bool profile_has_scripts(const struct profile *profile);

/* Items by id; borrowed until the next profile_add_…() of the same kind. */
const struct module *profile_get_module(const struct profile *profile, uint32_t id);
const struct process_info *profile_get_process(const struct profile *profile, uint32_t id);
const struct thread *profile_get_thread(const struct profile *profile, uint32_t id);
const struct location *profile_get_location(const struct profile *profile, uint32_t id);
const struct frame *profile_get_frame(const struct profile *profile, uint32_t id);
const struct metric *profile_get_metric(const struct profile *profile, uint32_t id);
const struct sample *profile_get_sample(const struct profile *profile, uint32_t id);
uint32_t profile_get_source(const struct profile *profile, uint32_t id); /* its name, a string */
uint32_t profile_count_modules(const struct profile *profile);
uint32_t profile_count_processes(const struct profile *profile);
uint32_t profile_count_threads(const struct profile *profile);
uint32_t profile_count_locations(const struct profile *profile);
uint32_t profile_count_frames(const struct profile *profile);
uint32_t profile_count_metrics(const struct profile *profile);
uint32_t profile_count_samples(const struct profile *profile);
uint32_t profile_count_sources(const struct profile *profile);

/* A stack's innermost location and its caller's stack; see stack_table.h. */
uint32_t profile_get_stack_location(const struct profile *profile, uint32_t stack);
uint32_t profile_get_stack_parent(const struct profile *profile, uint32_t stack);
/* The location of a stack's outermost level; the stack is not STACK_EMPTY. */
uint32_t profile_find_outermost(const struct profile *profile, uint32_t stack);
uint32_t profile_count_stacks(const struct profile *profile);

/*
 * Adding one profile to another.
 */

/*
 * Add everything of `from`: strings, modules, processes, sources with all that is known of them,
 * threads, metrics, locations with their frames, stacks, samples. What is equal is one afterwards:
 * metrics by name and unit, modules by path and build ID, stacks by their locations. Processes and
 * sources stay apart, and with them their threads. An address that has other frames in both
 * profiles (another kernel, a replaced file) is two locations, of which the second has no address.
 *
 * In which order profiles are merged makes no difference but to ids. Weights are taken as they are,
 * whatever decimals their metrics have.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weights of a stack together leave 64 bits. After an
 * error part of `from` has been added.
 */
_must_check_ int profile_merge(struct profile *into, const struct profile *from);

/* A metric that is merged under another name and unit. */
struct merged_metric {
	uint32_t metric; /* of the profile that it comes from */
	const char *name;
	const char *unit;
};

struct profile_merge_opts {
	/* Only the samples of these metrics; none: all, under their own names. */
	const struct merged_metric *metrics;
	size_t num_metrics;
	/* Appends to `text` what the names of functions and threads become; NULL: they stay. */
	void (*change_name)(struct text *text, const char *name, size_t length);
};

/* The same with options; NULL: without. */
_must_check_ int profile_merge_with(struct profile *into, const struct profile *from,
				    const struct profile_merge_opts *opts);

#endif
