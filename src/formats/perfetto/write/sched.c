/*
 * Scheduling events as the compact bundles that ftrace data has in a trace: one packet for some
 * events of one CPU, whose fields are columns (times, tids, states, …), because columns compress
 * well. Times are differences to the event before, and names are indices into a table of the
 * bundle.
 */
#include "formats/perfetto/write/sched.h"

#include <errno.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/utf8.h"

/* Values of Perfetto's BuiltinClock. */
enum clock_id { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3, CLOCK_ID_BOOTTIME = 6 };

/* How many switches and wakeups a bundle holds. */
#define BUNDLE_EVENTS 1024

/* TRACE_FLAG_HARDIRQ of linux/trace_events.h. */
#define FLAG_IN_INTERRUPT 0x08u

/* ---- the system --------------------------------------------------------------------------- */

static int write_clock(const struct clock_snapshot *snapshot, struct perfetto_stream *stream)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot body = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock clocks[] = {
		PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
		PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
		PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT,
	};
	Perfetto__ClockSnapshot__Clock *pointers[] = {&clocks[0], &clocks[1], &clocks[2]};

	for (size_t i = 0; i < ARRAY_LENGTH(clocks); i++)
		clocks[i].has_clock_id = clocks[i].has_timestamp = 1;
	clocks[0].clock_id = CLOCK_ID_BOOTTIME;
	clocks[0].timestamp = snapshot->boottime_ns;
	clocks[1].clock_id = CLOCK_ID_MONOTONIC;
	clocks[1].timestamp = snapshot->monotonic_ns;
	clocks[2].clock_id = CLOCK_ID_REALTIME;
	clocks[2].timestamp = snapshot->realtime_ns;
	body.n_clocks = ARRAY_LENGTH(clocks);
	body.clocks = pointers;
	body.has_primary_trace_clock = 1;
	body.primary_trace_clock = CLOCK_ID_BOOTTIME;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SYSTEM;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	packet.clock_snapshot = &body;
	return perfetto_stream_add(stream, &packet);
}

/* A copy as the format takes it; NULL when out of memory. The caller frees it. */
static char *fit(const struct timeline *timeline, uint32_t string)
{
	const struct string_table *strings = timeline_get_strings(timeline);
	struct text text = {0};

	text_append_string(&text, "");
	utf8_append(&text, string_table_get(strings, string),
		    string_table_get_length(strings, string));
	if (text.failed)
		text_release(&text);
	return text.data;
}

static int write_kernel(const struct timeline *timeline, struct perfetto_stream *stream)
{
	const struct timeline_system *system = timeline_get_system(timeline);
	_cleanup_free_ char *release = fit(timeline, system->kernel_release);
	_cleanup_free_ char *version = fit(timeline, system->kernel_version);
	_cleanup_free_ char *machine = fit(timeline, system->machine);
	char sysname[] = "Linux";
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__SystemInfo body = PERFETTO__SYSTEM_INFO__INIT;
	Perfetto__Utsname names = PERFETTO__UTSNAME__INIT;

	if (!release || !version || !machine)
		return -ENOMEM;
	names.sysname = sysname;
	names.release = release;
	names.version = version;
	names.machine = machine;
	body.utsname = &names;
	body.has_num_cpus = system->num_cpus != 0;
	body.num_cpus = system->num_cpus;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SYSTEM;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_SYSTEM_INFO;
	packet.system_info = &body;
	return perfetto_stream_add(stream, &packet);
}

