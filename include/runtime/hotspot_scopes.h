/*
 * What was inlined into compiled code of HotSpot, as this describes it for its own walks of stacks; and methods by their address,
 * as those that were inlined are known by nothing else.
 *
 * All is read of the memory of a process, which may say anything and changes all the time.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_HOTSPOT_SCOPES_H
#define RUNTIME_HOTSPOT_SCOPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/hotspot.h"
#include "wire/hotspot.h"

/* Levels at one place: the JVM inlines 15, and method handles up to 100. */
#define HOTSPOT_SCOPES_MAX_DEPTH 128
/* Of what is read of one piece of code: PcDescs, bytes of scopes, methods, and instructions, of which others are not looked at. */
#define HOTSPOT_SCOPES_MAX_PC_DESCS   (1u << 16)
#define HOTSPOT_SCOPES_MAX_BYTES      (4u << 20)
#define HOTSPOT_SCOPES_MAX_METHODS    (1u << 16)
#define HOTSPOT_SCOPES_MAX_CODE_BYTES (1u << 20)

struct hotspot_scope {
	uint64_t method;   /* address of the Method */
	uint32_t bytecode; /* its index; WIRE_HOTSPOT_NO_BYTECODE: not known */
};

struct hotspot_scope_chain {
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX_DEPTH]; /* innermost first */
	size_t num_scopes;
	bool may_lack_inlined; /* methods inlined there may be missing */
};

struct hotspot_scopes;

/*
 * Read what a compiled method says of itself. Nothing of the process is needed afterwards.
 *
 * layout      one that is known
 * blob        address of its code blob
 * compile_id  of the code that is meant
 * ret         free it with hotspot_scopes_free()
 *
 * Returns 0; -ESTALE (there is other code by now), -ENOTSUP (the layout does not say where it is), -EBADMSG (it is none that the JVM
 * writes), -ENOMEM, or what read() returned.
 */
_must_check_ int hotspot_scopes_read(const struct hotspot_layout *layout,
				     const struct hotspot_memory *memory, uint64_t blob,
				     uint32_t compile_id, struct hotspot_scopes **ret);
void hotspot_scopes_free(struct hotspot_scopes *scopes);
static inline void hotspot_scopes_freep(struct hotspot_scopes **scopes)
{
	hotspot_scopes_free(*scopes);
}

/* How many bytes of memory it keeps. */
size_t hotspot_scopes_get_size(const struct hotspot_scopes *scopes);

/*
 * The methods that are at a place: that which was compiled, and those that were inlined there.
 *
 * pc       an address in the code
 * is_call  it is where a call returns to; else the instruction there is about to run, as in the innermost frame of a sample
 * ret      of a call exactly what calls. Empty after an error; it may lack inlined methods unless the code is a native method
 *
 * The JVM describes calls and other places where it may stop, and no other. What is there elsewhere is said by the place that the
 * machine code comes to next: in memory, the next one may be of a method that has not begun or that this way does not lead to.
 * Where the way cannot be followed there is what the places before and behind it have in common: the innermost of these methods
 * has the bytecode of the one behind.
 *
 * Returns 0, -ENOENT (nothing is described there: native methods, handlers at the code's end), or -EBADMSG.
 *
 * Sources: src/hotspot/share/code/nmethod.cpp (find_pc_desc), debugInfoRec.cpp and scopeDesc.cpp; prims/forte.cpp.
 */
_must_check_ int hotspot_scopes_find(const struct hotspot_scopes *scopes, uint64_t pc, bool is_call,
				     struct hotspot_scope_chain *ret);

/*
 * Read of a method by its address what the sampling program sends of one: names, the file, lines, how long it is, its own address and
 * the JDK's version. Of the record's other fields, which say whose it is, all are 0.
 *
 * layout  one that is known
 * ret     what can be read, of file and lines: they may be missing
 *
 * Returns 0; -EBADMSG (it has no name), or what read() returned.
 */
_must_check_ int hotspot_method_read(const struct hotspot_layout *layout,
				     const struct hotspot_memory *memory, uint64_t method,
				     struct wire_hotspot_method *ret);

#endif
