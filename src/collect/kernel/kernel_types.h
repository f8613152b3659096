/*
 * A small copy of the kernel's types (BTF): of those that a BPF object accesses, for its relocation
 * at load time (CO-RE). libbpf itself would index all 150,000 types of the kernel, and go through
 * them once more for each name.
 *
 * Source: the kernel's Documentation/bpf/btf.rst.
 */
#ifndef COLLECT_KERNEL_KERNEL_TYPES_H
#define COLLECT_KERNEL_KERNEL_TYPES_H

#include <stddef.h>

#include "base/attributes.h"

struct btf;

/*
 * Copy the structs, unions and enumerations of the same names as those of an object, with the
 * members of the same names as its members.
 *
 * types, size  BTF of the kernel, as in /sys/kernel/btf/vmlinux
 * wanted       types of the object
 * ret          the caller frees it by btf__free()
 *
 * Returns 0, -ENOMEM, or -ENOTSUP for types that cannot be copied.
 */
_must_check_ int kernel_types_copy(const void *types, size_t size, const struct btf *wanted,
				   struct btf **ret);

/*
 * The same with the types of the running kernel, written to a file of libbpf's format.
 *
 * fd  empty, for writing
 *
 * Returns likewise, or another negative errno.
 */
_must_check_ int kernel_types_write(const struct btf *wanted, int fd);

#endif
