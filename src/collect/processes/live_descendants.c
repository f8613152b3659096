#include "collect/processes/live_descendants.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "collect/target.h"

struct family {
	ARRAY(pid_t) members;
	struct hash_index index;
};

static bool is_member(const void *owner, uint32_t item, const void *key)
{
	const struct family *family = owner;

	return family->members.items[item] == *(const pid_t *)key;
}

static bool has_member(const struct family *family, pid_t pid)
{
	return hash_index_find(&family->index, hash_mix(0, (uint64_t)pid), is_member, family,
			       &pid) != HASH_INDEX_NONE;
}

static int add_member(struct family *family, pid_t pid)
{
	pid_t *added;

	if (has_member(family, pid))
		return 0;
	added = array_add(&family->members);
	if (!added)
		return -ENOMEM;
	*added = pid;
	return hash_index_add(&family->index, hash_mix(0, (uint64_t)pid),
			      (uint32_t)(family->members.length - 1));
}

/* Images are in order of time, parents before their children. */
static int add_all(struct family *family, const struct process_table *processes, const pid_t *pids,
		   size_t num_pids)
{
	for (size_t i = 0; i < num_pids; i++) {
		int err = add_member(family, pids[i]);

		if (err)
			return err;
	}
	for (uint32_t id = 0; id < process_table_get_count(processes); id++) {
		const struct process *process = process_table_get(processes, id);
		int err;

		if (!process->parent_pid || !has_member(family, (pid_t)process->parent_pid))
			continue;
		err = add_member(family, (pid_t)process->pid);
		if (err)
			return err;
	}
	return 0;
}

static void remove_ended(struct family *family)
{
	size_t num_alive = 0;

	array_for_each (&family->members, pid)
		if (target_is_alive(*pid))
			family->members.items[num_alive++] = *pid;
	family->members.length = num_alive;
}

int live_descendants_list(const struct process_table *processes, const pid_t *pids, size_t num_pids,
			  pid_t **ret, size_t *ret_count)
{
	struct family family = {0};
	int err = add_all(&family, processes, pids, num_pids);

	hash_index_release(&family.index);
	if (err) {
		array_release(&family.members);
		return err;
	}
	remove_ended(&family);
	*ret = family.members.items;
	*ret_count = family.members.length;
	return 0;
}
