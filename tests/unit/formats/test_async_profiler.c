#include "import_fixture.h"

#define FORMAT (&format_async_profiler)

#define COLORS_5 "[0x1, 3],\n[0x2, 3],\n[0x3, 3],\n[0x4, 3],\n[0x5, 3],\n"
#define COLORS_7 COLORS_5 "[0x6, 3],\n[0x7, 3],\n"
#define PAGE_2   "<!DOCTYPE html>\n<html lang='en'>\nfunction f(level, left, width, type, title) {\n"
#define PAGE_3   "<!DOCTYPE html>\n<html lang='en'>\n" COLORS_7 "function unpack(cpool) {\n"
#define TITLES                                                                                    \
	"const cpool = [\n'all',\n' [worker tid=815]',\n' it\\'s\\\\',\n'$! too',\n' main'\n];\n" \
	"unpack(cpool);\n\n"

static void frames_of_version_2_are_read(void **state _unused_)
{
	assert_stacks(FORMAT,
		      PAGE_2 COLORS_5
		      "f(0,0,6,4,'all')\nf(1,0,6,0,'main')\nf(2,1,2,1,'it\\'s\\x')\n"
		      "f(2,3,3,2,'sys')\n",
		      0, "main 1\nmain;it's\\x_[i] 2\nmain;sys_[k] 3\n");
	assert_stacks(FORMAT,
		      PAGE_2 COLORS_7 "f(0,0,3,3,'all')\nf(1,0,1,1,'jit')\nf(1,1,1,5,'sys')\n"
				      "f(1,2,1,6,'c1',1,0,0)\n",
		      0, "c1_[j] 1\njit_[j] 1\nsys_[k] 1\n");
}

static void frames_of_version_3_count_from_the_last_one(void **state _unused_)
{
	/* all 9; its children main 6 and `it's\` 3; in main: `it's! too` 2 and 2. */
	assert_stacks(FORMAT,
		      PAGE_3 TITLES "n(3,9)\nu(32,6)\nf(25,2,1,2)\nn(26)\nf(21,1,3,3,1,1,1)\n", 0,
		      "it's\\_[k] 3\nmain 2\nmain;it's! too_[i] 2\nmain;it's! too_[j] 2\n");
}

static void threads_become_threads(void **state _unused_)
{
	static const char text[] = PAGE_3 TITLES "n(3,2)\nu(12)\nu(32)\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID}, "worker-?/815;main 2\n");
	imported_release(&imported);
}

static void reversed_stacks_are_turned_round(void **state _unused_)
{
	assert_stacks(FORMAT,
		      PAGE_2 COLORS_5 "var reverse = true;\nf(0,0,6,4,'all')\nf(1,0,6,0,'leaf')\n"
				      "f(2,0,4,0,'b')\nf(3,0,3,0,'main')\nf(2,4,2,0,'main')\n",
		      0, "b;leaf 1\nmain;b;leaf 3\nmain;leaf 2\n");
}

static void an_inverted_page_is_guessed_at(void **state _unused_)
{
	assert_warned(
		FORMAT, PAGE_3 "let inverted = true;\n" TITLES "n(3,4)\nu(32)\nu(16)\n",
		"FILE: unknown whether the stacks are reversed; reading them as drawn upside down only\n",
		"main;it's\\ 4\n");
	assert_warned(FORMAT, PAGE_3 "let inverted = true;\n" TITLES "n(3,4)\nu(16)\nu(32)\n",
		      "FILE: unknown whether the stacks are reversed; reading them as reversed\n",
		      "main;it's\\ 4\n");
}

static void what_was_pruned_stays_with_the_caller(void **state _unused_)
{
	static const char text[] = PAGE_2 COLORS_5 "f(0,0,6,4,'all')\nf(1,0,5,0,'main')\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "all 1\nmain 5\n");
	assert_int_equal(imported.import.counts.pruned_weight, 1);
	imported_release(&imported);
}

