#include "base/json.h"

#include <stdio.h>

/* clang-format off */
#include "unit.h"
/* clang-format on */

/* The tokens as a text: { } [ ] as they are, k:KEY s:STRING n:NUMBER t f 0, $ for the end. */
static char *spell_bytes(const char *document, size_t size)
{
	struct json json = json_of(document, size);
	struct text text = {0};
	enum json_token token;

	do {
		token = json_next(&json);
		switch (token) {
		case JSON_END:
			text_append_char(&text, '$');
			break;
		case JSON_FAILED:
			text_printf(&text, "!%zu %s", json.offset, json.fault);
			break;
		case JSON_OBJECT:
			text_append_char(&text, '{');
			break;
		case JSON_OBJECT_END:
			text_append_char(&text, '}');
			break;
		case JSON_ARRAY:
			text_append_char(&text, '[');
			break;
		case JSON_ARRAY_END:
			text_append_char(&text, ']');
			break;
		case JSON_KEY:
		case JSON_STRING:
		case JSON_NUMBER:
			text_append_char(&text, token == JSON_KEY      ? 'k'
						: token == JSON_STRING ? 's'
								       : 'n');
			text_append_char(&text, ':');
			text_append(&text, json.text, json.length);
			text_append_char(&text, ' ');
			break;
		case JSON_TRUE:
			text_append_char(&text, 't');
			break;
		case JSON_FALSE:
			text_append_char(&text, 'f');
			break;
		case JSON_NULL:
			text_append_char(&text, '0');
			break;
		}
	} while (token != JSON_END && token != JSON_FAILED);
	assert_int_equal(json_next(&json), token);
	json_release(&json);
	return text.data;
}

static char *spell(const char *document)
{
	return spell_bytes(document, strlen(document));
}

static void assert_spelled(const char *document, const char *expected)
{
	char *spelled = spell(document);

	assert_string_equal(spelled, expected);
	free(spelled);
}

static void every_kind_of_value_is_a_token(void **state _unused_)
{
	assert_spelled("\xef\xbb\xbf {\"a\" : [ 1, -2.5e+3 ,{}, [] ], \"b\":\"x\",\n"
		       "\"c\":true,\"d\":false,\"e\":null}\r\n",
		       "{k:a [n:1 n:-2.5e+3 {}[]]k:b s:x k:c tk:d fk:e 0}$");
	assert_spelled("0", "n:0 $");
}

/* What goes on behind the end is no part of it. */
static void a_document_ends_where_it_ends(void **state _unused_)
{
	static const char document[] =
		"\xef\xbb\xbf[\"\\ud83d\\ude00\\n\", -1.50e+10, true, false, "
		"null, {\"a\\u0041\": \"b\"}]";
	char cut[sizeof(document)];

	for (size_t size = 0; size < sizeof(document); size++) {
		char *expected;
		char *spelled;

		memset(cut, 0, sizeof(cut));
		memcpy(cut, document, size);
		expected = spell_bytes(cut, size);
		spelled = spell_bytes(document, size);
		assert_string_equal(spelled, expected);
		free(expected);
		free(spelled);
	}
}

static void escapes_are_resolved(void **state _unused_)
{
	assert_spelled("\"a\\n\\\"\\\\\\/\\u0041\\u00e9\\u20ac\\ud83d\\ude00z\"",
		       "s:a\n\"\\/A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z $");
	assert_spelled("\"\\ud83dx\\ude00\"", "s:\xef\xbf\xbdx\xef\xbf\xbd $");
}

static void what_breaks_the_grammar_is_reported_with_its_position(void **state _unused_)
{
	assert_spelled("", "!0 expected a value");
	assert_spelled("{\"a\" 1}", "{!5 expected ':' after a key");
	assert_spelled("{a:1}", "{!1 expected a key in quotes");
	assert_spelled("[1,]", "[n:1 !3 expected a value");
	assert_spelled("[1 2]", "[n:1 !3 expected ',' or ']'");
	assert_spelled("[1}", "[n:1 !2 expected ',' or ']'");
	assert_spelled("{\"a\":1,}", "{k:a n:1 !7 expected a key in quotes");
	assert_spelled("1 2", "n:1 !2 expected the end of the text");
	assert_spelled("01", "n:0 !1 expected the end of the text");
	assert_spelled("-", "!1 expected a digit");
	assert_spelled("1.", "!2 expected a digit");
	assert_spelled("\"a\nb\"", "!2 expected the end of a string");
	assert_spelled("\"a\\x\"", "!4 expected an escaped character");
	assert_spelled("\"\\u12", "!3 expected an escaped character");
	assert_spelled("\"a", "!2 expected the end of a string");
	assert_spelled("tru", "!0 expected a value");
	assert_spelled("[[", "[[!2 expected a value");
}

