/*
 * Lines of Java's methods, as HotSpot compresses the tables of class files: pairs of a bytecode's
 * index and a line, each stored as the difference to the previous pair. A pair is a byte, with five
 * bits for the index and three for the line. For larger differences 0xff precedes two signed
 * numbers; 0 is the end.
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
 * The line of a bytecode. In a truncated table, a line is returned only if the rest of the table
 * could change it just by going back past the pairs already read.
 *
 * major  the JDK's major version
 *
 * Returns 0 if there is no line.
 */
uint32_t hotspot_lines_find(const uint8_t *bytes, size_t num_bytes, unsigned int major,
			    uint32_t bytecode);

#endif
