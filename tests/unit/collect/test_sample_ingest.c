#include "collect/stacks/sample_ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "collect/events/allocator_code.h"
#include "collect/events/probe.h"
#include "collect/runtimes/runtime_stacks.h"
#include "failing_memory.h"
#include "process/fake_proc.h"
#include "test_folder.h"
#include "timeline/timeline.h"
#include "unit.h"

#define PID 100

/* A process with one mapping of /bin/x: [0x1000, 0x2000) shows file offsets from 0x500. */
struct fixture {
	struct profile *profile;
	struct file_table *files;
	struct process_table *processes;
	struct sample_ingest *ingest;
};

static void map(struct fixture *fixture, uint64_t time_ns, uint64_t start, const char *path)
{
	struct file_identity identity = {.path = path, .inode = (uint64_t)path[5]};
	struct mapping mapping = {
		.start = start, .end = start + 0x1000, .file_offset = 0x500, .file = FILE_NONE};

	assert_int_equal(
		process_table_on_mmap(fixture->processes, time_ns, PID, &mapping, &identity), 0);
}

static int set_up_walks(void **state, enum user_stacks user_stacks)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->profile = profile_new();
	fixture->files = file_table_new("/nonexistent", NULL);
	fixture->processes = process_table_new("/nonexistent", fixture->files);
	fixture->ingest = sample_ingest_new(fixture->profile, fixture->files, fixture->processes, 4,
					    user_stacks);
	assert_int_equal(process_table_on_fork(fixture->processes, 1, PID, 1), 0);
	assert_int_equal(process_table_on_comm(fixture->processes, 2, PID, "x", true), 0);
	map(fixture, 3, 0x1000, "/bin/x");
	*state = fixture;
	return 0;
}

static int set_up(void **state)
{
	return set_up_walks(state, USER_STACKS_FP);
}

static int set_up_tables(void **state)
{
	return set_up_walks(state, USER_STACKS_TABLE);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	sample_ingest_free(fixture->ingest);
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
	assert_int_equal(
		sample_ingest_add_stack(fixture->ingest, &stack,
					offsetof(struct wire_stack, pcs) + count * sizeof(*pcs)),
		0);
}

static void add_walk(struct fixture *fixture, uint64_t time_ns, uint64_t user, uint64_t kernel,
		     uint8_t flags, enum walk_end walk_end)
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
		.walk_end = walk_end,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static const struct process *find_process(struct fixture *fixture)
{
	struct process *process;
	bool is_in_exec;

	assert_int_equal(process_table_find(fixture->processes, 9, PID, WIRE_GENERATION_UNKNOWN,
					    false, &process, &is_in_exec),
			 0);
	return process;
}

static void add_sample(struct fixture *fixture, uint64_t time_ns, uint64_t user, uint64_t kernel,
		       uint8_t flags)
{
	add_walk(fixture, time_ns, user, kernel, flags, WALK_UNFINISHED);
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
	assert_int_equal(sample_ingest_finish(fixture->ingest), 0);
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

static void the_same_pcs_are_resolved_anew_after_the_mappings_changed(void **state)
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

/* A JIT compiler's memory that has a name. */
static void a_pc_in_a_file_that_is_not_elf_stays_with_its_process(void **state)
{
	struct fixture *fixture = *state;
	struct mapping mapping = {.start = 0x5000, .end = 0x6000, .file = FILE_NONE};
	char path[] = "/tmp/stackwide-test-XXXXXX";
	struct file_identity identity = {.path = path};
	int fd = mkstemp(path);
	uint32_t stack;
	const struct location *level;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "not ELF", 7), 7);
	assert_int_equal(process_table_on_mmap(fixture->processes, 4, PID, &mapping, &identity), 0);
	unlink(path);
	close(fd);
	add_stack(fixture, 7, (const uint64_t[]){0x5010}, 1);
	add_sample(fixture, 10, 7, 0, 0);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	level = get_level(fixture, &stack);
	assert_int_equal(level->space, LOCATION_PROCESS);
	assert_int_equal(level->address, 0x5010);
}

static void a_sample_whose_stack_never_came_is_counted_as_lost(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).unknown_stack, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 0);
	assert_int_equal(profile_count_samples(fixture->profile), 0);
}

/* The names are still to be found, and the outputs to be written: that takes the most memory. */
static void stacks_are_forgotten_when_the_recording_has_ended(void **state)
{
	struct fixture *fixture = *state;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(sample_ingest_finish(fixture->ingest), 0);
	add_sample(fixture, 20, 7, 0, 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).unknown_stack, 1);
	assert_int_equal(profile_count_samples(fixture->profile), 1);
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

static void a_truncated_record_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 3, .hash = 7};

	assert_int_equal(sample_ingest_add_stack(fixture->ingest, &stack, 16 + 8), 0);
	assert_int_equal(sample_ingest_add_stack(fixture->ingest, &stack, 3), 0);
	stack.num_frames = UINT32_MAX;
	assert_int_equal(sample_ingest_add_stack(fixture->ingest, &stack, sizeof(stack)), 0);
	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).unknown_stack, 1);
}

static void a_lone_pc_inside_exec_is_no_user_stack(void **state)
{
	struct fixture *fixture = *state;
	size_t count;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_sample(fixture, 10, 7, 0, WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_IN_EXEC);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.in_exec, 1);
	assert_int_equal(profile_get_sample(fixture->profile, 0)->stack, STACK_EMPTY);
	(void)sample_ingest_get_user_stacks(fixture->ingest, &count);
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
	stacks = sample_ingest_get_user_stacks(fixture->ingest, &count);
	assert_int_equal(count, 2);
	assert_int_equal(stacks[0].num_samples, 2);
	assert_int_equal(stacks[0].num_at_limit, 2);
	assert_int_equal(stacks[1].stack, STACK_EMPTY);
	assert_int_equal(stacks[1].num_samples, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.kernel_only, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 4);
}

static void a_truncated_stack_says_so_and_is_not_the_whole_one_with_the_same_pcs(void **state)
{
	struct fixture *fixture = *state;
	uint32_t truncation;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_walk(fixture, 10, 7, 0, 0, WALK_NO_RULE);
	add_walk(fixture, 11, 7, 0, 0, WALK_COMPLETE);
	assert_int_equal(profile_add_truncated_frame(fixture->profile, STACK_EMPTY, &truncation),
			 0);
	assert_int_equal(profile_count_samples(fixture->profile), 2);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(stack, truncation);
	stack = profile_get_sample(fixture->profile, 1)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(stack, STACK_EMPTY);
}

static void a_kernel_stack_without_its_user_stack_is_truncated(void **state)
{
	struct fixture *fixture = *state;
	uint32_t truncation;
	uint32_t stack;

	add_stack(fixture, 8, (const uint64_t[]){0xffff0010}, 1);
	add_walk(fixture, 10, 0, 8, WIRE_SAMPLE_IN_KERNEL, WALK_UNFINISHED);
	add_walk(fixture, 11, 0, 0, WIRE_SAMPLE_IN_KERNEL, WALK_UNFINISHED);
	assert_int_equal(profile_add_truncated_frame(fixture->profile, STACK_EMPTY, &truncation),
			 0);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff0010);
	assert_int_equal(stack, truncation);
	/* A truncation alone would be shown as what ran. */
	assert_int_equal(profile_get_sample(fixture->profile, 1)->stack, STACK_EMPTY);
}

static void kernel_threads_and_execs_are_not_truncated(void **state)
{
	struct fixture *fixture = *state;

	add_stack(fixture, 8, (const uint64_t[]){0xffff0010}, 1);
	add_walk(fixture, 10, 0, 8, WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_NO_USER_MEMORY,
		 WALK_UNFINISHED);
	add_walk(fixture, 11, 0, 8, WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_IN_EXEC, WALK_UNFINISHED);
	assert_int_equal(profile_count_samples(fixture->profile), 1);
	assert_int_equal(profile_get_stack_parent(fixture->profile,
						  profile_get_sample(fixture->profile, 0)->stack),
			 STACK_EMPTY);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.kernel_only, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.in_exec, 1);
}

static void a_stack_in_exec_is_truncated_unless_its_memory_is_gone(void **state)
{
	struct fixture *fixture = *state;
	const uint8_t flags = WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_IN_EXEC;
	struct sample_ingest_counts counts;

	add_stack(fixture, 6, (const uint64_t[]){0x1010, 0x1020}, 2);
	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_walk(fixture, 10, 7, 0, flags, WALK_READ_FAILED);
	add_walk(fixture, 11, 7, 0, flags, WALK_NO_PROCESS);
	counts = sample_ingest_get_counts(fixture->ingest);
	assert_int_equal(counts.user.in_exec, 2);
	add_walk(fixture, 12, 7, 0, flags, WALK_NO_TABLE);
	add_walk(fixture, 13, 6, 0, flags, WALK_READ_FAILED);
	add_walk(fixture, 14, 6, 0, flags, WALK_COMPLETE);
	counts = sample_ingest_get_counts(fixture->ingest);
	assert_int_equal(counts.user.in_exec, 2);
	assert_int_equal(counts.user.walks[WALK_NO_TABLE], 1);
	assert_int_equal(counts.user.walks[WALK_READ_FAILED], 1);
	assert_int_equal(counts.user.walks[WALK_COMPLETE], 1);
}

static void add_generation(struct fixture *fixture, uint64_t time_ns, uint64_t generation)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.generation = generation,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static uint32_t get_process(struct fixture *fixture, uint32_t sample)
{
	return profile_get_thread(fixture->profile,
				  profile_get_sample(fixture->profile, sample)->thread)
		->process;
}

/* The kernel's count of execs, which samples carry, says on which side of an exec they are. */
static void a_sample_belongs_to_the_image_of_its_generation(void **state)
{
	struct fixture *fixture = *state;

	add_generation(fixture, 10, 5);
	assert_int_equal(process_table_on_comm(fixture->processes, 20, PID, "y", true), 0);
	add_generation(fixture, 21, 5); /* inside the exec */
	add_generation(fixture, 22, 6);
	assert_int_equal(profile_count_samples(fixture->profile), 2);
	assert_int_equal(profile_get_sample(fixture->profile, 0)->value, 2);
	assert_string_equal(process_table_get(fixture->processes, get_process(fixture, 0))->comm,
			    "x");
	assert_int_equal(profile_get_sample(fixture->profile, 1)->value, 1);
	assert_string_equal(process_table_get(fixture->processes, get_process(fixture, 1))->comm,
			    "y");
	assert_int_equal(process_table_get_stats(fixture->processes).missed_execs, 0);
}

