/*
 * The interface between the halves of the writer of the Firefox Profiler's format: write.c writes
 * threads and the rest, write_tables.c the tables of code that threads share.
 */
#ifndef FORMATS_FIREFOX_WRITE_H
#define FORMATS_FIREFOX_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/intern.h"
#include "base/text.h"
#include "formats/format.h"
#include "profile/profile.h"

/* Strings of the profile; file and module may be empty. */
struct firefox_func_key {
	uint32_t name;
	uint32_t file;
	uint32_t module;
	bool is_javascript;
};
INTERN_TABLE(firefox_func_keys, struct firefox_func_key, name, file, module, is_javascript);

/* A pid or tid. */
struct firefox_id {
	uint32_t id;
};
INTERN_TABLE(firefox_ids, struct firefox_id, id);

struct firefox_writer {
	const struct profile *profile;  /* whose locations are named frames */
	const struct profile *original; /* which knows modules */
	const struct sink *sink;
	struct text text;
	struct string_table *strings; /* of the format, by id */
	struct string_table *files;   /* by id minus 1, as modules: the first string is empty */
	struct string_table *modules; /* names */
	struct firefox_func_keys func_keys;
	struct firefox_ids pids; /* pids with a main thread already */
	struct firefox_ids tids; /* ids in use */
	uint32_t *funcs;         /* by location: func_keys */
	uint32_t *module_of;     /* by module: of the original, or UINT32_MAX */
	uint32_t *order;         /* samples by metric and thread */
	uint32_t first, end;     /* in order: the thread being written */
	uint64_t period_ns;
};

struct firefox_column {
	const char *name;
	void (*append)(struct firefox_writer *writer, uint32_t row);
};

/* Fill the tables of strings, files, modules and functions. Returns 0 or -ENOMEM. */
_must_check_ int firefox_collect(struct firefox_writer *writer);
/* "shared":{…}, */
_must_check_ int firefox_write_shared(struct firefox_writer *writer);
/* "categories":[…], */
void firefox_append_categories(struct text *text);

/* Write "name":[…],…,"length":3} of the open table. Returns 0 or the error of the sink. */
_must_check_ int firefox_write_columns(struct firefox_writer *writer, uint32_t count,
				       const struct firefox_column *columns, size_t num_columns);
/* Write "name":[…], with the output of append() for each row. */
_must_check_ int firefox_write_column(struct firefox_writer *writer, uint32_t count,
				      const struct firefox_column *column);

#endif
