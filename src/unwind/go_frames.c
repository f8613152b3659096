#include "unwind/go_frames.h"

#include <errno.h>

/* The return address, between the stack pointer at the function's entry and the CFA. */
#define RETURN_ADDRESS_BYTES 8

int go_frames_add(Elf *elf, struct frame_reader *reader, struct go_runtime *runtime,
		  struct go_frames *ret)
{
	*ret = (struct go_frames){0};
	if (!go_table_find(elf, &ret->table)) {
		ret->table = (struct go_table){0};
		return 0;
	}
	ret->num_rows_left = ret->table.size;
	for (uint32_t i = 0; i < ret->table.num_functions; i++) {
		struct frame_function *added;
		struct go_function function;

		if (!go_table_read(&ret->table, i, &function) ||
		    function.end - function.start > UINT32_MAX) {
			reader->num_malformed++;
			continue;
		}
		go_runtime_add(runtime, &function);
		if (!function.pcsp_offset)
			continue;
		added = array_add(&reader->functions);
		if (!added)
			return -ENOMEM;
		*added = (struct frame_function){
			.start = function.start,
			.size = (uint32_t)(function.end - function.start),
			.cie = FRAME_CIE_OF_GO,
			.program_offset = function.pcsp_offset,
		};
	}
	return 0;
}

static int add_row(struct frame_rows *rows, uint64_t elf_address, struct unwind_rule rule)
{
	struct frame_row *row = array_add(&rows->rows);

	if (!row)
		return -ENOMEM;
	*row = (struct frame_row){elf_address, rule};
	return 0;
}

/*
 * If a function has taken its return address off the stack, to call vfork(), the SP delta is minus
 * 8; the address is still there, below the stack pointer.
 */
static struct unwind_rule make_rule(int64_t sp_delta)
{
	if ((sp_delta < 0 && sp_delta != -RETURN_ADDRESS_BYTES) ||
	    sp_delta > INT32_MAX - RETURN_ADDRESS_BYTES)
		return (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED};
	return (struct unwind_rule){
		.cfa_op = UNWIND_CFA_SP,
		.cfa_offset = (int)sp_delta + RETURN_ADDRESS_BYTES,
	};
}

int go_frames_run(struct go_frames *frames, struct frame_function *function,
		  struct frame_rows *rows)
{
	uint64_t end = function->start + function->size;
	struct unwind_rule rule = {.cfa_op = UNWIND_CFA_UNSUPPORTED};
	struct go_pcsp pcsp =
		go_pcsp_start(&frames->table, function->start, function->program_offset);
	uint64_t start = function->start; /* of the next row */
	int err;

	rows->rows.length = 0;
	while (start < end && frames->num_rows_left && go_pcsp_next(&pcsp)) {
		rule = make_rule(pcsp.sp_delta);
		err = add_row(rows, start, rule);
		if (err)
			return err;
		start = pcsp.end;
		frames->num_rows_left--;
	}
	/* The table ends before the function does: the rest has no rule. */
	if (start > function->start && start < end)
		function->size = (uint32_t)(start - function->start);
	return rows->rows.length ? 0 : add_row(rows, start, rule);
}
