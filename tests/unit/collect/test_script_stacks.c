/* Frames of scripts: their order, their names, what a parent knew. */
#include "collect/runtimes/evaluated_stacks.h"

int splice_or_note(const struct evaluated_runtime *runtime, struct runtime_splice *splice);

#define evaluated_stacks_splice splice_or_note
#include "collect/runtimes/script_stacks.c"
#undef evaluated_stacks_splice

#include <errno.h>

#include "unit.h"

#define DELEGATES WIRE_SCRIPT_DELEGATES
#define ENTRY     WIRE_RUNTIME_ENTRY_FRAME

static struct profile *profile;
static struct file_table *files;
static struct elf_files *elf_files;
static struct script_stacks *of_runtimes[NUM_WIRE_INTERPRETERS];
static struct script_stacks *stacks; /* PHP's */
static struct process process = {.pid = 7, .parent_pid = 6};

/* What was asked for last, where the test wants to see it. */
static bool notes_splices;
static struct evaluated_runtime asked;
static struct runtime_frame_list asked_list;
static struct wire_runtime_frame asked_frames[4];

int splice_or_note(const struct evaluated_runtime *runtime, struct runtime_splice *splice)
{
	if (!notes_splices)
		return evaluated_stacks_splice(runtime, splice);
	asked = *runtime;
	asked_list = splice->frames;
	memcpy(asked_frames, splice->frames.items, splice->frames.length * sizeof(asked_frames[0]));
	return -EIO;
}

static struct runtime_sources sources;

static int set_up(void **state _unused_)
{
	notes_splices = false;
	profile = profile_new();
	files = file_table_new("/nonexistent", NULL);
	assert_int_equal(elf_files_new(0, &elf_files), 0);
	assert_true(profile && files);
	sources = (struct runtime_sources){.files = files, .elf_files = elf_files};
	for (enum wire_runtime i = WIRE_RUNTIME_PHP; i <= WIRE_RUNTIME_PERL; i++) {
		of_runtimes[i] = script_stack_ops.create(
			&(struct runtime_context){.profile = profile,
						  .sources = &sources,
						  .shown = RUNTIME_FRAMES_MANAGED},
			i);
		assert_non_null(of_runtimes[i]);
	}
	stacks = of_runtimes[WIRE_RUNTIME_PHP];
	return 0;
}

static int tear_down(void **state _unused_)
{
	for (enum wire_runtime i = WIRE_RUNTIME_PHP; i <= WIRE_RUNTIME_PERL; i++)
		script_stack_ops.free(of_runtimes[i]);
	script_stack_ops.free(NULL);
	elf_files_free(elf_files);
	file_table_free(files);
	profile_free(profile);
	return 0;
}

/* Codes of the frames, in their order after turning; '-' behind one that delegates. */
static const char *turn(const char *codes)
{
	static char turned[64];
	struct wire_runtime_frame frames[32];
	uint32_t count = 0;
	size_t length = 0;

	for (; *codes; codes++) {
		if (*codes == '-')
			frames[count - 1].position |= DELEGATES;
		else
			frames[count++] =
				(struct wire_runtime_frame){.code = (unsigned char)*codes};
	}
	turn_generators(frames, count);
	for (uint32_t i = 0; i < count; i++) {
		turned[length++] = (char)frames[i].code;
		if (frames[i].position & DELEGATES)
			turned[length++] = '-';
	}
	turned[length] = '\0';
	return turned;
}

static void generators_that_delegate_are_turned(void **state _unused_)
{
	assert_string_equal(turn(""), "");
	assert_string_equal(turn("a"), "a");
	assert_string_equal(turn("ab"), "ab");
	assert_string_equal(turn("a-"), "a-");
	assert_string_equal(turn("a-b"), "a-b");
	assert_string_equal(turn("a-b-c"), "b-a-c");
	assert_string_equal(turn("a-b-c-d"), "c-b-a-d");
	assert_string_equal(turn("xa-b-yc-d-"), "xb-a-yd-c-");
	assert_string_equal(turn("a-b-c-"), "c-b-a-");
}

