/*
 * What a process that reads ELF files answers, as if a file had taken it over. The first byte says what was asked for; its highest bit,
 * that something else is answered. Of ELF_BUILD_TABLE there follows an unwind table: its counts, rules, pages and rows. Of all others an
 * answer: a byte of its error, which is negated; how many bytes it is too long, with a sign; 16 bits of how many segments, points or
 * functions it says that it has; and the start of its content: what follows is zero. What is valid is then used.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "collect/elf/elf_message.h"
#include "require.h"
#include "unwind/unwind_table.h"

#define LAST_KIND    ELF_FIND_ALLOCATOR
#define IS_OTHER_BIT 0x80 /* of the first byte */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An answer of any content, and how long it is said to be. Returns false when it is longer than any. */
static bool take_answer(struct bytes *input, uint32_t kind, struct elf_answer *ret,
			size_t *ret_size)
{
	int8_t more;
	uint16_t count;
	size_t size;

	memset(ret, 0, sizeof(*ret));
	ret->kind = kind;
	ret->err = -(int8_t)bytes_u8(input);
	more = (int8_t)bytes_u8(input);
	count = bytes_u16(input);
	size = bytes_left(input);
	if (size > sizeof(*ret) - offsetof(struct elf_answer, message))
		return false;
	if (size)
		memcpy(ret->message, bytes_take(input, size), size);
	if (kind == ELF_IDENTIFY)
		ret->identity.num_segments = count;
	else if (kind == ELF_FIND_PROBE)
		ret->probe.num_points = count;
	else if (kind == ELF_FIND_ALLOCATOR)
		ret->allocator.num_functions = count;
	*ret_size = elf_answer_get_size(ret) + (size_t)more;
	return *ret_size <= sizeof(*ret);
}

static void require_register(uint64_t number)
{
	require(number <= ARGUMENT_MAX_REGISTER || number == ARGUMENT_NO_REGISTER);
}

static void require_argument(const struct probe_argument *argument)
{
	require(argument->base <= ARGUMENT_MAX_REGISTER);
	require_register(argument->index);
}

static void require_function(const struct allocator_function *function)
{
	require_argument(&function->point.argument);
	require_register(function->free_register);
	require_register(function->pointer_register);
	require_register(function->jump_register);
}

static void use_identity(const struct elf_identity *identity)
{
	require(identity->build_id_size <= BUILD_ID_SIZE_MAX);
	require(identity->num_segments <= ELF_MAX_SEGMENTS);
	if (!identity->has_runtime)
		return;
	require(identity->runtime.runtime < NUM_WIRE_RUNTIMES);
	require(identity->runtime.num_eval_parts <= EVALUATION_MAX_PARTS);
	require(identity->runtime.num_pushes <= EVALUATION_MAX_PUSHES);
}

static void use_answer(enum elf_request_kind kind, bool is_other, struct bytes input)
{
	struct elf_answer answer;
	size_t size;

	if (!take_answer(&input, kind + is_other, &answer, &size) ||
	    !elf_answer_is_valid(&answer, size, kind))
		return;
	require(size == elf_answer_get_size(&answer));
	if (answer.err) {
		require(answer.err < 0 && strlen(answer.message) < sizeof(answer.message));
		return;
	}
	if (kind == ELF_IDENTIFY)
		use_identity(&answer.identity);
	if (kind == ELF_PROVE_CALL)
		require(answer.proof <= CALL_DISPROVEN);
	if (kind == ELF_FIND_PROBE) {
		require(answer.probe.num_points > 0 && answer.probe.num_points <= PROBE_MAX_POINTS);
		for (uint32_t i = 0; i < answer.probe.num_points; i++)
			require_argument(&answer.probe.points[i].argument);
	}
	if (kind == ELF_FIND_ALLOCATOR) {
		require(answer.allocator.num_functions > 0 &&
			answer.allocator.num_functions <= ALLOCATOR_MAX_FUNCTIONS);
		for (uint32_t i = 0; i < answer.allocator.num_functions; i++)
			require_function(&answer.allocator.functions[i]);
	}
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

static void use_table(struct bytes bytes)
{
	struct unwind_table *table = calloc(1, sizeof(*table));
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
	struct bytes input = bytes_of(data, size);
	uint8_t first = bytes_u8(&input);
	uint8_t kind = first & (IS_OTHER_BIT - 1);

	if (kind == ELF_BUILD_TABLE)
		use_table(input);
	else if (kind <= LAST_KIND)
		use_answer((enum elf_request_kind)kind, first & IS_OTHER_BIT, input);
	return 0;
}
