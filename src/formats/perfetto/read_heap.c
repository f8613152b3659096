/*
 * Reading Perfetto traces: heap profiles, which heapprofd takes. A dump says what each stack has
 * allocated and freed since the beginning, so that the last one holds all.
 *
 * The metrics are called as Go calls them, whose heap profiles tell the same.
 */
#include <errno.h>

#include "formats/perfetto/read.h"

enum heap_field {
	HEAP_CALLSTACK = 1,
	HEAP_ALLOCATED = 2,
	HEAP_FREED = 3,
	HEAP_NUM_ALLOCATED = 5,
	HEAP_NUM_FREED = 6,
	HEAP_MAX = 8, /* where the producer was told to tell of the greatest heap only */
	HEAP_NUM_MAX = 9,
	NUM_HEAP_FIELDS = 10,
};

struct heap_metric {
	const char *name;
	const char *unit;
	enum heap_field field;
	enum heap_field freed; /* HEAP_CALLSTACK: none */
};

static const struct heap_metric metrics[] = {
	{"inuse_space", "bytes", HEAP_ALLOCATED, HEAP_FREED},
	{"inuse_objects", "count", HEAP_NUM_ALLOCATED, HEAP_NUM_FREED},
	{"alloc_space", "bytes", HEAP_ALLOCATED, HEAP_CALLSTACK},
	{"alloc_objects", "count", HEAP_NUM_ALLOCATED, HEAP_CALLSTACK},
	{"max_space", "bytes", HEAP_MAX, HEAP_CALLSTACK},
	{"max_objects", "count", HEAP_NUM_MAX, HEAP_CALLSTACK},
};

#define NUM_METRICS (sizeof(metrics) / sizeof(metrics[0]))
/* What is not malloc's goes under its own name. */
#define USUAL_HEAP "libc.malloc"
/* Of one trace. */
#define MAX_HEAPS 16

static uint64_t hash_stack(const struct perfetto_heap_stack *stack)
{
	return hash_mix(hash_mix(stack->pid, stack->heap), stack->stack);
}

static bool is_stack(const void *owner, uint32_t item, const void *key)
{
	const struct perfetto_heap_stack *stack =
		&((const struct perfetto_heaps *)owner)->stacks.items[item];
	const struct perfetto_heap_stack *wanted = key;

	return stack->pid == wanted->pid && stack->heap == wanted->heap &&
	       stack->stack == wanted->stack;
}

static struct perfetto_heap_stack *find_stack(struct perfetto_heaps *heaps,
					      const struct perfetto_heap_stack *key)
{
	uint32_t found = hash_index_find(&heaps->index, hash_stack(key), is_stack, heaps, key);
	struct perfetto_heap_stack *added;

	if (found != HASH_INDEX_NONE)
		return &heaps->stacks.items[found];
	found = (uint32_t)heaps->stacks.length;
	added = array_add(&heaps->stacks);
	if (!added || hash_index_add(&heaps->index, hash_stack(key), found))
		return NULL;
	*added = *key;
	return added;
}

/* Frees of more than there was: what was allocated before the profile began. */
static uint64_t get_value(const struct heap_metric *metric, const uint64_t *fields)
{
	uint64_t freed = metric->freed == HEAP_CALLSTACK ? 0 : fields[metric->freed];

	return fields[metric->field] > freed ? fields[metric->field] - freed : 0;
}

static int read_sample(struct perfetto_heaps *heaps, const struct perfetto_packet *packet,
		       struct perfetto_heap_stack *key, struct bytes message)
{
	uint64_t fields[NUM_HEAP_FIELDS] = {0};
	struct perfetto_heap_stack *stack;
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (field.type == PROTOBUF_VARINT && field.number < NUM_HEAP_FIELDS)
			fields[field.number] = field.value;
	if (!perfetto_has_room(heaps->trace, heaps->stacks.length, 32))
		return 0;
	key->stack = perfetto_samples_find_stack(heaps->samples, packet->sequence,
						 fields[HEAP_CALLSTACK]);
	stack = find_stack(heaps, key);
	if (!stack)
		return -ENOMEM;
	_Static_assert(NUM_METRICS == sizeof(stack->values) / sizeof(stack->values[0]),
		       "a value for each metric");
	/* Stacks of several numbers may be equal, and are summed up. */
	for (size_t i = 0; i < NUM_METRICS; i++) {
		uint64_t value = get_value(&metrics[i], fields);

		if (stack->dump != heaps->num_dumps)
			stack->values[i] = value;
		else if (__builtin_add_overflow(stack->values[i], value, &stack->values[i]))
			return import_fail_byte(heaps->trace->import, heaps->trace->offset,
						"the weights of a stack exceed 64 bits");
	}
	stack->dump = heaps->num_dumps;
	return 0;
}

