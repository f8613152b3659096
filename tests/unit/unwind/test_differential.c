/*
 * Tables of real programs against libdw's own evaluator: for each row, at its address and at the
 * last byte before the next row, both sides compute the caller's registers from the same made-up
 * registers and memory, and must come to the same values.
 *
 *	DIFFERENTIAL_ALL=1   every row of large files too
 */
#include "unit.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "expression_evaluator.h"
#include "unwind/unwind_table.h"
#include "unwind/x86_64/context_start.h"
#include "unwind/x86_64/swapcontext.h"

#define FILES_MIN    10
#define ROWS_MAX     200000 /* that are compared of one file in the default run */
#define REGISTER_AX  0
#define REGISTER_DX  1
#define REGISTER_CX  2
#define REGISTER_BX  3
#define REGISTER_SI  4
#define REGISTER_DI  5
#define REGISTER_FP  6
#define REGISTER_SP  7
#define REGISTER_R8  8
#define REGISTER_R9  9
#define REGISTER_R10 10
#define REGISTER_R11 11
#define REGISTER_RA  16

#define LIBRARY(name) "{/usr,}/lib{/x86_64-linux-gnu,64}/" name
#define PROGRAM(name) "/usr/bin/" name

static const char *const patterns[] = {
	LIBRARY("libc.so.6"),
	LIBRARY("ld-linux-x86-64.so.2"),
	LIBRARY("libm.so.6"),
	LIBRARY("libstdc++.so.6"),
	LIBRARY("libgcc_s.so.1"),
	LIBRARY("libcrypto.so.[0-9]"),
	LIBRARY("libssl.so.[0-9]"),
	LIBRARY("libpython3*.so.1.0"),
	LIBRARY("libperl.so.*"),
	LIBRARY("libelf.so.1"),
	LIBRARY("libdw.so.1"),
	LIBRARY("libz.so.1"),
	LIBRARY("liblzma.so.5"),
	LIBRARY("libzstd.so.1"),
	LIBRARY("libsqlite3.so.0"),
	LIBRARY("libcurl*.so.4"),
	LIBRARY("libsystemd.so.0"),
	LIBRARY("libudev.so.1"),
	LIBRARY("libgnutls.so.30"),
	LIBRARY("libgcrypt.so.20"),
	LIBRARY("libgmp.so.10"),
	LIBRARY("libglib-2.0.so.0"),
	LIBRARY("libxml2.so.2"),
	LIBRARY("libicuuc.so.[0-9][0-9]"),
	LIBRARY("libpcre2-8.so.0"),
	LIBRARY("libncursesw.so.6"),
	LIBRARY("libreadline.so.8"),
	LIBRARY("libgomp.so.1"),
	LIBRARY("libasan.so.*"),
	LIBRARY("libgfortran.so.5"),
	LIBRARY("libLLVM-[0-9][0-9].so.1"),
	LIBRARY("libclang-cpp.so.[0-9][0-9]"),
	LIBRARY("libbpf.so.1"),
	LIBRARY("libtbb.so.*"),
	PROGRAM("python3"),
	PROGRAM("perl"),
	PROGRAM("bash"),
	PROGRAM("node"),
	PROGRAM("git"),
	PROGRAM("sqlite3"),
	PROGRAM("openssl"),
	PROGRAM("gdb"),
	PROGRAM("perf"),
	PROGRAM("make"),
	PROGRAM("cmake"),
	PROGRAM("gawk"),
	PROGRAM("tar"),
	PROGRAM("ssh"),
	PROGRAM("x86_64-linux-gnu-ld.bfd"),
	PROGRAM("x86_64-linux-gnu-as"),
	"/usr/lib*/gcc/x86_64*/*/cc1",
	"/usr/lib*/gcc/x86_64*/*/cc1plus",
	"/usr/lib*/gcc/x86_64*/*/lto1",
};

struct comparison {
	const char *path;
	struct objfile *objfile;
	struct unwind_table *table;
	Elf *elf; /* libdw's own view of the file */
	Dwarf *dwarf;
	Dwarf_CFI *cfi[2]; /* .eh_frame, .debug_frame; NULL: none */
	uint64_t registers[NUM_REGISTERS];
	uint64_t num_compared;
	uint64_t num_unsupported;
	uint64_t num_lost; /* registers that our rule calls undefined, and libdw does not */
	uint64_t num_different;
};

