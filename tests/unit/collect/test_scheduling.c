/* What the scheduling program counts and what was stored make up all its events. Program and stores are the test's. */
#define schedule_tap_new                new_tap
#define schedule_tap_free               free_tap
#define schedule_tap_start              start_tap
#define schedule_tap_read_counters      read_counters
#define schedule_tap_get_kwork_counters get_kwork_counters
#define schedule_store_new              new_store
#define schedule_store_free             free_store
#define schedule_store_add              add_batch
#define schedule_store_set_start        set_start
#define schedule_store_get_counts       get_stored
#define kwork_store_new                 new_kworks
#define kwork_store_free                free_kworks
#define kwork_store_add                 add_kworks
#define kwork_store_get_counts          get_stored_kworks
#include "collect/trace/scheduling.c"

#include "base/attributes.h"
#include "unit.h"

static int store_error, kworks_error, tap_error, start_error;
static unsigned int num_freed;
static struct schedule_tap_opts tap_opts;
static uint64_t start_ns;
static size_t batch_size, kworks_size;

int new_store(const char *folder, struct schedule_store **ret, struct error *error _unused_)
{
	assert_string_equal(folder, "/folder");
	*ret = store_error ? NULL : (void *)1;
	return store_error;
}

void free_store(struct schedule_store *store)
{
	num_freed += store != NULL;
}

int new_kworks(const char *folder, struct kwork_store **ret, struct error *error _unused_)
{
	assert_string_equal(folder, "/folder");
	*ret = kworks_error ? NULL : (void *)2;
	return kworks_error;
}

void free_kworks(struct kwork_store *store)
{
	num_freed += 10 * (store != NULL);
}

int new_tap(const struct schedule_tap_opts *opts, struct schedule_tap **ret,
	    struct error *error _unused_)
{
	tap_opts = *opts;
	*ret = tap_error ? NULL : (void *)3;
	return tap_error;
}

void free_tap(struct schedule_tap *tap)
{
	num_freed += 100 * (tap != NULL);
}

int start_tap(struct schedule_tap *tap, struct error *error _unused_)
{
	assert_ptr_equal(tap, (void *)3);
	assert_true(start_ns > 0); /* before the first event */
	return start_error;
}

void set_start(struct schedule_store *store, uint64_t ns)
{
	assert_ptr_equal(store, (void *)1);
	start_ns = ns;
}

int add_batch(struct schedule_store *store, const void *record _unused_, size_t size)
{
	assert_ptr_equal(store, (void *)1);
	batch_size = size;
	return -EIO;
}

int add_kworks(struct kwork_store *store, const void *record _unused_, size_t size)
{
	assert_ptr_equal(store, (void *)2);
	kworks_size = size;
	return -ENOSPC;
}

static struct wire_schedule_counters seen;
static struct wire_kwork_counters seen_kworks;
static struct schedule_store_counts stored;
static struct spool_counts stored_kworks;

int read_counters(const struct schedule_tap *tap _unused_, struct wire_schedule_counters *ret)
{
	*ret = seen;
	return 0;
}

struct wire_kwork_counters get_kwork_counters(const struct schedule_tap *tap _unused_)
{
	return seen_kworks;
}

struct schedule_store_counts get_stored(const struct schedule_store *store _unused_)
{
	return stored;
}

struct spool_counts get_stored_kworks(const struct kwork_store *store _unused_)
{
	return stored_kworks;
}

static const struct scheduling_opts opts = {
	.running_fd = 4, .targets_fd = 5, .ring_bytes = 6, .folder = "/folder"};
static struct scheduling *scheduling;

static int set_up(void **state _unused_)
{
	store_error = kworks_error = tap_error = start_error = 0;
	num_freed = 0;
	start_ns = 0;
	batch_size = kworks_size = 0;
	seen = (struct wire_schedule_counters){.switches = 1000,
					       .wakeups = 500,
					       .unseen = 7,
					       .lost_ring_switches = 20,
					       .lost_ring_wakeups = 30,
					       .lost_nested = 4};
	stored = (struct schedule_store_counts){
		.switches = 970, .wakeups = 465, .lost_switches = 10, .lost_wakeups = 1};
	seen_kworks = (struct wire_kwork_counters){
		.taken = 200, .lost_ring = 8, .lost_nested = 5, .unseen_begin = 3};
	stored_kworks = (struct spool_counts){.kept = 190, .lost = 2};
	scheduling = NULL;
	return 0;
}

