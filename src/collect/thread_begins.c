#include "collect/thread_begins.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

struct thread_begins {
	struct spool *spool;
	bool is_open;  /* the first was read */
	bool has_next; /* one that is yet to come */
	struct thread_begin next;
	ARRAY(struct thread_begin) latest; /* one of each tid */
	struct hash_index index;           /* of them, by tid */
};

struct thread_begins *thread_begins_new(struct spool *spool)
{
	struct thread_begins *begins = calloc(1, sizeof(*begins));

	if (begins)
		begins->spool = spool;
	return begins;
}

void thread_begins_free(struct thread_begins *begins)
{
	if (!begins)
		return;
	array_release(&begins->latest);
	hash_index_release(&begins->index);
	free(begins);
}

static bool has_tid(const void *owner, uint32_t item, const void *key)
{
	return ((const struct thread_begins *)owner)->latest.items[item].tid ==
	       *(const uint32_t *)key;
}

static uint32_t find(const struct thread_begins *begins, uint32_t tid)
{
	return hash_index_find(&begins->index, hash_mix(0, tid), has_tid, begins, &tid);
}

static int take(struct thread_begins *begins)
{
	uint32_t item = find(begins, begins->next.tid);
	struct thread_begin *added;

	if (item != HASH_INDEX_NONE) {
		begins->latest.items[item] = begins->next;
		return 0;
	}
	added = array_add(&begins->latest);
	if (!added)
		return -ENOMEM;
	*added = begins->next;
	return hash_index_add(&begins->index, hash_mix(0, added->tid),
			      (uint32_t)(begins->latest.length - 1));
}

static int read_next(struct thread_begins *begins)
{
	int got = spool_next(begins->spool, &begins->next);

	begins->has_next = got > 0;
	return got < 0 ? got : 0;
}

int thread_begins_go_to(struct thread_begins *begins, uint64_t time_ns)
{
	int err;

	if (!begins->is_open) {
		begins->is_open = true;
		err = spool_rewind(begins->spool);
		if (err)
			return err;
		err = read_next(begins);
		if (err)
			return err;
	}
	while (begins->has_next && begins->next.time_ns <= time_ns) {
		err = take(begins);
		if (err)
			return err;
		err = read_next(begins);
		if (err)
			return err;
	}
	return 0;
}

uint64_t thread_begins_find(const struct thread_begins *begins, uint32_t pid, uint32_t tid)
{
	uint32_t item = find(begins, tid);

	if (item == HASH_INDEX_NONE || begins->latest.items[item].pid != pid)
		return 0;
	return begins->latest.items[item].time_ns;
}
