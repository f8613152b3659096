/* Calls that compilers inline, several levels deep, from several places and files. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inlined_calls.h"

volatile uint64_t sink;

struct node {
	struct node *next;
	uint64_t value;
};

static inline __attribute__((always_inline)) uint64_t innermost(uint64_t x)
{
	uint64_t y = x * 3;

	if (y & 1)
		y ^= sink;
	sink = y;
	return y + mix_in_header(y);
}

static inline __attribute__((always_inline)) uint64_t middle(uint64_t x)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < x; i++)
		sum += innermost(i) ^ innermost(x - i);
	return sum;
}

static inline __attribute__((always_inline)) uint64_t outer(uint64_t x)
{
	return middle(x) + innermost(x) + middle(x + 1);
}

__attribute__((noinline)) uint64_t caller_one(uint64_t x)
{
	sink += x;
	return outer(x) + 1;
}

__attribute__((noinline)) uint64_t caller_two(uint64_t x)
{
	uint64_t result = outer(x);

	if (result & 4) {
		uint64_t inner = middle(result & 15);

		sink = inner;
	}
	return result;
}

static __attribute__((noinline)) uint64_t sum_list(const struct node *node)
{
	uint64_t sum = 0;

	for (; node; node = node->next)
		sum += innermost(node->value);
	return sum;
}

/* A likely path and one that the compiler moves to a cold part. */
__attribute__((noinline)) void check(int value)
{
	if (__builtin_expect(value < 0, 0)) {
		fprintf(stderr, "negative: %d\n", value);
		abort();
	}
	sink += (uint64_t)value;
}

/* Two names for one function. */
uint64_t another_name(uint64_t x) __attribute__((alias("caller_one")));

int main(int argc, char **argv)
{
	struct node last = {NULL, 3};
	struct node first = {&last, strlen(argv[0])};

	check(argc);
	printf("%lu\n", (unsigned long)(caller_one((uint64_t)argc) + caller_two((uint64_t)argc) +
					another_name(2) + sum_list(&first)));
	return 0;
}
