/*
 * Results are kept until one of their inputs changes, so that another fragment costs a flame,
 * another filter the weights, and only another file all of it:
 *
 *	profile ──┬── graph ────────────────────┬── weights ──┬── flame of callees
 *	          └── frame tree ── selection ──┘             ├── flame of callers
 *	                                                      ├── waits
 *	                                                      └── changes
 *
 * Each forget_…() drops one of these and its dependants. Everything is made on first use: the
 * callers of all stacks are a million entries that few people look at.
 */
#include "viewer/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "formats/compression.h"
#include "formats/format.h"
#include "formats/native.h"
#include "formats/tar.h"
#include "viewer/archived_names.h"
#include "viewer/filters.h"
#include "viewer/fragments.h"
#include "viewer/times.h"

/*
 * Weights depend on a metric, the files' sides and the filters. These inputs are kept with the
 * weights: are_weights_good() compares them.
 */
struct session {
	struct profile *profile;
	ARRAY(struct session_source) sources; /* by source of the profile */

	struct graph *graph;
	enum tree_root graph_root;
	bool is_stale; /* the graph belongs to an older profile */

	bool has_weights;
	struct weights weights;
	struct weights_opts weights_opts; /* points to the fields below */
	uint8_t *sides;
	uint8_t *sides_of_weights; /* a copy from that time */
	uint32_t num_sides_of_weights;
	char *filters;
	struct frame_tree tree; /* for filters; made with the first one */
	bool has_tree;
	struct selection selection;
	uint64_t *timed_values; /* see times_apply() */

	struct session_query query;
	uint32_t *fragment;
	struct occurrences
		occurrences;     /* of the query's fragment, for the flames of both directions */
	struct flame *flames[2]; /* by direction; NULL: not yet needed */
	struct waits waits;      /* for the same fragment */
	bool has_waits;
	struct changes changes;
	bool has_changes;
};

struct session *session_new(void)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->profile = profile_new();
	if (!session->profile || profile_keep_timestamps(session->profile)) {
		profile_free(session->profile);
		free(session);
		return NULL;
	}
	session->is_stale = true;
	return session;
}

/* Drop results for the fragment. */
static void forget_fragment(struct session *session)
{
	waits_release(&session->waits);
	session->has_waits = false;
	for (size_t i = 0; i < ARRAY_LENGTH(session->flames); i++) {
		flame_free(session->flames[i]);
		session->flames[i] = NULL;
	}
}

static void forget_weights(struct session *session)
{
	forget_fragment(session);
	changes_release(&session->changes);
	session->has_changes = false;
	weights_release(&session->weights);
	selection_release(&session->selection);
	free(session->timed_values);
	session->timed_values = NULL;
	session->has_weights = false;
}

static void forget_tree(struct session *session)
{
	if (session->has_tree)
		frame_tree_release(&session->tree);
	session->has_tree = false;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	forget_weights(session);
	occurrences_release(&session->occurrences);
	forget_tree(session);
	graph_free(session->graph);
	profile_free(session->profile);
	array_for_each (&session->sources, source) {
		free(source->name);
		text_release(&source->warnings);
		array_release(&source->num_samples);
	}
	array_release(&session->sources);
	free(session->sides);
	free(session->sides_of_weights);
	free(session->filters);
	free(session->fragment);
	free(session);
}

/* Warnings are kept with the file; a million of them would help nobody. */
#define MAX_WARNING_BYTES 16384

static void keep_warning(void *context, const char *line)
{
	struct text *warnings = context;

	if (warnings->length > MAX_WARNING_BYTES)
		return;
	text_append_string(warnings, line);
	text_append_char(warnings, '\n');
}

static int read_bytes(struct import *import, const char *format_name, const struct format **ret,
		      struct error *error)
{
	enum compression compression = compression_detect(import->data, import->size);
	const struct format *format =
		format_name && *format_name
			? format_find_name(format_name)
			: format_detect(import->name, import->data, import->size);
	int err;

