/* Frames of an interpreter in the place of the calls that evaluate them. */
#include "collect/runtimes/evaluated_stacks.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include "unit.h"
#include "objfile/elf_writer.h"
/* clang-format on */

#define PID          7
#define TEXT_ADDRESS 0x10000
#define TEXT_BYTES   0x1000
#define START        0x7f0000000000ull

/* Native levels, by their pcs. */
#define OTHER       0x1000
#define INTERPRETER (START + 0x10)
#define EVALUATION  (START + 0x110)
#define INNER       (START + 0x210)
#define PUSH        (START + 0x310)
#define GOING_ON    (START + 0x410)

#define NATIVE(number)    \
	{                 \
		number, 0 \
	}
#define FRAME(number)                       \
	{                                   \
		RUNTIME_LEVEL_FRAME, number \
	}
#define ENTRY    WIRE_RUNTIME_ENTRY_FRAME
#define NO_FRAME (1u << 28)
#define MAY_WAIT (1u << 27)

struct scene {
	struct file_table *files;
	struct elf_files *elf_files;
	struct process_table *processes;
	struct runtime_sources sources;
	struct runtime_context context;
	struct evaluated_runtime runtime;
	struct runtime_sample source;
	struct runtime_level levels[RUNTIME_MAX_LEVELS];
	uint32_t num_levels;
	enum runtime_fit fit;
};

/* Of the file. */
static struct runtime_build build;

const struct runtime_build *runtime_sources_get_build(
	const struct runtime_sources *sources _unused_, uint32_t file)
{
	assert_int_not_equal(file, FILE_NONE);
	return &build;
}

static const struct runtime_build known_build = {
	.runtime = WIRE_RUNTIME_RUBY,
	.support = SUPPORT_KNOWN,
	.num_eval_parts = 3,
	.eval_parts = {{.start = TEXT_ADDRESS + 0x100, .end = TEXT_ADDRESS + 0x200},
		       {.start = TEXT_ADDRESS + 0x200, .end = TEXT_ADDRESS + 0x300, .is_inner = 1},
		       {.start = TEXT_ADDRESS + 0x400, .end = TEXT_ADDRESS + 0x500, .goes_on = 1}},
	.num_pushes = 2,
	.pushes = {{.start = TEXT_ADDRESS + 0x800, .end = TEXT_ADDRESS + 0x810},
		   {.start = TEXT_ADDRESS + 0x310, .end = TEXT_ADDRESS + 0x314},
		   {.start = TEXT_ADDRESS + 0x10,
		    .end = TEXT_ADDRESS + 0x20}}, /* not one of them */
};

/* A frame's location is its code. */
static int locate(void *context, const struct runtime_sample *source,
		  const struct runtime_frame_list *frames, uint32_t number, uint32_t *ret)
{
	(void)context;
	(void)source;
	*ret = (uint32_t)frames->items[number].code;
	return 0;
}

static void map_file(struct scene *scene)
{
	static const uint8_t text[TEXT_BYTES];
	const struct file_identity identity = {.path = "/usr/lib/libinterpreter.so"};
	struct elf_writer writer = {0};
	struct mapping mapping = {.start = START, .end = START + TEXT_BYTES};
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t build_id_size;
	struct text bytes;
	int fd;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT_ADDRESS,
						     .data = text,
						     .size = sizeof(text)});
	bytes = elf_writer_write(&writer);
	mapping.file_offset = writer.offsets[0];
	fd = open_bytes(bytes.data, bytes.length);
	text_release(&bytes);
	assert_int_equal(file_table_add_sought(scene->files, &identity), 0);
	file_table_set_found(scene->files, 0, fd, false);
	(void)elf_files_read_build_id(scene->elf_files, fd, build_id,
				      &build_id_size); /* it has none */
	assert_int_equal(process_table_on_fork(scene->processes, 1, PID, 1), 0);
	assert_int_equal(process_table_on_comm(scene->processes, 2, PID, "x", true), 0);
	assert_int_equal(process_table_on_mmap(scene->processes, 3, PID, &mapping, &identity), 0);
}

