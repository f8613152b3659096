/*
 * Reading Perfetto traces: the thread or process of a track's slices and values.
 *
 * Tracks form trees by parent_uuid, with a process or thread on top of most. Without either, the
 * tracks of a tree belong to pid 0, and their slices to a synthetic thread named after the track.
 */
#include "formats/perfetto/read/owners.h"

#include <errno.h>
#include <stdlib.h>

/* Tracks may name each other as parents, in a ring too. */
#define MAX_TRACK_DEPTH 16

/* Threads that have a descriptor, but no event, are part of the timeline, too. */
static int use_described(struct perfetto_track_table *tracks)
{
	struct perfetto_threads *threads = tracks->threads;
	uint32_t ignored;
	int err;

	array_for_each (&threads->processes, process) {
		err = process->is_grouped ? perfetto_threads_use_process(threads, process, &ignored)
					  : 0;
		if (err)
			return err;
	}
	array_for_each (&tracks->items, track) {
		if (track->process != PERFETTO_NONE &&
		    !threads->processes.items[track->process].is_group) {
			err = perfetto_threads_use_process(
				threads, &threads->processes.items[track->process], &ignored);
			if (err)
				return err;
		}
		if (track->thread != PERFETTO_NONE) {
			struct perfetto_thread *thread = &threads->items.items[track->thread];

			err = perfetto_threads_use(threads, thread, thread->since_ns, &ignored);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Sort threads by id and time; the indices that tracks have of them change with that. */
static int sort_threads(struct perfetto_track_table *tracks)
{
	struct perfetto_threads *threads = tracks->threads;
	size_t num_processes = threads->processes.length;
	_cleanup_free_ uint32_t *places =
		malloc((num_processes + threads->items.length + 1) * sizeof(*places));

	if (!places)
		return -ENOMEM;
	perfetto_threads_sort(threads, places, places + num_processes);
	array_for_each (&tracks->items, track) {
		if (track->process != PERFETTO_NONE)
			track->process = places[track->process];
		if (track->thread != PERFETTO_NONE)
			track->thread = places[num_processes + track->thread];
	}
	return 0;
}

int perfetto_owners_prepare(struct perfetto_track_table *tracks)
{
	int err = sort_threads(tracks);

	if (err)
		return err;
	perfetto_track_table_set_roles(tracks);
	return tracks->trace->import->timeline ? use_described(tracks) : 0;
}

/* The topmost ancestor of a track, or the track itself: with luck a process or thread. */
static const struct perfetto_track *find_top(const struct perfetto_track_table *tracks,
					     const struct perfetto_track *track)
{
	for (unsigned int depth = 0; depth < MAX_TRACK_DEPTH; depth++) {
		const struct perfetto_track *parent =
			perfetto_track_table_get_parent(tracks, track);

		if (!parent)
			break;
		track = parent;
	}
	return track;
}

int perfetto_owners_find_process(struct perfetto_track_table *tracks,
				 const struct perfetto_track *track, uint32_t *ret)
{
	const struct perfetto_track *top = find_top(tracks, track);
	const struct perfetto_thread *thread;

	if (top->process != PERFETTO_NONE)
		return perfetto_threads_use_process(
			tracks->threads, &tracks->threads->processes.items[top->process], ret);
	if (top->thread == PERFETTO_NONE)
		return perfetto_threads_find_process(tracks->threads, 0, 0, ret);
	thread = &tracks->threads->items.items[top->thread];
	return perfetto_threads_find_process(tracks->threads, thread->pid, thread->since_ns, ret);
}

uint32_t perfetto_owners_get_pid(const struct perfetto_track_table *tracks,
				 const struct perfetto_track *track)
{
	const struct perfetto_track *top = find_top(tracks, track);

	if (top->process != PERFETTO_NONE)
		return tracks->threads->processes.items[top->process].pid;
	return top->thread == PERFETTO_NONE ? 0 : tracks->threads->items.items[top->thread].pid;
}

/* Slices of no thread get a synthetic one, named after their track, or after their region. */
int perfetto_owners_find_thread(struct perfetto_track_table *tracks, struct perfetto_track *track,
				uint32_t *ret)
{
	const struct perfetto_track *top = find_top(tracks, track);
	const struct perfetto_track *named =
		track->role == PERFETTO_ZONES ? perfetto_track_table_get_parent(tracks, track)
					      : track;
	uint32_t process;
	int err;

	if (track->owner != TIMELINE_NONE) {
		*ret = track->owner;
		return 0;
	}
	if (top->thread != PERFETTO_NONE) {
		struct perfetto_thread *thread = &tracks->threads->items.items[top->thread];

		err = perfetto_threads_use(tracks->threads, thread, thread->since_ns, ret);
	} else {
		err = perfetto_owners_find_process(tracks, track, &process);
		if (err)
			return err;
		err = perfetto_threads_add(tracks->threads, process, 0, named->name, ret);
	}
	if (err)
		return err;
	track->owner = *ret;
	return 0;
}
