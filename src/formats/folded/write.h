/* Folded text, the plain and the differential kind: the interface between readers and writers. */
#ifndef FORMATS_FOLDED_WRITE_H
#define FORMATS_FOLDED_WRITE_H

#include "base/attributes.h"
#include "formats/format.h"

/* U+FEFF in UTF-8: dropped at the start of a file. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* As struct format has them: one count a line, in the metric samples. */
enum detection folded_detect(const uint8_t *data, size_t size);
enum detection diff_folded_detect(const uint8_t *data, size_t size);
_must_check_ int folded_read(struct import *import);

/* Two counts a line, in the metrics METRIC_BEFORE and METRIC_AFTER. */
_must_check_ int diff_folded_read(struct import *import);

/* Lines have one count, in the metric METRIC_OFFWAKE. */
_must_check_ int offwake_read(struct import *import);

#endif
