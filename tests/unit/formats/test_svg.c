#include <stdio.h>

#include "svg_builder.h"

/* A profile of some folded lines, "a;b 3\n…", without threads. */
static struct profile *make_profile(const char *lines)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");
	_cleanup_free_ char *copy = strdup(lines);
	char *rest = copy;
	char *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		char *blank = strrchr(line, ' ');

		*blank = '\0';
		builder_add_sample(profile, thread, line, strtoull(blank + 1, NULL, 10));
	}
	return profile;
}

static struct text write_lines(const char *lines, const struct svg_opts *svg)
{
	struct profile *profile = make_profile(lines);
	struct format_opts opts = {.svg = svg};
	struct text written = svg_builder_write(&format_svg, profile, &opts);

	profile_free(profile);
	return written;
}

static void assert_has(const struct text *text, const char *part)
{
	if (!strstr(text->data, part))
		fail_msg("the SVG lacks: %s", part);
}

static void assert_has_not(const struct text *text, const char *part)
{
	if (strstr(text->data, part))
		fail_msg("the SVG has: %s", part);
}

/* The part between the frames' group and the script: what is drawn. */
static void keep_drawing(struct text *text)
{
	char *end = strstr(text->data, "<script");

	assert_non_null(end);
	text_truncate(text, (size_t)(end - text->data));
}

static void add_compared(struct profile *profile, uint32_t thread, const char *folded,
			 uint64_t before, uint64_t after)
{
	_cleanup_free_ char *copy = strdup(folded);
	char *rest = copy;
	uint32_t stack = STACK_EMPTY;
	uint32_t metrics[2];

	while (rest) {
		struct frame frame = {0};
		uint32_t location;

		assert_int_equal(profile_add_string(profile, strsep(&rest, ";"), &frame.name), 0);
		frame.full_name = frame.name;
		assert_int_equal(profile_add_frame_location(profile, &frame, &location), 0);
		assert_int_equal(profile_add_stack(profile, stack, location, &stack), 0);
	}
	assert_int_equal(profile_add_metric(profile, METRIC_BEFORE, "count", &metrics[0]), 0);
	assert_int_equal(profile_add_metric(profile, METRIC_AFTER, "count", &metrics[1]), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metrics[0], before), 0);
	assert_int_equal(profile_add_sample(profile, thread, stack, metrics[1], after), 0);
}

static struct profile *make_comparison(void)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 0, 0, "");

	add_compared(profile, thread, "main;foo", 1, 2);
	add_compared(profile, thread, "main;foo;bar", 0, 4);
	add_compared(profile, thread, "main;gone", 3, 0);
	return profile;
}

static struct text write_comparison(const struct svg_opts *svg)
{
	struct profile *profile = make_comparison();
	struct format_opts opts = {
		.tree = {.has_baseline = true, .metric = 1, .baseline = 0},
		.svg = svg,
	};
	struct text written = svg_builder_write(&format_svg, profile, &opts);

	profile_free(profile);
	return written;
}

/* ---- layout ------------------------------------------------------------------------------- */

static void a_frame_is_as_wide_as_its_weight(void **state _unused_)
{
	struct text svg = write_lines("a 1\na;x 2\nb 1\n", NULL);

	/* 1180 pixels for 4 samples; three levels of 16, 36 above and 34 below. */
	assert_has(&svg, "width=\"1200\" height=\"118\"");
	assert_has(&svg, "<g >\n<title>all (4 samples, 100%)</title>"
			 "<rect x=\"10.0\" y=\"69\" width=\"1180.0\" height=\"15.0\" ");
	assert_has(&svg, "<title>a (3 samples, 75.00%)</title>"
			 "<rect x=\"10.0\" y=\"53\" width=\"885.0\" height=\"15.0\" ");
	/* What ran in a itself stands to the left of what a called. */
	assert_has(&svg, "<title>x (2 samples, 50.00%)</title>"
			 "<rect x=\"305.0\" y=\"37\" width=\"590.0\" height=\"15.0\" ");
	assert_has(&svg, "<title>b (1 samples, 25.00%)</title>"
			 "<rect x=\"895.0\" y=\"53\" width=\"295.0\" height=\"15.0\" ");
	text_release(&svg);
}

