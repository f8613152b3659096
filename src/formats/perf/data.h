/*
 * perf.data, the file that `perf record` writes: the interface between the parts of its reader.
 *
 * 	read_data.c             records; the importer itself
 * 	read_data_meta.c        header, attributes and features, in a file or in a pipe's records
 * 	read_data_attr.c        the events, and the event of a record
 * 	read_data_sample.c      parses a sample
 * 	read_data_queue.c       sorts records by time
 * 	read_data_compressed.c  compressed records; not in the viewer
 * 	read_data_tasks.c       processes, their mappings, and threads
 * 	read_data_stack.c       a sample's addresses as a stack of the profile
 *
 * Source: Linux include/uapi/linux/perf_event.h and
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef FORMATS_PERF_DATA_H
#define FORMATS_PERF_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/intern.h"
#include "formats/import.h"
#include "profile/profile.h"

#define PERF_HEADER_BYTES 8 /* of a record: type, misc, size */

/* Kinds of records. Those from 64 on are perf's own. */
enum perf_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_LOST_SAMPLES = 13,
	PERF_USER_TYPES = 64,
	PERF_HEADER_ATTR = 64,
	PERF_TRACING_DATA = 66,
	PERF_BUILD_ID = 67,
	PERF_FINISHED_ROUND = 68,
	PERF_AUXTRACE = 71,
	PERF_EVENT_UPDATE = 78,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83,
};

/* Bits of misc. */
#define PERF_MISC_CPU_MODE  7u
#define PERF_MISC_MMAP_DATA (1u << 13)
#define PERF_MISC_COMM_EXEC (1u << 13)
#define PERF_MISC_BUILD_ID  (1u << 14) /* PERF_MMAP2: build ID in place of the inode */
#define PERF_MISC_ID_SIZE   (1u << 15) /* PERF_BUILD_ID: it has a size */

enum perf_cpu_mode {
	PERF_CPU_KERNEL = 1,
	PERF_CPU_USER = 2,
	PERF_CPU_HYPERVISOR = 3,
	PERF_CPU_GUEST_KERNEL = 4,
	PERF_CPU_GUEST_USER = 5,
};

struct perf_record {
	uint32_t type; /* enum perf_type, or one that is not in it */
	uint16_t misc;
	struct bytes body; /* after the header */
	uint64_t position; /* offset in the file, of it or of the compressed record it was in */
};

/* ---- events ---- */

struct perf_attr {
	uint32_t type;
	uint64_t config;
	uint64_t sample_period; /* or frequency */
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t user_registers; /* mask */
	bool is_frequency;
	bool has_trailers; /* sample_id_all: records that are no samples end in thread, time, id */
	uint32_t name;     /* string of the profile; STRING_NONE: not known (yet) */
	uint32_t metric;   /* METRIC_NONE: there was no sample yet */
};

struct perf_attr_id {
	uint64_t id;
	uint64_t count; /* value of its counter when it was last read */
	uint32_t attr;
};
INTERN_TABLE(perf_attr_ids, struct perf_attr_id, id);

struct perf_attrs {
	ARRAY(struct perf_attr) items;
	struct perf_attr_ids ids;
};

void perf_attrs_release(struct perf_attrs *attrs);

/* An attribute as the file has it, of any version. Returns 0, -EBADMSG (too short) or -ENOMEM. */
_must_check_ int perf_attrs_add(struct perf_attrs *attrs, struct bytes attr);
/* An id of the attribute added last. Returns 0 or -ENOMEM. */
_must_check_ int perf_attrs_add_id(struct perf_attrs *attrs, uint64_t id);
/* The attribute of an id, or NULL. */
struct perf_attr *perf_attrs_find(const struct perf_attrs *attrs, uint64_t id);
/*
 * The attribute of an id whose counter has been read, or NULL. *ret is the growth of the counter
 * since the last time.
 */
struct perf_attr *perf_attrs_count(struct perf_attrs *attrs, uint64_t id, uint64_t count,
				   uint64_t *ret);
/* The attribute that a record belongs to, or NULL. */
struct perf_attr *perf_attrs_find_record(const struct perf_attrs *attrs,
					 const struct perf_record *record);