/* Registers that look like nothing else, except that the pc is the address under test. */
static void make_registers(struct comparison *comparison, uint64_t pc)
{
	for (unsigned int i = 0; i < NUM_REGISTERS; i++)
		comparison->registers[i] = hash_mix(pc, i + 1);
	comparison->registers[REGISTER_RA] = pc;
}

/* Returns false when there is an operation that this evaluator does not know. */
static bool evaluate(const struct comparison *comparison, const Dwarf_Op *ops, size_t num_ops,
		     uint64_t cfa, struct evaluation *ret)
{
	*ret = (struct evaluation){0};
	for (size_t i = 0; i < num_ops; i++)
		evaluate_operation(ret, comparison->registers, &ops[i], cfa);
	return !ret->is_unknown && ret->depth > 0;
}

enum answer { ANSWER_VALUE, ANSWER_UNDEFINED, ANSWER_UNKNOWN };

static enum answer ask_register(const struct comparison *comparison, Dwarf_Frame *frame,
				unsigned int number, uint64_t cfa, uint64_t *ret)
{
	struct evaluation evaluation;
	Dwarf_Op memory[3];
	Dwarf_Op *ops;
	size_t num_ops;

	if (dwarf_frame_register(frame, (int)number, memory, &ops, &num_ops))
		return ANSWER_UNKNOWN;
	if (num_ops == 0) {
		*ret = comparison->registers[number];
		return ops ? ANSWER_UNDEFINED : ANSWER_VALUE;
	}
	if (!evaluate(comparison, ops, num_ops, cfa, &evaluation))
		return ANSWER_UNKNOWN;
	*ret = pop(&evaluation);
	if (!evaluation.is_value)
		*ret = read_memory(*ret);
	return ANSWER_VALUE;
}

static uint64_t apply_cfa(const struct comparison *comparison, const struct unwind_rule *rule)
{
	const uint64_t *registers = comparison->registers;
	uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;

	switch ((enum unwind_cfa_op)rule->cfa_op) {
	case UNWIND_CFA_SP:
	case UNWIND_CFA_CLONE: /* in the thread that created one: ax is not 0 here */
		return registers[REGISTER_SP] + offset;
	case UNWIND_CFA_FP:
		return registers[REGISTER_FP] + offset;
	case UNWIND_CFA_BX:
		return registers[REGISTER_BX] + offset;
	case UNWIND_CFA_R10:
		return registers[REGISTER_R10] + offset;
	case UNWIND_CFA_AX:
		return registers[REGISTER_AX] + offset;
	case UNWIND_CFA_SI:
		return registers[REGISTER_SI] + offset;
	case UNWIND_CFA_DI:
		return registers[REGISTER_DI] + offset;
	case UNWIND_CFA_R9:
		return registers[REGISTER_R9] + offset;
	case UNWIND_CFA_R11:
		return registers[REGISTER_R11] + offset;
	case UNWIND_CFA_CX:
		return registers[REGISTER_CX] + offset;
	case UNWIND_CFA_JUMP:
		return registers[REGISTER_DI];
	case UNWIND_CFA_CONTEXT:
		return registers[REGISTER_DX];
	case UNWIND_CFA_COPY:
		return registers[UNWIND_COPY_REGISTER(offset)] +
		       (uint64_t)UNWIND_COPY_BYTES(offset);
	case UNWIND_CFA_DEREF_SP:
		return read_memory(registers[REGISTER_SP] + offset);
	case UNWIND_CFA_DEREF_FP:
		return read_memory(registers[REGISTER_FP] + offset);
	case UNWIND_CFA_DEREF_SP_ADD:
		return read_memory(registers[REGISTER_SP] +
				   (uint64_t)UNWIND_STORED_COPY_PLACE(offset)) +
		       UNWIND_STORED_COPY_BYTES(offset);
	case UNWIND_CFA_PLT:
		return registers[REGISTER_SP] + 8 + 8 * ((registers[REGISTER_RA] & 15) >= offset);
	case UNWIND_CFA_SIGNAL:
		return read_memory(registers[REGISTER_SP] + 160);
	case UNWIND_CFA_GOROUTINE: /* libdw knows nothing of these */
	case UNWIND_CFA_FP_ELSEWHERE:
	case UNWIND_CFA_COPY_ELSEWHERE:
	case UNWIND_CFA_SCHEDULED:
	case UNWIND_CFA_NONE:
	case UNWIND_CFA_STOP:
	case UNWIND_CFA_UNSUPPORTED:
		break;
	}
	return 0;
}