static void make(void)
{
	assert_int_equal(scheduling_new(&opts, &scheduling, NULL), 0);
}

static int tear_down(void **state _unused_)
{
	scheduling_free(scheduling);
	return 0;
}

static void events_that_were_taken_are_kept_or_lost(void **state _unused_)
{
	struct scheduling_counts counts;

	make();
	counts = scheduling_get_counts(scheduling);
	assert_true(counts.is_recorded);
	assert_int_equal(counts.fired, 1507);
	assert_int_equal(counts.switches, 970);
	assert_int_equal(counts.wakeups, 465);
	assert_int_equal(counts.lost_ring, 50);
	assert_int_equal(counts.lost_nested, 4);
	assert_int_equal(counts.lost_storage, 11);
	assert_int_equal(counts.lost_unseen, 7);
	assert_int_equal(counts.kworks.fired, 208);
	assert_int_equal(counts.kworks.kept, 190);
	assert_int_equal(counts.kworks.lost_ring, 8);
	assert_int_equal(counts.kworks.lost_nested, 5);
	assert_int_equal(counts.kworks.lost_storage, 2);
	assert_int_equal(counts.kworks.unseen_begin, 3);
	assert_true(scheduling_counts_are_balanced(&counts));
}

static void each_count_is_part_of_the_balance(void **state _unused_)
{
	struct scheduling_counts good, counts;
	uint64_t *const parts[] = {&counts.fired,
				   &counts.switches,
				   &counts.wakeups,
				   &counts.lost_ring,
				   &counts.lost_nested,
				   &counts.lost_storage,
				   &counts.lost_unseen,
				   &counts.kworks.fired,
				   &counts.kworks.kept,
				   &counts.kworks.lost_ring,
				   &counts.kworks.lost_nested,
				   &counts.kworks.lost_storage,
				   &counts.kworks.unseen_begin};

	make();
	good = scheduling_get_counts(scheduling);
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
		counts = good;
		++*parts[i];
		assert_false(scheduling_counts_are_balanced(&counts));
	}
}

static void batches_go_to_their_store(void **state _unused_)
{
	uint32_t kworks = WIRE_KWORKS;
	uint32_t other = WIRE_KWORKS + 1;

	make();
	assert_int_equal(tap_opts.running_fd, 4);
	assert_int_equal(tap_opts.targets_fd, 5);
	assert_int_equal(tap_opts.ring_bytes, 6);
	assert_int_equal(tap_opts.on_record(&kworks, 4, tap_opts.context), -ENOSPC);
	assert_int_equal(kworks_size, 4);
	assert_int_equal(batch_size, 0);
	assert_int_equal(tap_opts.on_record(&kworks, 3, tap_opts.context), -EIO);
	assert_int_equal(batch_size, 3);
	assert_int_equal(tap_opts.on_record(&other, 4, tap_opts.context), -EIO);
	assert_int_equal(batch_size, 4);
}

/* Whatever is refused, the rest is freed. */
static void what_is_refused_leaves_nothing(void **state _unused_)
{
	struct {
		int *error;
		unsigned int num_freed;
	} cases[] = {{&store_error, 0}, {&kworks_error, 1}, {&tap_error, 11}, {&start_error, 111}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		num_freed = 0;
		*cases[i].error = -EPERM;
		assert_int_equal(scheduling_new(&opts, &scheduling, NULL), -EPERM);
		assert_null(scheduling);
		assert_int_equal(num_freed, cases[i].num_freed);
		*cases[i].error = 0;
	}
}

static void without_scheduling_nothing_is_read(void **state _unused_)
{
	assert_int_equal(scheduling_read(NULL), 0);
	assert_int_equal(scheduling_stop(NULL), 0);
	assert_int_equal(scheduling_read_time(NULL, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_that_were_taken_are_kept_or_lost),
		TEST(each_count_is_part_of_the_balance),
		TEST(batches_go_to_their_store),
		TEST(what_is_refused_leaves_nothing),
		TEST(without_scheduling_nothing_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
