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

int filters_apply(const struct frame_tree *tree, const char *filters, struct selection *ret,
		  struct error *error)
{
	_cleanup_(release_list) struct filter_list list = {0};
	int err = 0;

	while (!err && *filters) {
		size_t length = strcspn(filters, "\n");

		if (length && !times_is_filter(filters, length))
			err = add_filter(&list, filters, length, error);
		filters += length + (filters[length] == '\n');
	}
	return err ? err : selection_init(ret, tree, list.items.items, list.items.length);
}

static int match_expression(const struct graph *graph, const char *text, uint8_t *is_match,
			    struct error *error)
{
	regex_t regex;
	int failure = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_ICASE);
	char reason[128];

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