static void a_subtitle_takes_room_of_its_own(void **state _unused_)
{
	struct svg_opts opts = {.subtitle = "monday"};
	struct text svg = write_lines("a 1\n", &opts);

	assert_has(&svg, "height=\"126\"");
	assert_has(&svg, "<text id=\"subtitle\" x=\"600\" y=\"48\">monday</text>");
	text_release(&svg);
}

static void an_inverted_graph_has_its_root_at_the_top(void **state _unused_)
{
	struct svg_opts opts = {.is_inverted = true};
	struct text svg = write_lines("a;x 2\n", &opts);

	assert_has(&svg, "<title>all (2 samples, 100%)</title><rect x=\"10.0\" y=\"36\" ");
	assert_has(&svg, "<title>x (2 samples, 100.00%)</title><rect x=\"10.0\" y=\"68\" ");
	assert_has(&svg, ">Icicle Graph</text>");
	text_release(&svg);
}

static void a_reversed_graph_merges_from_the_innermost_frame(void **state _unused_)
{
	struct svg_opts opts = {.is_reversed = true};
	struct text svg = write_lines("a;x 2\nb;x 1\n", &opts);

	assert_has(&svg, "<title>x (3 samples, 100.00%)</title>");
	assert_has(&svg, "<title>a (2 samples, 66.67%)</title>");
	text_release(&svg);
}

static void narrow_frames_and_what_they_call_are_left_out(void **state _unused_)
{
	struct svg_opts opts = {
		.has_min_width = true, .min_width = 1, .is_min_width_percent = true};
	struct text svg = write_lines("deep;deeper;deepest 1\nwide 999\n", &opts);

	keep_drawing(&svg);
	assert_has_not(&svg, "deep");
	assert_has(&svg, "wide (999 samples");
	assert_has(&svg, "height=\"102\""); /* only the levels that are drawn */
	text_release(&svg);
}

static void by_default_a_tenth_of_a_pixel_is_drawn_and_less_is_not(void **state _unused_)
{
	struct text svg = write_lines("drawn 10\nleft 9\nwide 117981\n", NULL);

	keep_drawing(&svg);
	assert_has(&svg, "drawn (10 samples, 0.01%)");
	assert_has_not(&svg, "left (9 samples");
	text_release(&svg);
}

static void a_width_is_kept(void **state _unused_)
{
	struct svg_opts opts = {.width = 620};
	struct text svg = write_lines("a 2\n", &opts);

	assert_has(&svg, "viewBox=\"0 0 620 102\"");
	assert_has(&svg, "<rect x=\"10.0\" y=\"37\" width=\"600.0\" ");
	text_release(&svg);
}

/* ---- text --------------------------------------------------------------------------------- */

static void counts_have_commas(void **state _unused_)
{
	struct text svg = write_lines("a 1234567\nb 999\nc 1000\n", NULL);

	assert_has(&svg, "<title>a (1,234,567 samples, 99.84%)</title>");
	assert_has(&svg, "<title>b (999 samples, 0.08%)</title>");
	assert_has(&svg, "<title>c (1,000 samples, 0.08%)</title>");
	text_release(&svg);
}

static void what_is_counted_can_be_named(void **state _unused_)
{
	struct svg_opts opts = {.count_name = "KiB & more"};
	struct text svg = write_lines("a 1\n", &opts);

	assert_has(&svg, "<title>a (1 KiB &amp; more, 100.00%)</title>");
	text_release(&svg);
}

