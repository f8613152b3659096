#include "import_fixture.h"
#include "trace_builder.h"
#include "zones_builder.h"

struct dump {
	const char *heap;
	uint64_t allocated, freed, num_allocated, num_freed;
	bool is_rejected;
};

/* What process 5 has allocated at stack 1. */
static void put_dump(struct text *trace, const struct dump *dump)
{
	struct text heap = {0};
	struct text process = {0};
	struct text sample = {0};

	put(&sample, 1, 1);
	put(&sample, 2, dump->allocated);
	put(&sample, 3, dump->freed);
	put(&sample, 5, dump->num_allocated);
	put(&sample, 6, dump->num_freed);
	put(&process, 1, 5);
	put_message(&process, 2, &sample);
	put(&process, 4, dump->is_rejected);
	if (dump->heap)
		put_string(&process, 11, dump->heap);
	put_message(&heap, 5, &process);
	put_packet(trace, 1, NEEDED, 5, HEAP, &heap);
}

static void assert_heap(struct text *trace, const char *const *expected, uint32_t num_expected)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_pftrace, trace->data, trace->length), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_int_equal(profile_count_metrics(imported.profile), num_expected);
	for (uint32_t i = 0; i < num_expected; i++) {
		_cleanup_(text_release) struct text line = {0};

		text_printf(&line, "[unknown];malloc %s\n", strchr(expected[i], '=') + 1);
		assert_written(&format_folded, imported.profile,
			       (struct call_tree_opts){.metric = i}, line.data);
		line.length = 0;
		text_printf(&line, "%s %s=", format_get_metric_name(imported.profile, i),
			    format_get_metric_unit(imported.profile, i));
		assert_memory_equal(line.data, expected[i], line.length);
	}
	imported_release(&imported);
	text_release(trace);
}

static void a_heap_profile_has_what_is_in_use_and_what_was_allocated(void **state _unused_)
{
	static const char *const expected[] = {
		"inuse_space bytes=600",
		"inuse_objects count=6",
		"alloc_space bytes=1000",
		"alloc_objects count=10",
	};
	struct text trace = {0};

	put_stack(&trace, 1, CLEARED, "malloc");
	put_dump(&trace, &(struct dump){"libc.malloc", 1000, 400, 10, 4, false});
	assert_heap(&trace, expected, 4);
}

static void the_last_dump_holds_those_before(void **state _unused_)
{
	static const char *const expected[] = {"inuse_space bytes=100", "alloc_space bytes=1500"};
	struct text trace = {0};

	put_stack(&trace, 1, CLEARED, "malloc");
	put_dump(&trace, &(struct dump){.allocated = 1000, .freed = 400});
	put_dump(&trace, &(struct dump){.allocated = 1500, .freed = 1400});
	assert_heap(&trace, expected, 2);
}

static void other_heaps_than_that_of_malloc_have_their_name(void **state _unused_)
{
	static const char *const expected[] = {
		"inuse_space bytes=1000", "com.android.art inuse_space bytes=64",
		"alloc_space bytes=1000", "com.android.art alloc_space bytes=64"};
	struct text trace = {0};

	put_stack(&trace, 1, CLEARED, "malloc");
	put_dump(&trace, &(struct dump){.heap = "libc.malloc", .allocated = 1000});
	put_dump(&trace, &(struct dump){.heap = "com.android.art", .allocated = 64});
	assert_heap(&trace, expected, 4);
}

static void a_heap_profile_that_is_not_whole_is_reported(void **state _unused_)
{
	struct imported imported = {0};
	struct text trace = {0};

	put_stack(&trace, 1, CLEARED, "malloc");
	put_dump(&trace, &(struct dump){.allocated = 8, .is_rejected = true});
	assert_int_equal(imported_read(&imported, &format_pftrace, trace.data, trace.length), 0);
	assert_string_equal(imported.warnings.data,
			    "FILE: 1 heap profiles of processes are incomplete\n");
	imported_release(&imported);
	text_release(&trace);
}

/* As before interned data had a place of its own: strings of all kinds, frames, stacks, mappings. */
static void an_old_heap_profile_interns_its_stacks_itself(void **state _unused_)
{
	static const char *const expected[] = {"inuse_space bytes=64", "alloc_space bytes=64"};
	struct text trace = {0};
	struct text heap = {0};
	struct text process = {0};
	struct text item = {0};

	put_numbered(&heap, 1, 3, "malloc");
	put_numbered(&heap, 1, 4, "libc.so");
	put(&item, 1, 1);
	put(&item, 2, 3);
	put(&item, 3, 1);
	put_message(&heap, 2, &item);
	put(&item, 1, 9);
	put(&item, 2, 1);
	put_message(&heap, 3, &item);
	put(&item, 1, 1);
	put(&item, 7, 4);
	put_message(&heap, 4, &item);
	put(&item, 1, 9);
	put(&item, 2, 64);
	put(&process, 1, 5);
	put_message(&process, 2, &item);
	put_message(&heap, 5, &process);
	put_packet(&trace, 1, CLEARED, 5, HEAP, &heap);
	assert_heap(&trace, expected, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heap_profile_has_what_is_in_use_and_what_was_allocated),
		cmocka_unit_test(an_old_heap_profile_interns_its_stacks_itself),
		cmocka_unit_test(the_last_dump_holds_those_before),
		cmocka_unit_test(other_heaps_than_that_of_malloc_have_their_name),
		cmocka_unit_test(a_heap_profile_that_is_not_whole_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
