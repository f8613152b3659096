/*
 * The tables in which HotSpot describes itself, in memory that is somebody else's choice. The input is in order: a byte's
 * version of the JDK, whose tables are then changed; and changes, each a byte's kind of it, 16 bits of a place and a value.
 * Changes of what the tables say come before the memory is made of them, changes of the memory and of how it is read behind.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "hotspot_tables.h"
#include "require.h"
#include "runtime/hotspot.h"

#define MAX_READS \
	4000 /* in fewer are all windows, three tables and their ends, tried three times, and all of it twice */
#define MAX_ENTRIES      8192
#define MAX_MEMORY_BYTES (1u << 20)

enum change_kind {
	FIELD_OFFSET,
	FIELD_STATIC,
	FIELD_TYPE,
	FIELD_GONE,
	TYPE_SIZE,
	CONSTANT_VALUE,
	MANY_FIELDS,
	VM_VERSION,
	NUM_HEAPS,
	/* Of the memory, from here on. */
	BYTE,
	WORD,
	POINTER,
	END,
	FAILING_READ,
	NUM_CHANGE_KINDS
};

struct change {
	enum change_kind kind;
	uint16_t place;
	uint64_t value;
};

struct scene {
	uint8_t *bytes; /* on the heap, so that no byte more can be read */
	size_t num_bytes;
	unsigned int num_reads;
	unsigned int failing_read; /* 0: none */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_scene(void *context, uint64_t address, void *ret, size_t size)
{
	struct scene *scene = context;

	require(size > 0 && size <= 64u << 10);
	require(++scene->num_reads <= MAX_READS);
	if (scene->num_reads == scene->failing_read)
		return -ESRCH;
	if (address < HOTSPOT_BIAS || size > scene->num_bytes ||
	    address - HOTSPOT_BIAS > scene->num_bytes - size)
		return -EFAULT;
	memcpy(ret, scene->bytes + (address - HOTSPOT_BIAS), size);
	return 0;
}

static bool take_change(struct bytes *input, struct change *ret)
{
	if (!bytes_left(input))
		return false;
	ret->kind = bytes_u8(input) % NUM_CHANGE_KINDS;
	ret->place = bytes_u16(input);
	ret->value = ret->kind == FIELD_OFFSET || ret->kind == WORD ? bytes_u64(input)
								    : bytes_u16(input);
	return true;
}

static void change_tables(struct hotspot_tables_fake *fake, const struct change *change)
{
	static const char *const types[] = {NULL,  "bool",    "u2", "int16_t",
					    "int", "address", "T*", ""};
	struct hotspot_field *field =
		fake->fields.length ? &fake->fields.items[change->place % fake->fields.length]
				    : NULL;

	switch (change->kind) {
	case FIELD_OFFSET:
		if (field)
			field->offset = change->value;
		break;
	case FIELD_STATIC:
		if (field)
			field->is_static = !field->is_static;
		break;
	case FIELD_TYPE:
		if (field)
			field->field_type = types[change->value % ARRAY_LENGTH(types)];
		break;
	case FIELD_GONE:
		if (field)
			array_remove(&fake->fields, (size_t)(field - fake->fields.items));
		break;
	case TYPE_SIZE:
		fake->types.items[change->place % fake->types.length].value =
			(int64_t)change->value;
		break;
	case CONSTANT_VALUE:
		fake->constants.items[change->place % fake->constants.length].value =
			(int16_t)change->value;
		break;
	case MANY_FIELDS:
		while (field && fake->fields.length < change->value % (MAX_ENTRIES + 2)) {
			struct hotspot_field copy =
				fake->fields.items[change->place % fake->fields.length];
			struct hotspot_field *added = array_add(&fake->fields);

			require(added != NULL);
			*added = copy;
		}
		break;
	case VM_VERSION:
		fake->version = (int16_t)change->value;
		break;
	case NUM_HEAPS:
		fake->num_heaps = (uint32_t)change->value;
		break;
	case BYTE:
	case WORD:
	case POINTER:
	case END:
	case FAILING_READ:
	case NUM_CHANGE_KINDS:
		break;
	}
}

static void change_memory(struct scene *scene, const struct change *change)
{
	/* Of a table's word, if it can be. */
	size_t place = scene->num_bytes >= 8 ? change->place * 8ull % (scene->num_bytes - 7) : 0;
	uint64_t word = change->kind == POINTER ? HOTSPOT_BIAS + change->value : change->value;

	switch (change->kind) {
	case BYTE:
		if (scene->num_bytes)
			scene->bytes[change->place % scene->num_bytes] = (uint8_t)change->value;
		break;
	case WORD:
	case POINTER:
		if (scene->num_bytes >= 8)
			memcpy(scene->bytes + place, &word, sizeof(word));
		break;
	case END:
		scene->num_bytes -= change->value < scene->num_bytes ? change->value : 0;
		break;
	case FAILING_READ:
		scene->failing_read = change->place;
		break;
	case FIELD_OFFSET:
	case FIELD_STATIC:
	case FIELD_TYPE:
	case FIELD_GONE:
	case TYPE_SIZE:
	case CONSTANT_VALUE:
	case MANY_FIELDS:
	case VM_VERSION:
	case NUM_HEAPS:
	case NUM_CHANGE_KINDS:
		break;
	}
}

static void require_offset(uint16_t offset, unsigned int bytes, unsigned int limit)
{
	require(offset % bytes == 0 && offset + bytes <= limit);
}

static void check_wire(const struct wire_hotspot_layout *layout)
{
	const unsigned int limit = WIRE_HOTSPOT_OBJECT_BYTES;
	unsigned int code_bytes = layout->blob_code_is_offset ? 4 : 8;

	/* JDK 8 has one heap, and no array of them. */
	if (layout->array_length != WIRE_HOTSPOT_NONE) {
		require_offset(layout->array_length, 4, limit);
		require_offset(layout->array_items, 8, limit);
	}
	require_offset(layout->heap_start, 8, limit);
	require_offset(layout->heap_end, 8, limit);
	require_offset(layout->heap_segments, 8, limit);
	require_offset(layout->heap_segment_shift, 4, limit);
	require_offset(layout->queue_start, 8, limit);
	require_offset(layout->queue_bytes, 4, limit);
	require(layout->block_bytes && layout->block_bytes % 8 == 0 &&
		layout->block_bytes <= limit);
	require(layout->block_used < layout->block_bytes);
	require(layout->blob_bytes % 8 == 0 && layout->blob_bytes <= limit);
	require(layout->blob_bytes <= layout->nmethod_header_bytes);
	require(layout->blob_header_bytes_size == 2 || layout->blob_header_bytes_size == 4);
	require(layout->blob_frame_complete_size == 2 || layout->blob_frame_complete_size == 4);
	require_offset(layout->blob_size, 4, layout->blob_bytes);
	require_offset(layout->blob_header_bytes, layout->blob_header_bytes_size,
		       layout->blob_bytes);
	require_offset(layout->blob_frame_complete, layout->blob_frame_complete_size,
		       layout->blob_bytes);
	require_offset(layout->blob_frame_words, 4, layout->blob_bytes);
	require_offset(layout->blob_code, code_bytes, layout->blob_bytes);
	require_offset(layout->blob_code_end, code_bytes, layout->blob_bytes);
	require_offset(layout->nmethod_method, 8, layout->blob_bytes);
	require_offset(layout->nmethod_compile_id, 4, layout->blob_bytes);
	require(layout->nmethod_header_bytes % 8 == 0);
	require_offset(layout->method_const, 8, limit);
	require(layout->const_bytes && layout->const_bytes % 8 == 0 &&
		layout->const_bytes <= limit);
	require_offset(layout->const_pool, 8, limit);
	require_offset(layout->const_code_bytes, 2, limit);
	require(layout->const_flags + 4u <= limit);
	require(layout->const_has_lines != 0);
	require_offset(layout->const_name, 2, limit);
	require(layout->pool_bytes && layout->pool_bytes % 8 == 0 && layout->pool_bytes <= limit);
	require_offset(layout->pool_class, 8, limit);
	require((layout->pool_file == WIRE_HOTSPOT_NONE) !=
		(layout->class_file == WIRE_HOTSPOT_NONE));
	require_offset(layout->pool_file == WIRE_HOTSPOT_NONE ? layout->class_file
							      : layout->pool_file,
		       2, limit);
	require_offset(layout->class_name, 8, limit);
	require_offset(layout->symbol_length, 2, limit);
	require(layout->symbol_text < limit);
}

static void check_scopes(const struct hotspot_scopes_layout *scopes)
{
	static const struct hotspot_scopes_layout nothing;
	const unsigned int limit = WIRE_HOTSPOT_OBJECT_BYTES;

	if (!scopes->pc_desc_bytes) {
		require(!memcmp(scopes, &nothing, sizeof(nothing)));
		return;
	}
	require(scopes->pc_desc_bytes <= limit);
	require_offset(scopes->pc_desc_pc, 4, scopes->pc_desc_bytes);
	require_offset(scopes->pc_desc_scope, 4, scopes->pc_desc_bytes);
	require_offset(scopes->scopes_pcs, 4, limit);
	require_offset(scopes->scopes_pcs_end, 4, limit);
	if (scopes->immutable_data == WIRE_HOTSPOT_NONE) {
		require(scopes->mutable_data == WIRE_HOTSPOT_NONE);
		require(scopes->blob_data == WIRE_HOTSPOT_NONE);
	} else {
		require_offset(scopes->immutable_data, 8, limit);
		require(scopes->scopes_data_size == 4);
	}
	require(scopes->scopes_data_size == 4 || scopes->scopes_data_size == 8);
	require_offset(scopes->scopes_data, scopes->scopes_data_size, limit);
	if (scopes->mutable_data == WIRE_HOTSPOT_NONE) {
		require(scopes->metadata_size == 2 || scopes->metadata_size == 4);
		require_offset(scopes->metadata, scopes->metadata_size, limit);
	} else {
		require_offset(scopes->mutable_data, 8, limit);
		require_offset(scopes->relocation_bytes, 4, limit);
	}
}

static void check_layout(const struct hotspot_layout *layout)
{
	static const struct hotspot_layout nothing;

	if (layout->support == SUPPORT_KNOWN) {
		require(layout->major == 8 || (layout->major >= 11 && layout->major <= 25));
		require(layout->wire.major == layout->major);
		check_wire(&layout->wire);
		check_scopes(&layout->scopes);
		return;
	}
	require(layout->support != SUPPORT_UNKNOWN_VERSION ||
		(layout->major < 11 && layout->major != 8) || layout->major > 25);
	require(!memcmp(&layout->wire, &nothing.wire, sizeof(nothing.wire)));
	require(!memcmp(&layout->scopes, &nothing.scopes, sizeof(nothing.scopes)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	unsigned int number = bytes_u8(&input) % 16;
	struct bytes changes = input;
	struct hotspot_tables_fake *fake = hotspot_tables_fake_new(number ? 10 + (int)number : 8);
	struct scene scene = {0};
	struct hotspot_memory memory = {read_scene, &scene};
	struct hotspot_layout layout;
	struct text written = {0};
	struct change change;
	int err;

	while (take_change(&changes, &change))
		change_tables(fake, &change);
	hotspot_tables_write(fake, &written);
	hotspot_tables_fake_free(fake);
	require(written.length <= MAX_MEMORY_BYTES);
	scene.num_bytes = written.length;
	scene.bytes = malloc(written.length);
	require(scene.bytes != NULL);
	memcpy(scene.bytes, written.data, written.length);
	text_release(&written);
	changes = input;
	while (take_change(&changes, &change))
		change_memory(&scene, &change);
	memset(&layout, 0x55, sizeof(layout));
	err = hotspot_read_layout(&hotspot_tables_build, HOTSPOT_BIAS, &memory, &layout);
	require(!err || err == -EAGAIN || err == -EFAULT || err == -ESRCH);
	if (!err)
		check_layout(&layout);
	free(scene.bytes);
	return 0;
}
