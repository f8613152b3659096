/*
 * Filters are those of the command line, so that a page and a report with the same filters show the
 * same samples. Only ranges of time are the viewer's own. A search uses such a filter, too: it
 * finds exactly those that the filter would keep.
 */
#include "viewer/filters.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "viewer/times.h"

struct filter_list {
	ARRAY(struct filter *) items;
};

static void release_list(struct filter_list *list)
{
	array_for_each (&list->items, filter)
		filter_free(*filter);
	array_release(&list->items);
}

/* "+KIND:PATTERN" */
static int add_filter(struct filter_list *list, const char *line, size_t length,
		      struct error *error)
{
	_cleanup_free_ char *text = strndup(line, length);
	struct filter **added;

	if (!text)
		return -ENOMEM;
	if (text[0] != '+' && text[0] != '-')
		return error_set(error, -EINVAL, "the filter '%.200s' has no sign", text);
	added = array_add(&list->items);
	return added ? filter_new(text + 1, text[0] == '-', added, error) : -ENOMEM;
}

/* Each filter is a line, since a pattern may contain any character except a newline. */
int filters_apply(const struct frame_tree *tree, const char *filters, struct selection *ret,
		  struct error *error)
{
	_cleanup_(release_list) struct filter_list list = {0};
	size_t length;

	for (; *filters; filters += length + (filters[length] == '\n')) {
		int err;

		length = strcspn(filters, "\n");
		if (!length || times_is_filter(filters, length))
			continue;
		err = add_filter(&list, filters, length, error);
		if (err)
			return err;
	}
	return selection_init(ret, tree, list.items.items, list.items.length);
}

#define ALL_MARKS 0xff

/* Frames of one name may have several marks; the pattern may match any of them. */
static uint8_t match_name(const struct filter *filter, const char *name, uint8_t marks)
{
	uint8_t found = 0;

	if (filter_matches_function(filter, name, ""))
		return ALL_MARKS;
	for (uint8_t mark = 0; mark < NUM_FRAME_MARKS; mark++)
		if (marks >> mark & 1 &&
		    filter_matches_function(filter, name, frame_mark_get_text(mark)))
			found |= (uint8_t)(1u << mark);
	return found;
}

int filters_match_symbols(const struct graph *graph, const char *pattern, uint8_t *ret_marks,
			  struct error *error)
{
	_cleanup_(text_release) struct text text = {0};
	struct filter *filter;
	int err;

	text_append_string(&text, "function:");
	text_append_string(&text, pattern);
	if (text.failed)
		return -ENOMEM;
	err = filter_new(text.data, false, &filter, error);
	if (err)
		return err;
	memset(ret_marks, 0, graph->num_symbols);
	for (uint32_t i = 1; i < graph->num_nodes; i++)
		ret_marks[graph_get_symbol(graph, i)] |= graph_get_marks(graph, i);
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		ret_marks[i] = match_name(filter, graph_get_symbol_name(graph, i), ret_marks[i]);
	filter_free(filter);
	return 0;
}
