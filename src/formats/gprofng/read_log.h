/*
 * What log.xml says of an experiment: the process, its threads, and how the packets of its data
 * files are laid out.
 *
 * Source: binutils, gprofng: what `gprofng collect app` writes.
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
enum er_role {
	ER_LWPID, /* the thread, as the kernel numbers it */
	ER_TSTAMP,
	ER_FRINFO,
	ER_MSTATE,
	ER_NTICK,
	ER_UCPU, /* ticks in each state, in the order of the states of ER_MSTATE */
	ER_SCPU,
	ER_TRAP,
	ER_TFAULT,
	ER_DFAULT,
	ER_KFAULT,
	ER_ULOCK,
	ER_TSLEEP,
	ER_WAIT,
	ER_TSTOP,
	ER_HTYPE,
	ER_HSIZE,
	ER_HVADDR,
	ER_HOVADDR,
	ER_SRQST,
	ER_IOTYPE,
	ER_IONBYTE,
	ER_IORQST,
	ER_HWCTAG,
	ER_HWCINT,
	NUM_ER_ROLES,
};

/* Of a packet, as gprofng numbers them. */
enum er_kind {
	ER_OLD_CLOCK = 1,
	ER_SYNC = 2,
	ER_COUNTER = 3,
	ER_OLD_COUNTER = 4,
	ER_HEAP = 5,
	ER_MEMORY_COUNTER = 7,
	ER_CLOCK = 8,
	ER_IO = 19,
	NUM_ER_KINDS,
};

struct er_field {
	uint32_t offset; /* in bytes, from the packet's beginning */
	uint8_t role;    /* enum er_role */
	uint8_t width;   /* 4 or 8 bytes */
	bool is_signed;
};

struct er_packet {
	uint32_t file; /* index into er_log.files */
	uint32_t kind;
	uint32_t first_field;
	uint32_t num_fields;
};

/* A file of packets. */
struct er_data_file {
	size_t name;       /* offset in er_log.text */
	uint64_t ticks_us; /* of a tick; 0: not told */
	uint32_t num_states;
};

struct er_counter {
	uint64_t tag;
	size_t name; /* offset in er_log.text */
};

struct er_java_thread {
	uint64_t tid;
	size_t name; /* offset in er_log.text */
};

/* Zeroed at first. */
struct er_log {
	uint64_t pid;
	uint64_t start_ns; /* CLOCK_MONOTONIC; other times of log.xml and map.xml count from it */
	bool is_32_bit;
	bool is_big_endian;
	size_t command; /* offset in text; the first word's last part; empty: not told */
	ARRAY(struct er_data_file) files;
	ARRAY(struct er_packet) packets;
	ARRAY(struct er_field) fields;
	ARRAY(struct er_counter) counters;
	ARRAY(struct er_java_thread) java_threads; /* sorted by tid; the first name counts */
	struct text text;                          /* strings, each with its NUL */
};

/*
 * Returns 0, -ENOMEM, or -EBADMSG with the reason in the import. Release in any case.
 */
_must_check_ int er_log_read(struct er_log *log, struct import *import, const struct er_file *file);
void er_log_release(struct er_log *log);

/* NULL when there is none. */
const char *er_log_find_java_thread(const struct er_log *log, uint64_t tid);

/* "12.034000120", seconds, as nanoseconds; 0 for anything else. */
uint64_t er_parse_seconds(struct xml_slice slice);
/* Decimal, or with 0x before it hexadecimal; a sign + is stepped over. False: anything else. */
bool er_parse_number(struct xml_slice slice, uint64_t *ret);
/* The value of an attribute as a number; 0 where there is none. */
uint64_t er_find_number(const struct xml_tag *tag, const char *name);
/* Append the value of an attribute, decoded. False when there is none; check text->failed. */
bool er_append_attribute(struct text *text, const struct xml_tag *tag, const char *name);
/* A scanner over a file that is padded with NUL bytes. */
struct xml_scanner er_scan(const struct er_file *file);

#endif
