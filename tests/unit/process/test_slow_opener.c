/* Limits of the opener: failures by user and process, time, files that are remembered. */
#include "base/error.h"
#include "base/file.h"

int open_anonymous_of_test(const char *folder, struct error *error);
int write_of_test(int fd, const void *data, size_t size);

#define file_open_anonymous open_anonymous_of_test
#define file_write_fd       write_of_test
#include "process/slow_opener.c"
#undef file_open_anonymous
#undef file_write_fd

#include "failing_memory.h"
#include "unit.h"

#include <stdio.h>
#include <sys/resource.h>

/* No such process: its user is unknown. */
#define NO_PID 0x3fffffff

static bool has_no_folder; /* for temporary files */
static bool counts_only;   /* what is written, in place of writing it */
static uint64_t num_counted;

int open_anonymous_of_test(const char *folder, struct error *error)
{
	return has_no_folder ? -EACCES : file_open_anonymous(folder, error);
}

int write_of_test(int fd, const void *data, size_t size)
{
	num_counted += size;
	return counts_only ? 0 : file_write_fd(fd, data, size);
}

static struct slow_opener opener;

static int set_up(void **state _unused_)
{
	opener = (struct slow_opener){.worker = WORKER_NONE};
	return 0;
}

static int tear_down(void **state _unused_)
{
	slow_opener_end(&opener);
	array_release(&opener.devices);
	array_release(&opener.users);
	array_release(&opener.copying);
	array_release(&opener.silent);
	return 0;
}

static void the_time_limit_shrinks_with_failures(void **state _unused_)
{
	static const int limits_ms[] = {1000, 500, 250, 125, 62, 60, 60};
	static const int copy_limits_ms[] = {3000, 1500, 750, 375, 187, 93, 60};

	for (unsigned int i = 0; i < ARRAY_LENGTH(limits_ms); i++) {
		opener.num_failures = i * FAILURES_TO_HALVE;
		assert_int_equal(get_limit_ms(&opener, READ), limits_ms[i]);
		assert_int_equal(get_limit_ms(&opener, OPEN), copy_limits_ms[i]);
		opener.num_failures += FAILURES_TO_HALVE - 1;
		assert_int_equal(get_limit_ms(&opener, READ), limits_ms[i]);
	}
	opener.num_failures = UINT32_MAX;
	assert_int_equal(get_limit_ms(&opener, OPEN), MIN_LIMIT_MS);
}

/* Who has so many failures of so many in all. */
static void fail_as(uid_t uid, unsigned int num_failures)
{
	struct opener_user *user = find_user(&opener, uid);

	if (!user)
		user = array_add(&opener.users);
	assert_non_null(user);
	*user = (struct opener_user){uid, num_failures};
	opener.num_failures = 1;
	opener.forgiving_ns = clock_now_ns() + FORGIVING_NS;
}

static void a_user_has_a_number_of_failures(void **state _unused_)
{
	assert_true(is_allowed(&opener, NO_PID));
	fail_as(FILE_OWNER_UNKNOWN, MAX_FAILURES - 1);
	assert_true(is_allowed(&opener, NO_PID));
	fail_as(FILE_OWNER_UNKNOWN, MAX_FAILURES);
	assert_false(is_allowed(&opener, NO_PID));
	/* Root, as pid 0 stands for, has more. */
	fail_as(0, MAX_ROOT_FAILURES - 1);
	assert_true(is_allowed(&opener, 0));
	fail_as(0, MAX_ROOT_FAILURES);
	assert_false(is_allowed(&opener, 0));
}

