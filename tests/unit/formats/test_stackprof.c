#include <string.h>

#include "formats/stackprof/marshal.h"
#include "import_fixture.h"

#define FRAMES                                                                                          \
	"\"frames\": {\"1\": {\"name\": \"<main>\", \"file\": \"/a.rb\", \"line\": 1, \"samples\": 0}," \
	"\"139692384220480\": {\"name\": \"Object#fib\", \"file\": \"/a.rb\", \"line\": 3, \"samples\": 3}}"

static const char json[] =
	"{\"version\": 1.2, \"mode\": \"wall\", \"interval\": 500, \"samples\": 4, \"gc_samples\": 0, "
	"\"missed_samples\": 7, \"raw\": [2, 1, 139692384220480, 3, 1, 1, 1], " FRAMES "}";

static void raw_stacks_are_read(void **state _unused_)
{
	struct imported imported = {0};
	const struct frame *frame;

	assert_stacks(&format_stackprof, json, 0, "<main> 1\n<main>;Object#fib 3\n");
	assert_stacks(&format_stackprof, json, 1, "<main> 500000\n<main>;Object#fib 1500000\n");
	assert_int_equal(imported_read(&imported, &format_stackprof, json, strlen(json)), 0);
	assert_int_equal(imported.import.counts.lost_samples, 7);
	assert_int_equal(imported.import.counts.records, 2);
	assert_string_equal(format_get_metric_name(imported.profile, 1), "wall");
	frame = profile_get_frame(imported.profile, 1);
	assert_int_equal(frame->kind, FRAME_RUBY);
	assert_int_equal(frame->line, 3);
	assert_string_equal(profile_get_string(imported.profile, frame->file), "/a.rb");
	imported_release(&imported);
}

static void objects_are_counted(void **state _unused_)
{
	assert_stacks(&format_stackprof,
		      "{\"mode\": \"object\", \"interval\": 10, \"missed_samples\": 0, " FRAMES
		      ", \"raw\": [1, 1, 2]}",
		      1, "<main> 20\n");
}

static void functions_without_stacks_are_told(void **state _unused_)
{
	assert_warned(&format_stackprof, "{\"mode\": \"cpu\", \"missed_samples\": 0, " FRAMES "}",
		      "FILE: has no stacks (recorded without raw: true); each function becomes a "
		      "stack of its own\n",
		      "Object#fib 3\n");
}

#define DOCUMENT(raw) "{\"mode\": \"cpu\", \"missed_samples\": 0, \"raw\": " raw ", " FRAMES "}"

static void broken_profiles_are_refused(void **state _unused_)
{
	assert_refused(&format_stackprof, DOCUMENT("[1, 2, 1]"),
		       "FILE: at byte 48: expected the number of a frame");
	assert_refused(&format_stackprof, DOCUMENT("[1]"),
		       "FILE: at byte 46: expected the number of a frame");
	assert_refused(&format_stackprof, DOCUMENT("[1, 1]"),
		       "FILE: at byte 49: expected how many samples");
	assert_refused(&format_stackprof, DOCUMENT("[-1]"), "FILE: at byte 45: expected a number");
	assert_refused(&format_stackprof, DOCUMENT("[65537]"),
		       "FILE: at byte 45: expected a stack of at most");
	assert_refused(&format_stackprof, "{\"frames\": {\"x\": {}}}",
		       "FILE: at byte 12: expected the number of a frame");
	assert_refused(&format_stackprof, "{\"frames\": {\"1\": 2}}",
		       "FILE: at byte 17: expected a frame");
	assert_refused(&format_stackprof, "{\"frames\": []}", "FILE: at byte 11: expected frames");
	assert_refused(&format_stackprof, "{}", "FILE: at byte 0: expected the frames");
	assert_refused(&format_stackprof, "[]", "FILE: at byte 0: expected a profile");
	assert_refused(&format_stackprof, "{\"frames\": {}", "FILE: at byte 13: ");
	assert_refused(&format_stackprof,
		       "{\"mode\": \"cpu\", \"interval\": 18446744073709551615, \"frames\": {}}",
		       "FILE: at byte 0: expected an interval");
}

