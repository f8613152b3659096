/*
 * Jitdumps: the bytes read in one go and the same bytes read in two pieces name the same code at
 * the same times.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "process/jit_code.h"
#include "process/jitdump.h"
#include "require.h"

#define PID 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_same(const struct jitdump *a, const struct jitdump *b, uint64_t pc)
{
	const struct jit_code *codes[] = {jitdump_get_code(a), jitdump_get_code(b)};
	size_t num_entries = jit_code_count_until(codes[0], UINT64_MAX);

	for (size_t i = 0; i <= num_entries && i < 8; i++) {
		const char *name_a = jit_code_find(codes[0], pc, i);
		const char *name_b = jit_code_find(codes[1], pc, i);

		require(!name_a == !name_b);
		require(!name_a || strcmp(name_a, name_b) == 0);
		require(!name_a || name_a[0]);
	}
}

/* Read what is there of `size` bytes, from *done on. */
static int add(struct jitdump *dump, const uint8_t *data, size_t size, uint64_t *done)
{
	uint64_t used = 0;
	int err = 0;

	if (*done < size)
		err = jitdump_add_bytes(dump, data + *done, size - (size_t)*done, &used);
	*done += used;
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump *whole = jitdump_new(PID);
	struct jitdump *pieces = jitdump_new(PID);
	uint64_t whole_done = 0;
	uint64_t pieces_done = 0;
	int err;
	int pieces_err;

	require(whole && pieces);
	err = add(whole, data, size, &whole_done);
	pieces_err = add(pieces, data, size / 2, &pieces_done);
	if (!pieces_err)
		pieces_err = add(pieces, data, size, &pieces_done);
	require(err == pieces_err && whole_done == pieces_done);
	require(jit_code_count_until(jitdump_get_code(whole), UINT64_MAX) ==
		jit_code_count_until(jitdump_get_code(pieces), UINT64_MAX));
	require(jitdump_get_malformed_count(whole) == jitdump_get_malformed_count(pieces));
	require(jitdump_has_foreign_clock(whole) == jitdump_has_foreign_clock(pieces));
	for (uint64_t pc = 0; pc < 0x40; pc++) {
		require_same(whole, pieces, 0x1000 + pc);
		require_same(whole, pieces, 0x3000 + pc);
		require_same(whole, pieces, UINT64_MAX - pc);
	}
	jitdump_free(whole);
	jitdump_free(pieces);
	return 0;
}
