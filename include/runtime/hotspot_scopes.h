/*
 * Methods inlined into compiled code of HotSpot, from the description for HotSpot's own stack
 * walks. Also reads methods by address, as inlined ones are known by nothing else.
 *
 * All is read in the memory of a process, which is untrusted and changes all the time.
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
/*
 * Limits for one piece of code: PcDescs, bytes of scopes, methods, and bytes of instructions. The
 * rest is ignored.
 */
#define HOTSPOT_SCOPES_MAX_PC_DESCS   (1u << 16)
#define HOTSPOT_SCOPES_MAX_BYTES      (4u << 20)
#define HOTSPOT_SCOPES_MAX_METHODS    (1u << 16)
#define HOTSPOT_SCOPES_MAX_CODE_BYTES (1u << 20)

struct hotspot_scope {
	uint64_t method;   /* address of the Method */
	uint32_t bytecode; /* its index; WIRE_HOTSPOT_NO_BYTECODE: unknown */
};

struct hotspot_scope_chain {
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX_DEPTH]; /* innermost first */
	size_t num_scopes;
	bool may_lack_inlined; /* methods inlined there may be missing */
};

struct hotspot_scopes;

/*
 * Read a compiled method's scopes. Nothing of the process is needed afterwards.
 *
 * layout      a known one
 * blob        address of its code blob
 * compile_id  of the expected code
 * ret         free it with hotspot_scopes_free()
 *
 * Returns 0; -ESTALE (other code is there by now), -ENOTSUP (the layout does not have the
 * location), -EBADMSG (the JVM writes no such scopes), -ENOMEM, or the error of read().
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
 * The methods at a place: the compiled one, and those inlined there.
 *
 * pc       an address in the code
 * is_call  pc is a return address; else the instruction there is about to run, as in the innermost
 *          frame of a sample
 * ret      exact for a call. Empty after an error; it may lack inlined methods unless the code is a
 *          native method
 *
 * The JVM describes only calls and other places where it may stop. Elsewhere, the next such place
 * in the flow of the machine code applies: the next one in memory may belong to a method that has
 * not started, or that this path does not reach. If the flow cannot be followed, the result has the
 * methods that the places before and behind have in common: the innermost of these has the bytecode
 * of the place behind.
 *
 * Returns 0, -ENOENT (nothing is described there: native methods, handlers at the code's end), or
 * -EBADMSG.
 *
 * Sources: src/hotspot/share/code/nmethod.cpp (find_pc_desc), debugInfoRec.cpp and scopeDesc.cpp;
 * prims/forte.cpp.
 */
_must_check_ int hotspot_scopes_find(const struct hotspot_scopes *scopes, uint64_t pc, bool is_call,
				     struct hotspot_scope_chain *ret);

/*
 * Read a method by its address, as the sampling program sends it: names, the file, lines, the size
 * of its bytecode, its own address and the JDK's version. The record's other fields, which identify
 * it, are all 0.
 *
 * layout  a known one
 * ret     file and lines may be missing if they cannot be read
 *
 * Returns 0; -EBADMSG (it has no name), or the error of read().
 */
_must_check_ int hotspot_method_read(const struct hotspot_layout *layout,
				     const struct hotspot_memory *memory, uint64_t method,
				     struct wire_hotspot_method *ret);

#endif
