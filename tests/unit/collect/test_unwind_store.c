/*
 * Kernel memory of unwind tables and mappings: limits, reuse, order. The test replaces libbpf's calls; maps are
 * memory of its own.
 */
#include "collect/tables/unwind_store.c"

#include "failing_memory.h"
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#define PID 8

enum { PROCESSES = 1000, LAYOUTS, SHARDS };

static struct unwind_process published;
static bool is_published;
static bool has_no_entries; /* the map of processes is full */
static uint32_t num_layouts;
static bool has_no_layouts; /* their map refuses */
static uint32_t shards_left;
static uint32_t num_shards_made;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags _unused_)
{
	errno = E2BIG;
	if (fd == PROCESSES && has_no_entries)
		return -E2BIG;
	if (fd == PROCESSES) {
		assert_int_equal(*(const uint32_t *)key, PID);
		memcpy(&published, value, sizeof(published));
		is_published = true;
	} else {
		assert_int_equal(fd, LAYOUTS);
		assert_int_equal(*(const uint32_t *)key, num_layouts);
		if (has_no_layouts)
			return -E2BIG;
		num_layouts++;
	}
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	assert_int_equal(fd, PROCESSES);
	assert_int_equal(*(const uint32_t *)key, PID);
	is_published = false;
	return 0;
}

int bpf_map_create(enum bpf_map_type type _unused_, const char *name _unused_,
		   __u32 key_size _unused_, __u32 value_size, __u32 max_entries _unused_,
		   const struct bpf_map_create_opts *opts _unused_)
{
	int fd;

	errno = ENOMEM;
	if (!shards_left)
		return -errno;
	shards_left--;
	fd = memfd_create("shard", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, value_size), 0);
	return fd;
}

int bpf_map_update_batch(int fd, const void *keys, const void *values _unused_, __u32 *count,
			 const struct bpf_map_batch_opts *opts _unused_)
{
	assert_int_equal(fd, SHARDS);
	assert_int_equal(*(const uint32_t *)keys, num_shards_made);
	num_shards_made += *count;
	return 0;
}

static struct unwind_store *store;
static struct unwind_maps maps;

