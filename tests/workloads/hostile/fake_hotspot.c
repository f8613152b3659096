/*
 * Claims to be HotSpot of JDK 17, by symbols, tables and memory: what leads somewhere in these leads to itself, is as long as numbers
 * go, or has no end. Uses CPU time in a function that its compiled code calls. All is in place before the tables can be found.
 *
 * usage: fake_hotspot KIND SECONDS
 *
 * honest    all is as it has to be
 * segments  the table that says where a block begins leads from one segment to the next, and never to a block
 * heap      one code heap of all addresses, in segments of 2^31 bytes
 * heaps     2^31 of them
 * frame     frames of half a MiB, which the stack does not have
 * frames    frames of 2^31 words
 * blob      code that ends at 2^63, and begins behind its end
 * offsets   fields that lie at 2^63
 * symbols   names of 64 KiB
 * circle    a method that is its constants, their pool, its class and all of their names
 * names     tables of names that lie in the tables, and lead to themselves
 * endless   tables that have no end
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "../spin.h"

#define PAGE_BYTES    4096
#define SEGMENT_SHIFT 7
#define BLOB          16  /* where it is in the heap: behind the block's header */
#define CODE          512 /* likewise */
#define STUB          2048
#define NMETHOD_BYTES 352
#define MAX_ENTRIES   8192 /* more of them are read of no table */

struct field {
	const void *type;
	const void *name;
	const void *field_type;
	int32_t is_static;
	uint64_t offset;
	void *address;
};

struct type {
	const void *name;
	const void *super_name;
	int32_t is_oop;
	int32_t is_integer;
	int32_t is_unsigned;
	uint64_t size;
};

struct constant {
	const void *name;
	int32_t value;
};

/* Objects by 8 bytes, as JDK 17 lays them out. */
static uint64_t queue[4];
static uint64_t heap[40];
static uint64_t *heap_list[1] = {heap};
static uint64_t heap_array[2] = {1};
static uint64_t method[16];
static uint64_t constants[16];
static uint64_t pool[32];
static uint64_t class[16];
static uint64_t name[PAGE_BYTES / 8];
static uint8_t segments[PAGE_BYTES];
static const char blob_name[64] = "StubRoutines";

static uint64_t *heaps = heap_array;
static uint64_t *interpreter = queue;
static uint64_t call_stub_return;
static int32_t version = 17;