/* Machines are busy for a while. */
static void a_minute_without_failures_allows_one_request_more(void **state _unused_)
{
	note_failure(&opener, NO_PID);
	assert_in_range(opener.forgiving_ns, clock_now_ns() + 59 * NS_PER_SECOND,
			clock_now_ns() + 60 * NS_PER_SECOND);
	opener.silent.length = 0; /* its pauses are longer */
	fail_as(FILE_OWNER_UNKNOWN, MAX_FAILURES);
	fail_as(0, MAX_ROOT_FAILURES + 1);
	assert_false(is_allowed(&opener, NO_PID));
	opener.forgiving_ns -= 60 * NS_PER_SECOND;
	assert_true(is_allowed(&opener, NO_PID));
	/* Of whichever user: not one each. */
	assert_false(is_allowed(&opener, 0));
	assert_false(is_allowed(&opener, NO_PID));
	opener.forgiving_ns -= 60 * NS_PER_SECOND;
	assert_true(is_allowed(&opener, 0));
	assert_false(is_allowed(&opener, 0));
}

static void failures_are_counted_by_user(void **state _unused_)
{
	note_failure(&opener, 0);
	note_failure(&opener, NO_PID);
	note_failure(&opener, NO_PID);
	assert_int_equal(opener.users.length, 2);
	assert_int_equal(find_user(&opener, 0)->num_failures, 1);
	assert_int_equal(find_user(&opener, FILE_OWNER_UNKNOWN)->num_failures, 2);
	assert_int_equal(opener.num_failures, 3);
	assert_int_equal(opener.counts.num_late, 3);
	assert_int_equal(opener.silent.length, 1);
}

/* A user may have many others (subuid(5)). */
static void the_number_of_users_is_bounded(void **state _unused_)
{
	for (uid_t uid = 1; uid < MAX_USERS; uid++)
		fail_as(uid, 1);
	assert_true(is_allowed(&opener, NO_PID));
	fail_as(MAX_USERS, 1);
	assert_int_equal(opener.users.length, MAX_USERS);
	assert_false(is_allowed(&opener, NO_PID));
	assert_true(is_allowed(&opener, 0)); /* root */
	note_failure(&opener, NO_PID);
	assert_int_equal(opener.users.length, MAX_USERS);
	assert_int_equal(opener.counts.num_late, 1);
}

static uint64_t get_limit_of(uid_t uid)
{
	return get_copy_limit(&opener, uid, find_copying_user(&opener, uid));
}

static void copy_as(uid_t uid, uint64_t num_bytes)
{
	find_copying_user(&opener, uid)->copied_bytes += num_bytes;
	opener.copied_bytes += num_bytes;
}

static void a_user_leaves_as_much_to_copy_to_others(void **state _unused_)
{
	assert_int_equal(get_limit_of(1), MAX_COPIED_BYTES / 2);
	copy_as(1, MAX_COPIED_BYTES / 2 - 1);
	assert_int_equal(get_limit_of(1), 1);
	copy_as(1, 1);
	assert_int_equal(get_limit_of(1), 0);
	assert_int_equal(get_limit_of(2), MAX_COPIED_BYTES / 4);
	assert_int_equal(get_limit_of(0), MAX_COPIED_BYTES / 2);
	copy_as(2, MAX_COPIED_BYTES / 4);
	assert_int_equal(get_limit_of(2), 0);
	assert_int_equal(get_limit_of(3), MAX_COPIED_BYTES / 8);
	copy_as(0, MAX_COPIED_BYTES / 4 - 1);
	assert_int_equal(get_limit_of(0), 1);
	copy_as(0, 1);
	assert_int_equal(get_limit_of(0), 0);
	assert_int_equal(slow_opener_open(&opener, NO_PID, -1, false), -EFBIG);
	/* One that was larger than its limit. */
	opener.copied_bytes++;
	assert_int_equal(get_limit_of(0), 0);
}

static void users_beyond_the_limit_copy_together(void **state _unused_)
{
	for (uid_t uid = 1; uid <= MAX_USERS; uid++)
		copy_as(uid, 1);
	assert_ptr_equal(find_copying_user(&opener, MAX_USERS + 1),
			 find_copying_user(&opener, MAX_USERS));
	assert_int_equal(opener.copying.length, MAX_USERS);
}

static void pass_time(uint64_t time_ns)
{
	opener.silent.items[0].failed_ns -= time_ns;
}

