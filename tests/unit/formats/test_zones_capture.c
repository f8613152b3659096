#include <math.h>

#include "zones_builder.h"

/* Records in the order of the library's own declarations. */
enum { STRING = 17, LOCATION, STACK, THREAD, START, END, NAME, BOOL, I64, U64, DOUBLE, TEXT };
enum { FLOW = TEXT + 1, FLOW_T, CATEGORY, COUNTER, I64_VALUE, DOUBLE_VALUE };

static void add_words(struct text *capture, uint8_t type, size_t num_words, const uint64_t *words)
{
	text_append(capture, &type, 1);
	text_append(capture, words, num_words * sizeof(*words));
}

#define ADD(capture, type, ...)                                                            \
	add_words((capture), (type), sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), \
		  (uint64_t[]){__VA_ARGS__})

static void add_text(struct text *capture, const char *text)
{
	uint16_t length = (uint16_t)strlen(text);

	text_append(capture, &length, sizeof(length));
	text_append_string(capture, text);
}

static void add_string(struct text *capture, uint64_t id, const char *text)
{
	ADD(capture, STRING, id);
	add_text(capture, text);
}

static void add_location(struct text *capture, uint64_t id, uint64_t name, uint64_t function,
			 uint64_t file, uint32_t line)
{
	ADD(capture, LOCATION, id, name, function, file);
	text_append(capture, &line, sizeof(line));
}

static void start(struct text *capture)
{
	text_append(capture, "\x10PROF\x01\0\0", 9);
}

static int read_capture(struct text *capture, struct zones_read_result *ret)
{
	int err = builder_read(&format_zones, capture->data, capture->length, false, ret);

	text_release(capture);
	return err;
}

static void assert_written(struct text *capture, const char *expected, const char *warnings)
{
	struct zones_read_result result;
	struct text written;

	assert_int_equal(read_capture(capture, &result), 0);
	assert_string_equal(result.warnings.data, warnings);
	written = builder_write(&format_zones, &result, (struct format_opts){0});
	assert_string_equal(written.data, expected);
	text_release(&written);
	builder_release(&result);
}

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static void every_record_is_understood(void **state _unused_)
{
	struct text capture = {0};

	start(&capture);
	add_string(&capture, 1, "Load");
	add_string(&capture, 2, "load");
	add_string(&capture, 3, "load.c");
	add_location(&capture, 9, 1, 2, 3, 42);
	ADD(&capture, STACK, 0x7000, 0x9000);
	add_text(&capture, "fiber");
	ADD(&capture, THREAD, 7);
	add_text(&capture, "main");
	ADD(&capture, START, 0x8f00, 7, 100, 9);
	ADD(&capture, NAME, 0x8f00);
	add_text(&capture, "load level");
	ADD(&capture, BOOL, 0x8f00, 1);
	text_append(&capture, "\x01", 1);
	ADD(&capture, I64, 0x8f00, 2, (uint64_t)-5);
	ADD(&capture, U64, 0x8f00, 3, UINT64_MAX);
	ADD(&capture, TEXT, 0x8f00, 9);
	add_text(&capture, "text");
	ADD(&capture, FLOW, 0x8f00, 5);
	ADD(&capture, FLOW_T, 0x8f00, 6);
	ADD(&capture, CATEGORY, 0x8f00, 2);
	ADD(&capture, END, 0x8f00, 130);
	ADD(&capture, COUNTER, 1);
	add_text(&capture, "queue");
	ADD(&capture, I64_VALUE, 1, 140, (uint64_t)-3);
	ADD(&capture, DOUBLE_VALUE, 1, 150, bits_of(0.1));
	assert_written(
		&capture,
		"THREAD, 7, main\nSTACK, 28672, 36864, fiber\n"
		"LOCATION, 1, Load, load, load.c, 42\nCOUNTER_TRACK, 1, queue\n"
		"ZONE_START, 36608, 7, 100, 1\nZONE_NAME, 36608, load level\n"
		"ZONE_PARAM, 36608, Load, true\nZONE_PARAM, 36608, load, -5\n"
		"ZONE_PARAM, 36608, load.c, 18446744073709551615\n"
		"ZONE_PARAM, 36608, [unknown], text\n"
		"ZONE_FLOW, 36608, 5\nZONE_FLOW_T, 36608, 6\nZONE_CATEGORY, 36608, load\n"
		"ZONE_END, 36608, 130\nCOUNTER_VALUE, 1, 140, -3\nCOUNTER_VALUE, 1, 150, 0.1\n",
		"");
}

