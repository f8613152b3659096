/*
 * The interface of the WebAssembly module, for the page's worker. Nothing is imported. Bytes are
 * passed in through core_alloc(), and returned as the core's answer, which is valid until the next
 * call.
 */
#include <errno.h>
#include <string.h>

#include "formats/format.h"
#include "viewer/answers.h"
#include "viewer/extract.h"
#include "viewer/filters.h"
#include "viewer/flame_layout.h"
#include "viewer/tables.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

/*
 * Exports return 0, or negative errno with a message. Bytes stay in place until the next call: the
 * page copies those that it wants to keep.
 */
struct core {
	struct session *session;
	struct flame_layout layout;
	struct text answer;
	const void *bytes; /* of the answer: `answer`, or the layout */
	size_t size;
	struct error error;
};

struct core *EXPORT(core_new)(void);
void *EXPORT(core_alloc)(size_t size);
void EXPORT(core_release)(void *memory);
const void *EXPORT(core_get_bytes)(const struct core *core);
size_t EXPORT(core_get_size)(const struct core *core);
const char *EXPORT(core_get_error)(const struct core *core);
int EXPORT(core_import)(struct core *core, const char *name, const uint8_t *data, size_t size,
			const char *format);
int EXPORT(core_set_side)(struct core *core, uint32_t source, uint32_t side);
int EXPORT(core_rename)(struct core *core, uint32_t source, const char *name);
int EXPORT(core_remove)(struct core *core, uint32_t source);
int EXPORT(core_formats)(struct core *core);
int EXPORT(core_overview)(struct core *core);
int EXPORT(core_prepare)(struct core *core, uint32_t root);
int EXPORT(core_symbols)(struct core *core);
int EXPORT(core_functions)(struct core *core);
int EXPORT(core_modules)(struct core *core);
int EXPORT(core_threads)(struct core *core);
int EXPORT(core_query)(struct core *core, uint32_t metric, uint32_t baseline_metric,
		       const char *filters, const uint32_t *fragment, uint32_t fragment_length,
		       uint32_t direction, uint32_t order);
int EXPORT(core_layout)(struct core *core, double from, double to, double width_px,
			double min_width_px);
int EXPORT(core_children)(struct core *core, uint32_t direction, uint32_t node);
int EXPORT(core_table)(struct core *core, uint32_t kind);
int EXPORT(core_changes)(struct core *core);
int EXPORT(core_waits)(struct core *core, uint32_t metric);
int EXPORT(core_waker_stacks)(struct core *core, uint32_t metric, uint32_t waker, uint32_t node);
int EXPORT(core_time_grid)(struct core *core, uint32_t max_columns);
int EXPORT(core_search)(struct core *core, const char *pattern);
int EXPORT(core_export)(struct core *core, const char *format, uint32_t is_whole);
int EXPORT(core_pack)(struct core *core);

struct core *core_new(void)
{
	struct core *core = calloc(1, sizeof(*core));

	if (!core)
		return NULL;
	core->session = session_new();
	if (!core->session) {
		free(core);
		return NULL;
	}
	return core;
}

void *core_alloc(size_t size)
{
	return malloc(size);
}

void core_release(void *memory)
{
	free(memory);
}

const void *core_get_bytes(const struct core *core)
{
	return core->bytes;
}

size_t core_get_size(const struct core *core)
{
	return core->size;
}

const char *core_get_error(const struct core *core)
{
	return core->error.message;
}

/*
 * Frees the answer's memory: a WebAssembly memory only ever grows, and the largest answer would
 * stay.
 */
static struct text *start(struct core *core)
{
	text_release(&core->answer);
	core->bytes = NULL;
	core->size = 0;
	core->error.message[0] = '\0';
	return &core->answer;
}

/* Return the text as the answer, unless something failed. */
static int finish(struct core *core, int err)
{
	if (core->answer.failed && !err)
		err = -ENOMEM;
	if (err == -ENOMEM && !core->error.message[0])
		error_set(&core->error, err, "out of memory");
	if (err == -EOVERFLOW && !core->error.message[0])
		error_set(&core->error, err, "the sum of the weights exceeds 64 bits");
	if (err)
		return err;
	core->bytes = core->answer.data;
	core->size = core->answer.length;
	return 0;
}

/*
 * Returns the number of the source, which the page uses from then on, or an error. The data is the
 * caller's; the profile has copies of the parts that it needs.
 */
