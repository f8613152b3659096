/*
 * Allocators of files that are mapped while the recording runs: which are looked into, which get probes, and what is counted of
 * the others. Readers, processes and the kernel are the test's.
 */
#include "base/clock.h"

static uint64_t read_waiting_clock(clockid_t clock);

#define clock_read_ns                    read_waiting_clock
#define confinement_keep_sampling_rights keep_rights
#define elf_worker_new                   start_reader
#define elf_worker_free                  free_reader
#define elf_worker_stop                  stop_reader
#define elf_worker_cancel                cancel_reader
#define elf_worker_get_cost              get_reader_cost
#define elf_worker_find_allocator        find_functions
#define slow_opener_new                  start_opener
#define slow_opener_free                 free_opener
#define slow_opener_end                  end_opener
#define slow_opener_read_cpu_ns          get_opener_ns
#define process_answers_check            check_answers
#define file_version_read                read_version
#define code_owner_read                  read_code_owner
#include "collect/events/allocator_follower.c"

#include <semaphore.h>

#include "unit.h"

#define USER 20001

/* ---- parts ------------------------------------------------------------------------------------------------------------ */

static bool waits_are_over;

static uint64_t read_waiting_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND - (waits_are_over ? 10 * NS_PER_SECOND : 0);
}

static bool kept_administrator;

int keep_rights(bool is_administrator)
{
	kept_administrator = is_administrator;
	return 0;
}

static int num_readers, num_openers, num_cancels;
static int reader_error;

int start_reader(uid_t user, bool is_awaited, struct elf_worker **ret)
{
	assert_int_equal(user, 77);
	assert_false(is_awaited);
	if (reader_error)
		return reader_error;
	num_readers++;
	*ret = (struct elf_worker *)&num_readers;
	return 0;
}

void free_reader(struct elf_worker *worker)
{
	num_readers -= worker != NULL;
}

void stop_reader(struct elf_worker *worker _unused_)
{
}

void cancel_reader(struct elf_worker *worker _unused_)
{
	num_cancels++;
}

struct elf_worker_cost get_reader_cost(const struct elf_worker *worker _unused_)
{
	return (struct elf_worker_cost){.cpu_ns = 100, .max_rss_bytes = 7};
}

int start_opener(struct slow_opener **ret)
{
	num_openers++;
	*ret = (struct slow_opener *)&num_openers;
	return 0;
}

void free_opener(struct slow_opener *opener)
{
	num_openers -= opener != NULL;
}

void end_opener(struct slow_opener *opener _unused_)
{
}

uint64_t get_opener_ns(const struct slow_opener *opener _unused_)
{
	return 5;
}

/* The functions in each file, and what else there is when a file is read. */
static size_t num_functions;
static int find_error;
static unsigned int num_looks;
static char looked_at[256];
static struct allocator_follower *closed_meanwhile;

int find_functions(struct elf_worker *worker _unused_, const struct elf_source_file *file,
		   struct allocator *ret)
{
	assert_true(fcntl(file->fd, F_GETFD) >= 0);
	num_looks++;
	if (num_looks < 8)
		snprintf(looked_at + strlen(looked_at), sizeof(looked_at) - strlen(looked_at),
			 "%s,", file->path);
	allocator_follower_close(closed_meanwhile);
	if (find_error)
		return find_error;
	for (size_t i = 0; i < num_functions; i++) {
		struct allocator_function *function = array_add(&ret->functions);

		assert_non_null(function);
		/* The first one frees alone. */
		function->point.file_offset = 0x1000 * (i + 1);
		function->point.argument.source = i ? ARGUMENT_REGISTER : ARGUMENT_NONE;
	}
	return 0;
}

static int answers_error;
static unsigned int num_checks;

int check_answers(struct slow_opener *opener, struct error *error)
{
	assert_ptr_equal(opener, &num_openers);
	num_checks++;
	return answers_error ? error_set(error, answers_error, "process 5 does not answer") : 0;
}

static struct file_version version;

int read_version(int fd, struct file_version *ret)
{
	assert_true(fd >= 0);
	*ret = version;
	return 0;
}

static struct code_owner code_owner;
static int owner_error;

int read_code_owner(const char *proc_root, pid_t pid, struct code_owner *ret)
{
	assert_string_equal(proc_root, "/proc");
	assert_int_equal(pid, 4000);
	*ret = code_owner;
	return owner_error;
}

