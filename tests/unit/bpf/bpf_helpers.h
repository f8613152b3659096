/* Replaces libbpf's header: the kernel's helpers on fake_kernel.h. */
#ifndef BPF_BPF_HELPERS_H
#define BPF_BPF_HELPERS_H

#include "bpf/fake_kernel.h"

#define SEC(name)
#define __ksym
#define __weak __attribute__((weak))
#undef __always_inline
#define __always_inline  inline
#define barrier()        asm volatile("" ::: "memory")
#define barrier_var(var) asm volatile("" : "+r"(var))

/* Members of map variables; numbers become array lengths. */
#define __uint(name, number) int(*name)[number]
#define __type(name, type)   typeof(type) *name
#define __array(name, type)  typeof(type) *name[]

static inline void *bpf_map_lookup_elem(void *map, void *key)
{
	return fake_map_lookup(fake_map_find(map), key);
}

/* flags  1: the key must be new */
static inline long bpf_map_update_elem(void *map, void *key, void *value, uint64_t flags)
{
	if (flags == 1 && fake_map_lookup(fake_map_find(map), key))
		return -1;
	return fake_map_update(fake_map_find(map), key, value);
}

static inline long bpf_map_delete_elem(void *map, void *key)
{
	return fake_map_delete(fake_map_find(map), key);
}

/* A map of type stack. */
static inline long bpf_map_push_elem(void *map, void *value, uint64_t flags _unused_)
{
	struct fake_map *stack = fake_map_find(map);

	if (stack->num_entries == stack->max_entries)
		return -1;
	memcpy(stack->values + stack->num_entries++ * stack->value_size, value, stack->value_size);
	return 0;
}

static inline long bpf_map_pop_elem(void *map, void *value)
{
	struct fake_map *stack = fake_map_find(map);

	if (!stack->num_entries)
		return -1;
	memcpy(value, stack->values + --stack->num_entries * stack->value_size, stack->value_size);
	return 0;
}

static inline void *bpf_task_storage_get(void *map, void *task, void *value, uint64_t flags)
{
	struct fake_map *storage = fake_map_find(map);
	void *found = fake_map_lookup(storage, &task);

	if (found || !flags || fake_map_update(storage, &task, value))
		return found;
	return fake_map_lookup(storage, &task);
}

static inline long bpf_ringbuf_output(void *ring _unused_, void *bytes, uint64_t size,
				      uint64_t flags)
{
	fake_kernel.num_forced_wakeups += flags == 2;
	if (fake_kernel.ring_bytes && size > fake_kernel.ring_bytes)
		return -1;
	return fake_record_add(&fake_kernel.ring_room, bytes, size);
}

/* flags  0: bytes in the ring, 1: its size */
static inline uint64_t bpf_ringbuf_query(void *ring _unused_, uint64_t flags)
{
	return flags ? 4096 : fake_kernel.ring_quarters * 1024;
}

static inline long bpf_seq_write(void *seq _unused_, void *bytes, uint64_t size)
{
	return fake_record_add(&fake_kernel.seq_room, bytes, size);
}

static inline unsigned long long bpf_ktime_get_ns(void)
{
	fake_kernel.now_ns += fake_kernel.clock_step_ns;
	return fake_kernel.now_ns;
}

static inline unsigned long long bpf_ktime_get_boot_ns(void)
{
	return fake_kernel.now_ns + fake_kernel.boot_offset_ns;
}

static inline unsigned int bpf_get_prandom_u32(void)
{
	return fake_kernel.random;
}

static inline unsigned int bpf_get_smp_processor_id(void)
{
	return fake_kernel.cpu;
}

static inline unsigned long long bpf_get_current_pid_tgid(void)
{
	return fake_kernel.pid_tgid;
}

static inline unsigned long long bpf_get_current_task(void)
{
	return (uintptr_t)fake_kernel.task;
}

