/*
 * Claims to be CPython 3.11, by symbols and offsets: its interpreters, threads, frames and strings go in circles, are as
 * long as numbers go, or lie nowhere. Uses CPU time in what it calls its evaluation.
 *
 * usage: fake_python circle|deep|threads|nowhere|long SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "../spin.h"

#define CODE_OBJECT_BYTES 184 /* PyCode_Type.tp_basicsize of 3.11 */

const unsigned long Py_Version = 0x030b07f0;
uint64_t PyCode_Type[64] = {[4] = CODE_OBJECT_BYTES};
uint64_t _PyRuntime[512];

/* Objects by 8 bytes, as 3.11 lays them out. */
static uint64_t interpreter[16];
static uint64_t threads[2][64];
static uint64_t cframe[4];
static uint64_t frame[16];
static uint64_t code[64];
static uint64_t text[16];

void _PyEval_EvalFrameDefault(uint64_t cpu_ns);

static uint64_t get_address(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

/* All is where it has to be, and leads to itself. */
static void make_circle(void)
{
	_PyRuntime[5] = get_address(interpreter);
	interpreter[0] = get_address(interpreter);
	interpreter[2] = get_address(threads[0]);
	threads[0][1] = get_address(threads[0]);
	threads[0][19] = (uint64_t)pthread_self();
	threads[0][7] = get_address(cframe);
	cframe[1] = get_address(frame);
	frame[4] = get_address(code);
	frame[6] = get_address(frame);
	frame[7] = get_address(code) + CODE_OBJECT_BYTES;
	frame[8] = 1ull << 32; /* is_entry */
	code[9] = 1;
	code[14] = code[16] = get_address(text);
	code[17] = get_address(text);
	text[2] = 4;
	text[4] = 0xe4; /* ASCII, compact, of one byte */
	memcpy(&text[6], "evil", 4);
}

/* Noinline: a call of it is a level of the stack. */
__attribute__((noinline)) void _PyEval_EvalFrameDefault(uint64_t cpu_ns)
{
	spin_cpu_ns(cpu_ns);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "circle";

	make_circle();
	if (!strcmp(kind, "threads")) {
		threads[0][19] = 0;
		threads[0][1] = get_address(threads[1]);
		threads[1][1] = get_address(threads[0]);
	} else if (!strcmp(kind, "deep")) {
		frame[8] = 0; /* one call evaluates all */
	} else if (!strcmp(kind, "nowhere")) {
		cframe[1] = 0x10;
	} else if (!strcmp(kind, "long")) {
		interpreter[0] = frame[6] = 0;
		text[2] = 1ull << 63;
	}
	_PyEval_EvalFrameDefault(read_duration_ns(argc, argv, 2, 1));
	return 0;
}
