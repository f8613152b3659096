/* Recognized by its instructions, as in swapcontext.c. */
#include "unwind/x86_64/clone_return.h"

#include <string.h>

bool clone_return_is_at(const struct objfile *objfile, uint64_t start, uint64_t end)
{
	static const uint8_t syscall_test_rax[] = {0x0f, 0x05, 0x48, 0x85, 0xc0};
	static const uint8_t je_ret[] = {0x74, 0x01, 0xc3};
	uint8_t code[CLONE_RETURN_MAX_BYTES];
	uint64_t size = end - start;

	if (size < CLONE_RETURN_MIN_BYTES || size > sizeof(code) ||
	    objfile_read_code(objfile, start, code, size))
		return false;
	return memcmp(code, syscall_test_rax, sizeof(syscall_test_rax)) == 0 &&
	       memcmp(code + size - sizeof(je_ret), je_ret, sizeof(je_ret)) == 0;
}