static void a_value_can_be_skipped(void **state _unused_)
{
	static const char document[] = "{\"a\":{\"x\":[1,{\"y\":2}]},\"b\":7}";
	struct json json = json_of(document, strlen(document));
	uint64_t number = 0;

	assert_int_equal(json_next(&json), JSON_OBJECT);
	assert_int_equal(json_next(&json), JSON_KEY);
	json_skip_value(&json);
	assert_int_equal(json_next(&json), JSON_KEY);
	assert_true(json_is(&json, "b"));
	assert_int_equal(json_next(&json), JSON_NUMBER);
	assert_true(json_get_u64(&json, &number));
	assert_int_equal(number, 7);
	json_release(&json);
}

static void numbers_are_whole_or_double(void **state _unused_)
{
	static const char document[] = "[18446744073709551615,18446744073709551616,1.5,-1]";
	struct json json = json_of(document, strlen(document));
	uint64_t number = 0;

	assert_int_equal(json_next(&json), JSON_ARRAY);
	assert_int_equal(json_next(&json), JSON_NUMBER);
	assert_true(json_get_u64(&json, &number));
	assert_true(number == UINT64_MAX);
	assert_int_equal(json_next(&json), JSON_NUMBER);
	assert_false(json_get_u64(&json, &number));
	assert_int_equal(json_next(&json), JSON_NUMBER);
	assert_false(json_get_u64(&json, &number));
	assert_true(json_get_double(&json) == 1.5);
	assert_int_equal(json_next(&json), JSON_NUMBER);
	assert_false(json_get_u64(&json, &number));
	assert_true(json_get_double(&json) == -1);
	json_release(&json);
}

/* Some producers quote them. */
static void a_number_may_be_a_string(void **state _unused_)
{
	static const char document[] = "[7,\"7\",\"-1.5e3\",\"\",\"7x\",\" 7\",\"nan\",\"0x7\","
				       "\"\\u0037\",true]";
	static const bool expected[] = {true,  true,  true,  false, false,
					false, false, false, true,  false};
	static const char object[] = "{\"a\":\"7\",\"b\":\"7x\"}";
	struct json json = json_of(document, strlen(document));

	assert_int_equal(json_next(&json), JSON_ARRAY);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		enum json_token token = json_next(&json);

		assert_int_equal(json_is_number(&json, token), expected[i]);
	}
	json_release(&json);
	json = json_of(object, strlen(object));
	assert_int_equal(json_next(&json), JSON_OBJECT);
	assert_int_equal(json_next(&json), JSON_KEY);
	assert_int_equal(json_take_u64(&json), 7);
	assert_int_equal(json_next(&json), JSON_KEY);
	assert_int_equal(json_take_u64(&json), 0);
	json_release(&json);
}

static void a_million_levels_are_no_more_than_a_million_bytes(void **state _unused_)
{
	size_t size = 1000000;
	char *document = malloc(size);
	struct json json;

	memset(document, '[', size);
	json = json_of(document, size);
	for (size_t i = 0; i < size; i++)
		if (json_next(&json) != JSON_ARRAY)
			fail();
	assert_int_equal(json_next(&json), JSON_FAILED);
	assert_true(json.nesting.capacity < 2 * size);
	json_release(&json);
	free(document);
}

static void strings_are_written_as_valid_json(void **state _unused_)
{
	static const char string[] = "a\"b\\\n\0\x7f\xc3\xa9\xff\xc3(\xe2\x82\xed\xa0\x80\xc0\x80";
	struct text text = {0};

	json_append_string(&text, string, sizeof(string) - 1);
	assert_string_equal(text.data,
			    "\"a\\\"b\\\\\\u000a\\u0000\x7f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd("
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd\"");
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_value_is_a_token),
		cmocka_unit_test(a_document_ends_where_it_ends),
		cmocka_unit_test(escapes_are_resolved),
		cmocka_unit_test(what_breaks_the_grammar_is_reported_with_its_position),
		cmocka_unit_test(a_value_can_be_skipped),
		cmocka_unit_test(numbers_are_whole_or_double),
		cmocka_unit_test(a_number_may_be_a_string),
		cmocka_unit_test(a_million_levels_are_no_more_than_a_million_bytes),
		cmocka_unit_test(strings_are_written_as_valid_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
