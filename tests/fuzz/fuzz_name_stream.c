/*
 * Names from a process that anything may have happened to: the input is one message. Whatever it
 * says, frames are those of a location that has an address, strings exist, and only kernel code has
 * kernel frames.
 */
#include <stdbool.h>
#include <stdint.h>

#include "require.h"
#include "symbolize/name_stream.h"

#define NUM_LOCATIONS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile *make_profile(void)
{
	struct profile *profile = profile_new();
	uint32_t id;

	require(profile != NULL);
	for (uint32_t i = 0; i < NUM_LOCATIONS; i++) {
		static const enum location_space spaces[] = {LOCATION_FILE, LOCATION_KERNEL,
							     LOCATION_PROCESS};

		require(profile_add_location(profile, spaces[i % 3], 0, 0x1000 + i, &id) == 0);
	}
	return profile;
}

static void check_location(const struct profile *profile, uint32_t id)
{
	const struct location *location = profile_get_location(profile, id);

	require(location->unnamed_reason < NUM_UNNAMED_REASONS);
	for (uint32_t i = 0; i < location->num_frames; i++) {
		const struct frame *frame = profile_get_frame(profile, location->first_frame + i);
		uint32_t num_strings = profile_count_strings(profile);

		require(frame->name < num_strings && frame->full_name < num_strings);
		require(frame->module < num_strings && frame->file < num_strings);
		require((frame->kind == FRAME_KERNEL) == (location->space == LOCATION_KERNEL));
		require(frame->kind < NUM_FRAME_KINDS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = make_profile();
	struct names names = {0};
	struct name_reader reader = {.profile = profile, .names = &names};

	(void)!name_reader_read(&reader, data, size);
	for (uint32_t i = 0; i < NUM_LOCATIONS; i++) {
		check_location(profile, i);
		(void)names_are_outermost(&names, i);
	}
	require(profile_count_locations(profile) == NUM_LOCATIONS);
	name_reader_release(&reader);
	names_release(&names);
	profile_free(profile);
	return 0;
}
