#include "runtime/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hotspot_tables.h"
#include "unit.h"

#define WINDOW_BYTES (64u << 10)
#define MAX_ENTRIES  8192

/* A process whose memory is that of the tables. */
struct fake_process {
	struct text bytes;
	struct text
		later; /* what it is when the heaps have been looked for, if that is something else */
	unsigned int num_reads;
	unsigned int fails_from; /* the number of a read; 0: none does */
	int err;
};

static int read_fake(void *context, uint64_t address, void *ret, size_t size)
{
	struct fake_process *process = context;

	assert_true(size <= WINDOW_BYTES);
	process->num_reads++;
	if (process->fails_from && process->num_reads >= process->fails_from)
		return process->err;
	if (address < HOTSPOT_BIAS || size > process->bytes.length ||
	    address - HOTSPOT_BIAS > process->bytes.length - size)
		return -EFAULT;
	memcpy(ret, process->bytes.data + (address - HOTSPOT_BIAS), size);
	if (process->later.length && address == HOTSPOT_BIAS + HOTSPOT_HEAPS) {
		text_release(&process->bytes);
		process->bytes = process->later;
		process->later = (struct text){0};
	}
	return 0;
}

static int read_layout(struct fake_process *process, struct hotspot_layout *ret)
{
	struct hotspot_memory memory = {read_fake, process};

	memset(ret, 0xff, sizeof(*ret));
	return hotspot_read_layout(&hotspot_tables_build, HOTSPOT_BIAS, &memory, ret);
}

/* What comes of a fake's tables; the fake is released. */
static int find(struct hotspot_tables_fake *fake, struct hotspot_layout *ret)
{
	struct fake_process process = {0};
	int err;

	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	err = read_layout(&process, ret);
	text_release(&process.bytes);
	return err;
}

static void check_unknown(struct hotspot_tables_fake *fake, enum runtime_support support,
			  unsigned int major)
{
	static const struct hotspot_layout nothing;
	struct hotspot_layout layout;

	assert_int_equal(find(fake, &layout), 0);
	assert_int_equal(layout.support, support);
	assert_int_equal(layout.major, major);
	assert_memory_equal(&layout.wire, &nothing.wire, sizeof(nothing.wire));
	assert_memory_equal(&layout.scopes, &nothing.scopes, sizeof(nothing.scopes));
}

static void check_known(int major, struct hotspot_layout *ret)
{
	assert_int_equal(find(hotspot_tables_fake_new(major), ret), 0);
	assert_int_equal(ret->support, SUPPORT_KNOWN);
	assert_int_equal(ret->major, major);
	assert_int_equal(ret->wire.major, major);
}

static void jdk_17_has_the_layout_that_it_says(void **state)
{
	static const struct wire_hotspot_layout expected = {
		.heaps = HOTSPOT_HEAPS,
		.interpreter = HOTSPOT_INTERPRETER,
		.call_stub_return = HOTSPOT_CALL_STUB,
		.major = 17,
		.array_length = 0,
		.array_items = 8,
		.heap_start = 8,
		.heap_end = 16,
		.heap_segments = 120,
		.heap_segment_shift = 256,
		.queue_start = 8,
		.queue_bytes = 20,
		.block_bytes = 16,
		.block_used = 8,
		.blob_bytes = 312,
		.blob_size = 12,
		.blob_header_bytes = 16,
		.blob_header_bytes_size = 4,
		.blob_frame_complete_size = 4,
		.blob_frame_complete = 20,
		.blob_frame_words = 28,
		.blob_code = 32,
		.blob_code_end = 40,
		.nmethod_header_bytes = 352,
		.nmethod_method = 112,
		.nmethod_compile_id = 304,
		.method_const = 8,
		.const_bytes = 48,
		.const_pool = 8,
		.const_code_bytes = 32,
		.const_flags = 28,
		.const_has_lines = 1,
		.const_name = 34,
		.pool_bytes = 72,
		.pool_class = 24,
		.pool_file = 54,
		.class_file = WIRE_HOTSPOT_NONE,
		.class_name = 24,
		.symbol_length = 4,
		.symbol_text = 6,
		.frame_bytecode = 8,
	};
	static const struct hotspot_scopes_layout expected_scopes = {
		.pc_desc_bytes = 16,
		.pc_desc_pc = 0,
		.pc_desc_scope = 4,
		.immutable_data = WIRE_HOTSPOT_NONE,
		.scopes_pcs = 268,
		.scopes_pcs_end = 272,
		.scopes_data = 120,
		.scopes_data_size = 8,
		.mutable_data = WIRE_HOTSPOT_NONE,
		.relocation_bytes = WIRE_HOTSPOT_NONE,
		.metadata = 260,
		.blob_data = WIRE_HOTSPOT_NONE,
		.metadata_size = 4,
	};
	struct hotspot_layout layout;

	(void)state;
	check_known(17, &layout);
	assert_memory_equal(&layout.wire, &expected, sizeof(expected));
	assert_memory_equal(&layout.scopes, &expected_scopes, sizeof(expected_scopes));
}

