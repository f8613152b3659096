/*
 * Programs that the kernel runs for every thread of the machine (BPF iterators), in the process that
 * reads their file. Some emit records through it.
 *
 * Copying the stack of another process waits for its memory, which may be for ever on a file system
 * that hangs. So another process reads the records, and after a while we stop waiting for it.
 *
 * Not thread-safe. Source: Documentation/bpf/bpf_iterators.rst of Linux.
 */
#ifndef COLLECT_PROGRAMS_THREAD_ITERATOR_H
#define COLLECT_PROGRAMS_THREAD_ITERATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct bpf_program;

/* Open a file whose reading runs the program for every thread. Returns it, or negative errno. */
int thread_iterator_open(const struct bpf_program *program);
/*
 * Run a program that emits nothing, and close its file. Returns 0 or negative errno, which is
 * -EALREADY if the file is -1.
 */
_must_check_ int thread_iterator_run(int *file);
/*
 * Read the records of a program, and close its file; no record if it is -1.
 *
 * handle    called with one wire_stack, wire_sample or wire_raw_sample at a time
 * ret_num   number of samples among them
 *
 * Returns 0 or the error of handle(). If copying memory hangs (in a file system), the rest is
 * skipped after a few seconds, with a warning.
 */
_must_check_ int thread_iterator_read(int *file,
				      int (*handle)(const void *record, size_t size, void *context),
				      void *context, uint64_t *ret_num);
/* Number of a cgroup, as the programs compare it: that of its directory's inode; 0 for -1. */
uint64_t thread_iterator_get_cgroup_id(int cgroup_fd);

/* Size of the record at the start of the bytes; 0: incomplete or invalid. Exposed for tests. */
size_t thread_iterator_measure_record(const void *data, size_t size);

#endif