/* Returns false when the register is lost. */
static bool apply_register(const struct comparison *comparison, unsigned int number, uint8_t op,
			   int offset, uint64_t cfa, uint64_t *ret)
{
	uint64_t distance = (uint64_t)(int64_t)offset;

	switch ((enum unwind_register_op)op) {
	case UNWIND_REGISTER_SAME:
		*ret = comparison->registers[number];
		return true;
	case UNWIND_REGISTER_AT_CFA:
		*ret = read_memory(cfa + distance);
		return true;
	case UNWIND_REGISTER_AT_FP:
		*ret = read_memory(comparison->registers[REGISTER_FP] + distance);
		return true;
	case UNWIND_REGISTER_UNDEFINED:
		break;
	}
	return false;
}

static bool is_register_same(struct comparison *comparison, Dwarf_Frame *frame, unsigned int number,
			     const struct unwind_rule *rule, uint64_t cfa)
{
	bool is_fp = number == REGISTER_FP;
	uint64_t expected = 0;
	uint64_t actual;
	enum answer answer = ask_register(comparison, frame, number, cfa, &expected);

	if (!apply_register(comparison, number, is_fp ? rule->fp_op : rule->bx_op,
			    is_fp ? rule->fp_offset : rule->bx_offset, cfa, &actual)) {
		comparison->num_lost += answer != ANSWER_UNDEFINED;
		return true;
	}
	/* libdw (0.188) takes rax for rbx in its list of registers that functions keep. */
	if (answer == ANSWER_UNDEFINED && number == REGISTER_BX)
		return rule->bx_op == UNWIND_REGISTER_SAME;
	return answer == ANSWER_VALUE && actual == expected;
}

static bool is_signal_frame_same(struct comparison *comparison, Dwarf_Frame *frame, uint64_t cfa)
{
	/* Where the kernel's struct rt_sigframe keeps them, from rsp on. */
	static const struct {
		unsigned int number;
		unsigned int offset;
	} places[] = {{REGISTER_FP, 120}, {REGISTER_BX, 128}, {REGISTER_RA, 168}};
	bool is_signal_frame = false;

	if (dwarf_frame_info(frame, NULL, NULL, &is_signal_frame) < 0 || !is_signal_frame)
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		uint64_t value;

		if (ask_register(comparison, frame, places[i].number, cfa, &value) !=
			    ANSWER_VALUE ||
		    value != read_memory(comparison->registers[REGISTER_SP] + places[i].offset))
			return false;
	}
	return true;
}

/* Registers by number, and what they come to. */
struct expected_register {
	unsigned int number;
	uint64_t value;
};

static bool are_registers_same(const struct comparison *comparison, Dwarf_Frame *frame,
			       uint64_t cfa, const struct expected_register *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		if (ask_register(comparison, frame, expected[i].number, cfa, &value) !=
			    ANSWER_VALUE ||
		    value != expected[i].value)
			return false;
	}
	return true;
}

static bool is_longjmp_same(const struct comparison *comparison, Dwarf_Frame *frame, uint64_t cfa)
{
	const uint64_t *registers = comparison->registers;
	const struct expected_register expected[] = {
		{REGISTER_RA, registers[REGISTER_DX]},
		{REGISTER_SP, registers[REGISTER_R8]},
		{REGISTER_FP, registers[REGISTER_R9]},
		{REGISTER_BX, read_memory(registers[REGISTER_DI])},
	};

	return are_registers_same(comparison, frame, cfa, expected, ARRAY_LENGTH(expected));
}

/* Where struct ucontext_t keeps them. */
static bool is_context_same(const struct comparison *comparison, Dwarf_Frame *frame, uint64_t cfa)
{
	uint64_t context = comparison->registers[REGISTER_DX];
	const struct expected_register expected[] = {
		{REGISTER_RA, read_memory(context + 168)},
		{REGISTER_SP, read_memory(context + 160)},
		{REGISTER_FP, read_memory(context + 120)},
		{REGISTER_BX, read_memory(context + 128)},
	};

	return are_registers_same(comparison, frame, cfa, expected, ARRAY_LENGTH(expected));
}

/* glibc does not say that the return address of swapcontext is not on its stack for a while. */
static bool is_swapcontext(const struct comparison *comparison, Dwarf_Frame *frame)
{
	uint64_t pc = comparison->registers[REGISTER_RA];
	Dwarf_Addr function_start;
	Dwarf_Addr function_end;
	uint64_t start;
	uint64_t end;
	bool is_signal_frame;

	return dwarf_frame_info(frame, &function_start, &function_end, &is_signal_frame) >= 0 &&
	       swapcontext_find(comparison->objfile, function_start, function_end - function_start,
				&start, &end) &&
	       pc >= start && pc < end;
}

