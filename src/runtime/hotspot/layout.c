/*
 * The tables in which HotSpot describes itself, as they are in the memory of a process.
 *
 * There are three, with entries of the same layout in all versions: fields of its classes, the
 * classes, and numbers. Each ends with an entry without a name. Names are addresses of strings all
 * over its constants. They are read in order of address, so that a few large reads get them all.
 *
 * The process controls its memory, so everything read from it is bounded: entries, lengths of
 * names, and the number of reads for these. Impossible numbers make the build unknown.
 */
#include "runtime/hotspot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/text.h"

/* JDK 17 has 800 of the first two. */
#define MAX_ENTRIES 8192
#define NAME_BYTES  96 /* longer names are not needed */
/* Size of one read. The names of JDK 17 take 11 such windows, those of JDK 25 take 5. */
#define WINDOW_BYTES (64u << 10)
#define MAX_WINDOWS  512
/* Mappings start and end at multiples of this. */
#define PAGE_BYTES 4096

/* JDK 8 is also known; versions in between are no longer maintained. */
#define FIRST_KNOWN 11
#define LAST_KNOWN  25
/* The version of HotSpot before it was that of the JDK. */
#define HOTSPOT_OF_JDK_8 25

/* In the interpreter's frames: words from the frame pointer. */
#define FRAME_SENDER_SP_WORDS (-1)
#define FRAME_LAST_SP_WORDS   (-2)
/* Since JDK 9 one word more precedes it, for the method's class. */
#define FRAME_BYTECODE_WORDS      8
#define FRAME_BYTECODE_WORDS_OF_8 7

struct struct_entry {
	uint64_t type_name;
	uint64_t field_name;
	uint64_t field_type; /* a name, or 0 */
	int32_t is_static;
	uint32_t padding;
	uint64_t offset;
	uint64_t address; /* of a static field */
};
_Static_assert(sizeof(struct struct_entry) == 48, "as HotSpot has it");

struct type_entry {
	uint64_t name;
	uint64_t super_name;
	int32_t is_oop;
	int32_t is_integer;
	int32_t is_unsigned;
	uint32_t padding;
	uint64_t size;
};
_Static_assert(sizeof(struct type_entry) == 40, "as HotSpot has it");

struct constant_entry {
	uint64_t name;
	int32_t value;
	uint32_t padding;
};
_Static_assert(sizeof(struct constant_entry) == 16, "as HotSpot has it");

/* The facts needed. */
enum hotspot_fact {
	/* Static fields: addresses. */
	HEAPS,
	ONLY_HEAP, /* before JDK 9 */
	INTERPRETER,
	CALL_STUB_RETURN,
	MAJOR_VERSION,
	FIRST_OFFSET,
	/* Offsets of fields. */
	ARRAY_LENGTH_FIELD = FIRST_OFFSET,
	ARRAY_ITEMS,
	HEAP_MEMORY,
	HEAP_SEGMENTS,
	HEAP_SEGMENT_SHIFT,
	SPACE_START,
	SPACE_END,
	QUEUE_START,
	QUEUE_BYTES,
	BLOCK_HEADER,
	HEADER_USED,
	BLOB_NAME,
	BLOB_SIZE,
	BLOB_HEADER_BYTES,
	BLOB_FRAME_COMPLETE,
	BLOB_FRAME_WORDS,
	BLOB_CODE,
	BLOB_CODE_END,
	BLOB_CODE_OFFSET,
	BLOB_DATA_OFFSET,
	NMETHOD_METHOD,
	NMETHOD_COMPILE_ID,
	METHOD_CONST,
	CONST_POOL,
	CONST_CODE_BYTES,
	CONST_FLAGS,
	CONST_NAME,
	POOL_CLASS,
	POOL_FILE,
	CLASS_FILE,
	CLASS_NAME,
	SYMBOL_LENGTH,
	SYMBOL_TEXT,
	SCOPES_DATA,
	SCOPES_DATA_OFFSET,
	SCOPES_PCS,
	DEPENDENCIES,
	METADATA,
	IMMUTABLE_DATA,
	MUTABLE_DATA,
	RELOCATION_BYTES,
	PC_DESC_PC,
	PC_DESC_SCOPE,
	END_OF_OFFSETS,
	/* Sizes of classes. */
	BLOCK = END_OF_OFFSETS,
	NMETHOD,
	CONST_METHOD,
	POOL,
	PC_DESC,
	/* Numbers. */
	FRAME_SENDER_SP,
	FRAME_LAST_SP,
	HAS_LINES,
	NUM_HOTSPOT_FACTS,
};

