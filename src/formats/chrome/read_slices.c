/*
 * Reading traces of Chrome: slices of tracks become stacks that weigh the time that they were
 * innermost, and zones.
 *
 * Slices may come in any order, and begin and end in events of their own; the slices of a track
 * should nest. When all are there, they are sorted twice:
 *
 *  - by track and time, to join each end with the innermost begin before it that has none
 *    (match_slices);
 *  - by track, begin and, of what begins at once, the longer first, which is the order of a walk
 *    over the tree of slices, parents before children (nest_slices). A list of the slices that are
 *    open is then all it takes: what has ended when the next one begins leaves the list and weighs
 *    its duration less those of its children.
 *
 * What would outlast the slice around it is truncated. Most of that is rounding, for times are
 * microseconds and often whole ones, and is not worth a warning.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/chrome/read_slices.h"
#include "formats/chrome/read_timeline.h"
#include "formats/reader.h"
#include "formats/zones/read_profile.h"
#include "timeline/timeline.h"

#define MAX_TRACKS  (1u << 29)
#define MAX_DEPTH   1000  /* begins without ends would nest without bound */
#define ROUNDING_NS 1000u /* times are microseconds, often whole ones */

/* A hostile trace must not have more of them than its size allows. */
#define FREE_SLICES     262144u
#define BYTES_PER_SLICE 32u

struct chrome_open_slice {
	uint64_t end_ns;
	uint64_t self_ns; /* not in slices inside it */
	uint32_t location;
	uint32_t stack; /* STACK_EMPTY until something in it weighs */
	uint32_t zone;
};

struct chrome_finisher {
	struct chrome_slices *slices;
	uint32_t metric;
	ARRAY(struct chrome_open_slice) open; /* of the track, outermost first */
	ARRAY(uint32_t) begun;                /* slices whose end is not known yet */
	uint64_t num_strays;                  /* ends without a begin */
	uint64_t num_endless;
	uint64_t num_truncated;
	uint64_t num_too_deep;
};

void chrome_slices_init(struct chrome_slices *slices, struct import *import,
			struct chrome_tracks *tracks, struct chrome_timeline *timeline)
{
	*slices = (struct chrome_slices){.import = import, .tracks = tracks, .timeline = timeline};
}

void chrome_slices_release(struct chrome_slices *slices)
{
	array_release(&slices->items);
}

