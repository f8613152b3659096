/*
 * Records become zones, counters and threads of a timeline. The work is done by its trackers
 * (timeline/zone_tracker.h and the like); here the ids of the file are mapped to those of the
 * timeline, and their errors turned into words.
 *
 * The timeline may have a consumer (a trace that is written while the zones are read). Then this
 * gets the zones and values, and nothing is kept for a profile.
 */
#include "formats/zones.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/intern.h"
#include "formats/zones/read_profile.h"
#include "timeline/zone_tracker.h"

struct id {
	uint64_t key;
	uint32_t item; /* of the timeline */
	bool is_declared;
};
INTERN_TABLE(known_ids, struct id, key);

/* The file's ids of one kind. */
struct id_table {
	struct known_ids ids;
	uint32_t latest; /* found last: the next record is often about the same */
};

struct zones_builder {
	struct import *import;
	struct timeline *timeline;
	struct timeline *own_timeline; /* if the import wants none */
	uint32_t first_zone;
	uint32_t process; /* TIMELINE_NONE before the first record */
	struct region_map *regions;
	struct occupancy_tracker *occupancies;
	struct zone_tracker *zones;
	struct id_table threads;
	struct id_table locations;
	struct id_table counters;
	uint64_t last_ns;
	bool is_torn;
	struct zones_torn_counts torn;
	struct error problem;
	char reported[sizeof(((struct error *)NULL)->message)];
};

struct zones_builder *zones_builder_new(struct import *import)
{
	struct zones_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return NULL;
	builder->import = import;
	builder->process = TIMELINE_NONE;
	builder->own_timeline = import->timeline ? NULL : timeline_new();
	builder->timeline = import->timeline ? import->timeline : builder->own_timeline;
	/*
	 * The import's timeline may hold zones of other inputs: first_zone is the first of this
	 * one.
	 */
	if (builder->timeline) {
		builder->first_zone = timeline_count_zone(builder->timeline);
		builder->occupancies = occupancy_tracker_new(builder->timeline);
	}
	if (!builder->occupancies) {
		zones_builder_free(builder);
		return NULL;
	}
	return builder;
}

/*
 * Ids and addresses belong to a process, and mean nothing in the next one. The occupancy tracker
 * stays: it goes by the timeline's threads and regions, which are of one process each.
 */
static void forget_process(struct zones_builder *builder)
{
	zone_tracker_free(builder->zones);
	region_map_free(builder->regions);
	known_ids_release(&builder->threads.ids);
	known_ids_release(&builder->locations.ids);
	known_ids_release(&builder->counters.ids);
	builder->zones = NULL;
	builder->regions = NULL;
	builder->process = TIMELINE_NONE;
	builder->last_ns = 0;
}

void zones_builder_free(struct zones_builder *builder)
{
	if (!builder)
		return;
	forget_process(builder);
	occupancy_tracker_free(builder->occupancies);
	timeline_free(builder->own_timeline);
	free(builder);
}

/* A copy is handed out, since reading clears the problem itself. */
const char *zones_builder_get_problem(struct zones_builder *builder)
{
	if (!builder->problem.message[0])
		return "";
	memcpy(builder->reported, builder->problem.message, sizeof(builder->reported));
	builder->problem.message[0] = '\0';
	return builder->reported;
}

void zones_builder_set_torn(struct zones_builder *builder)
{
	builder->is_torn = true;
}

struct zones_torn_counts zones_builder_get_torn_counts(const struct zones_builder *builder)
{
	return builder->torn;
}

/* For problems that --lenient forgives: they are reported as warnings then. */
static int forgive(const struct zones_builder *builder)
{
	return builder->import->is_lenient ? 0 : -EBADMSG;
}

static struct id *find_id(struct id_table *table, uint64_t key)
{
	uint32_t found = table->latest;

	if (found >= table->ids.length || table->ids.items[found].key != key)
		found = known_ids_find(&table->ids, &(struct id){.key = key});
	if (found == HASH_INDEX_NONE)
		return NULL;
	table->latest = found;
	return &table->ids.items[found];
}

bool zones_builder_has_location(const struct zones_builder *builder, uint64_t id)
{
	return known_ids_find(&builder->locations.ids, &(struct id){.key = id}) != HASH_INDEX_NONE;
}