/* A field that was renamed or moved to another class has two rows. */
static const struct {
	enum hotspot_fact fact;
	unsigned int bytes; /* possible sizes: 1, 2, 4 and 8 are separate bits; 0: as recorded */
	const char *type;
	const char *name;
} field_rows[] = {
	{HEAPS, 8, "CodeCache", "_heaps"},
	{ONLY_HEAP, 8, "CodeCache", "_heap"},
	{INTERPRETER, 8, "AbstractInterpreter", "_code"},
	{CALL_STUB_RETURN, 8, "StubRoutines", "_call_stub_return_address"},
	{MAJOR_VERSION, 4, "Abstract_VM_Version", "_vm_major_version"},
	{ARRAY_LENGTH_FIELD, 4, "GrowableArrayBase", "_len"},
	{ARRAY_LENGTH_FIELD, 4, "GenericGrowableArray", "_len"}, /* until JDK 14 */
	{ARRAY_ITEMS, 8, "GrowableArray<int>", "_data"},
	{HEAP_MEMORY, 0, "CodeHeap", "_memory"},
	{HEAP_SEGMENTS, 0, "CodeHeap", "_segmap"},
	{HEAP_SEGMENT_SHIFT, 4, "CodeHeap", "_log2_segment_size"},
	{SPACE_START, 8, "VirtualSpace", "_low_boundary"},
	{SPACE_END, 8, "VirtualSpace", "_high_boundary"},
	{QUEUE_START, 8, "StubQueue", "_stub_buffer"},
	{QUEUE_BYTES, 4, "StubQueue", "_buffer_limit"},
	{BLOCK_HEADER, 0, "HeapBlock", "_header"},
	{HEADER_USED, 1, "HeapBlock::Header", "_used"},
	{BLOB_NAME, 8, "CodeBlob", "_name"},
	{BLOB_SIZE, 4, "CodeBlob", "_size"},
	{BLOB_HEADER_BYTES, 2 | 4, "CodeBlob", "_header_size"},
	{BLOB_FRAME_COMPLETE, 2 | 4, "CodeBlob", "_frame_complete_offset"},
	{BLOB_FRAME_WORDS, 4, "CodeBlob", "_frame_size"},
	{BLOB_CODE, 8, "CodeBlob", "_code_begin"}, /* until JDK 22 */
	{BLOB_CODE_END, 8, "CodeBlob", "_code_end"},
	{BLOB_CODE_OFFSET, 4, "CodeBlob", "_code_offset"},
	{BLOB_DATA_OFFSET, 4, "CodeBlob", "_data_offset"},
	{NMETHOD_METHOD, 8, "nmethod", "_method"},
	{NMETHOD_METHOD, 8, "CompiledMethod", "_method"}, /* until JDK 22 */
	{NMETHOD_COMPILE_ID, 4, "nmethod", "_compile_id"},
	{METHOD_CONST, 8, "Method", "_constMethod"},
	{CONST_POOL, 8, "ConstMethod", "_constants"},
	{CONST_CODE_BYTES, 2, "ConstMethod", "_code_size"},
	{CONST_FLAGS, 4, "ConstMethod", "_flags._flags"},
	{CONST_FLAGS, 2, "ConstMethod", "_flags"}, /* until JDK 20 */
	{CONST_NAME, 2, "ConstMethod", "_name_index"},
	{POOL_CLASS, 8, "ConstantPool", "_pool_holder"},
	{POOL_FILE, 2, "ConstantPool", "_source_file_name_index"},
	{CLASS_FILE, 2, "InstanceKlass", "_source_file_name_index"}, /* until JDK 14 */
	{CLASS_NAME, 8, "Klass", "_name"},
	{SYMBOL_LENGTH, 2, "Symbol", "_length"},
	{SYMBOL_LENGTH, 4, "Symbol", "_length_and_refcount"}, /* JDK 12 and 13 */
	{SYMBOL_TEXT, 0, "Symbol", "_body"},
	{SYMBOL_TEXT, 0, "Symbol", "_body[0]"},
	{SCOPES_DATA, 8, "CompiledMethod", "_scopes_data_begin"},
	{SCOPES_DATA_OFFSET, 4, "nmethod", "_scopes_data_offset"},
	{SCOPES_PCS, 4, "nmethod", "_scopes_pcs_offset"},
	{DEPENDENCIES, 4, "nmethod", "_dependencies_offset"},
	{METADATA, 2 | 4, "nmethod", "_metadata_offset"},
	{IMMUTABLE_DATA, 8, "nmethod", "_immutable_data"},
	{MUTABLE_DATA, 8, "CodeBlob", "_mutable_data"},
	{RELOCATION_BYTES, 4, "CodeBlob", "_relocation_size"},
	{PC_DESC_PC, 4, "PcDesc", "_pc_offset"},
	{PC_DESC_SCOPE, 4, "PcDesc", "_scope_decode_offset"},
};

struct named_fact {
	enum hotspot_fact fact;
	const char *name;
};