static int make_map(size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static int set_up(void **state _unused_)
{
	is_published = has_no_entries = false;
	num_layouts = 0;
	has_no_layouts = false;
	shards_left = UINT32_MAX;
	num_shards_made = 0;
	maps = (struct unwind_maps){
		.pages_fd = make_map(sizeof(struct unwind_page) * UNWIND_MAX_PAGES),
		.mappings_fd = make_map(sizeof(struct unwind_mapping) * UNWIND_MAX_MAPPINGS),
		.shards_fd = SHARDS,
		.processes_fd = PROCESSES,
		.layouts_fd = LAYOUTS,
	};
	assert_int_equal(unwind_store_new(&maps, &store), 0);
	return 0;
}

static int tear_down(void **state _unused_)
{
	unwind_store_free(store);
	close(maps.pages_fd);
	close(maps.mappings_fd);
	return 0;
}

/* A table of so many pages with so many rows each, and a rule for each page. */
struct made_table {
	struct unwind_table table;
	struct unwind_page *pages;
	struct unwind_row *rows;
	struct unwind_rule *rules;
};

static struct made_table make_table(uint32_t num_pages, uint32_t num_rows, int first_rule)
{
	struct made_table made = {
		.pages = calloc(num_pages, sizeof(*made.pages)),
		.rows = calloc((size_t)num_pages * num_rows, sizeof(*made.rows)),
		.rules = calloc(num_pages + 1, sizeof(*made.rules)),
	};

	for (uint32_t page = 0; page < num_pages; page++) {
		made.pages[page] =
			(struct unwind_page){.first_row = page * num_rows, .num_rows = num_rows};
		made.rules[page + 1] = (struct unwind_rule){
			.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8 * (first_rule + (int)page)};
		for (uint32_t i = 0; i < num_rows; i++)
			made.rows[page * num_rows + i] = (struct unwind_row){
				.pc_low = (uint16_t)(16 * i), .rule = (uint16_t)(page + 1)};
	}
	made.table.pages = made.pages;
	made.table.rows = made.rows;
	made.table.rules = made.rules;
	made.table.num_pages = num_pages;
	made.table.num_rows = num_pages * num_rows;
	made.table.num_rules = num_pages + 1;
	return made;
}

/* Returns what the store does. */
static int add_table(uint32_t num_pages, uint32_t num_rows, int first_rule,
		     struct unwind_placement *ret)
{
	struct made_table made = make_table(num_pages, num_rows, first_rule);
	int err;

	unwind_store_prepare(store, &made.table);
	err = unwind_store_add_table(store, &made.table, ret);
	free(made.pages);
	free(made.rows);
	free(made.rules);
	return err;
}

static int find_offset(const struct unwind_placement *placement, uint64_t elf_address)
{
	const struct unwind_mapping mapping = {.first_page = placement->first_page,
					       .num_pages = placement->num_pages,
					       .base_page = placement->base_page};
	const struct unwind_rule *rule = unwind_store_find_rule(store, &mapping, elf_address);

	return rule ? rule->cfa_offset : 0;
}

static void tables_follow_each_other(void **state _unused_)
{
	struct unwind_placement first;
	struct unwind_placement second;

	assert_int_equal(add_table(2, 3, 1, &first), 0);
	assert_int_equal(add_table(1, 5, 10, &second), 0);
	assert_int_equal(first.first_page, 1); /* 0 is no page of a known rule */
	assert_int_equal(second.first_page, 3);
	assert_int_equal(unwind_store_get_row_count(store), 11);
	assert_int_equal(num_shards_made, 1);
	assert_int_equal(find_offset(&first, 0), 8);
	assert_int_equal(find_offset(&first, 0xffff), 8);
	assert_int_equal(find_offset(&first, 0x10000), 16);
	assert_int_equal(find_offset(&first, 0x20000), 0);
	assert_int_equal(find_offset(&second, 40), 80);
	assert_true(unwind_store_get_size(store) >= sizeof(struct unwind_shard));
}

/* A table of a page of rows with a rule each, and of an empty one. */
static void the_rule_of_an_address_is_that_of_the_row_before_it(void **state _unused_)
{
	struct unwind_page pages[] = {{.num_rows = 5}, {.first_row = 5}};
	struct unwind_rule rules[6] = {{0}};
	struct unwind_row rows[5];
	const struct unwind_table table = {.pages = pages,
					   .rows = rows,
					   .rules = rules,
					   .num_pages = 2,
					   .num_rows = 5,
					   .num_rules = 6,
					   .first_page = 3};
	struct unwind_placement placement;

	for (uint16_t i = 0; i < 5; i++) {
		rows[i] = (struct unwind_row){.pc_low = (uint16_t)(16 * i),
					      .rule = (uint16_t)(i + 1)};
		rules[i + 1] =
			(struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 1000 + 8 * i};
	}
	unwind_store_prepare(store, &table);
	assert_int_equal(unwind_store_add_table(store, &table, &placement), 0);
	assert_int_equal(placement.base_page, 3);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(find_offset(&placement, 0x30000 + 16 * i), 1000 + 8 * i);
		assert_int_equal(find_offset(&placement, 0x30000 + 16 * i + 15), 1000 + 8 * i);
	}
	assert_int_equal(find_offset(&placement, 0x3ffff), 1000 + 8 * 4);
	assert_int_equal(find_offset(&placement, 0x2ffff), 0);
	assert_int_equal(find_offset(&placement, 0x40000), 0); /* the empty page */
	assert_int_equal(find_offset(&placement, 0x50000), 0);
}

static void a_row_without_a_rule_is_refused(void **state _unused_)
{
	struct made_table made = make_table(1, 2, 1);
	struct unwind_placement placement;

	made.rows[1].rule = (uint16_t)made.table.num_rules;
	unwind_store_prepare(store, &made.table);
	assert_int_equal(unwind_store_add_table(store, &made.table, &placement), -EINVAL);
	assert_int_equal(store->num_pages, 1);
	free(made.pages);
	free(made.rows);
	free(made.rules);
}

