/* Replaces libbpf's header: a program is a plain function. */
#ifndef BPF_BPF_TRACING_H
#define BPF_BPF_TRACING_H

#define BPF_PROG(name, ...) name(void *ctx, ##__VA_ARGS__)

#endif
