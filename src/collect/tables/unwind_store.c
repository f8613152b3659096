#include "collect/tables/unwind_store.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/tables/shard_pool.h"
#include "unwind/rule_dictionary.h"

/*
 * How long replaced mapping records are not reused. The sampling program may be reading them. A
 * child that was just forked has a copy of its parent's entry, which refers to them.
 */
#define GRACE_PERIOD_NS (2 * NS_PER_SECOND)
/* Free runs of records are listed by length, up to this; longer ones in the last list. */
#define MAX_RUN 64

/*
 * Full shards that are mapped at most: 2 MB. Only stacks that are walked in user space need them,
 * mostly when the recording starts; to map one takes as long as some walks.
 */
#define MAX_MAPPED 8

struct retired {
	struct unwind_range range;
	uint64_t since_ns;
};

struct unwind_store {
	struct unwind_maps maps;
	struct unwind_page *pages;
	struct unwind_mapping *mappings;
	struct shard_pool *shard_pool;
	/* The pool's. Mapped are the last one, and some that were read lately. */
	struct unwind_shard *shards[UNWIND_MAX_SHARDS];
	uint32_t num_shards;
	uint32_t num_mapped; /* of those before the last one */
	uint64_t num_reads;
	uint64_t last_reads[UNWIND_MAX_SHARDS]; /* number of each one's last read */
	uint32_t num_shard_rows;                /* in use in the last shard */
	struct rule_dictionary rules;           /* of the last shard */
	uint32_t num_pages;
	uint32_t num_mappings; /* ever used */
	uint64_t num_rows;
	ARRAY(struct wire_runtime_layout) layouts; /* as in their map */
	/* Oldest first, with room for all runs in use, so that retiring a run needs no memory. */
	ARRAY(struct retired) retired;
	size_t num_runs;                                   /* in use */
	ARRAY(struct unwind_range) free_runs[MAX_RUN + 1]; /* by length */
};

static void *map_memory(int fd, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return NULL;
	(void)madvise(memory, size, MADV_DONTFORK); /* not inherited by our children */
	return memory;
}

int unwind_store_new(const struct unwind_maps *maps, struct unwind_store **ret)
{
	struct unwind_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->maps = *maps;
	store->num_pages = 1; /* see struct known_rule */
	store->pages = map_memory(maps->pages_fd, sizeof(struct unwind_page) * UNWIND_MAX_PAGES);
	store->mappings =
		map_memory(maps->mappings_fd, sizeof(struct unwind_mapping) * UNWIND_MAX_MAPPINGS);
	store->shard_pool = shard_pool_new(maps->shards_fd);
	if (!store->pages || !store->mappings || !store->shard_pool) {
		int err = store->shard_pool ? -errno : -ENOMEM;

		unwind_store_free(store);
		return err;
	}
	*ret = store;
	return 0;
}

static void unmap_maps(struct unwind_store *store)
{
	if (store->pages)
		munmap(store->pages, sizeof(struct unwind_page) * UNWIND_MAX_PAGES);
	if (store->mappings)
		munmap(store->mappings, sizeof(struct unwind_mapping) * UNWIND_MAX_MAPPINGS);
	store->pages = NULL;
	store->mappings = NULL;
}

void unwind_store_close(struct unwind_store *store)
{
	shard_pool_close(store->shard_pool);
	unmap_maps(store);
}

void unwind_store_free(struct unwind_store *store)
{
	if (!store)
		return;
	shard_pool_free(store->shard_pool);
	rule_dictionary_release(&store->rules);
	unmap_maps(store);
	array_release(&store->retired);
	array_release(&store->layouts);
	for (size_t i = 0; i <= MAX_RUN; i++)
		array_release(&store->free_runs[i]);
	free(store);
}

/* Unmap the full shard that has not been read for the longest time. */
static void unmap_one(struct unwind_store *store)
{
	uint32_t oldest = UNWIND_MAX_SHARDS;

	for (uint32_t i = 0; i + 1 < store->num_shards; i++)
		if (store->shards[i] && (oldest == UNWIND_MAX_SHARDS ||
					 store->last_reads[i] < store->last_reads[oldest]))
			oldest = i;
	if (oldest == UNWIND_MAX_SHARDS)
		return;
	shard_pool_unmap(store->shard_pool, oldest);
	store->shards[oldest] = NULL;
	store->num_mapped--;
}

