/*
 * An external merge sort of items of one size. Items are collected in a block, which is sorted and
 * appended to the file when it is full. Since most items arrive in order, a block usually continues
 * the previous one, and together they are one run: a recording has few runs, however many blocks.
 * Reading merges the runs through a heap. Each run has one page in memory; all pages together have
 * at most PAGES_BYTES.
 *
 * The writer gets no error: it is in the middle of a recording that must go on. Items that cannot
 * be stored are counted, and the first errno is kept.
 */
#include "base/spool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/heap.h"

#define BLOCK_BYTES (512u << 10)
#define PAGE_BYTES  (8u << 10)
/* For all runs together. Pages are smaller with very many runs (late items of a long recording). */
#define PAGES_BYTES (4u << 20)

/* A run of sorted items, and the position of reading. */
struct spool_run {
	uint64_t start; /* items of the file */
	uint64_t end;
	uint64_t next; /* to be read into the page */
	uint8_t *page;
	size_t at; /* items of the page */
	size_t in_page;
};

struct spool {
	int fd;
	size_t item_bytes;
	int (*compare)(const void *, const void *);
	struct spool_counts counts;
	uint8_t *block; /* items not yet written; NULL: none */
	size_t in_block;
	uint8_t *last; /* a copy of the last item of the last run */
	ARRAY(struct spool_run) runs;
	size_t page_items; /* while reading */
	/* Runs with remaining items, as a heap: the run with the first item is first. */
	ARRAY(uint32_t) heap;
};

int spool_new(const char *folder, size_t item_bytes, int (*compare)(const void *, const void *),
	      struct spool **ret, struct error *error)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int err;

	if (!spool)
		return -ENOMEM;
	spool->item_bytes = item_bytes;
	spool->compare = compare;
	spool->last = malloc(item_bytes);
	spool->fd = spool->last ? file_open_anonymous(folder, error) : -ENOMEM;
	if (spool->fd < 0) {
		err = spool->fd;
		spool_free(spool);
		return err;
	}
	*ret = spool;
	return 0;
}

void spool_free(struct spool *spool)
{
	if (!spool)
		return;
	array_for_each (&spool->runs, run)
		free(run->page);
	array_release(&spool->runs);
	array_release(&spool->heap);
	free(spool->block);
	free(spool->last);
	if (spool->fd >= 0)
		close(spool->fd);
	free(spool);
}

void spool_add_fds(const struct spool *spool, struct fd_list *fds)
{
	fd_list_add(fds, spool->fd);
}

/* ---- writing ------------------------------------------------------------------------------ */

/* At least one item, even if a single one is larger than the block. */
static size_t items_of(const struct spool *spool, size_t size_bytes)
{
	size_t count = size_bytes / spool->item_bytes;

	return count ? count : 1;
}

static bool is_before(const struct spool *spool, const void *a, const void *b)
{
	return spool->compare && spool->compare(a, b) < 0;
}

/* Items of the block by number; equal ones stay in order. */
static int compare_numbers(const void *a, const void *b, void *context)
{
	const struct spool *spool = context;
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	int order = spool->compare(spool->block + left * spool->item_bytes,
				   spool->block + right * spool->item_bytes);

	return order ? order : (left > right) - (left < right);
}

static bool block_is_sorted(const struct spool *spool)
{
	const uint8_t *items = spool->block;

	for (size_t i = 1; i < spool->in_block; i++)
		if (is_before(spool, items + i * spool->item_bytes,
			      items + (i - 1) * spool->item_bytes))
			return false;
	return true;
}

/* Sorts numbers instead of items: qsort_r() alone is not stable, and items may be large. */
static int sort_block(struct spool *spool)
{
	_cleanup_free_ uint32_t *numbers = NULL;
	uint8_t *sorted;

	if (block_is_sorted(spool))
		return 0;
	numbers = malloc(spool->in_block * sizeof(*numbers));
	sorted = malloc(items_of(spool, BLOCK_BYTES) * spool->item_bytes);
	if (!numbers || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < spool->in_block; i++)
		numbers[i] = i;
	qsort_r(numbers, spool->in_block, sizeof(*numbers), compare_numbers, spool);
	for (size_t i = 0; i < spool->in_block; i++)
		memcpy(sorted + i * spool->item_bytes,
		       spool->block + numbers[i] * spool->item_bytes, spool->item_bytes);
	free(spool->block);
	spool->block = sorted;
	return 0;
}

