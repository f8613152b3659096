/*
 * Reading Perfetto traces: which thread ran on which CPU, and who woke it. The kernel's events are
 * in bundles of one CPU, one by one, or switches and wakeups as columns (write/sched.c): all times,
 * all tids, … The first time of a column is absolute, the others are distances.
 *
 * Bundles of several CPUs take turns, so events are sorted when all are read. A thread is known by
 * its tid alone; its description in the trace assigns it to a process.
 */
#include "formats/perfetto/read/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/reader.h"

/* TRACE_FLAG_HARDIRQ of linux/trace_events.h. */
#define FLAG_IN_INTERRUPT 0x08u

/* Fields of CompactSched. */
enum sched_column {
	SWITCH_TIME = 1,
	SWITCH_STATE,
	SWITCH_TID,
	SWITCH_PRIORITY,
	NAMES, /* no numbers: strings */
	SWITCH_NAME,
	WAKEUP_TIME,
	WAKEUP_TID,
	WAKEUP_CPU,
	WAKEUP_PRIORITY,
	WAKEUP_NAME,
	WAKEUP_FLAGS, /* of later versions */
	NUM_COLUMNS,
};

struct columns {
	ARRAY(uint64_t) numbers[NUM_COLUMNS];
	ARRAY(uint32_t) names; /* strings of the timeline */
};

static void columns_release(struct columns *columns)
{
	for (size_t i = 0; i < NUM_COLUMNS; i++)
		array_release(&columns->numbers[i]);
	array_release(&columns->names);
}

/* ---- one by one --------------------------------------------------------------------------- */

static int add_event(struct perfetto_sched *sched, const struct schedule_event *event)
{
	struct perfetto_sched_event *added;

	if (!perfetto_has_room(sched->trace, sched->events.length, 4))
		return 0;
	added = array_add(&sched->events);
	if (!added)
		return -ENOMEM;
	*added = (struct perfetto_sched_event){*event, sched->events.length};
	return 0;
}

static int add_switch(struct perfetto_sched *sched, const struct sched_switch *on_cpu)
{
	return add_event(sched, &(struct schedule_event){.on_cpu = *on_cpu});
}

static int add_wakeup(struct perfetto_sched *sched, const struct sched_waking *wakeup)
{
	return add_event(sched, &(struct schedule_event){.is_wakeup = true, .wakeup = *wakeup});
}

/* Fields of SchedSwitchFtraceEvent: those of the thread that leaves are first. */
static int read_switch(struct perfetto_sched *sched, struct sched_switch event,
		       struct bytes message)
{
	struct protobuf_field field;
	int err;

	while (protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_VARINT)
			event.previous_tid = (int32_t)field.value;
		else if (field.number == 4 && field.type == PROTOBUF_VARINT)
			event.previous_state = (uint16_t)field.value;
		else if (field.number == 6 && field.type == PROTOBUF_VARINT)
			event.next_tid = (int32_t)field.value;
		else if (field.number == 7 && field.type == PROTOBUF_VARINT)
			event.next_priority = (int32_t)field.value;
		if (field.number != 5 || field.type != PROTOBUF_BYTES)
			continue;
		err = perfetto_add_string(sched->trace, field.body, &event.next_name);
		if (err)
			return err;
	}
	return add_switch(sched, &event);
}

static int read_wakeup(struct perfetto_sched *sched, struct sched_waking event,
		       struct bytes message)
{
	struct protobuf_field field;
	int err;

	while (protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_VARINT)
			event.tid = (int32_t)field.value;
		else if (field.number == 3 && field.type == PROTOBUF_VARINT)
			event.priority = (int32_t)field.value;
		else if (field.number == 5 && field.type == PROTOBUF_VARINT)
			event.target_cpu = (uint32_t)field.value;
		if (field.number != 1 || field.type != PROTOBUF_BYTES)
			continue;
		err = perfetto_add_string(sched->trace, field.body, &event.name);
		if (err)
			return err;
	}
	return add_wakeup(sched, &event);
}

