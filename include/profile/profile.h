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

/* The space of a location's address. */
enum location_space {
	LOCATION_NAMED, /* no address: an importer knew only the name; address is a number */
	LOCATION_FILE,  /* owner: module; address: file offset */
	/*
	 * owner: module; address: ELF address, or the distance from the address of the file's first
	 * byte. For inputs without file offsets, which would need the file's program headers
	 */
	LOCATION_ELF,
	/*
	 * owner: 0, or the source, as each source may have a kernel of its own; address: kernel
	 * virtual address
	 */
	LOCATION_KERNEL,
	LOCATION_PROCESS, /* owner: process; address: pc in memory without an ELF file (JIT) */
};

/* Why a frame has neither a function name nor a stable `objfile+0xoffset` name. */
enum unnamed_reason {
	UNNAMED_NOT,              /* it has one */
	UNNAMED_NO_MAPPING,       /* nothing known was mapped at the pc */
	UNNAMED_NO_FILE,          /* the mapped file could not be opened */
	UNNAMED_BUILD_ID_DIFFERS, /* the file was replaced or overwritten after it was mapped */
	UNNAMED_NO_SYMBOL,        /* the file, kernel or perf-map has no name for the address */
	UNNAMED_NOT_REACHED,      /* symbolization stopped before it */
	NUM_UNNAMED_REASONS,
};

/* The reason's name in the account of a run: "no_mapping". */
const char *unnamed_reason_get_name(enum unnamed_reason reason);

#define JIT_MODULE "[jit]" /* the module of a recorded FRAME_JIT */

struct frame {
	/*
	 * For people: demangled, without parameter list, without annotation such as _[k]. Fit for
	 * folded text if we made it; unchanged if read from a folded file.
	 */
	uint32_t name;
	uint32_t full_name; /* demangled with parameters; equal to name if it has no parameters */
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
	uint64_t address; /* in its space; for a return address, the address minus 1 */
	/* For LOCATION_FILE, if known: address in the ELF's own address space. */
	uint64_t elf_address;
	uint32_t owner;
	uint8_t space;          /* enum location_space */
	uint8_t unnamed_reason; /* enum unnamed_reason */
	bool is_sizeless;       /* the symbol of its function has no size */
	bool has_elf_address;   /* elf_address is set */
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
	uint32_t copy; /* string: path of a copy in the input it was read from; empty: none */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; 0: no build ID */
};

/* A process image: an exec starts a new one under the same pid. */
struct process_info {
	uint32_t pid;
	uint32_t comm;
	uint32_t script; /* of its interpreter: "manage.py"; empty: none, or not known */
};

struct thread {
	uint32_t process; /* index of its process_info */
	uint32_t tid;
	uint32_t comm;   /* at the time of its samples: a renamed thread is a new one */
	uint32_t source; /* index of the source it was read from; 0 in a recording */
};

/* The unit of samples' weights. */
struct metric {
	uint32_t name; /* string: "samples", "cpu", "alloc" */
	uint32_t unit; /* string: "count", "nanoseconds", "bytes" */
	/* Weights are multiplied by 10 to the power of this, if an input had fractions of units. */
	uint8_t decimals;
	/*
	 * Minimum number of samples: the number of additions of weight, or more if an input reports
	 * more.
	 */
	uint64_t num_samples;
};

#define METRIC_NONE   UINT32_MAX
#define METRIC_BEFORE "before"
#define METRIC_AFTER  "after"
/*
 * Metrics of a recording of waits, in nanoseconds: time waiting for an event, and all time, on and
 * off CPU.
 */
#define METRIC_BLOCKED "blocked"
#define METRIC_WALL    "wall"

/* The innermost frame of a wait tells its kind. */
#define BLOCKED_FRAME_NAME         "[blocked]"
#define UNINTERRUPTIBLE_FRAME_NAME "[uninterruptible]"
#define RUN_QUEUE_FRAME_NAME       "[run queue]"
#define PREEMPTED_FRAME_NAME       "[preempted]"

