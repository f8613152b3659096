/* Texts and numbers that a filter compares, in the kernel's memory and the program's. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include "maps.h"
#include "event_filter.h"
#undef const
/* clang-format on */

#define USER_TEXT 0x7f0000001000ull

static struct wire_filter_part part;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(filter_scratches);
	FAKE_ARRAY(event_filter, 2);
	memset(&part, 0, sizeof(part));
	part.predicate.when_true = WIRE_FILTER_PASSES;
	part.predicate.when_false = WIRE_FILTER_FAILS;
	part.predicate.holds_for = WIRE_IS_EQUAL;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static bool passes(void *record)
{
	uint32_t first = 0;

	assert_int_equal(fake_map_update(fake_map_find(&event_filter), &first, &part), 0);
	return passes_filter(record);
}

/* The text itself. */
static void ask_for(uint8_t kind, const char *text)
{
	part.predicate.kind = kind;
	memset(&part.pattern, 0, sizeof(part.pattern));
	part.pattern.length = (uint32_t)strlen(text);
	for (uint32_t i = 0; i < part.pattern.length; i++)
		part.pattern.accepts[(uint8_t)text[i]] |= 1ull << (i + 1);
}

static void text_may_be_in_the_programs_memory(void **state _unused_)
{
	static const char text[] = "order.txt";
	uint64_t record[] = {USER_TEXT};

	fake_memory_add(USER_TEXT, text, sizeof(text));
	ask_for(WIRE_PREDICATE_USER_POINTER, "order.txt");
	assert_true(passes(record));
	ask_for(WIRE_PREDICATE_USER_POINTER, "order.tx");
	assert_false(passes(record));
	/* What cannot be read passes no filter. */
	record[0] = 0x10;
	part.predicate.holds_for = WIRE_IS_GREATER;
	assert_false(passes(record));
	/* The kernel's is elsewhere. */
	record[0] = (uintptr_t)text;
	part.predicate.holds_for = WIRE_IS_EQUAL;
	ask_for(WIRE_PREDICATE_USER_POINTER, "order.txt");
	assert_false(passes(record));
	ask_for(WIRE_PREDICATE_KERNEL_POINTER, "order.txt");
	assert_true(passes(record));
}

/* Up to its NUL, or as long as the array is. */
static void text_in_the_record_ends_with_its_array(void **state _unused_)
{
	char record[16] = "abcdefgh";

	part.predicate.size = 4;
	ask_for(WIRE_PREDICATE_ARRAY, "abcd");
	assert_true(passes(record));
	ask_for(WIRE_PREDICATE_ARRAY, "abcde");
	assert_false(passes(record));
	record[2] = '\0';
	ask_for(WIRE_PREDICATE_ARRAY, "ab");
	assert_true(passes(record));
	part.predicate.offset = 3;
	ask_for(WIRE_PREDICATE_ARRAY, "defg");
	assert_true(passes(record));
}

/* As much as the kernel's own filters look at. */
static void long_texts_are_cut(void **state _unused_)
{
	static char text[WIRE_FILTER_TEXT_BYTES + 8];
	uint64_t record[] = {(uintptr_t)text};

	memset(text, 'x', sizeof(text) - 1);
	ask_for(WIRE_PREDICATE_KERNEL_POINTER, "");
	/* One star: all of it is x. */
	part.pattern.stars = 1;
	assert_true(passes(record));
	/* 1,023 characters; a pattern for just as many is not possible, one that ends with y is. */
	ask_for(WIRE_PREDICATE_KERNEL_POINTER, "y");
	part.pattern.stars = 1;
	assert_false(passes(record));
	text[WIRE_FILTER_TEXT_BYTES - 1] = 'y';
	assert_false(passes(record));
	text[WIRE_FILTER_TEXT_BYTES - 2] = 'y';
	assert_true(passes(record));
	/* Longer than there is room for is none. */
	assert_int_equal(filter_copy_text(NULL, (uintptr_t)text, WIRE_FILTER_TEXT_BYTES, 0), 0);
	assert_int_equal(filter_copy_text(NULL, (uintptr_t)text, WIRE_FILTER_TEXT_BYTES + 1, 0),
			 -1);
}

static void what_runs_may_be_asked_for(void **state _unused_)
{
	char record[8] = "";

	fake_kernel.comm = "nginx";
	ask_for(WIRE_PREDICATE_COMM, "nginx");
	assert_true(passes(record));
	ask_for(WIRE_PREDICATE_COMM, "ngin");
	assert_false(passes(record));
	fake_kernel.cpu = 3;
	part.predicate.kind = WIRE_PREDICATE_CPU;
	part.predicate.size = 4;
	part.predicate.value = 3;
	assert_true(passes(record));
	part.predicate.value = 2;
	assert_false(passes(record));
	fake_kernel.pid_tgid = 9ull << 32 | 7;
	part.predicate.kind = WIRE_PREDICATE_TID;
	part.predicate.value = 7;
	assert_true(passes(record));
	part.predicate.value = 9;
	assert_false(passes(record));
}

static void numbers_are_as_wide_as_their_field(void **state _unused_)
{
	uint64_t record[2] = {0xfffffffffffffffeull, 5};

	part.predicate.kind = WIRE_PREDICATE_NUMBER;
	for (uint32_t size = 1; size <= 8; size *= 2) {
		part.predicate.size = (uint16_t)size;
		part.predicate.is_signed = 1;
		part.predicate.value = (uint64_t)-2;
		assert_true(passes(record));
		part.predicate.is_signed = 0;
		assert_int_equal(passes(record), size == 8);
	}
	part.predicate.offset = 8;
	part.predicate.value = 5;
	assert_true(passes(record));
	/* More than a number has is read as a number. */
	part.predicate.size = 9;
	part.predicate.value = 5;
	assert_int_equal(filter_read(NULL, (uintptr_t)&record[1], 9, &(wire_u64){0}), 0);
	assert_int_equal(filter_read(NULL, 0, 8, &(wire_u64){7}), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(text_may_be_in_the_programs_memory),
		TEST(text_in_the_record_ends_with_its_array),
		TEST(long_texts_are_cut),
		TEST(what_runs_may_be_asked_for),
		TEST(numbers_are_as_wide_as_their_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
