/*
 * Names without what a virtual machine makes up anew in each run, so that the same code has one
 * name in all recordings, and one within a recording.
 */
#ifndef ANALYSIS_COMMON_NAME_H
#define ANALYSIS_COMMON_NAME_H

#include <stddef.h>

struct text;

/*
 * Append a name without the numbers and addresses of Java's lambdas, method handles, proxies,
 * accessors and hidden classes, and without async-profiler's marks of how the code ran, _[0]
 * (interpreted) and _[1] (compiled by C1).
 *
 *     pkg.A$$Lambda$14/0x0000000800c03000.run    pkg.A$$Lambda.run
 *     java.lang.invoke.LambdaForm$MH+0x7f00.invoke_[0]    java.lang.invoke.LambdaForm$MH.invoke
 *     jdk.proxy2.$Proxy12.get                    jdk.proxy.$Proxy.get
 */
void common_name_append(struct text *text, const char *name, size_t length);

#endif
