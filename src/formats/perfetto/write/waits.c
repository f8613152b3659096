/*
 * A wait is one slice or two: off the CPU for some reason, and then, after the wakeup, in a run
 * queue. Both have the call stack, which the interface shows for the selected slice; the trace
 * processor has it in the table __intrinsic_track_event_callstacks. The rows of scheduling, which
 * it makes of the kernel's events, cannot carry one: that is why these slices have a track of their
 * own.
 *
 * The waker is an instant on its own track, with its stack at that time. A flow leads from there to
 * the slice of the run queue, which starts then: the interface draws arrows to the start of a
 * slice, and one to the wait itself would go back in time.
 */
#include "formats/perfetto/write/waits.h"

#include <errno.h>

#include "formats/perfetto/waits.h"

/* Functions that give up the CPU for others: "schedule_timeout", "io_schedule". */
static bool is_scheduler(const char *name)
{
	static const char *const prefixes[] = {"schedule", "__schedule", "io_schedule",
					       "preempt_schedule"};

	for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++)
		if (string_starts_with(name, prefixes[i]))
			return true;
	return false;
}

/*
 * The reason of the wait, as the kernel has it: the innermost function outside the scheduler. NULL:
 * no such function on the stack.
 */
static const struct frame *find_reason(const struct profile *profile, uint32_t stack)
{
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(profile, stack)) {
		const struct location *location =
			profile_get_location(profile, profile_get_stack_location(profile, stack));
		const struct frame *frame;

		if (!location->num_frames)
			return NULL;
		frame = profile_get_frame(profile, location->first_frame);
		if (frame->kind != FRAME_KERNEL)
			return NULL;
		if (!is_scheduler(profile_get_string(profile, frame->name)))
			return frame;
	}
	return NULL;
}

static int add_reason(struct perfetto_event_writer *writer, const struct profile *profile,
		      uint32_t stack)
{
	const struct frame *reason = find_reason(profile, stack);

	if (!reason)
		return 0;
	return perfetto_event_writer_add_string(
		writer, "reason",
		&(struct perfetto_event_string){
			.data = profile_get_string(profile, reason->name),
			.length = profile_get_string_length(profile, reason->name)});
}

static int start_slice(struct perfetto_event_writer *writer, uint64_t track, const char *name,
		       uint32_t stack)
{
	static const struct perfetto_event_string category = {.data = "wait", .length = 4};
	int err;

	perfetto_event_writer_start(writer, EVENT_START, track);
	err = perfetto_event_writer_set_text(writer, name);
	if (err)
		return err;
	err = perfetto_event_writer_add_category(writer, &category);
	if (err)
		return err;
	return perfetto_event_writer_set_stack(writer, stack);
}

/* If the waker is not shown, its instant is on the track of the waiting thread. */
static uint32_t find_waker(const struct perfetto_event_writer *writer,
			   const struct perfetto_tracks *tracks, const struct timeline_wait *wait)
{
	if (wait->waker == TIMELINE_NONE ||
	    perfetto_tracks_is_grouped(tracks,
				       timeline_get_thread(writer->timeline, wait->waker)->process))
		return wait->thread;
	return wait->waker;
}

static int add_text(struct perfetto_event_writer *writer, const char *name, uint32_t string)
{
	return perfetto_event_writer_add_string(writer, name,
						&(struct perfetto_event_string){.id = string});
}

static int add_waker(struct perfetto_event_writer *writer, const struct perfetto_tracks *tracks,
		     const struct timeline_wait *wait)
{
	uint32_t waker = find_waker(writer, tracks, wait);
	int err = add_text(writer, PERFETTO_WAKER_NAME, wait->waker_name);

	if (err || waker == wait->thread)
		return err;
	return perfetto_event_writer_add_annotation(writer, "waker_tid",
						    perfetto_tracks_get_tid(tracks, waker), false);
}

