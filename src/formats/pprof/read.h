/*
 * The interface between the parts of the reader of pprof's format: read.c reads samples,
 * read_header.c and read_code.c their parts, read_pruning.c finds frames to drop; read_index.c
 * finds strings by number and read_table.c messages by id.
 *
 * Only the contents of the profile are copied from the file: besides that, the reader needs a few
 * bytes for each message that can be named by another.
 */
#ifndef FORMATS_PPROF_READ_H
#define FORMATS_PPROF_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/import.h"
#include "formats/protobuf_reader.h"

/*
 * Messages that others name by id. Their place is their order in the file. Ids are mostly 1, 2, 3…,
 * but may be any numbers.
 */
struct pprof_table {
	uint32_t count;
	uint64_t max_id;
	uint32_t *offsets;          /* by place: start of the field */
	uint32_t *places;           /* by id: place + 1, or 0; NULL when ids are far apart */
	struct pprof_place *sorted; /* by id; NULL when `places` is there */
};

/* First all messages are counted, then all are added. Returns false when its id is broken. */
_must_check_ bool pprof_table_count(struct pprof_table *table, struct bytes message);
/* Make room for the counted messages. 0 or -ENOMEM. */
_must_check_ int pprof_table_reserve(struct pprof_table *table);
/* The first of several messages with one id counts. offset: of the field. */
void pprof_table_add(struct pprof_table *table, uint32_t place, struct bytes message,
		     size_t offset);
/* Once all are added. */
void pprof_table_finish(struct pprof_table *table);
void pprof_table_release(struct pprof_table *table);
/* Whether there is such an id. */
bool pprof_table_find(const struct pprof_table *table, uint64_t id, uint32_t *ret_place);

/* Index of the file: messages that others name. */
struct pprof_index {
	struct import *import; /* borrowed */
	uint32_t num_strings;
	uint32_t *string_offsets; /* of the fields */
	struct pprof_table mappings;
	struct pprof_table locations;
	struct pprof_table functions;
};

/* Returns 0, -ENOMEM, or -EBADMSG with the import's error. Release in any case. */
_must_check_ int pprof_index_init(struct pprof_index *index, struct import *import);
void pprof_index_release(struct pprof_index *index);

/* The field at the offset, which was read before. */
struct protobuf_field pprof_index_get_field(const struct pprof_index *index, size_t offset);

/*
 * A string of the file; borrowed from it. Returns 0 or -EBADMSG with the import's error.
 *
 * what  names it, for the error: "label"
 */
_must_check_ int pprof_index_get_string(const struct pprof_index *index, uint64_t number,
					const char *what, size_t offset, struct bytes *ret);

/* A recording of the JVM, or several merged ones, have some hundreds. */
#define PPROF_MAX_SAMPLE_TYPES 1024

/* Properties that a function gives to its frames. */
struct pprof_names {
	uint32_t name;
	uint32_t full_name;
	uint32_t file;
	bool is_known;
};

/* The totals of a sample type. */
struct pprof_total {
	uint64_t num_samples; /* number of samples, as the file states it */
	uint64_t stated;      /* sum of the values, as the file states it */
	uint64_t read;        /* as it is */
};

/* How many lines of a location are dropped, from the innermost on. */
struct pprof_pruned {
	uint32_t num_lines;
	uint32_t num_dropped;
	bool is_known; /* the two numbers are */
};

/* The frames that the file asks to drop. */
struct pprof_pruning {
	struct filter *drop;            /* NULL: none */
	struct filter *keep;            /* NULL: none */
	uint8_t *strings;               /* by number: whether a function of this name is dropped */
	struct pprof_pruned *locations; /* by place */
	uint64_t num_frames;            /* dropped, in all samples */
	uint64_t num_samples;           /* samples with dropped frames */
	struct text name;
};

struct pprof_reader {
	struct import *import;
	struct pprof_index index;
	bool is_ours;                             /* stackwide wrote it: see pprof.h */
	uint32_t metrics[PPROF_MAX_SAMPLE_TYPES]; /* of the profile, by sample type */
	struct pprof_total totals[PPROF_MAX_SAMPLE_TYPES];
	size_t num_metrics;
	size_t num_account_names;
	uint32_t *location_ids;     /* by place: id in the profile + 1; 0: not made yet */
	struct pprof_names *names;  /* by place of the function */
	struct hash_index modules;  /* of the profile, by path and build ID */
	ARRAY(struct frame) frames; /* of one location */
	struct pprof_pruning pruning;
};

/* Sample types, and the parameters of the recording. Returns as format.read. */
_must_check_ int pprof_reader_read_header(struct pprof_reader *reader);

/* Once the tables are there. 0 or -ENOMEM. */
_must_check_ int pprof_reader_prepare_code(struct pprof_reader *reader);
void pprof_reader_release_code(struct pprof_reader *reader);

/* The profile's location for one of the file. offset: of the reference. Returns as format.read. */
_must_check_ int pprof_reader_add_location(struct pprof_reader *reader, uint64_t id, size_t offset,
					   uint32_t *ret);

/*
 * Compile drop_frames and keep_frames. An expression that is not valid gives a warning, and all
 * frames stay. Returns as format.read.
 */
_must_check_ int pprof_reader_prepare_pruning(struct pprof_reader *reader);
void pprof_reader_release_pruning(struct pprof_reader *reader);
/*
 * Count the frames of a sample that are dropped. ids  innermost first
 * ret_first  the innermost location that stays. Returns as format.read.
 */
_must_check_ int pprof_reader_prune(struct pprof_reader *reader, const uint64_t *ids,
				    size_t num_ids, size_t *ret_first);
/* The inlined functions that a remaining location loses. place: of a location in a sample */
uint32_t pprof_reader_count_pruned_lines(const struct pprof_reader *reader, uint32_t place);

#endif
