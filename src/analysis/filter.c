/*
 * A filter decides for each sample whether it matches: by its stack or by its thread. Neither is
 * checked sample by sample. A pattern is compared with each frame once. Then one pass from the root
 * down, where every node inherits the result of its parent, finds the stacks with such a frame.
 * Samples look at their node.
 *
 * Filters are combined by "and": each keeps only those samples in the selection that pass it, too.
 */
#include "analysis/filter.h"

#include <errno.h>
#include <string.h>

#include "analysis/fragment.h"
#include "analysis/pattern.h"
#include "analysis/thread_label.h"
#include "base/array.h"
#include "base/text.h"

struct filter {
	enum filter_kind kind;
	bool excludes;
	struct pattern pattern;
};

/* The result of one filter, combined from its results for frames and for threads. */
struct matches {
	const struct frame_tree *tree;
	const struct filter *filter;
	bool *nodes;   /* by node of the frame tree: the stack down to it matches */
	bool *threads; /* by thread of the profile */
	bool *starts;  /* by node: the stack starts with one of these threads and matches */
	bool *labels;  /* by thread */
};

static const char *const kind_names[] = {
	[FILTER_FUNCTION] = "function", [FILTER_FRAGMENT] = "fragment", [FILTER_THREAD] = "thread",
	[FILTER_PROCESS] = "process",   [FILTER_FILE] = "file",         [FILTER_MODULE] = "module",
};

const char *filter_kind_get_name(enum filter_kind kind)
{
	return kind < ARRAY_LENGTH(kind_names) ? kind_names[kind] : NULL;
}

static int read_kind(const char *text, enum filter_kind *ret, struct error *error)
{
	size_t length = strcspn(text, ":");

	for (size_t kind = 0; text[length] && kind < ARRAY_LENGTH(kind_names); kind++) {
		if (strlen(kind_names[kind]) != length ||
		    strncmp(kind_names[kind], text, length) != 0)
			continue;
		*ret = (enum filter_kind)kind;
		return 0;
	}
	if (!text[length])
		return error_set(
			error, -EINVAL,
			"'%.200s' is not a filter: expected KIND:PATTERN, as in function:main",
			text);
	return error_set(error, -EINVAL,
			 "unknown filter kind '%.*s': expected function, fragment, thread, "
			 "process, file, module or time",
			 length < 100 ? (int)length : 100, text);
}

int filter_new(const char *text, bool excludes, struct filter **ret, struct error *error)
{
	_cleanup_free_ struct filter *filter = calloc(1, sizeof(*filter));
	int err;

	if (!filter)
		return error_set(error, -ENOMEM, "out of memory");
	err = read_kind(text, &filter->kind, error);
	if (err)
		return err;
	err = pattern_init(&filter->pattern, strchr(text, ':') + 1, error);
	if (err)
		return err;
	filter->excludes = excludes;
	*ret = return_ptr(filter);
	return 0;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	pattern_release(&filter->pattern);
	free(filter);
}

