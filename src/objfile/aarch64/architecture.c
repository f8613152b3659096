/* AArch64: registers and operands of probes, and linkage tables. Its code is not decoded yet. */
#include <elf.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "objfile/architectures.h"
#include "objfile/operand.h"
#include "objfile/plt_stubs.h"
#include "objfile/usdt.h"

static const uint8_t arguments[] = {0, 1, 2, 3, 4, 5, 6, 7};
#define SP 31

/* "x0", "w0", "sp" */
static bool find_register(const char *text, size_t length, uint8_t *ret)
{
	if (operand_is_word(text, length, "sp")) {
		*ret = SP;
		return true;
	}
	for (uint8_t i = 0; i < SP; i++) {
		char name[8];

		snprintf(name, sizeof(name), "x%u", i);
		if (operand_is_word(text, length, name) ||
		    (length && text[0] == 'w' && operand_is_word(text + 1, length - 1, name + 1))) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* "[sp, 16]", "[x0]", "w3", "5" */
static bool read_operand(const char *text, const char *end, struct probe_argument *ret)
{
	const char *comma = memchr(text, ',', (size_t)(end - text));

	if (*text == '[' && end[-1] == ']') {
		ret->source = ARGUMENT_MEMORY;
		end--;
		return find_register(text + 1, (size_t)((comma ? comma : end) - text - 1),
				     &ret->base) &&
		       (!comma || operand_read_number(comma + 1 + strspn(comma + 1, " "), end,
						      &ret->displacement));
	}
	ret->source = ARGUMENT_REGISTER;
	if (find_register(text, (size_t)(end - text), &ret->base))
		return true;
	ret->source = ARGUMENT_CONSTANT;
	return operand_read_number(text, end, &ret->displacement);
}

#define BTI    0xd503245f /* bti c */
#define BRANCH 0xd61f0220 /* br x17 */

/* [bti c]  adrp x16, PAGE  ldr x17, [x16, OFFSET]  add x16, x16, OFFSET  br x17: see ELF for AArch64 */
static int read_stubs(struct plt *plt, const struct plt_slots *slots, struct bytes code,
		      uint64_t elf_address, uint64_t entry_size _unused_)
{
	uint32_t previous = 0;

	for (size_t offset = 0; offset + 16 <= code.size; offset += 4) {
		struct bytes stub = bytes_of(code.data + offset, 16);
		uint64_t start = elf_address + offset;
		uint32_t page = bytes_u32(&stub);
		uint32_t load = bytes_u32(&stub);
		bool has_bti = previous == BTI;
		uint64_t address;
		int64_t pages;
		int err;

		previous = page;
		bytes_skip(&stub, 4);
		if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211 ||
		    bytes_u32(&stub) != BRANCH)
			continue;
		/* 19 bits and below them 2 more, signed */
		pages = (int64_t)((int32_t)(((page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3))
					    << 11) >>
				  11);
		address = (start & ~0xfffull) + ((uint64_t)pages << 12) + (load >> 10 & 0xfff) * 8;
		err = plt_add_stub(plt, start - 4 * has_bti, 16 + 4 * has_bti,
				   plt_find_slot(slots, address));
		if (err)
			return err;
	}
	return 0;
}

/* Before Linux 5.14, and since then. */
static const char *const interrupts[] = {
	"el0_irq",     "el1_irq",     "el0t_64_irq", "el0t_32_irq", "el1h_64_irq", "el1t_64_irq",
	"el0t_64_fiq", "el0t_32_fiq", "el1h_64_fiq", "el1t_64_fiq", NULL,
};

const struct architecture aarch64_architecture = {
	.machine = EM_AARCH64,
	.name = "AArch64",
	.arguments = arguments,
	.num_arguments = ARRAY_LENGTH(arguments),
	.result = 0,
	.read_operand = read_operand,
	.relocations = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE},
	.read_stubs = read_stubs,
	.instruction_bytes = sizeof(uint32_t),
	.ld_cache_flags = 0x0a03, /* FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6 */
	.musl_path = "/lib/ld-musl-aarch64.so.1",
	.system_calls = {SCMP_ARCH_AARCH64, SCMP_ARCH_ARM, 0},
	.interrupts = interrupts,
};
