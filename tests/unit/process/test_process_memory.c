/* The memory of another process, with and without one that reads it for us. */
#include "process/process_memory.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/slow_opener.h"

#define PAGE 4096

struct fixture {
	struct process_memory direct;
	struct process_memory asked;
	uint8_t *
		pages; /* in which a page that cannot be read follows PROCESS_MEMORY_MAX_BYTES + PAGE */
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	size_t size = PROCESS_MEMORY_MAX_BYTES + PAGE;

	assert_non_null(fixture);
	fixture->pages =
		mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fixture->pages != MAP_FAILED);
	assert_int_equal(mprotect(fixture->pages + size, PAGE, PROT_NONE), 0);
	for (size_t i = 0; i < size; i++)
		fixture->pages[i] = (uint8_t)(i * 31 + i / 256);
	/* Also where a machine lets only ancestors look at a process. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	fixture->direct.pid = getpid();
	fixture->asked.pid = getpid();
	assert_int_equal(slow_opener_new(&fixture->asked.opener), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	slow_opener_free(fixture->asked.opener);
	munmap(fixture->pages, PROCESS_MEMORY_MAX_BYTES + 2 * PAGE);
	free(fixture);
	return 0;
}

static void check_read(struct process_memory *memory, const uint8_t *pages, size_t offset,
		       size_t size)
{
	uint8_t *bytes = malloc(size + 1);

	assert_non_null(bytes);
	memset(bytes, 0x55, size + 1);
	assert_int_equal(
		process_memory_read(memory, (uint64_t)(uintptr_t)pages + offset, bytes, size), 0);
	assert_memory_equal(bytes, pages + offset, size);
	assert_int_equal(bytes[size], 0x55);
	free(bytes);
}

static void its_bytes_are_read(void **state)
{
	struct fixture *fixture = *state;
	struct process_memory *memories[] = {&fixture->direct, &fixture->asked};

	for (size_t i = 0; i < ARRAY_LENGTH(memories); i++) {
		check_read(memories[i], fixture->pages, 0, 1);
		check_read(memories[i], fixture->pages, 4093, 8);
		check_read(memories[i], fixture->pages, 5, PROCESS_MEMORY_MAX_BYTES);
		/* Up to the last byte. */
		check_read(memories[i], fixture->pages, PROCESS_MEMORY_MAX_BYTES + PAGE - 8, 8);
	}
}

static void what_is_not_all_there_is_an_error(void **state)
{
	struct fixture *fixture = *state;
	struct process_memory *memories[] = {&fixture->direct, &fixture->asked};
	uint64_t end = (uint64_t)(uintptr_t)fixture->pages + PROCESS_MEMORY_MAX_BYTES + PAGE;
	static uint8_t bytes[PROCESS_MEMORY_MAX_BYTES + 1];

	for (size_t i = 0; i < ARRAY_LENGTH(memories); i++) {
		assert_int_equal(process_memory_read(memories[i], 0, bytes, 8), -EFAULT);
		assert_int_equal(process_memory_read(memories[i], end, bytes, 1), -EFAULT);
		assert_int_equal(process_memory_read(memories[i], end - 4, bytes, 8), -EFAULT);
		assert_int_equal(process_memory_read(memories[i], end - PAGE - 8, bytes, 2 * PAGE),
				 -EFAULT);
		assert_int_equal(process_memory_read(memories[i], UINT64_MAX - 3, bytes, 8),
				 -EFAULT);
		assert_int_equal(process_memory_read(memories[i],
						     (uint64_t)(uintptr_t)fixture->pages, bytes,
						     sizeof(bytes)),
				 -EINVAL);
		/* And the next one is read. */
		check_read(memories[i], fixture->pages, 0, 8);
	}
}

static void a_process_that_is_gone_has_none(void **state)
{
	struct fixture *fixture = *state;
	pid_t child = fork();
	uint8_t byte;
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	fixture->direct.pid = child;
	fixture->asked.pid = child;
	assert_int_equal(process_memory_read(&fixture->direct, (uintptr_t)fixture->pages, &byte, 1),
			 -ESRCH);
	assert_int_equal(process_memory_read(&fixture->asked, (uintptr_t)fixture->pages, &byte, 1),
			 -ESRCH);
}

/* A process fills its memory when it likes: here never. */
static void memory_that_does_not_answer_is_given_up(void **state)
{
	struct fixture *fixture = *state;
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register registered = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	uint8_t *page;
	uint8_t byte;

	if (fd < 0) {
		print_message("skipped: userfaultfd is for root only\n");
		skip();
	}
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	registered.range.start = (uintptr_t)page;
	registered.range.len = PAGE;
	assert_int_equal(ioctl(fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(fd, UFFDIO_REGISTER, &registered), 0);
	assert_int_equal(process_memory_read(&fixture->asked, (uintptr_t)page, &byte, 1),
			 -ETIMEDOUT);
	/* What is elsewhere is read. */
	check_read(&fixture->asked, fixture->pages, 0, PAGE);
	munmap(page, PAGE);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(its_bytes_are_read),
		TEST(what_is_not_all_there_is_an_error),
		TEST(a_process_that_is_gone_has_none),
		TEST(memory_that_does_not_answer_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
