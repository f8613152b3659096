#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

struct profile {
	struct string_table *strings;
	struct stack_table *stacks;
	struct metric metric;
	ARRAY(struct module) modules;
	ARRAY(struct process_info) processes;
	ARRAY(struct thread) threads;
	ARRAY(struct location) locations;
	ARRAY(struct frame) frames;
	ARRAY(struct sample) samples;
	struct hash_index thread_index;
	struct hash_index location_index;
	struct hash_index sample_index;
};

const char *unnamed_reason_get_name(enum unnamed_reason reason)
{
	switch (reason) {
	case UNNAMED_NOT:
		return "named";
	case UNNAMED_NO_MAPPING:
		return "no_mapping";
	case UNNAMED_NO_FILE:
		return "no_file";
	case UNNAMED_BUILD_ID_DIFFERS:
		return "build_id_differs";
	case UNNAMED_NO_SYMBOL:
		return "no_symbol";
	case NUM_UNNAMED_REASONS:
		break;
	}
	return "unknown";
}

struct profile *profile_new(void)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->strings = string_table_new();
	profile->stacks = stack_table_new();
	if (!profile->strings || !profile->stacks ||
	    profile_add_string(profile, "samples", &profile->metric.name) ||
	    profile_add_string(profile, "count", &profile->metric.unit)) {
		profile_free(profile);
		return NULL;
	}
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	string_table_free(profile->strings);
	stack_table_free(profile->stacks);
	array_release(&profile->modules);
	array_release(&profile->processes);
	array_release(&profile->threads);
	array_release(&profile->locations);
	array_release(&profile->frames);
	array_release(&profile->samples);
	hash_index_release(&profile->thread_index);
	hash_index_release(&profile->location_index);
	hash_index_release(&profile->sample_index);
	free(profile);
}

int profile_add_string(struct profile *profile, const char *string, uint32_t *ret)
{
	return string_table_add(profile->strings, string, strlen(string), ret);
}

const char *profile_get_string(const struct profile *profile, uint32_t id)
{
	return string_table_get(profile->strings, id);
}

struct string_table *profile_get_strings(struct profile *profile)
{
	return profile->strings;
}

int profile_add_module(struct profile *profile, const struct module *module, uint32_t *ret)
{
	struct module *added = array_add(&profile->modules);

	if (!added)
		return -ENOMEM;
	*added = *module;
	*ret = (uint32_t)(profile->modules.length - 1);
	return 0;
}

int profile_add_process(struct profile *profile, uint32_t pid, uint32_t comm, uint32_t *ret)
{
	struct process_info *added = array_add(&profile->processes);

	if (!added)
		return -ENOMEM;
	*added = (struct process_info){.pid = pid, .comm = comm};
	*ret = (uint32_t)(profile->processes.length - 1);
	return 0;
}

void profile_set_process_comm(struct profile *profile, uint32_t process, uint32_t comm)
{
	profile->processes.items[process].comm = comm;
}

static bool is_thread(const void *owner, uint32_t item, const void *key)
{
	const struct profile *profile = owner;
	const struct thread *thread = &profile->threads.items[item];
	const struct thread *wanted = key;

	return thread->process == wanted->process && thread->tid == wanted->tid &&
	       thread->comm == wanted->comm;
}

int profile_add_thread(struct profile *profile, const struct thread *thread, uint32_t *ret)
{
	uint64_t hash = hash_mix(hash_mix(thread->process, thread->tid), thread->comm);
	uint32_t id = hash_index_find(&profile->thread_index, hash, is_thread, profile, thread);
	struct thread *added;

	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	added = array_add(&profile->threads);
	if (!added)
		return -ENOMEM;
	*added = *thread;
	id = (uint32_t)(profile->threads.length - 1);
	if (hash_index_add(&profile->thread_index, hash, id)) {
		profile->threads.length--;
		return -ENOMEM;
	}
	*ret = id;
	return 0;
}

static bool is_location(const void *owner, uint32_t item, const void *key)
{
	const struct profile *profile = owner;
	const struct location *location = &profile->locations.items[item];
	const struct location *wanted = key;

	return location->address == wanted->address && location->owner == wanted->owner &&
	       location->space == wanted->space;
}