/*
 * The metric of blocked time by waker. A stack has the frames of the wait, then a frame
 * WAKER_SEPARATOR, then the frames of the waker from the inside out. The last frame is the name of
 * the waker's thread, or one of the others below.
 */
#define METRIC_OFFWAKE       "offwake"
#define WAKER_SEPARATOR      "--"
#define WAKER_INTERRUPT_NAME "[interrupt]"
#define WAKER_UNKNOWN_NAME   "[unknown waker]"
#define WAKER_NOBODY_NAME    "[not woken]" /* when the recording ended */
/*
 * A frame of these stacks before the separator, if requested: the futex of the wait. The name has
 * its address, "[futex 0x7f...]", except for futexes beyond the number that is told apart.
 */
#define WAKER_FUTEX_NAME  "[futex]"
#define WAKER_FUTEX_START "[futex 0x"

/* The weight of one thread's stack in one metric. Each combination occurs only once. */
struct sample {
	uint32_t thread;
	uint32_t stack;
	uint32_t metric;
	uint64_t value; /* summed weight; 0 if an input has it so */
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
 * The name of a frame as folded text can represent it: `;` becomes `:`, control characters become
 * spaces, blanks at the edges are removed. An empty result becomes [unknown].
 */
_must_check_ int profile_add_frame_name(struct profile *profile, const char *name, size_t length,
					uint32_t *ret);
/*
 * Set the name and origin of a frame: its name is as profile_add_frame_name() makes it.
 *
 * name, full_name, module   as in struct frame; copied, and no longer needed
 * ret                       the other members are not changed
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
/* Add one of its strings to another table, as that of another profile or of a timeline. */
_must_check_ int profile_copy_string(const struct profile *from, uint32_t string,
				     struct string_table *to, uint32_t *ret);

/*
 * Every profile_add_…() returns 0 or -ENOMEM, and gives the id of the equal item that already
 * exists, if any (modules and processes excepted: each call adds one).
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
/* The same for a stack that is known to be new; see stack_table.h. */
_must_check_ int profile_add_new_stack(struct profile *profile, uint32_t parent, uint32_t location,
				       uint32_t *ret);
/* Lookup of existing stacks; see stack_table.h. Settling returns 0 or -ENOMEM. */
_must_check_ int profile_settle_stacks(struct profile *profile);
uint32_t profile_find_stack(const struct profile *profile, uint32_t parent, uint32_t location);
/*
 * A location without an address, but with one frame, as read by an importer. Equal frames are one
 * location.
 */
_must_check_ int profile_add_frame_location(struct profile *profile, const struct frame *frame,
					    uint32_t *ret);
/* Add the frame of such a location to a stack, which may be STACK_EMPTY. */
_must_check_ int profile_extend_stack(struct profile *profile, const struct frame *frame,
				      uint32_t *stack);
/* The name of unnamed code and threads. */
#define UNKNOWN_NAME "[unknown]"
/*
 * Unknown callers: a stack that does not reach the start of its thread has this frame as the
 * outermost, since it would look like another root otherwise. Files that are read may have such a
 * frame elsewhere: folded text starts with the thread.
 */
#define TRUNCATED_FRAME_NAME "[truncated]"
/* Put that frame on a stack. Pass STACK_EMPTY to make it the outermost. Returns 0 or -ENOMEM. */
_must_check_ int profile_add_truncated_frame(struct profile *profile, uint32_t parent,
					     uint32_t *ret);
/* Whether a location is just that frame. */
bool profile_is_truncated_frame(const struct profile *profile, uint32_t location);
/*
 * The outermost frame in stacks of a thread that never ran during the recording, like most threads
 * of a machine. They can be shown as one, or hidden. The functions as above.
 */
#define SLEPT_FRAME_NAME "[slept throughout]"
_must_check_ int profile_add_slept_frame(struct profile *profile, uint32_t parent, uint32_t *ret);
bool profile_is_slept_frame(const struct profile *profile, uint32_t location);
/* Name and unit are copied; a name may occur with several units. */
_must_check_ int profile_add_metric(struct profile *profile, const char *name, const char *unit,
				    uint32_t *ret);
/* A file that was read; each call adds one. name  string; as the user gave it */
_must_check_ int profile_add_source(struct profile *profile, uint32_t name, uint32_t *ret);
/*
 * Add weight to the sample of this thread, stack and metric. The sample is created if needed, even
 * for a weight of 0. Returns 0, -ENOMEM, or -EOVERFLOW if the sum exceeds 64 bits.
 */
_must_check_ int profile_add_sample(struct profile *profile, uint32_t thread, uint32_t stack,
				    uint32_t metric, uint64_t weight);
/* The same for a sample that is known to be new: no search. Returns 0 or -ENOMEM. */
_must_check_ int profile_add_new_sample(struct profile *profile, uint32_t thread, uint32_t stack,
					uint32_t metric, uint64_t weight);

/*
 * From now on keep the times of samples, as far as known. It costs 24 bytes for each. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int profile_keep_timestamps(struct profile *profile);
/* Clear it, but keep its setting of timestamps. Returns 0, or -ENOMEM with nothing changed. */
_must_check_ int profile_clear(struct profile *profile);
/* NULL: they are not kept. */
struct timestamps *profile_get_timestamps(const struct profile *profile);
/* The same if all of them are of samples of one source, and so of one clock; else, and if there are no timestamps: NULL. */
const struct timestamps *profile_get_times_of_one_clock(const struct profile *profile);
/*
 * After profile_add_sample(): this part of that sample's weight was taken at this time. Does
 * nothing if timestamps are not kept, for a weight of 0 and for a sample that does not exist.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int profile_add_timestamp(struct profile *profile, uint32_t thread, uint32_t stack,
				       uint32_t metric, uint64_t weight, uint64_t time_ns);
/* The same for a weight that is spread over an interval: a wait, or a system call. */
_must_check_ int profile_add_interval(struct profile *profile, uint32_t thread, uint32_t stack,
				      uint32_t metric, uint64_t weight, uint64_t start_ns,
				      uint64_t end_ns);
/* See timestamps_set_clock(). */
_must_check_ int profile_set_clock(struct profile *profile, uint32_t source, uint64_t zero_ns);

/*
 * Multiply the weights of a metric's samples, and of their timestamps, for threads of the sources
 * from first_source to before end_source. Returns 0, or -EOVERFLOW if any would exceed 64 bits;
 * then nothing is multiplied.
 */
_must_check_ int profile_multiply_samples(struct profile *profile, uint32_t metric,
					  uint32_t first_source, uint32_t end_source,
					  uint64_t factor);
/*
 * Scale the weights of a metric's samples, and of their timestamps, by a ratio of 1 or more.
 * Uncounted events are assumed to be like the counted ones. The sum is scaled exactly, except for a
 * fraction of one. Returns 0, -ENOMEM, or -EOVERFLOW if the sum would exceed 64 bits; then nothing
 * is changed.
 */
_must_check_ int profile_scale_samples(struct profile *profile, uint32_t metric,
				       const struct ratio *ratio);
/* Sets the field only; see struct metric. */
void profile_set_metric_decimals(struct profile *profile, uint32_t metric, uint8_t decimals);

/* See struct metric. */
void profile_set_metric_samples(struct profile *profile, uint32_t metric, uint64_t num_samples);

/* Change the weight of an existing sample. */
void profile_set_sample_value(struct profile *profile, uint32_t sample, uint64_t value);

/*
 * Remove samples. This changes the ids of those after them. If timestamps weigh more than their
 * sample, its last ones lose the excess.
 *
 * is_removed  by sample
 *
 * Returns 0, or -ENOMEM with nothing changed.
 */
_must_check_ int profile_remove_samples(struct profile *profile, const uint8_t *is_removed);

/* Give a location its frames, innermost first, at least one; they are copied. */
_must_check_ int profile_set_frames(struct profile *profile, uint32_t location,
				    const struct frame *frames, size_t num_frames,
				    enum unnamed_reason reason);

/* Mark the symbol of the location's last frame as having no size. */
void profile_mark_sizeless(struct profile *profile, uint32_t location);

/* Set the address of a LOCATION_FILE location in its ELF's own address space. */
void profile_set_elf_address(struct profile *profile, uint32_t location, uint64_t elf_address);

/* Free memory that only adding needs. It is rebuilt if more is added. */
void profile_trim(struct profile *profile);

/* Change a frame's module: a string of the profile. */
void profile_set_frame_module(struct profile *profile, uint32_t id, uint32_t module);
/* Change a frame's names: strings of the profile. */
void profile_set_frame_names(struct profile *profile, uint32_t id, uint32_t name,
			     uint32_t full_name);

/* Change a metric's name and unit; they are copied. Returns 0 or -ENOMEM. */
_must_check_ int profile_rename_metric(struct profile *profile, uint32_t metric, const char *name,
				       const char *unit);

/* The first metric of this name, or METRIC_NONE. */
uint32_t profile_find_metric(const struct profile *profile, const char *name);

/*
 * METRIC_WALL of a recording of waits, among the metrics from `first` on; else METRIC_NONE. Since
 * it includes all recorded time, it is shown unless another metric is chosen. Other programs have a
 * metric of that name, too, but no METRIC_BLOCKED beside it.
 */
uint32_t profile_find_wall_metric(const struct profile *profile, uint32_t first);

/*
 * The sum of the recordings in the profile. A recording belongs to the source that was added last.
 */
void profile_add_sampling(struct profile *profile, const struct sampling *sampling);
const struct sampling *profile_get_sampling(const struct profile *profile);
/* Further data about the sources; its strings are ids of the profile. Borrowed. */
struct provenance *profile_get_provenance(const struct profile *profile);
/* The same with a name that is not yet a string of the profile. Returns 0 or -ENOMEM. */
_must_check_ int profile_add_tally(struct profile *profile, uint32_t source, const char *name,
				   uint64_t count);

/* Record that the input of a module contains a copy of it. copy  string; its path there */
void profile_set_module_copy(struct profile *profile, uint32_t module, uint32_t copy);

/* Change the comm of an existing process. */
void profile_set_process_comm(struct profile *profile, uint32_t process, uint32_t comm);
/*
 * The script of a process (base/script_name.h). script  string, as profile_add_frame_name() makes
 * it
 */
void profile_set_process_script(struct profile *profile, uint32_t process, uint32_t script);
/* Whether any process has one. */
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
/* All stacks by id, borrowed until one is added; levels are locations. */
const struct stack_node *profile_get_stacks(const struct profile *profile);
/* The location of a stack's outermost frame; the stack is not STACK_EMPTY. */
uint32_t profile_find_outermost(const struct profile *profile, uint32_t stack);
uint32_t profile_count_stacks(const struct profile *profile);

/*
 * Adding one profile to another.
 */

/*
 * Add everything of `from`: strings, modules, processes, sources with their data, threads, metrics,
 * locations with their frames, stacks, samples. Equal items become one: metrics by name and unit,
 * modules by path and build ID, stacks by their locations. Processes and sources stay apart, and so
 * do their threads. If an address has different frames in the two profiles (another kernel, a
 * replaced file), it becomes two locations; the second has no address.
 *
 * The order of merging profiles affects only ids. Weights are taken as they are, whatever decimals
 * their metrics have.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the sum of a stack's weights exceeds 64 bits. After an error
 * part of `from` has been added.
 */
_must_check_ int profile_merge(struct profile *into, const struct profile *from);

/* A metric that is merged under another name and unit. */
struct merged_metric {
	uint32_t metric; /* of the source profile */
	const char *name;
	const char *unit;
};

struct profile_merge_opts {
	/* Merge only the samples of these metrics; none: all, under their own names. */
	const struct merged_metric *metrics;
	size_t num_metrics;
	/* Appends the new name of a function or thread to `text`; NULL: names stay. */
	void (*change_name)(struct text *text, const char *name, size_t length);
};

/* The same with options; NULL: without. */
_must_check_ int profile_merge_with(struct profile *into, const struct profile *from,
				    const struct profile_merge_opts *opts);

#endif
