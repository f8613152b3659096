/*
 * Claims to be PHP 8.2, by symbols, its version and offsets: frames, functions, generators and strings go in circles, are as long as
 * numbers go, or lie nowhere. Uses CPU time in what it calls its evaluation.
 *
 * usage: fake_php circle|deep|generators|nowhere|long SECONDS
 */
#include <stdint.h>
#include <string.h>

#include "../spin.h"

const char version_header[] = "X-Powered-By: PHP/8.2.1";
uint64_t executor_globals[128];

/* Objects by 8 bytes, as 8.2 lays them out. */
static uint64_t frame[10];
static uint64_t function[32];
static uint64_t code[8];
static uint64_t name[8];
static uint64_t generators[2][40];

void execute_ex(uint64_t cpu_ns);

static uint64_t get_address(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

/* All is where it has to be, and leads to itself. */
static void make_circle(void)
{
	executor_globals[61] = get_address(frame);
	frame[0] = get_address(code);
	frame[3] = get_address(function);
	frame[5] = 1ull << 17; /* C has called it */
	frame[6] = get_address(frame);
	function[0] = 2;
	function[1] = get_address(name);
	function[10] = 1; /* instructions */
	function[11] = get_address(code);
	function[19] = get_address(name);
	code[3] = 7; /* its line */
	name[2] = 4;
	memcpy(&name[3], "evil", 4);
}

/* Two that yield from each other, with a frame without a function in the first one. */
static void make_generators(void)
{
	uint64_t *between = &generators[0][23]; /* behind the parent, and the rest of a node */

	frame[5] = 0;
	frame[6] = get_address(between);
	generators[0][19] = get_address(generators[1]);
	generators[1][19] = get_address(generators[0]);
	generators[0][7] = generators[1][7] = get_address(frame);
	between[4] = get_address(generators[0]);
}

/* Noinline: a call of it is a level of the stack. */
__attribute__((noinline)) void execute_ex(uint64_t cpu_ns)
{
	spin_cpu_ns(cpu_ns);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "circle";

	make_circle();
	if (!strcmp(kind, "generators")) {
		make_generators();
	} else if (!strcmp(kind, "deep")) {
		frame[5] = 0; /* one call evaluates all */
	} else if (!strcmp(kind, "nowhere")) {
		frame[3] = 0x10;
	} else if (!strcmp(kind, "long")) {
		frame[6] = 0;
		name[2] = 1ull << 63;
	}
	execute_ex(read_duration_ns(argc, argv, 2, 1));
	return version_header[0] != 'X';
}
