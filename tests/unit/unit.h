/*
 * What every unit test includes: cmocka needs these headers before its own, in this order.
 */
#ifndef UNIT_H
#define UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