static void a_step_by_frame_pointer_that_no_call_proves_is_counted(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010 | WIRE_PC_FP_STEP, 0x1020}, 2);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	add_walk(fixture, 10, 7, 0, 0, WALK_READ_FAILED);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.unproven, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_COMPLETE], 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_READ_FAILED], 1);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(get_level(fixture, &stack)->address, 0x51f);
	assert_int_equal(stack, STACK_EMPTY);
}

/* What the interpreter of the test says of every stack; these functions are in the place of those of the recording. */
struct fake_interpreter {
	struct runtime_level levels[4];
	uint32_t num_levels;
	bool proves_steps;
	/* What it was asked last, and how often. */
	uint64_t frames;
	uint64_t generation;
	bool is_whole;
	uint32_t num_asked;
};

int runtime_stacks_splice(struct runtime_stacks *stacks, const struct runtime_sample *source,
			  const uint64_t *pcs _unused_, uint32_t num_pcs _unused_,
			  struct runtime_level *ret, uint32_t *ret_num,
			  struct runtime_verdict *ret_verdict)
{
	struct fake_interpreter *fake = (void *)stacks;

	fake->frames = source->frames;
	fake->generation = source->generation;
	fake->is_whole = source->is_whole;
	fake->num_asked++;
	memcpy(ret, fake->levels, fake->num_levels * sizeof(fake->levels[0]));
	*ret_num = fake->num_levels;
	*ret_verdict =
		(struct runtime_verdict){.fit = RUNTIME_FITS, .proves_steps = fake->proves_steps};
	return 0;
}

struct process_runtime runtime_stacks_get_runtime(struct runtime_stacks *stacks _unused_,
						  const struct process *process _unused_)
{
	return (struct process_runtime){
		.is_there = true, .is_known = true, .runtime = WIRE_RUNTIME_V8};
}

void runtime_stacks_count(struct runtime_stacks *stacks _unused_,
			  const struct process *process _unused_, struct runtime_verdict verdict,
			  const uint64_t *pcs, uint32_t num_pcs)
{
	assert_true(verdict.fit == RUNTIME_FITS || verdict.fit == RUNTIME_NONE);
	assert_null(pcs);
	assert_int_equal(num_pcs, 0);
}

bool runtime_stacks_counts_by_file(struct runtime_stacks *stacks _unused_,
				   const struct process *process _unused_)
{
	return false;
}

bool runtime_stacks_is_deep(const struct runtime_stacks *stacks _unused_, uint64_t hash _unused_)
{
	return false;
}

bool runtime_stacks_is_gil(struct runtime_stacks *stacks _unused_,
			   const struct process *process _unused_, uint64_t futex _unused_)
{
	return false;
}

void runtime_stacks_forget(struct runtime_stacks *stacks _unused_)
{
}

static void the_frames_of_an_interpreter_prove_steps(void **state)
{
	struct fixture *fixture = *state;
	struct fake_interpreter fake = {.levels = {{.pc = 0}, {.pc = 1}}, .num_levels = 2};

	sample_ingest_set_runtimes(fixture->ingest, (struct runtime_stacks *)&fake);
	add_stack(fixture, 7, (const uint64_t[]){0x1010 | WIRE_PC_FP_STEP, 0x1020}, 2);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.unproven, 1);
	fake.proves_steps = true;
	add_stack(fixture, 9, (const uint64_t[]){0x1018 | WIRE_PC_FP_STEP, 0x1020}, 2);
	add_walk(fixture, 10, 9, 0, 0, WALK_COMPLETE);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.unproven, 1);
	/* They do not make good what is known to be wrong. */
	fake.levels[1].pc = RUNTIME_LEVEL_SKIPPED;
	add_stack(fixture, 11, (const uint64_t[]){0x101c | WIRE_PC_FP_STEP, 0x1020}, 2);
	add_walk(fixture, 10, 11, 0, 0, WALK_COMPLETE);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_SKIPPED_FRAME],
			 1);
}

/* Whoever is outside of a caller that is missing is not its callee's caller. */
static void a_stack_ends_where_the_interpreter_knows_that_a_caller_is_missing(void **state)
{
	struct fixture *fixture = *state;
	struct fake_interpreter fake = {
		.levels = {{.pc = 0}, {.pc = 1}, {.pc = RUNTIME_LEVEL_SKIPPED}, {.pc = 2}},
		.num_levels = 4,
	};
	uint32_t stack;

	sample_ingest_set_runtimes(fixture->ingest, (struct runtime_stacks *)&fake);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020, 0x1030}, 3);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	/* Also from the cache. */
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_SKIPPED_FRAME],
			 2);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_COMPLETE], 0);
	assert_int_equal(profile_count_samples(fixture->profile), 1);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(get_level(fixture, &stack)->address, 0x51f);
	assert_true(profile_is_truncated_frame(
		fixture->profile, profile_get_stack_location(fixture->profile, stack)));
	assert_int_equal(profile_get_stack_parent(fixture->profile, stack), STACK_EMPTY);
}

/* hash  of the frames that came; 0: none */
static void add_runtime_walk(struct fixture *fixture, uint64_t hash, enum walk_end walk_end)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = 10,
		.generation = 5,
		.user_stack = 7,
		.runtime_stack = hash,
		.walk_end = walk_end,
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static bool is_last_truncated(struct fixture *fixture)
{
	uint32_t stack =
		profile_get_sample(fixture->profile, profile_count_samples(fixture->profile) - 1)
			->stack;

	while (profile_get_stack_parent(fixture->profile, stack) != STACK_EMPTY)
		stack = profile_get_stack_parent(fixture->profile, stack);
	return profile_is_truncated_frame(fixture->profile,
					  profile_get_stack_location(fixture->profile, stack));
}

/* The outer end of a coroutine's stack is where it was switched to, wherever the walk went after that. */
static void a_walk_that_ended_outside_of_a_coroutine_is_complete(void **state)
{
	struct fixture *fixture = *state;
	struct fake_interpreter fake = {
		.levels = {{.pc = 0}, {.pc = 1}, {.pc = RUNTIME_LEVEL_OUTERMOST}},
		.num_levels = 3,
	};

	sample_ingest_set_runtimes(fixture->ingest, (struct runtime_stacks *)&fake);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020, 0x1030}, 3);
	add_runtime_walk(fixture, 0x101, WALK_READ_FAILED);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_COMPLETE], 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_READ_FAILED], 0);
	assert_int_equal(fake.frames, 0x101);
	assert_int_equal(fake.generation, 5);
	assert_false(fake.is_whole);
	assert_false(is_last_truncated(fixture));
}

static void without_a_coroutine_a_walk_that_ended_is_truncated(void **state)
{
	struct fixture *fixture = *state;
	struct fake_interpreter fake = {
		.levels = {{.pc = 0}, {.pc = 1}, {.pc = 2}},
		.num_levels = 3,
	};

	sample_ingest_set_runtimes(fixture->ingest, (struct runtime_stacks *)&fake);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020, 0x1030}, 3);
	add_runtime_walk(fixture, 0x101, WALK_READ_FAILED);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_READ_FAILED], 1);
	assert_true(is_last_truncated(fixture));
	assert_false(fake.is_whole);
}

/* Java says what it is some time after its start: stacks from before are without its frames. */
static void a_stack_is_resolved_again_when_it_has_frames(void **state)
{
	struct fixture *fixture = *state;
	struct fake_interpreter fake = {.levels = {{.pc = 0}, {.pc = 1}}, .num_levels = 2};

	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020, 0x1030}, 3);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	sample_ingest_set_runtimes(fixture->ingest, (struct runtime_stacks *)&fake);
	add_runtime_walk(fixture, 0x101, WALK_COMPLETE);
	assert_int_equal(fake.num_asked, 1);
	assert_int_equal(fake.frames, 0x101);
	add_runtime_walk(fixture, 0x101, WALK_COMPLETE);
	assert_int_equal(fake.num_asked, 1);
	add_runtime_walk(fixture, 0x103, WALK_COMPLETE);
	assert_int_equal(fake.num_asked, 2);
}

/* Without frames nothing says that it is a coroutine's. */
static void a_stack_without_frames_is_no_coroutine(void **state)
{
	struct fixture *fixture = *state;
	struct fake_interpreter fake = {
		.levels = {{.pc = 0}, {.pc = 1}, {.pc = RUNTIME_LEVEL_OUTERMOST}},
		.num_levels = 3,
	};

	sample_ingest_set_runtimes(fixture->ingest, (struct runtime_stacks *)&fake);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020, 0x1030}, 3);
	add_runtime_walk(fixture, 0, WALK_READ_FAILED);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_COMPLETE], 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_READ_FAILED], 1);
	assert_int_equal(fake.num_asked, 1);
	assert_int_equal(fake.frames, RUNTIME_NO_FRAMES);
	assert_true(is_last_truncated(fixture));
	add_runtime_walk(fixture, 0, WALK_COMPLETE);
	assert_true(fake.is_whole);
	assert_int_equal(fake.frames, RUNTIME_NO_FRAMES);
}

