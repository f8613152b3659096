/*
 * Reading Perfetto traces: the waits of threads and their wakers, from the slices and instants that
 * our writer makes of them. Their stacks are not samples: these are in the trace beside them.
 */
#include "formats/perfetto/read/waits.h"

#include <errno.h>

#include "formats/perfetto/read/owners.h"
#include "formats/perfetto/waits.h"

/* The contents of our wait and wakeup events; the rest only repeats known data. */
struct wait_attributes {
	uint64_t weight;
	uint64_t flow;
	uint32_t waker_name; /* string of the timeline */
	bool is_wakeup;      /* by its category */
};

static void read_annotation(const struct perfetto_slices *slices,
			    const struct perfetto_packet *packet, struct bytes message,
			    struct wait_attributes *ret)
{
	const struct timeline *timeline = slices->trace->timeline;
	const char *name = "";
	uint32_t string = STRING_EMPTY;
	struct protobuf_field field;
	uint64_t value = 0;

	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_VARINT)
			continue;
		if (field.number == 1)
			name = timeline_get_string(
				timeline,
				perfetto_find_string(packet, PERFETTO_INTERNED_ANNOTATION_NAME,
						     field.value));
		else if (field.number == 3)
			value = field.value;
		else if (field.number == 17)
			string = perfetto_find_string(packet, PERFETTO_INTERNED_STRING_VALUE,
						      field.value);
	}
	if (string_equals(name, PERFETTO_WEIGHT_NAME))
		ret->weight = value;
	else if (string_equals(name, PERFETTO_WAKER_NAME))
		ret->waker_name = string;
}

static struct wait_attributes read_attributes(const struct perfetto_slices *slices,
					      const struct perfetto_packet *packet,
					      struct bytes message)
{
	struct wait_attributes attributes = {.waker_name = STRING_EMPTY};
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.number == 3 && field.type == PROTOBUF_VARINT)
			attributes.is_wakeup |= string_equals(
				timeline_get_string(slices->trace->timeline,
						    perfetto_find_string(packet,
									 PERFETTO_INTERNED_CATEGORY,
									 field.value)),
				PERFETTO_WAKEUP_CATEGORY);
		else if (field.number == 4 && field.type == PROTOBUF_BYTES)
			read_annotation(slices, packet, field.body, &attributes);
		else if ((field.number == 47 || field.number == 48) &&
			 field.type == PROTOBUF_FIXED64)
			attributes.flow = field.value;
	}
	return attributes;
}

static bool find_state(const char *name, enum off_cpu_state *ret)
{
	for (enum off_cpu_state state = OFF_CPU_BLOCKED; state <= OFF_CPU_PREEMPTED; state++)
		if (string_equals(name, perfetto_get_wait_name(state))) {
			*ret = state;
			return true;
		}
	return false;
}

static struct timeline_wait *get_last(const struct perfetto_slices *slices,
				      const struct perfetto_track *track)
{
	return track->item == TIMELINE_NONE
		       ? NULL
		       : timeline_get_wait(slices->trace->timeline, track->item);
}

/* The waker of the wait, if the wakeup before leads to it. */
static void set_waker(const struct perfetto_slices *slices, uint64_t flow,
		      struct timeline_wait *wait)
{
	const struct perfetto_wakeup *wakeup = &slices->wakeup;

	if (!flow || wakeup->flow != flow)
		return;
	wait->waker_name = wakeup->waker_name;
	wait->waker_stack = wakeup->stack;
	/* On the thread's own track: the waker has none. */
	wait->waker = wakeup->thread == wait->thread ? TIMELINE_NONE : wakeup->thread;
}

static int start_wait(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		      struct bytes message, const struct perfetto_track_event *event,
		      struct perfetto_track *track)
{
	const char *name = timeline_get_string(slices->trace->timeline, event->name);
	struct timeline_wait wait = {.start_ns = packet->time_ns,
				     .queued_ns = packet->time_ns,
				     .end_ns = packet->time_ns};
	struct timeline_wait *last = get_last(slices, track);
	struct wait_attributes attributes = read_attributes(slices, packet, message);
	enum off_cpu_state state = OFF_CPU_BLOCKED;
	bool is_queued = string_equals(name, PERFETTO_RUN_QUEUE_SLICE);
	int err;

	if (is_queued && last && !track->is_queued && last->state != OFF_CPU_PREEMPTED &&
	    last->end_ns == packet->time_ns) {
		last->queue_weight = attributes.weight;
		track->is_queued = true;
		set_waker(slices, attributes.flow, last);
		return 0;
	}
	if ((!is_queued && !find_state(name, &state)) ||
	    !perfetto_has_room(slices->trace, timeline_count_wait(slices->trace->timeline), 8)) {
		slices->num_skipped++;
		return 0;
	}
	*(is_queued ? &wait.queue_weight : &wait.weight) = attributes.weight;
	wait.state = (uint8_t)state;
	wait.stack =
		perfetto_samples_find_stack(slices->samples, packet->sequence, event->callstack);
	err = perfetto_owners_find_thread(slices->tracks, track, &wait.thread);
	if (err)
		return err;
	set_waker(slices, attributes.flow, &wait);
	track->is_queued = is_queued;
	return timeline_add_wait(slices->trace->timeline, &wait, &track->item);
}

/* Slices of a thread's waits do not nest, and are in order: an end is that of the last one. */
int perfetto_slices_read_wait(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			      struct bytes message, const struct perfetto_track_event *event,
			      struct perfetto_track *track)
{
	struct timeline_wait *last = get_last(slices, track);

	slices->samples->has_wait_slices = true;
	if (event->type == EVENT_START)
		return start_wait(slices, packet, message, event, track);
	if (event->type != EVENT_END || !last || last->end_ns > packet->time_ns) {
		slices->num_skipped++;
		return 0;
	}
	last->end_ns = packet->time_ns;
	if (!track->is_queued)
		last->queued_ns = packet->time_ns;
	return 0;
}

int perfetto_slices_take_wakeup(struct perfetto_slices *slices,
				const struct perfetto_packet *packet, struct bytes message,
				const struct perfetto_track_event *event,
				struct perfetto_track *track, bool *ret_is_one)
{
	struct wait_attributes attributes = {0};

	if (track && track->thread != PERFETTO_NONE)
		attributes = read_attributes(slices, packet, message);
	*ret_is_one = attributes.is_wakeup;
	if (!attributes.is_wakeup || !slices->trace->import->timeline)
		return 0;
	slices->wakeup = (struct perfetto_wakeup){
		.flow = attributes.flow,
		.waker_name = attributes.waker_name,
		.stack = perfetto_samples_find_stack(slices->samples, packet->sequence,
						     event->callstack),
	};
	return perfetto_owners_find_thread(slices->tracks, track, &slices->wakeup.thread);
}
