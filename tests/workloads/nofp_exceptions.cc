// Throws through ten calls, every other of which has something to destroy, and catches, again and
// again: nofp_exceptions [SECONDS].
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include "spin.h"

static volatile int num_destroyed;

struct Guard {
	__attribute__((noinline)) ~Guard()
	{
		num_destroyed++;
	}
};

__attribute__((noinline)) static void throw_it()
{
	throw 1;
}

template <int level> __attribute__((noinline)) static void go_down()
{
	if constexpr (level % 2) {
		Guard guard;
		go_down<level + 1>();
	} else if constexpr (level < 10) {
		go_down<level + 1>();
	} else {
		throw_it();
	}
	asm volatile("" ::: "memory");
}

__attribute__((noinline)) static int catch_it()
{
	try {
		go_down<1>();
	} catch (int thrown) {
		return thrown;
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	int num_caught = 0;

	while (read_cpu_ns() < end_ns)
		for (int turn = 0; turn < 10; turn++)
			num_caught += catch_it();
	return num_caught == 0;
}
