/*
 * Frames of CPython: which code object each is of, and which files run or switch them. Where frames go in a stack is
 * evaluated_stacks.c's: the test is in its place, and asks what that would ask.
 */
#include "collect/runtimes/evaluated_stacks.h"

int splice_of_test(const struct evaluated_runtime *runtime, struct runtime_splice *splice);

#define evaluated_stacks_splice splice_of_test
#include "collect/runtimes/python_stacks.c"
#undef evaluated_stacks_splice

#include <errno.h>

#include "failing_memory.h"
#include "unit.h"

#define PID        12
#define GENERATION 3
#define CODE       0x7f0012345678
#define PRINT      0xabcd

static char file_path[64];
static struct mapped_file file = {.path = file_path};

static const struct evaluated_runtime *asking; /* for the time of a question */
static int (*question)(void);
static int splice_error;

int splice_of_test(const struct evaluated_runtime *runtime, struct runtime_splice *splice)
{
	assert_int_equal(splice->num_pcs, 1);
	splice->num_levels = 5;
	asking = runtime;
	return splice_error ? splice_error : question();
}

static struct profile *profile;
static struct python_stacks *stacks;
static struct runtime_context context;
static struct process process = {.pid = PID};
static struct wire_runtime_frame frames[2];
static const struct runtime_frame_list list = {.items = frames, .length = 2, .have_come = true};
static struct runtime_sample sample;

static int set_up(void **state _unused_)
{
	profile = profile_new();
	assert_non_null(profile);
	context = (struct runtime_context){.profile = profile, .shown = RUNTIME_FRAMES_ALL};
	stacks = python_stack_ops.create(&context, WIRE_RUNTIME_PYTHON);
	assert_non_null(stacks);
	process.pid = PID;
	sample = (struct runtime_sample){.process = &process, .generation = GENERATION};
	frames[1] = (struct wire_runtime_frame){.code = CODE, .fingerprint = PRINT, .position = 6};
	splice_error = 0;
	return 0;
}

static int tear_down(void **state _unused_)
{
	python_stack_ops.free(stacks);
	profile_free(profile);
	return 0;
}

static void put_text(struct wire_python_text *text, uint8_t *place, const char *bytes)
{
	text->kind = 1;
	text->num_bytes = (wire_u16)strlen(bytes);
	text->length = (wire_u32)strlen(bytes);
	memcpy(place, bytes, strlen(bytes));
}

static int add_code_of(uint32_t fingerprint, const char *name, const char *path)
{
	struct wire_python_code record = {
		.pid = PID,
		.generation = GENERATION,
		.code = CODE,
		.fingerprint = fingerprint,
		.first_line = 10,
		.minor = 8,
		.num_line_bytes = 4,
		.line_bytes = 4,
		.lines = {0, 1, 6, 2},
	};

	put_text(&record.name, record.name_text, name);
	put_text(&record.file, record.file_text, path);
	return python_stack_ops.add_code(stacks, &record);
}

static int add_named_code(const char *name, const char *path)
{
	return add_code_of(PRINT, name, path);
}

static int ask(int (*asked)(void))
{
	struct runtime_splice splice = {.source = &sample, .frames = list, .num_pcs = 1};
	int err;

	question = asked;
	err = python_stack_ops.splice(stacks, &splice);
	assert_int_equal(splice.num_levels, 5);
	return err;
}

static uint32_t location;

static int locate_second(void)
{
	return asking->locate(asking->stacks, &sample, &list, 1, &location);
}

/* The second frame's. */
static const struct frame *get_frame(void)
{
	const struct location *found;

	assert_int_equal(ask(locate_second), 0);
	found = profile_get_location(profile, location);
	assert_int_equal(found->num_frames, 1);
	return profile_get_frame(profile, found->first_frame);
}

static void assert_frame(const char *name, const char *module, const char *path, uint32_t line)
{
	const struct frame *frame = get_frame();

	assert_string_equal(profile_get_string(profile, frame->name), name);
	assert_string_equal(profile_get_string(profile, frame->full_name), name);
	assert_string_equal(profile_get_string(profile, frame->module), module);
	assert_string_equal(profile_get_string(profile, frame->file), path);
	assert_int_equal(frame->line, line);
	assert_int_equal(frame->kind, FRAME_PYTHON);
}

static void a_frame_has_its_function_file_and_line(void **state _unused_)
{
	assert_int_equal(add_named_code("Parser.parse", "/usr/lib/parser.py"), 0);
	assert_frame("Parser.parse", "parser.py", "/usr/lib/parser.py", 13);
	frames[1].position = 0;
	assert_frame("Parser.parse", "parser.py", "/usr/lib/parser.py", 11);
}

