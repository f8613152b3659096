#include "process/jit_runtime.h"

#include <stdio.h>
#include <string.h>

#include "process_fixture.h"
#include "unit.h"

/* Maps these files in PID, and asks. */
static bool keeps(struct fixture *fixture, const char *first, const char *second)
{
	const struct process *process;

	on_fork(fixture, 100, PID, 7);
	process = find(fixture, 110, PID, NO_GEN);
	on_mmap(fixture, 120, PID, 0x1000, 0x2000, first);
	if (second)
		on_mmap(fixture, 120, PID, 0x3000, 0x4000, second);
	return process_table_keeps_frame_pointers(fixture->table, process->id);
}

static void write_options(struct fixture *fixture, const char *command, size_t command_size,
			  const char *environment, size_t environment_size)
{
	struct text name = fake_proc_path(&fixture->proc, "8/cmdline");
	FILE *file;

	fake_proc_write(&fixture->proc, "8/cmdline", "");
	fake_proc_write(&fixture->proc, "8/environ", "");
	file = fopen(name.data, "w");
	assert_int_equal(fwrite(command, 1, command_size, file), command_size);
	fclose(file);
	text_release(&name);
	name = fake_proc_path(&fixture->proc, "8/environ");
	file = fopen(name.data, "w");
	assert_int_equal(fwrite(environment, 1, environment_size, file), environment_size);
	fclose(file);
	text_release(&name);
}

/* Words with a NUL after each. */
static bool java_keeps(void **state, const char *command, size_t command_size,
		       const char *environment, size_t environment_size)
{
	bool is_kept;

	assert_int_equal(set_up(state), 0);
	write_options(*state, command, command_size, environment, environment_size);
	is_kept = keeps(*state, "/no/lib/server/libjvm.so", NULL);
	tear_down(state);
	return is_kept;
}
#define JAVA_KEEPS(command, environment) \
	java_keeps(state, command, sizeof(command) - 1, environment, sizeof(environment) - 1)

#define ON  "-XX:+PreserveFramePointer"
#define OFF "-XX:-PreserveFramePointer"

static void v8_and_dotnet_keep_them(_unused_ void **state)
{
	static const char *const paths[] = {"/no/node", "/no/libnode.so.108", "/no/libcoreclr.so",
					    "/no/memfd:doublemapper"};

	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
		void *fixture;

		assert_int_equal(set_up(&fixture), 0);
		assert_true(keeps(fixture, "/no/libc.so.6", paths[i]));
		tear_down(&fixture);
	}
}

static void what_is_known_stays_when_the_process_is_gone(_unused_ void **state)
{
	struct fixture *fixture;
	void *made;
	uint32_t id;

	assert_int_equal(set_up(&made), 0);
	fixture = made;
	write_options(made, "java\0" ON, sizeof("java\0" ON), "", 0);
	assert_true(keeps(made, "/no/lib/server/libjvm.so", NULL));
	id = find(fixture, 130, PID, NO_GEN)->id;
	write_options(made, "", 0, "", 0);
	assert_true(process_table_keeps_frame_pointers(fixture->table, id));
	tear_down(&made);
}

static void an_unknown_runtime_does_not(_unused_ void **state)
{
	void *fixture;

	assert_int_equal(set_up(&fixture), 0);
	assert_false(keeps(fixture, "/no/luajit", "/no/nodelike"));
	tear_down(&fixture);
}

static void java_keeps_them_when_it_is_asked_to(_unused_ void **unused)
{
	void *fixture;
	void **state = &fixture;

	assert_false(JAVA_KEEPS("java\0Main\0", ""));
	assert_true(JAVA_KEEPS("/usr/bin/java\0-Xmx1g\0" ON "\0Main\0", ""));
	assert_true(JAVA_KEEPS("java\0-cp\0a.jar\0" ON "\0Main\0", ""));
	assert_true(JAVA_KEEPS("java\0Main\0", "A=1\0JAVA_TOOL_OPTIONS=-Xmx1g " ON "\0"));
	assert_true(JAVA_KEEPS("launcher\0x\0", "_JAVA_OPTIONS=" ON "\0"));
	assert_true(JAVA_KEEPS("java\0Main\0", "JDK_JAVA_OPTIONS=\t" ON "  \0"));
}

static void the_last_option_counts(_unused_ void **unused)
{
	void *fixture;
	void **state = &fixture;

	assert_false(JAVA_KEEPS("java\0" ON "\0" OFF "\0Main\0", ""));
	assert_false(JAVA_KEEPS("java\0" OFF "\0Main\0", "JAVA_TOOL_OPTIONS=" ON "\0"));
	assert_false(JAVA_KEEPS("java\0" ON "\0Main\0", "_JAVA_OPTIONS=" OFF "\0"));
	assert_true(JAVA_KEEPS("java\0" ON "\0Main\0", "JDK_JAVA_OPTIONS=" OFF "\0"));
}

static void words_that_are_no_options_of_java_have_no_effect(_unused_ void **unused)
{
	void *fixture;
	void **state = &fixture;

	assert_false(JAVA_KEEPS("java\0Main\0" ON "\0", ""));
	assert_false(JAVA_KEEPS("java\0-jar\0" ON "\0" ON "\0", ""));
	assert_false(JAVA_KEEPS("java\0-cp\0" ON "\0Main\0", ""));
	assert_false(JAVA_KEEPS("launcher\0" ON "\0", ""));
	assert_false(JAVA_KEEPS("java\0" ON "x\0Main\0", "XJAVA_TOOL_OPTIONS=" ON "\0"));
	assert_false(JAVA_KEEPS("", ""));
	assert_false(JAVA_KEEPS("java", "_JAVA_OPTIONS"));
	assert_true(JAVA_KEEPS("java\0" ON, ""));
}

static void options_that_cannot_be_read_are_none(_unused_ void **state)
{
	void *fixture;

	assert_int_equal(set_up(&fixture), 0);
	assert_false(keeps(fixture, "/no/libjvm.so", NULL));
	tear_down(&fixture);
}

static void one_runtime_that_does_not_is_enough(_unused_ void **state)
{
	void *fixture;

	assert_int_equal(set_up(&fixture), 0);
	assert_false(keeps(fixture, "/no/node", "/no/libjvm.so"));
	tear_down(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v8_and_dotnet_keep_them),
		cmocka_unit_test(what_is_known_stays_when_the_process_is_gone),
		cmocka_unit_test(an_unknown_runtime_does_not),
		cmocka_unit_test(java_keeps_them_when_it_is_asked_to),
		cmocka_unit_test(the_last_option_counts),
		cmocka_unit_test(words_that_are_no_options_of_java_have_no_effect),
		cmocka_unit_test(options_that_cannot_be_read_are_none),
		cmocka_unit_test(one_runtime_that_does_not_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