/* Start the clocks of the sequences that will have events. */
static int start_clocks(const struct timeline *timeline, struct perfetto_stream *stream,
			uint64_t start_ns)
{
	bool is_used[END_OF_SEQUENCES] = {
		[SEQUENCE_EVENTS] = timeline_count_zone(timeline),
		[SEQUENCE_TOTALS] = timeline_count_in_use(timeline),
		[SEQUENCE_COUNTERS] = timeline_count_counter_value(timeline),
	};
	struct timeline_sample sample;
	struct region_fill fill;
	struct timeline_wait wait;
	struct occupancy occupancy;
	struct task_event task;
	uint64_t position = 0;
	int got;

	while ((got = timeline_next_sample(timeline, &position, &sample)) > 0)
		is_used[perfetto_get_sample_sequence(sample.metric)] = true;
	if (got < 0)
		return got;
	position = 0;
	got = timeline_next_fill(timeline, &position, &fill);
	if (got < 0)
		return got;
	is_used[SEQUENCE_FILLS] = got > 0;
	position = 0;
	got = timeline_next_wait(timeline, &position, &wait);
	if (got < 0)
		return got;
	is_used[SEQUENCE_WAITS] = got > 0;
	position = 0;
	got = timeline_next_occupancy(timeline, &position, &occupancy);
	if (got < 0)
		return got;
	is_used[SEQUENCE_OCCUPANCIES] = got > 0;
	position = 0;
	got = timeline_next_task_event(timeline, &position, &task);
	if (got < 0)
		return got;
	is_used[SEQUENCE_TASKS] = got > 0;
	for (uint32_t i = 0; i < END_OF_SEQUENCES; i++) {
		int err = is_used[i] ? perfetto_stream_start_clock(stream, i, start_ns) : 0;

		if (err)
			return err;
	}
	return 0;
}

int perfetto_write_system(const struct timeline *timeline, struct perfetto_stream *stream)
{
	uint64_t start_ns = 0;
	int err;

	if (timeline_count_clock(timeline)) {
		err = write_clock(timeline_get_clock(timeline, 0), stream);
		if (err)
			return err;
		start_ns = timeline_get_clock(timeline, 0)->boottime_ns;
	}
	/* Before the other snapshots: readers refuse those that go back in time. */
	err = start_clocks(timeline, stream, start_ns);
	if (err)
		return err;
	for (uint32_t i = 1; i < timeline_count_clock(timeline); i++) {
		err = write_clock(timeline_get_clock(timeline, i), stream);
		if (err)
			return err;
	}
	if (timeline_get_system(timeline)->kernel_release == STRING_EMPTY)
		return 0;
	return write_kernel(timeline, stream);
}

/* ---- scheduling --------------------------------------------------------------------------- */

/* A name that a bundle has: a string of the timeline. */
struct bundle_name {
	uint32_t string;
};
INTERN_TABLE(bundle_names, struct bundle_name, string);

/* The columns of a CPU's bundle that is being filled. */
struct bundle {
	ARRAY(uint64_t) switch_times;
	ARRAY(int64_t) switch_states;
	ARRAY(int32_t) switch_tids;
	ARRAY(int32_t) switch_priorities;
	ARRAY(uint32_t) switch_names;
	ARRAY(uint64_t) waking_times;
	ARRAY(int32_t) waking_tids;
	ARRAY(int32_t) waking_cpus;
	ARRAY(int32_t) waking_priorities;
	ARRAY(uint32_t) waking_names;
	ARRAY(uint32_t) waking_flags;
	struct bundle_names strings; /* its intern table, for the columns of names */
	ARRAY(char *) names;         /* the same as the format takes them */
	uint64_t last_switch_ns;
	uint64_t last_wakeup_ns;
};

struct bundles {
	const struct timeline *timeline;
	struct perfetto_stream *stream;
	ARRAY(struct bundle) cpus;
	bool has_started;
};

/* Append to a column; the expression is -ENOMEM or 0. */
#define PUSH(list, value)                                             \
	({                                                            \
		__typeof__((list).items) added_ = array_add(&(list)); \
                                                                      \
		if (added_)                                           \
			*added_ = (value);                            \
		added_ ? 0 : -ENOMEM;                                 \
	})

static void bundle_clear(struct bundle *bundle)
{
	array_for_each (&bundle->names, name)
		free(*name);
	bundle->switch_times.length = bundle->switch_states.length = 0;
	bundle->switch_tids.length = bundle->switch_priorities.length = 0;
	bundle->switch_names.length = 0;
	bundle->waking_times.length = bundle->waking_tids.length = 0;
	bundle->waking_cpus.length = bundle->waking_priorities.length = 0;
	bundle->waking_names.length = bundle->waking_flags.length = 0;
	bundle->names.length = 0;
	bundle_names_release(&bundle->strings);
}

