/*
 * What the two halves of the reader of the Firefox Profiler's files share: read.c reads
 * processes, threads and samples, read_code.c the code that they hit, read_libs.c the
 * libraries that it is in.
 */
#ifndef FORMATS_FIREFOX_READ_H
#define FORMATS_FIREFOX_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/json_table.h"
#include "formats/reader.h"

#define FIREFOX_NONE UINT32_MAX

/* Where the tables stand that code is made of; JSON_TABLE_NOWHERE: nowhere. */
struct firefox_places {
	size_t strings;
	size_t sources;
	size_t resources;
	size_t funcs;
	size_t frames;
	size_t stacks;
};

#define FIREFOX_NO_PLACES                                                                    \
	((struct firefox_places){JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE, \
				 JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE})

/* A mapped file, in profiles whose frames are addresses. */
struct firefox_lib {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of the start in the file */
	uint32_t name;   /* strings */
	uint32_t path;
	uint32_t module; /* of the profile; FIREFOX_NONE: not used yet */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; 0: unknown */
};

struct firefox_code {
	struct import *import;
	bool is_raw;          /* as the browser gives it: frames are text, tables are rows */
	ARRAY(uint8_t) kinds; /* enum frame_kind, by category */
	ARRAY(struct firefox_lib) libs; /* in raw files by start; else as they are listed */
	size_t strings_place; /* of those that are read; they may be shared by all threads */
	size_t sources_place;
	ARRAY(uint32_t) strings;        /* of the profile; the others by index in the file */
	ARRAY(uint32_t) sources;        /* index of a string */
	ARRAY(uint32_t) modules;        /* string, by resource */
	ARRAY(uint32_t) resource_libs;  /* index in libs + 1; 0: none */
	ARRAY(uint32_t) funcs;          /* id in func_keys */
	ARRAY(uint32_t) locations;      /* by frame; FIREFOX_NONE: it has no function */
	ARRAY(uint32_t) stacks;         /* of the profile; FIREFOX_NONE: a broken one */
	ARRAY(uint32_t) made;           /* what a string of the profile was made into; 0: nothing */
	struct string_table *func_keys; /* bytes of struct firefox_func */
	struct text text;
};

/* Returns 0 or -ENOMEM. */
_must_check_ int firefox_code_init(struct firefox_code *code, struct import *import);
void firefox_code_release(struct firefox_code *code);

/* The lists of a process, at the value after a key. */
_must_check_ int firefox_code_read_categories(struct firefox_code *code, struct json *json);
_must_check_ int firefox_code_read_libs(struct firefox_code *code, size_t place);
/* The location of an address in a library, by its index; it is left without frames. */
_must_check_ int firefox_code_add_address(struct firefox_code *code, uint32_t index,
					  uint64_t address, uint32_t *ret);

/* Read all tables; what they held before is gone. Returns 0 or -ENOMEM. */
_must_check_ int firefox_code_read(struct firefox_code *code, const struct firefox_places *places);

#endif
