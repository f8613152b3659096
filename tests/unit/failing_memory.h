/*
 * Allocations that fail, one in each run of what is tested: whoever ignores one of its errors, or loses what it had until
 * then, is found. A test that includes this is linked so that its allocations and the library's come here (FAILING_MEMORY
 * in the Makefile).
 */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "unit.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

static int64_t failing_memory_left = -1; /* allocations until one fails; negative: none does */
static bool failing_memory_has_failed;

/* Let the allocation behind so many others fail. */
static inline void failing_memory_start(int64_t num_before)
{
	failing_memory_left = num_before;
	failing_memory_has_failed = false;
}

/* Returns whether there have been so many. */
static inline bool failing_memory_end(void)
{
	failing_memory_left = -1;
	return failing_memory_has_failed;
}

/* The same of what must return -ENOMEM then, and else 0. */
static inline bool failing_memory_end_with(int err)
{
	if (failing_memory_end() && err != -ENOMEM)
		fail_msg("%d where an allocation failed", err);
	if (!failing_memory_has_failed)
		assert_int_equal(err, 0);
	return failing_memory_has_failed;
}

static inline bool failing_memory_fails(void)
{
	if (failing_memory_left < 0 || failing_memory_left--)
		return false;
	failing_memory_has_failed = true;
	return true;
}

/*
 * Run a function again and again, each time with another of its allocations failing, until all succeed. It returns 0 or
 * -ENOMEM; the latter exactly when an allocation failed.
 */
static inline _unused_ void failing_memory_try_all(int (*call)(void *context), void *context)
{
	int64_t num_before = 0;
	int err;

	for (;; num_before++) {
		failing_memory_start(num_before);
		err = call(context);
		if (!failing_memory_end())
			break;
		if (err != -ENOMEM)
			fail_msg("%d without allocation %lld", err, (long long)num_before);
	}
	assert_int_equal(err, 0);
	assert_true(num_before > 0);
}

void *__wrap_malloc(size_t size)
{
	return failing_memory_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return failing_memory_fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return failing_memory_fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
	return failing_memory_fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length)
{
	return failing_memory_fails() ? NULL : __real_strndup(text, length);
}

#endif
