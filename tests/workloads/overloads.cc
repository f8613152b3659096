// What C++ names: overloads, operators, a method, a template, a lambda, a function that only this file sees. Each is
// called once, twice and so on in a round: overloads ROUNDS.
#include <cstdlib>
#include <cstring>

// For whoever calls it: neither inlined nor made for one caller.
#define OUT_OF_LINE __attribute__((noinline))

static void use(long value)
{
	asm volatile("" : : "r"(value) : "memory");
}

namespace shop
{

OUT_OF_LINE void pay(int amount)
{
	use(amount);
}
OUT_OF_LINE void pay(int amount, char const *note)
{
	use(amount + note[0]);
}
OUT_OF_LINE void refund(unsigned long amount)
{
	use((long)amount);
}

OUT_OF_LINE int balance(int amount)
{
	use(amount);
	return amount % 2 ? -amount : amount;
}

class Cart
{
      public:
	OUT_OF_LINE Cart &operator+(long amount)
	{
		use(sum += amount);
		return *this;
	}
	OUT_OF_LINE long total() const
	{
		use(sum);
		return sum;
	}
	OUT_OF_LINE bool operator<(Cart const &other) const
	{
		use(other.sum);
		return sum < other.sum;
	}

      private:
	long sum = 0;
};

template <typename Number, int Factor> OUT_OF_LINE Number scale(Number number)
{
	use((long)number);
	return number * Factor;
}

} // namespace shop

namespace
{
OUT_OF_LINE int hidden(int amount)
{
	use(amount);
	return amount;
}
} // namespace

template <typename Call> static void repeat(int times, Call call)
{
	for (int i = 0; i < times; i++)
		call(i);
}

OUT_OF_LINE static void do_round(shop::Cart &cart, int round)
{
	shop::pay(round);
	repeat(2, [&](int i) { shop::pay(round + i, "note"); });
	repeat(3, [&](int i) { shop::refund((unsigned long)(round + i)); });
	repeat(4, [&](int i) { cart + i + round; });
	repeat(5, [&](int) { use(cart.total()); });
	repeat(6, [&](int i) { use(shop::scale<int, 7>(round + i)); });
	repeat(7, [&](int i) { use(cart < cart + i); });
	repeat(8, [&](int i) { use(hidden(round + i)); });
	// What is in the upper half of a register is nobody's business where an int is passed.
	reinterpret_cast<int (*)(long)>(shop::balance)(round | 1L << 40);
	repeat(9, [](int i) OUT_OF_LINE { use(i); });
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	shop::Cart cart;

	for (int i = 0; i < rounds; i++)
		do_round(cart, i);
	return 0;
}
