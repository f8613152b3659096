/*
 * Our unprivileged processes print their messages through us: one that was taken over cannot write
 * escape sequences to the terminal. Messages arrive by a pipe, whose lines are printed like those
 * of log.h. Thread-safe except child_messages_start().
 */
#ifndef BASE_CHILD_MESSAGES_H
#define BASE_CHILD_MESSAGES_H

#include "base/attributes.h"

/*
 * Make the pipe, and the thread that reads it until the process ends, if not done yet. Returns 0 or
 * -errno; on failure children write to standard error themselves.
 */
_must_check_ int child_messages_start(void);

/* In a child that was just forked: connect standard error to the pipe, if there is one. */
void child_messages_redirect(void);

/* Print everything written so far: for a child that has ended, all of its messages. */
void child_messages_print(void);

#endif
