/*
 * Where the stacks of Go programs start: which functions are known, and their rows.
 */
#include "unit.h"

#include <stdlib.h>

#include "objfile/go_table_writer.h"
#include "table_fixture.h"
#include "unwind/x86_64/go_runtime.h"

#define START      (TEXT + 0x200)
#define BEFORE_END (TEXT + 0x1f9) /* where the function before ends */
#define SIZE       64
#define LOAD       0x10 /* offset of the load of another stack pointer */
#define RELOAD     0x20 /* of the load of the first one */
#define REST       0x30 /* of a part behind the return */

static const uint8_t mov_rbx_rsp[] = {0x48, 0x89, 0xdc};
static const uint8_t push_rbp[] = {0x55};
static const uint8_t mov_rsp_rbp[] = {0x48, 0x89, 0xe5};
static const uint8_t nops[] = {0x90, 0x90, 0x90};
static const uint8_t mov_r12_rsp[] = {0x4c, 0x89, 0xe4};
static const uint8_t mov_saved_rsp[] = {0x48, 0x8b, 0x60, 0x38};     /* mov 0x38(%rax),%rsp */
static const uint8_t mov_saved_r14_rsp[] = {0x49, 0x8b, 0x66, 0x38}; /* mov 0x38(%r14),%rsp */

struct program {
	const char *name;       /* of the function at START */
	const char *go_section; /* NULL: .gopclntab */
	const char *second;     /* of one behind it, of as many bytes; NULL: there is none */
	bool has_rest;          /* its frame is there again at REST, after its return */
	uint8_t text[TEXT_SIZE];
};

static struct program *make_program(const char *name)
{
	struct program *program = calloc(1, sizeof(*program));

	assert_non_null(program);
	program->name = name;
	return program;
}

static void put_code(struct program *program, size_t offset, const uint8_t *code, size_t size)
{
	memcpy(program->text + (START - TEXT) + offset, code, size);
}

/* The ELF file of a program: code, call-frame information, and Go's table with one function. */
static struct text write_program(const struct program *program, struct frame_writer *eh_frame)
{
	struct go_table_writer table = {.version = GO_1_18,
					.text_start = TEXT,
					.header_text_start = TEXT,
					.end = START + (program->second ? 2 * SIZE : SIZE)};
	struct elf_writer writer = {0};
	struct text table_bytes;
	struct text bytes;

	go_table_writer_add(&table, program->name, START, NULL, 0);
	if (program->second)
		go_table_writer_add(&table, program->second, START + SIZE, NULL, 0);
	table_bytes = go_table_writer_write(&table);
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .data = program->text,
						     .size = TEXT_SIZE});
	elf_writer_add(&writer, (struct elf_section){.name = ".eh_frame",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC,
						     .address = eh_frame->elf_address,
						     .data = eh_frame->bytes.data,
						     .size = eh_frame->bytes.length});
	elf_writer_add(&writer,
		       (struct elf_section){.name = program->go_section ? program->go_section
									: ".gopclntab",
					    .type = SHT_PROGBITS,
					    .data = table_bytes.data,
					    .size = table_bytes.length});
	bytes = elf_writer_write(&writer);
	text_release(&table_bytes);
	return bytes;
}

/* Frees the program. */
static struct unwind_table *build(struct program *program)
{
	struct frame_writer eh_frame = {.elf_address = 0x10000000};
	struct unwind_table *table;
	struct text bytes;

	frame_writer_add_cie(&eh_frame, &usual_cie);
	frame_writer_add_function(&eh_frame, TEXT + 0x100, BEFORE_END - TEXT - 0x100, NO_CODE);
	if (program->has_rest)
		frame_writer_add_function(&eh_frame, START, SIZE,
					  CODE(DW_CFA_advance_loc | 4, ROW(3),
					       DW_CFA_advance_loc | 0x24, ROW(0),
					       DW_CFA_advance_loc | 8, ROW(3)));
	else
		frame_writer_add_function(
			&eh_frame, START, SIZE,
			CODE(DW_CFA_advance_loc | 4, ROW(3), DW_CFA_advance_loc | 0x24, ROW(0)));
	if (program->second)
		frame_writer_add_function(&eh_frame, START + SIZE, SIZE, NO_CODE);
	bytes = write_program(program, &eh_frame);
	assert_int_equal(build_table(bytes.data, bytes.length, &table), 0);
	assert_true(unwind_table_is_valid(table));
	text_release(&bytes);
	text_release(&eh_frame.bytes);
	free(program);
	return table;
}

