#include "archive/archive.h"
#include "archive_fixture.h"
#include "base/file.h"

#define KIND "texts of a test, 1"

static void make_path(const struct fixture *fixture, char ret[512])
{
	fixture_join(fixture, ARCHIVE_INDEX_NAME, ret);
}

static struct archive_list list(const struct fixture *fixture)
{
	struct archive_list list;

	assert_int_equal(archive_list_init(&list, fixture->archive, INT64_MIN, INT64_MAX, NULL), 0);
	return list;
}

/* Add the text "TEXT N" for the N-th of the captures, from 1. */
static void add_texts(const struct fixture *fixture, const char *text)
{
	struct archive_list captures = list(fixture);

	for (size_t i = 0; i < captures.captures.length; i++) {
		char numbered[64];
		struct archive_index_line line = {&captures.captures.items[i], numbered};

		snprintf(numbered, sizeof(numbered), "%s %zu", text, i + 1);
		assert_int_equal(archive_index_add(fixture->archive, KIND, &line, 1), 0);
	}
	archive_list_release(&captures);
}

/* The texts of all captures, joined by commas; "-" where there is none. */
static void assert_texts(const struct fixture *fixture, const char *kind, const char *expected)
{
	struct archive_list captures = list(fixture);
	struct archive_index *index;
	struct text found = {0};

	assert_int_equal(archive_index_new(fixture->archive, kind, &index), 0);
	array_for_each (&captures.captures, capture) {
		const char *text = archive_index_find(index, capture);

		text_printf(&found, "%s%s", found.length ? ", " : "", text ? text : "-");
	}
	assert_string_equal(found.data, expected);
	text_release(&found);
	archive_index_free(index);
	archive_list_release(&captures);
}

static struct text read_index(const struct fixture *fixture)
{
	struct text bytes = {0};
	char path[512];

	make_path(fixture, path);
	assert_int_equal(file_read_at(AT_FDCWD, path, 1u << 20, &bytes), 0);
	return bytes;
}

