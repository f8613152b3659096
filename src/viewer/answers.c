#include "viewer/answers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/sleepers.h"
#include "formats/format.h"
#include "viewer/flame_layout.h"
#include "viewer/time_grid.h"
#include "viewer/times.h"

/*
 * Bytes above 0x7f are passed unchanged: the page decodes the answer as UTF-8, and replaces invalid
 * bytes.
 */
static void append_string(struct text *text, const char *data, size_t length)
{
	text_append_char(text, '"');
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c == '"' || c == '\\')
			text_append_char(text, '\\');
		if (c < ' ')
			text_printf(text, "\\u%04x", c);
		else
			text_append_char(text, (char)c);
	}
	text_append_char(text, '"');
}

static void append_key_string(struct text *text, const char *key, const char *value)
{
	append_string(text, key, strlen(key));
	text_append_char(text, ':');
	append_string(text, value, strlen(value));
	text_append_char(text, ',');
}

/* In quotes: JavaScript's numbers have 53 bits. */
static void append_key_number(struct text *text, const char *key, uint64_t value)
{
	append_string(text, key, strlen(key));
	text_printf(text, ":\"%" PRIu64 "\",", value);
}

/* Every item is followed by a comma: remove the last one's. */
static void append_end(struct text *text, const char *end)
{
	if (!text->failed && text->length && text->data[text->length - 1] == ',')
		text_truncate(text, text->length - 1);
	text_append_string(text, end);
}

/* Append "tallies":{"import.skipped":"3"…}, including the recording's numbers. */
static void append_tallies(const struct profile *profile, uint32_t source, struct text *text)
{
	const struct provenance *provenance = profile_get_provenance(profile);
	const struct sampling *sampling = provenance_find_sampling(provenance, source);

	text_append_string(text, "\"tallies\":{");
	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++) {
		const struct tally *tally = provenance_get_tally(provenance, i);

		if (tally->source == source)
			append_key_number(text, profile_get_string(profile, tally->name),
					  tally->count);
	}
	if (sampling) {
		append_key_number(text, "sampling.start_ns", sampling->start_ns);
		append_key_number(text, "sampling.duration_ns", sampling->duration_ns);
		append_key_number(text, "sampling.period_ns", sampling->period_ns);
		append_key_number(text, "sampling.complete_stacks", sampling->complete_stacks);
		append_key_number(text, "sampling.truncated_stacks", sampling->truncated_stacks);
		append_key_number(text, "sampling.lost_samples", sampling->lost_samples);
	}
	append_end(text, "},");
}

struct source_sum {
	uint64_t num_samples;
	uint64_t weight;
	uint32_t metric; /* metric of the weight */
};

/*
 * Sums by source. Weights of different metrics cannot be added, so a source is measured by its
 * first metric. NULL when out of memory.
 */
static struct source_sum *add_up_sources(const struct session *session)
{
	const struct profile *profile = session_get_profile(session);
	struct source_sum *sums = calloc((size_t)session_count_sources(session) + 1, sizeof(*sums));

	for (uint32_t i = 0; sums && i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		struct source_sum *sum = &sums[profile_get_thread(profile, sample->thread)->source];

		if (!sum->num_samples || sample->metric < sum->metric) {
			sum->metric = sample->metric;
			sum->weight = 0;
		}
		sum->num_samples++;
		if (sample->metric == sum->metric)
			sum->weight += sample->value;
	}
	return sums;
}

static void append_source(struct session *session, uint32_t id, const struct source_sum *sum,
			  bool has_times, struct text *text)
{
	const struct profile *profile = session_get_profile(session);
	const struct session_source *source = session_get_source(session, id);

	text_append_char(text, '{');
	append_key_string(text, "name", source->name);
	append_key_string(text, "path",
			  profile_get_string(profile, profile_get_source(profile, id)));
	append_key_string(text, "format", source->format);
	append_key_number(text, "size", source->size);
	append_key_number(text, "records", source->counts.records);
	append_key_number(text, "samples", sum->num_samples);
	append_key_number(text, "weight", sum->weight);
	append_key_string(text, "warnings", source->warnings.data ? source->warnings.data : "");
	append_tallies(profile, id, text);
	text_printf(text, "\"side\":%u,\"isGone\":%s,\"hasTimes\":%s},", source->side,
		    source->is_gone ? "true" : "false", has_times ? "true" : "false");
}