/* Registers and memory may be of two programs, of which neither has the stack pointer on a stack of the other. */
static void a_sample_within_exec_says_of_no_stack_that_it_is_in_use(void **state)
{
	struct fixture *fixture = *state;
	struct trace_log *log;

	assert_int_equal(trace_log_new(test_parent_folder(), &log, NULL), 0);
	sample_ingest_set_trace_log(fixture->ingest, log);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020}, 2);
	for (unsigned int is_in_exec = 0; is_in_exec < 2; is_in_exec++) {
		const struct wire_sample sample = {
			.type = WIRE_SAMPLE,
			.pid = PID,
			.tid = PID,
			.flags = is_in_exec ? WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_IN_EXEC : 0,
			.time_ns = 10 + is_in_exec,
			.generation = WIRE_GENERATION_UNKNOWN,
			.user_stack = 7,
			.user_sp = 0x7000,
			.outermost_sp = 0x7100,
			.walk_end = WALK_COMPLETE,
		};

		assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
	}
	assert_int_equal(spool_rewind(trace_log_get_samples(log)), 0);
	for (unsigned int is_in_exec = 0; is_in_exec < 2; is_in_exec++) {
		struct timed_sample timed;

		assert_int_equal(spool_next(trace_log_get_samples(log), &timed), 1);
		assert_int_equal(timed.user_sp, is_in_exec ? 0 : 0x7000);
		assert_int_equal(timed.outermost_sp, is_in_exec ? 0 : 0x7100);
	}
	trace_log_free(log);
}

static void a_step_by_frame_pointer_to_where_nothing_is_mapped_is_none(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010 | WIRE_PC_FP_STEP, 0x8888}, 2);
	add_walk(fixture, 10, 7, 0, 0, WALK_NO_MAPPING);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_NO_MAPPING], 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_SKIPPED_FRAME],
			 1);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(profile_get_stack_parent(fixture->profile, stack), STACK_EMPTY);
}

/* A walk by the mappings of this version. */
static void add_walk_of_version(struct fixture *fixture, uint64_t time_ns, uint32_t version)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = 7,
		.walk_end = WALK_COMPLETE,
		.mappings_version = version,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static uint64_t count_walks(const struct fixture *fixture, enum walk_end end)
{
	return sample_ingest_get_counts(fixture->ingest).user.walks[end];
}

static void a_stack_ends_in_code_that_its_walk_did_not_know(void **state)
{
	struct fixture *fixture = *state;
	uint32_t version;
	uint32_t stack;

	map(fixture, 4, 0x3000, "/lib/old");
	version = find_process(fixture)->mappings_version;
	add_stack(fixture, 7, (const uint64_t[]){0x1010 | WIRE_PC_EXACT, 0x3020, 0x1030}, 3);
	add_walk_of_version(fixture, 10, version);
	assert_int_equal(count_walks(fixture, WALK_COMPLETE), 1);
	/* The rules of the old library have led out of the new one. */
	map(fixture, 20, 0x3000, "/lib/new");
	add_walk_of_version(fixture, 21, version);
	assert_int_equal(count_walks(fixture, WALK_COMPLETE), 1);
	assert_int_equal(count_walks(fixture, WALK_NO_PROCESS), 1);
	stack = profile_get_sample(fixture->profile, 1)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(get_level(fixture, &stack)->address, 0x51f);
	assert_true(profile_is_truncated_frame(
		fixture->profile, profile_get_stack_location(fixture->profile, stack)));
	/* The same stack, by the new mappings and by those of user space. */
	add_walk_of_version(fixture, 22, version + 1);
	add_walk_of_version(fixture, 23, 0);
	assert_int_equal(count_walks(fixture, WALK_COMPLETE), 3);
	add_walk_of_version(fixture, 24, version);
	assert_int_equal(count_walks(fixture, WALK_NO_PROCESS), 2);
	/* Other code that came later does not matter. */
	map(fixture, 30, 0x8000, "/lib/late");
	add_walk_of_version(fixture, 31, version + 1);
	assert_int_equal(count_walks(fixture, WALK_COMPLETE), 4);
}

static void the_end_of_a_stack_may_be_in_code_that_its_walk_did_not_know(void **state)
{
	struct fixture *fixture = *state;
	uint32_t version = find_process(fixture)->mappings_version;

	/* Where no code was known, the rules are not those of other code. */
	map(fixture, 4, 0x3000, "/lib/old");
	add_stack(fixture, 7, (const uint64_t[]){0x1010 | WIRE_PC_EXACT, 0x3020}, 2);
	add_walk_of_version(fixture, 10, version);
	assert_int_equal(count_walks(fixture, WALK_COMPLETE), 1);
	map(fixture, 11, 0x3000, "/lib/new");
	add_walk_of_version(fixture, 12, version + 1);
	assert_int_equal(count_walks(fixture, WALK_NO_PROCESS), 1);
}

static void a_32_bit_stack_ends_where_no_call_proves_its_caller(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020}, 2);
	add_walk(fixture, 10, 7, 0, 0, WALK_32_BIT);
	stack = profile_get_sample(fixture->profile, 0)->stack;
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_32_BIT], 1);
	assert_int_equal(profile_get_stack_parent(fixture->profile, stack), STACK_EMPTY);
}

static const char *get_frame_name(struct fixture *fixture, uint32_t sample)
{
	uint32_t stack = profile_get_sample(fixture->profile, sample)->stack;
	const struct location *location = get_level(fixture, &stack);

	if (!location->num_frames)
		return "";
	return profile_get_string(fixture->profile,
				  profile_get_frame(fixture->profile, location->first_frame)->name);
}

/* The first name of an address is given by the symbolizer. */
static void generated_code_has_the_name_of_its_time(void **state)
{
	struct fixture *fixture = *state;
	struct fake_proc proc = fake_proc_new();
	char path[TEST_PATH_BYTES + 64];
	char status[64];
	uint64_t first_ns;
	FILE *map;

	snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", getuid());
	fake_proc_write(&proc, "100/status", status);
	fake_proc_write(&proc, "100/root/tmp/perf-100.map", "9000 10 first\n8000 10 other\n");
	process_table_free(fixture->processes);
	sample_ingest_free(fixture->ingest);
	fixture->processes = process_table_new(proc.root, fixture->files);
	fixture->ingest = sample_ingest_new(fixture->profile, fixture->files, fixture->processes, 4,
					    USER_STACKS_FP);
	assert_int_equal(process_table_on_fork(fixture->processes, 1, PID, 1), 0);
	add_stack(fixture, 7, (const uint64_t[]){0x9004}, 1);
	add_sample(fixture, 10, 7, 0, 0);
	first_ns = clock_now_ns();
	add_sample(fixture, first_ns, 7, 0, 0);

	snprintf(path, sizeof(path), "%s/100/root/tmp/perf-100.map", proc.root);
	map = fopen(path, "a");
	assert_non_null(map);
	fprintf(map, "9000 10 second\n8000 10 other\n");
	fclose(map);
	assert_int_equal(process_table_read_code(fixture->processes, UINT64_MAX), 0);
	add_sample(fixture, clock_now_ns(), 7, 0, 0);
	add_sample(fixture, first_ns - NS_PER_SECOND, 7, 0, 0);

	assert_int_equal(profile_count_samples(fixture->profile), 2);
	assert_int_equal(profile_get_sample(fixture->profile, 0)->value, 3);
	assert_string_equal(get_frame_name(fixture, 0), "");
	assert_int_equal(profile_get_sample(fixture->profile, 1)->value, 1);
	assert_string_equal(get_frame_name(fixture, 1), "second");
	fake_proc_remove(&proc);
}

/* In a process that maps also this file, the outermost frame is reached from generated code. */
static void assert_walk_counts(const char *runtime, uint64_t leaf, enum walk_end end)
{
	struct fixture *fixture;
	void *state;

	assert_int_equal(set_up_tables(&state), 0);
	fixture = state;
	map(fixture, 4, 0x5000, runtime);
	map(fixture, 4, 0x9000, "//anon");
	add_stack(fixture, 7, (const uint64_t[]){leaf, 0x1010}, 2);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	/* Also from the cache. */
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[end], 2);
	tear_down(&state);
}

static void a_walk_through_generated_code_is_complete_if_that_keeps_frame_pointers(
	_unused_ void **state)
{
	const uint64_t by_fp = 0x9010 | WIRE_PC_FP_STEP;

	assert_walk_counts("/bin/node", by_fp, WALK_COMPLETE);
	assert_walk_counts("/bin/luajit", by_fp, WALK_JIT_CODE);
	assert_walk_counts("/bin/luajit", 0x1020, WALK_COMPLETE);
}

#define TICK_NS   10000
#define PERIOD_NS 1000

/* With a scheduler at [0xffff1000, 0xffff2000). */
static int set_up_waits(void **state)
{
	const struct sample_periods periods = {.tick_ns = TICK_NS, .wait_ns = PERIOD_NS};
	const struct scheduler_code scheduler = {.start = 0xffff1000, .end = 0xffff2000};
	struct fixture *fixture;
	int err = set_up_walks(state, USER_STACKS_TABLE);

	fixture = *state;
	return err ? err : sample_ingest_add_off_cpu(fixture->ingest, &periods, &scheduler);
}

static void add_timed_wait(struct fixture *fixture, uint8_t flag, uint32_t num_periods,
			   uint32_t num_queue_periods, uint64_t wait_ns, uint64_t queue_ns)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.flags = WIRE_SAMPLE_IN_KERNEL | flag,
		.time_ns = 10 + wait_ns + queue_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = 7,
		.kernel_stack = 8,
		.num_periods = num_periods,
		.num_queue_periods = num_queue_periods,
		.wait_ns = wait_ns,
		.queue_ns = queue_ns,
		.walk_end = WALK_COMPLETE,
		.comm = "worker",
	};

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	/* What has taken the stack, the scheduler, and who has called it. */
	add_stack(fixture, 8, (const uint64_t[]){0xffff9000, 0xffff1500, 0xffff3000, 0xffff4000},
		  4);
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static void add_wait(struct fixture *fixture, uint8_t flag, uint32_t num_periods,
		     uint32_t num_queue_periods)
{
	add_timed_wait(fixture, flag, num_periods, num_queue_periods, 0, 0);
}

/* The weight of all stacks of a metric. */
static uint64_t sum_metric(const struct fixture *fixture, const char *name)
{
	uint32_t metric = profile_find_metric(fixture->profile, name);
	uint64_t sum = 0;

	assert_int_not_equal(metric, METRIC_NONE);
	for (uint32_t i = 0; i < profile_count_samples(fixture->profile); i++) {
		const struct sample *sample = profile_get_sample(fixture->profile, i);

		sum += sample->metric == metric ? sample->value : 0;
	}
	return sum;
}

