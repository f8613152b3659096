#include "analysis/flat_table.h"

#include <errno.h>
#include <string.h>

#include "analysis/function_list.h"

/*
 * Names decide last, so that the same profile gives the same table: qsort() alone promises no order
 * of equal rows.
 */
static int compare_names(const struct flat_row *a, const struct flat_row *b)
{
	int order = strcmp(a->function, b->function);

	return order ? order : strcmp(a->module, b->module);
}

static int compare_self(const void *left, const void *right)
{
	const struct flat_row *a = left;
	const struct flat_row *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return compare_names(a, b);
}

static int compare_total(const void *left, const void *right)
{
	const struct flat_row *a = left;
	const struct flat_row *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return compare_names(a, b);
}

/* Functions in no selected sample get no row; functions in samples of weight 0 do. */
static int make_rows(struct flat_table *table, const struct function_list *list,
		     const struct function_weight *weights)
{
	table->rows = calloc(list->num_functions + 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < list->num_functions; i++) {
		if (!weights[i].occurs)
			continue;
		table->rows[table->num_rows++] = (struct flat_row){
			.function = list->functions[i].name,
			.function_length = list->functions[i].name_length,
			.module = list->functions[i].module,
			.self = weights[i].self,
			.total = weights[i].total,
		};
	}
	qsort(table->rows, table->num_rows, sizeof(*table->rows), compare_self);
	return 0;
}

static int weigh(struct flat_table *table, const struct function_list *list, uint32_t metric,
		 const struct selection *selection)
{
	_cleanup_free_ struct function_weight *weights =
		calloc(list->num_functions, sizeof(*weights));
	int err;

	if (!weights)
		return -ENOMEM;
	err = function_list_weigh(list, metric, selection, weights, &table->sum);
	if (err)
		return err;
	return make_rows(table, list, weights);
}

int flat_table_init(struct flat_table *table, const struct frame_tree *tree, uint32_t metric,
		    const struct selection *selection)
{
	_cleanup_(function_list_release) struct function_list list;
	int err = function_list_init(&list, tree, false);

	*table = (struct flat_table){0};
	if (err)
		return err;
	return weigh(table, &list, metric, selection);
}

int flat_table_init_profile(struct flat_table *table, const struct profile *profile,
			    uint32_t metric)
{
	_cleanup_(frame_tree_release) struct frame_tree tree;
	int err = frame_tree_init(&tree, profile);

	*table = (struct flat_table){0};
	if (err)
		return err;
	return flat_table_init(table, &tree, metric, NULL);
}

int flat_table_add_row(struct flat_table *table, const char *name, uint64_t weight)
{
	struct flat_row *rows = reallocarray(table->rows, table->num_rows + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	if (__builtin_add_overflow(table->sum, weight, &table->sum))
		return -EOVERFLOW;
	rows[table->num_rows++] = (struct flat_row){
		.function = name,
		.function_length = strlen(name),
		.module = "",
		.self = weight,
		.total = weight,
	};
	qsort(rows, table->num_rows, sizeof(*rows), compare_self);
	return 0;
}

void flat_table_release(struct flat_table *table)
{
	free(table->rows);
	*table = (struct flat_table){0};
}

void flat_table_sort_by_total(struct flat_table *table)
{
	qsort(table->rows, table->num_rows, sizeof(*table->rows), compare_total);
}
