/*
 * pprof's profile format: its reader, and the conventions of reader and writer.
 *
 * A profile is a protobuf message (src/formats/pprof/pprof.proto), compressed with gzip. Data that
 * the format has no field for goes to places that other tools ignore or just print:
 *
 *  - A function's `name` is its full name, its `system_name` the one of folded text.
 *  - The mapping's file name marks code that is not in a file, by its type (profile/frame_kind.h):
 *    the kernel's is
 *    "[kernel]" or "[kernel:MODULE]", that of JITs "[jit]" or "[jit:MODULE]", Python's "[cpython]" or "[cpython:MODULE]".
 *  - Comments: "stackwide VERSION", the numbers of struct sampling, as "complete_stacks=12", and
 *    the account of the recording (struct tally), as "account.lost.ring_sample=3". Those of several
 *    recordings are added up; the number of CPUs is then left out. The number of samples of a
 *    sample type's values: "samples=291 of 2910000000 cpu/nanoseconds", where the second number is
 *    their sum. If it differs, samples have been removed, and the first number is void.
 *
 * Labels of a sample are pid, tid, thread and process; of a wait, from its frames, state
 * ("blocked") and, in the metric of wakers, waker. These two are for pprof's options and are not
 * read.
 *
 * Addresses are file offsets plus the start of the mapping, which covers the whole file. The starts
 * are synthetic: all that matters is that mappings do not overlap.
 */
#ifndef FORMATS_PPROF_PPROF_H
#define FORMATS_PPROF_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/format.h"

#define PPROF_COMMENT          "stackwide "
#define PPROF_KERNEL           "[kernel]"
#define PPROF_COMPLETE_STACKS  "complete_stacks="
#define PPROF_TRUNCATED_STACKS "truncated_stacks="
#define PPROF_LOST_SAMPLES     "lost_samples="
#define PPROF_ACCOUNT          "account."
#define PPROF_SAMPLES          "samples="

/* Numbers of the fields of the message Profile. */
enum pprof_field {
	PPROF_FIELD_SAMPLE_TYPE = 1,
	PPROF_FIELD_SAMPLE,
	PPROF_FIELD_MAPPING,
	PPROF_FIELD_LOCATION,
	PPROF_FIELD_FUNCTION,
	PPROF_FIELD_STRING,
	PPROF_FIELD_DROP_FRAMES,
	PPROF_FIELD_KEEP_FRAMES,
	PPROF_FIELD_TIME,
	PPROF_FIELD_DURATION,
	PPROF_FIELD_PERIOD_TYPE,
	PPROF_FIELD_PERIOD,
	PPROF_FIELD_COMMENT,
	PPROF_FIELD_DEFAULT_TYPE,
};

/* Fields of the messages that are written one by one (protobuf_writer.h). */
enum { PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE, PPROF_SAMPLE_LABEL };
enum { PPROF_LABEL_KEY = 1, PPROF_LABEL_STR, PPROF_LABEL_NUM };
enum { PPROF_LOCATION_ID = 1, PPROF_LOCATION_MAPPING, PPROF_LOCATION_ADDRESS, PPROF_LOCATION_LINE };
enum { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE };

/* See struct format. The bytes are the message itself, not compressed. */
enum detection pprof_detect(const uint8_t *data, size_t size);
_must_check_ int pprof_read(struct import *import);
/* See struct format. */
_must_check_ int pprof_write(const struct profile *profile, const struct format_opts *opts,
			     const struct sink *sink);

#endif
