#include "svg_builder.h"

#define HEAD "<?xml version=\"1.0\"?>\n<svg version=\"1.1\" width=\"1200\">\n"
#define BOX(title, x, y, width)                                                                 \
	"<g >\n<title>" title "</title><rect x=\"" x "\" y=\"" y "\" width=\"" width            \
	"\" height=\"15.0\" fill=\"rgb(1,2,3)\" rx=\"2\" ry=\"2\" />\n<text  x=\"1\" y=\"2\" >" \
	"</text>\n</g>\n"

/* ---- the known programs ------------------------------------------------------------------- */

static void todays_flamegraph_pl_is_read(void **state _unused_)
{
	assert_svg_is(HEAD
		      "<rect x=\"0.0\" y=\"0\" width=\"1200.0\" height=\"118.0\" />\n"
		      "<g id=\"frames\">\n" BOX("x (2 samples, 50.00%)", "305.0", "37", "590.0")
			      BOX("all (4 samples, 100%)", "10.0", "69", "1180.0")
				      BOX("b (1 samples, 25.00%)", "895.0", "53", "295.0")
					      BOX("a (3 samples, 75.00%)", "10.0", "53",
						  "885.0") "</g></svg>",
		      "a 1\na;x 2\nb 1\n");
}

static void groups_with_handlers_are_read(void **state _unused_)
{
	assert_svg_is(
		HEAD
		"<g class=\"func_g\" onmouseover=\"s(this)\" onmouseout=\"c()\" onclick=\"zoom(this)\">\n"
		"<title>all (2 samples, 100%)</title><rect x=\"10.0\" y=\"69\" width=\"1180.0\" height=\"15.0\" />\n"
		"</g>\n<g class=\"func_g\" onmouseover=\"s(this)\">\n"
		"<title>a (2 samples, 100.00%)</title><rect x=\"10.0\" y=\"53\" width=\"1180.0\" height=\"15.0\" />\n"
		"</g>\n</svg>",
		"a 2\n");
}

static void titles_in_the_groups_handler_are_read(void **state _unused_)
{
	assert_svg_is(
		HEAD
		"<g class=\"func_g\" onmouseover=\"s('all (2 ms, 100%)')\" onmouseout=\"c()\">\n"
		"<rect x=\"10.0\" y=\"69\" width=\"1180.0\" height=\"15.0\" />\n</g>\n"
		"<g class=\"func_g\" onmouseover=\"s('it\\'s &lt;a&gt; (2 ms, 100.00%)')\">\n"
		"<rect x=\"10.0\" y=\"53\" width=\"1180.0\" height=\"15.0\" />\n</g>\n</svg>",
		"it's <a> 2\n");
}

static void bare_boxes_without_root_are_read(void **state _unused_)
{
	assert_svg_is(
		HEAD
		"<rect x=\"0.0\" y=\"0\" width=\"1200.0\" height=\"118.0\" />\n"
		"<rect x=\"10.0\" y=\"69\" width=\"590.0\" height=\"15.0\" onmouseover=\"s('a (1 samples, 50.00%)')\" />\n"
		"<text x=\"13\" y=\"80\" onmouseover=\"s('a (1 samples, 50.00%)')\">a</text>\n"
		"<rect x=\"600.0\" y=\"69\" width=\"590.0\" height=\"15.0\" onmouseover=\"s('b (1 samples, 50.00%)')\" />\n"
		"<rect x=\"600.0\" y=\"53\" width=\"590.0\" height=\"15.0\" onmouseover=\"s('c (1 samples, 50.00%)')\" />\n"
		"</svg>",
		"a 1\nb;c 1\n");
}

