/* Frames of scripts: their order, their names, what a parent knew. */
#define evaluated_stacks_splice splice_or_note
#define elf_files_get_script    get_script_of_test
#include "collect/runtimes/script_stacks.c"
#undef evaluated_stacks_splice
#undef elf_files_get_script

/* The real one. */
int evaluated_stacks_splice(const struct evaluated_runtime *runtime,
			    const struct runtime_sample *source,
			    const struct runtime_frame_list *frames, const uint64_t *pcs,
			    uint32_t num_pcs, struct runtime_level *ret, uint32_t *ret_num,
			    enum runtime_fit *ret_fit);

#include "unit.h"

#define DELEGATES WIRE_SCRIPT_DELEGATES
#define ENTRY     WIRE_RUNTIME_ENTRY_FRAME

static struct profile *profile;
static struct file_table *files;
static struct elf_files *elf_files;
static struct script_stacks *stacks;
static struct process process = {.pid = 7, .parent_pid = 6};

/* What was asked for last, where the test wants to see it. */
static bool notes_splices;
static struct evaluated_runtime asked;
static struct runtime_frame_list asked_list;
static struct wire_runtime_frame asked_frames[4];

int splice_or_note(const struct evaluated_runtime *runtime, const struct runtime_sample *source,
		   const struct runtime_frame_list *frames, const uint64_t *pcs, uint32_t num_pcs,
		   struct runtime_level *ret, uint32_t *ret_num, enum runtime_fit *ret_fit)
{
	if (!notes_splices)
		return evaluated_stacks_splice(runtime, source, frames, pcs, num_pcs, ret, ret_num,
					       ret_fit);
	asked = *runtime;
	asked_list = *frames;
	memcpy(asked_frames, frames->items, frames->length * sizeof(asked_frames[0]));
	return -EIO;
}

static struct script_build build; /* of every file */
static bool has_script;

const struct script_build *get_script_of_test(const struct elf_files *all _unused_,
					      const struct mapped_file *mapped _unused_)
{
	return has_script ? &build : NULL;
}

static int set_up(void **state _unused_)
{
	notes_splices = has_script = false;
	build = (struct script_build){0};
	profile = profile_new();
	files = file_table_new("/nonexistent", NULL);
	assert_int_equal(elf_files_new(0, &elf_files), 0);
	stacks = script_stacks_new(profile, files, elf_files, RUNTIME_FRAMES_MANAGED);
	assert_true(profile && files && stacks);
	stacks->words = &php_words;
	return 0;
}

static int tear_down(void **state _unused_)
{
	script_stacks_free(stacks);
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
	stacks->words = &perl_words;
	expect_name(&function, false, "require lib.php");
	function.file = "lib.pl";
	expect_name(&function, false, "require lib.pl");
	function.code_kind = WIRE_SCRIPT_CODE_EVAL;
	expect_name(&function, false, "(eval)");
}

/* Nothing came: the process runs the interpreter, and none of its functions are known. */
static void a_stack_without_frames_stays_native(void **state _unused_)
{
	static const enum wire_runtime runtimes[] = {WIRE_RUNTIME_PHP, WIRE_RUNTIME_RUBY,
						     WIRE_RUNTIME_PERL};
	const struct runtime_sample source = {.process = &process};
	const struct runtime_frame_list none = {0};
	struct runtime_level levels[RUNTIME_MAX_LEVELS];
	uint32_t num_levels;
	enum runtime_fit fit;

	for (size_t i = 0; i < ARRAY_LENGTH(runtimes); i++) {
		assert_int_equal(script_stacks_splice(stacks, runtimes[i], &source, &none, NULL, 0,
						      levels, &num_levels, &fit),
				 0);
		assert_int_equal(num_levels, 0);
		assert_int_not_equal(fit, RUNTIME_FITS);
	}
}

static void splice(enum wire_runtime which, uint8_t end)
{
	static const struct wire_runtime_frame frames[] = {
		{1, 1, DELEGATES | ENTRY}, {2, 1, DELEGATES}, {3, 1, 0}, {4, 1, 0}};
	const struct runtime_frame_list list = {
		.items = frames, .length = 4, .end = end, .have_come = true};

	notes_splices = true;
	assert_int_equal(
		script_stacks_splice(stacks, which, NULL, &list, NULL, 0, NULL, NULL, NULL), -EIO);
	assert_int_equal(asked_list.length, 4);
	assert_int_equal(asked_list.end, end);
	assert_true(asked_list.have_come);
	/* The sampling program's are its own. */
	assert_int_equal(frames[0].code, 1);
	assert_int_equal(frames[0].position, DELEGATES | ENTRY);
}

