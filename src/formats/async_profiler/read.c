/*
 * The HTML pages that async-profiler writes, of three kinds: flame graphs, call trees, heat maps.
 * None is a data format; each is a program that draws itself, and we read those of its lines that
 * hold data. So a new version of async-profiler may need new code here. Pages have no version
 * number: it is recognized by parts of the script.
 *
 * Flame graphs are a script of function calls, one a frame, callers before callees:
 *
 *	version 1    SVG, which formats/svg reads
 *	version 2    f(level, left, width, type, 'title')
 *	version 3    const cpool = ['main', …];
 *	             f(key, level, left, width)    n(key, width)    u(key, width)
 *
 * From version 3 on, titles are in a table, each as the length of the prefix that it shares with
 * the one before, and the rest. The key is the number of the title times 8, plus the type of the
 * frame. f() is absolute, n() the next sibling of the last frame, u() its first child; a width that
 * is left out is that of the last frame.
 *
 * Type numbers changed their meaning in version 2.8; only the number of colours in the page tells
 * the two apart.
 *
 * The writer leaves out frames below a minimum width. They are gaps among the callees, and their
 * weight stays with the caller.
 *
 * Up to version 3 `reverse = true` means that stacks start with the innermost frame. From version 4
 * on there is only `inverted`, which is also true for a page that is just drawn upside down. Then
 * the outermost frames decide: if most of the weight is in functions that threads start with, the
 * stacks are not reversed.
 *
 * Call trees are nested lists with the same numbers (read_tree.c). Heat maps are compressed
 * (read_heatmap.c).
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "formats/async_profiler/read_heatmap.h"
#include "formats/async_profiler/read_titles.h"
#include "formats/async_profiler/read_tree.h"
#include "formats/format.h"
#include "formats/reader.h"
#include "formats/slice.h"
#include "formats/xml_scanner.h"

#define DETECTION_BYTES 65536
#define MAX_ARGUMENTS   7
/* More than any real page has. */
#define MAX_REVERSED_STEPS  50000000
#define MAX_REVERSED_STACKS 1500000

#define NO_NODE UINT32_MAX
#define NO_NAME UINT32_MAX

/* Parts of the script or markup that only pages of this version and kind have. */
static const char version_2[] = "function f(level, left, width, type, title";
static const char version_3[] = "function unpack(cpool)";
static const char tree[] = "<title>Tree view</title>";
static const char tree_script[] = "function treeView(opt)";

struct async_profiler_node {
	uint32_t parent;
	uint32_t name; /* string */
	uint32_t level;
	uint8_t type;
	uint64_t width;
	uint64_t children; /* sum of their widths */
	uint32_t stack;
	uint32_t thread;
};

struct async_profiler_reader {
	struct import *import;
	struct lines lines;
	bool has_table; /* of titles: from version 3 on */
	bool is_reversed;
	bool is_inverted;
	bool has_deltas;
	bool is_tree;
	uint32_t tree_level;     /* of the list that the page is in; 0: before the first */
	uint64_t self;           /* of the last frame in a tree */
	unsigned int num_colors; /* colors declared by the page, one for each type of frames */
	uint64_t level;          /* of the last frame, which n() and u() count from */
	uint64_t width;
	struct async_profiler_titles titles;
	ARRAY(struct async_profiler_node) nodes;
	ARRAY(uint32_t) path; /* the last node of every level */
	struct slice units;
	uint32_t metric;
	uint32_t thread; /* of stacks that name none */
	uint64_t num_steps;
};

static bool take_line(struct async_profiler_reader *reader, struct slice *ret)
{
	if (!lines_take(&reader->lines, ret))
		return false;
	*ret = slice_trim(*ret);
	return true;
}

static int read_titles(struct async_profiler_reader *reader)
{
	struct slice line;
	int err;

	while (take_line(reader, &line) && !slice_starts_with(line, "]")) {
		if (!line.length)
			continue;
		err = async_profiler_titles_add(&reader->titles, line.start, line.length);
		if (err == -EINVAL)
			err = reader_skip_line(reader->import, reader->lines.number,
					       "expected a title in quotes");
		if (err)
			return err;
	}
	return 0;
}

/* ---- frames ---- */