static void a_name_is_truncated_to_its_frame(void **state _unused_)
{
	/* 100 of 1180 samples are 100 pixels, room for 14 characters; 21 pixels for none. */
	struct text svg = write_lines("abcdefghijklmnop 100\nb\xc3\xa9"
				      "bcdefghijklmnop 100\nshort 21\nz 959\n",
				      NULL);

	assert_has(&svg, ">abcdefghijkl..</text>");
	assert_has(&svg, ">b\xc3\xa9"
			 "bcdefghijk..</text>");
	assert_has_not(&svg, ">short</text>");
	assert_has_not(&svg, "..</text>\n</g>\n<g >\n<title>z");
	text_release(&svg);
}

static void any_name_makes_valid_xml(void **state _unused_)
{
	struct text svg =
		write_lines("<a&b>\"c']]>\x01\x7f\xff\xed\xa0\x80\xef\xbf\xbf\tz 1\n", NULL);

	assert_has(&svg, "<title>&lt;a&amp;b&gt;&quot;c']]&gt;"
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" /* 01, 7f, ff */
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" /* a surrogate */
			 "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" /* U+FFFF */
			 " z (1 samples, 100.00%)</title>");
	text_release(&svg);
}

static void titles_and_notes_are_escaped(void **state _unused_)
{
	struct svg_opts opts = {.title = "A & B", .notes = "<script>--></script>"};
	struct text svg = write_lines("a 1\n", &opts);

	assert_has(&svg, ">A &amp; B</text>");
	assert_has(&svg, "<desc id=\"notes\">&lt;script&gt;--&gt;&lt;/script&gt;</desc>");
	text_release(&svg);
}

static void annotations_are_not_in_the_text(void **state _unused_)
{
	struct text svg = write_lines("main;read_[k] 1\n", NULL);

	keep_drawing(&svg);
	assert_has(&svg, "<title>read (1 samples, 100.00%)</title>");
	assert_has_not(&svg, "_[k]");
	text_release(&svg);
}

static void an_empty_profile_is_a_picture_that_says_so(void **state _unused_)
{
	struct text svg = write_lines("", NULL);

	assert_has(&svg, "No samples.");
	assert_has(&svg, "</svg>");
	text_release(&svg);
}

/* ---- comparisons -------------------------------------------------------------------------- */

static void a_comparison_shows_the_change_of_what_ends_there(void **state _unused_)
{
	struct text svg = write_comparison(NULL);

	keep_drawing(&svg);
	assert_has(&svg, "<title>all (6 samples, 100%)</title>");
	assert_has(&svg, "<title>main (6 samples, 100.00%; 0.00%)</title><rect x=\"10.0\" y=\"69\" "
			 "width=\"1180.0\" height=\"15.0\" fill=\"rgb(255,255,255)\"");
	assert_has(&svg, "<title>foo (6 samples, 100.00%; +16.67%)</title>");
	assert_has(&svg, "fill=\"rgb(255,157,157)\"");
	assert_has(&svg, "<title>bar (4 samples, 66.67%; +66.67%)</title>");
	assert_has(&svg, "fill=\"rgb(255,0,0)\"");
	assert_has_not(&svg, "gone");
	text_release(&svg);
}

static void text_on_strong_blue_is_light(void **state _unused_)
{
	struct svg_opts opts = {.is_negated = true};
	struct text svg = write_comparison(&opts);

	assert_has(&svg, "y=\"47.5\" class=\"light\">bar</text>");
	assert_has(&svg, "y=\"63.5\">foo</text>");
	text_release(&svg);
}

static void negate_turns_sign_and_colour(void **state _unused_)
{
	struct svg_opts opts = {.is_negated = true};
	struct text svg = write_comparison(&opts);

	assert_has(&svg, "<title>foo (6 samples, 100.00%; -16.67%)</title>");
	assert_has(&svg, "fill=\"rgb(157,157,255)\"");
	assert_has(&svg, "<title>bar (4 samples, 66.67%; -66.67%)</title>");
	assert_has(&svg, "fill=\"rgb(0,0,255)\"");
	text_release(&svg);
}