/* {mode: :cpu, missed_samples: 0, raw: [1, 2**31, 3], frames: {2**31 => {name: "f"}}} */
static const char dump[] = "\x04\x08{\x09"
			   ":\x09mode:\x08"
			   "cpu"
			   ":\x13missed_samplesi\0"
			   ":\x08raw[\x08i\x06l+\x07\0\0\0\x80i\x08"
			   ":\x0b"
			   "frames{\x06l+\x07\0\0\0\x80{\x07:\x09nameI\"\x06"
			   "f\x06:\x06"
			   "ET:\x0csamplesi\x08";

static void dumps_are_read(void **state _unused_)
{
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_stackprof, dump, sizeof(dump) - 1), 0);
	assert_string_equal(imported.warnings.data, "");
	assert_written(&format_folded, imported.profile, (struct call_tree_opts){0}, "f 3\n");
	imported_release(&imported);
	assert_int_equal(format_stackprof.detect((const uint8_t *)dump, sizeof(dump) - 1),
			 DETECTED_SURE);
}

static void a_dump_that_was_cut_off_is_refused(void **state _unused_)
{
	for (size_t size = 2; size < sizeof(dump) - 1; size++) {
		struct imported imported = {0};

		assert_int_equal(imported_read(&imported, &format_stackprof, dump, size), -EBADMSG);
		imported_release(&imported);
	}
}

static void assert_json(const char *data, size_t size, const char *expected)
{
	struct text text = {0};
	const char *reason;
	size_t offset;

	text_append_string(&text, "");
	assert_int_equal(marshal_to_json((const uint8_t *)data, size, &text, &offset, &reason), 0);
	assert_string_equal(text.data, expected);
	text_release(&text);
}

#define ASSERT_JSON(data, expected) \
	assert_json("\x04\x08" data, sizeof("\x04\x08" data) - 1, expected)

static void every_plain_value_becomes_json(void **state _unused_)
{
	ASSERT_JSON("0", "null");
	ASSERT_JSON("[\x07TF", "[true,false]");
	ASSERT_JSON("i\0", "0");
	ASSERT_JSON("i\x06", "1");
	ASSERT_JSON("i\xfa", "-1");
	ASSERT_JSON("i\x01\xff", "255");
	ASSERT_JSON("i\x02\x34\x12", "4660");
	ASSERT_JSON("i\xff\x7f", "-129");
	ASSERT_JSON("i\xfe\0\xff", "-256");
	ASSERT_JSON("l-\x07\0\0\0\x80", "-2147483648");
	ASSERT_JSON("f\x08"
		    "1.5",
		    "1.5");
	ASSERT_JSON("f\x08nan", "null");
	ASSERT_JSON("f\x09-inf", "null");
	ASSERT_JSON("f\x07-3", "-3");
	ASSERT_JSON("\"\x07\"\n", "\"\\\"\\u000a\"");
	ASSERT_JSON("{\x06i\x06:\x06"
		    "a",
		    "{\"1\":\"a\"}");
}

/* Symbols and objects have numbers of their own. */
static void what_comes_again_is_named_by_its_number(void **state _unused_)
{
	ASSERT_JSON("[\x08:\x06"
		    "a;\0:\x06"
		    "b",
		    "[\"a\",\"a\",\"b\"]");
	ASSERT_JSON("[\x08\"\x06"
		    "a[\x06@\x06@\x07",
		    "[\"a\",[\"a\"],[\"a\"]]");
}

/* What stands beside a value is left out, and cannot be named from then on. */
static void variables_are_left_out(void **state _unused_)
{
	ASSERT_JSON("[\x07I\"\x06"
		    "a\x06:\x06"
		    "E\"\x07"
		    "zz\"\x06"
		    "b",
		    "[\"a\",\"b\"]");
}

static void assert_no_json(const char *data, size_t size, size_t expected_offset,
			   const char *expected)
{
	struct text text = {0};
	const char *reason;
	size_t offset;

	assert_int_equal(marshal_to_json((const uint8_t *)data, size, &text, &offset, &reason),
			 -EBADMSG);
	assert_string_equal(reason, expected);
	assert_int_equal(offset, expected_offset);
	text_release(&text);
}

