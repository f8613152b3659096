/* Inputs without weight in the only metric that is written or shown. */
#ifndef CLI_FILES_UNUSED_INPUTS_H
#define CLI_FILES_UNUSED_INPUTS_H

#include <stdint.h>

#include "profile/profile.h"

/*
 * Warn of inputs that have weight only in other metrics: files of different tools were merged, and
 * one of them adds nothing. A profile of one input needs no warning.
 *
 * metric    the one that is written or shown
 * baseline  of a comparison; METRIC_NONE: no comparison
 * verb      past participle for the message: "written"
 */
void unused_inputs_warn(const struct profile *profile, uint32_t metric, uint32_t baseline,
			const char *verb);

#endif
