#include "collect/trace/kwork_store.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "test_folder.h"
#include "unit.h"
#include "wire/schedule.h"

static struct kwork_store *make_store(void)
{
	struct kwork_store *store;

	assert_int_equal(kwork_store_new(test_parent_folder(), &store, NULL), 0);
	return store;
}

static struct wire_kworks make_batch(uint16_t cpu, enum wire_kwork_kind kind)
{
	return (struct wire_kworks){.type = WIRE_KWORKS, .cpu = cpu, .kind = (uint16_t)kind};
}

static struct wire_kwork *add_slot(struct wire_kworks *batch, uint64_t start_ns, uint64_t end_ns,
				   uint32_t number)
{
	struct wire_kwork *slot = &batch->slots[batch->num_slots++];

	*slot = (struct wire_kwork){.start_ns = start_ns, .end_ns = end_ns, .number = number};
	return slot;
}

static void add(struct kwork_store *store, const struct wire_kworks *batch)
{
	assert_int_equal(kwork_store_add(store, batch, sizeof(*batch)), 0);
}

static struct timeline *give(struct kwork_store *store, const char *kallsyms)
{
	struct timeline *timeline = timeline_new();
	FILE *file = kallsyms ? fmemopen((char *)(uintptr_t)kallsyms, strlen(kallsyms), "r") : NULL;

	assert_non_null(timeline);
	assert_int_equal(kwork_store_give(store, file, timeline), 0);
	if (file)
		fclose(file);
	return timeline;
}

static struct timeline_kwork get(const struct timeline *timeline, uint32_t number)
{
	struct timeline_kwork kwork = {0};
	uint64_t position = 0;

	for (uint32_t i = 0; i <= number; i++)
		assert_int_equal(timeline_next_kwork(timeline, &position, &kwork), 1);
	return kwork;
}

static void work_of_all_kinds_comes_in_order_of_its_start(void **state _unused_)
{
	struct kwork_store *store = make_store();
	struct wire_kworks irqs = make_batch(1, WIRE_KWORK_IRQ);
	struct wire_kworks softirqs = make_batch(0, WIRE_KWORK_SOFTIRQ);
	struct timeline *timeline;

	strcpy(add_slot(&irqs, 50, 60, 24)->name, "virtio0");
	add_slot(&softirqs, 10, 70, 3);
	add_slot(&softirqs, 80, 90, 1);
	add(store, &irqs);
	add(store, &softirqs);
	timeline = give(store, NULL);
	assert_int_equal(get(timeline, 0).kind, KWORK_SOFTIRQ);
	assert_int_equal(get(timeline, 0).end_ns, 70);
	assert_int_equal(get(timeline, 1).kind, KWORK_IRQ);
	assert_int_equal(get(timeline, 1).cpu, 1);
	assert_int_equal(get(timeline, 1).number, 24);
	assert_string_equal(timeline_get_string(timeline, get(timeline, 1).name), "virtio0");
	assert_int_equal(get(timeline, 2).start_ns, 80);
	assert_int_equal(kwork_store_get_counts(store).kept, 3);
	timeline_free(timeline);
	kwork_store_free(store);
}

/* It may end on a CPU whose clock is behind. */
static void work_does_not_end_before_it_starts(void **state _unused_)
{
	struct kwork_store *store = make_store();
	struct wire_kworks works = make_batch(0, WIRE_KWORK_WORKQUEUE);
	struct timeline *timeline;

	add_slot(&works, 20, 19, 50);
	add(store, &works);
	timeline = give(store, NULL);
	assert_int_equal(get(timeline, 0).start_ns, 20);
	assert_int_equal(get(timeline, 0).end_ns, 20);
	timeline_free(timeline);
	kwork_store_free(store);
}

/* RLIMIT_FSIZE acts like a full disk. */
static void work_that_cannot_be_written_is_not_kept(void **state _unused_)
{
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	struct kwork_store *store = make_store();
	struct wire_kworks softirqs = make_batch(0, WIRE_KWORK_SOFTIRQ);
	struct timeline_kwork kwork;
	struct timeline *timeline;
	struct spool_counts counts;
	struct rlimit before;
	uint64_t position = 0;

	add_slot(&softirqs, 10, 20, 1);
	add_slot(&softirqs, 30, 40, 1);
	add(store, &softirqs);
	assert_int_equal(kwork_store_get_counts(store).kept, 2); /* not written yet */
	timeline = give(store, NULL);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(timeline_next_kwork(timeline, &position, &kwork), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	add(store, &softirqs);
	counts = kwork_store_get_counts(store);
	assert_int_equal(counts.lost, 2);
	assert_int_equal(counts.lost_errno, EFBIG);
	assert_int_equal(counts.kept, 2);
	timeline_free(timeline);
	kwork_store_free(store);
}

static void functions_are_called_as_the_kernel_says(void **state _unused_)
{
	struct kwork_store *store = make_store();
	struct wire_kworks works = make_batch(0, WIRE_KWORK_WORKQUEUE);
	struct timeline *timeline;

	add_slot(&works, 10, 20, 50)->function = 0xffffffff81000010;
	add_slot(&works, 30, 40, 50)->function = 0xffffffff81000020;
	add(store, &works);
	timeline = give(store, "ffffffff81000000 t before\nffffffff81000010 t flush_to_ldisc\n"
			       "ffffffff81000030 t behind\n");
	assert_string_equal(timeline_get_string(timeline, get(timeline, 0).name), "flush_to_ldisc");
	assert_string_equal(timeline_get_string(timeline, get(timeline, 1).name), "[unknown]");
	timeline_free(timeline);
	kwork_store_free(store);
}

static void a_softirq_of_a_later_kernel_is_kept(void **state _unused_)
{
	struct kwork_store *store = make_store();
	struct wire_kworks batch = make_batch(0, WIRE_KWORK_SOFTIRQ);
	struct timeline *timeline;

	add_slot(&batch, 10, 20, 12);
	add(store, &batch);
	timeline = give(store, NULL);
	assert_int_equal(get(timeline, 0).number, 12);
	timeline_free(timeline);
	kwork_store_free(store);
}

static void what_cannot_be_is_ignored(void **state _unused_)
{
	struct kwork_store *store = make_store();
	struct wire_kworks batch = make_batch(0, WIRE_KWORK_SOFTIRQ);
	struct timeline_kwork kwork;
	struct timeline *timeline;
	uint64_t position = 0;

	add_slot(&batch, 10, 20, 1);
	assert_int_equal(kwork_store_add(store, &batch, sizeof(batch) - 1), 0);
	batch.num_slots = WIRE_KWORK_SLOTS + 1;
	add(store, &batch);
	batch.num_slots = 1;
	batch.kind = NUM_WIRE_KWORK_KINDS;
	add(store, &batch);
	timeline = give(store, NULL);
	assert_int_equal(timeline_next_kwork(timeline, &position, &kwork), 0);
	timeline_free(timeline);
	kwork_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_of_all_kinds_comes_in_order_of_its_start),
		cmocka_unit_test(work_does_not_end_before_it_starts),
		cmocka_unit_test(work_that_cannot_be_written_is_not_kept),
		cmocka_unit_test(functions_are_called_as_the_kernel_says),
		cmocka_unit_test(a_softirq_of_a_later_kernel_is_kept),
		cmocka_unit_test(what_cannot_be_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
