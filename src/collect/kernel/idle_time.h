/* Time that the CPUs of the machine had nothing to run. */
#ifndef COLLECT_KERNEL_IDLE_TIME_H
#define COLLECT_KERNEL_IDLE_TIME_H

#include <stdint.h>

/*
 * From the text of /proc/stat: time without a thread, with or without requests to disks under way,
 * summed over all CPUs since the boot. 0: unknown.
 */
uint64_t idle_time_parse_ns(const char *text);

/* The same now. */
uint64_t idle_time_read_ns(void);

#endif
