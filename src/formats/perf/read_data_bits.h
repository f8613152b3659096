/*
 * The bits of sample_type and read_format. A sample has its parts in the order of these bits, but
 * for three of them: IDENTIFIER is first, STREAM_ID right after ID, and READ after PERIOD.
 *
 * Source: Linux include/uapi/linux/perf_event.h, PERF_RECORD_SAMPLE.
 */
#ifndef FORMATS_PERF_READ_DATA_BITS_H
#define FORMATS_PERF_READ_DATA_BITS_H

#define PERF_SAMPLE_IP           (1ull << 0)
#define PERF_SAMPLE_TID          (1ull << 1)
#define PERF_SAMPLE_TIME         (1ull << 2)
#define PERF_SAMPLE_ADDR         (1ull << 3)
#define PERF_SAMPLE_READ         (1ull << 4)
#define PERF_SAMPLE_CALLCHAIN    (1ull << 5)
#define PERF_SAMPLE_ID           (1ull << 6)
#define PERF_SAMPLE_CPU          (1ull << 7)
#define PERF_SAMPLE_PERIOD       (1ull << 8)
#define PERF_SAMPLE_STREAM_ID    (1ull << 9)
#define PERF_SAMPLE_RAW          (1ull << 10)
#define PERF_SAMPLE_BRANCH_STACK (1ull << 11)
#define PERF_SAMPLE_REGS_USER    (1ull << 12)
#define PERF_SAMPLE_STACK_USER   (1ull << 13)
#define PERF_SAMPLE_IDENTIFIER   (1ull << 16)

#define PERF_READ_TIME_ENABLED (1ull << 0)
#define PERF_READ_TIME_RUNNING (1ull << 1)
#define PERF_READ_ID           (1ull << 2)
#define PERF_READ_GROUP        (1ull << 3)
#define PERF_READ_LOST         (1ull << 4)

#define PERF_BRANCH_HW_INDEX (1ull << 17)
#define PERF_BRANCH_COUNTERS (1ull << 19)

#endif
