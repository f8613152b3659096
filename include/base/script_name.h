/*
 * The script that an interpreter runs, from its command line: `python3 -u /srv/manage.py runserver`
 * runs manage.py.
 *
 * Pure: bytes in, text out. Command lines are foreign bytes. The result has a bounded length and
 * may contain any byte but NUL; the caller escapes it for display, as with a comm.
 */
#ifndef BASE_SCRIPT_NAME_H
#define BASE_SCRIPT_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Longer names are cut and end in "...". */
#define SCRIPT_NAME_MAX_BYTES 100

/*
 * Whether a process or thread of this name may run a script: python3.11, node, java, bash, ... A
 * script that the kernel has started by its first line (#!) already has its own name.
 */
bool script_name_is_for(const char *comm);

/*
 * Whether to show the process's script with a thread: the thread has the name of the process, as
 * interpreters' main threads have, or the name that the process had before it renamed itself. A
 * sample within an exec may have the name of the next program already.
 */
bool script_name_is_shown(const char *process_comm, const char *thread_comm);

/*
 * Append the script's name:
 *
 * - the base name of a file
 * - for java: a class, a module and class, or a jar
 * - "-m module" of python
 * - "-c" or "-e" if the program is in the command line itself
 *
 * Appends nothing if the command line contains no name, or if comm is that name already.
 *
 * comm   of the process
 * words  of its command line, each followed by a NUL, as in /proc/PID/cmdline. The last one may
 *        lack it
 */
void script_name_append(const char *comm, const char *words, size_t size, struct text *text);

/* Append the label behind the comm if both are shown: " (manage.py)". */
void script_name_append_label(struct text *text, const char *script, size_t length);

/*
 * The reverse: find the end of the comm in a label "python3 (manage.py)", and the script's name.
 * False if it is no such label.
 */
bool script_name_find_in_label(const char *label, size_t length, size_t *ret_comm_length,
			       const char **ret_script, size_t *ret_script_length);

#endif
