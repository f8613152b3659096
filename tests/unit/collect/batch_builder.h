/*
 * Batches of the scheduling program, for tests.
 */
#ifndef BATCH_BUILDER_H
#define BATCH_BUILDER_H

#include <string.h>

#include "wire/schedule.h"

#define BATCH_BYTES(batch) \
	(offsetof(struct wire_schedule, slots) + (batch)->num_slots * sizeof((batch)->slots[0]))

static inline struct wire_schedule batch_of(uint16_t cpu, uint32_t number, uint32_t tid)
{
	return (struct wire_schedule){
		.type = WIRE_SCHEDULE, .cpu = cpu, .number = number, .tid = tid};
}

static inline struct wire_schedule_event *batch_add(struct wire_schedule *batch, uint64_t time_ns,
						    uint32_t tid, uint8_t kind)
{
	struct wire_schedule_event *event = &batch->slots[batch->num_slots++].event;

	*event = (struct wire_schedule_event){
		.time_ns = time_ns, .tid = tid, .kind = kind, .priority = 120};
	if (kind == WIRE_SCHEDULE_WAKEUP || kind == WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT)
		batch->num_wakeups++;
	else if (kind != WIRE_SCHEDULE_NAME && kind != WIRE_SCHEDULE_UNSEEN)
		batch->num_switches++;
	return event;
}

static inline void batch_name(struct wire_schedule *batch, uint32_t pid, uint32_t tid,
			      const char *name)
{
	size_t length = strlen(name);
	char *text;

	batch_add(batch, pid, tid, WIRE_SCHEDULE_NAME);
	text = batch->slots[batch->num_slots++].name;
	memset(text, 0, WIRE_COMM_SIZE);
	memcpy(text, name, length < WIRE_COMM_SIZE ? length : WIRE_COMM_SIZE);
}

/* Returns the event, whose second slot says until when the one before was seen and since when tid. */
static inline struct wire_schedule_event *batch_add_unseen(struct wire_schedule *batch,
							   uint64_t time_ns, uint32_t tid,
							   uint64_t known_until_ns,
							   uint64_t runs_since_ns)
{
	struct wire_schedule_event *event = batch_add(batch, time_ns, tid, WIRE_SCHEDULE_UNSEEN);

	batch->slots[batch->num_slots++].unseen = (struct wire_schedule_unseen){
		.known_until_ns = known_until_ns, .runs_since_ns = runs_since_ns};
	return event;
}

#endif
