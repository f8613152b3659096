#include <stdio.h>

#include "import_fixture.h"

/* What a text is when it is read and written again. */
static void assert_becomes_bytes(const struct format *format, const void *data, size_t size,
				 const void *expected, size_t expected_size)
{
	struct imported imported = {0};
	struct format_opts opts = {0};
	struct text written = {0};
	struct sink sink = {.write = imported_append, .context = &written};

	assert_int_equal(imported_read(&imported, format, data, size), 0);
	assert_int_equal(format->write(imported.profile, &opts, &sink), 0);
	assert_int_equal(written.length, expected_size);
	assert_memory_equal(written.data, expected, expected_size);
	text_release(&written);
	imported_release(&imported);
}

static void assert_becomes(const struct format *format, const char *text, const char *expected)
{
	assert_becomes_bytes(format, text, strlen(text), expected, strlen(expected));
}

static void assert_stays(const char *text)
{
	assert_becomes(&format_folded, text, text);
}

static void a_line_is_a_stack_and_its_count(void **state _unused_)
{
	assert_stays("main 100\nmain;bar baz 1\nmain;foo 10\n");
}

static void a_last_line_needs_no_line_end(void **state _unused_)
{
	assert_becomes(&format_folded, "a 1\nb 2", "a 1\nb 2\n");
}

/* Sorted and not. */
static void a_last_line_without_an_end_is_reported(void **state _unused_)
{
	const char *warning = "FILE: line 2, the last one, does not end in a line feed: the file "
			      "may be truncated\n";

	assert_warned(&format_folded, "a 1\nb 2", warning, "a 1\nb 2\n");
	assert_warned(&format_folded, "b 2\na 1", warning, "a 1\nb 2\n");
}

/* The text is read with these warnings, and is kept byte by byte. */
static void assert_nul_reported(const char *text, size_t size, const char *warnings)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, text, size), 0);
	assert_string_equal(imported.warnings.data, warnings);
	imported_release(&imported);
	assert_becomes_bytes(&format_folded, text, size, text, size);
}

/* Parts of a file that were never written, as after a crash. They are bytes of a stack. */
static void nul_bytes_are_reported_by_their_first_line(void **state _unused_)
{
	static const char sorted[] = "a 1\nb\0\0\0c;d 2\nb\0;e 3\n";
	static const char *const warning =
		"FILE: line 2 contains NUL bytes: the file may be damaged\n";

	assert_nul_reported(sorted, sizeof(sorted) - 1, warning);
}

static void nul_bytes_in_text_out_of_order_are_reported(void **state _unused_)
{
	static const char text[] = "c 1\nb\0d 2\na\0;e 3\n";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, text, sizeof(text) - 1), 0);
	assert_string_equal(imported.warnings.data,
			    "FILE: line 2 contains NUL bytes: the file may be damaged\n");
	imported_release(&imported);
}

static void line_ends_may_be_of_two_bytes(void **state _unused_)
{
	assert_becomes(&format_folded, "a 1\r\n\r\nb 2\r\n", "a 1\nb 2\n");
}

