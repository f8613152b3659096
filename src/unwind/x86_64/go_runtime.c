/*
 * Functions of the runtime are found by name, as pclntab is never stripped. The point where they
 * switch stacks is not recorded anywhere. So we search the code, byte by byte and without decoding
 * it, for the forms of instructions that set the stack pointer. go_runtime.h lists the versions that
 * were examined.
 */
#include "unwind/x86_64/go_runtime.h"

#include <string.h>

#include "base/attributes.h"

static const struct {
	const char *name;
	enum go_role role;
} roles[] = {
	{"runtime.goexit", GO_OUTERMOST},
	{"runtime.mstart", GO_OUTERMOST},
	{"runtime.rt0_go", GO_OUTERMOST},
	{"runtime.cgocallback", GO_CALLBACK},
	{"runtime.asmcgocall", GO_CALL},
	{"runtime.clone", GO_SCHEDULER},
	{"runtime.mcall", GO_SCHEDULER},
	{"runtime.asmcgocall_no_g", GO_SWITCH},
	{"runtime.callCgoMmap", GO_SWITCH},
	{"runtime.callCgoMunmap", GO_SWITCH},
	{"runtime.callCgoSigaction", GO_SWITCH},
	{"runtime.nanotime", GO_SWITCH}, /* before Go 1.14 */
	{"runtime.nanotime1", GO_SWITCH},
	{"runtime.sigfwd", GO_SWITCH},
	{"runtime.vgetrandom1", GO_SWITCH},
	{"runtime.walltime", GO_SWITCH},
	{"runtime.walltime1", GO_SWITCH},
	{"time.now", GO_SWITCH},
	{"runtime.systemstack", GO_SCHEDULED},
	{"runtime.morestack", GO_GROWTH},
	{"asancall", GO_COPY}, /* file-local functions have no package in their names */
	{"gogo", GO_LOST},
	{"msancall", GO_COPY},
	{"racecall", GO_COPY},
	{"runtime.gogo", GO_LOST},
	{"runtime.libfuzzerCall4", GO_COPY},
	{"runtime.libfuzzerCallTraceIntCmp", GO_COPY},
	{"runtime.libfuzzerCallWithTwoByteBuffers", GO_COPY},
	{"runtime.switchToCrashStack0", GO_LOST},
	{"runtime.sigreturn", GO_SIGNAL_RETURN},
	{"runtime.sigreturn__sigaction", GO_SIGNAL_RETURN},
};

/* The name may have a suffix for its calling convention: runtime.goexit.abi0. */
static enum go_role get_role_of_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(roles); i++) {
		size_t length = strlen(roles[i].name);

		if (strncmp(name, roles[i].name, length) == 0 &&
		    (!name[length] || strncmp(name + length, ".abi", 4) == 0))
			return roles[i].role;
	}
	return GO_ORDINARY;
}

void go_runtime_add(struct go_runtime *runtime, const struct go_function *function)
{
	enum go_role role = get_role_of_name(function->name);

	if (role != GO_ORDINARY && runtime->num_functions < GO_RUNTIME_FUNCTIONS_MAX)
		runtime->functions[runtime->num_functions++] =
			(struct go_runtime_function){function->start, role};
}

enum go_role go_runtime_get_role(const struct go_runtime *runtime, uint64_t elf_address)
{
	for (unsigned int i = 0; i < runtime->num_functions; i++)
		if (runtime->functions[i].elf_address == elf_address)
			return runtime->functions[i].role;
	return GO_ORDINARY;
}

bool go_runtime_pushes_fp(const struct go_runtime *runtime, const struct objfile *objfile)
{
	const uint8_t push_rbp = 0x55;
	uint8_t first;

	for (unsigned int i = 0; i < runtime->num_functions; i++)
		if (runtime->functions[i].role == GO_CALL)
			return !objfile_read_code(objfile, runtime->functions[i].elf_address,
						  &first, sizeof(first)) &&
			       first == push_rbp;
	return false;
}

