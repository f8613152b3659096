#include "filter_evaluation.h"

#include "collect/events/event_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "base/text.h"
#include "collect/events/event_format.h"
#include "unit.h"

static const char format_text[] =
	"name: thing\nID: 365\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:s8 s8;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u8 u8;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:short s16;\toffset:10;\tsize:2;\tsigned:1;\n"
	"\tfield:u16 u16;\toffset:12;\tsize:2;\tsigned:0;\n"
	"\tfield:int s32;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int u32;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:long s64;\toffset:24;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned long u64;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:char name[8];\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] tail;\toffset:52;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * where;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:__u8 saddr[4];\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:__u8 saddr_v6[16];\toffset:68;\tsize:16;\tsigned:0;\n"
	"\tfield:void * sk;\toffset:84;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t cpumask;\toffset:92;\tsize:4;\tsigned:0;\n"
	"\tfield:const char *const * argv;\toffset:96;\tsize:8;\tsigned:0;\n"
	"\tfield:int num_chars;\toffset:104;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"%u\", REC->u8\n";

/* As the kernel lays it out: what is of any length lies behind. */
struct record {
	uint8_t overwritten[8];
	int8_t s8;
	uint8_t u8;
	int16_t s16;
	uint16_t u16;
	uint16_t gap;
	int32_t s32;
	uint32_t u32;
	int64_t s64;
	uint64_t u64;
	char name[8];
	uint32_t path;
	uint32_t tail;
	uint64_t where;
	uint8_t saddr[4];
	uint8_t saddr_v6[16];
	uint8_t sk[8];
	uint32_t cpumask;
	uint64_t argv;
	int32_t num_chars;
	char texts[2000];
} __attribute__((packed));

struct fixture {
	struct event_format format;
	struct record record;
	struct event_filter *filter;
	struct error error;
};

static void set_path(struct record *record, const char *text)
{
	size_t size = strlen(text) + 1;

	assert_true(size <= sizeof(record->texts));
	memcpy(record->texts, text, size);
	record->path = (uint32_t)(size << 16 | offsetof(struct record, texts));
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct record *record = &fixture->record;

	assert_non_null(fixture);
	assert_int_equal(event_format_parse(format_text, &fixture->format), 0);
	memset(record->overwritten, 0xee, sizeof(record->overwritten));
	record->s8 = -8;
	record->u8 = 200;
	record->s16 = -1600;
	record->u16 = 60000;
	record->s32 = -32;
	record->u32 = 4000000000;
	record->s64 = -64;
	record->u64 = UINT64_MAX - 1;
	memcpy(record->name, "bash", 5);
	set_path(record, "/usr/bin/true");
	memcpy(record->texts + 1000, "the tail", 9);
	record->tail = (uint32_t)(9 << 16 | (offsetof(struct record, texts) + 1000 -
					     offsetof(struct record, tail) - 4));
	record->where = KERNEL_TEXT_ADDRESS;
	memcpy(record->saddr, "\x7f\0\0\1", 4);
	scene = (struct filter_scene){
		.record = record,
		.record_bytes = sizeof(*record),
		.kernel_text = "in the kernel",
		.user_text = "in the program",
		.comm = "tester",
		.cpu = 3,
		.tid = 4711,
	};
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	event_filter_free(fixture->filter);
	event_format_release(&fixture->format);
	free(fixture);
	return 0;
}

static int compile_for(struct fixture *fixture, const char *event, const char *expression)
{
	event_filter_free(fixture->filter);
	fixture->error.message[0] = '\0';
	fixture->filter = event_filter_new(event, 365);
	assert_non_null(fixture->filter);
	return event_filter_add(fixture->filter, expression, &fixture->format, &fixture->error);
}

static int compile(struct fixture *fixture, const char *expression)
{
	return compile_for(fixture, "test:thing", expression);
}

static bool evaluate(const struct fixture *fixture)
{
	uint32_t length;
	const struct wire_filter_part *parts = event_filter_get_parts(fixture->filter, &length);

	assert_in_range(length, 1, WIRE_MAX_PREDICATES);
	return filter_evaluate(parts, length);
}

