/* SPDX-License-Identifier: MIT */
/*
 * Zones: a program marks the start and end of its activities. `stackwide convert` or `stackwide
 * record --zones` shows them in Perfetto, on the stack region where they ran. Header-only, C11 and
 * C++11, Linux, GCC or Clang; link with -pthread. The manual is stackwide-zones(3).
 *
 *	void load(const char *path)
 *	{
 *		STACKWIDE_ZONE_AS(zone, "load");
 *
 *		stackwide_zone_text(&zone, "path", path);
 *		…                                     the zone ends with its scope
 *	}
 *
 * Nothing is written unless the environment variable STACKWIDE_ZONES names a file when the first
 * zone starts, or stackwide_zones_open() is called. With STACKWIDE_ZONES_DISABLED defined, all of
 * it compiles to nothing.
 *
 * All functions may be called from any thread, and from code that moves between threads (fibers). A
 * zone in a signal handler is dropped if it interrupts the writing of another.
 */
#ifndef STACKWIDE_ZONES_H
#define STACKWIDE_ZONES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A zone's place in the source: a static variable, one for each place. */
struct stackwide_location {
	const char *name;
	const char *function;
	const char *file;
	unsigned int line;
	unsigned int id;         /* in the file that is written; under a lock */
	unsigned int generation; /* of that file; under a lock */
};

/* An open zone. Its address on the stack is its identity: it must not move. */
struct stackwide_zone {
	unsigned int generation; /* file of its start; 0: not written */
};

enum stackwide_record_type {
	STACKWIDE_PAD,
	STACKWIDE_START,
	STACKWIDE_END,
	STACKWIDE_NAME,
	STACKWIDE_PARAM,
	STACKWIDE_CATEGORY,
	STACKWIDE_FLOW,
	STACKWIDE_LAST_FLOW,
	STACKWIDE_VALUE,
	/* Parameters that are numbers; in a text file they are written as text. */
	STACKWIDE_INTEGER,
	STACKWIDE_DECIMAL
};

#define STACKWIDE_API static inline __attribute__((unused))

#ifndef STACKWIDE_ZONES_DISABLED
#include <stackwide/zones_signals.h>
#else

STACKWIDE_API int stackwide_zones_are_on(void)
{
	return 0;
}

STACKWIDE_API unsigned int stackwide_zones_generation(void)
{
	return 0;
}

STACKWIDE_API int stackwide_zones_record(enum stackwide_record_type type, unsigned int generation,
					 uint64_t pointer, const void *of, uint64_t number,
					 const char *text)
{
	(void)type, (void)generation, (void)pointer, (void)of, (void)number, (void)text;
	return 0;
}

/*
 * Write zones into a file from now on. In the path, %p is replaced by the pid. Zones of earlier
 * runs in the file are kept; new ones are appended. A forked child writes a file of its own, with a
 * dot and its pid appended to the path. So does a program if another process is writing the file,
 * or if it contains something else. Returns 0, or -1 with errno.
 *
 * A path that ends in ".ring" selects shared memory (zones_shared.h). It costs less, loses nothing
 * when the program is killed, and keeps the latest records of each thread.
 */
STACKWIDE_API int stackwide_zones_open(const char *path)
{
	(void)path;
	return 0;
}

/*
 * Write the buffered records. This also happens when a thread or the program ends, and at the first
 * record more than 100 ms after the last write. Before _exit() and execve(), which run no exit
 * handlers, the program must call it itself.
 */
STACKWIDE_API void stackwide_zones_flush(void)
{
}

/*
 * From now on, also flush when a signal is about to end the program: a fault, abort(), and
 * termination requests (SIGTERM, SIGINT and the like) that it does not handle itself. Ignored
 * signals stay ignored. The program's own handler for a fault runs afterwards. Handlers that it
 * installs later replace these. Setting the environment variable STACKWIDE_ZONES_SIGNALS to a
 * non-empty value does the same.
 */
STACKWIDE_API void stackwide_zones_flush_on_signals(void)
{
}

/* Flush, and stop writing. */
STACKWIDE_API void stackwide_zones_close(void)
{
}

/*
 * Name the calling thread; best before its first zone, since a name once written stays. The default
 * is the kernel's name of it. The name is copied.
 */
STACKWIDE_API void stackwide_zones_name_thread(const char *name)
{
	(void)name;
}

/*
 * Declare a stack that code will run on; the stacks of threads are known. Whole pages are best.
 * Memory that was declared before keeps its first name. The name is copied.
 */
STACKWIDE_API void stackwide_zones_add_stack(const void *lowest, uint64_t size, const char *name)
{
	(void)lowest, (void)size, (void)name;
}

#endif

/* ---- zones ---------------------------------------------------------------------------------- */

STACKWIDE_API void stackwide_zone_begin(struct stackwide_zone *zone,
					struct stackwide_location *location)
{
	unsigned int generation = stackwide_zones_are_on() ? stackwide_zones_generation() : 0;

	zone->generation = 0;
	if (generation &&
	    stackwide_zones_record(STACKWIDE_START, generation, (uintptr_t)zone, location, 0, NULL))
		zone->generation = generation;
}

