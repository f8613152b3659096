#include "collect/kernel/uprobe_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's limit (MAX_UPROBE_MULTI_CNT). */
#define MAX_POINTS (1u << 20)

/* BPF_F_UPROBE_MULTI_RETURN */
#define AT_RETURNS 1u

/*
 * The part of union bpf_attr that BPF_LINK_CREATE reads for such a link. Pointers are numbers;
 * arrays have an element for each point.
 */
struct link_attributes {
	uint32_t program_fd;
	uint32_t target_fd; /* not used */
	uint32_t attach_type;
	uint32_t flags; /* none */
	uint64_t path;
	uint64_t offsets;
	uint64_t semaphore_offsets;
	uint64_t cookies;
	uint32_t num_points;
	uint32_t multi_flags;
	/*
	 * 0: all. Else a single process, without its children, which must not have ended; before
	 * Linux 6.10 a single thread.
	 */
	uint32_t pid;
	uint32_t padding;
};
_Static_assert(sizeof(struct link_attributes) == 64, "as union bpf_attr has it");

int uprobe_link_open(const struct uprobe_link_opts *opts)
{
	/* The very file that is open, whatever is at its path by now. */
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(opts->file_fd)];
	struct link_attributes attributes = {
		.program_fd = (uint32_t)opts->program_fd,
		.attach_type = UPROBE_LINK_ATTACH_TYPE,
		.path = (uintptr_t)path,
		.num_points = (uint32_t)opts->num_points,
		.multi_flags = opts->at_returns ? AT_RETURNS : 0,
	};
	_cleanup_free_ uint64_t *numbers = NULL;
	long fd;

	if (opts->num_points > MAX_POINTS)
		return -E2BIG;
	numbers = calloc(opts->num_points, 3 * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < opts->num_points; i++) {
		numbers[i] = opts->points[i].offset;
		numbers[opts->num_points + i] = opts->points[i].semaphore_offset;
		numbers[2 * opts->num_points + i] = opts->points[i].cookie;
	}
	attributes.offsets = (uintptr_t)numbers;
	attributes.semaphore_offsets = (uintptr_t)(numbers + opts->num_points);
	attributes.cookies = (uintptr_t)(numbers + 2 * opts->num_points);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", opts->file_fd);
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
	return fd < 0 ? -errno : (int)fd;
}
