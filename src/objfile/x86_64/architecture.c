/* x86-64: registers and operands of probes, linkage tables, and the parts of this folder. */
#include <elf.h>
#include <seccomp.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "objfile/architectures.h"
#include "objfile/operand.h"
#include "objfile/plt_stubs.h"
#include "objfile/usdt.h"
#include "objfile/x86_64/calls.h"
#include "objfile/x86_64/code_flow.h"
#include "objfile/x86_64/function_start.h"
#include "objfile/x86_64/instruction.h"

/* The names of a register by its position in struct pt_regs: 64-bit, then 32, 16 and 8 bits. */
struct register_names {
	uint8_t number;
	const char *names[4];
};

static const struct register_names registers[] = {
	{0, {"r15", "r15d", "r15w", "r15b"}}, {1, {"r14", "r14d", "r14w", "r14b"}},
	{2, {"r13", "r13d", "r13w", "r13b"}}, {3, {"r12", "r12d", "r12w", "r12b"}},
	{4, {"rbp", "ebp", "bp", "bpl"}},     {5, {"rbx", "ebx", "bx", "bl"}},
	{6, {"r11", "r11d", "r11w", "r11b"}}, {7, {"r10", "r10d", "r10w", "r10b"}},
	{8, {"r9", "r9d", "r9w", "r9b"}},     {9, {"r8", "r8d", "r8w", "r8b"}},
	{10, {"rax", "eax", "ax", "al"}},     {11, {"rcx", "ecx", "cx", "cl"}},
	{12, {"rdx", "edx", "dx", "dl"}},     {13, {"rsi", "esi", "si", "sil"}},
	{14, {"rdi", "edi", "di", "dil"}},    {19, {"rsp", "esp", "sp", "spl"}},
};

static const uint8_t arguments[] = {14, 13, 12, 11, 9, 8};
#define RESULT 10

static bool find_register(const char *text, size_t length, uint8_t *ret)
{
	for (size_t i = 0; i < ARRAY_LENGTH(registers); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(registers[i].names); j++)
			if (operand_is_word(text, length, registers[i].names[j])) {
				*ret = registers[i].number;
				return true;
			}
	return false;
}

/* "16(%rsp)", "(%rax,%rcx,8)", "%edi", "$5" */
static bool read_operand(const char *text, const char *end, struct probe_argument *ret)
{
	const char *open = memchr(text, '(', (size_t)(end - text));
	const char *comma;
	const char *second;
	int64_t scale = 1;

	if (*text == '$') {
		ret->source = ARGUMENT_CONSTANT;
		return operand_read_number(text + 1, end, &ret->displacement);
	}
	if (*text == '%') {
		ret->source = ARGUMENT_REGISTER;
		return find_register(text + 1, (size_t)(end - text - 1), &ret->base);
	}
	ret->source = ARGUMENT_MEMORY;
	if (!open || end[-1] != ')' || open[1] != '%' ||
	    (open > text && !operand_read_number(text, open, &ret->displacement)))
		return false;
	end--;
	comma = memchr(open, ',', (size_t)(end - open));
	if (!find_register(open + 2, (size_t)((comma ? comma : end) - open - 2), &ret->base))
		return false;
	if (!comma)
		return true;
	if (comma[1] != '%')
		return false;
	second = memchr(comma + 1, ',', (size_t)(end - comma - 1));
	if (!find_register(comma + 2, (size_t)((second ? second : end) - comma - 2), &ret->index) ||
	    (second && !operand_read_number(second + 1, end, &scale)))
		return false;
	ret->scale = (uint8_t)scale;
	return scale == 1 || scale == 2 || scale == 4 || scale == 8;
}

static bool skip_prefix(struct bytes *code, const char *prefix, size_t size)
{
	if (bytes_left(code) < size || memcmp(code->data + code->offset, prefix, size) != 0)
		return false;
	bytes_skip(code, size);
	return true;
}

/*
 * The slot of one stub, or NULL:
 *
 *	[endbr64]  [mov $NUMBER, %r11d]  [bnd] jmp *SLOT(%rip)     mold has the mov
 *	[endbr64]  push $NUMBER  [bnd] jmp FIRST                   of .plt, beside .plt.sec
 *
 * Source: psABI 5.2 "Procedure Linkage Table", 13.2 "IBT PLT".
 */
static const struct plt_slot *read_stub(const struct plt_slots *slots, struct bytes code,
					uint64_t elf_address)
{
	(void)skip_prefix(&code, "\xf3\x0f\x1e\xfa", 4);
	if (skip_prefix(&code, "\x68", 1)) {
		uint32_t number = bytes_u32(&code);

		return !code.failed && number < slots->lazy.length ? &slots->lazy.items[number]
								   : NULL;
	}
	if (skip_prefix(&code, "\x41\xbb", 2))
		bytes_skip(&code, 4);
	(void)skip_prefix(&code, "\xf2", 1);
	if (skip_prefix(&code, "\xff\x25", 2)) {
		int32_t distance = (int32_t)bytes_u32(&code);

		return code.failed ? NULL
				   : plt_find_slot(slots, elf_address + code.offset +
								  (uint64_t)(int64_t)distance);
	}
	return NULL;
}

