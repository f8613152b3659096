/* Possible targets of direct calls: the cache of objfile_prove_call(), kept in the objfile. */
#ifndef OBJFILE_CALL_PROOF_H
#define OBJFILE_CALL_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/intern.h"
#include "objfile/objfile.h"

struct proven_call {
	uint64_t return_address; /* ELF addresses */
	uint64_t callee;
	enum call_proof proof;
};
INTERN_TABLE(proven_calls, struct proven_call, return_address, callee);

/* The architecture that decodes the file's calls; NULL: none. 32-bit code has that of 64 bits. */
const struct architecture *objfile_get_call_architecture(const struct objfile *objfile);

/* Borrowed. */
struct proven_calls *objfile_get_proven_calls(struct objfile *objfile);

/* Whether it is 32-bit code, which is decoded as 64-bit code, see call_proof.c. */
bool objfile_is_32_bit(const struct objfile *objfile);

#endif
