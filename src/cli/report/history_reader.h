/*
 * The row of a capture that was just made, for the index of its archive.
 */
#ifndef CLI_REPORT_HISTORY_READER_H
#define CLI_REPORT_HISTORY_READER_H

#include <sys/types.h>

#include "archive/archive.h"

/*
 * Have a capture read by a process without rights, and add its row to the index. If this fails, the
 * history reads the capture.
 *
 * dir   of the archive, as the user has given it
 * file  is committed
 * user  of the process, if we are root
 */
void history_reader_index(const struct archive *archive, const char *dir,
			  const struct archive_file *file, uid_t user);

#endif
