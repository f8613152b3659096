#include "unit.h"

#include "elf_writer.h"
#include "objfile/objfile.h"

#define TEXT 0x1000

/* Functions of 64 bytes. That of JUST_A_LABEL has no size, and its end is not known. */
enum { CALLER, CALLED, TAIL_CALLED, OTHER, JUST_A_LABEL, NUM_FUNCTIONS };
#define START_OF(function)    (TEXT + (function)*64ull)
#define INSIDE(function)      (START_OF(function) + 32)
#define CALL_AT               START_OF(CALLER)
#define RETURN_ADDRESS        (START_OF(CALLER) + 16)
#define PUT(code, place, ...) put(code, place, BYTES(__VA_ARGS__))
#define BYTES(...)            ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

struct code {
	uint8_t bytes[NUM_FUNCTIONS * 64];
};

static void put(struct code *code, uint64_t address, const uint8_t *bytes, size_t size)
{
	memcpy(code->bytes + (address - TEXT), bytes, size);
}

/* A call (E8) or jump (E9) that ends at the address. */
static void put_direct(struct code *code, uint8_t opcode, uint64_t end, uint64_t target)
{
	int32_t distance = (int32_t)(target - end);

	code->bytes[end - TEXT - 5] = opcode;
	memcpy(code->bytes + (end - TEXT - 4), &distance, sizeof(distance));
}

/* Functions that return; CALLER calls CALLED. */
static struct code usual_code(void)
{
	struct code code;

	memset(code.bytes, 0x90, sizeof(code.bytes));
	for (int i = 0; i < NUM_FUNCTIONS; i++)
		code.bytes[i * 64 + 63] = 0xc3;
	put_direct(&code, 0xe8, RETURN_ADDRESS, START_OF(CALLED));
	return code;
}

static enum call_proof prove(const struct code *code, uint64_t callee)
{
	static const char names[] = "\0function";
	Elf64_Sym symbols[NUM_FUNCTIONS + 1] = {{0}};
	struct elf_writer writer = {0};
	struct objfile *objfile;
	enum call_proof proof;
	int fd;

	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .data = code->bytes,
						     .size = sizeof(code->bytes)});
	for (int i = 0; i < NUM_FUNCTIONS; i++)
		symbols[i + 1] = (Elf64_Sym){
			.st_name = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = START_OF(i),
			.st_size = i == JUST_A_LABEL ? 0 : 64,
		};
	elf_writer_add_symbols(&writer, symbols, sizeof(symbols), names, sizeof(names));
	fd = elf_writer_open(&writer);
	assert_int_equal(objfile_open(fd, "/test", NULL, &objfile, NULL), 0);
	close(fd);
	assert_int_equal(objfile_prove_call(objfile, RETURN_ADDRESS, callee, &proof), 0);
	objfile_unref(objfile);
	return proof;
}

static void assert_unproven(const struct code *code)
{
	assert_int_equal(prove(code, INSIDE(OTHER)), CALL_UNPROVEN);
}

static void a_direct_call_leads_to_its_target_and_nowhere_else(void **state _unused_)
{
	struct code code = usual_code();

	assert_int_equal(prove(&code, START_OF(CALLED)), CALL_PROVEN);
	assert_int_equal(prove(&code, INSIDE(CALLED)), CALL_PROVEN);
	assert_int_equal(prove(&code, INSIDE(TAIL_CALLED)), CALL_DISPROVEN);
	assert_int_equal(prove(&code, INSIDE(JUST_A_LABEL)), CALL_DISPROVEN);
	assert_int_equal(prove(&code, OBJFILE_ELSEWHERE), CALL_DISPROVEN);
}

static void a_jump_out_of_the_function_is_followed(void **state _unused_)
{
	struct code code = usual_code();

	put_direct(&code, 0xe9, INSIDE(CALLED), START_OF(TAIL_CALLED));
	assert_int_equal(prove(&code, INSIDE(TAIL_CALLED)), CALL_PROVEN);
	assert_int_equal(prove(&code, INSIDE(OTHER)), CALL_DISPROVEN);
	PUT(&code, INSIDE(TAIL_CALLED), 0x75, 62); /* jne to OTHER */
	assert_int_equal(prove(&code, INSIDE(OTHER)), CALL_PROVEN);
	assert_int_equal(prove(&code, INSIDE(CALLER)), CALL_DISPROVEN);
}

