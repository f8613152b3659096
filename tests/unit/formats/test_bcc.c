#include <string.h>

#include "import_fixture.h"

#define SAMPLING \
	"Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n^C\n"

static const char profile_text[] = SAMPLING "    __clear_user\n"
					    "    entry_SYSCALL_64_fastpath\n"
					    "    --\n"
					    "    read\n"
					    "    -                dd (25036)\n"
					    "        4\n"
					    "\n"
					    "    func_a\n"
					    "    main\n"
					    "    -                func ab (13549)\n"
					    "        5\n"
					    "\n";

static void samples_of_profile_are_read(void **state _unused_)
{
	assert_stacks(&format_bcc, profile_text, 0,
		      "dd;read;entry_SYSCALL_64_fastpath_[k];__clear_user_[k] 4\n"
		      "func ab;main;func_a 5\n");
}

/* Without -d nothing stands between kernel and user, and an interrupt may be in between. */
static void the_kernel_ends_where_it_was_entered(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      SAMPLING "    tick\n    asm_sysvec_apic_timer_interrupt\n    vfs_read\n    "
			       "entry_SYSCALL_64_after_hwframe\n    read\n    main\n        2\n\n",
		      0,
		      "main;read;entry_SYSCALL_64_after_hwframe_[k];vfs_read_[k];"
		      "asm_sysvec_apic_timer_interrupt_[k];tick_[k] 2\n");
}

/* A delimiter says where the kernel ends, whatever its functions are. */
static void a_delimiter_ends_the_kernel(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      SAMPLING "    odd\n    other\n    --\n    read\n    -                dd (1)\n"
			       "        4\n\n    read\n    -                dd (1)\n        2\n\n",
		      0, "dd;read 2\ndd;read;other_[k];odd_[k] 4\n");
}

static void entries_of_older_kernels_are_known(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      SAMPLING
		      "    fault\n    page_fault\n    page_fault_in_program\n        2\n\n",
		      0, "page_fault_in_program;page_fault_[k];fault_[k] 2\n");
	assert_stacks(&format_bcc,
		      SAMPLING "    ffffffff817b05c1 tcp_sendmsg\n    00007f12a17b05c1 send\n"
			       "        2\n\n",
		      0, "send;tcp_sendmsg_[k] 2\n");
}

/* Brackets belong to names of C++. */
static void demangled_names_stay_whole(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      SAMPLING "    foo(int) [clone .isra.0]\n    run(std::function<void (int)>)\n"
			       "    a<void (int), A>::b(c const&, int&&)\n        2\n\n",
		      0,
		      "a<void (int), A>::b(c const&, int&&);run(std::function<void (int)>);"
		      "foo(int) [clone .isra.0] 2\n");
}

static void what_the_tool_lost_is_told(void **state _unused_)
{
	static const char text[] =
		SAMPLING "    a\n        2\n\nWARNING: 7 stack traces could not be displayed.\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_bcc, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data,
			    "FILE: 7 stacks are missing: the tool could not display them\n");
	assert_int_equal(imported.import.counts.lost_samples, 7);
	imported_release(&imported);
}

/* Nothing that frames are borrowed from is let go of. */
static void give_back(void *context, size_t consumed)
{
	struct import *import = context;

	memset((uint8_t *)(uintptr_t)import->data, 0, consumed);
}

static void long_texts_are_let_go_of_behind_blocks(void **state _unused_)
{
	static const char block[] =
		"    cccc\n    bbbb\n    aaaa\n    -                dddd (1)\n        1\n\n";
	struct text text = {0};
	struct import import = {.name = "FILE", .advance = give_back, .context = &import};
	size_t num_blocks = 0;

	text_append_string(&text, SAMPLING);
	for (; text.length < 3u << 20; num_blocks++)
		text_append_string(&text, block);
	import.data = (const uint8_t *)text.data;
	import.size = text.length;
	import.profile = profile_new();
	assert_int_equal(profile_add_source(import.profile, STRING_EMPTY, &import.source), 0);
	assert_int_equal(format_bcc.read(&import), 0);
	assert_int_equal(profile_count_samples(import.profile), 1);
	assert_int_equal(profile_get_sample(import.profile, 0)->value, num_blocks);
	profile_free(import.profile);
	text_release(&text);
}

static void threads_are_known_by_pid(void **state _unused_)
{
	struct imported imported = {0};
	const struct thread *thread;

	assert_int_equal(imported_read(&imported, &format_bcc, profile_text, strlen(profile_text)),
			 0);
	assert_int_equal(profile_count_threads(imported.profile), 2);
	thread = profile_get_thread(imported.profile, 0);
	assert_int_equal(thread->tid, 25036);
	assert_int_equal(profile_get_process(imported.profile, thread->process)->pid, 25036);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "samples");
	imported_release(&imported);
}