static void without_least_width_what_has_vanished_is_drawn(void **state _unused_)
{
	struct svg_opts opts = {.has_min_width = true};
	struct text svg = write_comparison(&opts);

	assert_has(&svg,
		   "<title>gone (0 samples, 0.00%; -50.00%)</title><rect x=\"1190.0\" y=\"53\" "
		   "width=\"0.0\" ");
	assert_has(&svg, "fill=\"rgb(52,52,255)\"");
	text_release(&svg);
}

static void at_largest_width_what_has_vanished_has_room(void **state _unused_)
{
	struct svg_opts opts = {.width_basis = SVG_WIDTH_MAX};
	struct text svg = write_comparison(&opts);

	/* foo 6, gone 3: main is 9 wide, more than its 6 afterwards. */
	assert_has(&svg, "<title>main (6 samples, 100.00%; 0.00%)</title><rect x=\"10.0\" y=\"69\" "
			 "width=\"1180.0\" ");
	assert_has(&svg,
		   "<title>foo (6 samples, 100.00%; +16.67%)</title><rect x=\"10.0\" y=\"53\" "
		   "width=\"786.7\" ");
	assert_has(&svg,
		   "<title>gone (0 samples, 0.00%; -50.00%)</title><rect x=\"796.7\" y=\"53\" "
		   "width=\"393.3\" ");
	text_release(&svg);
}

/* ---- colours ------------------------------------------------------------------------------ */

/* The fill of a frame, from its title on; the caller frees it. */
static char *find_fill(const struct text *svg, const char *title)
{
	const char *found = strstr(svg->data, title);
	const char *fill = found ? strstr(found, "fill=\"") : NULL;

	assert_non_null(fill);
	return strndup(fill, strcspn(fill + 6, "\"") + 6);
}

static void a_name_has_the_same_colour_everywhere(void **state _unused_)
{
	struct text one = write_lines("a;name 1\n", NULL);
	struct text other = write_lines("b;c;name 7\nz 3\n", NULL);
	_cleanup_free_ char *fill = find_fill(&one, "<title>name");
	_cleanup_free_ char *other_fill = find_fill(&other, "<title>name");
	_cleanup_free_ char *another_fill = find_fill(&other, "<title>z");

	assert_string_equal(fill, other_fill);
	assert_string_not_equal(fill, another_fill);
	text_release(&one);
	text_release(&other);
}

static void annotated_frames_get_the_colours_of_their_kinds(void **state _unused_)
{
	struct text svg = write_lines("main;jit_[j];in_[i];sys_[k] 1\n", NULL);
	static const char *const titles[] = {"<title>main", "<title>jit", "<title>in",
					     "<title>sys"};
	unsigned int rgb[4][3];

	for (size_t i = 0; i < ARRAY_LENGTH(titles); i++) {
		_cleanup_free_ char *fill = find_fill(&svg, titles[i]);

		assert_int_equal(
			sscanf(fill, "fill=\"rgb(%u,%u,%u)", &rgb[i][0], &rgb[i][1], &rgb[i][2]),
			3);
	}
	assert_true(rgb[0][0] > rgb[0][1] && rgb[0][1] == rgb[0][2]);          /* red */
	assert_true(rgb[1][1] > rgb[1][0] && rgb[1][0] == rgb[1][2]);          /* green */
	assert_true(rgb[2][1] == rgb[2][2] && rgb[2][1] > rgb[2][0]);          /* aqua */
	assert_true(rgb[3][0] > rgb[3][1] && rgb[3][1] > 0 && rgb[3][2] == 0); /* orange */
	text_release(&svg);
}

