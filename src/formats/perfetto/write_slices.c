#include "formats/perfetto/write_slices.h"

#include <errno.h>
#include <inttypes.h>

int perfetto_start_zone(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			const struct zone *zone, uint64_t fill_bytes)
{
	uint64_t track;
	uint64_t fill_track;
	Perfetto__TrackEvent *event;
	int err = perfetto_tracks_use_zones(tracks, zone->region, &track);

	if (!err)
		err = perfetto_tracks_use_fill(tracks, zone->region, &fill_track);
	if (err)
		return err;
	event = perfetto_event_writer_start(writer, EVENT_BEGIN, track);
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

	if (!err)
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

	return err ? err
		   : perfetto_event_writer_add_counter(writer, track, time_ns, (int64_t)fill_bytes);
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

int perfetto_begin_region_slice(struct perfetto_event_writer *writer,
				struct perfetto_tracks *tracks, const struct occupancy *occupancy,
				const char *thread_name, uint64_t flow_in, uint64_t flow_out)
{
	uint64_t tid = timeline_get_thread(writer->timeline, occupancy->thread)->tid;
	uint64_t track;
	int err = perfetto_tracks_use_region(tracks, occupancy->region, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_BEGIN, track);
	err = set_thread_name(writer, thread_name,
			      perfetto_tracks_get_tid(tracks, occupancy->thread));
	if (!err)
		err = add_stack_category(writer);
	if (!err && flow_in)
		err = perfetto_event_writer_add_flow(writer, flow_in, true);
	if (!err && flow_out)
		err = perfetto_event_writer_add_flow(writer, flow_out, false);
	if (!err)
		err = perfetto_event_writer_add_annotation(writer, "tid", tid, false);
	if (!err && occupancy->pointer)
		err = perfetto_event_writer_add_annotation(writer, "sp", occupancy->pointer, true);
	if (!err)
		err = perfetto_event_writer_close_annotations(writer);
	return err ? err : perfetto_event_writer_add(writer, occupancy->begin_ns);
}

int perfetto_end_region_slice(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
			      uint32_t region, uint64_t flow_out, uint64_t time_ns)
{
	uint64_t track;
	int err = perfetto_tracks_use_region(tracks, region, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_END, track);
	if (flow_out)
		err = perfetto_event_writer_add_flow(writer, flow_out, false);
	return err ? err : perfetto_event_writer_add(writer, time_ns);
}

int perfetto_begin_thread_slice(struct perfetto_event_writer *writer,
				struct perfetto_tracks *tracks, const struct occupancy *occupancy)
{
	struct perfetto_event_string name = {
		.id = timeline_get_region(writer->timeline, occupancy->region)->name};
	uint64_t track;
	int err = perfetto_tracks_use_thread_stack(tracks, occupancy->thread, &track);

	if (err)
		return err;
	perfetto_event_writer_start(writer, EVENT_BEGIN, track);
	err = perfetto_event_writer_set_name(writer, &name);
	if (!err)
		err = add_stack_category(writer);
	return err ? err : perfetto_event_writer_add(writer, occupancy->begin_ns);
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

int perfetto_write_use(struct perfetto_event_writer *writer, struct perfetto_tracks *tracks,
		       const struct regions_in_use *use)
{
	uint64_t number_track;
	uint64_t size_track;
	int err = perfetto_tracks_use_totals(tracks, use->process, &number_track, &size_track);

	if (!err)
		err = perfetto_event_writer_add_counter(writer, number_track, use->time_ns,
							use->number);
	if (!err)
		err = perfetto_event_writer_add_counter(writer, size_track, use->time_ns,
							(int64_t)use->bytes);
	return err;
}
