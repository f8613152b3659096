#include "viewer/session.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "formats/format.h"
#include "viewer/filters.h"
#include "viewer/pack.h"
#include "viewer/times.h"

struct session {
	struct profile *profile;
	ARRAY(struct session_source) sources; /* by source of the profile */

	struct graph *graph;
	enum tree_root graph_root;
	bool is_stale; /* the graph is of another profile than there is now */

	bool has_weights;
	struct weights weights;
	struct weights_opts weights_opts; /* its pointers are to what is below */
	uint8_t *sides;
	uint8_t *sides_of_weights; /* as they were then */
	uint32_t num_sides_of_weights;
	char *filters;
	struct frame_tree tree; /* for filters; made when there is one */
	bool has_tree;
	struct selection selection;
	uint64_t *timed_values; /* see times_apply() */

	struct session_look look;
	uint32_t *fragment;
	struct flame *flames[2]; /* by direction; NULL: not asked for yet */
};

struct session *session_new(void)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->profile = profile_new();
	if (!session->profile || profile_keep_moments(session->profile)) {
		profile_free(session->profile);
		free(session);
		return NULL;
	}
	session->is_stale = true;
	return session;
}

static void forget_flames(struct session *session)
{
	for (size_t i = 0; i < ARRAY_LENGTH(session->flames); i++) {
		flame_free(session->flames[i]);
		session->flames[i] = NULL;
	}
}

static void forget_weights(struct session *session)
{
	forget_flames(session);
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
	forget_tree(session);
	graph_free(session->graph);
	profile_free(session->profile);
	array_for_each (&session->sources, source) {
		free(source->name);
		text_release(&source->warnings);
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
	size_t length = strlen(import->name);
	_cleanup_free_ char *name = strdup(import->name);
	const struct format *format;
	int err;

	if (!name)
		return -ENOMEM;
	if (string_ends_with(name, ".gz")) /* it has been unpacked */
		name[length - strlen(".gz")] = '\0';
	format = format_name && *format_name ? format_find_name(format_name)
					     : format_detect(name, import->data, import->size);

	if (!format || !format->read)
		return error_set(error, -EINVAL, "%.200s: at byte 0: the format is not recognised",
				 import->name);
	err = format->read(import);
	if (err && error)
		*error = import->error;
	if (err && error && !error->message[0])
		error_set(error, err, "%.200s: out of memory", import->name);
	*ret = format;
	return err ? err : import_keep_counts(import);
}

/* A source for every one that the profile has got meanwhile. */
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
 * A report names the files that it was made of. They take its place, but for one alone, whose
 * samples are the report's own.
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

int session_import(struct session *session, const char *name, const uint8_t *data, size_t size,
		   const char *format_name, uint32_t *ret_source, struct error *error)
{
	struct text warnings = {0};
	const struct format *format = NULL;
	struct import import = {
		.name = name,
		.data = data,
		.size = size,
		.profile = session->profile,
		.warn = keep_warning,
		.context = &warnings,
	};
	struct session_source *source;
	uint32_t string;
	int err = profile_add_string(session->profile, name, &string);

	session->is_stale = true;
	forget_tree(session);
	if (!err)
		err = profile_add_source(session->profile, string, &import.source);
	if (!err)
		err = read_bytes(&import, format_name, &format, error);
	if (add_sources(session) || import.source >= session->sources.length) {
		text_release(&warnings);
		return err ? err : -ENOMEM;
	}
	for (size_t i = import.source; err && i < session->sources.length; i++)
		session->sources.items[i].is_gone = true;
	source = &session->sources.items[import.source];
	source->format = format ? format->name : "";
	source->size = size;
	source->counts = import.counts;
	source->warnings = warnings;
	if (!err)
		*ret_source = sort_out(session, import.source);
	return err;
}

uint32_t session_count_sources(const struct session *session)
{
	return (uint32_t)session->sources.length;
}

struct session_source *session_get_source(struct session *session, uint32_t source)
{
	return &session->sources.items[source];
}

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

int session_prepare(struct session *session, enum tree_root root)
{
	if (session->graph && !session->is_stale && session->graph_root == root)
		return 0;
	forget_weights(session);
	graph_free(session->graph);
	session->graph = graph_new(session->profile, root);
	session->graph_root = root;
	session->is_stale = session->graph == NULL;
	return session->graph ? 0 : -ENOMEM;
}

/* Sides by source, as the profile's threads name them. */
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

static bool are_weights_good(const struct session *session, const struct session_look *look)
{
	size_t count = session->sources.length;

	return session->has_weights && session->weights_opts.metric == look->metric &&
	       session->weights_opts.baseline_metric == look->baseline_metric &&
	       string_equals(session->filters, look->filters ? look->filters : "") &&
	       session->num_sides_of_weights == count &&
	       memcmp(session->sides, session->sides_of_weights, count) == 0;
}

static int filter_samples(struct session *session, struct error *error)
{
	int err = 0;

	if (!session->filters[0])
		return 0;
	if (!session->has_tree) {
		err = frame_tree_init(&session->tree, session->profile);
		session->has_tree = !err;
	}
	if (!err)
		err = filters_apply(&session->tree, session->filters, &session->selection, error);
	if (!err)
		session->weights_opts.selection = &session->selection;
	if (!err)
		err = times_apply(session->profile, session->filters, &session->timed_values,
				  error);
	session->weights_opts.values = session->timed_values;
	return err;
}

static int weigh(struct session *session, const struct session_look *look, struct error *error)
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
	session->filters = strdup(look->filters ? look->filters : "");
	if (!session->filters)
		return -ENOMEM;
	session->weights_opts = (struct weights_opts){
		.metric = look->metric,
		.baseline_metric = look->baseline_metric,
		.sides = sides,
	};
	err = filter_samples(session, error);
	if (!err)
		err = weights_init(&session->weights, session->graph, &session->weights_opts);
	session->has_weights = !err;
	return err;
}

static int keep_look(struct session *session, const struct session_look *look)
{
	size_t length = look->fragment_length;
	uint32_t *fragment = calloc(length + 1, sizeof(*fragment));

	if (!fragment)
		return -ENOMEM;
	if (length)
		memcpy(fragment, look->fragment, length * sizeof(*fragment));
	if (length != session->look.fragment_length || look->order != session->look.order ||
	    (length && memcmp(fragment, session->fragment, length * sizeof(*fragment)) != 0))
		forget_flames(session);
	free(session->fragment);
	session->fragment = fragment;
	session->look = *look;
	session->look.fragment = fragment;
	session->look.filters = session->filters;
	session->look.root = session->graph_root;
	return 0;
}

int session_look(struct session *session, const struct session_look *look, struct error *error)
{
	int err = gather_sides(session);

	for (uint32_t i = 0; i < look->fragment_length; i++)
		if (look->fragment[i] >= session->graph->num_symbols)
			return error_set(error, -EINVAL, "the fragment is of another profile");
	if (!err && !are_weights_good(session, look))
		err = weigh(session, look, error);
	return err ? err : keep_look(session, look);
}

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
	return pack_write(session->profile, is_whole ? NULL : is_left_out, sink);
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

const struct session_look *session_get_look(const struct session *session)
{
	return &session->look;
}

struct flame *session_get_flame(struct session *session, enum flame_direction direction)
{
	struct flame_opts opts = {
		.fragment = session->look.fragment,
		.fragment_length = session->look.fragment_length,
		.direction = direction,
		.order = session->look.order,
	};

	if (!session->flames[direction])
		session->flames[direction] = flame_new(session->graph, &session->weights, &opts);
	return session->flames[direction];
}
