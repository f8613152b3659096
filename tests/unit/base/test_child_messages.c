/* Messages of children: what is printed of them, and when. */
#include "base/child_messages.h"

/* The pipe of messages. */
#define UNIT_KEPT_DESCRIPTORS 2
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

/* Standard error of this process while a child runs. */
struct scene {
	int before;
	FILE *file;
	char printed[65536];
};

static void start(struct scene *scene)
{
	scene->file = tmpfile();
	assert_non_null(scene->file);
	scene->before = dup(STDERR_FILENO);
	assert_true(dup2(fileno(scene->file), STDERR_FILENO) >= 0);
}

static void end(struct scene *scene)
{
	size_t got;

	assert_true(dup2(scene->before, STDERR_FILENO) >= 0);
	close(scene->before);
	rewind(scene->file);
	got = fread(scene->printed, 1, sizeof(scene->printed) - 1, scene->file);
	scene->printed[got] = '\0';
	fclose(scene->file);
}

/* A child writes data; what has been printed of it when it has been reaped. */
static const char *print(struct scene *scene, const char *data, size_t length)
{
	int wait_status;
	pid_t child;

	assert_int_equal(child_messages_start(), 0);
	start(scene);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		child_messages_redirect();
		_exit(write(STDERR_FILENO, data, length) == (ssize_t)length ? 0 : 1);
	}
	assert_true(child_reap(child, 5000, &wait_status));
	end(scene);
	assert_int_equal(wait_status, 0);
	return scene->printed;
}

static void nothing_of_a_child_acts_on_a_terminal(void **state _unused_)
{
	static const char message[] = "a\033]0;title\007b\r\xc2\x9b"
				      "c\n\xff second\n";
	static struct scene scene;

	assert_string_equal(print(&scene, message, strlen(message)), "a ]0;title b  c\n? second\n");
}

static void a_line_without_end_has_one_when_the_child_ends(void **state _unused_)
{
	static struct scene scene;

	assert_string_equal(print(&scene, "begun", 5), "begun\n");
	assert_string_equal(print(&scene, "another\n", 8), "another\n");
	assert_string_equal(print(&scene, "", 0), "");
}

/* Standard error alone is the pipe's, and no child can read what others have written. */
static void a_child_has_no_other_end_of_the_pipe(void **state _unused_)
{
	int first_free;
	int wait_status;
	pid_t child;

	assert_int_equal(child_messages_start(), 0);
	first_free = dup(0);
	close(first_free);
	/* It is made once. */
	assert_int_equal(child_messages_start(), 0);
	assert_int_equal(dup(0), first_free);
	close(first_free);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		char pipe_of_stderr[64] = "";
		char other[64];
		char path[32];
		int num_others = 0;

		child_messages_redirect();
		(void)!readlink("/proc/self/fd/2", pipe_of_stderr, sizeof(pipe_of_stderr) - 1);
		for (int fd = 3; fd < 100; fd++) {
			memset(other, 0, sizeof(other));
			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			if (readlink(path, other, sizeof(other) - 1) > 0)
				num_others += !strcmp(other, pipe_of_stderr);
		}
		if (strncmp(pipe_of_stderr, "pipe:", 5) || num_others)
			_exit(1);
		/* A child's child has it, too, and prints nothing itself. */
		child_messages_redirect();
		child_messages_print();
		_exit(fcntl(STDERR_FILENO, F_GETFD) != 0);
	}
	assert_true(child_reap(child, 5000, &wait_status));
	assert_int_equal(wait_status, 0);
}

static void several_lines_are_printed_each(void **state _unused_)
{
	static struct scene scene;

	assert_string_equal(print(&scene, "a\n\nb\nc", 6), "a\n\nb\nc\n");
}

static void a_line_may_be_longer_than_what_is_kept_of_it(void **state _unused_)
{
	static struct scene scene;
	static char line[40000];
	const char *printed;

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	printed = print(&scene, line, sizeof(line));
	assert_int_equal(strlen(printed), sizeof(line));
	assert_memory_equal(printed, line, sizeof(line));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_of_a_child_acts_on_a_terminal),
		cmocka_unit_test(a_line_without_end_has_one_when_the_child_ends),
		cmocka_unit_test(a_line_may_be_longer_than_what_is_kept_of_it),
		cmocka_unit_test(a_child_has_no_other_end_of_the_pipe),
		cmocka_unit_test(several_lines_are_printed_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