/* A zone of another file (that of the parent before a fork) does not count as open. */
STACKWIDE_API int stackwide_zone_is_open(const struct stackwide_zone *zone)
{
	return zone->generation && stackwide_zones_are_on() &&
	       zone->generation == stackwide_zones_generation();
}

STACKWIDE_API void stackwide_zone_end(struct stackwide_zone *zone)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_END, zone->generation, (uintptr_t)zone, NULL,
					     0, NULL);
}

/* Rename this one zone. */
STACKWIDE_API void stackwide_zone_rename(struct stackwide_zone *zone, const char *name)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_NAME, zone->generation, (uintptr_t)zone,
					     NULL, 0, name);
}

/* Parameters. name is a literal; the value is copied, 4000 bytes of it at most. */
STACKWIDE_API void stackwide_zone_text(struct stackwide_zone *zone, const char *name,
				       const char *value)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_PARAM, zone->generation, (uintptr_t)zone,
					     name, 0, value);
}

STACKWIDE_API void stackwide_zone_integer(struct stackwide_zone *zone, const char *name,
					  int64_t value)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_INTEGER, zone->generation, (uintptr_t)zone,
					     name, (uint64_t)value, NULL);
}

STACKWIDE_API void stackwide_zone_decimal(struct stackwide_zone *zone, const char *name,
					  double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_DECIMAL, zone->generation, (uintptr_t)zone,
					     name, bits, NULL);
}

STACKWIDE_API void stackwide_zone_category(struct stackwide_zone *zone, const char *category)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_CATEGORY, zone->generation, (uintptr_t)zone,
					     NULL, 0, category);
}

/* Arrows join the zones of one flow, in order of time. The last zone may mark the flow's end. */
STACKWIDE_API void stackwide_zone_flow(struct stackwide_zone *zone, uint64_t flow)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_FLOW, zone->generation, (uintptr_t)zone,
					     NULL, flow, NULL);
}

STACKWIDE_API void stackwide_zone_last_flow(struct stackwide_zone *zone, uint64_t flow)
{
	if (stackwide_zone_is_open(zone))
		(void)stackwide_zones_record(STACKWIDE_LAST_FLOW, zone->generation, (uintptr_t)zone,
					     NULL, flow, NULL);
}

/* See STACKWIDE_MARK. */
STACKWIDE_API void stackwide_zones_mark(struct stackwide_location *location, uint64_t flow)
{
	struct stackwide_zone zone;

	stackwide_zone_begin(&zone, location);
	if (flow)
		stackwide_zone_flow(&zone, flow);
	stackwide_zone_end(&zone);
}

/* See STACKWIDE_COUNTER. */
STACKWIDE_API void stackwide_zones_count(struct stackwide_location *counter, int64_t value)
{
	if (stackwide_zones_are_on())
		(void)stackwide_zones_record(STACKWIDE_VALUE, stackwide_zones_generation(),
					     (uint64_t)value, counter, 0, NULL);
}

/* ---- macros ---------------------------------------------------------------------------------
 *
 * They are statements that declare a variable: not for the branch of an `if` without braces. Names
 * are literals.
 */
#define STACKWIDE_JOIN_(a, b) a##b
#define STACKWIDE_JOIN(a, b)  STACKWIDE_JOIN_(a, b)

#ifndef STACKWIDE_ZONES_DISABLED

#define STACKWIDE_LOCATION(variable, name) \
	static struct stackwide_location variable = {name, __func__, __FILE__, __LINE__, 0, 0}

/* A zone from here to the end of the scope, with a variable for the functions above. */
#define STACKWIDE_ZONE_AS(variable, name)                                                    \
	STACKWIDE_LOCATION(STACKWIDE_JOIN(variable, _location), name);                       \
	struct stackwide_zone variable __attribute__((cleanup(stackwide_zone_end), unused)); \
	stackwide_zone_begin(&variable, &STACKWIDE_JOIN(variable, _location))

#define STACKWIDE_ZONE(name) STACKWIDE_ZONE_AS(STACKWIDE_JOIN(stackwide_zone_, __LINE__), name)
/* A zone named after its function. */
#define STACKWIDE_ZONE_FUNCTION() STACKWIDE_ZONE(__func__)

/* A zone without duration; flow as in stackwide_zone_flow(), or 0. */
#define STACKWIDE_MARK(name, flow)                                  \
	do {                                                        \
		STACKWIDE_LOCATION(stackwide_location_, name);      \
		stackwide_zones_mark(&stackwide_location_, (flow)); \
	} while (0)

/* The value of a counter from now on. Each place in the source that uses it is a track. */
#define STACKWIDE_COUNTER(name, value)                                \
	do {                                                          \
		STACKWIDE_LOCATION(stackwide_location_, name);        \
		stackwide_zones_count(&stackwide_location_, (value)); \
	} while (0)

#else

#define STACKWIDE_ZONE_AS(variable, name) \
	struct stackwide_zone variable __attribute__((unused)) = {0}
#define STACKWIDE_ZONE(name)           ((void)0)
#define STACKWIDE_ZONE_FUNCTION()      ((void)0)
#define STACKWIDE_MARK(name, flow)     ((void)(flow))
#define STACKWIDE_COUNTER(name, value) ((void)(value))

#endif

#endif
