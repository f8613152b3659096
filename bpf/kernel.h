/*
 * The few kernel types and fields that our programs use, relocated at load time (CO-RE). No kernel
 * headers and no generated vmlinux.h are needed.
 */
#ifndef KERNEL_H
#define KERNEL_H

#if defined(__TARGET_ARCH_x86)
#include "arch_x86_64.h"
#else
#error "unknown architecture; see objfile/architecture.h"
#endif

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* From the kernel's user-space interface: stable numbers. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_USER_STACK = 1 << 8, BPF_F_NO_PREALLOC = 1 << 0, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

#define PF_KTHREAD 0x00200000

/*
 * Helpers that not every kernel has. Checks for them are resolved at load time from the kernel's
 * own list, and the verifier ignores code behind a failed check.
 */
enum bpf_func_id {
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_get_attach_cookie = 174,
	BPF_FUNC_task_pt_regs = 175,
};
#define HAS_HELPER(name) bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_##name)

struct bpf_pidns_info {
	__u32 pid;
	__u32 tgid;
};

/* Memory in which the kernel runs the replaced instructions of probed programs. */
struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long start_brk, brk, start_stack;
	struct uprobes_state uprobes_state;
	struct memory_context context;
} __attribute__((preserve_access_index));

/* A function whose return is probed; the list of a thread has the innermost one first. */
struct return_instance {
	unsigned long orig_ret_vaddr;
	unsigned long stack; /* where the return address is, if calls push it */
	struct return_instance *next;
} __attribute__((preserve_access_index));

struct uprobe_task {
	unsigned long vaddr;     /* of the instruction that a breakpoint has replaced */
	unsigned long xol_vaddr; /* address where it is executed */
	struct return_instance *return_instances;
} __attribute__((preserve_access_index));

struct vm_area_struct {
	unsigned long vm_start, vm_end;
} __attribute__((preserve_access_index));

struct thread_info {
	__u32 cpu;
	__u32 status;        /* of x86: the table of the system call under way */
	__u64 preempt_count; /* the count is its lower half */
} __attribute__((preserve_access_index));

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct upid {
	int nr; /* always the first */
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;     /* of the innermost namespace that has it */
	struct upid numbers[1]; /* one for each, from the first namespace on */
} __attribute__((preserve_access_index));

struct kernfs_node {
	__u64 id;
} __attribute__((preserve_access_index));

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} __attribute__((preserve_access_index));

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct css_set {
	struct cgroup *dfl_cgrp; /* in the hierarchy of version 2 */
} __attribute__((preserve_access_index));

/* Scheduling of a thread, ns of the scheduler's own clock. Not in every kernel. */
struct sched_info {
	__u64 run_delay;    /* in run queues, before it last got a CPU or left a queue */
	__u64 last_arrival; /* when it last got a CPU */
	__u64 last_queued;  /* when it entered the queue that it is in; 0: it is in none */
} __attribute__((preserve_access_index));

struct sched_entity {
	__u64 sum_exec_runtime; /* as of the last tick, or when it left a CPU */
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	void *stack; /* the kernel's, of THREAD_SIZE bytes; user registers are at its end */
	unsigned int __state;
	unsigned int on_cpu; /* not in kernels for one CPU; its size differs */
	int exit_state;
	unsigned int cpu;
	int prio;
	struct sched_entity se;
	struct sched_info sched_info;
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	__u64 start_time;
	__u64 self_exec_id;
	unsigned long nvcsw, nivcsw;
	unsigned int in_execve : 1;
	unsigned long sas_ss_sp, sas_ss_size;
	struct thread_struct thread;
	char comm[16];
} __attribute__((preserve_access_index));

struct irqaction {
	const char *name;
} __attribute__((preserve_access_index));

struct work_struct {
	void *func;
} __attribute__((preserve_access_index));

struct gendisk {
	unsigned int major;
	unsigned int first_minor;
} __attribute__((preserve_access_index));

struct request_queue {
	struct gendisk *disk;
} __attribute__((preserve_access_index));

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	__u64 __sector;
} __attribute__((preserve_access_index));

/* Before Linux 5.17. */
struct request___with_disk {
	struct gendisk *rq_disk;
} __attribute__((preserve_access_index));

/* Before Linux 5.14. */
struct task_struct___with_state {
	volatile long state;
} __attribute__((preserve_access_index));

#define REGISTERS_IN_USER_MODE(registers) IS_USER_MODE((registers).MODE_REGISTER)

/* The context of a program that is run for every task, and in the end for none: fixed, too. */
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* The context of a perf_event program: likewise (linux/bpf_perf_event.h). */
struct bpf_perf_event_data {
	struct user_registers regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
