/*
 * A 32-bit program without any library, as those of 32 bits are not on every machine: it is built with frame
 * pointers (compat_fp) and without (compat_nofp).
 */
static inline __attribute__((always_inline)) void call(int number, int argument)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(argument) : "memory");
}

#define OWN __attribute__((noinline, noclone))

OWN void leaf(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
}

OWN void enters_kernel(void)
{
	for (volatile int i = 0; i < 100; i++)
		call(20 /* getpid */, 0);
}

OWN void middle(void)
{
	leaf();
	enters_kernel();
	__asm__ volatile("");
}

OWN void by_pointer(void (*volatile function)(void))
{
	function();
	__asm__ volatile("");
}

void _start(void)
{
	for (volatile int i = 0; i < 200; i++) {
		middle();
		by_pointer(leaf);
	}
	call(1 /* exit */, 0);
}
