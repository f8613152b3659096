/*
 * Rules that come from instructions: which address gets one, and which code gets none.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/x86_64/code_rules.h"

#define ADDRESS    0x1000
#define NO_RULE    (-1)
#define CODE_BYTES 256

/* Code with int3 where nothing was written. */
struct scene {
	uint8_t code[CODE_BYTES];
	struct code_rules *rules;
	struct code_stretches stretches;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	memset(scene->code, 0xcc, sizeof(scene->code));
	scene->rules = code_rules_new(scene->code, sizeof(scene->code), ADDRESS);
	assert_non_null(scene->rules);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	code_rules_free(scene->rules);
	code_stretches_release(&scene->stretches);
	free(scene);
	return 0;
}

/* At an offset, a string of bytes. */
#define WRITE(scene, offset, bytes) memcpy((scene)->code + (offset), bytes, sizeof(bytes) - 1)

static void start(struct scene *scene, uint64_t offset, enum code_start_kind kind)
{
	assert_int_equal(code_rules_add_start(scene->rules, ADDRESS + offset, kind), 0);
}

static void follow(struct scene *scene)
{
	assert_int_equal(code_rules_follow(scene->rules), 0);
	assert_int_equal(code_rules_get(scene->rules, &scene->stretches), 0);
}

/* The rule's row; NULL: there is none. */
static const struct unwind_rule *find(const struct scene *scene, uint64_t offset)
{
	const struct unwind_rule *found = NULL;

	array_for_each (&scene->stretches.items, stretch) {
		if (ADDRESS + offset < stretch->start || ADDRESS + offset >= stretch->end)
			continue;
		for (size_t i = 0; i < stretch->num_rows; i++) {
			const struct frame_row *row =
				&scene->stretches.rows.items[stretch->first_row + i];

			if (row->elf_address <= ADDRESS + offset)
				found = &row->rule;
		}
	}
	return found;
}

/* How far the CFA is above rsp, or above rbp. */
static int find_cfa(const struct scene *scene, uint64_t offset, uint8_t cfa_op)
{
	const struct unwind_rule *rule = find(scene, offset);

	if (!rule)
		return NO_RULE;
	assert_int_equal(rule->cfa_op, cfa_op);
	return rule->cfa_offset;
}

