#include "import_fixture.h"

#define FORMAT (&format_page)

#define OPENED     "<!DOCTYPE html>\n<html lang=\"en\"><body>\n"
#define SLOT       "<script type=\"text/plain\" id=\"profile\""
#define CLOSED     "</script><p>more</p></body></html>\n"
#define PAGE(data) OPENED SLOT ">" data CLOSED

/* clang-format off */
/* gzip, in base64: two stacks of the thread main-812/815, as native.h has them. */
static const char packed[] =
	"H4sIAAAAAAACAysuSUzOLs9MSVUoKMpPy8xJVTDmYmXlYGFhZ0jOL80rSUms1Msqzs/LSCzOyE3MzCtOzC3ISS1mZGUE\n"
	"ASYQZEAGjGvYGFkY17MxAElGJmZGsCATAyMzAyNIJSMjTB2SNiYWZgYAS1KQp4gAAAA=\n";
/* The same with "stackwide profile 2". */
static const char packed_by_other_version[] =
	"H4sIAAAAAAACAysuSUzOLs9MSVUoKMpPy8xJVTDiYmXlYGFhZ0jOL80rSUms1Msqzs/LSCzOyE3MzCtOzC3ISS1mZGUE\n"
	"ASYQZEAGjGvYGFkY17MxAElGJmZGsCATAyMzAyNIJSMjTB2SNiYWZgYAWu7mlYgAAAA=\n";
/* clang-format on */

static struct text make_page(const char *attributes, const char *data)
{
	struct text page = {0};

	text_printf(&page, OPENED SLOT "%s>%s" CLOSED, attributes, data);
	return page;
}

static void assert_page(const char *attributes, const char *data)
{
	struct text page = make_page(attributes, data);
	struct imported imported = {0};

	assert_int_equal(FORMAT->detect((const uint8_t *)page.data, page.length), DETECTED_SURE);
	assert_int_equal(imported_read(&imported, FORMAT, page.data, page.length), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_TID},
		       "main-812/815;main 4\nmain-812/815;main;hash 3\n");
	imported_release(&imported);
	text_release(&page);
}

static void a_page_gives_the_profile_in_it(void **state _unused_)
{
	assert_page("", packed);
}

static void the_name_of_the_page_may_hold_anything(void **state _unused_)
{
	assert_page(" data-name=\"a > b < c' &quot;\"", packed);
}

static void line_ends_in_the_data_do_not_matter(void **state _unused_)
{
	_cleanup_(text_release) struct text data = {0};

	for (const char *c = packed; *c; c++)
		if (*c != '\n')
			text_printf(&data, "%c\r\n", *c);
	assert_page("", data.data);
}

static void another_version_is_reported_in_one_line(void **state _unused_)
{
	_cleanup_(text_release) struct text page = make_page("", packed_by_other_version);

	assert_refused(FORMAT, page.data,
		       "FILE (profile): at byte 0: expected 'stackwide profile 3'; was it written "
		       "by another version?");
}

static void the_viewer_alone_is_no_profile(void **state _unused_)
{
	static const char page[] = PAGE("");

	assert_refused(FORMAT, page, "FILE: at byte 78: the page is the viewer without a profile");
}

static void what_is_no_base64_is_refused_by_its_position(void **state _unused_)
{
	static const char page[] = PAGE("QUJD\nQ-UJ");

	assert_refused(FORMAT, page, "FILE: at byte 84: expected base64");
}

static void damage_is_refused(void **state _unused_)
{
	static const char page[] = PAGE("H4sIAAAAAAAC/////w==");

	assert_refused(FORMAT, page, "FILE: at byte 78: the profile in it is damaged or truncated");
}

static void every_truncation_is_refused(void **state _unused_)
{
	_cleanup_(text_release) struct text page = make_page("", packed);
	size_t end = page.length - strlen(CLOSED) - strlen("=\n");

	for (size_t size = 0; size < end; size++) {
		struct imported imported = {0};

		assert_int_equal(imported_read(&imported, FORMAT, page.data, size), -EBADMSG);
		assert_int_not_equal(imported.import.error.message[0], '\0');
		imported_release(&imported);
	}
}

static void two_pages_in_a_file_are_refused(void **state _unused_)
{
	_cleanup_(text_release) struct text page = make_page("", packed);
	_cleanup_(text_release) struct text both = {0};

	text_printf(&both, "%s%s", page.data, page.data);
	assert_refused(FORMAT, both.data,
		       "FILE: at byte 240: another page follows: use a file for each");
}

static void other_pages_are_not_detected(void **state _unused_)
{
	static const char others[][80] = {
		"<html><script type=\"text/plain\" id=\"core\">",
		"",
		"main;a 1\n",
		SLOT, /* not in a page */
		"<html>",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_int_equal(FORMAT->detect((const uint8_t *)others[i], strlen(others[i])),
				 DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_gives_the_profile_in_it),
		cmocka_unit_test(the_name_of_the_page_may_hold_anything),
		cmocka_unit_test(line_ends_in_the_data_do_not_matter),
		cmocka_unit_test(another_version_is_reported_in_one_line),
		cmocka_unit_test(the_viewer_alone_is_no_profile),
		cmocka_unit_test(what_is_no_base64_is_refused_by_its_position),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(two_pages_in_a_file_are_refused),
		cmocka_unit_test(other_pages_are_not_detected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
