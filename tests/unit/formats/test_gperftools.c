#include <string.h>

#include "import_fixture.h"

#define MAPS                                                               \
	"\nMAPPED_LIBRARIES:\n"                                            \
	"00400000-00410000 r-xp 00001000 08:01 12 /usr/bin/x\n"            \
	"00410000-00420000 rw-p 00011000 08:01 12 /usr/bin/x\n"            \
	"7f0000000000-7f0000010000 r-xp 00000000 08:01 13 /usr/lib/y.so\n" \
	"7ffe00000000-7ffe00001000 r-xp 00000000 00:00 0 [vdso]\n"

/* As `convert` reads files that nobody has. */
static void assert_named(const char *text, size_t size, uint32_t metric, const char *expected)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_gperftools, text, size), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = metric},
		       expected);
	imported_release(&imported);
}

/* A return address is that of the call, and its place is one in the file. */
static void a_heap_has_two_metrics_or_four(void **state _unused_)
{
	static const char in_use[] =
		"heap profile:      2:      300 [     0:        0] @ heapprofile\n"
		"     1:      200 [     0:        0] @ 0x00401235 0x7f0000000101\n"
		"     1:      100 [     0:        0] @ 0x7f0000000101\n" MAPS;
	static const char both[] = "heap profile:  1: 200 [  5: 1000] @ heapprofile\n"
				   "  1:  200 [  5:  1000] @ 0x00401235\n" MAPS;

	assert_named(in_use, strlen(in_use), 0, "y.so+0x100 100\ny.so+0x100;x+0x2234 200\n");
	assert_named(in_use, strlen(in_use), 1, "y.so+0x100 1\ny.so+0x100;x+0x2234 1\n");
	assert_named(both, strlen(both), 0, "x+0x2234 200\n");
	assert_named(both, strlen(both), 1, "x+0x2234 1\n");
	assert_named(both, strlen(both), 2, "x+0x2234 1000\n");
	assert_named(both, strlen(both), 3, "x+0x2234 5\n");
}

/* pprof has 1 / (1 - exp(-1000/1000)) = 1.58 of it. */
static void a_sampled_heap_is_scaled(void **state _unused_)
{
	static const char tcmalloc[] = "heap profile: 10: 10000 [0: 0] @ heap_v2/1000\n"
				       "  10: 10000 [0: 0] @ 0x401235\n" MAPS;
	static const char go[] = "heap profile: 10: 10000 [0: 0] @ heap/2000\n"
				 "  10: 10000 [0: 0] @ 0x401235\n" MAPS;

	assert_named(tcmalloc, strlen(tcmalloc), 0, "x+0x2234 15819\n");
	assert_named(tcmalloc, strlen(tcmalloc), 1, "x+0x2234 15\n");
	assert_named(go, strlen(go), 0, "x+0x2234 15819\n");
}

static void jemalloc_has_addresses_first(void **state _unused_)
{
	static const char text[] = "heap_v2/1\n"
				   "  t*: 3: 700 [0: 0]\n"
				   "  t0: 3: 700 [0: 0]\n"
				   "@ 0x401235 0x7f0000000101\n"
				   "  t*: 2: 400 [0: 0]\n"
				   "  t0: 2: 400 [0: 0]\n"
				   "@ 0x7f0000000101\n"
				   "  t*: 1: 300 [0: 0]\n" MAPS;

	assert_named(text, strlen(text), 0, "y.so+0x100 300\ny.so+0x100;x+0x2234 400\n");
	assert_named(text, strlen(text), 1, "y.so+0x100 1\ny.so+0x100;x+0x2234 2\n");
}

/* Names of one address are calls that were inlined. */
static void texts_of_go_name_frames(void **state _unused_)
{
	static const char text[] = "goroutine profile: total 3\n"
				   "2 @ 0x401235 0x401300\n"
				   "#\t0x401234\tmain.leaf+0x14\t/src/a.go:12\n"
				   "#\t0x401234\tmain.(*T).f+0x14\t\t/src/a.go:20\n"
				   "#\t0x4012ff\tmain.main+0x1f\t/src/a.go:30\n"
				   "\n"
				   "1 @ 0x401300\n" MAPS;
	struct imported imported = {0};
	const struct frame *frame;

	assert_stacks(&format_gperftools, text, 0,
		      "main.main;main.(*T).f;main.leaf_[i] 2\nx+0x22ff 1\n");
	assert_int_equal(imported_read(&imported, &format_gperftools, text, strlen(text)), 0);
	for (uint32_t i = 0; i < 3; i++) {
		frame = profile_get_frame(imported.profile, i);
		assert_string_equal(profile_get_string(imported.profile, frame->file), "/src/a.go");
		assert_int_equal(frame->line, i == 0 ? 30 : i == 1 ? 20 : 12);
	}
	assert_string_equal(format_get_metric_name(imported.profile, 0), "goroutines");
	imported_release(&imported);
}

