/*
 * Claims to be V8 11.3, by the numbers that it exports for debuggers: closures, functions and the strings of their names go in
 * circles, are as long as numbers go, or lie nowhere, as do the sources of their scripts. Uses CPU time in code that it has made, whose frame has a closure.
 *
 * usage: fake_v8 honest|circle|thin|long|external|nowhere|endless|slices|unmapped|changing SECONDS
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../spin.h"

const int32_t version_major __asm__("_ZN2v88internal7Version6major_E") = 11;
const int32_t version_minor __asm__("_ZN2v88internal7Version6minor_E") = 3;

#define FACT(name, value)                  \
	extern const int32_t v8dbg_##name; \
	const int32_t v8dbg_##name = (value);

/* Where objects have what, in bytes. */
FACT(class_JSFunction__shared__SharedFunctionInfo, 24)
FACT(class_SharedFunctionInfo__name_or_scope_info__Object, 8)
FACT(class_SharedFunctionInfo__script__Object, 16)
FACT(class_SharedFunctionInfo__flags__int, 32)
FACT(class_Script__name__Object, 16)
FACT(class_Map__instance_type__uint16_t, 8)
FACT(class_String__length__int32_t, 12)
FACT(class_SeqOneByteString__chars__char, 16)
FACT(class_SeqTwoByteString__chars__char, 16)
FACT(class_ConsString__first__String, 16)
FACT(class_ConsString__second__String, 24)
FACT(class_ThinString__actual__String, 16)
FACT(class_ExternalString__resource__Object, 16)
/* Of which type they are. */
FACT(type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, 200)
FACT(type_ScopeInfo__SCOPE_INFO_TYPE, 201)
FACT(type_Script__SCRIPT_TYPE, 202)
FACT(IsNotStringMask, -128)
FACT(StringRepresentationMask, 7)
FACT(StringEncodingMask, 8)
FACT(OneByteStringTag, 8)
FACT(SeqStringTag, 0)
FACT(ConsStringTag, 1)
FACT(ExternalStringTag, 2)
FACT(ThinStringTag, 5)
FACT(scopeinfo_idx_ncontextlocals, 2)
FACT(scopeinfo_idx_first_vars, 3)
FACT(HeapObjectTag, 1)
FACT(HeapObjectTagMask, 3)
FACT(SmiShiftSize, 31)
FACT(off_fp_function, -16)
FACT(off_fp_context, -8)

/* push %rbp; mov %rsp, %rbp; push %rsi, a context; push %rdx, a closure; count %rdi down to 0; leave; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x52, 0x48,
				     0xff, 0xcf, 0x75, 0xfb, 0xc9, 0xc3};

/* Objects by 8 bytes. */
static uint64_t context[2];
static uint64_t closure[8];
static uint64_t shared[8];
static uint64_t script[4];
static uint64_t name[512];
static uint64_t file[4];
static uint64_t scope[16];
static volatile uint64_t source[16];
static uint64_t maps[6][2];
enum { SHARED_MAP, SCRIPT_MAP, NAME_MAP, FILE_MAP, SCOPE_MAP, SOURCE_MAP };

static uint64_t point_to(const void *object)
{
	return (uint64_t)(uintptr_t)object + 1;
}

static void set_type(unsigned int map, uint64_t type)
{
	maps[map][1] = type;
}

static void make_honest(void)
{
	set_type(SHARED_MAP, 200);
	set_type(SCRIPT_MAP, 202);
	set_type(NAME_MAP, 8); /* of one byte a character, which follow */
	set_type(FILE_MAP, 8);
	set_type(SCOPE_MAP, 201);
	set_type(SOURCE_MAP, 8);
	closure[3] = point_to(shared);
	shared[0] = point_to(maps[SHARED_MAP]);
	shared[1] = point_to(scope);
	shared[2] = point_to(script);
	shared[4] = 1ull << 32;
	script[0] = point_to(maps[SCRIPT_MAP]);
	script[1] = point_to((const void *)source);
	script[2] = point_to(file);
	/* The name of the function with the place of its variable, and where it begins and ends. */
	scope[0] = point_to(maps[SCOPE_MAP]);
	scope[1] = 1ull << (32 + 12);
	scope[4] = point_to(name);
	scope[6] = 6ull << 32;
	scope[7] = 9ull << 32;
	source[0] = point_to(maps[SOURCE_MAP]);
	source[1] = 16ull << 32;
	for (size_t i = 0; i < 2; i++)
		source[2 + i] = 0x0a6c6976650a0a0aull; /* \n\n\nevil\n */
	name[0] = point_to(maps[NAME_MAP]);
	name[1] = 4ull << 32;
	memcpy(&name[2], "evil", 4);
	file[0] = point_to(maps[FILE_MAP]);
	file[1] = 7ull << 32;
	memcpy(&file[2], "evil.js", 7);
}

static int choose(const char *kind)
{
	make_honest();
	if (!strcmp(kind, "circle")) {
		set_type(NAME_MAP, 9); /* two others, both of which it is itself */
		name[2] = name[3] = point_to(name);
	} else if (!strcmp(kind, "thin")) {
		set_type(NAME_MAP, 13); /* another one in its place */
		name[2] = point_to(name);
	} else if (!strcmp(kind, "long")) {
		name[1] = 0xffffffffull << 32;
		memset(&name[2], 'e', sizeof(name) - 16);
	} else if (!strcmp(kind, "external")) {
		set_type(NAME_MAP, 10);
		name[3] = 0x10; /* where its characters would be */
	} else if (!strcmp(kind, "nowhere")) {
		closure[3] = 0x11;
	} else if (!strcmp(kind, "endless")) {
		source[1] = 0xffffffffull << 32;
	} else if (!strcmp(kind, "slices")) {
		set_type(SOURCE_MAP, 11); /* a part of itself */
		source[2] = point_to((const void *)source);
		source[3] = 0xffffffffull << 32;
	} else if (!strcmp(kind, "unmapped")) {
		set_type(SOURCE_MAP, 10);
		source[1] = 0x1000000ull << 32;
		source[3] = 0x10;
	} else if (strcmp(kind, "honest") != 0 && strcmp(kind, "changing") != 0) {
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_duration_ns(argc, argv, 2, 1);
	void (*count_down)(long, uint64_t, uint64_t);
	bool is_changing;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || choose(argc > 1 ? argv[1] : "honest"))
		return 2;
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		return 2;
	count_down = (void (*)(long, uint64_t, uint64_t))(uintptr_t)memory;
	is_changing = argc > 1 && !strcmp(argv[1], "changing");
	end_ns += read_cpu_ns();
	while (read_cpu_ns() < end_ns) {
		/* Each time another function of another script, which has gone when it is looked for. */
		if (is_changing) {
			shared[4] += 1ull << 32;
			source[2]++;
		}
		count_down(is_changing ? 100000 : 1000000, point_to(context), point_to(closure));
	}
	return 0;
}