static bool matches(struct fixture *fixture, const char *expression)
{
	int err = compile(fixture, expression);

	if (err)
		print_message("%s: %s\n", expression, fixture->error.message);
	assert_int_equal(err, 0);
	return evaluate(fixture);
}

static void expect(struct fixture *fixture, const char *expression, bool expected)
{
	if (matches(fixture, expression) != expected)
		fail_msg("%s is %s", expression, expected ? "false" : "true");
}

/* Each in turn is the only one that is true, of numbers below, at and above that of the record. */
static void every_operator_compares_every_size(void **state)
{
	static const struct {
		const char *field;
		const char *less, *equal, *greater;
	} cases[] = {
		{"s8", "-9", "-8", "0"},
		{"u8", "100", "200", "201"},
		{"s16", "-1601", "-1600", "1600"},
		{"u16", "1", "60000", "65535"},
		{"s32", "-2147483648", "-32", "2147483647"},
		{"u32", "2147483647", "4000000000", "0xffffffff"},
		{"s64", "-9223372036854775808", "-64", "9223372036854775807"},
		{"u64", "9223372036854775807", "18446744073709551614", "18446744073709551615"},
		{"CPU", "-1", "3", "4"},
		{"cpu", "0", "0x3", "2147483647"},
		{"common_cpu", "2", "03", "16"},
		{"common_pid", "-1", "4711", "4712"},
		{"common_type", "364", "365", "0xffff"},
		{"saddr", "0x0100007e", "0x0100007f", "0xffffffff"},
	};
	static const struct {
		const char *word;
		bool if_less, if_equal, if_greater; /* the field than the value */
	} operators[] = {
		{"==", false, true, false}, {"!=", true, false, true}, {"<", true, false, false},
		{"<=", true, true, false},  {">", false, false, true}, {">=", false, true, true},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(operators); j++) {
			const char *values[] = {cases[i].greater, cases[i].equal, cases[i].less};
			bool expected[] = {operators[j].if_less, operators[j].if_equal,
					   operators[j].if_greater};

			for (size_t k = 0; k < ARRAY_LENGTH(values); k++) {
				char expression[64];

				snprintf(expression, sizeof(expression), "%s %s %s", cases[i].field,
					 operators[j].word, values[k]);
				expect(*state, expression, expected[k]);
			}
		}
}

static void an_ampersand_asks_for_a_common_bit(void **state)
{
	expect(*state, "u8 & 8", true);
	expect(*state, "u8 & 4", false);
	expect(*state, "u8 & 0x100", false); /* what does not fit is left out */
	expect(*state, "u8 & 0xff && u8 & 0x80", true);
	expect(*state, "s8 & -1", true);
	expect(*state, "s32 & 31", false); /* ...11100000 */
	expect(*state, "s32 & 32", true);
	expect(*state, "u64 & 1", false);
	expect(*state, "u64 & 0x8000000000000000", true);
	expect(*state, "common_pid & 1", true);
}

/* As the kernel's comparisons, which truncate the value to the field's size. */
static void numbers_are_of_the_size_of_their_field(void **state)
{
	expect(*state, "s32 == 0xffffffe0", true);
	expect(*state, "s8 == 0xf8", true);
	expect(*state, "u8 == 456", true);
	expect(*state, "u8 == 0310", true);
	expect(*state, "common_type == 65901", true); /* 365 behind 16 bits */
	expect(*state, "u8 == 0XC8", true);
	expect(*state, "num_chars == 0", true);
	expect(*state, "sk == 0", true);
}