/* 1000 cycles of 2 GHz, one in 10. */
static void frames_that_go_hides_are_of_its_runtime(void **state _unused_)
{
	assert_stacks(
		&format_gperftools,
		"threadcreate profile: total 1\n1 @ 0x501235 0x501300\n#\t0x5012ff\tmain.main+0x1f"
		"\t/src/a.go:30\n",
		0, "main.main;[Go runtime] 1\n");
}

static void contentions_are_in_nanoseconds(void **state _unused_)
{
	static const char text[] = "--- mutex:\ncycles/second=2000000000\nsampling period=10\n"
				   "1000 3 @ 0x401235\n" MAPS;
	static const char spaced[] =
		"--- contention:\ncycles/second = 1000000000\n"
		"sampling period = 1\nms since reset = 5\n 1000 3 @ 0x401235\n" MAPS;

	assert_named(text, strlen(text), 0, "x+0x2234 5000\n");
	assert_named(text, strlen(text), 1, "x+0x2234 30\n");
	assert_named(spaced, strlen(spaced), 0, "x+0x2234 1000\n");
	assert_warned(&format_gperftools,
		      "--- contentionz 1 ---\ncycles/second = 1\nsampling period = 1000\n"
		      "18446744073709551615 3 @ 0x1\n1 3 @ 0x401235\n" MAPS,
		      "FILE:4: malformed, skipping\n", "x+0x2234 1000000000000\n");
}

struct words {
	uint8_t bytes[1024];
	size_t size;
	size_t width;
	bool is_big_endian;
};

static void put(struct words *words, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < words->width; j++) {
			size_t shift = words->is_big_endian ? words->width - 1 - j : j;

			words->bytes[words->size++] = (uint8_t)(values[i] >> (8 * shift));
		}
}

static void put_profile(struct words *words)
{
	static const uint64_t values[] = {0,        3,        0,        10000,    0, /* header */
					  2,        2,        0x401234, 0x401300, 1, 3,
					  0x401234, 0x401234, 0x401300, 0,        1, 0};

	put(words, values, ARRAY_LENGTH(values));
	memcpy(words->bytes + words->size, MAPS, strlen(MAPS));
	words->size += strlen(MAPS);
}

static uint64_t count_records(const uint8_t *data, size_t size)
{
	struct imported imported = {0};
	uint64_t count;

	assert_int_equal(imported_read(&imported, &format_gperftools, data, size), 0);
	count = imported.import.counts.records;
	imported_release(&imported);
	return count;
}

/* The innermost address is exact; one that comes twice is one. */
static void cpu_profiles_are_read_in_every_width_and_order(void **state _unused_)
{
	for (int way = 0; way < 4; way++) {
		struct words words = {.width = way & 1 ? 4 : 8, .is_big_endian = way & 2};

		put_profile(&words);
		assert_named((const char *)words.bytes, words.size, 0,
			     "x+0x22ff;x+0x2234 30000000\n");
		assert_named((const char *)words.bytes, words.size, 1, "x+0x22ff;x+0x2234 3\n");
		assert_int_equal(format_gperftools.detect(words.bytes, words.size), DETECTED_SURE);
		assert_int_equal(count_records(words.bytes, words.size), 2);
	}
}

static void a_cpu_profile_that_was_cut_off_says_so(void **state _unused_)
{
	struct words words = {.width = 8};
	struct imported imported = {0};

	put_profile(&words);
	assert_int_equal(imported_read(&imported, &format_gperftools, words.bytes, 9 * 8), 0);
	assert_string_equal(imported.warnings.data, "FILE: at byte 72: the profile is truncated\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = 1},
		       "[unknown];[unknown] 2\n");
	imported_release(&imported);
}

