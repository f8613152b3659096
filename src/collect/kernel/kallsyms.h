/* Reads /proc/kallsyms, the addresses of kernel functions, line by line. */
#ifndef COLLECT_KERNEL_KALLSYMS_H
#define COLLECT_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The longest line of Linux has some 600: a name has up to 511 (KSYM_NAME_LEN). */
#define KALLSYMS_LINE_BYTES 1024

struct kallsyms_symbol {
	uint64_t address; /* 0: hidden from us */
	/* Or of a BPF program; after the kernel's own, which are in order of address. */
	bool is_of_module;
	char name[KALLSYMS_LINE_BYTES];
};

/* The next line that is a symbol. False at the end. */
bool kallsyms_next(FILE *kallsyms, struct kallsyms_symbol *ret);

#endif
