/*
 * Reading traces of Chrome: slices of tracks become stacks that weigh the time that they were
 * innermost, and zones.
 *
 * Slices may be in any order, and start and end in separate events; the slices of a track should
 * nest. When all are read, they are sorted twice:
 *
 *  - by track and time, to join each end with the innermost open start before it (match_slices);
 *  - by track, start and, of equal starts, the longer first, which is the order of a walk over the
 *    tree of slices, parents before children (nest_slices). A slice that has ended when the next
 *    one starts weighs its duration less those of its children.
 *
 * A slice that would outlast the one around it is truncated. Most of that is rounding, for times
 * are microseconds and often whole ones, and is not worth a warning.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/chrome/read_slices.h"
#include "formats/chrome/read_timeline.h"
#include "formats/open_slices.h"
#include "formats/reader.h"
#include "formats/zones/read_profile.h"
#include "timeline/timeline.h"

#define MAX_TRACKS  (1u << 29)
#define MAX_DEPTH   1000 /* starts without ends would nest without bound */
#define NO_LOCATION UINT32_MAX
#define ROUNDING_NS 1000u /* times are microseconds, often whole ones */

/* A hostile trace must not have more of them than its size allows. */
#define FREE_SLICES     262144u
#define BYTES_PER_SLICE 32u

/* An open slice, as the profile needs it. */
struct chrome_level {
	uint64_t self_ns; /* not in slices inside it */
	uint32_t location;
	uint32_t stack; /* STACK_EMPTY until something in it weighs */
};

struct chrome_finisher {
	struct chrome_slices *slices;
	uint32_t metric;
	struct open_slices started;        /* those of the track whose end is not known yet */
	struct open_slices open;           /* those of the track that nest, all with an end */
	ARRAY(struct chrome_level) levels; /* as many as are open */
	ARRAY(uint64_t) next_flows;        /* of the next slice of the track */
	uint64_t num_lost_flows;
};

void chrome_slices_init(struct chrome_slices *slices, struct import *import,
			struct chrome_tracks *tracks, struct chrome_timeline *timeline)
{
	*slices = (struct chrome_slices){.import = import, .tracks = tracks, .timeline = timeline};
}

