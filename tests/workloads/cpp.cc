// C++ names: a template, a lambda, a class in nested namespaces: cpp [SECONDS].
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "spin.h"

namespace shop::checkout
{

template <typename Number> class Cart
{
      public:
	__attribute__((noinline)) Number total(Number seed)
	{
		spin_cpu_ns(5 * NS_PER_MS);
		return sum += seed;
	}

      private:
	Number sum{};
};

} // namespace shop::checkout

// Calls what it is given; not inlined, so that the call shows.
template <typename Call> __attribute__((noinline)) int apply(Call &&call)
{
	int result = std::forward<Call>(call)(1);

	asm volatile("" ::: "memory");
	return result;
}

__attribute__((noinline)) static int with_lambda(int seed)
{
	return apply([seed](int factor) __attribute__((noinline)) {
		spin_cpu_ns(5 * NS_PER_MS);
		return seed * factor;
	});
}

int main(int argc, char **argv)
{
	uint64_t end_ns = read_cpu_ns() + read_duration_ns(argc, argv, 1, 1);
	shop::checkout::Cart<int> whole;
	shop::checkout::Cart<double> fractions;
	int sum = 0;

	while (read_cpu_ns() < end_ns)
		sum += whole.total(1) + (int)fractions.total(0.5) + with_lambda(sum);
	return sum == -1;
}
