/*
 * Handles SIGINT, SIGTERM and SIGHUP on a thread of its own: the first one requests the recording to
 * stop, the second ends the program at once and leaves no partial file.
 */
#ifndef CLI_RECORD_STOP_REQUEST_H
#define CLI_RECORD_STOP_REQUEST_H

#include <stdbool.h>

#include "base/attributes.h"
#include "cli/files/outputs.h"

struct stop_request;

/*
 * Takes SIGINT, SIGTERM and SIGHUP from now on; one that was ignored before stays ignored. Call it
 * before any other thread is started. outputs is borrowed; its temporary names are removed at the
 * second signal. Returns NULL with errno set.
 */
struct stop_request *stop_request_new(const struct outputs *outputs);
/* Restore the signal handling from before. NULL is fine. */
void stop_request_free(struct stop_request *stop_request);

/* Readable once a signal has arrived. */
int stop_request_get_fd(const struct stop_request *stop_request);
/* The first signal that has arrived, or 0. */
int stop_request_get_signal(const struct stop_request *stop_request);

/* In a forked child, before exec: signals as they were before stop_request_new(). */
void stop_request_undo_in_child(const struct stop_request *stop_request);

#endif
