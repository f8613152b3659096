/* Changes a BPF map without end: the kernel runs no program of a tracepoint on that CPU meanwhile. */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Large, so that a change takes its time. */
static char value[4096];

int main(void)
{
	uint32_t key = 0;
	union bpf_attr create = {.map_type = BPF_MAP_TYPE_HASH,
				 .key_size = sizeof(key),
				 .value_size = sizeof(value),
				 .max_entries = 1};
	union bpf_attr update = {.key = (uintptr_t)&key, .value = (uintptr_t)value};
	long fd = syscall(SYS_bpf, BPF_MAP_CREATE, &create, sizeof(create));

	if (fd < 0) {
		perror("bpf");
		return 1;
	}
	update.map_fd = (uint32_t)fd;
	for (;;)
		syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &update, sizeof(update));
}
