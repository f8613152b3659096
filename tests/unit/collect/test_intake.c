#include "collect/intake.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define PID 100

/* A process with one mapping of /bin/x: [0x1000, 0x2000) shows file offsets from 0x500. */
struct fixture {
	struct profile *profile;
	struct file_table *files;
	struct process_table *processes;
	struct intake *intake;
};

static void map(struct fixture *fixture, uint64_t time_ns, uint64_t start, const char *path)
{
	struct file_identity identity = {.path = path, .inode = (uint64_t)path[5]};

	assert_int_equal(process_table_on_mmap(fixture->processes, time_ns, PID, start,
					       start + 0x1000, 0x500, &identity),
			 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->profile = profile_new();
	fixture->files = file_table_new("/nonexistent", NULL);
	fixture->processes = process_table_new("/nonexistent", fixture->files);
	fixture->intake =
		intake_new(fixture->profile, fixture->files, fixture->processes, 4, USER_STACKS_FP);
	assert_int_equal(process_table_on_fork(fixture->processes, 1, PID, 1), 0);
	assert_int_equal(process_table_on_comm(fixture->processes, 2, PID, "x", true), 0);
	map(fixture, 3, 0x1000, "/bin/x");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	intake_free(fixture->intake);
	process_table_free(fixture->processes);
	file_table_free(fixture->files);
	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

static void add_stack(struct fixture *fixture, uint64_t hash, const uint64_t *pcs, uint32_t count)
{
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = count, .hash = hash};

	memcpy(stack.pcs, pcs, count * sizeof(*pcs));
	assert_int_equal(intake_add_stack(fixture->intake, &stack,
					  offsetof(struct wire_stack, pcs) + count * sizeof(*pcs)),
			 0);
}

static void add_sample(struct fixture *fixture, uint64_t time_ns, uint64_t user, uint64_t kernel,
		       uint8_t flags)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.flags = flags,
		.time_ns = time_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = user,
		.kernel_stack = kernel,
		.comm = "worker",
	};

	assert_int_equal(intake_add_sample(fixture->intake, &sample), 0);
}

static const struct location *get_level(struct fixture *fixture, uint32_t *stack)
{
	uint32_t location = profile_get_stack_location(fixture->profile, *stack);

	*stack = profile_get_stack_parent(fixture->profile, *stack);
	return profile_get_location(fixture->profile, location);
}

static void user_pcs_become_file_offsets_and_return_addresses_point_into_the_call(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;
	const struct location *level;

	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020}, 2);
	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(profile_count_samples(fixture->profile), 1);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	level = get_level(fixture, &stack);
	assert_int_equal(level->space, LOCATION_FILE);
	assert_int_equal(level->address, 0x510);
	level = get_level(fixture, &stack);
	assert_int_equal(level->address, 0x51f);
	assert_int_equal(stack, STACK_EMPTY);
	assert_int_equal(intake_finish(fixture->intake), 0);
	assert_string_equal(
		profile_get_string(fixture->profile,
				   profile_get_module(fixture->profile, level->owner)->path),
		"/bin/x");
}

static void kernel_levels_lie_inside_the_user_stack(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_stack(fixture, 8, (const uint64_t[]){0xffff0010, 0xffff0020}, 2);
	add_sample(fixture, 10, 7, 8, WIRE_SAMPLE_IN_KERNEL);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff0010);
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff001f);
	assert_int_equal(get_level(fixture, &stack)->space, LOCATION_FILE);
	assert_int_equal(stack, STACK_EMPTY);
}

static void the_same_pcs_are_placed_anew_after_the_mappings_changed(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_sample(fixture, 10, 7, 0, 0);
	map(fixture, 11, 0x1000, "/bin/y");
	add_sample(fixture, 12, 7, 0, 0);
	assert_int_equal(profile_count_samples(fixture->profile), 2);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->owner, 0);
	stack = profile_get_sample(fixture->profile, 1)->stack;
	assert_int_equal(get_level(fixture, &stack)->owner, 1);
}

static void a_pc_outside_every_mapping_stays_with_its_process(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;
	const struct location *level;

	add_stack(fixture, 7, (const uint64_t[]){0x9000}, 1);
	add_sample(fixture, 10, 7, 0, 0);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	level = get_level(fixture, &stack);
	assert_int_equal(level->space, LOCATION_PROCESS);
	assert_int_equal(level->address, 0x9000);
}

static void a_sample_whose_stack_never_came_is_counted_as_lost(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(intake_get_counts(fixture->intake).unknown_stack, 1);
	assert_int_equal(intake_get_counts(fixture->intake).samples, 0);
	assert_int_equal(profile_count_samples(fixture->profile), 0);
}

static void a_stack_that_comes_again_changes_nothing(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 2; i++) {
		add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
		add_sample(fixture, 10, 7, 0, 0);
	}
	assert_int_equal(profile_count_samples(fixture->profile), 1);
	assert_int_equal(profile_get_sample(fixture->profile, 0)->value, 2);
}

static void a_record_cut_short_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 3, .hash = 7};

	assert_int_equal(intake_add_stack(fixture->intake, &stack, 16 + 8), 0);
	assert_int_equal(intake_add_stack(fixture->intake, &stack, 3), 0);
	stack.num_frames = UINT32_MAX;
	assert_int_equal(intake_add_stack(fixture->intake, &stack, sizeof(stack)), 0);
	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(intake_get_counts(fixture->intake).unknown_stack, 1);
}

static void a_lone_pc_inside_exec_is_no_user_stack(void **state)
{
	struct fixture *fixture = *state;
	size_t count;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_sample(fixture, 10, 7, 0, WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_IN_EXEC);
	assert_int_equal(intake_get_counts(fixture->intake).in_exec, 1);
	assert_int_equal(profile_get_sample(fixture->profile, 0)->stack, STACK_EMPTY);
	(void)intake_get_user_stacks(fixture->intake, &count);
	assert_int_equal(count, 0);
}

static void user_stacks_are_counted_with_those_at_the_depth_limit(void **state)
{
	struct fixture *fixture = *state;
	const struct user_stack_count *stacks;
	size_t count;

	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1011, 0x1012, 0x1013}, 4);
	add_sample(fixture, 10, 7, 0, 0);
	add_sample(fixture, 11, 7, 0, 0);
	add_sample(fixture, 12, 0, 0, 0);
	add_sample(fixture, 13, 0, 0, WIRE_SAMPLE_NO_USER_MEMORY);
	stacks = intake_get_user_stacks(fixture->intake, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stacks[0].num_samples, 2);
	assert_int_equal(stacks[0].num_at_limit, 2);
	assert_int_equal(stacks[1].stack, STACK_EMPTY);
	assert_int_equal(stacks[1].num_samples, 1);
}

#define fixture_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(user_pcs_become_file_offsets_and_return_addresses_point_into_the_call),
		fixture_test(kernel_levels_lie_inside_the_user_stack),
		fixture_test(the_same_pcs_are_placed_anew_after_the_mappings_changed),
		fixture_test(a_pc_outside_every_mapping_stays_with_its_process),
		fixture_test(a_sample_whose_stack_never_came_is_counted_as_lost),
		fixture_test(a_stack_that_comes_again_changes_nothing),
		fixture_test(a_record_cut_short_is_ignored),
		fixture_test(a_lone_pc_inside_exec_is_no_user_stack),
		fixture_test(user_stacks_are_counted_with_those_at_the_depth_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