int core_import(struct core *core, const char *name, const uint8_t *data, size_t size,
		const char *format)
{
	const struct session_input input = {
		.name = name, .data = data, .size = size, .format = format};
	uint32_t source = 0;
	int err;

	start(core);
	err = session_import(core->session, &input, &source, &core->error);
	return err ? finish(core, err) : (int)source;
}

/* Computes nothing: the next query sees the changed side. */
int core_set_side(struct core *core, uint32_t source, uint32_t side)
{
	start(core);
	session_get_source(core->session, source)->side = (uint8_t)side;
	return 0;
}

int core_rename(struct core *core, uint32_t source, const char *name)
{
	start(core);
	return finish(core, session_rename_source(core->session, source, name));
}

int core_remove(struct core *core, uint32_t source)
{
	start(core);
	session_get_source(core->session, source)->is_gone = true;
	return 0;
}

int core_formats(struct core *core)
{
	answer_formats(start(core));
	return finish(core, 0);
}

int core_overview(struct core *core)
{
	answer_overview(core->session, start(core));
	return finish(core, 0);
}

int core_prepare(struct core *core, uint32_t root)
{
	start(core);
	return finish(core, session_prepare(core->session, (enum tree_root)root));
}

int core_symbols(struct core *core)
{
	answer_symbols(session_get_graph(core->session), start(core));
	return finish(core, 0);
}

int core_functions(struct core *core)
{
	answer_functions(session_get_graph(core->session), start(core));
	return finish(core, 0);
}

int core_modules(struct core *core)
{
	answer_modules(session_get_graph(core->session), start(core));
	return finish(core, 0);
}

int core_threads(struct core *core)
{
	answer_threads(session_get_graph(core->session), start(core));
	return finish(core, 0);
}

int core_query(struct core *core, uint32_t metric, uint32_t baseline_metric, const char *filters,
	       const uint32_t *fragment, uint32_t fragment_length, uint32_t direction,
	       uint32_t order)
{
	struct session_query query = {
		.metric = metric,
		.baseline_metric = baseline_metric,
		.filters = filters,
		.fragment = fragment,
		.fragment_length = fragment_length,
		.direction = (enum flame_direction)direction,
		.order = (enum flame_order)order,
	};
	struct text *text = start(core);
	int err = session_query(core->session, &query, &core->error);

	return finish(core, err ? err : answer_view(core->session, text));
}

int core_layout(struct core *core, double from, double to, double width_px, double min_width_px)
{
	struct flame_viewport viewport = {from, to, width_px, min_width_px};
	struct flame *flame;
	int err;

	start(core);
	flame = session_get_flame(core->session, session_get_query(core->session)->direction);
	err = flame ? flame_layout_make(&core->layout, flame, &viewport) : -ENOMEM;
	if (err)
		return finish(core, err);
	/*
	 * Boxes are laid out for every movement of the mouse: they are returned in place, without a
	 * copy.
	 */
	core->bytes = core->layout.boxes.items;
	core->size = core->layout.boxes.length * sizeof(struct flame_box);
	return 0;
}

/* node  UINT32_MAX: the last row of the fragment */
int core_children(struct core *core, uint32_t direction, uint32_t node)
{
	struct text *text = start(core);
	struct flame *flame = session_get_flame(core->session, (enum flame_direction)direction);

	if (!flame)
		return finish(core, -ENOMEM);
	if (node == UINT32_MAX)
		node = flame_get_top(flame);
	return finish(core, answer_children(flame, node, text));
}

/* Numbers passed by the page. */
enum table_kind { TABLE_FUNCTIONS, TABLE_MODULES, TABLE_THREADS };

int core_table(struct core *core, uint32_t kind)
{
	struct text *text = start(core);
	const struct graph *graph = session_get_graph(core->session);
	const struct weights *weights = session_get_weights(core->session);
	_cleanup_free_ struct table_row *rows = NULL;
	size_t count = 0;
	int err;

	if (kind == TABLE_FUNCTIONS)
		err = table_of_functions(graph, weights, &rows, &count);
	else if (kind == TABLE_MODULES)
		err = table_of_modules(graph, weights, &rows, &count);
	else
		err = table_of_threads(graph, session_get_weights_opts(core->session), &rows,
				       &count);
	if (err)
		return finish(core, err);
	text_append(text, rows, count * sizeof(*rows));
	return finish(core, 0);
}