/* NULL: it cannot be mapped. */
static const struct unwind_shard *get_shard(struct unwind_store *store, uint32_t number)
{
	store->last_reads[number] = ++store->num_reads;
	if (store->shards[number])
		return store->shards[number];
	if (store->num_mapped >= MAX_MAPPED)
		unmap_one(store);
	if (shard_pool_map(store->shard_pool, number, &store->shards[number]))
		return NULL;
	store->num_mapped++;
	return store->shards[number];
}

static int add_shard(struct unwind_store *store)
{
	_cleanup_(rule_dictionary_release) struct rule_dictionary rules = {0};
	struct unwind_shard *shard;
	int err = store->num_shards == UNWIND_MAX_SHARDS ? -ENOSPC : rule_dictionary_init(&rules);

	if (err)
		return err;
	err = shard_pool_take(store->shard_pool, &shard);
	if (err)
		return err;
	store->num_mapped += store->num_shards > 0;
	store->shards[store->num_shards++] = shard;
	if (store->num_mapped > MAX_MAPPED)
		unmap_one(store);
	store->num_shard_rows = 0;
	rule_dictionary_release(&store->rules);
	store->rules = rules;
	rules = (struct rule_dictionary){0};
	memcpy(shard->rules, store->rules.rules.items,
	       store->rules.rules.length * sizeof(*shard->rules));
	return 0;
}

/* Numbers of a table's rules in the shard being filled; 0: none yet. */
struct rule_numbers {
	uint16_t *by_rule;
	size_t count;
	uint32_t shard;
};

static void rule_numbers_release(struct rule_numbers *numbers)
{
	free(numbers->by_rule);
}

/* The rule's number in the last shard, whose tables share rules. -ENOSPC: a new shard is needed. */
static int add_rule(struct unwind_store *store, const struct unwind_rule *rule, uint16_t *ret)
{
	struct unwind_shard *shard = store->shards[store->num_shards - 1];
	uint64_t num_spilled = store->rules.num_spilled;
	size_t num_rules = store->rules.rules.length;
	int err = rule_dictionary_add(&store->rules, rule, ret);

	if (err)
		return err;
	if (*ret >= UNWIND_SHARD_RULES || store->rules.num_spilled != num_spilled)
		return -ENOSPC;
	if (*ret == num_rules)
		shard->rules[num_rules] = *rule;
	return 0;
}

static int number_rule(struct unwind_store *store, struct rule_numbers *numbers,
		       const struct unwind_rule *rules, uint16_t rule, uint16_t *ret)
{
	int err = 0;

	if (rule >= numbers->count)
		return -EINVAL;
	if (!numbers->by_rule[rule])
		err = add_rule(store, &rules[rule], &numbers->by_rule[rule]);
	*ret = numbers->by_rule[rule];
	return err;
}

/* Copy one page's rows into the last shard. -ENOSPC: a new shard is needed. */
static int copy_rows(struct unwind_store *store, struct rule_numbers *numbers,
		     const struct unwind_rule *rules, const struct unwind_row *rows, uint32_t count,
		     struct unwind_page *ret)
{
	uint32_t first = store->num_shard_rows;
	struct unwind_shard *shard;

	if (!store->num_shards || count > UNWIND_SHARD_ROWS - first)
		return -ENOSPC;
	if (numbers->shard != store->num_shards) {
		memset(numbers->by_rule, 0, numbers->count * sizeof(*numbers->by_rule));
		numbers->shard = store->num_shards;
	}
	shard = store->shards[store->num_shards - 1];
	for (uint32_t i = 0; i < count; i++) {
		struct unwind_row row = {.pc_low = rows[i].pc_low};
		int err = number_rule(store, numbers, rules, rows[i].rule, &row.rule);

		if (err)
			return err;
		shard->rows[first + i] = row;
	}
	store->num_shard_rows += count;
	store->num_rows += count;
	*ret = (struct unwind_page){
		.first_row = (store->num_shards - 1) * UNWIND_SHARD_ROWS + first,
		.num_rows = count,
	};
	return 0;
}

static int copy_page(struct unwind_store *store, struct rule_numbers *numbers,
		     const struct unwind_table *table, uint32_t number)
{
	const struct unwind_page *page = &table->pages[number];
	struct unwind_page *target = &store->pages[store->num_pages + number];
	int err;

	*target = (struct unwind_page){0};
	if (!page->num_rows)
		return 0;
	err = copy_rows(store, numbers, table->rules, table->rows + page->first_row, page->num_rows,
			target);
	if (err != -ENOSPC)
		return err;
	err = add_shard(store);
	return err ? err
		   : copy_rows(store, numbers, table->rules, table->rows + page->first_row,
			       page->num_rows, target);
}