static void blank_lines_are_skipped_without_a_word(void **state _unused_)
{
	struct imported imported = {0};
	const char *text = "\n \t\n\xc2\xa0\na 1\n\n";

	assert_int_equal(imported_read(&imported, &format_folded, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_int_equal(imported.import.counts.records, 1);
	assert_int_equal(imported.import.counts.skipped, 0);
	imported_release(&imported);
}

static void a_file_without_a_stack_is_an_empty_profile(void **state _unused_)
{
	assert_becomes(&format_folded, "", "");
	assert_becomes(&format_folded, "\n", "");
	assert_becomes(&format_folded, "\xef\xbb\xbf", "");
}

static void white_space_goes_at_the_edges_and_before_the_count(void **state _unused_)
{
	static const char *const spaces[] = {
		" ",
		"\t",
		"\v",
		"\f",
		"\r",
		"\xc2\x85",
		"\xc2\xa0",
		"\xe1\x9a\x80",
		"\xe2\x80\x80",
		"\xe2\x80\x8a",
		"\xe2\x80\xa8",
		"\xe2\x80\xa9",
		"\xe2\x80\xaf",
		"\xe2\x81\x9f",
		"\xe3\x80\x80",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(spaces); i++) {
		const char *space = spaces[i];
		char line[64];

		snprintf(line, sizeof(line), "%s %sa%sb;c%s%s7 %s", space, space, space, space,
			 space, space);
		snprintf(line + 40, sizeof(line) - 40, "a%sb;c 7\n", space);
		assert_becomes(&format_folded, line, line + 40);
	}
}

static void what_only_resembles_white_space_stays(void **state _unused_)
{
	/* U+200B, U+180E, U+FEFF, and bytes of white space alone. */
	assert_stays("\xa0"
		     "a\x85 1\n\xc2"
		     "a\xc2 2\n\xe1\xa0\x8e 3\n\xe2\x80\x8b 4\n\xef\xbb\xbf; 5\n");
}

static void inside_a_stack_nothing_is_touched(void **state _unused_)
{
	assert_stays("# a 1\na\x01;\x7f\x1b[m 4\na \t1 2;c 3\na ; b 2\n");
}

static void empty_frames_are_frames(void **state _unused_)
{
	assert_stays("; 4\n;;; 5\n;a 2\na; 3\na;; 6\na;;b 1\n");
}

static void a_byte_order_mark_is_dropped_once_at_the_start(void **state _unused_)
{
	assert_becomes(&format_folded, "\xef\xbb\xbfz 1\n\xef\xbb\xbfy 2\n",
		       "z 1\n\xef\xbb\xbfy 2\n");
}

static void a_frame_may_start_with_a_byte_order_mark(void **state _unused_)
{
	assert_becomes(&format_folded, "x\n\xef\xbb\xbfy 2\n", "\xef\xbb\xbf\xef\xbb\xbfy 2\n");
	assert_stays("\xef\xbb\xbf\xef\xbb\xbf;y 2\n");
}

static void bytes_need_not_be_text(void **state _unused_)
{
	static const char text[] = "a\0b;\0 1\na\xff;b 2\n\xc3;\xa9 3\n";

	assert_becomes_bytes(&format_folded, text, sizeof(text) - 1, text, sizeof(text) - 1);
}

static void counts_are_digits_and_perhaps_a_fraction(void **state _unused_)
{
	static const char *const lines[] = {
		"a;b +5",
		"a;b 2.",
		"a;b .5",
		"a;b +1.5",
		"a;b 1.2.3",
		"a;b 1.5e3",
		"a;b 1,5",
		"1.5",
		"a1.5",
		"a 1e3",
		"a 0x10",
		"a;b",
		"5",
		" 5",
		"a5",
		"a;b \xd9\xa5",
		"a \xef\xbc\x91",
		"\t\xc2\xa0 5",
		"a 5;",
		"\xef\xbb\xbf 5",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		assert_refused(&format_folded, lines[i],
			       "FILE:1: malformed, as every line: expected a stack and a count");
		assert_refused(&format_diff_folded, lines[i], "FILE:1: malformed, as every line");
	}
}

static void leading_zeros_do_not_count(void **state _unused_)
{
	assert_becomes(&format_folded, "a 0000000000000000000000000007\nb 00\n", "a 7\nb 0\n");
}

/* flamegraph.pl, difffolded.pl and inferno take them: all of the file is made whole numbers. */
static void fractions_scale_all_counts_of_the_file(void **state _unused_)
{
	assert_warned(&format_folded, "a 1\nb 2.5\nc;d 0.25\nc;d 3\ne 0\n",
		      "FILE: some counts have decimals: all are multiplied by 100\n",
		      "a 100\nb 250\nc;d 325\ne 0\n");
	assert_warned(&format_folded, "a 2.000001\nb 3\n",
		      "FILE: some counts have decimals: all are multiplied by 1000000\n",
		      "a 2000001\nb 3000000\n");
	assert_stacks(&format_folded, "a 1.0\nb 2.000000000\n", 0, "a 1\nb 2\n");
	/* The sum is that of the fractions. */
	assert_warned(&format_folded, "a 0.5\na 0.5\n",
		      "FILE: some counts have decimals: all are multiplied by 10\n", "a 10\n");
}

static void fractions_have_six_decimals_at_most(void **state _unused_)
{
	/* What floating point left behind. */
	assert_warned(&format_folded, "a 0.30000000000000004\nb 0.7999999999999999\n",
		      "FILE: some counts have decimals: all are multiplied by 10, and rounded\n",
		      "a 3\nb 8\n");
	assert_warned(
		&format_folded, "a 1.00000049\nb 0.0000005\nc 0.0000004\nd 1.9999999\n",
		"FILE: some counts have decimals: all are multiplied by 1000000, and rounded\n",
		"a 1000000\nb 1\nc 0\nd 2000000\n");
}

static void fractions_scale_both_sides_of_a_comparison(void **state _unused_)
{
	struct imported imported = {0};
	const char *text = "a 1 2\nb 0.5 7\nc 1 0.25\nd 1.5\n";

	assert_int_equal(imported_read(&imported, &format_diff_folded, text, strlen(text)), 0);
	assert_string_equal(imported.warnings.data,
			    "FILE:4: malformed, skipping\n"
			    "FILE: some counts have decimals: all are multiplied by 100\n");
	assert_written(&format_diff_folded, imported.profile, (struct call_tree_opts){0},
		       "a 100 200\nb 50 700\nc 100 25\n");
	imported_release(&imported);
}

static void scaled_counts_have_64_bits_and_no_more(void **state _unused_)
{
	assert_warned(&format_folded, "a 1844674407370955161.5\n",
		      "FILE: some counts have decimals: all are multiplied by 10\n",
		      "a 18446744073709551615\n");
	assert_refused(&format_folded, "a 1844674407370955161.6\n",
		       "FILE:1: a count exceeds 64 bits when it is multiplied by 10");
	assert_refused(&format_folded, "a 1.5\nb 1844674407370955162\n",
		       "FILE:2: a count exceeds 64 bits when it is multiplied by 10");
	assert_refused(&format_folded, "x 1\na 1844674407370955162\nb 1.5\n",
		       "FILE:3: the counts before it exceed 64 bits when multiplied by 10");
	assert_refused(&format_folded, "a 18446744073709551616.5\n",
		       "FILE:1: a count exceeds 64 bits");
	assert_refused(&format_folded, "a 18446744073709551615.9999999\n",
		       "FILE:1: a count exceeds 64 bits");
	assert_refused(&format_folded, "a 1844674407370955161.5\na 0.1\n",
		       "FILE:2: the sum of the counts of this stack exceeds 64 bits");
}

/* One unit for all that is read together, whatever the order. */
static void files_with_fractions_weigh_as_much_as_others(void **state _unused_)
{
	static const struct {
		const struct format *format;
		const char *text;
	} files[] = {
		{&format_folded, "a 1\nb 2\n"},
		{&format_folded, "a 0.5\nc 3\n"},
		{&format_folded, "a 0.25\n"},
		{&format_perf_script, "a 1 \n\t12 b (/x)\n\n"},
	};

	for (size_t first = 0; first < ARRAY_LENGTH(files); first++) {
		struct imported imported = {0};

		for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
			size_t file = (first + i) % ARRAY_LENGTH(files);
			const char *text = files[file].text;

			imported.import.decimals = 0;
			assert_int_equal(
				imported_read(&imported, files[file].format, text, strlen(text)),
				0);
			assert_int_equal(import_unify_decimals(&imported.import), 0);
		}
		assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
			       "a 175\na;b 100\nb 200\nc 300\n");
		imported_release(&imported);
	}
}