/* The rows of a page are in one shard. */
static void a_page_that_does_not_fit_starts_a_shard(void **state _unused_)
{
	struct unwind_placement placements[3];

	assert_int_equal(add_table(1, UNWIND_SHARD_ROWS - 5, 1, &placements[0]), 0);
	assert_int_equal(add_table(1, 5, 2, &placements[1]), 0);
	assert_int_equal(store->num_shards, 1);
	assert_int_equal(store->num_shard_rows, UNWIND_SHARD_ROWS);
	assert_int_equal(add_table(1, 1, 3, &placements[2]), 0);
	assert_int_equal(store->num_shards, 2);
	assert_int_equal(store->num_shard_rows, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(find_offset(&placements[i], 0), 8 * (i + 1));
}

static size_t count_mapped(void)
{
	size_t count = 0;

	for (uint32_t i = 0; i < store->num_shards; i++)
		count += store->shards[i] != NULL;
	return count;
}

/* They are megabytes, and seldom read. */
static void few_shards_are_mapped(void **state _unused_)
{
	struct unwind_placement placements[12];

	for (int i = 0; i < 12; i++) {
		assert_int_equal(add_table(1, UNWIND_SHARD_ROWS, (uint32_t)i + 1, &placements[i]),
				 0);
		assert_true(count_mapped() <= MAX_MAPPED + 1);
	}
	assert_int_equal(store->num_shards, 12);
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 12; i++) {
			int number = turn ? 11 - i : i;

			assert_int_equal(find_offset(&placements[number], 0), 8 * (number + 1));
			assert_true(count_mapped() <= MAX_MAPPED + 1);
		}
	}
}

static void rules_that_do_not_fit_start_a_shard(void **state _unused_)
{
	struct unwind_placement placement;

	assert_int_equal(add_table(UNWIND_SHARD_RULES + 10, 1, 1, &placement), 0);
	assert_int_equal(store->num_shards, 2);
	for (uint64_t page = 0; page < UNWIND_SHARD_RULES + 10; page++)
		assert_int_equal(find_offset(&placement, page << UNWIND_PAGE_SHIFT),
				 8 * (page + 1));
	for (uint32_t row = 0; row < UNWIND_SHARD_RULES; row++)
		assert_true(store->shards[0]->rows[row].rule < UNWIND_SHARD_RULES);
}

static void pages_are_bounded(void **state _unused_)
{
	struct unwind_placement placement;

	store->num_pages = UNWIND_MAX_PAGES - 2;
	assert_int_equal(add_table(3, 1, 1, &placement), -ENOSPC);
	assert_int_equal(add_table(2, 1, 1, &placement), 0);
	assert_int_equal(add_table(1, 1, 1, &placement), -ENOSPC);
	assert_int_equal(store->num_pages, UNWIND_MAX_PAGES);
}

static void shards_are_bounded(void **state _unused_)
{
	struct unwind_placement placement;

	assert_int_equal(add_table(1, 1, 1, &placement), 0);
	store->num_shards = UNWIND_MAX_SHARDS;
	store->num_shard_rows = UNWIND_SHARD_ROWS;
	store->shards[UNWIND_MAX_SHARDS - 1] = store->shards[0];
	assert_int_equal(add_table(1, 1, 1, &placement), -ENOSPC);
	assert_int_equal(store->num_pages, 2);
	store->num_shards = 1;
}

static void without_kernel_memory_a_table_is_refused(void **state _unused_)
{
	struct unwind_placement placement;

	shards_left = 0;
	assert_true(add_table(1, 1, 1, &placement) < 0);
	assert_int_equal(store->num_pages, 1);
	shards_left = 1;
	assert_int_equal(add_table(1, 1, 1, &placement), 0);
}

static int publish(uint32_t num_mappings, uint64_t now_ns, struct unwind_range *range)
{
	struct unwind_mapping mappings[100];
	const struct unwind_address_space space = {.pid = PID,
						   .mappings = mappings,
						   .num_mappings = num_mappings,
						   .generation = 4,
						   .version = 5};

	assert_true(num_mappings <= ARRAY_LENGTH(mappings));
	memset(mappings, 0, sizeof(mappings));
	for (uint32_t i = 0; i < num_mappings; i++)
		mappings[i].start = i + 1;
	return unwind_store_publish(store, &space, now_ns, range);
}

