/* Recognized by its instructions, as in swapcontext.c. Builds with CET begin with endbr64. */
#include "unwind/context_start.h"

#include <string.h>

bool context_start_is_at(const struct objfile *objfile, uint64_t elf_address, uint64_t size)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t mov_rbx_rsp[] = {0x48, 0x89, 0xdc};
	uint8_t code[sizeof(endbr64) + sizeof(mov_rbx_rsp)];
	size_t skipped;

	if (size < CONTEXT_START_MIN_BYTES || size > CONTEXT_START_MAX_BYTES ||
	    objfile_read_code(objfile, elf_address, code, sizeof(code)))
		return false;
	skipped = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	return memcmp(code + skipped, mov_rbx_rsp, sizeof(mov_rbx_rsp)) == 0;
}
