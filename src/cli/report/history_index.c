/*
 * The same version of the program always reads the same row from a capture. So the version is part
 * of the index's kind. FORM changes with the content or computation of rows, for people who build
 * between versions.
 *
 * Nothing depends on an index: if it is missing or cannot be written, captures are read.
 */
#include "cli/report/history_index.h"

#include <string.h>

#include "base/log.h"

#define FORM "1"
#define KIND "stackwide history, version " STACKWIDE_VERSION ", form " FORM

/*
 * Number of rows written at a time: a user who stops a long list early keeps the rows that were
 * already read.
 */
#define MAX_ADDED 256

int history_index_init(struct history_index *index, const struct archive *archive)
{
	*index = (struct history_index){.archive = archive};
	return archive_index_new(archive, KIND, &index->known);
}

static void write_added(struct history_index *index)
{
	int err;

	if (!index->added.length)
		return;
	err = archive_index_add(index->archive, KIND, index->added.items, index->added.length);
	if (err)
		log_debug("the archive's index cannot be written: %s", strerror(-err));
	index->is_read_only = err;
	array_for_each (&index->added, line)
		free((char *)(uintptr_t)line->text);
	index->added.length = 0;
}

void history_index_release(struct history_index *index)
{
	write_added(index);
	array_release(&index->added);
	archive_index_free(index->known);
	*index = (struct history_index){0};
}

bool history_index_find(const struct history_index *index, const struct archive_capture *capture,
			const char *path, struct history_row *ret)
{
	const char *text = archive_index_find(index->known, capture);

	if (!text)
		return false;
	if (!history_row_init_text(ret, path, capture->time_s, text))
		return true;
	history_row_release(ret);
	return false;
}

void history_index_add(struct history_index *index, const struct archive_capture *capture,
		       const struct history_row *row)
{
	struct archive_index_line *added;
	struct text text = {0};

	if (index->is_read_only)
		return;
	added = history_row_append_text(row, &text) ? array_add(&index->added) : NULL;
	if (!added) {
		text_release(&text);
		return;
	}
	*added = (struct archive_index_line){capture, text.data};
	if (index->added.length >= MAX_ADDED)
		write_added(index);
}

int history_index_write(const struct archive *archive, const struct archive_capture *capture,
			const char *text)
{
	struct archive_index_line line = {capture, text};

	return archive_index_add(archive, KIND, &line, 1);
}
