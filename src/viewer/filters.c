/*
 * Filters are those of the command line, so that a page and a report with the same filters show the
 * same samples; only ranges of time are the viewer's own. A search, on the other hand, drops
 * nothing: it is for eyes, and therefore ignores letter case and finds parts of names.
 */
#include "viewer/filters.h"

#include <errno.h>
#include <regex.h>
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

/* One filter a line, for a pattern may hold anything but a line's end. */
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

static int match_expression(const struct graph *graph, const char *text, uint8_t *is_match,
			    struct error *error)
{
	regex_t regex;
	struct error bounds = {0};
	char reason[128];
	int failure;

	if (regex_check_bounds(text, &bounds))
		return error_set(error, -EINVAL, "the expression '%.200s' is too large: %s", text,
				 bounds.message);
	failure = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_ICASE);
	if (failure) {
		regerror(failure, &regex, reason, sizeof(reason));
		return error_set(error, -EINVAL, "the expression '%.200s' is wrong: %s", text,
				 reason);
	}
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		is_match[i] = regexec(&regex, graph_get_symbol_name(graph, i), 0, NULL, 0) == 0;
	regfree(&regex);
	return 0;
}

int filters_match_symbols(const struct graph *graph, const char *text, bool is_regex,
			  uint8_t *is_match, struct error *error)
{
	if (is_regex)
		return match_expression(graph, text, is_match, error);
	for (uint32_t i = 0; i < graph->num_symbols; i++)
		is_match[i] = strcasestr(graph_get_symbol_name(graph, i), text) != NULL;
	return 0;
}
