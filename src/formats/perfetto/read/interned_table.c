/* Reading Perfetto traces: the numbers of a sequence, with their items. */
#include "formats/perfetto/read/interned_table.h"

#include <errno.h>

struct perfetto_interned *perfetto_interned_new(void)
{
	return calloc(1, sizeof(struct perfetto_interned));
}

void perfetto_interned_free(struct perfetto_interned *interned)
{
	if (!interned)
		return;
	perfetto_entries_release(&interned->entries);
	array_release(&interned->sources);
	array_release(&interned->mappings);
	array_release(&interned->frames);
	free(interned);
}

uint32_t perfetto_interned_find(const struct perfetto_interned *interned,
				enum perfetto_interned_kind kind, uint64_t iid)
{
	uint32_t found;

	if (!interned || !iid)
		return PERFETTO_NONE;
	found = perfetto_entries_find(&interned->entries,
				      &(struct perfetto_entry){.kind = kind, .iid = iid});
	return found == HASH_INDEX_NONE ? PERFETTO_NONE : interned->entries.items[found].value;
}

const struct perfetto_source *perfetto_interned_find_source(
	const struct perfetto_interned *interned, uint64_t iid)
{
	uint32_t source = perfetto_interned_find(interned, PERFETTO_INTERNED_SOURCE_LOCATION, iid);

	return source == PERFETTO_NONE ? NULL : &interned->sources.items[source];
}

/* An item that is interned a second time under one number replaces the first. */
int perfetto_interned_put(struct perfetto_interned *interned, enum perfetto_interned_kind kind,
			  uint64_t iid, uint32_t value)
{
	struct perfetto_entry entry = {.kind = kind, .iid = iid};
	uint32_t number;
	int err = perfetto_entries_intern(&interned->entries, &entry, &number);

	if (err)
		return err;
	interned->entries.items[number].value = value;
	return 0;
}