/* Fields of FtraceEvent. */
enum kwork_field {
	SOFTIRQ_ENTRY = 24,
	SOFTIRQ_EXIT = 25,
	IRQ_ENTRY = 36,
	IRQ_EXIT = 37,
	WORK_END = 57,
	WORK_START = 58,
};

/* An event of the kernel's own work. */
struct kwork_event {
	uint64_t time_ns;
	uint32_t cpu;
	uint32_t tid;                /* of the thread that did it */
	struct protobuf_field field; /* its number: enum kwork_field; 0: not kernel work */
};

static int start_kwork(struct perfetto_sched *sched, const struct kwork_event *event,
		       const struct perfetto_kwork *kwork)
{
	uint32_t number;
	int err;

	if (!perfetto_has_room(sched->trace, sched->kworks.length, 8))
		return 0;
	err = perfetto_kworks_intern(&sched->kworks, kwork, &number);
	if (err)
		return err;
	sched->kworks.items[number].start_ns = event->time_ns;
	sched->kworks.items[number].name = kwork->name;
	sched->kworks.items[number].is_open = true;
	return 0;
}

/* An end without a start belongs to work that had started before the trace. */
static int end_kwork(struct perfetto_sched *sched, const struct kwork_event *event,
		     const struct perfetto_kwork *wanted, uint32_t number)
{
	struct timeline *timeline = sched->trace->timeline;
	uint32_t item = perfetto_kworks_find(&sched->kworks, wanted);
	struct perfetto_kwork *known = item == HASH_INDEX_NONE ? NULL : &sched->kworks.items[item];
	struct timeline_kwork kwork = {
		.end_ns = event->time_ns,
		.cpu = event->cpu,
		.number = number,
		.kind = (uint8_t)wanted->kind,
	};

	if (!known || !known->is_open || known->start_ns > event->time_ns ||
	    !perfetto_has_room(sched->trace, timeline_count_kwork(timeline), 8))
		return 0;
	known->is_open = false;
	kwork.start_ns = known->start_ns;
	kwork.name = known->name;
	return timeline_add_kwork(timeline, &kwork, NULL);
}

static int read_kwork(struct perfetto_sched *sched, const struct perfetto_packet *packet,
		      const struct kwork_event *event)
{
	struct perfetto_kwork kwork = {.kind = KWORK_IRQ, .owner = event->cpu};
	struct bytes message = event->field.body;
	struct protobuf_field field;
	uint64_t first = 0;
	uint64_t function = 0;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			first = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_VARINT)
			function = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = perfetto_add_string(sched->trace, field.body, &kwork.name);
		if (err)
			return err;
	}
	switch ((enum kwork_field)event->field.number) {
	case IRQ_ENTRY:
		return start_kwork(sched, event, &kwork);
	case IRQ_EXIT:
		return end_kwork(sched, event, &kwork, (uint32_t)first);
	case SOFTIRQ_ENTRY:
	case SOFTIRQ_EXIT:
		kwork.kind = KWORK_SOFTIRQ;
		return event->field.number == SOFTIRQ_ENTRY
			       ? start_kwork(sched, event, &kwork)
			       : end_kwork(sched, event, &kwork, (uint32_t)first);
	case WORK_START:
	case WORK_END:
		kwork.kind = KWORK_WORKQUEUE;
		kwork.owner = event->tid;
		kwork.name =
			perfetto_find_string(packet, PERFETTO_INTERNED_KERNEL_SYMBOL, function);
		return event->field.number == WORK_START
			       ? start_kwork(sched, event, &kwork)
			       : end_kwork(sched, event, &kwork, event->tid);
	}
	return 0;
}

static bool is_kwork(uint32_t field)
{
	switch (field) {
	case SOFTIRQ_ENTRY:
	case SOFTIRQ_EXIT:
	case IRQ_ENTRY:
	case IRQ_EXIT:
	case WORK_END:
	case WORK_START:
		return true;
	}
	return false;
}