static struct unwind_rule find(const struct unwind_table *table, uint64_t elf_address)
{
	struct unwind_rule rule;

	assert_int_equal(unwind_table_find(table, elf_address, &rule), 0);
	return rule;
}

/* Whether every byte of the function is outermost; frees the program. */
static bool is_outermost(struct program *program)
{
	struct unwind_table *table = build(program);
	bool result = true;

	for (uint64_t offset = 0; offset < SIZE; offset++)
		result &= find(table, START + offset).cfa_op == UNWIND_CFA_STOP;
	unwind_table_free(table);
	return result;
}

static void goroutines_and_threads_start_in_functions_known_by_name(_unused_ void **state)
{
	assert_true(is_outermost(make_program("runtime.goexit")));
	assert_true(is_outermost(make_program("runtime.goexit.abi0")));
	assert_true(is_outermost(make_program("runtime.mstart.abi0")));
	assert_true(is_outermost(make_program("runtime.rt0_go.abi0")));
}

static void other_functions_have_callers(_unused_ void **state)
{
	assert_false(is_outermost(make_program("runtime.goexit0")));
	assert_false(is_outermost(make_program("runtime.go")));
	assert_false(is_outermost(make_program("main.goexit")));
}

static void only_programs_of_go_have_such_functions(_unused_ void **state)
{
	struct program *program = make_program("runtime.goexit");
	struct program *independent = make_program("runtime.goexit");

	program->go_section = ".rodata";
	assert_false(is_outermost(program));
	independent->go_section = ".data.rel.ro.gopclntab";
	assert_true(is_outermost(independent));
}

/* The function is on another stack from LOAD to RELOAD, with this operation. */
static void assert_is_switch(struct program *program, size_t load_size, size_t reload_size,
			     enum unwind_cfa_op op)
{
	struct unwind_table *table = build(program);

	assert_int_equal(find(table, START).cfa_offset, 8);
	assert_int_equal(find(table, START + LOAD + load_size - 1).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + LOAD + load_size - 1).cfa_offset, 32);
	assert_int_equal(find(table, START + LOAD + load_size).cfa_op, op);
	assert_int_equal(find(table, START + RELOAD + reload_size - 1).cfa_op, op);
	assert_int_equal(find(table, START + RELOAD + reload_size).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + RELOAD + reload_size).cfa_offset, 32);
	assert_int_equal(find(table, START + 0x28).cfa_offset, 8);
	unwind_table_free(table);
}

static void a_function_that_calls_c_on_another_stack_keeps_its_frame_pointer(_unused_ void **state)
{
	static const char *const names[] = {"runtime.nanotime1.abi0", "runtime.walltime.abi0",
					    "time.now", "runtime.vgetrandom1",
					    "runtime.callCgoSigaction.abi0"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct program *program = make_program(names[i]);
		struct program *unset = make_program(names[i]);

		put_code(program, 5, mov_rsp_rbp, sizeof(mov_rsp_rbp));
		put_code(program, LOAD, mov_saved_r14_rsp, sizeof(mov_saved_r14_rsp));
		put_code(program, RELOAD, mov_r12_rsp, sizeof(mov_r12_rsp));
		memcpy(unset->text, program->text, sizeof(unset->text));
		put_code(unset, 5, nops, sizeof(nops));
		assert_is_switch(program, sizeof(mov_saved_r14_rsp), sizeof(mov_r12_rsp),
				 UNWIND_CFA_FP_ELSEWHERE);
		assert_is_switch(unset, sizeof(mov_saved_r14_rsp), sizeof(mov_r12_rsp),
				 UNWIND_CFA_UNSUPPORTED);
	}
}

