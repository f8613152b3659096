/*
 * Names of the functions of a WebAssembly module: from its name section, else from its exports.
 * Many modules have neither: their functions get their number, as browsers show them.
 *
 * The module is foreign and untrusted: no more is read than its size allows.
 *
 * Source: WebAssembly Core Specification, binary format, and its appendix on the name section.
 */
#ifndef RUNTIME_WASM_MODULE_H
#define RUNTIME_WASM_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* The start of every module: "\0asm", and the version 1. */
#define WASM_MODULE_START 0x000000016d736100ull

/*
 * Larger sections are treated as missing. Functions beyond the limit have no known name, as in V8.
 */
#define WASM_MODULE_SECTION_BYTES_MAX (64u << 20)
#define WASM_MODULE_FUNCTIONS_MAX     1000000u
#define WASM_MODULE_SECTIONS_MAX      10000u

/*
 * Bytes of a module. offset: from its start. Returns 0, or another number if not all can be read;
 * never more than 64 KiB at once.
 */
struct wasm_source {
	int (*read)(void *context, uint64_t offset, void *ret, size_t size);
	void *context;
	uint64_t size; /* in bytes */
};

struct wasm_module;

/* Returns 0, -EBADMSG (not a module, or unreadable) or -ENOMEM. */
_must_check_ int wasm_module_read(const struct wasm_source *source, struct wasm_module **ret);
void wasm_module_free(struct wasm_module *module);
static inline void wasm_module_freep(struct wasm_module **module)
{
	wasm_module_free(*module);
}

/* Functions that are imported have the first numbers, those of the module itself the next ones. */
uint32_t wasm_module_get_num_imports(const struct wasm_module *module);
uint32_t wasm_module_get_num_functions(const struct wasm_module *module);

/* UTF-8; NULL: it has none. Borrowed. */
const char *wasm_module_get_name(const struct wasm_module *module, uint32_t function);

/* In bytes. */
size_t wasm_module_get_size(const struct wasm_module *module);

#endif