/* What was attached, by event. */
static struct {
	unsigned int num_calls;
	size_t num_sites;
	struct probe_site first;
} attached[3];
static int attach_error;
static size_t refused_event;
static sem_t started, may_go_on;
static bool is_hanging;

static int attach_fake(void *context, size_t event, const struct probe_site *sites, size_t count)
{
	assert_ptr_equal(context, attached);
	if (is_hanging) {
		sem_post(&started);
		sem_wait(&may_go_on);
	}
	attached[event].num_calls++;
	attached[event].num_sites += count;
	attached[event].first = sites[0];
	return event == refused_event ? attach_error : 0;
}

/* ---- the recording ------------------------------------------------------------------------------------------------------ */

static struct probe probe, live_probe;
static struct event events[3];
static struct allocator_follower *follower;
static struct mapped_range range = {.pid = 4000};
static struct mapped_file_id at_start;

static void begin(bool is_shared)
{
	const struct allocator_follower_opts opts = {
		.events = events,
		.num_events = ARRAY_LENGTH(events),
		.worker_user = 77,
		.is_shared = is_shared,
	};

	assert_int_equal(allocator_follower_new(&opts, &follower), 0);
	follower->attacher = (struct site_attacher){attach_fake, attached};
}

static int null_fd;

static int set_up(void **state _unused_)
{
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	probe = (struct probe){.kind = PROBE_ALLOCATOR, .allocators = {.config = 1}};
	live_probe =
		(struct probe){.kind = PROBE_ALLOCATOR,
			       .allocators = {.config = 2, .is_live = true, .return_config = 3}};
	events[0] = (struct event){.kind = EVENT_SOFTWARE};
	events[1] = (struct event){.kind = EVENT_PROBE, .probe = &probe};
	events[2] = (struct event){.kind = EVENT_PROBE, .probe = &live_probe};
	version = (struct file_version){.num_bytes = 10};
	at_start = (struct mapped_file_id){.dev = makedev(8, 1), .inode = 1, .num_bytes = 10};
	probe.looked_at.seen.items = live_probe.looked_at.seen.items = &at_start;
	probe.looked_at.seen.length = live_probe.looked_at.seen.length = 1;
	code_owner = (struct code_owner){.uid = 0};
	num_functions = 3;
	find_error = answers_error = attach_error = owner_error = reader_error = 0;
	refused_event = 1;
	num_looks = num_checks = 0;
	num_cancels = 0;
	looked_at[0] = '\0';
	memset(attached, 0, sizeof(attached));
	closed_meanwhile = NULL;
	is_hanging = waits_are_over = kept_administrator = false;
	sem_init(&started, 0, 0);
	sem_init(&may_go_on, 0, 0);
	range.time_ns = 1;
	follower = NULL;
	begin(true);
	return 0;
}

static int tear_down(void **state _unused_)
{
	assert_true(allocator_follower_free(follower));
	assert_int_equal(num_readers, 0);
	assert_int_equal(num_openers, 0);
	sem_destroy(&started);
	sem_destroy(&may_go_on);
	close(null_fd);
	return 0;
}

static struct opened_mapping describe(const char *path, uint64_t inode, uid_t owner)
{
	return (struct opened_mapping){.path = path,
				       .fd = null_fd,
				       .dev_major = 8,
				       .dev_minor = 1,
				       .inode = inode,
				       .owner = owner,
				       .is_elf = true,
				       .version = version,
				       .range = &range};
}

static void add(const char *path, uint64_t inode, uid_t owner)
{
	const struct opened_mapping mapping = describe(path, inode, owner);

	allocator_follower_add(follower, &mapping);
}

/* As the thread does. */
static void work(void)
{
	struct follower_job jobs[BATCH];
	size_t count;

	while ((count = take_jobs(follower, jobs)))
		handle(follower, jobs, count);
}

static struct late_allocators finish(void)
{
	return allocator_follower_finish(follower);
}

/* ---- tests -------------------------------------------------------------------------------------------------------------- */

static void an_allocator_is_probed_for_each_event(void **state _unused_)
{
	struct late_allocators result;

	add("/late", 2, 0);
	work();
	assert_int_equal(attached[0].num_calls, 0);
	assert_int_equal(attached[1].num_sites, 2);
	assert_int_equal(attached[1].first.config, 1);
	assert_int_equal(attached[1].first.offset, 0x2000);
	assert_int_equal(attached[2].num_sites, 3);
	assert_int_equal(attached[2].first.config, 2);
	assert_int_equal(num_checks, 1);
	result = finish();
	assert_int_equal(result.num_followed, 1);
	assert_string_equal(result.first_followed_path, "/late");
	assert_true(result.max_delay_ns > 0);
	assert_int_equal(result.num_files, 0);
	assert_int_equal(result.num_unread, 0);
	assert_null(result.first_path);
}