/* The function of "a.rb:5:fib", an element with file and line; else the name itself. */
static const char *get_function(const char *name)
{
	const char *last = strrchr(name, ':');
	const char *digits = last;

	while (digits && digits > name && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	return digits && digits != last && digits > name + 1 && digits[-1] == ':' && last[1]
		       ? last + 1
		       : name;
}

/* A regular expression may match the mark; a literal may contain it or not. */
bool filter_matches_function(const struct filter *filter, const char *name, const char *annotation)
{
	_cleanup_(text_release) struct text annotated = {0};
	const char *function = get_function(name);

	if (pattern_matches(&filter->pattern, name) ||
	    (function != name && pattern_matches(&filter->pattern, function)))
		return true;
	if (!*annotation)
		return false;
	text_append_string(&annotated, name);
	text_append_string(&annotated, annotation);
	return !annotated.failed && pattern_matches(&filter->pattern, annotated.data);
}

bool filter_matches_text(const struct filter *filter, const char *text)
{
	return pattern_matches(&filter->pattern, text);
}

static bool matches_frame(const struct matches *matches, uint32_t id)
{
	const struct profile *profile = matches->tree->profile;
	const struct pattern *pattern = &matches->filter->pattern;
	const struct frame *frame = id == FRAME_NONE ? NULL : profile_get_frame(profile, id);

	switch (matches->filter->kind) {
	case FILTER_FUNCTION:
		return filter_matches_function(matches->filter,
					       frame_tree_get_name_text(matches->tree, id, NULL),
					       frame ? frame_get_annotation(frame) : "");
	case FILTER_FILE:
		return frame && frame->file != STRING_EMPTY &&
		       pattern_matches_path(pattern, profile_get_string(profile, frame->file));
	case FILTER_MODULE:
		return frame &&
		       pattern_matches_path(pattern, profile_get_string(profile, frame->module));
	case FILTER_FRAGMENT:
	case FILTER_THREAD:
	case FILTER_PROCESS:
		break;
	}
	return false;
}

/*
 * The path of a mapped file is known only by location. So it depends on the stack's location, not
 * on the frame: two files with the same base name have frames of the same module.
 */
static int match_module_paths(struct matches *matches)
{
	const struct profile *profile = matches->tree->profile;
	uint32_t num_modules = profile_count_modules(profile);
	_cleanup_free_ bool *modules = calloc((size_t)num_modules + 1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_modules; i++)
		modules[i] = pattern_matches_path(
			&matches->filter->pattern,
			profile_get_string(profile, profile_get_module(profile, i)->path));
	for (uint32_t stack = 1; stack < profile_count_stacks(profile); stack++) {
		const struct location *location =
			profile_get_location(profile, profile_get_stack_location(profile, stack));

		if (location_is_in_module(location) && location->owner < num_modules)
			matches->nodes[matches->tree->stack_nodes[stack]] =
				modules[location->owner];
	}
	return 0;
}

static int match_frames(struct matches *matches)
{
	const struct frame_tree *tree = matches->tree;
	uint32_t num_frames = profile_count_frames(tree->profile);
	_cleanup_free_ bool *frames = calloc((size_t)num_frames + 1, sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_frames; i++)
		frames[i] = matches_frame(matches, i);
	frames[num_frames] = matches_frame(matches, FRAME_NONE);
	if (matches->filter->kind == FILTER_MODULE && match_module_paths(matches))
		return -ENOMEM;
	for (uint32_t node = 1; node < tree->num_nodes; node++) {
		uint32_t frame = tree->frames[node];

		matches->nodes[node] |= matches->nodes[tree->parents[node]] ||
					frames[frame == FRAME_NONE ? num_frames : frame];
	}
	return 0;
}

/*
 * In written stacks, the thread is first, as the caller of all. So a fragment may start with a
 * thread, and then it is at the start of the stack.
 */
static int match_starts(struct matches *matches)
{
	const struct profile *profile = matches->tree->profile;
	const char *label = matches->filter->pattern.literal;
	size_t length = strcspn(label, ";");
	_cleanup_(fragment_release) struct fragment rest;
	int err = fragment_init(&rest, matches->tree, label[length] ? label + length + 1 : NULL);

	if (err)
		return err;
	for (uint32_t i = 0; i < profile_count_threads(profile); i++)
		matches->labels[i] = thread_is_labelled(profile, i, label, length);
	return fragment_find_starts(&rest, matches->tree, matches->starts);
}

static int match_fragment(struct matches *matches)
{
	const struct frame_tree *tree = matches->tree;
	_cleanup_(occurrences_release) struct occurrences occurrences = {0};
	_cleanup_(fragment_release) struct fragment fragment;
	int err = fragment_init(&fragment, tree, matches->filter->pattern.literal);

	if (err)
		return err;
	err = fragment_find(&fragment, tree, &occurrences);
	if (err)
		return err;
	for (uint32_t node = 1; node < tree->num_nodes; node++)
		matches->nodes[node] = occurrences.first_ends[node] != FRAME_TREE_ROOT;
	return match_starts(matches);
}

/* The names from the outermost frame to a node, joined by `;`. */
static int join_names(const struct frame_tree *tree, uint32_t node, struct text *text,
		      uint32_t *path)
{
	size_t depth = 0;

	for (; node != FRAME_TREE_ROOT; node = tree->parents[node])
		path[depth++] = tree->frames[node];
	text_truncate(text, 0);
	while (depth-- > 0) {
		size_t length;
		const char *name = frame_tree_get_name_text(tree, path[depth], &length);

		text_append(text, name, length);
		if (depth)
			text_append_char(text, ';');
	}
	text_append_string(text, "");
	return text->failed ? -ENOMEM : 0;
}

/*
 * A regular expression cannot be continued from a stack to its callees: each stack is matched as a
 * whole.
 */
static int match_stacks(struct matches *matches)
{
	const struct frame_tree *tree = matches->tree;
	_cleanup_(text_release) struct text text = {0};
	_cleanup_free_ uint32_t *path = calloc(tree->num_nodes, sizeof(*path));
	_cleanup_free_ bool *is_asked = calloc(tree->num_nodes, sizeof(*is_asked));

	if (!path || !is_asked)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(tree->profile); i++) {
		uint32_t node = tree->stack_nodes[profile_get_sample(tree->profile, i)->stack];
		int err;

		if (is_asked[node])
			continue;
		is_asked[node] = true;
		err = join_names(tree, node, &text, path);
		if (err)
			return err;
		matches->nodes[node] = pattern_matches(&matches->filter->pattern, text.data);
	}
	return 0;
}

