/*
 * Our own format: the whole profile as text inside an SVG file or a page of the viewer. Every
 * metric, thread and stack with all frames, drawn or not, so that the picture that people keep and
 * mail is also the data. Only addresses, build IDs and the reasons of missing names stay out.
 *
 * Text, because it must survive XML tools, editors and mail; short, by numbers that count from the
 * line before, because it is added to every picture. Each kind of line has a letter:
 *
 *     <metadata id="stackwide-profile">
 *     stackwide profile 1
 *     n TEXT                               a name; they count from 1, 0 is the empty one
 *     m NAME UNIT                          a metric; all below count from 0
 *     o NAME LABEL                         a source (a file that was read); LABEL 0: as NAME
 *     r START DURATION PERIOD COMPLETE TRUNCATED LOST    a recording: struct sampling
 *     a COUNT NAME                         struct tally
 *     c START REAL                         a clock: times count from START, its nanoseconds; REAL:
 *                                          the same moment of CLOCK_REALTIME; 0: unknown
 *     p PID COMM                           a process
 *     t PROCESS TID COMM SOURCE            a thread
 *     f NAME FULL MODULE FILE LINE KIND    a frame; FULL 0: as NAME; KIND: see below
 *     s                                    stacks follow, counted from 1; each on a line:
 *     FRAME BACK                           called from the stack BACK before it
 *     v THREAD                             its samples follow, each on a line:
 *     FORTH WEIGHT METRIC                  of the stack FORTH after the last one (0: no frames)
 *     w TIME TIME*WEIGHT ...               when the sample before was taken
 *     end
 *     </metadata>
 *
 * Numbers are decimal and stand between single spaces. In TEXT, what XML cannot hold, control
 * characters and `\` are \xHH. Numbers at the end of f lines and of samples are left out when they
 * are 0; a weight of 1 too when nothing follows, and a stack's BACK when it is 1. A stack called
 * from nothing goes back to number 0. KIND is enum frame_kind, plus 4 for an inlined call. Lines r,
 * a and c are about the source before them; those before the first source, about all that is read.
 *
 * A TIME is in milliseconds after the one before it; the first of a line, after the first of the
 * last such line, from which it may go back. Times without WEIGHT share the sample's evenly.
 */
#ifndef FORMATS_NATIVE_H
#define FORMATS_NATIVE_H

#include "formats/format.h"

/* What the file has where the text begins; nothing else in an SVG of ours has it. */
#define NATIVE_BEGIN "<metadata id=\"stackwide-profile\">"
#define NATIVE_END   "</metadata>"
#define NATIVE_HEAD  "stackwide profile 1"
/* Where it has times; programs that know no times refuse it. */
#define NATIVE_HEAD_TIMES "stackwide profile 2"
#define NATIVE_LAST       "end"

/* In KIND. */
#define NATIVE_INLINED 4

/* The element with its tags, without times. Returns 0, -ENOMEM or what the sink returned. */
_must_check_ int native_write(const struct profile *profile, const struct sink *sink);
/*
 * The same with the times that the profile keeps, without some sources and what is theirs.
 *
 * is_left_out  by source; NULL: all are written
 */
_must_check_ int native_write_times(const struct profile *profile, const uint8_t *is_left_out,
				    const struct sink *sink);

/*
 * Add the profile to import->profile.
 *
 * begin, end  what stands between the tags, in bytes of the file
 *
 * Returns 0, -ENOMEM, or -EBADMSG or -EOVERFLOW with the reason in import->error.
 */
_must_check_ int native_read(struct import *import, size_t begin, size_t end);

#endif
