/*
 * Samples with a copy of their stack, because the BPF program lacked a table. They are walked when
 * the tables are ready. Related samples wait, too: a wait for its waker, a request for its end.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_STACKS_RAW_SAMPLES_H
#define COLLECT_STACKS_RAW_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/stacks/sample_ingest.h"
#include "collect/tables/publisher.h"
#include "process/process_table.h"
#include "wire/wire.h"

struct raw_samples;

/* Everything is borrowed. Returns NULL when out of memory. */
struct raw_samples *raw_samples_new(struct sample_ingest *ingest, struct publisher *publisher,
				    struct process_table *processes);
void raw_samples_free(struct raw_samples *samples);

/*
 * Walk the stack of a record and add the sample; if a table is still being built, keep the record
 * and try again later. Called in order of time. Returns 0 or negative errno.
 */
_must_check_ int raw_samples_add(struct raw_samples *samples, uint64_t time_ns,
				 const struct wire_raw_sample *record, size_t size);

/*
 * Keep the stack of a request to a block device, a WIRE_RAW_REQUEST, until it has ended. Called in order of time. Returns 0
 * or negative errno.
 */
_must_check_ int raw_samples_add_request(struct raw_samples *samples, uint64_t time_ns,
					 const struct wire_raw_sample *record, size_t size);

/*
 * A sample without a copy of its stack. If the stack of its request was kept, it is added with
 * that. If it is a wait with a pending waker, it is added after that. Otherwise it is not added,
 * and *ret_is_taken is false. Called in order of time. Returns 0 or negative errno.
 */
_must_check_ int raw_samples_add_plain(struct raw_samples *samples, uint64_t time_ns,
				       const struct wire_sample *sample, bool *ret_is_taken);

/*
 * Try the pending samples again. is_final: no further table will arrive, so add all of them. Those
 * whose walk does not reach the end get an incomplete stack.
 */
_must_check_ int raw_samples_retry(struct raw_samples *samples, bool is_final);

/* Number of pending samples; requests that have not ended do not count. */
size_t raw_samples_get_count(const struct raw_samples *samples);

#endif