static void a_process_that_is_late_is_asked_again_after_growing_pauses(void **state _unused_)
{
	static const uint64_t seconds[] = {0, 1, 4, 60, 60};

	opener.num_failures = 1;
	for (size_t i = 0; i < ARRAY_LENGTH(seconds); i++) {
		uint64_t pause_ns = seconds[i] * NS_PER_SECOND;

		note_silence(&opener, NO_PID);
		if (pause_ns) {
			assert_true(is_silent(&opener, NO_PID));
			assert_false(is_allowed(&opener, NO_PID));
			assert_true(is_allowed(&opener, NO_PID - 1));
			pass_time(pause_ns / 2);
			assert_true(is_silent(&opener, NO_PID));
			pass_time(pause_ns / 2);
		}
		assert_false(is_silent(&opener, NO_PID));
		assert_int_equal(opener.silent.length, 1);
	}
	/* Long after that, nothing is known of it. */
	pass_time(REMEMBERED_NS);
	assert_false(is_silent(&opener, NO_PID));
	assert_int_equal(opener.silent.length, 0);
}

static void the_number_of_silent_processes_is_bounded(void **state _unused_)
{
	for (pid_t pid = 1; pid <= MAX_SILENT; pid++) {
		note_silence(&opener, pid);
		note_silence(&opener, pid);
	}
	assert_int_equal(opener.silent.length, MAX_SILENT);
	assert_true(is_silent(&opener, 1));
	note_silence(&opener, MAX_SILENT + 1);
	assert_int_equal(opener.silent.length, MAX_SILENT);
	assert_false(is_silent(&opener, 1)); /* the oldest */
	assert_true(is_silent(&opener, 2));
	assert_non_null(find_silent(&opener, MAX_SILENT + 1));
}

static void processes_that_stay_are_bounded(void **state _unused_)
{
	opener.num_failures = 1;
	opener.num_left_behind = MAX_LEFT_BEHIND - 1;
	assert_true(is_allowed(&opener, 0));
	opener.num_left_behind++;
	assert_false(is_allowed(&opener, 0));
	assert_int_equal(slow_opener_follow(&opener, 0, "/"), -ETIMEDOUT);
	assert_int_equal(opener.counts.num_refused, 1);
}

