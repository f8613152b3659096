/*
 * Copies what a program writes into the rings of its shared memory, while it does: a ring holds only
 * what was written last. The program does not know of it, and nothing is written into its file.
 *
 * The copy is a file of the same format, see formats/zones/read_rings.c: the header and the
 * declarations as they are at the end, then blocks in the order in which they were found.
 */
#ifndef CLI_RECORD_ZONES_COLLECTOR_H
#define CLI_RECORD_ZONES_COLLECTOR_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/attributes.h"

struct zones_collector;

/*
 * fd      of the program's file; taken on success
 * status  what fstat() says of it
 *
 * Returns 0, -ENOMEM, or -EINVAL where the file holds nothing of the kind, or not yet.
 */
_must_check_ int zones_collector_new(int fd, const struct stat *status,
				     struct zones_collector **ret);
void zones_collector_free(struct zones_collector *collector);

bool zones_collector_is_of(const struct zones_collector *collector, const struct stat *status);

/*
 * Copy the blocks that are full by now, to an anonymous file in the folder for temporary ones. What
 * cannot be copied is as if it had been overwritten; a full disk is reported once.
 */
void zones_collector_collect(struct zones_collector *collector);

/*
 * Add what is left in the rings. Returns the descriptor of the copy, which stays the collector's,
 * at its begin; -1 where the program's own file has all there is, or the copy cannot be completed.
 */
int zones_collector_finish(struct zones_collector *collector);

#endif