	/* The page decompresses gzip before it calls us. */
	if (compression != COMPRESSION_NONE)
		return error_set(
			error, -EBADMSG,
			"%.200s: at byte 0: compressed by %s: decompress it first, or use the "
			"command line",
			import->name, compression_get_name(compression));
	if (!format || !format->read) {
		const char *content = format_describe_unknown(import->data, import->size);

		return error_set(error, -EINVAL, "%.200s: at byte 0: %s", import->name,
				 content ? content : "unrecognized format");
	}
	/* Only an experiment includes the files of its code. */
	import->will_name_code = tar_detect(import->data, import->size);
	err = format_read(format, import);
	if (!err && import->will_name_code)
		err = archived_names_add(import);
	if (err && error)
		*error = import->error;
	if (err && error && !error->message[0])
		error_set(error, err, "%.200s: out of memory", import->name);
	*ret = format;
	return err;
}

/*
 * Report addresses whose functions only files of the machine could name; the page opens no files.
 * Addresses of earlier inputs are skipped: they have been reported.
 */
static void warn_of_unnamed(struct import *import, uint32_t first_location)
{
	const struct profile *profile = import->profile;
	uint32_t num_unnamed = 0;

	for (uint32_t i = first_location; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		num_unnamed += location_is_in_module(location) &&
			       location->unnamed_reason == UNNAMED_NO_SYMBOL;
	}
	if (num_unnamed)
		import_warn(import,
			    "no function names for %" PRIu32 " of its addresses: the page reads no "
			    "other files; run 'stackwide convert %s -o named.html'",
			    num_unnamed, import->name);
}

/* Add a source for every new one of the profile. */
static int add_sources(struct session *session)
{
	uint32_t count = profile_count_sources(session->profile);

	while (session->sources.length < count) {
		uint32_t id = (uint32_t)session->sources.length;
		uint32_t label = provenance_get_label(profile_get_provenance(session->profile), id);
		const char *name = profile_get_string(session->profile, label);
		struct session_source *source = array_add(&session->sources);

		if (!source)
			return -ENOMEM;
		source->side = SIDE_SHOWN;
		source->format = "";
		source->name = strdup(name);
		if (!source->name)
			return -ENOMEM;
	}
	return 0;
}

static bool has_threads(const struct session *session, uint32_t source)
{
	for (uint32_t i = 0; i < profile_count_threads(session->profile); i++)
		if (profile_get_thread(session->profile, i)->source == source)
			return true;
	return false;
}

/*
 * A report contains the names of its input files. These replace the report, unless it is just one,
 * whose samples are the report's own. Sources without threads have no samples; they are kept,
 * because numbers of sources are those of the profile, but not shown.
 */
static uint32_t sort_out(struct session *session, uint32_t container)
{
	uint32_t count = (uint32_t)session->sources.length;
	uint32_t first = container;

	for (uint32_t i = container; i < count; i++) {
		struct session_source *source = &session->sources.items[i];

		source->format = session->sources.items[container].format;
		source->is_gone = !has_threads(session, i) && (i > container || count > i + 1);
		if (!source->is_gone && session->sources.items[first].is_gone)
			first = i;
	}
	return first;
}

static uint64_t get_sample_count(const struct profile *profile, uint32_t metric)
{
	return profile_get_metric(profile, metric)->num_samples;
}

/* Numbers of samples by metric, with a spare element. NULL when out of memory. */
static uint64_t *copy_sample_counts(const struct profile *profile)
{
	uint32_t count = profile_count_metrics(profile);
	uint64_t *counts = calloc((size_t)count + 1, sizeof(*counts));

	for (uint32_t i = 0; counts && i < count; i++)
		counts[i] = get_sample_count(profile, i);
	return counts;
}

/* before  by metric, for the first num_metrics */
static int note_sample_counts(const struct profile *profile, const uint64_t *before,
			      uint32_t num_metrics, struct session_source *source)
{
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		uint64_t *added = array_add(&source->num_samples);

		if (!added)
			return -ENOMEM;
		*added = get_sample_count(profile, i) - (i < num_metrics ? before[i] : 0);
	}
	return 0;
}

