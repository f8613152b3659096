/*
 * Tables in JSON, row by row. They consist of columns, or of rows below a schema that names the
 * columns:
 *
 * 	{"prefix": [null, 0], "frame": [0, 1], "length": 2}
 * 	{"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0], [0, 1]]}
 *
 * No part of a table is copied: columns are read side by side, in place.
 */
#ifndef FORMATS_JSON_TABLE_H
#define FORMATS_JSON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/json.h"

#define JSON_TABLE_MAX_COLUMNS 8
#define JSON_TABLE_NOWHERE     SIZE_MAX

/* A cell. If its column is missing or ends early: JSON_NULL. */
struct json_cell {
	enum json_token token;
	const char *
		text; /* of a number, perhaps in quotes: as it is written; borrowed from the data */
	size_t length;
	size_t offset; /* in the data */
};

struct json_column {
	struct json json;
	size_t base;
	bool is_there;
	bool is_text; /* a string in place of the column */
};

struct json_table {
	struct json_cell cells[JSON_TABLE_MAX_COLUMNS]; /* of the row, in the order of the names */

	/* Private. */
	const uint8_t *data;
	size_t size;
	size_t num_columns;
	struct json_column columns[JSON_TABLE_MAX_COLUMNS];
	struct json_column rows;                    /* below a schema */
	uint64_t positions[JSON_TABLE_MAX_COLUMNS]; /* in its rows */
};

/*
 * data      complete and valid JSON, which the caller has checked; borrowed
 * position  start of the table, in bytes; JSON_TABLE_NOWHERE is one without rows
 * names     of the columns to read, ended by NULL; the first one determines the number of rows
 */
void json_table_open(struct json_table *table, const uint8_t *data, size_t size, size_t position,
		     const char *const *names);
void json_table_close(struct json_table *table);

/* Go to the next row. False: no row is left. */
bool json_table_next(struct json_table *table);

/* Whether the table has this column. */
bool json_table_has(const struct json_table *table, size_t column);

/* Whether this string is in place of a column. */
bool json_table_says(const struct json_table *table, size_t column, const char *text);

/* False: not an integer from 0 to 2^64 - 1. */
bool json_cell_get_u64(const struct json_cell *cell, uint64_t *ret);

/*
 * A number times ten to the power `decimals`, rounded. Exact if it has no exponent and no more
 * digits after the point. False: not a number, below 0, or more than 64 bits hold.
 */
bool json_cell_get_scaled(const struct json_cell *cell, unsigned int decimals, uint64_t *ret);

/* After JSON_KEY: note the offset of its value in the data, and skip it. */
void json_take_position(struct json *json, size_t base, size_t *ret);

#endif
