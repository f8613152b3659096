/*
 * Reading Perfetto traces: whose the slices and values of a track are.
 */
#include "formats/perfetto_reader.h"

/* Tracks may name each other as parents, in a ring too. */
#define MAX_TRACK_DEPTH 16

/* Threads of which nothing else is told are part of the timeline, too. */
static int use_described(struct perfetto_reader *reader)
{
	uint32_t ignored;
	int err = 0;

	for (size_t i = 0; !err && i < reader->tracks.length; i++) {
		const struct perfetto_track *track = &reader->tracks.items[i];

		if (track->process != PERFETTO_NONE)
			err = perfetto_use_process(reader, &reader->processes.items[track->process],
						   &ignored);
		if (!err && track->thread != PERFETTO_NONE)
			err = perfetto_use_thread(reader, &reader->threads.items[track->thread],
						  reader->threads.items[track->thread].since_ns,
						  &ignored);
	}
	return err;
}

int perfetto_finish_descriptors(struct perfetto_reader *reader)
{
	int err = perfetto_sort_descriptors(reader);

	if (err)
		return err;
	perfetto_set_roles(reader);
	return reader->trace.import->timeline ? use_described(reader) : 0;
}

/* The process or thread at the top of the track's branch; else what is topmost. */
static const struct perfetto_track *find_top(const struct perfetto_reader *reader,
					     const struct perfetto_track *track)
{
	for (unsigned int depth = 0; depth < MAX_TRACK_DEPTH; depth++) {
		const struct perfetto_track *parent = perfetto_get_parent(reader, track);

		if (!parent)
			break;
		track = parent;
	}
	return track;
}

int perfetto_find_process_of(struct perfetto_reader *reader, const struct perfetto_track *track,
			     uint32_t *ret)
{
	const struct perfetto_track *top = find_top(reader, track);
	const struct perfetto_thread *thread;

	if (top->process != PERFETTO_NONE)
		return perfetto_use_process(reader, &reader->processes.items[top->process], ret);
	if (top->thread == PERFETTO_NONE)
		return perfetto_find_process(reader, 0, 0, ret);
	thread = &reader->threads.items[top->thread];
	return perfetto_find_process(reader, thread->pid, thread->since_ns, ret);
}

uint32_t perfetto_get_pid_of(const struct perfetto_reader *reader,
			     const struct perfetto_track *track)
{
	const struct perfetto_track *top = find_top(reader, track);

	if (top->process != PERFETTO_NONE)
		return reader->processes.items[top->process].pid;
	return top->thread == PERFETTO_NONE ? 0 : reader->threads.items[top->thread].pid;
}

/* Slices of no thread are of one that has the name of their track, or of their region. */
int perfetto_find_owner(struct perfetto_reader *reader, struct perfetto_track *track, uint32_t *ret)
{
	const struct perfetto_track *top = find_top(reader, track);
	const struct perfetto_track *named =
		track->role == PERFETTO_ZONES ? perfetto_get_parent(reader, track) : track;
	uint32_t process;
	int err;

	if (track->owner != TIMELINE_NONE) {
		*ret = track->owner;
		return 0;
	}
	if (top->thread != PERFETTO_NONE) {
		struct perfetto_thread *thread = &reader->threads.items[top->thread];

		err = perfetto_use_thread(reader, thread, thread->since_ns, ret);
	} else {
		err = perfetto_find_process_of(reader, track, &process);
		if (!err)
			err = perfetto_add_thread(reader, process, 0, named->name, ret);
	}
	track->owner = err ? TIMELINE_NONE : *ret;
	return err;
}
