/* Ruby's Marshal format as JSON: the format of StackProf.run(out: FILE). */
#ifndef FORMATS_STACKPROF_MARSHAL_H
#define FORMATS_STACKPROF_MARSHAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"

/* Whether it is a hash in Marshal's version 4.8. */
bool marshal_detect(const uint8_t *data, size_t size);

/*
 * Append the value as JSON. Symbols become strings; a key of a hash that is a number becomes a string, too.
 *
 * ret_offset  offset of the error, bytes
 * ret_reason  the expected data
 *
 * Returns 0, -ENOMEM or -EBADMSG.
 */
_must_check_ int marshal_to_json(const uint8_t *data, size_t size, struct text *json,
				 size_t *ret_offset, const char **ret_reason);

#endif