/* Records are a process's, wait for the end of their grace period, or are free: none is lost. */
static void assert_all_known(const struct unwind_range *range)
{
	uint32_t num_known = range->count;

	array_for_each (&store->retired, old)
		num_known += old->range.count;
	for (size_t list = 0; list <= MAX_RUN; list++)
		array_for_each (&store->free_runs[list], run)
			num_known += run->count;
	assert_int_equal(num_known, store->num_mappings);
}

/* The sampling program may still read the old ones. */
static void mappings_are_reused_after_a_while(void **state _unused_)
{
	struct unwind_range range = {0};
	uint32_t first;

	assert_int_equal(publish(3, 1000, &range), 0);
	first = range.first;
	assert_int_equal(range.count, 8);
	assert_int_equal(published.first_mapping, first);
	assert_int_equal(published.num_mappings, 3);
	assert_int_equal(published.generation, 4);
	assert_int_equal(published.version, 5);
	assert_int_equal(store->mappings[first + 2].start, 3);
	assert_int_equal(publish(4, 2000, &range), 0);
	assert_int_equal(range.first, first + 8);
	assert_int_equal(publish(4, 2000 + GRACE_PERIOD_NS - 1001, &range), 0);
	assert_int_equal(range.first, first + 16);
	assert_int_equal(publish(4, 1999 + GRACE_PERIOD_NS, &range), 0);
	assert_int_equal(range.first, first + 24);
	/* Two are free by now: the first and the second one. */
	assert_int_equal(publish(8, 2000 + GRACE_PERIOD_NS, &range), 0);
	assert_true(range.first == first || range.first == first + 8);
	assert_int_equal(publish(9, 2001 + GRACE_PERIOD_NS, &range), 0);
	assert_int_equal(range.first, first + 32);
	assert_int_equal(range.count, 16);
}

static void long_runs_are_reused_where_they_fit(void **state _unused_)
{
	struct unwind_range range = {0};
	uint32_t first;

	assert_int_equal(publish(80, 1000, &range), 0);
	first = range.first;
	unwind_store_remove(store, PID, 2000, &range);
	assert_int_equal(range.count, 0);
	assert_false(is_published);
	assert_int_equal(publish(100, 2000 + GRACE_PERIOD_NS, &range), 0);
	assert_int_equal(range.first, first + 80);
	assert_int_equal(publish(70, 2000 + GRACE_PERIOD_NS, &range), 0);
	assert_int_equal(range.first, first);
}

static void mappings_are_bounded(void **state _unused_)
{
	struct unwind_range range = {0};

	store->num_mappings = UNWIND_MAX_MAPPINGS - 8;
	assert_int_equal(publish(8, 1000, &range), 0);
	assert_int_equal(range.first, UNWIND_MAX_MAPPINGS - 8);
	/* Without room for the new ones the old ones are removed. */
	assert_int_equal(publish(1, 2000, &range), -ENOSPC);
	assert_false(is_published);
	assert_int_equal(range.count, 0);
	assert_int_equal(publish(1, 1999 + GRACE_PERIOD_NS, &range), -ENOSPC);
	assert_int_equal(publish(1, 2000 + GRACE_PERIOD_NS, &range), 0);
	assert_int_equal(range.first, UNWIND_MAX_MAPPINGS - 8);
}

static void a_process_without_mappings_needs_no_run(void **state _unused_)
{
	struct unwind_range range = {0};

	store->num_mappings = UNWIND_MAX_MAPPINGS;
	assert_int_equal(publish(0, 1000, &range), 0);
	assert_true(is_published);
	assert_int_equal(published.num_mappings, 0);
	assert_int_equal(store->num_runs, 0);
	has_no_entries = true;
	assert_int_equal(publish(0, 1000, &range), -E2BIG);
}

/* An entry that stayed would lead to records that are reused. */
static void a_process_without_an_entry_has_no_records(void **state _unused_)
{
	struct unwind_range range = {0};

	assert_int_equal(publish(3, 1000, &range), 0);
	has_no_entries = true;
	assert_int_equal(publish(4, 2000, &range), -E2BIG);
	assert_false(is_published);
	assert_int_equal(range.count, 0);
	assert_all_known(&range);
	has_no_entries = false;
	assert_int_equal(publish(5, 2000 + GRACE_PERIOD_NS, &range), 0);
	assert_int_equal(store->num_mappings, 16); /* of the two, one is reused */
	assert_all_known(&range);
}

