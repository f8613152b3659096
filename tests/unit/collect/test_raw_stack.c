#include "collect/raw_stack.h"

#include "unit.h"

#include <string.h>

#define WALK_INLINE static inline
#include "unwind/walk.h"

#define HANDLER_STACK 0x602000ull       /* what is left of it: 32 words */
#define STACK         0x7ffc00001000ull /* from where it was interrupted: 8 words */
#define HANDLER       0x401000ull
#define TRAMPOLINE    0x402000ull
#define INTERRUPTED   0x403000ull
#define OUTERMOST     0x404000ull

enum { HANDLER_WORDS = 32, STACK_WORDS = 8 };
enum { RECORD_SIZE = offsetof(struct wire_raw_sample, bytes) + (HANDLER_WORDS + STACK_WORDS) * 8 };

struct scene {
	struct walk walk; /* first: what the walk hands to its callbacks */
	struct wire_raw_sample record;
};

static inline int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret)
{
	return raw_stack_read(&((struct scene *)walk)->record, address, ret);
}

static inline int walk_find_mapping(struct walk *walk, wire_u64 pc _unused_)
{
	walk->mapping = (struct unwind_mapping){
		.start = HANDLER, .end = OUTERMOST + 0x1000, .flags = UNWIND_MAPPING_HAS_TABLE};
	return 1;
}

static inline const struct unwind_rule *walk_find_rule(struct walk *walk _unused_,
						       wire_u64 elf_address)
{
	static const struct unwind_rule in_function = {.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8};
	static const struct unwind_rule in_signal = {.cfa_op = UNWIND_CFA_SIGNAL};
	static const struct unwind_rule at_end = {.cfa_op = UNWIND_CFA_STOP};

	if (elf_address >= OUTERMOST)
		return &at_end;
	return elf_address >> 12 == TRAMPOLINE >> 12 ? &in_signal : &in_function;
}

static void put_word(struct wire_raw_sample *record, size_t number, wire_u64 value)
{
	memcpy(record->bytes + number * sizeof(value), &value, sizeof(value));
}

/* A handler runs on its own stack; its caller is the trampoline, above which lies the ucontext. */
static struct wire_raw_sample *make_record(void)
{
	struct wire_raw_sample *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	record->registers.pc = HANDLER;
	record->registers.sp = HANDLER_STACK;
	record->num_bytes = HANDLER_WORDS * 8;
	record->interrupted_sp = STACK;
	record->num_interrupted_bytes = STACK_WORDS * 8;
	put_word(record, 0, TRAMPOLINE + 1);
	put_word(record, 1 + WALK_CONTEXT_RSP / 8, STACK);
	put_word(record, 1 + WALK_CONTEXT_RIP / 8, INTERRUPTED);
	put_word(record, HANDLER_WORDS, OUTERMOST + 1);
	return record;
}

static void a_walk_leaves_the_handlers_stack_for_the_interrupted_one(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();
	struct scene *scene = calloc(1, sizeof(*scene));
	wire_u64 pcs[WIRE_MAX_FRAMES];

	assert_non_null(scene);
	scene->record = *record;
	walk_begin(&scene->walk, &record->registers);
	while (!walk_step(&scene->walk, pcs))
		;
	assert_int_equal(scene->walk.end, WALK_COMPLETE);
	assert_int_equal(scene->walk.num_frames, 4);
	assert_true(pcs[0] == (HANDLER | WIRE_PC_EXACT));
	assert_true(pcs[1] == TRAMPOLINE + 1);
	assert_true(pcs[2] == (INTERRUPTED | WIRE_PC_EXACT));
	assert_true(pcs[3] == OUTERMOST + 1);
	free(scene);
	free(record);
}

static void words_are_read_up_to_the_end_of_each_stack(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();
	wire_u64 word;

	put_word(record, HANDLER_WORDS - 1, 11);
	put_word(record, HANDLER_WORDS + STACK_WORDS - 1, 22);
	assert_int_equal(raw_stack_read(record, HANDLER_STACK + HANDLER_WORDS * 8 - 8, &word), 0);
	assert_int_equal(word, 11);
	assert_int_equal(raw_stack_read(record, STACK + STACK_WORDS * 8 - 8, &word), 0);
	assert_int_equal(word, 22);
	free(record);
}

static void nothing_is_read_outside_the_stacks(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();
	wire_u64 word;

	assert_int_equal(raw_stack_read(record, HANDLER_STACK - 8, &word), -1);
	assert_int_equal(raw_stack_read(record, HANDLER_STACK + HANDLER_WORDS * 8 - 7, &word), -1);
	assert_int_equal(raw_stack_read(record, STACK - 1, &word), -1);
	assert_int_equal(raw_stack_read(record, STACK + STACK_WORDS * 8 - 7, &word), -1);
	assert_int_equal(raw_stack_read(record, UINT64_MAX, &word), -1);
	free(record);
}

static void a_stack_of_less_than_a_word_holds_none(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();
	wire_u64 word;

	record->num_bytes = 7;
	record->num_interrupted_bytes = 0;
	assert_int_equal(raw_stack_read(record, HANDLER_STACK, &word), -1);
	assert_int_equal(raw_stack_read(record, STACK, &word), -1);
	free(record);
}

static void a_record_is_whole_when_it_holds_both_stacks(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();

	assert_int_equal(raw_stack_get_size(record), (HANDLER_WORDS + STACK_WORDS) * 8);
	assert_true(raw_stack_is_whole(record, RECORD_SIZE));
	assert_true(raw_stack_is_whole(record, RECORD_SIZE + 4)); /* rings round up */
	assert_false(raw_stack_is_whole(record, RECORD_SIZE - 1));
	assert_false(raw_stack_is_whole(record, sizeof(struct wire_sample)));
	free(record);
}

static void sizes_that_no_record_has_are_refused(void **state _unused_)
{
	struct wire_raw_sample *record = make_record();

	record->num_interrupted_bytes = WIRE_RAW_STACK_BYTES;
	assert_false(raw_stack_is_whole(record, SIZE_MAX));
	record->num_bytes = UINT32_MAX;
	record->num_interrupted_bytes = 2;
	assert_false(raw_stack_is_whole(record, SIZE_MAX));
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_leaves_the_handlers_stack_for_the_interrupted_one),
		cmocka_unit_test(words_are_read_up_to_the_end_of_each_stack),
		cmocka_unit_test(nothing_is_read_outside_the_stacks),
		cmocka_unit_test(a_stack_of_less_than_a_word_holds_none),
		cmocka_unit_test(a_record_is_whole_when_it_holds_both_stacks),
		cmocka_unit_test(sizes_that_no_record_has_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
