#include "cli/files/format_list.h"

#include <string.h>

#include "base/text.h"
#include "cli/options/suggestion.h"
#include "viewer/page.h"

const struct format *format_list_find_name(const char *name)
{
	return string_equals(name, format_html.name) ? &format_html : format_find_name(name);
}

static const struct format *find_extension(const char *path, size_t length)
{
	size_t extension = strlen(format_html.extension);

	if (length >= extension &&
	    !memcmp(path + length - extension, format_html.extension, extension))
		return &format_html;
	return format_find_extension(path, length);
}

/* An extension that includes a suffix, .pb.gz, is not a suffix. */
struct written_name format_list_find_path(const char *path)
{
	size_t length = strlen(path);
	struct written_name name = {.format = find_extension(path, length)};

	if (!name.format) {
		enum compression compression = compression_find_suffix(path, length, &length);

		if (compression == COMPRESSION_GZIP || compression == COMPRESSION_ZSTD)
			name.format = find_extension(path, length);
		if (name.format)
			name.compression = compression;
	}
	if (name.format)
		name.extension_bytes = strlen(path) - length + strlen(name.format->extension);
	return name;
}

void format_list_for_each(void (*show)(const struct format *format, void *context), void *context)
{
	for (const struct format *const *format = format_get_all(); *format; format++)
		show(*format == &format_page ? &format_html : *format, context);
}

const char *format_list_suggest(const char *name, bool is_written)
{
	struct suggestion suggestion = {.wanted = name};

	for (const struct format *const *format = format_get_all(); *format; format++)
		if (is_written ? (*format)->write || *format == &format_page : !!(*format)->read)
			suggestion_offer(&suggestion, (*format)->name);
	return suggestion.word;
}
