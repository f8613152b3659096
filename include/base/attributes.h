/*
 * Attributes that are part of a function's contract, and cleanup at the end of a scope, as in the
 * kernel and systemd; other helpers that the compiler provides.
 *
 * _must_check_  the caller must look at the result
 * _printf_      the arguments are checked against the format; positions count from 1
 * _cleanup_     the function is called with a pointer to the variable when it leaves its scope
 */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

#include <stdlib.h>
#include <unistd.h>

#define _must_check_    __attribute__((warn_unused_result))
#define _printf_(a, b)  __attribute__((format(printf, a, b)))
#define _cleanup_(func) __attribute__((cleanup(func)))
#define _unused_        __attribute__((unused))

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Whether the program is built with AddressSanitizer; gcc and clang use different macros. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static inline void cleanup_freep(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* The variable is freed or closed when it leaves its scope. */
#define _cleanup_free_  _cleanup_(cleanup_freep)
#define _cleanup_close_ _cleanup_(cleanup_closep)

/* Hand a `_cleanup_` pointer over to the caller: `return return_ptr(p);` */
#define return_ptr(p)                             \
	({                                        \
		__typeof__(p) handed_over_ = (p); \
		(p) = NULL;                       \
		handed_over_;                     \
	})

#endif
