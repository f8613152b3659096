/*
 * The packets in a data file of an experiment, one after the other.
 *
 * A file is written in blocks, each of one processor, and a block that was not filled ends in an
 * empty packet. So packets are not in order of time, and damage costs no more than its block.
 */
#ifndef FORMATS_GPROFNG_READ_PACKETS_H
#define FORMATS_GPROFNG_READ_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/gprofng/read_files.h"

#define GPROFNG_PACKET_HEADER_BYTES 4

struct gprofng_packets {
	struct import *import;
	const struct gprofng_file *file;
	size_t offset; /* of the next packet */
	bool is_big_endian;
};

/* A packet, with its header. */
struct gprofng_record {
	size_t offset; /* in the file */
	const uint8_t *data;
	size_t size;
	uint32_t type;
	bool is_big_endian;
};

/*
 * The next packet that is neither empty nor damaged. Returns 1, 0 at the end, or -EBADMSG when the
 * import is strict.
 */
_must_check_ int gprofng_packets_next(struct gprofng_packets *packets, struct gprofng_record *ret);

/* A number of 2, 4 or 8 bytes; 0 when it is not all in the record. */
uint64_t gprofng_record_get(const struct gprofng_record *record, size_t offset, unsigned int width);

#endif