/*
 * The answer: whether the comparison is doubtful (32 bits), then a struct function_change for every
 * function.
 */
int core_changes(struct core *core)
{
	struct text *text = start(core);
	const struct graph *graph = session_get_graph(core->session);
	const struct changes *changes;
	uint32_t is_doubtful;
	int err = session_get_changes(core->session, &changes, &core->error);

	if (err)
		return finish(core, err);
	is_doubtful = changes->is_doubtful;
	text_append(text, &is_doubtful, sizeof(is_doubtful));
	text_append(text, changes->items, graph->num_functions * sizeof(*changes->items));
	return finish(core, 0);
}

int core_waits(struct core *core, uint32_t metric)
{
	struct text *text = start(core);
	struct waits *waits;
	int err = session_get_waits(core->session, metric, &waits, &core->error);

	if (!err)
		answer_waits(waits, text);
	return finish(core, err);
}

int core_waker_stacks(struct core *core, uint32_t metric, uint32_t waker, uint32_t node)
{
	struct text *text = start(core);
	struct waits *waits;
	int err = session_get_waits(core->session, metric, &waits, &core->error);

	return finish(core,
		      err ? err : answer_waker_stacks(waits, waker, node, text, &core->error));
}

int core_time_grid(struct core *core, uint32_t max_columns)
{
	struct text *text = start(core);

	return finish(core, answer_time_grid(core->session, max_columns, text));
}

/*
 * pattern  as in a filter
 *
 * The answer: weight of the stacks with a matching function (64 bits), then 0 or 1 for every
 * symbol, including those of threads.
 */
int core_search(struct core *core, const char *pattern)
{
	struct text *text = start(core);
	const struct graph *graph = session_get_graph(core->session);
	struct flame *flame =
		session_get_flame(core->session, session_get_query(core->session)->direction);
	_cleanup_free_ uint8_t *marks = calloc((size_t)graph->num_symbols + 1, 1);
	uint64_t weight = 0;
	int err;

	if (!flame || !marks)
		return finish(core, -ENOMEM);
	err = filters_match_symbols(graph, pattern, marks, &core->error);
	if (err)
		return finish(core, err);
	err = flame_measure_matches(flame, marks, &weight);
	if (err)
		return finish(core, err);
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		marks[i] = marks[i] != 0;
	text_append(text, &weight, sizeof(weight));
	text_append(text, marks, graph->num_symbols);
	return finish(core, 0);
}

static int append(void *context, const void *data, size_t size)
{
	struct text *text = context;

	text_append(text, data, size);
	return text->failed ? -ENOMEM : 0;
}

/* is_whole  everything that was read, as if converted; else the view */
int core_export(struct core *core, const char *name, uint32_t is_whole)
{
	const struct session_query *query = session_get_query(core->session);
	struct sink sink = {.write = append, .context = start(core)};
	const struct format *format = format_find_name(name);
	_cleanup_(profile_freep) struct profile *extracted = NULL;
	const struct profile *profile = session_get_profile(core->session);
	struct format_opts opts = {
		.tree = {.root = query->root,
			 .metric = query->metric,
			 .baseline = query->baseline_metric,
			 .has_baseline = query->baseline_metric != METRIC_NONE},
		.folds_microseconds = profile_find_wall_metric(profile, 0) != METRIC_NONE,
	};
	int err;

	if (!format || !format->write)
		return finish(core, error_set(&core->error, -EINVAL, "cannot write '%s'", name));
	/*
	 * A view is a profile of its own: with one metric, or in a comparison with two, under the
	 * names of comparisons.
	 */
	if (!is_whole) {
		err = extract_view(core->session, &extracted);
		if (err)
			return finish(core, err);
		profile = extracted;
		opts.tree.has_baseline = session_get_weights(core->session)->baseline_self != NULL;
		opts.tree.metric = 0;
		if (opts.tree.has_baseline) {
			opts.tree.metric = profile_find_metric(extracted, METRIC_AFTER);
			opts.tree.baseline = profile_find_metric(extracted, METRIC_BEFORE);
		}
	}
	return finish(core, format->write(profile, &opts, &sink));
}

/* Everything that is open, for a page that includes it. */
int core_pack(struct core *core)
{
	struct sink sink = {.write = append, .context = start(core)};

	return finish(core, session_pack(core->session, &sink));
}