static const struct named_fact type_rows[] = {
	{BLOCK, "HeapBlock"},   {NMETHOD, "nmethod"}, {CONST_METHOD, "ConstMethod"},
	{POOL, "ConstantPool"}, {PC_DESC, "PcDesc"},
};

static const struct named_fact constant_rows[] = {
	{FRAME_SENDER_SP, "frame::interpreter_frame_sender_sp_offset"},
	{FRAME_LAST_SP, "frame::interpreter_frame_last_sp_offset"},
	{HAS_LINES, "ConstMethodFlags::_misc_has_linenumber_table"},
	{HAS_LINES, "ConstMethod::_has_linenumber_table"}, /* until JDK 20 */
};

struct hotspot_fact_value {
	bool is_there;
	uint8_t bytes; /* of a field, as far as its type is known: 0 */
	uint64_t value;
};

struct hotspot_facts {
	struct hotspot_fact_value values[NUM_HOTSPOT_FACTS];
};

static bool has(const struct hotspot_facts *facts, enum hotspot_fact fact)
{
	return facts->values[fact].is_there;
}

static uint16_t get(const struct hotspot_facts *facts, enum hotspot_fact fact)
{
	return (uint16_t)facts->values[fact].value;
}

/*
 * The tables and their names.
 */

struct table_name {
	uint64_t address;
	uint32_t text; /* offset in `texts` */
};

struct hotspot_tables {
	const struct hotspot_memory *memory;
	uint64_t bias;
	struct text structs; /* whole entries */
	struct text types;
	struct text constants;
	ARRAY(struct table_name) names; /* by address */
	struct text texts;              /* each with its NUL; first an empty one */
	uint8_t *window;                /* WINDOW_BYTES */
};

static int hotspot_tables_init(struct hotspot_tables *tables, const struct hotspot_memory *memory,
			       uint64_t bias)
{
	*tables = (struct hotspot_tables){.memory = memory, .bias = bias};
	tables->window = malloc(WINDOW_BYTES);
	text_append_char(&tables->texts, '\0');
	return tables->window && !tables->texts.failed ? 0 : -ENOMEM;
}

static void hotspot_tables_release(struct hotspot_tables *tables)
{
	text_release(&tables->structs);
	text_release(&tables->types);
	text_release(&tables->constants);
	text_release(&tables->texts);
	array_release(&tables->names);
	free(tables->window);
}

/*
 * Read a window, or its mapped part: at least to the end of the page. Returns the number of bytes,
 * or negative errno.
 */
static ssize_t read_window(const struct hotspot_tables *tables, uint64_t address)
{
	size_t page_rest = PAGE_BYTES - address % PAGE_BYTES;
	const size_t sizes[] = {WINDOW_BYTES, page_rest + PAGE_BYTES, page_rest};
	int err = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		err = tables->memory->read(tables->memory->context, address, tables->window,
					   sizes[i]);
		if (!err)
			return (ssize_t)sizes[i];
	}
	return err;
}

/*
 * An address that the dynamic linker has not relocated yet is in the file's own space: below all
 * mappings of the file. A name may be missing.
 */
static bool is_relocated(const struct hotspot_tables *tables, uint64_t address)
{
	return address >= tables->bias;
}

/*
 * variable  ELF address of the pointer to the table
 *
 * Returns 0, -EAGAIN, -EBADMSG (no end) or another negative errno.
 */
static int read_table(const struct hotspot_tables *tables, uint64_t variable, size_t entry_bytes,
		      struct text *ret)
{
	size_t num_entries = 0;
	uint64_t address;
	int err = tables->memory->read(tables->memory->context, variable + tables->bias, &address,
				       sizeof(address));

	if (err)
		return err;
	if (!address || !is_relocated(tables, address))
		return -EAGAIN;
	while (num_entries < MAX_ENTRIES) {
		ssize_t size = read_window(tables, address + ret->length);

		if (size < 0)
			return (int)size;
		text_append(ret, tables->window, (size_t)size);
		if (ret->failed)
			return -ENOMEM;
		for (; num_entries < MAX_ENTRIES; num_entries++) {
			struct bytes entry = bytes_of(ret->data, ret->length);
			uint64_t name;

			bytes_skip(&entry, num_entries * entry_bytes);
			name = bytes_u64(&entry);
			if (bytes_left(&entry) < entry_bytes - sizeof(name))
				break;
			if (!name) {
				text_truncate(ret, num_entries * entry_bytes);
				return 0;
			}
		}
	}
	return -EBADMSG;
}

/* Entries are copied: their table is not aligned. */
#define for_each_entry(table, entry)                                                   \
	for (size_t i_ = 0;                                                            \
	     i_ < (table)->length / sizeof(*(entry)) &&                                \
	     memcpy((entry), (table)->data + i_ * sizeof(*(entry)), sizeof(*(entry))); \
	     i_++)