static void the_cfa_follows_what_is_pushed_and_popped(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; sub $16,%rsp; add $16,%rsp; pop %rbx; ret */
	WRITE(scene, 0, "\x53\x48\x83\xec\x10\x48\x83\xc4\x10\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 0, UNWIND_CFA_SP), 8);
	assert_int_equal(find_cfa(scene, 1, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 5, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 9, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 10, UNWIND_CFA_SP), 8);
	assert_int_equal(find_cfa(scene, 11, UNWIND_CFA_SP), NO_RULE);
}

static void the_callers_registers_are_where_they_were_pushed(void **state)
{
	struct scene *scene = *state;

	/* push %rbp; push %rbx; pop %rbx; pop %rbp; ret */
	WRITE(scene, 0, "\x55\x53\x5b\x5d\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find(scene, 0)->fp_op, UNWIND_REGISTER_SAME);
	assert_int_equal(find(scene, 2)->fp_op, UNWIND_REGISTER_AT_CFA);
	assert_int_equal(find(scene, 2)->fp_offset, -16);
	assert_int_equal(find(scene, 2)->bx_op, UNWIND_REGISTER_AT_CFA);
	assert_int_equal(find(scene, 2)->bx_offset, -24);
	assert_int_equal(find(scene, 3)->bx_op, UNWIND_REGISTER_SAME);
	assert_int_equal(find(scene, 4)->fp_op, UNWIND_REGISTER_SAME);
}

static void the_frame_pointer_serves_where_rsp_is_aligned(void **state)
{
	struct scene *scene = *state;

	/* push %rbp; mov %rsp,%rbp; and $-32,%rsp; nop; leave; ret */
	WRITE(scene, 0, "\x55\x48\x89\xe5\x48\x83\xe4\xe0\x90\xc9\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 8, UNWIND_CFA_FP), 16);
	assert_int_equal(find(scene, 8)->fp_offset, -16);
	assert_int_equal(find_cfa(scene, 10, UNWIND_CFA_SP), 8);
}

static void the_second_bytes_of_registers_are_not_the_stack_pointer(void **state)
{
	struct scene *scene = *state;

	/* sub $24,%rsp; or $12,%ah; mov $1,%ah; xor %ah,%ah; mov (%rdi),%ch; setne %ch; rol %ah;
	   xadd %al,%ah; add $24,%rsp; ret */
	WRITE(scene, 0,
	      "\x48\x83\xec\x18\x80\xcc\x0c\xb4\x01\x30\xe4\x8a\x2f\x0f\x95\xc5\xd0\xc4"
	      "\x0f\xc0\xc4\x48\x83\xc4\x18\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 21, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 25, UNWIND_CFA_SP), 8);
}

static void its_own_first_byte_is(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; and $-16,%spl; nop; pop %rbx; ret */
	WRITE(scene, 0, "\x53\x40\x80\xe4\xf0\x90\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 5, UNWIND_CFA_SP), NO_RULE);
}

static void branches_join_in_the_same_state(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; je 6; push %rax; pop %rax; nop; 6: pop %rbx; ret */
	WRITE(scene, 0, "\x53\x74\x03\x50\x58\x90\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 24);
	assert_int_equal(find_cfa(scene, 6, UNWIND_CFA_SP), 16);
}

static void branches_that_join_in_different_states_have_no_rules(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; je 4; push %rax; 4: pop %rbx; ret */
	WRITE(scene, 0, "\x53\x74\x01\x50\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(scene->stretches.items.length, 0);
}

static void a_return_in_the_wrong_depth_has_no_rules(void **state)
{
	struct scene *scene = *state;

	WRITE(scene, 0, "\x50\xc3"); /* push %rax; ret */
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(scene->stretches.items.length, 0);
}

static void a_call_that_does_not_return_ends_in_front_of_a_function(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; je 8; call elsewhere; 8 would be in another state: pop %rbx; ret */
	WRITE(scene, 0, "\x53\x74\x06\x50\xe8\xf7\x0f\x00\x00\x5b\xc3");
	WRITE(scene, 32, "\x50\xe8\x00\x10\x00\x00"); /* push %rax; call elsewhere */
	WRITE(scene, 38, "\xc3");                     /* the next function */
	start(scene, 0, CODE_START_KNOWN);
	start(scene, 32, CODE_START_KNOWN);
	start(scene, 38, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 24);
	assert_int_equal(find_cfa(scene, 9, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 33, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 38, UNWIND_CFA_SP), 8);
}

static void a_jump_to_another_function_leaves_as_a_return_does(void **state)
{
	struct scene *scene = *state;
	const struct code_exit *exits;
	size_t num_exits;

	/* push %rbx; pop %rbx; jmp elsewhere */
	WRITE(scene, 0, "\x53\x5b\xe9\xf9\x0f\x00\x00");
	/* push %rbx; jmp elsewhere */
	WRITE(scene, 32, "\x53\xe9\xda\x0f\x00\x00");
	start(scene, 0, CODE_START_KNOWN);
	start(scene, 32, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 1, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 32, UNWIND_CFA_SP), NO_RULE);
	exits = code_rules_get_exits(scene->rules, &num_exits);
	assert_int_equal(num_exits, 1);
	assert_int_equal(exits[0].address, ADDRESS + 0x1000);
	assert_int_equal(exits[0].kind, CODE_START_KNOWN);
}

static void targets_of_a_table_lie_behind_its_jump(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; je 5; jmp *%rax; 5: pop %rbx; ret; targets: nop; pop %rbx; ret */
	WRITE(scene, 0, "\x53\x74\x02\xff\xe0\x5b\xc3\x31\xc0\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 7, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 10, UNWIND_CFA_SP), 8);
}

static void a_known_function_may_never_return(void **state)
{
	struct scene *scene = *state;

	WRITE(scene, 0, "\x50\xeb\xfe");  /* push %rax; jmp to itself */
	WRITE(scene, 33, "\x50\xeb\xfe"); /* a guess is not believed */
	start(scene, 0, CODE_START_KNOWN);
	start(scene, 33, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(find_cfa(scene, 1, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 34, UNWIND_CFA_SP), NO_RULE);
}

static void a_guess_that_calls_itself_comes_to_an_end(void **state)
{
	struct scene *scene = *state;

	WRITE(scene, 0, "\xe8\xfb\xff\xff\xff\x06");
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(scene->stretches.items.length, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_cfa_follows_what_is_pushed_and_popped),
		TEST(the_callers_registers_are_where_they_were_pushed),
		TEST(the_frame_pointer_serves_where_rsp_is_aligned),
		TEST(the_second_bytes_of_registers_are_not_the_stack_pointer),
		TEST(its_own_first_byte_is),
		TEST(branches_join_in_the_same_state),
		TEST(branches_that_join_in_different_states_have_no_rules),
		TEST(a_return_in_the_wrong_depth_has_no_rules),
		TEST(a_call_that_does_not_return_ends_in_front_of_a_function),
		TEST(a_jump_to_another_function_leaves_as_a_return_does),
		TEST(targets_of_a_table_lie_behind_its_jump),
		TEST(a_known_function_may_never_return),
		TEST(a_guess_that_calls_itself_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
