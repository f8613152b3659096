/*
 * When clocks must be compared anew: while a machine sleeps, CLOCK_MONOTONIC stands still and
 * CLOCK_BOOTTIME goes on; and CLOCK_REALTIME may be set.
 */
#ifndef TIMELINE_CLOCK_JUMP_H
#define TIMELINE_CLOCK_JUMP_H

#include <stdbool.h>

struct clock_snapshot;

/* Whether the clocks of two snapshots have gone on by different times. */
bool clock_has_jumped(const struct clock_snapshot *before, const struct clock_snapshot *after);

#endif
