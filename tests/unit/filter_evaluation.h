/*
 * Evaluating a tracepoint's filter as its program does, on a record of the test's own. To be included first.
 */
#ifndef FILTER_EVALUATION_H
#define FILTER_EVALUATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FILTER_INLINE static inline
#include "wire/event_filter.h"

/* Where the parts of the memory lie that is there; all else is a fault. */
#define RECORD_ADDRESS      0x1000000ull
#define KERNEL_TEXT_ADDRESS 0x2000000ull
#define USER_TEXT_ADDRESS   0x3000000ull

struct filter_scene {
	const void *record;
	size_t record_bytes;
	const char *kernel_text;
	const char *user_text;
	const char *comm;
	uint32_t cpu;
	uint32_t tid;
	const struct wire_filter_part *parts; /* set by filter_evaluate() */
	uint32_t num_parts;
	unsigned num_copies; /* of texts that were made */
	char text[WIRE_FILTER_TEXT_BYTES];
};
static struct filter_scene scene;

static inline const uint8_t *find_memory(uint64_t address, size_t *ret_bytes)
{
	const struct {
		uint64_t address;
		const void *bytes;
		size_t num_bytes;
	} parts[] = {
		{RECORD_ADDRESS, scene.record, scene.record_bytes},
		{KERNEL_TEXT_ADDRESS, scene.kernel_text,
		 scene.kernel_text ? strlen(scene.kernel_text) + 1 : 0},
		{USER_TEXT_ADDRESS, scene.user_text,
		 scene.user_text ? strlen(scene.user_text) + 1 : 0},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (address < parts[i].address || address - parts[i].address >= parts[i].num_bytes)
			continue;
		*ret_bytes = parts[i].num_bytes - (size_t)(address - parts[i].address);
		return (const uint8_t *)parts[i].bytes + (address - parts[i].address);
	}
	return NULL;
}

FILTER_INLINE const struct wire_filter_part *filter_get_part(wire_u32 index)
{
	return index < scene.num_parts ? &scene.parts[index] : NULL;
}

FILTER_INLINE int filter_read(const struct filter_hit *hit, wire_u64 address, wire_u32 num_bytes,
			      wire_u64 *ret)
{
	size_t length;
	const uint8_t *bytes = find_memory(address, &length);

	(void)hit;
	if (!bytes || num_bytes > length || num_bytes > 8)
		return -1;
	*ret = 0;
	memcpy(ret, bytes, num_bytes);
	return 0;
}

FILTER_INLINE wire_u32 filter_get_cpu(void)
{
	return scene.cpu;
}

FILTER_INLINE wire_u32 filter_get_tid(void)
{
	return scene.tid;
}

FILTER_INLINE int filter_copy_text(const struct filter_hit *hit, wire_u64 address,
				   wire_u32 num_bytes, int is_of_user)
{
	size_t length;
	const uint8_t *bytes = find_memory(address, &length);
	size_t used = 0;

	(void)hit;
	if (!bytes || is_of_user != (address >= USER_TEXT_ADDRESS) || !num_bytes ||
	    num_bytes > sizeof(scene.text))
		return -1;
	scene.num_copies++;
	while (used < num_bytes - 1 && used < length && bytes[used]) {
		scene.text[used] = (char)bytes[used];
		used++;
	}
	scene.text[used] = '\0';
	return 0;
}

FILTER_INLINE int filter_copy_comm(void)
{
	strncpy(scene.text, scene.comm ? scene.comm : "", sizeof(scene.text) - 1);
	return 0;
}

FILTER_INLINE int filter_match_text(wire_u32 index)
{
	const struct wire_pattern *pattern = &scene.parts[index].pattern;
	uint64_t states = 1;

	for (const char *c = scene.text; *c; c++)
		states = filter_step(pattern, states, (wire_u8)*c);
	return filter_is_match(pattern, states);
}

static inline bool filter_evaluate(const struct wire_filter_part *parts, uint32_t num_parts)
{
	struct filter_hit hit = {.record = RECORD_ADDRESS};

	scene.parts = parts;
	scene.num_parts = num_parts;
	return filter_passes(&hit);
}

#endif
