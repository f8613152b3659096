/*
 * The formats that are read and written, one line each in a table: found by name, by a file's
 * extension, or by content.
 *
 * Bytes go out through a sink, so that formats neither open files nor know the target: a file,
 * gzip, another format. Input is described in import.h.
 */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/call_tree.h"
#include "base/attributes.h"
#include "base/text.h"
#include "formats/import.h"
#include "profile/profile.h"

/* write() takes all bytes and returns 0, or negative errno. */
struct sink {
	int (*write)(void *context, const void *data, size_t size);
	void *context;
};

struct timeline;
struct svg_opts;

struct format_opts {
	/* Includes the metric that is written, and its baseline, for formats that hold only one. */
	struct call_tree_opts tree;
	const struct svg_opts *svg;      /* for a flame graph; NULL: defaults */
	const struct timeline *timeline; /* NULL: no timeline */
	uint64_t observed_ms;            /* summed time that threads were sampled; 0: not known */
	bool is_compressed;              /* if the format leaves the choice */
	/* Folded weights of a metric in nanoseconds are written as microseconds, as other tools do. */
	bool folds_microseconds;
	/* Gets the number of events of a trace, all kept by its readers. May be NULL. */
	uint64_t *ret_num_events;
};

/* How well the content fits a format. */
enum detection {
	DETECTED_NOT,
	DETECTED_BY_NAME, /* not excluded: only with the right extension */
	DETECTED_MAYBE,   /* possible: unless another format has the extension */
	DETECTED_SURE,    /* nothing else looks like this */
};

/* For writers that need libraries, which the page lacks (WASM_LACKS in the Makefile). */
#ifdef __wasm__
#define NOT_IN_PAGE(writer) NULL
#else
#define NOT_IN_PAGE(writer) (writer)
#endif

struct format {
	const char *name;      /* for --to and --from */
	const char *extension; /* with its dot; "" without one of its own */
	const char *summary;   /* for the help */
	const char *
		producers; /* for the help: writers of the files it was tried with; NULL: only we */
	bool has_times;    /* written files hold a timeline */
	bool has_times_alone;  /* and nothing else */
	bool has_timestamps;   /* written files hold the times of the samples */
	bool has_all_metrics;  /* written files hold every metric, not a chosen one */
	bool has_threads;      /* written files hold threads with their ids, not as frames */
	bool has_lines;        /* written files hold source files and lines */
	bool has_addresses;    /* written files hold addresses and build IDs */
	bool holds_comparison; /* written files hold both sides of one */
	bool shows_one_metric; /* written files hold all metrics, but tools show one */
	/* written files are compressed: x.EXTENSION.gz does not compress again */
	bool is_compressed;
	const char *metric; /* the one that written files hold; NULL: any */
	/* limit on a written profile's metrics; further ones are left out. 0: no limit */
	uint32_t max_metrics;
	/* NULL if it is not written, or not here. Returns 0, -ENOMEM, or the error of the sink. */
	int (*write)(const struct profile *profile, const struct format_opts *opts,
		     const struct sink *sink);
	/* Checks the first bytes, or all of them. NULL: the content is not distinctive. */
	enum detection (*detect)(const uint8_t *data, size_t size);
	/* For directories: whether these files are of the format. NULL: no directory. */
	bool (*detect_members)(const char *const *members, size_t num_members);
	/*
	 * NULL if it is not read. Returns 0, -ENOMEM, or -EBADMSG or -EOVERFLOW with the reason in
	 * import->error.
	 */
	int (*read)(struct import *import);
};

/* NULL if not found. */
const struct format *format_find_name(const char *name);
/* Looks for the longest extension that the path ends in. */
const struct format *format_find_path(const char *path);
/* The same of the first `length` bytes of a path. */
const struct format *format_find_extension(const char *path, size_t length);
/* Whether an input's path has the format's extension; suffixes of compression may follow it. */
bool format_is_extension_of(const struct format *format, const char *path);
/*
 * The format to read some bytes with, in this order: one that is sure of the content; that of the
 * path's extension, if it does not refuse the content; one that finds the content possible. NULL if
 * not found. A .gz, .zst, .xz, .bz2 or .lz4 at the end of the path is ignored if no extension has
 * it: the bytes are decompressed.
 */
const struct format *format_detect(const char *path, const uint8_t *data, size_t size);
/* The format of a directory with these files below it, or NULL. */
const struct format *format_detect_members(const char *const *members, size_t num_members);
/* All of them, ended by NULL. */
const struct format *const *format_get_all(void);
/* For a message: the kind of a file that no format reads, by its first bytes; NULL: unknown. */
const char *format_describe_unknown(const uint8_t *data, size_t size);

/*
 * Read an input, bring its weights and those of others to one scale, and keep its counts with its
 * source. Warns if the input was empty: a file of another kind may fit a format by chance. Returns
 * as format->read() does.
 */
_must_check_ int format_read(const struct format *format, struct import *import);

extern const struct format format_bcc;
extern const struct format format_bpftrace;
extern const struct format format_callgrind;
extern const struct format format_chrome_trace;
extern const struct format format_cpuprofile;
extern const struct format format_diff_folded;
extern const struct format format_async_profiler;
extern const struct format format_gprofng;
extern const struct format format_firefox;
extern const struct format format_gperftools;
extern const struct format format_flamebearer;
extern const struct format format_folded;
extern const struct format format_heapprofile;
extern const struct format format_jfr;
extern const struct format format_json;
extern const struct format format_offwake;
extern const struct format format_page; /* "html"; only read, see viewer/page.h */
extern const struct format format_perf_data;
extern const struct format format_perf_script;
extern const struct format format_pftrace;
extern const struct format format_pprof;
extern const struct format format_sampling_prof;
extern const struct format format_svg;
extern const struct format format_speedscope;
extern const struct format format_stackprof;
extern const struct format format_text;
extern const struct format format_zones;

/* "samples"; empty if a profile has no such metric. */
const char *format_get_metric_name(const struct profile *profile, uint32_t metric);
const char *format_get_metric_unit(const struct profile *profile, uint32_t metric);

/*
 * A buffer in front of a sink: bytes are appended to `text` and go out when there are many.
 * sink_flush() passes on the remaining bytes.
 */
_must_check_ int sink_drain(const struct sink *sink, struct text *text);
_must_check_ int sink_flush(const struct sink *sink, struct text *text);

/*
 * A sink that compresses its input with gzip and passes it on to another. The same bytes in give
 * the same bytes out: no time and no name is stored.
 */

struct gzip_sink;

/* target is borrowed. Returns NULL when out of memory. */
struct gzip_sink *gzip_sink_new(const struct sink *target);
void gzip_sink_free(struct gzip_sink *gzip);
static inline void gzip_sink_freep(struct gzip_sink **gzip)
{
	gzip_sink_free(*gzip);
}

/*
 * Whether the bytes from now on contain repetitions, as text does; true at first. Searching data
 * that has none takes most of the time, and finds only chance matches. Returns 0 or the error of
 * the sink.
 */
_must_check_ int gzip_sink_set_repetitive(struct gzip_sink *gzip, bool is_repetitive);
/* The sink to write to; valid until gzip_sink_free(). */
const struct sink *gzip_sink_get(const struct gzip_sink *gzip);

/* Flush the compressor and write gzip's trailer. Returns 0 or the error of the target. */
_must_check_ int gzip_sink_finish(struct gzip_sink *gzip);

#endif
