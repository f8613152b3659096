/*
 * A thread's own memory in the GNU C library on x86-64 (2.31, 2.36, 2.41), by offsets from the
 * thread pointer: struct pthread, which starts with tcbhead_t. For each of the first keys it has a
 * number, which is odd while the key is used, and the value.
 */
#ifndef RUNTIME_X86_64_GLIBC_THREAD_H
#define RUNTIME_X86_64_GLIBC_THREAD_H

#define GLIBC_THREAD_SELF     0
#define GLIBC_THREAD_SELF_TOO 16
#define GLIBC_THREAD_SEVERAL  24 /* 32 bits: whether there are several threads */
#define GLIBC_THREAD_DATA     0x310
#define GLIBC_THREAD_KEYS     32 /* number of keys */

#endif