static struct wire_runtime_layout make_layout(enum wire_runtime runtime, uint32_t number)
{
	struct wire_runtime_layout layout;

	memset(&layout, 0, sizeof(layout));
	layout.runtime = runtime;
	memcpy(&layout.python, &number, sizeof(number));
	return layout;
}

/* Most files and processes have one that others have. No interpreter takes another one's room. */
static void equal_layouts_are_published_once(void **state _unused_)
{
	struct wire_runtime_layout layout;
	uint32_t expected = 0;
	uint32_t number;

	for (enum wire_runtime runtime = 0; runtime < NUM_WIRE_INTERPRETERS; runtime++) {
		for (uint32_t i = 0; i < WIRE_MAX_LAYOUTS_EACH; i++) {
			layout = make_layout(runtime, i);
			expected++;
			for (int k = 0; k < 2; k++) {
				assert_int_equal(unwind_store_add_layout(store, &layout, &number),
						 0);
				assert_int_equal(number, expected);
			}
		}
		layout = make_layout(runtime, WIRE_MAX_LAYOUTS_EACH);
		number = 77;
		assert_int_equal(unwind_store_add_layout(store, &layout, &number), -ENOSPC);
		assert_int_equal(number, 77);
	}
	assert_int_equal(num_layouts, WIRE_MAX_RUNTIME_LAYOUTS);
	layout = make_layout(WIRE_RUNTIME_V8, 5);
	assert_int_equal(unwind_store_add_layout(store, &layout, &number), 0);
	assert_int_equal(number, WIRE_MAX_LAYOUTS_EACH + 6);
}

static void a_layout_that_the_map_refuses_is_not_known(void **state _unused_)
{
	const struct wire_runtime_layout layout = make_layout(WIRE_RUNTIME_PHP, 1);
	uint32_t number = 77;

	has_no_layouts = true;
	assert_int_equal(unwind_store_add_layout(store, &layout, &number), -E2BIG);
	assert_int_equal(number, 77);
	has_no_layouts = false;
	assert_int_equal(unwind_store_add_layout(store, &layout, &number), 0);
	assert_int_equal(number, 1);
}

static void assert_unmapped(void *memory)
{
	errno = 0;
	assert_int_equal(msync(memory, (size_t)sysconf(_SC_PAGESIZE), MS_ASYNC), -1);
	assert_int_equal(errno, ENOMEM);
}

static void kernel_memory_is_given_back(void **state _unused_)
{
	struct unwind_store *made;
	void *pages;
	void *mappings;

	assert_int_equal(unwind_store_new(&maps, &made), 0);
	pages = made->pages;
	mappings = made->mappings;
	unwind_store_free(made);
	assert_unmapped(pages);
	assert_unmapped(mappings);
}

static void maps_that_cannot_be_mapped_are_an_error(void **state _unused_)
{
	struct unwind_maps broken = maps;
	struct unwind_store *made;

	broken.pages_fd = -1;
	assert_int_equal(unwind_store_new(&broken, &made), -EBADF);
	broken = maps;
	broken.mappings_fd = -1;
	assert_int_equal(unwind_store_new(&broken, &made), -EBADF);
}

static void a_table_can_come_after_the_mapping(void **state _unused_)
{
	const struct unwind_mapping given = {
		.first_page = 3, .num_pages = 2, .base_page = 9, .flags = UNWIND_MAPPING_HAS_TABLE};
	struct unwind_range range = {0};
	const struct unwind_mapping *found;

	assert_int_equal(publish(2, 1000, &range), 0);
	unwind_store_set_table(store, range.first + 1, &given);
	found = &store->mappings[range.first + 1];
	assert_int_equal(found->start, 2);
	assert_int_equal(found->first_page, 3);
	assert_int_equal(found->num_pages, 2);
	assert_int_equal(found->base_page, 9);
	assert_int_equal(found->flags, UNWIND_MAPPING_HAS_TABLE);
	assert_int_equal(store->mappings[range.first].flags, 0);
}

static int make_store(void *context _unused_)
{
	struct unwind_store *made = NULL;
	int err = unwind_store_new(&maps, &made);

	unwind_store_free(made);
	return err;
}