static void inferno_is_read(void **state _unused_)
{
	assert_svg_is(
		"<svg width=\"1200\" xmlns:fg=\"http://github.com/jonhoo/inferno\">"
		"<title>Flame Graph</title><svg id=\"frames\" x=\"10\" width=\"1180\" total_samples=\"4000000\">"
		"<g><title>b (1 samples, 0.00%)</title><rect x=\"0.0000%\" y=\"53\" width=\"0.0000%\" height=\"15\" fg:x=\"0\" fg:w=\"1\"/><text/></g>"
		"<g><title>c (1 samples, 0.00%)</title><rect x=\"0.0000%\" y=\"53\" width=\"0.0000%\" height=\"15\" fg:x=\"1\" fg:w=\"1\"/><text/></g>"
		"<g><title>all (4,000,000 samples, 100%)</title><rect x=\"0.0000%\" y=\"69\" width=\"100.0000%\" height=\"15\" fg:x=\"0\" fg:w=\"4000000\"/><text/></g>"
		"<g><title>d (1 samples, 0.00%)</title><rect x=\"0.0000%\" y=\"37\" width=\"0.0000%\" height=\"15\" fg:x=\"1\" fg:w=\"1\"/><text/></g>"
		"<g><title>e (3,999,998 samples, 100.00%)</title><rect x=\"0.0001%\" y=\"53\" width=\"99.9999%\" height=\"15\" fg:x=\"2\" fg:w=\"3999998\"/><text/></g>"
		"</svg></svg>",
		"b 1\nc;d 1\ne 3999998\n");
}

static void an_icicle_graph_is_read_from_the_top(void **state _unused_)
{
	assert_svg_is(HEAD "<g id=\"frames\">" BOX("a (3 samples, 75.00%)", "10.0", "53", "885.0")
			      BOX("x (2 samples, 50.00%)", "305.0", "69", "590.0") BOX(
				      "all (4 samples, 100%)", "10.0", "37", "1180.0") "</g></svg>",
		      "[unknown] 1\na 1\na;x 2\n");
}

static void one_stack_alone_is_read_by_its_root(void **state _unused_)
{
	assert_svg_is(
		HEAD "<g id=\"frames\">" BOX("all (4 samples, 100%)", "10.0", "37", "1180.0")
			BOX("a (4 samples, 100.00%)", "10.0", "53", "1180.0")
				BOX("b (4 samples, 100.00%)", "10.0", "69", "1180.0") "</g></svg>",
		"a;b 4\n");
}

static void names_may_hold_brackets_and_commas(void **state _unused_)
{
	assert_svg_is(
		HEAD
		"<g id=\"frames\">" BOX("all (1,000 samples, 100%)", "10.0", "69", "1180.0") BOX(
			"f(int, (anonymous)) (5 samples, 1.00%) &amp; g (1,000 samples, 100.00%)",
			"10.0", "53", "1180.0") "</g></svg>",
		"f(int, (anonymous)) (5 samples, 1.00%) & g 1000\n");
}

/* Attributes of flamegraph.pl's --nameattr. */
static void a_replaced_title_is_measured(void **state _unused_)
{
	assert_svg_is(
		HEAD "<g id=\"frames\">" BOX(
			"all (100 samples, 100%)", "10.0", "69",
			"1180.0") "<g class=\"x\"><title>see the wiki</title><a xlink:href=\"http://x/\" target=\"_top\">"
				  "<rect x=\"10.0\" y=\"53\" width=\"590.0\" height=\"15.0\" /><text x=\"1\">main</text></a></g>"
				  "</g></svg>",
		"[unknown] 50\nmain 50\n");
}

static void a_file_saved_while_zoomed_is_read_as_it_was(void **state _unused_)
{
	assert_svg_is(
		HEAD
		"<g id=\"frames\">"
		"<g class=\"parent\"><title>all (4 samples, 100%)</title>"
		"<rect x=\"10\" y=\"69\" width=\"1180\" fg:orig_x=\"10.0\" fg:orig_width=\"1180.0\" /></g>"
		"<g class=\"hide\"><title>a (1 samples, 25.00%)</title><rect x=\"10.0\" y=\"53\" width=\"295.0\" /></g>"
		"<g ><title>b (3 samples, 75.00%)</title>"
		"<rect x=\"10\" y=\"53\" width=\"1180\" _orig_x=\"305.0\" _orig_width=\"885.0\" /></g>"
		"<g ><title>c (2 samples, 50.00%)</title>"
		"<rect x=\"403.3\" y=\"37\" width=\"786.7\" _orig_x=\"600.0\" _orig_width=\"590.0\" /></g>"
		"</g></svg>",
		"a 1\nb 1\nb;c 2\n");
}

