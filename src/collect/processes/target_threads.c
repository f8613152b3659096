/*
 * The threads of a target are read from /proc while processes start and end. A thread that lives
 * long enough to be seen is not missed: once it is in the sampler's filter, the threads and
 * children that it starts are added automatically. So all known threads are added first, and then
 * /proc is read again, until it shows no new ones.
 *
 * Limits: a process whose parent has ended belongs to init, and its descent is lost.
 */
#include "collect/processes/target_threads.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/processes/side_band.h"

/* If processes start all the time, each pass shows new ones, which are in the filter already. */
#define MAX_PASSES 16

void target_threads_release(struct target_threads *threads)
{
	target_ids_release(&threads->tids);
	target_ids_release(&threads->pids);
}

static int add_id(struct target_ids *ids, pid_t id)
{
	uint32_t number;

	return target_ids_intern(ids, &(struct target_id){id}, &number);
}

static int add_tid(pid_t tid, void *context)
{
	struct target_threads *threads = context;

	return add_id(&threads->tids, tid);
}

static int explain_missing(int err, pid_t id, const char *what, struct error *error)
{
	struct target_state state;

	if (err != -ESRCH)
		return side_band_explain(err, error);
	if (target_read_state(id, &state))
		return error_set(error, err, "no %s %d", what, id);
	return error_set(error, err,
			 "%s %d (%s) is a zombie: it has ended, but its parent, process %d, has "
			 "not read its exit status",
			 what, id, state.comm, state.parent_pid);
}

int target_threads_list(struct target_threads *threads, const struct target *target,
			struct error *error)
{
	for (size_t i = 0; i < target->num_ids; i++) {
		pid_t id = target->ids[i];
		bool is_thread = target->kind == TARGET_THREADS;
		int err = -ESRCH;

		if (target_is_alive(id))
			err = is_thread ? add_tid(id, threads)
					: target_for_each_thread(id, add_tid, threads);
		if (err == -ESRCH && target->may_be_gone)
			continue;
		if (err)
			return explain_missing(err, id, is_thread ? "thread" : "process", error);
		if (!is_thread) {
			pid_t pid = target_get_pid(id);

			if (pid == -ENOMEM)
				return pid;
			err = add_id(&threads->pids, pid > 0 ? pid : id);
			if (err)
				return err;
		}
	}
	return 0;
}

static void closedirp(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

struct relation {
	pid_t pid;
	pid_t parent_pid;
};

struct relations {
	ARRAY(struct relation) list;
};

static void relations_release(struct relations *relations)
{
	array_release(&relations->list);
}

/*
 * Every process and its parent. Our own process is excluded: `record -p $$` does not record itself.
 */
static int read_relations(struct relations *relations)
{
	_cleanup_(closedirp) DIR *folder = opendir("/proc");
	struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct target_state state;
		struct relation *added;
		int err;

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
			continue;
		err = target_read_state(pid, &state);
		if (err == -ENOMEM)
			return err;
		if (err)
			continue;
		added = array_add(&relations->list);
		if (!added)
			return -ENOMEM;
		*added = (struct relation){.pid = pid, .parent_pid = state.parent_pid};
	}
	return 0;
}

static bool has_pid(const struct target_threads *threads, pid_t pid)
{
	return target_ids_find(&threads->pids, &(struct target_id){pid}) != HASH_INDEX_NONE;
}

int target_threads_add_descendants(struct target_threads *threads)
{
	_cleanup_(relations_release) struct relations relations = {0};
	size_t num_before;
	int err = read_relations(&relations);

	if (err)
		return err;
	do {
		num_before = threads->pids.length;
		array_for_each (&relations.list, relation) {
			if (!has_pid(threads, relation->parent_pid))
				continue;
			err = add_id(&threads->pids, relation->pid);
			if (err)
				return err;
		}
	} while (threads->pids.length > num_before);
	return 0;
}

static int list_again(struct target_threads *threads, const struct target *target)
{
	if (target->kind != TARGET_PROCESSES)
		return 0;
	/* A command that has not started has no children. */
	if (!target->leaves_children_out && !target->starts_on_exec) {
		int err = target_threads_add_descendants(threads);

		if (err)
			return err;
	}
	array_for_each (&threads->pids, pid) {
		/* A process that is gone by now ends the recording later. */
		int err = target_for_each_thread(pid->id, add_tid, threads);

		if (err == -ENOMEM)
			return err;
	}
	return 0;
}

int target_threads_add(struct target_threads *threads, const struct target *target,
		       int (*add_to_filter)(void *context, pid_t tid, struct error *error),
		       void *context, struct error *error)
{
	size_t num_added = 0;

	for (int pass = 0; pass <= MAX_PASSES && num_added < threads->tids.length; pass++) {
		int err;

		for (; num_added < threads->tids.length; num_added++) {
			err = add_to_filter(context, threads->tids.items[num_added].id, error);
			if (err)
				return err;
		}
		err = pass < MAX_PASSES ? list_again(threads, target) : 0;
		if (err)
			return err;
	}
	return 0;
}
