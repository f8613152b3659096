/* Like depth, without frame pointers. */
#include "depth.c"