static void a_file_without_a_directory_is_its_own_module(void **state _unused_)
{
	assert_int_equal(add_named_code("<module>", "<stdin>"), 0);
	assert_frame("<module>", "<stdin>", "<stdin>", 13);
}

static void a_code_object_that_did_not_come_has_no_name(void **state _unused_)
{
	assert_frame("[unknown]", "", "", 0);
}

static void one_without_a_name_keeps_its_file(void **state _unused_)
{
	assert_int_equal(add_named_code("", "/usr/lib/parser.py"), 0);
	assert_frame("[unknown]", "parser.py", "/usr/lib/parser.py", 13);
}

/* Addresses are used again. */
static void a_frame_of_another_process_program_or_code_has_no_name(void **state _unused_)
{
	assert_int_equal(add_named_code("parse", "parser.py"), 0);
	process.pid = PID + 1;
	assert_frame("[unknown]", "", "", 0);
	process.pid = PID;
	sample.generation++;
	assert_frame("[unknown]", "", "", 0);
	sample.generation--;
	frames[1].fingerprint++;
	assert_frame("[unknown]", "", "", 0);
	frames[1].fingerprint--;
	frames[1].code += 8;
	assert_frame("[unknown]", "", "", 0);
	frames[1].code -= 8;
	assert_frame("parse", "parser.py", "parser.py", 13);
}

static bool does_switch;

static int ask_whether_it_switches(void)
{
	assert_non_null(asking->switches_coroutines);
	does_switch = asking->switches_coroutines(&file);
	return 0;
}

static bool switches(const char *path)
{
	strcpy(file_path, path);
	assert_int_equal(ask(ask_whether_it_switches), 0);
	return does_switch;
}

static void greenlet_switches_coroutines(void **state _unused_)
{
	assert_true(switches("/usr/lib/greenlet/_greenlet.cpython-311-x86_64-linux-gnu.so"));
	assert_true(switches("/usr/lib/greenlet.so"));
	assert_true(switches("greenlet.abi3.so"));
	assert_false(switches("/usr/lib/greenlet./lib.so"));
	assert_false(switches("/usr/lib/greenlets.so"));
	assert_false(switches("/usr/lib/my_greenlet.so"));
}

static int look_at_all(void)
{
	assert_int_equal(asking->runtime, WIRE_RUNTIME_PYTHON);
	assert_ptr_equal(asking->context->profile, profile);
	assert_int_equal(asking->context->shown, RUNTIME_FRAMES_ALL);
	assert_false(asking->has_one_thread);
	assert_false(asking->tells_idle_calls);
	assert_int_equal(asking->no_frame_flag | asking->may_wait_flag | asking->stack_start_flag,
			 0);
	return -ECANCELED;
}

static void what_is_asked_for_is_handed_on(void **state _unused_)
{
	assert_int_equal(ask(look_at_all), -ECANCELED);
}

/* Until there is no room for one more. */
static int ask_for_many(void)
{
	char path[WIRE_PYTHON_FILE_BYTES];

	for (uint32_t i = 0; i < 60; i++) {
		int err;

		snprintf(path, sizeof(path), "/%0200d/%0200d.py", i, i);
		frames[1].fingerprint = i;
		err = add_code_of(i, "Parser.parse", path);
		if (err)
			return err;
		err = ask(locate_second);
		if (err)
			return err;
	}
	return 0;
}

static int use_anew(void *unused _unused_)
{
	struct python_stacks *used = stacks;
	struct profile *kept = profile;
	int err;

	profile = profile_new();
	context.profile = profile;
	stacks = profile ? python_stack_ops.create(&context, WIRE_RUNTIME_PYTHON) : NULL;
	err = stacks ? ask_for_many() : -ENOMEM;
	python_stack_ops.free(stacks);
	profile_free(profile);
	profile = kept;
	stacks = used;
	return err;
}

static void short_memory_is_an_error(void **state _unused_)
{
	failing_memory_try_all(use_anew, NULL);
	python_stack_ops.free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frame_has_its_function_file_and_line),
		TEST(a_file_without_a_directory_is_its_own_module),
		TEST(a_code_object_that_did_not_come_has_no_name),
		TEST(one_without_a_name_keeps_its_file),
		TEST(a_frame_of_another_process_program_or_code_has_no_name),
		TEST(greenlet_switches_coroutines),
		TEST(what_is_asked_for_is_handed_on),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