static int find_location(struct profile *profile, const struct text *name, uint32_t *ret)
{
	struct frame frame = {0};
	int err = profile_add_frame_name(profile, name->data, name->length, &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_add_frame_location(profile, &frame, ret);
}

int chrome_slices_add(struct chrome_slices *slices, const struct chrome_event *event,
		      enum chrome_slice_kind kind, bool is_async)
{
	struct chrome_slice slice = {.start_ns = event->ts_ns, .offset = event->offset};
	struct chrome_slice *added;
	uint32_t track;
	int err;

	if (!event->has_ts)
		return reader_skip_byte(slices->import, event->offset, "a slice without its time");
	err = chrome_tracks_find(slices->tracks, event, is_async, &track);
	if (err)
		return err;
	if (track >= MAX_TRACKS ||
	    slices->items.length >= FREE_SLICES + slices->import->size / BYTES_PER_SLICE) {
		slices->has_too_many = true;
		return 0;
	}
	if (kind != CHROME_END) {
		err = find_location(slices->import->profile, &event->name, &slice.location);
		if (err)
			return err;
	}
	added = array_add(&slices->items);
	if (!added)
		return -ENOMEM;
	if (__builtin_add_overflow(slice.start_ns, event->dur_ns, &slice.end_ns))
		slice.end_ns = UINT64_MAX;
	slice.track = track & (MAX_TRACKS - 1);
	slice.kind = (unsigned int)kind & 7;
	*added = slice;
	return 0;
}

/* ---- begins and ends ---- */

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/*
 * Of one time, events count in the order of the file: an end and a begin at once mean two slices,
 * one after the other.
 */
static int compare_by_time(const void *left, const void *right)
{
	const struct chrome_slice *a = left;
	const struct chrome_slice *b = right;

	COMPARE(a->track, b->track);
	COMPARE(a->start_ns, b->start_ns);
	COMPARE(a->offset, b->offset);
	return 0;
}

/* What begins at once: the longer one is outside. */
static int compare_by_nesting(const void *left, const void *right)
{
	const struct chrome_slice *a = left;
	const struct chrome_slice *b = right;

	COMPARE(a->track, b->track);
	COMPARE(a->start_ns, b->start_ns);
	COMPARE(b->end_ns, a->end_ns);
	COMPARE(a->offset, b->offset);
	return 0;
}

/* Those that are still open at the end of a track last until then. */
static void close_slices(struct chrome_finisher *finisher, uint64_t end_ns)
{
	finisher->num_endless += finisher->begun.length;
	array_for_each (&finisher->begun, begun) {
		struct chrome_slice *slice = &finisher->slices->items.items[*begun];

		slice->end_ns = end_ns > slice->start_ns ? end_ns : slice->start_ns;
		slice->kind = CHROME_WHOLE;
	}
	finisher->begun.length = 0;
}

static int match_slice(struct chrome_finisher *finisher, uint32_t index)
{
	struct chrome_slice *slices = finisher->slices->items.items;
	struct chrome_slice *slice = &slices[index];
	uint32_t *begun;

	if (slice->kind == CHROME_BEGIN) {
		begun = array_add(&finisher->begun);
		if (!begun)
			return -ENOMEM;
		*begun = index;
	} else if (slice->kind == CHROME_END) {
		slice->kind = CHROME_NOTHING;
		if (!finisher->begun.length) {
			finisher->num_strays++;
			return 0;
		}
		begun = &finisher->begun.items[--finisher->begun.length];
		slices[*begun].end_ns = slice->start_ns;
		slices[*begun].kind = CHROME_WHOLE;
	}
	return 0;
}

/* Make one slice of a begin and its end. */
static int match_slices(struct chrome_finisher *finisher)
{
	struct chrome_slice *slices = finisher->slices->items.items;
	size_t count = finisher->slices->items.length;
	uint64_t end_ns = 0;

	qsort(slices, count, sizeof(*slices), compare_by_time);
	for (size_t i = 0; i < count; i++) {
		int err;

		if (i && slices[i].track != slices[i - 1].track) {
			close_slices(finisher, end_ns);
			end_ns = 0;
		}
		if (slices[i].end_ns > end_ns)
			end_ns = slices[i].end_ns;
		err = match_slice(finisher, (uint32_t)i);
		if (err)
			return err;
	}
	close_slices(finisher, end_ns);
	return 0;
}

/* ---- nesting ---- */

/*
 * The stack of the innermost slice, after those around it. Stacks are made no sooner than something
 * weighs, so that a slice whose children take all of its time leaves none behind.
 */
static int find_stack(struct chrome_finisher *finisher, uint32_t *ret)
{
	struct chrome_open_slice *open = finisher->open.items;
	size_t depth = finisher->open.length;

	while (depth && open[depth - 1].stack == STACK_EMPTY)
		depth--;
	*ret = depth ? open[depth - 1].stack : STACK_EMPTY;
	for (; depth < finisher->open.length; depth++) {
		int err = profile_add_stack(finisher->slices->import->profile, *ret,
					    open[depth].location, ret);

		if (err)
			return err;
		open[depth].stack = *ret;
	}
	return 0;
}

static int add_weight(struct chrome_finisher *finisher, uint32_t track, uint64_t self_ns)
{
	struct chrome_slices *slices = finisher->slices;
	uint32_t thread;
	uint32_t stack;
	int err = chrome_tracks_get_thread(slices->tracks, track, &thread);

	if (err)
		return err;
	err = find_stack(finisher, &stack);
	if (err)
		return err;
	return reader_add_sample(slices->import, 0, thread, stack, finisher->metric, self_ns);
}

/* Those that have ended by then weigh what they have left. */
static int leave_slices(struct chrome_finisher *finisher, uint32_t track, uint64_t time_ns)
{
	while (finisher->open.length) {
		struct chrome_open_slice *top = &finisher->open.items[finisher->open.length - 1];

		if (top->end_ns > time_ns)
			return 0;
		if (top->self_ns) {
			int err = add_weight(finisher, track, top->self_ns);

			if (err)
				return err;
		}
		finisher->open.length--;
	}
	return 0;
}

/*
 * The parent's own time shrinks by the child's; truncated to its end before, the child can take no
 * more than there is.
 */
static int enter_slice(struct chrome_finisher *finisher, struct chrome_slice *slice)
{
	struct chrome_slices *slices = finisher->slices;
	size_t depth = finisher->open.length;
	struct chrome_open_slice inner = {
		.location = slice->location, .stack = STACK_EMPTY, .zone = TIMELINE_NONE};
	struct chrome_open_slice *added = array_add(&finisher->open);
	struct chrome_open_slice *outer = depth ? &finisher->open.items[depth - 1] : NULL;

	if (!added)
		return -ENOMEM;
	if (outer && outer->end_ns < slice->end_ns) {
		finisher->num_truncated += slice->end_ns - outer->end_ns > ROUNDING_NS;
		slice->end_ns = outer->end_ns;
	}
	inner.end_ns = slice->end_ns;
	inner.self_ns = slice->end_ns - slice->start_ns;
	if (outer)
		outer->self_ns -= inner.self_ns;
	if (slices->timeline) {
		int err = chrome_timeline_add(slices->timeline, slice, depth,
					      outer ? outer->zone : TIMELINE_NONE, &inner.zone);

		if (err)
			return err;
	}
	*added = inner;
	return 0;
}

static int nest_slices(struct chrome_finisher *finisher)
{
	const struct chrome_slices *all = finisher->slices;
	struct chrome_slice *slices = all->items.items;
	uint32_t track = 0;
	int err;

	qsort(slices, all->items.length, sizeof(*slices), compare_by_nesting);
	for (size_t i = 0; i < all->items.length; i++) {
		struct chrome_slice *slice = &slices[i];
		bool is_other = i && slice->track != slices[i - 1].track;

		err = leave_slices(finisher, track, is_other ? UINT64_MAX : slice->start_ns);
		if (err)
			return err;
		track = slice->track;
		if (slice->kind == CHROME_NOTHING ||
		    (slice->kind == CHROME_INSTANT && !all->timeline))
			continue;
		if (finisher->open.length >= MAX_DEPTH) {
			finisher->num_too_deep++;
			continue;
		}
		err = enter_slice(finisher, slice);
		if (err)
			return err;
	}
	return leave_slices(finisher, track, UINT64_MAX);
}

static void report_losses(const struct chrome_finisher *finisher)
{
	struct import *import = finisher->slices->import;

	import->counts.skipped += finisher->num_strays + finisher->num_too_deep;
	if (finisher->num_strays)
		import_warn(import, "%llu ends of slices that did not begin, skipping",
			    (unsigned long long)finisher->num_strays);
	if (finisher->num_endless)
		import_warn(import, "%llu unterminated slices, ended with their track",
			    (unsigned long long)finisher->num_endless);
	if (finisher->num_too_deep)
		import_warn(import, "%llu slices are inside more than %d others, skipping",
			    (unsigned long long)finisher->num_too_deep, MAX_DEPTH);
	if (finisher->num_truncated)
		import_warn(import,
			    "%llu slices outlast the one that they are in: they are truncated",
			    (unsigned long long)finisher->num_truncated);
}

static void release_finisher(struct chrome_finisher *finisher)
{
	array_release(&finisher->open);
	array_release(&finisher->begun);
}

int chrome_slices_finish(struct chrome_slices *slices)
{
	_cleanup_(release_finisher) struct chrome_finisher finisher = {.slices = slices};
	int err;

	if (!slices->items.length)
		return 0;
	err = profile_add_metric(slices->import->profile, ZONES_METRIC_NAME, ZONES_METRIC_UNIT,
				 &finisher.metric);
	if (err)
		return err;
	err = match_slices(&finisher);
	if (err)
		return err;
	err = nest_slices(&finisher);
	if (err)
		return err;
	report_losses(&finisher);
	return 0;
}