/* Totals of the metrics over the shown files; 0 for metrics of other files only. */
static uint64_t *add_up_metrics(struct session *session)
{
	const struct profile *profile = session_get_profile(session);
	uint64_t *totals = calloc((size_t)profile_count_metrics(profile) + 1, sizeof(*totals));

	for (uint32_t i = 0; totals && i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t id = profile_get_thread(profile, sample->thread)->source;
		const struct session_source *source = session_get_source(session, id);

		if (!source->is_gone && source->side != SIDE_OFF)
			totals[sample->metric] += sample->value;
	}
	return totals;
}

/* Select the samples of the shown files. */
static int select_shown(struct session *session, struct selection *ret)
{
	const struct profile *profile = session_get_profile(session);

	ret->num_samples = profile_count_samples(profile);
	ret->is_selected = calloc((size_t)ret->num_samples + 1, 1);
	if (!ret->is_selected)
		return -ENOMEM;
	for (uint32_t i = 0; i < ret->num_samples; i++) {
		uint32_t thread = profile_get_sample(profile, i)->thread;
		const struct session_source *source =
			session_get_source(session, profile_get_thread(profile, thread)->source);

		ret->is_selected[i] = !source->is_gone && source->side != SIDE_OFF;
	}
	return 0;
}

/* Threads that slept throughout, if any, whatever the filters are. */
static int append_sleepers(struct session *session, uint32_t metric, struct text *text)
{
	const struct profile *profile = session_get_profile(session);
	_cleanup_(selection_release) struct selection shown = {0};
	_cleanup_(sleepers_release) struct sleepers sleepers = {0};
	int err;

	if (profile_find_string(profile, SLEPT_FRAME_NAME, strlen(SLEPT_FRAME_NAME)) == STRING_NONE)
		return 0;
	err = select_shown(session, &shown);
	if (err)
		return err;
	err = sleepers_find(profile, metric, &shown, &sleepers);
	if (err == -EOVERFLOW) /* the view will report it */
		return 0;
	if (err)
		return err;
	if (sleepers.exist)
		append_key_number(text, "sleepers", sleepers.num_threads);
	return 0;
}

void answer_formats(struct text *text)
{
	text_append_char(text, '[');
	for (const struct format *const *format = format_get_all(); *format; format++) {
		text_append_char(text, '{');
		append_key_string(text, "name", (*format)->name);
		append_key_string(text, "extension", (*format)->extension);
		text_printf(text, "\"isRead\":%s,\"isWritten\":%s},",
			    (*format)->read ? "true" : "false",
			    (*format)->write ? "true" : "false");
	}
	append_end(text, "]");
}

void answer_overview(struct session *session, struct text *text)
{
	const struct profile *profile = session_get_profile(session);
	_cleanup_free_ uint64_t *totals = add_up_metrics(session);
	_cleanup_free_ struct source_sum *sums = add_up_sources(session);
	_cleanup_free_ struct time_span *spans = NULL;
	int err = times_find_spans(profile, &spans);

	if (!totals || !sums || err) {
		text->failed = true; /* the caller checks it */
		return;
	}
	text_append_string(text, "{\"sources\":[");
	for (uint32_t i = 0; i < session_count_sources(session); i++)
		append_source(session, i, &sums[i], spans[i].exists, text);
	append_end(text, "],\"metrics\":[");
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		text_append_char(text, '{');
		append_key_string(text, "name", format_get_metric_name(profile, i));
		append_key_string(text, "unit", format_get_metric_unit(profile, i));
		append_key_number(text, "total", totals[i]);
		if (append_sleepers(session, i, text))
			text->failed = true;
		append_end(text, "},");
	}
	append_end(text, "]}");
}

static void append_u32(struct text *text, uint32_t value)
{
	text_append(text, &value, sizeof(value));
}