/* Fields of FtraceEvent. The end of a thread follows from the description of the threads. */
static int read_event(struct perfetto_sched *sched, const struct perfetto_packet *packet,
		      uint32_t cpu, struct bytes message)
{
	struct kwork_event kwork = {.cpu = cpu};
	struct bytes on_cpu = {0};
	struct bytes wakeup = {0};
	struct protobuf_field field;
	uint64_t time_ns = 0;
	bool is_freed = false;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			time_ns = field.value;
		else if (field.number == 2 && field.type == PROTOBUF_VARINT)
			kwork.tid = (uint32_t)field.value;
		else if (field.number == 4 && field.type == PROTOBUF_BYTES)
			on_cpu = field.body;
		else if (field.number == 20 && field.type == PROTOBUF_BYTES)
			wakeup = field.body;
		else if (field.number == 240)
			is_freed = true;
		else if (is_kwork(field.number) && field.type == PROTOBUF_BYTES)
			kwork.field = field;
	}
	if (on_cpu.data)
		return read_switch(sched, (struct sched_switch){.time_ns = time_ns, .cpu = cpu},
				   on_cpu);
	if (wakeup.data)
		return read_wakeup(sched, (struct sched_waking){.time_ns = time_ns, .cpu = cpu},
				   wakeup);
	if (kwork.field.number) {
		kwork.time_ns = time_ns;
		return read_kwork(sched, packet, &kwork);
	}
	sched->num_unread += !is_freed;
	return 0;
}

/* ---- in columns --------------------------------------------------------------------------- */

/* Numbers in one field, one after the other, or one a field. */
static int read_numbers(struct columns *columns, const struct protobuf_field *field)
{
	struct bytes packed = field->body;
	uint64_t *added;

	if (field->type == PROTOBUF_VARINT) {
		added = array_add(&columns->numbers[field->number]);
		if (!added)
			return -ENOMEM;
		*added = field->value;
	}
	while (field->type == PROTOBUF_BYTES && bytes_left(&packed)) {
		uint64_t number = protobuf_read_varint(&packed);

		if (packed.failed)
			return 0;
		added = array_add(&columns->numbers[field->number]);
		if (!added)
			return -ENOMEM;
		*added = number;
	}
	return 0;
}

static int read_name(struct perfetto_sched *sched, struct columns *columns, struct bytes name)
{
	uint32_t *added = array_add(&columns->names);

	return added ? perfetto_add_string(sched->trace, name, added) : -ENOMEM;
}

static int read_columns(struct perfetto_sched *sched, struct columns *columns, struct bytes message)
{
	struct protobuf_field field;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == NAMES && field.type == PROTOBUF_BYTES)
			err = read_name(sched, columns, field.body);
		else if (field.number && field.number < NUM_COLUMNS && field.number != NAMES)
			err = read_numbers(columns, &field);
		if (err)
			return err;
	}
	return 0;
}

static size_t count(const struct columns *columns, enum sched_column column)
{
	return columns->numbers[column].length;
}

static uint64_t get(const struct columns *columns, enum sched_column column, size_t row)
{
	return row < count(columns, column) ? columns->numbers[column].items[row] : 0;
}

static uint32_t get_name(const struct columns *columns, enum sched_column column, size_t row)
{
	uint64_t number = get(columns, column, row);

	return number < columns->names.length ? columns->names.items[number] : STRING_EMPTY;
}

static int add_switches(struct perfetto_sched *sched, uint32_t cpu, const struct columns *columns)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < count(columns, SWITCH_TIME); i++) {
		struct sched_switch event = {
			.cpu = cpu,
			.next_tid = (int32_t)get(columns, SWITCH_TID, i),
			.next_priority = (int32_t)get(columns, SWITCH_PRIORITY, i),
			.next_name = get_name(columns, SWITCH_NAME, i),
			.previous_state = (uint16_t)get(columns, SWITCH_STATE, i),
		};
		int err;

		event.time_ns = time_ns += get(columns, SWITCH_TIME, i);
		err = add_switch(sched, &event);
		if (err)
			return err;
	}
	return 0;
}