/* The stack of the metric's only sample. */
static uint32_t get_only_stack(const struct fixture *fixture, const char *metric_name)
{
	uint32_t metric = profile_find_metric(fixture->profile, metric_name);
	uint32_t stack = STACK_EMPTY;

	for (uint32_t i = 0; i < profile_count_samples(fixture->profile); i++) {
		const struct sample *sample = profile_get_sample(fixture->profile, i);

		if (sample->metric != metric)
			continue;
		assert_int_equal(stack, STACK_EMPTY);
		stack = sample->stack;
	}
	assert_int_not_equal(stack, STACK_EMPTY);
	return stack;
}

static const char *get_name(const struct fixture *fixture, const struct location *location)
{
	return profile_get_string(fixture->profile,
				  profile_get_frame(fixture->profile, location->first_frame)->name);
}

static void a_wait_ends_in_a_frame_that_says_what_it_is_and_lacks_the_scheduler(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_wait(fixture, WIRE_SAMPLE_BLOCKED, 3, 0);
	stack = get_only_stack(fixture, "blocked");
	assert_string_equal(get_name(fixture, get_level(fixture, &stack)), "[blocked]");
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff3000 - 1);
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff4000 - 1);
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_int_equal(stack, STACK_EMPTY);
}

static void a_wait_with_time_in_a_run_queue_is_two_stacks(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t *weights_ns;
	uint32_t blocked;
	uint32_t queued;

	add_wait(fixture, WIRE_SAMPLE_BLOCKED, 3, 2);
	blocked = get_only_stack(fixture, "blocked");
	queued = get_only_stack(fixture, "run-queue");
	assert_string_equal(get_name(fixture, get_level(fixture, &queued)), "[run queue]");
	(void)get_level(fixture, &blocked);
	assert_int_equal(blocked, queued);
	assert_int_equal(sum_metric(fixture, "blocked"), 3 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "run-queue"), 2 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "wall"), 5 * PERIOD_NS);
	assert_int_equal(sample_ingest_get_off_cpu_counts(fixture->ingest, &weights_ns).samples, 1);
	assert_int_equal(weights_ns[WAIT_BLOCKED], 3 * PERIOD_NS);
	assert_int_equal(weights_ns[WAIT_RUN_QUEUE], 2 * PERIOD_NS);
}

/* For a trace, whose slices have the stack without the frame that says what it is. */
static void the_times_of_a_wait_are_kept_with_its_stack(void **state)
{
	struct fixture *fixture = *state;
	struct trace_log *log;
	struct timed_wait wait;
	uint32_t stack;

	assert_int_equal(trace_log_new(test_parent_folder(), &log, NULL), 0);
	sample_ingest_set_trace_log(fixture->ingest, log);
	add_timed_wait(fixture, WIRE_SAMPLE_UNINTERRUPTIBLE, 3, 2, 3100, 1900);
	add_wait(fixture, WIRE_SAMPLE_BLOCKED, 0, 1); /* a new thread's first time in a run queue */
	assert_int_equal(spool_rewind(trace_log_get_waits(log)), 0);
	assert_int_equal(spool_next(trace_log_get_waits(log), &wait), 1);
	assert_int_equal(wait.end_ns, 5010);
	assert_int_equal(wait.wait_ns, 3100);
	assert_int_equal(wait.queue_ns, 1900);
	assert_int_equal(wait.num_periods, 3);
	assert_int_equal(wait.num_queue_periods, 2);
	assert_int_equal(wait.state, OFF_CPU_UNINTERRUPTIBLE);
	stack = get_only_stack(fixture, "uninterruptible");
	(void)get_level(fixture, &stack);
	assert_int_equal(wait.stack, stack);
	assert_int_equal(spool_next(trace_log_get_waits(log), &wait), 0);
	trace_log_free(log);
}

/* The only timestamp of a metric. */
static const struct timestamp *get_only_time(const struct fixture *fixture, const char *metric_name)
{
	const struct timestamps *timestamps = profile_get_timestamps(fixture->profile);
	uint32_t metric = profile_find_metric(fixture->profile, metric_name);
	const struct timestamp *found = NULL;

	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);

		if (profile_get_sample(fixture->profile, timestamp->sample)->metric != metric)
			continue;
		assert_null(found);
		found = timestamp;
	}
	assert_non_null(found);
	return found;
}

static void a_wait_is_spread_over_its_time(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(profile_keep_timestamps(fixture->profile), 0);
	add_timed_wait(fixture, WIRE_SAMPLE_BLOCKED, 1, 1, 30 * NS_PER_MS, 4 * NS_PER_MS);
	assert_int_equal(get_only_time(fixture, "blocked")->time_ns, 0);
	assert_int_equal(get_only_time(fixture, "blocked")->duration, 30);
	assert_int_equal(get_only_time(fixture, "run-queue")->time_ns, 30 * NS_PER_MS);
	assert_int_equal(get_only_time(fixture, "run-queue")->duration, 4);
}

static void a_system_call_is_spread_over_its_time(void **state)
{
	struct fixture *fixture = *state;
	char name[] = "syscall-time";
	const struct event event = {.name = name, .kind = EVENT_SYSTEM_CALL, .start_config = 1};
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = 50 * NS_PER_MS,
		.generation = WIRE_GENERATION_UNKNOWN,
		.weight = 1000,
		.duration_ms = 20,
		.call = 1,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_set_events(fixture->ingest, &event, 1), 0);
	assert_int_equal(profile_keep_timestamps(fixture->profile), 0);
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
	assert_int_equal(get_only_time(fixture, name)->time_ns, 30 * NS_PER_MS);
	assert_int_equal(get_only_time(fixture, name)->duration, 20);
	/* The rest belongs to the last sample of the CPU, and has its time. */
	sample.time_ns = 90 * NS_PER_MS;
	sample.call = 2;
	sample.duration_ms = 0;
	sample.earlier_weight = 7;
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
	assert_int_equal(timestamps_count(profile_get_timestamps(fixture->profile)), 3);
	assert_int_equal(timestamps_get(profile_get_timestamps(fixture->profile), 1)->time_ns,
			 30 * NS_PER_MS);
	assert_int_equal(timestamps_get(profile_get_timestamps(fixture->profile), 1)->weight, 7);
	/* (1000 + 7)^2 + 1000^2 */
	assert_true(sample_ingest_get_event(fixture->ingest, 0).weight_squares == 2014049);
}

static void every_kind_of_wait_has_its_metric_and_wall_is_all_of_them(void **state)
{
	struct fixture *fixture = *state;

	add_wait(fixture, WIRE_SAMPLE_BLOCKED, 1, 0);
	add_wait(fixture, WIRE_SAMPLE_UNINTERRUPTIBLE, 20, 0);
	add_wait(fixture, WIRE_SAMPLE_PREEMPTED, 300, 0);
	add_wait(fixture, WIRE_SAMPLE_BLOCKED, 0, 4000);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	assert_int_equal(sum_metric(fixture, "blocked"), 1 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "uninterruptible"), 20 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "preempted"), 300 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "run-queue"), 4000 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "cpu"), TICK_NS);
	assert_int_equal(sum_metric(fixture, "wall"), 4321 * PERIOD_NS + TICK_NS);
}

static void waits_are_counted_beside_ticks(void **state)
{
	struct fixture *fixture = *state;
	struct sample_ingest_counts waits;
	const uint64_t *weights_ns;

	add_wait(fixture, WIRE_SAMPLE_BLOCKED, 1, 0);
	add_wait(fixture, WIRE_SAMPLE_PREEMPTED, 1, 0);
	add_walk(fixture, 10, 7, 0, 0, WALK_COMPLETE);
	add_walk(fixture, 10, 99, 0, WIRE_SAMPLE_BLOCKED, WALK_COMPLETE);
	waits = sample_ingest_get_off_cpu_counts(fixture->ingest, &weights_ns);
	assert_int_equal(waits.samples, 2);
	assert_int_equal(waits.unknown_stack, 1);
	assert_int_equal(waits.user.walks[WALK_COMPLETE], 2);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).unknown_stack, 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_COMPLETE], 1);
	assert_int_equal(sum_metric(fixture, "samples"), 1);
}

static void a_thread_that_slept_throughout_says_so_outside_of_all_else(void **state)
{
	const struct wire_sample without_user_stack = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.flags = WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_UNINTERRUPTIBLE |
			 WIRE_SAMPLE_THROUGHOUT,
		.time_ns = 10,
		.generation = WIRE_GENERATION_UNKNOWN,
		.kernel_stack = 8,
		.num_periods = 1,
	};
	struct fixture *fixture = *state;
	uint32_t truncation;
	uint32_t stack;

	add_wait(fixture, WIRE_SAMPLE_BLOCKED | WIRE_SAMPLE_THROUGHOUT, 3, 0);
	stack = get_only_stack(fixture, "blocked");
	assert_string_equal(get_name(fixture, get_level(fixture, &stack)), "[blocked]");
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff3000 - 1);
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff4000 - 1);
	assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	assert_true(profile_is_slept_frame(fixture->profile,
					   profile_get_stack_location(fixture->profile, stack)));
	assert_int_equal(profile_get_stack_parent(fixture->profile, stack), STACK_EMPTY);

	/* Without a user stack the truncation is the next one. */
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &without_user_stack), 0);
	assert_int_equal(profile_add_truncated_frame(fixture->profile, stack, &truncation), 0);
	stack = get_only_stack(fixture, "uninterruptible");
	for (int level = 0; level < 3; level++)
		(void)get_level(fixture, &stack);
	assert_int_equal(stack, truncation);
}

