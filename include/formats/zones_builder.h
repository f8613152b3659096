/*
 * What the two readers of zones, text and binary, do with a record once they have its fields:
 * check it and put it into the timeline.
 *
 * Every function returns 0 or negative errno; the reason is then in zones_builder_get_problem(),
 * for the reader to add file and place. What --lenient forgives is told there, too, after a
 * return of 0.
 *
 * Ids of threads, locations and counters are numbers of the file's own choice.
 */
#ifndef FORMATS_ZONES_BUILDER_H
#define FORMATS_ZONES_BUILDER_H

#include "base/error.h"
#include "formats/import.h"
#include "timeline/timeline.h"

struct zones_builder;

/* A piece of the input or of a decoded field. */
struct zones_string {
	const char *data; /* not NUL-terminated; not NULL, even where there is nothing of it */
	size_t length;
};

/*
 * Zones go to import->timeline if there is one, and as stacks with their times to import->profile,
 * unless that timeline has a consumer, who gets them alone. NULL when out of memory.
 */
struct zones_builder *zones_builder_new(struct import *import);
void zones_builder_free(struct zones_builder *builder);
static inline void zones_builder_freep(struct zones_builder **builder)
{
	zones_builder_free(*builder);
}

/* Empty when there is none; emptied by the call. */
const char *zones_builder_get_problem(struct zones_builder *builder);

/*
 * What follows is from another process, with ids and addresses of its own; open zones end.
 *
 * pid  0: unknown
 */
_must_check_ int zones_builder_start_process(struct zones_builder *builder, uint32_t pid,
					     struct zones_string name);

_must_check_ int zones_builder_add_stack(struct zones_builder *builder, uint64_t begin,
					 uint64_t end, struct zones_string name);
_must_check_ int zones_builder_add_thread(struct zones_builder *builder, uint64_t tid,
					  struct zones_string name);
_must_check_ int zones_builder_add_location(struct zones_builder *builder, uint64_t id,
					    struct zones_string name, struct zones_string function,
					    struct zones_string file, uint32_t line);
_must_check_ int zones_builder_add_counter(struct zones_builder *builder, uint64_t id,
					   struct zones_string name);
/* Only track and process of *value are not read. */
_must_check_ int zones_builder_add_counter_value(struct zones_builder *builder, uint64_t id,
						 const struct counter_value *value);

_must_check_ int zones_builder_begin(struct zones_builder *builder, uint64_t pointer, uint64_t tid,
				     uint64_t time_ns, uint64_t location);
_must_check_ int zones_builder_end(struct zones_builder *builder, uint64_t pointer,
				   uint64_t time_ns);

/* Of the zone that is open at the pointer. */
_must_check_ int zones_builder_set_name(struct zones_builder *builder, uint64_t pointer,
					struct zones_string name);
_must_check_ int zones_builder_add_flow(struct zones_builder *builder, uint64_t pointer,
					uint64_t flow, bool is_terminating);
_must_check_ int zones_builder_add_category(struct zones_builder *builder, uint64_t pointer,
					    struct zones_string category);
/* A parameter's value; only name, kind and next of *value are not read. */
_must_check_ int zones_builder_add_parameter(struct zones_builder *builder, uint64_t pointer,
					     struct zones_string name,
					     const struct zone_attribute *value);
_must_check_ int zones_builder_add_string_parameter(struct zones_builder *builder, uint64_t pointer,
						    struct zones_string name,
						    struct zones_string value);

/* End what is open (with a warning) and fill the profile. */
_must_check_ int zones_builder_finish(struct zones_builder *builder);

#endif
