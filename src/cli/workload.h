/*
 * A command that is run to be sampled: started, held just before its exec until sampling is set up,
 * then let go.
 */
#ifndef CLI_WORKLOAD_H
#define CLI_WORKLOAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/stopper.h"

struct workload {
	pid_t pid; /* 0: there is none */
	int gate_fd;
	int error_fd; /* says errno when exec failed; closes when it succeeded */
	int pid_fd;   /* readable when it has ended */
	int status;   /* of waitpid(); -1 while it runs */
};

/* argv ends with NULL. The signals of the child are as they were before stopper. 0 or -errno. */
_must_check_ int workload_start(struct workload *workload, char *const *argv,
				const struct stopper *stopper, struct error *error);

/* Let it execute its program. Returns 0, or -errno with error when that cannot be run. */
_must_check_ int workload_release(struct workload *workload, char *const *argv,
				  struct error *error);

bool workload_has_ended(struct workload *workload);
void workload_signal(const struct workload *workload, int number);
/* Wait for its end, but not longer than this. Whether it has ended. */
bool workload_wait(struct workload *workload, int timeout_ms);
/* Of one that has ended: the exit status that a shell would show. */
int workload_get_exit_status(const struct workload *workload);

/* Kills it if it was never let go. */
void workload_close(struct workload *workload);

#endif
