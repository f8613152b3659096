/* Recognized by its instructions, as in swapcontext.c. Builds with CET start with endbr64. */
#include "unwind/x86_64/context_start.h"

#include <string.h>

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

bool context_start_is_at(const struct objfile *objfile, uint64_t elf_address, uint64_t size)
{
	static const uint8_t mov_rbx_rsp[] = {0x48, 0x89, 0xdc};
	uint8_t code[sizeof(endbr64) + sizeof(mov_rbx_rsp)];
	size_t skipped;

	if (size < CONTEXT_START_MIN_BYTES || size > CONTEXT_START_MAX_BYTES ||
	    objfile_read_code(objfile, elf_address, code, sizeof(code)))
		return false;
	skipped = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	return memcmp(code + skipped, mov_rbx_rsp, sizeof(mov_rbx_rsp)) == 0;
}

static const uint8_t jmp_rbx[] = {0xff, 0xe3};
/* xor %rdi,%rdi; call _exit (except the distance), and hlt after that */
static const uint8_t xor_call[] = {0x48, 0x31, 0xff, 0xe8};
static const uint8_t hlt[] = {0xf4};
#define DISTANCE_BYTES sizeof(int32_t)
#define MIN_END_BYTES  (sizeof(xor_call) + DISTANCE_BYTES + sizeof(hlt))
#define MAX_END_BYTES  (sizeof(endbr64) + MIN_END_BYTES)

static bool is_end(const uint8_t *code, size_t size)
{
	if (size >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0) {
		code += sizeof(endbr64);
		size -= sizeof(endbr64);
	}
	return size >= MIN_END_BYTES && memcmp(code, xor_call, sizeof(xor_call)) == 0 &&
	       memcmp(code + sizeof(xor_call) + DISTANCE_BYTES, hlt, sizeof(hlt)) == 0;
}

size_t fcontext_find_end(const uint8_t *code, size_t size, size_t offset)
{
	const uint8_t *jump;

	while (offset < size &&
	       (jump = memmem(code + offset, size - offset, jmp_rbx, sizeof(jmp_rbx)))) {
		offset = (size_t)(jump - code) + sizeof(jmp_rbx);
		if (is_end(code + offset, size - offset))
			return offset;
	}
	return size;
}

bool fcontext_end_is_at(const struct objfile *objfile, uint64_t elf_address)
{
	uint8_t code[sizeof(jmp_rbx) + MAX_END_BYTES];
	size_t size = sizeof(code);

	/* It may be the last of the file. */
	if (objfile_read_code(objfile, elf_address - sizeof(jmp_rbx), code, size)) {
		size -= sizeof(endbr64);
		if (objfile_read_code(objfile, elf_address - sizeof(jmp_rbx), code, size))
			return false;
	}
	return fcontext_find_end(code, size, 0) == sizeof(jmp_rbx);
}
