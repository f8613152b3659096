/*
 * A command that is run to be sampled: started, held just before its exec until sampling is set up,
 * then released.
 */
#ifndef CLI_RECORD_WORKLOAD_H
#define CLI_RECORD_WORKLOAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/record/stop_request.h"

struct workload {
	pid_t pid; /* 0: none */
	int gate_fd;
	int error_fd; /* sends errno if exec failed; closed when it succeeded */
	int pid_fd;   /* readable when it has ended */
	int status;   /* of waitpid(); -1 while it runs */
};

/* The user that a command is run as. */
struct workload_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t num_groups;
	char **environment; /* ends with NULL */
	char *own[4];       /* variables of the user's own */
};

/* Look up a user by name. Returns 0 or negative errno with the reason in error. */
_must_check_ int workload_user_init(struct workload_user *user, const char *name,
				    struct error *error);
void workload_user_release(struct workload_user *user);

/*
 * argv  ends with NULL
 * user  NULL: ours
 *
 * The child has the signals from before the stop request, and the original stack limit. It does not
 * get capabilities that only we were given (ambient, inheritable). Returns 0 or -errno.
 */
_must_check_ int workload_start(struct workload *workload, char *const *argv,
				const struct workload_user *user,
				const struct stop_request *stop_request, struct error *error);

/* Let it execute its program. Returns 0, or -errno with error if that cannot be run. */
_must_check_ int workload_release(struct workload *workload, char *const *argv,
				  struct error *error);

bool workload_has_ended(struct workload *workload);
void workload_signal(const struct workload *workload, int number);
/* Wait at most this long for its end. Returns whether it has ended. */
bool workload_wait(struct workload *workload, int timeout_ms);
/* For a command that has ended: the exit status that a shell would show. */
int workload_get_exit_status(const struct workload *workload);

/* Kills it if it was never released. */
void workload_close(struct workload *workload);

#endif
