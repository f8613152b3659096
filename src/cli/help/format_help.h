/* Output of `stackwide help formats`. */
#ifndef CLI_HELP_FORMAT_HELP_H
#define CLI_HELP_FORMAT_HELP_H

#include <stdio.h>

void format_help_print(FILE *out);

#endif