static void the_number_of_file_systems_is_bounded(void **state _unused_)
{
	int fd = open("/dev/null", O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	for (dev_t device = 1; device <= 1026; device++)
		assert_false(slow_opener_may_hang(&opener, 0, fd, device));
	assert_int_equal(opener.devices.length, 1024);
	/* One that is known is not asked for again. */
	opener.devices.items[3].may_hang = true;
	assert_true(slow_opener_may_hang(&opener, 0, fd, 4));
	slow_opener_end(&opener);
	assert_false(slow_opener_may_hang(&opener, 0, fd, 5));
	assert_true(slow_opener_may_hang(&opener, 0, fd, MAX_DEVICES + 1)); /* nobody knows */
	close(fd);
}

static void copies_have_a_limit_in_all(void **state _unused_)
{
	int handle = open("/dev/null", O_PATH | O_CLOEXEC);
	int fd;

	opener.copied_bytes = MAX_COPIED_BYTES - 1;
	fd = slow_opener_open(&opener, 0, handle, false);
	assert_true(fd >= 0 || fd == -ENOTSUP);
	cleanup_closep(&fd);
	opener.copied_bytes = MAX_COPIED_BYTES;
	assert_int_equal(slow_opener_open(&opener, 0, handle, false), -EFBIG);
	close(handle);
}

static void a_copy_is_no_larger_than_its_limit(void **state _unused_)
{
	FILE *file = tmpfile();
	uint64_t num_bytes = 0;
	int copied;

	assert_non_null(file);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(fputc('a' + i % 26, file), 'a' + i % 26);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(open_copy(fileno(file), 4999, &num_bytes), -EFBIG);
	copied = open_copy(fileno(file), 5000, &num_bytes);
	assert_true(copied >= 0);
	assert_int_equal(num_bytes, 5000);
	assert_int_equal(lseek(copied, 0, SEEK_END), 5000);
	close(copied);
	fclose(file);
}

/* Where no temporary file can be made, a copy is in memory: the file of a user must not fill that. */
static void a_copy_in_memory_has_a_limit_of_its_own(void **state _unused_)
{
	FILE *file = tmpfile();
	uint64_t num_bytes = 0;
	int copied;

	assert_non_null(file);
	has_no_folder = counts_only = true;
	num_counted = 0;
	assert_int_equal(ftruncate(fileno(file), 64 << 20), 0);
	copied = open_copy(fileno(file), MAX_COPIED_BYTES, &num_bytes);
	assert_true(copied >= 0);
	close(copied);
	assert_int_equal(num_bytes, 64 << 20);
	assert_int_equal(num_counted, 64 << 20);
	assert_int_equal(ftruncate(fileno(file), (64 << 20) + 1), 0);
	assert_int_equal(open_copy(fileno(file), MAX_COPIED_BYTES, &num_bytes), -EFBIG);
	assert_int_equal(num_counted, 2 * (64 << 20));
	/* Less may be left to the user. */
	assert_int_equal(open_copy(fileno(file), 1000, &num_bytes), -EFBIG);
	/* On the disk there is more room. */
	has_no_folder = false;
	copied = open_copy(fileno(file), MAX_COPIED_BYTES, &num_bytes);
	assert_true(copied >= 0);
	close(copied);
	assert_int_equal(num_bytes, (64 << 20) + 1);
	counts_only = false;
	fclose(file);
}

static void memory_is_copied_up_to_a_limit(void **state _unused_)
{
	static uint8_t bytes[SLOW_OPENER_MAX_MEMORY_BYTES + 1];
	static uint8_t ret[sizeof(bytes)];
	uint64_t address = (uintptr_t)bytes;

	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(
		slow_opener_read_memory(&opener, getpid(), address, ret, sizeof(bytes) - 1), 0);
	assert_memory_equal(ret, bytes, sizeof(bytes) - 1);
	assert_int_equal(slow_opener_read_memory(&opener, getpid(), address, ret, sizeof(bytes)),
			 -EINVAL);
	assert_int_equal(slow_opener_read_memory(&opener, getpid(), 0, ret, 8), -EFAULT);
	assert_int_equal(slow_opener_read_memory(NULL, getpid(), address, ret, sizeof(bytes)),
			 -EINVAL);
	assert_int_equal(slow_opener_read_memory(NULL, getpid(), address, ret, sizeof(bytes) - 1),
			 0);
}

/* Whoever asks for more than an answer has room for would write over what is behind it. */
static void the_process_itself_refuses_to_copy_more_memory(void **state _unused_)
{
	static uint8_t bytes[4 * SLOW_OPENER_MAX_MEMORY_BYTES];
	struct opener_head head = {.kind = READ_MEMORY,
				   .address = (uintptr_t)bytes,
				   .limit_bytes = SLOW_OPENER_MAX_MEMORY_BYTES + 1,
				   .pid = getpid()};
	size_t num_bytes;
	int fd;

	assert_int_equal(ask(&opener, &head, NULL, "", -1, &num_bytes, &fd), -EINVAL);
	assert_int_equal(num_bytes, 0);
	head.limit_bytes--;
	assert_int_equal(ask(&opener, &head, NULL, "", -1, &num_bytes, &fd), 0);
	assert_int_equal(num_bytes, SLOW_OPENER_MAX_MEMORY_BYTES);
}

/* Makes the process of the opener work until its CPU time is more than so much. */
static uint64_t use_cpu(uint64_t more_than_ns)
{
	static uint8_t bytes[SLOW_OPENER_MAX_MEMORY_BYTES];
	uint64_t cpu_ns = 0;

	for (int i = 0; i < 100000 && cpu_ns <= more_than_ns; i++) {
		assert_int_equal(slow_opener_read_memory(&opener, getpid(), (uintptr_t)bytes, bytes,
							 sizeof(bytes)),
				 0);
		cpu_ns = slow_opener_read_cpu_ns(&opener);
	}
	assert_true(cpu_ns > more_than_ns);
	return cpu_ns;
}

/* rusage has whole microseconds of user and of system time. */
#define ROUNDED_NS 2000

static void cpu_time_of_all_its_processes_is_summed(void **state _unused_)
{
	uint64_t first_ns;
	uint64_t second_ns;

	assert_int_equal(slow_opener_read_cpu_ns(NULL), 0);
	assert_int_equal(slow_opener_read_cpu_ns(&opener), 0);
	first_ns = use_cpu(NS_PER_MS);
	assert_true(stop(&opener));
	assert_true(slow_opener_read_cpu_ns(&opener) + ROUNDED_NS >= first_ns);
	first_ns = slow_opener_read_cpu_ns(&opener);
	second_ns = use_cpu(first_ns + NS_PER_MS);
	slow_opener_end(&opener);
	assert_true(slow_opener_read_cpu_ns(&opener) + ROUNDED_NS >= second_ns);
	/* One that was not reaped is not in the sum. */
	assert_false(stop(&opener));
}

/* As the manual and SECURITY.md have them. */
static void a_user_fails_five_times_and_root_twenty(void **state _unused_)
{
	for (int i = 0; i < 5; i++) {
		assert_true(is_allowed(&opener, NO_PID));
		note_failure(&opener, NO_PID);
		opener.silent.length = 0;
	}
	assert_false(is_allowed(&opener, NO_PID));
	for (int i = 0; i < 20; i++) {
		assert_true(is_allowed(&opener, 0));
		note_failure(&opener, 0);
	}
	assert_false(is_allowed(&opener, 0));
	/* Ten of all halve the time. */
	opener.num_failures = 9;
	assert_int_equal(get_limit_ms(&opener, READ), 1000);
	opener.num_failures = 10;
	assert_int_equal(get_limit_ms(&opener, READ), 500);
}

static void processes_are_remembered_for_two_minutes(void **state _unused_)
{
	opener.num_failures = 1;
	opener.num_left_behind = 63;
	assert_true(is_allowed(&opener, 0));
	opener.num_left_behind = 64;
	assert_false(is_allowed(&opener, 0));
	for (pid_t pid = 1; pid <= 300; pid++)
		note_silence(&opener, pid);
	assert_int_equal(opener.silent.length, 256);
	assert_null(find_silent(&opener, 44));
	assert_non_null(find_silent(&opener, 45));
	opener.silent.items[255].failed_ns -= 115 * NS_PER_SECOND;
	assert_non_null(find_silent(&opener, 300));
	note_silence(&opener, 300);
	assert_true(is_silent(&opener, 300));
	assert_false(is_silent(&opener, 299));
	assert_int_equal(get_limit_of(0), 1u << 30);
	for (uid_t uid = 1; uid <= 5000; uid++)
		copy_as(uid, 1);
	assert_int_equal(opener.copying.length, 4096);
	/* Root is one; whoever comes too late counts with the last one. */
	assert_int_equal(opener.copying.items[4095].copied_bytes, 1 + 5000 - 4095);
}

/* What it should remember may be missing; that it was asked, and what came, never. */
static void short_memory_is_counted_and_survived(void **state _unused_)
{
	int fd = open("/dev/null", O_PATH | O_CLOEXEC);
	struct slow_opener *made = NULL;
	bool has_failed = true;

	failing_memory_start(0);
	assert_int_equal(slow_opener_new(&made), -ENOMEM);
	assert_true(failing_memory_end());
	assert_null(made);
	for (int64_t num_before = 0; has_failed; num_before++) {
		failing_memory_start(num_before);
		note_failure(&opener, NO_PID);
		note_failure(&opener, NO_PID);
		has_failed = failing_memory_end();
		assert_int_equal(opener.counts.num_late, 2);
		assert_int_equal(opener.num_failures, 2);
		/* The next one is remembered. */
		note_failure(&opener, NO_PID);
		assert_in_range(find_user(&opener, FILE_OWNER_UNKNOWN)->num_failures,
				has_failed ? 1 : 3, 3);
		assert_int_equal(opener.silent.length, 1);
		tear_down(state);
		set_up(state);
	}
	failing_memory_start(0);
	assert_null(find_copying_user(&opener, 1));
	assert_true(failing_memory_end());
	copy_as(1, 5);
	while (opener.copying.length < opener.copying.capacity)
		copy_as((uid_t)opener.copying.length + 1, 1);
	failing_memory_start(0);
	/* With the last one. */
	assert_ptr_equal(find_copying_user(&opener, 100000),
			 &opener.copying.items[opener.copying.length - 1]);
	assert_true(failing_memory_end());
	/* A file system that was not remembered is asked for again. */
	assert_false(slow_opener_may_hang(&opener, 0, fd, 6));
	opener.devices.length = opener.devices.capacity;
	failing_memory_start(0);
	assert_false(slow_opener_may_hang(&opener, 0, fd, 7));
	assert_true(failing_memory_end());
	assert_int_equal(opener.devices.length, opener.devices.capacity);
	assert_false(slow_opener_may_hang(&opener, 0, fd, 7));
	assert_int_equal(opener.devices.items[opener.devices.length - 1].device, 7);
	close(fd);
}

/* Nobody knows whether it hangs, until there is a process to ask. */
static void without_a_process_nothing_is_remembered(void **state _unused_)
{
	int fd = open("/dev/null", O_PATH | O_CLOEXEC);
	struct rlimit limit;
	struct rlimit none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_true(slow_opener_may_hang(&opener, 0, fd, 7));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(opener.devices.length, 0);
	assert_false(slow_opener_may_hang(&opener, 0, fd, 7));
	close(fd);
}

/* Text that was read finds no place. */
static void short_memory_is_an_error_of_reading(void **state _unused_)
{
	bool has_failed = true;

	for (int64_t num_before = 0; has_failed; num_before++) {
		_cleanup_(text_release) struct text text = {0};

		assert_int_equal(slow_opener_read(&opener, 0, "/dev/null", 100, &text), 0);
		text_release(&text);
		failing_memory_start(num_before);
		has_failed = failing_memory_end_with(
			slow_opener_read(&opener, 0, "/proc/self/status", 1 << 20, &text));
		if (!has_failed)
			assert_true(string_starts_with(text.data, "Name:"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_time_limit_shrinks_with_failures),
		TEST(a_user_has_a_number_of_failures),
		TEST(a_minute_without_failures_allows_one_request_more),
		TEST(failures_are_counted_by_user),
		TEST(the_number_of_users_is_bounded),
		TEST(a_user_leaves_as_much_to_copy_to_others),
		TEST(users_beyond_the_limit_copy_together),
		TEST(a_process_that_is_late_is_asked_again_after_growing_pauses),
		TEST(the_number_of_silent_processes_is_bounded),
		TEST(processes_that_stay_are_bounded),
		TEST(the_number_of_file_systems_is_bounded),
		TEST(copies_have_a_limit_in_all),
		TEST(a_copy_is_no_larger_than_its_limit),
		TEST(a_copy_in_memory_has_a_limit_of_its_own),
		TEST(memory_is_copied_up_to_a_limit),
		TEST(the_process_itself_refuses_to_copy_more_memory),
		TEST(cpu_time_of_all_its_processes_is_summed),
		TEST(a_user_fails_five_times_and_root_twenty),
		TEST(processes_are_remembered_for_two_minutes),
		TEST(short_memory_is_counted_and_survived),
		TEST(without_a_process_nothing_is_remembered),
		TEST(short_memory_is_an_error_of_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
