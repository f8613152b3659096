#include "runtime/python/lines.h"

#define INSTRUCTION_BYTES 2

/* In the table of 3.10: a range without a line. */
#define NO_LINE (-128)

/* In that of 3.11: fields of an entry's first byte. */
#define ENTRY_START        0x80
#define ENTRY_FORM(byte)   ((byte) >> 3 & 15)
#define ENTRY_LENGTH(byte) (((byte)&7) + 1u)

/* The forms that tell of lines; those below have the line of the entry before. */
enum {
	FORM_ONE_LINE_0 = 10,
	FORM_ONE_LINE_1,
	FORM_ONE_LINE_2,
	FORM_NO_COLUMNS,
	FORM_LONG,
	FORM_NO_LINE,
};

/*
 * Lines are counted modulo 2^32, as a foreign table may contain anything; an int holds real ones.
 */
static uint32_t get_real_line(uint32_t line)
{
	return line <= INT32_MAX ? line : 0;
}

static uint32_t find_in_lnotab(const struct python_line_table *table, uint32_t instruction)
{
	uint32_t line = table->first_line;
	size_t start = 0; /* of the code with the line that the next pair leads to */

	for (size_t i = 0; i + 1 < table->num_bytes; i += 2) {
		start += table->bytes[i];
		if (start > instruction)
			return get_real_line(line);
		line += (uint32_t)(int8_t)table->bytes[i + 1];
	}
	/* If it is truncated, the end of the last line is unknown. */
	return table->is_cut ? 0 : get_real_line(line);
}

static uint32_t find_in_ranges(const struct python_line_table *table, uint32_t instruction)
{
	uint32_t line = table->first_line;
	size_t end = 0;

	for (size_t i = 0; i + 1 < table->num_bytes; i += 2) {
		int8_t difference = (int8_t)table->bytes[i + 1];

		end += table->bytes[i];
		if (difference != NO_LINE)
			line += (uint32_t)difference;
		if (instruction < end)
			return difference == NO_LINE ? 0 : get_real_line(line);
	}
	return 0;
}

/*
 * A number at the start of the bytes: six bits in each, the lowest first, and bit 6 if more follow;
 * the lowest bit of all is the sign. Returns false if its end is missing.
 */
static bool read_signed(const uint8_t *bytes, size_t size, uint32_t *ret)
{
	uint32_t number = 0;

	for (size_t i = 0; i < size; i++) {
		if (i < 6)
			number |= (uint32_t)(bytes[i] & 0x3f) << (6 * i);
		if (!(bytes[i] & 0x40)) {
			*ret = number & 1 ? 0 - (number >> 1) : number >> 1;
			return true;
		}
	}
	return false;
}

/*
 * The difference of an entry's line to the previous one. Returns false if the table ends in that
 * number.
 */
static bool read_difference(const uint8_t *entry, size_t size, uint32_t *ret)
{
	switch (ENTRY_FORM(entry[0])) {
	case FORM_ONE_LINE_1:
		*ret = 1;
		return true;
	case FORM_ONE_LINE_2:
		*ret = 2;
		return true;
	case FORM_NO_COLUMNS:
	case FORM_LONG:
		return read_signed(entry + 1, size - 1, ret);
	default: /* FORM_ONE_LINE_0, FORM_NO_LINE, and those that have columns only */
		*ret = 0;
		return true;
	}
}

static uint32_t find_in_locations(const struct python_line_table *table, uint32_t instruction)
{
	uint32_t line = table->first_line;
	size_t end = 0;

	for (size_t i = 0; i < table->num_bytes;) {
		uint8_t first = table->bytes[i];
		uint32_t difference;

		if (!read_difference(table->bytes + i, table->num_bytes - i, &difference))
			return 0;
		line += difference;
		end += (size_t)ENTRY_LENGTH(first) * INSTRUCTION_BYTES;
		if (instruction < end)
			return ENTRY_FORM(first) == FORM_NO_LINE ? 0 : get_real_line(line);
		do
			i++;
		while (i < table->num_bytes && !(table->bytes[i] & ENTRY_START));
	}
	return 0;
}

uint32_t python_line_table_find(const struct python_line_table *table, uint32_t instruction)
{
	switch (table->minor) {
	case 8:
	case 9:
		return find_in_lnotab(table, instruction);
	case 10:
		return find_in_ranges(table, instruction);
	case 11:
	case 12:
	case 13:
	case 14:
	case 15:
		return find_in_locations(table, instruction);
	default:
		return 0;
	}
}
