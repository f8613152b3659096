/* Files that were mapped after the probes: which of them are looked into, and what is told of them. */
#define file_table_get           get_file
#define file_table_get_count     count_files
#define elf_files_find_allocator look_for_allocator
#include "collect/events/late_allocators.h"

#include "base/clock.h"
#include <errno.h>
#include <sys/sysmacros.h>

static uint64_t read_clock(void);

#define clock_now_ns() read_clock()
#include "collect/events/late_allocators.c"
#undef clock_now_ns

#include "unit.h"

#define NUM_FILES 5

static char paths[NUM_FILES][8] = {"/old", "/gone", "/none", "/late", "/more"};
static struct mapped_file mapped[NUM_FILES];
static int results[NUM_FILES];
static uint64_t now_ns, step_ns;
static uint32_t num_looks;

static uint64_t read_clock(void)
{
	return now_ns += step_ns;
}

uint32_t count_files(const struct file_table *table _unused_)
{
	return NUM_FILES;
}

const struct mapped_file *get_file(const struct file_table *table _unused_, uint32_t file)
{
	return &mapped[file];
}

int look_for_allocator(struct elf_files *files _unused_, uint32_t number,
		       const struct mapped_file *file)
{
	assert_ptr_equal(file, &mapped[number]);
	num_looks++;
	return results[number];
}

static struct mapped_file_id seen[] = {{.dev = 0, .inode = 0}, {.dev = 0, .inode = 100}};
static struct probe probe;
static struct late_allocators late;

static int set_up(void **state _unused_)
{
	for (uint32_t i = 0; i < NUM_FILES; i++) {
		mapped[i] = (struct mapped_file){.path = paths[i],
						 .dev_major = 8,
						 .dev_minor = 1,
						 .inode = 100 + i,
						 .fd = i == 1 ? -1 : 9};
		results[i] = i == 2 ? -ENOENT : 0;
	}
	seen[1].dev = makedev(8, 1);
	probe = (struct probe){.kind = PROBE_ALLOCATOR};
	probe.looked_at.seen.items = seen;
	probe.looked_at.seen.length = ARRAY_LENGTH(seen);
	now_ns = 1000;
	step_ns = num_looks = 0;
	return 0;
}

/* The first was looked into, the second is not open, the third has none. */
static void files_with_an_allocator_are_counted(void **state _unused_)
{
	assert_int_equal(late_allocators_find(&probe, NULL, NULL, &late), 0);
	assert_int_equal(num_looks, 3);
	assert_int_equal(late.num_files, 2);
	assert_string_equal(late.first_path, "/late");
	assert_int_equal(late.num_unread, 0);
	results[3] = results[4] = -ENOENT;
	assert_int_equal(late_allocators_find(&probe, NULL, NULL, &late), 0);
	assert_int_equal(late.num_files, 0);
	assert_null(late.first_path);
}

static void files_beyond_the_time_are_counted_apart(void **state _unused_)
{
	results[2] = -ETIMEDOUT;
	step_ns = NS_PER_SECOND; /* the start, and two files */
	assert_int_equal(late_allocators_find(&probe, NULL, NULL, &late), 0);
	assert_int_equal(num_looks, 1);
	assert_int_equal(late.num_files, 0);
	assert_int_equal(late.num_unread, 3);
}

static void short_memory_is_an_error(void **state _unused_)
{
	results[3] = -ENOMEM;
	assert_int_equal(late_allocators_find(&probe, NULL, NULL, &late), -ENOMEM);
	assert_int_equal(num_looks, 2);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_with_an_allocator_are_counted),
		TEST(files_beyond_the_time_are_counted_apart),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
