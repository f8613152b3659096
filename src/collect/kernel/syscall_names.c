#include "collect/kernel/syscall_names.h"

#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>

#include "base/attributes.h"
#include "wire/wire.h"

/* On numbers of calls with pointers of 32 bits in 64-bit code (x32). */
#define X32_BIT 0x40000000u

void syscall_get_name(uint64_t call, char *ret, size_t size)
{
	uint32_t number = (uint32_t)(call & (WIRE_CALL_32_BIT - 1)) - 1;
	uint32_t architecture = call & WIRE_CALL_32_BIT ? SCMP_ARCH_X86
				: number & X32_BIT      ? SCMP_ARCH_X32
							: SCMP_ARCH_X86_64;
	_cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(architecture, (int)number);

	if (name)
		snprintf(ret, size, "%s", name);
	else
		snprintf(ret, size, "%" PRIu32, number);
}
