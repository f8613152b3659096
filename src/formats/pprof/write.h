/*
 * The interface between the parts of the writer of pprof's format: write.c writes samples and the
 * rest, write_code.c code, both by way of write_message.c.
 */
#ifndef FORMATS_PPROF_WRITE_H
#define FORMATS_PPROF_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/pprof/pprof.h"
#include "profile/profile.h"

struct pprof_mapping {
	uint32_t filename;  /* string */
	uint32_t build_id;  /* string */
	bool is_file;       /* addresses count from its start; otherwise they are absolute */
	uint64_t low, high; /* of the addresses in it; high below low: it has none */
	uint64_t start, limit;
};
INTERN_TABLE(pprof_mappings, struct pprof_mapping, filename, build_id);

struct pprof_function {
	uint32_t name, system_name, filename; /* strings */
};
INTERN_TABLE(pprof_functions, struct pprof_function, name, system_name, filename);

struct pprof_writer {
	const struct profile *profile;
	const struct sink *sink;
	struct text output;
	struct string_table *strings; /* of the format */
	struct stack_table *chains;
	ARRAY(bool) is_location;          /* by chain; beyond: no */
	struct pprof_mappings mappings;   /* by id minus 1 */
	struct pprof_functions functions; /* by id minus 1 */
	ARRAY(uint64_t) location_ids;     /* of one sample */
	struct text scratch;
};

struct ProtobufCMessage;

/* Strings of the format, which are UTF-8. 0 or -ENOMEM. */
_must_check_ int pprof_writer_add_string(struct pprof_writer *writer, const char *string,
					 size_t length, uint32_t *ret);
/* A string of the profile. */
_must_check_ int pprof_writer_copy_string(struct pprof_writer *writer, uint32_t id, uint32_t *ret);

/* Write one part of the message. Returns 0, -ENOMEM, or the error of the sink. */
_must_check_ int pprof_writer_put(struct pprof_writer *writer, enum pprof_field field,
				  const struct ProtobufCMessage *message);

/* The mappings, locations and functions that is_location asks for. */
_must_check_ int pprof_writer_put_code(struct pprof_writer *writer);

#endif