static void jdk_25_has_the_layout_that_it_says(void **state)
{
	static const struct wire_hotspot_layout expected = {
		.heaps = HOTSPOT_HEAPS,
		.interpreter = HOTSPOT_INTERPRETER,
		.call_stub_return = HOTSPOT_CALL_STUB,
		.major = 25,
		.array_length = 0,
		.array_items = 8,
		.heap_start = 0,
		.heap_end = 8,
		.heap_segments = 112,
		.heap_segment_shift = 248,
		.queue_start = 8,
		.queue_bytes = 20,
		.block_bytes = 8,
		.block_used = 4,
		.blob_bytes = 216,
		.blob_size = 24,
		.blob_header_bytes = 52,
		.blob_header_bytes_size = 2,
		.blob_frame_complete_size = 2,
		.blob_frame_complete = 54,
		.blob_frame_words = 44,
		.blob_code = 36,
		.blob_code_end = 40,
		.blob_code_is_offset = 1,
		.nmethod_header_bytes = 224,
		.nmethod_method = 80,
		.nmethod_compile_id = 212,
		.method_const = 8,
		.const_bytes = 56,
		.const_pool = 8,
		.const_code_bytes = 34,
		.const_flags = 28,
		.const_has_lines = 1,
		.const_name = 36,
		.pool_bytes = 72,
		.pool_class = 24,
		.pool_file = 54,
		.class_file = WIRE_HOTSPOT_NONE,
		.class_name = 24,
		.symbol_length = 4,
		.symbol_text = 6,
		.frame_bytecode = 8,
	};
	static const struct hotspot_scopes_layout expected_scopes = {
		.pc_desc_bytes = 16,
		.pc_desc_pc = 0,
		.pc_desc_scope = 4,
		.immutable_data = 96,
		.scopes_pcs = 196,
		.scopes_pcs_end = 200,
		.scopes_data = 200,
		.scopes_data_size = 4,
		.mutable_data = 16,
		.relocation_bytes = 28,
		.metadata = WIRE_HOTSPOT_NONE,
		.blob_data = WIRE_HOTSPOT_NONE,
	};
	struct hotspot_layout layout;

	(void)state;
	check_known(25, &layout);
	assert_memory_equal(&layout.wire, &expected, sizeof(expected));
	assert_memory_equal(&layout.scopes, &expected_scopes, sizeof(expected_scopes));
}

/* It has one heap, says no frame of the interpreter, and all parts of compiled code by their offsets. */
static void jdk_8_has_the_layout_that_it_says(void **state)
{
	static const struct wire_hotspot_layout expected = {
		.heaps = HOTSPOT_HEAPS,
		.interpreter = HOTSPOT_INTERPRETER,
		.call_stub_return = HOTSPOT_CALL_STUB,
		.major = 8,
		.array_length = WIRE_HOTSPOT_NONE,
		.array_items = WIRE_HOTSPOT_NONE,
		.heap_start = 8,
		.heap_end = 16,
		.heap_segments = 120,
		.heap_segment_shift = 256,
		.queue_start = 8,
		.queue_bytes = 20,
		.block_bytes = 16,
		.block_used = 8,
		.blob_bytes = 312,
		.blob_size = 12,
		.blob_header_bytes = 16,
		.blob_header_bytes_size = 4,
		.blob_frame_complete_size = 4,
		.blob_frame_complete = 20,
		.blob_frame_words = 28,
		.blob_code = 32,
		.blob_code_end = 24,
		.blob_code_is_offset = 1,
		.nmethod_header_bytes = 352,
		.nmethod_method = 112,
		.nmethod_compile_id = 304,
		.method_const = 8,
		.const_bytes = 48,
		.const_pool = 8,
		.const_code_bytes = 32,
		.const_flags = 28,
		.const_has_lines = 1,
		.const_name = 34,
		.pool_bytes = 72,
		.pool_class = 24,
		.pool_file = WIRE_HOTSPOT_NONE,
		.class_file = 284,
		.class_name = 24,
		.symbol_length = 0,
		.symbol_text = 6,
		.frame_bytecode = 7,
	};
	static const struct hotspot_scopes_layout expected_scopes = {
		.pc_desc_bytes = 16,
		.pc_desc_pc = 0,
		.pc_desc_scope = 4,
		.immutable_data = WIRE_HOTSPOT_NONE,
		.scopes_pcs = 268,
		.scopes_pcs_end = 272,
		.scopes_data = 264,
		.scopes_data_size = 4,
		.mutable_data = WIRE_HOTSPOT_NONE,
		.relocation_bytes = WIRE_HOTSPOT_NONE,
		.metadata = 260,
		.blob_data = WIRE_HOTSPOT_NONE,
		.metadata_size = 4,
	};
	struct hotspot_layout layout;

	(void)state;
	check_known(8, &layout);
	assert_memory_equal(&layout.wire, &expected, sizeof(expected));
	assert_memory_equal(&layout.scopes, &expected_scopes, sizeof(expected_scopes));
}

