/*
 * One program run by one pid, with all that the process table keeps about it. For the process
 * table; others see the struct process in it.
 */
#ifndef PROCESS_PROCESS_IMAGE_H
#define PROCESS_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "process/mapping_list.h"
#include "process/proc_scan.h"
#include "process/process_table.h"

struct process_image {
	struct process process; /* first: the table hands out pointers to it */
	struct mapping_list mappings;
	bool is_listed_as_changed; /* and waits to be taken */
	/* What was mapped by events of the latest time at which something was. */
	struct mapping_list latest;
	uint64_t latest_ns;
	uint64_t proc_start_ns;    /* of the process, as /proc says; 0 when it never was read */
	uint64_t next_perf_map_ns; /* no perf-map is looked for before */
	bool wants_perf_map;       /* there was code that only a perf-map can name */
};

/* An image without mappings, comm and generation. NULL when out of memory. */
struct process_image *process_image_new(uint32_t id, pid_t pid, uint64_t start_ns);
void process_image_free(struct process_image *image);

/* A comm that is too long is cut. */
void process_image_set_comm(struct process_image *image, const char *comm);

/* Make image (new) what a fork of parent is at first. Returns 0 or -ENOMEM. */
_must_check_ int process_image_inherit(struct process_image *image,
				       const struct process_image *parent);

/* Add what an event of time_ns says was mapped. Returns 0 or -ENOMEM. */
_must_check_ int process_image_map(struct process_image *image, uint64_t time_ns,
				   const struct mapping *mapping);

/*
 * Give image (new) what its previous image was told to have mapped at time_ns, the time of the
 * exec between them. The new program's mappings are reported after its name, but perhaps by another
 * CPU: when the clock gives both the same time, their order is lost.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int process_image_take_latest(struct process_image *image,
					   const struct process_image *previous, uint64_t time_ns);

/*
 * Bring the image up to what /proc says.
 *
 * entry      what was read about its process
 * as_of_ns   a time before anything was read
 *
 * Returns 0 or -ENOMEM. Maps that may not be read are no failure: as_of_ns of the image then
 * stays, because older events are all that there is.
 */
_must_check_ int process_image_refresh(struct process_image *image, const char *proc_root,
				       struct file_table *files, const struct proc_entry *entry,
				       uint64_t as_of_ns);

#endif
