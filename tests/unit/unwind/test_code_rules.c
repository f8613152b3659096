/*
 * Rules that come from instructions: which address gets one, and which code gets none.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

/* The register whose copy of rsp a rule goes by, and the CFA's distance from it in bytes. */
static int find_copy(const struct scene *scene, uint64_t offset, unsigned int *ret_register)
{
	const struct unwind_rule *rule = find(scene, offset);

	assert_non_null(rule);
	assert_int_equal(rule->cfa_op, UNWIND_CFA_COPY);
	*ret_register = UNWIND_COPY_REGISTER(rule->cfa_offset);
	return UNWIND_COPY_BYTES(rule->cfa_offset);
}

static void assert_copy(const struct scene *scene, uint64_t offset, unsigned int reg, int bytes)
{
	unsigned int found;

	assert_int_equal(find_copy(scene, offset, &found), bytes);
	assert_int_equal(found, reg);
}

/* A copy is at rsp + place, and the CFA so many bytes above it. */
static void assert_stored_copy(const struct scene *scene, uint64_t offset, int place, int bytes)
{
	const struct unwind_rule *rule = find(scene, offset);

	assert_non_null(rule);
	assert_int_equal(rule->cfa_op, UNWIND_CFA_DEREF_SP_ADD);
	assert_int_equal(UNWIND_STORED_COPY_PLACE(rule->cfa_offset), place);
	assert_int_equal(UNWIND_STORED_COPY_BYTES(rule->cfa_offset), bytes);
}

static void an_aligned_frame_is_found_by_the_copy_that_is_stored_in_it(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; mov %rsp,%r10; and $-32,%rsp; sub $64,%rsp; mov %r10,32(%rsp); xor %r10d,%r10d;
	   sub $8,%rsp; add $8,%rsp; mov 32(%rsp),%rsp; pop %rbx; ret */
	WRITE(scene, 0,
	      "\x53\x49\x89\xe2\x48\x83\xe4\xe0\x48\x83\xec\x40\x4c\x89\x54\x24\x20\x45\x31\xd2"
	      "\x48\x83\xec\x08\x48\x83\xc4\x08\x48\x8b\x64\x24\x20\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 16);
	assert_copy(scene, 8, 10, 16);
	assert_copy(scene, 12, 10, 16);
	assert_stored_copy(scene, 17, 32, 16);
	assert_stored_copy(scene, 20, 32, 16);
	assert_stored_copy(scene, 24, 40, 16);
	assert_stored_copy(scene, 28, 32, 16);
	assert_int_equal(find(scene, 28)->bx_op, UNWIND_REGISTER_AT_CFA);
	assert_int_equal(find(scene, 28)->bx_offset, -16);
	assert_int_equal(find_cfa(scene, 33, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 34, UNWIND_CFA_SP), 8);
}

static void an_aligned_frame_is_found_by_a_copy_in_a_register(void **state)
{
	struct scene *scene = *state;

	/* mov %rsp,%rcx; sub $48,%rsp; and $-16,%rsp; call 24; mov %rcx,%rsp; ret; 24: ret */
	WRITE(scene, 0,
	      "\x48\x89\xe1\x48\x83\xec\x30\x48\x83\xe4\xf0\xe8\x08\x00\x00\x00\x48\x89\xcc\xc3");
	WRITE(scene, 24, "\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 7, UNWIND_CFA_SP), 56);
	assert_copy(scene, 11, 2, 8);
	assert_copy(scene, 16, 2, 8);
	assert_int_equal(find_cfa(scene, 19, UNWIND_CFA_SP), 8);
}

static void the_copy_may_be_stored_above_where_rsp_was_aligned(void **state)
{
	struct scene *scene = *state;

	/* mov %rsp,%rax; sub $72,%rsp; and $-64,%rsp; mov %rax,64(%rsp); xor %eax,%eax; mov 64(%rsp),%rsp; ret */
	WRITE(scene, 0,
	      "\x48\x89\xe0\x48\x83\xec\x48\x48\x83\xe4\xc0\x48\x89\x44\x24\x40\x31\xc0\x48\x8b\x64\x24\x40\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_copy(scene, 11, 0, 8);
	assert_stored_copy(scene, 16, 64, 8);
	assert_int_equal(find_cfa(scene, 23, UNWIND_CFA_SP), 8);
}

static void rsp_may_move_by_any_even_number_of_bytes(void **state)
{
	struct scene *scene = *state;

	/* sub $82,%rsp; add $82,%rsp; ret */
	WRITE(scene, 0, "\x48\x83\xec\x52\x48\x83\xc4\x52\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 90);
	assert_int_equal(find_cfa(scene, 8, UNWIND_CFA_SP), 8);
}

/* What is chained so has one frame: the first function makes it, and the last part gives it back. */
static void addresses_that_a_function_takes_are_parts_of_it(void **state)
{
	struct scene *scene = *state;

	/* sub $24,%rsp; lea 32(%rip),%r8; jmp 16 */
	WRITE(scene, 0, "\x48\x83\xec\x18\x4c\x8d\x05\x15\x00\x00\x00\xeb\x03");
	WRITE(scene, 16, "\x31\xc0\x41\xff\xe0");         /* xor %eax,%eax; jmp *%r8 */
	WRITE(scene, 32, "\x31\xc0\x48\x83\xc4\x18\xc3"); /* xor %eax,%eax; add $24,%rsp; ret */
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 18, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 34, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 38, UNWIND_CFA_SP), 8);
}

static void a_part_that_does_not_give_the_frame_back_is_none(void **state)
{
	struct scene *scene = *state;

	WRITE(scene, 0, "\x48\x83\xec\x18\x4c\x8d\x05\x15\x00\x00\x00\xeb\x03");
	WRITE(scene, 16, "\x31\xc0\x41\xff\xe0");
	WRITE(scene, 32, "\x31\xc0\x48\x83\xc4\x10\xc3"); /* xor %eax,%eax; add $16,%rsp; ret */
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(scene->stretches.items.length, 0);
}

/* A guess has no other end than the targets of its table, one behind the other. */
static void targets_of_a_table_confirm_a_guess(void **state)
{
	struct scene *scene = *state;

	/* sub $24,%rsp; jmp *%rax; xor %eax,%eax; add $24,%rsp; ret; the same again */
	WRITE(scene, 0,
	      "\x48\x83\xec\x18\xff\xe0\x31\xc0\x48\x83\xc4\x18\xc3\x31\xc0\x48\x83\xc4\x18\xc3");
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 8, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 15, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 19, UNWIND_CFA_SP), 8);
}

