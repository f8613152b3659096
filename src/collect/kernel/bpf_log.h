/* Messages of libbpf and of the kernel's verifier, shown with -v, and what loading has to do for them. */
#ifndef COLLECT_KERNEL_BPF_LOG_H
#define COLLECT_KERNEL_BPF_LOG_H

#include "base/attributes.h"

struct bpf_object_skeleton;

/* From now on libbpf's warnings are debug messages. */
void bpf_log_start(void);

/*
 * Open and load programs. With -v it is logged how many instructions of each the kernel has verified. If loading
 * fails then, that log lacks the verifier's reason: they are closed, and opened and loaded again without it.
 *
 * open   everything but loading. ret: what is to be loaded, borrowed
 * close  after a load that has failed and is repeated
 *
 * Returns 0, what open() returned, or negative errno; whatever is open then is the caller's to close.
 */
_must_check_ int bpf_log_load(int (*open)(void *context, struct bpf_object_skeleton **ret),
			      void (*close)(void *context), void *context);

#endif
