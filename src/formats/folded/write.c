/*
 * Folded stacks: one line a stack, frames joined by `;`, a space, the weight. Lines are
 * sorted bytewise by stack. The differential kind has two weights, before and after.
 *
 * Sorting all lines would need all of them in memory. They are written in order straight from the
 * call tree instead, whose nodes have their children in order of labels. Every child of a node has
 * up to two things to write: the line of the stack that ends there, which sorts as the label, and
 * the lines of its callees, which sort as the label and `;`. Siblings with longer labels may sort
 * between the two, since ' ' is below ';': "a", "a b", "a;x". A child's callees therefore wait
 * until such siblings are done.
 */
#include "formats/folded/write.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* " 12 34" and the line's end. */
#define MAX_WEIGHTS_BYTES (2 * (1 + NUMBER_MAX_DIGITS) + 1)

/* A child whose own line is written, and whose callees are not. */
struct waiting {
	uint32_t node;
	const char *label;
	size_t label_length;
};

/* A node whose children are being written. */
struct folded_level {
	uint32_t next;        /* child; CALL_TREE_NONE after the last */
	size_t num_waiting;   /* children of levels further out that wait */
	size_t prefix_length; /* of the line, before the children's labels */
};

struct folded_writer {
	const struct call_tree *tree;
	const struct sink *sink;
	bool is_comparison;
	uint64_t divisor; /* of weights */
	bool has_lines;
	ARRAY(struct folded_level) levels; /* outermost first */
	ARRAY(struct waiting) waiting;     /* of all levels */
	struct text line;                  /* the stack down to the node that is being written */
	struct text output;
};

static int enter(struct folded_writer *writer, uint32_t node)
{
	struct folded_level *level = array_add(&writer->levels);

	if (!level || writer->line.failed)
		return -ENOMEM;
	*level = (struct folded_level){
		.next = call_tree_get_first_child(writer->tree, node),
		.num_waiting = writer->waiting.length,
		.prefix_length = writer->line.length,
	};
	return 0;
}

/* Whether "waiting;" sorts before the label, which is known to sort after "waiting". */
static bool goes_before(const struct waiting *waiting, const char *label, size_t length)
{
	return length <= waiting->label_length ||
	       (unsigned char)label[waiting->label_length] > ';' ||
	       memcmp(label, waiting->label, waiting->label_length) != 0;
}

/*
 * Readers drop a byte order mark at the start of a file: a frame that starts with one needs a
 * second one.
 */
static bool starts_with_mark(const struct folded_writer *writer, const char *label, size_t length)
{
	const char *start = writer->line.length ? writer->line.data : label;
	size_t size = writer->line.length ? writer->line.length : length;

	return size >= strlen(BYTE_ORDER_MARK) &&
	       memcmp(start, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0;
}

static char *put_weight(const struct folded_writer *writer, char *end, uint64_t weight)
{
	*end++ = ' ';
	return number_print(end, writer->divisor == 1 ? weight : weight / writer->divisor);
}

static int write_line(struct folded_writer *writer, uint32_t node, const char *label, size_t length)
{
	const struct text *line = &writer->line;
	struct text *output = &writer->output;
	char *end;

	if (!writer->has_lines && starts_with_mark(writer, label, length))
		text_append_string(output, BYTE_ORDER_MARK);
	writer->has_lines = true;
	end = text_extend(output, line->length + length + MAX_WEIGHTS_BYTES);
	if (!end)
		return -ENOMEM;
	if (line->length)
		end = mempcpy(end, line->data, line->length);
	end = mempcpy(end, label, length);
	if (writer->is_comparison)
		end = put_weight(writer, end, call_tree_get_baseline(writer->tree, node));
	end = put_weight(writer, end, call_tree_get_self(writer->tree, node));
	*end++ = '\n';
	text_end_at(output, end);
	return sink_drain(writer->sink, output);
}

/* Take a step at the innermost level: write the next child's line, or enter a waiting child. */
static int write_next(struct folded_writer *writer)
{
	struct folded_level *level = &writer->levels.items[writer->levels.length - 1];
	uint32_t node = level->next;
	struct waiting *waiting = NULL;
	const char *label = NULL;
	size_t length = 0;

	text_truncate(&writer->line, level->prefix_length);
	if (node != CALL_TREE_NONE)
		label = call_tree_get_label(writer->tree, node, &length);
	if (writer->waiting.length > level->num_waiting)
		waiting = &writer->waiting.items[writer->waiting.length - 1];
	if (waiting && (node == CALL_TREE_NONE || goes_before(waiting, label, length))) {
		char *end = text_extend(&writer->line, waiting->label_length + 1);

		if (!end)
			return -ENOMEM;
		end = mempcpy(end, waiting->label, waiting->label_length);
		*end++ = ';';
		text_end_at(&writer->line, end);
		writer->waiting.length--;
		return enter(writer, waiting->node);
	}
	if (node == CALL_TREE_NONE) {
		writer->levels.length--;
		return 0;
	}
	level->next = call_tree_get_next_sibling(writer->tree, node);
	if (call_tree_get_first_child(writer->tree, node) != CALL_TREE_NONE) {
		waiting = array_add(&writer->waiting);
		if (!waiting)
			return -ENOMEM;
		*waiting = (struct waiting){node, label, length};
	}
	return call_tree_has_samples(writer->tree, node) ? write_line(writer, node, label, length)
							 : 0;
}

static void folded_writer_release(struct folded_writer *writer)
{
	array_release(&writer->levels);
	array_release(&writer->waiting);
	text_release(&writer->line);
	text_release(&writer->output);
}

static int write_tree(const struct profile *profile, const struct call_tree_opts *opts,
		      uint64_t divisor, const struct sink *sink)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	_cleanup_(folded_writer_release) struct folded_writer writer = {
		.sink = sink, .is_comparison = opts->has_baseline, .divisor = divisor};
	int err = call_tree_new(profile, opts, &tree);

	if (err)
		return err;
	writer.tree = tree;
	err = enter(&writer, CALL_TREE_ROOT);
	if (err)
		return err;
	while (writer.levels.length) {
		err = write_next(&writer);
		if (err)
			return err;
	}
	return sink_flush(sink, &writer.output);
}

