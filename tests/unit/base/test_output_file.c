#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/clock.h"

uint64_t now_of_test(void);
int pause_of_test(useconds_t pause_us);
int open_of_test(int folder_fd, const char *path, int flags, ...);

#define openat       open_of_test
#define clock_now_ns now_of_test
#define usleep       pause_of_test
#include "base/output_file.c"
#undef openat
#undef clock_now_ns
#undef usleep

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "test_folder.h"
#include "unit.h"

/* Time passes in pauses alone. */
static uint64_t now_ns;
static uint64_t reader_ns; /* when somebody opens the pipe; 0: nobody does */
static int reader_fd = -1;
static bool replaces_pipe; /* in the first pause */
/* NFS, for one, has none. */
static bool lacks_anonymous_files;

uint64_t now_of_test(void)
{
	return now_ns;
}

int pause_of_test(useconds_t pause_us)
{
	now_ns += pause_us * 1000ull;
	if (reader_ns && now_ns >= reader_ns && reader_fd < 0)
		reader_fd = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (replaces_pipe)
		(void)!rename("other", "pipe");
	return 0;
}

int open_of_test(int folder_fd, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	errno = EOPNOTSUPP;
	if ((flags & O_TMPFILE) == O_TMPFILE && lacks_anonymous_files)
		return -1;
	va_start(arguments, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return openat(folder_fd, path, flags, mode);
}

/* Each test runs in an empty folder of its own. */
static int enter_folder(void **state)
{
	char *folder = malloc(TEST_PATH_BYTES);

	assert_non_null(folder);
	test_folder_make(folder);
	*state = folder;
	return chdir(folder);
}

static int leave_folder(void **state)
{
	char command[TEST_PATH_BYTES + 16];
	int err;

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	err = chdir("/") || system(command);
	free(*state);
	return err;
}

static int count_entries(void)
{
	DIR *folder = opendir(".");
	int count = -2; /* . and .. */

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void assert_content(const char *path, const char *expected)
{
	struct text text = {0};

	assert_int_equal(file_read_at(AT_FDCWD, path, 1000, &text), 0);
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void put(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void nothing_is_visible_before_the_commit(void **state _unused_)
{
	struct output_file *file;

	assert_int_equal(output_file_open("x.folded", OUTPUT_MODE, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "a 1\n", 4), 0);
	assert_int_equal(access("x.folded", F_OK), -1);
	assert_int_equal(output_file_commit(file, NULL), 0);
	assert_int_equal(output_file_get_size(file), 4);
	output_file_free(file);
	assert_content("x.folded", "a 1\n");
	assert_int_equal(count_entries(), 1);
}

static void giving_up_keeps_the_old_file_and_nothing_else(void **state _unused_)
{
	struct output_file *file;

	put("x.folded", "old");
	assert_int_equal(output_file_open("x.folded", OUTPUT_MODE, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	output_file_free(file);
	assert_content("x.folded", "old");
	assert_int_equal(count_entries(), 1);
}

static void without_anonymous_files_a_named_one_comes_first(void **state _unused_)
{
	struct output_file *file;

	put("x.folded", "old");
	lacks_anonymous_files = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(output_file_open("x.folded", OUTPUT_MODE, &file, NULL), 0);
		assert_int_equal(output_file_write(file, "new", 3), 0);
		assert_int_equal(count_entries(), 2);
		assert_content("x.folded", "old");
		if (i)
			assert_int_equal(output_file_commit(file, NULL), 0);
		output_file_free(file); /* once it is given up */
		assert_int_equal(count_entries(), 1);
	}
	lacks_anonymous_files = false;
	assert_content("x.folded", "new");
}

static void write_new(const char *path, mode_t mode)
{
	struct output_file *file;

	assert_int_equal(output_file_open(path, mode, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_content(path, "new");
}

static mode_t get_mode(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode;
}

static void a_commit_replaces_the_old_file_and_not_its_mode(void **state _unused_)
{
	put("x.folded", "old");
	assert_int_equal(chmod("x.folded", 06777), 0);
	write_new("x.folded", OUTPUT_MODE_PRIVATE);
	assert_int_equal(get_mode("x.folded"), S_IFREG | 0600);
	assert_int_equal(count_entries(), 1);
}

static void a_link_is_replaced_and_its_target_left_alone(void **state _unused_)
{
	put("target", "old");
	assert_int_equal(symlink("target", "x.folded"), 0);
	assert_int_equal(symlink("nowhere", "y.folded"), 0);
	write_new("x.folded", OUTPUT_MODE);
	write_new("y.folded", OUTPUT_MODE);
	assert_true(S_ISREG(get_mode("x.folded")));
	assert_true(S_ISREG(get_mode("y.folded")));
	assert_content("target", "old");
	assert_int_equal(access("nowhere", F_OK), -1);
}

/* Whoever foresees the temporary name could put a folder there. */
static void each_temporary_name_is_another(void **state _unused_)
{
	struct output_file *file;
	char path[64];

	for (int i = 0; i < 3; i++) {
		put("x.folded", "old");
		snprintf(path, sizeof(path), ".x.folded.%d.tmp", getpid());
		(void)mkdir(path, 0777);
		assert_int_equal(output_file_open("x.folded", OUTPUT_MODE, &file, NULL), 0);
		assert_int_equal(output_file_write(file, "new", 3), 0);
		assert_int_equal(output_file_commit(file, NULL), 0);
		output_file_free(file);
		assert_content("x.folded", "new");
	}
	assert_int_equal(count_entries(), 2);
}

static void links_of_other_users_are_not_followed_to_the_folder(void **state _unused_)
{
	struct output_file *file;
	struct error error;

	if (geteuid()) {
		print_message("skipped: only root can give files away\n");
		skip();
	}
	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(mkdir("folder/below", 0777), 0);
	put("folder/below/x", "old");
	assert_int_equal(symlink("folder/below", "link"), 0);
	assert_int_equal(symlink("link", "chain"), 0);
	write_new("link/x", OUTPUT_MODE);
	put("folder/below/x", "old");
	write_new("./chain/../below/x", OUTPUT_MODE);
	put("folder/below/x", "old");
	assert_int_equal(lchown("link", 20001, 20001), 0);
	assert_int_equal(output_file_open("link/x", OUTPUT_MODE, &file, &error), -EPERM);
	assert_non_null(strstr(error.message, "'link/x': a link in its path"));
	assert_int_equal(output_file_open("chain/x", OUTPUT_MODE, &file, &error), -EPERM);
	assert_int_equal(output_file_open("chain/below/x", OUTPUT_MODE, &file, &error), -EPERM);
	assert_content("folder/below/x", "old");
	/* Nor is there an end to links in a circle. */
	assert_int_equal(symlink("second", "first"), 0);
	assert_int_equal(symlink("first", "second"), 0);
	assert_int_equal(output_file_open("first/x", OUTPUT_MODE, &file, &error), -ELOOP);
	assert_int_equal(output_file_open("none/x", OUTPUT_MODE, &file, &error), -ENOENT);
	assert_int_equal(output_file_open("folder/below/x/y", OUTPUT_MODE, &file, &error),
			 -ENOTDIR);
}

static void a_folder_that_is_replaced_meanwhile_is_still_the_one(void **state _unused_)
{
	struct output_file *file;

	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(output_file_open("folder/x", OUTPUT_MODE, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	assert_int_equal(mkdir("other", 0777), 0);
	assert_int_equal(rename("folder", "moved"), 0);
	assert_int_equal(symlink("other", "folder"), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_content("moved/x", "new");
	assert_int_equal(access("other/x", F_OK), -1);
}

static void what_belongs_to_others_is_refused(void **state _unused_)
{
	struct output_file *file;
	struct error error;

	if (geteuid())
		skip();
	put("x.folded", "old");
	assert_int_equal(chown("x.folded", 4321, 0), 0);
	assert_int_equal(output_file_open("x.folded", OUTPUT_MODE, &file, &error), -EPERM);
	assert_string_equal(
		error.message,
		"cannot write 'x.folded': the existing file belongs to another user (uid 4321)");
	assert_int_equal(mkfifo("pipe", 0666), 0);
	assert_int_equal(chown("pipe", 4321, 0), 0);
	assert_int_equal(output_file_open("pipe", OUTPUT_MODE, &file, &error), -EPERM);
	/* Of the one who has called us by sudo. */
	setenv("SUDO_UID", "4321", 1);
	write_new("x.folded", OUTPUT_MODE);
	unsetenv("SUDO_UID");
}

static void a_pipe_that_nobody_reads_is_not_waited_for_without_end(void **state _unused_)
{
	struct output_file *file;
	const uint64_t start_ns = now_ns;
	char text[8] = "";

	assert_int_equal(mkfifo("pipe", 0666), 0);
	assert_int_equal(output_file_open("pipe", OUTPUT_MODE, &file, NULL), -ENXIO);
	assert_in_range(now_ns - start_ns, 5 * NS_PER_SECOND, 5 * NS_PER_SECOND + 10 * NS_PER_MS);
	/* Somebody reads in the last moment. */
	reader_ns = now_ns + 5 * NS_PER_SECOND;
	assert_int_equal(output_file_open("pipe", OUTPUT_MODE, &file, NULL), 0);
	assert_true(now_ns >= reader_ns);
	assert_false(fcntl(file->fd, F_GETFL) & O_NONBLOCK); /* a slow reader is waited for */
	assert_int_equal(output_file_write(file, "new", 3), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_int_equal(read(reader_fd, text, sizeof(text)), 3);
	assert_string_equal(text, "new");
	close(reader_fd);
}

/* The other one has a reader. */
static void a_pipe_that_replaces_another_one_is_not_written_to(void **state _unused_)
{
	struct output_file *file;
	char byte;
	int fd;

	assert_int_equal(mkfifo("pipe", 0666), 0);
	assert_int_equal(mkfifo("other", 0666), 0);
	fd = open("other", O_RDONLY | O_NONBLOCK);
	replaces_pipe = true;
	assert_int_equal(output_file_open("pipe", OUTPUT_MODE, &file, NULL), -EAGAIN);
	replaces_pipe = false;
	assert_int_equal(read(fd, &byte, 1), 0);
	close(fd);
}

static void an_open_descriptor_is_written_to_whatever_it_leads_to(void **state _unused_)
{
	struct output_file *file;
	struct error error;
	char path[32];
	int fd = open("x.folded", O_WRONLY | O_CREAT, 0600);

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	assert_int_equal(write(fd, "an ", 3), 3);
	assert_int_equal(output_file_open(path, OUTPUT_MODE, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "end", 3), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	close(fd);
	assert_content("x.folded", "an end");
	assert_int_equal(output_file_open(path, OUTPUT_MODE, &file, &error), -EBADF);
	fd = open("x.folded", O_RDONLY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(output_file_open(path, OUTPUT_MODE, &file, &error), -EBADF);
	close(fd);
}

static void devices_are_written_to_directly(void **state _unused_)
{
	struct output_file *file;

	assert_int_equal(output_file_open("/dev/null", OUTPUT_MODE, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "x", 1), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_int_equal(output_file_open("/dev/full", OUTPUT_MODE, &file, NULL), 0);
	assert_int_equal(output_file_write(file, "x", 1), -ENOSPC);
	output_file_free(file);
}

static void a_missing_folder_and_a_folder_are_refused(void **state _unused_)
{
	struct output_file *file;
	struct error error;

	assert_int_equal(output_file_open("none/x.folded", OUTPUT_MODE, &file, &error), -ENOENT);
	assert_string_equal(error.message,
			    "cannot write 'none/x.folded': No such file or directory");
	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(output_file_open("folder", OUTPUT_MODE, &file, &error), -EISDIR);
}

#define folder_test(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(nothing_is_visible_before_the_commit),
		folder_test(giving_up_keeps_the_old_file_and_nothing_else),
		folder_test(without_anonymous_files_a_named_one_comes_first),
		folder_test(a_commit_replaces_the_old_file_and_not_its_mode),
		folder_test(a_link_is_replaced_and_its_target_left_alone),
		folder_test(each_temporary_name_is_another),
		folder_test(links_of_other_users_are_not_followed_to_the_folder),
		folder_test(a_folder_that_is_replaced_meanwhile_is_still_the_one),
		folder_test(what_belongs_to_others_is_refused),
		folder_test(a_pipe_that_nobody_reads_is_not_waited_for_without_end),
		folder_test(a_pipe_that_replaces_another_one_is_not_written_to),
		folder_test(an_open_descriptor_is_written_to_whatever_it_leads_to),
		folder_test(devices_are_written_to_directly),
		folder_test(a_missing_folder_and_a_folder_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
