#include "collect/raw_stack.h"

#include <string.h>

bool raw_stack_is_whole(const struct wire_raw_sample *record, size_t size)
{
	const size_t before = offsetof(struct wire_raw_sample, bytes);

	return size >= before && record->num_bytes <= WIRE_RAW_STACK_BYTES &&
	       record->num_interrupted_bytes <= WIRE_RAW_STACK_BYTES - record->num_bytes &&
	       size - before >= raw_stack_get_size(record);
}

size_t raw_stack_get_size(const struct wire_raw_sample *record)
{
	return (size_t)record->num_bytes + record->num_interrupted_bytes;
}

static int read_word(const wire_u8 *bytes, wire_u64 num_bytes, wire_u64 offset, wire_u64 *ret)
{
	if (num_bytes < sizeof(*ret) || offset > num_bytes - sizeof(*ret))
		return -1;
	memcpy(ret, bytes + offset, sizeof(*ret));
	return 0;
}

int raw_stack_read(const struct wire_raw_sample *record, wire_u64 address, wire_u64 *ret)
{
	/* Below a stack's first address the difference is larger than any stack. */
	if (!read_word(record->bytes, record->num_bytes, address - record->registers.sp, ret))
		return 0;
	return read_word(record->bytes + record->num_bytes, record->num_interrupted_bytes,
			 address - record->interrupted_sp, ret);
}