int session_import(struct session *session, const struct session_input *input, uint32_t *ret_source,
		   struct error *error)
{
	_cleanup_(text_release) struct text warnings = {0};
	const struct format *format = NULL;
	struct import import = {
		.name = input->name,
		.data = input->data,
		.size = input->size,
		.profile = session->profile,
		.warn = keep_warning,
		.context = &warnings,
	};
	uint32_t num_metrics = profile_count_metrics(session->profile);
	uint32_t num_locations = profile_count_locations(session->profile);
	_cleanup_free_ uint64_t *num_samples = copy_sample_counts(session->profile);
	struct session_source *source;
	uint32_t string;
	int err;

	if (!num_samples)
		return -ENOMEM;
	session->is_stale = true;
	forget_tree(session);
	err = profile_add_string(session->profile, input->name, &string);
	if (err)
		return err;
	err = profile_add_source(session->profile, string, &import.source);
	if (err)
		return err;
	err = read_bytes(&import, input->format, &format, error);
	if (!err)
		warn_of_unnamed(&import, num_locations);
	/* Data read before an error is in the profile, with its sources: mark them as gone. */
	if (add_sources(session))
		return err ? err : -ENOMEM;
	for (size_t i = import.source; err && i < session->sources.length; i++)
		session->sources.items[i].is_gone = true;
	source = &session->sources.items[import.source];
	source->format = format ? format->name : "";
	source->size = input->size;
	source->counts = import.counts;
	if (err)
		return err;
	*ret_source = sort_out(session, import.source);
	/* If the input is a report of several files, its first file gets the warnings. */
	source = &session->sources.items[*ret_source];
	source->warnings = warnings;
	warnings = (struct text){0};
	return note_sample_counts(session->profile, num_samples, num_metrics, source);
}

uint32_t session_count_sources(const struct session *session)
{
	return (uint32_t)session->sources.length;
}

struct session_source *session_get_source(struct session *session, uint32_t source)
{
	return &session->sources.items[source];
}

/* The name is stored twice: in the profile, for files that are written, and here for the page. */
int session_rename_source(struct session *session, uint32_t source, const char *name)
{
	char *copy = strdup(name);
	uint32_t label;

	if (!copy || profile_add_string(session->profile, name, &label)) {
		free(copy);
		return -ENOMEM;
	}
	provenance_set_label(profile_get_provenance(session->profile), source, label);
	free(session->sources.items[source].name);
	session->sources.items[source].name = copy;
	return 0;
}

/* A graph includes everything that was read, shown or not: hiding a file only changes weights. */
int session_prepare(struct session *session, enum tree_root root)
{
	if (session->graph && !session->is_stale && session->graph_root == root)
		return 0;
	forget_weights(session);
	occurrences_release(&session->occurrences);
	graph_free(session->graph);
	session->graph = graph_new(session->profile, root);
	session->graph_root = root;
	session->is_stale = session->graph == NULL;
	return session->graph ? 0 : -ENOMEM;
}

/* Sides by source of the profile's threads. */
static int gather_sides(struct session *session)
{
	size_t count = session->sources.length;
	uint8_t *sides = realloc(session->sides, count + 1);

	if (!sides)
		return -ENOMEM;
	session->sides = sides;
	for (size_t i = 0; i < count; i++) {
		const struct session_source *source = &session->sources.items[i];

		sides[i] = source->is_gone ? (uint8_t)SIDE_OFF : source->side;
	}
	return 0;
}

static bool are_weights_good(const struct session *session, const struct session_query *query)
{
	size_t count = session->sources.length;

	return session->has_weights && session->weights_opts.metric == query->metric &&
	       session->weights_opts.baseline_metric == query->baseline_metric &&
	       string_equals(session->filters, query->filters ? query->filters : "") &&
	       session->num_sides_of_weights == count &&
	       memcmp(session->sides, session->sides_of_weights, count) == 0;
}

