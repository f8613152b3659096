/* The viewer's reader of ELF files that an experiment keeps: an input is one of them. */
#include "viewer/archived_names.h"

#include "formats/tar_writer.h"
#include "import_fuzz.h"

#define COPY "x.er/archives/work_abcdefghijk"
#define STEP 16

/* A module with the copy, and code all over it. */
static struct profile *make_profile(size_t size)
{
	struct profile *profile = profile_new();
	struct module module = {0};
	uint32_t location;
	uint32_t copy;
	uint32_t id;

	require(profile != NULL);
	require(profile_add_string(profile, "/bin/work", &module.path) == 0);
	require(profile_add_string(profile, COPY, &copy) == 0);
	require(profile_add_module(profile, &module, &id) == 0);
	profile_set_module_copy(profile, id, copy);
	for (size_t offset = 0; offset <= size; offset += STEP) {
		require(profile_add_location(profile, LOCATION_FILE, id, offset, &location) == 0);
		require(profile_add_location(profile, LOCATION_ELF, id, offset, &location) == 0);
	}
	return profile;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text tar = {0};
	struct import import = {.name = "x.er", .profile = make_profile(size)};

	tar_put(&tar, COPY, '0', data, size);
	tar_finish(&tar);
	require(!tar.failed);
	import.data = (const uint8_t *)tar.data;
	import.size = tar.length;
	require(archived_names_add(&import) == 0);
	for (uint32_t i = 0; i < profile_count_locations(import.profile); i++)
		require(profile_get_location(import.profile, i)->num_frames == 1);
	profile_free(import.profile);
	text_release(&tar);
	return 0;
}