/* The time of a record, of the recording's clock; 0: it has none. */
uint64_t perf_attr_get_time(const struct perf_attr *attr, const struct perf_record *record);
/* The metric of the attribute's samples. Returns 0 or -ENOMEM. */
_must_check_ int perf_attr_add_metric(struct perf_attr *attr, struct profile *profile,
				      uint32_t *ret);

/* ---- samples ---- */

struct perf_sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t period; /* weight; at least 1 */
	/* PERF_FORMAT_GROUP: for each event of the group its count, its id, perhaps more. */
	struct bytes counters;
	size_t counter_bytes; /* of each */
	bool has_chain;
	struct bytes chain; /* addresses and marks, 8 bytes each */
	bool has_stack;     /* registers and a copy of the user stack are there */
	struct import_stack stack;
};

/* False: the record is malformed. */
bool perf_sample_parse(const struct perf_attr *attr, struct bytes body, struct perf_sample *ret);

/* ---- order ---- */

/* Decompressed bytes, which live as long as queued records refer to them. */
struct perf_chunk {
	uint8_t *data;
	size_t size;
	size_t num_queued;
	bool is_being_read; /* more of its records may be queued */
};

struct perf_queued {
	uint64_t time_ns;
	uint64_t position;
	const uint8_t *record;    /* with its header */
	struct perf_chunk *chunk; /* NULL: it is in the file */
};

struct perf_queue {
	ARRAY(struct perf_queued) items;
	uint64_t latest_ns;
	uint64_t limit_ns;  /* of the last round: no earlier record will follow */
	size_t chunk_bytes; /* kept for queued records */
};

void perf_chunk_free(struct perf_chunk *chunk);
void perf_queue_release(struct perf_queue *queue);

_must_check_ int perf_queue_add(struct perf_queue *queue, const struct perf_queued *item);
/*
 * Deliver the records up to limit_ns, but no more than max_items, in order of time; those of one
 * time in the order that they had. Stops at the first error of deliver().
 */
_must_check_ int perf_queue_flush(struct perf_queue *queue, uint64_t limit_ns, size_t max_items,
				  int (*deliver)(void *context, const struct perf_queued *item),
				  void *context);
/* PERF_FINISHED_ROUND: returns the limit for the flush that is due now. */
uint64_t perf_queue_finish_round(struct perf_queue *queue);

/* ---- compressed records ---- */

struct perf_decompressor;

/* Returns 0, -ENOMEM or -ENOTSUP (this build cannot). */
_must_check_ int perf_decompressor_new(struct perf_decompressor **ret);
void perf_decompressor_free(struct perf_decompressor *decompressor);
/*
 * Decompress the next part of the stream, appended to the chunk: whole records and perhaps the
 * start of one. Returns 0, -EBADMSG (damaged), -EFBIG (over max_bytes) or -ENOMEM.
 */
_must_check_ int perf_decompressor_add(struct perf_decompressor *decompressor,
				       struct bytes compressed, size_t max_bytes,
				       struct perf_chunk *chunk);

/* ---- processes ---- */

/* A program that a process runs. */
struct perf_image {
	uint32_t pid;
	uint32_t process;   /* of the profile; PERF_NONE: no sample yet */
	uint32_t num_tasks; /* threads that have not exited, as far as is known */
	ARRAY(struct import_mapping) mappings; /* sorted by start */
};
INTERN_TABLE(perf_images, struct perf_image, pid);

struct perf_task {
	uint32_t tid;
	uint32_t image;  /* index */
	uint32_t comm;   /* string of the profile; STRING_NONE: unknown */
	uint32_t thread; /* of the profile; PERF_NONE: no sample under this name yet */
	bool is_exited;
};
INTERN_TABLE(perf_task_table, struct perf_task, tid);
#define PERF_NONE UINT32_MAX

struct perf_module {
	uint32_t path; /* string of the profile */
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint8_t build_id_size;
	uint32_t module; /* of the profile */
};

static inline uint64_t perf_module_hash(const struct perf_module *module)
{
	return hash_mix(hash_bytes(module->build_id, module->build_id_size), module->path);
}

static inline bool perf_module_is_same(const struct perf_module *a, const struct perf_module *b)
{
	return a->path == b->path && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, b->build_id_size);
}

INTERN_TABLE_BY(perf_modules, struct perf_module, perf_module_hash, perf_module_is_same);
INTERN_TABLE(perf_build_ids, struct perf_module, path);

