/*
 * A small perf.data, made by the test: a file or a pipe with one or two events.
 */
#ifndef PERF_DATA_WRITER_H
#define PERF_DATA_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "formats/perf/data.h"
#include "formats/perf/read_data_bits.h"

#define WRITER_KERNEL_TEXT 0xffffffff81000000ull
#define WRITER_CONTEXT(n)  ((uint64_t) - (n))

struct perf_writer {
	struct text records; /* of a pipe with its header */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t counters[4]; /* of the next samples, with PERF_SAMPLE_READ: count, id of two */
	uint64_t user_registers;
	bool is_pipe;
	struct text build_ids; /* section */
	struct text names;     /* section EVENT_DESC, after its two numbers */
	uint32_t num_names;
	struct text attrs; /* section */
	struct text ids;
	size_t record; /* where the open record starts */
};

static inline void perf_put(struct text *text, uint64_t value, size_t size)
{
	text_append(text, &value, size);
}

static inline void perf_put_string(struct text *text, const char *string)
{
	static const char zeros[8];
	size_t length = strlen(string) + 1;

	text_append(text, string, length);
	text_append(text, zeros, -length & 7);
}

static inline void perf_start(struct perf_writer *writer, uint32_t type, uint16_t misc)
{
	writer->record = writer->records.length;
	perf_put(&writer->records, type, 4);
	perf_put(&writer->records, misc, 2);
	perf_put(&writer->records, 0, 2);
}

static inline void perf_end(struct perf_writer *writer)
{
	uint16_t size = (uint16_t)(writer->records.length - writer->record);

	memcpy(writer->records.data + writer->record + 6, &size, sizeof(size));
}

/* What follows the fields of a record that is no sample. */
static inline void perf_end_at(struct perf_writer *writer, uint64_t time_ns, uint64_t id)
{
	if (writer->sample_type & PERF_SAMPLE_TID)
		perf_put(&writer->records, 0, 8);
	if (writer->sample_type & PERF_SAMPLE_TIME)
		perf_put(&writer->records, time_ns, 8);
	if (writer->sample_type & PERF_SAMPLE_IDENTIFIER)
		perf_put(&writer->records, id, 8);
	perf_end(writer);
}

/* An event with the id; of a pipe, its record. name: NULL: the file does not say. */
static inline void perf_add_event(struct perf_writer *writer, uint32_t type, uint64_t config,
				  uint64_t period, uint64_t id, const char *name)
{
	struct text *text = writer->is_pipe ? &writer->records : &writer->attrs;

	if (writer->is_pipe)
		perf_start(writer, PERF_HEADER_ATTR, 0);
	perf_put(text, type, 4);
	perf_put(text, 128, 4);
	perf_put(text, config, 8);
	perf_put(text, period, 8);
	perf_put(text, writer->sample_type, 8);
	perf_put(text, writer->read_format, 8);
	perf_put(text, 1ull << 18, 8);
	for (size_t at = 48; at < 128; at += 8)
		perf_put(text, at == 80 ? writer->user_registers : 0, 8);
	if (writer->is_pipe) {
		perf_put(text, id, 8);
		perf_end(writer);
		return;
	}
	perf_put(text, 104 + writer->ids.length, 8);
	perf_put(text, 8, 8);
	perf_put(&writer->ids, id, 8);
	if (!name)
		return;
	for (size_t at = 0; at < 128; at += 8)
		perf_put(&writer->names, 0, 8);
	perf_put(&writer->names, 1, 4);
	perf_put(&writer->names, (strlen(name) + 8) & ~7ull, 4);
	perf_put_string(&writer->names, name);
	perf_put(&writer->names, id, 8);
	writer->num_names++;
}

static inline void perf_add_build_id(struct perf_writer *writer, uint8_t byte, const char *path)
{
	uint8_t id[24] = {0};

	memset(id, byte, 20);
	perf_put(&writer->build_ids, 0, 4);
	perf_put(&writer->build_ids, 0, 2);
	perf_put(&writer->build_ids, 8 + 4 + 24 + ((strlen(path) + 8) & ~7ull), 2);
	perf_put(&writer->build_ids, UINT32_MAX, 4);
	text_append(&writer->build_ids, id, sizeof(id));
	perf_put_string(&writer->build_ids, path);
}

static inline void perf_add_comm(struct perf_writer *writer, uint64_t time_ns, uint32_t pid,
				 uint32_t tid, const char *comm, bool is_exec)
{
	perf_start(writer, PERF_COMM, is_exec ? PERF_MISC_COMM_EXEC : 0);
	perf_put(&writer->records, pid, 4);
	perf_put(&writer->records, tid, 4);
	perf_put_string(&writer->records, comm);
	perf_end_at(writer, time_ns, 0);
}

/* build_id: its bytes; 0: the record has an inode instead. */
static inline void perf_add_mmap(struct perf_writer *writer, uint64_t time_ns, uint32_t pid,
				 uint64_t start, uint64_t size, uint64_t offset, const char *path,
				 uint8_t build_id)
{
	uint8_t identity[24] = {20};

	memset(identity + 4, build_id, 20);
	perf_start(writer, PERF_MMAP2, PERF_CPU_USER | (build_id ? PERF_MISC_BUILD_ID : 0));
	perf_put(&writer->records, pid, 4);
	perf_put(&writer->records, pid, 4);
	perf_put(&writer->records, start, 8);
	perf_put(&writer->records, size, 8);
	perf_put(&writer->records, offset, 8);
	text_append(&writer->records, identity, sizeof(identity));
	perf_put(&writer->records, 5, 8);
	perf_put_string(&writer->records, path);
	perf_end_at(writer, time_ns, 0);
}