static struct scene *scene_new(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct process *process;
	bool is_in_exec;

	assert_non_null(scene);
	scene->files = file_table_new("/nonexistent", NULL);
	assert_non_null(scene->files);
	scene->processes = process_table_new("/nonexistent", scene->files);
	assert_non_null(scene->processes);
	assert_int_equal(elf_files_new(geteuid(), &scene->elf_files), 0);
	map_file(scene);
	assert_int_equal(process_table_find(scene->processes, 4, PID, GENERATION_UNKNOWN, false,
					    &process, &is_in_exec),
			 0);
	scene->source = (struct runtime_sample){.process = process, .is_whole = true};
	build = known_build;
	scene->sources =
		(struct runtime_sources){.files = scene->files, .elf_files = scene->elf_files};
	scene->context = (struct runtime_context){.sources = &scene->sources,
						  .shown = RUNTIME_FRAMES_MANAGED};
	scene->runtime = (struct evaluated_runtime){
		.context = &scene->context,
		.runtime = WIRE_RUNTIME_RUBY,
		.has_one_thread = true,
		.has_frame_before_call = true,
		.locate = locate,
	};
	return scene;
}

static void scene_free(struct scene *scene)
{
	elf_files_free(scene->elf_files);
	process_table_free(scene->processes);
	file_table_free(scene->files);
	free(scene);
}

static int splice_list(struct scene *scene, const struct runtime_frame_list *list,
		       const uint64_t *pcs, uint32_t num_pcs)
{
	struct runtime_splice splice = {.source = &scene->source,
					.frames = *list,
					.pcs = pcs,
					.num_pcs = num_pcs,
					.levels = scene->levels};
	int err = evaluated_stacks_splice(&scene->runtime, &splice);

	scene->num_levels = splice.num_levels;
	scene->fit = splice.verdict.fit;
	return err;
}

static void splice(struct scene *scene, const struct wire_runtime_frame *frames, uint32_t length,
		   const uint64_t *pcs, uint32_t num_pcs)
{
	const struct runtime_frame_list list = {
		.items = frames, .length = length, .end = WIRE_RUNTIME_COMPLETE, .have_come = true};

	assert_int_equal(splice_list(scene, &list, pcs, num_pcs), 0);
}

static void expect_levels(const struct scene *scene, const struct runtime_level *levels,
			  uint32_t num_levels)
{
	assert_int_equal(scene->fit, RUNTIME_FITS);
	assert_int_equal(scene->num_levels, num_levels);
	for (uint32_t i = 0; i < num_levels; i++) {
		assert_int_equal(scene->levels[i].pc, levels[i].pc);
		if (levels[i].pc == RUNTIME_LEVEL_FRAME)
			assert_int_equal(scene->levels[i].location, levels[i].location);
	}
}