static int add_id(struct id_table *table, uint64_t key, uint32_t item, bool is_declared)
{
	struct id id = {.key = key, .item = item, .is_declared = is_declared};
	uint32_t number;

	return known_ids_add(&table->ids, &id, &number);
}

static int intern(struct zones_builder *builder, struct zones_string string, uint32_t *ret)
{
	return timeline_add_bytes(builder->timeline, string.data, string.length, ret);
}

static int start_process(struct zones_builder *builder, uint32_t pid, struct zones_string name)
{
	struct timeline_process process = {.pid = pid};
	int err = intern(builder, name, &process.name);

	if (err)
		return err;
	err = timeline_add_process(builder->timeline, &process, &builder->process);
	if (err)
		return err;
	builder->regions = region_map_new(builder->timeline, builder->process);
	if (!builder->regions)
		return -ENOMEM;
	builder->zones =
		zone_tracker_new(builder->timeline, builder->regions, builder->occupancies);
	return builder->zones ? 0 : -ENOMEM;
}

/* A file need not name the process of its zones. */
static int need_process(struct zones_builder *builder)
{
	struct zones_string name = {ZONES_PROCESS_NAME, strlen(ZONES_PROCESS_NAME)};

	return builder->zones ? 0 : start_process(builder, 0, name);
}

/*
 * Zones may be open at the end of their program (it was killed, or its recording stopped). They end
 * at the last time in any record of the process.
 */
static int end_process(struct zones_builder *builder)
{
	size_t num_open = builder->zones ? zone_tracker_count_open(builder->zones) : 0;
	int err = builder->zones ? zone_tracker_finish(builder->zones, builder->last_ns) : 0;

	if (num_open)
		import_warn(builder->import,
			    "%zu zones were still open at the end: they end at %" PRIu64 " ns",
			    num_open, builder->last_ns);
	forget_process(builder);
	return err;
}

int zones_builder_start_process(struct zones_builder *builder, uint32_t pid,
				struct zones_string name)
{
	int err = end_process(builder);

	if (err)
		return err;
	return start_process(builder, pid, name);
}

int zones_builder_add_stack(struct zones_builder *builder, uint64_t start, uint64_t end,
			    struct zones_string name)
{
	const struct stack_region *other;
	uint32_t string;
	uint32_t region;
	int err = need_process(builder);

	if (err)
		return err;
	if (start >= end)
		return error_set(&builder->problem, -EBADMSG,
				 "the stack starts at %" PRIu64 ", not before its end, %" PRIu64,
				 start, end);
	err = intern(builder, name, &string);
	if (err)
		return err;
	err = region_map_declare(builder->regions, start, end, string, &region);
	if (err != -EEXIST)
		return err;
	other = timeline_get_region(builder->timeline, region);
	return error_set(&builder->problem, -EBADMSG,
			 "the stack overlaps '%.80s', which is at [%" PRIu64 ", %" PRIu64 ")",
			 timeline_get_string(builder->timeline, other->name), other->start,
			 other->end);
}

static int add_thread(struct zones_builder *builder, uint64_t tid, uint32_t name, bool is_declared)
{
	struct timeline_thread thread = {.process = builder->process, .name = name, .tid = tid};
	uint32_t id;
	int err = timeline_add_thread(builder->timeline, &thread, &id);

	if (err)
		return err;
	return add_id(&builder->threads, tid, id, is_declared);
}

/* A thread may have been used before it is declared; then only its name is new. */
int zones_builder_add_thread(struct zones_builder *builder, uint64_t tid, struct zones_string name)
{
	int err = need_process(builder);
	struct id *known;
	uint32_t string;

	if (err)
		return err;
	err = intern(builder, name, &string);
	if (err)
		return err;
	known = find_id(&builder->threads, tid);
	if (!known)
		return add_thread(builder, tid, string, true);
	if (known->is_declared) {
		err = error_set(&builder->problem, forgive(builder),
				"thread %" PRIu64 " is declared a second time", tid);
		if (err)
			return err;
	}
	known->is_declared = true;
	timeline_get_thread(builder->timeline, known->item)->name = string;
	return 0;
}