static void files_that_cannot_be_brought_to_one_unit_are_refused(void **state _unused_)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, "a 18446744073709551615\n", 23),
			 0);
	assert_int_equal(import_unify_decimals(&imported.import), 0);
	assert_int_equal(imported_read(&imported, &format_folded, "b 0.5\n", 6), 0);
	assert_int_equal(import_unify_decimals(&imported.import), -EBADMSG);
	assert_string_equal(imported.import.error.message,
			    "FILE: at byte 0: weights exceed 64 bits when those of all inputs are "
			    "multiplied by 10");
	imported_release(&imported);
}

/* austin says what it did in comments, of which some end in a number. */
static void what_austin_says_of_itself_is_no_stack(void **state _unused_)
{
	static const char *const heads[] = {
		"# austin: 3.7.0\n# interval: 100\n# mode: wall\n\n",
		"# python: 3.11.4\n# mode: wall\n# interval: 100\n",
		"\xef\xbb\xbf\n# austin: 3.7\r\n# memory: 16 GB\r\n",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(heads); i++) {
		_cleanup_(text_release) struct text text = {0};

		text_append_string(&text, heads[i]);
		text_append_string(&text,
				   "P42;T0:7f10;a.py:main:3 120\n# gc: 7\n"
				   "P42;T0:7f10;a.py:main:3;b.py:# f: 1:2 4\n"
				   "\n# duration: 383010\n# saturation: 0/17\n# errors: 0\n");
		assert_stacks(&format_folded, text.data, 0,
			      "P42;T0:7f10;a.py:main:3 120\n"
			      "P42;T0:7f10;a.py:main:3;b.py:# f: 1:2 4\n");
	}
	assert_stacks(&format_folded, "# austin: 3.7.0\n# mode: wall\na;b 1\n# duration: 5\n", 0,
		      "a;b 1\n");
	assert_stacks(&format_folded, "# austin: 3.7.0\n# mode: wall\n# duration: 5\n", 0, "");
}

