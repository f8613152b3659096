#include "collect/trace/schedule_decoder.h"

#include <errno.h>
#include <string.h>

#define HEADER_BYTES offsetof(struct wire_schedule, slots)

/* Bits of task states, as in Linux 5.14 to 6.18 (include/linux/sched.h). */
#define STATE_UNINTERRUPTIBLE 0x2u
#define STATE_REPORTED        0x7fu /* TASK_RUNNING to TASK_PARKED: reported unchanged */
#define STATE_NO_LOAD         0x400u
#define STATE_RTLOCK_WAIT     0x1000u
#define STATE_FROZEN          0x8000u
/* TASK_REPORT_IDLE: the tracepoint's state of a kernel thread that waits for work. */
#define REPORTED_IDLE 0x80u

#define IDLE_PRIORITY 120

/* TASK_INTERRUPTIBLE: state of the placeholder threads for unknown ones, while unused. */
#define STATE_SLEEPING 1

uint16_t schedule_decode_state(uint32_t state, bool is_preempted)
{
	uint32_t reported = state & STATE_REPORTED;
	uint32_t highest = 1;

	if (is_preempted)
		return TASK_STATE_PREEMPTED;
	if (state & (STATE_RTLOCK_WAIT | STATE_FROZEN))
		return STATE_UNINTERRUPTIBLE;
	if ((state & STATE_UNINTERRUPTIBLE) && (state & STATE_NO_LOAD))
		return REPORTED_IDLE;
	if (!reported)
		return 0;
	while (reported >> 1) {
		reported >>= 1;
		highest <<= 1;
	}
	return (uint16_t)highest;
}

static bool takes_two_slots(uint8_t kind)
{
	return kind == WIRE_SCHEDULE_NAME || kind == WIRE_SCHEDULE_UNSEEN;
}

bool schedule_batch_is_valid(const void *record, size_t size)
{
	const struct wire_schedule *batch = record;

	if (size < HEADER_BYTES || batch->type != WIRE_SCHEDULE ||
	    batch->num_slots > WIRE_SCHEDULE_SLOTS ||
	    size < HEADER_BYTES + batch->num_slots * sizeof(batch->slots[0]))
		return false;
	for (uint32_t i = 0; i < batch->num_slots; i++)
		if (takes_two_slots(batch->slots[i].event.kind) && ++i == batch->num_slots)
			return false;
	return true;
}

/* A name is emitted just before the event that needs it. 0: no name. */
static uint64_t find_time(const struct wire_schedule *batch, uint32_t name_slot)
{
	uint32_t i = name_slot;

	while (i < batch->num_slots && batch->slots[i].event.kind == WIRE_SCHEDULE_NAME)
		i += 2;
	return i < batch->num_slots ? batch->slots[i].event.time_ns : 0;
}

int schedule_batch_intern(struct wire_schedule *batch, struct string_table *strings,
			  int (*on_thread)(const struct scheduled_name *named, void *context),
			  void *context)
{
	for (uint32_t i = 0; i < batch->num_slots; i++) {
		const struct wire_schedule_event *event = &batch->slots[i].event;
		struct scheduled_name named;
		char *text;
		int err;

		if (event->kind == WIRE_SCHEDULE_UNSEEN)
			i++;
		if (event->kind != WIRE_SCHEDULE_NAME)
			continue;
		named = (struct scheduled_name){
			.time_ns = find_time(batch, i),
			.pid = (uint32_t)event->time_ns,
			.tid = event->tid,
		};
		text = batch->slots[++i].name;
		err = string_table_add(strings, text, strnlen(text, WIRE_COMM_SIZE), &named.name);
		if (err)
			return err;
		err = on_thread(&named, context);
		if (err)
			return err;
		memcpy(text, &named.name, sizeof(named.name));
	}
	return 0;
}

/* Take the names at the next slots in. */
static void take_names(struct schedule_decoder *decoder)
{
	const struct wire_schedule *batch = decoder->batch;

	while (decoder->next_slot < batch->num_slots) {
		const struct wire_schedule_event *event = &batch->slots[decoder->next_slot].event;

		if (event->kind != WIRE_SCHEDULE_NAME)
			return;
		memcpy(&decoder->names[event->tid % WIRE_SCHEDULE_NAMES],
		       batch->slots[decoder->next_slot + 1].name, sizeof(decoder->names[0]));
		decoder->next_slot += 2;
	}
}

static uint32_t find_name(const struct schedule_decoder *decoder, uint32_t tid)
{
	return tid ? decoder->names[tid % WIRE_SCHEDULE_NAMES] : decoder->idle_name;
}

static void insert(struct schedule_decoder *decoder, const struct sched_switch *event)
{
	decoder->inserted[decoder->num_inserted++] = *event;
}

static void insert_switch(struct schedule_decoder *decoder, uint64_t time_ns, uint32_t tid)
{
	insert(decoder, &(struct sched_switch){
				.time_ns = time_ns,
				.next_tid = (int32_t)tid,
				.next_priority = IDLE_PRIORITY,
				.next_name = find_name(decoder, tid),
				.cpu = decoder->batch->cpu,
			});
}

