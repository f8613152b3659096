#include <string.h>

#include "import_fixture.h"

static const char text[] = "Attaching 1 probe...\n"
			   "^C\n"
			   "\n"
			   "@[\n"
			   "    finish_task_switch+167\n"
			   "    entry_SYSCALL_64_after_hwframe+110\n"
			   ", \n"
			   "    __poll+79\n"
			   "    main+0x20\n"
			   ", sshd, 812]: 4\n"
			   "@[\n"
			   "    finish_task_switch+9\n"
			   "    entry_SYSCALL_64_after_hwframe+110\n"
			   ", \n"
			   "    __poll+80\n"
			   "    main+0x20\n"
			   ", sshd, 812]: 3\n";

static void stacks_of_kernel_and_user_are_joined(void **state _unused_)
{
	assert_stacks(&format_bpftrace, text, 0,
		      "sshd, 812;main;__poll;entry_SYSCALL_64_after_hwframe_[k];"
		      "finish_task_switch_[k] 7\n");
}

static void the_order_of_a_key_does_not_matter(void **state _unused_)
{
	assert_stacks(&format_bpftrace,
		      "@[bash, \n"
		      "    read+1\n"
		      "    main+2\n"
		      ", \n"
		      "    vfs_read+3\n"
		      "    do_syscall_64+4\n"
		      "]: 5\n",
		      0, "bash;main;read;do_syscall_64_[k];vfs_read_[k] 5\n");
}

static void a_stack_may_be_alone_or_missing(void **state _unused_)
{
	assert_stacks(&format_bpftrace, "@[\n    a+1\n    b+2\n]: 1\n", 0, "b;a 1\n");
	assert_stacks(&format_bpftrace, "@[\n    a+1\n    b+2\n]: 1\n@[, bash]: 2\n", 0,
		      "b;a 1\nbash 2\n");
	assert_stacks(&format_bpftrace, "@[\n\n, \n    b+2\n, x]: 1\n", 0, "x;b 1\n");
}

/* Of a map that has stacks: a stack that could not be read is an empty text. */
static void an_empty_stack_of_a_map_with_stacks_counts(void **state _unused_)
{
	assert_stacks(
		&format_bpftrace,
		"@[]: 5\n@other[x]: 7\n@[kworker/0:1, ]: 2\n@[bash, \n    a+1\n]: 1\n[, bash]: 7\n",
		0, "[unknown] 5\nbash;a 1\nkworker/0:1 2\n");
	assert_stacks(&format_bpftrace, "@[(\n    a+1\n, bash)]: 1\n", 0, "bash;a 1\n");
}

static void a_cut_kernel_stack_is_known_by_the_other(void **state _unused_)
{
	static const char expected[] = "main;read;ksys_read_[k];vfs_read_[k] 1\n";

	assert_stacks(&format_bpftrace,
		      "@[\n    read+1\n    main+2\n, \n    vfs_read+3\n    ksys_read+4\n]: 1\n", 0,
		      expected);
	assert_stacks(&format_bpftrace,
		      "@[\n    vfs_read+3\n    ksys_read+4\n, \n    read+1\n    main+2\n]: 1\n", 0,
		      expected);
}

static void places_and_inlined_calls_are_no_names(void **state _unused_)
{
	static const char maps[] =
		"@[\n    [inlined] leaf+4@/src/a.c:30\n    main+12@/src/a.c:31\n"
		"    7f1e214c24d9 calls+4 (inlined)\n    7f1e214c24d9 f+4 ([unknown])\n"
		"    ffffffffb4019501 do_mmap+1 ([kernel.kallsyms])\n"
		"    memcpy@@GLIBC_2.2.5+1\n]: 1\n";
	struct imported imported = {0};

	assert_stacks(&format_bpftrace, maps, 0,
		      "memcpy@@GLIBC_2.2.5;do_mmap_[k];f_[k];calls_[k];main_[k];leaf_[k] 1\n");
	assert_int_equal(imported_read(&imported, &format_bpftrace, maps, strlen(maps)), 0);
	for (uint32_t i = 0; i < profile_count_frames(imported.profile); i++) {
		const struct frame *frame = profile_get_frame(imported.profile, i);

		if (!strcmp(profile_get_string(imported.profile, frame->name), "main")) {
			assert_string_equal(profile_get_string(imported.profile, frame->file),
					    "/src/a.c");
			assert_int_equal(frame->line, 31);
		}
	}
	imported_release(&imported);
}

static void names_of_maps_may_be_long(void **state _unused_)
{
	char maps[512];
	struct imported imported = {0};

	snprintf(maps, sizeof(maps), "@%0100da[\n    a+1\n]: 5\n@%0100db[\n    a+1\n]: 7\n", 0, 0);
	assert_int_equal(imported_read(&imported, &format_bpftrace, maps, strlen(maps)), 0);
	assert_int_equal(profile_count_metrics(imported.profile), 2);
	imported_release(&imported);
}

