/*
 * A process image with the private data of the process table. Others only see the struct process in
 * it.
 */
#ifndef PROCESS_PROCESS_IMAGE_H
#define PROCESS_PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "process/jit_files.h"
#include "process/proc_scan.h"
#include "process/process_table.h"

/* What code it has. */
struct image_code {
	struct mapping_list mappings;
	/* Mappings of the latest mapping events, all of one time. */
	struct mapping_list latest;
	uint64_t latest_ns;
	struct jit_files jit;      /* that name the code that it generates */
	struct mapping_list moved; /* read after the events; in effect from moved_ns on */
	uint64_t moved_ns;         /* 0: there are none */
	uint64_t next_move_ns;     /* when to look for moved mappings again */
	uint64_t move_pause_ns;    /* between the last look and the next */
	/* What was mapped of files where memory that may hold copies of them is now. */
	struct mapping_list replaced;
	uint32_t num_looks; /* replaced_text.h */
};

/*
 * Images are never removed, and there may be millions of them: what is of no use once nobody asks for
 * the code is apart.
 */
struct process_image {
	/* First: the table hands out pointers to it. A reference to the command line is held. */
	struct process process;
	struct image_code *code;   /* NULL: it has none (any more) */
	uint64_t proc_start_ns;    /* of the process, as /proc says; 0 when it never was read */
	bool is_listed_as_changed; /* is in the table's list of changes */
	bool is_sampled;           /* somebody has asked for it */
	bool was_mapped_in_scan;   /* the last scan found mappings: it had not ended by then */
	bool is_runtime_known;     /* was asked about frame pointers */
	bool keeps_frame_pointers; /* its answer */
};
_Static_assert(sizeof(struct process_image) == 120, "there are many processes");

/* An image without mappings, comm and generation. NULL when out of memory. */
struct process_image *process_image_new(uint32_t id, pid_t pid, uint64_t start_ns);
void process_image_free(struct process_image *image);

/* To be read: without any, one that is empty. Until it is used, or forgotten. */
const struct image_code *process_image_get_code(const struct process_image *image);

/* To be changed: without any, a new one. NULL when out of memory. */
struct image_code *process_image_use_code(struct process_image *image);

/* Give back the memory of all that is known of its code. */
void process_image_forget_code(struct process_image *image);

/* A comm that is too long is truncated. */
void process_image_set_comm(struct process_image *image, const char *comm);

/* A copy is made. Returns 0 or -ENOMEM. */
_must_check_ int process_image_set_command_line(struct process_image *image,
						const char *command_line);
/* The same for what process_get_script() returns. */
_must_check_ int process_image_set_script(struct process_image *image, const char *script);

/* Give a new image what a child inherits from its parent at fork. Returns 0 or -ENOMEM. */
_must_check_ int process_image_inherit(struct process_image *image, struct process_image *parent);

/* Apply a mapping event of time_ns. Returns 0 or -ENOMEM. */
_must_check_ int process_image_map(struct process_image *image, uint64_t time_ns,
				   const struct mapping *mapping);

/*
 * The same of what may hold a copy (replaced_text.h): where it is in the place of a file's text, and has its bytes, the file
 * stays mapped. Memory of a process that has ended has no bytes.
 */
_must_check_ int process_image_map_memory(struct process_image *image, uint64_t time_ns,
					  const struct mapping *mapping,
					  const struct file_table *files);

/*
 * Move mappings of time_ns, the time of an exec, from the image before the exec to the new one. The
 * kernel reports the new program's mappings after its name, but possibly on another CPU: if both
 * have the same time, their order is lost.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int process_image_take_latest(struct process_image *image,
					   const struct process_image *previous, uint64_t time_ns);

/*
 * Read the maps for process_image_take_moved(). Returns 0 or -ENOMEM; maps that may not be read are
 * no failure.
 */
_must_check_ int process_image_read_moved(struct process_image *image, const char *proc_root,
					  struct file_table *files);

/*
 * Add what was read to the mappings, where they have a gap, if the time has come. Known mappings
 * stay: who puts other memory in their place may have copied the same code there. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int process_image_take_moved(struct process_image *image, uint64_t time_ns,
					  bool *ret_is_changed);

/*
 * Update the image from /proc.
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
