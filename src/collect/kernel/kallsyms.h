/* /proc/kallsyms, line by line: where in the kernel functions lie. */
#ifndef COLLECT_KERNEL_KALLSYMS_H
#define COLLECT_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The longest line of Linux has some 600: a name has up to 511 (KSYM_NAME_LEN). */
#define KALLSYMS_LINE_BYTES 1024

struct kallsyms_symbol {
	uint64_t address; /* 0: hidden from us */
	bool is_of_module; /* or of a BPF program. These come last; the kernel's own, in order of address */
	char name[KALLSYMS_LINE_BYTES];
};

/* The next line that is a symbol. False at the end. */
bool kallsyms_next(FILE *kallsyms, struct kallsyms_symbol *ret);

#endif
