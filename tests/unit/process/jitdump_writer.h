/*
 * Jitdumps in memory, for tests: a header, then records, in either byte order. The caller releases
 * the text.
 */
#ifndef JITDUMP_WRITER_H
#define JITDUMP_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

struct jitdump_writer {
	struct text text;
	bool is_swapped;
	uint32_t pid; /* of every record */
};

static inline void jitdump_put_u32(struct jitdump_writer *writer, uint32_t value)
{
	value = writer->is_swapped ? __builtin_bswap32(value) : value;
	text_append(&writer->text, &value, sizeof(value));
}

static inline void jitdump_put_u64(struct jitdump_writer *writer, uint64_t value)
{
	value = writer->is_swapped ? __builtin_bswap64(value) : value;
	text_append(&writer->text, &value, sizeof(value));
}

static inline void jitdump_put_header(struct jitdump_writer *writer, uint64_t flags)
{
	jitdump_put_u32(writer, 0x4a695444);
	jitdump_put_u32(writer, 1);
	jitdump_put_u32(writer, 40);
	jitdump_put_u32(writer, 62);
	jitdump_put_u32(writer, 0);
	jitdump_put_u32(writer, writer->pid);
	jitdump_put_u64(writer, 0);
	jitdump_put_u64(writer, flags);
}

static inline void jitdump_put_record(struct jitdump_writer *writer, uint32_t kind, uint32_t size,
				      uint64_t time_ns)
{
	jitdump_put_u32(writer, kind);
	jitdump_put_u32(writer, size);
	jitdump_put_u64(writer, time_ns);
}

/* JIT_CODE_LOAD with num_code bytes of code */
static inline void jitdump_put_load(struct jitdump_writer *writer, uint64_t time_ns, uint64_t start,
				    uint32_t num_code, const char *name)
{
	size_t name_size = strlen(name) + 1;

	jitdump_put_record(writer, 0, (uint32_t)(56 + name_size + num_code), time_ns);
	jitdump_put_u32(writer, writer->pid);
	jitdump_put_u32(writer, writer->pid);
	jitdump_put_u64(writer, start);
	jitdump_put_u64(writer, start);
	jitdump_put_u64(writer, num_code);
	jitdump_put_u64(writer, 0);
	text_append(&writer->text, name, name_size);
	for (uint32_t i = 0; i < num_code; i++)
		text_append_char(&writer->text, (char)0xcc);
}

/* JIT_CODE_MOVE */
static inline void jitdump_put_move(struct jitdump_writer *writer, uint64_t time_ns,
				    uint64_t old_start, uint64_t start, uint64_t size)
{
	jitdump_put_record(writer, 1, 64, time_ns);
	jitdump_put_u32(writer, writer->pid);
	jitdump_put_u32(writer, writer->pid);
	jitdump_put_u64(writer, start);
	jitdump_put_u64(writer, old_start);
	jitdump_put_u64(writer, start);
	jitdump_put_u64(writer, size);
	jitdump_put_u64(writer, 0);
}

#endif
