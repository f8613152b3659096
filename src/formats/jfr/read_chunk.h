/*
 * One chunk of a Java Flight Recorder file: its classes, as its metadata describes them, and its
 * constant pools. Nothing about events or classes is known beforehand but the names of the fields
 * that matter.
 *
 * All reads are checked: a failed input gives 0 for everything.
 */
#ifndef FORMATS_JFR_READ_CHUNK_H
#define FORMATS_JFR_READ_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/jfr/read_cursor.h"

#define JFR_HEADER_BYTES 68
#define JFR_NONE         UINT32_MAX

/* Fields that mean something to us, by their names. */
enum jfr_role {
	JFR_OTHER,
	JFR_NAME,
	JFR_TYPE,
	JFR_STRING,
	JFR_OS_NAME,
	JFR_OS_THREAD_ID,
	JFR_JAVA_NAME,
	JFR_TRUNCATED,
	JFR_FRAMES,
	JFR_METHOD,
	JFR_LINE_NUMBER,
	JFR_STACK_TRACE,
	JFR_THREAD,
	JFR_STATE,
	JFR_SAMPLES,
	JFR_FAILED,
	JFR_PID,
	JFR_DESCRIPTION,
	JFR_START_TIME,
	NUM_JFR_ROLES,
};

enum jfr_kind { JFR_STRUCT, JFR_INTEGER, JFR_REAL, JFR_TEXT };

/* What a field counts, if it is a weight. */
enum jfr_unit {
	JFR_NO_UNIT,
	JFR_BYTES,
	JFR_TICKS,
	JFR_NANOSECONDS,
	JFR_MICROSECONDS,
	JFR_MILLISECONDS,
	JFR_SECONDS,
};

struct jfr_field {
	uint64_t class_id;
	uint32_t class; /* index; known after the metadata is read */
	uint32_t name;  /* index of the metadata's string */
	uint8_t role;   /* enum jfr_role */
	uint8_t unit;   /* enum jfr_unit */
	bool is_pooled; /* the value is a key of the class's pool */
	bool is_array;
};

struct jfr_class {
	uint64_t id;
	uint32_t name; /* index of the metadata's string */
	uint32_t first_field;
	uint32_t num_fields;
	uint8_t kind;        /* enum jfr_kind */
	uint8_t width;       /* in bytes, of numbers that are not compressed */
	uint16_t num_values; /* with those of the structs in it; 0: not known yet */
	bool is_endless;     /* contains itself, or far too much */
	bool is_pool_wanted;
	bool has_stack;
};

/* A constant. */
struct jfr_constant {
	uint64_t key;
	uint32_t class;
	uint32_t offset;  /* of its value in the chunk */
	uint32_t made;    /* what the reader made of it; JFR_NONE */
	uint8_t made_for; /* the role; a damaged file may name one constant in several */
};

struct jfr_string {
	uint32_t offset; /* of the encoded string */
};

struct jfr_chunk {
	struct jfr_cursor input; /* over the whole chunk */
	uint64_t start_ns;       /* CLOCK_REALTIME */
	uint64_t start_ticks;    /* the same moment */
	uint64_t ticks_per_second;
	size_t metadata_offset;
	size_t checkpoint_offset;
	ARRAY(struct jfr_string) strings;
	ARRAY(struct jfr_class) classes;
	ARRAY(struct jfr_field) fields;
	ARRAY(struct jfr_constant) constants;
	struct hash_index class_index;
	struct hash_index constant_index;
	size_t fault_offset; /* where a failure was found */
	const char *fault;
};

/* What a struct's fields with a role hold: a number or key, or the offset of a longer value. */
struct jfr_values {
	uint64_t numbers[NUM_JFR_ROLES];
	uint32_t classes[NUM_JFR_ROLES]; /* JFR_NONE: the struct has no such field */
};

/*
 * Read header, metadata and pools of the chunk that the data begins with; it is borrowed.
 *
 * Returns 0, -ENOMEM, -ENODATA (the chunk is unfinished), or -EBADMSG with fault and its offset.
 * Release in any case.
 */
_must_check_ int jfr_chunk_init(struct jfr_chunk *chunk, const uint8_t *data, size_t size);
void jfr_chunk_release(struct jfr_chunk *chunk);

/* For the chunk's own parts: note what is wrong, and return -EBADMSG. */
int jfr_chunk_fail(struct jfr_chunk *chunk, size_t offset, const char *fault);
_must_check_ int jfr_chunk_read_metadata(struct jfr_chunk *chunk);

/* When that was, on CLOCK_REALTIME. False when the chunk's header makes no sense of it. */
bool jfr_chunk_find_time(const struct jfr_chunk *chunk, uint64_t ticks, uint64_t *ret_ns);

/* The class's index, or JFR_NONE. */
uint32_t jfr_chunk_find_class_index(const struct jfr_chunk *chunk, uint64_t id);
/* The class, or NULL. */
const struct jfr_class *jfr_chunk_find_class(const struct jfr_chunk *chunk, uint64_t id);
/* The constant, or NULL. */
struct jfr_constant *jfr_chunk_find_constant(const struct jfr_chunk *chunk, uint32_t class,
					     uint64_t key);
bool jfr_chunk_string_equals(const struct jfr_chunk *chunk, uint32_t string, const char *text);

/* Append a string as UTF-8; one that is a constant is looked up. */
void jfr_read_string(const struct jfr_chunk *chunk, struct jfr_cursor *input, struct text *text);
/*
 * Read one field: its number or key; of strings, arrays and structs, which are passed over, the
 * offset.
 */
uint64_t jfr_read_field(const struct jfr_chunk *chunk, struct jfr_cursor *input,
			const struct jfr_field *field);
void jfr_read_struct(const struct jfr_chunk *chunk, struct jfr_cursor *input, uint32_t class,
		     struct jfr_values *ret);

#endif