static bool is_time(const struct profile *profile, uint32_t metric)
{
	return string_equals(format_get_metric_unit(profile, metric), "nanoseconds");
}

/* tree: the options of the output. Both weights of a comparison are divided, or neither. */
static uint64_t get_divisor(const struct profile *profile, const struct format_opts *opts,
			    const struct call_tree_opts *tree)
{
	if (!opts->folds_microseconds || !is_time(profile, tree->metric))
		return 1;
	if (tree->has_baseline && tree->baseline != METRIC_NONE &&
	    !is_time(profile, tree->baseline))
		return 1;
	return 1000;
}

static int write_folded(const struct profile *profile, const struct format_opts *opts,
			const struct sink *sink)
{
	struct call_tree_opts tree = opts->tree;

	tree.has_baseline = false;
	return write_tree(profile, &tree, get_divisor(profile, opts, &tree), sink);
}

/* Microseconds, as other tools write them. */
static int write_offwake(const struct profile *profile, const struct format_opts *opts,
			 const struct sink *sink)
{
	struct call_tree_opts tree = opts->tree;

	tree.has_baseline = false;
	tree.metric = profile_find_metric(profile, METRIC_OFFWAKE);
	if (tree.metric == METRIC_NONE)
		return 0;
	return write_tree(profile, &tree, is_time(profile, tree.metric) ? 1000 : 1, sink);
}

/* A profile without a comparison is written as if all of it was new: 0 before. */
static int write_diff_folded(const struct profile *profile, const struct format_opts *opts,
			     const struct sink *sink)
{
	struct call_tree_opts tree = opts->tree;
	uint32_t before = profile_find_metric(profile, METRIC_BEFORE);
	uint32_t after = profile_find_metric(profile, METRIC_AFTER);

	if (!tree.has_baseline && before != METRIC_NONE && after != METRIC_NONE) {
		tree.metric = after;
		tree.baseline = before;
	} else if (!tree.has_baseline) {
		tree.baseline = METRIC_NONE;
	}
	tree.has_baseline = true;
	return write_tree(profile, &tree, get_divisor(profile, opts, &tree), sink);
}

/*
 * Detected only by its name: "a;b 5 12" may as well be a plain line whose last frame is "b 5", and
 * frames called "--" are no proof of anything.
 */
static enum detection detect_by_name(const uint8_t *data _unused_, size_t size _unused_)
{
	return DETECTED_BY_NAME;
}

const struct format format_folded = {
	.name = "folded",
	.extension = ".folded",
	.summary = "one line per stack: frames joined by ';', then a count",
	.producers = "stackcollapse-perf.pl, async-profiler 4.5",
	.write = write_folded,
	.detect = folded_detect,
	.read = folded_read,
};

const struct format format_diff_folded = {
	.name = "diff.folded",
	.extension = ".diff.folded",
	.summary = "folded with two counts: before and after",
	.holds_comparison = true,
	.write = write_diff_folded,
	.detect = diff_folded_detect,
	.read = diff_folded_read,
};

const struct format format_offwake = {
	.name = "offwake",
	.extension = ".offwake.folded",
	.summary = "blocked stack, '--', waker's stack; in microseconds",
	.metric = METRIC_OFFWAKE,
	.write = write_offwake,
	.detect = detect_by_name,
	.read = offwake_read,
};
