#include "collect/trace/kwork_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"
#include "collect/kernel/kallsyms.h"
#include "profile/profile.h"
#include "wire/schedule.h"

struct kwork_function {
	uint64_t address;
};
INTERN_TABLE(kwork_functions, struct kwork_function, address);

/* Items of the spool are those of a timeline, except `name`, which is a number of these two. */
struct kwork_store {
	struct spool *spool;
	uint64_t num_added;
	struct string_table *names;       /* of interrupts' handlers */
	struct kwork_functions functions; /* of items of workqueues */
	/* Strings of the timeline, likewise: */
	ARRAY(uint32_t) given_names;
	ARRAY(uint32_t) given_functions;
};

static int compare_kworks(const void *a, const void *b)
{
	const struct timeline_kwork *left = a;
	const struct timeline_kwork *right = b;

	return (left->start_ns > right->start_ns) - (left->start_ns < right->start_ns);
}

int kwork_store_new(const char *folder, struct kwork_store **ret, struct error *error)
{
	struct kwork_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	store->names = string_table_new();
	if (!store->names) {
		kwork_store_free(store);
		return -ENOMEM;
	}
	err = spool_new(folder, sizeof(struct timeline_kwork), compare_kworks, &store->spool,
			error);
	if (err) {
		kwork_store_free(store);
		return err;
	}
	*ret = store;
	return 0;
}

void kwork_store_free(struct kwork_store *store)
{
	if (!store)
		return;
	spool_free(store->spool);
	string_table_free(store->names);
	kwork_functions_release(&store->functions);
	array_release(&store->given_names);
	array_release(&store->given_functions);
	free(store);
}

void kwork_store_add_fds(const struct kwork_store *store, struct fd_list *fds)
{
	spool_add_fds(store->spool, fds);
}

static int add_irq(struct kwork_store *store, const struct wire_kwork *slot,
		   struct timeline_kwork *kwork)
{
	kwork->kind = KWORK_IRQ;
	return string_table_add(store->names, slot->name, strnlen(slot->name, sizeof(slot->name)),
				&kwork->name);
}

static int add_work(struct kwork_store *store, const struct wire_kwork *slot,
		    struct timeline_kwork *kwork)
{
	struct kwork_function function = {slot->function};

	kwork->kind = KWORK_WORKQUEUE;
	return kwork_functions_intern(&store->functions, &function, &kwork->name);
}

static int add(struct kwork_store *store, const struct wire_kworks *batch,
	       const struct wire_kwork *slot)
{
	struct timeline_kwork kwork = {
		.start_ns = slot->start_ns,
		.end_ns = slot->end_ns,
		.cpu = batch->cpu,
		.number = slot->number,
		.kind = KWORK_SOFTIRQ,
	};
	int err = 0;

	if (kwork.end_ns < kwork.start_ns)
		kwork.end_ns = kwork.start_ns;
	switch ((enum wire_kwork_kind)batch->kind) {
	case WIRE_KWORK_IRQ:
		err = add_irq(store, slot, &kwork);
		break;
	case WIRE_KWORK_SOFTIRQ:
		break;
	case WIRE_KWORK_WORKQUEUE:
		err = add_work(store, slot, &kwork);
		break;
	case NUM_WIRE_KWORK_KINDS:
		return 0;
	}
	if (err)
		return err;
	spool_add(store->spool, &kwork);
	store->num_added++;
	return 0;
}

int kwork_store_add(struct kwork_store *store, const void *record, size_t size)
{
	const struct wire_kworks *batch = record;

	if (size < sizeof(*batch) || batch->type != WIRE_KWORKS ||
	    batch->kind >= NUM_WIRE_KWORK_KINDS || batch->num_slots > WIRE_KWORK_SLOTS)
		return 0;
	for (uint32_t i = 0; i < batch->num_slots; i++) {
		int err = add(store, batch, &batch->slots[i]);

		if (err)
			return err;
	}
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int rewind_store(void *context)
{
	struct kwork_store *store = context;

	return spool_rewind(store->spool);
}

static int next_kwork(void *context, void *ret_item)
{
	const struct kwork_store *store = context;
	struct timeline_kwork *ret = ret_item;
	int got = spool_next(store->spool, ret);

	if (got <= 0)
		return got;
	if (ret->kind == KWORK_IRQ)
		ret->name = store->given_names.items[ret->name];
	else if (ret->kind == KWORK_WORKQUEUE)
		ret->name = store->given_functions.items[ret->name];
	return 1;
}

static int give_names(struct kwork_store *store, struct timeline *timeline)
{
	uint32_t count = string_table_get_count(store->names);

	store->given_names.length = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *given = array_add(&store->given_names);

		if (!given || timeline_add_bytes(timeline, string_table_get(store->names, i),
						 string_table_get_length(store->names, i), given))
			return -ENOMEM;
	}
	return 0;
}

static int give_functions(struct kwork_store *store, FILE *kallsyms, struct timeline *timeline)
{
	struct kallsyms_symbol symbol;

	store->given_functions.length = 0;
	array_for_each (&store->functions, function) {
		uint32_t *given = array_add(&store->given_functions);

		if (!given || timeline_add_string(timeline, UNKNOWN_NAME, given))
			return -ENOMEM;
	}
	while (store->functions.length && kallsyms && kallsyms_next(kallsyms, &symbol)) {
		struct kwork_function wanted = {symbol.address};
		uint32_t number = kwork_functions_find(&store->functions, &wanted);

		if (symbol.address && number != HASH_INDEX_NONE &&
		    timeline_add_string(timeline, symbol.name,
					&store->given_functions.items[number]))
			return -ENOMEM;
	}
	return 0;
}

int kwork_store_give(struct kwork_store *store, FILE *kallsyms, struct timeline *timeline)
{
	struct timeline_source source = {
		.rewind = rewind_store,
		.next = next_kwork,
		.context = store,
	};
	int err = give_names(store, timeline);

	if (err)
		return err;
	err = give_functions(store, kallsyms, timeline);
	if (err)
		return err;
	timeline_set_kworks(timeline, &source);
	return 0;
}

struct spool_counts kwork_store_get_counts(const struct kwork_store *store)
{
	struct spool_counts counts = spool_get_counts(store->spool);

	/* Some wait to be written still. */
	counts.kept = store->num_added - counts.lost;
	return counts;
}