static void parameters_keep_their_types(void **state _unused_)
{
	struct text capture = {0};
	struct zones_read_result result;
	const struct zone_attribute *attribute;

	start(&capture);
	add_string(&capture, 1, "a");
	add_string(&capture, 2, "b");
	ADD(&capture, START, 8000, 1, 1, 9);
	ADD(&capture, BOOL, 8000, 1);
	text_append(&capture, "\x02", 1);
	ADD(&capture, DOUBLE, 8000, 2, bits_of(2.5));
	ADD(&capture, END, 8000, 2);
	assert_int_equal(read_capture(&capture, &result), 0);
	attribute = timeline_next_attribute(result.timeline, 0, NULL);
	assert_true(attribute->type == VALUE_BOOL && attribute->value.boolean);
	attribute = timeline_next_attribute(result.timeline, 0, attribute);
	assert_true(attribute->type == VALUE_DOUBLE && attribute->value.number == 2.5);
	builder_release(&result);
}

static void strings_and_locations_may_come_after_their_use(void **state _unused_)
{
	struct text capture = {0};

	start(&capture);
	ADD(&capture, START, 8000, 1, 1, 9);
	ADD(&capture, CATEGORY, 8000, 4);
	ADD(&capture, END, 8000, 2);
	add_location(&capture, 9, 4, 4, 4, 1);
	add_string(&capture, 4, "n");
	assert_written(&capture,
		       "THREAD, 1, Unknown\nLOCATION, 1, n, n, n, 1\nZONE_START, 8000, 1, 1, 1\n"
		       "ZONE_CATEGORY, 8000, n\nZONE_END, 8000, 2\n",
		       "");
}

static void a_truncated_capture_is_read_up_to_its_end(void **state _unused_)
{
	struct text capture = {0};

	start(&capture);
	ADD(&capture, START, 8000, 1, 1, 9);
	ADD(&capture, END, 8000, 2);
	ADD(&capture, START, 8000, 1, 1, 9);
	text_truncate(&capture, capture.length - 1);
	assert_written(&capture,
		       "THREAD, 1, Unknown\nLOCATION, 1, [unknown], , , 0\n"
		       "ZONE_START, 8000, 1, 1, 1\nZONE_END, 8000, 2\n",
		       "x: at byte 59: the capture ends inside a record\n");
}

static void zeros_behind_the_last_record_are_its_end(void **state _unused_)
{
	struct text capture = {0};

	start(&capture);
	text_append(&capture, "\0\0\xff", 3);
	assert_written(&capture, "", "");
}

static void what_is_declared_twice_is_a_warning(void **state _unused_)
{
	struct text capture = {0};

	start(&capture);
	for (int i = 0; i < 2; i++) {
		ADD(&capture, THREAD, 1);
		add_text(&capture, i ? "new" : "old");
		ADD(&capture, STACK, 0x1000, 0x3000);
		add_text(&capture, "s");
	}
	assert_written(&capture, "THREAD, 1, new\nSTACK, 4096, 12288, s\n",
		       "x: at byte 57: the stack overlaps 's', which is at [4096, 12288)\n"
		       "x: at byte 43: thread 1 is declared a second time\n");
}

static void errors_name_the_byte(void **state _unused_)
{
	struct text capture = {0};
	struct zones_read_result result;

	text_append(&capture, "\x10PROF\x02\0\0", 9);
	assert_int_equal(read_capture(&capture, &result), -EBADMSG);
	assert_string_equal(result.error.message, "x: at byte 0: expected a capture of version 1");
	builder_release(&result);
	start(&capture);
	text_append(&capture, "\x23", 1);
	assert_int_equal(read_capture(&capture, &result), -EBADMSG);
	assert_string_equal(result.error.message,
			    "x: at byte 9: expected the type of a record, not 35");
	builder_release(&result);
	start(&capture);
	ADD(&capture, END, 8000, 1);
	assert_int_equal(read_capture(&capture, &result), -EBADMSG);
	assert_string_equal(result.error.message, "x: at byte 9: no zone is open at pointer 8000");
	builder_release(&result);
	start(&capture);
	ADD(&capture, COUNTER, 1);
	add_text(&capture, "");
	ADD(&capture, DOUBLE_VALUE, 1, 1, bits_of(NAN));
	assert_int_equal(read_capture(&capture, &result), -EBADMSG);
	assert_string_equal(result.error.message, "x: at byte 20: expected a finite number");
	builder_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_is_understood),
		cmocka_unit_test(parameters_keep_their_types),
		cmocka_unit_test(strings_and_locations_may_come_after_their_use),
		cmocka_unit_test(a_truncated_capture_is_read_up_to_its_end),
		cmocka_unit_test(zeros_behind_the_last_record_are_its_end),
		cmocka_unit_test(what_is_declared_twice_is_a_warning),
		cmocka_unit_test(errors_name_the_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
