/*
 * A stack as tools print it: a line for each frame, innermost first. Collected line by line, then added
 * to the profile.
 */
#ifndef FORMATS_LISTED_STACK_H
#define FORMATS_LISTED_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/slice.h"
#include "profile/profile.h"

struct listed_stack {
	ARRAY(struct slice) frames; /* innermost first; borrowed from the text */
	ARRAY(size_t) ends;         /* of its parts: the index of the first frame behind each */
	bool has_kernel_first;      /* the first part is the kernel's; cleared with the stack */
};

void listed_stack_release(struct listed_stack *stack);
void listed_stack_clear(struct listed_stack *stack);

/* Add the next frame: "func+12", "func+0x1f (/bin/x)", "ffffffff8100 func+12 [module]". */
_must_check_ int listed_stack_add_frame(struct listed_stack *stack, struct slice line);
/* End a part, if it has frames: kernel and user stacks are parts. */
_must_check_ int listed_stack_end_part(struct listed_stack *stack);

/*
 * Add the stack to the profile. Kernel frames are innermost, whichever part was listed first; they are
 * known by the functions where the kernel is entered, and by addresses.
 *
 * ret  STACK_EMPTY without frames
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int listed_stack_add(struct listed_stack *stack, struct profile *profile,
				  uint32_t *ret);

#endif
