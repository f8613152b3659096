#include "collect/kernel/raw_stack.h"

bool raw_stack_is_whole(const struct wire_raw_sample *record, size_t size)
{
	const size_t before = offsetof(struct wire_raw_sample, bytes);

	return size >= before && record->num_bytes <= WIRE_RAW_STACK_BYTES &&
	       record->num_far_bytes <= WIRE_RAW_STACK_BYTES - record->num_bytes &&
	       size - before >= raw_stack_get_size(record);
}

size_t raw_stack_get_size(const struct wire_raw_sample *record)
{
	return (size_t)record->num_bytes + record->num_far_bytes;
}

struct replay_stack raw_stack_for_replay(const struct wire_raw_sample *record)
{
	return (struct replay_stack){
		.registers = record->registers,
		.entry_bytes = record->entry_bytes,
		.cfa_offset = record->cfa_offset,
		.frame_setup = record->frame_setup,
		.has_signal_stack = record->has_signal_stack,
		.signal_stack = record->signal_stack,
		.signal_stack_bytes = record->signal_stack_bytes,
		.stack = {record->registers.sp, record->bytes, record->num_bytes},
		.far = {record->far_sp, record->bytes + record->num_bytes, record->num_far_bytes},
	};
}