/* Sort the block, append it to the file, and make it part of a run. */
static int write_block(struct spool *spool)
{
	size_t size = spool->in_block * spool->item_bytes;
	struct spool_run *run;
	int err = sort_block(spool);

	if (err)
		return err;
	err = file_write_at(spool->fd, spool->block, size, spool->counts.kept * spool->item_bytes);
	if (err)
		return err;
	if (!spool->runs.length || is_before(spool, spool->block, spool->last)) {
		run = array_add(&spool->runs);
		if (!run)
			return -ENOMEM;
		run->start = spool->counts.kept;
	}
	run = &spool->runs.items[spool->runs.length - 1];
	spool->counts.kept += spool->in_block;
	run->end = spool->counts.kept;
	memcpy(spool->last, spool->block + size - spool->item_bytes, spool->item_bytes);
	return 0;
}

static void lose(struct spool *spool, size_t count, int err)
{
	if (!spool->counts.lost_errno)
		spool->counts.lost_errno = -err;
	spool->counts.lost += count;
}

static void flush(struct spool *spool)
{
	int err;

	if (!spool->in_block)
		return;
	err = write_block(spool);
	if (err)
		lose(spool, spool->in_block, err);
	spool->in_block = 0;
}

void spool_add(struct spool *spool, const void *item)
{
	if (!spool->block)
		spool->block = malloc(items_of(spool, BLOCK_BYTES) * spool->item_bytes);
	if (!spool->block) {
		lose(spool, 1, -ENOMEM);
		return;
	}
	memcpy(spool->block + spool->in_block * spool->item_bytes, item, spool->item_bytes);
	if (++spool->in_block == items_of(spool, BLOCK_BYTES))
		flush(spool);
}

struct spool_counts spool_get_counts(const struct spool *spool)
{
	return spool->counts;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int fill_page(const struct spool *spool, struct spool_run *run)
{
	size_t count = spool->page_items;
	int err;

	if (run->end - run->next < count)
		count = (size_t)(run->end - run->next);
	if (!run->page)
		run->page = malloc(spool->page_items * spool->item_bytes);
	if (!run->page)
		return -ENOMEM;
	err = file_read_range(spool->fd, run->page, count * spool->item_bytes,
			      run->next * spool->item_bytes);
	if (err)
		return err;
	run->next += count;
	run->at = 0;
	run->in_page = count;
	return 0;
}

static const uint8_t *get_item(const struct spool *spool, size_t number)
{
	const struct spool_run *run = &spool->runs.items[number];

	return run->page + run->at * spool->item_bytes;
}

/* For equal items, the earlier run is first. */
static bool run_is_before(const void *owner, uint32_t a, uint32_t b)
{
	const struct spool *spool = owner;
	const uint8_t *left = get_item(spool, a);
	const uint8_t *right = get_item(spool, b);

	return is_before(spool, left, right) || (a < b && !is_before(spool, right, left));
}

/*
 * Writing has ended when reading starts: the block's memory is freed for the pages. May be called
 * again, to read all from the start.
 */
int spool_rewind(struct spool *spool)
{
	size_t num_runs;

	flush(spool);
	num_runs = spool->runs.length;
	/* Only once: no run is added while reading. */
	if (!spool->page_items)
		spool->page_items =
			items_of(spool, num_runs > PAGES_BYTES / PAGE_BYTES ? PAGES_BYTES / num_runs
									    : PAGE_BYTES);
	free(spool->block);
	spool->block = NULL;
	spool->heap.length = 0;
	for (size_t i = 0; i < num_runs; i++) {
		struct spool_run *run = &spool->runs.items[i];
		uint32_t *added = array_add(&spool->heap);
		int err;

		if (!added)
			return -ENOMEM;
		*added = (uint32_t)i;
		run->next = run->start;
		err = fill_page(spool, run);
		if (err)
			return err;
	}
	heap_heapify(spool->heap.items, spool->heap.length, run_is_before, spool);
	return 0;
}

int spool_next(struct spool *spool, void *ret)
{
	struct spool_run *run;
	int err = 0;

	if (!spool->heap.length)
		return 0;
	run = &spool->runs.items[spool->heap.items[0]];
	memcpy(ret, get_item(spool, spool->heap.items[0]), spool->item_bytes);
	if (++run->at == run->in_page) {
		if (run->next == run->end)
			spool->heap.items[0] = spool->heap.items[--spool->heap.length];
		else
			err = fill_page(spool, run);
	}
	if (err)
		return err;
	heap_sift_down(spool->heap.items, spool->heap.length, run_is_before, spool);
	return 1;
}
