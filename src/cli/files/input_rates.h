/* Inputs whose samples weigh differently, as they were taken at different rates. */
#ifndef CLI_FILES_INPUT_RATES_H
#define CLI_FILES_INPUT_RATES_H

#include "profile/profile.h"

/* Warn of two such inputs: a sample of one is more CPU time than a sample of the other. */
void input_rates_warn(const struct profile *profile);

#endif
