/* What is logged of libbpf's messages, and how a load that fails is repeated. libbpf is the test's. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/log.h"

static void note_line(const char *format, ...) _printf_(1, 2);
int print_of_test(char **ret, const char *format, va_list arguments) _printf_(2, 0);

#define log_debug note_line
#define vasprintf print_of_test
#include "collect/kernel/bpf_log.c"
#undef vasprintf

#include <bpf/libbpf.h>

#include "unit.h"

static char lines[4096]; /* that were logged */

static void note_line(const char *format, ...)
{
	size_t length = strlen(lines);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(lines + length, sizeof(lines) - length, format, arguments);
	va_end(arguments);
	strcat(lines, "|");
}

static bool is_short; /* of memory */

int print_of_test(char **ret, const char *format, va_list arguments)
{
	if (!is_short)
		return vasprintf(ret, format, arguments);
	*ret = (char *)lines; /* not to be used */
	return -1;
}

static libbpf_print_fn_t print;

libbpf_print_fn_t libbpf_set_print(libbpf_print_fn_t function)
{
	print = function;
	return NULL;
}

static void say(enum libbpf_print_level level, const char *format, ...) _printf_(2, 3);
static void say(enum libbpf_print_level level, const char *format, ...)
{
	va_list arguments;

	lines[0] = '\0';
	va_start(arguments, format);
	assert_int_equal(print(level, format, arguments), 0);
	va_end(arguments);
}

static void verified_instructions_are_told_with_their_program(void **state _unused_)
{
	bpf_log_start();
	say(LIBBPF_DEBUG, "libbpf: prog '%s': -- BEGIN PROG LOAD LOG --\nx\nprocessed 1234 insns (",
	    "on_a_tick_of_any_kind");
	assert_string_equal(lines, "on_a_tick_of_any_kind: 1234 instructions verified|");
	/* Any other message for debugging is left out. */
	say(LIBBPF_DEBUG, "libbpf: prog 'on_tick': relocated");
	assert_string_equal(lines, "");
	say(LIBBPF_DEBUG, "libbpf: map 'x':\nprocessed 1234 insns");
	assert_string_equal(lines, "");
}

static void of_a_long_message_both_ends_are_told(void **state _unused_)
{
	char message[4000] = "";
	char expected[400] = "first|";

	bpf_log_start();
	strcat(message, "first\n");
	for (int i = 0; i < 100; i++)
		snprintf(message + strlen(message), sizeof(message) - strlen(message), "%d\n", i);
	say(LIBBPF_WARN, "%s", message);
	for (int i = 90; i < 100; i++)
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%d|",
			 i);
	assert_string_equal(lines, expected);
	/* Without the empty ones. */
	say(LIBBPF_INFO, "a\n\nb\n");
	assert_string_equal(lines, "a|b|");
}

static void a_message_that_finds_no_memory_is_left_out(void **state _unused_)
{
	bpf_log_start();
	is_short = true;
	say(LIBBPF_WARN, "message %d", 1);
	is_short = false;
	assert_string_equal(lines, "");
}

/* ---- loading ---- */

#define NUM_PROGRAMS 3

static char programs[NUM_PROGRAMS]; /* only pointed to */
static bool are_loaded[NUM_PROGRAMS];
static uint32_t log_levels[NUM_PROGRAMS];
static char story[64];
static int open_errors[2], load_errors[2]; /* of the first and of the second time */
static unsigned int num_opens, num_loads;
static struct bpf_object *object = (struct bpf_object *)programs;
static struct bpf_object_skeleton skeleton = {.obj = &object};

struct bpf_program *bpf_object__next_program(const struct bpf_object *of,
					     struct bpf_program *program)
{
	char *next = program ? (char *)program + 1 : programs;

	assert_ptr_equal(of, object);
	return next < programs + NUM_PROGRAMS ? (struct bpf_program *)next : NULL;
}

bool bpf_program__autoload(const struct bpf_program *program)
{
	return are_loaded[(const char *)program - programs];
}

int bpf_program__set_log_level(struct bpf_program *program, __u32 level)
{
	log_levels[(char *)program - programs] = level;
	return 0;
}

int bpf_object__load_skeleton(struct bpf_object_skeleton *loaded)
{
	assert_ptr_equal(loaded, &skeleton);
	strcat(story, "load,");
	return load_errors[num_loads++];
}

static int open_object(void *context, struct bpf_object_skeleton **ret)
{
	assert_ptr_equal(context, story);
	strcat(story, "open,");
	memset(log_levels, 0, sizeof(log_levels));
	*ret = &skeleton;
	return open_errors[num_opens++];
}

static void close_object(void *context)
{
	assert_ptr_equal(context, story);
	strcat(story, "close,");
}

static void load(enum log_level level, int expected, const char *expected_story)
{
	story[0] = '\0';
	num_opens = num_loads = 0;
	log_set_level(level);
	assert_int_equal(bpf_log_load(open_object, close_object, story), expected);
	assert_string_equal(story, expected_story);
	log_set_level(LOG_LEVEL_NORMAL);
	memset(open_errors, 0, sizeof(open_errors));
	memset(load_errors, 0, sizeof(load_errors));
}

static void instructions_are_counted_of_what_is_loaded_where_it_is_told(void **state _unused_)
{
	are_loaded[0] = are_loaded[2] = true;
	load(LOG_LEVEL_NORMAL, 0, "open,load,");
	assert_int_equal(log_levels[0] | log_levels[1] | log_levels[2], 0);
	load(LOG_LEVEL_VERBOSE, 0, "open,load,");
	assert_int_equal(log_levels[0], 4);
	assert_int_equal(log_levels[1], 0);
	assert_int_equal(log_levels[2], 4);
}

static void a_load_that_fails_with_a_log_is_repeated_without(void **state _unused_)
{
	are_loaded[0] = true;
	load_errors[0] = -EACCES;
	load(LOG_LEVEL_NORMAL, -EACCES, "open,load,");
	load_errors[0] = -EACCES;
	load(LOG_LEVEL_VERBOSE, 0, "open,load,close,open,load,");
	assert_int_equal(log_levels[0], 0);
	load_errors[0] = load_errors[1] = -EACCES;
	load(LOG_LEVEL_VERBOSE, -EACCES, "open,load,close,open,load,");
}

static void what_cannot_be_opened_is_not_loaded(void **state _unused_)
{
	open_errors[0] = -ENOTSUP;
	load(LOG_LEVEL_VERBOSE, -ENOTSUP, "open,");
	open_errors[1] = -ENOMEM;
	load_errors[0] = -EACCES;
	load(LOG_LEVEL_VERBOSE, -ENOMEM, "open,load,close,open,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verified_instructions_are_told_with_their_program),
		cmocka_unit_test(of_a_long_message_both_ends_are_told),
		cmocka_unit_test(a_message_that_finds_no_memory_is_left_out),
		cmocka_unit_test(instructions_are_counted_of_what_is_loaded_where_it_is_told),
		cmocka_unit_test(a_load_that_fails_with_a_log_is_repeated_without),
		cmocka_unit_test(what_cannot_be_opened_is_not_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