static int prepare_tree(struct session *session)
{
	int err;

	if (session->has_tree)
		return 0;
	err = frame_tree_init(&session->tree, session->profile);
	if (err) {
		frame_tree_release(&session->tree);
		return err;
	}
	session->has_tree = true;
	return 0;
}

static int filter_samples(struct session *session, struct error *error)
{
	int err;

	if (!session->filters[0])
		return 0;
	err = prepare_tree(session);
	if (err)
		return err;
	err = filters_apply(&session->tree, session->filters, &session->selection, error);
	if (err)
		return err;
	err = times_apply(session->profile, session->filters, &session->timed_values, error);
	if (err)
		return err;
	session->weights_opts.selection = &session->selection;
	session->weights_opts.values = session->timed_values;
	return 0;
}

static int weigh(struct session *session, const struct session_query *query, struct error *error)
{
	size_t count = session->sources.length;
	uint8_t *sides = realloc(session->sides_of_weights, count + 1);
	int err;

	if (!sides)
		return -ENOMEM;
	session->sides_of_weights = sides;
	memcpy(sides, session->sides, count);
	session->num_sides_of_weights = (uint32_t)count;
	forget_weights(session);
	free(session->filters);
	session->filters = strdup(query->filters ? query->filters : "");
	if (!session->filters)
		return -ENOMEM;
	session->weights_opts = (struct weights_opts){
		.metric = query->metric,
		.baseline_metric = query->baseline_metric,
		.sides = sides,
	};
	err = filter_samples(session, error);
	if (err)
		return err;
	err = weights_init(&session->weights, session->graph, &session->weights_opts);
	if (err)
		return err;
	session->has_weights = true;
	return 0;
}

/*
 * The fragment is copied before the old one is freed: the caller may pass the result of
 * session_get_query().
 */
static int keep_query(struct session *session, const struct session_query *query)
{
	size_t length = query->fragment_length;
	bool is_other;
	uint32_t *fragment = calloc(length + 1, sizeof(*fragment));

	if (!fragment)
		return -ENOMEM;
	if (length)
		memcpy(fragment, query->fragment, length * sizeof(*fragment));
	is_other = length != session->query.fragment_length ||
		   (length && memcmp(fragment, session->fragment, length * sizeof(*fragment)) != 0);
	if (is_other || query->order != session->query.order)
		forget_fragment(session);
	if (is_other)
		occurrences_release(&session->occurrences);
	free(session->fragment);
	session->fragment = fragment;
	session->query = *query;
	session->query.fragment = fragment;
	session->query.filters = session->filters;
	session->query.root = session->graph_root;
	return 0;
}

/*
 * Levels of a fragment are numbers of a graph, and another file makes another graph: the page may
 * be late.
 */
int session_query(struct session *session, const struct session_query *query, struct error *error)
{
	int err;

	for (uint32_t i = 0; i < query->fragment_length; i++)
		if (!level_exists(session->graph, query->fragment[i]))
			return error_set(error, -EINVAL, "the fragment belongs to another profile");
	err = gather_sides(session);
	if (err)
		return err;
	if (!are_weights_good(session, query)) {
		err = weigh(session, query, error);
		if (err)
			return err;
	}
	return keep_query(session, query);
}

/* If nothing was removed, the profile is written without a copy. */
int session_pack(const struct session *session, const struct sink *sink)
{
	size_t count = session->sources.length;
	_cleanup_free_ uint8_t *is_left_out = calloc(count + 1, 1);
	bool is_whole = true;

	if (!is_left_out)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		is_left_out[i] = session->sources.items[i].is_gone;
		is_whole = is_whole && (!is_left_out[i] || !has_threads(session, (uint32_t)i));
	}
	return native_write(session->profile,
			    &(struct native_opts){
				    .has_times = true,
				    .is_left_out = is_whole ? NULL : is_left_out,
			    },
			    sink);
}

struct profile *session_get_profile(const struct session *session)
{
	return session->profile;
}