static void elsewhere_such_comments_are_data(void **state _unused_)
{
	assert_stays("# duration: 5\nP42;T0:7f10;a.py:main:3 120\n");
	assert_stays("# austin: 3\n# mode: 4\n");
	assert_stays("# interval: 100\n# mode: 7\nmain;P42;T0 120\n");
	assert_stays("# austin: 3.7 5\n# mode: wall 6\nP42;T0:7f10;a.py:main:3 120\n");
	assert_becomes(&format_folded, "P42;T7;a 1\n# austin: 3 7\n# mode: 5\n",
		       "# austin: 3 7\n# mode: 5\nP42;T7;a 1\n");
	assert_becomes(&format_diff_folded, "# austin: 3.7\n# mode: 5 6\nP4;T0:7;a 1 2\n",
		       "# mode: 5 6\nP4;T0:7;a 1 2\n");
}

static void malformed_lines_are_skipped_and_reported(void **state _unused_)
{
	assert_warned(&format_folded, "a 1\nb\n\nc x\nd 2\n",
		      "FILE:2: malformed, skipping\nFILE:4: malformed, skipping\n", "a 1\nd 2\n");
}

static void a_strict_reader_ends_at_the_first_malformed_line(void **state _unused_)
{
	struct imported imported = {.import.is_strict = true};
	const char *text = "a 1\nb\nc\n";

	assert_int_equal(imported_read(&imported, &format_folded, text, strlen(text)), -EBADMSG);
	assert_string_equal(imported.import.error.message, "FILE:2: malformed");
	imported_release(&imported);
}

static void repeated_stacks_are_summed(void **state _unused_)
{
	assert_becomes(&format_folded, "a;b 1\na;c 2\na;b 3\na;b 4\na 0\n", "a 0\na;b 8\na;c 2\n");
}

static void zero_counts_are_kept(void **state _unused_)
{
	assert_stays("a 0\na;b 0\nc 1\n");
}

