/*
 * What a person has open in the viewer: profiles that were read, and the view of them.
 *
 * The page asks through src/viewer/wasm/core.c; tests ask natively. Pure: bytes in, bytes out,
 * no I/O. Not thread-safe; several sessions may be used in parallel.
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

/* A file, or, of a report that holds several, one of those. */
struct session_source {
	char *name;
	const char *format; /* borrowed; the name of its format */
	uint64_t size;      /* in bytes; 0: it came in another one */
	struct import_counts counts;
	struct text warnings; /* lines */
	/* By metric, how many samples it brought; metrics that came later it has none of. */
	ARRAY(uint64_t) num_samples;
	uint8_t side; /* enum source_side, as the user wants it */
	bool is_gone; /* removed, or its import failed */
};

struct session;

struct session *session_new(void); /* NULL when out of memory */
void session_free(struct session *session);

/* A file; all is borrowed for the call. */
struct session_input {
	const char *name;
	const void *data;
	size_t size;        /* in bytes */
	const char *format; /* its name; NULL or "": by content and name */
};

/*
 * Read a file and add it to what is there.
 *
 * ret_source  its number, or that of the first where the file held several
 *
 * Returns 0, -ENOMEM, or -EBADMSG, -EOVERFLOW or -EINVAL with the reason in error; then the
 * session is as it was.
 */
_must_check_ int session_import(struct session *session, const struct session_input *input,
				uint32_t *ret_source, struct error *error);

uint32_t session_count_sources(const struct session *session);
/* Also those that are gone. Borrowed until the next import. */
struct session_source *session_get_source(struct session *session, uint32_t source);
/* Returns 0 or -ENOMEM. */
_must_check_ int session_rename_source(struct session *session, uint32_t source, const char *name);

/*
 * Everything that is open, under the names that it has been given, as pack.h has it; not what was
 * removed. Returns 0, -ENOMEM or what the sink returned.
 */
_must_check_ int session_pack(const struct session *session, const struct sink *sink);

/* What the view is made of. The changes take effect with the next session_query(). */
struct session_query {
	enum tree_root root;
	uint32_t metric;
	uint32_t baseline_metric; /* METRIC_NONE: nothing is compared within the files */
	const char *filters;      /* see filters.h; copied */
	const uint32_t *fragment; /* levels (fragments.h), outermost first; copied */
	uint32_t fragment_length;
	enum flame_direction direction;
	enum flame_order order;
};

/* Bring the graph up to date, so that symbols may be asked for. Returns 0 or -ENOMEM. */
_must_check_ int session_prepare(struct session *session, enum tree_root root);
/*
 * Work the view out; what did not change is not done again. session_prepare() came before.
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
 * What the comparison of the last query has changed; borrowed until the next one. Returns 0, -ENOMEM,
 * -EOVERFLOW, or -EINVAL with the reason in error.
 */
_must_check_ int session_get_changes(struct session *session, const struct changes **ret,
				     struct error *error);
/*
 * Who ended the waits in the fragment that is looked at, whatever metric is; borrowed until the next query.
 *
 * metric  METRIC_OFFWAKE
 *
 * Returns 0, -ENOMEM, -EOVERFLOW, or -EINVAL with the reason in error.
 */
_must_check_ int session_get_waits(struct session *session, uint32_t metric, struct waits **ret,
				   struct error *error);
/* Of the fragment that is looked at, in either direction. NULL when out of memory. */
struct flame *session_get_flame(struct session *session, enum flame_direction direction);

#endif
