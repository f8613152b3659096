/*
 * What calls say of the steps of a user stack: which are asked for, which levels are left out or cut off, and which return
 * addresses are checked. Proofs and mappings are the test's.
 */
#define fp_step_check_step   prove_of_test
#define call_check_add       check_of_test
#define process_find_mapping find_mapping_of_test
#include "collect/stacks/stack_resolver.c"

#include "unit.h"

/* The code: functions of 0x100 bytes from 0x1000 on, in two files. */
static const struct mapping mappings[] = {
	{.start = 0x1000, .end = 0x2000, .file = 3, .file_offset = 0x500},
	{.start = 0x2000, .end = 0x3000, .file = 4},
	{.start = 0x3000, .end = 0x4000, .file = FILE_NONE},
};

const struct mapping *find_mapping_of_test(const struct process *process _unused_, uint64_t pc)
{
	for (size_t i = 0; i < ARRAY_LENGTH(mappings); i++)
		if (pc >= mappings[i].start && pc < mappings[i].end)
			return &mappings[i];
	return NULL;
}

/* By caller: its return address. What is not here is unproven. */
static struct {
	uint64_t callee_pc; /* 0: any */
	uint64_t return_address;
	enum call_proof proof;
} proofs[8];
static size_t num_proofs;
static struct {
	uint64_t callee_pc;
	uint64_t return_address;
} asked[16];
static size_t num_asked;
static size_t fail_asked; /* its number, from 1 on; 0: none */

int prove_of_test(struct fp_step_check *check, const struct process *process _unused_,
		  uint64_t callee_pc, uint64_t return_address, enum call_proof *ret)
{
	assert_non_null(check);
	asked[num_asked].callee_pc = callee_pc;
	asked[num_asked++].return_address = return_address;
	*ret = CALL_UNPROVEN;
	if (num_asked == fail_asked)
		return -ENOMEM;
	for (size_t i = 0; i < num_proofs; i++)
		if (proofs[i].return_address == return_address &&
		    (!proofs[i].callee_pc || proofs[i].callee_pc == callee_pc))
			*ret = proofs[i].proof;
	return 0;
}

static uint32_t checked_file;
static uint64_t checked_offset;
static size_t num_checked;

int check_of_test(struct call_check *check, uint32_t file, uint64_t offset)
{
	assert_non_null(check);
	checked_file = file;
	checked_offset = offset;
	num_checked++;
	return 0;
}

static struct stack_resolver *resolver;
static struct raw_stack raw;
static struct resolved_stack resolved;
static struct process process;

