/*
 * SVG files in tests: written to a text, read from one, compared as folded text.
 */
#ifndef SVG_BUILDER_H
#define SVG_BUILDER_H

#include <errno.h>

#include "formats/format.h"
#include "formats/svg.h"
#include "profile_builder.h"

static inline int svg_builder_append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* The caller releases the text. */
static inline struct text svg_builder_write(const struct format *format,
					    const struct profile *profile,
					    const struct format_opts *opts)
{
	struct text written = {0};
	struct sink sink = {.write = svg_builder_append, .context = &written};

	text_append_string(&written, "");
	assert_int_equal(format->write(profile, opts, &sink), 0);
	assert_false(written.failed);
	return written;
}

static inline void svg_builder_warn(void *context, const char *line)
{
	text_append_string(context, line);
	text_append_char(context, '\n');
}

/* What read_svg() returned; the rest is in *ret_import, with a profile that the caller frees. */
static inline int svg_builder_read(const char *data, size_t size, struct text *warnings,
				   struct import *ret_import)
{
	uint32_t name;

	*ret_import = (struct import){
		.name = "x.svg",
		.data = (const uint8_t *)data,
		.size = size,
		.profile = profile_new(),
		.warn = warnings ? svg_builder_warn : NULL,
		.context = warnings,
	};
	assert_non_null(ret_import->profile);
	assert_int_equal(profile_add_string(ret_import->profile, "x.svg", &name), 0);
	assert_int_equal(profile_add_source(ret_import->profile, name, &ret_import->source), 0);
	return format_svg.read(ret_import);
}

/* The folded text of an SVG file must be this. */
static inline void assert_svg_is(const char *svg, const char *folded)
{
	struct format_opts opts = {0};
	struct import import;
	int err = svg_builder_read(svg, strlen(svg), NULL, &import);
	struct text written;

	if (err)
		fail_msg("%s", import.error.message);
	written = svg_builder_write(&format_folded, import.profile, &opts);
	assert_string_equal(written.data, folded);
	text_release(&written);
	profile_free(import.profile);
}

#endif