static void bundle_release(struct bundle *bundle)
{
	bundle_clear(bundle);
	array_release(&bundle->switch_times);
	array_release(&bundle->switch_states);
	array_release(&bundle->switch_tids);
	array_release(&bundle->switch_priorities);
	array_release(&bundle->switch_names);
	array_release(&bundle->waking_times);
	array_release(&bundle->waking_tids);
	array_release(&bundle->waking_cpus);
	array_release(&bundle->waking_priorities);
	array_release(&bundle->waking_names);
	array_release(&bundle->waking_flags);
	array_release(&bundle->names);
}

static void fill_columns(struct bundle *bundle, Perfetto__CompactSched *sched)
{
	sched->n_switch_timestamp = sched->n_switch_prev_state = bundle->switch_times.length;
	sched->n_switch_next_pid = sched->n_switch_next_prio = bundle->switch_times.length;
	sched->n_switch_next_comm_index = bundle->switch_times.length;
	sched->switch_timestamp = bundle->switch_times.items;
	sched->switch_prev_state = bundle->switch_states.items;
	sched->switch_next_pid = bundle->switch_tids.items;
	sched->switch_next_prio = bundle->switch_priorities.items;
	sched->switch_next_comm_index = bundle->switch_names.items;
	sched->n_waking_timestamp = sched->n_waking_pid = bundle->waking_times.length;
	sched->n_waking_target_cpu = sched->n_waking_prio = bundle->waking_times.length;
	sched->n_waking_comm_index = bundle->waking_times.length;
	sched->n_waking_common_flags = bundle->waking_times.length;
	sched->waking_timestamp = bundle->waking_times.items;
	sched->waking_pid = bundle->waking_tids.items;
	sched->waking_target_cpu = bundle->waking_cpus.items;
	sched->waking_prio = bundle->waking_priorities.items;
	sched->waking_comm_index = bundle->waking_names.items;
	sched->waking_common_flags = bundle->waking_flags.items;
	sched->n_intern_table = bundle->names.length;
	sched->intern_table = bundle->names.items;
}

static int write_bundle(struct bundles *bundles, uint32_t cpu)
{
	struct bundle *bundle = &bundles->cpus.items[cpu];
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__FtraceEventBundle body = PERFETTO__FTRACE_EVENT_BUNDLE__INIT;
	Perfetto__CompactSched sched = PERFETTO__COMPACT_SCHED__INIT;
	int err;

	if (!bundle->switch_times.length && !bundle->waking_times.length)
		return 0;
	fill_columns(bundle, &sched);
	body.has_cpu = 1;
	body.cpu = cpu;
	body.compact_sched = &sched;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SCHED;
	packet.has_sequence_flags = 1;
	packet.sequence_flags =
		bundles->has_started ? PERFETTO_STATE_NEEDED : PERFETTO_STATE_CLEARED;
	packet.has_first_packet_on_sequence = !bundles->has_started;
	packet.first_packet_on_sequence = !bundles->has_started;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS;
	packet.ftrace_events = &body;
	bundles->has_started = true;
	err = perfetto_stream_add(bundles->stream, &packet);
	bundle_clear(bundle);
	return err;
}

static struct bundle *find_bundle(struct bundles *bundles, uint32_t cpu)
{
	while (bundles->cpus.length <= cpu)
		if (!array_add(&bundles->cpus))
			return NULL;
	return &bundles->cpus.items[cpu];
}

/*
 * The table of names belongs to a bundle and starts anew with each, so that bundles can be read by
 * themselves.
 */
static int use_name(struct bundles *bundles, struct bundle *bundle, uint32_t string, uint32_t *ret)
{
	struct bundle_name key = {.string = string};
	char *name;
	int err = bundle_names_intern(&bundle->strings, &key, ret);

	if (err || *ret < bundle->names.length)
		return err;
	name = fit(bundles->timeline, string);
	if (!name)
		return -ENOMEM;
	err = PUSH(bundle->names, name);
	if (err)
		free(name);
	return err;
}

/*
 * The first time of a bundle is absolute, the others are distances; they cannot be negative. Events
 * of one CPU are in order. If one is not, it gets the time of the one before, for a distance is an
 * unsigned number.
 */