static void units_name_the_metric(void **state _unused_)
{
	static const char text[] = PAGE_3 "const units = 'ns';\n" TITLES "n(3,4)\nu(32)\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "nanoseconds");
	imported_release(&imported);
}

static void malformed_frames_are_skipped(void **state _unused_)
{
	assert_warned(FORMAT,
		      PAGE_2 COLORS_5 "f(0,0,6,4,'all')\nf(2,0,5,0,'x')\nf(1,2)\nf(1,0,6,0,'m')\n",
		      "FILE:10: a frame whose caller is missing, skipping\n"
		      "FILE:11: expected a frame, skipping\n",
		      "m 6\n");
	assert_warned(FORMAT, PAGE_3 TITLES "n(3,9)\nu(320,6)\nf(25,2)\nu(32,9)\n",
		      "FILE:21: expected a frame, skipping\nFILE:22: expected a frame, skipping\n",
		      "main 9\n");
}

static void deep_reversed_stacks_do_not_fill_the_memory(void **state _unused_)
{
	struct text page = {0};
	struct imported imported = {0};

	text_append_string(&page, PAGE_3 "let reverse = true;\n" TITLES "n(3,99999)\n");
	for (int i = 0; i < 20000; i++)
		text_printf(&page, "u(%d,%d)\n", i % 2 ? 16 : 32, 99998 - i);
	assert_int_equal(imported_read(&imported, FORMAT, page.data, page.length), -EBADMSG);
	assert_non_null(strstr(imported.import.error.message, "too many or too deep"));
	text_release(&page);
	imported_release(&imported);
}

static void a_deep_stack_is_read(void **state _unused_)
{
	struct text page = {0};
	struct imported imported = {0};

	text_append_string(&page, PAGE_3 TITLES "n(3,999999)\n");
	for (int i = 0; i < 100000; i++)
		text_printf(&page, "u(32,%d)\n", 999999 - i);
	assert_int_equal(imported_read(&imported, FORMAT, page.data, page.length), 0);
	assert_int_equal(profile_count_stacks(imported.profile), 100001);
	text_release(&page);
	imported_release(&imported);
}

#define TREE        "<html>\n<title>Tree view</title>\n"
#define TREE_SCRIPT "function treeView(opt) {\n"
#define LI          "<li><div>"

static void the_tree_of_version_2_is_read(void **state _unused_)
{
	assert_stacks(
		FORMAT,
		TREE
		".t0 {\n}\n.t1 {\n}\n.t2 {\n}\n.t3 {\n}\n.t4 {\n}\n" TREE_SCRIPT
		"<div>Call tree view, total samples: 1,180 </div>\n<ul class=\"tree\">\n" LI
		"[0] 100.00% 1,180 self: 0.17% 2</div><span class=\"t0\"> main</span>\n<ul>\n" LI
		"[1] 99.8% 1,178 self: 98% 1,170</div><span class=\"t2\"> a&lt;b&gt;</span>\n"
		"<ul>\n" LI "[2] 0% 8 self: 0% 8</div><span class=\"t1\"> in</span>\n"
		"</ul>\n</ul>\n</ul>\n",
		0, "main 2\nmain;a<b>_[k] 1170\nmain;a<b>_[k];in_[i] 8\n");
}

#define COLORS_OF_TREE_4                                                           \
	".t0 {color: #1;}\n.t1 {color: #1;}\n.t2 {color: #1;}\n.t3 {color: #1;}\n" \
	".t4 {color: #1;}\n.t5 {color: #1;}\n.t6 {color: #1;}\n" TREE_SCRIPT
#define LEAF "<li><div class=\"o\">"

static void the_tree_of_version_4_is_read(void **state _unused_)
{
	static const char text[] = TREE COLORS_OF_TREE_4
		"Call tree view, total counter: 9 </div>\n<ul class='tree'>\n" LI
		"66.67% [6] &#8226; self: 0.00% [0]</div> <span class=\"t1\">"
		"[w tid=7]</span>\n<ul>\n" LEAF
		"66.67% [6] &#8226; self: 66.67% [6]</div> <span class=\"t5\">"
		"sys</span>\n</ul>\n" LEAF
		"33.33% [3] &#8226; self: 33.33% [3]</div> <span class=\"t1\">"
		"main</span>\n</ul>\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_string_equal(format_get_metric_name(imported.profile, 0), "counter");
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "main_[j] 3\nw-?/7;sys_[k] 6\n");
	imported_release(&imported);
}