static inline void perf_add_kernel(struct perf_writer *writer)
{
	perf_start(writer, PERF_MMAP, PERF_CPU_KERNEL);
	perf_put(&writer->records, UINT64_C(0xffffffff), 8);
	perf_put(&writer->records, WRITER_KERNEL_TEXT, 8);
	perf_put(&writer->records, 1 << 24, 8);
	perf_put(&writer->records, WRITER_KERNEL_TEXT, 8);
	perf_put_string(&writer->records, "[kernel.kallsyms]_text");
	perf_end_at(writer, 0, 0);
}

/* PERF_FORK or PERF_EXIT. */
static inline void perf_add_task(struct perf_writer *writer, enum perf_type type, uint64_t time_ns,
				 uint32_t pid, uint32_t tid, uint32_t parent)
{
	perf_start(writer, type, 0);
	perf_put(&writer->records, pid, 4);
	perf_put(&writer->records, parent, 4);
	perf_put(&writer->records, tid, 4);
	perf_put(&writer->records, parent, 4);
	perf_put(&writer->records, time_ns, 8);
	perf_end_at(writer, time_ns, 0);
}

struct perf_sample_spec {
	uint64_t time_ns;
	uint32_t pid, tid;
	uint64_t id;
	uint64_t period;
	enum perf_cpu_mode mode; /* 0: user */
	uint64_t chain[8];       /* ended by 0 */
	uint64_t registers[3];   /* rbp, rsp, rip */
	uint64_t stack[4];       /* 8 bytes each, from rsp on */
};

static inline void perf_add_sample(struct perf_writer *writer, const struct perf_sample_spec *spec)
{
	struct text *text = &writer->records;
	uint64_t type = writer->sample_type;
	size_t length = 0;

	while (length < 8 && spec->chain[length])
		length++;
	perf_start(writer, PERF_SAMPLE, (uint16_t)(spec->mode ? spec->mode : PERF_CPU_USER));
	if (type & PERF_SAMPLE_IDENTIFIER)
		perf_put(text, spec->id, 8);
	if (type & PERF_SAMPLE_IP)
		perf_put(text, spec->chain[0], 8);
	if (type & PERF_SAMPLE_TID) {
		perf_put(text, spec->pid, 4);
		perf_put(text, spec->tid, 4);
	}
	if (type & PERF_SAMPLE_TIME)
		perf_put(text, spec->time_ns, 8);
	if (type & PERF_SAMPLE_PERIOD)
		perf_put(text, spec->period, 8);
	if (type & PERF_SAMPLE_READ) {
		perf_put(text, 2, 8);
		text_append(text, writer->counters, sizeof(writer->counters));
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		perf_put(text, length, 8);
		text_append(text, spec->chain, length * 8);
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		perf_put(text, 2, 8);
		text_append(text, spec->registers, sizeof(spec->registers));
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		perf_put(text, sizeof(spec->stack), 8);
		text_append(text, spec->stack, sizeof(spec->stack));
		perf_put(text, sizeof(spec->stack), 8);
	}
	perf_end(writer);
}

static inline void perf_add_round(struct perf_writer *writer)
{
	perf_start(writer, PERF_FINISHED_ROUND, 0);
	perf_end(writer);
}

static inline void perf_writer_init(struct perf_writer *writer, uint64_t sample_type, bool is_pipe)
{
	*writer = (struct perf_writer){.sample_type = sample_type, .is_pipe = is_pipe};
	if (is_pipe) {
		text_append_string(&writer->records, "PERFILE2");
		perf_put(&writer->records, 16, 8);
	}
}

/* A section of the table behind the records. */
static inline void perf_put_section(struct text *table, uint64_t *offset,
				    const struct text *section)
{
	perf_put(table, *offset, 8);
	perf_put(table, section->length, 8);
	*offset += section->length;
}

/* The whole file; the caller releases it. The writer is released. */
static inline struct text perf_writer_finish(struct perf_writer *writer)
{
	struct text file = {0};
	struct text descriptions = {0};
	uint64_t records_at = 104 + writer->ids.length + writer->attrs.length;
	uint64_t at = records_at + writer->records.length + 32;

	if (writer->is_pipe)
		return writer->records;
	perf_put(&descriptions, writer->num_names, 4);
	perf_put(&descriptions, 128, 4);
	text_append(&descriptions, writer->names.data ? writer->names.data : "",
		    writer->names.length);
	text_append_string(&file, "PERFILE2");
	perf_put(&file, 104, 8);
	perf_put(&file, 128 + 16, 8);
	perf_put(&file, 104 + writer->ids.length, 8);
	perf_put(&file, writer->attrs.length, 8);
	perf_put(&file, records_at, 8);
	perf_put(&file, writer->records.length, 8);
	perf_put(&file, 0, 8);
	perf_put(&file, 0, 8);
	perf_put(&file, 1 << 2 | 1 << 12, 8);
	for (int i = 0; i < 3; i++)
		perf_put(&file, 0, 8);
	text_append(&file, writer->ids.data ? writer->ids.data : "", writer->ids.length);
	text_append(&file, writer->attrs.data ? writer->attrs.data : "", writer->attrs.length);
	text_append(&file, writer->records.data ? writer->records.data : "",
		    writer->records.length);
	perf_put_section(&file, &at, &writer->build_ids);
	perf_put_section(&file, &at, &descriptions);
	text_append(&file, writer->build_ids.data ? writer->build_ids.data : "",
		    writer->build_ids.length);
	text_append(&file, descriptions.data, descriptions.length);
	text_release(&descriptions);
	text_release(&writer->records);
	text_release(&writer->attrs);
	text_release(&writer->ids);
	text_release(&writer->names);
	text_release(&writer->build_ids);
	return file;
}

#endif