static void what_versions_have_renamed_or_moved_is_found(void **state)
{
	struct hotspot_layout layout;

	(void)state;
	for (int major = 11; major <= 25; major++) {
		check_known(major, &layout);
		assert_int_equal(layout.wire.array_length, major < 15 ? 8 : 0);
		assert_int_equal(layout.wire.array_items, major < 15 ? 24 : 8);
		assert_int_equal(layout.wire.pool_file, major < 15 ? WIRE_HOTSPOT_NONE : 54);
		assert_int_equal(layout.wire.class_file, major < 15 ? 284 : WIRE_HOTSPOT_NONE);
		assert_int_equal(layout.wire.symbol_length, major < 12 ? 0 : major < 14 ? 2 : 4);
		assert_int_equal(layout.wire.const_bytes, major < 21 ? 48 : 56);
		assert_int_equal(layout.wire.const_has_lines, 1);
		assert_int_equal(layout.wire.blob_code_is_offset, major >= 23);
		assert_int_equal(layout.wire.blob_header_bytes_size, major < 23 ? 4 : 2);
		assert_int_equal(layout.wire.nmethod_method, major < 23 ? 112 : 80);
		assert_int_equal(layout.scopes.pc_desc_bytes, 16);
		assert_int_equal(layout.scopes.immutable_data, major < 23 ? WIRE_HOTSPOT_NONE : 96);
		assert_int_equal(layout.scopes.mutable_data, major < 25 ? WIRE_HOTSPOT_NONE : 16);
		assert_int_equal(layout.scopes.metadata, major < 23   ? 260
							 : major < 25 ? 190
								      : WIRE_HOTSPOT_NONE);
		assert_int_equal(layout.scopes.metadata_size, major < 23 ? 4 : major < 25 ? 2 : 0);
		assert_int_equal(layout.scopes.blob_data,
				 major == 23 || major == 24 ? 40 : WIRE_HOTSPOT_NONE);
	}
}

static void of_other_versions_nothing_is_guessed(void **state)
{
	static const struct {
		int32_t version;
		unsigned int major;
		enum runtime_support support;
	} inputs[] = {
		{9, 9, SUPPORT_UNKNOWN_VERSION},   {10, 10, SUPPORT_UNKNOWN_VERSION},
		{26, 26, SUPPORT_UNKNOWN_VERSION}, {255, 255, SUPPORT_UNKNOWN_VERSION},
		{256, 0, SUPPORT_UNKNOWN_BUILD},   {0, 0, SUPPORT_UNKNOWN_BUILD},
		{-17, 0, SUPPORT_UNKNOWN_BUILD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

		fake->version = inputs[i].version;
		check_unknown(fake, inputs[i].support, inputs[i].major);
	}
}

static void add_field(struct hotspot_tables_fake *fake, const char *type, const char *name,
		      const char *field_type, uint64_t offset)
{
	struct hotspot_field *added = array_add(&fake->fields);

	assert_non_null(added);
	*added = (struct hotspot_field){
		.type = type, .name = name, .field_type = field_type, .offset = offset};
}

static void hotspot_25_is_that_of_jdk_8_where_it_has_one_heap(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(8);
	struct hotspot_layout layout;

	(void)state;
	fake->version = 0;
	assert_int_equal(find(fake, &layout), -EAGAIN);
	fake = hotspot_tables_fake_new(8);
	fake->version = 24;
	check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 0);
	/* Its constructors have made the heap, and it has no memory yet. */
	fake = hotspot_tables_fake_new(8);
	fake->num_heaps = 0;
	assert_int_equal(find(fake, &layout), -EAGAIN);
	/* One that has both has taken something over from a newer version. */
	fake = hotspot_tables_fake_new(8);
	add_field(fake, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", HOTSPOT_HEAPS);
	fake->fields.items[fake->fields.length - 1].is_static = true;
	check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 8);
	/* What it says of frames has to be what is known. */
	fake = hotspot_tables_fake_new(8);
	fake->constants.items[fake->constants.length - 1] = (struct hotspot_number){
		.name = "frame::interpreter_frame_sender_sp_offset", .value = -3};
	check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 8);
}

static bool is_one_of(const char *name, const char *const *names, size_t num_names)
{
	for (size_t i = 0; i < num_names; i++)
		if (string_equals(names[i], name))
			return true;
	return false;
}

/* Without which names are known all the same: those of scopes, one of two spellings, and what nobody asks for. */
static bool is_optional(const struct hotspot_field *field, int major)
{
	static const char *const names[] = {
		"_body",
		"_body[0]",
		"_collectedHeap",
		"_code",
		"_scopes_data_begin",
		"_scopes_data_offset",
		"_metadata_offset",
		"_scopes_pcs_offset",
		"_dependencies_offset",
		"_immutable_data",
		"_mutable_data",
		"_relocation_size",
		"_pc_offset",
		"_scope_decode_offset",
	};

	if (string_equals(field->type, "AbstractInterpreter"))
		return false;
	if (string_equals(field->type, "HeapBlock::Header"))
		return string_equals(field->name, "_length");
	/* JDK 8 has a single heap. */
	if (string_ends_with(field->type, "GrowableArray") ||
	    string_equals(field->type, "GrowableArray<int>"))
		return major == 8;
	/* Between them it is the addresses that count. */
	if (string_equals(field->name, "_data_offset"))
		return major > 8 && major < 23;
	return is_one_of(field->name, names, ARRAY_LENGTH(names));
}

