#include "collect/stacks/nested_calls.h"

#include <sys/sysmacros.h>

#include "wire/unwind.h"

/* pc: in the call, not behind it */
static enum allocator_part find_part(const struct allocator_call *call, struct allocator_code *code,
				     const struct file_table *files, uint64_t pc)
{
	const struct mapping *mapping = process_find_mapping(call->process, pc);
	const struct mapped_file *file;
	struct code_place place;

	if (!mapping || mapping->file == FILE_NONE)
		return ALLOCATOR_NONE;
	file = file_table_get(files, mapping->file);
	place = (struct code_place){
		.device = makedev(file->dev_major, file->dev_minor),
		.inode = file->inode,
		.offset = pc - mapping->start + mapping->file_offset,
	};
	return allocator_code_find(code, call->event, &place, call->time_ns);
}

/* Whether code returns to the caller of an allocator's function, which has jumped to it. */
static bool returns_for_allocator(const struct allocator_call *call, uint32_t level,
				  enum allocator_part part)
{
	bool is_by_hook = call->entered_from & WIRE_ENTERED_BY_HOOK;

	if (!call->entered_from)
		return false;
	if (call->lacks_callers && level == 1 && part != ALLOCATOR_NONE)
		return true;
	return (part == ALLOCATOR_HELPER || is_by_hook) && level + 1 < call->num_pcs &&
	       (call->pcs[level + 1] & ~(WIRE_PC_FP_STEP | WIRE_PC_ENTRY_STEP)) ==
		       (call->entered_from & ~WIRE_ENTERED_BY_HOOK);
}

bool allocator_call_is_nested(const struct allocator_call *call, struct allocator_code *code,
			      const struct file_table *files)
{
	for (uint32_t i = 1; i < call->num_pcs && !(call->pcs[i] & WIRE_PC_EXACT); i++) {
		uint64_t pc = (call->pcs[i] & ~WIRE_PC_MARKS) - 1;
		enum allocator_part part = find_part(call, code, files, pc);

		if (part == ALLOCATOR_FUNCTION || returns_for_allocator(call, i, part))
			return true;
	}
	return false;
}
