#include "collect/trace/thread_begins.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/intern.h"

INTERN_TABLE(begin_table, struct thread_begin, tid);

struct thread_begins {
	struct spool *spool;
	bool is_open;  /* the first record was read */
	bool has_next; /* `next` is read and in the future */
	struct thread_begin next;
	struct begin_table latest; /* the last start of each tid so far */
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
	begin_table_release(&begins->latest);
	free(begins);
}

static int take(struct thread_begins *begins)
{
	uint32_t item;
	int err = begin_table_intern(&begins->latest, &begins->next, &item);

	if (err)
		return err;
	begins->latest.items[item] = begins->next;
	return 0;
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
	uint32_t item = begin_table_find(&begins->latest, &(struct thread_begin){.tid = tid});

	if (item == HASH_INDEX_NONE || begins->latest.items[item].pid != pid)
		return 0;
	return begins->latest.items[item].time_ns;
}