static void counts_have_64_bits_and_no_more(void **state _unused_)
{
	assert_stays("a 18446744073709551615\nb 18446744073709551615\n");
	assert_refused(&format_folded, "x 1\na 18446744073709551616\n",
		       "FILE:2: a count exceeds 64 bits");
	assert_refused(&format_folded, "a 18446744073709551615\nb 1\na 1\n",
		       "FILE:3: the sum of the counts of this stack exceeds 64 bits");
	assert_refused(&format_folded, "a 9223372036854775808\na 9223372036854775808\n",
		       "FILE:2: the sum of the counts of this stack exceeds 64 bits");
}

static void annotations_become_kinds_and_come_back(void **state _unused_)
{
	const char *text = "_[k];a_[j];b_[i];b_[w] 1\na_[k]_[k];x_[k] 2\n";
	struct imported imported = {0};

	assert_stays(text);
	assert_int_equal(imported_read(&imported, &format_folded, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.no_annotations = true},
		       ";a;b;b_[w] 1\na_[k];x 2\n");
	imported_release(&imported);
}

static void truncations_are_annotations(void **state _unused_)
{
	const char *text = "[truncated] 1\na;[truncated];b 2\na;[truncated];b;c 3\na;b 4\n";
	struct imported imported = {0};

	assert_stays(text);
	assert_int_equal(imported_read(&imported, &format_folded, text, strlen(text)), 0);
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.no_annotations = true},
		       "[unknown] 1\na;b 6\na;b;c 3\n");
	imported_release(&imported);
}

/* The line of a stack that goes on later, with longer names between. */
static void sorted_text_keeps_one_node_a_stack(void **state _unused_)
{
	const char *text = "a 1\na b 2\na b c 3\na b;x 4\na!;y 5\na;x 6\na;x;y 7\na;z 8\nb 9\n";
	struct imported imported = {0};

	assert_stays(text);
	assert_int_equal(imported_read(&imported, &format_folded, text, strlen(text)), 0);
	assert_int_equal(profile_count_stacks(imported.profile), 1 + 10);
	imported_release(&imported);
}

static void order_makes_no_difference(void **state _unused_)
{
	assert_becomes(&format_folded, "b 9\na;x 6\na 1\na b;x 4\na!;y 5\na;x;y 7\na b 2\n",
		       "a 1\na b 2\na b;x 4\na!;y 5\na;x 6\na;x;y 7\nb 9\n");
}

/* Two bytes are not enough for a rank. */
static void many_labels_are_put_in_order(void **state _unused_)
{
	struct text text = {0};
	struct text expected = {0};

	for (int i = 39999; i >= 0; i--)
		text_printf(&text, "f%05d;g 1\nf%05d 2\n", i, i);
	for (int i = 0; i < 40000; i++)
		text_printf(&expected, "f%05d 2\nf%05d;g 1\n", i, i);
	assert_becomes(&format_folded, text.data, expected.data);
	text_release(&text);
	text_release(&expected);
}

static void a_second_file_is_added_to_the_first(void **state _unused_)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, "a 1\na;b 2\n", 10), 0);
	assert_int_equal(imported_read(&imported, &format_folded, "a 4\na;c 8\n", 10), 0);
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
		       "a 5\na;b 2\na;c 8\n");
	assert_int_equal(profile_count_stacks(imported.profile), 1 + 3);
	assert_int_equal(profile_count_threads(imported.profile), 2);
	imported_release(&imported);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines of few names, of which some start like others; each with the same count. */
static void make_text(uint32_t *random, bool is_sorted, struct text *ret)
{
	static const char *const names[] = {"a", "a b", "a b!", "b", "", "b_[k]", "a!"};
	char lines[40][80];
	char *order[40];

	for (size_t i = 0; i < ARRAY_LENGTH(order); i++) {
		size_t length = 0;

		do {
			*random = *random * 1664525 + 1013904223;
			length += (size_t)snprintf(lines[i] + length, sizeof(lines[i]) - length,
						   "%s%s", length ? ";" : "x",
						   names[(*random >> 16) % ARRAY_LENGTH(names)]);
		} while (*random >> 30 && length < 40);
		order[i] = lines[i];
	}
	if (is_sorted)
		qsort(order, ARRAY_LENGTH(order), sizeof(*order), compare_lines);
	text_append_string(ret, "");
	for (size_t i = 0; i < ARRAY_LENGTH(order); i++)
		text_printf(ret, "%s 1\n", order[i]);
}