static bool starts_with(const uint8_t *code, size_t size, const char *bytes, size_t num_bytes)
{
	return size >= num_bytes && memcmp(code, bytes, num_bytes) == 0;
}

#define STARTS_WITH(code, size, bytes) starts_with(code, size, bytes, sizeof(bytes) - 1)

/*
 * The size of the instruction here if it sets the stack pointer, or aligns it and may_align; else
 * 0.
 */
static size_t get_load_size(const uint8_t *code, size_t size, bool may_align)
{
	const uint8_t saved_sp = 0x38; /* offset of g.sched.sp in the description of a goroutine */

	if (size < 4)
		return 0;
	if (may_align && STARTS_WITH(code, size, "\x48\x83\xe4\xf0"))
		return 4; /* and $-16,%rsp */
	if (STARTS_WITH(code, size, "\x48\x8b\x23"))
		return 3; /* mov (%rbx),%rsp */
	if ((code[0] == 0x48 || code[0] == 0x49) && code[1] == 0x8b && (code[2] & 0xf8) == 0x60 &&
	    code[2] != 0x64 && code[3] == saved_sp)
		return 4; /* mov 0x38(register),%rsp */
	if ((code[0] == 0x48 || code[0] == 0x4c) && code[1] == 0x89 && (code[2] & 0xc7) == 0xc4)
		return 3; /* mov register,%rsp */
	return 0;
}

bool go_runtime_find_switch(const struct objfile *objfile, uint64_t elf_address, uint64_t size,
			    uint64_t *ret_start, uint64_t *ret_end)
{
	uint8_t code[GO_RUNTIME_SWITCH_MAX_BYTES];
	uint64_t start = 0;

	if (size > sizeof(code) || objfile_read_code(objfile, elf_address, code, size))
		return false;
	for (size_t i = 0; i < size; i++) {
		size_t load_size = get_load_size(code + i, size - i, !start);

		if (!load_size)
			continue;
		i += load_size - 1;
		if (start) {
			*ret_start = start;
			*ret_end = elf_address + i + 1;
			return true;
		}
		start = elf_address + i + 1;
	}
	if (!start)
		return false;
	*ret_start = start;
	*ret_end = elf_address + size;
	return true;
}

bool go_runtime_find_frame(const struct objfile *objfile, uint64_t elf_address,
			   uint64_t switch_start, uint64_t *ret_set, int *ret_bytes)
{
	uint8_t code[GO_RUNTIME_SWITCH_MAX_BYTES];
	size_t size = switch_start - elf_address;
	bool is_found = false;

	if (size > sizeof(code) || objfile_read_code(objfile, elf_address, code, size))
		return false;
	for (size_t i = 0; i < size; i++) {
		if (STARTS_WITH(code + i, size - i, "\x48\x89\xe5")) {
			*ret_set = elf_address + i + 3; /* mov %rsp,%rbp */
			*ret_bytes = 0;
			is_found = true;
		} else if (STARTS_WITH(code + i, size - i, "\x48\x8d\x6c\x24") && size - i > 4) {
			*ret_set = elf_address + i + 5; /* lea number(%rsp),%rbp */
			*ret_bytes = (int8_t)code[i + 4];
			is_found = true;
		}
	}
	return is_found;
}

bool go_runtime_find_copy(const struct objfile *objfile, uint64_t elf_address,
			  uint64_t switch_start, uint64_t *ret_copied, int *ret_register)
{
	uint8_t code[GO_RUNTIME_SWITCH_MAX_BYTES];
	size_t size = switch_start - elf_address;
	bool is_found = false;

	if (size > sizeof(code) || objfile_read_code(objfile, elf_address, code, size))
		return false;
	for (size_t i = 0; i + 3 <= size; i++) {
		if (!STARTS_WITH(code + i, size - i, "\x49\x89") || (code[i + 2] & 0xf8) != 0xe0)
			continue;
		*ret_copied = elf_address + i + 3; /* mov %rsp,register */
		*ret_register = 8 + (code[i + 2] & 7);
		is_found = true;
	}
	return is_found;
}