void unwind_store_start_maker(struct unwind_store *store)
{
	shard_pool_start_maker(store->shard_pool);
}

void unwind_store_prepare(struct unwind_store *store, const struct unwind_table *table)
{
	shard_pool_prepare(store->shard_pool, table->num_rows);
}

static int copy_table(struct unwind_store *store, const struct unwind_table *table,
		      struct unwind_placement *ret)
{
	_cleanup_(rule_numbers_release) struct rule_numbers numbers = {.count = table->num_rules,
								       .shard = UINT32_MAX};

	if (table->num_pages > UNWIND_MAX_PAGES - store->num_pages)
		return -ENOSPC;
	numbers.by_rule = calloc(table->num_rules ? table->num_rules : 1, sizeof(*numbers.by_rule));
	if (!numbers.by_rule)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->num_pages; i++) {
		int err = copy_page(store, &numbers, table, i);

		if (err)
			return err;
	}
	*ret = (struct unwind_placement){
		.first_page = store->num_pages,
		.num_pages = table->num_pages,
		.base_page = (uint32_t)table->first_page,
	};
	store->num_pages += table->num_pages;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return 0;
}

int unwind_store_add_table(struct unwind_store *store, const struct unwind_table *table,
			   struct unwind_placement *ret)
{
	int err = copy_table(store, table, ret);

	shard_pool_finish(store->shard_pool, table->num_rows,
			  store->num_shards ? UNWIND_SHARD_ROWS - store->num_shard_rows : 0);
	return err;
}

/* Runs whose grace period is over become free. */
static int release_retired(struct unwind_store *store, uint64_t now_ns)
{
	size_t done = 0;
	int err = 0;

	for (; done < store->retired.length; done++) {
		struct retired *old = &store->retired.items[done];
		uint32_t list = old->range.count < MAX_RUN ? old->range.count : MAX_RUN;
		struct unwind_range *run;

		if (now_ns - old->since_ns < GRACE_PERIOD_NS)
			break;
		run = array_add(&store->free_runs[list]);
		if (!run) {
			err = -ENOMEM;
			break; /* out of memory; runs that were freed must not be freed again */
		}
		*run = old->range;
	}
	if (done) {
		store->retired.length -= done;
		memmove(store->retired.items, store->retired.items + done,
			store->retired.length * sizeof(*store->retired.items));
	}
	return err;
}

/* Round up run lengths, so that few different ones occur and free runs fit. */
static uint32_t round_up(uint32_t count)
{
	return (count + 7) & ~7u;
}

static int take_run(struct unwind_store *store, uint32_t count, struct unwind_range *ret)
{
	uint32_t num_slots = round_up(count);

	for (uint32_t list = num_slots < MAX_RUN ? num_slots : MAX_RUN; list <= MAX_RUN; list++) {
		for (size_t i = store->free_runs[list].length; i-- > 0;) {
			if (store->free_runs[list].items[i].count < num_slots)
				continue;
			*ret = store->free_runs[list].items[i];
			array_remove(&store->free_runs[list], i);
			return 0;
		}
	}
	if (num_slots > UNWIND_MAX_MAPPINGS - store->num_mappings)
		return -ENOSPC;
	*ret = (struct unwind_range){.first = store->num_mappings, .count = num_slots};
	store->num_mappings += num_slots;
	return 0;
}

static void retire(struct unwind_store *store, uint64_t now_ns, struct unwind_range *range)
{
	struct retired *old;

	if (!range->count)
		return;
	old = array_add(&store->retired);
	assert(old);
	*old = (struct retired){.range = *range, .since_ns = now_ns};
	store->num_runs--;
	*range = (struct unwind_range){0};
}

/* Take a run and put the mappings into it. */
static int fill_run(struct unwind_store *store, const struct unwind_address_space *space,
		    struct unwind_range *ret)
{
	int err;

	if (!space->num_mappings)
		return 0;
	err = array_reserve(&store->retired, store->retired.length + store->num_runs + 1)
		      ? -ENOMEM
		      : take_run(store, space->num_mappings, ret);
	if (err)
		return err;
	store->num_runs++;
	memcpy(store->mappings + ret->first, space->mappings,
	       space->num_mappings * sizeof(*space->mappings));
	return 0;
}

