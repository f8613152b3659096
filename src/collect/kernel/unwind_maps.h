/* The BPF maps with unwind tables: the sampling program reads them, and the unwind store fills them. */
#ifndef COLLECT_KERNEL_UNWIND_MAPS_H
#define COLLECT_KERNEL_UNWIND_MAPS_H

/* Descriptors of the sampling program's maps; borrowed, valid as long as the sampling program. */
struct unwind_maps {
	int pages_fd;
	int mappings_fd;
	int shards_fd;
	int processes_fd;
	int layouts_fd; /* of interpreters */
};

#endif