static void a_text_that_was_cut_off_has_less_than_its_head_says(void **state _unused_)
{
	static const struct {
		const char *text;
		const char *sums;
	} cases[] = {
		{"heap profile: 2: 300 [0: 0] @ heapprofile\n  1: 200 [0: 0] @ 0x401235\n",
		 "1, but the head of the file says 2"},
		{"heap profile: 0: 0 [2: 300] @ heapprofile\n  0: 0 [2: 200] @ 0x401235\n",
		 "200, but the head of the file says 300"},
		{"heap_v2/1\n  t*: 3: 700 [0: 0]\n@ 0x401235\n  t*: 3: 600 [0: 0]\n",
		 "600, but the head of the file says 700"},
		{"goroutine profile: total 3\n2 @ 0x401235\n",
		 "2, but the head of the file says 3"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct imported imported = {0};
		char warning[128];

		snprintf(warning, sizeof(warning),
			 "FILE: the stacks add up to %s: it may be truncated\n", cases[i].sums);
		assert_int_equal(imported_read(&imported, &format_gperftools, cases[i].text,
					       strlen(cases[i].text)),
				 0);
		assert_string_equal(imported.warnings.data, warning);
		imported_release(&imported);
	}
}

/* All stacks are there, but not what follows them. */
static void a_heap_without_the_lines_behind_its_stacks_is_reported(void **state _unused_)
{
	static const char tcmalloc[] =
		"heap profile: 1: 200 [0: 0] @ heapprofile\n  1: 200 [0: 0] @ 0x401235\n";
	static const char go[] = "heap profile: 1: 200 [0: 0] @ heap/1\n1: 200 [0: 0] @ 0x401235\n";
	static const char whole_go[] = "heap profile: 1: 200 [0: 0] @ heap/1\n"
				       "1: 200 [0: 0] @ 0x401235\n\n# runtime.MemStats\n";

	assert_warned(&format_gperftools, tcmalloc,
		      "FILE: no line 'MAPPED_LIBRARIES:' follows the stacks: the file may be "
		      "truncated\n",
		      "[unknown] 200\n");
	assert_warned(&format_gperftools, go,
		      "FILE: no line '# runtime.MemStats' follows the stacks: the file may be "
		      "truncated\n",
		      "[unknown] 200\n");
	assert_warned(&format_gperftools, whole_go, "", "[unknown] 200\n");
}

static void malformed_lines_are_skipped(void **state _unused_)
{
	static const char *const lines[] = {
		"1: 200 [0: 0] @ 401235",
		"1: 200 [0: 0] @ 0x",
		"1: 200 [0: 0 @ 0x401235",
		"1: 200 @ 0x401235",
		"x",
		"1: 200 [0: 0] @ 0x401235z",
		"1: 2 [0: 0] x @ 0x1",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		char text[1024];

		snprintf(
			text, sizeof(text),
			"heap profile: 1: 2 [0: 0] @ heapprofile\n%s\n1: 2 [0: 0] @ 0x401235\n" MAPS,
			lines[i]);
		assert_warned(&format_gperftools, text, "FILE:2: malformed, skipping\n",
			      "x+0x2234 2\n");
	}
}

static void other_files_are_refused(void **state _unused_)
{
	assert_refused(&format_gperftools, "", "FILE:1: expected a profile of gperftools");
	assert_refused(&format_gperftools, "heap profile: x\n",
		       "FILE:1: expected 'heap profile: N");
	assert_refused(&format_gperftools,
		       "goroutine profile: total 3\n18446744073709551615 @ 0x1\n1 @ 0x1\n",
		       "FILE:3: the sum of the values of this stack exceeds 64 bits");
	assert_int_equal(format_gperftools.detect((const uint8_t *)"heap", 4), DETECTED_NOT);
	assert_int_equal(format_gperftools.detect(NULL, 0), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heap_has_two_metrics_or_four),
		cmocka_unit_test(a_sampled_heap_is_scaled),
		cmocka_unit_test(jemalloc_has_addresses_first),
		cmocka_unit_test(texts_of_go_name_frames),
		cmocka_unit_test(frames_that_go_hides_are_of_its_runtime),
		cmocka_unit_test(contentions_are_in_nanoseconds),
		cmocka_unit_test(cpu_profiles_are_read_in_every_width_and_order),
		cmocka_unit_test(a_cpu_profile_that_was_cut_off_says_so),
		cmocka_unit_test(a_text_that_was_cut_off_has_less_than_its_head_says),
		cmocka_unit_test(a_heap_without_the_lines_behind_its_stacks_is_reported),
		cmocka_unit_test(malformed_lines_are_skipped),
		cmocka_unit_test(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