static int put_entry(struct unwind_store *store, const struct unwind_address_space *space,
		     struct unwind_range run)
{
	const struct unwind_process entry = {
		.generation = space->generation,
		.first_mapping = run.first,
		.num_mappings = space->num_mappings,
		.runtime = space->runtime,
		.hotspot_bias = space->hotspot_bias,
		.hotspot_layout = space->hotspot_layout,
		.version = space->version,
	};
	uint32_t key = (uint32_t)space->pid;

	return bpf_map_update_elem(store->maps.processes_fd, &key, &entry, BPF_ANY) ? -errno : 0;
}

/* *ret is taken even where the entry finds no room. */
static int publish_run(struct unwind_store *store, const struct unwind_address_space *space,
		       uint64_t now_ns, struct unwind_range *ret)
{
	int err = release_retired(store, now_ns);

	if (err)
		return err;
	err = fill_run(store, space, ret);
	if (err)
		return err;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return put_entry(store, space, *ret);
}

int unwind_store_publish(struct unwind_store *store, const struct unwind_address_space *space,
			 uint64_t now_ns, struct unwind_range *range)
{
	struct unwind_range run = {0};
	int err = publish_run(store, space, now_ns, &run);

	if (err) {
		/* The published mappings are outdated, and the new ones failed: publish none. */
		unwind_store_remove(store, space->pid, now_ns, range);
		retire(store, now_ns, &run);
		return err;
	}
	retire(store, now_ns, range);
	*range = run;
	return 0;
}

int unwind_store_add_layout(struct unwind_store *store, const struct wire_runtime_layout *layout,
			    uint32_t *ret)
{
	uint32_t number = (uint32_t)store->layouts.length;
	struct wire_runtime_layout *added;
	uint32_t num_alike = 0; /* of the same interpreter */

	for (uint32_t i = 0; i < number; i++) {
		num_alike += store->layouts.items[i].runtime == layout->runtime;
		if (memcmp(&store->layouts.items[i], layout, sizeof(*layout)) == 0) {
			*ret = i + 1;
			return 0;
		}
	}
	if (num_alike == WIRE_MAX_LAYOUTS_EACH)
		return -ENOSPC;
	added = array_add(&store->layouts);
	if (!added)
		return -ENOMEM;
	*added = *layout;
	if (!bpf_map_update_elem(store->maps.layouts_fd, &number, layout, BPF_ANY)) {
		*ret = number + 1;
		return 0;
	}
	store->layouts.length = number;
	return -errno;
}

void unwind_store_remove(struct unwind_store *store, pid_t pid, uint64_t now_ns,
			 struct unwind_range *range)
{
	uint32_t key = (uint32_t)pid;

	/* The sampling program may have removed it at the process's exit. */
	(void)bpf_map_delete_elem(store->maps.processes_fd, &key);
	retire(store, now_ns, range);
}

void unwind_store_set_table(struct unwind_store *store, uint32_t slot,
			    const struct unwind_mapping *mapping)
{
	struct unwind_mapping *target = &store->mappings[slot];

	target->first_page = mapping->first_page;
	target->num_pages = mapping->num_pages;
	target->base_page = mapping->base_page;
	__atomic_store_n(&target->flags, mapping->flags, __ATOMIC_RELEASE);
}

const struct unwind_rule *unwind_store_find_rule(struct unwind_store *store,
						 const struct unwind_mapping *mapping,
						 uint64_t elf_address)
{
	uint64_t number = (elf_address >> UNWIND_PAGE_SHIFT) - mapping->base_page;
	uint32_t key = elf_address & ((1u << UNWIND_PAGE_SHIFT) - 1);
	const struct unwind_shard *shard;
	const struct unwind_page *page;
	uint32_t low;
	uint32_t length;

	if (number >= mapping->num_pages)
		return NULL;
	page = &store->pages[mapping->first_page + number];
	if (!page->num_rows)
		return NULL;
	shard = get_shard(store, page->first_row / UNWIND_SHARD_ROWS);
	if (!shard)
		return NULL;
	low = page->first_row % UNWIND_SHARD_ROWS;
	for (length = page->num_rows; length > 1;) {
		uint32_t half = length / 2;

		if (shard->rows[low + half].pc_low <= key)
			low += half;
		length -= half;
	}
	return &shard->rules[shard->rows[low].rule];
}

uint64_t unwind_store_get_row_count(const struct unwind_store *store)
{
	return store->num_rows;
}

uint64_t unwind_store_get_size(const struct unwind_store *store)
{
	return shard_pool_get_size(store->shard_pool);
}
