/*
 * The names of captures in an archive, YYYY/MM/DD/HHMMSSZ-HOST.EXTENSION: when a capture began, in
 * UTC, and where. What is not named so is not ours.
 */
#ifndef ARCHIVE_CAPTURE_NAME_H
#define ARCHIVE_CAPTURE_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

#define CAPTURE_NAME_BYTES 320

/*
 * Write "2026/11/21/030512Z-web1.pb.gz".
 *
 * time_s     since 1970, UTC
 * host       what is no letter, digit, dot, dash or underscore becomes a dash; cut to 200 bytes
 * copy       from 2 on, for further captures of one second: "030512Z-web1.2.pb.gz"; else 0
 * extension  with its dot
 *
 * Returns 0 or -ERANGE (a year that has not four digits).
 */
_must_check_ int capture_name_make(int64_t time_s, const char *host, uint32_t copy,
				   const char *extension, char ret[CAPTURE_NAME_BYTES]);

/* Whether it is the name of a folder for years, months or days: all digits, in range. */
bool capture_name_is_year(const char *name, int *ret);
bool capture_name_is_month(const char *name, int *ret);
bool capture_name_is_day(const char *name, int *ret);

/*
 * Whether a name in the folder of a day is that of a capture; of any format that can be written.
 *
 * ret_time_s  when it began
 */
bool capture_name_read(int year, int month, int day, const char *name, int64_t *ret_time_s);

#endif