/* From here on, code calls a function or has called it, and ends the thread: mov $60,…%eax; syscall. */
static bool ends_thread(const struct comparison *comparison)
{
	static const uint8_t forms[][9] = {{0xb8, 60, 0, 0, 0, 0x0f, 0x05},
					   {0x48, 0xc7, 0xc0, 60, 0, 0, 0, 0x0f, 0x05}};
	static const size_t sizes[] = {7, 9};
	uint8_t code[40];

	/* The address may be the last byte of such an instruction. */
	if (objfile_read_code(comparison->objfile, comparison->registers[REGISTER_RA] - 8, code,
			      sizeof(code)))
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++)
		if (memmem(code, sizeof(code), forms[i], sizes[i]))
			return true;
	return false;
}

static uint64_t apply_ra(const struct comparison *comparison, const struct unwind_rule *rule,
			 uint64_t cfa)
{
	switch ((enum unwind_ra_op)rule->ra_op) {
	case UNWIND_RA_AT_CFA:
		break;
	case UNWIND_RA_IN_DI:
		return comparison->registers[REGISTER_DI];
	case UNWIND_RA_IN_CX:
		return comparison->registers[REGISTER_CX];
	}
	return read_memory(cfa - 8);
}

static bool is_frame_same(struct comparison *comparison, Dwarf_Frame *frame,
			  const struct unwind_rule *rule)
{
	uint64_t actual_cfa = apply_cfa(comparison, rule);
	struct evaluation evaluation;
	uint64_t ra = 0;
	enum answer answer;
	Dwarf_Op *ops;
	size_t num_ops;

	/* Nothing says that glibc's __start_context is outermost, or a new thread's part of clone(). */
	if (rule->cfa_op == UNWIND_CFA_STOP)
		return ask_register(comparison, frame, REGISTER_RA, 0, &ra) == ANSWER_UNDEFINED ||
		       ends_thread(comparison) ||
		       context_start_is_at(comparison->objfile, comparison->registers[REGISTER_RA],
					   CONTEXT_START_MAX_BYTES);
	if (rule->cfa_op == UNWIND_CFA_CONTEXT && is_swapcontext(comparison, frame))
		return true;
	if (dwarf_frame_cfa(frame, &ops, &num_ops) ||
	    !evaluate(comparison, ops, num_ops, 0, &evaluation) || pop(&evaluation) != actual_cfa)
		return false;
	if (rule->cfa_op == UNWIND_CFA_SIGNAL)
		return is_signal_frame_same(comparison, frame, actual_cfa);
	if (rule->cfa_op == UNWIND_CFA_JUMP)
		return is_longjmp_same(comparison, frame, actual_cfa);
	if (rule->cfa_op == UNWIND_CFA_CONTEXT)
		return is_context_same(comparison, frame, actual_cfa);
	answer = ask_register(comparison, frame, REGISTER_RA, actual_cfa, &ra);
	if (answer != ANSWER_VALUE || ra != apply_ra(comparison, rule, actual_cfa))
		return false;
	return is_register_same(comparison, frame, REGISTER_FP, rule, actual_cfa) &&
	       is_register_same(comparison, frame, REGISTER_BX, rule, actual_cfa);
}

static Dwarf_Frame *ask_frame(const struct comparison *comparison, uint64_t elf_address)
{
	for (size_t i = 0; i < ARRAY_LENGTH(comparison->cfi); i++) {
		Dwarf_Frame *frame;

		if (comparison->cfi[i] &&
		    dwarf_cfi_addrframe(comparison->cfi[i], elf_address, &frame) == 0)
			return frame;
	}
	return NULL;
}

static bool is_same(struct comparison *comparison, uint64_t elf_address,
		    const struct unwind_rule *rule)
{
	Dwarf_Frame *frame = ask_frame(comparison, elf_address);
	bool result;

	make_registers(comparison, elf_address);
	/* Nothing describes the code: the entry point, and rules that come from instructions, which
	   test_code_rules_oracle.c compares. */
	if (!frame)
		result = true;
	else
		result =
			rule->cfa_op == UNWIND_CFA_UNSUPPORTED ||
			(rule->cfa_op != UNWIND_CFA_NONE && is_frame_same(comparison, frame, rule));
	free(frame);
	return result;
}

