/*
 * The tables in which HotSpot describes itself, as JDK 8 to 25 have them in memory: for tests and fuzz targets of what is read
 * of them. Offsets are those of JDK 17 and 25; what is between them, and before, has the names of its version.
 */
#ifndef HOTSPOT_TABLES_H
#define HOTSPOT_TABLES_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "runtime/hotspot.h"

#define HOTSPOT_BIAS        0x7f0000000000ull
#define HOTSPOT_PAGE        4096
#define HOTSPOT_TABLES      0x1000 /* ELF addresses */
#define HOTSPOT_STRUCTS     0x10
#define HOTSPOT_TYPES       0x18
#define HOTSPOT_CONSTANTS   0x20
#define HOTSPOT_VERSION     0x100
#define HOTSPOT_INTERPRETER 0x108
#define HOTSPOT_HEAPS       0x110
#define HOTSPOT_CALL_STUB   0x118
#define HOTSPOT_HEAP_ARRAY  0x200 /* all of it is the number of heaps, wherever that is looked for */
#define HOTSPOT_HEAP_BYTES  512

static const struct hotspot_build hotspot_tables_build = {HOTSPOT_STRUCTS, HOTSPOT_TYPES,
							  HOTSPOT_CONSTANTS};

struct hotspot_field {
	int first; /* versions that have it */
	int last;
	const char *type;
	const char *name;
	const char *field_type; /* NULL: it does not say */
	bool is_static;
	uint64_t offset; /* or the ELF address */
};

struct hotspot_number {
	int first;
	int last;
	const char *name;
	int64_t value;
};

static const struct hotspot_field hotspot_fields[] = {
	{11, 25, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, HOTSPOT_HEAPS},
	{8, 8, "CodeCache", "_heap", "CodeHeap*", true, HOTSPOT_HEAPS},
	{8, 25, "AbstractInterpreter", "_code", "StubQueue*", true, HOTSPOT_INTERPRETER},
	{8, 25, "StubRoutines", "_call_stub_return_address", "address", true, HOTSPOT_CALL_STUB},
	{8, 25, "Abstract_VM_Version", "_vm_major_version", "int", true, HOTSPOT_VERSION},
	{15, 25, "GrowableArrayBase", "_len", "int", false, 0},
	{8, 10, "GenericGrowableArray", "_len", "int", false, 0},
	{11, 14, "GenericGrowableArray", "_len", "int", false, 8},
	{8, 14, "GrowableArray<int>", "_data", "int*", false, 24},
	{15, 25, "GrowableArray<int>", "_data", "int*", false, 8},
	{8, 24, "CodeHeap", "_memory", "VirtualSpace", false, 8},
	{25, 25, "CodeHeap", "_memory", "VirtualSpace", false, 0},
	{8, 24, "CodeHeap", "_segmap", "VirtualSpace", false, 120},
	{25, 25, "CodeHeap", "_segmap", "VirtualSpace", false, 112},
	{8, 24, "CodeHeap", "_log2_segment_size", "int", false, 256},
	{25, 25, "CodeHeap", "_log2_segment_size", "int", false, 248},
	{8, 25, "VirtualSpace", "_low_boundary", "char*", false, 0},
	{8, 25, "VirtualSpace", "_high_boundary", "char*", false, 8},
	{8, 25, "StubQueue", "_stub_buffer", "address", false, 8},
	{8, 25, "StubQueue", "_buffer_limit", "int", false, 20},
	{8, 25, "HeapBlock", "_header", "HeapBlock::Header", false, 0},
	{8, 24, "HeapBlock::Header", "_length", "size_t", false, 0},
	{25, 25, "HeapBlock::Header", "_length", "uint32_t", false, 0},
	{8, 24, "HeapBlock::Header", "_used", "bool", false, 8},
	{25, 25, "HeapBlock::Header", "_used", "bool", false, 4},
	{8, 22, "CodeBlob", "_size", "int", false, 12},
	{8, 22, "CodeBlob", "_header_size", "int", false, 16},
	{8, 22, "CodeBlob", "_frame_complete_offset", "int", false, 20},
	{8, 22, "CodeBlob", "_data_offset", "int", false, 24},
	{8, 22, "CodeBlob", "_frame_size", "int", false, 28},
	{8, 8, "CodeBlob", "_code_offset", "int", false, 32},
	{11, 22, "CodeBlob", "_code_begin", "address", false, 32},
	{11, 22, "CodeBlob", "_code_end", "address", false, 40},
	{23, 25, "CodeBlob", "_size", "int", false, 24},
	{23, 25, "CodeBlob", "_relocation_size", "int", false, 28},
	{23, 25, "CodeBlob", "_code_offset", "int", false, 36},
	{23, 25, "CodeBlob", "_data_offset", "int", false, 40},
	{23, 25, "CodeBlob", "_frame_size", "int", false, 44},
	{23, 25, "CodeBlob", "_header_size", "u2", false, 52},
	{23, 25, "CodeBlob", "_frame_complete_offset", "int16_t", false, 54},
	{25, 25, "CodeBlob", "_mutable_data", "address", false, 16},
	{11, 22, "CompiledMethod", "_method", "Method*", false, 112},
	{11, 22, "CompiledMethod", "_scopes_data_begin", "address", false, 120},
	{8, 8, "nmethod", "_method", "Method*", false, 112},
	{8, 8, "nmethod", "_scopes_data_offset", "int", false, 264},
	{8, 22, "nmethod", "_metadata_offset", "int", false, 260},
	{8, 22, "nmethod", "_scopes_pcs_offset", "int", false, 268},
	{8, 22, "nmethod", "_dependencies_offset", "int", false, 272},
	{8, 22, "nmethod", "_compile_id", "int", false, 304},
	{23, 25, "nmethod", "_method", "Method*", false, 80},
	{23, 25, "nmethod", "_immutable_data", "address", false, 96},
	{23, 24, "nmethod", "_metadata_offset", "u2", false, 190},
	{23, 25, "nmethod", "_scopes_pcs_offset", "int", false, 196},
	{23, 25, "nmethod", "_scopes_data_offset", "int", false, 200},
	{23, 25, "nmethod", "_compile_id", "int", false, 212},
	{8, 25, "Method", "_constMethod", "ConstMethod*", false, 8},
	{8, 25, "ConstMethod", "_constants", "ConstantPool*", false, 8},
	{8, 20, "ConstMethod", "_flags", "u2", false, 28},
	{8, 20, "ConstMethod", "_code_size", "u2", false, 32},
	{8, 20, "ConstMethod", "_name_index", "u2", false, 34},
	{21, 25, "ConstMethod", "_flags._flags", "u4", false, 28},
	{21, 25, "ConstMethod", "_code_size", "u2", false, 34},
	{21, 25, "ConstMethod", "_name_index", "u2", false, 36},
	{8, 25, "ConstantPool", "_pool_holder", "InstanceKlass*", false, 24},
	{15, 25, "ConstantPool", "_source_file_name_index", "u2", false, 54},
	{8, 14, "InstanceKlass", "_source_file_name_index", "u2", false, 284},
	{8, 25, "Klass", "_name", "Symbol*", false, 24},
	{8, 11, "Symbol", "_length", "unsigned short", false, 0},
	{12, 13, "Symbol", "_length_and_refcount", "unsigned int", false, 0},
	{14, 25, "Symbol", "_length", "u2", false, 4},
	{8, 25, "Symbol", "_body", NULL, false, 6},
	{8, 25, "Symbol", "_body[0]", "u1", false, 6},
	{8, 25, "PcDesc", "_pc_offset", "int", false, 0},
	{8, 25, "PcDesc", "_scope_decode_offset", "int", false, 4},
	/* What nobody asks for. */
	{8, 25, "Universe", "_collectedHeap", "CollectedHeap*", true, 0x120},
	{8, 25, "Method", "_code", "address", false, 72},
};

