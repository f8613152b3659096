/* When a capture waits, finds another one at work, makes room, and ends for want of it. The archive is the test's. */
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

#include "base/clock.h"

static int sleep_never(const struct timespec *wanted, struct timespec *ret);
static ssize_t get_number(void *ret, size_t size, unsigned int flags);

#define nanosleep              sleep_never
#define getrandom              get_number
#define archive_open           open_archive_of_test
#define archive_lock           lock_archive
#define archive_count_left_out count_left_out
#define archive_expire         expire_captures
#define archive_get_space      get_space
#define archive_file_write     write_file
#define archive_file_commit    commit_file
#define archive_file_get_name  get_file_name
#define archive_file_get_size  get_file_size
#include "cli/cmd_capture.c"
#undef nanosleep
#undef getrandom

#include "caught_output.h"

static struct timespec slept;
static unsigned int num_sleeps, num_interrupted;
static uint64_t number;
static bool has_entropy;

static int sleep_never(const struct timespec *wanted, struct timespec *ret)
{
	slept = *wanted;
	num_sleeps++;
	*ret = (struct timespec){.tv_nsec = 5};
	errno = EINTR;
	return num_sleeps <= num_interrupted ? -1 : 0;
}

static ssize_t get_number(void *ret, size_t size, unsigned int flags)
{
	assert_int_equal(flags, GRND_NONBLOCK);
	assert_int_equal(size, sizeof(number));
	memcpy(ret, &number, size);
	return has_entropy ? (ssize_t)size : -1;
}

static int open_error, lock_error, expire_error, commit_error;
static struct archive_holder holder;
static struct archive_limits limits;
static const char *protected_one;
static struct archive_expiry expiry;
static int space_errors[2]; /* of the first and the second look */
static uint64_t free_bytes[2], total_bytes;
static unsigned int num_looks, num_expired;

int open_archive_of_test(const char *path, bool is_for_writing, struct archive **ret,
			 struct error *error _unused_)
{
	assert_string_equal(path, "/archive");
	assert_true(is_for_writing);
	*ret = NULL;
	return open_error;
}

int lock_archive(struct archive *archive _unused_, struct error *error _unused_)
{
	return lock_error;
}

struct archive_holder count_left_out(struct archive *archive _unused_)
{
	return holder;
}

int expire_captures(struct archive *archive _unused_, const struct archive_limits *asked,
		    const char *protected_name, struct archive_expiry *ret,
		    struct error *error _unused_)
{
	limits = *asked;
	protected_one = protected_name;
	*ret = expiry;
	num_expired++;
	return expire_error;
}

int get_space(const struct archive *archive _unused_, uint64_t *ret_free, uint64_t *ret_total)
{
	unsigned int look = num_looks++;

	if (space_errors[look])
		return space_errors[look];
	*ret_free = free_bytes[look];
	*ret_total = total_bytes;
	return 0;
}

int write_file(struct archive_file *file _unused_, const void *data _unused_, size_t size _unused_)
{
	return 0;
}

int commit_file(struct archive_file *file _unused_, struct error *error _unused_)
{
	return commit_error;
}

const char *get_file_name(const struct archive_file *file _unused_)
{
	return "name";
}

uint64_t get_file_size(const struct archive_file *file _unused_)
{
	return 0;
}

static struct capture_command capture;

static int set_up(void **state _unused_)
{
	num_sleeps = num_interrupted = num_looks = num_expired = 0;
	number = 0;
	has_entropy = true;
	open_error = lock_error = expire_error = commit_error = 0;
	space_errors[0] = space_errors[1] = 0;
	holder = (struct archive_holder){.pid = 5, .since_s = 1000000};
	expiry = (struct archive_expiry){0};
	total_bytes = 1000000;
	free_bytes[0] = free_bytes[1] = 500000;
	capture = (struct capture_command){.options.dir = "/archive"};
	log_set_level(LOG_LEVEL_QUIET);
	return 0;
}

static void a_turn_comes_within_the_delay(void **state _unused_)
{
	wait_for_turn(0);
	assert_int_equal(num_sleeps, 0);
	number = 7 * NS_PER_SECOND + 3;
	wait_for_turn(5 * NS_PER_SECOND);
	assert_int_equal(num_sleeps, 1);
	assert_int_equal(slept.tv_sec, 2);
	assert_int_equal(slept.tv_nsec, 3);
	/* A signal does not shorten it. */
	num_sleeps = 0;
	num_interrupted = 2;
	wait_for_turn(5 * NS_PER_SECOND);
	assert_int_equal(num_sleeps, 3);
	assert_int_equal(slept.tv_nsec, 5);
	has_entropy = false;
	wait_for_turn(NS_PER_SECOND);
	assert_int_equal(slept.tv_sec, 0);
}

/* One that hangs is said in the end. */
static void the_third_capture_that_is_left_out_fails(void **state _unused_)
{
	bool is_busy;

	lock_error = -EBUSY;
	for (uint32_t num = 1; num < 5; num++) {
		holder.num_left_out = num;
		assert_int_equal(open_archive(&capture, &is_busy),
				 num < 3 ? EXIT_DONE : EXIT_FAILED);
		assert_true(is_busy);
	}
	lock_error = 0;
	assert_int_equal(open_archive(&capture, &is_busy), EXIT_DONE);
	assert_false(is_busy);
	lock_error = -EIO;
	assert_int_equal(open_archive(&capture, &is_busy), EXIT_FAILED);
	assert_false(is_busy);
	lock_error = 0;
	open_error = -EACCES;
	assert_int_equal(open_archive(&capture, &is_busy), EXIT_FAILED);
}