static void without_what_is_needed_a_build_is_unknown(void **state)
{
	static const int majors[] = {8, 11, 12, 17, 21, 23, 25};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(majors); i++) {
		struct hotspot_tables_fake *whole = hotspot_tables_fake_new(majors[i]);

		for (size_t j = 0; j < whole->fields.length; j++) {
			const struct hotspot_field *field = &whole->fields.items[j];
			struct hotspot_tables_fake *fake = hotspot_tables_fake_new(majors[i]);
			struct hotspot_layout layout;

			array_remove(&fake->fields, j);
			if (is_optional(field, majors[i])) {
				assert_int_equal(find(fake, &layout), 0);
				assert_int_equal(layout.support, SUPPORT_KNOWN);
			} else {
				unsigned int major = (unsigned int)majors[i];

				if (string_equals(field->name, "_vm_major_version"))
					major = 0;
				/* Without it, 25 is the JDK's version. */
				else if (string_equals(field->name, "_heap"))
					major = 25;
				check_unknown(fake, SUPPORT_UNKNOWN_BUILD, major);
			}
		}
		hotspot_tables_fake_free(whole);
	}
}

static void without_a_size_or_a_number_a_build_is_unknown(void **state)
{
	struct hotspot_tables_fake *whole = hotspot_tables_fake_new(17);

	(void)state;
	for (size_t i = 0; i < whole->types.length; i++) {
		const char *name = whole->types.items[i].name;
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
		struct hotspot_layout layout;

		array_remove(&fake->types, i);
		if (string_equals(name, "Klass") || string_equals(name, "PcDesc")) {
			assert_int_equal(find(fake, &layout), 0);
			assert_int_equal(layout.support, SUPPORT_KNOWN);
			assert_int_equal(layout.scopes.pc_desc_bytes,
					 string_equals(name, "Klass") ? 16 : 0);
		} else {
			check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 17);
		}
	}
	for (size_t i = 0; i < whole->constants.length; i++) {
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

		if (string_equals(fake->constants.items[i].name, "frame::pc_return_offset")) {
			hotspot_tables_fake_free(fake);
			continue;
		}
		array_remove(&fake->constants, i);
		check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 17);
		/* Nor is another frame known, or a flag that does not fit. */
		fake = hotspot_tables_fake_new(17);
		fake->constants.items[i].value = -3;
		check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 17);
	}
	hotspot_tables_fake_free(whole);
}

static struct hotspot_field *get_field(struct hotspot_tables_fake *fake, const char *type,
				       const char *name)
{
	array_for_each (&fake->fields, field)
		if (string_equals(field->type, type) && string_equals(field->name, name))
			return field;
	fail_msg("there is no %s::%s", type, name);
	return NULL;
}

static void offsets_that_cannot_be_make_a_build_unknown(void **state)
{
	static const uint64_t offsets[] = {WIRE_HOTSPOT_OBJECT_BYTES, 0x10008, UINT64_MAX,
					   UINT64_MAX - 7};
	struct hotspot_tables_fake *whole = hotspot_tables_fake_new(17);

	(void)state;
	for (size_t i = 0; i < whole->fields.length; i++) {
		if (whole->fields.items[i].is_static || is_optional(&whole->fields.items[i], 17))
			continue;
		for (size_t j = 0; j < ARRAY_LENGTH(offsets); j++) {
			struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

			fake->fields.items[i].offset = offsets[j];
			check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 17);
		}
	}
	hotspot_tables_fake_free(whole);
}

static void check_changed(const char *type, const char *name, uint64_t offset,
			  const char *field_type, enum runtime_support support)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct hotspot_field *field = get_field(fake, type, name);
	struct hotspot_layout layout;

	field->offset = offset;
	if (field_type)
		field->field_type = field_type;
	if (support != SUPPORT_KNOWN) {
		check_unknown(fake, support, 17);
		return;
	}
	assert_int_equal(find(fake, &layout), 0);
	assert_int_equal(layout.support, support);
}

