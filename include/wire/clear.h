/* Clearing parts of records, in BPF programs and in code shared by these and tests. */
#ifndef WIRE_CLEAR_H
#define WIRE_CLEAR_H

/*
 * Clear a number of bytes. Compilers for BPF reject a memset() of such sizes: a program defines this
 * before.
 */
#ifndef WIRE_CLEAR
#define WIRE_CLEAR(bytes, num_bytes) __builtin_memset(bytes, 0, num_bytes)
#endif

#endif
