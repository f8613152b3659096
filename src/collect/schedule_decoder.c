#include "collect/schedule_decoder.h"

#include <errno.h>
#include <string.h>

#define HEADER_BYTES offsetof(struct wire_schedule, slots)

/* Bits of task states, as in Linux 5.14 to 6.18 (include/linux/sched.h). */
#define STATE_UNINTERRUPTIBLE 0x2u
#define STATE_REPORTED        0x7fu /* running to parked: these are shown as they are */
#define STATE_NO_LOAD         0x400u
#define STATE_RTLOCK_WAIT     0x1000u
#define STATE_FROZEN          0x8000u
/* What the tracepoint says of a kernel thread that waits for work. */
#define REPORTED_IDLE 0x80u

#define IDLE_PRIORITY 120

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

bool schedule_batch_is_valid(const void *record, size_t size)
{
	const struct wire_schedule *batch = record;

	if (size < HEADER_BYTES || batch->type != WIRE_SCHEDULE ||
	    batch->num_slots > WIRE_SCHEDULE_SLOTS ||
	    size < HEADER_BYTES + batch->num_slots * sizeof(batch->slots[0]))
		return false;
	for (uint32_t i = 0; i < batch->num_slots; i++)
		if (batch->slots[i].event.kind == WIRE_SCHEDULE_NAME && ++i == batch->num_slots)
			return false;
	return true;
}

int schedule_batch_intern(struct wire_schedule *batch, struct string_table *strings,
			  int (*on_thread)(uint32_t pid, uint32_t tid, uint32_t name,
					   void *context),
			  void *context)
{
	for (uint32_t i = 0; i < batch->num_slots; i++) {
		const struct wire_schedule_event *event = &batch->slots[i].event;
		char *text;
		uint32_t name;
		int err;

		if (event->kind != WIRE_SCHEDULE_NAME)
			continue;
		text = batch->slots[++i].name;
		err = string_table_add(strings, text, strnlen(text, WIRE_COMM_SIZE), &name);
		if (err)
			return err;
		err = on_thread((uint32_t)event->time_ns, event->tid, name, context);
		if (err)
			return err;
		memcpy(text, &name, sizeof(name));
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

static void insert(struct schedule_decoder *decoder, uint64_t time_ns, uint32_t tid)
{
	decoder->inserted[decoder->num_inserted++] = (struct sched_switch){
		.time_ns = time_ns,
		.next_tid = (int32_t)tid,
		.next_priority = IDLE_PRIORITY,
		.next_name = find_name(decoder, tid),
		.cpu = decoder->batch->cpu,
	};
}

void schedule_decoder_begin(struct schedule_decoder *decoder, const struct wire_schedule *batch,
			    bool is_after_loss, uint64_t begin_ns, uint32_t idle_name)
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
		/* The second is given first. */
		insert(decoder, batch->slots[decoder->next_slot].event.time_ns, batch->tid);
		insert(decoder, is_first ? begin_ns : decoder->last_ns, 0);
	} else if (is_first) {
		insert(decoder, begin_ns, batch->tid);
	}
}

static void give_switch(struct schedule_decoder *decoder, const struct sched_switch *event,
			struct schedule_event *ret)
{
	ret->is_waking = false;
	ret->on_cpu = *event;
	ret->on_cpu.previous_tid = decoder->tid;
	decoder->tid = event->next_tid;
}

static void fill_switch(const struct schedule_decoder *decoder,
			const struct wire_schedule_event *event, struct sched_switch *ret)
{
	*ret = (struct sched_switch){
		.time_ns = event->time_ns,
		.next_tid = (int32_t)event->tid,
		.next_priority = event->priority == WIRE_SCHEDULE_DEADLINE ? -1 : event->priority,
		.next_name = find_name(decoder, event->tid),
		.cpu = decoder->batch->cpu,
		.previous_state = schedule_decode_state(
			event->state, event->kind == WIRE_SCHEDULE_SWITCH_PREEMPTED),
	};
}

static void fill_waking(const struct schedule_decoder *decoder,
			const struct wire_schedule_event *event, struct sched_waking *ret)
{
	*ret = (struct sched_waking){
		.time_ns = event->time_ns,
		.tid = (int32_t)event->tid,
		.priority = event->priority == WIRE_SCHEDULE_DEADLINE ? -1 : event->priority,
		.name = find_name(decoder, event->tid),
		.cpu = decoder->batch->cpu,
		.target_cpu = event->state,
		.is_in_interrupt = event->kind == WIRE_SCHEDULE_WAKING_IN_INTERRUPT,
	};
}

bool schedule_decoder_next(struct schedule_decoder *decoder, struct schedule_event *ret)
{
	const struct wire_schedule *batch = decoder->batch;
	const struct wire_schedule_event *event;
	struct sched_switch on_cpu;

	if (decoder->num_inserted) {
		give_switch(decoder, &decoder->inserted[--decoder->num_inserted], ret);
		return true;
	}
	take_names(decoder);
	if (decoder->next_slot == batch->num_slots)
		return false;
	event = &batch->slots[decoder->next_slot++].event;
	decoder->last_ns = event->time_ns;
	ret->is_waking = event->kind == WIRE_SCHEDULE_WAKING ||
			 event->kind == WIRE_SCHEDULE_WAKING_IN_INTERRUPT;
	if (ret->is_waking) {
		fill_waking(decoder, event, &ret->waking);
	} else {
		fill_switch(decoder, event, &on_cpu);
		give_switch(decoder, &on_cpu, ret);
	}
	return true;
}
