/*
 * A Method has a ConstMethod, which redefined classes keep. It has the bytecodes, followed by the
 * lines, and a constant pool, in which the method's name has a number. The pool belongs to a class,
 * which has its own name.
 *
 *     Method -> ConstMethod -> ConstantPool -> class -> Symbol: the name of the class
 *                                  |-> Symbol: the name of the method, the name of the source file
 */
#include <errno.h>
#include <string.h>

#include "runtime/hotspot/memory.h"
#include "runtime/hotspot_scopes.h"

/*
 * A Symbol: its length and its characters.
 *
 * Returns -EBADMSG for an empty one: nothing has no name.
 */
static int read_symbol(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
		       uint64_t symbol, size_t max_bytes, struct wire_hotspot_text *ret,
		       uint8_t *ret_text)
{
	size_t num_bytes;
	uint64_t length;
	int err;

	if (!symbol)
		return -EBADMSG;
	err = hotspot_read_number(memory, symbol + layout->wire.symbol_length, 2, &length);
	if (err)
		return err;
	if (!length)
		return -EBADMSG;
	num_bytes = length < max_bytes ? length : max_bytes;
	err = memory->read(memory->context, symbol + layout->wire.symbol_text, ret_text, num_bytes);
	if (err)
		return err;
	*ret = (struct wire_hotspot_text){
		.length = (wire_u16)length,
		.num_bytes = (wire_u16)num_bytes,
	};
	return 0;
}

static int read_symbol_of_pool(const struct hotspot_layout *layout,
			       const struct hotspot_memory *memory, uint64_t pool, uint64_t number,
			       size_t max_bytes, struct wire_hotspot_text *ret, uint8_t *ret_text)
{
	uint64_t symbol;
	int err = hotspot_read_number(memory, pool + layout->wire.pool_bytes + 8 * number, 8,
				      &symbol);

	if (err)
		return err;
	return read_symbol(layout, memory, symbol, max_bytes, ret, ret_text);
}

/* The name of the source file: classes that are made at run time have none. */
static void read_file(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
		      uint64_t pool, uint64_t class, struct wire_hotspot_method *ret)
{
	uint64_t address = layout->wire.pool_file != WIRE_HOTSPOT_NONE
				   ? pool + layout->wire.pool_file
				   : class + layout->wire.class_file;
	uint64_t number;

	if (hotspot_read_number(memory, address, 2, &number) || !number)
		return;
	/* Unreadable: treated as absent. */
	(void)read_symbol_of_pool(layout, memory, pool, number, sizeof(ret->file_text), &ret->file,
				  ret->file_text);
}

/* The table starts after the instructions; only its end shows its length. */
static void read_lines(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
		       uint64_t const_method, struct wire_hotspot_method *ret)
{
	uint64_t lines = const_method + layout->wire.const_bytes + ret->code_bytes;
	uint64_t flags;
	size_t num_bytes;

	if (hotspot_read_number(memory, const_method + layout->wire.const_flags, 4, &flags) ||
	    !(flags & layout->wire.const_has_lines))
		return;
	if (!hotspot_read_some(memory, lines, ret->lines, 1, sizeof(ret->lines), &num_bytes))
		ret->num_line_bytes = (wire_u16)num_bytes;
}

int hotspot_method_read(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
			uint64_t method, struct wire_hotspot_method *ret)
{
	const struct wire_hotspot_layout *wire = &layout->wire;
	struct wire_hotspot_method record = {.method = method, .major = wire->major};
	uint64_t const_method, pool, class, code_bytes, name, class_name;
	int err = hotspot_read_number(memory, method + wire->method_const, 8, &const_method);

	if (err)
		return err;
	err = hotspot_read_number(memory, const_method + wire->const_pool, 8, &pool);
	if (err)
		return err;
	err = hotspot_read_number(memory, const_method + wire->const_code_bytes, 2, &code_bytes);
	if (err)
		return err;
	err = hotspot_read_number(memory, const_method + wire->const_name, 2, &name);
	if (err)
		return err;
	err = hotspot_read_number(memory, pool + wire->pool_class, 8, &class);
	if (err)
		return err;
	err = hotspot_read_number(memory, class + wire->class_name, 8, &class_name);
	if (err)
		return err;
	err = read_symbol(layout, memory, class_name, sizeof(record.class_text), &record.class_name,
			  record.class_text);
	if (err)
		return err;
	err = read_symbol_of_pool(layout, memory, pool, name, sizeof(record.name_text),
				  &record.name, record.name_text);
	if (err)
		return err;
	record.code_bytes = (wire_u16)code_bytes;
	read_file(layout, memory, pool, class, &record);
	read_lines(layout, memory, const_method, &record);
	*ret = record;
	return 0;
}