static void times_of_offcputime_are_microseconds(void **state _unused_)
{
	static const char text[] =
		"Tracing off-CPU time (us) of all threads by kernel stack... Hit "
		"Ctrl-C to end.\n^C\n    b'schedule'\n    b'do_syscall_64'\n    -   "
		"             b'chmod' (12)\n        13\n\n";
	struct imported imported = {0};

	assert_stacks(&format_bcc, text, 0, "chmod;do_syscall_64_[k];schedule_[k] 13\n");
	assert_int_equal(imported_read(&imported, &format_bcc, text, strlen(text)), 0);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "off-cpu");
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "microseconds");
	imported_release(&imported);
}

/* Then no line has a pid. */
static void the_last_line_of_old_versions_is_the_thread(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      "Tracing off-CPU time (us) of all threads by kernel stack... Hit Ctrl-C to "
		      "end.\n    schedule\n    ret_from_fork\n    rcuos/0\n        22\n\n",
		      0, "rcuos/0;ret_from_fork_[k];schedule_[k] 22\n");
}

static void calls_of_stackcount_have_a_process_or_none(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      "Tracing 1 functions for \"submit_bio\"... Hit Ctrl-C to end.\n^C\n"
		      "  submit_bio\n  submit_bh\n  kthread\n    38\n\n"
		      "  submit_bio\n  write\n    dd [77]\n    2\n\n",
		      0, "dd;write;submit_bio 2\nkthread;submit_bh;submit_bio 38\n");
}

/* A function may be called like a number; a count is indented more. */
static void a_count_is_indented_more_than_frames(void **state _unused_)
{
	assert_stacks(&format_bcc,
		      SAMPLING "    17\n    main\n    -                a (1)\n        3\n\n", 0,
		      "a;main;17 3\n");
	assert_stacks(&format_bcc, SAMPLING "    -                idle (1)\n        3\n\n", 0,
		      "idle 3\n");
}

static void a_stack_without_a_count_is_skipped(void **state _unused_)
{
	assert_warned(&format_bcc, SAMPLING "    a\n\n    b\n        2\n\n",
		      "FILE:3: a stack without a count, skipping\n", "b 2\n");
	assert_warned(&format_bcc, SAMPLING "    b\n        2\n\n    a\n    c\n",
		      "FILE:6: a stack without a count, skipping\n", "b 2\n");
}

static void what_has_no_counts_is_refused(void **state _unused_)
{
	assert_refused(&format_bcc, "", "FILE:1: expected stacks with counts");
	assert_refused(&format_bcc, SAMPLING, "FILE:1: expected stacks with counts");
	assert_refused(&format_bcc,
		       SAMPLING "    a\n        18446744073709551615\n\n    a\n        1\n\n",
		       "FILE:7: the sum of the counts of this stack exceeds 64 bits");
}

static void it_is_known_by_its_content(void **state _unused_)
{
	static const char headless[] = "    main\n    -                a (1)\n        3\n";
	static const char print[] = "Sampling at 99 Hertz of user stacks...\n@[\n    a+1\n]: 3\n";
	static const char counts[] =
		"Tracing 2 functions for \"vfs_*\"... Hit Ctrl-C to end.\n"
		"    FUNC                COUNT\n    vfs_read               12\n";
	static const char other[] = "    main\n    -                a (x)\n        3\n";

	assert_int_equal(format_bcc.detect((const uint8_t *)profile_text, strlen(profile_text)),
			 DETECTED_SURE);
	assert_int_equal(format_bcc.detect((const uint8_t *)headless, strlen(headless)),
			 DETECTED_SURE);
	assert_int_equal(format_bcc.detect((const uint8_t *)other, strlen(other)), DETECTED_NOT);
	assert_int_equal(format_bcc.detect(NULL, 0), DETECTED_NOT);
	/* Programs of others print such lines, too. */
	assert_int_equal(format_bcc.detect((const uint8_t *)print, strlen(print)), DETECTED_NOT);
	assert_int_equal(format_bcc.detect((const uint8_t *)counts, strlen(counts)), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_profile_are_read),
		cmocka_unit_test(the_kernel_ends_where_it_was_entered),
		cmocka_unit_test(a_delimiter_ends_the_kernel),
		cmocka_unit_test(entries_of_older_kernels_are_known),
		cmocka_unit_test(demangled_names_stay_whole),
		cmocka_unit_test(what_the_tool_lost_is_told),
		cmocka_unit_test(long_texts_are_let_go_of_behind_blocks),
		cmocka_unit_test(threads_are_known_by_pid),
		cmocka_unit_test(times_of_offcputime_are_microseconds),
		cmocka_unit_test(the_last_line_of_old_versions_is_the_thread),
		cmocka_unit_test(calls_of_stackcount_have_a_process_or_none),
		cmocka_unit_test(a_count_is_indented_more_than_frames),
		cmocka_unit_test(a_stack_without_a_count_is_skipped),
		cmocka_unit_test(what_has_no_counts_is_refused),
		cmocka_unit_test(it_is_known_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