/* Whatever is searched for and what is not: the stacks are those of one text, each there once. */
static void files_read_one_after_the_other_are_as_one(void **state _unused_)
{
	uint32_t random = 1;

	for (int round = 0; round < 300; round++) {
		struct imported several = {0};
		struct imported one = {0};
		struct text whole = {0};
		struct text expected = {0};
		struct format_opts opts = {0};
		struct sink sink = {.write = imported_append, .context = &expected};

		for (int file = 0; file < 3; file++) {
			struct text text = {0};

			make_text(&random, (round >> file) & 1, &text);
			assert_int_equal(
				imported_read(&several, &format_folded, text.data, text.length), 0);
			text_append(&whole, text.data, text.length);
			text_release(&text);
		}
		text_append_string(&whole, "a 1\n"); /* not sorted */
		assert_int_equal(imported_read(&several, &format_folded, "a 1\n", 4), 0);
		assert_int_equal(imported_read(&one, &format_folded, whole.data, whole.length), 0);
		assert_int_equal(profile_count_stacks(several.profile),
				 profile_count_stacks(one.profile));
		assert_int_equal(format_folded.write(one.profile, &opts, &sink), 0);
		assert_written(&format_folded, several.profile, opts.tree, expected.data);
		text_release(&whole);
		text_release(&expected);
		imported_release(&one);
		imported_release(&several);
	}
}

static void a_deep_stack_and_a_long_name_survive(void **state _unused_)
{
	struct text text = {0};

	for (int i = 0; i < 100000; i++)
		text_printf(&text, "f%d;", i % 10);
	for (int i = 0; i < 1 << 20; i++)
		text_append_char(&text, (char)('a' + i % 26));
	text_append_string(&text, " 1\n");
	assert_false(text.failed);
	assert_becomes_bytes(&format_folded, text.data, text.length, text.data, text.length);
	text_release(&text);
}

static void reported(void *context, size_t consumed)
{
	*(size_t *)context = consumed;
}

static void what_was_read_is_given_back(void **state _unused_)
{
	struct text text = {0};
	size_t consumed = 0;
	struct imported imported = {.import.advance = reported, .import.context = &consumed};

	for (int i = 0; i < 1 << 18; i++)
		text_printf(&text, "main;f%06d 1\n", i);
	/* The fixture's own context is for warnings, of which there are none. */
	imported.profile = profile_new();
	imported.import.profile = imported.profile;
	imported.import.name = "FILE";
	imported.import.data = (const uint8_t *)text.data;
	imported.import.size = text.length;
	assert_int_equal(format_folded.read(&imported.import), 0);
	assert_true(consumed > text.length - (2u << 20) && consumed < text.length);
	text_release(&text);
	imported_release(&imported);
}

static void a_comparison_has_two_counts(void **state _unused_)
{
	assert_becomes(&format_diff_folded, "a;b 1 2\nc 0 4\n a;b  3\t4\nd 5 0\ne 0 0\n",
		       "a;b 4 6\nc 0 4\nd 5 0\ne 0 0\n");
	assert_warned(&format_diff_folded, "a;b 1\nthread 12 5\n5 6\nc 3 4 5\n",
		      "FILE:1: malformed, skipping\nFILE:3: malformed, skipping\n",
		      "c 3 4\nthread 12\n");
}

static void in_a_comparison_both_counts_have_64_bits(void **state _unused_)
{
	assert_becomes(&format_diff_folded, "a 18446744073709551615 18446744073709551615\n",
		       "a 18446744073709551615 18446744073709551615\n");
	assert_refused(&format_diff_folded, "a 18446744073709551616 0\n",
		       "FILE:1: a count exceeds 64 bits");
	assert_refused(&format_diff_folded, "a 18446744073709551615 0\na 1 0\n",
		       "FILE:2: the sum of the counts of this stack exceeds 64 bits");
}