static void offsets_are_bounded_to_the_byte(void **state)
{
	(void)state;
	check_changed("Klass", "_name", 488, NULL, SUPPORT_KNOWN);
	check_changed("Klass", "_name", 492, NULL, SUPPORT_UNKNOWN_BUILD);
	check_changed("Klass", "_name", 28, NULL, SUPPORT_UNKNOWN_BUILD);
	check_changed("Symbol", "_length", 494, NULL, SUPPORT_KNOWN);
	check_changed("Symbol", "_length", 495, NULL, SUPPORT_UNKNOWN_BUILD);
	/* Of two parts, each of which is in bounds. */
	check_changed("CodeHeap", "_memory", 480, NULL, SUPPORT_KNOWN);
	check_changed("CodeHeap", "_memory", 488, NULL, SUPPORT_UNKNOWN_BUILD);
	check_changed("CodeHeap", "_segmap", 488, NULL, SUPPORT_KNOWN);
	check_changed("CodeHeap", "_segmap", 495, NULL, SUPPORT_UNKNOWN_BUILD);
	check_changed("CodeHeap", "_segmap", 4, NULL, SUPPORT_UNKNOWN_BUILD);
	/* Two bytes, of which four are read. */
	check_changed("ConstMethod", "_flags", 492, NULL, SUPPORT_KNOWN);
	check_changed("ConstMethod", "_flags", 494, NULL, SUPPORT_UNKNOWN_BUILD);
	/* Within the block's own header, and within the nmethod's. */
	check_changed("HeapBlock::Header", "_used", 15, NULL, SUPPORT_KNOWN);
	check_changed("HeapBlock::Header", "_used", 16, NULL, SUPPORT_UNKNOWN_BUILD);
	check_changed("nmethod", "_compile_id", 348, NULL, SUPPORT_KNOWN);
	check_changed("nmethod", "_compile_id", 352, NULL, SUPPORT_UNKNOWN_BUILD);
}

static void fields_of_another_size_make_a_build_unknown(void **state)
{
	(void)state;
	check_changed("CodeBlob", "_header_size", 16, "u2", SUPPORT_KNOWN);
	check_changed("CodeBlob", "_header_size", 16, "u1", SUPPORT_UNKNOWN_BUILD);
	check_changed("CodeBlob", "_header_size", 16, "size_t", SUPPORT_UNKNOWN_BUILD);
	check_changed("CodeBlob", "_header_size", 16, "SomeType", SUPPORT_UNKNOWN_BUILD);
	check_changed("CodeBlob", "_frame_size", 28, "int16_t", SUPPORT_UNKNOWN_BUILD);
	check_changed("Klass", "_name", 24, "uint32_t", SUPPORT_UNKNOWN_BUILD);
	check_changed("Symbol", "_length", 4, "int", SUPPORT_UNKNOWN_BUILD);
}

static void fields_that_are_static_are_no_others(void **state)
{
	struct hotspot_tables_fake *whole = hotspot_tables_fake_new(17);

	(void)state;
	for (size_t i = 0; i < whole->fields.length; i++) {
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
		struct hotspot_field *field = &fake->fields.items[i];

		if (is_optional(field, 17)) {
			hotspot_tables_fake_free(fake);
			continue;
		}
		field->is_static = !field->is_static;
		check_unknown(fake, SUPPORT_UNKNOWN_BUILD,
			      string_equals(whole->fields.items[i].name, "_vm_major_version") ? 0
											      : 17);
	}
	hotspot_tables_fake_free(whole);
}

/* An address below the file's own start is none. */
static void static_fields_lie_in_the_file(void **state)
{
	static const uint64_t addresses[] = {0, HOTSPOT_HEAPS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++) {
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
		struct fake_process process = {0};
		struct hotspot_layout layout;

		hotspot_tables_write(fake, &process.bytes);
		assert_string_equal(fake->fields.items[0].name, "_heaps");
		hotspot_tables_fake_free(fake);
		hotspot_tables_put_word(&process.bytes, HOTSPOT_TABLES + 40, addresses[i]);
		assert_int_equal(read_layout(&process, &layout), 0);
		assert_int_equal(layout.support, SUPPORT_UNKNOWN_BUILD);
		text_release(&process.bytes);
	}
}

static void check_size(const char *name, int64_t size, enum runtime_support support)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct hotspot_layout layout;

	array_for_each (&fake->types, type)
		if (string_equals(type->name, name))
			type->value = size;
	assert_int_equal(find(fake, &layout), 0);
	assert_int_equal(layout.support, support);
}

static void sizes_that_cannot_be_make_a_build_unknown(void **state)
{
	static const char *const names[] = {"HeapBlock", "nmethod", "ConstMethod", "ConstantPool"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		check_size(names[i], 0, SUPPORT_UNKNOWN_BUILD);
		check_size(names[i], 356, SUPPORT_UNKNOWN_BUILD);
		check_size(names[i], 0x10008, SUPPORT_UNKNOWN_BUILD);
		check_size(names[i], -8, SUPPORT_UNKNOWN_BUILD);
		check_size(names[i], 360, SUPPORT_KNOWN);
	}
	check_size("ConstMethod", 512, SUPPORT_UNKNOWN_BUILD);
	check_size("nmethod", 304, SUPPORT_UNKNOWN_BUILD);
	check_size("nmethod", 1024, SUPPORT_KNOWN);
}