void chrome_slices_release(struct chrome_slices *slices)
{
	array_release(&slices->items);
	array_release(&slices->flows);
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

/* *ret is NULL if there are too many. */
static int add_slice(struct chrome_slices *slices, const struct chrome_event *event,
		     enum chrome_slice_kind kind, bool is_async, struct chrome_slice **ret)
{
	uint32_t track;
	int err = chrome_tracks_find(slices->tracks, event, is_async, &track);

	*ret = NULL;
	if (err)
		return err;
	if (track >= MAX_TRACKS ||
	    slices->items.length >= FREE_SLICES + slices->import->size / BYTES_PER_SLICE) {
		slices->has_too_many = true;
		return 0;
	}
	*ret = array_add(&slices->items);
	if (!*ret)
		return -ENOMEM;
	**ret = (struct chrome_slice){.start_ns = event->ts_ns,
				      .end_ns = event->ts_ns,
				      .offset = event->offset,
				      .location = NO_LOCATION,
				      .track = track & (MAX_TRACKS - 1),
				      .kind = (unsigned int)kind & 7};
	return 0;
}

int chrome_slices_add(struct chrome_slices *slices, const struct chrome_event *event,
		      enum chrome_slice_kind kind, bool is_async)
{
	struct chrome_slice *slice;
	int err;

	if (!event->has_ts)
		return reader_skip_byte(slices->import, event->offset, "a slice without its time");
	err = add_slice(slices, event, kind, is_async, &slice);
	if (err || !slice)
		return err;
	if (__builtin_add_overflow(slice->start_ns, event->dur_ns, &slice->end_ns))
		slice->end_ns = UINT64_MAX;
	/* An end may go without a name: it is that of the innermost slice then. */
	return kind == CHROME_END && !event->name.length
		       ? 0
		       : find_location(slices->import->profile, &event->name, &slice->location);
}

static uint64_t hash_text(uint64_t hash, const struct text *text)
{
	return hash_mix(hash, hash_bytes(text->length ? text->data : "", text->length));
}

/* Flows of different names or categories may have one id. */
int chrome_slices_add_flow(struct chrome_slices *slices, const struct chrome_event *event,
			   enum chrome_slice_kind kind)
{
	struct chrome_slice *slice;
	uint64_t *flow;
	int err;

	if (!event->has_ts)
		return reader_skip_byte(slices->import, event->offset, "a flow without its time");
	err = add_slice(slices, event, kind, false, &slice);
	if (err || !slice)
		return err;
	flow = array_add(&slices->flows);
	if (!flow)
		return -ENOMEM;
	*flow = hash_text(hash_text(hash_text(0, &event->id), &event->category), &event->name);
	slice->location = (uint32_t)(slices->flows.length - 1);
	return 0;
}

/* ---- starts and ends ---- */

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

/*
 * Events of equal time count in the order of the file: an end and a start at once mean two slices,
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

/* Slices that start at once: the longer one is outside. */
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

static void set_end(struct chrome_slice *slice, uint64_t end_ns)
{
	slice->end_ns = end_ns > slice->start_ns ? end_ns : slice->start_ns;
	slice->kind = CHROME_WHOLE;
}

/* Those that are still open at the end of a track last until then. */
static void close_slices(struct chrome_finisher *finisher, uint64_t end_ns)
{
	uint32_t started;

	while (open_slices_take_unterminated(&finisher->started, &started))
		set_end(&finisher->slices->items.items[started], end_ns);
}

/* The number of the open slice that an end belongs to, from 1 for the outermost; 0: not found. */
static size_t find_started(const struct chrome_finisher *finisher, uint32_t location)
{
	const struct open_slices *started = &finisher->started;
	const struct chrome_slice *slices = finisher->slices->items.items;
	size_t depth = started->items.length;

	if (location == NO_LOCATION)
		return depth;
	for (size_t i = depth; i > 0 && depth - i < MAX_DEPTH; i--)
		if (slices[started->items.items[i - 1].item].location == location)
			return i;
	return 0;
}

static int match_slice(struct chrome_finisher *finisher, uint32_t index)
{
	struct chrome_slice *slices = finisher->slices->items.items;
	struct chrome_slice *slice = &slices[index];
	struct open_slice *opened;
	uint32_t started;
	size_t level;

	if (slice->kind == CHROME_START)
		return open_slices_start(&finisher->started, &(struct open_slice){.item = index},
					 &opened);
	if (slice->kind != CHROME_END)
		return 0;
	slice->kind = CHROME_NOTHING;
	level = find_started(finisher, slice->location);
	if (!level)
		finisher->started.num_strays++;
	/* The slices inside it end with it. */
	for (size_t i = finisher->started.items.length; level && i >= level; i--) {
		if (open_slices_end(&finisher->started, &started))
			set_end(&slices[started], slice->start_ns);
		finisher->started.num_unterminated += i > level;
	}
	return 0;
}

/* Join each start with its end, to one slice. */
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
	struct chrome_level *levels = finisher->levels.items;
	size_t depth = finisher->levels.length;

	while (depth && levels[depth - 1].stack == STACK_EMPTY)
		depth--;
	*ret = depth ? levels[depth - 1].stack : STACK_EMPTY;
	for (; depth < finisher->levels.length; depth++) {
		int err = profile_add_stack(finisher->slices->import->profile, *ret,
					    levels[depth].location, ret);

		if (err)
			return err;
		levels[depth].stack = *ret;
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

/* Slices that have ended by then weigh their remaining time. */
static int leave_slices(struct chrome_finisher *finisher, uint32_t track, uint64_t time_ns)
{
	while (open_slices_leave(&finisher->open, time_ns)) {
		uint64_t self_ns = finisher->levels.items[finisher->levels.length - 1].self_ns;

		if (self_ns) {
			int err = add_weight(finisher, track, self_ns);

			if (err)
				return err;
		}
		finisher->levels.length--;
	}
	return 0;
}

/* The innermost slice belongs to the flow. */
static int join_flow(struct chrome_finisher *finisher, uint64_t flow, bool is_last)
{
	const struct zone_attribute attribute = {
		.kind = is_last ? ATTRIBUTE_TERMINATING_FLOW : ATTRIBUTE_FLOW,
		.type = VALUE_U64,
		.value.u64 = flow,
	};
	size_t depth = finisher->open.items.length;

	if (!depth) {
		finisher->num_lost_flows++;
		return 0;
	}
	return chrome_timeline_add_attribute(
		finisher->slices->timeline, finisher->open.items.items[depth - 1].item, &attribute);
}

static int add_next_flows(struct chrome_finisher *finisher)
{
	array_for_each (&finisher->next_flows, flow) {
		int err = join_flow(finisher, *flow, true);

		if (err)
			return err;
	}
	finisher->next_flows.length = 0;
	return 0;
}

static void lose_next_flows(struct chrome_finisher *finisher)
{
	finisher->num_lost_flows += finisher->next_flows.length;
	finisher->next_flows.length = 0;
}

/*
 * The parent's own time shrinks by the child's; truncated to its end before, the child can take no
 * more than there is.
 */
static int enter_slice(struct chrome_finisher *finisher, const struct chrome_slice *slice)
{
	const struct open_slice entered = {.end_ns = slice->end_ns, .has_end = true};
	struct chrome_level inner = {.location = slice->location, .stack = STACK_EMPTY};
	struct chrome_level *level;
	struct open_slice *opened;
	int err = open_slices_start(&finisher->open, &entered, &opened);

	if (err || !opened)
		return err;
	inner.self_ns = opened->end_ns - slice->start_ns;
	level = array_add(&finisher->levels);
	if (!level)
		return -ENOMEM;
	*level = inner;
	if (finisher->levels.length > 1)
		level[-1].self_ns -= inner.self_ns;
	if (!finisher->slices->timeline)
		return 0;
	err = chrome_timeline_add(finisher->slices->timeline, slice, &finisher->open);
	return err ? err : add_next_flows(finisher);
}

/* A flow belongs to the slice around it, even at the very end of the slice. */
static int add_flow(struct chrome_finisher *finisher, const struct chrome_slice *event)
{
	uint64_t flow = finisher->slices->flows.items[event->location];
	uint64_t *added;

	if (event->kind != CHROME_FLOW_END_NEXT)
		return join_flow(finisher, flow, event->kind == CHROME_FLOW_END);
	added = array_add(&finisher->next_flows);
	if (!added)
		return -ENOMEM;
	*added = flow;
	return 0;
}

static int nest_slices(struct chrome_finisher *finisher)
{
	const struct chrome_slices *all = finisher->slices;
	struct chrome_slice *slices = all->items.items;
	uint32_t track = 0;
	int err;

	finisher->open.max_depth = MAX_DEPTH;
	finisher->open.rounding_ns = ROUNDING_NS;
	qsort(slices, all->items.length, sizeof(*slices), compare_by_nesting);
	for (size_t i = 0; i < all->items.length; i++) {
		const struct chrome_slice *slice = &slices[i];
		bool is_other = i && slice->track != slices[i - 1].track;
		bool is_flow = slice->kind >= CHROME_FLOW;

		if (is_other) {
			err = leave_slices(finisher, track, UINT64_MAX);
			if (err)
				return err;
			lose_next_flows(finisher);
		}
		track = slice->track;
		err = leave_slices(finisher, track, slice->start_ns - (is_flow && slice->start_ns));
		if (err)
			return err;
		if (is_flow) {
			err = all->timeline ? add_flow(finisher, slice) : 0;
			if (err)
				return err;
			continue;
		}
		if (slice->kind == CHROME_NOTHING ||
		    (slice->kind == CHROME_INSTANT && !all->timeline))
			continue;
		err = enter_slice(finisher, slice);
		if (err)
			return err;
	}
	lose_next_flows(finisher);
	return leave_slices(finisher, track, UINT64_MAX);
}

static void report_losses(const struct chrome_finisher *finisher)
{
	struct import *import = finisher->slices->import;

	import->counts.skipped += finisher->started.num_strays + finisher->open.num_too_deep;
	if (finisher->num_lost_flows)
		import_warn_counted(import, finisher->num_lost_flows,
				    "flow {event is|events are} outside all slices, skipping");
	if (finisher->started.num_strays)
		import_warn_counted(import, finisher->started.num_strays,
				    "{end|ends} of slices without a start, skipping");
	if (finisher->started.num_unterminated)
		import_warn_counted(import, finisher->started.num_unterminated,
				    "unterminated {slice, ended with its|slices, ended with their} "
				    "track");
	if (finisher->open.num_too_deep)
		import_warn(import, "%llu slices are inside more than %d others, skipping",
			    (unsigned long long)finisher->open.num_too_deep, MAX_DEPTH);
	if (finisher->open.num_truncated)
		import_warn_counted(import, finisher->open.num_truncated,
				    "{slice outlasts the slice around it: it is|slices outlast the "
				    "slice around them: they are} truncated");
}

static void release_finisher(struct chrome_finisher *finisher)
{
	open_slices_release(&finisher->started);
	open_slices_release(&finisher->open);
	array_release(&finisher->levels);
	array_release(&finisher->next_flows);
}

int chrome_slices_finish(struct chrome_slices *slices)
{
	_cleanup_(release_finisher) struct chrome_finisher finisher = {.slices = slices};
	bool takes_time = false;
	int err;

	if (!slices->items.length)
		return 0;
	/* Instants and flows alone weigh nothing. */
	array_for_each (&slices->items, slice)
		takes_time |= slice->kind <= CHROME_WHOLE;
	if (takes_time) {
		err = profile_add_metric(slices->import->profile, ZONES_METRIC_NAME,
					 ZONES_METRIC_UNIT, &finisher.metric);
		if (err)
			return err;
	}
	err = match_slices(&finisher);
	if (err)
		return err;
	err = nest_slices(&finisher);
	if (err)
		return err;
	report_losses(&finisher);
	return 0;
}
