/*
 * Points in time as people write them, in the local time zone.
 */
#ifndef CLI_OPTIONS_TIME_SPEC_H
#define CLI_OPTIONS_TIME_SPEC_H

#include <stdint.h>

#include "base/attributes.h"

/* For messages: the syntax of time_spec_read(). */
#define TIME_SPEC_EXPECTED \
	"now, today, yesterday, 03:12, 2026-11-21, 2026-11-21T03:12:05Z, -2h or @UNIX-TIME"

/* For the help of commands. */
#define TIME_SPEC_HELP                                                                     \
	"Times:\n"                                                                         \
	"  now                             today, yesterday, tomorrow   at 00:00\n"        \
	"  03:12, 03:12:05                 of today\n"                                     \
	"  'yesterday 03:12'               a day and a time\n"                             \
	"  2026-11-21, 20261121            at 00:00\n"                                     \
	"  2026-11-21T03:12:05Z            UTC; also +01:00, +0530; without, local time\n" \
	"  -2h, -90s, -30m, -7d, -2w       before now\n"                                   \
	"  @1795262400                     seconds since 1970\n"

/*
 *   now                            today, yesterday, tomorrow   at 00:00
 *   03:12  03:12:05                of today
 *   yesterday 03:12                a day and a time, by a blank or a T
 *   2026-11-21  20261121           at 00:00
 *   2026-11-21T03:12:05Z           UTC; also +01:00, +0100
 *   -2h  -90s  -30m  -7d  -2w      before now
 *   @1795262400                    seconds since 1970
 *
 * now_s  since 1970
 *
 * Returns 0 or -EINVAL.
 */
_must_check_ int time_spec_read(const char *text, int64_t now_s, int64_t *ret_s);

/*
 * FROM..TO, each as above; without FROM, from the start, without TO, until now.
 *
 * Returns 0, -EINVAL, or -ERANGE if TO is not after FROM.
 */
_must_check_ int time_spec_read_range(const char *text, int64_t now_s, int64_t *ret_since_s,
				      int64_t *ret_until_s);

#endif
