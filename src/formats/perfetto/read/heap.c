/*
 * Reading Perfetto traces: heap profiles, which heapprofd takes. A dump has the memory that each
 * stack has allocated and freed since the start, so the last one holds all.
 *
 * The metrics have the names of those in Go's heap profiles.
 */
#include "formats/perfetto/read/heap.h"

#include <errno.h>

#include "formats/perfetto/read/interned.h"

enum heap_field {
	HEAP_CALLSTACK = 1,
	HEAP_ALLOCATED = 2,
	HEAP_FREED = 3,
	HEAP_NUM_ALLOCATED = 5,
	HEAP_NUM_FREED = 6,
	HEAP_MAX = 8, /* with dump_at_max: of the largest heap only */
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
/* malloc's: metrics of other heaps start with the heap's name. */
#define USUAL_HEAP "libc.malloc"
/* In one trace. */
#define MAX_HEAPS 16

/* Never negative: memory from before the recording may be freed in it. */
static uint64_t get_value(const struct heap_metric *metric, const uint64_t *fields)
{
	uint64_t freed = metric->freed == HEAP_CALLSTACK ? 0 : fields[metric->freed];

	return fields[metric->field] > freed ? fields[metric->field] - freed : 0;
}

/* A later dump replaces the stack's values of an earlier one, for it counts from the start, too. */
static int read_sample(struct perfetto_heaps *heaps, const struct perfetto_packet *packet,
		       struct perfetto_heap_stack *key, struct bytes message)
{
	uint64_t fields[NUM_HEAP_FIELDS] = {0};
	struct perfetto_heap_stack *stack;
	struct protobuf_field field;
	uint32_t number;
	int err;

	while (protobuf_next(&message, &field))
		if (field.type == PROTOBUF_VARINT && field.number < NUM_HEAP_FIELDS)
			fields[field.number] = field.value;
	if (!perfetto_has_room(heaps->trace, heaps->stacks.length, 32))
		return 0;
	key->stack = perfetto_samples_find_stack(heaps->samples, packet->sequence,
						 fields[HEAP_CALLSTACK]);
	err = perfetto_heap_stacks_intern(&heaps->stacks, key, &number);
	if (err)
		return err;
	stack = &heaps->stacks.items[number];
	_Static_assert(NUM_METRICS == sizeof(stack->values) / sizeof(stack->values[0]),
		       "a value for each metric");
	/* Several stacks of the dump may be one for us; within one dump they are summed up. */
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

/* Read the dump of one process and heap. */
static int read_dump(struct perfetto_heaps *heaps, const struct perfetto_packet *packet,
		     struct bytes message)
{
	struct perfetto_heap_stack key = {.time_ns = packet->time_ns};
	struct bytes rest = message;
	struct protobuf_field field;
	bool is_truncated = false;
	int err = 0;

	while (protobuf_next(&rest, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			key.pid = (uint32_t)field.value;
		else if (field.number == 11 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_profile_string(heaps->trace, field.body, &key.heap);
		else if ((field.number == 4 || field.number == 7 || field.number == 8) &&
			 field.type == PROTOBUF_VARINT) /* rejected, overrun, corrupted */
			is_truncated |= field.value != 0;
		if (err)
			return err;
	}
	heaps->num_truncated += is_truncated;
	while (protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = read_sample(heaps, packet, &key, field.body);
		if (err)
			return err;
	}
	return 0;
}

int perfetto_heaps_read(struct perfetto_heaps *heaps, const struct perfetto_packet *packet,
			struct bytes message)
{
	struct bytes rest = message;
	struct protobuf_field field;
	bool is_continued = false;
	int err = perfetto_read_interned_of_heap(heaps->code, packet->sequence, message);

	if (err)
		return err;
	if (!heaps->num_dumps)
		heaps->num_dumps = 1;
	while (protobuf_next(&rest, &field)) {
		if (field.number == 5 && field.type == PROTOBUF_BYTES)
			err = read_dump(heaps, packet, field.body);
		else if (field.number == 6 && field.type == PROTOBUF_VARINT)
			is_continued = field.value != 0;
		if (err)
			return err;
	}
	/* A dump may be spread over several packets; all but the last are marked. */
	heaps->num_dumps += !is_continued;
	return 0;
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

	if (err)
		return err;
	err = perfetto_threads_get_profile_id(heaps->threads, thread, stack->time_ns, &thread);
	if (err)
		return err;
	err = add_metric(heaps, stack->heap, &metrics[kind], &metric);
	if (err)
		return err;
	err = profile_add_sample(profile, thread, stack->stack, metric, stack->values[kind]);
	if (err == -EOVERFLOW)
		return import_fail_byte(heaps->trace->import, heaps->trace->offset,
					"the weights of a stack exceed 64 bits");
	return err;
}

/* Bounds the number of metrics: heaps beyond MAX_HEAPS are counted as malloc's. */
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
	merge_heaps(heaps);
	for (size_t kind = 0; kind < NUM_METRICS; kind++) {
		array_for_each (&heaps->stacks, stack) {
			int err = stack->values[kind] ? add_value(heaps, stack, kind) : 0;

			if (err)
				return err;
		}
	}
	heaps->trace->import->counts.records += heaps->stacks.length;
	if (heaps->num_truncated)
		import_warn(heaps->trace->import, "%llu heap profiles of processes are incomplete",
			    (unsigned long long)heaps->num_truncated);
	return 0;
}

void perfetto_heaps_release(struct perfetto_heaps *heaps)
{
	perfetto_heap_stacks_release(&heaps->stacks);
	text_release(&heaps->text);
}