static uint64_t encode_time(uint64_t time_ns, size_t count, uint64_t *last_ns)
{
	uint64_t distance = time_ns > *last_ns ? time_ns - *last_ns : 0;

	if (count && time_ns < *last_ns)
		time_ns = *last_ns;
	*last_ns = time_ns;
	return count ? distance : time_ns;
}

static int add_switch(struct bundles *bundles, const struct sched_switch *event)
{
	struct bundle *bundle = find_bundle(bundles, event->cpu);
	uint64_t time;
	uint32_t name;

	if (!bundle || use_name(bundles, bundle, event->next_name, &name))
		return -ENOMEM;
	time = encode_time(event->time_ns, bundle->switch_times.length, &bundle->last_switch_ns);
	if (PUSH(bundle->switch_times, time) ||
	    PUSH(bundle->switch_states, event->previous_state) ||
	    PUSH(bundle->switch_tids, event->next_tid) ||
	    PUSH(bundle->switch_priorities, event->next_priority) ||
	    PUSH(bundle->switch_names, name))
		return -ENOMEM;
	return bundle->switch_times.length < BUNDLE_EVENTS ? 0 : write_bundle(bundles, event->cpu);
}

static int add_wakeup(struct bundles *bundles, const struct sched_waking *event)
{
	struct bundle *bundle = find_bundle(bundles, event->cpu);
	uint64_t time;
	uint32_t name;

	if (!bundle || use_name(bundles, bundle, event->name, &name))
		return -ENOMEM;
	time = encode_time(event->time_ns, bundle->waking_times.length, &bundle->last_wakeup_ns);
	if (PUSH(bundle->waking_times, time) || PUSH(bundle->waking_tids, event->tid) ||
	    PUSH(bundle->waking_cpus, (int32_t)event->target_cpu) ||
	    PUSH(bundle->waking_priorities, event->priority) || PUSH(bundle->waking_names, name) ||
	    PUSH(bundle->waking_flags, event->is_in_interrupt ? FLAG_IN_INTERRUPT : 0u))
		return -ENOMEM;
	return bundle->waking_times.length < BUNDLE_EVENTS ? 0 : write_bundle(bundles, event->cpu);
}

/* Two lists, each in order of time, are merged; a switch precedes a wakeup of the same moment. */
static int add_stored(struct bundles *bundles)
{
	const struct timeline *timeline = bundles->timeline;
	uint32_t num_switches = timeline_count_switch(timeline);
	uint32_t num_wakeups = timeline_count_wakeup(timeline);
	int err = 0;

	for (uint32_t s = 0, w = 0; s < num_switches || w < num_wakeups;) {
		const struct sched_switch *next = NULL;

		if (s < num_switches)
			next = timeline_get_switch(timeline, s);
		if (next && (w == num_wakeups ||
			     next->time_ns <= timeline_get_wakeup(timeline, w)->time_ns)) {
			err = add_switch(bundles, next);
			s++;
		} else {
			err = add_wakeup(bundles, timeline_get_wakeup(timeline, w++));
		}
		if (err)
			return err;
	}
	return 0;
}

static int add_from_source(struct bundles *bundles)
{
	const struct timeline_source *source = timeline_get_schedule(bundles->timeline);
	struct schedule_event event;
	int got;
	int err;

	if (!source)
		return 0;
	err = source->rewind(source->context);
	if (err)
		return err;
	while ((got = source->next(source->context, &event))) {
		if (got < 0)
			return got;
		err = event.is_wakeup ? add_wakeup(bundles, &event.wakeup)
				      : add_switch(bundles, &event.on_cpu);
		if (err)
			return err;
	}
	return 0;
}

static void bundles_release(struct bundles *bundles)
{
	array_for_each (&bundles->cpus, bundle)
		bundle_release(bundle);
	array_release(&bundles->cpus);
}

int perfetto_write_sched(const struct timeline *timeline, struct perfetto_stream *stream)
{
	_cleanup_(bundles_release) struct bundles bundles = {.timeline = timeline,
							     .stream = stream};
	int err = add_stored(&bundles);

	if (err)
		return err;
	err = add_from_source(&bundles);
	if (err)
		return err;
	for (uint32_t cpu = 0; cpu < bundles.cpus.length; cpu++) {
		err = write_bundle(&bundles, cpu);
		if (err)
			return err;
	}
	return 0;
}
