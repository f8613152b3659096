/*
 * Reading Perfetto traces: every sequence may count its time on a clock of its own. A snapshot has
 * the readings of several clocks at the same time. If it contains CLOCK_BOOTTIME, or another known
 * clock, the offset of every other clock in it follows. A clock that is in no snapshot is taken for
 * CLOCK_BOOTTIME.
 *
 * A snapshot holds for the packets behind it, until the next one replaces its offsets.
 */
#include "formats/perfetto/read/clocks.h"

#include <errno.h>

#define MAX_CLOCKS 64
/* Clocks with these numbers are of one sequence. */
#define FIRST_OWN_CLOCK 64
#define END_OWN_CLOCK   128

static bool is_own_clock(uint64_t id)
{
	return id >= FIRST_OWN_CLOCK && id < END_OWN_CLOCK;
}

#define FIND_CLOCK(array, wanted)                     \
	({                                            \
		struct perfetto_clock *found_ = NULL; \
                                                      \
		array_for_each (array, clock_)        \
			if (clock_->id == (wanted))   \
				found_ = clock_;      \
		found_;                               \
	})

/* A clock of a sequence is looked up in that alone: others may have one of the same number. */
static struct perfetto_clock *find_clock(struct perfetto_clocks *clocks,
					 struct perfetto_sequence *sequence, uint64_t id)
{
	if (!is_own_clock(id))
		return FIND_CLOCK(&clocks->items, id);
	return sequence ? FIND_CLOCK(&sequence->clocks, id) : NULL;
}

/* The reading of one clock at the time of a snapshot. */
struct perfetto_clock_reading {
	struct perfetto_clock clock;
	uint64_t time_ns;
};

/* Numbers may be in a unit of the clock's own; the multiplier makes nanoseconds of them. */
static struct perfetto_clock_reading read_clock(struct bytes message)
{
	struct perfetto_clock_reading reading = {.clock.multiplier = 1};
	struct protobuf_field field;
	uint64_t timestamp = 0;

	while (protobuf_next(&message, &field)) {
		if (field.type != PROTOBUF_VARINT)
			continue;
		if (field.number == 1)
			reading.clock.id = (uint32_t)field.value;
		else if (field.number == 2)
			timestamp = field.value;
		else if (field.number == 3)
			reading.clock.is_incremental = field.value != 0;
		else if (field.number == 4 && field.value)
			reading.clock.multiplier = field.value;
	}
	reading.time_ns = timestamp * reading.clock.multiplier;
	reading.clock.last_ns = reading.time_ns;
	return reading;
}

static int set_clock(struct perfetto_clocks *clocks, struct perfetto_sequence *sequence,
		     const struct perfetto_clock *clock)
{
	struct perfetto_clock *known = find_clock(clocks, sequence, clock->id);

	if (!known && is_own_clock(clock->id) && sequence)
		known = array_add(&sequence->clocks);
	else if (!known && !is_own_clock(clock->id) && clocks->items.length < MAX_CLOCKS)
		known = array_add(&clocks->items);
	else if (!known)
		return 0;
	if (!known)
		return -ENOMEM;
	*known = *clock;
	return 0;
}

/* The snapshot's time on CLOCK_BOOTTIME, else that of its first clock. */
static uint64_t find_timestamp(struct perfetto_clocks *clocks,
			       const struct perfetto_clock_reading *readings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (readings[i].clock.id == PERFETTO_BOOTTIME)
			return readings[i].time_ns;
	for (size_t i = 0; i < count; i++) {
		const struct perfetto_clock *known = find_clock(clocks, NULL, readings[i].clock.id);

		if (known)
			return readings[i].time_ns + known->offset_ns;
	}
	return count ? readings[0].time_ns : 0;
}

/* Snapshots of the three clocks that a timeline has go there, too. */
static int keep_snapshot(struct perfetto_clocks *clocks,
			 const struct perfetto_clock_reading *readings, size_t count)
{
	struct import *import = clocks->trace->import;
	struct clock_snapshot snapshot = {0};

	for (size_t i = 0; i < count; i++) {
		if (readings[i].clock.id == 1)
			snapshot.realtime_ns = readings[i].time_ns;
		else if (readings[i].clock.id == 3)
			snapshot.monotonic_ns = readings[i].time_ns;
		else if (readings[i].clock.id == PERFETTO_BOOTTIME)
			snapshot.boottime_ns = readings[i].time_ns;
	}
	if (snapshot.realtime_ns && snapshot.boottime_ns &&
	    profile_set_clock(import->profile, import->source,
			      snapshot.realtime_ns - snapshot.boottime_ns))
		return -ENOMEM;
	if (!snapshot.realtime_ns || !snapshot.monotonic_ns || !snapshot.boottime_ns)
		return 0;
	return timeline_add_clock(clocks->trace->timeline, &snapshot, NULL);
}

int perfetto_clocks_read_snapshot(struct perfetto_clocks *clocks,
				  struct perfetto_sequence *sequence, struct bytes message)
{
	struct perfetto_clock_reading readings[MAX_CLOCKS];
	struct protobuf_field field;
	size_t count = 0;
	uint64_t timestamp_ns;
	int err;

	while (protobuf_next(&message, &field))
		if (field.number == 1 && field.type == PROTOBUF_BYTES && count < MAX_CLOCKS)
			readings[count++] = read_clock(field.body);
	timestamp_ns = find_timestamp(clocks, readings, count);
	err = keep_snapshot(clocks, readings, count);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		/*
		 * Wraps around if the clock is ahead; adding it to a time of the clock wraps back.
		 */
		readings[i].clock.offset_ns = timestamp_ns - readings[i].time_ns;
		err = set_clock(clocks, sequence, &readings[i].clock);
		if (err)
			return err;
	}
	return 0;
}

uint64_t perfetto_clocks_convert(struct perfetto_clocks *clocks, struct perfetto_sequence *sequence,
				 uint64_t id, uint64_t time)
{
	struct perfetto_clock *clock;

	if (!id || id == PERFETTO_BOOTTIME)
		return time;
	clock = find_clock(clocks, sequence, id);
	if (!clock)
		return time;
	time *= clock->multiplier;
	/*
	 * The time since the packet before: packets of a sequence must be converted in their order,
	 * and each once.
	 */
	if (clock->is_incremental)
		time = clock->last_ns += time;
	return time + clock->offset_ns;
}

void perfetto_clocks_release(struct perfetto_clocks *clocks)
{
	array_release(&clocks->items);
}
