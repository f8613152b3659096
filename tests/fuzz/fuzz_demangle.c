/*
 * Names: whatever the symbol, there is a name of bounded length.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "objfile/demangle.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libiberty loses the few bytes of an identifier in Punycode that turns out to be broken. */
const char *__lsan_default_suppressions(void)
{
	return "leak:print_ident\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *symbol = strndup((const char *)data, size);
	size_t limit = DEMANGLED_MAX_BYTES + size + 3;
	struct demangler *demangler = demangler_new();
	struct demangled_name demangled;

	require(symbol && demangler);
	require(demangler_get(demangler, symbol, &demangled) == 0);
	require(strlen(demangled.name) <= limit);
	require(strlen(demangled.full_name) <= limit);
	require(!symbol[0] || demangled.name[0]);
	demangler_free(demangler);
	for (int i = 0; i < 2; i++) {
		char *name = demangle_symbol(symbol, i);

		require(name && strlen(name) <= limit);
		free(name);
	}
	require(!symbol_is_clone("") && (!symbol_is_cold_part(symbol) || strchr(symbol, '.')));
	free(symbol);
	return 0;
}
