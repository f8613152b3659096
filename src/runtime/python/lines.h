/*
 * Lines of CPython's code objects, from 3.8 to 3.14. Three tables have been in use:
 *
 *   3.8, 3.9    co_lnotab: pairs of bytes, the advance in the code and then, signed, in lines. A
 *               line is valid until the next pair that advances in the code; code after the last
 *               pair has the last line.
 *   3.10        co_linetable: pairs of bytes, the length of a range of code and the difference of
 *               its line to the previous one; -128: the range has no line. Ranges are empty if a
 *               difference takes several.
 *   3.11-3.14   co_linetable: entries of a byte with bit 7 set, and others without. The first byte
 *               has the form in bits 3 to 6 and the length, in instructions of two bytes, less 1,
 *               in bits 0 to 2. Columns follow; but the forms for any line start with the
 *               difference to the previous line.
 *
 * Sources: Objects/lnotab_notes.txt (3.10), PEP 626, Objects/locations.md (3.11), PyCode_Addr2Line() of each.
 */
#ifndef RUNTIME_PYTHON_LINES_H
#define RUNTIME_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_line_table {
	const uint8_t *bytes; /* borrowed */
	size_t num_bytes;
	uint32_t first_line;
	uint8_t minor;
	bool is_cut; /* there is more of it than these bytes */
};

/*
 * The line of an instruction, by its distance in bytes from the first one.
 *
 * Returns 0 if there is no line, or if it is beyond the known part of the table, or if the version
 * is unknown.
 */
uint32_t python_line_table_find(const struct python_line_table *table, uint32_t instruction);

#endif
