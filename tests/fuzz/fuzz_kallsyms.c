/*
 * kallsyms and modules: the input is both texts, with an empty line between them. Whatever the
 * text, a symbol that is found has a module and starts at or below the address.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"
#include "symbolize/kernel_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct kernel_symbols *symbols, uint64_t address)
{
	struct kernel_symbol symbol;

	if (kernel_symbols_find(symbols, address, &symbol))
		return;
	require(symbol.module != NULL);
	require(symbol.offset <= address);
	require(!symbol.name || strlen(symbol.name) > 0);
}

/* Call a function with numbers of the text, and addresses behind them. */
static void for_each_address(struct kernel_symbols *symbols, const char *text, size_t size,
			     void (*visit)(struct kernel_symbols *symbols, uint64_t address))
{
	visit(symbols, 0);
	visit(symbols, UINT64_MAX);
	for (size_t i = 0; i + 16 < size; i += 1 + i / 8) {
		char number[17] = {0};

		memcpy(number, text + i, 16);
		visit(symbols, strtoull(number, NULL, 16));
		visit(symbols, strtoull(number, NULL, 16) + 100);
	}
}

static void want(struct kernel_symbols *symbols, uint64_t address)
{
	require(kernel_symbols_want(symbols, address) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *gap = size ? memmem(text, size, "\n\n", 2) : NULL;
	size_t kallsyms_size = gap ? (size_t)(gap - text) + 1 : size;
	struct kernel_symbols *symbols = kernel_symbols_new();

	require(symbols != NULL);
	require(kernel_symbols_add(symbols, 0xffffffffc0f00000, 64, "bpf_prog_x") == 0);
	for_each_address(symbols, text, size, want);
	require(kernel_symbols_load_text(symbols, text, kallsyms_size, text + kallsyms_size,
					 size - kallsyms_size) == 0);
	for_each_address(symbols, text, size, look_up);
	(void)kernel_symbols_is_restricted(symbols);
	kernel_symbols_free(symbols);
	return 0;
}
