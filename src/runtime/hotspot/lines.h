/*
 * Lines of Java's methods, as HotSpot compresses the tables of class files: pairs of a bytecode's index and a line, of which
 * each says by how much it differs from the one before. A pair is a byte, of which five bits are for the index and three for
 * the line; 0xff stands before two signed numbers for those that need more; 0 is the end.
 *
 * A bytecode has the line of the nearest pair before it. Pairs mostly ascend, but need not.
 *
 * Source: src/hotspot/share/oops/method.cpp, CompressedLineNumberReadStream and Method::line_number_from_bci().
 */
#ifndef RUNTIME_HOTSPOT_LINES_H
#define RUNTIME_HOTSPOT_LINES_H

#include <stddef.h>
#include <stdint.h>

/* How many of the bytes are the table, with its end; 0: it does not end in them. */
size_t hotspot_lines_measure(const uint8_t *bytes, size_t num_bytes, unsigned int major);

/*
 * The line of a bytecode. Of a table that does not end in these bytes there is one where what follows has another only if
 * it goes back behind what was passed.
 *
 * major  of the JDK's version
 *
 * Returns 0 where there is none.
 */
uint32_t hotspot_lines_find(const uint8_t *bytes, size_t num_bytes, unsigned int major,
			    uint32_t bytecode);

#endif
