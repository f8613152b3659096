#include "formats/format.h"

#include <errno.h>
#include <string.h>

#define DRAIN_BYTES 262144

static const struct format *const formats[] = {
	&format_folded,
	&format_text,
	NULL,
};

const struct format *const *format_get_all(void)
{
	return formats;
}

const struct format *format_find_name(const char *name)
{
	for (const struct format *const *format = formats; *format; format++)
		if (string_equals((*format)->name, name))
			return *format;
	return NULL;
}

const struct format *format_find_path(const char *path)
{
	const struct format *found = NULL;

	for (const struct format *const *format = formats; *format; format++)
		if (string_ends_with(path, (*format)->extension) &&
		    (!found || strlen((*format)->extension) > strlen(found->extension)))
			found = *format;
	return found;
}

int sink_flush(const struct sink *sink, struct text *text)
{
	int err = text->failed ? -ENOMEM : 0;

	if (!err && text->length)
		err = sink->write(sink->context, text->data, text->length);
	text_truncate(text, 0);
	return err;
}

int sink_drain(const struct sink *sink, struct text *text)
{
	return text->failed || text->length >= DRAIN_BYTES ? sink_flush(sink, text) : 0;
}