/*
 * Names are one block of bytes with offsets, so that the page can decode a single one: most are
 * never shown.
 */
void answer_symbols(const struct graph *graph, struct text *text)
{
	uint32_t offset = 0;

	append_u32(text, graph->num_symbols);
	for (uint32_t i = 0; i < graph->num_symbols; i++) {
		append_u32(text, offset);
		offset +=
			(uint32_t)profile_get_string_length(graph->profile, graph->symbols[i].name);
	}
	append_u32(text, offset);
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		append_u32(text, graph->symbols[i].function);
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		text_append(text, graph_get_symbol_name(graph, i),
			    profile_get_string_length(graph->profile, graph->symbols[i].name));
}

void answer_functions(const struct graph *graph, struct text *text)
{
	append_u32(text, graph->num_functions);
	for (uint32_t i = 0; i < graph->num_functions; i++) {
		const struct graph_function *function = &graph->functions[i];

		append_u32(text, function->symbol);
		append_u32(text, function->module);
		append_u32(text, function->kind | (function->is_inlined ? NODE_INLINED : 0u) |
					 (function->is_thread ? NODE_THREAD : 0u));
		/* Padding: a function has four numbers, 16 bytes. */
		append_u32(text, 0);
	}
}

/* Only strings that are modules: the table contains every name of the profile. */
void answer_modules(const struct graph *graph, struct text *text)
{
	uint32_t count = string_table_get_count(profile_get_strings(graph->profile));
	_cleanup_free_ uint8_t *is_known = calloc(count, 1);

	text_append_char(text, '{');
	for (uint32_t i = 0; is_known && i < graph->num_functions; i++) {
		uint32_t module = graph->functions[i].module;

		if (is_known[module])
			continue;
		is_known[module] = 1;
		text_printf(text, "\"%u\":", module);
		append_string(text, profile_get_string(graph->profile, module),
			      profile_get_string_length(graph->profile, module));
		text_append_char(text, ',');
	}
	append_end(text, "}");
	text->failed |= !is_known;
}

void answer_threads(const struct graph *graph, struct text *text)
{
	const struct profile *profile = graph->profile;

	text_append_char(text, '[');
	for (uint32_t i = 0; i < profile_count_threads(profile); i++) {
		const struct thread *thread = profile_get_thread(profile, i);
		const struct process_info *process = profile_get_process(profile, thread->process);

		text_append_char(text, '{');
		append_key_string(text, "comm", profile_get_string(profile, thread->comm));
		append_key_string(text, "process", profile_get_string(profile, process->comm));
		text_printf(text, "\"pid\":%u,\"tid\":%u,\"source\":%u},", process->pid,
			    thread->tid, thread->source);
	}
	append_end(text, "]");
}

int answer_view(struct session *session, struct text *text)
{
	const struct weights *weights = session_get_weights(session);
	bool has_fragment = session_get_query(session)->fragment_length > 0;
	struct flame *callees = session_get_flame(session, FLAME_CALLEES);
	struct flame *callers = callees;
	const struct flame_node *callee;
	const struct flame_node *caller;

	/* The callers of all stacks are a million entries, and have not been asked for. */
	if (has_fragment)
		callers = session_get_flame(session, FLAME_CALLERS);
	if (!callees || !callers)
		return -ENOMEM;
	callee = flame_get_node(callees, flame_get_top(callees));
	caller = flame_get_node(callers, flame_get_top(callers));
	text_append_char(text, '{');
	append_key_number(text, "sum", weights->sum);
	append_key_number(text, "baselineSum", weights->baseline_sum);
	append_key_number(text, "inclusive", callee->total);
	append_key_number(text, "exclusive", callee->self);
	append_key_number(text, "noCaller", has_fragment ? caller->self : 0);
	append_key_number(text, "baselineInclusive", callee->baseline_total);
	append_key_number(text, "baselineExclusive", callee->baseline_self);
	append_key_number(text, "baselineNoCaller", has_fragment ? caller->baseline_self : 0);
	text_printf(text, "\"isComparison\":%s}", weights->baseline_self ? "true" : "false");
	return 0;
}