static int add_name(struct hotspot_tables *tables, uint64_t address)
{
	struct table_name *name;

	if (!address)
		return 0;
	if (!is_relocated(tables, address))
		return -EAGAIN;
	name = array_add(&tables->names);
	if (!name)
		return -ENOMEM;
	name->address = address;
	return 0;
}

static int add_names(struct hotspot_tables *tables)
{
	struct struct_entry field;
	struct type_entry type;
	struct constant_entry constant;
	int err;

	for_each_entry(&tables->structs, &field)
	{
		const uint64_t addresses[] = {field.type_name, field.field_name, field.field_type};

		for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++) {
			err = add_name(tables, addresses[i]);
			if (err)
				return err;
		}
	}
	for_each_entry(&tables->types, &type)
	{
		err = add_name(tables, type.name);
		if (err)
			return err;
	}
	for_each_entry(&tables->constants, &constant)
	{
		err = add_name(tables, constant.name);
		if (err)
			return err;
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	uint64_t first = ((const struct table_name *)a)->address;
	uint64_t second = ((const struct table_name *)b)->address;

	return (first > second) - (first < second);
}

/* Each once, by address: thousands of entries share some hundred names of types. */
static void sort_names(struct hotspot_tables *tables)
{
	size_t num_names = 0;

	if (tables->names.length)
		qsort(tables->names.items, tables->names.length, sizeof(*tables->names.items),
		      compare_names);
	array_for_each (&tables->names, name)
		if (!num_names || tables->names.items[num_names - 1].address != name->address)
			tables->names.items[num_names++] = *name;
	tables->names.length = num_names;
}

/* A string that does not end where it must is empty, which matches no name. */
static int read_names(struct hotspot_tables *tables)
{
	unsigned int num_windows = 0;
	uint64_t start = 0;
	size_t size = 0;

	sort_names(tables);
	array_for_each (&tables->names, name) {
		const char *text;
		size_t limit;

		if (!size || name->address - start + NAME_BYTES > size) {
			ssize_t got = read_window(tables, name->address);

			if (got < 0)
				return (int)got;
			if (++num_windows > MAX_WINDOWS)
				return -EBADMSG;
			start = name->address;
			size = (size_t)got;
		}
		text = (const char *)tables->window + (name->address - start);
		limit = size - (name->address - start);
		limit = strnlen(text, limit < NAME_BYTES ? limit : NAME_BYTES);
		if (text + limit == (const char *)tables->window + size || text[limit])
			continue;
		name->text = (uint32_t)tables->texts.length;
		text_append(&tables->texts, text, limit + 1);
	}
	return tables->texts.failed ? -ENOMEM : 0;
}

static const char *get_name(const struct hotspot_tables *tables, uint64_t address)
{
	size_t place = array_count_front(&tables->names, name, name->address < address);

	if (place == tables->names.length || tables->names.items[place].address != address)
		return "";
	return tables->texts.data + tables->names.items[place].text;
}

static int read_tables(struct hotspot_tables *tables, const struct hotspot_build *build)
{
	int err = read_table(tables, build->structs, sizeof(struct struct_entry), &tables->structs);

	if (err)
		return err;
	err = read_table(tables, build->types, sizeof(struct type_entry), &tables->types);
	if (err)
		return err;
	err = read_table(tables, build->int_constants, sizeof(struct constant_entry),
			 &tables->constants);
	if (err)
		return err;
	err = add_names(tables);
	return err ? err : read_names(tables);
}

/* Interpretation of the tables. */

/* Size of a field, by the name of its type; 0: unknown from that. */
static uint8_t get_bytes(const char *type)
{
	static const struct {
		uint8_t bytes;
		const char *type;
	} rows[] = {
		{1, "bool"},           {1, "u1"},           {2, "u2"},
		{2, "uint16_t"},       {2, "int16_t"},      {2, "jushort"},
		{2, "unsigned short"}, {4, "int"},          {4, "u4"},
		{4, "uint"},           {4, "unsigned int"}, {4, "uint32_t"},
		{4, "int32_t"},        {4, "jint"},         {8, "address"},
		{8, "size_t"},         {8, "uint64_t"},     {8, "intptr_t"},
	};

	if (string_ends_with(type, "*"))
		return 8;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (string_equals(type, rows[i].type))
			return rows[i].bytes;
	return 0;
}

/* Whether an offset is within the bytes read from objects, and a multiple of the field's size. */
static bool is_offset(uint64_t offset, unsigned int bytes)
{
	unsigned int length = bytes ? bytes : 1;

	return offset <= WIRE_HOTSPOT_OBJECT_BYTES - length && offset % length == 0;
}