/* A file filter applies to source files and inputs alike: "all of yesterday.folded" works, too. */
static bool matches_thread(const struct matches *matches, uint32_t thread_id)
{
	const struct profile *profile = matches->tree->profile;
	const struct thread *thread = profile_get_thread(profile, thread_id);
	const struct pattern *pattern = &matches->filter->pattern;
	const struct process_info *process = profile_get_process(profile, thread->process);
	uint32_t name = thread->comm;
	uint32_t id = thread->tid;

	if (matches->filter->kind == FILTER_FILE)
		return thread->source < profile_count_sources(profile) &&
		       pattern_matches_path(
			       pattern,
			       profile_get_string(profile,
						  profile_get_source(profile, thread->source)));
	if (matches->filter->kind == FILTER_PROCESS) {
		name = process->comm;
		id = process->pid;
	} else if (matches->filter->kind != FILTER_THREAD) {
		return false;
	}
	if (name == STRING_EMPTY && !id && !process->pid)
		return false; /* an input without threads */
	if (pattern_matches(pattern, profile_get_string(profile, name)) ||
	    pattern_matches_number(pattern, id))
		return true;
	return matches->filter->kind == FILTER_THREAD && pattern->literal &&
	       thread_is_labelled(profile, thread_id, pattern->literal, strlen(pattern->literal));
}

static int find_matches(struct matches *matches)
{
	const struct profile *profile = matches->tree->profile;

	for (uint32_t i = 0; i < profile_count_threads(profile); i++)
		matches->threads[i] = matches_thread(matches, i);
	switch (matches->filter->kind) {
	case FILTER_FUNCTION:
	case FILTER_FILE:
	case FILTER_MODULE:
		return match_frames(matches);
	case FILTER_FRAGMENT:
		return matches->filter->pattern.literal ? match_fragment(matches)
							: match_stacks(matches);
	case FILTER_THREAD:
	case FILTER_PROCESS:
		break;
	}
	return 0;
}

/* Keep only the samples that pass one more filter. */
static int apply(struct selection *selection, const struct frame_tree *tree,
		 const struct filter *filter)
{
	const struct profile *profile = tree->profile;
	uint32_t num_threads = profile_count_threads(profile);
	_cleanup_free_ bool *nodes = calloc(tree->num_nodes, sizeof(*nodes));
	_cleanup_free_ bool *threads = calloc((size_t)num_threads + 1, sizeof(*threads));
	_cleanup_free_ bool *starts = calloc(tree->num_nodes, sizeof(*starts));
	_cleanup_free_ bool *labels = calloc((size_t)num_threads + 1, sizeof(*labels));
	struct matches matches = {tree, filter, nodes, threads, starts, labels};
	int err;

	if (!nodes || !threads || !starts || !labels)
		return -ENOMEM;
	err = find_matches(&matches);
	if (err)
		return err;
	for (uint32_t i = 0; i < selection->num_samples; i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t node = tree->stack_nodes[sample->stack];
		bool is_match = nodes[node] || threads[sample->thread] ||
				(labels[sample->thread] && starts[node]);

		selection->is_selected[i] &= is_match != filter->excludes;
	}
	return 0;
}

int selection_init(struct selection *selection, const struct frame_tree *tree,
		   struct filter *const *filters, size_t num_filters)
{
	uint32_t count = profile_count_samples(tree->profile);
	int err;

	selection->num_samples = count;
	selection->is_selected = malloc((size_t)count + 1);
	if (!selection->is_selected)
		return -ENOMEM;
	memset(selection->is_selected, 1, count);
	for (size_t i = 0; i < num_filters; i++) {
		err = apply(selection, tree, filters[i]);
		if (err)
			return err;
	}
	return 0;
}

void selection_release(struct selection *selection)
{
	free(selection->is_selected);
	*selection = (struct selection){0};
}
