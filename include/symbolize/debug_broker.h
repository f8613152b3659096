/*
 * Debug files for a process that may not open any: it asks another process, which checks the
 * requested file before opening it.
 *
 * The broker opens only regular ELF files in these places:
 *
 * - below a root of debug files
 * - in the folder of a mapped file, or in .debug in it. The path must lead to the mapped file here,
 *   too. Both files must have the same owner, or the requested file is root's or ours
 *   and readable by everybody.
 *
 * So a process that has been taken over gets only programs and their debug files, which it is given
 * anyway.
 */
#ifndef SYMBOLIZE_DEBUG_BROKER_H
#define SYMBOLIZE_DEBUG_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/debug_file.h"
#include "process/file_table.h"

/* The asking side. */
struct debug_client {
	int fd; /* borrowed; SOCK_SEQPACKET */
	uint32_t num_requests;
	unsigned int num_late; /* answers that did not arrive in time */
	bool is_gone; /* the broker ended, or too many answers were late; not asked again */
	struct debug_opener opener; /* for objfile_set_opener() */
};

void debug_client_init(struct debug_client *client, int fd);

/* Settings of the broker. All borrowed. */
struct debug_broker {
	const char *debug_root; /* "/usr/lib/debug"; several are separated by `:` */
	const struct file_table *files;
};

/* Answer requests until the other end is closed. */
void debug_broker_serve(const struct debug_broker *broker, int fd);

/*
 * Answer one request: the bytes of a path, which may be invalid. Returns a descriptor, which the
 * caller closes, or negative errno: -EACCES for a file that the broker does not open.
 */
_must_check_ int debug_broker_open(const struct debug_broker *broker, const char *path,
				   size_t length);

#endif