static void text_is_that_of_every_kind_of_field(void **state)
{
	struct fixture *fixture = *state;

	expect(fixture, "name == \"bash\"", true);
	expect(fixture, "name == 'bash'", true);
	expect(fixture, "name == \"bas\"", false);
	expect(fixture, "name == \"bashx\"", false);
	expect(fixture, "name != \"bash\"", false);
	expect(fixture, "name != \"sh\"", true);
	expect(fixture, "path == \"/usr/bin/true\"", true);
	expect(fixture, "path == \"/usr/bin/tru\"", false);
	expect(fixture, "tail == \"the tail\"", true);
	expect(fixture, "tail ~ \"*tail\"", true);
	expect(fixture, "where == \"in the kernel\"", true);
	expect(fixture, "COMM == \"tester\"", true);
	expect(fixture, "comm ~ \"test*\"", true);
	expect(fixture, "comm == \"\"", false);
	expect(fixture, "comm == 'a \" || (b'", false); /* the quote alone ends it */
	/* Of what is elsewhere in the record, the length is given. */
	fixture->record.path = (uint32_t)(4 << 16 | offsetof(struct record, texts));
	expect(fixture, "path == \"/usr\"", true);
	fixture->record.where = USER_TEXT_ADDRESS;
	expect(fixture, "where.ustring == \"in the program\"", true);
	expect(fixture, "where.ustring ~ '*gram'", true);
	/* All eight bytes of an array may be text; what is behind is none of it. */
	memcpy(fixture->record.name, "12345678", 8);
	expect(fixture, "name == \"12345678\"", true);
	expect(fixture, "name ~ \"*8\"", true);
}

/* Neither == nor != holds for what cannot be read; what negates them does. */
static void what_cannot_be_read_does_not_match(void **state)
{
	struct fixture *fixture = *state;

	expect(fixture, "where.ustring == \"in the kernel\"", false);
	expect(fixture, "where.ustring != \"in the kernel\"", false);
	expect(fixture, "!where.ustring != \"in the kernel\"", true);
	fixture->record.where = 0;
	expect(fixture, "where != \"x\"", false);
	expect(fixture, "!(where == \"x\")", true);
	scene.record_bytes = 48;
	expect(fixture, "path == \"x\" || path != \"x\"", false);
	expect(fixture, "u64 != 7", true);
	scene.record_bytes = 39;
	expect(fixture, "u64 != 7", false);
}

static void patterns_are_the_kernels(void **state)
{
	static const struct {
		const char *pattern;
		bool matches; /* "/usr/bin/true" */
	} cases[] = {
		{"/usr/bin/true", true},
		{"*", true},
		{"**", true},
		{"*/true", true},
		{"*/tru", false},
		{"/usr/*", true},
		{"/usr", false},
		{"*bin*", true},
		{"*sbin*", false},
		{"/*/*/true", true},
		{"/*/*/*/true", false},
		{"/usr/bin/true*", true},
		{"*/usr/bin/true", true},
		{"/u?r/bin/t??e", true},
		{"/u?r/bin/t?e", false},
		{"?*", true},
		{"/usr/[abc]in/true", true},
		{"/usr/[!abc]in/true", false},
		{"/usr/[!x-z]in/true", true},
		{"/usr/[a-c]in/true", true},
		{"/usr/[c-a]in/true", false},
		{"/usr/[b]in/[t]rue", true},
		{"/usr/[]b]in/true", true},
		{"/usr/[b-]in/true", true},
		{"/usr/[bin/true", false}, /* a [ that nothing closes is one */
		{"/usr/\\bin/true", true},
		{"/usr/\\?in/true", false},
		{"/usr/bin/true\\", true},
		{"!*/true", false},
		{"!*/false", true},
		{"!", true},
		{"", false},
		{"*t*t*", false},
		{"*r*r*e", true},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char expression[64];

		snprintf(expression, sizeof(expression), "path ~ \"%s\"", cases[i].pattern);
		expect(fixture, expression, cases[i].matches);
	}
	set_path(&fixture->record, "[x");
	expect(fixture, "path ~ \"[x\"", true);
	expect(fixture, "path ~ \"?x\"", true);
	expect(fixture, "path == \"?x\"", false);
	set_path(&fixture->record, "a*]");
	expect(fixture, "path ~ \"a\\*[]]\"", true);
	/* That the kernel takes for text. */
	set_path(&fixture->record, "0abc");
	expect(fixture, "path ~ \"0*\"", false);
	expect(fixture, "path ~ \"?abc\"", true);
	set_path(&fixture->record, "");
	expect(fixture, "path ~ \"*\"", true);
	expect(fixture, "path ~ \"?\"", false);
	expect(fixture, "path == \"\"", true);
	set_path(&fixture->record, "\xc3\xa4");
	expect(fixture, "path ~ \"??\"", true);
	expect(fixture, "path ~ \"[\xc3]\xa4\"", true);
}