/* rbp is at the place of the caller's rbp, right below the return address, in both forms. */
static void the_frame_pointer_is_set_before_or_after_the_frame_is_made(_unused_ void **state)
{
	static const uint8_t lea_16_rsp_rbp[] = {0x48, 0x8d, 0x6c, 0x24, 0x10};

	for (size_t i = 0; i < 2; i++) {
		struct program *program = make_program("time.now");
		struct unwind_table *table;
		struct unwind_rule rule;

		put_code(program, i ? 5 : 0, i ? lea_16_rsp_rbp : mov_rsp_rbp,
			 i ? sizeof(lea_16_rsp_rbp) : sizeof(mov_rsp_rbp));
		put_code(program, LOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
		put_code(program, RELOAD, mov_r12_rsp, sizeof(mov_r12_rsp));
		table = build(program);
		rule = find(table, START + LOAD + sizeof(mov_saved_rsp));
		assert_int_equal(rule.cfa_op, UNWIND_CFA_FP_ELSEWHERE);
		assert_int_equal(rule.cfa_offset, i ? 16 : 8);
		assert_int_equal(rule.fp_op,
				 i ? UNWIND_REGISTER_AT_CFA : UNWIND_REGISTER_UNDEFINED);
		assert_int_equal(rule.fp_offset, i ? -16 : 0);
		unwind_table_free(table);
	}
}

/* The alignment moves the stack pointer by a number of bytes that no row has. */
static void a_function_that_aligns_its_stack_has_left_its_frame(_unused_ void **state)
{
	static const uint8_t and_rsp[] = {0x48, 0x83, 0xe4, 0xf0};
	struct program *program = make_program("runtime.vgetrandom1");

	put_code(program, 5, mov_rsp_rbp, sizeof(mov_rsp_rbp));
	put_code(program, LOAD, and_rsp, sizeof(and_rsp));
	put_code(program, RELOAD, mov_r12_rsp, sizeof(mov_r12_rsp));
	assert_is_switch(program, sizeof(and_rsp), sizeof(mov_r12_rsp), UNWIND_CFA_FP_ELSEWHERE);
}

/* Without a vdso it branches there, to a system call. */
static void a_part_behind_the_return_is_on_the_other_stack(_unused_ void **state)
{
	struct program *program = make_program("runtime.nanotime1.abi0");
	struct unwind_table *table;

	program->has_rest = true;
	put_code(program, 5, mov_rsp_rbp, sizeof(mov_rsp_rbp));
	put_code(program, LOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	put_code(program, RELOAD, mov_r12_rsp, sizeof(mov_r12_rsp));
	table = build(program);
	assert_int_equal(find(table, START + REST - 1).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + REST).cfa_op, UNWIND_CFA_FP_ELSEWHERE);
	assert_int_equal(find(table, START + SIZE - 1).cfa_op, UNWIND_CFA_FP_ELSEWHERE);
	unwind_table_free(table);
}

/* mov %fs:-8,%rax; cmp 0xb8(%rbx),%rax */
static const uint8_t current_code[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff,
				       0xff, 0x48, 0x3b, 0x83, 0xb8, 0x00, 0x00, 0x00};
/* mov $-8,%rcx; mov %fs:(%rcx),%rax */
static const uint8_t current_code_of_pie[] = {0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff, 0x64, 0x48,
					      0x8b, 0x01, 0x48, 0x3b, 0x83, 0xb8, 0x00, 0x00, 0x00};

static struct program *make_systemstack(const uint8_t *code, size_t size)
{
	struct program *program = make_program("runtime.systemstack.abi0");

	put_code(program, 4, code, size);
	put_code(program, 0x18, mov_saved_rsp, sizeof(mov_saved_rsp));
	put_code(program, RELOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	return program;
}

static void code_on_the_stack_of_the_scheduler_has_a_goroutine(_unused_ void **state)
{
	struct program *programs[] = {
		make_systemstack(current_code, sizeof(current_code)),
		make_systemstack(current_code_of_pie, sizeof(current_code_of_pie)),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(programs); i++) {
		struct unwind_table *table = build(programs[i]);
		struct unwind_rule rule = find(table, START + 0x18 + 4);

		assert_int_equal(rule.cfa_op, UNWIND_CFA_SCHEDULED);
		assert_int_equal(UNWIND_SCHEDULED_BYTES(&rule), 32);
		assert_int_equal(UNWIND_SCHEDULED_TLS(&rule), -8);
		assert_int_equal(UNWIND_SCHEDULED_CURRENT(&rule), 0xb8);
		assert_int_equal(find(table, START + RELOAD + 3).cfa_op, UNWIND_CFA_SCHEDULED);
		assert_int_equal(find(table, START + RELOAD + 4).cfa_op, UNWIND_CFA_SP);
		unwind_table_free(table);
	}
}

/* It has the pc of its caller, whose stack may move. */
static void a_stack_that_grows_has_a_goroutine(_unused_ void **state)
{
	struct program *program = make_systemstack(current_code, sizeof(current_code));
	struct unwind_table *table;
	struct unwind_rule rule;

	program->second = "runtime.morestack.abi0";
	put_code(program, SIZE + LOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	table = build(program);
	rule = find(table, START + SIZE + LOAD + 4);
	assert_int_equal(rule.cfa_op, UNWIND_CFA_SCHEDULED);
	assert_int_equal(UNWIND_SCHEDULED_BYTES(&rule), 0);
	assert_int_equal(UNWIND_SCHEDULED_TLS(&rule), -8);
	assert_int_equal(UNWIND_SCHEDULED_CURRENT(&rule), 0xb8);
	unwind_table_free(table);
}

/* The function has no frame. */
static void a_call_of_the_race_detector_keeps_the_stack_pointer(_unused_ void **state)
{
	static const uint8_t mov_rsp_r12[] = {0x49, 0x89, 0xe4};
	struct program *program = make_program("racecall");
	struct unwind_table *table;
	struct unwind_rule rule;

	put_code(program, 1, mov_rsp_r12, sizeof(mov_rsp_r12));
	put_code(program, LOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	put_code(program, RELOAD, mov_r12_rsp, sizeof(mov_r12_rsp));
	table = build(program);
	rule = find(table, START + LOAD + 4);
	assert_int_equal(rule.cfa_op, UNWIND_CFA_COPY_ELSEWHERE);
	assert_int_equal(UNWIND_COPY_REGISTER(rule.cfa_offset), 12);
	assert_int_equal(UNWIND_COPY_BYTES(rule.cfa_offset), 32);
	assert_int_equal(find(table, START + RELOAD + 2).cfa_op, UNWIND_CFA_COPY_ELSEWHERE);
	assert_int_equal(find(table, START + RELOAD + 3).cfa_op, UNWIND_CFA_SP);
	unwind_table_free(table);
}

/* Never outermost, which would be a complete stack. */
static void a_switch_in_another_form_has_no_known_caller(_unused_ void **state)
{
	static const char *const names[] = {"runtime.systemstack", "runtime.morestack", "racecall",
					    "gogo", "msancall"};

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct program *program = make_program(names[i]);

		put_code(program, LOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
		put_code(program, RELOAD, mov_r12_rsp, sizeof(mov_r12_rsp));
		assert_is_switch(program, sizeof(mov_saved_rsp), sizeof(mov_r12_rsp),
				 UNWIND_CFA_UNSUPPORTED);
	}
}

static void a_function_that_stays_on_the_other_stack_is_outermost_to_its_end(_unused_ void **state)
{
	struct program *program = make_program("runtime.mcall");
	struct unwind_table *table;

	put_code(program, LOAD, mov_saved_r14_rsp, sizeof(mov_saved_r14_rsp));
	table = build(program);
	assert_int_equal(find(table, START + LOAD).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + LOAD + 4).cfa_op, UNWIND_CFA_STOP);
	assert_int_equal(find(table, START + SIZE - 1).cfa_op, UNWIND_CFA_STOP);
	unwind_table_free(table);
}

static void a_function_that_loads_no_stack_pointer_keeps_its_rows(_unused_ void **state)
{
	static const uint8_t mov_rsp_rbx[] = {0x48, 0x89, 0xe3};
	struct program *program = make_program("runtime.systemstack");
	struct unwind_table *table;

	put_code(program, LOAD, mov_rsp_rbx, sizeof(mov_rsp_rbx));
	table = build(program);
	for (uint64_t offset = 0; offset < SIZE; offset++)
		assert_int_equal(find(table, START + offset).cfa_op, UNWIND_CFA_SP);
	unwind_table_free(table);
}

/* The goroutine is kept at rsp + 48, and at another place how far from its stack's end it was. */
static struct unwind_table *build_call_of_c(bool pushes_fp, const uint8_t *store, size_t store_size)
{
	static const uint8_t mov_rdi_48_rsp[] = {0x48, 0x89, 0x7c, 0x24, 0x30};
	struct program *program = make_program("runtime.asmcgocall.abi0");

	if (pushes_fp)
		put_code(program, 0, push_rbp, sizeof(push_rbp));
	put_code(program, LOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	put_code(program, LOAD + 4, mov_rdi_48_rsp, sizeof(mov_rdi_48_rsp));
	put_code(program, LOAD + 9, store, store_size);
	put_code(program, RELOAD, mov_rbx_rsp, sizeof(mov_rbx_rsp));
	return build(program);
}

static void a_call_of_c_leads_to_the_goroutine_once_it_has_kept_its_place(_unused_ void **state)
{
	static const uint8_t mov_rdi_40_rsp[] = {0x48, 0x89, 0x7c, 0x24, 0x28};
	struct unwind_table *table = build_call_of_c(false, mov_rdi_40_rsp, sizeof(mov_rdi_40_rsp));

	assert_int_equal(find(table, START + LOAD + 3).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + LOAD + 4).cfa_op, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(find(table, START + LOAD + 13).cfa_op, UNWIND_CFA_UNSUPPORTED);
	assert_int_equal(find(table, START + LOAD + 14).cfa_op, UNWIND_CFA_GOROUTINE);
	assert_int_equal(find(table, START + LOAD + 14).cfa_offset, 48);
	assert_int_equal(find(table, START + LOAD + 14).fp_op, UNWIND_REGISTER_SAME);
	assert_int_equal(find(table, START + RELOAD + 2).cfa_op, UNWIND_CFA_GOROUTINE);
	assert_int_equal(find(table, START + RELOAD + 3).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + RELOAD + 3).cfa_offset, 32);
	unwind_table_free(table);
}

static void a_call_of_c_may_have_pushed_the_frame_pointer(_unused_ void **state)
{
	static const uint8_t mov_rdi_40_rsp[] = {0x48, 0x89, 0x7c, 0x24, 0x28};
	struct unwind_table *table = build_call_of_c(true, mov_rdi_40_rsp, sizeof(mov_rdi_40_rsp));
	struct unwind_rule rule = find(table, START + LOAD + 14);

	assert_int_equal(rule.cfa_op, UNWIND_CFA_GOROUTINE);
	assert_int_equal(rule.cfa_offset, 48);
	assert_int_equal(rule.fp_op, UNWIND_REGISTER_AT_CFA);
	assert_int_equal(rule.fp_offset, -16);
	unwind_table_free(table);
}

static void a_call_of_c_that_keeps_something_else_has_no_known_caller(_unused_ void **state)
{
	static const uint8_t mov_rdi_rsp[] = {0x48, 0x89, 0x3c, 0x24};
	struct unwind_table *table = build_call_of_c(false, mov_rdi_rsp, sizeof(mov_rdi_rsp));

	assert_int_equal(find(table, START + RELOAD).cfa_op, UNWIND_CFA_UNSUPPORTED);
	unwind_table_free(table);
}

/* The return address that counts lies above the one that was put there. */
static void a_call_of_go_by_c_leads_to_the_goroutine_that_called_c(_unused_ void **state)
{
	struct program *program = make_program("runtime.cgocallback.abi0");
	struct unwind_table *table;

	put_code(program, LOAD, mov_rbx_rsp, sizeof(mov_rbx_rsp));
	put_code(program, RELOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	table = build(program);
	assert_int_equal(find(table, START + LOAD + 2).cfa_offset, 32);
	assert_int_equal(find(table, START + LOAD + 3).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START + LOAD + 3).cfa_offset, 40);
	assert_int_equal(find(table, START + RELOAD + 3).cfa_offset, 40);
	assert_int_equal(find(table, START + RELOAD + 4).cfa_offset, 32);
	unwind_table_free(table);
}

static void the_call_of_c_that_is_returned_to_may_have_pushed_the_frame_pointer(
	_unused_ void **state)
{
	struct program *program = make_program("runtime.cgocallback.abi0");
	struct unwind_table *table;

	program->second = "runtime.asmcgocall.abi0";
	put_code(program, LOAD, mov_rbx_rsp, sizeof(mov_rbx_rsp));
	put_code(program, RELOAD, mov_saved_rsp, sizeof(mov_saved_rsp));
	put_code(program, SIZE, push_rbp, sizeof(push_rbp));
	table = build(program);
	assert_int_equal(find(table, START + LOAD + 3).cfa_offset, 48);
	assert_int_equal(find(table, START + RELOAD + 4).cfa_offset, 32);
	unwind_table_free(table);
}

static void a_signal_handler_returns_to_a_signal_frame(_unused_ void **state)
{
	struct unwind_table *table = build(make_program("runtime.sigreturn.abi0"));

	assert_int_equal(find(table, START - 1).cfa_op, UNWIND_CFA_SIGNAL);
	assert_int_equal(find(table, START - 1).cfa_offset, 1);
	assert_int_equal(find(table, START).cfa_op, UNWIND_CFA_SIGNAL);
	assert_int_equal(find(table, START).cfa_offset, 0);
	assert_int_equal(find(table, BEFORE_END - 1).cfa_op, UNWIND_CFA_SP);
	unwind_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goroutines_and_threads_start_in_functions_known_by_name),
		cmocka_unit_test(other_functions_have_callers),
		cmocka_unit_test(only_programs_of_go_have_such_functions),
		cmocka_unit_test(a_function_that_calls_c_on_another_stack_keeps_its_frame_pointer),
		cmocka_unit_test(the_frame_pointer_is_set_before_or_after_the_frame_is_made),
		cmocka_unit_test(a_function_that_aligns_its_stack_has_left_its_frame),
		cmocka_unit_test(a_part_behind_the_return_is_on_the_other_stack),
		cmocka_unit_test(code_on_the_stack_of_the_scheduler_has_a_goroutine),
		cmocka_unit_test(a_stack_that_grows_has_a_goroutine),
		cmocka_unit_test(a_call_of_the_race_detector_keeps_the_stack_pointer),
		cmocka_unit_test(a_switch_in_another_form_has_no_known_caller),
		cmocka_unit_test(a_function_that_stays_on_the_other_stack_is_outermost_to_its_end),
		cmocka_unit_test(a_function_that_loads_no_stack_pointer_keeps_its_rows),
		cmocka_unit_test(a_call_of_c_leads_to_the_goroutine_once_it_has_kept_its_place),
		cmocka_unit_test(a_call_of_c_that_keeps_something_else_has_no_known_caller),
		cmocka_unit_test(a_call_of_go_by_c_leads_to_the_goroutine_that_called_c),
		cmocka_unit_test(a_call_of_c_may_have_pushed_the_frame_pointer),
		cmocka_unit_test(
			the_call_of_c_that_is_returned_to_may_have_pushed_the_frame_pointer),
		cmocka_unit_test(a_signal_handler_returns_to_a_signal_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