/* A thread that goes on just when it is looked at: of its wait neither part of the stack is to be had. */
static void a_wait_without_a_stack_is_truncated(void **state)
{
	struct fixture *fixture = *state;
	uint32_t truncation;
	uint32_t stack;

	assert_int_equal(
		sample_ingest_add_sample(fixture->ingest,
					 &(struct wire_sample){.type = WIRE_SAMPLE,
							       .pid = PID,
							       .tid = PID,
							       .flags = WIRE_SAMPLE_BLOCKED,
							       .time_ns = 20,
							       .num_periods = 1}),
		0);
	assert_int_equal(profile_add_truncated_frame(fixture->profile, STACK_EMPTY, &truncation),
			 0);
	stack = get_only_stack(fixture, "blocked");
	assert_string_equal(get_name(fixture, get_level(fixture, &stack)), "[blocked]");
	assert_int_equal(stack, truncation);
}

/* A tick inside the scheduler is no wait. */
static void a_tick_keeps_the_scheduler(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stack;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_stack(fixture, 9, (const uint64_t[]){0xffff1500, 0xffff3000}, 2);
	add_walk(fixture, 10, 7, 9, WIRE_SAMPLE_IN_KERNEL, WALK_COMPLETE);
	stack = get_only_stack(fixture, "samples");
	assert_int_equal(get_level(fixture, &stack)->address, 0xffff1500);
}

static void without_off_cpu_time_there_is_one_metric(void **state)
{
	struct fixture *fixture = *state;

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	add_sample(fixture, 10, 7, 0, 0);
	assert_int_equal(profile_count_metrics(fixture->profile), 1);
	assert_int_equal(profile_count_samples(fixture->profile), 1);
}

/* ---- events that were asked for ----------------------------------------------------------- */

static void add_event_sample(struct fixture *fixture, uint32_t event, uint64_t weight,
			     uint64_t user_stack)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.flags = WIRE_SAMPLE_NO_USER_MEMORY,
		.time_ns = 10,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = user_stack,
		.num_periods = 1,
		.event = event,
		.weight = weight,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static void every_event_is_a_metric_and_its_samples_say_what_they_weigh(void **state)
{
	struct fixture *fixture = *state;
	char faults_name[] = "page-faults", clock_name[] = "cpu-clock";
	const struct event events[] = {
		{.name = faults_name, .kind = EVENT_SOFTWARE, .type = 1, .config = 2},
		{.name = clock_name, .kind = EVENT_SOFTWARE, .type = 1, .config = 0},
	};
	struct sample_ingest_event faults;

	assert_int_equal(sample_ingest_set_events(fixture->ingest, events, 2), 0);
	add_event_sample(fixture, 0, 3, 0);
	add_event_sample(fixture, 0, 40, 0);
	add_event_sample(fixture, 1, 10000000, 0);
	add_event_sample(fixture, 0, 500, 77); /* a stack that never came */
	assert_int_equal(profile_count_metrics(fixture->profile), 2);
	assert_int_equal(sum_metric(fixture, "page-faults"), 43);
	assert_int_equal(sum_metric(fixture, "cpu-clock"), 10000000);
	faults = sample_ingest_get_event(fixture->ingest, 0);
	assert_int_equal(faults.samples, 2);
	assert_int_equal(faults.weight, 43);
	assert_int_equal(faults.unknown_stack, 1);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 1).samples, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 3);
}

static uint32_t late_event;

/* A sample of CPU 3 after a silence. */
static void add_late_sample(struct fixture *fixture, uint64_t time_ns, uint32_t tid,
			    uint64_t weight, uint64_t earlier)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = tid,
		.cpu = 3,
		.flags = WIRE_SAMPLE_NO_USER_MEMORY,
		.time_ns = time_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
		.num_periods = 1,
		.event = late_event,
		.weight = weight,
		.earlier_weight = earlier,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static uint64_t sum_thread(const struct fixture *fixture, uint32_t tid)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(fixture->profile); i++) {
		const struct sample *sample = profile_get_sample(fixture->profile, i);

		if (profile_get_thread(fixture->profile, sample->thread)->tid == tid)
			sum += sample->value;
	}
	return sum;
}

static void weight_before_a_silence_belongs_to_the_last_sample_of_the_cpu(void **state)
{
	struct fixture *fixture = *state;
	char name[] = "syscalls";
	const struct event event = {.name = name, .kind = EVENT_SOFTWARE, .type = 1, .config = 2};

	assert_int_equal(sample_ingest_set_events(fixture->ingest, &event, 1), 0);
	/* None came before. */
	add_late_sample(fixture, 10, PID, 1, 20);
	assert_int_equal(sum_thread(fixture, PID), 21);
	add_event_sample(fixture, 0, 100, 0); /* of another CPU */
	add_late_sample(fixture, 30, PID + 1, 2, 7);
	assert_int_equal(sum_thread(fixture, PID), 21 + 100 + 7);
	assert_int_equal(sum_thread(fixture, PID + 1), 2);
	add_late_sample(fixture, 40, PID, 3, 5);
	assert_int_equal(sum_thread(fixture, PID), 21 + 100 + 7 + 3);
	assert_int_equal(sum_thread(fixture, PID + 1), 2 + 5);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).weight, 138);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).samples, 4);
}

static void so_does_the_weight_after_the_last_sample(void **state)
{
	struct fixture *fixture = *state;
	char name[] = "faults";
	const struct event event = {.name = name, .kind = EVENT_SOFTWARE, .type = 1, .config = 2};
	struct wire_sample under_way = {.type = WIRE_SAMPLE,
					.pid = PID,
					.tid = PID + 1,
					.cpu = 3,
					.flags = WIRE_SAMPLE_NO_USER_MEMORY | WIRE_SAMPLE_UNDER_WAY,
					.time_ns = 50,
					.generation = WIRE_GENERATION_UNKNOWN,
					.num_periods = 1,
					.weight = 1000};

	assert_int_equal(sample_ingest_set_events(fixture->ingest, &event, 1), 0);
	/* Without a sample on the CPU it is in no stack. */
	assert_int_equal(sample_ingest_add_rest(fixture->ingest, 0, 3, 9), 0);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).rest, 0);
	add_late_sample(fixture, 10, PID, 100, 0);
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &under_way), 0);
	assert_int_equal(sample_ingest_add_rest(fixture->ingest, 0, 3, 20), 0);
	assert_int_equal(sample_ingest_add_rest(fixture->ingest, 0, 2, 9), 0);
	assert_int_equal(sample_ingest_add_rest(fixture->ingest, 0, 4, 9), 0);
	assert_int_equal(sum_thread(fixture, PID), 120);
	assert_int_equal(sum_thread(fixture, PID + 1), 1000);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).rest, 20);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).weight, 1120);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).samples, 2);
	assert_true(sample_ingest_get_event(fixture->ingest, 0).weight_squares ==
		    120 * 120 + 1000 * 1000);
}

/* A sample of a request that has ended has a time there. */
static void so_does_the_weight_of_requests_unless_they_have_ended(void **state)
{
	struct fixture *fixture = *state;
	char bytes_name[] = "block-io", time_name[] = "block-io-time";
	const struct event events[] = {
		{.name = bytes_name, .kind = EVENT_TRACEPOINT, .requests = {.kinds = 2}},
		{.name = time_name,
		 .kind = EVENT_BLOCK_IO,
		 .requests = {.kinds = 2, .end = "block_io_done"}},
	};

	assert_int_equal(sample_ingest_set_events(fixture->ingest, events, 2), 0);
	add_late_sample(fixture, 10, PID, 4096, 0);
	add_late_sample(fixture, 30, PID + 1, 512, 8192);
	assert_int_equal(sum_thread(fixture, PID), 4096 + 8192);
	assert_int_equal(sum_thread(fixture, PID + 1), 512);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).weight, 4096 + 8192 + 512);
	late_event = 1;
	add_late_sample(fixture, 40, PID, 100, 7777);
	late_event = 0;
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 1).weight, 100);
}

/* ---- allocators in allocators ------------------------------------------------------------ */

#define ALLOCATOR 0x8000 /* where a file with an allocator is mapped, all of it */

/* Returns the descriptor of the file. */
static int map_allocator(struct fixture *fixture, struct allocator_code *code, size_t event)
{
	struct probe_site site = {.fd = memfd_create("libown.so", MFD_CLOEXEC),
				  .argument.source = ARGUMENT_REGISTER,
				  .function_bytes = 0x100,
				  .helpers = {{0x180, 0x80}}};
	struct mapping mapping = {.start = ALLOCATOR, .end = ALLOCATOR + 0x1000, .file = FILE_NONE};
	struct file_identity identity = {.path = "/lib/libown.so"};
	struct stat status;

	assert_int_equal(fstat(site.fd, &status), 0);
	identity.dev_major = major(status.st_dev);
	identity.dev_minor = minor(status.st_dev);
	identity.inode = status.st_ino;
	assert_int_equal(process_table_on_mmap(fixture->processes, 4, PID, &mapping, &identity), 0);
	assert_int_equal(allocator_code_add(code, event, &site, 1, 20), 0);
	return site.fd;
}

static void add_stack_at(struct fixture *fixture, uint32_t event, uint64_t time_ns, uint64_t hash)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.event = event,
		.time_ns = time_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = hash,
		.weight = 1000,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static void an_allocation_within_an_allocator_is_left_out(void **state)
{
	char name[] = "alloc";
	char other_name[] = "faults";
	struct probe probe = {.kind = PROBE_ALLOCATOR};
	const struct event events[] = {
		{.name = other_name, .kind = EVENT_SOFTWARE},
		{.name = name, .kind = EVENT_PROBE, .probe = &probe},
	};
	struct allocator_code *code = allocator_code_new();
	struct fixture *fixture = *state;
	struct sample_ingest_event counts;
	int fd = map_allocator(fixture, code, 1);

	assert_int_equal(sample_ingest_set_events(fixture->ingest, events, 2), 0);
	sample_ingest_set_allocator_code(fixture->ingest, code);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, ALLOCATOR + 0x10, 0x1020}, 3);
	add_stack_at(fixture, 1, 19, 7); /* the other one was not probed */
	assert_int_equal(sum_metric(fixture, "alloc"), 1000);
	add_stack_at(fixture, 1, 20, 7);
	add_stack_at(fixture, 0, 21, 7); /* of another event */
	/* Behind the last call of the code, and its own hit. */
	add_stack(fixture, 8, (const uint64_t[]){0x1010, ALLOCATOR + 0x100, 0x1020}, 3);
	add_stack_at(fixture, 1, 22, 8);
	add_stack(fixture, 9, (const uint64_t[]){ALLOCATOR, ALLOCATOR + 0x101, 0x1020}, 3);
	add_stack_at(fixture, 1, 23, 9);
	/* A signal has interrupted it. */
	add_stack(fixture, 10,
		  (const uint64_t[]){0x1010, 0x1020, (ALLOCATOR + 0x10) | WIRE_PC_EXACT, 0x1030},
		  4);
	add_stack_at(fixture, 1, 24, 10);
	counts = sample_ingest_get_event(fixture->ingest, 1);
	assert_int_equal(counts.nested, 2);
	assert_int_equal(counts.samples, 3);
	assert_int_equal(sum_metric(fixture, "alloc"), 3000);
	assert_int_equal(sum_metric(fixture, "faults"), 1000);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 4);
	close(fd);
	sample_ingest_set_allocator_code(fixture->ingest, NULL);
	allocator_code_free(code);
}

