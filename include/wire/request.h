/*
 * The kind of a request to a block device, from the record of the tracepoint at its start: letters
 * for its operation and flags (rwbs), its bytes, and the sectors of the device that it covers.
 *
 * Included by both sides, like wire/wire.h.
 */
#ifndef WIRE_REQUEST_H
#define WIRE_REQUEST_H

#include "wire/types.h"

enum wire_request_kind {
	WIRE_REQUEST_UNKNOWN,
	WIRE_REQUEST_READ,
	WIRE_REQUEST_WRITE,
	WIRE_REQUEST_DISCARD, /* TRIM: the device may forget the data */
	WIRE_REQUEST_FLUSH,   /* of the device's cache */
	WIRE_REQUEST_ZONE,    /* opens, closes or resets a zone of the device */
	WIRE_REQUEST_OTHER,   /* a command of its driver */
	WIRE_NUM_REQUEST_KINDS,
};

/* Letters of operations; the kernel puts F ahead of them if the cache is to be flushed before. */
static inline int wire_is_operation(char letter)
{
	return letter == 'R' || letter == 'W' || letter == 'D' || letter == 'F' || letter == 'Z' ||
	       letter == 'N';
}

/*
 * Operations without a letter of their own are N. Those of them that cover sectors write: zeros (REQ_OP_WRITE_ZEROES),
 * the same data again (WRITE_SAME, before Linux 5.18), or at the end of a zone (ZONE_APPEND); so the kernel counts them
 * in the statistics of disks.
 *
 * letters  the first three
 */
static inline enum wire_request_kind wire_request_kind(const char *letters, wire_u32 num_bytes,
						       wire_u32 num_sectors)
{
	int is_flush_first = letters[0] == 'F' && wire_is_operation(letters[1]);
	char operation = is_flush_first ? letters[1] : letters[0];
	char next = is_flush_first ? letters[2] : letters[1];

	if (operation == 'R')
		return WIRE_REQUEST_READ;
	if (operation == 'W')
		return is_flush_first && !num_bytes ? WIRE_REQUEST_FLUSH : WIRE_REQUEST_WRITE;
	if (operation == 'D')
		return WIRE_REQUEST_DISCARD;
	if (operation == 'F')
		return WIRE_REQUEST_FLUSH;
	/* Since Linux 6.19 zones have letters. */
	if (operation == 'Z')
		return next == 'A' ? WIRE_REQUEST_WRITE : WIRE_REQUEST_ZONE;
	if (operation == 'N' && num_sectors)
		return WIRE_REQUEST_WRITE;
	if (operation == 'N' && !num_bytes)
		return WIRE_REQUEST_ZONE;
	return WIRE_REQUEST_OTHER;
}

#endif
