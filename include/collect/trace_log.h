/*
 * What a recording keeps only for a trace: each sample by itself, with its time, where a profile
 * needs no more than sums; and the memory that stacks were seen in. Kept only when it is asked for.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_LOG_H
#define COLLECT_TRACE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct trace_log;

/* One sample; thread and stack are ids of the recording's profile. */
struct timed_sample {
	uint64_t time_ns;
	uint64_t user_sp; /* 0: none */
	uint32_t thread;
	uint32_t stack;
	uint16_t cpu;
	bool is_in_kernel;
	bool is_truncated; /* the stack lacks its outer end */
};
_Static_assert(sizeof(struct timed_sample) == 32, "there are many samples");

struct trace_log *trace_log_new(void); /* NULL when out of memory */
void trace_log_free(struct trace_log *log);

/* In any order. Returns 0 or -ENOMEM. */
_must_check_ int trace_log_add_sample(struct trace_log *log, const struct timed_sample *sample);

/* Put all into order of time. Call once, after the last was added. */
void trace_log_sort(struct trace_log *log);

/* Borrowed until the next is added. */
const struct timed_sample *trace_log_get_samples(const struct trace_log *log, size_t *ret_count);

#endif
