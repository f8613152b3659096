/*
 * Perf-maps: the text read in one go and the same text read in two pieces name the same code.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "process/jit_code.h"
#include "process/perf_map.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_same(const struct perf_map *a, const struct perf_map *b, uint64_t pc)
{
	const char *name_a = jit_code_find(perf_map_get_code(a), pc, SIZE_MAX);
	const char *name_b = jit_code_find(perf_map_get_code(b), pc, SIZE_MAX);

	require(!name_a == !name_b);
	require(!name_a || strcmp(name_a, name_b) == 0);
	require(!name_a || name_a[0]);
}

/* Where the line that holds the text's middle ends. */
static size_t end_of_middle_line(const char *text, size_t size)
{
	const char *newline = size ? memchr(text + size / 2, '\n', size - size / 2) : NULL;

	return newline ? (size_t)(newline - text) + 1 : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t cut = end_of_middle_line(text, size);
	struct perf_map *whole = perf_map_new();
	struct perf_map *chunks = perf_map_new();

	require(whole && chunks);
	require(perf_map_add_text(whole, text, size) == 0);
	require(perf_map_add_text(chunks, text, cut) == 0);
	require(perf_map_add_text(chunks, text + cut, size - cut) == 0);
	require(perf_map_get_malformed_count(whole) == perf_map_get_malformed_count(chunks));
	for (uint64_t pc = 0; pc < 0x40; pc++) {
		require_same(whole, chunks, pc);
		require_same(whole, chunks, 0x1000 + pc);
		require_same(whole, chunks, UINT64_MAX - pc);
	}
	perf_map_free(whole);
	perf_map_free(chunks);
	return 0;
}
