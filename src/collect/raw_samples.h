/*
 * Samples that came with their raw stack, because a table was missing: walked when the tables are
 * there.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RAW_SAMPLES_H
#define COLLECT_RAW_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/intake.h"
#include "collect/publisher.h"
#include "process/process_table.h"
#include "wire/wire.h"

struct raw_samples;

/* Everything is borrowed. Returns NULL when out of memory. */
struct raw_samples *raw_samples_new(struct intake *intake, struct publisher *publisher,
				    struct process_table *processes);
void raw_samples_free(struct raw_samples *samples);

/*
 * Walk the stack of a record (size as it came) and add the sample to the intake; where a table is
 * still being built, keep it. Called in order of time. Returns 0 or negative errno.
 */
_must_check_ int raw_samples_add(struct raw_samples *samples, uint64_t time_ns,
				 const struct wire_raw_sample *record, size_t size);

/*
 * Try the kept ones again. is_final: no further table will come, so that all are added, as far as
 * their walks get.
 */
_must_check_ int raw_samples_retry(struct raw_samples *samples, bool is_final);

/* How many are kept. */
size_t raw_samples_get_count(const struct raw_samples *samples);

#endif
