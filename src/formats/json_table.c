/*
 * Tables in JSON, row by row. Firefox profiles have them in two layouts:
 *
 *	columns   {"length": 2, "stack": [3, 4], "time": [0.1, 0.2]}
 *	rows      {"schema": {"stack": 0, "time": 1}, "data": [[3, 0.1], [4, 0.2]]}
 *
 * A table of columns is read by one tokenizer for each column, all moving one item a row; a table
 * of rows by one tokenizer, and the schema maps the items of a row to columns. Either way nothing
 * is copied: the whole document stays in the caller's memory, and a cell is a view of it. The price
 * is that the text of the table is scanned once to find its columns, and once more for each column
 * that is read.
 */
#include "formats/json_table.h"

#include <math.h>
#include <string.h>

#define MAX_DOUBLE 1.8e19 /* limit of 64 bits */

void json_take_position(struct json *json, size_t base, size_t *ret)
{
	enum json_token token = json_next(json);

	*ret = base + json->offset;
	json_skip(json, token);
}

/* Point a column's tokenizer at the array that starts at `position`. */
static void open_column(struct json_table *table, struct json_column *column, size_t position)
{
	enum json_token token;

	json_release(&column->json); /* the last one of a repeated key counts */
	column->base = position;
	column->json = json_of(table->data + position, table->size - position);
	token = json_next(&column->json);
	column->is_there = token == JSON_ARRAY;
	column->is_text = token == JSON_STRING;
}

static void read_schema(struct json_table *table, struct json *json, const char *const *names)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return;
	}
	while (json_next(json) == JSON_KEY) {
		size_t column = 0;

		while (column < table->num_columns && !json_is(json, names[column]))
			column++;
		token = json_next(json);
		if (token == JSON_NUMBER && column < table->num_columns)
			table->columns[column].is_there =
				json_get_u64(json, &table->positions[column]);
		json_skip(json, token);
	}
}

static void read_member(struct json_table *table, struct json *json, size_t base,
			const char *const *names)
{
	size_t position;

	if (json_is(json, "schema")) {
		read_schema(table, json, names);
		return;
	}
	if (json_is(json, "data")) {
		json_take_position(json, base, &position);
		open_column(table, &table->rows, position);
		return;
	}
	for (size_t column = 0; column < table->num_columns; column++) {
		if (json_is(json, names[column])) {
			json_take_position(json, base, &position);
			open_column(table, &table->columns[column], position);
			return;
		}
	}
	json_skip_value(json);
}

void json_table_open(struct json_table *table, const uint8_t *data, size_t size, size_t position,
		     const char *const *names)
{
	struct json json;

	*table = (struct json_table){.data = data, .size = size};
	while (table->num_columns < JSON_TABLE_MAX_COLUMNS && names[table->num_columns])
		table->num_columns++;
	if (position == JSON_TABLE_NOWHERE)
		return;
	json = json_of(data + position, size - position);
	if (json_next(&json) == JSON_OBJECT)
		while (json_next(&json) == JSON_KEY)
			read_member(table, &json, position, names);
	json_release(&json);
}

void json_table_close(struct json_table *table)
{
	for (size_t column = 0; column < table->num_columns; column++)
		json_release(&table->columns[column].json);
	json_release(&table->rows.json);
}

bool json_table_has(const struct json_table *table, size_t column)
{
	return table->columns[column].is_there;
}

bool json_table_says(const struct json_table *table, size_t column, const char *text)
{
	return table->columns[column].is_text && json_is(&table->columns[column].json, text);
}

/*
 * A number in quotes counts as a number. Not if it is escaped: then its value is not in the data,
 * and is gone with the next token.
 */
static struct json_cell take_cell(const struct json_table *table, const struct json_column *column,
				  enum json_token token)
{
	struct json_cell cell = {.token = token, .offset = column->base + column->json.offset};
	const char *start = (const char *)table->data + cell.offset + (token == JSON_STRING);

	if (json_is_number(&column->json, token) && column->json.text == start) {
		cell.token = JSON_NUMBER;
		cell.text = column->json.text;
		cell.length = column->json.length;
	}
	return cell;
}

/* "[3, null, 1.5]". Rows may be shorter than the schema: missing cells are null. */
static bool read_row(struct json_table *table)
{
	struct json *json = &table->rows.json;
	enum json_token token = json_next(json);

	if (token == JSON_ARRAY_END || token == JSON_FAILED)
		return false;
	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return true;
	}
	for (uint64_t position = 0;; position++) {
		token = json_next(json);
		if (token == JSON_ARRAY_END || token == JSON_FAILED)
			return token == JSON_ARRAY_END;
		for (size_t column = 0; column < table->num_columns; column++)
			if (table->columns[column].is_there && table->positions[column] == position)
				table->cells[column] = take_cell(table, &table->rows, token);
		json_skip(json, token);
	}
}

bool json_table_next(struct json_table *table)
{
	for (size_t column = 0; column < table->num_columns; column++)
		table->cells[column] = (struct json_cell){.token = JSON_NULL};
	if (table->rows.is_there)
		return read_row(table);
	for (size_t i = 0; i < table->num_columns; i++) {
		struct json_column *column = &table->columns[i];
		enum json_token token = column->is_there ? json_next(&column->json) : JSON_NULL;

		if (token == JSON_ARRAY_END || token == JSON_FAILED) {
			column->is_there = false;
			token = JSON_NULL;
		}
		if (i == 0 && !column->is_there)
			return false;
		table->cells[i] = take_cell(table, column, token);
		json_skip(&column->json, token);
	}
	return true;
}

bool json_cell_get_u64(const struct json_cell *cell, uint64_t *ret)
{
	const struct json number = {.text = cell->text, .length = cell->length};

	return cell->token == JSON_NUMBER && json_get_u64(&number, ret);
}

/*
 * A decimal number times a power of ten: "1.25" with three decimals is 1250. More exact than a
 * double: its 53 bits do not hold the nanoseconds since 1970.
 */
static bool get_exact(const struct json_cell *cell, unsigned int decimals, uint64_t *ret)
{
	uint64_t value = 0;
	bool has_point = false;

	for (size_t i = 0; i < cell->length; i++) {
		unsigned int digit = (unsigned char)cell->text[i] - (unsigned int)'0';

		if (cell->text[i] == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (digit > 9 || (has_point && decimals == 0) ||
		    __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
		decimals -= has_point;
	}
	for (; decimals; decimals--)
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	*ret = value;
	return true;
}

bool json_cell_get_scaled(const struct json_cell *cell, unsigned int decimals, uint64_t *ret)
{
	const struct json number = {.text = cell->text, .length = cell->length};
	double value;

	if (cell->token != JSON_NUMBER)
		return false;
	if (get_exact(cell, decimals, ret))
		return true;
	value = floor(json_get_double(&number) * pow(10, decimals) + 0.5);
	if (!(value >= 0 && value <= MAX_DOUBLE))
		return false;
	*ret = (uint64_t)value;
	return true;
}
