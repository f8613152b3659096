/*
 * Where direct calls can have led: what objfile_prove_call() has found out, and keeps in the objfile.
 */
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

/* Borrowed; NULL where the code is of an architecture that is not decoded. */
struct proven_calls *objfile_get_proven_calls(struct objfile *objfile);

/* Whether its code is decoded as what it is not, see call_proof.c. */
bool objfile_is_32_bit(const struct objfile *objfile);

#endif
