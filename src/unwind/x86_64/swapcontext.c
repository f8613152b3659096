/*
 * Statically linked programs may be stripped of all symbols, and sizes differ between builds, so
 * swapcontext is recognized by its instructions. The offsets in them are part of the ABI
 * (ucontext_t). getcontext starts in the same way, but never loads a stack pointer.
 */
#include "unwind/x86_64/swapcontext.h"

#include <string.h>

/* Whether the code at the ELF address starts with `mov %rbx,0x80(%rdi)`. */
static bool saves_rbx(const struct objfile *objfile, uint64_t elf_address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t mov_rbx[] = {0x48, 0x89, 0x9f, 0x80, 0, 0, 0};
	uint8_t code[sizeof(endbr64) + sizeof(mov_rbx)];
	size_t skipped;

	if (objfile_read_code(objfile, elf_address, code, sizeof(code)))
		return false;
	skipped = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	return memcmp(code + skipped, mov_rbx, sizeof(mov_rbx)) == 0;
}

bool swapcontext_find(const struct objfile *objfile, uint64_t elf_address, uint64_t size,
		      uint64_t *ret_start, uint64_t *ret_end)
{
	/* mov 0xa0(%rdx),%rsp */
	static const uint8_t load_rsp[] = {0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0};
	/* mov 0xa8(%rdx),%rcx; push %rcx */
	static const uint8_t push_rip[] = {0x48, 0x8b, 0x8a, 0xa8, 0, 0, 0, 0x51};
	uint8_t code[SWAPCONTEXT_MAX_BYTES];
	const uint8_t *load;
	const uint8_t *push;

	if (size < SWAPCONTEXT_MIN_BYTES || size > sizeof(code) ||
	    !saves_rbx(objfile, elf_address) || objfile_read_code(objfile, elf_address, code, size))
		return false;
	load = memmem(code, size, load_rsp, sizeof(load_rsp));
	if (!load)
		return false;
	load += sizeof(load_rsp);
	push = memmem(load, size - (size_t)(load - code), push_rip, sizeof(push_rip));
	if (!push)
		return false;
	*ret_start = elf_address + (uint64_t)(load - code);
	*ret_end = elf_address + (uint64_t)(push + sizeof(push_rip) - code);
	return true;
}
