/*
 * The floor of all programs in the kernel: BPF programs that do nothing, at the tracepoints that are
 * named, until a signal comes: empty_hooks TRACEPOINT… Exits with 1 if the kernel lacks one of them.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long call_bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Returns a descriptor, or -1. */
static int load_empty(void)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uintptr_t)nothing;
	attr.insn_cnt = sizeof(nothing) / sizeof(nothing[0]);
	attr.license = (uintptr_t) "GPL";
	return (int)call_bpf(BPF_PROG_LOAD, &attr);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		union bpf_attr attr;

		memset(&attr, 0, sizeof(attr));
		attr.raw_tracepoint.name = (uintptr_t)argv[i];
		attr.raw_tracepoint.prog_fd = (uint32_t)load_empty();
		if (call_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr) < 0) {
			perror(argv[i]);
			return 1;
		}
	}
	pause();
	return 0;
}
