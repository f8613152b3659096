/*
 * Links of a BPF program to points of a file (uprobe_multi, Linux 6.6). libbpf 1.1 and the kernel
 * headers of its time lack them, so this makes the system calls itself.
 *
 * A link has any number of points. Removing a probe waits until no CPU can be in it any more, some
 * 80 ms. Perf events have one point each, and wait for every one; a link waits once. See also
 * collect/kernel/close_together.h.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_KERNEL_UPROBE_LINK_H
#define COLLECT_KERNEL_UPROBE_LINK_H

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Expected attach type of a program for such a link: BPF_TRACE_UPROBE_MULTI. */
#define UPROBE_LINK_ATTACH_TYPE ((enum bpf_attach_type)48)

struct uprobe_link_point {
	/* Offset in the file. */
	uint64_t offset;
	uint64_t semaphore_offset; /* file offset of the counter of attached tracers; 0: none */
	uint64_t cookie;           /* returned by bpf_get_attach_cookie() in the program */
};

struct uprobe_link_opts {
	int program_fd; /* borrowed for the call */
	int file_fd;    /* the same */
	const struct uprobe_link_point *points;
	size_t num_points;
	bool at_returns; /* at the returns of the functions that start at the points */
};

/*
 * Run a program at all of the points, in every process that maps the file, until the link is
 * closed.
 *
 * Returns the link's descriptor, -ENOMEM, or the kernel's negative errno: -EINVAL if it has no such
 * links, -EBADF if the file is not regular.
 */
_must_check_ int uprobe_link_open(const struct uprobe_link_opts *opts);

#endif