/* fnmatch() as the oracle, with what both read alike. */
static void patterns_match_what_those_of_a_shell_do(void **state)
{
	static const char *const parts[] = {"a", "b", "*", "?", "[ab]", "[!a]"};
	static const char *const texts[] = {"",     "a",    "b",   "ab",      "ba",
					    "aab",  "abab", "bbb", "aba",     "abba",
					    "babc", "cabc", "c",   "aaaaaaaa"};
	struct fixture *fixture = *state;

	for (unsigned number = 0; number < 6 * 6 * 6 * 6; number++) {
		char pattern[32] = "";
		char expression[64];

		for (unsigned rest = number, i = 0; i < 4; i++, rest /= 6)
			strcat(pattern, parts[rest % 6]);
		snprintf(expression, sizeof(expression), "path ~ \"%s\"", pattern);
		assert_int_equal(compile(fixture, expression), 0);
		for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
			bool expected = !fnmatch(pattern, texts[i], 0);

			set_path(&fixture->record, texts[i]);
			if (evaluate(fixture) != expected)
				fail_msg("'%s' ~ '%s' is not %d", texts[i], pattern, expected);
		}
	}
}

static void text_is_bounded(void **state)
{
	struct fixture *fixture = *state;
	char text[1500];
	char expression[128];
	char pattern[70];

	memset(text, 'x', sizeof(text));
	text[WIRE_FILTER_TEXT_BYTES - 1] = '\0';
	text[WIRE_FILTER_TEXT_BYTES - 2] = 'e';
	set_path(&fixture->record, text);
	expect(fixture, "path ~ \"*xe\"", true);
	text[WIRE_FILTER_TEXT_BYTES - 1] = 'y';
	text[WIRE_FILTER_TEXT_BYTES] = '\0';
	set_path(&fixture->record, text);
	expect(fixture, "path ~ \"*xe\"", true); /* the y is not looked at */
	memset(pattern, 'x', sizeof(pattern));
	pattern[WIRE_MAX_PATTERN] = '\0';
	set_path(&fixture->record, pattern);
	snprintf(expression, sizeof(expression), "path ~ \"*%s*\"", pattern);
	expect(fixture, expression, true);
	snprintf(expression, sizeof(expression), "path == \"%s\"", pattern);
	expect(fixture, expression, true);
	set_path(&fixture->record, pattern + 1);
	expect(fixture, expression, false);
	pattern[WIRE_MAX_PATTERN] = 'x';
	pattern[WIRE_MAX_PATTERN + 1] = '\0';
	snprintf(expression, sizeof(expression), "path == \"%s\"", pattern);
	assert_int_equal(compile(fixture, expression), -EINVAL);
	assert_non_null(strstr(fixture->error.message, "more than 63 characters"));
}

/* A formula over four bits of a number, for all its values; C evaluates the same. */
#define A(n) ((n)&1)
#define B(n) ((n)&2)
#define C(n) ((n)&4)
#define D(n) ((n)&8)
#define FORMULA(text)       \
	{                   \
#text, text \
	}

