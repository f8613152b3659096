/*
 * The layout of an interpreter's build: offsets of its frames' fields. User space finds them
 * (runtime/runtime.h), the sampling program reads by them.
 *
 * Included by both sides, as wire.h is.
 */
#ifndef WIRE_RUNTIME_LAYOUT_H
#define WIRE_RUNTIME_LAYOUT_H

#include "wire/hotspot.h"
#include "wire/python.h"
#include "wire/runtime.h"
#include "wire/script.h"
#include "wire/types.h"
#include "wire/v8.h"

struct wire_runtime_layout {
	wire_u32 runtime; /* enum wire_runtime: whose member is set */
	wire_u32 padding;
	union {
		struct wire_python_layout python;
		struct wire_v8_layout v8;
		struct wire_hotspot_layout hotspot;
		struct wire_php_layout php;
		struct wire_ruby_layout ruby;
		struct wire_perl_layout perl;
	};
};

/*
 * Limits of different layouts in a recording: of one interpreter, so that the others keep their
 * places, and of all.
 */
#define WIRE_MAX_LAYOUTS_EACH    128
#define WIRE_MAX_RUNTIME_LAYOUTS (NUM_WIRE_INTERPRETERS * WIRE_MAX_LAYOUTS_EACH)

#endif