static void append_double(struct text *text, double value)
{
	text_append(text, &value, sizeof(value));
}

int answer_time_grid(const struct session *session, uint32_t max_columns, struct text *text)
{
	struct time_grid grid;
	int err = time_grid_init(&grid, session, max_columns);

	if (err)
		return err;
	append_double(text, (double)grid.row_ms);
	append_double(text, TIME_GRID_ROWS);
	append_double(text, grid.num_columns);
	append_double(text, (double)grid.span_ms);
	append_double(text, (double)grid.start_ms);
	append_double(text, (double)grid.timeless);
	for (size_t i = 0; i < (size_t)grid.num_columns * TIME_GRID_ROWS; i++)
		append_double(text, (double)grid.cells[i]);
	time_grid_release(&grid);
	return 0;
}

/* Expanding makes the children of one node; their numbers are consecutive. */
int answer_children(struct flame *flame, uint32_t id, struct text *text)
{
	uint32_t first;
	uint32_t count;

	if (flame_expand(flame, id))
		return -ENOMEM;
	first = flame_get_node(flame, id)->first_child;
	count = flame_get_node(flame, id)->num_children;
	for (uint32_t i = 0; i < count; i++) {
		struct flame_box box;

		flame_box_fill(&box, flame_get_node(flame, first + i), first + i);
		text_append(text, &box, sizeof(box));
	}
	return text->failed ? -ENOMEM : 0;
}

/* FRAME_NONE: null */
static void append_symbol(const struct waits *waits, uint32_t frame, struct text *text)
{
	if (frame == FRAME_NONE)
		text_append_string(text, "null,");
	else
		text_printf(text, "%" PRIu32 ",", waits_get_symbol(waits, frame));
}

static void append_link(const struct waits *waits, const struct waker_link *link, struct text *text)
{
	text_append_string(text, "{\"waiter\":");
	append_symbol(waits, link->waiter, text);
	text_append_string(text, "\"futex\":");
	append_symbol(waits, link->futex, text);
	append_key_number(text, "total", link->total);
	append_key_number(text, "ended", link->ended);
	text_append_string(text, "\"frames\":[");
	for (size_t i = 0; i < link->num_frames; i++)
		append_symbol(waits, link->frames[i], text);
	append_end(text, "]},");
}

void answer_waits(const struct waits *waits, struct text *text)
{
	text_append_char(text, '{');
	append_key_number(text, "sum", waits->sum);
	append_key_number(text, "inclusive", waits->answer.tree.nodes[0].total);
	text_append_string(text, "\"wakers\":[");
	for (size_t i = 0; i < waits->answer.num_threads; i++) {
		text_append_string(text, "{\"symbol\":");
		append_symbol(waits, waits->answer.threads[i].frame, text);
		append_key_number(text, "total", waits->answer.threads[i].total);
		append_end(text, "},");
	}
	append_end(text, "],\"chain\":[");
	for (size_t i = 0; i < waits->chain.num_links; i++)
		append_link(waits, &waits->chain.links[i], text);
	append_end(text, "]}");
}

int answer_waker_stacks(struct waits *waits, uint32_t waker, uint32_t node, struct text *text,
			struct error *error)
{
	const struct fragment_tree *stacks;
	int err;

	if (waker >= waits->answer.num_threads)
		return error_set(error, -EINVAL, "the waker belongs to another view");
	err = waits_get_stacks(waits, waker, &stacks);
	if (err)
		return err;
	if (node >= stacks->num_nodes)
		return error_set(error, -EINVAL, "the stack belongs to another view");
	text_append_char(text, '[');
	for (node = stacks->nodes[node].first_child; node;
	     node = stacks->nodes[node].next_sibling) {
		/* A stack ends with the waker's name, which the row already shows. */
		if (!stacks->nodes[node].first_child)
			continue;
		text_printf(text, "{\"node\":%" PRIu32 ",\"symbol\":", node);
		append_symbol(waits, stacks->nodes[node].frame, text);
		append_key_number(text, "total", stacks->nodes[node].total);
		append_end(text, "},");
	}
	append_end(text, "]");
	return 0;
}
