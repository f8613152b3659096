/*
 * Reading foreign bytes into a profile: the input and the results of an importer.
 *
 * Importers live in src/formats/, in the directory of their format, and are called through the
 * table of formats (format.h). Memory in, memory out: they open no files, print nothing and keep no
 * state, so that the viewer can run them too. Every byte may be hostile.
 *
 * Everything is added to the contents of the profile: reading several files into one profile merges
 * them. Metrics of equal name and unit are one.
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

/* How much of the input is in the profile, and how much is not: for reports. Zeroed at first. */
struct import_counts {
	uint64_t records;        /* stacks, events or lines that went into the profile */
	uint64_t skipped;        /* malformed records; the first of an input have a warning each */
	uint64_t unknown_events; /* well-formed records of a kind that we do not know */
	uint64_t truncated_stacks; /* truncated by the producer */
	uint64_t without_stack;    /* events that the producer wrote without their stack */
	uint64_t lost_samples;     /* lost, as reported by the producer */
	uint64_t pruned_weight;    /* left out by the producer because it was too small to draw */
	uint64_t warnings;         /* lines for a person */
	uint64_t unnamed_code;     /* locations whose names are not in the input */
};

/* An executable mapping of a process whose stack is to be walked. */
struct import_mapping {
	uint64_t start;
	uint64_t end;         /* first byte after it */
	uint64_t file_offset; /* of start, in bytes */
	uint32_t module;      /* of the profile; IMPORT_NO_MODULE: no file backs the memory */
};
#define IMPORT_NO_MODULE UINT32_MAX

/* A thread's registers and a copy of the top of its stack, as perf record --call-graph dwarf. */
struct import_stack {
	struct wire_registers registers;
	const uint8_t *bytes;                  /* from registers.sp on */
	size_t size;                           /* in bytes */
	const struct import_mapping *mappings; /* of the process, sorted by start */
	size_t num_mappings;
};

/*
 * Set in a pc that walk() returns if it is not a return address, as that of a signal frame: the
 * caller of walk() must not subtract 1 from it. User addresses end far below.
 */
#define IMPORT_PC_EXACT (1ull << 63)

/*
 * The kernel that locations of LOCATION_KERNEL belong to, as far as the input states it. The owner
 * of such a location is the import's source, because each input may be of another kernel.
 */
struct import_kernel {
	uint64_t text; /* start of its code (_text or _stext); 0: unknown */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; 0: unknown */
	char release[65];      /* as uname -r prints it; empty: unknown */
};

struct import {
	/* The input. `name` is the file's, for messages; `-` is called "standard input". */
	const char *name;
	const uint8_t *data;   /* borrowed during the call; not NUL-terminated */
	size_t size;           /* in bytes */
	uint64_t lines_before; /* of the file, before `data`: for messages */
	/*
	 * For formats that are directories: open_member() gives the bytes of a file below it, by
	 * its relative path, borrowed during the import. Returns 0, -ENOENT or another negative
	 * errno. NULL if the input is a file, whose bytes are then in `data`.
	 */
	int (*open_member)(void *context, const char *path, const uint8_t **ret_data,
			   size_t *ret_size);
	/* The paths that open_member() takes: of every file below the directory, in any order. */
	const char *const *members;
	size_t num_members;

	/* The output. Threads get `source`, an id of profile_add_source(). */
	struct profile *profile;
	struct timeline *timeline; /* gets all items with a time; NULL: not needed */
	uint32_t source;

	/* How. */
	bool is_strict; /* the first malformed record ends the import */
	/* zones: records that are declared twice, or not at all, are only a warning */
	bool is_lenient;
	bool keeps_all_frames; /* also those that the input asks to drop */
	bool is_for_trace;     /* the trace will be rewritten: warn about data that is not read */
	bool may_be_empty;     /* no warning about an input without samples */
	/* The caller has the files and gives frames to the locations without any. */
	bool will_name_code;

	/* A line for a person, without newline: "FILE:12: malformed, skipping". May be NULL. */
	void (*warn)(void *context, const char *line);
	/* Progress: bytes before `consumed` are not read again and may be unmapped. May be NULL. */
	void (*advance)(void *context, size_t consumed);
	/*
	 * Walk a copied stack. That takes the unwind information of the mapped files, and importers
	 * open no files, so the caller does it. Writes at most max_pcs addresses, innermost first,
	 * and their number, at least one. Returns 1 when the walk reached the outermost frame, 0 if
	 * it ended early, or -ENOMEM. NULL: copied stacks have only their innermost frame.
	 */
	int (*walk)(void *context, const struct import_stack *stack, uint64_t *pcs, size_t max_pcs,
		    size_t *ret_num);
	void *context;

	/* Results. */
	struct import_counts counts;
	/* Weights are multiplied by 10 to the power of this, as the input has fractions. */
	uint8_t decimals;
	struct import_kernel kernel;
	uint64_t
		num_malformed; /* records that import_skip_line() and import_skip_member() counted */
	struct error error;    /* the reason, with file and position, if the import failed */
};

/*
 * Set the error "FILE:LINE: reason" or "FILE: at byte N: reason" and return -EBADMSG, so that bad
 * input is one line: return import_fail_line(import, line, "…").
 */
int import_fail_line(struct import *import, uint64_t line, const char *format, ...) _printf_(3, 4);
int import_fail_byte(struct import *import, uint64_t offset, const char *format, ...)
	_printf_(3, 4);
/* The same for a file of a directory or an archive: "FOLDER/MEMBER: at byte N: reason". */
int import_fail_member(struct import *import, const char *member, uint64_t offset,
		       const char *format, ...) _printf_(4, 5);

/* Count a malformed record and warn "FILE:LINE: …", for the first 5 of an input. */
void import_skip_line(struct import *import, uint64_t line, const char *format, ...) _printf_(3, 4);
/* Count a malformed record and warn "FOLDER/MEMBER: at byte N: …", for the first 5 of an input. */
void import_skip_member(struct import *import, const char *member, uint64_t offset,
			const char *format, ...) _printf_(4, 5);
/* After an import: warn about the others of these, by their number. */
void import_report_malformed(struct import *import);
/* The error's message without the file's name, for a warning instead of the error. */
const char *import_get_reason(const struct import *import);
/*
 * After an import: bring the weights read before and the new ones to the same power of ten. Done
 * metric by metric, if one of them had fractions (metric.decimals). Returns 0 or, if weights exceed
 * 64 bits, -EBADMSG with the error set.
 */
_must_check_ int import_unify_decimals(struct import *import);
/*
 * Keep the counts with the source, as tallies "import.skipped" and so on, so that a converted
 * profile still reports the gaps of its origin. If the file holds such tallies of its own origin,
 * these stay. Returns 0 or -ENOMEM.
 */
_must_check_ int import_keep_counts(const struct import *import);

/* Warn "FILE: …". */
void import_warn(struct import *import, const char *format, ...) _printf_(2, 3);
/* Warn "FILE: 2 samples are missing"; the phrase is that of table_append_counted(). */
void import_warn_counted(struct import *import, uint64_t count, const char *phrase);

/*
 * Give a frame to every location without one: "libc.so.6+0x28a40" (the offset in the file) or
 * "[kernel]+0x1b3520" (from the start of the kernel's code, if known), with UNNAMED_NO_SYMBOL; else
 * "[unknown]", with UNNAMED_NO_MAPPING.
 *
 * is_kernel_only  only the kernel's locations, of this import
 * reason          UNNAMED_NO_SYMBOL as above, or another one for all
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int unsymbolized_code_name(struct import *import, bool is_kernel_only,
					enum unnamed_reason reason);

#endif