/* The numbers in a call's parentheses; arguments that are left out stay 0. */
static bool parse_arguments(struct slice rest, uint64_t *arguments, size_t *ret_count)
{
	*ret_count = 0;
	while (rest.length && *ret_count < MAX_ARGUMENTS) {
		size_t digits = 0;

		while (digits < rest.length && rest.start[digits] >= '0' &&
		       rest.start[digits] <= '9')
			digits++;
		if (digits == rest.length || !parse_u64(rest.start, digits, &arguments[*ret_count]))
			return false;
		++*ret_count;
		if (rest.start[digits] == ')')
			return true;
		if (rest.start[digits] != ',')
			return false;
		rest.start += digits + 1;
		rest.length -= digits + 1;
	}
	return false;
}

/* Frames are in preorder: the caller is the last frame of the level above. */
static int add_node(struct async_profiler_reader *reader, struct async_profiler_node node)
{
	struct async_profiler_node *added;
	uint32_t *last;

	if (node.level > reader->path.length || (!node.level && reader->nodes.length))
		return reader_skip_line(reader->import, reader->lines.number,
					"a frame whose caller is missing");
	node.parent = node.level ? reader->path.items[node.level - 1] : NO_NODE;
	if (node.level &&
	    __builtin_add_overflow(reader->nodes.items[node.parent].children, node.width,
				   &reader->nodes.items[node.parent].children))
		return import_fail_line(reader->import, reader->lines.number,
					"the widths of frames exceed 64 bits");
	added = array_add(&reader->nodes);
	reader->path.length = node.level;
	last = array_add(&reader->path);
	if (!added || !last)
		return -ENOMEM;
	*added = node;
	*last = (uint32_t)(reader->nodes.length - 1);
	return 0;
}

/* f(level,left,width,type,'title') */
static int read_plain_frame(struct async_profiler_reader *reader, struct slice line)
{
	const char *quote = memchr(line.start, '\'', line.length);
	struct slice rest = {quote, quote ? (size_t)(line.start + line.length - quote) : 0};
	struct text title = {0};
	char numbers[100];
	size_t length = quote ? (size_t)(quote - line.start) - 2 : 0;
	uint64_t arguments[MAX_ARGUMENTS] = {0};
	size_t count = 0;
	struct async_profiler_node node;
	int err = 0;

	if (!quote || quote < line.start + 3 || length >= sizeof(numbers))
		return reader_skip_line(reader->import, reader->lines.number, "expected a frame");
	memcpy(numbers, line.start + 2, length);
	numbers[length - 1] = ')'; /* in place of the comma */
	if (!parse_arguments((struct slice){numbers, length}, arguments, &count) || count != 4 ||
	    arguments[0] > UINT32_MAX ||
	    !async_profiler_take_string(rest.start, rest.length, false, &title)) {
		text_release(&title);
		return reader_skip_line(reader->import, reader->lines.number, "expected a frame");
	}
	node = (struct async_profiler_node){.level = (uint32_t)arguments[0],
					    .width = arguments[2],
					    .type = (uint8_t)(arguments[3] & 7)};
	err = title.failed ? -ENOMEM
			   : profile_add_frame_name(reader->import->profile,
						    title.length ? title.data : "", title.length,
						    &node.name);
	text_release(&title);
	if (err)
		return err;
	return add_node(reader, node);
}

static int read_frame(struct async_profiler_reader *reader, struct slice line)
{
	struct slice rest = {line.start + 2, line.length - 2};
	uint64_t arguments[MAX_ARGUMENTS] = {0};
	struct async_profiler_node node = {0};
	uint64_t level = reader->level;
	uint64_t width;
	size_t count;
	int err;

	if (!parse_arguments(rest, arguments, &count) ||
	    arguments[0] >> 3 >= reader->titles.names.length || (line.start[0] == 'f' && count < 3))
		return reader_skip_line(reader->import, reader->lines.number, "expected a frame");
	if (line.start[0] == 'f')
		level = arguments[1];
	else if (line.start[0] == 'u')
		level++;
	width = arguments[line.start[0] == 'f' ? 3 : 1];
	if (!width)
		width = reader->width;
	if (level > UINT32_MAX)
		return reader_skip_line(reader->import, reader->lines.number, "expected a frame");
	node.level = (uint32_t)level;
	node.type = arguments[0] & 7;
	node.width = width;
	err = async_profiler_titles_find(&reader->titles, reader->import->profile,
					 (uint32_t)(arguments[0] >> 3), &node.name);
	if (err)
		return err;
	reader->level = level;
	reader->width = width;
	return add_node(reader, node);
}

static bool is_frame(struct slice line)
{
	return line.length > 3 && line.start[1] == '(' &&
	       (line.start[0] == 'f' || line.start[0] == 'u' || line.start[0] == 'n') &&
	       line.start[2] >= '0' && line.start[2] <= '9';
}

