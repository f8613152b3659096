/* The rows of architecture.c. */
#ifndef OBJFILE_ARCHITECTURES_H
#define OBJFILE_ARCHITECTURES_H

#include "objfile/architecture.h"

extern const struct architecture x86_64_architecture;
extern const struct architecture aarch64_architecture;

#endif