static void logic_is_that_of_c(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned n = 0; n < 16; n++) {
		const struct {
			const char *text;
			bool expected;
		} cases[] = {
			FORMULA(A(n) && B(n)),
			FORMULA(A(n) || B(n)),
			FORMULA(A(n) || (B(n) && C(n))),
			FORMULA((A(n) || B(n)) && C(n)),
			FORMULA(A(n) && (B(n) || C(n)) && D(n)),
			FORMULA(!A(n)),
			FORMULA(!(A(n) && B(n))),
			FORMULA(!(A(n) || B(n)) && !C(n)),
			FORMULA(!(!A(n) && (B(n) || !(C(n) && D(n))))),
			FORMULA(!!(A(n) || B(n))),
			FORMULA(((((A(n))))) && D(n)),
			FORMULA((A(n) && B(n)) || (C(n) && D(n))),
			FORMULA((A(n) || B(n)) && (C(n) || D(n))),
			FORMULA(!(A(n) || !B(n)) || !(C(n) || D(n))),
			FORMULA((A(n) && B(n) && C(n)) || (!A(n) && !B(n) && !C(n)) || D(n)),
		};
		/* && binds stronger than ||, without parentheses. */
		static const char *const bare = "u8 & 1 || u8 & 2 && u8 & 4 || u8 & 8";

		fixture->record.u8 = (uint8_t)n;
		expect(fixture, bare, A(n) || (B(n) && C(n)) || D(n));
		expect(fixture, "!u8 & 1 && u8 & 2", !A(n) && B(n));
		for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
			struct text expression = {0};

			/* "A(n)" as a comparison */
			for (const char *at = cases[i].text; *at; at++)
				if (*at >= 'A' && *at <= 'D') {
					text_printf(&expression, "u8 & %d", 1 << (*at - 'A'));
					at += 3;
				} else {
					text_append_char(&expression, *at);
				}
			expect(fixture, expression.data, cases[i].expected);
			text_release(&expression);
		}
	}
}

/* What is decided already is not looked at. */
static void the_rest_of_a_decided_filter_is_skipped(void **state)
{
	struct fixture *fixture = *state;

	expect(fixture, "u8 == 1 && path == \"x\"", false);
	expect(fixture, "u8 == 200 || path == \"x\"", true);
	expect(fixture, "!(u8 == 200 || path == \"x\") && path == \"y\"", false);
	assert_int_equal(scene.num_copies, 0);
	expect(fixture, "u8 == 200 && path == \"x\"", false);
	assert_int_equal(scene.num_copies, 1);
}

static void space_does_not_matter(void **state)
{
	expect(*state, "u8==200&&name=='bash'", true);
	expect(*state, "\t( u8\n==  200 )&&! (name  ~'x*' )  ", true);
}

static void further_expressions_narrow_it_down(void **state)
{
	struct fixture *fixture = *state;
	static const char *const more[] = {"u8 > 100 || u8 < 50", "s8 < 0 && s16 < 0",
					   "where.ustring ~ \"*\" || u8 == 200", "u8 & 8"};

	assert_true(matches(fixture, "name == 'x' || name == \"bash\""));
	for (size_t i = 0; i < ARRAY_LENGTH(more); i++) {
		assert_int_equal(event_filter_add(fixture->filter, more[i], &fixture->format,
						  &fixture->error),
				 0);
		assert_true(evaluate(fixture));
	}
	/* The kernel is asked about all of it, and older ones know no .ustring. */
	assert_string_equal(event_filter_get_text(fixture->filter),
			    "(name == 'x' || name == \"bash\") && (u8 > 100 || u8 < 50) && "
			    "(s8 < 0 && s16 < 0) && (where ~ \"*\" || u8 == 200) && (u8 & 8)");
	fixture->record.u8 = 7;
	assert_false(evaluate(fixture));
	fixture->record.u8 = 200;
	fixture->record.s16 = 5;
	assert_false(evaluate(fixture));
	fixture->record.s16 = -5;
	fixture->record.name[0] = 'c';
	assert_false(evaluate(fixture));
	fixture->record.name[0] = 'b';
	assert_true(evaluate(fixture));
}