/*
 * The thread-pointer offset of a load at the start of the code: mov %fs:number,register, or with the
 * number in a register, as linkers write it for code of shared libraries.
 */
static bool read_tls_offset(const uint8_t *code, size_t size, int32_t *ret)
{
	if (size >= 9 && STARTS_WITH(code, size, "\x64\x48\x8b") && (code[3] & 0xc7) == 0x04 &&
	    code[4] == 0x25) {
		memcpy(ret, code + 5, sizeof(*ret));
		return true;
	}
	if (size >= 10 && STARTS_WITH(code, size, "\x48\xc7") && (code[2] & 0xf8) == 0xc0 &&
	    STARTS_WITH(code + 7, size - 7, "\x64\x48\x8b")) {
		memcpy(ret, code + 3, sizeof(*ret));
		return true;
	}
	return false;
}

/* The offset of a comparison at the start of the code: cmp number(%rbx),%rax, either way round. */
static bool read_compared_offset(const uint8_t *code, size_t size, int32_t *ret)
{
	if (size < 7 ||
	    (!STARTS_WITH(code, size, "\x48\x3b\x83") && !STARTS_WITH(code, size, "\x48\x39\x83")))
		return false;
	memcpy(ret, code + 3, sizeof(*ret));
	return true;
}

static bool find_current(const uint8_t *code, size_t size, struct go_current *ret)
{
	int32_t tls_offset = 0; /* 0: not seen yet */
	int32_t offset;

	for (size_t i = 0; i < size; i++) {
		if (!tls_offset) {
			(void)read_tls_offset(code + i, size - i, &tls_offset);
		} else if (read_compared_offset(code + i, size - i, &offset)) {
			*ret = (struct go_current){(short)tls_offset, (short)offset};
			return ret->tls_offset == tls_offset && ret->offset == offset && offset > 0;
		}
	}
	return false;
}

bool go_runtime_find_current(const struct go_runtime *runtime, const struct objfile *objfile,
			     struct go_current *ret)
{
	uint8_t code[GO_RUNTIME_CURRENT_BYTES];

	/* Some have this name and are wrappers for another calling convention. */
	for (unsigned int i = 0; i < runtime->num_functions; i++)
		if (runtime->functions[i].role == GO_SCHEDULED &&
		    !objfile_read_code(objfile, runtime->functions[i].elf_address, code,
				       sizeof(code)) &&
		    find_current(code, sizeof(code), ret))
			return true;
	return false;
}

/* The size of the instruction mov %rdi,offset(%rsp) if it is one; else 0. */
static size_t get_store_size(const uint8_t *code, size_t size, int *ret_offset)
{
	if (size < 5 || code[0] != 0x48 || code[1] != 0x89 || code[3] != 0x24)
		return 0;
	*ret_offset = code[2] == 0x7c ? code[4] : 0;
	return code[2] == 0x7c ? 5 : (code[2] == 0x3c ? 4 : 0);
}

bool go_runtime_find_goroutine(const struct objfile *objfile, uint64_t start, uint64_t end,
			       uint64_t *ret_start, int *ret_offset)
{
	uint8_t code[GO_RUNTIME_SWITCH_MAX_BYTES];
	size_t size = end - start;
	int goroutine_offset = 0; /* 0: not seen yet */
	int offset;

	if (size > sizeof(code) || objfile_read_code(objfile, start, code, size))
		return false;
	for (size_t i = 0; i < size; i++) {
		size_t store_size = get_store_size(code + i, size - i, &offset);

		if (!store_size)
			continue;
		if (goroutine_offset) {
			*ret_start = start + i + store_size;
			*ret_offset = goroutine_offset;
			return offset == goroutine_offset - 8 && *ret_start < end;
		}
		goroutine_offset = offset;
		i += store_size - 1;
	}
	return false;
}