static void write_index(const struct fixture *fixture, const void *data, size_t size)
{
	char path[512];
	int fd;

	make_path(fixture, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(file_write_fd(fd, data, size), 0);
	close(fd);
}

static void a_text_is_found_by_its_capture(void **state)
{
	struct stat status;
	char path[512];

	umask(0);
	for (int i = 0; i < 12; i++)
		fixture_add(*state, NOON + i, 1);
	assert_texts(*state, KIND, "-, -, -, -, -, -, -, -, -, -, -, -");
	add_texts(*state, "text");
	assert_texts(*state, KIND,
		     "text 1, text 2, text 3, text 4, text 5, text 6, text 7, text 8, text 9, "
		     "text 10, text 11, text 12");
	make_path(*state, path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
}

static void another_kind_of_text_is_none(void **state)
{
	fixture_add(*state, NOON, 1);
	add_texts(*state, "text");
	assert_texts(*state, "texts of a test, 2", "-");
	assert_texts(*state, "texts of a test", "-");
	assert_texts(*state, "", "-");
}

static void a_capture_that_has_changed_has_no_text(void **state)
{
	static const struct timespec times[2] = {{.tv_sec = NOON}, {.tv_sec = NOON}};
	char path[512];
	int fd;

	for (int i = 0; i < 3; i++)
		fixture_add(*state, NOON + i, 3);
	add_texts(*state, "text");
	fixture_join(*state, "2026/11/21/120000Z-host.folded", path);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	/* Longer, but of the same time. */
	fixture_join(*state, "2026/11/21/120001Z-host.folded", path);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_true(fd >= 0);
	struct stat status;
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(futimens(fd, (struct timespec[]){status.st_atim, status.st_mtim}), 0);
	close(fd);
	assert_texts(*state, KIND, "-, -, text 3");
}

static void the_later_of_two_texts_counts(void **state)
{
	fixture_add(*state, NOON, 1);
	add_texts(*state, "text");
	add_texts(*state, "newer");
	assert_texts(*state, KIND, "newer 1");
	add_texts(*state, "a");
	assert_texts(*state, KIND, "a 1");
}

static void what_is_damaged_is_left_out(void **state)
{
	struct text bytes;
	char *third;

	for (int i = 0; i < 4; i++)
		fixture_add(*state, NOON + i, 1);
	add_texts(*state, "text");
	bytes = read_index(*state);
	*strstr(bytes.data, "text 1") = 'T';
	third = strstr(bytes.data, "120002Z");
	third[3] = '\0';
	write_index(*state, bytes.data, bytes.length - 2);
	assert_texts(*state, KIND, "-, text 2, -, -");
	/* The next line does not continue the last one. */
	add_texts(*state, "new");
	assert_texts(*state, KIND, "new 1, new 2, new 3, new 4");
	text_release(&bytes);
}

static void any_part_of_an_index_is_harmless(void **state)
{
	struct text bytes;

	fixture_add(*state, NOON, 1);
	add_texts(*state, "text");
	bytes = read_index(*state);
	for (size_t length = 0; length < bytes.length; length++) {
		write_index(*state, bytes.data, length);
		assert_texts(*state, KIND, "-");
	}
	for (size_t i = 0; i < bytes.length; i++) {
		bytes.data[i] ^= 1;
		write_index(*state, bytes.data, bytes.length);
		assert_texts(*state, KIND, "-");
		bytes.data[i] ^= 1;
	}
	text_release(&bytes);
}

static void lines_that_are_none_are_left_out(void **state)
{
	static const char lines[] = KIND "\n"
					 "\n"
					 " \n"
					 "    \n"
					 "\0\n"
					 "2026/11/21/120000Z-host.folded\n"
					 "2026/11/21/120000Z-host.folded 1 1\n"
					 "2026/11/21/120000Z-host.folded 1 1 0000000000000000\n"
					 "2026/11/21/120000Z-host.folded 1 1 0000000000000000 \n"
					 "2026/11/21/120000Z-host.folded 1 1 00000000000000000 a\n"
					 "2026/11/21/120000Z-host.folded 1 1 fffffffffffffffff a\n"
					 "2026/11/21/120000Z-host.folded 1 1 xxxxxxxxxxxxxxxx a\n"
					 "no end";

	fixture_add(*state, NOON, 1);
	write_index(*state, lines, sizeof(lines) - 1);
	assert_texts(*state, KIND, "-");
	add_texts(*state, "text");
	assert_texts(*state, KIND, "text 1");
}

static void no_text_breaks_its_line(void **state)
{
	struct archive_list captures;
	char *longest = malloc(ARCHIVE_INDEX_MAX_TEXT + 2);

	memset(longest, 'a', ARCHIVE_INDEX_MAX_TEXT + 1);
	longest[ARCHIVE_INDEX_MAX_TEXT + 1] = '\0';
	for (int i = 0; i < 5; i++)
		fixture_add(*state, NOON + i, 1);
	captures = list(*state);
	struct archive_index_line lines[] = {
		{&captures.captures.items[0], "a\n2026/11/21/120001Z-host.folded 1 1 b"},
		{&captures.captures.items[1], longest},
		{&captures.captures.items[2], longest + 1},
		{&captures.captures.items[3], "\x1b[2J"},
		{&captures.captures.items[4], ""},
	};
	struct fixture *fixture = *state;
	struct archive_index *index;
	assert_int_equal(archive_index_add(fixture->archive, KIND, lines, ARRAY_LENGTH(lines)), 0);
	assert_int_equal(archive_index_new(fixture->archive, KIND, &index), 0);
	assert_null(archive_index_find(index, lines[0].capture));
	assert_null(archive_index_find(index, lines[1].capture));
	assert_string_equal(archive_index_find(index, lines[2].capture), longest + 1);
	assert_null(archive_index_find(index, lines[3].capture));
	assert_string_equal(archive_index_find(index, lines[4].capture), "");
	archive_index_free(index);
	archive_list_release(&captures);
	free(longest);
}

/* 400 captures come and go; of each of them there was a line. */
static void lines_of_captures_that_are_gone_go(void **state)
{
	struct archive_limits limits = {.now_s = NOON, .max_size_bytes = 1};
	struct fixture *fixture = *state;
	struct archive_expiry expiry;
	struct text bytes;
	size_t count = 0;

	for (int i = 0; i < 400; i++) {
		fixture_add(fixture, NOON + i, 1);
		assert_int_equal(archive_expire(fixture->archive, &limits, NULL, &expiry, NULL), 0);
		add_texts(fixture, "text");
	}
	bytes = read_index(fixture);
	for (size_t i = 0; i < bytes.length; i++)
		count += bytes.data[i] == '\n';
	assert_true(count <= 1 + 64);
	assert_texts(fixture, KIND, "text 1");
	text_release(&bytes);
}

static void a_link_is_not_followed(void **state)
{
	struct fixture *fixture = *state;
	char index[512], target[512];
	struct stat status;

	fixture_add(fixture, NOON, 1);
	add_texts(fixture, "text");
	make_path(fixture, index);
	fixture_join(fixture, "target", target);
	assert_int_equal(rename(index, target), 0);
	assert_int_equal(symlink("target", index), 0);
	assert_texts(fixture, KIND, "-");
	/* It is replaced; what it led to stays as it is. */
	add_texts(fixture, "new");
	assert_texts(fixture, KIND, "new 1");
	assert_int_equal(lstat(index, &status), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(rename(target, index), 0);
	assert_texts(fixture, KIND, "text 1");
}

/* Another name of somebody's file, a FIFO that nobody writes to, a folder. */
static void what_is_no_index_of_ours_is_none(void **state)
{
	struct fixture *fixture = *state;
	char index[512], other[512];
	struct stat status;

	fixture_add(fixture, NOON, 1);
	add_texts(fixture, "text");
	make_path(fixture, index);
	fixture_join(fixture, "other", other);
	assert_int_equal(link(index, other), 0);
	assert_texts(fixture, KIND, "-");
	add_texts(fixture, "new");
	assert_texts(fixture, KIND, "new 1");
	assert_int_equal(stat(other, &status), 0);
	assert_int_equal(status.st_nlink, 1);
	assert_int_equal(chmod(index, 0660), 0);
	assert_texts(fixture, KIND, "-");
	assert_int_equal(unlink(index), 0);
	assert_int_equal(mkfifo(index, 0600), 0);
	assert_texts(fixture, KIND, "-");
	add_texts(fixture, "newer");
	assert_texts(fixture, KIND, "newer 1");
	assert_int_equal(unlink(index), 0);
	assert_int_equal(mkdir(index, 0700), 0);
	assert_texts(fixture, KIND, "-");
	struct archive_list captures = list(fixture);
	struct archive_index_line line = {&captures.captures.items[0], "text"};
	assert_int_equal(archive_index_add(fixture->archive, KIND, &line, 1), -EISDIR);
	archive_list_release(&captures);
}

static void what_was_left_of_a_new_index_is_removed(void **state)
{
	struct fixture *fixture = *state;

	fixture_make_file(fixture, ".stackwide-1.tmp");
	fixture_make_file(fixture, ".stackwide-mine");
	archive_free(fixture->archive);
	assert_int_equal(archive_open(fixture->path, false, &fixture->archive, NULL), 0);
	assert_int_equal(archive_lock(fixture->archive, NULL), 0);
	assert_false(fixture_has(fixture, ".stackwide-1.tmp"));
	assert_true(fixture_has(fixture, ".stackwide-mine"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_init, fixture_release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_text_is_found_by_its_capture),
		TEST(another_kind_of_text_is_none),
		TEST(a_capture_that_has_changed_has_no_text),
		TEST(the_later_of_two_texts_counts),
		TEST(what_is_damaged_is_left_out),
		TEST(any_part_of_an_index_is_harmless),
		TEST(lines_that_are_none_are_left_out),
		TEST(no_text_breaks_its_line),
		TEST(lines_of_captures_that_are_gone_go),
		TEST(a_link_is_not_followed),
		TEST(what_is_no_index_of_ours_is_none),
		TEST(what_was_left_of_a_new_index_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
