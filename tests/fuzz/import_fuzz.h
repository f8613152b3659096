/*
 * What must hold for every reader of a foreign format, whatever the bytes: it reads or says why
 * not, and what it read can be written; with the times of its samples, and read again.
 */
#ifndef IMPORT_FUZZ_H
#define IMPORT_FUZZ_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "formats/native.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_warn(void *context _unused_, const char *line)
{
	require(line[0] && !strchr(line, '\n'));
}

static inline int fuzz_swallow(void *context, const void *data, size_t size)
{
	require(data && size);
	*(size_t *)context += size;
	return 0;
}

static inline void fuzz_write(const struct format *format, const struct profile *profile)
{
	size_t written = 0;
	struct sink sink = {.write = fuzz_swallow, .context = &written};
	struct format_opts opts = {0};
	int err = format->write(profile, &opts, &sink);

	require(!err || err == -EOVERFLOW || err == -ENOMEM);
}

static inline int fuzz_keep(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* As a page carries it. */
static inline void fuzz_pack(const struct profile *profile)
{
	struct text text = {0};
	struct sink sink = {.write = fuzz_keep, .context = &text};
	struct import import = {.name = "PAGE", .profile = profile_new()};

	require(import.profile && profile_keep_timestamps(import.profile) == 0);
	require(profile_add_source(import.profile, STRING_EMPTY, &import.source) == 0);
	if (native_write(profile, &(struct native_opts){.has_times = true}, &sink) == 0) {
		import.data = (const uint8_t *)text.data;
		import.size = text.length;
		require(format_svg.read(&import) == 0);
		require(!timestamps_count(profile_get_timestamps(profile)) ==
			!timestamps_count(profile_get_timestamps(import.profile)));
	}
	profile_free(import.profile);
	text_release(&text);
}

/* Returns what the reader returned. */
static inline int fuzz_read(const struct format *format, const uint8_t *data, size_t size,
			    bool is_strict)
{
	struct profile *profile = profile_new();
	struct import import = {
		.name = "FILE",
		.data = data,
		.size = size,
		.profile = profile,
		.is_strict = is_strict,
		.warn = fuzz_warn,
	};
	int err;

	require(profile && profile_add_source(profile, STRING_EMPTY, &import.source) == 0);
	require(profile_keep_timestamps(profile) == 0);
	err = format->read(&import);
	require(!err || err == -EBADMSG || err == -EOVERFLOW);
	require(!err == !import.error.message[0]);
	if (!err)
		fuzz_write(&format_folded, profile);
	if (!err && format->write)
		fuzz_write(format, profile);
	if (!err && timestamps_count(profile_get_timestamps(profile)))
		fuzz_pack(profile);
	profile_free(profile);
	return err;
}

/* What a strict reader takes, a patient one takes too. */
static inline int fuzz_import(const struct format *format, const uint8_t *data, size_t size)
{
	int strict = fuzz_read(format, data, size, true);
	int patient = fuzz_read(format, data, size, false);

	require(strict || !patient);
	(void)format->detect(data, size);
	return 0;
}

#endif
