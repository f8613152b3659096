/*
 * Functions of WebAssembly that V8 runs: which one a frame is of.
 *
 * A frame says of which instance it is. What V8 says of itself leads from there to the module's bytes, which have the functions' names;
 * the instance says where the jump table of the module's code lies, in which each function has a slot that leads to its code. Nothing is
 * guessed: a function is known where a slot leads to the code that the frame is in.
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

/* What a build of V8 says. Types are those of maps, and offsets in bytes. */
struct v8_wasm_layout {
	bool is_known;
	uint8_t marker; /* what a frame of WebAssembly pushes behind its frame pointer */
	uint16_t script_type;
	uint16_t module_type;
	uint16_t instance_type; /* 0: it is what frames have */
	uint16_t foreign_type;  /* of what points outside of the heap; 0: not said */
	uint8_t map_type;
	uint8_t script_native_module;
};

/* What a recording keeps: modules, and bytes of their names and of what is known of their code. Those not asked for longest go first. */
#define V8_WASM_MODULES_MAX   1024
#define V8_WASM_BYTES_MAX     (256u << 20)
#define V8_WASM_PROCESSES_MAX (1u << 16)
/* So many bytes are read in one process to find modules, and functions in their jump tables. */
#define V8_WASM_READ_MAX (4ull << 30)

struct v8_wasm_modules;

struct v8_wasm_modules *v8_wasm_modules_new(void); /* NULL when out of memory */
void v8_wasm_modules_free(struct v8_wasm_modules *modules);

/* Of which process, and where in it. */
struct v8_wasm_place {
	uint32_t pid;
	uint64_t generation; /* as in wire_sample */
	uint64_t instance;   /* as the frame has it */
	uint64_t pc;         /* of an instruction that is in the function */
	bool is_innermost;   /* it is about to run, and was stepped over by the frame pointer */
	bool calls_entry;    /* what it has called is at its first instruction */
};

struct v8_wasm_function {
	const struct wasm_module *module; /* valid until the next one is asked for */
	uint32_t number;
	bool has_frame; /* else the frame is its caller's */
};

/* The function that a frame is of. Returns 0, -ENOENT (it is not known) or -ENOMEM. */
_must_check_ int v8_wasm_find(struct v8_wasm_modules *modules, const struct v8_wasm_layout *layout,
			      const struct v8_memory *memory, const struct v8_wasm_place *place,
			      struct v8_wasm_function *ret);

#endif