static int finish_slice(struct perfetto_event_writer *writer, uint64_t track, uint64_t weight,
			uint64_t start_ns, uint64_t end_ns)
{
	int err = perfetto_event_writer_add_annotation(writer, PERFETTO_WEIGHT_NAME, weight, false);

	if (err)
		return err;
	err = perfetto_event_writer_close_annotations(writer);
	if (err)
		return err;
	err = perfetto_event_writer_add(writer, start_ns);
	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_END, track);
	return perfetto_event_writer_add(writer, end_ns);
}

/* Like "wakes worker [1001]". */
static int set_wakeup_name(struct perfetto_event_writer *writer,
			   const struct perfetto_tracks *tracks, uint32_t thread)
{
	struct text *text = &writer->text;

	text_truncate(text, 0);
	text_printf(text, "wakes %s [%u]",
		    timeline_get_string(writer->timeline,
					timeline_get_thread(writer->timeline, thread)->name),
		    perfetto_tracks_get_tid(tracks, thread));
	return text->failed ? -ENOMEM : perfetto_event_writer_set_text(writer, text->data);
}

static int write_wakeup(struct perfetto_event_writer *writer, const struct perfetto_tracks *tracks,
			const struct timeline_wait *wait, uint64_t flow)
{
	static const struct perfetto_event_string category = {
		.data = PERFETTO_WAKEUP_CATEGORY, .length = sizeof(PERFETTO_WAKEUP_CATEGORY) - 1};
	int err;

	perfetto_event_writer_start(
		writer, EVENT_INSTANT,
		perfetto_tracks_get_thread(tracks, find_waker(writer, tracks, wait)));
	err = set_wakeup_name(writer, tracks, wait->thread);
	if (err)
		return err;
	err = perfetto_event_writer_add_category(writer, &category);
	if (err)
		return err;
	err = perfetto_event_writer_set_stack(writer, wait->waker_stack);
	if (err)
		return err;
	err = perfetto_event_writer_add_flow(writer, flow, false);
	if (err)
		return err;
	err = add_text(writer, PERFETTO_WAKER_NAME, wait->waker_name);
	if (err)
		return err;
	err = perfetto_event_writer_close_annotations(writer);
	return err ? err : perfetto_event_writer_add(writer, wait->queued_ns);
}

static int write_off_cpu(struct perfetto_event_writer *writer, const struct perfetto_tracks *tracks,
			 const struct profile *profile, const struct timeline_wait *wait,
			 uint64_t track)
{
	enum off_cpu_state state = (enum off_cpu_state)wait->state;
	int err = start_slice(writer, track, perfetto_get_wait_name(state), wait->stack);

	if (err)
		return err;
	if (state != OFF_CPU_PREEMPTED) {
		err = add_reason(writer, profile, wait->stack);
		if (err)
			return err;
	}
	if (wait->waker_name != STRING_EMPTY) {
		err = add_waker(writer, tracks, wait);
		if (err)
			return err;
	}
	return finish_slice(writer, track, wait->weight, wait->start_ns, wait->queued_ns);
}

/* Events of one time are in the order of the file. */
int perfetto_write_wait(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			const struct profile *profile, const struct timeline_wait *wait,
			uint64_t flow)
{
	bool has_waker = wait->waker_name != STRING_EMPTY;
	uint64_t track;
	int err = perfetto_tracks_use_waits(tracks, wait->thread, &track);

	if (err)
		return err;
	if (wait->queued_ns > wait->start_ns) {
		err = write_off_cpu(writer, tracks, profile, wait, track);
		if (err)
			return err;
	}
	if (has_waker) {
		err = write_wakeup(writer, tracks, wait, flow);
		if (err)
			return err;
	}
	if (wait->end_ns <= wait->queued_ns && !has_waker)
		return 0;
	err = start_slice(writer, track, PERFETTO_RUN_QUEUE_SLICE, wait->stack);
	if (err)
		return err;
	if (has_waker) {
		err = perfetto_event_writer_add_flow(writer, flow, true);
		if (err)
			return err;
	}
	return finish_slice(writer, track, wait->queue_weight, wait->queued_ns, wait->end_ns);
}
