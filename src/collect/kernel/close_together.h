/*
 * Closing many links to probes. The kernel returns from each close when all programs of the probe have ended, which takes it
 * some tens of milliseconds; threads that close at the same time wait for the same end.
 */
#ifndef COLLECT_KERNEL_CLOSE_TOGETHER_H
#define COLLECT_KERNEL_CLOSE_TOGETHER_H

#include <stddef.h>

/* Close all count descriptors, from the last to the first as far as threads keep an order; returns when they are closed. */
void close_together(const int *fds, size_t count);

#endif
