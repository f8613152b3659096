/*
 * When to read the rings after a wakeup. A program that starts maps its files within a millisecond,
 * and its samples have no stacks by table until they are read: a few readings may follow each other
 * soon. On a busy machine they would cost CPU: the mean distance is longer.
 *
 * Times are those of clock_now_ns().
 */
#ifndef CLI_RECORD_READ_PACE_H
#define CLI_RECORD_READ_PACE_H

#include <stdint.h>

#include "base/clock.h"

/* After a wakeup, let records gather at least so long. */
#define READ_GATHER_NS (2 * NS_PER_MS)
/* The mean distance of readings, if there are many wakeups. */
#define READ_DISTANCE_NS (8 * NS_PER_MS)
/* Readings that may follow each other before that. */
#define READ_BURST 4

/* All 0: nothing has been read yet. */
struct read_pace {
	/* Each reading adds READ_DISTANCE_NS, from its own time at least. */
	uint64_t paid_until_ns;
};

/* The earliest time of the next reading, if the wakeup was at now_ns. */
uint64_t read_pace_get_next_ns(const struct read_pace *pace, uint64_t now_ns);

/* A reading starts. */
void read_pace_add(struct read_pace *pace, uint64_t now_ns);

#endif
