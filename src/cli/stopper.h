/*
 * Ctrl-C and its kin, taken by a thread of their own: the first one asks the recording to end, the
 * second ends the program at once and leaves no partial file.
 */
#ifndef CLI_STOPPER_H
#define CLI_STOPPER_H

#include <stdbool.h>

#include "base/attributes.h"
#include "cli/outputs.h"

struct stopper;

/*
 * Takes SIGINT, SIGTERM and SIGHUP from now on; one that was ignored before stays ignored. Call it
 * before any other thread is started. outputs is borrowed; its temporary names are removed at the
 * second signal. Returns NULL with errno set.
 */
struct stopper *stopper_new(const struct outputs *outputs);
/* The signals act as they did before. NULL is fine. */
void stopper_free(struct stopper *stopper);

/* Readable once a signal came. */
int stopper_get_fd(const struct stopper *stopper);
/* The first signal that came, or 0. */
int stopper_get_signal(const struct stopper *stopper);

/* In a forked child, before exec: signals as they were before stopper_new(). */
void stopper_undo_in_child(const struct stopper *stopper);

#endif