static void comparisons_and_depth_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct text expression = {0};

	text_append_string(&expression, "u8 == 0");
	for (int i = 1; i < WIRE_MAX_PREDICATES; i++)
		text_printf(&expression, " || u8 == %d", i == 15 ? 200 : i);
	expect(fixture, expression.data, true);
	fixture->record.u8 = 16;
	expect(fixture, expression.data, false);
	text_append_string(&expression, " || u8 == 16");
	assert_int_equal(compile(fixture, expression.data), -E2BIG);
	assert_non_null(strstr(fixture->error.message, "more than 16 comparisons"));
	text_truncate(&expression, 0);
	for (int i = 0; i < 32; i++)
		text_append_char(&expression, '(');
	text_append_string(&expression, "u8 == 16");
	for (int i = 0; i < 32; i++)
		text_append_char(&expression, ')');
	expect(fixture, expression.data, true);
	text_printf(&expression, " && (%s)", "u8 == 16");
	expect(fixture, expression.data, true);
	text_truncate(&expression, 0);
	for (int i = 0; i < 100000; i++)
		text_append_string(&expression, "!(");
	assert_int_equal(compile(fixture, expression.data), -E2BIG);
	assert_non_null(strstr(fixture->error.message, "more than 32 nested parentheses"));
	text_release(&expression);
}

static void what_is_wrong_is_said_and_where(void **state)
{
	static const struct {
		const char *expression;
		unsigned column;
		const char *message;
	} cases[] = {
		{"", 1, "expected a field's name"},
		{"  ", 3, "expected a field's name"},
		{"== 3", 1, "expected a field's name"},
		{"u8 == 1 &&", 11, "expected a field's name"},
		{"u8 == 1 || ", 12, "expected a field's name"},
		{"&& u8 == 1", 1, "expected a field's name"},
		{"()", 2, "expected a field's name"},
		{"u7 == 1", 1, "no field 'u7'; did you mean "},
		{"nmae == 'x'", 1, "did you mean 'name'? There are s8, u8, "},
		{"xyzzyxyzzy == 1", 1, "no field 'xyzzyxyzzy'; there are s8, u8, "},
		{"u8 == 1 && foo.bar == 2", 12, "no field 'foo'"},
		{"u8", 3, "expected an operator: ==, !=, <"},
		{"name", 5, "expected an operator: ==, != or ~"},
		{"u8 = 1", 4, "expected an operator"},
		{"u8 => 1", 4, "expected an operator"},
		{"u8 ! = 1", 4, "expected an operator"},
		{"name !~ 'x'", 6, "expected an operator"},
		{"1 == u8", 1, "no field '1'"},
		{"u8 ~ 1", 4, "'~' does not apply to a number"},
		{"name < 'x'", 6, "'<' does not apply to text, which has ==, != and ~"},
		{"name & 1", 6, "'&' does not apply to text"},
		{"CPU & 1", 5, "'&' does not apply to the number of a CPU"},
		{"u8 ==", 6, "expected a number, such as"},
		{"u8 == x", 7, "expected a number"},
		{"u8 == +1", 7, "expected a number"},
		{"s8 == - 1", 7, "expected a number"},
		{"u8 === 1", 6, "expected a number"},
		{"u8 == 'c'", 7, "is a number: write it without quotes"},
		{"u8 == -1", 7, "is unsigned"},
		{"common_type == -1", 16, "is unsigned"},
		{"u8 == 1a", 7, "'1a' is not a number"},
		{"u8 == 08", 7, "'08' is not a number"},
		{"u8 == 0x", 7, "'0x' is not a number"},
		{"u8 == 0b1", 7, "'0b1' is not a number"},
		{"s8 == -0b1", 7, "'-0b1' is not a number"},
		{"u64 == 18446744073709551616", 8, "more than 64 bits"},
		{"s64 == 9223372036854775808", 8, "more than 63 beside the sign"},
		{"u64 == 123456789012345678901234567890", 8, "too long"},
		{"name == bash", 9, "expected a value in quotes"},
		{"name == 1", 9, "expected a value in quotes"},
		{"name == \"bash", 9, "the closing \" is missing"},
		{"name == 'bash\"", 9, "the closing ' is missing"},
		{"u8 == 1 & s8 == 2", 9, "expected &&, || or the end"},
		{"u8 == 1 | s8 == 2", 9, "expected &&, || or the end"},
		{"u8 == 1 s8 == 2", 9, "expected &&, || or the end"},
		{"u8 == 1;", 8, "expected &&, || or the end"},
		{"(u8 == 1) (s8 == 2)", 11, "expected &&, || or the end"},
		{"u8 == 1)", 8, "the '(' of this ')' is missing"},
		{"u8 == 1 && (s8 == 2", 20, "expected &&, || or the ')' of column 12"},
		{"u8.ustring == 1", 1, "is not an address of text"},
		{"name.ustring == 'x'", 1, "is not an address of text"},
		{"comm.ustring == 'x'", 1, "is not an address of text"},
		{"sk.function == schedule", 3, "functions cannot be compared"},
		{"u8 & CPUS{1}", 6, "sets of CPUs cannot be compared"},
		{"cpumask == 1", 1, "'cpumask' is neither a number nor text"},
		{"saddr_v6 == 1", 1, "'saddr_v6' is neither"},
		{"argv == 1", 1, "'argv' is neither"},
		{"common_flags & 1", 1, "'common_flags' is not known yet"},
		{"stacktrace == 1", 1, "'stacktrace' is not known yet"},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char position[128];
		int err = compile(fixture, cases[i].expression);

		snprintf(position, sizeof(position),
			 "test:thing: filter '%s', column %u: ", cases[i].expression,
			 cases[i].column);
		if (err != -EINVAL ||
		    strncmp(fixture->error.message, position, strlen(position)) != 0 ||
		    !strstr(fixture->error.message, cases[i].message))
			fail_msg("%s: %d, %s", cases[i].expression, err, fixture->error.message);
	}
}

