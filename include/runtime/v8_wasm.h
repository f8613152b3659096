/*
 * Finds the WebAssembly function of a frame in V8.
 *
 * A frame has its instance. V8's own data leads from there to the module's bytes, which contain the
 * functions' names. The instance has the address of the jump table of the module's code, where each
 * function has a slot that leads to its code. Nothing is guessed: a function is known if its slot
 * leads to the code of the frame.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_V8_WASM_H
#define RUNTIME_V8_WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/v8_source.h"
#include "runtime/wasm_module.h"

/* Layout of a build of V8. Types are those of maps, offsets are in bytes. */
struct v8_wasm_layout {
	bool is_known;
	uint8_t marker; /* pushed by a WebAssembly frame behind its frame pointer */
	uint16_t script_type;
	uint16_t module_type;
	uint16_t instance_type; /* 0: frames have the instance itself */
	uint16_t foreign_type;  /* of pointers to outside the heap; 0: unknown */
	uint8_t map_type;
	uint8_t script_native_module;
};

/*
 * Limits of a recording: modules, bytes of their names and of their code's addresses, and
 * processes. The least recently used are dropped first.
 */
#define V8_WASM_MODULES_MAX   1024
#define V8_WASM_BYTES_MAX     (256u << 20)
#define V8_WASM_PROCESSES_MAX (1u << 16)
/* Bytes read in one process to find modules, and functions in their jump tables. */
#define V8_WASM_READ_MAX (4ull << 30)

struct v8_wasm_modules;

struct v8_wasm_modules *v8_wasm_modules_new(void); /* NULL when out of memory */
void v8_wasm_modules_free(struct v8_wasm_modules *modules);

/* A place in a process. */
struct v8_wasm_place {
	uint32_t pid;
	uint64_t generation; /* as in wire_sample */
	uint64_t instance;   /* as the frame has it */
	uint64_t pc;         /* of an instruction that is in the function */
	bool is_innermost;   /* it is about to run, and was stepped over by the frame pointer */
	bool calls_entry;    /* its callee is at its first instruction */
};

struct v8_wasm_function {
	const struct wasm_module *module; /* valid until the next lookup */
	uint32_t number;
	bool has_frame; /* else the frame is its caller's */
};

/* The function of a frame. Returns 0, -ENOENT (unknown) or -ENOMEM. */
_must_check_ int v8_wasm_find(struct v8_wasm_modules *modules, const struct v8_wasm_layout *layout,
			      const struct v8_memory *memory, const struct v8_wasm_place *place,
			      struct v8_wasm_function *ret);

#endif