/* ---- what is not in the picture ----------------------------------------------------------- */

static void annotations_become_kinds(void **state _unused_)
{
	assert_svg_is(HEAD BOX("all (2 samples, 100%)", "10.0", "69", "1180.0")
			      BOX("read_[k] (2 samples, 100.00%)", "10.0", "53", "1180.0") "</svg>",
		      "read_[k] 2\n");
}

static void the_unit_becomes_the_metric(void **state _unused_)
{
	static const char svg[] = HEAD BOX("all (2.6 ms, 100%)", "10.0", "69", "1180.0") "</svg>";
	struct import import;

	assert_int_equal(svg_builder_read(svg, strlen(svg), NULL, &import), 0);
	assert_string_equal(format_get_metric_name(import.profile, 0), "ms");
	assert_string_equal(format_get_metric_unit(import.profile, 0), "milliseconds");
	assert_int_equal(profile_get_sample(import.profile, 0)->value, 3);
	profile_free(import.profile);
}

static void a_comparison_gives_before_and_after(void **state _unused_)
{
	static const char svg[] =
		HEAD "<g id=\"frames\">" BOX("all (6 samples, 100%)", "10.0", "85", "1180.0")
			BOX("main (6 samples, 100.00%; 0.00%)", "10.0", "69", "1180.0")
				BOX("foo (6 samples, 100.00%; +16.67%)", "10.0", "53", "1180.0")
					BOX("bar (4 samples, 66.67%; +66.67%)", "403.3", "37",
					    "786.7") BOX("gone (0 samples, 0.00%; -50.00%)",
							 "1190.0", "53", "0.0") "</g></svg>";
	struct import import;
	struct format_opts opts = {0};
	struct text before;
	struct text after;

	assert_int_equal(svg_builder_read(svg, strlen(svg), NULL, &import), 0);
	opts.tree.metric = profile_find_metric(import.profile, METRIC_BEFORE);
	before = svg_builder_write(&format_folded, import.profile, &opts);
	opts.tree.metric = profile_find_metric(import.profile, METRIC_AFTER);
	after = svg_builder_write(&format_folded, import.profile, &opts);
	assert_string_equal(before.data, "main;foo 1\nmain;foo;bar 0\nmain;gone 3\n");
	assert_string_equal(after.data, "main;foo 2\nmain;foo;bar 4\nmain;gone 0\n");
	text_release(&before);
	text_release(&after);
	profile_free(import.profile);
}

static void what_was_too_narrow_is_reported(void **state _unused_)
{
	/* a calls x (50), y (30) and, between them, what 20 pixels were free for. */
	static const char svg[] =
		HEAD "<g id=\"frames\">" BOX("all (118 samples, 100%)", "10.0", "69", "1180.0")
			BOX("a (118 samples, 100.00%)", "10.0", "53",
			    "1180.0") BOX("x (50 samples, 42.37%)", "190.0", "37", "500.0")
				BOX("y (30 samples, 25.42%)", "890.0", "37", "300.0") "</g></svg>";
	struct text warnings = {0};
	struct import import;

	assert_int_equal(svg_builder_read(svg, strlen(svg), &warnings, &import), 0);
	assert_int_equal(import.counts.pruned_weight, 20);
	assert_non_null(strstr(warnings.data, "x.svg: at least 16.95 % of the weight"));
	text_release(&warnings);
	profile_free(import.profile);
}

/* Frames missing at the end were not too narrow. */
static void a_truncated_picture_is_refused(void **state _unused_)
{
	static const char svg[] =
		HEAD "<g id=\"frames\">" BOX("all (4 samples, 100%)", "10.0", "69", "1180.0")
			BOX("b (1 samples, 25.00%)", "895.0", "53", "295.0")
				BOX("a (3 samples, 75.00%)", "10.0", "53", "885.0") "</g></svg>\n";

	assert_svg_is(svg, "a 3\nb 1\n");
	for (size_t size = sizeof(HEAD); size < strlen(svg) - 1; size++) {
		struct import import;

		assert_int_equal(svg_builder_read(svg, size, NULL, &import), -EBADMSG);
		assert_non_null(strstr(import.error.message, "the SVG is truncated"));
		profile_free(import.profile);
	}
}

