/*
 * Call-frame instructions: the first byte says how many of the others are the common part's, the
 * second which form of pointers and whether it is a signal frame; the rest is the function's.
 */
#include <stdbool.h>
#include <stdint.h>

#include "require.h"
#include "unwind/frame_program.h"

#define START 0x1000
#define END   0x9000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_rows(const struct frame_rows *rows, uint64_t start, uint64_t end)
{
	uint64_t next = start; /* the lowest address that the next row may have */

	require(rows->rows.length > 0);
	require(rows->rows.items[0].elf_address == start);
	array_for_each (&rows->rows, row) {
		require(row->elf_address >= next && row->elf_address < end);
		next = row->elf_address + 1;
		require(row->rule.cfa_op != UNWIND_CFA_NONE);
		require(row->rule.cfa_op <= UNWIND_CFA_UNSUPPORTED);
		require(row->rule.fp_op <= UNWIND_REGISTER_UNDEFINED);
		require(row->rule.bx_op <= UNWIND_REGISTER_UNDEFINED);
		require(row->rule.ra_op <= UNWIND_RA_IN_CX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame_cie cie = {
		.code_align = 1, .data_align = -8, .ra_register = 16, .is_usable = true};
	struct frame_reader reader = {.num_sections = 1, .cies = {.items = &cie, .length = 1}};
	struct frame_function function = {.start = START, .size = END - START};
	struct frame_rows rows = {0};
	struct frame_state initial;

	if (size < 2 || data[0] > size - 2)
		return 0;
	reader.sections[0] =
		(struct frame_section){.data = data, .size = size, .elf_address = START};
	cie.program_offset = 2;
	cie.program_size = data[0];
	cie.encoding = data[1] & 0x7f;
	cie.is_signal_frame = data[1] & 0x80;
	function.program_offset = 2 + cie.program_size;
	function.program_size = (uint32_t)(size - function.program_offset);
	frame_program_start(&reader, &cie, &initial);
	require(frame_program_run(&reader, &function, &initial, END, &rows) == 0);
	require_rows(&rows, START, END);
	/* The same, cut short by another function. */
	require(frame_program_run(&reader, &function, &initial, START + 8, &rows) == 0);
	require_rows(&rows, START, START + 8);
	frame_rows_release(&rows);
	return 0;
}