static const struct hotspot_number hotspot_types[] = {
	{8, 25, "Klass", 208},       {8, 24, "HeapBlock", 16},    {25, 25, "HeapBlock", 8},
	{8, 22, "nmethod", 352},     {23, 25, "nmethod", 224},    {8, 20, "ConstMethod", 48},
	{21, 25, "ConstMethod", 56}, {8, 25, "ConstantPool", 72}, {8, 25, "PcDesc", 16},
};

static const struct hotspot_number hotspot_constants[] = {
	{8, 20, "ConstMethod::_has_linenumber_table", 1},
	{21, 25, "ConstMethodFlags::_misc_has_linenumber_table", 1},
	{8, 25, "frame::pc_return_offset", 0},
	{8, 8, "frame::entry_frame_call_wrapper_offset", -6},
	{11, 25, "frame::interpreter_frame_sender_sp_offset", -1},
	{11, 25, "frame::interpreter_frame_last_sp_offset", -2},
};

/* What one build says, and a test may change. */
struct hotspot_tables_fake {
	ARRAY(struct hotspot_field) fields;
	ARRAY(struct hotspot_number) types;
	ARRAY(struct hotspot_number) constants;
	int32_t version;
	uint32_t num_heaps;   /* 0: it has not started */
	uint64_t names_start; /* in the page that they start in */
};

#define HOTSPOT_TAKE(list, rows, major)                                          \
	for (size_t i_ = 0; i_ < ARRAY_LENGTH(rows); i_++)                       \
		if ((rows)[i_].first <= (major) && (major) <= (rows)[i_].last) { \
			__typeof__((list)->items) added_ = array_add(list);      \
			if (!added_)                                             \
				abort();                                         \
			memcpy(added_, &(rows)[i_], sizeof(*added_));            \
		}

