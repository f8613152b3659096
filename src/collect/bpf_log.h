/* Messages of libbpf and of the kernel's verifier, shown with -v. */
#ifndef COLLECT_BPF_LOG_H
#define COLLECT_BPF_LOG_H

#include <stdbool.h>

struct bpf_object;

/* From now on libbpf's warnings are debug messages. */
void bpf_log_start(void);

/* Whether -v is on, so that instructions should be counted. */
bool bpf_log_is_enabled(void);

/*
 * Log, for every program of the object, how many instructions the kernel verified. If loading then
 * fails, the log lacks the verifier's reason: load the object again without this.
 */
void bpf_log_count_instructions(struct bpf_object *object);

#endif
