/*
 * The samples of a profile by metric and thread, for formats that have a list for each.
 *
 *	err = sample_order_new(profile, &order);
 *	for (first = 0; first < count; first = end)
 *		end = sample_order_find_end(profile, order, first);
 */
#ifndef FORMATS_SAMPLE_ORDER_H
#define FORMATS_SAMPLE_ORDER_H

#include <stdint.h>

#include "base/attributes.h"
#include "profile/profile.h"

/*
 * ret   indexes of all samples; those of one thread and metric in the order they have in the
 *       profile; the caller frees it
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sample_order_new(const struct profile *profile, uint32_t **ret);

/* The first place behind `first` that is of another thread or metric, or the number of samples. */
uint32_t sample_order_find_end(const struct profile *profile, const uint32_t *order,
			       uint32_t first);

#endif
