/*
 * What an interpreter runs, by its command line: `python3 -u /srv/manage.py runserver` runs manage.py.
 *
 * Pure: bytes in, text out. Command lines are foreign bytes: what comes out may hold any byte but NUL
 * and has a bound; to make it fit for where it is shown is the caller's, as with a comm.
 */
#ifndef BASE_SCRIPT_NAME_H
#define BASE_SCRIPT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Of a longer name the rest is "...". */
#define SCRIPT_NAME_MAX_BYTES 100

/*
 * Whether a process or thread of this name may run a script: python3.11, node, java, bash, ... A script
 * that the kernel has started by its first line (#!) has its own name, and no other is wanted.
 */
bool script_name_is_for(const char *comm);

/*
 * Whether a thread of a process shows what that runs: it is called as the process is, as interpreters call
 * their main threads, or as the process was before it gave itself a name. A sample within an exec may have
 * the name of the next program already.
 */
bool script_name_is_shown(const char *process_comm, const char *thread_comm);

/*
 * Append the script's name: base name of a file; what java starts, a class, a module and class, or a
 * jar; "-m module" of python; "-c" or "-e" where the program is in the command line itself. Nothing,
 * if the command line does not say, or comm says it already.
 *
 * comm   of the process
 * words  of its command line, each with a NUL behind it, as /proc/PID/cmdline has them. The last one may
 *        lack it
 */
void script_name_append(const char *comm, const char *words, size_t size, struct text *text);

/* Append what stands behind the comm where both are shown: " (manage.py)". */
void script_name_append_label(struct text *text, const char *script, size_t length);

/*
 * The opposite: where in a label "python3 (manage.py)" the comm ends, and the script's name. False, if it
 * is no such label.
 */
bool script_name_find_in_label(const char *label, size_t length, size_t *ret_comm_length,
			       const char **ret_script, size_t *ret_script_length);

#endif
