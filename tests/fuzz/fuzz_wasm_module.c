/*
 * Modules of WebAssembly, which are somebody else's choice. Whatever they hold, names are clean UTF-8, there are no more functions than
 * a module can have, and nothing outside of it is read. The input is a byte, and the module: of an odd byte less of it can be read than
 * its size says.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "runtime/wasm_module.h"

#define MAX_FUNCTIONS 4096 /* that are asked for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_module(void *context, uint64_t offset, void *ret, size_t size)
{
	const struct bytes *module = context;

	require(size > 0 && size <= 64 << 10);
	if (offset > module->size || size > module->size - offset)
		return -1;
	memcpy(ret, module->data + offset, size);
	return 0;
}

static void check(const struct wasm_module *module, size_t size)
{
	size_t total = 0;

	require(wasm_module_get_num_imports(module) <= WASM_MODULE_FUNCTIONS_MAX);
	require(wasm_module_get_num_functions(module) <= WASM_MODULE_FUNCTIONS_MAX);
	for (uint32_t i = 0; i < MAX_FUNCTIONS; i++) {
		const char *name = wasm_module_get_name(module, i);

		if (!name)
			continue;
		require_clean(name, SIZE_MAX);
		total += strlen(name);
	}
	/* A byte that is none of UTF-8 becomes three. */
	require(total <= 3 * size);
	require(wasm_module_get_size(module) >= total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = bytes_of(data, size);
	size_t more = bytes_u8(&input) & 1 ? 1 << 10 : 0;
	uint8_t *copy = malloc(bytes_left(&input) + 1); /* so that no byte more can be read */
	struct bytes bytes;
	struct wasm_source source = {.read = read_module, .context = &bytes};
	struct wasm_module *module = NULL;
	int err;

	require(copy != NULL);
	if (bytes_left(&input))
		memcpy(copy, data + input.offset, bytes_left(&input));
	bytes = bytes_of(copy, bytes_left(&input));
	source.size = bytes.size + more;
	err = wasm_module_read(&source, &module);
	require(err == 0 || err == -EBADMSG);
	require((module != NULL) == !err);
	if (module)
		check(module, bytes.size);
	wasm_module_free(module);
	free(copy);
	return 0;
}