/* Its names are known all the same. */
static void check_without_scopes(struct hotspot_tables_fake *fake)
{
	static const struct hotspot_scopes_layout nothing;
	struct hotspot_layout layout;

	assert_int_equal(find(fake, &layout), 0);
	assert_int_equal(layout.support, SUPPORT_KNOWN);
	assert_memory_equal(&layout.scopes, &nothing, sizeof(nothing));
}

static void a_build_that_mixes_versions_has_no_scopes(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

	(void)state;
	add_field(fake, "nmethod", "_immutable_data", "address", 320);
	check_without_scopes(fake);
	fake = hotspot_tables_fake_new(17);
	add_field(fake, "CodeBlob", "_mutable_data", "address", 320);
	add_field(fake, "CodeBlob", "_relocation_size", "int", 328);
	check_without_scopes(fake);
	fake = hotspot_tables_fake_new(25);
	add_field(fake, "CompiledMethod", "_scopes_data_begin", "address", 120);
	check_without_scopes(fake);
	fake = hotspot_tables_fake_new(8);
	add_field(fake, "CompiledMethod", "_scopes_data_begin", "address", 120);
	check_without_scopes(fake);
	fake = hotspot_tables_fake_new(8);
	add_field(fake, "nmethod", "_immutable_data", "address", 280);
	check_without_scopes(fake);
}

static void without_one_of_their_fields_there_are_no_scopes(void **state)
{
	static const struct {
		int major;
		const char *type;
		const char *name;
	} inputs[] = {
		{8, "nmethod", "_scopes_data_offset"},
		{8, "nmethod", "_dependencies_offset"},
		{17, "CompiledMethod", "_scopes_data_begin"},
		{17, "nmethod", "_scopes_pcs_offset"},
		{17, "nmethod", "_dependencies_offset"},
		{17, "nmethod", "_metadata_offset"},
		{17, "PcDesc", "_pc_offset"},
		{23, "nmethod", "_scopes_data_offset"},
		{23, "nmethod", "_metadata_offset"},
		{25, "nmethod", "_immutable_data"},
		{25, "nmethod", "_scopes_pcs_offset"},
		{25, "CodeBlob", "_mutable_data"},
		{25, "CodeBlob", "_relocation_size"},
		{25, "PcDesc", "_scope_decode_offset"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(inputs); i++) {
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(inputs[i].major);
		struct hotspot_field *field = get_field(fake, inputs[i].type, inputs[i].name);

		field->offset = WIRE_HOTSPOT_OBJECT_BYTES;
		check_without_scopes(fake);
	}
}

static void before_it_runs_it_is_to_be_tried_again(void **state)
{
	static const uint64_t variables[] = {HOTSPOT_STRUCTS, HOTSPOT_TYPES, HOTSPOT_CONSTANTS};
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct hotspot_layout layout;

	(void)state;
	/* No constructor has run. */
	array_for_each (&fake->fields, field)
		if (!field->is_static)
			field->offset = 0;
	assert_int_equal(find(fake, &layout), -EAGAIN);
	/* It has no code heaps. */
	fake = hotspot_tables_fake_new(17);
	fake->num_heaps = 0;
	assert_int_equal(find(fake, &layout), -EAGAIN);
	/* Nothing is relocated: the linker has left 0 there, or the ELF address. */
	for (size_t i = 0; i < ARRAY_LENGTH(variables); i++) {
		for (uint64_t address = 0; address <= HOTSPOT_TABLES; address += HOTSPOT_TABLES) {
			struct fake_process process = {0};

			fake = hotspot_tables_fake_new(17);
			hotspot_tables_write(fake, &process.bytes);
			hotspot_tables_fake_free(fake);
			hotspot_tables_put_word(&process.bytes, variables[i], address);
			assert_int_equal(read_layout(&process, &layout), -EAGAIN);
			text_release(&process.bytes);
		}
	}
}

/* Also where its constructors make what the heaps are listed in. */
static void without_a_list_of_heaps_it_is_to_be_tried_again(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct fake_process process = {0};
	struct hotspot_layout layout;

	(void)state;
	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	hotspot_tables_put_word(&process.bytes, HOTSPOT_HEAPS, 0);
	assert_int_equal(read_layout(&process, &layout), -EAGAIN);
	hotspot_tables_put_word(&process.bytes, HOTSPOT_HEAPS, 0x8);
	assert_int_equal(read_layout(&process, &layout), -EFAULT);
	text_release(&process.bytes);
}

/* The first reading sees one offset as it was before a constructor, and the heaps that are made after that. */
static void what_was_read_before_it_had_started_is_read_again(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct fake_process process = {0};
	struct hotspot_layout layout;

	(void)state;
	get_field(fake, "Klass", "_name")->offset = 0;
	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	fake = hotspot_tables_fake_new(17);
	hotspot_tables_write(fake, &process.later);
	hotspot_tables_fake_free(fake);
	assert_int_equal(read_layout(&process, &layout), 0);
	assert_int_equal(layout.wire.class_name, 24);
	text_release(&process.bytes);
}

static void names_that_are_not_relocated_are_to_be_tried_again(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct fake_process process = {0};
	struct hotspot_layout layout;

	(void)state;
	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	hotspot_tables_put_word(&process.bytes, HOTSPOT_TABLES + 8 * 48 + 8, 0x3000);
	assert_int_equal(read_layout(&process, &layout), -EAGAIN);
	text_release(&process.bytes);
}

static void a_version_that_is_not_known_is_not_waited_for(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

	(void)state;
	fake->version = 26;
	fake->num_heaps = 0;
	check_unknown(fake, SUPPORT_UNKNOWN_VERSION, 26);
}

static void what_cannot_be_read_is_an_error(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct fake_process process = {.err = -ESRCH};
	struct hotspot_layout layout;
	unsigned int num_reads;

	(void)state;
	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	assert_int_equal(read_layout(&process, &layout), 0);
	assert_int_equal(layout.support, SUPPORT_KNOWN);
	num_reads = process.num_reads;
	assert_in_range(num_reads, 9, 60);
	/* The process may end at any moment. */
	for (unsigned int i = 1; i <= num_reads; i++) {
		process.num_reads = 0;
		process.fails_from = i;
		assert_int_equal(read_layout(&process, &layout), -ESRCH);
	}
	process.fails_from = 0;
	/* The names lie in the last pages. */
	text_truncate(&process.bytes, process.bytes.length - HOTSPOT_PAGE);
	assert_int_equal(read_layout(&process, &layout), -EFAULT);
	text_release(&process.bytes);
}

/* Entries that nobody asks for. */
static struct hotspot_tables_fake *long_tables_new(size_t num_more)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

	for (size_t i = fake->fields.length; i < num_more; i++)
		add_field(fake, "Other", "_other", "int", 16);
	return fake;
}