static void only_allocators_need_it(void **state _unused_)
{
	assert_true(allocator_follower_is_needed(events, 3));
	probe.kind = live_probe.kind = PROBE_UPROBE;
	assert_false(allocator_follower_is_needed(events, 3));
	assert_false(allocator_follower_is_needed(NULL, 0));
}

/* A file with the inode of an older one is another file. */
static void each_content_is_looked_into_once(void **state _unused_)
{
	add("/at_start", 1, 0);
	add("/late", 2, 0);
	add("/late again", 2, 0);
	version.modified.tv_nsec = 5;
	add("/new", 1, 0);
	add("/newer", 2, 0);
	work();
	assert_string_equal(looked_at, "/late,/new,/newer,");
}

/* Its probes were taken away: the same content may be there again. */
static void a_lost_content_is_looked_into_again(void **state _unused_)
{
	struct opened_mapping mapping = describe("/at_start", 1, 0);

	add("/late", 2, 0);
	mapping.is_again = true;
	allocator_follower_add(follower, &mapping);
	mapping = describe("/late", 2, 0);
	mapping.is_again = true;
	allocator_follower_add(follower, &mapping);
	add("/late", 2, 0);
	work();
	assert_string_equal(looked_at, "/late,/at_start,/late,");
	assert_int_equal(finish().num_followed, 3);
}

static void other_mappings_are_skipped(void **state _unused_)
{
	struct opened_mapping mapping = describe("/text", 2, 0);

	mapping.is_elf = false;
	allocator_follower_add(follower, &mapping);
	add("[vdso]", 3, 0);
	work();
	assert_int_equal(num_looks, 0);
	assert_int_equal(finish().num_unread, 0);
}

static void files_without_allocator_are_not_counted(void **state _unused_)
{
	find_error = -ENOENT;
	add("/none", 2, 0);
	work();
	assert_int_equal(num_checks, 0);
	assert_int_equal(finish().num_files, 0);
	assert_int_equal(finish().num_unread, 0);
}

/* Once each, whether they were looked into at the start, for a command, or later. */
static void programs_without_a_known_allocator_are_counted(void **state _unused_)
{
	struct late_allocators result;

	add("/at_start", 1, 0);
	assert_int_equal(finish().num_unknown, 0);
	probe.unknown.seen.items = live_probe.unknown.seen.items = &at_start;
	probe.unknown.seen.length = live_probe.unknown.seen.length = 1;
	find_error = -ENODATA;
	add("/at_\nstart", 1, 0);
	add("/at_start", 1, 0);
	add("/static", 2, USER);
	add("/static", 2, USER);
	work();
	result = finish();
	assert_int_equal(result.num_unknown, 2);
	assert_string_equal(result.first_unknown_path, "/at_?start");
	assert_int_equal(result.num_files + result.num_unread + result.num_followed, 0);
}

static void files_that_cannot_be_read_are_counted(void **state _unused_)
{
	find_error = -ETIMEDOUT;
	add("/slow", 2, USER);
	work();
	assert_int_equal(finish().num_unread, 1);
}

static void a_copy_is_not_the_mapped_file(void **state _unused_)
{
	struct opened_mapping mapping = describe("/fuse/x\n", 2, USER);

	mapping.is_copy = true;
	allocator_follower_add(follower, &mapping);
	work();
	assert_int_equal(attached[1].num_calls, 0);
	assert_int_equal(finish().num_files, 1);
	assert_string_equal(finish().first_path, "/fuse/x?");
}

static void a_file_with_too_many_functions_is_counted(void **state _unused_)
{
	find_error = -E2BIG;
	add("/many", 2, 0);
	work();
	assert_int_equal(finish().num_files, 1);
	assert_string_equal(finish().first_path, "/many");
	find_error = 0;
}

static void an_overwritten_file_is_not_probed(void **state _unused_)
{
	add("/rewritten", 2, 0);
	version.num_bytes++;
	work();
	assert_int_equal(attached[1].num_calls, 0);
	assert_int_equal(finish().num_files, 1);
}

