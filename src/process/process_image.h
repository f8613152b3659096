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

/* The code of an image. */
struct image_code {
	struct mapping_list mappings;
	/* Mappings of the latest mapping events, all of one time. */
	struct mapping_list latest;
	uint64_t latest_ns;
	struct jit_files jit;      /* perf-map and jitdump of its generated code */
	struct mapping_list moved; /* read after the events; in effect from moved_ns on */
	uint64_t moved_ns;         /* 0: no such mappings */
	uint64_t next_move_ns;     /* next search for moved mappings */
	uint64_t move_pause_ns;    /* between the last search and the next */
	uint64_t next_runtime_ns;  /* when to ask for its runtime's options again */
	/* File mappings in the place of memory that may contain copies of the files. */
	struct mapping_list replaced;
	uint32_t num_looks; /* replaced_text.h */
	/* Version of the last exec or scan: before it, other code may have been at any address. */
	uint32_t base_version;
	uint32_t replacing_version; /* process_get_replacing_version() */
};

/*
 * Images are never removed, and there may be millions of them: data that is useless once nobody
 * asks for the code is kept apart.
 */
struct process_image {
	/*
	 * First member: the table hands out pointers to it. Holds a reference to the command line.
	 */
	struct process process;
	struct image_code *code;   /* NULL: no code (any more) */
	uint64_t proc_start_ns;    /* of the process, from /proc; 0 when it was never read */
	bool is_listed_as_changed; /* in the table's list of changes */
	bool is_sampled;           /* somebody has asked for it */
	bool was_mapped_in_scan;   /* the last scan found mappings: it had not ended by then */
	bool is_runtime_known;     /* keeps_frame_pointers is determined */
	bool keeps_frame_pointers; /* its answer */
	bool is_set_back;          /* its mappings are those of an earlier time */
};
_Static_assert(sizeof(struct process_image) == 120, "there are many processes");

/* An image without mappings, comm and generation. NULL when out of memory. */
struct process_image *process_image_new(uint32_t id, pid_t pid, uint64_t start_ns);
void process_image_free(struct process_image *image);

/* For reading; an empty one if it has no code. Valid until it is used, or forgotten. */
const struct image_code *process_image_get_code(const struct process_image *image);

/* For changes; creates it if needed. NULL when out of memory. */
struct image_code *process_image_use_code(struct process_image *image);

/* Free the memory of its code data. */
void process_image_forget_code(struct process_image *image);

/* A comm that is too long is truncated. */
void process_image_set_comm(struct process_image *image, const char *comm);

/* Sets a copy. Returns 0 or -ENOMEM. */
_must_check_ int process_image_set_command_line(struct process_image *image,
						const char *command_line);
/* The same for the result of process_get_script(). */
_must_check_ int process_image_set_script(struct process_image *image, const char *script);

/*
 * Give a new image the state that a child inherits from its parent at fork. Returns 0 or -ENOMEM.
 */
_must_check_ int process_image_inherit(struct process_image *image, struct process_image *parent);

/* Apply a mapping event of time_ns. Returns 0 or -ENOMEM. */
_must_check_ int process_image_map(struct process_image *image, uint64_t time_ns,
				   const struct mapping *mapping);

/*
 * The same for memory that may be a copy (replaced_text.h). If it replaces a file's text and has
 * the same bytes, the file stays mapped. The memory of a process that has ended cannot be compared.
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
 * Read the maps for process_image_take_moved(). Returns 0, -ENOMEM or -ETIMEDOUT; maps that may not
 * be read are no failure.
 */
_must_check_ int process_image_read_moved(struct process_image *image, const char *proc_root,
					  struct file_table *files);

/*
 * Add the moved mappings to gaps in the others, if their time has arrived. Known mappings stay: a
 * program that replaces them by other memory may have copied the same code there. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int process_image_take_moved(struct process_image *image, uint64_t time_ns,
					  bool *ret_is_changed);

/*
 * Update the image from /proc.
 *
 * entry      data read about its process
 * as_of_ns   a time before anything was read
 *
 * Returns 0 or -ENOMEM. Maps that may not be read are no failure: as_of_ns of the image then stays,
 * because older events are the only source.
 */
_must_check_ int process_image_refresh(struct process_image *image, const char *proc_root,
				       struct file_table *files, const struct proc_entry *entry,
				       uint64_t as_of_ns);

#endif
