/*
 * Reading Perfetto traces: where threads waited, from the slices that our writer makes of it. Their stacks
 * are no samples: these are told beside them.
 */
#include <errno.h>

#include "formats/perfetto/read.h"
#include "formats/perfetto/waits.h"

/* The annotation that says what a slice stands for; the others only repeat what is known. */
static uint64_t read_weight(const struct perfetto_slices *slices,
			    const struct perfetto_packet *packet, struct bytes message)
{
	struct protobuf_field field;
	struct protobuf_field inner;

	while (protobuf_next(&message, &field)) {
		uint32_t name = STRING_EMPTY;
		uint64_t value = 0;

		if (field.number != 4 || field.type != PROTOBUF_BYTES)
			continue;
		while (protobuf_next(&field.body, &inner)) {
			if (inner.type != PROTOBUF_VARINT)
				continue;
			if (inner.number == 1)
				name = perfetto_find_string(
					packet, PERFETTO_INTERNED_ANNOTATION_NAME, inner.value);
			else if (inner.number == 3)
				value = inner.value;
		}
		if (string_equals(timeline_get_string(slices->trace->timeline, name),
				  PERFETTO_WEIGHT_NAME))
			return value;
	}
	return 0;
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

static int begin_wait(struct perfetto_slices *slices, const struct perfetto_packet *packet,
		      struct bytes message, const struct perfetto_track_event *event,
		      struct perfetto_track *track)
{
	const char *name = timeline_get_string(slices->trace->timeline, event->name);
	struct timeline_wait wait = {.begin_ns = packet->time_ns,
				     .queued_ns = packet->time_ns,
				     .end_ns = packet->time_ns};
	struct timeline_wait *last = get_last(slices, track);
	uint64_t weight = read_weight(slices, packet, message);
	enum off_cpu_state state = OFF_CPU_BLOCKED;
	bool is_queued = string_equals(name, PERFETTO_RUN_QUEUE_SLICE);
	int err;

	if (is_queued && last && !track->is_queued && last->state != OFF_CPU_PREEMPTED &&
	    last->end_ns == packet->time_ns) {
		last->queue_weight = weight;
		track->is_queued = true;
		return 0;
	}
	if ((!is_queued && !find_state(name, &state)) ||
	    !perfetto_has_room(slices->trace, timeline_count_wait(slices->trace->timeline), 8)) {
		slices->num_skipped++;
		return 0;
	}
	*(is_queued ? &wait.queue_weight : &wait.weight) = weight;
	wait.state = (uint8_t)state;
	wait.stack =
		perfetto_samples_find_stack(slices->samples, packet->sequence, event->callstack);
	err = perfetto_owners_find_thread(slices->tracks, track, &wait.thread);
	if (err)
		return err;
	track->is_queued = is_queued;
	return timeline_add_wait(slices->trace->timeline, &wait, &track->item);
}

/* Slices of a thread's waits do not nest, and come in order: an end is that of the last one. */
int perfetto_slices_read_wait(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			      struct bytes message, const struct perfetto_track_event *event,
			      struct perfetto_track *track)
{
	struct timeline_wait *last = get_last(slices, track);

	if (!slices->trace->import->timeline)
		return 0; /* a profile has the samples */
	if (event->type == EVENT_BEGIN)
		return begin_wait(slices, packet, message, event, track);
	if (event->type != EVENT_END || !last || last->end_ns > packet->time_ns) {
		slices->num_skipped++;
		return 0;
	}
	last->end_ns = packet->time_ns;
	if (!track->is_queued)
		last->queued_ns = packet->time_ns;
	return 0;
}