static void take_field(const struct hotspot_tables *tables, const struct struct_entry *entry,
		       struct hotspot_facts *facts)
{
	const char *type = get_name(tables, entry->type_name);
	const char *name = get_name(tables, entry->field_name);
	uint8_t bytes = get_bytes(get_name(tables, entry->field_type));

	for (size_t i = 0; i < ARRAY_LENGTH(field_rows); i++) {
		enum hotspot_fact fact = field_rows[i].fact;
		struct hotspot_fact_value *value = &facts->values[fact];
		bool is_static = fact < FIRST_OFFSET;

		if (!string_equals(name, field_rows[i].name) ||
		    !string_equals(type, field_rows[i].type))
			continue;
		if (value->is_there || is_static != (entry->is_static != 0) ||
		    (field_rows[i].bytes && !(field_rows[i].bytes & bytes)))
			return;
		if (is_static ? !entry->address || !is_relocated(tables, entry->address)
			      : !is_offset(entry->offset, bytes))
			return;
		*value = (struct hotspot_fact_value){
			.is_there = true,
			.bytes = bytes,
			.value = is_static ? entry->address : entry->offset,
		};
		return;
	}
}

static void take_named(const struct named_fact *rows, size_t num_rows, const char *name,
		       uint64_t number, struct hotspot_facts *facts)
{
	for (size_t i = 0; i < num_rows; i++) {
		struct hotspot_fact_value *value = &facts->values[rows[i].fact];

		if (value->is_there || !string_equals(name, rows[i].name))
			continue;
		value->is_there = true;
		value->value = number;
	}
}

static void take_facts(const struct hotspot_tables *tables, struct hotspot_facts *facts)
{
	struct struct_entry field;
	struct type_entry type;
	struct constant_entry constant;

	for_each_entry(&tables->structs, &field) take_field(tables, &field, facts);
	for_each_entry(&tables->types, &type) take_named(
		type_rows, ARRAY_LENGTH(type_rows), get_name(tables, type.name), type.size, facts);
	for_each_entry(&tables->constants, &constant) take_named(
		constant_rows, ARRAY_LENGTH(constant_rows), get_name(tables, constant.name),
		(uint64_t)(int64_t)constant.value, facts);
}

/* Until the constructors have run, the offsets have their value in the file: 0. */
static bool are_offsets_set(const struct hotspot_facts *facts)
{
	bool is_any_there = false;

	for (unsigned int i = FIRST_OFFSET; i < END_OF_OFFSETS; i++) {
		if (facts->values[i].value)
			return true;
		is_any_there |= facts->values[i].is_there;
	}
	return !is_any_there;
}

static bool has_code(const struct hotspot_facts *facts)
{
	return (has(facts, BLOB_CODE) && has(facts, BLOB_CODE_END)) ||
	       (has(facts, BLOB_CODE_OFFSET) && has(facts, BLOB_DATA_OFFSET));
}

/* Either a list of code heaps, or the only one. */
static bool has_heaps(const struct hotspot_facts *facts)
{
	if (has(facts, ONLY_HEAP))
		return !has(facts, HEAPS);
	return has(facts, HEAPS) && has(facts, ARRAY_LENGTH_FIELD) && has(facts, ARRAY_ITEMS);
}

/*
 * The location of the method, the bytecode and the caller of an interpreted frame depends on these
 * two only; JDK 8 has neither.
 */
static bool has_known_frames(const struct hotspot_facts *facts)
{
	bool is_said = has(facts, FRAME_SENDER_SP) || has(facts, FRAME_LAST_SP);

	if (has(facts, ONLY_HEAP) && !is_said)
		return true;
	return has(facts, FRAME_SENDER_SP) && has(facts, FRAME_LAST_SP) &&
	       (int64_t)facts->values[FRAME_SENDER_SP].value == FRAME_SENDER_SP_WORDS &&
	       (int64_t)facts->values[FRAME_LAST_SP].value == FRAME_LAST_SP_WORDS;
}

static bool is_size(uint64_t size, uint64_t limit)
{
	return size && size % 8 == 0 && size <= limit;
}

