/*
 * The messages from a symbolizing process to the one that writes: the frames of a profile's
 * locations, as they are found. Both have the same profile, from before a fork.
 *
 * Messages go over a socket of kind SOCK_SEQPACKET, so that none is truncated when the writer is
 * killed; another writer may continue after it. The reader trusts nothing: an invalid message ends
 * the reading, and ids, lengths and sums are checked.
 */
#ifndef SYMBOLIZE_NAME_STREAM_H
#define SYMBOLIZE_NAME_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

/*
 * A longer name ends in "...": C++ has such names, and hostile files that try to fill our memory.
 */
#define NAME_STREAM_MAX_NAME_BYTES (32u << 10)
#define NAME_STREAM_MAX_MESSAGE    (128u << 10)

struct name_writer;

/* fd is borrowed. Returns NULL when out of memory. */
struct name_writer *name_writer_new(int fd, const struct profile *profile);
void name_writer_free(struct name_writer *writer);

/*
 * Each returns 0, -ENOMEM, or negative errno of sending. If more data follows, written data arrives
 * within a millisecond.
 */
_must_check_ int name_writer_add_location(struct name_writer *writer, uint32_t location);
_must_check_ int name_writer_add_outermost(struct name_writer *writer, uint32_t location);
_must_check_ int name_writer_add_progress(struct name_writer *writer, uint32_t num_done,
					  uint32_t num_total);
/* Facts that are known after symbolization. */
_must_check_ int name_writer_add_facts(struct name_writer *writer,
				       const struct symbolizer *symbolizer);
_must_check_ int name_writer_flush(struct name_writer *writer);
bool name_writer_has_unsent(const struct name_writer *writer);

/* Data received over a stream. Zeroed at first. */
struct names {
	uint8_t *outermost; /* a bit for each location: its function is its thread's outermost */
	uint32_t num_locations;
	bool is_kernel_restricted; /* as symbolizer_is_kernel_restricted() */
	char *unread_path;         /* as symbolizer_get_unread_debug_info() */
	bool is_unread_split;
	bool is_damaged; /* a message was invalid; later ones were not read */
};

void names_release(struct names *names);
bool names_are_outermost(const struct names *names, uint32_t location);

/* NULL is fine. */
typedef void (*name_progress)(uint32_t num_done, uint32_t num_total, void *context);

/*
 * Read until the end of the stream and give the profile's locations their frames. Returns 0, -ENOMEM
 * or negative errno of receiving.
 */
_must_check_ int names_read(int fd, struct profile *profile, name_progress progress, void *context,
			    struct names *ret);

/* Parser of one message; for names_read() and tests. Zeroed at first, except profile and names. */
struct name_reader {
	struct profile *profile;
	struct names *names;
	uint32_t *strings;     /* the writer's new strings, in order of arrival */
	uint32_t *frame_names; /* the same as names of frames; STRING_NONE: not yet */
	size_t num_strings;
	size_t capacity;
	uint32_t num_old_strings; /* the profile's strings at the fork */
	uint64_t num_bytes;       /* of all strings */
	name_progress progress;
	void *context;
};

/* Returns 0, -ENOMEM or -EBADMSG. */
_must_check_ int name_reader_read(struct name_reader *reader, const void *message, size_t size);
void name_reader_release(struct name_reader *reader);

#endif
