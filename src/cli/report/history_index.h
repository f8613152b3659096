/* The rows of the history in the archive's index, so that each capture is read only once for it. */
#ifndef CLI_REPORT_HISTORY_INDEX_H
#define CLI_REPORT_HISTORY_INDEX_H

#include <stdbool.h>

#include "archive/archive.h"
#include "base/array.h"
#include "base/attributes.h"
#include "cli/report/history_row.h"

struct history_index {
	const struct archive *archive; /* the caller's */
	struct archive_index *known;
	ARRAY(struct archive_index_line) added; /* not written yet; the texts are owned */
	bool is_read_only;
};

/* Read the index, if any. The archive is borrowed. Returns 0 or -ENOMEM. */
_must_check_ int history_index_init(struct history_index *index, const struct archive *archive);
/* Write the added rows, and release everything. */
void history_index_release(struct history_index *index);

/*
 * Make the row of a capture from the index. path is copied. Returns whether it was found: then the
 * caller releases it; else the capture must be read.
 */
_must_check_ bool history_index_find(const struct history_index *index,
				     const struct archive_capture *capture, const char *path,
				     struct history_row *ret);

/*
 * Remember a row, which is final (history_row_read()). The capture is borrowed until
 * history_index_release(). A row that cannot be written is ignored.
 */
void history_index_add(struct history_index *index, const struct archive_capture *capture,
		       const struct history_row *row);

/*
 * Write one line, a text of history_row_append_text(), perhaps of another process. Returns 0 or
 * negative errno.
 */
_must_check_ int history_index_write(const struct archive *archive,
				     const struct archive_capture *capture, const char *text);

#endif
