/*
 * Copies the records that a program writes into the rings of its shared memory, during the
 * recording: a ring keeps only the latest ones. The program does not notice, and nothing is written
 * into its file.
 *
 * The copy is a file of the same format, see formats/zones/read_rings.c: the header and the
 * declarations as they are at the end, then blocks in the order of discovery.
 */
#ifndef CLI_RECORD_ZONES_COLLECTOR_H
#define CLI_RECORD_ZONES_COLLECTOR_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/attributes.h"

struct zones_collector;

/*
 * fd      of the program's file; taken on success
 * status  from fstat()
 *
 * Returns 0, -ENOMEM, or -EINVAL if the file has no such content, or not yet.
 */
_must_check_ int zones_collector_new(int fd, const struct stat *status,
				     struct zones_collector **ret);
void zones_collector_free(struct zones_collector *collector);

bool zones_collector_is_of(const struct zones_collector *collector, const struct stat *status);

/*
 * Copy the blocks that are full by now, to an anonymous file in the folder for temporary ones. A
 * failed copy counts as overwritten; a full disk is reported once.
 */
void zones_collector_collect(struct zones_collector *collector);

/*
 * Add the rest of the rings. Returns the descriptor of the copy, at its start, owned by the
 * collector. Returns -1 if the program's own file contains everything, or the copy cannot be
 * completed.
 */
int zones_collector_finish(struct zones_collector *collector);

#endif