/*
 * A second declaration adds a location and moves the id to it: zones that have started keep the
 * first one.
 */
int zones_builder_add_location(struct zones_builder *builder, uint64_t id, struct zones_string name,
			       struct zones_string function, struct zones_string file,
			       uint32_t line)
{
	struct source_location location = {.line = line};
	int err = need_process(builder);
	struct id *known;
	uint32_t item;

	if (err || intern(builder, name, &location.name) ||
	    intern(builder, function, &location.function) || intern(builder, file, &location.file))
		return -ENOMEM;
	known = find_id(&builder->locations, id);
	if (known) {
		err = error_set(&builder->problem, forgive(builder),
				"location %" PRIu64 " is declared a second time", id);
		if (err)
			return err;
	}
	err = timeline_add_location(builder->timeline, &location, &item);
	if (err)
		return err;
	if (!known)
		return add_id(&builder->locations, id, item, true);
	known->item = item;
	return 0;
}

static int add_counter(struct zones_builder *builder, uint64_t id, struct zones_string name,
		       bool is_declared)
{
	struct counter_track track = {.process = builder->process};
	uint32_t item;
	int err = intern(builder, name, &track.name);

	if (err)
		return err;
	err = timeline_add_counter_track(builder->timeline, &track, &item);
	if (err)
		return err;
	return add_id(&builder->counters, id, item, is_declared);
}

int zones_builder_add_counter(struct zones_builder *builder, uint64_t id, struct zones_string name)
{
	int err = need_process(builder);
	struct id *known = err ? NULL : find_id(&builder->counters, id);
	struct counter_track *track;

	if (err)
		return err;
	if (!known)
		return add_counter(builder, id, name, true);
	if (known->is_declared) {
		err = error_set(&builder->problem, forgive(builder),
				"counter track %" PRIu64 " is declared a second time", id);
		if (err)
			return err;
	}
	known->is_declared = true;
	track = timeline_get_counter_track(builder->timeline, known->item);
	return intern(builder, name, &track->name);
}

/* An undeclared counter gets a track all the same if that is forgiven. */
static int add_undeclared_counter(struct zones_builder *builder, uint64_t id)
{
	char name[32];
	int length = snprintf(name, sizeof(name), "Counter %" PRIu64, id);
	int err = error_set(&builder->problem, forgive(builder),
			    "counter track %" PRIu64 " is not declared", id);

	if (err)
		return err;
	return add_counter(builder, id, (struct zones_string){name, (size_t)length}, false);
}

/* Readers of traces count time in 63 bits, and silently drop later times. */
static int check_time(struct zones_builder *builder, uint64_t time_ns)
{
	if (time_ns <= INT64_MAX)
		return 0;
	return error_set(&builder->problem, -EBADMSG, "the time %" PRIu64 " exceeds 2^63 - 1",
			 time_ns);
}

static void note_time(struct zones_builder *builder, uint64_t time_ns)
{
	if (time_ns > builder->last_ns)
		builder->last_ns = time_ns;
}

int zones_builder_add_counter_value(struct zones_builder *builder, uint64_t id,
				    const struct counter_value *value)
{
	const struct timeline_consumer *consumer;
	struct counter_value added = *value;
	int err = need_process(builder);

	if (err)
		return err;
	err = check_time(builder, added.time_ns);
	if (err)
		return err;
	if (!find_id(&builder->counters, id)) {
		err = add_undeclared_counter(builder, id);
		if (err)
			return err;
	}
	added.track = find_id(&builder->counters, id)->item;
	note_time(builder, added.time_ns);
	consumer = timeline_get_consumer(builder->timeline);
	return consumer ? consumer->add_counter_value(consumer->context, &added)
			: timeline_add_counter_value(builder->timeline, &added, NULL);
}

/* The timeline's thread, which is made if the file has not declared it yet. */
static int find_thread(struct zones_builder *builder, uint64_t tid, uint32_t *ret)
{
	struct id *known = find_id(&builder->threads, tid);
	uint32_t name;
	int err;

	if (!known) {
		err = timeline_add_string(builder->timeline, TIMELINE_UNNAMED_THREAD, &name);
		if (err)
			return err;
		err = add_thread(builder, tid, name, false);
		if (err)
			return err;
		known = find_id(&builder->threads, tid);
	}
	*ret = known->item;
	return 0;
}

