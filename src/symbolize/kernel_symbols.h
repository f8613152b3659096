/*
 * Names of kernel code: the kernel itself, its modules, BPF programs. Sources are kallsyms and the
 * PERF_RECORD_KSYMBOL events of the recording, as BPF programs may be gone at its end. kallsyms has
 * megabytes: only symbols of addresses that are asked for are kept.
 *
 * Not thread-safe.
 */
#ifndef SYMBOLIZE_KERNEL_SYMBOLS_H
#define SYMBOLIZE_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct kernel_symbols;

struct kernel_symbol {
	const char *name;   /* NULL: only the module is known */
	const char *module; /* "nf_tables", "[bpf]", "[kernel]" */
	uint64_t offset;    /* from the start of the symbol; of the module when name is NULL */
};

struct kernel_symbols *kernel_symbols_new(void); /* NULL when out of memory */
void kernel_symbols_free(struct kernel_symbols *symbols);

/* An address that kernel_symbols_find() will get; before the lists are read. Returns 0 or -ENOMEM. */
_must_check_ int kernel_symbols_want(struct kernel_symbols *symbols, uint64_t address);

/*
 * Read PROC_ROOT/kallsyms and PROC_ROOT/modules. For the running kernel ("/proc"), standard input
 * is read instead if it is /proc/kallsyms. Nothing happens if they were read for all the addresses
 * before. Unreadable files count as empty.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int kernel_symbols_load(struct kernel_symbols *symbols, const char *proc_root);

/*
 * The same from text in memory (tests, fuzzing), replacing symbols that were loaded before.
 * Malformed lines are skipped.
 *
 * Source: Linux kernel/kallsyms.c s_show(), kernel/module/procfs.c m_show().
 */
_must_check_ int kernel_symbols_load_text(struct kernel_symbols *symbols, const char *kallsyms,
					  size_t kallsyms_size, const char *modules,
					  size_t modules_size);

/*
 * Add code by event, of known size. It takes precedence over kallsyms, and later events over earlier
 * ones. name is copied. Returns 0 or -ENOMEM.
 */
_must_check_ int kernel_symbols_add(struct kernel_symbols *symbols, uint64_t start,
				    uint64_t size_bytes, const char *name);

/*
 * The symbol that contains a wanted address. It ends at the next one, or at the end of kernel text
 * (_etext, _einittext) or of its module. If no such end is known, it ends with its page.
 *
 * ret   borrowed until the next load
 *
 * Returns 0 or -ENOENT.
 */
_must_check_ int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
				     struct kernel_symbol *ret);

/* kallsyms had symbols, but all addresses were zero. */
bool kernel_symbols_is_restricted(const struct kernel_symbols *symbols);

#endif