static void a_backtrace_view_is_turned_round(void **state _unused_)
{
	assert_stacks(FORMAT,
		      TREE COLORS_OF_TREE_4
		      "Backtrace view, total samples: 5 </div>\n<ul class='tree'>"
		      "\n" LI "100.00% [5]</div> <span class=\"t3\">leaf</span>\n<ul>\n" LEAF
		      "60.00% [3]</div> <span class=\"t3\">main</span>\n</ul>\n</ul>\n",
		      0, "leaf 2\nmain;leaf 3\n");
}

static void what_a_tree_leaves_out_stays_with_the_caller(void **state _unused_)
{
	static const char text[] = TREE COLORS_OF_TREE_4
		"Call tree view, total samples: 10 </div>\n<ul class='tree'>\n" LI
		"90% [9] &#8226; self: 10% [1]</div> <span class=\"t3\">a</span>\n"
		"<ul>\n<li>...\n</ul>\n</ul>\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, FORMAT, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "a 9\nall 1\n");
	assert_int_equal(imported.import.counts.pruned_weight, 9);
	assert_non_null(strstr(imported.warnings.data, "90.00 % of the weight is in frames that"));
	imported_release(&imported);
}

static void malformed_lines_of_a_tree_are_skipped(void **state _unused_)
{
	assert_warned(FORMAT,
		      TREE TREE_SCRIPT
		      "<ul class=\"tree\">\n<li><div>x</div>\n" LEAF
		      "1% [99999999999999999999]</div> <span class=\"t3\">b</span>\n" LEAF
		      "100% [5] self: 1% [5]</div> <span class=\"t3\">a</span>\n",
		      "FILE:5: expected a frame, skipping\nFILE:6: expected a frame, skipping\n",
		      "a 5\n");
}

static void other_pages_are_refused(void **state _unused_)
{
	assert_refused(FORMAT, "<html>\n", "FILE:1: expected a flame graph of async-profiler");
}

static enum detection detect(const char *text)
{
	return FORMAT->detect((const uint8_t *)text, strlen(text));
}

static void the_format_is_known_by_its_script(void **state _unused_)
{
	assert_int_equal(detect(PAGE_2), DETECTED_SURE);
	assert_int_equal(detect(PAGE_3), DETECTED_SURE);
	assert_int_equal(detect(TREE TREE_SCRIPT), DETECTED_SURE);
	assert_int_equal(detect("<html>hello"), DETECTED_NOT);
	assert_int_equal(detect(""), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_version_2_are_read),
		cmocka_unit_test(frames_of_version_3_count_from_the_last_one),
		cmocka_unit_test(threads_become_threads),
		cmocka_unit_test(reversed_stacks_are_turned_round),
		cmocka_unit_test(an_inverted_page_is_guessed_at),
		cmocka_unit_test(what_was_pruned_stays_with_the_caller),
		cmocka_unit_test(units_name_the_metric),
		cmocka_unit_test(malformed_frames_are_skipped),
		cmocka_unit_test(deep_reversed_stacks_do_not_fill_the_memory),
		cmocka_unit_test(a_deep_stack_is_read),
		cmocka_unit_test(the_tree_of_version_2_is_read),
		cmocka_unit_test(the_tree_of_version_4_is_read),
		cmocka_unit_test(a_backtrace_view_is_turned_round),
		cmocka_unit_test(what_a_tree_leaves_out_stays_with_the_caller),
		cmocka_unit_test(malformed_lines_of_a_tree_are_skipped),
		cmocka_unit_test(other_pages_are_refused),
		cmocka_unit_test(the_format_is_known_by_its_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
