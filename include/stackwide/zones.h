/* SPDX-License-Identifier: MIT */
/*
 * Zones: a program declares what it does when, and `stackwide convert` or `stackwide record --zones`
 * shows it in Perfetto, on the stack region that it happened on. Header-only, C11 and C++11, Linux,
 * GCC or Clang; link with -pthread. The manual is stackwide-zones(3).
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
 * zone begins, or stackwide_zones_open() does. With STACKWIDE_ZONES_DISABLED defined, all of it
 * compiles to nothing.
 *
 * All functions may be called from any thread, and from code that moves between threads (fibers).
 * A zone in a signal handler is left out when it interrupts the writing of another.
 */
#ifndef STACKWIDE_ZONES_H
#define STACKWIDE_ZONES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where a zone begins in the source; one for each place, living as long as the program. */
struct stackwide_location {
	const char *name;
	const char *function;
	const char *file;
	unsigned int line;
	unsigned int id;         /* in the file that is written; under a lock */
	unsigned int generation; /* of that file; under a lock */
};

/* A zone that is open. Its address on the stack is its identity: it must not move. */
struct stackwide_zone {
	unsigned int generation; /* of the file that it has begun in; 0: of none */
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
	/* Parameters that are numbers; texts in a file of text. */
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
 * Write zones into a file from now on. In the path, %p stands for the pid. What an earlier run has
 * left in the file stays before them. A child that is forked writes a file of its own, with a dot
 * and its pid behind the path; so does a program whose file is being written by another one, or
 * holds something else. Returns 0, or -1 with errno.
 *
 * A path that ends in ".ring" is that of shared memory (zones_shared.h), which costs less, loses
 * nothing when the program is killed, and holds for each thread what it reported last.
 */
STACKWIDE_API int stackwide_zones_open(const char *path)
{
	(void)path;
	return 0;
}

/*
 * Write what is held back. It is done at the end of a thread and of the program, too, and when a
 * zone begins or ends, or anything is set on one, and 100 ms have gone by since it was done last.
 * Before _exit() and execve(), which run nothing of the program's, it is for the program to do.
 */
STACKWIDE_API void stackwide_zones_flush(void)
{
}

/*
 * From now on, also when a signal is about to end the program: a fault, abort(), and the requests
 * to end (SIGTERM, SIGINT and the like) that it does not handle itself; those that it ignores stay
 * ignored. What it does at a fault is done afterwards. Handlers that it installs later come in the
 * place of these. The environment variable STACKWIDE_ZONES_SIGNALS, if it is not empty, asks for
 * the same.
 */
STACKWIDE_API void stackwide_zones_flush_on_signals(void)
{
}

/* Flush and write nothing any more. */
STACKWIDE_API void stackwide_zones_close(void)
{
}

/*
 * Call the present thread so; best before its first zone, since what is written once stays. Else it
 * has the name that the kernel knows. The name is copied.
 */
STACKWIDE_API void stackwide_zones_name_thread(const char *name)
{
	(void)name;
}

/*
 * Tell of a stack that code will run on; the stacks of threads are known. Whole pages are best.
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

/* A zone of another file, that of the parent before a fork, is none here. */
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

/* Call this one zone so. */
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

/* An arrow joins the zones of one flow, in order of time; the last one may say that it is. */
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

/* A zone from here to the end of the scope, as a variable for the functions above. */
#define STACKWIDE_ZONE_AS(variable, name)                                                    \
	STACKWIDE_LOCATION(STACKWIDE_JOIN(variable, _location), name);                       \
	struct stackwide_zone variable __attribute__((cleanup(stackwide_zone_end), unused)); \
	stackwide_zone_begin(&variable, &STACKWIDE_JOIN(variable, _location))

#define STACKWIDE_ZONE(name) STACKWIDE_ZONE_AS(STACKWIDE_JOIN(stackwide_zone_, __LINE__), name)
/* A zone that is called as its function is. */
#define STACKWIDE_ZONE_FUNCTION() STACKWIDE_ZONE(__func__)

/* A moment, as a zone without length; flow as in stackwide_zone_flow(), or 0. */
#define STACKWIDE_MARK(name, flow)                                  \
	do {                                                        \
		STACKWIDE_LOCATION(stackwide_location_, name);      \
		stackwide_zones_mark(&stackwide_location_, (flow)); \
	} while (0)

/* The value of a counter from now on. Each place in the source that says so is a track. */
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
