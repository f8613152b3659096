/*
 * The fixed-width types of wire headers, in BPF programs and in user space.
 */
#ifndef WIRE_TYPES_H
#define WIRE_TYPES_H

#ifndef __bpf__
#include <assert.h>
#include <stdint.h>
typedef uint8_t wire_u8;
typedef uint16_t wire_u16;
typedef uint32_t wire_u32;
typedef uint64_t wire_u64;
#else
typedef unsigned char wire_u8;
typedef unsigned short wire_u16;
typedef unsigned int wire_u32;
typedef unsigned long long wire_u64;
#endif

#endif
