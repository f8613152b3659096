/*
 * Links of a BPF program to points of a file (uprobe_multi, Linux 6.6). libbpf 1.1 and the kernel's headers of its time do
 * not know them, so they are asked of the kernel here.
 *
 * One link has any number of points. Whoever ends a probe waits until no CPU can be in it any more, some 80 ms: of perf
 * events, which have one point each, for every one of them; of a link once.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_KERNEL_UPROBE_LINK_H
#define COLLECT_KERNEL_UPROBE_LINK_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* What a program that is to be linked so expects to be attached to: BPF_TRACE_UPROBE_MULTI. */
#define UPROBE_LINK_ATTACH_TYPE ((enum bpf_attach_type)48)

struct uprobe_link_point {
	/* Of the file. */
	uint64_t offset;
	uint64_t semaphore_offset; /* of the number of those who watch the point; 0: it has none */
	uint64_t cookie;           /* what bpf_get_attach_cookie() gives the program there */
};

struct uprobe_link_opts {
	int program_fd; /* borrowed for the call */
	int file_fd;    /* the same */
	const struct uprobe_link_point *points;
	size_t num_points;
	bool at_returns; /* of the functions that begin there */
};

/*
 * Run a program at all of the points, in every process that maps the file, until the link is closed.
 *
 * Returns the link's descriptor, -ENOMEM, or the negative errno with which the kernel refuses it: -EINVAL where it knows
 * no such links, -EBADF where the file is no regular one.
 */
_must_check_ int uprobe_link_open(const struct uprobe_link_opts *opts);

#endif
