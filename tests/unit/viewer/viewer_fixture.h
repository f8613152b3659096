/*
 * A session with folded text in it, and what it answers as short texts.
 */
#ifndef VIEWER_FIXTURE_H
#define VIEWER_FIXTURE_H

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "viewer/session.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static inline uint32_t fixture_open(struct session *session, const char *name, const char *folded)
{
	struct error error = {0};
	uint32_t source;
	int err = session_import(session,
				 &(struct session_input){name, folded, strlen(folded), "folded"},
				 &source, &error);

	assert_string_equal(error.message, "");
	assert_int_equal(err, 0);
	return source;
}

static inline struct session *fixture_new(const char *folded)
{
	struct session *session = session_new();

	assert_non_null(session);
	fixture_open(session, "a.folded", folded);
	return session;
}

/* fragment  frames joined by `;`, or NULL; filters as in filters.h */
static inline void fixture_query(struct session *session, const char *fragment,
				 enum flame_direction direction, const char *filters)
{
	struct session_query query = {
		.baseline_metric = METRIC_NONE,
		.filters = filters,
		.direction = direction,
		.order = FLAME_BY_NAME,
	};
	uint32_t symbols[16];
	struct error error = {0};

	assert_int_equal(session_prepare(session, TREE_ROOT_COMM), 0);
	while (fragment && *fragment) {
		size_t length = strcspn(fragment, ";");
		uint32_t symbol =
			graph_find_symbol(session_get_graph(session), fragment, length, false);

		assert_int_not_equal(symbol, SYMBOL_NONE);
		symbols[query.fragment_length++] = symbol;
		fragment += length + (fragment[length] == ';');
	}
	query.fragment = symbols;
	assert_int_equal(session_query(session, &query, &error), 0);
}

/* The children of the fragment: "main 8,b 3". The caller frees. */
static inline char *fixture_list(struct session *session, enum flame_direction direction)
{
	struct flame *flame = session_get_flame(session, direction);
	struct text text = {0};
	const struct flame_node *top;

	assert_non_null(flame);
	assert_int_equal(flame_expand(flame, flame_get_top(flame)), 0);
	top = flame_get_node(flame, flame_get_top(flame));
	text_append_string(&text, "");
	for (uint32_t i = 0; i < top->num_children; i++) {
		const struct flame_node *node = flame_get_node(flame, top->first_child + i);

		text_printf(&text, "%s%s %" PRIu64, i ? "," : "",
			    graph_get_symbol_name(session_get_graph(session), node->symbol),
			    node->total);
	}
	assert_false(text.failed);
	return text.data;
}

static inline const struct flame_node *fixture_top(struct session *session,
						   enum flame_direction direction)
{
	struct flame *flame = session_get_flame(session, direction);

	assert_non_null(flame);
	return flame_get_node(flame, flame_get_top(flame));
}

#endif