const struct graph *session_get_graph(const struct session *session)
{
	return session->graph;
}

const struct weights *session_get_weights(const struct session *session)
{
	return session->has_weights ? &session->weights : NULL;
}

const struct weights_opts *session_get_weights_opts(const struct session *session)
{
	return &session->weights_opts;
}

const struct session_query *session_get_query(const struct session *session)
{
	return &session->query;
}

/* Numbers of samples by source, for a metric. NULL when out of memory. */
static uint64_t *gather_sample_counts(const struct session *session, uint32_t metric)
{
	uint64_t *counts = calloc(session->sources.length + 1, sizeof(*counts));

	for (size_t i = 0; counts && i < session->sources.length; i++) {
		const struct session_source *source = &session->sources.items[i];

		if (metric < source->num_samples.length)
			counts[i] = source->num_samples.items[metric];
	}
	return counts;
}

static int find_changes(struct session *session, struct error *error)
{
	const struct weights_opts *weights = &session->weights_opts;
	bool compares_metrics = weights->baseline_metric != METRIC_NONE;
	_cleanup_free_ uint64_t *after = gather_sample_counts(session, weights->metric);
	_cleanup_free_ uint64_t *before = gather_sample_counts(
		session, compares_metrics ? weights->baseline_metric : weights->metric);
	_cleanup_free_ uint64_t *timestamps = NULL;
	struct changes_opts opts = {
		.weights = weights, .before_samples = before, .after_samples = after};
	int err = before && after ? prepare_tree(session) : -ENOMEM;

	if (err)
		return err;
	err = times_select(session->profile, session->filters, &timestamps, error);
	if (err)
		return err;
	opts.timestamps = timestamps;
	return changes_init(&session->changes, session->graph, &session->tree, &opts);
}

int session_get_changes(struct session *session, const struct changes **ret, struct error *error)
{
	if (!session->has_changes) {
		int err = find_changes(session, error);

		if (err) {
			changes_release(&session->changes);
			return err;
		}
		session->has_changes = true;
	}
	*ret = &session->changes;
	return 0;
}

static int find_occurrences(struct session *session)
{
	const struct session_query *query = &session->query;
	int err;

	if (session->occurrences.is_end || !query->fragment_length)
		return 0;
	err = graph_find_fragment(session->graph, query->fragment, query->fragment_length,
				  &session->occurrences);
	if (err)
		occurrences_release(&session->occurrences);
	return err;
}

static int find_waits(struct session *session, uint32_t metric)
{
	struct waits_opts opts = {
		.metric = metric,
		.graph = session->graph,
		.tree = &session->tree,
		.weights = &session->weights_opts,
		.levels = session->query.fragment,
		.num_levels = session->query.fragment_length,
		.occurrences = &session->occurrences,
	};
	int err = prepare_tree(session);

	if (err)
		return err;
	err = find_occurrences(session);
	return err ? err : waits_init(&session->waits, &opts);
}

int session_get_waits(struct session *session, uint32_t metric, struct waits **ret,
		      struct error *error)
{
	/* Data read meanwhile has samples that are missing in the graph. */
	if (session->is_stale || !session->has_weights)
		return error_set(error, -EINVAL, "the view belongs to another profile");
	if (!session->has_waits || session->waits.metric != metric) {
		int err;

		waits_release(&session->waits);
		session->has_waits = false;
		err = find_waits(session, metric);
		if (err)
			return err;
		session->has_waits = true;
	}
	*ret = &session->waits;
	return 0;
}

struct flame *session_get_flame(struct session *session, enum flame_direction direction)
{
	struct flame_opts opts = {
		.fragment = session->query.fragment,
		.fragment_length = session->query.fragment_length,
		.occurrences = &session->occurrences,
		.direction = direction,
		.order = session->query.order,
	};

	if (find_occurrences(session))
		return NULL;
	if (!session->flames[direction])
		session->flames[direction] = flame_new(session->graph, &session->weights, &opts);
	return session->flames[direction];
}