/* A function that allocates has jumped to a helper, which makes the call. */
static void an_allocation_by_a_helper_of_an_allocator_is_left_out(void **state)
{
	char name[] = "alloc";
	struct probe probe = {.kind = PROBE_ALLOCATOR};
	const struct event event = {.name = name, .kind = EVENT_PROBE, .probe = &probe};
	static const struct {
		uint64_t
			stack; /* 7: in a helper; 8: in another function of the file; 9: of a program */
		uint64_t entered_from;
		uint8_t walk_end;
		bool is_nested;
	} cases[] = {
		{7, 0, WALK_COMPLETE, false},
		{7, 0x2040, WALK_COMPLETE, true},
		{7, 0x2048, WALK_COMPLETE, false},
		{7, 0, WALK_FP_CHAIN, false},
		{7, 0x2048, WALK_FP_CHAIN, true},
		/* It was called from the same place. */
		{8, 0x2040, WALK_COMPLETE, false},
		{8, 0x2040, WALK_FP_CHAIN, true},
		{9, 0x2040, WALK_COMPLETE, false},
		{9, 0x2040, WALK_FP_CHAIN, false},
		{9, 0x2040 | WIRE_ENTERED_BY_HOOK, WALK_COMPLETE, true},
		{9, 0x2048 | WIRE_ENTERED_BY_HOOK, WALK_COMPLETE, false},
	};
	uint64_t num_counted = 0;
	struct allocator_code *code = allocator_code_new();
	struct fixture *fixture = *state;
	int fd = map_allocator(fixture, code, 0);
	uint64_t num_nested = 0;

	assert_int_equal(sample_ingest_set_events(fixture->ingest, &event, 1), 0);
	sample_ingest_set_allocator_code(fixture->ingest, code);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, ALLOCATOR + 0x200, 0x2040, 0x2080}, 4);
	add_stack(fixture, 8, (const uint64_t[]){0x1010, ALLOCATOR + 0x201, 0x2040, 0x2080}, 4);
	add_stack(fixture, 9, (const uint64_t[]){0x1010, 0x1020, 0x2040, 0x2080}, 4);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct wire_sample sample = {
			.type = WIRE_SAMPLE,
			.pid = PID,
			.tid = PID,
			.time_ns = 30 + i,
			.generation = WIRE_GENERATION_UNKNOWN,
			.user_stack = cases[i].stack,
			.weight = 1000,
			.entered_from = cases[i].entered_from,
			.walk_end = cases[i].walk_end,
			.comm = "worker",
		};

		assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
		num_nested += cases[i].is_nested;
		num_counted += !cases[i].is_nested;
		assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).nested, num_nested);
	}
	/* The address is no weight of earlier hits. */
	assert_int_equal(sum_metric(fixture, "alloc"), num_counted * 1000);
	close(fd);
	sample_ingest_set_allocator_code(fixture->ingest, NULL);
	allocator_code_free(code);
}

/* ---- what is live ------------------------------------------------------------------------- */

static void add_allocation(struct fixture *fixture, uint64_t time_ns, uint32_t slot,
			   uint64_t weight)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = time_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = 7,
		.weight = weight,
		.block = slot + 1,
		.comm = "worker",
	};

	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static void find_live(struct fixture *fixture, uint64_t time_ns, uint32_t slot, uint64_t end_ns)
{
	const struct wire_block block = {.time_ns = time_ns, .slot = slot};

	assert_int_equal(sample_ingest_add_block(fixture->ingest, 0, &block, end_ns), 0);
}

static int set_up_live(void **state)
{
	static char name[] = "alloc-live";
	static char unit[] = "bytes";
	const struct event event = {
		.name = name, .kind = EVENT_PROBE, .unit = unit, .is_live = true};
	struct fixture *fixture;
	int err = set_up(state);

	fixture = *state;
	assert_int_equal(sample_ingest_set_events(fixture->ingest, &event, 1), 0);
	add_stack(fixture, 7, (const uint64_t[]){0x1010, 0x1020}, 2);
	return err;
}

static void only_what_is_live_in_the_end_is_in_the_profile(void **state)
{
	struct fixture *fixture = *state;
	struct sample_ingest_event live;

	add_allocation(fixture, 10, 0, 300);
	add_allocation(fixture, 11, 1, 5000);
	add_allocation(fixture, 12, 40, 70000);
	assert_int_equal(profile_count_samples(fixture->profile), 0);
	find_live(fixture, 11, 1, 111);
	find_live(fixture, 12, 40, 111);
	assert_int_equal(sum_metric(fixture, "alloc-live"), 75000);
	live = sample_ingest_get_event(fixture->ingest, 0);
	assert_int_equal(live.samples, 3);
	assert_int_equal(live.live, 2);
	assert_int_equal(live.weight, 75000);
	assert_int_equal(live.oldest_ns, 100);
}

static void memory_has_the_slot_of_what_was_freed_before(void **state)
{
	struct fixture *fixture = *state;

	add_allocation(fixture, 10, 5, 300);
	add_allocation(fixture, 20, 5, 4000);
	add_allocation(fixture, 15, 5, 50000); /* its stack was walked later */
	find_live(fixture, 20, 5, 100);
	assert_int_equal(sum_metric(fixture, "alloc-live"), 4000);
}

static void memory_whose_sample_was_lost_is_in_no_profile(void **state)
{
	struct fixture *fixture = *state;

	add_allocation(fixture, 10, 0, 300);
	find_live(fixture, 20, 0, 100);
	find_live(fixture, 20, 1, 100);
	find_live(fixture, 20, WIRE_MAX_BLOCKS, 100);
	assert_int_equal(profile_count_samples(fixture->profile), 0);
	assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).live, 0);
}

static void the_innermost_frame_is_the_age(void **state)
{
	static const struct {
		uint64_t age_ns;
		const char *frame;
	} ages[] = {
		{NS_PER_SECOND - 1, "[age below 1 s]"},
		{NS_PER_SECOND, "[age 1 to 10 s]"},
		{10 * NS_PER_SECOND, "[age 10 to 60 s]"},
		{60 * NS_PER_SECOND, "[age 1 to 10 min]"},
		{600 * NS_PER_SECOND, "[age 10 to 60 min]"},
		{3600 * NS_PER_SECOND, "[age above 1 h]"},
	};
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < ARRAY_LENGTH(ages); i++) {
		uint32_t stack;

		add_allocation(fixture, 10 + i, i, 1);
		find_live(fixture, 10 + i, i, 10 + i + ages[i].age_ns);
		stack = profile_get_sample(fixture->profile, i)->stack;
		assert_string_equal(get_name(fixture, get_level(fixture, &stack)), ages[i].frame);
		assert_int_equal(get_level(fixture, &stack)->address, 0x510);
	}
}

static void without_events_a_sample_weighs_one(void **state)
{
	struct fixture *fixture = *state;

	add_event_sample(fixture, 0, 10101010, 0);
	assert_int_equal(sum_metric(fixture, "samples"), 1);
}

/* ---- who ends waits ----------------------------------------------------------------------- */

#define WAKER_TID 4711

static int set_up_wakers(void **state)
{
	static struct code_range interrupt = {.start = 0xffff6000, .end = 0xffff7000};
	struct waker_code code = {.wakeup = {.start = 0xffff5000, .end = 0xffff6000}};
	struct code_range *added = array_add(&code.interrupts);
	struct fixture *fixture;
	int err = set_up_waits(state);

	assert_non_null(added);
	*added = interrupt;
	fixture = *state;
	return err ? err : sample_ingest_add_wakers(fixture->ingest, &code, true, true);
}

static void add_waker(struct fixture *fixture, uint64_t wakeup, const uint64_t *kernel_pcs,
		      size_t num_pcs, uint32_t tid)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = tid ? PID : 0,
		.tid = tid,
		.flags = WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_WAKER |
			 (tid ? 0 : WIRE_SAMPLE_NO_USER_MEMORY),
		.time_ns = 10,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = tid ? 17 : 0,
		.kernel_stack = kernel_pcs[0],
		.walk_end = WALK_COMPLETE,
		.wakeup = wakeup,
		.comm = "waker",
	};

	add_stack(fixture, 17, (const uint64_t[]){0x1020}, 1);
	add_stack(fixture, kernel_pcs[0], kernel_pcs, num_pcs);
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static void add_wait_for(struct fixture *fixture, uint64_t wakeup, uint64_t futex)
{
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.flags = WIRE_SAMPLE_IN_KERNEL | WIRE_SAMPLE_BLOCKED,
		.time_ns = 11,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = 7,
		.num_periods = 2,
		.num_queue_periods = 1,
		.walk_end = WALK_COMPLETE,
		.wakeup = wakeup,
		.futex = futex,
		.wait_ns = 5,
		.queue_ns = 1,
		.comm = "worker",
	};

	add_stack(fixture, 7, (const uint64_t[]){0x1010}, 1);
	assert_int_equal(sample_ingest_add_sample(fixture->ingest, &sample), 0);
}

static void add_woken_wait(struct fixture *fixture, uint64_t wakeup)
{
	add_wait_for(fixture, wakeup, 0);
}

