/*
 * The file table reads the build ID of each file it has just opened, before it knows whether
 * it is the file it looks for. The same answer has all other facts of the file, kept by
 * descriptor. If the table closes it, another file gets it and is asked about in turn.
 *
 * The recorder waits for the answer, as the build ID decides which file it is. If a user's files
 * make it wait for long, they are given up after some of them. Proofs have a time budget: a hostile
 * program can make new calls in each sample.
 */
#include "collect/elf/elf_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/intern.h"

/* Time for proofs: so much at once, and this part of the time that passes. */
#define PROOF_BURST_NS    NS_PER_SECOND
#define PROOF_TIME_FACTOR 10

struct facts {
	int err; /* of reading it */
	struct objfile_layout layout;
	struct runtime_build *runtime; /* NULL: none */
};

struct proof {
	uint32_t file;
	uint64_t return_address; /* ELF addresses */
	uint64_t callee;
	enum call_proof proof;
};
INTERN_TABLE(proof_table, struct proof, file, return_address, callee);

struct elf_files {
	struct elf_worker *worker;
	ARRAY(struct facts) facts; /* by descriptor */
	struct proof_table proofs;
	uint64_t start_ns;
	uint64_t proof_ns; /* spent so far */
};

int elf_files_new(uid_t user, struct elf_files **ret)
{
	struct elf_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->start_ns = clock_now_ns();
	err = elf_worker_new(user, true, &files->worker);
	if (err) {
		free(files);
		return err;
	}
	*ret = files;
	return 0;
}

void elf_files_free(struct elf_files *files)
{
	if (!files)
		return;
	elf_worker_free(files->worker);
	array_for_each (&files->facts, facts) {
		array_release(&facts->layout.segments);
		free(facts->runtime);
	}
	array_release(&files->facts);
	proof_table_release(&files->proofs);
	free(files);
}

void elf_files_finish(struct elf_files *files)
{
	elf_worker_stop(files->worker);
}

static int set_layout(struct facts *facts, const struct elf_identity *identity)
{
	facts->layout.segments.length = 0;
	for (uint32_t i = 0; i < identity->num_segments; i++) {
		struct objfile_segment *segment = array_add(&facts->layout.segments);

		if (!segment)
			return -ENOMEM;
		*segment = (struct objfile_segment){
			.file_offset = identity->segments[i].file_offset,
			.file_size = identity->segments[i].file_size,
			.elf_address = identity->segments[i].elf_address,
			.memory_size = identity->segments[i].memory_size,
			.is_executable = identity->segments[i].is_executable != 0,
		};
	}
	return 0;
}

/* Few files contain a runtime. */
static int set_runtime(struct facts *facts, const struct elf_identity *identity)
{
	free(facts->runtime);
	facts->runtime = NULL;
	if (!identity->has_runtime)
		return 0;
	facts->runtime = malloc(sizeof(*facts->runtime));
	if (!facts->runtime)
		return -ENOMEM;
	*facts->runtime = identity->runtime;
	return 0;
}

int elf_files_read_build_id(void *context, int fd, uint8_t *build_id, uint8_t *size)
{
	struct elf_files *files = context;
	const struct elf_source_file file = {
		.fd = fd, .owner = file_owner_get(fd), .path = "a mapped file"};
	struct elf_identity identity;
	struct facts *facts;

	while (files->facts.length <= (size_t)fd)
		if (!array_add(&files->facts))
			return -ENOMEM;
	facts = &files->facts.items[fd];
	facts->err = elf_worker_identify(files->worker, &file, &identity);
	if (!facts->err)
		facts->err = set_layout(facts, &identity);
	if (!facts->err)
		facts->err = set_runtime(facts, &identity);
	if (facts->err)
		return facts->err;
	if (!identity.build_id_size)
		return -ENODATA;
	memcpy(build_id, identity.build_id, identity.build_id_size);
	*size = (uint8_t)identity.build_id_size;
	return 0;
}

int elf_files_get_layout(const struct elf_files *files, const struct mapped_file *mapped,
			 const struct objfile_layout **ret)
{
	const struct facts *facts;

	if (mapped->fd < 0 || files->facts.length <= (size_t)mapped->fd)
		return -ENOENT;
	facts = &files->facts.items[mapped->fd];
	*ret = &facts->layout;
	return facts->err;
}

const struct runtime_build *elf_files_get_runtime(const struct elf_files *files,
						  const struct mapped_file *mapped)
{
	if (mapped->fd < 0 || files->facts.length <= (size_t)mapped->fd)
		return NULL;
	return files->facts.items[mapped->fd].runtime;
}

static bool is_budget_left(const struct elf_files *files)
{
	uint64_t passed_ns = clock_now_ns() - files->start_ns;

	return files->proof_ns < PROOF_BURST_NS + passed_ns / PROOF_TIME_FACTOR;
}

int elf_files_prove_call(struct elf_files *files, uint32_t number, const struct mapped_file *mapped,
			 uint64_t return_address, uint64_t callee, enum call_proof *ret)
{
	const struct elf_source_file file = {
		.fd = mapped->fd, .owner = mapped->owner, .number = number, .path = mapped->path};
	struct proof proof = {.file = number, .return_address = return_address, .callee = callee};
	uint32_t place = proof_table_find(&files->proofs, &proof);
	uint64_t start_ns;
	int err;

	*ret = CALL_UNPROVEN;
	if (place != HASH_INDEX_NONE) {
		*ret = files->proofs.items[place].proof;
		return 0;
	}
	if (!is_budget_left(files))
		return 0;
	start_ns = clock_now_ns();
	err = elf_worker_prove_call(files->worker, &file, return_address, callee, &proof.proof);
	files->proof_ns += clock_now_ns() - start_ns;
	if (err || !mapped_file_is_unchanged(mapped))
		proof.proof = CALL_UNPROVEN;
	*ret = proof.proof;
	return proof_table_add(&files->proofs, &proof, &place);
}

struct elf_worker_cost elf_files_get_cost(const struct elf_files *files)
{
	return elf_worker_get_cost(files->worker);
}
