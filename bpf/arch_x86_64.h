/*
 * x86-64 in programs of the kernel: its user registers and their roles. kernel.h chooses it.
 */
#ifndef BPF_ARCH_X86_64_H
#define BPF_ARCH_X86_64_H

/*
 * The saved user registers: a fixed user-space interface (asm/ptrace.h), so they are not relocated.
 */
struct user_registers {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

/* Selectors of code: with FRED event delivery, the bits above them have other contents. */
#define USER_CODE                       0x33
#define USER_CODE_OF_32_BITS            0x23
#define REGISTERS_ARE_32_BIT(registers) (((registers)->cs & 0xffff) == USER_CODE_OF_32_BITS)
/* The register that holds the mode of the processor. */
#define MODE_REGISTER      cs
#define IS_USER_MODE(mode) (((mode)&3) == 3)

/*
 * User space's register for the address of thread-local variables, and pthread_self(); and the stack
 * pointer of a thread that does not run, in the kernel.
 */
struct thread_struct {
	unsigned long sp;
	unsigned long fsbase;
} __attribute__((preserve_access_index));
#define TASK_KERNEL_SP(task)      TASK_FIELD(task, thread.sp)
#define TASK_THREAD_POINTER(task) TASK_FIELD(task, thread.fsbase)

/* The number of a process's memory. No other memory has had it since the boot. */
struct memory_context {
	unsigned long long ctx_id;
} __attribute__((preserve_access_index));
#define MEMORY_NUMBER context.ctx_id

/*
 * C libraries keep the bounds of a thread's stack at offsets from the thread pointer, in [FIRST,
 * LAST]. Glibc 2.36 has them at 0x690, musl 1.2.3 at 0x48; versions may differ by some words.
 */
#define GLIBC_FIRST_BOUNDS 0x650
#define GLIBC_LAST_BOUNDS  0x710
#define MUSL_FIRST_BOUNDS  0x48
#define MUSL_LAST_BOUNDS   0x50

/* ---- code and its calls ---- */

#define PC_REGISTER     ip
#define FIRST_ARGUMENT  di
#define SECOND_ARGUMENT si
#define RETURN_VALUE    ax
/* Bytes on the stack for the return address of a call: returning pops them. */
#define RETURN_ADDRESS_BYTES 8
/* Read the return address at a function's first instruction. Returns 0, or another number. */
#define READ_RETURN_ADDRESS(ret, registers) \
	bpf_probe_read_user(ret, sizeof(*(ret)), (void *)(registers)->sp)
/*
 * Calls, by the 8 bytes before their return address: e8 and the distance; ff, by a register or
 * memory, in the lengths that kernels have.
 */
#define IS_DIRECT_CALL(code)      (((code) >> 24 & 0xff) == 0xe8)
#define GET_CALL_TARGET(code, pc) ((pc) + (__u64)(__s64)(__s32)((code) >> 32))
#define IS_CALL_BY_REGISTER(code)                                                  \
	(((code) >> 48 & 0xf8ff) == 0xd0ff || ((code) >> 48 & 0xf8ff) == 0x10ff || \
	 ((code) >> 40 & 0xf8ff) == 0x50ff || ((code) >> 16 & 0xf8ff) == 0x90ff)
/* Size of the longest instruction, in bytes. */
#define MAX_INSTRUCTION 15

/* ---- signals ---- */

/*
 * The kernel puts a signal's ucontext at a multiple of this, below the registers' extended state.
 * This state takes less than 12 KiB on any CPU.
 */
#define CONTEXT_ALIGNMENT 64
#define MAX_CONTEXTS      192

/* ---- system calls ---- */

/*
 * In thread_info.status during a call of the 32-bit table (TS_COMPAT). 64-bit code makes such a call
 * by int $0x80, and its registers do not show that.
 */
#define CALL_STATUS_32_BIT 0x0002
/* On numbers of calls with pointers of 32 bits in 64-bit code (x32). */
#define SHORT_POINTERS_BIT 0x40000000

/*
 * The saved result of a call is -ENOSYS from its entry until its function returns. Interrupts and
 * faults have negative numbers.
 */
#define CALL_HAS_NOT_RETURNED(registers) \
	((int)(registers)->orig_ax >= 0 && (registers)->ax == -38ul)

#define CALL_REGISTER   orig_ax
#define CALL_ARGUMENT_1 di
#define CALL_ARGUMENT_2 si
/* System calls that wait for futexes: futex(), futex_waitv(), futex_wait(). */
#define SYSCALL_FUTEX       202
#define SYSCALL_FUTEX_WAITV 449
#define SYSCALL_FUTEX_WAIT  455
/* The same of 32-bit code, where the latter two have the same numbers. */
#define CALL_ARGUMENT_1_32      bx
#define CALL_ARGUMENT_2_32      cx
#define SYSCALL_FUTEX_32        240
#define SYSCALL_FUTEX_TIME64_32 422
/* System calls that make a thread: clone(), fork(), vfork(), clone3(). */
#define MAKES_THREAD(number) (((number) >= 56 && (number) <= 58) || (number) == 435)
#define MAKES_THREAD_32(number) \
	((number) == 120 || (number) == 2 || (number) == 190 || (number) == 435)
/* Those that execute a program: execve(), execveat(), and these two of x32. */
#define EXECUTES(number)    ((number) == 59 || (number) == 322 || (number) == 520 || (number) == 545)
#define EXECUTES_32(number) ((number) == 11 || (number) == 358)
/* Those that end a thread: exit(), exit_group(). */
#define ENDS_THREAD(number)    ((number) == 60 || (number) == 231)
#define ENDS_THREAD_32(number) ((number) == 1 || (number) == 252)

/* ---- registers that hold the state of runtimes ---- */

#define GOROUTINE_REGISTER        r14 /* since Go 1.17 */
#define HOTSPOT_BYTECODE_REGISTER r13
#define PHP_FRAME_REGISTER        r14
#define PHP_INSTRUCTION_REGISTER  r15
#define RUBY_FRAME_REGISTER       r15
#define RUBY_INSTRUCTION_REGISTER r14

#endif