int profile_add_location(struct profile *profile, enum location_space space, uint32_t owner,
			 uint64_t address, uint32_t *ret)
{
	struct location wanted = {.space = (uint8_t)space, .owner = owner, .address = address};
	uint64_t hash = hash_mix(hash_mix(space, owner), address);
	uint32_t id =
		hash_index_find(&profile->location_index, hash, is_location, profile, &wanted);
	struct location *added;

	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	added = array_add(&profile->locations);
	if (!added)
		return -ENOMEM;
	*added = wanted;
	id = (uint32_t)(profile->locations.length - 1);
	if (hash_index_add(&profile->location_index, hash, id)) {
		profile->locations.length--;
		return -ENOMEM;
	}
	*ret = id;
	return 0;
}

int profile_add_stack(struct profile *profile, uint32_t parent, uint32_t location, uint32_t *ret)
{
	return stack_table_add(profile->stacks, parent, location, ret);
}

static bool is_sample(const void *owner, uint32_t item, const void *key)
{
	const struct profile *profile = owner;
	const struct sample *wanted = key;

	return profile->samples.items[item].thread == wanted->thread &&
	       profile->samples.items[item].stack == wanted->stack;
}

int profile_add_sample(struct profile *profile, uint32_t thread, uint32_t stack, uint64_t weight)
{
	struct sample wanted = {.thread = thread, .stack = stack, .value = weight};
	uint64_t hash = hash_mix(hash_mix(1, thread), stack);
	uint32_t id = hash_index_find(&profile->sample_index, hash, is_sample, profile, &wanted);
	struct sample *added;

	if (id != HASH_INDEX_NONE) {
		added = &profile->samples.items[id];
		if (__builtin_add_overflow(added->value, weight, &weight))
			return -EOVERFLOW;
		added->value = weight;
		return 0;
	}
	added = array_add(&profile->samples);
	if (!added)
		return -ENOMEM;
	*added = wanted;
	id = (uint32_t)(profile->samples.length - 1);
	if (hash_index_add(&profile->sample_index, hash, id)) {
		profile->samples.length--;
		return -ENOMEM;
	}
	return 0;
}

int profile_set_frames(struct profile *profile, uint32_t location, const struct frame *frames,
		       size_t num_frames, enum unnamed_reason reason)
{
	struct location *target = &profile->locations.items[location];
	size_t first = profile->frames.length;
	int err = array_reserve(&profile->frames, first + num_frames);

	if (err)
		return err;
	memcpy(profile->frames.items + first, frames, num_frames * sizeof(*frames));
	profile->frames.length += num_frames;
	target->first_frame = (uint32_t)first;
	target->num_frames = (uint32_t)num_frames;
	target->unnamed_reason = (uint8_t)reason;
	return 0;
}

void profile_set_metric(struct profile *profile, struct metric metric)
{
	profile->metric = metric;
}

struct metric profile_get_metric(const struct profile *profile)
{
	return profile->metric;
}

const struct module *profile_get_module(const struct profile *profile, uint32_t id)
{
	return &profile->modules.items[id];
}

const struct process_info *profile_get_process(const struct profile *profile, uint32_t id)
{
	return &profile->processes.items[id];
}

const struct thread *profile_get_thread(const struct profile *profile, uint32_t id)
{
	return &profile->threads.items[id];
}

const struct location *profile_get_location(const struct profile *profile, uint32_t id)
{
	return &profile->locations.items[id];
}

const struct frame *profile_get_frame(const struct profile *profile, uint32_t id)
{
	return &profile->frames.items[id];
}

const struct sample *profile_get_sample(const struct profile *profile, uint32_t id)
{
	return &profile->samples.items[id];
}

uint32_t profile_count_modules(const struct profile *profile)
{
	return (uint32_t)profile->modules.length;
}

uint32_t profile_count_processes(const struct profile *profile)
{
	return (uint32_t)profile->processes.length;
}

uint32_t profile_count_threads(const struct profile *profile)
{
	return (uint32_t)profile->threads.length;
}

uint32_t profile_count_locations(const struct profile *profile)
{
	return (uint32_t)profile->locations.length;
}

uint32_t profile_count_samples(const struct profile *profile)
{
	return (uint32_t)profile->samples.length;
}

uint32_t profile_get_stack_location(const struct profile *profile, uint32_t stack)
{
	return stack_table_get_level(profile->stacks, stack);
}

uint32_t profile_get_stack_parent(const struct profile *profile, uint32_t stack)
{
	return stack_table_get_parent(profile->stacks, stack);
}

uint32_t profile_count_stacks(const struct profile *profile)
{
	return stack_table_get_count(profile->stacks);
}
