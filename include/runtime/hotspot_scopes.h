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

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/hotspot.h"
#include "wire/hotspot.h"

/* Levels at one place: the JVM inlines 15, and method handles up to 100. */
#define HOTSPOT_SCOPES_MAX_DEPTH 128
/* Of what is read of one piece of code: PcDescs, bytes of scopes, and methods. */
#define HOTSPOT_SCOPES_MAX_PC_DESCS (1u << 16)
#define HOTSPOT_SCOPES_MAX_BYTES    (4u << 20)
#define HOTSPOT_SCOPES_MAX_METHODS  (1u << 16)

struct hotspot_scope {
	uint64_t method;   /* address of the Method */
	uint32_t bytecode; /* its index; WIRE_HOTSPOT_NO_BYTECODE: not known */
};

struct hotspot_scope_chain {
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX_DEPTH]; /* innermost first */
	size_t num_scopes;
	/* How many of the outermost ones are sure where the pc is no call's: see hotspot_scopes_find(). */
	size_t num_sure;
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
 * pc   an address in the code. For every frame but the innermost one pass the return address minus 1
 * ret  of a call exactly what calls
 *
 * The JVM describes calls and other places where it may stop, and no other. Elsewhere, as where the innermost frame of a sample
 * mostly is, the next place behind it is taken, as by the JVM's own profilers: a description is of the code before it.
 * Mostly, but not always, that is in the same method; what lies between two places may be of either, or of another one
 * that has none. So only those levels are sure that both have: ret->num_sure.
 *
 * Returns 0, -ENOENT (nothing is described there: native methods, handlers at the code's end), or -EBADMSG.
 *
 * Sources: src/hotspot/share/code/nmethod.cpp (find_pc_desc), debugInfoRec.cpp and scopeDesc.cpp; prims/forte.cpp.
 */
_must_check_ int hotspot_scopes_find(const struct hotspot_scopes *scopes, uint64_t pc,
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
