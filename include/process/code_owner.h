/*
 * Trusted files for the names of a process's generated code: they belong to its user or to root,
 * and are named after the pid that the process sees itself.
 */
#ifndef PROCESS_CODE_OWNER_H
#define PROCESS_CODE_OWNER_H

#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"

struct code_owner {
	uid_t uid;       /* the effective one */
	uid_t real_uid;  /* of the user who started it */
	pid_t inner_pid; /* as seen by the process itself */
};

/* Read /proc/PID/status. Returns 0 or negative errno. */
_must_check_ int code_owner_read(const char *proc_root, pid_t pid, struct code_owner *ret);

/* Returns 0, -EPERM (another user's, or no regular file) or another negative errno. */
_must_check_ int code_owner_check(const struct code_owner *owner, const char *path, int fd,
				  struct error *error);

#endif
