/*
 * Experiments as gprofng writes them, in memory: the files' contents, and a tar archive of them.
 *
 * Numbers are those of a small program: its code at 0x1000 of /bin/work lies from 0x400000 on.
 */
#ifndef GPROFNG_WRITER_H
#define GPROFNG_WRITER_H

#include <stdint.h>

#include "tar_writer.h"

#define GPROFNG_START_NS 1000000000000ull /* what the log's run event says */
#define GPROFNG_LOG_START                                                                   \
	"<experiment version=\"12.4\">\n<collector>2.44</collector>\n</experiment>\n"       \
	"<system hostname=\"h\" arch=\"x86_64\" os=\"Linux\" pagesz=\"4096\">\n</system>\n" \
	"<process pid=\"7\"></process>\n<process wsize=\"64\"></process>\n"                 \
	"<process>./work --fast</process>\n"                                                \
	"<event kind=\"run\" tstamp=\"1000.000000000\" time=\"1\" tm_zone=\"0\"/>\n"
#define GPROFNG_FIELD(name, offset, type) \
	"<field name=\"" name "\" offset=\"" offset "\" type=\"" type "\"/>\n"
#define GPROFNG_COMMON_FIELDS                  \
	GPROFNG_FIELD("LWPID", "8", "INT64")   \
	GPROFNG_FIELD("THRID", "16", "INT64")  \
	GPROFNG_FIELD("CPUID", "24", "INT32")  \
	GPROFNG_FIELD("TSTAMP", "32", "INT64") \
	GPROFNG_FIELD("FRINFO", "40", "INT64")
#define GPROFNG_PROFILE(attributes, file, kind, fields)                                    \
	"<profile " attributes ">\n<profdata fname=\"" file "\"/>\n<profpckt kind=\"" kind \
	"\">\n" GPROFNG_COMMON_FIELDS fields "</profpckt>\n</profile>\n"
#define GPROFNG_CLOCK_PROFILE(states)                                                         \
	GPROFNG_PROFILE(                                                                      \
		"name=\"profile\" ptimer=\"10000\" numstates=\"" states "\"", "profile", "8", \
		GPROFNG_FIELD("MSTATE", "48", "INT32") GPROFNG_FIELD("NTICK", "52", "INT32"))
#define GPROFNG_MAP                                                                            \
	"<event kind=\"map\" object=\"segment\" tstamp=\"0.000001000\" vaddr=\"0x400000\" "    \
	"size=\"4096\" foffset=\"+0x1000\" name=\"/bin/work\"/>\n"                             \
	"<event kind=\"map\" object=\"dynfunc\" name=\"[vdso]\" vaddr=\"0x7000\" size=\"16\" " \
	"funcname=\"__vdso_time\" />\n"

static inline void gprofng_put_number(struct text *text, uint64_t number, unsigned int width)
{
	for (unsigned int i = 0; i < width; i++)
		text_append_char(text, (char)(i < 8 ? number >> 8 * i : 0));
}

/* The fields that all packets have, and room for the others: 88 bytes in all. */
static inline void gprofng_put_packet(struct text *text, unsigned int type, uint64_t thread,
				      uint64_t time_ns, uint64_t uid, uint64_t at48, uint64_t at56,
				      uint64_t at64)
{
	gprofng_put_number(text, 88, 2);
	gprofng_put_number(text, type, 2);
	gprofng_put_number(text, 0, 4);
	gprofng_put_number(text, thread, 8);
	gprofng_put_number(text, 1, 8);
	gprofng_put_number(text, 0, 8);
	gprofng_put_number(text, GPROFNG_START_NS + time_ns, 8);
	gprofng_put_number(text, uid, 8);
	gprofng_put_number(text, at48, 8);
	gprofng_put_number(text, at56, 8);
	gprofng_put_number(text, at64, 8);
	gprofng_put_number(text, 0, 16);
}

static inline void gprofng_put_clock(struct text *text, uint64_t thread, uint64_t uid,
				     uint64_t state, uint64_t ticks)
{
	gprofng_put_packet(text, 8, thread, 2000, uid, state | ticks << 32, 0, 0);
}

/* What a stack of addresses, leaf first, is: packet uid, then one part. kind  1 native, 2 Java */
static inline void gprofng_put_frames(struct text *text, uint64_t uid, uint32_t kind,
				      uint64_t chain, const uint64_t *words, size_t num_words)
{
	gprofng_put_number(text, 32 + 8 * num_words, 2);
	gprofng_put_number(text, 11, 2);
	gprofng_put_number(text, 16, 4);
	gprofng_put_number(text, uid, 8);
	gprofng_put_number(text, 16 + 8 * num_words, 4);
	gprofng_put_number(text, kind, 4);
	gprofng_put_number(text, chain, 8);
	for (size_t i = 0; i < num_words; i++)
		gprofng_put_number(text, words[i], 8);
}

#define GPROFNG_WORDS(...) \
	(const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

struct gprofng_writer {
	struct text log;
	struct text map;
	struct text frames;
	struct text data; /* of the file that `data_name` says */
	struct text classes;
	const char *data_name;
};

static inline void gprofng_put_member(struct text *tar, const char *folder, const char *name,
				      const struct text *content)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	tar_put(tar, path, '0', content->data, content->length);
}

/* Append the experiment to an archive; the writer is then empty. */
static inline void gprofng_finish(struct gprofng_writer *writer, const char *folder,
				  struct text *tar)
{
	static const char padding[64];

	text_append(&writer->log, padding, sizeof(padding));
	gprofng_put_member(tar, folder, "log.xml", &writer->log);
	gprofng_put_member(tar, folder, "map.xml", &writer->map);
	gprofng_put_member(tar, folder, "data.frameinfo", &writer->frames);
	gprofng_put_member(tar, folder, writer->data_name, &writer->data);
	if (writer->classes.length)
		gprofng_put_member(tar, folder, "jclasses", &writer->classes);
	text_release(&writer->log);
	text_release(&writer->map);
	text_release(&writer->frames);
	text_release(&writer->data);
	text_release(&writer->classes);
}

static inline struct gprofng_writer gprofng_writer_new(const char *log, const char *data_name)
{
	struct gprofng_writer writer = {.data_name = data_name};

	text_append_string(&writer.log, GPROFNG_LOG_START);
	text_append_string(&writer.log, log);
	text_append_string(&writer.map, GPROFNG_MAP);
	return writer;
}

#endif
