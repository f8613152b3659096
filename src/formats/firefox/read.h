/*
 * The interface between the parts of the reader of the Firefox Profiler's files: read.c reads
 * processes, threads and samples, read_code.c the code that they hit, read_libs.c its libraries.
 */
#ifndef FORMATS_FIREFOX_READ_H
#define FORMATS_FIREFOX_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"
#include "base/intern.h"
#include "formats/json_table.h"
#include "formats/reader.h"

#define FIREFOX_NONE UINT32_MAX

/* Offsets of the tables that describe code; JSON_TABLE_NOWHERE: not found. */
struct firefox_positions {
	size_t strings;
	size_t sources;
	size_t resources;
	size_t funcs;
	size_t frames;
	size_t stacks;
};

#define FIREFOX_NO_POSITIONS                                                                    \
	((struct firefox_positions){JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE, \
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

/* Common data of the frames of one function. Strings of the profile, which may be empty. */
struct firefox_func {
	uint32_t name;
	uint32_t file;
	uint32_t module;
	uint32_t line;
	uint64_t address; /* address as a name, in `lib` */
	uint32_t lib;     /* index + 1; 0: it has a real name */
};

static inline uint64_t firefox_func_hash(const struct firefox_func *func)
{
	uint64_t hash = hash_mix(hash_mix(hash_mix(0, func->name), func->file), func->module);

	return hash_mix(hash_mix(hash_mix(hash, func->line), func->address), func->lib);
}

static inline bool firefox_func_is_same(const struct firefox_func *a, const struct firefox_func *b)
{
	return a->name == b->name && a->file == b->file && a->module == b->module &&
	       a->line == b->line && a->address == b->address && a->lib == b->lib;
}

INTERN_TABLE_BY(firefox_func_table, struct firefox_func, firefox_func_hash, firefox_func_is_same);

/* Results by string of the profile; 0: none yet. */
struct firefox_made {
	uint32_t *items;
	size_t length;
	size_t capacity;
};

struct firefox_code {
	struct import *import;
	bool is_raw;                    /* as the browser gives it: frames are text */
	bool are_libs_sorted;           /* by start, for addresses of raw files */
	ARRAY(uint8_t) kinds;           /* enum frame_kind, by category */
	ARRAY(struct firefox_lib) libs; /* as they are listed, unless they are sorted */
	size_t strings_position; /* of those that are read; they may be shared by all threads */
	size_t sources_position;
	ARRAY(uint32_t) strings;             /* of the profile; the others by index in the file */
	ARRAY(uint32_t) sources;             /* index of a string */
	ARRAY(uint32_t) modules;             /* string, by resource */
	ARRAY(uint32_t) resource_libs;       /* index in libs + 1; 0: none */
	ARRAY(uint32_t) funcs;               /* index in all_funcs */
	ARRAY(uint32_t) locations;           /* by frame; FIREFOX_NONE: it has no function */
	ARRAY(uint32_t) stacks;              /* of the profile; FIREFOX_NONE: a broken one */
	struct firefox_made names;           /* of frames, in processed files */
	struct firefox_made text_funcs;      /* 1 + index in all_funcs, in raw ones */
	struct firefox_func_table all_funcs; /* of all threads */
	struct text text;
};

void firefox_code_init(struct firefox_code *code, struct import *import);
void firefox_code_release(struct firefox_code *code);

/* The lists of a process, at the value after a key. */
_must_check_ int firefox_code_read_categories(struct firefox_code *code, struct json *json);
_must_check_ int firefox_code_read_libs(struct firefox_code *code, size_t position);
/* Sort the libraries by their starts; their indexes are void then. */
void firefox_code_sort_libs(struct firefox_code *code);
/* The location of an address in a library, by its index; it is left without frames. */
_must_check_ int firefox_code_add_address(struct firefox_code *code, uint32_t index,
					  uint64_t address, uint32_t *ret);

/*
 * The location of a frame of raw files, whose text is in code->text. The libraries are sorted.
 *
 * line  0: that of the text, if it has one
 */
_must_check_ int firefox_code_add_text(struct firefox_code *code, uint32_t line, uint32_t *ret);

/* Samples of the oldest raw files, at the value after a key (read_listed.c). */
bool firefox_samples_are_listed(const struct import *import, size_t position);
_must_check_ int firefox_read_listed_samples(struct firefox_code *code, size_t position,
					     uint32_t thread, uint32_t metric);

/* Read all tables; their previous contents are gone. Returns 0 or -ENOMEM. */
_must_check_ int firefox_code_read(struct firefox_code *code,
				   const struct firefox_positions *positions);

#endif
