/*
 * Bytes as text, and back: the alphabet with `+` and `/`.
 *
 * Pure, no I/O. Source: RFC 4648, section 4.
 */
#ifndef FORMATS_BASE64_H
#define FORMATS_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"

/* Encodes bytes that arrive in pieces. Zeroed at first. */
struct base64_encoder {
	uint8_t held[3]; /* bytes not written yet; zeros behind them */
	size_t num_held;
	size_t column;
};

/* Append, in lines of 960 characters: mail and editors do not like much longer ones. */
void base64_encode(struct base64_encoder *encoder, const void *data, size_t size, struct text *ret);
/* Append the held bytes; the encoder is as it was at first. */
void base64_finish(struct base64_encoder *encoder, struct text *ret);

/*
 * Append the bytes that a text encodes. Blanks and line ends are skipped.
 *
 * ret_offset  of the first invalid character, in bytes, if there is one; may be NULL
 *
 * Returns 0, -ENOMEM or -EBADMSG.
 */
_must_check_ int base64_decode(const char *data, size_t size, struct text *ret, size_t *ret_offset);

#endif
