/*
 * Messages of our processes without rights reach the terminal through us: one that was taken over writes no escape
 * sequence there. They come by a pipe, whose lines are printed as those of log.h are. Thread-safe but for
 * child_messages_begin().
 */
#ifndef BASE_CHILD_MESSAGES_H
#define BASE_CHILD_MESSAGES_H

#include "base/attributes.h"

/*
 * Make the pipe, and the thread that reads it until the process ends, unless they are there. Returns 0 or -errno: children
 * write to standard error themselves then.
 */
_must_check_ int child_messages_begin(void);

/* In a child that was just forked: standard error is the pipe, if there is one. */
void child_messages_redirect(void);

/* Print what has been written until now: of a child that has ended, all. */
void child_messages_print(void);

#endif
