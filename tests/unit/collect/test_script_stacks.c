/* Frames of scripts: their order, their names, what a parent knew. */
#include "collect/script_stacks.c"

#include "unit.h"

#define DELEGATES WIRE_SCRIPT_DELEGATES
#define ENTRY     WIRE_RUNTIME_ENTRY_FRAME

static struct profile *profile;
static struct file_table *files;
static struct elf_files *elf_files;
static struct script_stacks *stacks;
static struct process process = {.pid = 7, .parent_pid = 6};

static int set_up(void **state _unused_)
{
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(generators_that_delegate_are_turned),
		TEST(the_outermost_call_has_the_methods_outside_of_it),
		TEST(code_without_a_function_is_named_by_its_kind),
		TEST(a_stack_without_frames_stays_native),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
