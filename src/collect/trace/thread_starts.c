#include "collect/trace/thread_starts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/intern.h"

INTERN_TABLE(start_table, struct thread_start, tid);

struct thread_starts {
	struct spool *spool;
	bool is_open;  /* the first record was read */
	bool has_next; /* `next` is read and in the future */
	struct thread_start next;
	struct start_table latest; /* the last start of each tid so far */
};

struct thread_starts *thread_starts_new(struct spool *spool)
{
	struct thread_starts *starts = calloc(1, sizeof(*starts));

	if (starts)
		starts->spool = spool;
	return starts;
}

void thread_starts_free(struct thread_starts *starts)
{
	if (!starts)
		return;
	start_table_release(&starts->latest);
	free(starts);
}

static int take(struct thread_starts *starts)
{
	uint32_t item;
	int err = start_table_intern(&starts->latest, &starts->next, &item);

	if (err)
		return err;
	starts->latest.items[item] = starts->next;
	return 0;
}

static int read_next(struct thread_starts *starts)
{
	int got = spool_next(starts->spool, &starts->next);

	starts->has_next = got > 0;
	return got < 0 ? got : 0;
}

int thread_starts_go_to(struct thread_starts *starts, uint64_t time_ns)
{
	int err;

	if (!starts->is_open) {
		starts->is_open = true;
		err = spool_rewind(starts->spool);
		if (err)
			return err;
		err = read_next(starts);
		if (err)
			return err;
	}
	while (starts->has_next && starts->next.time_ns <= time_ns) {
		err = take(starts);
		if (err)
			return err;
		err = read_next(starts);
		if (err)
			return err;
	}
	return 0;
}

uint64_t thread_starts_find(const struct thread_starts *starts, uint32_t pid, uint32_t tid)
{
	uint32_t item = start_table_find(&starts->latest, &(struct thread_start){.tid = tid});

	if (item == HASH_INDEX_NONE || starts->latest.items[item].pid != pid)
		return 0;
	return starts->latest.items[item].time_ns;
}