static inline void *bpf_get_current_task_btf(void)
{
	return fake_kernel.task;
}

static inline long bpf_get_current_comm(void *ret, uint32_t size)
{
	strncpy(ret, fake_kernel.comm, size);
	return 0;
}

static inline long bpf_task_pt_regs(void *task _unused_)
{
	return (long)(uintptr_t)fake_kernel.registers;
}

static inline long bpf_current_task_under_cgroup(void *map _unused_, uint32_t index _unused_)
{
	return fake_kernel.is_under_cgroup;
}

/* In the thread's own PID namespace alone. */
static inline long bpf_get_ns_current_pid_tgid(uint64_t device, uint64_t inode,
					       struct bpf_pidns_info *ret, uint32_t size)
{
	if (size != sizeof(*ret) || device != fake_kernel.namespace_dev ||
	    inode != fake_kernel.namespace_inode)
		return -1;
	ret->pid = (uint32_t)fake_kernel.namespace_pid_tgid;
	ret->tgid = fake_kernel.namespace_pid_tgid >> 32;
	return 0;
}

static inline long bpf_probe_read_kernel(void *ret, uint32_t size, const void *from)
{
	if (!from) {
		memset(ret, 0, size);
		return -1;
	}
	memcpy(ret, from, size);
	return 0;
}

/* Returns the number of bytes written, including the NUL. */
static inline long bpf_probe_read_kernel_str(void *ret, uint32_t size, const void *from)
{
	size_t length = strnlen(from, size - 1);

	memcpy(ret, from, length);
	((char *)ret)[length] = '\0';
	return (long)length + 1;
}

static inline long bpf_probe_read_user(void *ret, uint32_t size, const void *from)
{
	return fake_memory_read(ret, size, (uintptr_t)from);
}

static inline long bpf_probe_read_user_str(void *ret, uint32_t size, const void *from)
{
	char *text = ret;

	for (uint32_t i = 0; i < size; i++) {
		if (fake_memory_read(&text[i], 1, (uintptr_t)from + i))
			return -1;
		if (!text[i])
			return i + 1;
	}
	text[size - 1] = '\0';
	return size;
}

static inline long bpf_copy_from_user_task(void *ret, uint32_t size, const void *from,
					   void *task _unused_, uint64_t flags _unused_)
{
	return fake_memory_read(ret, size, (uintptr_t)from);
}

static inline long fake_stack_copy(void *ret, uint32_t size, const uint64_t *pcs, uint64_t num)
{
	uint64_t bytes = num * sizeof(*pcs);

	bytes = bytes < size ? bytes : size;
	memcpy(ret, pcs, bytes);
	return (long)bytes;
}

/* flags  0: kernel stack, else user stack */
static inline long bpf_get_stack(void *context _unused_, void *ret, uint32_t size, uint64_t flags)
{
	return flags ? fake_stack_copy(ret, size, fake_kernel.user_stack,
				       fake_kernel.num_user_frames)
		     : fake_stack_copy(ret, size, fake_kernel.kernel_stack,
				       fake_kernel.num_kernel_frames);
}

static inline long bpf_get_task_stack(void *task _unused_, void *ret, uint32_t size,
				      uint64_t flags _unused_)
{
	return fake_stack_copy(ret, size, fake_kernel.kernel_stack, fake_kernel.num_kernel_frames);
}

static inline long bpf_find_vma(void *task, uint64_t address _unused_, void *handle, void *context,
				uint64_t flags _unused_)
{
	long (*function)(void *, void *, void *) = (long (*)(void *, void *, void *))handle;

	return fake_kernel.vma ? function(task, fake_kernel.vma, context) : -1;
}

static inline unsigned long long bpf_get_attach_cookie(void *context _unused_)
{
	return fake_kernel.cookie;
}

static inline void *bpf_this_cpu_ptr(const void *variable)
{
	return (void *)(uintptr_t)variable;
}

#endif
