/*
 * Reading a text with a format, and what came of it as folded text.
 */
#ifndef IMPORT_FIXTURE_H
#define IMPORT_FIXTURE_H

#include <errno.h>

#include "formats/format.h"
#include "profile_builder.h"

struct imported {
	struct profile *profile;
	struct import import;
	struct text warnings; /* one a line */
};

static inline void imported_warn(void *context, const char *line)
{
	text_append_string(context, line);
	text_append_char(context, '\n');
}

/* A copy of exactly the bytes, so that the sanitizers see every read beyond. */
static inline int imported_read(struct imported *imported, const struct format *format,
				const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);
	uint32_t source;
	int err;

	assert_non_null(copy);
	memcpy(copy, data, size);
	if (!imported->profile)
		imported->profile = profile_new();
	assert_non_null(imported->profile);
	text_append_string(&imported->warnings, "");
	assert_int_equal(profile_add_source(imported->profile, STRING_EMPTY, &source), 0);
	imported->import.name = "FILE";
	imported->import.data = copy;
	imported->import.size = size;
	imported->import.profile = imported->profile;
	imported->import.source = source;
	imported->import.warn = imported_warn;
	imported->import.context = &imported->warnings;
	err = format->read(&imported->import);
	free(copy);
	imported->import.data = NULL;
	return err;
}

static inline void imported_release(struct imported *imported)
{
	profile_free(imported->profile);
	text_release(&imported->warnings);
}

/* How much was skipped is counted, too, and each warning. */
static inline void assert_counted(const struct imported *imported)
{
	uint64_t num_lines = 0;

	for (const char *c = imported->warnings.data; *c; c++)
		num_lines += *c == '\n';
	assert_int_equal(imported->import.counts.warnings, num_lines);
	assert_int_equal(imported->import.counts.skipped > 0,
			 strstr(imported->warnings.data, "skipping") != NULL);
}

static inline int imported_append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

static inline void assert_written(const struct format *format, const struct profile *profile,
				  struct call_tree_opts tree, const char *expected)
{
	struct format_opts opts = {.tree = tree};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};

	text_append_string(&written, "");
	assert_int_equal(format->write(profile, &opts, &sink), 0);
	assert_string_equal(written.data, expected);
	text_release(&written);
}

/* The text is read without a warning and is these stacks in the metric. */
static inline void assert_stacks(const struct format *format, const char *text, uint32_t metric,
				 const char *expected)
{
	struct imported imported = {0};
	int err = imported_read(&imported, format, text, strlen(text));

	assert_string_equal(imported.import.error.message, "");
	assert_int_equal(err, 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = metric},
		       expected);
	imported_release(&imported);
}

/* The text is not read; the message starts as expected. */
static inline void assert_refused(const struct format *format, const char *text,
				  const char *expected)
{
	struct imported imported = {0};
	struct error got;

	assert_int_equal(imported_read(&imported, format, text, strlen(text)), -EBADMSG);
	got = imported.import.error;
	if (strlen(got.message) > strlen(expected))
		got.message[strlen(expected)] = '\0';
	assert_string_equal(got.message, expected);
	imported_release(&imported);
}

/* The text is read with this warning and is these stacks. */
static inline void assert_warned(const struct format *format, const char *text,
				 const char *warnings, const char *expected)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, format, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, warnings);
	assert_counted(&imported);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, expected);
	imported_release(&imported);
}

#endif
