/*
 * All formats that the command line knows: those of the formats room and the viewer's page.
 */
#ifndef CLI_FILES_FORMAT_LIST_H
#define CLI_FILES_FORMAT_LIST_H

#include <stdbool.h>

#include "formats/compression.h"
#include "formats/format.h"

/* Properties of an output, from its file name: x.folded.gz. */
struct written_name {
	const struct format *format;  /* NULL: unknown extension */
	enum compression compression; /* by a suffix behind the extension, .gz or .zst */
	size_t extension_bytes;       /* of both; only with a format */
};

/* As format_find_name(), with the page. */
const struct format *format_list_find_name(const char *name);
/* As format_find_path(), with the page, and with a suffix. */
struct written_name format_list_find_path(const char *path);
/* Call show() for each format. */
void format_list_for_each(void (*show)(const struct format *format, void *context), void *context);

/*
 * The known format most similar to a misspelt name, or NULL. Considers only formats that can be
 * read, or written.
 */
const char *format_list_suggest(const char *name, bool is_written);

#endif
