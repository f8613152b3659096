/* Requests of the recorder to a process that reads ELF files (elf_worker.h), and the answers. */
#ifndef COLLECT_ELF_ELF_MESSAGE_H
#define COLLECT_ELF_ELF_MESSAGE_H

#include <elf.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "objfile/allocator.h"
#include "objfile/objfile.h"
#include "objfile/usdt.h"
#include "runtime/runtime.h"

/*
 * Segments of one file. Programs have two to six loaded segments; more of a hostile one are
 * ignored.
 */
#define ELF_MAX_SEGMENTS 64

enum elf_request_kind {
	ELF_IDENTIFY,       /* with the file */
	ELF_PROVE_CALL,     /* likewise */
	ELF_HASH_TABLE,     /* likewise */
	ELF_BUILD_TABLE,    /* with the file, and memory to put the table into */
	ELF_FIND_PROBE,     /* with the file, and perhaps its separate debug file */
	ELF_FIND_LIBRARY,   /* with /etc/ld.so.cache */
	ELF_FIND_ALLOCATOR, /* with the file */
};

/* A point in a file that the user names (probes.h). Texts end with NUL. */
struct elf_probe_query {
	uint64_t offset;      /* from the function's start */
	uint32_t argument;    /* its number, from 1 on */
	uint32_t is_weighted; /* by the argument; argument 0 is then the return value */
	char path[1024];      /* for messages */
	char provider[256];   /* of a statically defined probe; empty: it is a function */
	char name[2048];      /* of the function or the probe */
};

/* A message has the head and the used part of the path, without NUL. */
struct elf_request {
	uint32_t kind;
	uint32_t file; /* its number in the file table: it is kept open, for more calls to prove */
	uint64_t return_address; /* of ELF_PROVE_CALL */
	uint64_t callee;         /* likewise */
	union {
		char path
			[PATH_MAX]; /* of ELF_BUILD_TABLE, for messages; of ELF_FIND_LIBRARY its name */
		struct elf_probe_query probe; /* of ELF_FIND_PROBE, as a whole */
	};
};

#define ELF_REQUEST_HEAD_BYTES offsetof(struct elf_request, path)

struct elf_identity {
	uint8_t build_id[BUILD_ID_SIZE_MAX];
	uint32_t build_id_size; /* 0: none */
	uint32_t num_segments;
	uint32_t has_runtime;
	struct runtime_build runtime;
	struct {
		uint64_t file_offset;
		uint64_t file_size;
		uint64_t elf_address;
		uint64_t memory_size;
		uint64_t is_executable;
	} segments[ELF_MAX_SEGMENTS];
};

struct elf_probe_points {
	uint32_t num_points;
	uint32_t padding;
	struct probe_point points[PROBE_MAX_POINTS];
};

struct elf_allocator_functions {
	uint32_t num_functions;
	uint32_t has_unknown;
	struct allocator_function functions[ALLOCATOR_MAX_FUNCTIONS];
};

struct elf_answer {
	int32_t err; /* 0, or a negative errno */
	uint32_t kind;
	union {
		char message[sizeof(((struct error *)0)->message)]; /* of an error */
		struct elf_identity identity;
		uint32_t proof;      /* enum call_proof */
		uint64_t table_hash; /* as table_key_hash() */
		struct elf_probe_points probe;
		struct elf_allocator_functions allocator;
		char library[PATH_MAX]; /* with NUL */
	};
};

/* How many bytes of an answer are sent. */
size_t elf_answer_get_size(const struct elf_answer *answer);

/*
 * Whether a message is an answer to a request of this kind. A file may have taken over the process
 * that sent it. In a valid answer numbers are within their bounds and texts have an end: nothing
 * else is guaranteed.
 */
bool elf_answer_is_valid(struct elf_answer *answer, size_t size, enum elf_request_kind kind);

#endif