static void one_side_of_a_comparison_is_folded_text(void **state _unused_)
{
	const char *text = "a 1 2\nb 3 0\nc 0 0\n";
	struct imported imported = {0};
	uint32_t before;
	uint32_t after;

	assert_int_equal(imported_read(&imported, &format_diff_folded, text, strlen(text)), 0);
	before = profile_find_metric(imported.profile, METRIC_BEFORE);
	after = profile_find_metric(imported.profile, METRIC_AFTER);
	assert_written(
		&format_folded, imported.profile,
		(struct call_tree_opts){.metric = after, .has_baseline = true, .baseline = before},
		"a 2\nc 0\n");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){.metric = before},
		       "a 1\nb 3\n");
	imported_release(&imported);
}

static void what_is_no_comparison_is_compared_with_nothing(void **state _unused_)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_folded, "a 1\n", 4), 0);
	assert_written(&format_diff_folded, imported.profile, (struct call_tree_opts){0},
		       "a 0 1\n");
	imported_release(&imported);
}

static const struct format *detect(const char *path, const char *text)
{
	return format_detect(path, (const uint8_t *)text, strlen(text));
}

static void the_extension_distinguishes_the_two_kinds(void **state _unused_)
{
	assert_ptr_equal(detect("x.folded", "thread 12 5\n"), &format_folded);
	assert_ptr_equal(detect("x.diff.folded", "thread 12 5\n"), &format_diff_folded);
	assert_ptr_equal(detect("x.folded.gz", "thread 12 5\n"), &format_folded);
	assert_ptr_equal(detect("standard input", "thread 12 5\nmain;f 5\n"), &format_folded);
	assert_ptr_equal(detect("x.folded", "no count"), &format_folded);
	assert_ptr_equal(detect("x.folded", ""), &format_folded);
	assert_null(detect("standard input", "no count"));
	/* As difffolded.pl prints it; but for a name that says otherwise, or one line with one count. */
	assert_ptr_equal(detect("standard input", "main;a 5 6\nmain;b 7 8\n"), &format_diff_folded);
	assert_ptr_equal(detect("x.txt", "\nmain;a 5.5 6\nb 7 8"), &format_diff_folded);
	assert_ptr_equal(detect("x.folded", "main;a 5 6\nmain;b 7 8\n"), &format_folded);
	assert_ptr_equal(detect("x.txt", "main;a 5 6\nmain;b 7\n"), &format_folded);
	assert_ptr_equal(
		detect("x.txt", "main;a 5 6\nreading 12 files\nread 12\nmain;b 7 8\nb 1 2\n"),
		&format_diff_folded);
	assert_ptr_equal(detect("x.txt", "main;a 5 6\nsaid\nmain;b 7\n"), &format_folded);
	assert_null(detect("x.txt", "said\nmore\nmain;b 7 8\n"));
	assert_null(detect("x.txt", "a 5 6\nb 7 8\n"));
	/* Text that ends in numbers here and there. */
	assert_null(detect("standard input", "thread 12 5\nmain 5\n"));
	assert_null(detect("x.txt", "Chapter 1\nText about 2020\nand more 30\n"));
	assert_null(detect("x.txt", "a;b 1\nc;\nd\n"));
	assert_ptr_equal(detect("x.txt", "said before\na;b 1\n"), &format_folded);
	assert_ptr_equal(detect("x.txt", "1\na;b 1\nb 2\n"), &format_folded);
	assert_ptr_equal(detect("standard input", "# austin: 3.7.0\n# mode: wall\n\nP1;T1;f 2\n"),
			 &format_folded);
	assert_ptr_equal(detect("x", "# mode: wall\n# interval: 9\nP1;T1;f 2\n"), &format_folded);
	assert_null(detect("standard input", "a;b 1\nno count\n"));
}