/*
 * .plt.got of GNU ld and mold has stubs of 8 bytes, without endbr64. mold leaves the size of stubs out, as
 * lld does, whose stubs are longer: then the padding up to 8 bytes shows it.
 */
static size_t get_stub_size(const struct bytes *code, uint64_t entry_size)
{
	if (code->size < 8 || memcmp(code->data, "\xff\x25", 2) != 0)
		return 16;
	if (!entry_size && (memcmp(code->data + 6, "\xcc\xcc", 2) == 0 ||
			    memcmp(code->data + 6, "\x66\x90", 2) == 0))
		return 8;
	return entry_size == 8 ? 8 : 16;
}

static int read_stubs(struct plt *plt, const struct plt_slots *slots, struct bytes code,
		      uint64_t elf_address, uint64_t entry_size)
{
	size_t size = get_stub_size(&code, entry_size);

	for (size_t offset = 0; offset + size <= code.size; offset += size) {
		uint64_t start = elf_address + offset;
		int err = plt_add_stub(plt, start, size,
				       read_stub(slots, bytes_of(code.data + offset, size), start));

		if (err)
			return err;
	}
	return 0;
}

/*
 * glibc's free() starts with "test %rdi,%rdi", which the kernel cannot emulate, and goes on with a conditional jump, which it
 * can: nothing has changed by then.
 */
static size_t skip_slow_start(const uint8_t *code, size_t size)
{
	static const uint8_t test[] = {0x48, 0x85, 0xff};
	const uint8_t *next = code + sizeof(test);

	if (size < sizeof(test) + 2 || memcmp(code, test, sizeof(test)) != 0)
		return 0;
	/* je and jne, near and far. */
	if ((next[0] & 0xfe) == 0x74 || (next[0] == 0x0f && (next[1] & 0xfe) == 0x84))
		return sizeof(test);
	return 0;
}

static bool decode(const uint8_t *code, size_t size, struct instruction_flow *ret)
{
	struct instruction instruction;

	if (!instruction_decode(code, size, &instruction))
		return false;
	*ret = (struct instruction_flow){
		.kind = instruction.kind,
		.length = instruction.length,
		.is_trap = instruction.kind == INSTRUCTION_PADDING &&
			   instruction.map != INSTRUCTION_MAP_0F && instruction.opcode != 0x90,
		.is_direct = instruction.is_direct,
		.distance = instruction.distance,
	};
	return true;
}

/* Whether an instruction compares: cmp, test and ucomisd set the flags and do nothing else. */
static bool is_comparison(const uint8_t *code, size_t size)
{
	struct instruction instruction;
	uint8_t extension;

	if (!instruction_decode(code, size, &instruction))
		return false;
	extension = instruction.modrm >> 3 & 7;
	if (instruction.map == INSTRUCTION_MAP_0F)
		return instruction.opcode == 0x2e;
	if (instruction.map != INSTRUCTION_MAP_ONE_BYTE)
		return false;
	switch (instruction.opcode) {
	case 0x38 ... 0x3d:
	case 0x84 ... 0x85:
	case 0xa8 ... 0xa9:
		return true;
	case 0xf6 ... 0xf7:
		return extension == 0;
	case 0x80 ... 0x81:
	case 0x83:
		return extension == 7;
	default:
		return false;
	}
}

/* Since Linux 5.8; with FRED since 6.9. */
static const char *const interrupts[] = {
	"asm_common_interrupt", "asm_spurious_interrupt",
	"asm_sysvec_",          "asm_exc_nmi",
	"fred_extint",          NULL,
};

const struct architecture x86_64_architecture = {
	.machine = EM_X86_64,
	.machine_of_32_bits = EM_386,
	.name = "x86-64",
	.arguments = arguments,
	.num_arguments = ARRAY_LENGTH(arguments),
	.result = RESULT,
	.read_operand = read_operand,
	.relocations = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE},
	.read_stubs = read_stubs,
	.split_code = code_flow_split,
	.find_start = function_start_find,
	.skip_slow_start = skip_slow_start,
	.has_unwind_tables = true,
	.decode = decode,
	.is_comparison = is_comparison,
	.ends_in_call = call_ends,
	.read_direct_call = call_read_direct,
	.replaces_return_address = call_replaces_return_address,
	.ld_cache_flags = 0x0303, /* FLAG_X8664_LIB64 | FLAG_ELF_LIBC6 */
	.musl_path = "/lib/ld-musl-x86_64.so.1",
	.system_calls = {SCMP_ARCH_X86_64, SCMP_ARCH_X86, SCMP_ARCH_X32},
	.interrupts = interrupts,
};
