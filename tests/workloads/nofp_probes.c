/*
 * Functions and probes that are passed so often, with known amounts: what a profiler counts of them is to be that.
 *
 * usage: nofp_probes CALLS [THREADS]     each thread: CALLS calls of handle_request
 *        nofp_probes - [LINE…]           a line of standard input: how many watch the probe is printed
 *
 * handle_request gets 0, 1, 2 … 99 bytes, and so on, and returns three times as much, or -1 for 99. It passes the probe
 * workload:request with its bytes, and for every other call a second place of the same name. The semaphore of that
 * probe is looked at first, as programs do.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* As <sys/sdt.h> has it, which is not on every machine. */
#define PROBE(name, constraint, argument)                                                        \
	__asm__ volatile("990: nop\n"                                                            \
			 ".pushsection .note.stapsdt,\"\",\"note\"\n"                            \
			 ".balign 4\n"                                                           \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                      \
			 "991: .asciz \"stapsdt\"\n"                                             \
			 "992: .balign 4\n"                                                      \
			 "993: .8byte 990b\n"                                                    \
			 ".8byte _.stapsdt.base\n"                                               \
			 ".8byte request_semaphore\n"                                            \
			 ".asciz \"workload\"\n"                                                 \
			 ".asciz \"" #name "\"\n"                                                \
			 ".asciz \"-8@%0\"\n"                                                    \
			 "994: .balign 4\n"                                                      \
			 ".popsection\n"                                                         \
			 ".ifndef _.stapsdt.base\n"                                              \
			 ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 ".weak _.stapsdt.base\n"                                                \
			 ".hidden _.stapsdt.base\n"                                              \
			 "_.stapsdt.base: .space 1\n"                                            \
			 ".size _.stapsdt.base, 1\n"                                             \
			 ".popsection\n"                                                         \
			 ".endif\n"                                                              \
			 :                                                                       \
			 : constraint(argument))

volatile unsigned short request_semaphore __attribute__((section(".probes"), used));

static long num_calls;

static __attribute__((noinline)) long handle_request(long bytes)
{
	if (request_semaphore) {
		PROBE(request, "r", bytes);
		if (bytes & 1) {
			volatile long on_stack = bytes;

			PROBE(request, "m", on_stack);
		}
	}
	return bytes == 99 ? -1 : bytes * 3;
}

/* Inlined wherever it is called. */
static inline __attribute__((always_inline)) long inlined_request(long bytes)
{
	return handle_request(bytes) + 1;
}

static __attribute__((noinline)) void *call_often(void *unused)
{
	for (long i = 0; i < num_calls; i++) {
		long result = inlined_request(i % 100);

		__asm__ volatile("" : : "r"(result)); /* else nothing would be returned */
	}
	return unused;
}

static int tell_watchers(void)
{
	int c;

	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		printf("%d\n", request_semaphore);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int num_threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[64];

	if (argc < 2 || num_threads < 1 || num_threads > 64)
		return 2;
	if (argv[1][0] == '-')
		return tell_watchers();
	num_calls = atol(argv[1]);
	for (int i = 1; i < num_threads; i++)
		if (pthread_create(&threads[i], NULL, call_often, NULL))
			return 1;
	call_often(NULL);
	for (int i = 1; i < num_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
