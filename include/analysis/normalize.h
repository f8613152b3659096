/*
 * Making two recordings comparable stack by stack: by weight, if they differ in length, and by
 * name, if the same code is named differently in each run.
 */
#ifndef ANALYSIS_NORMALIZE_H
#define ANALYSIS_NORMALIZE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/call_tree.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct text;

struct normalized {
	uint64_t sum;     /* of the metric */
	uint64_t missing; /* weight that rounding took from the scaled baseline; 0: not scaled */
};

/*
 * Scale the samples of the baseline so that the whole baseline weighs as much as the metric: weight
 * * metric / baseline, rounded down. A baseline without weight stays.
 *
 * opts  metric and baseline, and the labels of stacks: samples of one node of the call tree are
 *       rounded together
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weight of a side exceeds 64 bits.
 */
_must_check_ int normalize_baseline(struct profile *profile, const struct call_tree_opts *opts,
				    struct normalized *ret);

/*
 * Append a name without the addresses that some producers put into names: every 0x and the
 * hexadecimal digits behind it become 0x....
 */
void stripped_name_append(struct text *text, const char *name, size_t length);

/*
 * Append a name without the parts that a virtual machine numbers differently in each run. These are
 * the numbers and addresses of Java's lambdas, method handles, proxies, accessors and hidden
 * classes. Async-profiler's marks of how the code ran, _[0] (interpreted) and _[1] (compiled by
 * C1), are dropped. The addresses of futexes are dropped, too.
 *
 *     pkg.A$$Lambda$14/0x0000000800c03000.run             pkg.A$$Lambda.run
 *     java.lang.invoke.LambdaForm$MH+0x7f00.invoke_[0]    java.lang.invoke.LambdaForm$MH.invoke
 *     jdk.proxy2.$Proxy12.get                             jdk.proxy.$Proxy.get
 */
void canonical_name_append(struct text *text, const char *name, size_t length);

/*
 * Append a name without the parts that a compiler numbers differently in each build.
 *
 *     foo.constprop.0.cold, foo [clone .isra.0]    foo
 *     core::fmt::write::h0123456789abcdef          core::fmt::write
 *     f()::{lambda(int)#2}::operator()             f()::{lambda(int)}::operator()
 *     main.run.func1.2                             main.run.func
 *     Main.lambda$run$0                            Main.lambda$run$
 */
void clone_base_append(struct text *text, const char *name, size_t length);

/* The side of a comparison whose functions have no modules. */
enum missing_modules { MODULES_SHARED, MODULES_MISSING_BEFORE, MODULES_MISSING_AFTER };

/*
 * If only one side has modules (apart from kernel functions), remove them from all functions but
 * the kernel's, so that functions are matched by name on both sides.
 *
 * before, after  metrics of the profile
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int shared_modules_apply(struct profile *profile, uint32_t before, uint32_t after,
				      enum missing_modules *ret);

/* Functions whose module on each side is missing on the other. */
struct moved_modules {
	size_t num_functions;
	/* Modules of the first such function; borrowed from the profile. */
	const char *before;
	const char *after;
};

/*
 * Match functions of modules that only one of the metrics has. A function of a module in `before`
 * gets the module in `after` with a function of the same name, by clone_base_append(). Functions
 * that a side has in several such modules stay.
 *
 * before, after  metrics of the profile
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int moved_modules_match(struct profile *profile, uint32_t before, uint32_t after,
				     struct moved_modules *ret);

#define CLONE_EXAMPLES 3

struct clone_matches {
	size_t num_names; /* names that only one side had */
	/* The first ones; borrowed from the profile. */
	const char *examples[CLONE_EXAMPLES];
};

/*
 * Rename functions with weight on only one side to the name of clone_base_append(). This requires
 * that the other side has another function with the same such name, or a function with this name
 * itself. All other names stay.
 *
 * before, after  metrics of the profile
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weight of a side exceeds 64 bits.
 */
_must_check_ int clone_names_match(struct profile *profile, uint32_t before, uint32_t after,
				   struct clone_matches *ret);

#endif
