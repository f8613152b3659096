/*
 * The state of a viewer: profiles that were read, and the view of them.
 *
 * The page calls it through src/viewer/wasm/core.c; tests call it natively. Pure: bytes in, bytes
 * out, no I/O. Not thread-safe; several sessions may be used in parallel.
 */
#ifndef VIEWER_SESSION_H
#define VIEWER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"
#include "base/text.h"
#include "formats/format.h"
#include "formats/import.h"
#include "viewer/changes.h"
#include "viewer/flame.h"
#include "viewer/graph.h"
#include "viewer/waits.h"
#include "viewer/weights.h"

/* A file, or one of the files in a report. */
struct session_source {
	char *name;
	const char *format; /* borrowed; name of its format */
	uint64_t size;      /* in bytes; 0: part of another file */
	struct import_counts counts;
	struct text warnings; /* lines */
	/* Number of its samples by metric; metrics added later are missing. */
	ARRAY(uint64_t) num_samples;
	uint8_t side; /* enum source_side, as the user wants it */
	bool is_gone; /* removed, or its import failed */
};

struct session;

struct session *session_new(void); /* NULL when out of memory */
void session_free(struct session *session);

/* A file; everything is borrowed for the call. */
struct session_input {
	const char *name;
	const void *data;
	size_t size;        /* in bytes */
	const char *format; /* its name; NULL or "": by content and name */
};

/*
 * Read a file and add it to the session.
 *
 * ret_source  its number, or that of the first if the file contained several
 *
 * Returns 0, -ENOMEM, or -EBADMSG, -EOVERFLOW or -EINVAL with the reason in error; then the session
 * is unchanged.
 */
_must_check_ int session_import(struct session *session, const struct session_input *input,
				uint32_t *ret_source, struct error *error);

uint32_t session_count_sources(const struct session *session);
/* Includes removed sources. Borrowed until the next import. */
struct session_source *session_get_source(struct session *session, uint32_t source);
/* Returns 0 or -ENOMEM. */
_must_check_ int session_rename_source(struct session *session, uint32_t source, const char *name);

/*
 * Write all open files, under their given names, as pack.h describes; without removed ones. Returns
 * 0, -ENOMEM or the error of the sink.
 */
_must_check_ int session_pack(const struct session *session, const struct sink *sink);

/* Settings of the view. Changes take effect with the next session_query(). */
struct session_query {
	enum tree_root root;
	uint32_t metric;
	uint32_t baseline_metric; /* METRIC_NONE: no comparison within the files */
	const char *filters;      /* see filters.h; copied */
	const uint32_t *fragment; /* levels (fragments.h), outermost first; copied */
	uint32_t fragment_length;
	enum flame_direction direction;
	enum flame_order order;
};

/* Update the graph, so that symbols may be asked for. Returns 0 or -ENOMEM. */
_must_check_ int session_prepare(struct session *session, enum tree_root root);
/*
 * Compute the view; unchanged parts are not computed again. Requires session_prepare().
 *
 * Returns 0, -ENOMEM, -EOVERFLOW, or -EINVAL with the reason in error (a filter).
 */
_must_check_ int session_query(struct session *session, const struct session_query *query,
			       struct error *error);

struct profile *session_get_profile(const struct session *session);
/* NULL before session_prepare(). */
const struct graph *session_get_graph(const struct session *session);
/* NULL before session_query(). */
const struct weights *session_get_weights(const struct session *session);
const struct weights_opts *session_get_weights_opts(const struct session *session);
const struct session_query *session_get_query(const struct session *session);
/*
 * The changes in the comparison of the last query; borrowed until the next one. Returns 0, -ENOMEM,
 * -EOVERFLOW, or -EINVAL with the reason in error.
 */
_must_check_ int session_get_changes(struct session *session, const struct changes **ret,
				     struct error *error);
/*
 * The wakers of waits in the current fragment, whatever metric is shown; borrowed until the next
 * query.
 *
 * metric  METRIC_OFFWAKE
 *
 * Returns 0, -ENOMEM, -EOVERFLOW, or -EINVAL with the reason in error.
 */
_must_check_ int session_get_waits(struct session *session, uint32_t metric, struct waits **ret,
				   struct error *error);
/* The flame of the current fragment, in either direction. NULL when out of memory. */
struct flame *session_get_flame(struct session *session, enum flame_direction direction);

#endif