/* const units = 'samples'; */
static struct slice find_quoted(struct slice line)
{
	const char *start = memchr(line.start, '\'', line.length);
	const char *end = memrchr(line.start, '\'', line.length);

	if (!start || end <= start)
		return (struct slice){line.start, 0};
	return (struct slice){start + 1, (size_t)(end - start) - 1};
}

/* ---- call trees ---- */

static int add_tree_root(struct async_profiler_reader *reader, uint64_t total)
{
	struct async_profiler_node node = {.width = total};
	int err = profile_add_string(reader->import->profile, "all", &node.name);

	if (err)
		return err;
	return add_node(reader, node);
}

static int add_tree_frame(struct async_profiler_reader *reader,
			  const struct async_profiler_tree_frame *frame)
{
	struct async_profiler_node node = {
		.level = reader->tree_level, .type = frame->type, .width = frame->total};
	_cleanup_(text_release) struct text name = {0};
	int err;

	if (!reader->nodes.length) {
		err = add_tree_root(reader, 0);
		if (err)
			return err;
	}
	xml_decode(&name, (struct xml_slice){frame->name.start, frame->name.length});
	if (name.failed)
		return -ENOMEM;
	err = profile_add_frame_name(reader->import->profile, name.data ? name.data : "",
				     name.length, &node.name);
	if (err)
		return err;
	reader->is_reversed = !frame->has_self;
	reader->self = frame->self;
	return add_node(reader, node);
}

/* "<li>..." replaces all callees of the frame above it: the tree is pruned at a depth. */
static void count_pruned(struct async_profiler_reader *reader)
{
	size_t count = reader->nodes.length;
	uint64_t total = count ? reader->nodes.items[count - 1].width : 0;

	if (total > reader->self)
		reader->import->counts.pruned_weight += total - reader->self;
}

static int read_tree_line(struct async_profiler_reader *reader, struct slice line)
{
	struct async_profiler_tree_frame frame;
	uint64_t total;

	if (slice_starts_with(line, "<ul")) {
		reader->tree_level++;
	} else if (slice_starts_with(line, "</ul>")) {
		reader->tree_level -= reader->tree_level > 0;
	} else if (slice_starts_with(line, "<li>...")) {
		count_pruned(reader);
	} else if (slice_starts_with(line, "<li>") || slice_starts_with(line, "<li ")) {
		if (async_profiler_tree_parse_frame(line, &frame))
			return add_tree_frame(reader, &frame);
		return reader_skip_line(reader->import, reader->lines.number, "expected a frame");
	} else if (!reader->nodes.length &&
		   async_profiler_tree_parse_total(line, &reader->units, &total)) {
		return add_tree_root(reader, total);
	} else if (line.length > 4 && slice_starts_with(line, ".t") &&
		   slice_starts_with((struct slice){line.start + 3, line.length - 3}, " {")) {
		reader->num_colors++;
	}
	return 0;
}

static int read_line(struct async_profiler_reader *reader, struct slice line)
{
	if (reader->is_tree)
		return read_tree_line(reader, line);
	if (is_frame(line))
		return reader->has_table ? read_frame(reader, line)
					 : read_plain_frame(reader, line);
	if (slice_starts_with(line, "const cpool = [")) {
		reader->has_table = true;
		return read_titles(reader);
	}
	if (slice_starts_with(line, "[0x"))
		reader->num_colors++;
	else if (slice_starts_with(line, "d="))
		reader->has_deltas = true;
	else if (slice_starts_with(line, "var reverse = true") ||
		 slice_starts_with(line, "let reverse = true"))
		reader->is_reversed = true;
	else if (slice_starts_with(line, "let inverted = true"))
		reader->is_inverted = true;
	else if (slice_starts_with(line, "const units = "))
		reader->units = find_quoted(line);
	else if (slice_starts_with(line, tree))
		reader->is_tree = true;
	return 0;
}

/* ---- stacks ---- */

/* The type by today's numbers. Before version 2.8 there were five types, and five colours. */
static unsigned int get_type(const struct async_profiler_reader *reader, unsigned int type)
{
	/* Java, inlined, kernel, C++, native; Java was compiled or not. */
	static const uint8_t old[] = {0, 2, 5, 4, 3};
	bool is_old = !reader->has_table && reader->num_colors <= ARRAY_LENGTH(old);

	return is_old && type < ARRAY_LENGTH(old) ? old[type] : type;
}