static void tables_have_an_end(void **state)
{
	struct hotspot_layout layout;

	(void)state;
	assert_int_equal(find(long_tables_new(MAX_ENTRIES - 1), &layout), 0);
	assert_int_equal(layout.support, SUPPORT_KNOWN);
	check_unknown(long_tables_new(MAX_ENTRIES), SUPPORT_UNKNOWN_BUILD, 0);
}

static void an_empty_table_makes_a_build_unknown(void **state)
{
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);

	(void)state;
	fake->fields.length = 0;
	check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 0);
	fake = hotspot_tables_fake_new(17);
	fake->types.length = 0;
	check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 17);
	fake = hotspot_tables_fake_new(17);
	fake->constants.length = 0;
	check_unknown(fake, SUPPORT_UNKNOWN_BUILD, 17);
}

static void long_names_are_no_others(void **state)
{
	static char longest[96];
	static char longer[4 * HOTSPOT_PAGE];
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct hotspot_layout layout;

	(void)state;
	memset(longest, 'l', sizeof(longest) - 1);
	memset(longer, 'm', sizeof(longer) - 1);
	add_field(fake, longest, longer, longer, 8);
	add_field(fake, longer, longest, longest, 8);
	/* An end of another name is one, too. */
	add_field(fake, longer + sizeof(longer) - 40, longest + 50, "", 8);
	assert_int_equal(find(fake, &layout), 0);
	assert_int_equal(layout.support, SUPPORT_KNOWN);
}

static void names_may_lie_on_two_pages(void **state)
{
	(void)state;
	for (uint64_t start = HOTSPOT_PAGE - 2500; start < HOTSPOT_PAGE; start += 3) {
		struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
		struct hotspot_layout layout;

		fake->names_start = start;
		assert_int_equal(find(fake, &layout), 0);
		assert_int_equal(layout.support, SUPPORT_KNOWN);
	}
}

/* What is read at once may end in each of them. */
static void names_may_lie_in_two_windows(void **state)
{
	struct hotspot_tables_fake *fake = long_tables_new(2000);
	struct fake_process process = {0};
	uint64_t first = HOTSPOT_TABLES + 48 * 2000;
	uint64_t end;

	(void)state;
	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	end = process.bytes.length - 100;
	assert_true(end - HOTSPOT_PAGE - WINDOW_BYTES > 0x1000);
	for (uint64_t window_end = end - HOTSPOT_PAGE; window_end < end; window_end += 5) {
		struct hotspot_layout layout;

		/* The one that is read first. */
		hotspot_tables_put_word(&process.bytes, first - 48,
					HOTSPOT_BIAS + window_end - WINDOW_BYTES);
		assert_int_equal(read_layout(&process, &layout), 0);
		assert_int_equal(layout.support, SUPPORT_KNOWN);
	}
	text_release(&process.bytes);
}