/* ---- what is no flame graph --------------------------------------------------------------- */

static void assert_refused(const char *svg, const char *message)
{
	struct import import;

	assert_int_equal(svg_builder_read(svg, strlen(svg), NULL, &import), -EBADMSG);
	assert_non_null(strstr(import.error.message, message));
	profile_free(import.profile);
}

static void other_pictures_are_refused_politely(void **state _unused_)
{
	assert_refused("<?xml version=\"1.0\"?>\n<svg><title>Pie</title><rect x=\"1\" y=\"2\" "
		       "width=\"3\"/></svg>",
		       "x.svg: at byte 22: this SVG is not a known kind of flame graph");
	assert_refused("<html></html>", "expected an SVG picture");
	assert_refused(HEAD BOX("a (1 samples, 100%)", "10.0", "69", "1180.0") "</svg>\n" HEAD BOX(
			       "b (1 samples, 100%)", "10.0", "69", "1180.0") "</svg>\n",
		       "another picture follows: use a file for each");
	assert_refused("", "expected an SVG picture");
}

static enum detection detect(const char *text)
{
	return format_svg.detect((const uint8_t *)text, strlen(text));
}

static void the_first_element_decides_what_it_is(void **state _unused_)
{
	assert_int_equal(detect("<svg></svg>"), DETECTED_SURE);
	assert_int_equal(detect("\xef\xbb\xbf <?xml?>\n<!DOCTYPE svg [\n]>\n<!-- <b> -->\n<svg\n>"),
			 DETECTED_SURE);
	assert_int_equal(detect("<svgx>"), DETECTED_NOT);
	assert_int_equal(detect("<!DOCTYPE html>\n<html><svg></svg></html>"), DETECTED_NOT);
	assert_int_equal(detect("<svg"), DETECTED_NOT);
	assert_int_equal(detect("main;<svg> 5\n"), DETECTED_NOT);
	assert_int_equal(detect(""), DETECTED_NOT);
	assert_int_equal(detect("<!-- unended"), DETECTED_NOT);
}

static void weights_beyond_64_bits_are_refused(void **state _unused_)
{
	static const char svg[] = HEAD BOX("a (18446744073709551615 samples, 50.00%)", "10.0", "69",
					   "590.0")
		BOX("b (18446744073709551615 samples, 50.00%)", "600.0", "69", "590.0") "</svg>";
	struct import import;

	assert_int_equal(svg_builder_read(svg, strlen(svg), NULL, &import), -EOVERFLOW);
	assert_string_not_equal(import.error.message, "");
	profile_free(import.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(todays_flamegraph_pl_is_read),
		cmocka_unit_test(groups_with_handlers_are_read),
		cmocka_unit_test(titles_in_the_groups_handler_are_read),
		cmocka_unit_test(bare_boxes_without_root_are_read),
		cmocka_unit_test(inferno_is_read),
		cmocka_unit_test(an_icicle_graph_is_read_from_the_top),
		cmocka_unit_test(one_stack_alone_is_read_by_its_root),
		cmocka_unit_test(names_may_hold_brackets_and_commas),
		cmocka_unit_test(a_replaced_title_is_measured),
		cmocka_unit_test(a_file_saved_while_zoomed_is_read_as_it_was),
		cmocka_unit_test(annotations_become_kinds),
		cmocka_unit_test(the_unit_becomes_the_metric),
		cmocka_unit_test(a_comparison_gives_before_and_after),
		cmocka_unit_test(what_was_too_narrow_is_reported),
		cmocka_unit_test(a_truncated_picture_is_refused),
		cmocka_unit_test(other_pictures_are_refused_politely),
		cmocka_unit_test(the_first_element_decides_what_it_is),
		cmocka_unit_test(weights_beyond_64_bits_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