void schedule_decoder_start(struct schedule_decoder *decoder, const struct wire_schedule *batch,
			    bool is_after_loss, uint64_t start_ns, uint32_t idle_name)
{
	bool is_first = !decoder->batch;

	decoder->batch = batch;
	decoder->next_slot = 0;
	decoder->num_inserted = 0;
	decoder->idle_name = idle_name;
	take_names(decoder);
	if (decoder->next_slot == batch->num_slots)
		return;
	if (is_after_loss) {
		/* A stack: the second is returned first. */
		insert_switch(decoder, batch->slots[decoder->next_slot].event.time_ns, batch->tid);
		insert_switch(decoder, is_first ? start_ns : decoder->last_ns, 0);
	} else if (is_first) {
		insert_switch(decoder, start_ns, batch->tid);
	}
}

static void give_switch(struct schedule_decoder *decoder, const struct sched_switch *event,
			struct schedule_event *ret)
{
	ret->is_wakeup = false;
	ret->on_cpu = *event;
	ret->on_cpu.previous_tid = decoder->tid;
	decoder->tid = event->next_tid;
	decoder->last_ns = event->time_ns;
}

static int32_t priority_of(uint8_t priority)
{
	return priority == WIRE_SCHEDULE_DEADLINE ? -1 : priority;
}

static void fill_switch(const struct schedule_decoder *decoder,
			const struct wire_schedule_event *event, struct sched_switch *ret)
{
	*ret = (struct sched_switch){
		.time_ns = event->time_ns,
		.next_tid = (int32_t)event->tid,
		.next_priority = priority_of(event->priority),
		.next_name = find_name(decoder, event->tid),
		.cpu = decoder->batch->cpu,
		.previous_state = schedule_decode_state(
			event->state, event->kind == WIRE_SCHEDULE_SWITCH_PREEMPTED),
	};
}

static void fill_wakeup(const struct schedule_decoder *decoder,
			const struct wire_schedule_event *event, struct sched_waking *ret)
{
	*ret = (struct sched_waking){
		.time_ns = event->time_ns,
		.tid = (int32_t)event->tid,
		.priority = priority_of(event->priority),
		.name = find_name(decoder, event->tid),
		.cpu = decoder->batch->cpu,
		.target_cpu = event->state,
		.is_in_interrupt = event->kind == WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT,
	};
}

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* A CPU was seen to run a thread without a switch to it: the thread before is unknown. */
static void insert_unseen(struct schedule_decoder *decoder, const struct wire_schedule_event *event,
			  const struct wire_schedule_unseen *unseen)
{
	uint64_t start_ns = later(unseen->known_until_ns, decoder->last_ns);
	uint64_t end_ns = later(unseen->runs_since_ns, start_ns);
	struct sched_switch seen;

	fill_switch(decoder, event, &seen);
	seen.time_ns = end_ns;
	seen.previous_state = start_ns < end_ns ? STATE_SLEEPING : 0;
	insert(decoder, &seen); /* a stack: the second is returned first */
	if (start_ns == end_ns)
		return;
	insert(decoder, &(struct sched_switch){
				.time_ns = start_ns,
				.next_tid = SCHEDULE_FIRST_UNKNOWN_TID + decoder->batch->cpu,
				.next_priority = IDLE_PRIORITY,
				.next_name = decoder->unknown_name,
				.cpu = decoder->batch->cpu,
			});
}

/* Take the slots of the next event. NULL: no more events. */
static const union wire_schedule_slot *take_event(struct schedule_decoder *decoder)
{
	const union wire_schedule_slot *slot;

	take_names(decoder);
	if (decoder->next_slot == decoder->batch->num_slots)
		return NULL;
	slot = &decoder->batch->slots[decoder->next_slot];
	decoder->next_slot += takes_two_slots(slot->event.kind) ? 2 : 1;
	return slot;
}

static void give_inserted(struct schedule_decoder *decoder, struct schedule_event *ret)
{
	give_switch(decoder, &decoder->inserted[--decoder->num_inserted], ret);
}

bool schedule_decoder_next(struct schedule_decoder *decoder, struct schedule_event *ret)
{
	const union wire_schedule_slot *slot;
	struct sched_switch on_cpu;

	if (decoder->num_inserted) {
		give_inserted(decoder, ret);
		return true;
	}
	slot = take_event(decoder);
	if (!slot)
		return false;
	if (slot->event.kind == WIRE_SCHEDULE_UNSEEN) {
		insert_unseen(decoder, &slot[0].event, &slot[1].unseen);
		give_inserted(decoder, ret);
		return true;
	}
	decoder->last_ns = slot->event.time_ns;
	ret->is_wakeup = slot->event.kind == WIRE_SCHEDULE_WAKEUP ||
			 slot->event.kind == WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT;
	if (ret->is_wakeup) {
		fill_wakeup(decoder, &slot->event, &ret->wakeup);
	} else {
		fill_switch(decoder, &slot->event, &on_cpu);
		give_switch(decoder, &on_cpu, ret);
	}
	return true;
}