static void a_function_that_does_not_end_leads_to_the_next(void **state _unused_)
{
	struct code code = usual_code();

	PUT(&code, START_OF(CALLED) + 62, 0x31, 0xc0); /* xor %eax,%eax */
	assert_int_equal(prove(&code, INSIDE(TAIL_CALLED)), CALL_PROVEN);
	assert_int_equal(prove(&code, INSIDE(OTHER)), CALL_DISPROVEN);
	put_direct(&code, 0xe8, START_OF(TAIL_CALLED), START_OF(OTHER)); /* does not return */
	assert_int_equal(prove(&code, INSIDE(TAIL_CALLED)), CALL_DISPROVEN);
}

static void where_a_function_may_jump_anywhere_nothing_is_proven(void **state _unused_)
{
	struct code code = usual_code();

	PUT(&code, INSIDE(CALLED), 0xff, 0xe0); /* jmp *%rax */
	assert_unproven(&code);
	code = usual_code();
	PUT(&code, INSIDE(CALLED), 0xff, 0x25, 0, 0, 0, 0); /* jmp *0(%rip): a PLT entry */
	assert_unproven(&code);
	code = usual_code();
	PUT(&code, INSIDE(CALLED), 0x50, 0xc3); /* push %rax; ret */
	assert_unproven(&code);
	code = usual_code();
	PUT(&code, INSIDE(CALLED), 0x41, 0x53, 0xc3); /* push %r11; ret */
	assert_unproven(&code);
	code = usual_code();
	PUT(&code, INSIDE(CALLED), 0x48, 0x89, 0x04, 0x24, 0xc3); /* mov %rax,(%rsp); ret */
	assert_unproven(&code);
	code = usual_code();
	put_direct(&code, 0xe8, INSIDE(CALLED), INSIDE(CALLED) + 2); /* call into itself */
	assert_unproven(&code);
	code = usual_code();
	PUT(&code, INSIDE(CALLED), 0x06); /* no instruction */
	assert_unproven(&code);
}

static void a_target_whose_bounds_are_not_known_proves_nothing_else(void **state _unused_)
{
	struct code code = usual_code();

	put_direct(&code, 0xe8, RETURN_ADDRESS, START_OF(JUST_A_LABEL));
	assert_unproven(&code);
	assert_int_equal(prove(&code, INSIDE(JUST_A_LABEL)), CALL_PROVEN);
	put_direct(&code, 0xe8, RETURN_ADDRESS, INSIDE(CALLED)); /* no start of a function */
	assert_unproven(&code);
	put_direct(&code, 0xe8, RETURN_ADDRESS, 0x100000); /* outside of the file */
	assert_unproven(&code);
	put_direct(&code, 0xe8, RETURN_ADDRESS, RETURN_ADDRESS); /* not relocated */
	assert_unproven(&code);
	code = usual_code();
	put_direct(&code, 0xe9, INSIDE(CALLED), START_OF(JUST_A_LABEL));
	assert_unproven(&code);
	assert_int_equal(prove(&code, START_OF(JUST_A_LABEL)), CALL_PROVEN);
}

static void an_indirect_call_proves_nothing(void **state _unused_)
{
	struct code code = usual_code();

	PUT(&code, RETURN_ADDRESS - 5, 0x90, 0x90, 0x90, 0xff, 0xd0); /* call *%rax */
	assert_unproven(&code);
	assert_int_equal(prove(&code, INSIDE(CALLED)), CALL_UNPROVEN);
	PUT(&code, RETURN_ADDRESS - 5, 0x90, 0x90, 0x90, 0x90, 0x90); /* no call */
	assert_unproven(&code);
	/* call *x(%rax,%rbp,8): what looks like a direct call is its SIB byte and displacement */
	code = usual_code();
	PUT(&code, RETURN_ADDRESS - 7, 0xff, 0x94, 0xe8);
	assert_unproven(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_direct_call_leads_to_its_target_and_nowhere_else),
		cmocka_unit_test(a_jump_out_of_the_function_is_followed),
		cmocka_unit_test(a_function_that_does_not_end_leads_to_the_next),
		cmocka_unit_test(where_a_function_may_jump_anywhere_nothing_is_proven),
		cmocka_unit_test(a_target_whose_bounds_are_not_known_proves_nothing_else),
		cmocka_unit_test(an_indirect_call_proves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
