/*
 * An allocator that passes each call on to libc's: a library to preload, or a part of a program. A
 * library has pool_alloc() besides.
 *
 * -DEXTRA=16   asks libc for so many bytes more
 * -DJUMPS      ends in jumps; else there is something behind each call
 * -DHELPS      each function jumps to a helper, which does that
 * -DOF_LIBC    by libc's other names; else by dlsym()
 */
#include <dlfcn.h>
#include <stddef.h>

#ifndef EXTRA
#define EXTRA 0
#endif
#ifdef JUMPS
#define BEHIND()
#else
#define BEHIND() __asm__ volatile("" ::: "memory")
#endif

#ifdef OF_LIBC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);
#define FIND(type, name) type next_##name = __libc_##name
#else
#define FIND(type, name)         \
	static type next_##name; \
	if (!next_##name)        \
	next_##name = (type)dlsym(RTLD_NEXT, #name)
#endif

/* A function with other arguments than its helper is no other name of it. */
#ifdef HELPS
#define _unused_ __attribute__((unused))
#define DEFINE(type, name, parameters, ...)                         \
	static __attribute__((noinline))                            \
	type help_##name(ONLY parameters, long is_helped _unused_); \
	type name parameters                                        \
	{                                                           \
		return help_##name(__VA_ARGS__, 1);                 \
	}                                                           \
	static __attribute__((noinline)) type help_##name(ONLY parameters, long is_helped _unused_)
#define ONLY(...) __VA_ARGS__
#else
#define DEFINE(type, name, parameters, ...) type name parameters
#endif

typedef void *(*malloc_type)(size_t);
typedef void *(*calloc_type)(size_t, size_t);
typedef void *(*realloc_type)(void *, size_t);
typedef void (*free_type)(void *);
typedef int (*posix_memalign_type)(void **, size_t, size_t);

/* Called in malloc() of 3000 bytes, if a program wants it. */
void (*wrapper_interruption)(void);

DEFINE(void *, malloc, (size_t size), size)
{
	FIND(malloc_type, malloc);
	void *memory;

	if (size == 3000 && wrapper_interruption)
		wrapper_interruption();
	memory = next_malloc(size + EXTRA);

	BEHIND();
	return memory;
}

DEFINE(void *, calloc, (size_t count, size_t size), count, size)
{
	FIND(calloc_type, calloc);
	void *memory = next_calloc(count, size + EXTRA);

	BEHIND();
	return memory;
}

DEFINE(void *, realloc, (void *old, size_t size), old, size)
{
	FIND(realloc_type, realloc);
	void *memory = next_realloc(old, size + EXTRA);

	BEHIND();
	return memory;
}

#ifndef OF_LIBC
/* Under a name that no allocator is known by. */
void *pool_alloc(size_t size)
{
	FIND(malloc_type, malloc);
	void *memory = next_malloc(size + EXTRA);

	__asm__ volatile("" ::: "memory");
	return memory;
}
#endif

void free(void *memory)
{
	FIND(free_type, free);
	next_free(memory);
	BEHIND();
}

#ifndef OF_LIBC
DEFINE(int, posix_memalign, (void **ret, size_t alignment, size_t size), ret, alignment, size)
{
	FIND(posix_memalign_type, posix_memalign);
	int err = next_posix_memalign(ret, alignment, size + EXTRA);

	BEHIND();
	return err;
}
#endif