/* Attaching would hang. */
static void a_silent_process_keeps_all_from_being_probed(void **state _unused_)
{
	answers_error = -EBUSY;
	add("/a", 2, 0);
	add("/b", 3, 0);
	work();
	assert_int_equal(num_checks, 1);
	assert_int_equal(attached[1].num_calls, 0);
	assert_int_equal(finish().num_files, 2);
	assert_string_equal(finish().first_path, "/a");
}

static void a_refused_probe_is_counted(void **state _unused_)
{
	attach_error = -EINVAL;
	add("/a", 2, 0);
	work();
	attach_error = -ESHUTDOWN;
	refused_event = 2;
	add("/b", 3, 0);
	work();
	assert_int_equal(attached[2].num_calls, 1);
	assert_int_equal(finish().num_files, 2);
	assert_int_equal(finish().num_followed, 0);
}

static void add_many(uint64_t first, uint64_t count, uid_t owner)
{
	for (uint64_t i = 0; i < count; i++) {
		add("/many", first + i, owner);
		work();
	}
}

/* A user gets half of three quarters of the files; root's are followed all the same. */
static void a_user_leaves_files_to_others(void **state _unused_)
{
	add_many(10, 100, USER);
	assert_int_equal(finish().num_followed, 24);
	assert_int_equal(finish().num_files, 76);
	add_many(1000, 40, 0);
	assert_int_equal(finish().num_followed, 64);
	assert_int_equal(finish().num_files, 76);
	add_many(2000, 1, 0);
	assert_int_equal(finish().num_files, 77);
}

static void a_user_leaves_sites_to_others(void **state _unused_)
{
	num_functions = 64;
	add_many(10, 10, USER);
	assert_int_equal(finish().num_followed, 8);
	add_many(1000, 20, 0);
	assert_int_equal(attached[2].num_sites,
			 PROBE_MAX_LATE_SITES / num_functions * num_functions);
}

static void users_of_one_program_have_no_shares(void **state _unused_)
{
	assert_true(allocator_follower_free(follower));
	begin(false);
	add_many(10, 70, USER);
	assert_int_equal(finish().num_followed, MAX_FOLLOWED);
	assert_int_equal(finish().num_files, 6);
}

/* A user maps files of root: in any number, by mounts of their own. */
static void a_mapping_is_charged_to_the_user_of_its_process(void **state _unused_)
{
	code_owner.uid = USER;
	add_many(10, 100, 0);
	assert_int_equal(finish().num_followed, 24);
	/* The same user's processes by a program of root's (setuid). */
	code_owner = (struct code_owner){.uid = 0, .real_uid = USER};
	add_many(1000, 1, 0);
	assert_int_equal(finish().num_followed, 24);
	/* Gone. */
	owner_error = -ENOENT;
	add_many(2000, 100, 0);
	assert_int_equal(finish().num_followed, 24 + 12);
}

/* While the thread is busy. */
static void the_queue_has_a_limit(void **state _unused_)
{
	for (uint64_t i = 0; i < MAX_QUEUED + 5; i++)
		add("/many", 10 + i, 0);
	assert_int_equal(follower->jobs.length, MAX_QUEUED);
	assert_int_equal(finish().num_unread, MAX_QUEUED + 5);
	work();
	assert_int_equal(finish().num_unread, 5);
}

/* While the thread is busy with the files of one user, those of others wait, too. */
static void a_user_leaves_room_in_the_queue(void **state _unused_)
{
	for (uint64_t i = 0; i < MAX_QUEUED; i++)
		add("/many", 10 + i, USER);
	assert_int_equal(follower->jobs.length, MAX_QUEUED * 3 / 8);
	add("/of_another", 10000, USER + 1);
	add("/of_root", 10001, 0);
	assert_int_equal(follower->jobs.length, MAX_QUEUED * 3 / 8 + 2);
	work();
	assert_int_equal(follower->waiting.taken, 0);
	for (uint64_t i = 0; i < MAX_QUEUED; i++)
		add("/more", 20000 + i, USER);
	assert_int_equal(follower->jobs.length, MAX_QUEUED * 3 / 8);
}

static void a_hundred_thousand_files_are_counted(void **state _unused_)
{
	find_error = -ENOENT;
	for (uint64_t i = 0; i < 100000; i++) {
		add("/many", 10 + i, USER);
		if (follower->jobs.length == MAX_QUEUED / 4)
			work();
	}
	work();
	assert_int_equal(num_looks, MAX_LOOKS * 3 / 8);
	assert_int_equal(follower->seen.length, num_looks);
	assert_int_equal(finish().num_unread, 100000 - num_looks);
	add("/of_root", 200000, 0);
	work();
	assert_int_equal(num_looks, MAX_LOOKS * 3 / 8 + 1);
}

