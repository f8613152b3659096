/*
 * Processes that would not let a probe be attached, or taken away.
 *
 * Either waits, uninterruptibly, for the memory map of every process that has mapped the
 * file. It blocks all forks meanwhile (Linux kernel/events/uprobes.c, register_for_each_vma(),
 * dup_mmap_sem). A process that does not answer the opener may have its map locked, for ever.
 */
#ifndef COLLECT_EVENTS_PROCESS_ANSWERS_H
#define COLLECT_EVENTS_PROCESS_ANSWERS_H

#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "process/slow_opener.h"

/*
 * Check that all processes answer. Ends at the first one that does not.
 *
 * Returns 0, -EBUSY with error filled, or -ENOMEM.
 */
_must_check_ int process_answers_check(struct slow_opener *opener, struct error *error);

/*
 * Wait until each process has answered, for ever if one does not. For a process of ours that may.
 *
 * asked  the process whose answer is waited for, meanwhile; 0 in the end
 */
void process_answers_wait(_Atomic pid_t *asked);

#endif
