/*
 * Reading Perfetto traces: the numbers of a sequence, and what is known by them.
 */
#include <errno.h>

#include "formats/perfetto/read.h"

struct perfetto_interned *perfetto_interned_new(void)
{
	return calloc(1, sizeof(struct perfetto_interned));
}

void perfetto_interned_free(struct perfetto_interned *interned)
{
	if (!interned)
		return;
	array_release(&interned->entries);
	hash_index_release(&interned->index);
	array_release(&interned->sources);
	array_release(&interned->mappings);
	array_release(&interned->frames);
	free(interned);
}

static bool is_entry(const void *owner, uint32_t item, const void *key)
{
	const struct perfetto_entry *entry =
		&((const struct perfetto_interned *)owner)->entries.items[item];
	const struct perfetto_entry *wanted = key;

	return entry->iid == wanted->iid && entry->kind == wanted->kind;
}

static struct perfetto_entry *find(const struct perfetto_interned *interned,
				   enum perfetto_interned_kind kind, uint64_t iid)
{
	struct perfetto_entry wanted = {.iid = iid, .kind = kind};
	uint32_t found =
		hash_index_find(&interned->index, hash_mix(kind, iid), is_entry, interned, &wanted);

	return found == HASH_INDEX_NONE ? NULL : &interned->entries.items[found];
}

uint32_t perfetto_interned_find(const struct perfetto_interned *interned,
				enum perfetto_interned_kind kind, uint64_t iid)
{
	const struct perfetto_entry *entry = interned && iid ? find(interned, kind, iid) : NULL;

	return entry ? entry->value : PERFETTO_NONE;
}

const struct perfetto_source *perfetto_interned_find_source(
	const struct perfetto_interned *interned, uint64_t iid)
{
	uint32_t source = perfetto_interned_find(interned, PERFETTO_INTERNED_SOURCE_LOCATION, iid);

	return source == PERFETTO_NONE ? NULL : &interned->sources.items[source];
}

/* What is told a second time replaces what was told before. */
int perfetto_interned_put(struct perfetto_interned *interned, enum perfetto_interned_kind kind,
			  uint64_t iid, uint32_t value)
{
	struct perfetto_entry *entry = find(interned, kind, iid);
	int err;

	if (entry) {
		entry->value = value;
		return 0;
	}
	entry = array_add(&interned->entries);
	if (!entry)
		return -ENOMEM;
	*entry = (struct perfetto_entry){.iid = iid, .kind = kind, .value = value};
	err = hash_index_add(&interned->index, hash_mix(kind, iid),
			     (uint32_t)(interned->entries.length - 1));
	return err;
}
