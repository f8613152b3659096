/*
 * Small named profiles for tests: a stack is written as folded text, outermost frame first.
 * A frame that ends in _[k], _[i] or _[j] gets that kind, without the mark in its name.
 */
#ifndef PROFILE_BUILDER_H
#define PROFILE_BUILDER_H

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

/* Strip a mark from the frame's name; whether it was there. */
static inline bool builder_strip(char *name, const char *mark)
{
	bool has_mark = string_ends_with(name, mark);

	if (has_mark)
		name[strlen(name) - strlen(mark)] = '\0';
	return has_mark;
}

static inline uint32_t builder_add_location(struct profile *profile, char *name)
{
	struct frame frame = {0};
	uint32_t location;

	if (builder_strip(name, "_[k]"))
		frame.kind = FRAME_KERNEL;
	else if (builder_strip(name, "_[j]"))
		frame.kind = FRAME_JIT;
	else if (builder_strip(name, "_[py]")) /* of these tests: Python has no mark */
		frame.kind = FRAME_PYTHON;
	else if (builder_strip(name, "_[js]"))
		frame.kind = FRAME_JAVASCRIPT;
	else if (builder_strip(name, "_[java]"))
		frame.kind = FRAME_JAVA;
	else
		frame.is_inlined = builder_strip(name, "_[i]");
	assert_int_equal(profile_add_string(profile, name, &frame.name), 0);
	frame.full_name = frame.name;
	assert_int_equal(profile_add_location(profile, LOCATION_NAMED, 0,
					      profile_count_locations(profile), &location),
			 0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	return location;
}

static inline uint32_t builder_add_thread(struct profile *profile, uint32_t pid, uint32_t tid,
					  const char *comm);

/* A profile of one thread without a name, with the metrics METRIC_BEFORE, 0, and METRIC_AFTER, 1. */
static inline _unused_ struct profile *builder_new_comparison(void)
{
	struct profile *profile = profile_new();
	uint32_t metric;

	builder_add_thread(profile, 0, 0, "");
	assert_int_equal(profile_add_metric(profile, METRIC_BEFORE, "count", &metric), 0);
	assert_int_equal(profile_add_metric(profile, METRIC_AFTER, "count", &metric), 0);
	return profile;
}

static inline uint32_t builder_add_thread(struct profile *profile, uint32_t pid, uint32_t tid,
					  const char *comm)
{
	struct thread thread = {.tid = tid};
	uint32_t id;

	assert_int_equal(profile_add_string(profile, comm, &thread.comm), 0);
	assert_int_equal(profile_add_process(profile, pid, thread.comm, &thread.process), 0);
	assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
	return id;
}

static inline uint32_t builder_add_stack(struct profile *profile, const char *folded)
{
	_cleanup_free_ char *copy = strdup(folded);
	char *rest = copy;
	uint32_t stack = STACK_EMPTY;

	while (rest && *folded) {
		uint32_t location = builder_add_location(profile, strsep(&rest, ";"));

		assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	}
	return stack;
}

static inline void builder_add_sample(struct profile *profile, uint32_t thread, const char *folded,
				      uint64_t weight)
{
	uint32_t stack = builder_add_stack(profile, folded);
	uint32_t metric;

	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metric, weight), 0);
}

#endif