static int add_frame(struct async_profiler_reader *reader, const struct async_profiler_node *node,
		     uint32_t *stack)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {.name = node->name, .full_name = node->name};
	int err = async_profiler_set_kind(profile, get_type(reader, node->type), &frame);

	if (err)
		return err;
	return profile_extend_stack(profile, &frame, stack);
}

static bool parse_thread(const struct async_profiler_reader *reader,
			 const struct async_profiler_node *node, struct slice *ret_comm,
			 uint32_t *ret_tid)
{
	const struct profile *profile = reader->import->profile;
	struct slice name = {profile_get_string(profile, node->name),
			     profile_get_string_length(profile, node->name)};

	return node->level == 1 && async_profiler_parse_thread(name, ret_comm, ret_tid);
}

static int add_thread(struct async_profiler_reader *reader, struct async_profiler_node *node,
		      struct slice comm, uint32_t tid)
{
	struct profile *profile = reader->import->profile;
	struct thread thread = {.source = reader->import->source, .tid = tid};
	int err = string_table_add(profile_get_strings(profile), comm.start, comm.length,
				   &thread.comm);

	thread.process = profile_get_thread(profile, reader->thread)->process;
	if (err)
		return err;
	return profile_add_thread(profile, &thread, &node->thread);
}

/*
 * A node's thread and stack. With reversed stacks a node has no stack of its own yet: its frames are
 * added from the innermost one on, in make_reversed_stack().
 */
static int resolve_node(struct async_profiler_reader *reader, struct async_profiler_node *node)
{
	const struct async_profiler_node *parent = NULL;
	struct slice comm;
	uint32_t tid;

	if (node->level)
		parent = &reader->nodes.items[node->parent];
	node->thread = parent ? parent->thread : reader->thread;
	node->stack = parent ? parent->stack : STACK_EMPTY;
	if (!parent)
		return 0;
	if (parse_thread(reader, node, &comm, &tid))
		return add_thread(reader, node, comm, tid);
	return reader->is_reversed ? 0 : add_frame(reader, node, &node->stack);
}

/*
 * The stack of a node in a reversed graph: its own frame is the outermost, that of level 1 the
 * leaf. In the page stacks share their leaves, in the profile their callers: one node there is as
 * many stacks here as it is deep, and a small page could make any number of them.
 */
static int make_reversed_stack(struct async_profiler_reader *reader,
			       const struct async_profiler_node *node, uint32_t *stack)
{
	const struct async_profiler_node *nodes = reader->nodes.items;
	uint64_t max_stacks = MAX_REVERSED_STACKS + reader->import->size / 8;
	struct slice comm;
	uint32_t tid;
	int err;

	for (const struct async_profiler_node *at = node; at->level; at = &nodes[at->parent]) {
		if (++reader->num_steps > MAX_REVERSED_STEPS ||
		    profile_count_stacks(reader->import->profile) > max_stacks)
			return import_fail_line(reader->import, reader->lines.number,
						"too many or too deep reversed stacks");
		if (!parse_thread(reader, at, &comm, &tid)) {
			err = add_frame(reader, at, stack);
			if (err)
				return err;
		}
	}
	return 0;
}

static int add_sample(struct async_profiler_reader *reader, struct async_profiler_node *node)
{
	int err = resolve_node(reader, node);
	uint32_t stack = node->stack;

	if (err || node->children >= node->width)
		return err;
	/* Weight of the root without a frame above it was in frames too narrow to be drawn. */
	if (!node->level) {
		reader->import->counts.pruned_weight += node->width - node->children;
		err = add_frame(reader, node, &stack);
	} else if (reader->is_reversed) {
		err = make_reversed_stack(reader, node, &stack);
	}
	if (err)
		return err;
	return reader_add_sample(reader->import, 0, node->thread, stack, reader->metric,
				 node->width - node->children);
}

static bool is_thread_start(const char *name)
{
	static const char *const starts[] = {"start_thread",
					     "thread_start",
					     "clone",
					     "clone3",
					     "_start",
					     "__libc_start_main",
					     "main",
					     "java/lang/Thread.run",
					     "java.lang.Thread.run"};

	for (size_t i = 0; i < ARRAY_LENGTH(starts); i++)
		if (string_equals(name, starts[i]))
			return true;
	return string_ends_with(name, ".main");
}