/* Likewise in the state of an entry, and then with frames of their own. */
static void targets_of_a_table_may_start_without_a_frame(void **state)
{
	struct scene *scene = *state;

	/* jmp *%rax; push %rbx; pop %rbx; ret; sub $24,%rsp; add $24,%rsp; ret */
	WRITE(scene, 0, "\xff\xe0\x53\x5b\xc3\x48\x83\xec\x18\x48\x83\xc4\x18\xc3");
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(find_cfa(scene, 3, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 9, UNWIND_CFA_SP), 32);
}

static void another_function_behind_a_jump_does_not_confirm_a_guess(void **state)
{
	struct scene *scene = *state;

	/* Amid a function with a frame: jmp *%rax; 16: push %rbx; pop %rbx; ret */
	WRITE(scene, 0, "\x31\xc0\xff\xe0");
	WRITE(scene, 16, "\x53\x5b\xc3");
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(find_cfa(scene, 2, UNWIND_CFA_SP), NO_RULE);
	assert_int_equal(find_cfa(scene, 17, UNWIND_CFA_SP), 16);
}

static void a_function_behind_a_table_starts_as_any_other(void **state)
{
	struct scene *scene = *state;

	/* sub $24,%rsp; je 8; jmp *%rax; nop; 8: add $24,%rsp; ret; 16: push %rbx; pop %rbx; ret */
	WRITE(scene, 0, "\x48\x83\xec\x18\x74\x02\xff\xe0\x48\x83\xc4\x18\xc3");
	WRITE(scene, 16, "\x53\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 4, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 17, UNWIND_CFA_SP), 16);
}

/* Bytes that look like a call of what is amid an instruction keep nobody from following it. */
static void a_guess_amid_an_instruction_comes_last(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; mov $0x5b90c390,%eax; pop %rbx; ret */
	WRITE(scene, 0, "\x53\xb8\x90\xc3\x90\x5b\x5b\xc3");
	start(scene, 2, CODE_START_GUESSED); /* nop; ret */
	start(scene, 0, CODE_START_GUESSED);
	follow(scene);
	assert_int_equal(find_cfa(scene, 1, UNWIND_CFA_SP), 16);
	assert_int_equal(find_cfa(scene, 7, UNWIND_CFA_SP), 8);
}

static void rbx_may_hold_the_copy(void **state)
{
	struct scene *scene = *state;

	/* push %rbx; mov %rsp,%rbx; and $-64,%rsp; nop; mov %rbx,%rsp; pop %rbx; ret */
	WRITE(scene, 0, "\x53\x48\x89\xe3\x48\x83\xe4\xc0\x90\x48\x89\xdc\x5b\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 8, UNWIND_CFA_BX), 16);
	assert_int_equal(find(scene, 8)->bx_offset, -16);
	assert_int_equal(find_cfa(scene, 12, UNWIND_CFA_SP), 16);
}

/* What is written to the register in which the copy was: at the end rsp would be anything. */
static void a_copy_that_is_overwritten_leads_nowhere(void **state)
{
	static const struct {
		const char *code;
		size_t size;
	} writes[] = {
		{"\x31\xc0", 2},                 /* xor %eax,%eax */
		{"\xb0\x01", 2},                 /* mov $1,%al */
		{"\x83\xc8\x01", 3},             /* or $1,%eax */
		{"\x04\x01", 2},                 /* add $1,%al */
		{"\x0d\x00\x01\x00\x00", 5},     /* or $256,%eax */
		{"\x58", 1},                     /* pop %rax */
		{"\x93", 1},                     /* xchg %eax,%ebx */
		{"\x98", 1},                     /* cltq */
		{"\x48\x8b\x07", 3},             /* mov (%rdi),%rax */
		{"\x48\x8d\x40\x08", 4},         /* lea 8(%rax),%rax */
		{"\x48\xf7\xe1", 3},             /* mul %rcx */
		{"\x48\xf7\xf9", 3},             /* idiv %rcx */
		{"\x0f\xb6\xc1", 3},             /* movzbl %cl,%eax */
		{"\x0f\xb1\x0f", 3},             /* cmpxchg %ecx,(%rdi) */
		{"\x0f\xa2", 2},                 /* cpuid */
		{"\x0f\x31", 2},                 /* rdtsc */
		{"\x0f\x05", 2},                 /* syscall */
		{"\x0f\x01\xd0", 3},             /* xgetbv */
		{"\xac", 1},                     /* lods */
		{"\x66\x0f\x7e\xc0", 4},         /* movd %xmm0,%eax */
		{"\xc5\xf9\x7e\xc0", 4},         /* vmovd %xmm0,%eax */
		{"\xc5\xf8\x50\xc0", 4},         /* vmovmskps %xmm0,%eax */
		{"\xc5\xf9\xd7\xc0", 4},         /* vpmovmskb %xmm0,%eax */
		{"\xc5\xfb\x93\xc1", 4},         /* kmovd %k1,%eax */
		{"\xc4\xe2\xf8\xf3\xca", 5},     /* blsr %rdx,%rax */
		{"\xc4\xe2\xfb\xf6\xca", 5},     /* mulx %rdx,%rax,%rcx */
		{"\xc4\xe3\xfb\xf0\xc1\x08", 6}, /* rorx $8,%rcx,%rax */
		{"\xc4\xe3\x79\x14\xc0\x01", 6}, /* vpextrb $1,%xmm0,%eax */
		{"\xff\xd2", 2},                 /* call *%rdx */
		{"\xe8\x00\x10\x00\x00", 5},     /* call elsewhere */
	};

	for (size_t i = 0; i < ARRAY_LENGTH(writes); i++) {
		struct scene *scene = *state;
		uint8_t *code = scene->code;

		/* mov %rsp,%rax; and $-16,%rsp; …; mov %rax,%rsp; ret */
		memset(code, 0xcc, sizeof(scene->code));
		WRITE(scene, 0, "\x48\x89\xe0\x48\x83\xe4\xf0");
		memcpy(code + 7, writes[i].code, writes[i].size);
		memcpy(code + 7 + writes[i].size, "\x48\x89\xc4\xc3", 4);
		start(scene, 0, CODE_START_KNOWN);
		follow(scene);
		if (scene->stretches.items.length)
			fail_msg("write %zu", i);
		tear_down(state);
		set_up(state);
	}
}

static void vector_registers_are_not_the_copy(void **state)
{
	struct scene *scene = *state;

	/* mov %rsp,%rax; and $-16,%rsp; vpxor %xmm0,%xmm0,%xmm0; pxor %xmm0,%xmm0; movd %ecx,%xmm0; cmp $1,%eax;
	   test %eax,%eax; mov %eax,(%rdi); vmovq %rax,%xmm0; vzeroupper; mov %rax,%rsp; ret */
	WRITE(scene, 0,
	      "\x48\x89\xe0\x48\x83\xe4\xf0\xc5\xf9\xef\xc0\x66\x0f\xef\xc0\x66\x0f\x6e\xc1\x83\xf8\x01"
	      "\x85\xc0\x89\x07\xc4\xe1\xf9\x6e\xc0\xc5\xf8\x77\x48\x89\xc4\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_copy(scene, 34, 0, 8);
	assert_int_equal(find_cfa(scene, 37, UNWIND_CFA_SP), 8);
}

static void a_copy_before_no_alignment_is_an_ordinary_number(void **state)
{
	struct scene *scene = *state;

	/* sub $24,%rsp; mov %rsp,%r9; 7: add $8,%r9; dec %eax; jne 7; add $24,%rsp; ret */
	WRITE(scene, 0,
	      "\x48\x83\xec\x18\x49\x89\xe1\x49\x83\xc1\x08\xff\xc8\x75\xf8\x48\x83\xc4\x18\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(find_cfa(scene, 7, UNWIND_CFA_SP), 32);
	assert_int_equal(find_cfa(scene, 19, UNWIND_CFA_SP), 8);
}

/* Where it is relative to the caller is not known. */
static void what_is_pushed_below_an_alignment_has_no_rules(void **state)
{
	struct scene *scene = *state;

	/* mov %rsp,%rax; and $-16,%rsp; push %rbx; pop %rbx; mov %rax,%rsp; ret */
	WRITE(scene, 0, "\x48\x89\xe0\x48\x83\xe4\xf0\x53\x5b\x48\x89\xc4\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_int_equal(scene->stretches.items.length, 0);
}

/* The register is used for something else in a loop, once the copy is stored. */
static void loops_of_an_aligned_frame_join_in_the_same_state(void **state)
{
	struct scene *scene = *state;

	/* mov %rsp,%r11; and $-32,%rsp; sub $64,%rsp; mov %r11,32(%rsp); 16: mov %rsp,%r9; xor %r11d,%r11d;
	   dec %eax; jne 16; mov 32(%rsp),%rsp; ret */
	WRITE(scene, 0,
	      "\x49\x89\xe3\x48\x83\xe4\xe0\x48\x83\xec\x40\x4c\x89\x5c\x24\x20\x49\x89\xe1\x45\x31\xdb"
	      "\xff\xc8\x75\xf6\x48\x8b\x64\x24\x20\xc3");
	start(scene, 0, CODE_START_KNOWN);
	follow(scene);
	assert_stored_copy(scene, 16, 32, 8);
	assert_stored_copy(scene, 26, 32, 8);
	assert_int_equal(find_cfa(scene, 31, UNWIND_CFA_SP), 8);
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
		TEST(the_copy_may_be_stored_above_where_rsp_was_aligned),
		TEST(rsp_may_move_by_any_even_number_of_bytes),
		TEST(addresses_that_a_function_takes_are_parts_of_it),
		TEST(a_part_that_does_not_give_the_frame_back_is_none),
		TEST(targets_of_a_table_confirm_a_guess),
		TEST(targets_of_a_table_may_start_without_a_frame),
		TEST(another_function_behind_a_jump_does_not_confirm_a_guess),
		TEST(a_function_behind_a_table_starts_as_any_other),
		TEST(a_guess_amid_an_instruction_comes_last),
		TEST(an_aligned_frame_is_found_by_the_copy_that_is_stored_in_it),
		TEST(an_aligned_frame_is_found_by_a_copy_in_a_register),
		TEST(rbx_may_hold_the_copy),
		TEST(a_copy_that_is_overwritten_leads_nowhere),
		TEST(vector_registers_are_not_the_copy),
		TEST(a_copy_before_no_alignment_is_an_ordinary_number),
		TEST(what_is_pushed_below_an_alignment_has_no_rules),
		TEST(loops_of_an_aligned_frame_join_in_the_same_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