static void room_is_a_share_or_a_number(void **state _unused_)
{
	capture.options.min_free_bytes = 77;
	assert_int_equal(get_min_free(&capture, 1000), 77);
	capture.options.min_free_percent = 5;
	assert_int_equal(get_min_free(&capture, 1000), 50);
	/* Of the largest file system. */
	assert_true(get_min_free(&capture, UINT64_MAX) == UINT64_MAX / 100 * 5);
}

static void captures_expire_by_their_limits(void **state _unused_)
{
	int64_t now_s = (int64_t)time(NULL);

	capture.options.keep_s = 3;
	capture.options.max_size_bytes = 4;
	capture.options.min_free_percent = 10;
	assert_int_equal(make_room(&capture), EXIT_DONE);
	assert_in_range(limits.now_s, now_s - 1, now_s + 5);
	assert_int_equal(limits.keep_s, 3);
	assert_int_equal(limits.max_size_bytes, 4);
	assert_int_equal(limits.min_free_bytes, 100000);
	assert_null(protected_one);
	/* Removed before and after, kept in the end. */
	expiry = (struct archive_expiry){
		.num_removed = 2, .removed_bytes = 20, .num_kept = 9, .kept_bytes = 90};
	assert_int_equal(expire(&capture, 5, "a"), EXIT_DONE);
	expiry.num_kept = 8;
	expiry.kept_bytes = 80;
	expiry.num_spared = 3;
	expiry.gap_s = 86400;
	assert_int_equal(expire(&capture, 5, "a"), EXIT_DONE);
	assert_string_equal(protected_one, "a");
	assert_int_equal(capture.expired.num_removed, 4);
	assert_int_equal(capture.expired.removed_bytes, 40);
	assert_int_equal(capture.expired.num_kept, 8);
	assert_int_equal(capture.expired.kept_bytes, 80);
	expire_error = -EIO;
	assert_int_equal(expire(&capture, 5, NULL), EXIT_FAILED);
	assert_int_equal(capture.expired.num_removed, 4);
}

static void a_disk_that_is_too_full_is_not_written_to(void **state _unused_)
{
	capture.options.min_free_bytes = 1000;
	free_bytes[0] = 0;
	free_bytes[1] = 1000;
	assert_int_equal(make_room(&capture), EXIT_DONE);
	num_looks = 0;
	free_bytes[1] = 999;
	assert_int_equal(make_room(&capture), EXIT_FAILED);
	assert_int_equal(num_expired, 2);
	/* Age and size count where the space is unknown. */
	num_looks = 0;
	free_bytes[1] = 5000;
	space_errors[0] = -EIO;
	assert_int_equal(make_room(&capture), EXIT_FAILED);
	assert_int_equal(num_expired, 3);
	num_looks = 0;
	space_errors[0] = 0;
	space_errors[1] = -EIO;
	assert_int_equal(make_room(&capture), EXIT_FAILED);
	num_looks = 0;
	space_errors[1] = 0;
	expire_error = -EIO;
	assert_int_equal(make_room(&capture), EXIT_FAILED);
	assert_int_equal(num_looks, 1);
}

/* The new one counts among the others, and is not removed. */
static void a_capture_that_is_whole_makes_others_expire(void **state _unused_)
{
	assert_int_equal(commit_profile(&capture), EXIT_DONE);
	assert_int_equal(num_expired, 1);
	assert_string_equal(protected_one, "name");
	assert_int_equal(limits.min_free_bytes, 0);
	expire_error = -EIO;
	assert_int_equal(commit_profile(&capture), EXIT_FAILED);
	commit_error = -EIO;
	assert_int_equal(commit_profile(&capture), EXIT_FAILED);
	assert_int_equal(num_expired, 2);
}

static void catch_message(char *ret, size_t size)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);

	log_set_level(LOG_LEVEL_NORMAL);
	(void)leave_out(&capture);
	log_set_level(LOG_LEVEL_QUIET);
	caught_output_end(&caught, ret, size);
}

static void one_that_hangs_is_told_by_its_start_if_that_is_known(void **state _unused_)
{
	char message[512];

	setenv("TZ", "UTC", 1);
	tzset();
	holder.num_left_out = 7;
	catch_message(message, sizeof(message));
	assert_non_null(strstr(message, "running since 1970-01-12 13:46:40 (process 5)"));
	assert_non_null(strstr(message, "as were 6 before it"));
	holder.since_s = 0;
	catch_message(message, sizeof(message));
	assert_non_null(strstr(message, "running since ? (process 5)"));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_turn_comes_within_the_delay),
		TEST(the_third_capture_that_is_left_out_fails),
		TEST(one_that_hangs_is_told_by_its_start_if_that_is_known),
		TEST(room_is_a_share_or_a_number),
		TEST(captures_expire_by_their_limits),
		TEST(a_disk_that_is_too_full_is_not_written_to),
		TEST(a_capture_that_is_whole_makes_others_expire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