static void the_outermost_call_has_the_methods_outside_of_it(void **state _unused_)
{
	struct wire_runtime_frame frames[] = {{1, 1, ENTRY}, {2, 1, 0}, {3, 1, ENTRY}, {4, 1, 0}};

	take_outermost_methods(frames, 4);
	assert_int_equal(frames[0].position, ENTRY);
	assert_int_equal(frames[1].position, 0);
	assert_int_equal(frames[2].position, 0);
	assert_int_equal(frames[3].position, ENTRY);
	/* Twice is once. */
	take_outermost_methods(frames, 4);
	assert_int_equal(frames[2].position, 0);
	assert_int_equal(frames[3].position, ENTRY);
	frames[0].position = frames[3].position = 0;
	take_outermost_methods(frames, 4);
	take_outermost_methods(frames, 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(frames[i].position, 0);
}

static void expect_name(const struct script_function *function, bool is_outermost,
			const char *expected)
{
	const char *name;

	assert_int_equal(make_name(stacks, function, is_outermost, &name), 0);
	assert_string_equal(name, expected);
}

static void code_without_a_function_is_named_by_its_kind(void **state _unused_)
{
	struct script_function function = {
		.name = "f", .file = "/x/lib.php", .code_kind = WIRE_SCRIPT_CODE_FUNCTION};

	expect_name(&function, false, "f");
	expect_name(&function, true, "f");
	function.name = "";
	expect_name(&function, true, "[unknown]");
	expect_name(NULL, true, "[unknown]");
	function.code_kind = WIRE_SCRIPT_CODE_EVAL;
	expect_name(&function, true, "eval");
	function.code_kind = WIRE_SCRIPT_CODE_FILE;
	expect_name(&function, true, "{main}");
	expect_name(&function, false, "include lib.php");
	stacks = of_runtimes[WIRE_RUNTIME_PERL];
	expect_name(&function, false, "require lib.php");
	function.file = "lib.pl";
	expect_name(&function, false, "require lib.pl");
	function.code_kind = WIRE_SCRIPT_CODE_EVAL;
	expect_name(&function, false, "(eval)");
}

/* Nothing came: the process runs the interpreter, and none of its functions are known. */
static void a_stack_without_frames_stays_native(void **state _unused_)
{
	const struct runtime_sample source = {.process = &process};
	struct runtime_level levels[RUNTIME_MAX_LEVELS];

	for (enum wire_runtime i = WIRE_RUNTIME_PHP; i <= WIRE_RUNTIME_PERL; i++) {
		struct runtime_splice splice = {
			.source = &source, .levels = levels, .num_levels = 9};

		assert_int_equal(script_stack_ops.splice(of_runtimes[i], &splice), 0);
		assert_int_equal(splice.num_levels, 0);
		assert_int_not_equal(splice.verdict.fit, RUNTIME_FITS);
	}
}

static void splice(enum wire_runtime which, uint8_t end)
{
	static const struct wire_runtime_frame frames[] = {
		{1, 1, DELEGATES | ENTRY}, {2, 1, DELEGATES}, {3, 1, 0}, {4, 1, 0}};
	struct runtime_splice splice = {
		.frames = {.items = frames, .length = 4, .end = end, .have_come = true}};

	notes_splices = true;
	assert_int_equal(script_stack_ops.splice(of_runtimes[which], &splice), -EIO);
	assert_int_equal(asked_list.length, 4);
	assert_int_equal(asked_list.end, end);
	assert_true(asked_list.have_come);
	/* The sampling program's are its own. */
	assert_int_equal(frames[0].code, 1);
	assert_int_equal(frames[0].position, DELEGATES | ENTRY);
}

static void each_interpreter_has_its_rules(void **state _unused_)
{
	static const enum frame_kind kinds[] = {[WIRE_RUNTIME_PHP] = FRAME_PHP,
						[WIRE_RUNTIME_RUBY] = FRAME_RUBY,
						[WIRE_RUNTIME_PERL] = FRAME_PERL};

	for (enum wire_runtime i = WIRE_RUNTIME_PHP; i <= WIRE_RUNTIME_PERL; i++) {
		splice(i, WIRE_RUNTIME_COMPLETE);
		assert_int_equal(of_runtimes[i]->words->kind, kinds[i]);
		assert_int_equal(asked.runtime, i);
		assert_int_equal(asked.has_one_thread, i != WIRE_RUNTIME_PERL);
		assert_int_equal(asked.has_frame_before_call, i == WIRE_RUNTIME_RUBY);
		assert_int_equal(asked.tells_idle_calls, i == WIRE_RUNTIME_PERL);
		assert_int_equal(asked.stack_start_flag, WIRE_SCRIPT_STACK_START);
		assert_int_equal(asked.no_frame_flag, WIRE_SCRIPT_NO_FRAME);
		assert_int_equal(asked.may_wait_flag, WIRE_SCRIPT_MAY_WAIT);
		assert_ptr_equal(asked.stacks, of_runtimes[i]);
		assert_ptr_equal(asked.context->sources, &sources);
		assert_int_equal(asked.context->shown, RUNTIME_FRAMES_MANAGED);
	}
}

static void only_frames_of_some_are_put_in_order(void **state _unused_)
{
	splice(WIRE_RUNTIME_PHP, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(asked_frames[0].code, 2);
	assert_int_equal(asked_frames[1].code, 1);
	splice(WIRE_RUNTIME_RUBY, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(asked_frames[0].code, 1);
	assert_int_equal(asked_frames[0].position, DELEGATES);
	assert_int_equal(asked_frames[3].position, ENTRY);
	/* Whether there are methods further out is not known. */
	splice(WIRE_RUNTIME_RUBY, WIRE_RUNTIME_DEEP);
	assert_int_equal(asked_frames[0].position, DELEGATES | ENTRY);
	assert_int_equal(asked_frames[3].position, 0);
	splice(WIRE_RUNTIME_PERL, WIRE_RUNTIME_COMPLETE);
	assert_int_equal(asked_frames[0].code, 1);
	assert_int_equal(asked_frames[0].position, DELEGATES | ENTRY);
	assert_int_equal(asked_frames[3].position, 0);
}

/* Pages that a child has not touched cannot be read in it. */
static void a_parent_knows_what_its_child_does_not(void **state _unused_)
{
	struct wire_script_function record = {.type = WIRE_RUNTIME_CODE,
					      .pid = 6,
					      .code = 0x50,
					      .fingerprint = 3,
					      .name = {.length = 1, .num_bytes = 1},
					      .name_text = "p"};
	const struct wire_runtime_frame frame = {.code = 0x50, .fingerprint = 3};
	const struct runtime_sample source = {.process = &process};
	const struct script_function *found;

	assert_null(find_function(stacks, &source, &frame));
	assert_int_equal(script_stack_ops.add_code(stacks, &record), 0);
	found = find_function(stacks, &source, &frame);
	assert_non_null(found);
	assert_string_equal(found->name, "p");
	/* Of itself it is known without a name. */
	record.pid = 7;
	record.name = (struct wire_script_text){0};
	assert_int_equal(script_stack_ops.add_code(stacks, &record), 0);
	assert_string_equal(find_function(stacks, &source, &frame)->name, "p");
	record.fingerprint = 4;
	assert_int_equal(script_stack_ops.add_code(stacks, &record), 0);
	found = find_function(stacks, &source,
			      &(struct wire_runtime_frame){.code = 0x50, .fingerprint = 4});
	assert_string_equal(found->name, "");
	record.fingerprint = 5;
	record.name = (struct wire_script_text){1, 1};
	record.name_text[0] = 'c';
	assert_int_equal(script_stack_ops.add_code(stacks, &record), 0);
	record.pid = 6;
	record.name_text[0] = 'p';
	assert_int_equal(script_stack_ops.add_code(stacks, &record), 0);
	found = find_function(stacks, &source,
			      &(struct wire_runtime_frame){.code = 0x50, .fingerprint = 5});
	assert_string_equal(found->name, "c");
}

static void expect_location(const struct wire_runtime_frame *frames, uint32_t number, uint8_t end,
			    const char *name, uint32_t line)
{
	const struct runtime_frame_list list = {
		.items = frames, .length = 2, .end = end, .have_come = true};
	const struct runtime_sample source = {.process = &process};
	const struct frame *frame;
	uint32_t location;

	assert_int_equal(locate(stacks, &source, &list, number, &location), 0);
	frame = profile_get_frame(profile, profile_get_location(profile, location)->first_frame);
	assert_string_equal(profile_get_string(profile, frame->name), name);
	assert_string_equal(profile_get_string(profile, frame->module), "lib.php");
	assert_string_equal(profile_get_string(profile, frame->file), "/x/lib.php");
	assert_int_equal(frame->kind, FRAME_PHP);
	assert_int_equal(frame->line, line);
}

/* Both frames are of code of a file: the outermost one is the program, unless there may be others outside of it. */
static void a_frame_has_its_name_its_file_and_its_line(void **state _unused_)
{
	struct wire_script_function record = {.type = WIRE_RUNTIME_CODE,
					      .pid = 7,
					      .code = 0x50,
					      .fingerprint = 3,
					      .code_kind = WIRE_SCRIPT_CODE_FILE};
	const struct wire_runtime_frame frames[] = {{0x50, 3, ENTRY | WIRE_SCRIPT_MAX_LINE},
						    {0x50, 3, DELEGATES | ENTRY | 12}};

	record.file = (struct wire_script_text){10, 10};
	memcpy(record.file_text, "/x/lib.php", 10);
	assert_int_equal(script_stack_ops.add_code(stacks, &record), 0);
	expect_location(frames, 0, WIRE_RUNTIME_COMPLETE, "include lib.php", WIRE_SCRIPT_MAX_LINE);
	expect_location(frames, 1, WIRE_RUNTIME_COMPLETE, "{main}", 12);
	expect_location(frames, 1, WIRE_RUNTIME_DEEP, "include lib.php", 12);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(generators_that_delegate_are_turned),
		TEST(the_outermost_call_has_the_methods_outside_of_it),
		TEST(code_without_a_function_is_named_by_its_kind),
		TEST(a_stack_without_frames_stays_native),
		TEST(each_interpreter_has_its_rules),
		TEST(only_frames_of_some_are_put_in_order),
		TEST(a_parent_knows_what_its_child_does_not),
		TEST(a_frame_has_its_name_its_file_and_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