static int report_start_problem(struct zones_builder *builder, int err, uint64_t pointer,
				uint64_t time_ns)
{
	if (err == -EBUSY)
		return error_set(&builder->problem, -EBADMSG,
				 "a zone is already open at pointer %" PRIu64, pointer);
	if (err == -ERANGE)
		return error_set(&builder->problem, -EBADMSG,
				 "the time %" PRIu64 " is before the last one on the zone's stack",
				 time_ns);
	return err;
}

static int end_inside(struct zones_builder *builder, uint64_t pointer, uint64_t time_ns)
{
	uint64_t num;
	int err = zone_tracker_end_inside(builder->zones, pointer, time_ns, &num);

	if (err)
		return err;
	builder->torn.lost_ends += num;
	return 0;
}

/* A zone that is open when another one starts at its pointer has ended. */
static int end_at(struct zones_builder *builder, uint64_t pointer, uint64_t time_ns)
{
	int err;

	if (zone_tracker_find_open(builder->zones, pointer) == TIMELINE_NONE)
		return 0;
	err = end_inside(builder, pointer, time_ns);
	if (err)
		return err;
	err = zone_tracker_end(builder->zones, pointer, time_ns);
	if (err == -ERANGE)
		return report_start_problem(builder, err, pointer, time_ns);
	builder->torn.lost_ends++;
	return err;
}

/*
 * The original reader takes zones of one stack in any order of time, as of two threads that were on
 * it by turns. Warns once for each track that is made for such zones.
 */
static int start_late(struct zones_builder *builder, uint64_t pointer, uint32_t thread,
		      uint64_t time_ns, uint32_t location)
{
	const struct stack_region *track;
	bool is_new;
	int err = zone_tracker_start_on_track(builder->zones, pointer, thread, time_ns, location,
					      &is_new);
	uint32_t zone;

	if (err || !is_new)
		return err;
	zone = zone_tracker_find_open(builder->zones, pointer);
	track = timeline_get_region(builder->timeline,
				    timeline_get_zone(builder->timeline, zone)->region);
	return error_set(&builder->problem, 0,
			 "the time %" PRIu64 " is before the last one on the zone's stack: such "
			 "zones are on '%.80s'",
			 time_ns, timeline_get_string(builder->timeline, track->name));
}

int zones_builder_start(struct zones_builder *builder, uint64_t pointer, uint64_t tid,
			uint64_t time_ns, uint64_t location)
{
	int err = need_process(builder);
	const struct id *known = err ? NULL : find_id(&builder->locations, location);
	uint32_t thread;

	if (err)
		return err;
	if (!known)
		return error_set(&builder->problem, -EBADMSG,
				 "location %" PRIu64 " is not declared", location);
	err = check_time(builder, time_ns);
	if (err)
		return err;
	err = find_thread(builder, tid, &thread);
	if (err)
		return err;
	err = builder->is_torn ? end_at(builder, pointer, time_ns) : 0;
	if (err)
		return err;
	err = zone_tracker_start(builder->zones, pointer, thread, time_ns, known->item);
	if (err == -ERANGE && !builder->import->is_strict)
		err = start_late(builder, pointer, thread, time_ns, known->item);
	if (err)
		return report_start_problem(builder, err, pointer, time_ns);
	note_time(builder, time_ns);
	/*
	 * Zones are the records of such an import; if they are kept, zones_profile_add() counts
	 * them.
	 */
	if (timeline_get_consumer(builder->timeline))
		builder->import->counts.records++;
	return 0;
}

static int report_not_open(struct zones_builder *builder, uint64_t pointer)
{
	return error_set(&builder->problem, -EBADMSG, "no zone is open at pointer %" PRIu64,
			 pointer);
}

