/* Few files beside one are enough. */
#include "cli/record/zones_inputs.h"

#undef ZONES_INPUTS_MAX_BESIDE
#define ZONES_INPUTS_MAX_BESIDE 16
#include "cli/record/zones_inputs.c"

#include <stackwide/zones.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/log.h"
#include "base/text.h"

/* clang-format off */
#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"
/* clang-format on */

static char folder[TEST_PATH_BYTES];
static char zones_path[TEST_PATH_BYTES + 32];
static char *paths[] = {zones_path};

static int make_folder(void **state _unused_)
{
	test_folder_make(folder);
	snprintf(zones_path, sizeof(zones_path), "%s/game.zones", folder);
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static int remove_folder(void **state _unused_)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* The file's path with what comes behind it. */
static const char *path_of(const char *suffix)
{
	static char path[sizeof(zones_path) + 32];

	snprintf(path, sizeof(path), "%s%s", zones_path, suffix);
	return path;
}

static void append(const char *suffix, const char *text)
{
	FILE *file = fopen(path_of(suffix), "a");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static unsigned int count_fds(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void assert_opened(const struct zones_inputs *inputs, size_t number, const char *suffix,
			  uint64_t bytes_before)
{
	assert_true(number < inputs->opened.length);
	assert_string_equal(inputs->opened.items[number].path, path_of(suffix));
	assert_true(inputs->opened.items[number].fd >= 0);
	assert_int_equal(inputs->opened.items[number].bytes_before, bytes_before);
}

static void files_of_children_belong_to_it_if_they_have_grown(void **state _unused_)
{
	struct zones_inputs inputs = {0};
	unsigned int num_fds = count_fds();

	append("", "before");
	append(".7", "of another run");
	append(".8", "goes on");
	zones_inputs_note(&inputs, paths, 1);
	append("", "after");
	append(".8", "on");
	append(".1234", "child");
	append(".99", "child");
	append(".99.100", "child");
	append(".99.", "no child");
	append(".99.x", "no child");
	append(".txt", "no child");
	append(".", "no child");
	append("x.5", "no child");
	assert_int_equal(symlink("/etc/passwd", path_of(".6")), 0);
	assert_int_equal(mkfifo(path_of(".5"), 0600), 0);
	zones_inputs_open(&inputs, paths, 1);
	assert_false(inputs.is_incomplete);
	assert_int_equal(inputs.opened.length, 5);
	assert_opened(&inputs, 0, "", 6);
	assert_opened(&inputs, 1, ".8", 7);
	assert_opened(&inputs, 2, ".99", 0);
	assert_opened(&inputs, 3, ".1234", 0);
	assert_opened(&inputs, 4, ".99.100", 0);
	assert_int_equal(count_fds(), num_fds + 5);
	zones_inputs_release(&inputs);
	assert_int_equal(count_fds(), num_fds);
}

static void shared_memory_belongs_to_it_while_it_is_written(void **state _unused_)
{
	struct zones_inputs inputs = {0};
	int fd;

	snprintf(zones_path, sizeof(zones_path), "%s/game.ring", folder);
	append("", "ring");
	append(".7", "of another run");
	append(".8", "of a child");
	zones_inputs_note(&inputs, paths, 1);
	fd = open(path_of(".8"), O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	zones_inputs_open(&inputs, paths, 1);
	assert_int_equal(inputs.opened.length, 2);
	assert_opened(&inputs, 1, ".8", 10);
	zones_inputs_release(&inputs);
	close(fd);
}

static void a_file_that_was_replaced_is_another_one(void **state _unused_)
{
	struct zones_inputs inputs = {0};

	append("", "before");
	append(".new", "new and longer");
	zones_inputs_note(&inputs, paths, 1);
	assert_int_equal(truncate(zones_path, 3), 0);
	zones_inputs_open(&inputs, paths, 1);
	assert_opened(&inputs, 0, "", 0);
	zones_inputs_release(&inputs);
	zones_inputs_note(&inputs, paths, 1);
	append(".new", "");
	assert_int_equal(rename(path_of(".new"), zones_path), 0);
	zones_inputs_open(&inputs, paths, 1);
	assert_opened(&inputs, 0, "", 0);
	zones_inputs_release(&inputs);
}

static void the_file_itself_may_be_missing_beside_those_of_children(void **state _unused_)
{
	struct zones_inputs inputs = {0};

	zones_inputs_note(&inputs, paths, 1);
	zones_inputs_open(&inputs, paths, 1);
	assert_true(inputs.is_incomplete);
	assert_int_equal(inputs.opened.length, 0);
	zones_inputs_release(&inputs);
	append(".44", "child");
	zones_inputs_open(&inputs, paths, 1);
	assert_false(inputs.is_incomplete);
	assert_opened(&inputs, 0, ".44", 0);
	zones_inputs_release(&inputs);
}

static bool is_opened(void)
{
	struct zones_inputs inputs = {0};
	size_t count;

	zones_inputs_open(&inputs, paths, 1);
	count = inputs.opened.length;
	assert_true(inputs.is_incomplete == !count);
	zones_inputs_release(&inputs);
	return count;
}

static void give_away(const char *suffix)
{
	assert_int_equal(lchown(path_of(suffix), 20001, 20001), 0);
}

/* What another user has put there decides neither what we read nor for how long. */
static void of_other_users_regular_files_alone_are_opened(void **state _unused_)
{
	char real[sizeof(zones_path) + 32];

	if (geteuid()) {
		print_message("skipped: only root can give files away\n");
		skip();
	}
	append("", "theirs");
	give_away("");
	assert_true(is_opened());
	assert_int_equal(truncate(zones_path, 5ll << 30), 0);
	assert_false(is_opened());
	assert_int_equal(unlink(zones_path), 0);
	append(".ours", "ours");
	/* A link of ours leads where it says, theirs nowhere. */
	snprintf(real, sizeof(real), "%s", path_of(".ours"));
	assert_int_equal(symlink(real, zones_path), 0);
	assert_true(is_opened());
	give_away("");
	assert_false(is_opened());
	assert_int_equal(unlink(zones_path), 0);
	/* A pipe that nobody writes. */
	assert_int_equal(mkfifo(zones_path, 0666), 0);
	give_away("");
	assert_false(is_opened());
	assert_int_equal(unlink(zones_path), 0);
	assert_int_equal(mknod(zones_path, S_IFCHR | 0666, makedev(1, 5)), 0);
	give_away("");
	assert_false(is_opened());
}

static void links_of_other_users_to_the_folder_are_not_followed(void **state _unused_)
{
	char link[sizeof(folder) + 8];

	if (geteuid()) {
		print_message("skipped: only root can give files away\n");
		skip();
	}
	append("", "ours");
	snprintf(link, sizeof(link), "%s.link", folder);
	assert_int_equal(symlink(folder, link), 0);
	snprintf(zones_path, sizeof(zones_path), "%s/game.zones", link);
	assert_true(is_opened());
	assert_int_equal(lchown(link, 20001, 20001), 0);
	assert_false(is_opened());
	assert_int_equal(unlink(link), 0);
}

static void files_beside_it_are_bounded(void **state _unused_)
{
	struct zones_inputs inputs = {0};
	char suffix[16];

	append("", "");
	for (int i = 1; i <= ZONES_INPUTS_MAX_BESIDE; i++) {
		snprintf(suffix, sizeof(suffix), ".%d", i);
		assert_int_equal(mknod(path_of(suffix), S_IFREG | 0600, 0), 0);
	}
	zones_inputs_note(&inputs, paths, 1);
	assert_int_equal(inputs.before.length, 1 + ZONES_INPUTS_MAX_BESIDE);
	zones_inputs_release(&inputs);
	append(".0", "");
	append(".00", "");
	zones_inputs_note(&inputs, paths, 1);
	assert_int_equal(inputs.before.length, 1 + ZONES_INPUTS_MAX_BESIDE);
	/* None has grown. */
	zones_inputs_open(&inputs, paths, 1);
	assert_int_equal(inputs.opened.length, 1);
	zones_inputs_release(&inputs);
}

/* Of an earlier run, and nobody writes it. */
static void shared_memory_that_is_not_written_is_not_collected(void **state _unused_)
{
	struct zones_inputs inputs = {0};
	unsigned int num_fds = count_fds();
	int fd;

	snprintf(zones_path, sizeof(zones_path), "%s/game.ring", folder);
	append("", "ring");
	zones_inputs_note(&inputs, paths, 1);
	zones_inputs_collect(&inputs, paths, 1, 2000000000ull);
	assert_int_equal(inputs.collectors.length, 0);
	assert_int_equal(count_fds(), num_fds);
	fd = open(zones_path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	/* It is no ring. */
	zones_inputs_collect(&inputs, paths, 1, 4000000000ull);
	assert_int_equal(inputs.collectors.length, 0);
	assert_int_equal(count_fds(), num_fds + 1);
	close(fd);
	zones_inputs_release(&inputs);
	assert_int_equal(count_fds(), num_fds);
}

/* What was not noted is taken for new; what was not opened is reported. */
static void short_memory_loses_no_descriptor(void **state _unused_)
{
	unsigned int num_fds = count_fds();
	bool has_failed = true;

	append("", "before");
	append(".7", "child");
	append(".8", "");
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct zones_inputs inputs = {0};

		failing_memory_start(num_before);
		zones_inputs_note(&inputs, paths, 1);
		has_failed = failing_memory_end();
		assert_int_equal(inputs.before.length < 3, has_failed);
		zones_inputs_open(&inputs, paths, 1);
		assert_false(inputs.is_incomplete);
		array_for_each (&inputs.opened, input)
			assert_true(input->bytes_before == 0 || input->bytes_before == 6);
		zones_inputs_release(&inputs);
	}
	for (has_failed = true; has_failed;) {
		static int64_t num_before;
		struct zones_inputs inputs = {0};

		failing_memory_start(num_before++);
		zones_inputs_open(&inputs, paths, 1);
		has_failed = failing_memory_end();
		assert_int_equal(inputs.is_incomplete, has_failed);
		assert_int_equal(count_fds(), num_fds + inputs.opened.length);
		if (!has_failed)
			assert_int_equal(inputs.opened.length, 2);
		zones_inputs_release(&inputs);
		assert_int_equal(count_fds(), num_fds);
	}
}

/* Who goes on asking asks ten times a second for what there is, and once a second for what is new. */
static void shared_memory_is_asked_for_now_and_then(void **state _unused_)
{
	struct zones_inputs inputs = {0};

	zones_inputs_collect(&inputs, paths, 1, LOOK_NS - 1);
	assert_int_equal(inputs.looked_ns, 0);
	assert_int_equal(inputs.collected_ns, LOOK_NS - 1);
	zones_inputs_collect(&inputs, paths, 1, LOOK_NS - 2 + COLLECT_NS);
	assert_int_equal(inputs.collected_ns, LOOK_NS - 1);
	zones_inputs_collect(&inputs, paths, 1, LOOK_NS - 1 + COLLECT_NS);
	assert_int_equal(inputs.collected_ns, LOOK_NS - 1 + COLLECT_NS);
	assert_int_equal(inputs.looked_ns, LOOK_NS - 1 + COLLECT_NS);
	zones_inputs_release(&inputs);
	zones_inputs_collect(&inputs, paths, 1, LOOK_NS);
	assert_int_equal(inputs.looked_ns, LOOK_NS);
	zones_inputs_release(&inputs);
}

/* Once each, and new files when they are looked for. */
static void shared_memory_is_collected_once(void **state _unused_)
{
	struct zones_inputs inputs = {0};
	unsigned int num_fds = count_fds();
	char command[2 * sizeof(zones_path) + 32];

	snprintf(zones_path, sizeof(zones_path), "%s/game.ring", folder);
	assert_int_equal(stackwide_zones_open(zones_path), 0);
	zones_inputs_collect(&inputs, paths, 1, LOOK_NS);
	assert_int_equal(inputs.collectors.length, 1);
	snprintf(command, sizeof(command), "cp '%s' '%s.9'", zones_path, zones_path);
	assert_int_equal(system(command), 0);
	zones_inputs_collect(&inputs, paths, 1, LOOK_NS + COLLECT_NS);
	assert_int_equal(inputs.collectors.length, 1);
	zones_inputs_collect(&inputs, paths, 1, 2 * LOOK_NS);
	assert_int_equal(inputs.collectors.length, 2);
	zones_inputs_collect(&inputs, paths, 1, 3 * LOOK_NS);
	assert_int_equal(inputs.collectors.length, 2);
	zones_inputs_release(&inputs);
	stackwide_zones_close();
	assert_int_equal(count_fds(), num_fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_of_children_belong_to_it_if_they_have_grown,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(shared_memory_belongs_to_it_while_it_is_written,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_file_that_was_replaced_is_another_one,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			the_file_itself_may_be_missing_beside_those_of_children, make_folder,
			remove_folder),
		cmocka_unit_test_setup_teardown(of_other_users_regular_files_alone_are_opened,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(links_of_other_users_to_the_folder_are_not_followed,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(files_beside_it_are_bounded, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(short_memory_loses_no_descriptor, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(shared_memory_is_collected_once, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(shared_memory_is_asked_for_now_and_then,
						make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(shared_memory_that_is_not_written_is_not_collected,
						make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
