/*
 * Reading foreign bytes into a profile: what an importer gets and what it gives back.
 *
 * Importers live in src/formats/, in the folder of their format, and are called through the table
 * of formats (format.h). Memory in, memory out: they open no files, print nothing and keep no
 * state, so that the viewer can run them too. Every byte may be hostile.
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
#include "wire/registers.h"

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

/* An executable mapping of a process whose stack is to be walked. */
struct import_mapping {
	uint64_t start;
	uint64_t end;         /* first byte after it */
	uint64_t file_offset; /* of start, in bytes */
	uint32_t module;      /* of the profile; IMPORT_NO_MODULE: no file backs the memory */
};
#define IMPORT_NO_MODULE UINT32_MAX

/* A thread's registers and a copy of the top of its stack, as a producer kept them. */
struct import_stack {
	struct wire_registers registers;
	const uint8_t *bytes;                  /* from registers.sp on */
	size_t size;                           /* in bytes */
	const struct import_mapping *mappings; /* of the process, sorted by start */
	size_t num_mappings;
};

/* Set in a pc that is no return address; user addresses end far below. */
#define IMPORT_PC_EXACT (1ull << 63)

/*
 * The kernel whose addresses the locations of LOCATION_KERNEL are, as far as the input says. Their
 * owner is the import's source, because each input may be of another kernel.
 */
struct import_kernel {
	uint64_t text; /* where its code begins (_text or _stext); 0: unknown */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; 0: unknown */
	char release[65];      /* as uname -r prints it; empty: unknown */
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
	/* The caller has the files and gives frames to the locations that are left without. */
	bool will_name_code;

	/* A line for a person, without newline: "FILE:12: malformed, skipping". May be NULL. */
	void (*warn)(void *context, const char *line);
	/* All bytes before `consumed` are done with; called now and then. May be NULL. */
	void (*advance)(void *context, size_t consumed);
	/*
	 * Walk a copied stack, which takes the files that lie mapped there and is therefore the
	 * caller's. Writes at most max_pcs addresses, innermost first, and their number, at least
	 * one. Returns 1 when the walk got to the outermost frame, 0 when it ended before, or
	 * -ENOMEM. NULL: copied stacks are cut after their innermost frame.
	 */
	int (*walk)(void *context, const struct import_stack *stack, uint64_t *pcs, size_t max_pcs,
		    size_t *ret_num);
	void *context;

	/* What came of it. */
	struct import_counts counts;
	struct import_kernel kernel;
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