/* From the inside out: the stack's levels as "name" or "0xaddress", one for each line. */
static void assert_offwake(struct fixture *fixture, const char *expected)
{
	uint32_t stack = get_only_stack(fixture, METRIC_OFFWAKE);
	struct text text = {0};

	while (stack != STACK_EMPTY) {
		const struct location *location = get_level(fixture, &stack);

		if (location->num_frames)
			text_printf(&text, "%s ", get_name(fixture, location));
		else
			text_printf(&text, "0x%llx ", (unsigned long long)location->address);
	}
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void a_blocked_stack_goes_on_with_who_woke_it(void **state)
{
	struct fixture *fixture = *state;
	/* Of BPF, of the wakeup, of the system call. */
	const uint64_t pcs[] = {0xffff9000, 0xffff5500, 0xffff8001};

	add_waker(fixture, 3, pcs, 3, WAKER_TID);
	add_woken_wait(fixture, 3);
	assert_offwake(fixture, "waker 0x520 0xffff8000 -- [blocked] 0x510 ");
	assert_int_equal(sum_metric(fixture, METRIC_OFFWAKE), 2 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "wall"), 3 * PERIOD_NS);
	assert_int_equal(sample_ingest_get_wakers(fixture->ingest).known, 1);
}

/* Neither the thread that it interrupted nor what that did. */
static void an_interrupt_is_no_thread(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t pcs[] = {0xffff5500, 0xffff8001, 0xffff6500, 0xffff9001};

	add_waker(fixture, 4, pcs, 4, WAKER_TID);
	add_woken_wait(fixture, 4);
	assert_offwake(fixture, "[interrupt] 0xffff64ff 0xffff8000 -- [blocked] 0x510 ");
}

static void where_nothing_ran_an_interrupt_has_woken(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t pcs[] = {0xffff5500, 0xffff8001};

	add_waker(fixture, 4, pcs, 2, 0);
	add_woken_wait(fixture, 4);
	assert_offwake(fixture, "[interrupt] 0xffff8000 -- [blocked] 0x510 ");
}

static void a_waker_that_is_not_known_is_said_to_be(void **state)
{
	struct fixture *fixture = *state;
	struct sample_ingest_wakers wakers;

	add_woken_wait(fixture, 0);
	add_woken_wait(fixture, 5);
	assert_offwake(fixture, "[unknown waker] -- [blocked] 0x510 ");
	wakers = sample_ingest_get_wakers(fixture->ingest);
	assert_int_equal(wakers.known, 0);
	assert_int_equal(wakers.unseen, 1);
	assert_int_equal(wakers.lost, 1);
}

/* Its stack is walked later, and its wait waits for it. */
static void a_waker_may_come_late(void **state)
{
	struct fixture *fixture = *state;
	struct wire_stack stack = {.type = WIRE_STACK, .num_frames = 1, .pcs = {0x1020}};
	struct wire_sample sample = {.type = WIRE_SAMPLE,
				     .pid = PID,
				     .tid = WAKER_TID,
				     .flags = WIRE_SAMPLE_WAKER,
				     .time_ns = 10,
				     .generation = WIRE_GENERATION_UNKNOWN,
				     .walk_end = WALK_COMPLETE,
				     .wakeup = 3,
				     .comm = "waker"};
	struct wire_sample wait = {.flags = WIRE_SAMPLE_BLOCKED, .wakeup = 3};
	struct process *process;
	bool is_in_exec;

	assert_false(sample_ingest_expects_waker(fixture->ingest, &wait));
	sample_ingest_expect_waker(fixture->ingest, 3);
	assert_true(sample_ingest_expects_waker(fixture->ingest, &wait));
	wait.flags = 0; /* no wait */
	assert_false(sample_ingest_expects_waker(fixture->ingest, &wait));
	assert_int_equal(process_table_find(fixture->processes, 10, PID, WIRE_GENERATION_UNKNOWN,
					    false, &process, &is_in_exec),
			 0);
	assert_int_equal(
		sample_ingest_add_recovered(fixture->ingest, &sample, process, false, &stack), 0);
	assert_int_equal(sample_ingest_get_waker_counts(fixture->ingest).recovered, 1);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 0);
	add_woken_wait(fixture, 3);
	assert_offwake(fixture, "waker 0x520 -- [blocked] 0x510 ");
	/* One whose kernel stack is lost is not waited for. */
	sample_ingest_expect_waker(fixture->ingest, 4);
	sample.wakeup = wait.wakeup = 4;
	sample.kernel_stack = 99;
	wait.flags = WIRE_SAMPLE_BLOCKED;
	assert_int_equal(
		sample_ingest_add_recovered(fixture->ingest, &sample, process, false, &stack), 0);
	assert_false(sample_ingest_expects_waker(fixture->ingest, &wait));
}

static void who_woke_a_thread_is_kept_with_the_times_of_its_wait(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t by_thread[] = {0xffff5500, 0xffff8001};
	const uint64_t by_interrupt[] = {0xffff5501, 0xffff8001, 0xffff6500};
	static const char *const names[] = {"waker", "[interrupt]", ""};
	static const uint32_t tids[] = {WAKER_TID, 0, 0};
	struct trace_log *log;
	struct timed_wait wait;

	assert_int_equal(trace_log_new(test_parent_folder(), &log, NULL), 0);
	sample_ingest_set_trace_log(fixture->ingest, log);
	add_waker(fixture, 3, by_thread, 2, WAKER_TID);
	add_waker(fixture, 4, by_interrupt, 3, WAKER_TID);
	for (uint64_t wakeup = 3; wakeup <= 5; wakeup++)
		add_woken_wait(fixture, wakeup);
	assert_int_equal(spool_rewind(trace_log_get_waits(log)), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_int_equal(spool_next(trace_log_get_waits(log), &wait), 1);
		assert_string_equal(profile_get_string(fixture->profile, wait.waker_name),
				    names[i]);
		assert_int_equal(wait.waker_tid, tids[i]);
		assert_int_equal(wait.waker_stack != STACK_EMPTY, *names[i] != '\0');
	}
	trace_log_free(log);
}

static void a_wait_that_goes_on_was_ended_by_nobody(void **state)
{
	struct fixture *fixture = *state;

	add_woken_wait(fixture, WIRE_NOT_WOKEN);
	assert_offwake(fixture, "[not woken] -- [blocked] 0x510 ");
	assert_int_equal(sample_ingest_get_wakers(fixture->ingest).open, 1);
}

static void a_wait_for_a_futex_says_for_which(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t pcs[] = {0xffff9000, 0xffff5500, 0xffff8001};

	add_waker(fixture, 3, pcs, 3, WAKER_TID);
	add_wait_for(fixture, 3, 0x7f0000001000);
	assert_offwake(fixture,
		       "waker 0x520 0xffff8000 -- [futex 0x7f0000001000] [blocked] 0x510 ");
	assert_int_equal(sum_metric(fixture, METRIC_OFFWAKE), 2 * PERIOD_NS);
	assert_int_equal(sum_metric(fixture, "blocked"), 2 * PERIOD_NS);
}

/* Each has stacks of its own: there may not be any number of them. */
static void a_thousand_futexes_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	uint32_t num_frames = 0;
	uint32_t num_others = 0;

	for (uint64_t i = 1; i <= 1100; i++)
		add_wait_for(fixture, 0, i << 12);
	add_wait_for(fixture, 0, 1 << 12);
	for (uint32_t i = 0; i < profile_count_frames(fixture->profile); i++) {
		const char *name = profile_get_string(fixture->profile,
						      profile_get_frame(fixture->profile, i)->name);

		num_frames += strncmp(name, "[futex 0x", 9) == 0;
		num_others += strcmp(name, WAKER_FUTEX_NAME) == 0;
	}
	assert_int_equal(num_frames, 1000);
	assert_int_equal(num_others, 1);
}

/* A waker is neither a sample nor a walk of one. */
/* Where the kernel hides its addresses: what ran may have no part in it. */
static void where_interrupts_cannot_be_distinguished_user_stacks_are_left_out(void **state)
{
	const struct waker_code nothing = {0};
	const uint64_t pcs[] = {0xffff9000, 0xffff5500, 0xffff8001};
	struct fixture *fixture;

	assert_int_equal(set_up_waits(state), 0);
	fixture = *state;
	assert_int_equal(sample_ingest_add_wakers(fixture->ingest, &nothing, true, false), 0);
	add_waker(fixture, 3, pcs, 3, WAKER_TID);
	add_woken_wait(fixture, 3);
	assert_offwake(fixture, "waker 0xffff8000 0xffff54ff 0xffff9000 -- [blocked] 0x510 ");
	assert_int_equal(sample_ingest_get_wakers(fixture->ingest).left_out, 1);
	assert_int_equal(sample_ingest_get_waker_counts(fixture->ingest).user.walks[WALK_COMPLETE],
			 0);
	(void)tear_down(state);
}

static void wakers_are_not_counted_among_samples(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t pcs[] = {0xffff9000, 0xffff5500, 0xffff8001};
	const uint64_t *weights_ns;
	struct sample_ingest_counts waits;

	add_waker(fixture, 3, pcs, 3, WAKER_TID);
	waits = sample_ingest_get_off_cpu_counts(fixture->ingest, &weights_ns);
	assert_int_equal(waits.samples, 0);
	assert_int_equal(waits.user.walks[WALK_COMPLETE], 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).samples, 0);
	assert_int_equal(sample_ingest_get_counts(fixture->ingest).user.walks[WALK_COMPLETE], 0);
	assert_int_equal(profile_count_samples(fixture->profile), 0);
	assert_int_equal(sample_ingest_get_waker_counts(fixture->ingest).user.walks[WALK_COMPLETE],
			 1);
}

#define waker_test(name)   cmocka_unit_test_setup_teardown(name, set_up_wakers, tear_down)
#define wait_test(name)    cmocka_unit_test_setup_teardown(name, set_up_waits, tear_down)
#define table_test(name)   cmocka_unit_test_setup_teardown(name, set_up_tables, tear_down)
#define fixture_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- short memory ------------------------------------------------------------------------- */

