#include "formats/xml_scanner.h"

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

/* The tags as "name" and "/name", joined by blanks. */
static void assert_tags(const char *xml, const char *expected)
{
	struct xml_scanner scanner = xml_scan((const uint8_t *)xml, strlen(xml));
	struct text found = {0};
	struct xml_tag tag;

	text_append_string(&found, "");
	while (xml_next_tag(&scanner, &tag)) {
		assert_int_equal(xml[tag.offset], '<');
		text_printf(&found, "%s%s%.*s", found.length ? " " : "", tag.is_closing ? "/" : "",
			    (int)tag.name.length, tag.name.data);
	}
	assert_string_equal(found.data, expected);
	text_release(&found);
}

static void tags_come_one_after_the_other(void **state _unused_)
{
	assert_tags("<a><b x='1'>text</b><c/></a>", "a b /b c /a");
	assert_tags("no tags", "");
	assert_tags("", "");
}

static void what_is_no_tag_is_stepped_over(void **state _unused_)
{
	assert_tags("<?xml version='1.0'?><!DOCTYPE a [<]><!-- <b> --><![CDATA[<c>]]]><d>", "d");
	assert_tags("<a x=\">\" y='<b>'>", "a");
}

static void what_does_not_end_is_the_end(void **state _unused_)
{
	assert_tags("<a><b", "a");
	assert_tags("<a><!-- <b>", "a");
	assert_tags("<a><![CDATA[ <b>", "a");
	assert_tags("<a><b x=\"><c>", "a");
	assert_tags("<", "");
}

static void the_text_before_a_tag_is_given(void **state _unused_)
{
	static const char xml[] = "<t>one</t>";
	struct xml_scanner scanner = xml_scan((const uint8_t *)xml, strlen(xml));
	struct xml_tag tag;

	assert_true(xml_next_tag(&scanner, &tag));
	assert_int_equal(tag.before.length, 0);
	assert_true(xml_next_tag(&scanner, &tag));
	assert_true(xml_slice_equals(tag.before, "one"));
}

static void attributes_are_found_by_their_whole_name(void **state _unused_)
{
	static const char xml[] = "<r fg:x='1' ax=\"2\" x = \"a>b\" empty=''/>";
	struct xml_scanner scanner = xml_scan((const uint8_t *)xml, strlen(xml));
	struct xml_slice value;
	struct xml_tag tag;

	assert_true(xml_next_tag(&scanner, &tag));
	assert_true(xml_find_attribute(&tag, "x", &value));
	assert_true(xml_slice_equals(value, "a>b"));
	assert_true(xml_find_attribute(&tag, "empty", &value));
	assert_int_equal(value.length, 0);
	assert_false(xml_find_attribute(&tag, "y", &value));
}

static void assert_decoded(const char *xml, const char *expected)
{
	struct text text = {0};

	text_append_string(&text, "");
	xml_decode(&text, (struct xml_slice){xml, strlen(xml)});
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void references_are_replaced(void **state _unused_)
{
	assert_decoded("a&lt;b&gt;&amp;&quot;&apos;", "a<b>&\"'");
	assert_decoded("&#65;&#x42;&#xe9;&#x20ac;&#x1f525;",
		       "AB\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
}

static void what_is_no_reference_is_kept(void **state _unused_)
{
	assert_decoded("& &; &nope; &#; &#x; &#xg; &#99999999; &lt",
		       "& &; &nope; &#; &#x; &#xg; &#99999999; &lt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tags_come_one_after_the_other),
		cmocka_unit_test(what_is_no_tag_is_stepped_over),
		cmocka_unit_test(what_does_not_end_is_the_end),
		cmocka_unit_test(the_text_before_a_tag_is_given),
		cmocka_unit_test(attributes_are_found_by_their_whole_name),
		cmocka_unit_test(references_are_replaced),
		cmocka_unit_test(what_is_no_reference_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