static void a_store_without_memory_is_none(void **state _unused_)
{
	failing_memory_try_all(make_store, NULL);
}

static void a_table_that_lacked_memory_can_be_added_again(void **state _unused_)
{
	struct made_table made = make_table(2, 3, 1);
	struct unwind_placement placement = {0};
	int64_t num_before = 0;

	for (;; num_before++) {
		int err;

		failing_memory_start(num_before);
		unwind_store_prepare(store, &made.table);
		err = unwind_store_add_table(store, &made.table, &placement);
		if (!failing_memory_end()) {
			assert_int_equal(err, 0);
			break;
		}
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(store->num_pages, 1);
	}
	assert_true(num_before > 0);
	assert_int_equal(find_offset(&placement, 0), 8);
	assert_int_equal(find_offset(&placement, 0x10000), 16);
	free(made.pages);
	free(made.rows);
	free(made.rules);
}

/* Whatever fails: no record is lost by it, and none is published that is not the process's. */
static void mappings_that_lacked_memory_can_be_published_again(void **state _unused_)
{
	struct unwind_range range = {0};
	bool has_failed = false;

	for (uint32_t i = 0; i < 20; i++) {
		uint64_t now_ns = 1000 + i * GRACE_PERIOD_NS;

		for (int64_t num_before = 0;; num_before++) {
			int err;
			bool is_short;

			failing_memory_start(num_before);
			err = publish(1 + i * 4, now_ns, &range);
			is_short = failing_memory_end_with(err);
			has_failed |= is_short;
			assert_all_known(&range);
			if (err) {
				assert_false(is_published);
				assert_int_equal(range.count, 0);
			} else {
				assert_int_equal(published.first_mapping, range.first);
				assert_int_equal(published.num_mappings, 1 + i * 4);
				for (uint32_t k = 0; k <= i * 4; k++)
					assert_int_equal(store->mappings[range.first + k].start,
							 k + 1);
			}
			if (!is_short)
				break;
		}
	}
	assert_true(has_failed);
}

/* Many processes; each is removed without memory. */
static void removing_takes_no_memory(void **state _unused_)
{
	struct unwind_range ranges[50] = {{0}};
	uint32_t num_used;

	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++) {
		assert_int_equal(publish(8, 1000, &ranges[i]), 0);
		assert_int_equal(store->num_runs, i + 1);
		assert_true(store->retired.capacity >= i + 1); /* room for all of them */
	}
	num_used = store->num_mappings;
	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++) {
		failing_memory_start(0);
		unwind_store_remove(store, PID, 2000, &ranges[i]);
		assert_false(failing_memory_end());
		assert_int_equal(ranges[i].count, 0);
	}
	assert_int_equal(store->num_runs, 0);
	assert_all_known(&ranges[0]);
	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++)
		assert_int_equal(publish(8, 2000 + GRACE_PERIOD_NS, &ranges[i]), 0);
	assert_int_equal(store->num_mappings, num_used);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tables_follow_each_other),
		TEST(the_rule_of_an_address_is_that_of_the_row_before_it),
		TEST(a_row_without_a_rule_is_refused),
		TEST(a_page_that_does_not_fit_starts_a_shard),
		TEST(few_shards_are_mapped),
		TEST(rules_that_do_not_fit_start_a_shard),
		TEST(pages_are_bounded),
		TEST(shards_are_bounded),
		TEST(without_kernel_memory_a_table_is_refused),
		TEST(mappings_are_reused_after_a_while),
		TEST(long_runs_are_reused_where_they_fit),
		TEST(mappings_are_bounded),
		TEST(a_process_without_mappings_needs_no_run),
		TEST(a_process_without_an_entry_has_no_records),
		TEST(equal_layouts_are_published_once),
		TEST(a_layout_that_the_map_refuses_is_not_known),
		TEST(kernel_memory_is_given_back),
		TEST(maps_that_cannot_be_mapped_are_an_error),
		TEST(a_table_can_come_after_the_mapping),
		TEST(a_store_without_memory_is_none),
		TEST(a_table_that_lacked_memory_can_be_added_again),
		TEST(mappings_that_lacked_memory_can_be_published_again),
		TEST(removing_takes_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
