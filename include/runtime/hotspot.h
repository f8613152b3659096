/*
 * HotSpot (OpenJDK's virtual machine) in a process: the offsets of the code cache, frames and
 * methods in its memory.
 *
 * Each build describes itself in tables for debuggers (gHotSpotVMStructs and the like). The file
 * has their addresses (runtime_find()). Its constructors fill the tables, so they are read from the
 * memory of each process that has it mapped.
 */
#ifndef RUNTIME_HOTSPOT_H
#define RUNTIME_HOTSPOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "runtime/runtime.h"
#include "wire/hotspot.h"

/*
 * Location of the scopes of compiled code, which describe the inlined methods and the current
 * bytecode. PcDescs are sorted by their offset in the code. Each has a place in the scopes' data,
 * which refers to methods by their number (from 1 on) in an array of addresses. The first PcDesc is
 * before the code (-1), the last one behind it: both are only ends. Native methods have no scopes.
 *
 * Offsets in an nmethod, except those in a PcDesc. WIRE_HOTSPOT_NONE: a version does not have it.
 */
struct hotspot_scopes_layout {
	uint16_t pc_desc_bytes; /* 0: their location is unknown, and so are all members below */
	uint16_t pc_desc_pc;    /* 32 bits, signed: from the code's start */
	uint16_t pc_desc_scope; /* 32 bits, signed: in the scopes' data; 0: no scope */
	/*
	 * The address of a separate part for PcDescs and scopes; NONE (up to JDK 22): they are in
	 * the blob.
	 */
	uint16_t immutable_data;
	uint16_t
		scopes_pcs; /* 32 bits: from there, or from the blob's start, to the first PcDesc */
	uint16_t scopes_pcs_end;   /* likewise, to the end of the last one */
	uint16_t scopes_data;      /* likewise, to the scopes' data; or its address */
	uint16_t scopes_data_size; /* 4; or of an address (JDK 11 to 22) 8 */
	/*
	 * The address of a separate part for addresses of methods, behind relocation_bytes; NONE
	 * (up to JDK 24): in the blob.
	 */
	uint16_t mutable_data;
	uint16_t
		relocation_bytes; /* 32 bits; only with mutable_data, and the next two only without */
	uint16_t
		metadata; /* metadata_size bytes: from the blob's start to the array; with blob_data from there */
	uint16_t blob_data;     /* JDK 23 and 24; 32 bits: from the blob's start to its data */
	uint16_t metadata_size; /* 2 or 4 */
};

/* How a process's HotSpot is laid out. */
struct hotspot_layout {
	/* SUPPORT_KNOWN; SUPPORT_UNKNOWN_VERSION: before JDK 8, 9, 10, or after 25; SUPPORT_UNKNOWN_BUILD */
	enum runtime_support support;
	unsigned int major;                  /* of the JDK's version; 0: unknown */
	struct wire_hotspot_layout wire;     /* of SUPPORT_KNOWN; else all 0 */
	struct hotspot_scopes_layout scopes; /* likewise */
};

/* The memory of a process. */
struct hotspot_memory {
	/*
	 * Read bytes at an address, at most 64 KiB. Returns 0, or negative errno if not all can be
	 * read; the content of ret is undefined then.
	 */
	int (*read)(void *context, uint64_t address, void *ret, size_t size);
	void *context;
};

/*
 * Read a build's own description of its layout.
 *
 * bias  address in the process minus ELF address
 *
 * Returns 0, also for an unknown build; -ENOMEM; the error of read(); or -EAGAIN: the build
 * does not run yet. Its file is not relocated, its constructors have not run, or it has no code
 * heaps. In a process that never starts, this does not change.
 */
_must_check_ int hotspot_read_layout(const struct hotspot_build *build, uint64_t bias,
				     const struct hotspot_memory *memory,
				     struct hotspot_layout *ret);

#endif
