/*
 * The size that our stacks may grow to, whatever the limit (`ulimit -s`) at our start. Not
 * thread-safe.
 */
#ifndef BASE_STACK_LIMIT_H
#define BASE_STACK_LIMIT_H

#include "base/attributes.h"
#include "base/error.h"

/*
 * Raise the limit if it is too low, for this thread and those created from now on. Returns 0, or
 * -ENOMEM with the remedy in error if the hard limit is too low.
 */
_must_check_ int stack_limit_raise(struct error *error);

/* In a child that is about to execute a program: restore the original limit. Safe after fork(). */
void stack_limit_restore(void);

#endif
