/*
 * Reading foreign bytes into a profile: what an importer gets and what it gives back.
 *
 * Importers live in src/formats/import/, one format a file, and are called through the table of
 * formats (format.h). Memory in, memory out: they open no files, print nothing and keep no state,
 * so that the viewer can run them too. Every byte may be hostile.
 *
 * What is read is added to what the profile holds already: reading several files into one profile
 * merges them. Metrics of equal name and unit are one.
 */
#ifndef FORMATS_IMPORT_H
#define FORMATS_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "profile/profile.h"

struct timeline;

/* What the reader of a report must know about the input; all numbers start at 0. */
struct import_counts {
	uint64_t records;          /* stacks, events or lines that went into the profile */
	uint64_t skipped;          /* malformed ones; each had a warning, unless there were many */
	uint64_t unknown_events;   /* well-formed, of a kind that is not understood */
	uint64_t truncated_stacks; /* whose producer had cut them */
	uint64_t lost_samples;     /* that the producer says it lost */
	uint64_t pruned_weight;    /* left out by the producer because it was too small to draw */
};

struct import {
	/* What to read. `name` is the file's, for messages; `-` is called "standard input". */
	const char *name;
	const uint8_t *data; /* borrowed during the call; not NUL-terminated */
	size_t size;         /* in bytes */
	/*
	 * For formats that are folders: open_member() gives the bytes of a file below it, by its
	 * relative path, borrowed during the import. Returns 0, -ENOENT or another negative errno.
	 * NULL where the input is no folder; `data` is then what there is.
	 */
	int (*open_member)(void *context, const char *path, const uint8_t **ret_data,
			   size_t *ret_size);
	/* The paths that open_member() takes: of every file below the folder, in any order. */
	const char *const *members;
	size_t num_members;

	/* Where to. Threads get `source`, an id of profile_add_source(). */
	struct profile *profile;
	struct timeline *timeline; /* what has a time goes there too; NULL: not wanted */
	uint32_t source;

	/* How. */
	bool is_strict;  /* the first malformed record ends the import */
	bool is_lenient; /* zones: what is declared twice, or not at all, is a warning */

	/* A line for a person, without newline: "FILE:12: malformed, skipping". May be NULL. */
	void (*warn)(void *context, const char *line);
	/* All bytes before `consumed` are done with; called now and then. May be NULL. */
	void (*advance)(void *context, size_t consumed);
	void *context;

	/* What came of it. */
	struct import_counts counts;
	struct error error; /* the reason, with file and place, when the import failed */
};

/*
 * Set the error "FILE:LINE: reason" or "FILE: at byte N: reason" and return -EBADMSG, so that bad
 * input is one line: return import_fail_line(import, line, "…").
 */
int import_fail_line(struct import *import, uint64_t line, const char *format, ...) _printf_(3, 4);
int import_fail_byte(struct import *import, uint64_t offset, const char *format, ...)
	_printf_(3, 4);
/* The same for a file of a folder or an archive: "FOLDER/MEMBER: at byte N: reason". */
int import_fail_member(struct import *import, const char *member, uint64_t offset,
		       const char *format, ...) _printf_(4, 5);

/* Count a malformed record and warn "FILE:LINE: …", for the first 20 of an input. */
void import_skip_line(struct import *import, uint64_t line, const char *format, ...) _printf_(3, 4);
/* Count a malformed record and warn "FOLDER/MEMBER: at byte N: …", for the first 20 of an input. */
void import_skip_member(struct import *import, const char *member, uint64_t offset,
			const char *format, ...) _printf_(4, 5);
/* What the error says after the file's name, for a warning in its place. */
const char *import_get_reason(const struct import *import);
/*
 * Keep the counts with the source, as tallies "import.skipped" and so on, unless the file has told
 * them of the one that it was made of. Not the records, of which every file has some. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int import_keep_counts(const struct import *import);

/* Warn "FILE: …". */
void import_warn(struct import *import, const char *format, ...) _printf_(2, 3);

#endif