static void what_is_said_is_a_line(void **state)
{
	struct fixture *fixture = *state;
	struct text expression = {0};

	assert_int_equal(compile(fixture, "u8 == 1\n\t&& nothing == 2"), -EINVAL);
	assert_string_equal(
		fixture->error.message,
		"test:thing: filter 'u8 == 1  && nothing == 2', column 13: no field 'nothing'; there are s8, u8, s16, u16, s32, u32, s64, u64, name, path, "
		"tail, where, saddr, saddr_v6, sk, cpumask, argv, num_chars, COMM and CPU");
	for (int i = 0; i < 10000; i++)
		text_append_string(&expression, "xyzzy");
	assert_int_equal(compile(fixture, expression.data), -EINVAL);
	assert_non_null(strstr(fixture->error.message, "xyzzy', column 1: no field"));
	text_release(&expression);
}

/* What it is given is in the program's memory, and copied only when programs have run. */
static void texts_of_system_calls_are_the_programs(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(compile_for(fixture, "syscalls:sys_enter_openat", "where == 'x'"),
			 -EINVAL);
	assert_non_null(strstr(fixture->error.message, "expected where.ustring"));
	assert_int_equal(compile_for(fixture, "syscalls:sys_enter_openat", "path == 'x'"), -EINVAL);
	assert_non_null(strstr(fixture->error.message, "is not known yet"));
	assert_int_equal(compile_for(fixture, "syscalls:sys_enter_openat", "where.ustring == 'x'"),
			 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(every_operator_compares_every_size),
		TEST(an_ampersand_asks_for_a_common_bit),
		TEST(numbers_are_of_the_size_of_their_field),
		TEST(text_is_that_of_every_kind_of_field),
		TEST(what_cannot_be_read_does_not_match),
		TEST(patterns_are_the_kernels),
		TEST(patterns_match_what_those_of_a_shell_do),
		TEST(text_is_bounded),
		TEST(logic_is_that_of_c),
		TEST(the_rest_of_a_decided_filter_is_skipped),
		TEST(space_does_not_matter),
		TEST(further_expressions_narrow_it_down),
		TEST(comparisons_and_depth_are_bounded),
		TEST(what_is_wrong_is_said_and_where),
		TEST(what_is_said_is_a_line),
		TEST(texts_of_system_calls_are_the_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
