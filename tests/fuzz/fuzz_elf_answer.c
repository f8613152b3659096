/*
 * What a process that reads ELF files answers, as if a file had taken it over. The first byte says what
 * was asked for; the others are the answer, or, for FIRST_TABLE, an unwind table: its counts, rules,
 * pages and rows. What is valid is then used.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "collect/elf_message.h"
#include "unwind/unwind_table.h"

#define FIRST_TABLE 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void use_answer(enum elf_request_kind kind, const uint8_t *data, size_t size)
{
	struct elf_answer answer;

	if (size > sizeof(answer))
		return;
	memcpy(&answer, data, size);
	if (!elf_answer_is_valid(&answer, size, kind))
		return;
	if (answer.err) {
		require(answer.err < 0 && strlen(answer.message) < sizeof(answer.message));
		return;
	}
	if (kind == ELF_IDENTIFY) {
		require(answer.identity.build_id_size <= BUILD_ID_SIZE_MAX);
		require(answer.identity.num_segments <= ELF_MAX_SEGMENTS);
		require(size ==
			offsetof(struct elf_answer, identity.segments) +
				answer.identity.num_segments * sizeof(*answer.identity.segments));
	}
	if (kind == ELF_PROVE_CALL)
		require(answer.proof <= CALL_DISPROVEN);
	if (kind == ELF_FIND_PROBE)
		require(answer.probe.num_points > 0 &&
			answer.probe.num_points <= PROBE_MAX_POINTS &&
			answer.probe.points[answer.probe.num_points - 1].argument.base <=
				ARGUMENT_MAX_REGISTER);
	if (kind == ELF_FIND_LIBRARY)
		require(strlen(answer.library) < sizeof(answer.library));
}

static void *copy(struct bytes *bytes, size_t num_items, size_t item_size)
{
	const void *source = bytes_take(bytes, num_items * item_size);
	void *items = source ? malloc(num_items * item_size + 1) : NULL;

	if (items)
		memcpy(items, source, num_items * item_size);
	return items;
}

static void use_table(const uint8_t *data, size_t size)
{
	struct unwind_table *table = calloc(1, sizeof(*table));
	struct bytes bytes = bytes_of(data, size);
	struct unwind_rule rule;

	require(table != NULL);
	table->first_page = bytes_u8(&bytes);
	table->num_rules = bytes_u8(&bytes);
	table->num_pages = bytes_u8(&bytes);
	table->num_rows = bytes_u16(&bytes);
	table->rules = copy(&bytes, table->num_rules, sizeof(*table->rules));
	table->pages = copy(&bytes, table->num_pages, sizeof(*table->pages));
	table->rows = copy(&bytes, table->num_rows, sizeof(*table->rows));
	if (table->rules && table->pages && table->rows && unwind_table_is_valid(table)) {
		uint64_t start = table->first_page << UNWIND_PAGE_SHIFT;

		for (uint64_t page = 0; page <= table->num_pages; page++)
			for (uint64_t step = 0; step < 64; step++)
				(void)!unwind_table_find(
					table, start + (page << UNWIND_PAGE_SHIFT) + step * 1021,
					&rule);
	}
	unwind_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] >= FIRST_TABLE && data[0] != ELF_FIND_PROBE && data[0] != ELF_FIND_LIBRARY)
		use_table(data + 1, size - 1);
	else
		use_answer((enum elf_request_kind)data[0], data + 1, size - 1);
	return 0;
}