static void compare_at(struct comparison *comparison, uint64_t elf_address,
		       const struct unwind_rule *rule)
{
	if (is_same(comparison, elf_address, rule))
		return;
	if (comparison->num_different++ < 10)
		print_message("  %s: %#llx: cfa %d%+d fp %d%+d bx %d%+d ra %d\n", comparison->path,
			      (unsigned long long)elf_address, rule->cfa_op, rule->cfa_offset,
			      rule->fp_op, rule->fp_offset, rule->bx_op, rule->bx_offset,
			      rule->ra_op);
}

static void compare_row(struct comparison *comparison, uint32_t page_index, uint32_t row_index)
{
	const struct unwind_table *table = comparison->table;
	const struct unwind_page *page = &table->pages[page_index];
	const struct unwind_row *row = &table->rows[page->first_row + row_index];
	const struct unwind_rule *rule = &table->rules[row->rule];
	uint64_t base = (table->first_page + page_index) << UNWIND_PAGE_SHIFT;
	uint64_t next = row_index + 1 < page->num_rows ? row[1].pc_low : 1u << UNWIND_PAGE_SHIFT;

	comparison->num_compared++;
	comparison->num_unsupported += rule->cfa_op == UNWIND_CFA_UNSUPPORTED;
	compare_at(comparison, base + row->pc_low, rule);
	compare_at(comparison, base + next - 1, rule);
}

static void compare_rows(struct comparison *comparison)
{
	const struct unwind_table *table = comparison->table;
	uint32_t step = getenv("DIFFERENTIAL_ALL") ? 1 : table->num_rows / ROWS_MAX + 1;
	uint32_t skip = 0; /* rows before the next one that is compared */

	for (uint32_t page = 0; page < table->num_pages; page++) {
		uint32_t row = skip;

		for (; row < table->pages[page].num_rows; row += step)
			compare_row(comparison, page, row);
		skip = row - table->pages[page].num_rows;
	}
}

/* Returns false when the file is none that has a table. */
static bool open_both(struct comparison *comparison, int fd)
{
	struct error error;

	if (objfile_open(fd, comparison->path, NULL, &comparison->objfile, &error) ||
	    unwind_table_new(comparison->objfile, &comparison->table, &error)) {
		print_message("%s, skipping\n", error.message);
		return false;
	}
	comparison->elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(comparison->elf);
	comparison->cfi[0] = dwarf_getcfi_elf(comparison->elf);
	comparison->dwarf = dwarf_begin_elf(comparison->elf, DWARF_C_READ, NULL);
	if (comparison->dwarf)
		comparison->cfi[1] = dwarf_getcfi(comparison->dwarf);
	return true;
}

static void close_both(struct comparison *comparison)
{
	if (comparison->cfi[0])
		dwarf_cfi_end(comparison->cfi[0]);
	if (comparison->dwarf)
		dwarf_end(comparison->dwarf);
	elf_end(comparison->elf);
	unwind_table_free(comparison->table);
	objfile_unref(comparison->objfile);
}

/* Returns false when the file cannot be compared. */
static bool compare_file(const char *path, uint64_t *num_different)
{
	struct comparison comparison = {.path = path};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_open = fd >= 0 && open_both(&comparison, fd);

	if (is_open) {
		compare_rows(&comparison);
		print_message("%-52s %8u rows, %7llu compared, %5u rules, %4llu unsupported, "
			      "%2llu lost, %llu different\n",
			      path, comparison.table->num_rows,
			      (unsigned long long)comparison.num_compared,
			      comparison.table->num_rules,
			      (unsigned long long)comparison.num_unsupported,
			      (unsigned long long)comparison.num_lost,
			      (unsigned long long)comparison.num_different);
		/* More would hide that rules are not understood. */
		assert_true(comparison.num_unsupported <= comparison.num_compared / 50 + 5);
		*num_different += comparison.num_different;
	}
	close_both(&comparison);
	return is_open;
}

static void rules_of_system_files_are_those_of_libdw(void **state)
{
	unsigned int num_files = 0;
	uint64_t num_different = 0;

	(void)state;
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < ARRAY_LENGTH(patterns); i++) {
		glob_t found;

		if (glob(patterns[i], GLOB_BRACE, NULL, &found))
			continue;
		num_files += compare_file(found.gl_pathv[0], &num_different);
		globfree(&found);
	}
	print_message("%u files\n", num_files);
	assert_true(num_files >= FILES_MIN);
	assert_int_equal(num_different, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_system_files_are_those_of_libdw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
