/*
 * The index of an archive as somebody may have left it, and the text of a row in it. Whatever they are: only
 * captures that are there are found, a text that was added is found again, and a row that a text makes gives
 * the same text.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "archive/archive.h"
#include "base/file.h"
#include "cli/report/history_row.h"
#include "require.h"

#define KIND "fuzz"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[256];
static struct archive *archive;

static void remove_folder(void)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/" ARCHIVE_INDEX_NAME, folder);
	(void)unlink(path);
	(void)rmdir(folder);
}

static void make_folder(void)
{
	const char *parent = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/stackwide-fuzz-XXXXXX", parent ? parent : "/tmp");
	require(mkdtemp(folder) != NULL);
	atexit(remove_folder);
	require(archive_open(folder, false, &archive, NULL) == 0);
}

static void write_index(const uint8_t *data, size_t size)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/" ARCHIVE_INDEX_NAME, folder);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0);
	require(file_write_fd(fd, KIND "\n", sizeof(KIND)) == 0);
	require(file_write_fd(fd, data, size) == 0);
	close(fd);
}

static void try_index(const uint8_t *data, size_t size)
{
	char name[] = "2026/11/21/120000Z-web.pb.gz";
	const struct archive_capture capture = {.name = name, .length_bytes = 7, .changed_ns = 9};
	const struct archive_index_line line = {&capture, "added"};
	struct archive_index *index;

	write_index(data, size);
	require(archive_index_new(archive, KIND, &index) == 0);
	(void)archive_index_find(index, &capture);
	archive_index_free(index);
	/* It may be written anew, without this capture, which does not exist. */
	require(archive_index_add(archive, KIND, &line, 1) == 0);
	require(archive_index_new(archive, KIND, &index) == 0);
	if (archive_index_find(index, &capture))
		require(!strcmp(archive_index_find(index, &capture), "added"));
	archive_index_free(index);
}

static void try_row(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *string = strndup((const char *)data, size);
	struct text first = {0}, second = {0};
	struct history_row row;

	if (!history_row_init_text(&row, "file", 0, string) &&
	    history_row_append_text(&row, &first)) {
		history_row_print(&row, &second, size % 200);
		history_row_print_json(&row, &second);
		history_row_release(&row);
		require(history_row_init_text(&row, "file", 0, first.data) == 0);
		text_truncate(&second, 0);
		require(history_row_append_text(&row, &second));
		require(!strcmp(first.data, second.data));
	}
	history_row_release(&row);
	text_release(&first);
	text_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!archive)
		make_folder();
	try_index(data, size);
	try_row(data, size);
	return 0;
}
