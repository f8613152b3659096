/*
 * The functions of a profile, and their weights. Self is the weight of samples whose innermost
 * frame is the function, total that of samples with the function anywhere on the stack. A recursive
 * function counts once per sample.
 *
 * A function is a name in a module, so that a kernel function and a user function of the same name
 * stay apart. Pure: no I/O.
 */
#ifndef ANALYSIS_FUNCTION_LIST_H
#define ANALYSIS_FUNCTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "analysis/frame_tree.h"
#include "base/attributes.h"

struct function {
	const char *name; /* as in folded text, without mark */
	size_t name_length;
	const char *module; /* may be empty */
};

struct function_weight {
	uint64_t self;
	uint64_t total;
	bool occurs; /* on the stack of a sample that counts, even with weight 0 */
};

struct function_list {
	const struct frame_tree *tree; /* borrowed */
	struct function *functions;    /* names are borrowed from the profile */
	size_t num_functions;
	uint32_t *by_frame; /* by frame of the profile, and one more for FRAME_NONE */
};

/*
 * joins_perf_maps  treat modules perf-123.map as one: the pid differs in every recording
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int function_list_init(struct function_list *list, const struct frame_tree *tree,
				    bool joins_perf_maps);
void function_list_release(struct function_list *list);

/*
 * Weigh by the samples of one metric. A selection of NULL is all of them.
 *
 * weights  by function; overwritten
 * ret_sum  weight of all these samples
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the sum exceeds 64 bits.
 */
_must_check_ int function_list_weigh(const struct function_list *list, uint32_t metric,
				     const struct selection *selection,
				     struct function_weight *weights, uint64_t *ret_sum);
/*
 * The same with other weights.
 *
 * values  by sample; 0: it does not count
 */
_must_check_ int function_list_weigh_values(const struct function_list *list,
					    const uint64_t *values, struct function_weight *weights,
					    uint64_t *ret_sum);

#endif