static void each_map_is_a_metric(void **state _unused_)
{
	static const char maps[] = "@bytes[\n    a+1\n]: 100\n@calls[\n    a+1\n]: 2\n";

	assert_stacks(&format_bpftrace, maps, 0, "a 100\n");
	assert_stacks(&format_bpftrace, maps, 1, "a 2\n");
	assert_stacks(&format_bpftrace, "@[\n    a+1\n]: count 2, average 3, total 6\n", 0,
		      "a 6\n");
}

static void frames_lose_addresses_and_offsets(void **state _unused_)
{
	assert_stacks(&format_bpftrace,
		      "@[\n"
		      "        7f1e214c24d9 memcpy+12 (/usr/lib/libc.so.6)\n"
		      "        0x7f1e214c24d9\n"
		      "        a::operator+(int)+0x1f\n"
		      "        deadbeef\n"
		      "        x+\n"
		      "]: 5\n",
		      0, "x+;deadbeef;a::operator+(int);0x7f1e214c24d9;memcpy 5\n");
	assert_stacks(&format_bpftrace, "@[\n    0xffffffff81000000\n, \n    0x401000\n]: 5\n", 0,
		      "0x401000;0xffffffff81000000_[k] 5\n");
}

static void a_module_is_kept(void **state _unused_)
{
	struct imported imported = {0};
	const struct frame *frame;
	static const char modules[] = "@[\n    f+12 [ext4]\n]: 5\n";

	assert_int_equal(imported_read(&imported, &format_bpftrace, modules, strlen(modules)), 0);
	frame = profile_get_frame(imported.profile, 0);
	assert_string_equal(profile_get_string(imported.profile, frame->name), "f");
	assert_string_equal(profile_get_string(imported.profile, frame->module), "ext4");
	imported_release(&imported);
}

static void other_output_is_left_out(void **state _unused_)
{
	assert_stacks(
		&format_bpftrace,
		"hello from printf: 3\n@x: 5\n@y[bash]: 6\n@[\n    a+1\n]: 1\n\n@hist:\n[1]   3 "
		"|@@@|\n",
		0, "a 1\n");
}

static void histograms_are_skipped(void **state _unused_)
{
	assert_warned(&format_bpftrace, "@[\n    a+1\n]:\n[2, 4)   3 |@@@|\n\n@[\n    b+1\n]: 2\n",
		      "FILE:1: a histogram has no sum, skipping\n", "b 2\n");
	assert_warned(&format_bpftrace, "@[\n    a+1\n]: -3\n@[\n    b+1\n]: 2\n",
		      "FILE:1: expected a count, skipping\n", "b 2\n");
}

static void a_key_without_end_is_skipped(void **state _unused_)
{
	assert_warned(&format_bpftrace, "@[\n    b+1\n]: 2\n@[\n    a+1\n",
		      "FILE:4: unterminated key of a map, skipping\n", "b 2\n");
	assert_warned(&format_bpftrace, "@[\n    a+1\n@[\n    b+1\n]: 2\n",
		      "FILE:1: unterminated key of a map, skipping\n", "b 2\n");
}

static void what_has_no_stack_is_refused(void **state _unused_)
{
	assert_refused(&format_bpftrace, "", "FILE:1: expected a map with stacks");
	assert_refused(&format_bpftrace, "@[bash]: 3\n", "FILE:1: expected a map with stacks");
	assert_refused(&format_bpftrace, "@[\n    a\n]: 18446744073709551615\n@[\n    a\n]: 1\n",
		       "FILE:4: the sum of the counts of this stack exceeds 64 bits");
}

static void it_is_known_by_its_content(void **state _unused_)
{
	const uint8_t *data = (const uint8_t *)text;

	assert_int_equal(format_bpftrace.detect(data, strlen(text)), DETECTED_SURE);
	assert_int_equal(format_bpftrace.detect((const uint8_t *)"@[a]: 1\n", 8), DETECTED_NOT);
	assert_int_equal(format_bpftrace.detect((const uint8_t *)"@[\n]: 1\n", 8), DETECTED_NOT);
	assert_int_equal(format_bpftrace.detect(NULL, 0), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_kernel_and_user_are_joined),
		cmocka_unit_test(the_order_of_a_key_does_not_matter),
		cmocka_unit_test(a_stack_may_be_alone_or_missing),
		cmocka_unit_test(an_empty_stack_of_a_map_with_stacks_counts),
		cmocka_unit_test(a_cut_kernel_stack_is_known_by_the_other),
		cmocka_unit_test(places_and_inlined_calls_are_no_names),
		cmocka_unit_test(names_of_maps_may_be_long),
		cmocka_unit_test(each_map_is_a_metric),
		cmocka_unit_test(frames_lose_addresses_and_offsets),
		cmocka_unit_test(a_module_is_kept),
		cmocka_unit_test(other_output_is_left_out),
		cmocka_unit_test(histograms_are_skipped),
		cmocka_unit_test(a_key_without_end_is_skipped),
		cmocka_unit_test(what_has_no_stack_is_refused),
		cmocka_unit_test(it_is_known_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