static void files_of_root_are_first(void **state _unused_)
{
	add("/a", 2, USER);
	add("/b", 3, 0);
	add("/c", 4, USER);
	add("/d", 5, 0);
	work();
	assert_string_equal(looked_at, "/b,/d,/a,/c,");
}

static void files_that_wait_at_the_end_are_looked_into(void **state _unused_)
{
	const struct site_attacher attacher = {attach_fake, attached};

	add("/a", 2, 0);
	add("/b", 3, 0);
	allocator_follower_close(follower);
	add("/c", 4, 0);
	assert_int_equal(allocator_follower_start(follower, &attacher), 0);
	assert_int_equal(finish().num_files, 2);
	assert_int_equal(finish().num_unread, 1);
	assert_int_equal(attached[1].num_calls, 0);
	assert_int_equal(num_checks, 0);
	assert_int_equal(allocator_follower_get_cost(follower).cpu_ns, 105);
	assert_int_equal(allocator_follower_get_cost(follower).max_rss_bytes, 7);
}

static void an_end_within_a_look_is_noticed(void **state _unused_)
{
	add("/a", 2, 0);
	add("/b", 3, 0);
	closed_meanwhile = follower;
	work();
	assert_int_equal(attached[1].num_calls, 0);
	assert_int_equal(finish().num_files, 2);
}

/* A process locked its memory map after it had answered. */
static void the_end_does_not_wait_for_a_thread_that_hangs(void **state _unused_)
{
	const struct site_attacher attacher = {attach_fake, attached};

	is_hanging = true;
	follower->opts.keeps_administrator = true;
	assert_int_equal(allocator_follower_start(follower, &attacher), 0);
	assert_int_equal(allocator_follower_get_cost(follower).cpu_ns, 100);
	add("/a", 2, 0);
	sem_wait(&started);
	assert_true(kept_administrator);
	waits_are_over = true;
	assert_int_equal(finish().num_unread, 1);
	assert_int_equal(num_cancels, 1);
	assert_false(allocator_follower_free(follower));
	is_hanging = waits_are_over = false;
	sem_post(&may_go_on);
}

static void nothing_is_followed_without_allocators(void **state _unused_)
{
	allocator_follower_close(NULL);
	assert_int_equal(allocator_follower_finish(NULL).num_unread, 0);
	assert_int_equal(allocator_follower_get_cost(NULL).cpu_ns, 0);
	assert_true(allocator_follower_free(NULL));
}

static void a_start_that_fails_leaves_nothing(void **state _unused_)
{
	const struct allocator_follower_opts opts = {
		.events = events, .num_events = ARRAY_LENGTH(events), .worker_user = 77};
	struct allocator_follower *other;

	reader_error = -EAGAIN;
	assert_int_equal(allocator_follower_new(&opts, &other), -EAGAIN);
	assert_int_equal(num_openers, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_allocator_is_probed_for_each_event),
		TEST(only_allocators_need_it),
		TEST(each_content_is_looked_into_once),
		TEST(a_lost_content_is_looked_into_again),
		TEST(other_mappings_are_skipped),
		TEST(files_without_allocator_are_not_counted),
		TEST(files_that_cannot_be_read_are_counted),
		TEST(programs_without_a_known_allocator_are_counted),
		TEST(a_copy_is_not_the_mapped_file),
		TEST(a_file_with_too_many_functions_is_counted),
		TEST(an_overwritten_file_is_not_probed),
		TEST(a_silent_process_keeps_all_from_being_probed),
		TEST(a_refused_probe_is_counted),
		TEST(a_user_leaves_files_to_others),
		TEST(a_user_leaves_sites_to_others),
		TEST(users_of_one_program_have_no_shares),
		TEST(a_mapping_is_charged_to_the_user_of_its_process),
		TEST(the_queue_has_a_limit),
		TEST(a_user_leaves_room_in_the_queue),
		TEST(a_hundred_thousand_files_are_counted),
		TEST(files_of_root_are_first),
		TEST(files_that_wait_at_the_end_are_looked_into),
		TEST(an_end_within_a_look_is_noticed),
		TEST(the_end_does_not_wait_for_a_thread_that_hangs),
		TEST(nothing_is_followed_without_allocators),
		TEST(a_start_that_fails_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
