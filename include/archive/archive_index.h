/*
 * What somebody has made of the captures of an archive, a line for each, in a file beside them: so
 * that they need not be read again for it.
 *
 * The captures are the truth, also about which of them there are. A text counts only for a capture
 * that has the very name, size and time of change that it was made of; an index that is missing,
 * damaged, of other users or of another kind is the same as an empty one. So no lock is needed: two
 * programs that write at once may lose lines, and lines are made again.
 *
 * Not thread-safe, but for reading.
 */
#ifndef ARCHIVE_ARCHIVE_INDEX_H
#define ARCHIVE_ARCHIVE_INDEX_H

#include <stddef.h>

#include "archive/archive.h"
#include "base/attributes.h"

/* The index's file, in the archive's folder. */
#define ARCHIVE_INDEX_NAME ".stackwide.index"

/* Of a text, in bytes. */
#define ARCHIVE_INDEX_MAX_TEXT (32u << 10)

struct archive_index;

/*
 * Read it.
 *
 * kind  what the texts are, in a line: an index of another kind is empty
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int archive_index_new(const struct archive *archive, const char *kind,
				   struct archive_index **ret);
void archive_index_free(struct archive_index *index);
static inline void archive_index_freep(struct archive_index **index)
{
	archive_index_free(*index);
}

/* The text of a capture as it is now, or NULL; borrowed from the index. */
const char *archive_index_find(const struct archive_index *index,
			       const struct archive_capture *capture);

struct archive_index_line {
	const struct archive_capture *capture;
	const char *text;
};

/*
 * Add lines. They are appended; where there is no index of this kind, or most of its lines are of
 * captures that are gone, it is written anew with those that are not.
 *
 * A text that has control characters or is too long is left out; and so is, when root adds it, one of a
 * capture that the index's owner may not read.
 *
 * Returns 0 or negative errno: -EACCES and -EROFS are usual for who may only read.
 */
_must_check_ int archive_index_add(const struct archive *archive, const char *kind,
				   const struct archive_index_line *lines, size_t num_lines);

#endif
