/*
 * The files of `record --zones`: those that the user names, and beside each of them those that its
 * programs open for themselves, FILE.PID: a forked child, or a program that found FILE taken.
 *
 * Shared memory (FILE.ring) is copied while recording, since a ring keeps only the latest records.
 *
 * The state before the recording is noted at its start: files beside FILE that have not grown
 * meanwhile are of other runs, and so are the sections of FILE that had ended by then.
 */
#ifndef CLI_RECORD_ZONES_INPUTS_H
#define CLI_RECORD_ZONES_INPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

/* Maximum number of files beside each one that the user names. */
#define ZONES_INPUTS_MAX_BESIDE 4096

struct zones_input {
	char *path; /* owned */
	int fd;     /* -1: not opened yet */
	dev_t device;
	ino_t inode;
	uint64_t bytes_before; /* its size at the start of the recording */
};

struct fd_list;
struct zones_collector;

struct zones_inputs {
	ARRAY(struct zones_input) before;           /* state before the recording */
	ARRAY(struct zones_input) opened;           /* in the user's order; a file's own first */
	bool is_incomplete;                         /* some could not be opened */
	ARRAY(struct zones_collector *) collectors; /* of shared memory, in the order of
						       discovery */
	uint64_t collected_ns;                      /* time of the last collection */
	uint64_t looked_ns;                         /* time of the last search for new files */
};

/* Note the present state. Files that cannot be noted for lack of memory count as new. */
void zones_inputs_note(struct zones_inputs *inputs, char *const *paths, size_t num_paths);

/*
 * Copy new data of shared memory, if it is time for that; to be called often.
 *
 * now_ns  of any clock that does not go back
 */
void zones_inputs_collect(struct zones_inputs *inputs, char *const *paths, size_t num_paths,
			  uint64_t now_ns);

/* Open the files to read; "-" is standard input. Failures are reported. */
void zones_inputs_open(struct zones_inputs *inputs, char *const *paths, size_t num_paths);

/* Add the descriptors of opened files (base/confinement.h). */
void zones_inputs_add_fds(const struct zones_inputs *inputs, struct fd_list *fds);

void zones_inputs_release(struct zones_inputs *inputs);

#endif
