/*
 * Java's methods, as read by the sampling program in HotSpot's memory (wire/hotspot.h): names of
 * methods and files, and the lines of bytecodes.
 *
 * All of it is read in a foreign process and is untrusted.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_HOTSPOT_METHOD_H
#define RUNTIME_HOTSPOT_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "wire/hotspot.h"

/* Limits of a recording: number of methods, and bytes of their names and line tables. */
#define HOTSPOT_METHODS_MAX      (1u << 20)
#define HOTSPOT_METHODS_TEXT_MAX (64u << 20)

struct hotspot_method {
	/* These four identify it. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t code;       /* the method's address, or that of its compiled code */
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until hotspot_methods_free(). Empty if it
	 * could not be read; with an ellipsis if only a part was sent.
	 *
	 * Names of classes that are made at run time have a number or an address that differs each
	 * time. It is removed: Main$$Lambda.run for Main$$Lambda$14+0x00007f2c18003200.run,
	 * java.lang.invoke.LambdaForm$MH.invoke, and
	 * jdk.internal.reflect.GeneratedMethodAccessor.invoke. Numbers that compilers assign are
	 * kept: Main.lambda$main$0.
	 */
	const char *name;          /* java.util.HashMap.put */
	const char *file;          /* HashMap.java: without its path, as class files have it */
	const uint8_t *line_table; /* as it is compressed; borrowed as well */
	uint64_t method;           /* address of the Method */
	uint32_t compile_id;       /* of compiled code */
	uint32_t first_line;       /* of its first bytecode; 0: unknown */
	uint16_t num_line_bytes;
	uint16_t code_bytes; /* of its bytecode */
	uint16_t major;      /* of the JDK's version */
};

struct hotspot_methods;

struct hotspot_methods *hotspot_methods_new(void); /* NULL when out of memory */
void hotspot_methods_free(struct hotspot_methods *methods);
static inline void hotspot_methods_freep(struct hotspot_methods **methods)
{
	hotspot_methods_free(*methods);
}

/*
 * Add a method that was sent. If it is known already, only its missing parts are added.
 *
 * record  a whole one, aligned; its content is untrusted
 *
 * Returns 0, -EINVAL (lengths exceed the record's places), -ENOSPC (the limit is reached), or
 * -ENOMEM. After an error nothing is added; the caller counts that.
 */
_must_check_ int hotspot_methods_add(struct hotspot_methods *methods,
				     const struct wire_hotspot_method *record);

/* NULL: it was not added. Borrowed until the next one is. */
const struct hotspot_method *hotspot_methods_find(const struct hotspot_methods *methods,
						  uint32_t pid, uint64_t generation, uint64_t code,
						  uint32_t fingerprint);

/*
 * The line of a bytecode, by its index.
 *
 * Returns 0 if it has no line: for WIRE_HOTSPOT_NO_BYTECODE, native methods, methods compiled
 * without lines, and beyond the part that is sent of a long table.
 */
uint32_t hotspot_method_get_line(const struct hotspot_method *method, uint32_t bytecode);

#endif
