/*
 * Facts of the mapped files, which other processes read (elf_worker.h): their build IDs for the
 * file table, their layout in memory, and call proofs.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_ELF_ELF_FILES_H
#define COLLECT_ELF_ELF_FILES_H

#include "base/attributes.h"
#include "collect/elf/elf_worker.h"
#include "process/file_table.h"
#include "runtime/runtime.h"

struct elf_files;

/* user   whom the processes become, if we are root. Returns 0 or negative errno. */
_must_check_ int elf_files_new(uid_t user, struct elf_files **ret);
void elf_files_free(struct elf_files *files);

/* End the processes: no more requests. */
void elf_files_finish(struct elf_files *files);

/* A file_build_id_reader, whose context is the struct elf_files. */
int elf_files_read_build_id(void *files, int fd, uint8_t *build_id, uint8_t *size);

/*
 * Get the layout of a file of the file table that is open. It is borrowed until the next build ID
 * is read. Returns 0; -ENOEXEC and other errnos if the file is not open, not ELF or broken;
 * -ETIMEDOUT, -ECHILD or -EBADMSG if no process can read it.
 */
_must_check_ int elf_files_get_layout(const struct elf_files *files,
				      const struct mapped_file *mapped,
				      const struct objfile_layout **ret);

/*
 * The runtime in it, known or not; NULL: none was found. Borrowed until the next build ID is read.
 */
const struct runtime_build *elf_files_get_runtime(const struct elf_files *files,
						  const struct mapped_file *mapped);

/* As objfile_prove_call(). If no process can read the file, nothing is proven. */
_must_check_ int elf_files_prove_call(struct elf_files *files, uint32_t number,
				      const struct mapped_file *mapped, uint64_t return_address,
				      uint64_t callee, enum call_proof *ret);

struct elf_worker_cost elf_files_get_cost(const struct elf_files *files);

#endif
