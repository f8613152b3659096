/* Messages of libbpf and of the kernel's verifier, shown with -v, and loading with such a log. */
#ifndef COLLECT_KERNEL_BPF_LOG_H
#define COLLECT_KERNEL_BPF_LOG_H

#include "base/attributes.h"

struct bpf_object_skeleton;

/* From now on libbpf's warnings are debug messages. */
void bpf_log_start(void);

/*
 * Open and load programs. With -v, log the number of instructions that the kernel has verified for
 * each. If loading fails then, the log lacks the verifier's reason: close the programs, and open
 * and load them again without it.
 *
 * open   everything except loading. ret: the programs to load, borrowed
 * close  called after a failed load that is repeated
 *
 * Returns 0, the error of open(), or negative errno; the caller closes any programs that are still
 * open.
 */
_must_check_ int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
			      void (*close)(void *context), void *context);

#endif