static bool are_facts_as_expected(const struct hotspot_facts *facts)
{
	static const enum hotspot_fact required[] = {
		INTERPRETER,       CALL_STUB_RETURN,    HEAP_MEMORY,
		HEAP_SEGMENTS,     HEAP_SEGMENT_SHIFT,  SPACE_START,
		SPACE_END,         QUEUE_START,         QUEUE_BYTES,
		BLOCK_HEADER,      HEADER_USED,         BLOB_SIZE,
		BLOB_HEADER_BYTES, BLOB_FRAME_COMPLETE, BLOB_FRAME_WORDS,
		NMETHOD_METHOD,    NMETHOD_COMPILE_ID,  METHOD_CONST,
		CONST_POOL,        CONST_CODE_BYTES,    CONST_FLAGS,
		CONST_NAME,        POOL_CLASS,          CLASS_NAME,
		SYMBOL_LENGTH,     SYMBOL_TEXT,         BLOCK,
		NMETHOD,           CONST_METHOD,        POOL,
		HAS_LINES,
	};
	const struct hotspot_fact_value *values = facts->values;

	for (size_t i = 0; i < ARRAY_LENGTH(required); i++)
		if (!has(facts, required[i]))
			return false;
	return has_heaps(facts) && has_known_frames(facts) && has_code(facts) &&
	       (has(facts, POOL_FILE) || has(facts, CLASS_FILE)) &&
	       is_offset(values[HEAP_MEMORY].value + values[SPACE_START].value, 8) &&
	       is_offset(values[HEAP_MEMORY].value + values[SPACE_END].value, 8) &&
	       is_offset(values[HEAP_SEGMENTS].value + values[SPACE_START].value, 8) &&
	       is_offset(values[CONST_FLAGS].value + 2, 2) && values[HAS_LINES].value &&
	       values[HAS_LINES].value <= UINT16_MAX &&
	       is_size(values[BLOCK].value, WIRE_HOTSPOT_OBJECT_BYTES) &&
	       values[BLOCK_HEADER].value + values[HEADER_USED].value < values[BLOCK].value &&
	       is_size(values[NMETHOD].value, WIRE_HOTSPOT_NONE) &&
	       is_size(values[CONST_METHOD].value, WIRE_HOTSPOT_OBJECT_BYTES) &&
	       is_size(values[POOL].value, WIRE_HOTSPOT_OBJECT_BYTES);
}

/* Number of bytes of a blob that hold all fields read. */
static uint16_t get_blob_bytes(const struct hotspot_facts *facts, bool is_code_offset)
{
	const enum hotspot_fact read[] = {
		BLOB_SIZE,
		BLOB_HEADER_BYTES,
		BLOB_FRAME_COMPLETE,
		BLOB_FRAME_WORDS,
		is_code_offset ? BLOB_CODE_OFFSET : BLOB_CODE,
		is_code_offset ? BLOB_DATA_OFFSET : BLOB_CODE_END,
		NMETHOD_METHOD,
		NMETHOD_COMPILE_ID,
	};
	uint64_t end = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(read); i++) {
		const struct hotspot_fact_value *value = &facts->values[read[i]];

		if (value->value + value->bytes > end)
			end = value->value + value->bytes;
	}
	return (uint16_t)((end + 7) & ~7ull);
}

static void describe_objects(const struct hotspot_facts *facts, unsigned int major, uint64_t bias,
			     struct wire_hotspot_layout *ret)
{
	const struct hotspot_fact_value *values = facts->values;
	bool is_code_offset = !has(facts, BLOB_CODE) || !has(facts, BLOB_CODE_END);
	bool has_array = has(facts, HEAPS);

	*ret = (struct wire_hotspot_layout){
		.heaps = values[has_array ? HEAPS : ONLY_HEAP].value - bias,
		.interpreter = values[INTERPRETER].value - bias,
		.call_stub_return = values[CALL_STUB_RETURN].value - bias,
		.major = (uint16_t)major,
		.array_length = has_array ? get(facts, ARRAY_LENGTH_FIELD) : WIRE_HOTSPOT_NONE,
		.array_items = has_array ? get(facts, ARRAY_ITEMS) : WIRE_HOTSPOT_NONE,
		.heap_start = (uint16_t)(values[HEAP_MEMORY].value + values[SPACE_START].value),
		.heap_end = (uint16_t)(values[HEAP_MEMORY].value + values[SPACE_END].value),
		.heap_segments =
			(uint16_t)(values[HEAP_SEGMENTS].value + values[SPACE_START].value),
		.heap_segment_shift = get(facts, HEAP_SEGMENT_SHIFT),
		.queue_start = get(facts, QUEUE_START),
		.queue_bytes = get(facts, QUEUE_BYTES),
		.block_bytes = get(facts, BLOCK),
		.block_used = (uint16_t)(values[BLOCK_HEADER].value + values[HEADER_USED].value),
		.blob_bytes = get_blob_bytes(facts, is_code_offset),
		.blob_size = get(facts, BLOB_SIZE),
		.blob_header_bytes = get(facts, BLOB_HEADER_BYTES),
		.blob_header_bytes_size = values[BLOB_HEADER_BYTES].bytes,
		.blob_frame_complete_size = values[BLOB_FRAME_COMPLETE].bytes,
		.blob_frame_complete = get(facts, BLOB_FRAME_COMPLETE),
		.blob_name = get(facts, BLOB_NAME),
		.blob_frame_words = get(facts, BLOB_FRAME_WORDS),
		.blob_code = get(facts, is_code_offset ? BLOB_CODE_OFFSET : BLOB_CODE),
		.blob_code_end = get(facts, is_code_offset ? BLOB_DATA_OFFSET : BLOB_CODE_END),
		.blob_code_is_offset = is_code_offset,
		.nmethod_header_bytes = get(facts, NMETHOD),
		.nmethod_method = get(facts, NMETHOD_METHOD),
		.nmethod_compile_id = get(facts, NMETHOD_COMPILE_ID),
		.method_const = get(facts, METHOD_CONST),
		.const_bytes = get(facts, CONST_METHOD),
		.const_pool = get(facts, CONST_POOL),
		.const_code_bytes = get(facts, CONST_CODE_BYTES),
		.const_flags = get(facts, CONST_FLAGS),
		.const_has_lines = get(facts, HAS_LINES),
		.const_name = get(facts, CONST_NAME),
		.pool_bytes = get(facts, POOL),
		.pool_class = get(facts, POOL_CLASS),
		.pool_file = has(facts, POOL_FILE) ? get(facts, POOL_FILE) : WIRE_HOTSPOT_NONE,
		.class_file = has(facts, POOL_FILE) ? WIRE_HOTSPOT_NONE : get(facts, CLASS_FILE),
		.class_name = get(facts, CLASS_NAME),
		/* If it shares a number with the reference count, it is the upper half. */
		.symbol_length = (uint16_t)(values[SYMBOL_LENGTH].value +
					    (values[SYMBOL_LENGTH].bytes == 4 ? 2 : 0)),
		.symbol_text = get(facts, SYMBOL_TEXT),
		.frame_bytecode =
			has(facts, ONLY_HEAP) ? FRAME_BYTECODE_WORDS_OF_8 : FRAME_BYTECODE_WORDS,
	};
}

