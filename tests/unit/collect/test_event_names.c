/* Names of events against the kernel's numbers, and types and units by their words. */
#include "collect/events/event_names.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/attributes.h"
#include "unit.h"

static void each_name_has_the_kernels_number(void **state _unused_)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} expected[] = {
		{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
		{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
		{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
		{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
		{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
		{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
		{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
		{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
		{"cgroup-switches", PERF_TYPE_SOFTWARE, 11},
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
		{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
		{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
		{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
		{"stalled-cycles-frontend", PERF_TYPE_HARDWARE,
		 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
		{"stalled-cycles-backend", PERF_TYPE_HARDWARE,
		 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
		{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
		{"syscalls", PERF_TYPE_TRACEPOINT, 0},
		{"syscall-time", PERF_TYPE_TRACEPOINT, 0},
		{"block-io", PERF_TYPE_TRACEPOINT, 0},
		{"block-io-time", PERF_TYPE_TRACEPOINT, 0},
		{"block-discard", PERF_TYPE_TRACEPOINT, 0},
		{"alloc", 0, 0},
		{"alloc-live", 0, 0},
	};

	assert_int_equal(num_event_names, ARRAY_LENGTH(expected));
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		const struct event_name *name = event_name_find(expected[i].name);

		assert_ptr_equal(name, &event_names[i]);
		assert_int_equal(name->type, expected[i].type);
		assert_int_equal(name->config, expected[i].config);
		assert_true(strlen(name->purpose) > 0);
		assert_ptr_equal(event_name_find(name->alias ? name->alias : name->name), name);
	}
	assert_string_equal(event_name_find("cs")->name, "context-switches");
	assert_string_equal(event_name_find("branch-instructions")->name, "branches");
	assert_null(event_name_find("cycle"));
	assert_null(event_name_find(""));
}

/* As perf list prints them, in the kernel's order. */
static void caches_have_names_for_all_that_is_done_to_them(void **state _unused_)
{
	static const char *const names[] = {
		"L1-dcache-loads",        "L1-dcache-load-misses", "L1-dcache-stores",
		"L1-dcache-store-misses", "L1-dcache-prefetches",  "L1-dcache-prefetch-misses",
	};
	char name[64];
	uint64_t config;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_true(event_cache_get_name(i, name, sizeof(name)));
		assert_string_equal(name, names[i]);
	}
	for (size_t i = 0; i < 7 * 3 * 2; i++) {
		assert_true(event_cache_get_name(i, name, sizeof(name)));
		assert_true(event_cache_find(name, &config));
		assert_int_equal(config, i / 6 | i / 2 % 3 << 8 | i % 2 << 16);
	}
	assert_false(event_cache_get_name(7 * 3 * 2, name, sizeof(name)));
	assert_true(event_cache_find("NODE-Prefetch-Misses", &config));
	assert_int_equal(config, PERF_COUNT_HW_CACHE_NODE | PERF_COUNT_HW_CACHE_OP_PREFETCH << 8 |
					 PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	config = 5;
	assert_false(event_cache_find("L1-dcache-load", &config));
	assert_int_equal(config, 5);
}

static void types_have_bytes_and_a_sign(void **state _unused_)
{
	static const char *const words[] = {"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"};
	uint8_t bytes = 0;
	bool is_signed = true;

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		assert_true(event_type_find(words[i], &bytes, &is_signed));
		assert_int_equal(bytes, 1 << i % 4);
		assert_int_equal(is_signed, i >= 4);
	}
	assert_false(event_type_find("u128", &bytes, &is_signed));
	assert_false(event_type_find("x8", &bytes, &is_signed));
	assert_int_equal(bytes, 8);
}

static void two_units_have_words_of_ours(void **state _unused_)
{
	assert_string_equal(event_unit_get("By"), "bytes");
	assert_string_equal(event_unit_get("ns"), "nanoseconds");
	assert_string_equal(event_unit_get("By/s"), "By/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_has_the_kernels_number),
		cmocka_unit_test(caches_have_names_for_all_that_is_done_to_them),
		cmocka_unit_test(types_have_bytes_and_a_sign),
		cmocka_unit_test(two_units_have_words_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