/* What a program said before its stacks, which is skipped with a warning. */
static void other_lines_before_the_stacks_do_not_hide_them(void **state _unused_)
{
	assert_ptr_equal(detect("standard input", "WARNING: lost 3\nsee below\na;b 1\nc 2\nd 3\n"),
			 &format_folded);
	assert_ptr_equal(detect("standard input", "Warning: no symbols\nmain;f 2\n"),
			 &format_folded);
	assert_ptr_equal(detect("x.txt", "a;b 1\nno count\nc 2\n"), &format_folded);
	assert_ptr_equal(detect("x", "a;b 1.5\n"), &format_folded);
	assert_null(detect("x", "one\ntwo\nthree\na;b 1\n"));
	assert_null(detect("x", "one\ntwo\n\n\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_stack_and_its_count),
		cmocka_unit_test(a_last_line_needs_no_line_end),
		cmocka_unit_test(a_last_line_without_an_end_is_reported),
		cmocka_unit_test(nul_bytes_are_reported_by_their_first_line),
		cmocka_unit_test(nul_bytes_in_text_out_of_order_are_reported),
		cmocka_unit_test(line_ends_may_be_of_two_bytes),
		cmocka_unit_test(blank_lines_are_skipped_without_a_word),
		cmocka_unit_test(a_file_without_a_stack_is_an_empty_profile),
		cmocka_unit_test(white_space_goes_at_the_edges_and_before_the_count),
		cmocka_unit_test(what_only_resembles_white_space_stays),
		cmocka_unit_test(inside_a_stack_nothing_is_touched),
		cmocka_unit_test(empty_frames_are_frames),
		cmocka_unit_test(a_byte_order_mark_is_dropped_once_at_the_start),
		cmocka_unit_test(a_frame_may_start_with_a_byte_order_mark),
		cmocka_unit_test(bytes_need_not_be_text),
		cmocka_unit_test(counts_are_digits_and_perhaps_a_fraction),
		cmocka_unit_test(leading_zeros_do_not_count),
		cmocka_unit_test(fractions_scale_all_counts_of_the_file),
		cmocka_unit_test(fractions_have_six_decimals_at_most),
		cmocka_unit_test(fractions_scale_both_sides_of_a_comparison),
		cmocka_unit_test(scaled_counts_have_64_bits_and_no_more),
		cmocka_unit_test(files_with_fractions_weigh_as_much_as_others),
		cmocka_unit_test(files_that_cannot_be_brought_to_one_unit_are_refused),
		cmocka_unit_test(what_austin_says_of_itself_is_no_stack),
		cmocka_unit_test(elsewhere_such_comments_are_data),
		cmocka_unit_test(malformed_lines_are_skipped_and_reported),
		cmocka_unit_test(a_strict_reader_ends_at_the_first_malformed_line),
		cmocka_unit_test(repeated_stacks_are_summed),
		cmocka_unit_test(zero_counts_are_kept),
		cmocka_unit_test(counts_have_64_bits_and_no_more),
		cmocka_unit_test(annotations_become_kinds_and_come_back),
		cmocka_unit_test(truncations_are_annotations),
		cmocka_unit_test(sorted_text_keeps_one_node_a_stack),
		cmocka_unit_test(order_makes_no_difference),
		cmocka_unit_test(many_labels_are_put_in_order),
		cmocka_unit_test(a_second_file_is_added_to_the_first),
		cmocka_unit_test(files_read_one_after_the_other_are_as_one),
		cmocka_unit_test(a_deep_stack_and_a_long_name_survive),
		cmocka_unit_test(what_was_read_is_given_back),
		cmocka_unit_test(a_comparison_has_two_counts),
		cmocka_unit_test(in_a_comparison_both_counts_have_64_bits),
		cmocka_unit_test(one_side_of_a_comparison_is_folded_text),
		cmocka_unit_test(what_is_no_comparison_is_compared_with_nothing),
		cmocka_unit_test(the_extension_distinguishes_the_two_kinds),
		cmocka_unit_test(other_lines_before_the_stacks_do_not_hide_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