static void each_interpreter_has_its_rules(void **state _unused_)
{
	static const struct {
		enum wire_runtime which;
		const struct frame_words *words;
	} cases[] = {{WIRE_RUNTIME_PHP, &php_words},
		     {WIRE_RUNTIME_RUBY, &ruby_words},
		     {WIRE_RUNTIME_PERL, &perl_words}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		splice(cases[i].which, WIRE_RUNTIME_COMPLETE);
		assert_ptr_equal(stacks->words, cases[i].words);
		assert_int_equal(asked.has_one_thread, cases[i].which != WIRE_RUNTIME_PERL);
		assert_int_equal(asked.has_frame_before_call, cases[i].which == WIRE_RUNTIME_RUBY);
		assert_int_equal(asked.tells_idle_calls, cases[i].which == WIRE_RUNTIME_PERL);
		assert_int_equal(asked.stack_begin_flag, WIRE_SCRIPT_STACK_BEGIN);
		assert_int_equal(asked.no_frame_flag, WIRE_SCRIPT_NO_FRAME);
		assert_int_equal(asked.may_wait_flag, WIRE_SCRIPT_MAY_WAIT);
		assert_ptr_equal(asked.context, stacks);
		assert_ptr_equal(asked.files, files);
		assert_ptr_equal(asked.elf_files, elf_files);
		assert_int_equal(asked.shown, RUNTIME_FRAMES_MANAGED);
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

static void code_that_pushes_a_frame_is_known_by_its_addresses(void **state _unused_)
{
	unsigned int num = 0;

	splice(WIRE_RUNTIME_RUBY, WIRE_RUNTIME_COMPLETE);
	assert_false(asked.is_unwritten(stacks, NULL, 0x100));
	assert_null(asked.find_parts(stacks, NULL, &num));
	has_script = true;
	build.support = SCRIPT_UNKNOWN_BUILD;
	build.num_eval_parts = 2;
	assert_null(asked.find_parts(stacks, NULL, &num));
	build.support = SCRIPT_KNOWN;
	assert_ptr_equal(asked.find_parts(stacks, NULL, &num), build.eval_parts);
	assert_int_equal(num, 2);
	assert_false(asked.is_unwritten(stacks, NULL, 0x100));
	build.num_pushes = 2;
	build.pushes[0] = (struct script_push){0x100, 0x110};
	build.pushes[1] = (struct script_push){0x200, 0x210};
	build.pushes[2] = (struct script_push){0x300, 0x310}; /* not one of them */
	assert_true(asked.is_unwritten(stacks, NULL, 0x100));
	assert_true(asked.is_unwritten(stacks, NULL, 0x10f));
	assert_false(asked.is_unwritten(stacks, NULL, 0x110));
	assert_false(asked.is_unwritten(stacks, NULL, 0xff));
	assert_true(asked.is_unwritten(stacks, NULL, 0x200));
	assert_true(asked.is_unwritten(stacks, NULL, 0x20f));
	assert_false(asked.is_unwritten(stacks, NULL, 0x300));
}

/* Pages that a child has not touched cannot be read in it. */
static void a_parent_knows_what_its_child_does_not(void **state _unused_)
{
	struct wire_script_function record = {.type = WIRE_SCRIPT_FUNCTION,
					      .pid = 6,
					      .code = 0x50,
					      .fingerprint = 3,
					      .name = {.length = 1, .num_bytes = 1},
					      .name_text = "p"};
	const struct wire_runtime_frame frame = {.code = 0x50, .fingerprint = 3};
	const struct runtime_sample source = {.process = &process};
	const struct script_function *found;

	assert_null(find_function(stacks, &source, &frame));
	assert_int_equal(script_stacks_add_function(stacks, &record), 0);
	found = find_function(stacks, &source, &frame);
	assert_non_null(found);
	assert_string_equal(found->name, "p");
	/* Of itself it is known without a name. */
	record.pid = 7;
	record.name = (struct wire_script_text){0};
	assert_int_equal(script_stacks_add_function(stacks, &record), 0);
	assert_string_equal(find_function(stacks, &source, &frame)->name, "p");
	record.fingerprint = 4;
	assert_int_equal(script_stacks_add_function(stacks, &record), 0);
	found = find_function(stacks, &source,
			      &(struct wire_runtime_frame){.code = 0x50, .fingerprint = 4});
	assert_string_equal(found->name, "");
	record.fingerprint = 5;
	record.name = (struct wire_script_text){1, 1};
	record.name_text[0] = 'c';
	assert_int_equal(script_stacks_add_function(stacks, &record), 0);
	record.pid = 6;
	record.name_text[0] = 'p';
	assert_int_equal(script_stacks_add_function(stacks, &record), 0);
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
	struct wire_script_function record = {.type = WIRE_SCRIPT_FUNCTION,
					      .pid = 7,
					      .code = 0x50,
					      .fingerprint = 3,
					      .code_kind = WIRE_SCRIPT_CODE_FILE};
	const struct wire_runtime_frame frames[] = {{0x50, 3, ENTRY | WIRE_SCRIPT_MAX_LINE},
						    {0x50, 3, DELEGATES | ENTRY | 12}};

	record.file = (struct wire_script_text){10, 10};
	memcpy(record.file_text, "/x/lib.php", 10);
	assert_int_equal(script_stacks_add_function(stacks, &record), 0);
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
		TEST(code_that_pushes_a_frame_is_known_by_its_addresses),
		TEST(a_parent_knows_what_its_child_does_not),
		TEST(a_frame_has_its_name_its_file_and_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
