/*
 * Values as the schema lays them out: structs, arrays and keys of constants.
 */
#ifndef FORMATS_JFR_READ_VALUE_H
#define FORMATS_JFR_READ_VALUE_H

#include <stdint.h>

#include "formats/jfr/read_cursor.h"
#include "formats/jfr/read_schema.h"

/* The fields of a struct that have a role: a number or key, or the offset of a longer value. */
struct jfr_values {
	uint64_t numbers[NUM_JFR_ROLES];
	uint32_t classes[NUM_JFR_ROLES]; /* JFR_NONE: the struct has no such field */
};

/*
 * Read one field: its number or key; of strings, arrays and structs, which are skipped, the
 * offset.
 */
uint64_t jfr_read_field(const struct jfr_schema *schema, struct jfr_cursor *input,
			const struct jfr_field *field);
void jfr_read_struct(const struct jfr_schema *schema, struct jfr_cursor *input, uint32_t class,
		     struct jfr_values *ret);

#endif
