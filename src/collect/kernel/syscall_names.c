#include "collect/kernel/syscall_names.h"

#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>

#include "base/attributes.h"
#include "objfile/architecture.h"
#include "wire/wire.h"

/* On numbers of calls with pointers of 32 bits in 64-bit code (x32). */
#define SHORT_POINTERS_BIT 0x40000000u

void syscall_get_name(uint64_t call, char *ret, size_t size)
{
	uint32_t number = (uint32_t)(call & (WIRE_CALL_32_BIT - 1)) - 1;
	const struct architecture *here = architecture_here();
	uint32_t architecture = here->system_calls.native;
	_cleanup_free_ char *name = NULL;

	if (call & WIRE_CALL_32_BIT)
		architecture = here->system_calls.of_32_bits;
	else if (here->system_calls.short_pointers && number & SHORT_POINTERS_BIT)
		architecture = here->system_calls.short_pointers;
	if (!(call & WIRE_CALL_UNKNOWN_TABLE))
		name = seccomp_syscall_resolve_num_arch(architecture, (int)number);
	if (name)
		snprintf(ret, size, "%s", name);
	else
		snprintf(ret, size, "%" PRIu32, number);
}