static void frames_come_in_the_place_of_the_calls_that_evaluate_them(void **state _unused_)
{
	static const uint64_t pcs[] = {OTHER, INTERPRETER, INNER,      EVALUATION,  INTERPRETER,
				       OTHER, INNER,       EVALUATION, INTERPRETER, OTHER};
	static const struct wire_runtime_frame frames[] = {
		{1, 1, 0}, {2, 1, ENTRY}, {3, 1, 0}, {4, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), NATIVE(1), FRAME(1), FRAME(2),
						      NATIVE(5), FRAME(3),  FRAME(4), NATIVE(9)};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static void what_evaluates_the_innermost_frame_is_left_out(void **state _unused_)
{
	static const uint64_t pcs[] = {INNER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}};
	static const struct runtime_level levels[] = {FRAME(1), NATIVE(2)};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static void a_frame_whose_call_has_not_started_is_left_out(void **state _unused_)
{
	static const uint64_t pcs[] = {INTERPRETER, INNER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}, {2, 1, 0}, {3, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(2), FRAME(3), NATIVE(3)};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	/* Not where something else is called, nor where frames do not come first. */
	splice(scene, frames, ARRAY_LENGTH(frames), (const uint64_t[]){OTHER, INNER, EVALUATION},
	       3);
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	scene->runtime.has_frame_before_call = false;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	scene_free(scene);
}

static void several_frames_without_a_call_do_not_fit(void **state _unused_)
{
	static const uint64_t pcs[] = {INTERPRETER, INNER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {
		{1, 1, 0}, {2, 1, ENTRY}, {3, 1, 0}, {4, 1, ENTRY}};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	splice(scene, frames + 3, 1, pcs, 1);
	assert_int_equal(scene->fit, RUNTIME_OUTSIDE);
	scene_free(scene);
}

static void a_stack_that_ends_before_any_call_does_not_fit(void **state _unused_)
{
	static const uint64_t pcs[] = {INTERPRETER, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, 0}, {2, 1, ENTRY}};
	for (int has_one_thread = 0; has_one_thread <= 1; has_one_thread++) {
		struct scene *scene = scene_new();

		scene->source.is_whole = false;
		scene->runtime.has_one_thread = has_one_thread;
		splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
		assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
		assert_int_equal(scene->num_levels, 2);
		scene_free(scene);
	}
}

static void a_frame_that_is_being_written_is_left_out(void **state _unused_)
{
	static const uint64_t pcs[] = {PUSH, INNER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, 0}, {2, 1, 0}, {3, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(2), FRAME(3), NATIVE(3)};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static void a_call_that_is_done_has_no_frame_any_more(void **state _unused_)
{
	static const uint64_t pcs[] = {INNER, EVALUATION, INTERPRETER, INNER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(1), NATIVE(2), FRAME(1), NATIVE(5)};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static void a_call_that_goes_on_with_the_frames_of_another_is_one_with_it(void **state _unused_)
{
	static const uint64_t pcs[] = {EVALUATION, GOING_ON, INTERPRETER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, 0}, {2, 1, ENTRY}};
	static const struct runtime_level levels[] = {FRAME(1), FRAME(2), NATIVE(4)};
	struct scene *scene = scene_new();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	/* Not where others are called in between. */
	scene->runtime.tells_idle_calls = true;
	splice(scene, frames, ARRAY_LENGTH(frames),
	       (const uint64_t[]){EVALUATION, GOING_ON, OTHER, EVALUATION, OTHER}, 5);
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	scene_free(scene);
}

static void a_call_without_a_frame_is_in_none(void **state _unused_)
{
	static const uint64_t pcs[] = {EVALUATION, OTHER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{0, 0, ENTRY | NO_FRAME}, {2, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(1), FRAME(2), NATIVE(3)};
	struct scene *scene = scene_new();

	scene->runtime.no_frame_flag = NO_FRAME;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static void a_call_that_waits_need_not_be_there(void **state _unused_)
{
	static const uint64_t pcs[] = {OTHER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{0, 0, ENTRY | NO_FRAME | MAY_WAIT},
							   {2, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(2), NATIVE(2)};
	struct scene *scene = scene_new();

	scene->runtime.has_frame_before_call = false;
	scene->runtime.no_frame_flag = NO_FRAME;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	scene->runtime.may_wait_flag = MAY_WAIT;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

/* ---- Coroutines on one stack ---------------------------------------------------------------- */

/* The second file that is mapped. */
#define SWITCH_START (START + 0x100000)
#define SWITCH       (SWITCH_START + 0x10)

static bool is_switching_file(const struct mapped_file *file)
{
	return strcmp(file->path, "/usr/lib/switches.so") == 0;
}

static struct scene *scene_of_coroutines(void)
{
	struct scene *scene = scene_new();
	const struct file_identity identity = {.path = "/usr/lib/switches.so"};
	struct mapping mapping = {
		.start = SWITCH_START, .end = SWITCH_START + 0x1000, .file = FILE_NONE};

	assert_int_equal(process_table_on_mmap(scene->processes, 5, PID, &mapping, &identity), 0);
	scene->runtime.has_one_thread = false;
	scene->runtime.has_frame_before_call = false;
	scene->runtime.switches_coroutines = is_switching_file;
	return scene;
}

static void a_coroutine_starts_where_it_was_switched_to(void **state _unused_)
{
	static const uint64_t pcs[] = {OTHER,  EVALUATION,  INTERPRETER, EVALUATION,  SWITCH,
				       SWITCH, INTERPRETER, EVALUATION,  INTERPRETER, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}, {2, 1, 0}, {3, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(1),
						      FRAME(2),  FRAME(3),
						      NATIVE(4), NATIVE(RUNTIME_LEVEL_OUTERMOST)};
	struct scene *scene = scene_of_coroutines();

	for (int is_whole = 0; is_whole <= 1; is_whole++) {
		scene->source.is_whole = is_whole;
		splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
		expect_levels(scene, levels, ARRAY_LENGTH(levels));
	}
	scene->runtime.switches_coroutines = NULL;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	scene_free(scene);
}

/* What is left of who has started it leads nowhere. */
static void a_stack_that_ends_behind_the_switch_starts_there(void **state _unused_)
{
	static const uint64_t pcs[] = {OTHER, EVALUATION, SWITCH, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(1), NATIVE(2),
						      NATIVE(RUNTIME_LEVEL_OUTERMOST)};
	static const struct runtime_level all_levels[] = {NATIVE(0), FRAME(1), NATIVE(2),
							  NATIVE(3)};
	struct scene *scene = scene_of_coroutines();

	scene->source.is_whole = false;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	/* A module that calls Python where it has not started anything. */
	scene->source.is_whole = true;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, all_levels, ARRAY_LENGTH(all_levels));
	scene_free(scene);
}

/* The switch is behind the last level. */
static void levels_beyond_the_stack_are_not_looked_at(void **state _unused_)
{
	static const uint64_t pcs[] = {OTHER, EVALUATION, OTHER, SWITCH};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(1), NATIVE(2)};
	struct scene *scene = scene_of_coroutines();

	scene->source.is_whole = false;
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->num_levels, 5);
	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs) - 1);
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

/* It has started another one, which has ended; or it is about to switch. */
static void a_switch_inside_of_a_coroutine_is_no_start(void **state _unused_)
{
	static const uint64_t pcs[] = {SWITCH, EVALUATION, SWITCH,     EVALUATION,
				       SWITCH, EVALUATION, INTERPRETER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}, {2, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(1),
						      NATIVE(2), FRAME(2),
						      NATIVE(4), NATIVE(RUNTIME_LEVEL_OUTERMOST)};
	struct scene *scene = scene_of_coroutines();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static void what_runs_on_no_coroutine_has_all_calls(void **state _unused_)
{
	static const uint64_t pcs[] = {SWITCH, EVALUATION, OTHER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}, {2, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), FRAME(1), NATIVE(2), FRAME(2),
						      NATIVE(4)};
	struct scene *scene = scene_of_coroutines();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	/* Nor does anything fit where calls are missing. */
	splice(scene, frames, 1, pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_FITS_NOT);
	scene_free(scene);
}

static void the_innermost_call_of_a_coroutine_may_be_done(void **state _unused_)
{
	static const uint64_t pcs[] = {INTERPRETER, EVALUATION, INTERPRETER, EVALUATION,
				       SWITCH,      EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{2, 1, ENTRY}};
	static const struct runtime_level levels[] = {NATIVE(0), NATIVE(1),
						      NATIVE(2), FRAME(2),
						      NATIVE(4), NATIVE(RUNTIME_LEVEL_OUTERMOST)};
	struct scene *scene = scene_of_coroutines();

	splice(scene, frames, ARRAY_LENGTH(frames), pcs, ARRAY_LENGTH(pcs));
	expect_levels(scene, levels, ARRAY_LENGTH(levels));
	scene_free(scene);
}

static int locate_without_memory(void *context, const struct runtime_sample *source,
				 const struct runtime_frame_list *frames, uint32_t number,
				 uint32_t *ret)
{
	const uint64_t *failing = context;

	(void)source;
	*ret = 0;
	return frames->items[number].code == *failing ? -ENOMEM : 0;
}

/* Whichever frame lacks memory, also those outside of the last call that evaluates. */
static void a_frame_that_lacks_memory_is_an_error(void **state _unused_)
{
	static const uint64_t pcs[] = {EVALUATION, OTHER, EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {
		{1, 1, 0}, {2, 1, ENTRY}, {3, 1, 0}, {4, 1, ENTRY}};
	const struct runtime_frame_list list = {.items = frames,
						.length = ARRAY_LENGTH(frames),
						.end = WIRE_RUNTIME_COMPLETE,
						.have_come = true};
	struct scene *scene = scene_new();
	uint64_t failing;

	scene->runtime.locate = locate_without_memory;
	scene->runtime.stacks = &failing;
	for (failing = 1; failing <= 5; failing++)
		assert_int_equal(splice_list(scene, &list, pcs, ARRAY_LENGTH(pcs)),
				 failing <= 4 ? -ENOMEM : 0);
	scene_free(scene);
}

/* Of another interpreter, or of a build that is not known, no function evaluates frames. */
static void only_a_known_build_evaluates_frames(void **state _unused_)
{
	static const uint64_t pcs[] = {EVALUATION, OTHER};
	static const struct wire_runtime_frame frames[] = {{1, 1, ENTRY}};
	struct scene *scene = scene_new();

	splice(scene, frames, 1, pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_FITS);
	build.support = SUPPORT_UNKNOWN_BUILD;
	splice(scene, frames, 1, pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_OUTSIDE);
	build = known_build;
	build.runtime = WIRE_RUNTIME_PERL;
	splice(scene, frames, 1, pcs, ARRAY_LENGTH(pcs));
	assert_int_equal(scene->fit, RUNTIME_OUTSIDE);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_known_build_evaluates_frames),
		cmocka_unit_test(a_frame_that_lacks_memory_is_an_error),
		cmocka_unit_test(frames_come_in_the_place_of_the_calls_that_evaluate_them),
		cmocka_unit_test(what_evaluates_the_innermost_frame_is_left_out),
		cmocka_unit_test(a_frame_whose_call_has_not_started_is_left_out),
		cmocka_unit_test(several_frames_without_a_call_do_not_fit),
		cmocka_unit_test(a_stack_that_ends_before_any_call_does_not_fit),
		cmocka_unit_test(a_frame_that_is_being_written_is_left_out),
		cmocka_unit_test(a_call_that_is_done_has_no_frame_any_more),
		cmocka_unit_test(a_call_that_goes_on_with_the_frames_of_another_is_one_with_it),
		cmocka_unit_test(a_call_without_a_frame_is_in_none),
		cmocka_unit_test(a_call_that_waits_need_not_be_there),
		cmocka_unit_test(a_coroutine_starts_where_it_was_switched_to),
		cmocka_unit_test(a_stack_that_ends_behind_the_switch_starts_there),
		cmocka_unit_test(levels_beyond_the_stack_are_not_looked_at),
		cmocka_unit_test(a_switch_inside_of_a_coroutine_is_no_start),
		cmocka_unit_test(what_runs_on_no_coroutine_has_all_calls),
		cmocka_unit_test(the_innermost_call_of_a_coroutine_may_be_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
