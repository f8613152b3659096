/*
 * The account of a run: the fate of every tick, the completeness of the stacks, the cost. Its JSON
 * (--stats) is a contract with the users' scripts.
 */
#ifndef CLI_RECORD_ACCOUNT_H
#define CLI_RECORD_ACCOUNT_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"
#include "collect/recorder.h"
#include "profile/profile.h"
#include "symbolize/name_stream.h"

/*
 * Reasons for an incomplete user stack: T(name, in the account's JSON, in the summary, where
 * "1,234" precedes it, for table_append_counted()). enum walk_end describes the reasons of the unwinder itself. The others:
 *
 * FRAME_POINTER  code without frame pointers broke the chain
 * NO_STACK       nothing could be read
 * NO_PROCESS     its mappings were not known yet, nor later for its raw stack
 */
#define TRUNCATIONS(T)                                                                         \
	T(FRAME_POINTER, "frame_pointer", "{ends|end} in code without frame pointers")         \
	T(DEPTH, "depth", "{is|are} deeper than the walk goes")                                \
	T(NO_STACK, "no_stack", "could not be read")                                           \
	T(NO_PROCESS, "no_process", "sampled before the mappings of their process were known") \
	T(NO_MAPPING, "no_mapping", "{leads|lead} outside all known mappings")                 \
	T(NO_TABLE, "no_table", "sampled before the unwind table of their file was ready")     \
	T(NO_RULE, "no_rule", "{ends|end} in code without call-frame information")             \
	T(UNSUPPORTED, "unsupported_rule",                                                     \
	  "{ends|end} in code with unsupported call-frame information")                        \
	T(READ, "read", "{ends|end} where stack memory could not be read")                     \
	T(STUCK, "stuck", "{does|do} not reach an outermost frame")                            \
	T(NO_RETURN_ADDRESS, "no_return_address", "{ends|end} at an invalid return address")   \
	T(SKIPPED_FRAME, "skipped_frame", "{ends|end} where a frame pointer skips a caller")   \
	T(JIT_CODE, "jit_code", "{goes|go} through JIT code that may not keep frame pointers") \
	T(32_BIT, "32_bit",                                                                    \
	  "{is of a 32-bit program|are of 32-bit programs}: unwound as far as call sites confirm it")

#define TRUNCATION(name, key, text) TRUNCATED_##name,
enum truncation { TRUNCATIONS(TRUNCATION) NUM_TRUNCATIONS };
#undef TRUNCATION

/* User stacks of off-CPU time that were unwound by table, and those of wakers. */
struct off_cpu_account {
	uint64_t complete_user_stacks;
	uint64_t truncated_user_stacks[NUM_TRUNCATIONS];
	uint64_t complete_waker_stacks;
	uint64_t truncated_waker_stacks[NUM_TRUNCATIONS];
};

struct account {
	struct recorder_account ticks;
	uint32_t frequency_hz;
	const struct event_counts *events; /* of the chosen events; owned by the caller */
	size_t num_events;
	uint64_t complete_user_stacks;
	uint64_t truncated_user_stacks[NUM_TRUNCATIONS];
	struct off_cpu_account off_cpu;
	uint64_t named_frames;    /* frames are counted once for every sample they are in */
	uint64_t sizeless_frames; /* frames among these named by symbols without size */
	uint64_t unnamed_frames[NUM_UNNAMED_REASONS];
	uint64_t startup_ns;          /* from the program's start to the first tick */
	uint64_t recording_cpu_ns;    /* our CPU time between start and stop */
	uint64_t total_cpu_ns;        /* our CPU time in all */
	uint64_t recording_rss_bytes; /* our peak memory until the stop */
	uint64_t max_rss_bytes;       /* our peak memory in all */
	uint64_t output_ns;           /* from the last tick to finished files */
};

/*
 * Set the values from recorder, names and profile. The caller sets the rest; it sets the ticks
 * before, so that the kernel need not be asked.
 */
void account_count(struct account *account, struct recorder *recorder, const struct names *names);

uint64_t account_sum_truncated(const struct account *account);
/*
 * Complete user stacks. They include threads in an exec that has removed the old program's stack,
 * so that only the kernel's is left.
 */
uint64_t account_sum_whole(const struct account *account);
uint64_t account_sum_unnamed(const struct account *account);
/* Number of lost samples. */
uint64_t account_sum_lost_samples(const struct account *account);
/* The same plus lost hits; a sample is taken once per many hits. */
uint64_t account_sum_lost(const struct account *account);

/* The sum over all kinds, of an array with one element for each. */
uint64_t account_sum_waits(const uint64_t *waits_ns);
/*
 * Weight of the off-CPU samples, in percent of the off-CPU time that passes the filters; may exceed
 * 100.
 */
double account_get_coverage(const struct off_cpu_counts *counts);

const char *truncation_get_name(enum truncation truncation);
const char *truncation_explain(enum truncation truncation);

/*
 * Add the account's counts to the profile as tallies, named as in the JSON object, for its readers.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int account_keep(const struct account *account, struct profile *profile);

/* Append the JSON object. */
void account_print_json(const struct account *account, struct text *ret);

/* CPU time of this program so far, user and system. */
uint64_t account_read_cpu_ns(void);
uint64_t account_read_max_rss_bytes(void);

#endif
