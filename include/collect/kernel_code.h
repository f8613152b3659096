/* Kernel code that /proc/kallsyms did not have when the recording started. */
#ifndef COLLECT_KERNEL_CODE_H
#define COLLECT_KERNEL_CODE_H

#include <stdint.h>

/* Kernel code that appeared while recording: a BPF program, a trampoline. */
struct kernel_code {
	uint64_t start;
	uint64_t size_bytes;
	char name[128];
};

#endif
