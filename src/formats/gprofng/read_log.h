/*
 * The contents of an experiment's log.xml: the process, its threads, and the layout of the packets
 * of its data files.
 *
 * Source: binutils, gprofng: the output of `gprofng collect app`.
 */
#ifndef FORMATS_GPROFNG_READ_LOG_H
#define FORMATS_GPROFNG_READ_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "formats/gprofng/read_files.h"
#include "formats/xml_scanner.h"

/* Fields of packets that mean something to us. */
enum gprofng_role {
	GPROFNG_LWPID, /* the thread, as the kernel numbers it */
	GPROFNG_TSTAMP,
	GPROFNG_FRINFO,
	GPROFNG_MSTATE,
	GPROFNG_NTICK,
	GPROFNG_UCPU, /* ticks in each state, in the order of the states of GPROFNG_MSTATE */
	GPROFNG_SCPU,
	GPROFNG_TRAP,
	GPROFNG_TFAULT,
	GPROFNG_DFAULT,
	GPROFNG_KFAULT,
	GPROFNG_ULOCK,
	GPROFNG_TSLEEP,
	GPROFNG_WAIT,
	GPROFNG_TSTOP,
	GPROFNG_HTYPE,
	GPROFNG_HSIZE,
	GPROFNG_HVADDR,
	GPROFNG_HOVADDR,
	GPROFNG_SRQST,
	GPROFNG_IOTYPE,
	GPROFNG_IONBYTE,
	GPROFNG_IORQST,
	GPROFNG_HWCTAG,
	GPROFNG_HWCINT,
	NUM_GPROFNG_ROLES,
};

/* Kinds of packets, as gprofng numbers them. */
enum gprofng_kind {
	GPROFNG_OLD_CLOCK = 1,
	GPROFNG_SYNC = 2,
	GPROFNG_COUNTER = 3,
	GPROFNG_OLD_COUNTER = 4,
	GPROFNG_HEAP = 5,
	GPROFNG_MEMORY_COUNTER = 7,
	GPROFNG_CLOCK = 8,
	GPROFNG_IO = 19,
	NUM_GPROFNG_KINDS,
};

struct gprofng_field {
	uint32_t offset; /* in bytes, from the packet's start */
	uint8_t role;    /* enum gprofng_role */
	uint8_t width;   /* 4 or 8 bytes */
	bool is_signed;
};

struct gprofng_packet {
	uint32_t file; /* index into gprofng_log.files */
	uint32_t kind;
	uint32_t first_field;
	uint32_t num_fields;
};

/* A file of packets. */
struct gprofng_data_file {
	size_t name;       /* offset in gprofng_log.text */
	uint64_t ticks_us; /* of a tick; 0: not given */
	uint32_t num_states;
};

struct gprofng_counter {
	uint64_t tag;
	size_t name; /* offset in gprofng_log.text */
};

struct gprofng_java_thread {
	uint64_t tid;
	size_t name; /* offset in gprofng_log.text */
};

/* Zeroed at first. */
struct gprofng_log {
	uint64_t pid;
	uint64_t start_ns; /* CLOCK_MONOTONIC; other times of log.xml and map.xml count from it */
	bool is_32_bit;
	bool is_big_endian;
	size_t command; /* offset in text; the first word's last part; empty: not given */
	ARRAY(struct gprofng_data_file) files;
	ARRAY(struct gprofng_packet) packets;
	ARRAY(struct gprofng_field) fields;
	ARRAY(struct gprofng_counter) counters;
	ARRAY(struct gprofng_java_thread) java_threads; /* sorted by tid; the first name counts */
	struct text text;                               /* strings, each with its NUL */
};

/*
 * Returns 0, -ENOMEM, or -EBADMSG with the reason in the import. Release in any case.
 */
_must_check_ int gprofng_log_read(struct gprofng_log *log, struct import *import,
				  const struct gprofng_file *file);
void gprofng_log_release(struct gprofng_log *log);

/* NULL if not found. */
const char *gprofng_log_find_java_thread(const struct gprofng_log *log, uint64_t tid);

/* "12.034000120", seconds, as nanoseconds; 0 for anything else. */
uint64_t gprofng_parse_seconds(struct xml_slice slice);
/* Decimal, or with 0x before it hexadecimal; a sign + is stepped over. False: anything else. */
bool gprofng_parse_number(struct xml_slice slice, uint64_t *ret);
/* The value of an attribute as a number; 0 if not found. */
uint64_t gprofng_find_number(const struct xml_tag *tag, const char *name);
/* Append the value of an attribute, decoded. False if not found; check text->failed. */
bool gprofng_append_attribute(struct text *text, const struct xml_tag *tag, const char *name);
/* A scanner over a file that is padded with NUL bytes. */
struct xml_scanner gprofng_scan(const struct gprofng_file *file);

#endif