/* Whether at least half of the weight is in outermost frames that threads start with. */
static bool starts_with_thread_starts(const struct async_profiler_reader *reader)
{
	uint64_t known = 0;
	uint64_t all = 0;
	struct slice comm;
	uint32_t tid;

	for (size_t i = 1; i < reader->nodes.length; i++) {
		const struct async_profiler_node *node = &reader->nodes.items[i];
		const struct async_profiler_node *parent = &reader->nodes.items[node->parent];

		if (node->level == 1
			    ? parse_thread(reader, node, &comm, &tid)
			    : node->level != 2 || !parse_thread(reader, parent, &comm, &tid))
			continue;
		all += node->width / 2; /* halves, which cannot overflow */
		if (is_thread_start(profile_get_string(reader->import->profile, node->name)))
			known += node->width / 2;
	}
	return known >= all / 2;
}

static void decide_direction(struct async_profiler_reader *reader)
{
	if (!reader->is_inverted)
		return;
	reader->is_reversed = !starts_with_thread_starts(reader);
	import_warn(reader->import, "unknown whether the stacks are reversed; reading them as %s",
		    reader->is_reversed ? "reversed" : "drawn upside down only");
}

static int add_metric(struct async_profiler_reader *reader)
{
	/* A call tree has "counter" for any kind of values, where a flame graph has a unit. */
	static const char *const metrics[][3] = {
		{"ns", "time", "nanoseconds"},
		{"bytes", "bytes", "bytes"},
		{"counter", "counter", "count"},
	};
	const char *const samples[] = {"", "samples", "count"};
	const char *const *metric = samples;

	for (size_t i = 0; i < ARRAY_LENGTH(metrics); i++)
		if (slice_equals(reader->units, metrics[i][0]))
			metric = metrics[i];
	return profile_add_metric(reader->import->profile, metric[1], metric[2], &reader->metric);
}

static int add_samples(struct async_profiler_reader *reader)
{
	int err = add_metric(reader);

	if (err)
		return err;
	/* A tree whose root lacks the total of all. */
	if (reader->is_tree && reader->nodes.items[0].width < reader->nodes.items[0].children)
		reader->nodes.items[0].width = reader->nodes.items[0].children;
	err = reader_add_anonymous_thread(reader->import, &reader->thread);
	if (err)
		return err;
	decide_direction(reader);
	for (uint32_t id = 0; id < reader->nodes.length; id++) {
		err = add_sample(reader, &reader->nodes.items[id]);
		if (err)
			return err;
	}
	if (reader->is_tree && reader->import->counts.pruned_weight)
		import_warn(reader->import,
			    "%.2f %% of the weight is in frames that the page omits; it counts for "
			    "their callers",
			    100.0 * (double)reader->import->counts.pruned_weight /
				    (double)reader->nodes.items[0].width);
	if (reader->has_deltas)
		import_warn(reader->import, "ignoring the difference column");
	return 0;
}

static int read_page(struct async_profiler_reader *reader)
{
	struct import *import = reader->import;
	struct slice page = {reader->lines.next, import->size};
	struct slice line;
	int err = 0;

	if (slice_contains(page, ASYNC_PROFILER_HEATMAP_MARK))
		return async_profiler_read_heatmap(import);
	while (take_line(reader, &line)) {
		err = read_line(reader, line);
		if (err)
			return err;
	}
	if (!reader->nodes.length)
		return import_fail_line(import, reader->lines.number ? reader->lines.number : 1,
					"expected a flame graph of async-profiler");
	return add_samples(reader);
}

static int read_async_profiler(struct import *import)
{
	struct async_profiler_reader reader = {.import = import,
					       .lines = lines_of(import->data, import->size)};
	int err = read_page(&reader);

	async_profiler_titles_release(&reader.titles);
	array_release(&reader.nodes);
	array_release(&reader.path);
	return err;
}

static enum detection detect(const uint8_t *data, size_t size)
{
	struct slice page = {(const char *)data, size < DETECTION_BYTES ? size : DETECTION_BYTES};

	if (!slice_contains(page, "<html"))
		return DETECTED_NOT;
	return slice_contains(page, version_2) || slice_contains(page, version_3) ||
			       slice_contains(page, tree_script) ||
			       slice_contains(page, ASYNC_PROFILER_HEATMAP_MARK)
		       ? DETECTED_SURE
		       : DETECTED_NOT;
}

const struct format format_async_profiler = {
	.name = "async-profiler",
	.extension = "",
	.summary = "HTML of async-profiler: flame graphs, call trees, heat maps",
	.producers = "async-profiler 2.0, 3.0 and 4.5",
	.detect = detect,
	.read = read_async_profiler,
};
