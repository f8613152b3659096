/* Real leases, of files in a folder of the test; the user of the leases is this file. */
#include "collect/kernel/file_leases.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confinement.h"
#include "test_folder.h"
#include "unit.h"

int confinement_keep_sampling_rights(bool is_administrator)
{
	assert_false(is_administrator);
	return 0;
}

struct fixture {
	char folder[TEST_PATH_BYTES];
	char path[TEST_PATH_BYTES + 8];
	int fd;
	struct file_leases *leases;
	atomic_uint num_let_go;
	atomic_bool cannot_let_go;
	atomic_bool is_written; /* the file was opened for writing */
	struct leased_file last;
};

/* Whoever writes still waits. */
static bool let_go(void *context, const struct leased_file *file)
{
	struct fixture *fixture = context;

	usleep(20000);
	assert_false(atomic_load(&fixture->is_written));
	fixture->last = *file;
	atomic_fetch_add(&fixture->num_let_go, 1);
	return !atomic_load(&fixture->cannot_let_go);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct file_leases_user user = {let_go, fixture};

	test_folder_make(fixture->folder);
	snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
	close(open(fixture->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	fixture->fd = open(fixture->path, O_RDONLY | O_CLOEXEC);
	assert_true(fixture->fd >= 0);
	assert_int_equal(file_leases_new(&user, &fixture->leases), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	file_leases_free(fixture->leases);
	close(fixture->fd);
	assert_int_equal(unlink(fixture->path) || rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

static int take(struct fixture *fixture, struct leased_file *ret)
{
	int err = file_leases_begin(fixture->leases, fixture->fd, ret);

	file_leases_end(fixture->leases);
	return err;
}

static void *write_file(void *context)
{
	struct fixture *fixture = context;
	int fd = open(fixture->path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	atomic_store(&fixture->is_written, true);
	close(fd);
	return NULL;
}

static void start_to_write(struct fixture *fixture, pthread_t *ret)
{
	atomic_store(&fixture->is_written, false);
	assert_int_equal(pthread_create(ret, NULL, write_file, fixture), 0);
}

static void end_to_write(const struct fixture *fixture, pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(atomic_load(&fixture->is_written));
}

static void who_writes_waits_until_the_user_has_let_go(void **state)
{
	struct fixture *fixture = *state;
	struct leased_file file;
	struct broken_leases broken;
	struct stat status;
	pthread_t thread;

	file_leases_start(fixture->leases);
	assert_int_equal(take(fixture, &file), 0);
	assert_int_equal(stat(fixture->path, &status), 0);
	assert_int_equal(file.device, status.st_dev);
	assert_int_equal(file.inode, status.st_ino);
	assert_int_equal(file_leases_get_broken(fixture->leases).count, 0);
	start_to_write(fixture, &thread);
	end_to_write(fixture, thread);
	assert_int_equal(fixture->num_let_go, 1);
	assert_int_equal(fixture->last.inode, file.inode);
	broken = file_leases_get_broken(fixture->leases);
	assert_int_equal(broken.count, 1);
	assert_non_null(strstr(broken.first_path, "/file"));
	/* Later it is leased again. */
	assert_int_equal(take(fixture, &file), 0);
	start_to_write(fixture, &thread);
	end_to_write(fixture, thread);
	assert_int_equal(fixture->num_let_go, 2);
	assert_int_equal(file_leases_count_returned(fixture->leases, &fixture->last), 2);
}

static void who_writes_waits_until_the_user_can_let_go(void **state)
{
	struct fixture *fixture = *state;
	struct leased_file file;
	pthread_t thread;

	atomic_store(&fixture->cannot_let_go, true);
	file_leases_start(fixture->leases);
	assert_int_equal(take(fixture, &file), 0);
	start_to_write(fixture, &thread);
	while (!atomic_load(&fixture->num_let_go))
		usleep(1000);
	/* It has probes still, and gets no more. */
	assert_int_equal(take(fixture, &file), -EAGAIN);
	atomic_store(&fixture->cannot_let_go, false);
	end_to_write(fixture, thread);
	assert_true(fixture->num_let_go >= 2);
	assert_int_equal(file_leases_get_broken(fixture->leases).count, 1);
}

static void a_file_has_one_lease(void **state)
{
	struct fixture *fixture = *state;
	struct leased_file file;
	pthread_t thread;

	file_leases_start(fixture->leases);
	assert_int_equal(take(fixture, &file), 0);
	assert_int_equal(take(fixture, &file), 0);
	start_to_write(fixture, &thread);
	end_to_write(fixture, thread);
	assert_int_equal(fixture->num_let_go, 1);
}

static void who_writes_waits_until_the_user_is_ready(void **state)
{
	struct fixture *fixture = *state;
	struct leased_file file;
	pthread_t thread;

	assert_int_equal(take(fixture, &file), 0);
	start_to_write(fixture, &thread);
	usleep(50000);
	assert_false(atomic_load(&fixture->is_written));
	assert_int_equal(fixture->num_let_go, 0);
	file_leases_start(fixture->leases);
	end_to_write(fixture, thread);
	assert_int_equal(fixture->num_let_go, 1);
}

/* Probes are attached meanwhile. */
static void no_lease_is_given_back_between_begin_and_end(void **state)
{
	struct fixture *fixture = *state;
	struct leased_file file;
	pthread_t thread;

	file_leases_start(fixture->leases);
	assert_int_equal(file_leases_begin(fixture->leases, fixture->fd, &file), 0);
	start_to_write(fixture, &thread);
	usleep(50000);
	assert_false(atomic_load(&fixture->is_written));
	assert_int_equal(fixture->num_let_go, 0);
	file_leases_end(fixture->leases);
	end_to_write(fixture, thread);
	assert_int_equal(fixture->num_let_go, 1);
}

static void a_file_that_is_being_written_has_none(void **state)
{
	struct fixture *fixture = *state;
	int fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
	struct leased_file file;

	file_leases_start(fixture->leases);
	assert_int_equal(take(fixture, &file), -EAGAIN);
	assert_int_not_equal(file.inode, 0);
	close(fd);
	assert_int_equal(file_leases_begin(fixture->leases, -1, &file), -EBADF);
	file_leases_end(fixture->leases);
}

/* Nobody waits for us after the end. */
static void the_end_gives_all_leases_back(void **state)
{
	struct fixture *fixture = *state;
	struct leased_file file;
	pthread_t thread;

	file_leases_start(fixture->leases);
	assert_int_equal(take(fixture, &file), 0);
	file_leases_free(fixture->leases);
	fixture->leases = NULL;
	start_to_write(fixture, &thread);
	end_to_write(fixture, thread);
	assert_int_equal(fixture->num_let_go, 0);
	assert_int_equal(file_leases_get_broken(NULL).count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_writes_waits_until_the_user_has_let_go),
		TEST(a_file_has_one_lease),
		TEST(who_writes_waits_until_the_user_can_let_go),
		TEST(who_writes_waits_until_the_user_is_ready),
		TEST(no_lease_is_given_back_between_begin_and_end),
		TEST(a_file_that_is_being_written_has_none),
		TEST(the_end_gives_all_leases_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
