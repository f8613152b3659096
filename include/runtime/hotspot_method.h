/*
 * Java's methods: what the sampling program has read of them in HotSpot's memory (wire/hotspot.h), as names of methods and files,
 * and the line that a bytecode is of.
 *
 * All that is read are bytes of a foreign process, which may be anything.
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

/* What a recording keeps: so many methods, and so many bytes of their names and tables of lines. */
#define HOTSPOT_METHODS_MAX      (1u << 20)
#define HOTSPOT_METHODS_TEXT_MAX (64u << 20)

struct hotspot_method {
	/* These four say which one it is. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t code;       /* the method's address, or that of its compiled code */
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until hotspot_methods_free(). Empty where it could not be read; with an
	 * ellipsis where more of it was not sent.
	 *
	 * Names of classes that are made at run time have a number or an address that differs each time, which is left out:
	 * Main$$Lambda.run for Main$$Lambda$14+0x00007f2c18003200.run, java.lang.invoke.LambdaForm$MH.invoke, and
	 * jdk.internal.reflect.GeneratedMethodAccessor.invoke. Numbers by which compilers count are kept: Main.lambda$main$0.
	 */
	const char *name;          /* java.util.HashMap.put */
	const char *file;          /* HashMap.java: without its path, as class files have it */
	const uint8_t *line_table; /* as it is compressed; borrowed as well */
	uint64_t method;           /* address of the Method */
	uint32_t compile_id;       /* of compiled code */
	uint32_t first_line;       /* of its first bytecode; 0: not known */
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
 * Add what was sent of a method. One that is known keeps what is known of it, and gets what was not read before.
 *
 * record  a whole one, aligned; its content need not be what the program sends
 *
 * Returns 0, -EINVAL (lengths are not those of the record's places), -ENOSPC (it would be more than is kept), or
 * -ENOMEM. After an error nothing is added; whoever calls it counts that.
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
 * Returns 0 where there is none: WIRE_HOTSPOT_NO_BYTECODE, native methods and those that were compiled without lines have none,
 * and of long tables only a part is sent.
 */
uint32_t hotspot_method_get_line(const struct hotspot_method *method, uint32_t bytecode);

#endif