/* Its names have no annotation: the kind itself has it, and that of a reversed graph as well. */
static void python_has_a_colour_of_its_own(void **state _unused_)
{
	for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
		const struct svg_opts opts = {.is_reversed = is_reversed};
		struct text svg = write_lines("main;parse_[py];read 1\n", &opts);
		_cleanup_free_ char *native = find_fill(&svg, "<title>read");
		_cleanup_free_ char *python = find_fill(&svg, "<title>parse (");
		unsigned int red, green, blue;

		assert_int_equal(sscanf(native, "fill=\"rgb(%u,%u,%u)", &red, &green, &blue), 3);
		assert_true(red > green && green == blue);
		assert_int_equal(sscanf(python, "fill=\"rgb(%u,%u,%u)", &red, &green, &blue), 3);
		assert_true(blue > green && green > red);
		text_release(&svg);
	}
}

/* As flamegraph.pl has it: methods green, inlined ones aqua, whatever their names are. */
static void methods_of_java_are_green_and_inlined_ones_aqua(void **state _unused_)
{
	struct profile *profile = make_profile("main;work_[java] 1\n");
	struct frame inlined = {.kind = FRAME_JAVA, .is_inlined = true};
	const struct sample *sample = profile_get_sample(profile, 0);
	struct format_opts opts = {0};
	unsigned int red, green, blue;
	uint32_t location;
	uint32_t stack;
	struct text svg;
	_cleanup_free_ char *method = NULL;
	_cleanup_free_ char *inlined_method = NULL;

	assert_int_equal(profile_add_string(profile, "small", &inlined.name), 0);
	inlined.full_name = inlined.name;
	assert_int_equal(profile_add_frame_location(profile, &inlined, &location), 0);
	assert_int_equal(profile_add_stack(profile, sample->stack, location, &stack), 0);
	assert_int_equal(profile_add_sample(profile, sample->thread, stack, sample->metric, 1), 0);
	svg = svg_builder_write(&format_svg, profile, &opts);
	method = find_fill(&svg, "<title>work (");
	inlined_method = find_fill(&svg, "<title>small");
	assert_int_equal(sscanf(method, "fill=\"rgb(%u,%u,%u)", &red, &green, &blue), 3);
	assert_true(green > red && red == blue);
	assert_int_equal(sscanf(inlined_method, "fill=\"rgb(%u,%u,%u)", &red, &green, &blue), 3);
	assert_true(green == blue && green > red);
	text_release(&svg);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_as_wide_as_its_weight),
		cmocka_unit_test(a_subtitle_takes_room_of_its_own),
		cmocka_unit_test(an_inverted_graph_has_its_root_at_the_top),
		cmocka_unit_test(a_reversed_graph_merges_from_the_innermost_frame),
		cmocka_unit_test(narrow_frames_and_what_they_call_are_left_out),
		cmocka_unit_test(by_default_a_tenth_of_a_pixel_is_drawn_and_less_is_not),
		cmocka_unit_test(a_width_is_kept),
		cmocka_unit_test(counts_have_commas),
		cmocka_unit_test(what_is_counted_can_be_named),
		cmocka_unit_test(a_name_is_truncated_to_its_frame),
		cmocka_unit_test(any_name_makes_valid_xml),
		cmocka_unit_test(titles_and_notes_are_escaped),
		cmocka_unit_test(annotations_are_not_in_the_text),
		cmocka_unit_test(an_empty_profile_is_a_picture_that_says_so),
		cmocka_unit_test(a_comparison_shows_the_change_of_what_ends_there),
		cmocka_unit_test(text_on_strong_blue_is_light),
		cmocka_unit_test(negate_turns_sign_and_colour),
		cmocka_unit_test(without_least_width_what_has_vanished_is_drawn),
		cmocka_unit_test(at_largest_width_what_has_vanished_has_room),
		cmocka_unit_test(a_name_has_the_same_colour_everywhere),
		cmocka_unit_test(annotated_frames_get_the_colours_of_their_kinds),
		cmocka_unit_test(methods_of_java_are_green_and_inlined_ones_aqua),
		cmocka_unit_test(python_has_a_colour_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