static int make_ingest(void *context)
{
	struct fixture *fixture = context;
	struct profile *profile = profile_new();
	struct sample_ingest *ingest;

	if (!profile)
		return -ENOMEM;
	ingest = sample_ingest_new(profile, fixture->files, fixture->processes, 4,
				   USER_STACKS_TABLE);
	sample_ingest_free(ingest);
	profile_free(profile);
	return ingest ? 0 : -ENOMEM;
}

static void an_ingest_without_memory_is_none(void **state)
{
	failing_memory_try_all(make_ingest, *state);
}

static int remember_stack(struct fixture *fixture, uint64_t hash, uint64_t pc)
{
	struct wire_stack stack = {
		.type = WIRE_STACK, .num_frames = 2, .hash = hash, .pcs = {pc, pc + 0x10}};

	return sample_ingest_add_stack(fixture->ingest, &stack,
				       offsetof(struct wire_stack, pcs) + 2 * sizeof(uint64_t));
}

/*
 * Ticks of two events, one of them of memory that is live; waits for a futex, and who ended them. Each step is done again
 * where it lacked memory: that works, whatever was done of it.
 */
static int do_step(struct fixture *fixture, unsigned int step)
{
	static char calls_name[] = "syscalls", live_name[] = "alloc-live", unit[] = "bytes";
	const struct event events[] = {
		{.name = live_name, .kind = EVENT_PROBE, .unit = unit, .is_live = true},
		{.name = calls_name, .kind = EVENT_SYSTEM_CALL, .unit = unit},
	};
	const struct sample_periods periods = {.tick_ns = TICK_NS, .wait_ns = PERIOD_NS};
	const struct scheduler_code scheduler = {.start = 0xffff1000, .end = 0xffff2000};
	const struct waker_code code = {0};
	const struct wire_block block = {.time_ns = 10, .slot = 3};
	struct wire_sample sample = {
		.type = WIRE_SAMPLE,
		.pid = PID,
		.tid = PID,
		.time_ns = 10,
		.generation = WIRE_GENERATION_UNKNOWN,
		.user_stack = 7,
		.kernel_stack = 8,
		.flags = WIRE_SAMPLE_IN_KERNEL,
		.walk_end = WALK_COMPLETE,
		.num_periods = 1,
		.weight = 300,
		.comm = "worker",
	};

	switch (step) {
	case 0:
		return sample_ingest_set_events(fixture->ingest, events, 2);
	case 1:
		return sample_ingest_add_off_cpu(fixture->ingest, &periods, &scheduler);
	case 2:
		return sample_ingest_add_wakers(fixture->ingest, &code, true, true);
	case 3:
		return remember_stack(fixture, 7, 0x1010);
	case 4:
		return remember_stack(fixture, 8, 0xffff0010);
	case 5:
		sample.block = 3 + 1;
		return sample_ingest_add_sample(fixture->ingest, &sample);
	case 6:
		sample.event = 1;
		sample.call = 1 + 1;
		return sample_ingest_add_sample(fixture->ingest, &sample);
	case 7:
		sample.event = 1;
		sample.user_stack = 0;
		sample.walk_end = WALK_NO_RULE;
		return sample_ingest_add_sample(fixture->ingest, &sample);
	case 8:
		sample.flags |= WIRE_SAMPLE_WAKER;
		sample.wakeup = 5;
		return sample_ingest_add_sample(fixture->ingest, &sample);
	case 9:
		sample.flags |= WIRE_SAMPLE_BLOCKED;
		sample.num_periods = 2;
		sample.num_queue_periods = 1;
		sample.wakeup = 5;
		sample.futex = 0x1000;
		return sample_ingest_add_sample(fixture->ingest, &sample);
	case 10:
		return sample_ingest_add_block(fixture->ingest, 0, &block, 100);
	default:
		return sample_ingest_finish(fixture->ingest);
	}
}

#define NUM_STEPS 12

/* Returns whether so many allocations were made before the end. */
static bool record_with_failure(int64_t num_before)
{
	struct fixture *fixture;
	bool has_failed = false;
	void *state;

	assert_int_equal(set_up_tables(&state), 0);
	fixture = state;
	failing_memory_start(num_before);
	for (unsigned int step = 0; step < NUM_STEPS; step++) {
		int err = do_step(fixture, step);

		if (!err && (has_failed || !failing_memory_has_failed))
			continue;
		if (err != -ENOMEM || has_failed)
			fail_msg("step %u: %d without allocation %lld", step, err,
				 (long long)num_before);
		has_failed = true;
		/* Who sets up ends then; what is recorded goes on. */
		if (step < 3)
			break;
		assert_int_equal(do_step(fixture, step), 0);
	}
	assert_int_equal(failing_memory_end(), has_failed);
	if (!has_failed)
		assert_int_equal(sample_ingest_get_event(fixture->ingest, 0).live, 1);
	(void)tear_down(&state);
	return has_failed;
}

static void a_recording_in_short_memory_says_so(void **state _unused_)
{
	int64_t num_before = 0;

	while (record_with_failure(num_before))
		num_before++;
	assert_true(num_before > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(user_pcs_become_file_offsets_and_return_addresses_point_into_the_call),
		fixture_test(kernel_levels_lie_inside_the_user_stack),
		fixture_test(the_same_pcs_are_resolved_anew_after_the_mappings_changed),
		fixture_test(a_pc_outside_every_mapping_stays_with_its_process),
		fixture_test(a_pc_in_a_file_that_is_not_elf_stays_with_its_process),
		fixture_test(generated_code_has_the_name_of_its_time),
		fixture_test(every_event_is_a_metric_and_its_samples_say_what_they_weigh),
		fixture_test(an_allocation_within_an_allocator_is_left_out),
		fixture_test(an_allocation_by_a_helper_of_an_allocator_is_left_out),
		fixture_test(weight_before_a_silence_belongs_to_the_last_sample_of_the_cpu),
		fixture_test(so_does_the_weight_after_the_last_sample),
		fixture_test(so_does_the_weight_of_requests_unless_they_have_ended),
		fixture_test(without_events_a_sample_weighs_one),
		cmocka_unit_test_setup_teardown(only_what_is_live_in_the_end_is_in_the_profile,
						set_up_live, tear_down),
		cmocka_unit_test_setup_teardown(memory_has_the_slot_of_what_was_freed_before,
						set_up_live, tear_down),
		cmocka_unit_test_setup_teardown(memory_whose_sample_was_lost_is_in_no_profile,
						set_up_live, tear_down),
		cmocka_unit_test_setup_teardown(the_innermost_frame_is_the_age, set_up_live,
						tear_down),
		cmocka_unit_test(
			a_walk_through_generated_code_is_complete_if_that_keeps_frame_pointers),
		fixture_test(a_sample_whose_stack_never_came_is_counted_as_lost),
		fixture_test(stacks_are_forgotten_when_the_recording_has_ended),
		fixture_test(a_stack_that_comes_again_changes_nothing),
		fixture_test(a_truncated_record_is_ignored),
		fixture_test(a_lone_pc_inside_exec_is_no_user_stack),
		fixture_test(a_sample_belongs_to_the_image_of_its_generation),
		fixture_test(user_stacks_are_counted_with_those_at_the_depth_limit),
		table_test(a_truncated_stack_says_so_and_is_not_the_whole_one_with_the_same_pcs),
		table_test(a_kernel_stack_without_its_user_stack_is_truncated),
		table_test(kernel_threads_and_execs_are_not_truncated),
		table_test(a_stack_in_exec_is_truncated_unless_its_memory_is_gone),
		table_test(a_sample_within_exec_says_of_no_stack_that_it_is_in_use),
		table_test(a_step_by_frame_pointer_to_where_nothing_is_mapped_is_none),
		table_test(a_stack_ends_in_code_that_its_walk_did_not_know),
		table_test(the_end_of_a_stack_may_be_in_code_that_its_walk_did_not_know),
		table_test(a_32_bit_stack_ends_where_no_call_proves_its_caller),
		table_test(a_step_by_frame_pointer_that_no_call_proves_is_counted),
		table_test(the_frames_of_an_interpreter_prove_steps),
		table_test(a_stack_ends_where_the_interpreter_knows_that_a_caller_is_missing),
		table_test(a_walk_that_ended_outside_of_a_coroutine_is_complete),
		table_test(without_a_coroutine_a_walk_that_ended_is_truncated),
		table_test(a_stack_without_frames_is_no_coroutine),
		table_test(a_stack_is_resolved_again_when_it_has_frames),
		wait_test(a_wait_ends_in_a_frame_that_says_what_it_is_and_lacks_the_scheduler),
		wait_test(a_wait_with_time_in_a_run_queue_is_two_stacks),
		wait_test(the_times_of_a_wait_are_kept_with_its_stack),
		wait_test(a_wait_is_spread_over_its_time),
		fixture_test(a_system_call_is_spread_over_its_time),
		wait_test(every_kind_of_wait_has_its_metric_and_wall_is_all_of_them),
		wait_test(waits_are_counted_beside_ticks),
		wait_test(a_thread_that_slept_throughout_says_so_outside_of_all_else),
		wait_test(a_wait_without_a_stack_is_truncated),
		wait_test(a_tick_keeps_the_scheduler),
		fixture_test(without_off_cpu_time_there_is_one_metric),
		waker_test(a_blocked_stack_goes_on_with_who_woke_it),
		waker_test(an_interrupt_is_no_thread),
		waker_test(where_nothing_ran_an_interrupt_has_woken),
		waker_test(a_waker_that_is_not_known_is_said_to_be),
		waker_test(a_waker_may_come_late),
		waker_test(who_woke_a_thread_is_kept_with_the_times_of_its_wait),
		waker_test(a_wait_that_goes_on_was_ended_by_nobody),
		waker_test(a_wait_for_a_futex_says_for_which),
		waker_test(a_thousand_futexes_are_told_apart),
		cmocka_unit_test(where_interrupts_cannot_be_distinguished_user_stacks_are_left_out),
		waker_test(wakers_are_not_counted_among_samples),
		fixture_test(an_ingest_without_memory_is_none),
		cmocka_unit_test(a_recording_in_short_memory_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
