/*
 * Machine code that nothing describes: rules come from its instructions. The first bytes say where
 * functions may start.
 */
#include <stdbool.h>
#include <stdint.h>

#include "require.h"
#include "unwind/x86_64/code_rules.h"

#define ADDRESS      0x1008
#define START_BYTES  3
#define STARTS_MAX   15
#define MAX_DISTANCE 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct code_stretches *stretches, const struct code_stretch *stretch)
{
	const struct frame_row *rows = &stretches->rows.items[stretch->first_row];

	require(stretch->num_rows > 0);
	require(stretch->first_row + stretch->num_rows <= stretches->rows.length);
	require(rows[0].elf_address == stretch->start);
	for (size_t i = 0; i < stretch->num_rows; i++) {
		require(rows[i].elf_address < stretch->end);
		require(i == 0 || rows[i].elf_address > rows[i - 1].elf_address);
		require(rows[i].rule.cfa_op == UNWIND_CFA_SP ||
			rows[i].rule.cfa_op == UNWIND_CFA_FP ||
			rows[i].rule.cfa_op == UNWIND_CFA_BX ||
			rows[i].rule.cfa_op == UNWIND_CFA_COPY ||
			rows[i].rule.cfa_op == UNWIND_CFA_DEREF_SP_ADD ||
			rows[i].rule.cfa_op == UNWIND_CFA_UNSUPPORTED);
	}
}

static void follow(struct code_rules *rules, size_t size)
{
	struct code_stretches stretches = {0};
	uint64_t end = ADDRESS;

	require(code_rules_follow(rules) == 0);
	require(!code_rules_must_follow(rules));
	require(code_rules_get(rules, &stretches) == 0);
	array_for_each (&stretches.items, stretch) {
		require(stretch->start >= end && stretch->end > stretch->start);
		check_rows(&stretches, stretch);
		end = stretch->end;
	}
	require(end <= ADDRESS + size);
	code_stretches_release(&stretches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t num_starts = size ? data[0] & STARTS_MAX : 0;
	const uint8_t *starts = data + 1;
	const uint8_t *code = starts + START_BYTES * num_starts;
	struct code_rules *rules;

	if (size < 1 + START_BYTES * num_starts)
		return 0;
	size -= 1 + START_BYTES * num_starts;
	rules = code_rules_new(code, size, ADDRESS);
	require(rules != NULL);
	for (size_t i = 0; i < num_starts; i++) {
		const uint8_t *start = starts + START_BYTES * i;

		/* A few lie outside. */
		require(code_rules_add_start(rules, ADDRESS + start[1] + MAX_DISTANCE * start[2],
					     (enum code_start_kind)(start[0] % 3)) == 0);
	}
	follow(rules, size);
	/* What other code is found to call comes later. */
	require(code_rules_add_start(rules, ADDRESS + size / 2, CODE_START_KNOWN) == 0);
	follow(rules, size);
	/* As pieces of larger code are. */
	code_rules_move(rules, code, size / 2, ADDRESS);
	follow(rules, size / 2);
	code_rules_free(rules);
	return 0;
}