int zones_builder_end(struct zones_builder *builder, uint64_t pointer, uint64_t time_ns)
{
	int err = need_process(builder);

	if (err)
		return err;
	err = check_time(builder, time_ns);
	if (err)
		return err;
	err = builder->is_torn ? end_inside(builder, pointer, time_ns) : 0;
	if (err)
		return err;
	err = zone_tracker_end(builder->zones, pointer, time_ns);
	if (err == -ENOENT && builder->is_torn) {
		builder->torn.lost_starts++;
		return 0;
	}
	if (err == -ENOENT)
		return report_not_open(builder, pointer);
	if (err == -EINVAL)
		return error_set(&builder->problem, -EBADMSG,
				 "the zone at pointer %" PRIu64
				 " is not the innermost open one of its stack",
				 pointer);
	if (err == -ERANGE)
		return error_set(&builder->problem, -EBADMSG,
				 "the time %" PRIu64 " is before the last one on the zone's stack",
				 time_ns);
	if (err)
		return err;
	note_time(builder, time_ns);
	return 0;
}

/* *ret is TIMELINE_NONE if that is not an error. */
static int find_open(struct zones_builder *builder, uint64_t pointer, uint32_t *ret)
{
	int err = need_process(builder);

	if (err)
		return err;
	*ret = zone_tracker_find_open(builder->zones, pointer);
	if (*ret == TIMELINE_NONE && !builder->is_torn)
		return report_not_open(builder, pointer);
	return 0;
}

/*
 * A consumer gets the name itself: names that are different for each zone would fill the timeline's
 * strings.
 */
int zones_builder_set_name(struct zones_builder *builder, uint64_t pointer,
			   struct zones_string name)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(builder->timeline);
	uint32_t zone;
	int err = find_open(builder, pointer, &zone);

	if (err || zone == TIMELINE_NONE)
		return err;
	if (consumer)
		return consumer->rename_zone(consumer->context, zone, name.data, name.length);
	return intern(builder, name, &timeline_get_zone(builder->timeline, zone)->name);
}

/* string  its value, if that is a string */
static int add_attribute(struct zones_builder *builder, uint64_t pointer,
			 struct zone_attribute *attribute, struct zones_string string)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(builder->timeline);
	uint32_t zone;
	int err = find_open(builder, pointer, &zone);

	if (err || zone == TIMELINE_NONE)
		return err;
	if (consumer)
		return consumer->add_attribute(consumer->context, zone, attribute, string.data,
					       string.length);
	if (string.data) {
		err = intern(builder, string, &attribute->value.string);
		if (err)
			return err;
	}
	return timeline_add_attribute(builder->timeline, zone, attribute);
}

int zones_builder_add_flow(struct zones_builder *builder, uint64_t pointer, uint64_t flow,
			   bool is_terminating)
{
	struct zone_attribute attribute = {
		.kind = is_terminating ? ATTRIBUTE_TERMINATING_FLOW : ATTRIBUTE_FLOW,
		.value.u64 = flow,
	};

	return add_attribute(builder, pointer, &attribute, (struct zones_string){0});
}

int zones_builder_add_category(struct zones_builder *builder, uint64_t pointer,
			       struct zones_string category)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_CATEGORY};

	return add_attribute(builder, pointer, &attribute, category);
}

/* The parameter's name is interned also for a consumer: there are few of these. */
int zones_builder_add_parameter(struct zones_builder *builder, uint64_t pointer,
				struct zones_string name, const struct zone_attribute *value)
{
	struct zone_attribute attribute = *value;
	int err = intern(builder, name, &attribute.name);

	if (err)
		return err;
	attribute.kind = ATTRIBUTE_PARAMETER;
	return add_attribute(builder, pointer, &attribute, (struct zones_string){0});
}

int zones_builder_add_string_parameter(struct zones_builder *builder, uint64_t pointer,
				       struct zones_string name, struct zones_string value)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_PARAMETER, .type = VALUE_STRING};
	int err = intern(builder, name, &attribute.name);

	if (err)
		return err;
	return add_attribute(builder, pointer, &attribute, value);
}

int zones_builder_finish(struct zones_builder *builder)
{
	int err = end_process(builder);

	if (err)
		return err;
	err = occupancy_tracker_finish(builder->occupancies);
	if (err)
		return err;
	if (timeline_get_consumer(builder->timeline))
		return 0;
	return zones_profile_add(builder->import, builder->timeline, builder->first_zone);
}