/*
 * Up to JDK 22 all is in the blob, which from JDK 11 on has the scopes' address. Then the scopes
 * are apart, and since JDK 25 the methods, too.
 */
static void describe_scopes(const struct hotspot_facts *facts, struct hotspot_scopes_layout *ret)
{
	const struct hotspot_fact_value *values = facts->values;
	bool is_apart = has(facts, IMMUTABLE_DATA);
	bool is_offset_said = is_apart || has(facts, ONLY_HEAP);
	struct hotspot_scopes_layout scopes = {
		.pc_desc_bytes = get(facts, PC_DESC),
		.pc_desc_pc = get(facts, PC_DESC_PC),
		.pc_desc_scope = get(facts, PC_DESC_SCOPE),
		.scopes_pcs = get(facts, SCOPES_PCS),
		.scopes_data = get(facts, is_offset_said ? SCOPES_DATA_OFFSET : SCOPES_DATA),
		.scopes_data_size = is_offset_said ? 4 : 8,
		.scopes_pcs_end = get(facts, is_apart ? SCOPES_DATA_OFFSET : DEPENDENCIES),
		.immutable_data = is_apart ? get(facts, IMMUTABLE_DATA) : WIRE_HOTSPOT_NONE,
		.mutable_data = WIRE_HOTSPOT_NONE,
		.relocation_bytes = WIRE_HOTSPOT_NONE,
		.blob_data = WIRE_HOTSPOT_NONE,
		.metadata = WIRE_HOTSPOT_NONE,
	};

	*ret = (struct hotspot_scopes_layout){0};
	if (!has(facts, PC_DESC_PC) || !has(facts, PC_DESC_SCOPE) || !has(facts, SCOPES_PCS) ||
	    !has(facts, PC_DESC) || values[PC_DESC].value % 4 ||
	    values[PC_DESC].value > WIRE_HOTSPOT_OBJECT_BYTES ||
	    values[PC_DESC_PC].value + 4 > values[PC_DESC].value ||
	    values[PC_DESC_SCOPE].value + 4 > values[PC_DESC].value)
		return;
	/*
	 * Builds that have both were changed with parts of a newer version: their behaviour is
	 * unknown.
	 */
	if (has(facts, SCOPES_DATA) == is_offset_said || (is_apart && has(facts, ONLY_HEAP)))
		return;
	if ((is_offset_said && !has(facts, SCOPES_DATA_OFFSET)) ||
	    (!is_apart && !has(facts, DEPENDENCIES)))
		return;
	if (has(facts, MUTABLE_DATA)) {
		if (!is_apart || !has(facts, RELOCATION_BYTES))
			return;
		scopes.mutable_data = get(facts, MUTABLE_DATA);
		scopes.relocation_bytes = get(facts, RELOCATION_BYTES);
	} else {
		if (!has(facts, METADATA) || (is_apart && !has(facts, BLOB_DATA_OFFSET)))
			return;
		scopes.metadata = get(facts, METADATA);
		scopes.metadata_size = values[METADATA].bytes;
		if (is_apart)
			scopes.blob_data = get(facts, BLOB_DATA_OFFSET);
	}
	*ret = scopes;
}

