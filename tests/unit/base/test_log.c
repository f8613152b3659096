#include "base/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

/* What log_error() prints. */
static void read_line(char *ret, size_t capacity, const char *name)
{
	int before = dup(STDERR_FILENO);
	int ends[2];
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
	log_error("%s: broken", name);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	close(ends[1]);
	got = read(ends[0], ret, capacity - 1);
	assert_true(got >= 0);
	ret[got] = '\0';
	close(ends[0]);
}

static void a_terminal_finds_nothing_to_act_on(void **state)
{
	char line[256];

	(void)state;
	read_line(line, sizeof(line), "a\033]0;title\007b\r\nc");
	assert_string_equal(line, "stackwide: a ]0;title b  c: broken\n");
	/* C1 controls, the direction of writing, no UTF-8. */
	read_line(line, sizeof(line),
		  "\xc2\x9b"
		  "2J\xe2\x80\xae\xffx");
	assert_string_equal(line, "stackwide:  2J ?x: broken\n");
}

static void any_other_character_is_shown(void **state)
{
	char line[256];

	(void)state;
	read_line(line, sizeof(line), "Z\xc3\xbcrich/\xe2\x82\xac");
	assert_string_equal(line, "stackwide: Z\xc3\xbcrich/\xe2\x82\xac: broken\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_terminal_finds_nothing_to_act_on),
		cmocka_unit_test(any_other_character_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