static int add_wakeups(struct perfetto_sched *sched, uint32_t cpu, const struct columns *columns)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < count(columns, WAKEUP_TIME); i++) {
		struct sched_waking event = {
			.cpu = cpu,
			.tid = (int32_t)get(columns, WAKEUP_TID, i),
			.priority = (int32_t)get(columns, WAKEUP_PRIORITY, i),
			.name = get_name(columns, WAKEUP_NAME, i),
			.target_cpu = (uint32_t)get(columns, WAKEUP_CPU, i),
			.is_in_interrupt = get(columns, WAKEUP_FLAGS, i) & FLAG_IN_INTERRUPT,
		};
		int err;

		event.time_ns = time_ns += get(columns, WAKEUP_TIME, i);
		err = add_wakeup(sched, &event);
		if (err)
			return err;
	}
	return 0;
}

/* Columns of one kind are as long as that of the times. */
static bool are_even(const struct columns *columns)
{
	for (enum sched_column i = SWITCH_STATE; i <= SWITCH_NAME; i++)
		if (i != NAMES && count(columns, i) != count(columns, SWITCH_TIME))
			return false;
	for (enum sched_column i = WAKEUP_TID; i <= WAKEUP_NAME; i++)
		if (count(columns, i) != count(columns, WAKEUP_TIME))
			return false;
	return true;
}

static int read_compact(struct perfetto_sched *sched, uint32_t cpu, struct bytes message)
{
	_cleanup_(columns_release) struct columns columns = {0};
	int err = read_columns(sched, &columns, message);

	if (err)
		return err;
	if (!are_even(&columns))
		return reader_skip_byte(sched->trace->import, sched->trace->offset,
					"scheduling whose columns differ in length");
	err = add_switches(sched, cpu, &columns);
	return err ? err : add_wakeups(sched, cpu, &columns);
}

int perfetto_sched_read(struct perfetto_sched *sched, const struct perfetto_packet *packet,
			struct bytes message)
{
	struct bytes fields = message;
	struct protobuf_field field;
	uint32_t cpu = 0;
	int err = 0;

	/* Only if a timeline is requested. */
	if (!sched->trace->import->timeline)
		return 0;
	while (protobuf_next(&fields, &field))
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			cpu = (uint32_t)field.value;
	if (cpu >= PERFETTO_MAX_CPUS)
		return reader_skip_byte(sched->trace->import, sched->trace->offset,
					"scheduling of an impossible CPU number");
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 2 && field.type == PROTOBUF_BYTES)
			err = read_event(sched, packet, cpu, field.body);
		else if (field.number == 4 && field.type == PROTOBUF_BYTES)
			err = read_compact(sched, cpu, field.body);
	}
	return err;
}

/* ---- when all are there ------------------------------------------------------------------- */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static uint64_t get_time(const struct schedule_event *event)
{
	return event->is_wakeup ? event->wakeup.time_ns : event->on_cpu.time_ns;
}

static int compare_events(const void *left, const void *right)
{
	const struct perfetto_sched_event *a = left;
	const struct perfetto_sched_event *b = right;
	int order = COMPARE(get_time(&a->event), get_time(&b->event));

	return order ? order : COMPARE(a->order, b->order);
}

static int compare_tids(const void *left, const void *right)
{
	return COMPARE(*(const int32_t *)left, *(const int32_t *)right);
}

/* Items of the timeline from other files are sorted as well. */
static int take_present(struct perfetto_sched *sched)
{
	struct timeline *timeline = sched->trace->timeline;
	int err;

	for (uint32_t i = 0; i < timeline_count_switch(timeline); i++) {
		err = add_switch(sched, timeline_get_switch(timeline, i));
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < timeline_count_wakeup(timeline); i++) {
		err = add_wakeup(sched, timeline_get_wakeup(timeline, i));
		if (err)
			return err;
	}
	return 0;
}