/* The JDK's version; 0: unknown. */
static int read_major(const struct hotspot_tables *tables, const struct hotspot_facts *facts,
		      unsigned int *ret)
{
	int32_t major;
	int err;

	*ret = 0;
	if (!has(facts, MAJOR_VERSION))
		return 0;
	err = tables->memory->read(tables->memory->context, facts->values[MAJOR_VERSION].value,
				   &major, sizeof(major));
	if (err)
		return err;
	/* At first HotSpot had version numbers of its own, and its code in one heap. */
	if (has(facts, ONLY_HEAP) && !major)
		return -EAGAIN;
	if (has(facts, ONLY_HEAP))
		*ret = major == HOTSPOT_OF_JDK_8 ? 8 : 0;
	else if (major > 0 && major <= UINT8_MAX)
		*ret = (unsigned int)major;
	return 0;
}

/* JDK 8 creates the only heap with its constructors, and gives it memory later. */
static int check_only_heap(const struct hotspot_tables *tables, const struct hotspot_facts *facts,
			   uint64_t heap)
{
	uint64_t start;
	int err = tables->memory->read(tables->memory->context,
				       heap + facts->values[HEAP_MEMORY].value +
					       facts->values[SPACE_START].value,
				       &start, sizeof(start));

	if (err)
		return err;
	return start ? 0 : -EAGAIN;
}

/*
 * Once it has created its code heaps, all of its constructors have run. The interpreter is created
 * long after these.
 */
static int check_started(const struct hotspot_tables *tables, const struct hotspot_facts *facts)
{
	bool has_array = has(facts, HEAPS);
	uint32_t num_heaps;
	uint64_t made;
	int err = tables->memory->read(tables->memory->context,
				       facts->values[has_array ? HEAPS : ONLY_HEAP].value, &made,
				       sizeof(made));

	if (err)
		return err;
	if (!made)
		return -EAGAIN;
	if (!has_array)
		return check_only_heap(tables, facts, made);
	err = tables->memory->read(tables->memory->context,
				   made + facts->values[ARRAY_LENGTH_FIELD].value, &num_heaps,
				   sizeof(num_heaps));
	if (err)
		return err;
	return num_heaps ? 0 : -EAGAIN;
}

static bool is_known_version(unsigned int major)
{
	return major == 8 || (major >= FIRST_KNOWN && major <= LAST_KNOWN);
}

static int describe(const struct hotspot_tables *tables, struct hotspot_layout *ret)
{
	struct hotspot_facts facts = {0};
	int err;

	take_facts(tables, &facts);
	if (!are_offsets_set(&facts))
		return -EAGAIN;
	err = read_major(tables, &facts, &ret->major);
	if (err)
		return err;
	ret->support = SUPPORT_UNKNOWN_VERSION;
	if (ret->major && !is_known_version(ret->major))
		return 0;
	ret->support = SUPPORT_UNKNOWN_BUILD;
	if (!ret->major || !are_facts_as_expected(&facts))
		return 0;
	err = check_started(tables, &facts);
	if (err)
		return err;
	describe_objects(&facts, ret->major, tables->bias, &ret->wire);
	if (ret->wire.blob_bytes > ret->wire.nmethod_header_bytes) {
		ret->wire = (struct wire_hotspot_layout){0};
		return 0;
	}
	describe_scopes(&facts, &ret->scopes);
	ret->support = SUPPORT_KNOWN;
	return 0;
}

static int read_layout(const struct hotspot_build *build, uint64_t bias,
		       const struct hotspot_memory *memory, struct hotspot_layout *ret)
{
	_cleanup_(hotspot_tables_release) struct hotspot_tables tables = {0};
	struct hotspot_layout layout = {.support = SUPPORT_UNKNOWN_BUILD};
	int err = hotspot_tables_init(&tables, memory, bias);

	if (err)
		return err;
	err = read_tables(&tables, build);
	if (err == -EBADMSG) {
		*ret = layout;
		return 0;
	}
	if (err)
		return err;
	err = describe(&tables, &layout);
	if (err)
		return err;
	*ret = layout;
	return 0;
}

int hotspot_read_layout(const struct hotspot_build *build, uint64_t bias,
			const struct hotspot_memory *memory, struct hotspot_layout *ret)
{
	struct hotspot_layout layout;
	int err = read_layout(build, bias, memory, &layout);

	/*
	 * It may have started while it was read, so the data read before may have been incomplete.
	 */
	if (!err && layout.support == SUPPORT_KNOWN)
		err = read_layout(build, bias, memory, &layout);
	if (err)
		return err;
	*ret = layout;
	return 0;
}
