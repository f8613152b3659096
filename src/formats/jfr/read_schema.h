/*
 * The classes of a chunk of a Java Flight Recorder file, as its metadata describes them. Nothing
 * about events or classes is known beforehand but the names of the fields that matter.
 */
#ifndef FORMATS_JFR_READ_SCHEMA_H
#define FORMATS_JFR_READ_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "formats/jfr/read_cursor.h"

#define JFR_NONE UINT32_MAX

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
	JFR_VALUE,
	JFR_START_TIME,
	NUM_JFR_ROLES,
};

enum jfr_kind { JFR_STRUCT, JFR_INTEGER, JFR_REAL, JFR_TEXT };

/* The unit of a field, if it is a weight. */
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
	bool is_pool_used;
	bool has_stack;
};
INTERN_TABLE(jfr_class_table, struct jfr_class, id);

struct jfr_string {
	uint32_t offset; /* of the encoded string */
};

struct jfr_schema {
	struct jfr_cursor chunk; /* over the whole of it */
	ARRAY(struct jfr_string) strings;
	struct jfr_class_table classes;
	ARRAY(struct jfr_field) fields; /* of all classes, one class after the other */
};

/*
 * Read the metadata.
 *
 * chunk   over the whole chunk; its bytes are borrowed
 * offset  of the metadata in it
 *
 * Returns 0, -ENOMEM, or -EBADMSG with *fault. Release in any case.
 */
_must_check_ int jfr_schema_init(struct jfr_schema *schema, const struct jfr_cursor *chunk,
				 size_t offset, struct jfr_fault *fault);
void jfr_schema_release(struct jfr_schema *schema);

/* The class's index, or JFR_NONE. */
uint32_t jfr_schema_find_class_index(const struct jfr_schema *schema, uint64_t id);
/* The class, or NULL. */
const struct jfr_class *jfr_schema_find_class(const struct jfr_schema *schema, uint64_t id);
/* string  index of the metadata's */
bool jfr_schema_string_equals(const struct jfr_schema *schema, uint32_t string, const char *text);

#endif