#define ASSERT_NO_JSON(data, offset, expected) \
	assert_no_json("\x04\x08" data, sizeof("\x04\x08" data) - 1, offset, expected)

static void other_values_are_refused(void **state _unused_)
{
	ASSERT_NO_JSON("o:\x06"
		       "A\0",
		       3, "expected a value of plain data");
	ASSERT_NO_JSON("", 2, "unexpected end");
	ASSERT_NO_JSON("\"\x0a", 4, "expected a length within the file");
	ASSERT_NO_JSON(";\0", 4, "expected the number of a symbol");
	ASSERT_NO_JSON("@\0", 4, "expected the number of an object");
	ASSERT_NO_JSON("[\x06@\0", 6, "expected another object"); /* it holds itself */
	ASSERT_NO_JSON("{\x06T0", 5, "expected a name or a number as key");
	ASSERT_NO_JSON("{\x07\"\x06"
		       "a[\0@\x07"
		       "0",
		       11, "expected another object");
	ASSERT_NO_JSON("[\x07I\"\x06"
		       "a\x06:\x06"
		       "E\"\x07"
		       "zz@\x07",
		       18, "expected another object"); /* "zz" was left out */
	ASSERT_NO_JSON("l+\x0a\0\0\0\0\0\0\0\0\0\0", 5, "expected a number of 64 bits");
}

/* Arrays of two links to the one before: as much as two to the power of their number. */
static void links_cannot_make_much_of_little(void **state _unused_)
{
	struct text text = {0};
	struct text bomb = {0};
	const char *reason;
	size_t offset;

	text_append(&text, "\x04\x08[\x23", 4); /* 30 arrays */
	text_append(&text,
		    "[\x06\"\x0f"
		    "0123456789",
		    14);
	for (int i = 1; i < 30; i++) {
		char number = (char)(i == 1 ? 1 + 5 : i + 1 + 5);

		text_append(&text, "[\x07@", 3);
		text_append_char(&text, number);
		text_append_char(&text, '@');
		text_append_char(&text, number);
	}
	assert_int_equal(
		marshal_to_json((const uint8_t *)text.data, text.length, &bomb, &offset, &reason),
		-EBADMSG);
	assert_string_equal(reason, "objects that come again too often");
	text_release(&text);
	text_release(&bomb);
}

static void nesting_is_bounded(void **state _unused_)
{
	char deep[256] = "\x04\x08";

	for (size_t i = 2; i + 1 < sizeof(deep); i += 2)
		memcpy(deep + i, "[\x06", 2);
	assert_no_json(deep, sizeof(deep), 69, "nested too deep");
}

static void it_is_known_by_its_content(void **state _unused_)
{
	static const char other[] = "{\"frames\": {}, \"samples\": 3}";

	assert_int_equal(format_stackprof.detect((const uint8_t *)json, strlen(json)),
			 DETECTED_SURE);
	assert_int_equal(format_stackprof.detect((const uint8_t *)other, strlen(other)),
			 DETECTED_NOT);
	assert_int_equal(format_stackprof.detect((const uint8_t *)"\x04\x08{\x06", 4),
			 DETECTED_NOT);
	assert_int_equal(format_stackprof.detect(NULL, 0), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_stacks_are_read),
		cmocka_unit_test(objects_are_counted),
		cmocka_unit_test(functions_without_stacks_are_told),
		cmocka_unit_test(broken_profiles_are_refused),
		cmocka_unit_test(dumps_are_read),
		cmocka_unit_test(a_dump_that_was_cut_off_is_refused),
		cmocka_unit_test(every_plain_value_becomes_json),
		cmocka_unit_test(what_comes_again_is_named_by_its_number),
		cmocka_unit_test(variables_are_left_out),
		cmocka_unit_test(other_values_are_refused),
		cmocka_unit_test(links_cannot_make_much_of_little),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(it_is_known_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
