/*
 * The events of zones and occupancies, with the tracks they are on. A track is declared when
 * its first event asks for its id (perfetto_tracks_use_…()), so that a trace has no empty tracks.
 *
 * A zone changes the fill of its region, which is a counter with a track of its own. The value
 * rides on the zone's event, as an "extra counter", and needs no packet: zones are most of such a
 * trace.
 */
#include "formats/perfetto/write/slices.h"

#include <errno.h>
#include <inttypes.h>

#include "formats/perfetto/task_events.h"

/* The caller fills in name, categories, flows and parameters, and adds the event. */
int perfetto_start_zone(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			const struct zone *zone, uint64_t fill_bytes)
{
	uint64_t track;
	uint64_t fill_track;
	Perfetto__TrackEvent *event;
	int err = perfetto_tracks_use_zones(tracks, zone->region, &track);

	if (err)
		return err;
	err = perfetto_tracks_use_fill(tracks, zone->region, &fill_track);
	if (err)
		return err;
	event = perfetto_event_writer_start(writer, EVENT_START, track);
	event->has_source_location_iid = 1;
	perfetto_event_writer_set_counter(writer, fill_track, fill_bytes);
	return perfetto_names_use_location(writer->names, zone->location,
					   &event->source_location_iid);
}

int perfetto_end_zone(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
		      uint32_t region, uint64_t fill_bytes, uint64_t time_ns)
{
	uint64_t track;
	uint64_t fill_track;
	int err = perfetto_tracks_use_zones(tracks, region, &track);

	if (err)
		return err;
	err = perfetto_tracks_use_fill(tracks, region, &fill_track);
	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_END, track);
	perfetto_event_writer_set_counter(writer, fill_track, fill_bytes);
	return perfetto_event_writer_add(writer, time_ns);
}

int perfetto_write_fill(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			uint32_t region, uint64_t fill_bytes, uint64_t time_ns)
{
	uint64_t track;
	int err = perfetto_tracks_use_fill(tracks, region, &track);

	if (err)
		return err;
	return perfetto_event_writer_add_counter(writer, track, time_ns, (int64_t)fill_bytes);
}

static int add_stack_category(struct perfetto_event_writer *writer)
{
	static const struct perfetto_event_string category = {.data = "stack", .length = 5};

	return perfetto_event_writer_add_category(writer, &category);
}

/* Like "worker [1001]". */
static int set_thread_name(struct perfetto_event_writer *writer, const char *name, uint32_t tid)
{
	struct perfetto_event_string string;

	text_truncate(&writer->text, 0);
	text_append_string(&writer->text, name);
	text_append_string(&writer->text, " [");
	text_append_number(&writer->text, tid);
	text_append_char(&writer->text, ']');
	if (writer->text.failed)
		return -ENOMEM;
	string = (struct perfetto_event_string){.data = writer->text.data,
						.length = writer->text.length};
	return perfetto_event_writer_set_name(writer, &string);
}

/*
 * An occupancy is drawn twice: on the region's track under the thread's name, and on the thread's
 * track under the region's name. A flow leads from one thread's stay on a region to the next one's;
 * flow_in ends here, flow_out goes on.
 */
int perfetto_start_region_slice(struct perfetto_event_writer *writer,
				struct perfetto_tracks *tracks, const struct occupancy *occupancy,
				const char *thread_name, uint64_t flow_in, uint64_t flow_out)
{
	uint64_t tid = timeline_get_thread(writer->timeline, occupancy->thread)->tid;
	uint64_t track;
	int err = perfetto_tracks_use_region(tracks, occupancy->region, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_START, track);
	err = set_thread_name(writer, thread_name,
			      perfetto_tracks_get_tid(tracks, occupancy->thread));
	if (err)
		return err;
	err = add_stack_category(writer);
	if (err)
		return err;
	if (flow_in) {
		err = perfetto_event_writer_add_flow(writer, flow_in, true);
		if (err)
			return err;
	}
	if (flow_out) {
		err = perfetto_event_writer_add_flow(writer, flow_out, false);
		if (err)
			return err;
	}
	/* The program's own number, which need not be the tid that the trace has for the thread. */
	err = perfetto_event_writer_add_annotation(writer, "tid", tid, false);
	if (err)
		return err;
	if (occupancy->pointer) {
		err = perfetto_event_writer_add_annotation(writer, "sp", occupancy->pointer, true);
		if (err)
			return err;
	}
	err = perfetto_event_writer_close_annotations(writer);
	if (err)
		return err;
	return perfetto_event_writer_add(writer, occupancy->start_ns);
}

/* An end needs no name: it closes the innermost slice of its track. */
int perfetto_end_region_slice(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			      uint32_t region, uint64_t flow_out, uint64_t time_ns)
{
	uint64_t track;
	int err = perfetto_tracks_use_region(tracks, region, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_END, track);
	if (flow_out) {
		err = perfetto_event_writer_add_flow(writer, flow_out, false);
		if (err)
			return err;
	}
	return perfetto_event_writer_add(writer, time_ns);
}

int perfetto_start_thread_slice(struct perfetto_event_writer *writer,
				struct perfetto_tracks *tracks, const struct occupancy *occupancy)
{
	struct perfetto_event_string name = {
		.id = timeline_get_region(writer->timeline, occupancy->region)->name};
	uint64_t track;
	int err = perfetto_tracks_use_thread_stack(tracks, occupancy->thread, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_START, track);
	err = perfetto_event_writer_set_name(writer, &name);
	if (err)
		return err;
	err = add_stack_category(writer);
	if (err)
		return err;
	return perfetto_event_writer_add(writer, occupancy->start_ns);
}

int perfetto_end_thread_slice(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			      uint32_t thread, uint64_t time_ns)
{
	uint64_t track;
	int err = perfetto_tracks_use_thread_stack(tracks, thread, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_END, track);
	return perfetto_event_writer_add(writer, time_ns);
}

int perfetto_write_task_event(struct perfetto_event_writer *writer,
			      const struct perfetto_tracks *tracks, const struct task_event *task)
{
	static const struct perfetto_event_string category = {
		.data = PERFETTO_TASK_CATEGORY, .length = sizeof(PERFETTO_TASK_CATEGORY) - 1};
	enum task_event_kind kind = (enum task_event_kind)task->kind;
	int err;

	perfetto_event_writer_start(writer, EVENT_INSTANT,
				    perfetto_tracks_get_thread(tracks, task->thread));
	err = perfetto_event_writer_set_text(writer, perfetto_get_task_event_name(kind));
	if (err)
		return err;
	err = perfetto_event_writer_add_category(writer, &category);
	if (err)
		return err;
	if (kind == TASK_FORK)
		err = perfetto_event_writer_add_annotation(writer, "child", task->child_pid, false);
	else if (kind != TASK_EXIT)
		err = perfetto_event_writer_add_string(
			writer, "name", &(struct perfetto_event_string){.id = task->name});
	if (err)
		return err;
	err = perfetto_event_writer_close_annotations(writer);
	return err ? err : perfetto_event_writer_add(writer, task->time_ns);
}

int perfetto_write_use(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
		       const struct regions_in_use *use)
{
	uint64_t number_track;
	uint64_t size_track;
	int err = perfetto_tracks_use_totals(tracks, use->process, &number_track, &size_track);

	if (err)
		return err;
	err = perfetto_event_writer_add_counter(writer, number_track, use->time_ns, use->number);
	if (err)
		return err;
	return perfetto_event_writer_add_counter(writer, size_track, use->time_ns,
						 (int64_t)use->bytes);
}