/* What a version of the JDK says, 8 or 11 to 25. */
static inline struct hotspot_tables_fake *hotspot_tables_fake_new(int major)
{
	struct hotspot_tables_fake *fake = calloc(1, sizeof(*fake));

	if (!fake)
		abort();
	HOTSPOT_TAKE(&fake->fields, hotspot_fields, major)
	HOTSPOT_TAKE(&fake->types, hotspot_types, major)
	HOTSPOT_TAKE(&fake->constants, hotspot_constants, major)
	fake->version = major == 8 ? 25 : major;
	fake->num_heaps = 3;
	return fake;
}

static inline void hotspot_tables_fake_free(struct hotspot_tables_fake *fake)
{
	array_release(&fake->fields);
	array_release(&fake->types);
	array_release(&fake->constants);
	free(fake);
}

/* Where the text lies in the names, behind which it is added if it is not there. A linker does the same. */
static inline uint64_t hotspot_tables_name(struct text *names, uint64_t names_address,
					   const char *name)
{
	const char *found;

	if (!name)
		return 0;
	found = names->length ? memmem(names->data, names->length, name, strlen(name) + 1) : NULL;
	if (found)
		return names_address + (uint64_t)(found - names->data);
	text_append(names, name, strlen(name) + 1);
	return names_address + names->length - strlen(name) - 1;
}

static inline void hotspot_tables_put(struct text *memory, uint64_t offset, const void *data,
				      size_t size)
{
	static const char zeros[256];

	while (memory->length < offset + size) {
		size_t missing = offset + size - memory->length;

		text_append(memory, zeros, missing < sizeof(zeros) ? missing : sizeof(zeros));
	}
	memcpy(memory->data + offset, data, size);
}

static inline void hotspot_tables_put_word(struct text *memory, uint64_t offset, uint64_t word)
{
	hotspot_tables_put(memory, offset, &word, sizeof(word));
}

/*
 * The memory that starts at HOTSPOT_BIAS; names are behind the tables, in pages of their own.
 *
 * ret   the caller releases it
 */
static inline void hotspot_tables_write(const struct hotspot_tables_fake *fake, struct text *ret)
{
	uint64_t structs = HOTSPOT_TABLES;
	uint64_t types = structs + 48 * (fake->fields.length + 1);
	uint64_t constants = types + 40 * (fake->types.length + 1);
	uint64_t end = constants + 16 * (fake->constants.length + 1);
	uint64_t names_offset =
		(end + HOTSPOT_PAGE - 1) / HOTSPOT_PAGE * HOTSPOT_PAGE + fake->names_start;
	uint64_t names_address = HOTSPOT_BIAS + names_offset;
	struct text names = {0};

	hotspot_tables_put_word(ret, HOTSPOT_STRUCTS, HOTSPOT_BIAS + structs);
	hotspot_tables_put_word(ret, HOTSPOT_TYPES, HOTSPOT_BIAS + types);
	hotspot_tables_put_word(ret, HOTSPOT_CONSTANTS, HOTSPOT_BIAS + constants);
	hotspot_tables_put(ret, HOTSPOT_VERSION, &fake->version, sizeof(fake->version));
	hotspot_tables_put_word(ret, HOTSPOT_HEAPS, HOTSPOT_BIAS + HOTSPOT_HEAP_ARRAY);
	for (uint64_t i = 0; i < HOTSPOT_HEAP_BYTES; i += sizeof(fake->num_heaps))
		hotspot_tables_put(ret, HOTSPOT_HEAP_ARRAY + i, &fake->num_heaps,
				   sizeof(fake->num_heaps));
	for (size_t i = 0; i < fake->fields.length; i++) {
		const struct hotspot_field *field = &fake->fields.items[i];
		const uint64_t words[] = {
			hotspot_tables_name(&names, names_address, field->type),
			hotspot_tables_name(&names, names_address, field->name),
			hotspot_tables_name(&names, names_address, field->field_type),
			field->is_static,
			field->is_static ? 0 : field->offset,
			field->is_static ? HOTSPOT_BIAS + field->offset : 0,
		};

		hotspot_tables_put(ret, structs + 48 * i, words, sizeof(words));
	}
	for (size_t i = 0; i < fake->types.length; i++) {
		const uint64_t words[] = {
			hotspot_tables_name(&names, names_address, fake->types.items[i].name), 0, 0,
			0, (uint64_t)fake->types.items[i].value};

		hotspot_tables_put(ret, types + 40 * i, words, sizeof(words));
	}
	for (size_t i = 0; i < fake->constants.length; i++) {
		const uint64_t words[] = {
			hotspot_tables_name(&names, names_address, fake->constants.items[i].name),
			(uint32_t)fake->constants.items[i].value};

		hotspot_tables_put(ret, constants + 16 * i, words, sizeof(words));
	}
	hotspot_tables_put(ret, names_offset, names.data, names.length);
	text_release(&names);
	while (ret->length % HOTSPOT_PAGE)
		text_append_char(ret, '\0');
	if (ret->failed)
		abort();
}

#endif
