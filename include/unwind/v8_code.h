/*
 * Prologues and epilogues of V8's functions, on the one architecture whose tables we build.
 */
#ifndef UNWIND_V8_CODE_H
#define UNWIND_V8_CODE_H

#include "unwind/x86_64/v8_code.h"

#endif
