/*
 * Threads that the program makes itself, by the system call, and whose stacks have no caller: nofp_raw_clone [SECONDS].
 * start_cleared, start_popped and start_described, one after the other; in each thread run_part and burn_part. The
 * last one says of its frame what is true for the maker alone.
 */
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"

#define STACK_BYTES (64 << 10)

static uint64_t part_ns;
static int is_running; /* cleared by the kernel when the thread has ended */

#if defined(__x86_64__)
/* They put the function on the new stack, give 0 for all but the flags and the id, and run it. */
long start_cleared(long flags, void *stack, int *id, void (*run)(void));
long start_popped(long flags, void *stack, int *id, void (*run)(void));
long start_described(long flags, void *stack, int *id, void (*run)(void));

__asm__(".text\n"
	".type start_cleared,@function\n"
	"start_cleared:\n"
	"mov %rcx,%r9\n"
	"mov %rdx,%r10\n"
	"xor %edx,%edx\n"
	"xor %r8d,%r8d\n"
	"mov $56,%eax\n"
	"syscall\n"
	"test %eax,%eax\n"
	"jnz 1f\n"
	"xor %ebp,%ebp\n"
	"call *%r9\n"
	"mov $60,%eax\n"
	"xor %edi,%edi\n"
	"syscall\n"
	"1: ret\n"
	".size start_cleared,.-start_cleared\n"
	".balign 16\n"
	".type start_popped,@function\n"
	"start_popped:\n"
	"sub $16,%rsi\n"
	"mov %rcx,(%rsi)\n"
	"mov %rdx,%r10\n"
	"xor %edx,%edx\n"
	"xor %r8d,%r8d\n"
	"push $56\n"
	"pop %rax\n"
	"syscall\n"
	"test %rax,%rax\n"
	"jz 1f\n"
	"ret\n"
	"1: pop %rax\n"
	"pop %rdi\n"
	"call *%rax\n"
	"mov %eax,%edi\n"
	"xor %eax,%eax\n"
	"mov $60,%al\n"
	"syscall\n"
	"hlt\n"
	".size start_popped,.-start_popped\n"
	".balign 16\n"
	".type start_described,@function\n"
	"start_described:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_rel_offset %rbx,0\n"
	"mov %rcx,%rbx\n"
	"mov %rdx,%r10\n"
	"xor %edx,%edx\n"
	"xor %r8d,%r8d\n"
	"mov $56,%eax\n"
	"syscall\n"
	"test %rax,%rax\n"
	"jnz 1f\n"
	"xor %ebp,%ebp\n"
	"call *%rbx\n"
	"mov $60,%eax\n"
	"xor %edi,%edi\n"
	"syscall\n"
	"ud2\n"
	"1: pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size start_described,.-start_described\n");

static volatile int num_returns;

static __attribute__((noinline)) void burn_part(void)
{
	spin_cpu_ns(part_ns);
	num_returns++;
}

static __attribute__((noinline)) void run_part(void)
{
	burn_part();
	num_returns++;
}

static int run_thread(long (*start)(long, void *, int *, void (*)(void)))
{
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		return 1;
	__atomic_store_n(&is_running, 1, __ATOMIC_RELEASE);
	if (start(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			  CLONE_CHILD_CLEARTID,
		  stack + STACK_BYTES, &is_running, run_part) < 0)
		return 1;
	while (__atomic_load_n(&is_running, __ATOMIC_ACQUIRE))
		usleep(1000);
	return 0;
}

int main(int argc, char **argv)
{
	part_ns = read_duration_ns(argc, argv, 1, 1) / 3;
	return run_thread(start_cleared) || run_thread(start_popped) || run_thread(start_described);
}
#else
int main(void)
{
	(void)part_ns;
	(void)is_running;
	return 0;
}
#endif
