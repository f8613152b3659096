/*
 * Folded stacks: one line a stack, frames joined by `;`, a space, the weight. Lines are
 * sorted bytewise by stack.
 *
 * Written straight from the call tree. Below one node there are, for every child, up to two
 * things to write: the line of the stack that ends there, which sorts as the label, and the lines
 * of the stacks that go on, which sort as the label and `;`. ("a b" stands between "a" and "a;x".)
 * Sorting these things level by level therefore sorts all lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "formats/format.h"

struct item {
	const char *label;
	size_t length;
	uint32_t node;
	bool goes_on;         /* the stacks below the node, not the one that ends at it */
	size_t prefix_length; /* of the line: what stands before the label */
};

struct writer {
	const struct call_tree *tree;
	const struct sink *sink;
	ARRAY(struct item) items; /* a stack of work; the next one to write is the last */
	struct text line;         /* the stack down to the node that is being written */
	struct text output;
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left;
	const struct item *b = right;
	size_t common = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->label, b->label, common);
	int next_a = a->length > common ? (unsigned char)a->label[common] : a->goes_on ? ';' : -1;
	int next_b = b->length > common ? (unsigned char)b->label[common] : b->goes_on ? ';' : -1;

	return order ? order : next_a - next_b;
}

/* Put what is to be written below a node onto the work stack, the last in order first. */
static int push_children(struct writer *writer, uint32_t parent)
{
	size_t first = writer->items.length;

	for (uint32_t node = call_tree_get_first_child(writer->tree, parent);
	     node != CALL_TREE_NONE; node = call_tree_get_next_sibling(writer->tree, node)) {
		for (int goes_on = 0; goes_on <= 1; goes_on++) {
			struct item *item;

			if (goes_on ? !call_tree_get_first_child(writer->tree, node)
				    : !call_tree_has_samples(writer->tree, node))
				continue;
			item = array_add(&writer->items);
			if (!item)
				return -ENOMEM;
			item->label = call_tree_get_label(writer->tree, node, &item->length);
			item->node = node;
			item->goes_on = goes_on;
			item->prefix_length = writer->line.length;
		}
	}
	if (writer->items.length == first)
		return 0;
	qsort(writer->items.items + first, writer->items.length - first, sizeof(struct item),
	      compare_items);
	for (size_t a = first, b = writer->items.length; a + 1 < b; a++) {
		struct item held = writer->items.items[a];

		writer->items.items[a] = writer->items.items[--b];
		writer->items.items[b] = held;
	}
	return 0;
}

static int write_item(struct writer *writer, const struct item *item)
{
	text_truncate(&writer->line, item->prefix_length);
	text_append(&writer->line, item->label, item->length);
	if (item->goes_on) {
		text_append_char(&writer->line, ';');
		return writer->line.failed ? -ENOMEM : push_children(writer, item->node);
	}
	text_append(&writer->output, writer->line.data, writer->line.length);
	text_printf(&writer->output, " %" PRIu64 "\n",
		    call_tree_get_self(writer->tree, item->node));
	return writer->line.failed ? -ENOMEM : sink_drain(writer->sink, &writer->output);
}

static int write_tree(struct writer *writer)
{
	int err = push_children(writer, CALL_TREE_ROOT);

	while (!err && writer->items.length) {
		struct item item = writer->items.items[--writer->items.length];

		err = write_item(writer, &item);
	}
	return err ? err : sink_flush(writer->sink, &writer->output);
}

static int write_folded(const struct profile *profile, const struct format_opts *opts,
			const struct sink *sink)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	int err = call_tree_new(profile, &opts->tree, &tree);
	struct writer writer = {.tree = tree, .sink = sink};

	if (!err)
		err = write_tree(&writer);
	array_release(&writer.items);
	text_release(&writer.line);
	text_release(&writer.output);
	return err;
}

const struct format format_folded = {
	.name = "folded",
	.extension = ".folded",
	.summary = "one line a stack: frames joined by ';', then the number of samples",
	.write = write_folded,
};
