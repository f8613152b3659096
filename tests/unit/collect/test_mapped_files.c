#include "collect/events/mapped_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "process/fake_proc.h"

#define MAX_HANDED 8

struct fixture {
	struct fake_proc proc;
	struct mapped_files files;
	char contents[MAX_HANDED][16]; /* of the files that were handed on */
	size_t num_handed;
	int answer;
	bool keeps; /* the first file stays open, under the lowest free number */
	int kept;
};

static int take(int fd, _unused_ const char *path, void *context)
{
	struct fixture *fixture = context;
	char *content = fixture->contents[fixture->num_handed++];

	assert_true(fixture->num_handed <= MAX_HANDED);
	assert_true(read(fd, content, sizeof(fixture->contents[0]) - 1) >= 0);
	if (fixture->keeps)
		fixture->kept = dup(fd);
	fixture->keeps = false;
	close(fd);
	return fixture->answer;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->proc = fake_proc_new();
	fixture->files = (struct mapped_files){
		.proc_root = fixture->proc.root, .handle = take, .context = fixture};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	mapped_files_release(&fixture->files);
	fake_proc_remove(&fixture->proc);
	free(fixture);
	return 0;
}

static void add_process(struct fixture *fixture, unsigned pid, const char *maps)
{
	fake_proc_add(&fixture->proc,
		      (struct fake_process){.pid = pid, .comm = "any", .maps = maps});
}

static int find(struct fixture *fixture)
{
	return mapped_files_find(&fixture->files, &(struct target){.kind = TARGET_SYSTEM});
}

static void a_file_of_several_processes_is_handed_on_once(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "lib", "first");
	fake_proc_write(&fixture->proc, "other", "second");
	add_process(fixture, 10, "1000-2000 r-xp 0 1:2 3 /lib\n");
	fake_proc_link(&fixture->proc, "10/map_files/1000-2000", "lib");
	add_process(fixture, 11, "5000-6000 r-xp 0 1:2 3 /lib\n7000-8000 r-xp 0 1:2 4 /other\n");
	fake_proc_link(&fixture->proc, "11/map_files/5000-6000", "lib");
	fake_proc_link(&fixture->proc, "11/map_files/7000-8000", "other");
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 2);
	assert_string_not_equal(fixture->contents[0], fixture->contents[1]);
}

static void only_code_of_files_is_opened(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "lib", "data");
	add_process(fixture, 10,
		    "1000-2000 r--p 0 1:2 3 /lib\n3000-4000 r-xp 0 0:0 0 [vdso]\n"
		    "5000-6000 r-xp 0 0:0 0\n");
	fake_proc_link(&fixture->proc, "10/map_files/1000-2000", "lib");
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 0);
	assert_int_equal(fixture->files.num_unreadable, 0);
}

static void without_its_mapping_a_file_is_found_in_the_root_of_the_process(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "container/usr/lib", "within");
	add_process(fixture, 10, "1000-2000 r-xp 0 1:2 3 /usr/lib\n");
	fake_proc_link(&fixture->proc, "10/root", "container");
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 1);
	assert_string_equal(fixture->contents[0], "within");
}

static void what_has_taken_the_place_of_a_deleted_file_is_not_it(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "container/usr/lib", "new");
	add_process(fixture, 10, "1000-2000 r-xp 0 1:2 3 /usr/lib (deleted)\n");
	fake_proc_link(&fixture->proc, "10/root", "container");
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 0);
	assert_int_equal(fixture->files.num_unreadable, 1);
}

/* Neither is a file that was found before. */
static void a_file_that_is_not_found_is_not_opened(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "lib", "first");
	add_process(fixture, 10,
		    "1000-2000 r-xp 0 1:2 3 /lib\n3000-4000 r-xp 0 1:2 4 /gone (deleted)\n");
	fake_proc_link(&fixture->proc, "10/map_files/1000-2000", "lib");
	fixture->keeps = true;
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 1);
	assert_int_equal(fixture->files.num_unreadable, 1);
	assert_true(fixture->kept >= 0);
	assert_int_equal(close(fixture->kept), 0);
}

static void a_deleted_file_is_found_by_its_mapping(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "elsewhere", "old");
	add_process(fixture, 10, "1000-2000 r-xp 0 1:2 3 /usr/lib (deleted)\n");
	fake_proc_link(&fixture->proc, "10/map_files/1000-2000", "elsewhere");
	assert_int_equal(find(fixture), 0);
	assert_string_equal(fixture->contents[0], "old");
}

static void mappings_that_cannot_be_understood_are_skipped(void **state)
{
	struct fixture *fixture = *state;

	fake_proc_write(&fixture->proc, "lib", "first");
	add_process(fixture, 10, "rubbish\n");
	add_process(fixture, 11, "1000-2000 r-xp 0 1:2 3 /lib\n");
	fake_proc_link(&fixture->proc, "11/map_files/1000-2000", "lib");
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 1);
}

static void who_takes_the_files_can_stop(void **state)
{
	struct fixture *fixture = *state;

	fixture->answer = -EINVAL;
	fake_proc_write(&fixture->proc, "lib", "first");
	fake_proc_write(&fixture->proc, "other", "second");
	add_process(fixture, 10, "1000-2000 r-xp 0 1:2 3 /lib\n3000-4000 r-xp 0 1:2 4 /other\n");
	fake_proc_link(&fixture->proc, "10/map_files/1000-2000", "lib");
	fake_proc_link(&fixture->proc, "10/map_files/3000-4000", "other");
	assert_int_equal(find(fixture), -EINVAL);
	assert_int_equal(fixture->num_handed, 1);
}

static void more_files_than_there_is_room_for_are_counted(void **state)
{
	struct fixture *fixture = *state;

	/* Before all others, so that each has its place at the end. */
	for (size_t i = 0; i < MAX_MAPPED_FILES; i++) {
		struct mapped_file_id *seen = array_add(&fixture->files.seen);

		assert_non_null(seen);
		*seen = (struct mapped_file_id){.dev = 0, .inode = i};
	}
	fake_proc_write(&fixture->proc, "lib", "first");
	add_process(fixture, 10, "1000-2000 r-xp 0 1:2 3 /lib\n");
	fake_proc_link(&fixture->proc, "10/map_files/1000-2000", "lib");
	assert_int_equal(find(fixture), 0);
	assert_int_equal(fixture->num_handed, 0);
	assert_int_equal(fixture->files.num_left_out, 1);
}

static void what_is_open_already_is_handed_on_once_as_well(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text path = fake_proc_path(&fixture->proc, "lib");

	fake_proc_write(&fixture->proc, "lib", "first");
	for (int i = 0; i < 2; i++) {
		int fd = open(path.data, O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_int_equal(mapped_files_add(&fixture->files, fd, path.data), 0);
	}
	assert_int_equal(fixture->num_handed, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_of_several_processes_is_handed_on_once),
		TEST(only_code_of_files_is_opened),
		TEST(without_its_mapping_a_file_is_found_in_the_root_of_the_process),
		TEST(what_has_taken_the_place_of_a_deleted_file_is_not_it),
		TEST(a_file_that_is_not_found_is_not_opened),
		TEST(a_deleted_file_is_found_by_its_mapping),
		TEST(mappings_that_cannot_be_understood_are_skipped),
		TEST(who_takes_the_files_can_stop),
		TEST(more_files_than_there_is_room_for_are_counted),
		TEST(what_is_open_already_is_handed_on_once_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
