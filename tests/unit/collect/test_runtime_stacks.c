/* Records of interpreters' frames as they come from the ring. */
#include "collect/runtimes/runtime_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "process/process_fixture.h"
#include "unit.h"

#define HASH       0x101
#define NUM_FRAMES 8

struct scene {
	struct fixture *fixture;
	struct elf_files *elf_files;
	struct hotspot_layouts *hotspots;
	struct profile *profile;
	struct runtime_stacks *stacks;
};

static int set_up_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	void *fixture;

	assert_non_null(scene);
	assert_int_equal(set_up(&fixture), 0);
	scene->fixture = fixture;
	assert_int_equal(elf_files_new(0, &scene->elf_files), 0);
	scene->hotspots = hotspot_layouts_new(scene->fixture->files, scene->elf_files);
	scene->profile = profile_new();
	assert_true(scene->hotspots && scene->profile);
	scene->stacks = runtime_stacks_new(scene->profile,
					   &(struct runtime_sources){
						   .files = scene->fixture->files,
						   .elf_files = scene->elf_files,
						   .hotspots = scene->hotspots,
					   },
					   RUNTIME_FRAMES_MANAGED);
	assert_non_null(scene->stacks);
	*state = scene;
	return 0;
}

static int tear_down_scene(void **state)
{
	struct scene *scene = *state;
	void *fixture = scene->fixture;

	runtime_stacks_free(scene->stacks);
	profile_free(scene->profile);
	hotspot_layouts_free(scene->hotspots);
	elf_files_free(scene->elf_files);
	free(scene);
	return tear_down(&fixture);
}

/*
 * Whether a record that claims num_frames frames, and has room for num_there of them and some bytes, is kept. It has the
 * mark of a deep stack, and memory of its own, so that a sanitizer sees a read past its end.
 */
static bool is_kept(struct scene *scene, uint32_t num_frames, uint32_t num_there, size_t more_bytes)
{
	size_t size = offsetof(struct wire_runtime_stack, frames) +
		      num_there * sizeof(struct wire_runtime_frame) + more_bytes;
	struct wire_runtime_stack head = {.type = WIRE_RUNTIME_STACK,
					  .hash = HASH,
					  .num_frames = (uint16_t)num_frames,
					  .end = WIRE_RUNTIME_DEEP};
	char *record = calloc(1, size);
	bool is_deep;

	assert_non_null(record);
	memcpy(record, &head, offsetof(struct wire_runtime_stack, frames));
	assert_int_equal(runtime_stacks_add(scene->stacks, record, size), 0);
	free(record);
	is_deep = runtime_stacks_is_deep(scene->stacks, HASH);
	runtime_stacks_forget(scene->stacks);
	return is_deep;
}

static void records_that_are_whole_are_kept(void **state)
{
	assert_true(is_kept(*state, NUM_FRAMES, NUM_FRAMES, 0));
}

/* The ring rounds sizes up. */
static void bytes_after_the_frames_are_ignored(void **state)
{
	assert_true(is_kept(*state, NUM_FRAMES, NUM_FRAMES, 4));
}

static void records_of_more_frames_than_bytes_are_ignored(void **state)
{
	assert_false(is_kept(*state, NUM_FRAMES, NUM_FRAMES - 1, 0));
}

static void records_whose_last_frame_is_cut_are_ignored(void **state)
{
	assert_false(
		is_kept(*state, NUM_FRAMES, NUM_FRAMES - 1, sizeof(struct wire_runtime_frame) - 1));
}

static void records_without_a_frame_are_heads(void **state)
{
	assert_true(is_kept(*state, 0, 0, 0));
	assert_false(is_kept(*state, 1, 0, 0));
}

static void records_of_too_many_frames_are_ignored(void **state)
{
	assert_false(is_kept(*state, WIRE_MAX_RUNTIME_FRAMES + 1, WIRE_MAX_RUNTIME_FRAMES + 1, 0));
}

/* No stack has a frame so far. */
static void stacks_without_frames_are_spliced(void **state)
{
	static const uint64_t pcs[] = {0x401000, 0x402000};
	struct scene *scene = *state;

	for (uint8_t runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		struct wire_runtime_stack record = {
			.type = WIRE_RUNTIME_STACK, .hash = HASH + runtime, .runtime = runtime};
		struct runtime_sample sample = {.process = find(scene->fixture, 1, PID, NO_GEN),
						.generation = NO_GEN,
						.frames = HASH + runtime};
		struct runtime_level levels[RUNTIME_MAX_LEVELS];
		struct runtime_verdict verdict;
		uint32_t num_levels;

		assert_int_equal(runtime_stacks_add(scene->stacks, &record,
						    offsetof(struct wire_runtime_stack, frames)),
				 0);
		assert_int_equal(runtime_stacks_splice(scene->stacks, &sample, pcs,
						       ARRAY_LENGTH(pcs), levels, &num_levels,
						       &verdict),
				 0);
		assert_int_equal(num_levels, ARRAY_LENGTH(pcs));
	}
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_scene, tear_down_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(records_that_are_whole_are_kept),
		SCENE_TEST(bytes_after_the_frames_are_ignored),
		SCENE_TEST(records_of_more_frames_than_bytes_are_ignored),
		SCENE_TEST(records_whose_last_frame_is_cut_are_ignored),
		SCENE_TEST(records_without_a_frame_are_heads),
		SCENE_TEST(records_of_too_many_frames_are_ignored),
		SCENE_TEST(stacks_without_frames_are_spliced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
