#include "collect/events/event_format.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static void assert_field(const char *line, const char *name, enum field_kind kind, bool is_amount)
{
	struct event_format format = {0};
	const struct event_field *field;

	assert_int_equal(event_format_parse(line, &format), 0);
	field = event_format_find(&format, name, strlen(name));
	if (!field)
		fail_msg("%s: there is no '%s'", line, name);
	if (field->kind != kind || field->is_amount != is_amount)
		fail_msg("%s: of kind %d, %d", line, (int)field->kind, field->is_amount);
	event_format_release(&format);
}

static void kinds_are_by_the_words_of_a_type(void **state)
{
	static const struct {
		const char *declaration;
		unsigned size;
		const char *name;
		enum field_kind kind;
		bool is_amount;
	} cases[] = {
		{"unsigned int bytes", 4, "bytes", FIELD_NUMBER, true},
		{"sector_t sector", 8, "sector", FIELD_NUMBER, true},
		{"bool done", 1, "done", FIELD_NUMBER, true},
		{"unsigned char flags", 1, "flags", FIELD_NUMBER, true},
		{"char c", 1, "c", FIELD_NUMBER, true},
		{"long num_chars", 8, "num_chars", FIELD_NUMBER, true},
		{"void * where", 8, "where", FIELD_NUMBER, false},
		{"void *where", 8, "where", FIELD_NUMBER, false},
		{"__u8 saddr[4]", 4, "saddr", FIELD_NUMBER, false},
		{"__u8 saddr[16]", 16, "saddr", FIELD_OTHER, false},
		{"struct pair both", 24, "both", FIELD_OTHER, false},
		{"char comm[16]", 16, "comm", FIELD_ARRAY, false},
		{"char comm[TASK_COMM_LEN]", 16, "comm", FIELD_ARRAY, false},
		{"char[16] comm", 16, "comm", FIELD_ARRAY, false},
		{"unsigned char mac[6]", 6, "mac", FIELD_ARRAY, false},
		{"__data_loc char[] cmd", 4, "cmd", FIELD_DATA_LOC, false},
		{"__rel_loc char[] cmd", 4, "cmd", FIELD_REL_LOC, false},
		{"__data_loc u8[] data", 4, "data", FIELD_OTHER, false},
		{"__data_loc cpumask_t cpus", 4, "cpus", FIELD_OTHER, false},
		{"const char * filename", 8, "filename", FIELD_POINTER, false},
		{"char *name", 8, "name", FIELD_POINTER, false},
		{"const char *const * argv", 8, "argv", FIELD_OTHER, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char line[128];

		snprintf(line, sizeof(line), "\tfield:%s;\toffset:8;\tsize:%u;\tsigned:0;\n",
			 cases[i].declaration, cases[i].size);
		assert_field(line, cases[i].name, cases[i].kind, cases[i].is_amount);
	}
}

static void what_is_no_field_is_skipped(void **state)
{
	static const char text[] = "name: field:\nfield:\nfield:;\n"
				   "\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield:int [4];\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield:];\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\tfield:int far;\toffset:90000;\tsize:4;\tsigned:1;\n"
				   "\tfield:int large;\toffset:8;\tsize:90000;\tsigned:1;\n"
				   "\tfield:int unsized;\toffset:8;\n"
				   "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n"
				   "\n"
				   "\tfield:u16 b;\toffset:12;\tsize:2;\tsigned:0;\n"
				   "print fmt: \"field: %d\", REC->a";
	struct event_format format = {0};
	const struct event_field *field;

	(void)state;
	assert_int_equal(event_format_parse(text, &format), 0);
	assert_int_equal(format.fields.length, 2);
	field = event_format_find(&format, "a", 1);
	assert_true(field && field->offset == 8 && field->size == 4 && field->is_signed);
	field = event_format_find(&format, "b", 1);
	assert_true(field && field->offset == 12 && field->size == 2 && !field->is_signed);
	assert_null(event_format_find(&format, "ab", 2));
	assert_null(event_format_find(&format, "", 0));
	event_format_release(&format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_by_the_words_of_a_type),
		cmocka_unit_test(what_is_no_field_is_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
