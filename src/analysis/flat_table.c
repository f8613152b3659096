#include "analysis/flat_table.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

struct function {
	uint32_t name;
	uint32_t module;
	uint64_t self;
	uint64_t total;
	uint32_t last_sample; /* that was counted into total, plus 1 */
};

struct builder {
	const struct profile *profile;
	ARRAY(struct function) functions;
	struct hash_index index;
};

static bool is_function(const void *owner, uint32_t item, const void *key)
{
	const struct builder *builder = owner;
	const struct frame *frame = key;

	return builder->functions.items[item].name == frame->name &&
	       builder->functions.items[item].module == frame->module;
}

static struct function *get_function(struct builder *builder, const struct frame *frame)
{
	uint64_t hash = hash_mix(hash_mix(0, frame->name), frame->module);
	uint32_t item = hash_index_find(&builder->index, hash, is_function, builder, frame);
	struct function *function;

	if (item != HASH_INDEX_NONE)
		return &builder->functions.items[item];
	function = array_add(&builder->functions);
	if (!function)
		return NULL;
	function->name = frame->name;
	function->module = frame->module;
	item = (uint32_t)(builder->functions.length - 1);
	return hash_index_add(&builder->index, hash, item) ? NULL : function;
}

static int count_sample(struct builder *builder, uint32_t sample_id)
{
	const struct sample *sample = profile_get_sample(builder->profile, sample_id);
	bool is_leaf = true;

	for (uint32_t stack = sample->stack; stack != STACK_EMPTY;
	     stack = profile_get_stack_parent(builder->profile, stack)) {
		const struct location *location = profile_get_location(
			builder->profile, profile_get_stack_location(builder->profile, stack));

		for (uint32_t i = 0; i < location->num_frames; i++) {
			struct function *function =
				get_function(builder, profile_get_frame(builder->profile,
									location->first_frame + i));

			if (!function)
				return -ENOMEM;
			if (is_leaf)
				function->self += sample->value;
			if (function->last_sample != sample_id + 1)
				function->total += sample->value;
			function->last_sample = sample_id + 1;
			is_leaf = false;
		}
	}
	return 0;
}

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

static int make_rows(struct flat_table *table, const struct builder *builder)
{
	size_t count = builder->functions.length;

	table->rows = calloc(count ? count : 1, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	table->num_rows = count;
	for (size_t i = 0; i < count; i++) {
		const struct function *function = &builder->functions.items[i];

		table->rows[i] = (struct flat_row){
			.function = profile_get_string(builder->profile, function->name),
			.module = profile_get_string(builder->profile, function->module),
			.self = function->self,
			.total = function->total,
		};
	}
	qsort(table->rows, count, sizeof(*table->rows), compare_self);
	return 0;
}

int flat_table_init(struct flat_table *table, const struct profile *profile, uint32_t metric)
{
	struct builder builder = {.profile = profile};
	int err = 0;

	*table = (struct flat_table){0};
	for (uint32_t i = 0; !err && i < profile_count_samples(profile); i++) {
		if (profile_get_sample(profile, i)->metric != metric)
			continue;
		err = count_sample(&builder, i);
		table->sum += profile_get_sample(profile, i)->value;
	}
	if (!err)
		err = make_rows(table, &builder);
	array_release(&builder.functions);
	hash_index_release(&builder.index);
	return err;
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