/* Of which all lie behind one another, from a place in the page on, up to the last byte of what is mapped. */
static void names_may_end_where_the_memory_does(void **state)
{
	struct fake_process process = {0};
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(17);
	struct hotspot_layout layout;
	size_t length;

	(void)state;
	hotspot_tables_write(fake, &process.bytes);
	length = process.bytes.length;
	while (length && !process.bytes.data[length - 1])
		length--;
	/* The last name has its end, */
	text_truncate(&process.bytes, length + 1);
	hotspot_tables_fake_free(fake);
	/* and the pages are those of a memory that ends with it. */
	while (process.bytes.length % HOTSPOT_PAGE)
		text_append_char(&process.bytes, 'x');
	assert_int_equal(read_layout(&process, &layout), 0);
	assert_int_equal(layout.support, SUPPORT_KNOWN);
	/* Without one it is no name: the last constant's. */
	process.bytes.data[length] = 'x';
	assert_int_equal(read_layout(&process, &layout), 0);
	assert_int_equal(layout.support, SUPPORT_UNKNOWN_BUILD);
	text_release(&process.bytes);
}

/* A memory that has names everywhere, of which each lies in a window of its own. */
struct endless_process {
	unsigned int num_reads;
	uint64_t num_bytes;
};

static int read_endless(void *context, uint64_t address, void *ret, size_t size)
{
	struct endless_process *process = context;
	uint64_t *words = ret;

	process->num_reads++;
	process->num_bytes += size;
	memset(ret, 'x', size);
	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = HOTSPOT_BIAS + (address + 8 * i) * 0x10000 % (1ull << 46);
	return 0;
}

static void what_is_read_is_bounded(void **state)
{
	struct endless_process process = {0};
	struct hotspot_memory memory = {read_endless, &process};
	struct hotspot_layout layout;

	(void)state;
	assert_int_equal(hotspot_read_layout(&hotspot_tables_build, HOTSPOT_BIAS, &memory, &layout),
			 0);
	assert_int_equal(layout.support, SUPPORT_UNKNOWN_BUILD);
	assert_true(process.num_reads < 1000);
	assert_true(process.num_bytes < 64u << 20);
}

/* The tables end as they should, and their names lie far apart. */
static void names_that_lie_far_apart_are_bounded(void **state)
{
	struct hotspot_tables_fake *fake = long_tables_new(2000);
	struct fake_process process = {0};
	struct hotspot_layout layout;

	(void)state;
	hotspot_tables_write(fake, &process.bytes);
	hotspot_tables_fake_free(fake);
	for (unsigned int i = 0; i < 2000; i++)
		hotspot_tables_put_word(&process.bytes, HOTSPOT_TABLES + 48 * i,
					HOTSPOT_BIAS + i * 0x11000ull);
	hotspot_tables_put(&process.bytes, 2000 * 0x11000ull + WINDOW_BYTES, "", 1);
	assert_int_equal(read_layout(&process, &layout), 0);
	assert_int_equal(layout.support, SUPPORT_UNKNOWN_BUILD);
	assert_true(process.num_reads < 1000);
	text_release(&process.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jdk_8_has_the_layout_that_it_says),
		cmocka_unit_test(jdk_17_has_the_layout_that_it_says),
		cmocka_unit_test(jdk_25_has_the_layout_that_it_says),
		cmocka_unit_test(what_versions_have_renamed_or_moved_is_found),
		cmocka_unit_test(of_other_versions_nothing_is_guessed),
		cmocka_unit_test(hotspot_25_is_that_of_jdk_8_where_it_has_one_heap),
		cmocka_unit_test(without_what_is_needed_a_build_is_unknown),
		cmocka_unit_test(without_a_size_or_a_number_a_build_is_unknown),
		cmocka_unit_test(offsets_that_cannot_be_make_a_build_unknown),
		cmocka_unit_test(offsets_are_bounded_to_the_byte),
		cmocka_unit_test(fields_of_another_size_make_a_build_unknown),
		cmocka_unit_test(fields_that_are_static_are_no_others),
		cmocka_unit_test(static_fields_lie_in_the_file),
		cmocka_unit_test(sizes_that_cannot_be_make_a_build_unknown),
		cmocka_unit_test(a_build_that_mixes_versions_has_no_scopes),
		cmocka_unit_test(without_one_of_their_fields_there_are_no_scopes),
		cmocka_unit_test(before_it_runs_it_is_to_be_tried_again),
		cmocka_unit_test(without_a_list_of_heaps_it_is_to_be_tried_again),
		cmocka_unit_test(what_was_read_before_it_had_started_is_read_again),
		cmocka_unit_test(names_that_are_not_relocated_are_to_be_tried_again),
		cmocka_unit_test(a_version_that_is_not_known_is_not_waited_for),
		cmocka_unit_test(what_cannot_be_read_is_an_error),
		cmocka_unit_test(tables_have_an_end),
		cmocka_unit_test(an_empty_table_makes_a_build_unknown),
		cmocka_unit_test(long_names_are_no_others),
		cmocka_unit_test(names_may_lie_on_two_pages),
		cmocka_unit_test(names_may_lie_in_two_windows),
		cmocka_unit_test(names_may_end_where_the_memory_does),
		cmocka_unit_test(what_is_read_is_bounded),
		cmocka_unit_test(names_that_lie_far_apart_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
