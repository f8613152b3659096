/* The size that our stacks may grow to, whatever limit (`ulimit -s`) we were started with. Not thread-safe. */
#ifndef BASE_STACK_LIMIT_H
#define BASE_STACK_LIMIT_H

#include "base/attributes.h"
#include "base/error.h"

/*
 * Raise the limit where it is too low, for this thread and those that are created from now on. Returns 0, or -ENOMEM with
 * the cure in error where the hard limit is too low.
 */
_must_check_ int stack_limit_raise(struct error *error);

/* In a child that is about to execute a program: the limit is what it was before. Safe after fork(). */
void stack_limit_restore(void);

#endif
