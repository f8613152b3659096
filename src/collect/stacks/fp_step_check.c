#include "collect/stacks/fp_step_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"

struct fp_step_check {
	const struct file_table *files;
	struct elf_files *elf_files;
};

struct fp_step_check *fp_step_check_new(const struct file_table *files, struct elf_files *elf_files)
{
	struct fp_step_check *check = calloc(1, sizeof(*check));

	if (check)
		*check = (struct fp_step_check){.files = files, .elf_files = elf_files};
	return check;
}

void fp_step_check_free(struct fp_step_check *check)
{
	free(check);
}

static bool get_bias(const struct objfile_layout *layout, const struct mapping *mapping,
		     uint64_t *ret)
{
	const struct objfile_mapping mapped = {mapping->start, mapping->end, mapping->file_offset};

	return objfile_layout_get_bias(layout, &mapped, ret) == 0;
}

int fp_step_check_step(struct fp_step_check *check, const struct process *process,
		       uint64_t callee_pc, uint64_t return_address, enum call_proof *ret)
{
	const struct mapping *caller = process_find_mapping(process, return_address - 1);
	const struct mapping *callee = process_find_mapping(process, callee_pc);
	uint64_t callee_address = OBJFILE_ELSEWHERE;
	const struct objfile_layout *layout;
	const struct mapped_file *mapped;
	uint64_t bias;
	int err;

	*ret = CALL_UNPROVEN;
	if (!caller || caller->file == FILE_NONE)
		return 0;
	mapped = file_table_get(check->files, caller->file);
	if (elf_files_get_layout(check->elf_files, mapped, &layout) ||
	    !get_bias(layout, caller, &bias))
		return 0;
	return_address -= bias;
	if (callee && callee->file == caller->file) {
		if (!get_bias(layout, callee, &bias))
			return 0;
		callee_address = callee_pc - bias;
	}
	err = elf_files_prove_call(check->elf_files, caller->file, mapped, return_address,
				   callee_address, ret);
	if (!err && *ret == CALL_DISPROVEN)
		log_debug("%s: the call before 0x%" PRIx64 " does not lead to 0x%" PRIx64
			  ", to which a frame pointer led",
			  mapped->path, return_address, callee_address);
	return err;
}