static int set_up(void **state _unused_)
{
	resolver = calloc(1, sizeof(*resolver));
	assert_non_null(resolver);
	resolver->fp_step_check = (struct fp_step_check *)&process;
	resolver->call_check = (struct call_check *)&process;
	num_proofs = num_asked = fail_asked = num_checked = 0;
	raw = (struct raw_stack){0};
	resolved = (struct resolved_stack){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	free(resolver);
	return 0;
}

static void say(uint64_t callee_pc, uint64_t return_address, enum call_proof proof)
{
	proofs[num_proofs].callee_pc = callee_pc;
	proofs[num_proofs].return_address = return_address;
	proofs[num_proofs++].proof = proof;
}

/* Innermost first. */
static void set_stack(const uint64_t *pcs, uint32_t count)
{
	memcpy(resolver->pcs, pcs, count * sizeof(*pcs));
	raw.num_pcs = count;
}

#define STACK(...)                                 \
	set_stack((const uint64_t[]){__VA_ARGS__}, \
		  sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static enum call_proof check_entry(void)
{
	enum call_proof proof;

	raw.left_out = 0;
	num_asked = 0;
	assert_int_equal(check_entry_step(resolver, &process, &raw, &proof), 0);
	return proof;
}

static void expect_asked(size_t number, uint64_t callee_pc, uint64_t return_address)
{
	assert_true(number < num_asked);
	assert_int_equal(asked[number].callee_pc, callee_pc);
	assert_int_equal(asked[number].return_address, return_address);
}

/* The innermost function has its own pc, a caller the call before its return address. */
static void a_step_is_asked_for_from_the_call(void **state _unused_)
{
	enum call_proof proof;

	STACK(0x1010, 0x1110, 0x1210 | WIRE_PC_EXACT, 0x1310 | WIRE_PC_FP_STEP);
	say(0, 0x1110, CALL_PROVEN);
	assert_int_equal(prove_step(resolver, &process, 0, 1, &proof), 0);
	expect_asked(0, 0x1010, 0x1110);
	assert_int_equal(proof, CALL_PROVEN);
	assert_int_equal(prove_step(resolver, &process, 1, 2, &proof), 0);
	expect_asked(1, 0x110f, 0x1210);
	assert_int_equal(proof, CALL_UNPROVEN);
	/* What a signal interrupted is where it was. */
	assert_int_equal(prove_step(resolver, &process, 2, 3, &proof), 0);
	expect_asked(2, 0x1210, 0x1310);
	resolver->fp_step_check = NULL;
	assert_int_equal(prove_step(resolver, &process, 0, 1, &proof), 0);
	assert_int_equal(proof, CALL_UNPROVEN);
	assert_int_equal(num_asked, 3);
}

static void only_a_step_at_the_entry_is_checked(void **state _unused_)
{
	STACK(0x1010, 0x1110);
	assert_int_equal(check_entry(), CALL_PROVEN);
	STACK(0x1010 | WIRE_PC_ENTRY_STEP);
	assert_int_equal(check_entry(), CALL_PROVEN);
	assert_int_equal(num_asked, 0);
	STACK(0x1010 | WIRE_PC_ENTRY_STEP, 0x1110);
	say(0, 0x1110, CALL_PROVEN);
	assert_int_equal(check_entry(), CALL_PROVEN);
	assert_int_equal(num_asked, 1);
	assert_int_equal(raw.num_pcs, 2);
	assert_int_equal(raw.left_out, 0);
}

/* What the top of the stack holds may be no return address. */
static void the_frame_pointers_caller_may_be_the_right_one(void **state _unused_)
{
	static const struct {
		enum call_proof by_top, by_fp;
		enum call_proof result;
		uint32_t left_out;
		uint32_t num_pcs;
	} cases[] = {
		{CALL_UNPROVEN, CALL_PROVEN, CALL_PROVEN, 1, 4},
		{CALL_DISPROVEN, CALL_PROVEN, CALL_PROVEN, 1, 4},
		{CALL_DISPROVEN, CALL_UNPROVEN, CALL_UNPROVEN, 1, 4},
		{CALL_UNPROVEN, CALL_UNPROVEN, CALL_PROVEN, 0, 4},
		{CALL_UNPROVEN, CALL_DISPROVEN, CALL_PROVEN, 0, 4},
		{CALL_DISPROVEN, CALL_DISPROVEN, CALL_DISPROVEN, 0, 1},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		STACK(0x1010 | WIRE_PC_ENTRY_STEP, 0x1110 | WIRE_PC_FP_STEP, 0x1210, 0x1310);
		num_proofs = 0;
		say(0, 0x1110, cases[i].by_top);
		say(0, 0x1210, cases[i].by_fp);
		assert_int_equal(check_entry(), cases[i].result);
		assert_int_equal(num_asked, 2);
		expect_asked(1, 0x1010, 0x1210);
		assert_int_equal(raw.left_out, cases[i].left_out);
		assert_int_equal(raw.num_pcs, cases[i].num_pcs);
	}
	/* There is no other caller. */
	STACK(0x1010 | WIRE_PC_ENTRY_STEP, 0x1110 | WIRE_PC_FP_STEP);
	assert_int_equal(check_entry(), CALL_DISPROVEN);
	assert_int_equal(num_asked, 1);
	assert_int_equal(raw.num_pcs, 1);
	STACK(0x1010 | WIRE_PC_ENTRY_STEP, 0x1110, 0x1210, 0x1310);
	assert_int_equal(check_entry(), CALL_DISPROVEN);
	assert_int_equal(num_asked, 1);
}

static void check_all(void)
{
	num_asked = 0;
	raw.left_out = 0;
	resolved = (struct resolved_stack){0};
	assert_int_equal(check_fp_steps(resolver, &process, &raw, &resolved), 0);
}

static void only_steps_by_frame_pointer_are_checked(void **state _unused_)
{
	STACK(0x1010, 0x1110 | WIRE_PC_FP_STEP, 0x1210, 0x1310 | WIRE_PC_FP_STEP);
	say(0, 0x1210, CALL_PROVEN);
	check_all();
	assert_int_equal(num_asked, 1);
	expect_asked(0, 0x110f, 0x1210);
	assert_int_equal(resolved.evidence.proof, CALL_PROVEN);
	assert_int_equal(raw.num_pcs, 4);
	/* Nothing is said of all, if nothing is said of one. */
	STACK(0x1010 | WIRE_PC_FP_STEP, 0x1110, 0x1210 | WIRE_PC_FP_STEP, 0x1310);
	say(0, 0x1110, CALL_UNPROVEN);
	say(0, 0x1310, CALL_PROVEN);
	check_all();
	assert_int_equal(num_asked, 2);
	assert_int_equal(resolved.evidence.proof, CALL_UNPROVEN);
	assert_int_equal(raw.num_pcs, 4);
}

static void a_disproven_step_ends_the_stack(void **state _unused_)
{
	STACK(0x1010 | WIRE_PC_FP_STEP, 0x1110 | WIRE_PC_FP_STEP, 0x1210 | WIRE_PC_FP_STEP, 0x1310);
	say(0, 0x1110, CALL_PROVEN);
	say(0, 0x1210, CALL_DISPROVEN);
	check_all();
	assert_int_equal(num_asked, 2);
	assert_int_equal(raw.num_pcs, 2);
	assert_int_equal(resolved.evidence.proof, CALL_DISPROVEN);
	assert_false(resolved.has_unmapped);
}

/* The last address of a mapping may follow a call. */
static void nothing_is_called_from_where_no_code_is(void **state _unused_)
{
	STACK(0x1010 | WIRE_PC_FP_STEP, 0x4000 | WIRE_PC_FP_STEP, 0x4001);
	say(0, 0x4000, CALL_PROVEN);
	say(0, 0x4001, CALL_PROVEN);
	check_all();
	assert_int_equal(raw.num_pcs, 2);
	assert_int_equal(resolved.evidence.proof, CALL_DISPROVEN);
	assert_true(resolved.has_unmapped);
}

/* Most code of 32 bits has no frame pointers. */
static void code_of_32_bits_needs_proof_of_each_step(void **state _unused_)
{
	STACK(0x1010, 0x1110, 0x1210, 0x1310);
	say(0, 0x1110, CALL_PROVEN);
	raw.is_32_bit = true;
	check_all();
	assert_int_equal(num_asked, 2);
	assert_int_equal(raw.num_pcs, 2);
	assert_int_equal(resolved.evidence.proof, CALL_UNPROVEN);
}

/* Of a level that is left out no step is asked for. */
static void a_level_that_is_left_out_has_no_step(void **state _unused_)
{
	STACK(0x1010 | WIRE_PC_ENTRY_STEP, 0x1110 | WIRE_PC_FP_STEP, 0x1210 | WIRE_PC_FP_STEP,
	      0x1310);
	say(0x1010, 0x1110, CALL_DISPROVEN);
	say(0x1010, 0x1210, CALL_PROVEN);
	say(0, 0x1310, CALL_PROVEN);
	check_all();
	assert_int_equal(raw.left_out, 1);
	assert_int_equal(num_asked, 3);
	expect_asked(2, 0x120f, 0x1310);
	assert_int_equal(resolved.evidence.proof, CALL_PROVEN);
}

static void errors_end_the_check(void **state _unused_)
{
	STACK(0x1010 | WIRE_PC_ENTRY_STEP, 0x1110 | WIRE_PC_FP_STEP, 0x1210 | WIRE_PC_FP_STEP,
	      0x1310);
	for (fail_asked = 1; fail_asked <= 3; fail_asked++) {
		num_asked = 0;
		raw.left_out = 0;
		raw.num_pcs = 4;
		assert_int_equal(check_fp_steps(resolver, &process, &raw, &resolved), -ENOMEM);
		assert_int_equal(num_asked, fail_asked);
	}
}

static size_t check_level(uint32_t level)
{
	num_checked = 0;
	assert_int_equal(check_call(resolver, &raw, &process, level), 0);
	return num_checked;
}

/* Neither what a signal has interrupted, nor the trampoline before it. */
static void return_addresses_in_files_are_checked(void **state _unused_)
{
	STACK(0x1010, 0x1110 | WIRE_PC_FP_STEP, 0x1210, 0x1310 | WIRE_PC_EXACT, 0x2000, 0x2110,
	      0x3110, 0x9000);
	assert_int_equal(check_level(0), 0);
	assert_int_equal(check_level(1), 1);
	assert_int_equal(checked_file, 3);
	assert_int_equal(checked_offset, 0x610);
	assert_int_equal(check_level(2), 0);
	assert_int_equal(check_level(3), 0);
	/* The call is the last instruction of its mapping. */
	assert_int_equal(check_level(4), 1);
	assert_int_equal(checked_file, 3);
	assert_int_equal(checked_offset, 0x1500);
	assert_int_equal(check_level(5), 1);
	assert_int_equal(checked_file, 4);
	assert_int_equal(checked_offset, 0x110);
	assert_int_equal(check_level(6), 0);
	assert_int_equal(check_level(7), 0);
	/* The outermost one has none behind it. */
	raw.num_pcs = 3;
	assert_int_equal(check_level(2), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_step_is_asked_for_from_the_call),
		TEST(only_a_step_at_the_entry_is_checked),
		TEST(the_frame_pointers_caller_may_be_the_right_one),
		TEST(only_steps_by_frame_pointer_are_checked),
		TEST(a_disproven_step_ends_the_stack),
		TEST(nothing_is_called_from_where_no_code_is),
		TEST(code_of_32_bits_needs_proof_of_each_step),
		TEST(a_level_that_is_left_out_has_no_step),
		TEST(errors_end_the_check),
		TEST(return_addresses_in_files_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