/* Of one process and heap. */
static int read_dump(struct perfetto_heaps *heaps, const struct perfetto_packet *packet,
		     struct bytes message)
{
	struct perfetto_heap_stack key = {.time_ns = packet->time_ns};
	struct bytes rest = message;
	struct protobuf_field field;
	bool is_cut = false;
	int err = 0;

	while (!err && protobuf_next(&rest, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			key.pid = (uint32_t)field.value;
		else if (field.number == 11 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(heaps->trace, field.body, &key.heap);
		else if ((field.number == 4 || field.number == 7 || field.number == 8) &&
			 field.type == PROTOBUF_VARINT) /* rejected, overrun, corrupted */
			is_cut |= field.value != 0;
	}
	heaps->num_cut += is_cut;
	while (!err && protobuf_next(&message, &field))
		if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = read_sample(heaps, packet, &key, field.body);
	return err;
}

int perfetto_heaps_read(struct perfetto_heaps *heaps, const struct perfetto_packet *packet,
			struct bytes message)
{
	struct bytes rest = message;
	struct protobuf_field field;
	bool is_continued = false;
	int err = 0;

	if (!heaps->num_dumps)
		heaps->num_dumps = 1;
	while (!err && protobuf_next(&rest, &field)) {
		if (field.number == 5 && field.type == PROTOBUF_BYTES)
			err = read_dump(heaps, packet, field.body);
		else if (field.number == 6 && field.type == PROTOBUF_VARINT)
			is_continued = field.value != 0;
	}
	heaps->num_dumps += !is_continued;
	return err;
}

/* ---- into the profile --------------------------------------------------------------------- */

static int add_metric(struct perfetto_heaps *heaps, uint32_t heap, const struct heap_metric *metric,
		      uint32_t *ret)
{
	struct profile *profile = heaps->trace->import->profile;
	const char *heap_name = profile_get_string(profile, heap);

	text_truncate(&heaps->text, 0);
	if (heap_name[0] && !string_equals(heap_name, USUAL_HEAP))
		text_printf(&heaps->text, "%s ", heap_name);
	text_append_string(&heaps->text, metric->name);
	return heaps->text.failed
		       ? -ENOMEM
		       : profile_add_metric(profile, heaps->text.data, metric->unit, ret);
}

static int add_value(struct perfetto_heaps *heaps, const struct perfetto_heap_stack *stack,
		     size_t kind)
{
	struct profile *profile = heaps->trace->import->profile;
	uint32_t thread;
	uint32_t metric;
	int err = perfetto_threads_find(heaps->threads, stack->pid, stack->pid, stack->time_ns,
					&thread);

	if (!err)
		err = perfetto_threads_get_profile_id(heaps->threads, thread, &thread);
	if (!err)
		err = add_metric(heaps, stack->heap, &metrics[kind], &metric);
	if (!err)
		err = profile_add_sample(profile, thread, stack->stack, metric,
					 stack->values[kind]);
	if (err == -EOVERFLOW)
		err = import_fail_byte(heaps->trace->import, heaps->trace->offset,
				       "the weights of a stack exceed 64 bits");
	return err;
}

/* Bounds the number of metrics: a heap more becomes part of the usual one. */
static void merge_heaps(struct perfetto_heaps *heaps)
{
	uint32_t names[MAX_HEAPS];
	size_t num_heaps = 0;

	array_for_each (&heaps->stacks, stack) {
		size_t i = 0;

		while (i < num_heaps && names[i] != stack->heap)
			i++;
		if (i == MAX_HEAPS)
			stack->heap = STRING_EMPTY;
		else if (i == num_heaps)
			names[num_heaps++] = stack->heap;
	}
}

int perfetto_heaps_finish(struct perfetto_heaps *heaps)
{
	int err = 0;

	merge_heaps(heaps);
	for (size_t kind = 0; kind < NUM_METRICS; kind++)
		array_for_each (&heaps->stacks, stack)
			if (!err && stack->values[kind])
				err = add_value(heaps, stack, kind);
	heaps->trace->import->counts.records += heaps->stacks.length;
	if (heaps->num_cut)
		import_warn(heaps->trace->import, "%llu heap profiles of processes are not whole",
			    (unsigned long long)heaps->num_cut);
	return err;
}

void perfetto_heaps_release(struct perfetto_heaps *heaps)
{
	array_release(&heaps->stacks);
	hash_index_release(&heaps->index);
	text_release(&heaps->text);
}
