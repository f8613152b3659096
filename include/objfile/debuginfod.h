/*
 * Files from debuginfod servers, by way of libdw, which loads the client where it is installed.
 *
 * This goes to the network: only who reads a recording for a person may do it, and only where the
 * person has named servers.
 */
#ifndef OBJFILE_DEBUGINFOD_H
#define OBJFILE_DEBUGINFOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* The environment names servers (DEBUGINFOD_URLS). */
bool debuginfod_is_wanted(void);

/*
 * The program or library with a build ID, and its separate debug information.
 *
 * ret   open for reading; the caller closes it
 *
 * Returns 0 or -ENOENT.
 *
 * Source: debuginfod_find_debuginfo(3), elfutils/libdwfl.h.
 */
_must_check_ int debuginfod_find_program(const uint8_t *build_id, uint8_t build_id_size, int *ret);
_must_check_ int debuginfod_find_debug_file(const uint8_t *build_id, uint8_t build_id_size,
					    int *ret);

#endif
