/*
 * Zones text in, a timeline and a profile out; and a timeline as text again.
 */
#ifndef ZONES_BUILDER_H
#define ZONES_BUILDER_H

#include <errno.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"
#include "formats/format.h"
#include "timeline/timeline.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

struct zones_read_result {
	struct profile *profile;
	struct timeline *timeline;
	struct text warnings; /* one a line */
	struct error error;
	struct import_counts counts;
};

static inline void builder_warn(void *context, const char *line)
{
	text_append_string(context, line);
	text_append_char(context, '\n');
}

/* The bytes are copied to the end of their own allocation, so that reading beyond them shows. */
static inline int builder_import(const struct format *format, const void *data, size_t size,
				 struct import import, struct zones_read_result *ret)
{
	_cleanup_free_ uint8_t *copy = malloc(size + !size);
	int err;

	assert_non_null(copy);
	if (size)
		memcpy(copy, data, size);
	import.name = "x";
	import.data = copy;
	import.size = size;
	*ret = (struct zones_read_result){.profile = profile_new(), .timeline = timeline_new()};
	assert_true(ret->profile && ret->timeline);
	assert_int_equal(profile_keep_timestamps(ret->profile), 0);
	text_append_string(&ret->warnings, "");
	import.profile = ret->profile;
	import.timeline = ret->timeline;
	import.warn = builder_warn;
	import.context = &ret->warnings;
	err = format->read(&import);
	ret->error = import.error;
	ret->counts = import.counts;
	return err;
}

static inline int builder_read(const struct format *format, const void *data, size_t size,
			       bool is_lenient, struct zones_read_result *ret)
{
	return builder_import(format, data, size, (struct import){.is_lenient = is_lenient}, ret);
}

static inline int builder_read_strictly(const struct format *format, const void *data, size_t size,
					struct zones_read_result *ret)
{
	return builder_import(format, data, size, (struct import){.is_strict = true}, ret);
}

static inline void builder_release(struct zones_read_result *result)
{
	profile_free(result->profile);
	timeline_free(result->timeline);
	text_release(&result->warnings);
}

/* Text that must be good. */
static inline void builder_read_zones(const char *text, struct zones_read_result *ret)
{
	int err = builder_read(&format_zones, text, strlen(text), false, ret);

	if (err)
		fail_msg("%s", ret->error.message);
}

static inline int builder_append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* The caller releases the text. */
static inline struct text builder_write(const struct format *format,
					const struct zones_read_result *result,
					struct format_opts opts)
{
	struct text written = {0};
	struct sink sink = {.write = builder_append, .context = &written};

	text_append_string(&written, "");
	opts.timeline = result->timeline;
	assert_int_equal(format->write(result->profile, &opts, &sink), 0);
	assert_false(written.failed);
	return written;
}

#endif