static int add_to_timeline(struct perfetto_sched *sched)
{
	struct timeline *timeline = sched->trace->timeline;
	uint32_t num_switches = timeline_count_switch(timeline);
	uint32_t num_wakeups = timeline_count_wakeup(timeline);
	uint32_t next_switch = 0;
	uint32_t next_wakeup = 0;
	int err = take_present(sched);

	if (err)
		return err;
	qsort(sched->events.items, sched->events.length, sizeof(*sched->events.items),
	      compare_events);
	array_for_each (&sched->events, item) {
		const struct sched_switch *on_cpu = &item->event.on_cpu;
		const struct sched_waking *wakeup = &item->event.wakeup;

		if (item->event.is_wakeup && next_wakeup < num_wakeups)
			*timeline_get_wakeup(timeline, next_wakeup++) = *wakeup;
		else if (item->event.is_wakeup)
			err = timeline_add_wakeup(timeline, wakeup, NULL);
		else if (next_switch < num_switches)
			*timeline_get_switch(timeline, next_switch++) = *on_cpu;
		else
			err = timeline_add_switch(timeline, on_cpu, NULL);
		if (err)
			return err;
	}
	return 0;
}

/* The description of threads that ran is part of the timeline, even if they have no sample. */
static int use_threads(struct perfetto_sched *sched)
{
	_cleanup_free_ int32_t *tids = malloc((sched->events.length + 1) * sizeof(*tids));
	size_t num_tids = 0;
	uint32_t ignored;
	int err;

	if (!tids)
		return -ENOMEM;
	array_for_each (&sched->events, item)
		tids[num_tids++] = item->event.is_wakeup ? item->event.wakeup.tid
							 : item->event.on_cpu.next_tid;
	qsort(tids, num_tids, sizeof(*tids), compare_tids);
	array_for_each (&sched->threads->items, thread) {
		const int32_t tid = (int32_t)thread->tid;

		if (!bsearch(&tid, tids, num_tids, sizeof(tid), compare_tids))
			continue;
		err = perfetto_threads_use(sched->threads, thread, thread->since_ns, &ignored);
		if (err)
			return err;
	}
	return 0;
}

int perfetto_sched_finish(struct perfetto_sched *sched)
{
	int err;

	if (!sched->events.length)
		return 0;
	err = use_threads(sched);
	return err ? err : add_to_timeline(sched);
}

void perfetto_sched_release(struct perfetto_sched *sched)
{
	array_release(&sched->events);
	perfetto_kworks_release(&sched->kworks);
}

/* ---- the system --------------------------------------------------------------------------- */

static int read_kernel(struct perfetto_trace *trace, struct timeline_system *system,
		       struct bytes message)
{
	struct protobuf_field field;
	int err = 0;

	while (!err && protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_BYTES)
			continue;
		if (field.number == 2)
			err = perfetto_add_string(trace, field.body, &system->kernel_version);
		else if (field.number == 3)
			err = perfetto_add_string(trace, field.body, &system->kernel_release);
		else if (field.number == 4)
			err = perfetto_add_string(trace, field.body, &system->machine);
	}
	return err;
}

int perfetto_read_system(struct perfetto_trace *trace, struct bytes message)
{
	struct timeline_system system = *timeline_get_system(trace->timeline);
	struct protobuf_field field;
	int err = 0;

	/* The first of several files decides. */
	if (system.kernel_release != STRING_EMPTY)
		return 0;
	while (!err && protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_BYTES)
			err = read_kernel(trace, &system, field.body);
		else if (field.number == 8 && field.type == PROTOBUF_VARINT)
			system.num_cpus = (uint32_t)field.value;
	}
	if (err)
		return err;
	timeline_set_system(trace->timeline, &system);
	return 0;
}
