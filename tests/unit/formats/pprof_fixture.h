/*
 * pprof for tests: profiles to bytes and back, and messages as protobuf-c packs and unpacks them,
 * which knows nothing of our reader.
 */
#ifndef PPROF_FIXTURE_H
#define PPROF_FIXTURE_H

#include <errno.h>
#include <zlib.h>

#include <pprof.pb-c.h>

#include "formats/pprof/pprof.h"
#include "profile_builder.h"

static inline int fixture_append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* Write a profile; its compressed bytes. */
static inline struct text fixture_write(const struct profile *profile)
{
	struct format_opts opts = {0};
	struct text written = {0};
	struct sink sink = {.write = fixture_append, .context = &written};

	assert_int_equal(format_pprof.write(profile, &opts, &sink), 0);
	return written;
}

/* Releases the compressed bytes. */
static inline struct text fixture_gunzip(struct text packed)
{
	z_stream stream = {.next_in = (Bytef *)packed.data, .avail_in = (uInt)packed.length};
	struct text plain = {0};
	char chunk[4096];
	int err = inflateInit2(&stream, 15 + 16);

	while (err == Z_OK) {
		stream.next_out = (Bytef *)chunk;
		stream.avail_out = sizeof(chunk);
		err = inflate(&stream, Z_NO_FLUSH);
		text_append(&plain, chunk, sizeof(chunk) - stream.avail_out);
	}
	assert_int_equal(err, Z_STREAM_END);
	inflateEnd(&stream);
	text_release(&packed);
	return plain;
}

static inline struct text fixture_write_plain(const struct profile *profile)
{
	return fixture_gunzip(fixture_write(profile));
}

/* What the format says is written, for protobuf-c's eyes. */
static inline Pprof__Profile *fixture_decompress(const struct profile *profile)
{
	struct text plain = fixture_write_plain(profile);
	Pprof__Profile *message = pprof__profile__unpack(NULL, plain.length, (uint8_t *)plain.data);

	text_release(&plain);
	assert_non_null(message);
	return message;
}

static inline int fixture_read(struct profile *profile, struct import *import, const void *data,
			       size_t size)
{
	import->name = "test.pb.gz";
	import->data = data;
	import->size = size;
	import->profile = profile;
	return pprof_read(import);
}

/* Pack a message and read it into a new profile. */
static inline int fixture_read_message(const Pprof__Profile *message, struct profile **ret,
				       struct import *import)
{
	size_t size = pprof__profile__get_packed_size(message);
	uint8_t *data = malloc(size + 1);
	int err;

	assert_non_null(data);
	pprof__profile__pack(message, data);
	*ret = profile_new();
	err = fixture_read(*ret, import, data, size);
	free(data);
	return err;
}

/* Write a profile and read that into a new one. */
static inline struct profile *fixture_go_round(const struct profile *profile)
{
	struct text plain = fixture_write_plain(profile);
	struct profile *again = profile_new();
	struct import import = {0};

	assert_int_equal(pprof_detect((uint8_t *)plain.data, plain.length), DETECTED_SURE);
	assert_int_equal(fixture_read(again, &import, plain.data, plain.length), 0);
	text_release(&plain);
	return again;
}

static inline struct text fixture_fold(const struct profile *profile, enum tree_root root,
				       uint32_t metric)
{
	struct format_opts opts = {.tree = {.root = root, .metric = metric}};
	struct text written = {0};
	struct sink sink = {.write = fixture_append, .context = &written};

	text_append_string(&written, "");
	assert_int_equal(format_folded.write(profile, &opts, &sink), 0);
	return written;
}

static inline void fixture_assert_folded(const struct profile *profile, const char *expected)
{
	struct text folded = fixture_fold(profile, TREE_ROOT_NONE, 0);

	assert_string_equal(folded.data, expected);
	text_release(&folded);
}

#endif