static struct field fields[MAX_ENTRIES + 1] = {
	{"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 1, 0, &heaps},
	{"AbstractInterpreter", "_code", "StubQueue*", 1, 0, &interpreter},
	{"StubRoutines", "_call_stub_return_address", "address", 1, 0, &call_stub_return},
	{"Abstract_VM_Version", "_vm_major_version", "int", 1, 0, &version},
	{"GrowableArrayBase", "_len", "int", 0, 0, NULL},
	{"GrowableArray<int>", "_data", "int*", 0, 8, NULL},
	{"CodeHeap", "_memory", "VirtualSpace", 0, 8, NULL},
	{"CodeHeap", "_segmap", "VirtualSpace", 0, 120, NULL},
	{"CodeHeap", "_log2_segment_size", "int", 0, 256, NULL},
	{"VirtualSpace", "_low_boundary", "char*", 0, 0, NULL},
	{"VirtualSpace", "_high_boundary", "char*", 0, 8, NULL},
	{"StubQueue", "_stub_buffer", "address", 0, 8, NULL},
	{"StubQueue", "_buffer_limit", "int", 0, 20, NULL},
	{"HeapBlock", "_header", "HeapBlock::Header", 0, 0, NULL},
	{"HeapBlock::Header", "_used", "bool", 0, 8, NULL},
	{"CodeBlob", "_size", "int", 0, 12, NULL},
	{"CodeBlob", "_header_size", "int", 0, 16, NULL},
	{"CodeBlob", "_frame_complete_offset", "int", 0, 20, NULL},
	{"CodeBlob", "_frame_size", "int", 0, 28, NULL},
	{"CodeBlob", "_code_begin", "address", 0, 32, NULL},
	{"CodeBlob", "_code_end", "address", 0, 40, NULL},
	{"CodeBlob", "_name", "const char*", 0, 48, NULL},
	{"CompiledMethod", "_method", "Method*", 0, 112, NULL},
	{"nmethod", "_compile_id", "int", 0, 304, NULL},
	{"Method", "_constMethod", "ConstMethod*", 0, 8, NULL},
	{"ConstMethod", "_constants", "ConstantPool*", 0, 8, NULL},
	{"ConstMethod", "_flags", "u2", 0, 28, NULL},
	{"ConstMethod", "_code_size", "u2", 0, 32, NULL},
	{"ConstMethod", "_name_index", "u2", 0, 34, NULL},
	{"ConstantPool", "_pool_holder", "InstanceKlass*", 0, 24, NULL},
	{"ConstantPool", "_source_file_name_index", "u2", 0, 54, NULL},
	{"Klass", "_name", "Symbol*", 0, 24, NULL},
	{"Symbol", "_length", "u2", 0, 4, NULL},
	{"Symbol", "_body[0]", "u1", 0, 6, NULL},
};

static struct type types[MAX_ENTRIES + 1] = {
	{.name = "HeapBlock", .size = 16},   {.name = "nmethod", .size = NMETHOD_BYTES},
	{.name = "ConstMethod", .size = 48}, {.name = "ConstantPool", .size = 72},
	{.name = "PcDesc", .size = 16},
};

static struct constant int_constants[] = {
	{"ConstMethod::_has_linenumber_table", 1},
	{"frame::interpreter_frame_sender_sp_offset", -1},
	{"frame::interpreter_frame_last_sp_offset", -2},
	{0},
};

/* NULL: they are not there yet. */
const void *gHotSpotVMStructs;
const void *gHotSpotVMTypes = types;
const void *gHotSpotVMIntConstants = int_constants;

static uint64_t get_address(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

static void put(void *object, size_t offset, uint64_t value, size_t num_bytes)
{
	memcpy((char *)object + offset, &value, num_bytes);
}

/* The method evil of a class evil, which has no file. */
static void make_method(void)
{
	put(method, 8, get_address(constants), 8);
	put(constants, 8, get_address(pool), 8);
	put(constants, 34, 1, 2); /* number of its name */
	put(pool, 24, get_address(class), 8);
	put(pool, 72 + 8, get_address(name), 8);
	put(class, 24, get_address(name), 8);
	put(name, 4, 4, 2);
	memcpy((char *)name + 6, "evil", 4);
}

static void make_blob(char *block, uint32_t header_bytes, const char *code, size_t num_bytes)
{
	put(block, 8, 1, 1); /* the block is used */
	put(block, BLOB + 16, header_bytes, 4);
	put(block, BLOB + 28, 2, 4); /* words of its frame */
	put(block, BLOB + 32, get_address(block + CODE), 8);
	put(block, BLOB + 40, get_address(block + CODE + num_bytes), 8);
	put(block, BLOB + 48, get_address(blob_name), 8);
	memcpy(block + CODE, code, num_bytes);
}

/* A code heap of one page with one nmethod, and in its second half the stub by which that is called. Returns the nmethod's code. */
static char *make_heap(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const char code[] = "\x55\x48\x89\xe5\xff\xd7\x5d\xc3";
	/* The same with call *%rdx. */
	static const char stub[] = "\x55\x48\x89\xe5\xff\xd2\x5d\xc3";
	char *memory = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < sizeof(segments); i++)
		segments[i] = i % (STUB >> SEGMENT_SHIFT);
	heap_array[1] = get_address(heap_list);
	put(heap, 8, get_address(memory), 8);
	put(heap, 16, get_address(memory + PAGE_BYTES), 8);
	put(heap, 120, get_address(segments), 8);
	put(heap, 256, SEGMENT_SHIFT, 4);
	make_blob(memory, NMETHOD_BYTES, code, sizeof(code));
	put(memory, BLOB + 112, get_address(method), 8);
	put(memory, BLOB + 304, 1, 4);
	make_blob(memory + STUB, 64, stub, sizeof(stub));
	call_stub_return = get_address(memory + STUB + CODE + 6);
	return memory + CODE;
}

/* Itself wherever it leads to something, and what it is called: "me". */
static void make_circle(void)
{
	uint64_t itself = get_address(method);

	method[0] = 2ull << 32 | 'm' * 1ull << 48 | 'e' * 1ull << 56;
	method[1] = method[3] = method[9] = itself;
}

/* Each name is the address of itself. */
static void make_names(void)
{
	for (struct field *field = fields; field->name; field++) {
		field->type = &field->type;
		field->name = &field->name;
		field->field_type = &field->field_type;
	}
}

static void make_endless(void)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!fields[i].name)
			fields[i] = fields[i - 1];
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!types[i].name)
			types[i] = types[i - 1];
}

/* Returns false for a kind that there is not. */
static int make_hostile(const char *kind, char *code)
{
	char *blob = code - CODE + BLOB;

	if (!strcmp(kind, "segments"))
		memset(segments, 1, sizeof(segments));
	else if (!strcmp(kind, "heap")) {
		put(heap, 8, 0, 8);
		put(heap, 16, UINT64_MAX, 8);
		put(heap, 256, 31, 4);
	} else if (!strcmp(kind, "heaps"))
		put(heap_array, 0, 1u << 31, 4);
	else if (!strcmp(kind, "frame"))
		put(blob, 28, 1u << 16, 4);
	else if (!strcmp(kind, "frames"))
		put(blob, 28, 1u << 31, 4);
	else if (!strcmp(kind, "blob")) {
		put(blob, 32, UINT64_MAX, 8);
		put(blob, 40, 1ull << 63, 8);
	} else if (!strcmp(kind, "offsets")) {
		for (struct field *field = fields; field->name; field++)
			field->offset += 1ull << 63;
	} else if (!strcmp(kind, "symbols")) {
		memset(name, 'x', sizeof(name));
		put(name, 4, 0xffff, 2);
	} else if (!strcmp(kind, "circle"))
		make_circle();
	else if (!strcmp(kind, "names"))
		make_names();
	else if (!strcmp(kind, "endless"))
		make_endless();
	else if (strcmp(kind, "honest"))
		return 0;
	return 1;
}

/* Noinline: calls of these are levels of the stack. */
__attribute__((noinline)) void burn(void *code, uint64_t cpu_ns)
{
	(void)code;
	spin_cpu_ns(cpu_ns);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void run(char *code, uint64_t cpu_ns)
{
	char *stub = code + STUB;

	((void (*)(void (*)(void *, uint64_t), uint64_t, char *))(void *)stub)(burn, cpu_ns, code);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "honest";
	char *code;

	make_method();
	code = make_heap();
	if (!code || !make_hostile(kind, code))
		return 1;
	__atomic_store_n(&gHotSpotVMStructs, (const void *)fields, __ATOMIC_RELEASE);
	run(code, read_duration_ns(argc, argv, 2, 1));
	return 0;
}
