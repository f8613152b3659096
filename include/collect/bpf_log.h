/*
 * What libbpf and the kernel say about BPF programs, passed on to a person with -v.
 */
#ifndef COLLECT_BPF_LOG_H
#define COLLECT_BPF_LOG_H

#include <stdbool.h>

struct bpf_object;

/* From now on libbpf's warnings are debug messages. */
void bpf_log_start(void);

/* Whether somebody reads how many instructions were verified. */
bool bpf_log_is_wanted(void);

/*
 * Have loading say, for every program that is to be loaded, how many instructions the kernel has
 * verified. An object that is refused then lacks the kernel's reason: load it again without.
 */
void bpf_log_count_instructions(struct bpf_object *object);

#endif