struct perf_tasks {
	struct import *import;
	struct perf_images images;
	struct perf_task_table tasks;
	struct perf_modules modules;
	struct perf_build_ids build_ids; /* listed in the file by path */
	size_t num_mappings;             /* of all images */
	size_t max_mappings;
	bool has_emitted_mappings;
};

void perf_tasks_init(struct perf_tasks *tasks, struct import *import);
void perf_tasks_release(struct perf_tasks *tasks);

/* A record PERF_BUILD_ID. Malformed ones are ignored. Returns 0 or -ENOMEM. */
_must_check_ int perf_tasks_add_build_id(struct perf_tasks *tasks,
					 const struct perf_record *record);
/* Side-band records. Returns 0, -EBADMSG (malformed; the caller reports it) or -ENOMEM. */
_must_check_ int perf_tasks_on_mmap(struct perf_tasks *tasks, const struct perf_record *record);
_must_check_ int perf_tasks_on_comm(struct perf_tasks *tasks, const struct perf_record *record);
_must_check_ int perf_tasks_on_fork(struct perf_tasks *tasks, const struct perf_record *record);
_must_check_ int perf_tasks_on_exit(struct perf_tasks *tasks, const struct perf_record *record);

/*
 * The thread of a sample, and the image of its process, borrowed until the next record. Returns 0
 * or -ENOMEM.
 */
_must_check_ int perf_tasks_find(struct perf_tasks *tasks, uint32_t pid, uint32_t tid,
				 uint32_t *ret_thread, const struct perf_image **ret_image);
/* The mapping that holds pc, or NULL. */
const struct import_mapping *perf_image_find_mapping(const struct perf_image *image, uint64_t pc);

/* ---- the recording ---- */

/* Everything known about a recording besides its records. */
struct perf_meta {
	struct import *import;
	struct perf_attrs attrs;
	struct perf_tasks tasks;
	bool is_foreign; /* registers are not those of wire/registers.h */
};

struct perf_section {
	uint64_t offset; /* in the file */
	uint64_t size;
};

/* The bytes of a section; fewer if the file is truncated. */
struct bytes perf_section_slice(const struct import *import, struct perf_section section);

/*
 * Take the next record; the bytes start at file offset `position`. False: truncated or malformed.
 */
bool perf_record_take(struct bytes *bytes, uint64_t position, struct perf_record *ret);
/* Skip the data that follows some records (AUX, tracing data) and is not part of their size. */
void perf_record_skip_data(const struct perf_record *record, struct bytes *bytes);

/*
 * Read header, attributes and features of a file; *ret is the section with the records. Returns 0,
 * -ENOMEM, or -EBADMSG with the reason in import->error.
 */
_must_check_ int perf_meta_read_header(struct perf_meta *meta, struct perf_section *ret);
/* The same for the output of a pipe, where they are records; done before the others are read. */
_must_check_ int perf_meta_read_records(struct perf_meta *meta, struct perf_section area);

/*
 * Add the metrics of all events that have samples, in the order of the command line of perf record.
 * Otherwise they would be in the order of their first samples, and the first metric of a profile is
 * shown by default. Samples in compressed records are not found. Returns 0 or -ENOMEM.
 */
_must_check_ int perf_meta_order_metrics(struct perf_meta *meta, struct perf_section area);

/* ---- stacks ---- */

enum perf_level_kind {
	PERF_LEVEL_USER,
	PERF_LEVEL_KERNEL,
	PERF_LEVEL_HYPERVISOR,
	PERF_LEVEL_GUEST_KERNEL,
	PERF_LEVEL_GUEST,
};

struct perf_level {
	uint64_t pc; /* a return address minus 1, which is in the call */
	enum perf_level_kind kind;
};

struct perf_stacks {
	struct import *import;
	ARRAY(struct perf_level) levels; /* of one sample, innermost first */
	uint64_t *pcs;                   /* of one walk */
	uint64_t num_complete;           /* walks to the outermost frame */
	bool is_truncated;               /* callers of this sample's levels are missing */
};

void perf_stacks_release(struct perf_stacks *stacks);

/* cpu_mode  enum perf_cpu_mode, of the sample's record. Returns 0 or -ENOMEM. */
_must_check_ int perf_stacks_add(struct perf_stacks *stacks, const struct perf_image *image,
				 const struct perf_sample *sample, unsigned int cpu_mode,
				 uint32_t *ret);

#endif
