/*
 * Symbolizes inputs that have only addresses, and unwinds stacks that they contain as copies, with
 * program files inside the input and on this machine. There is one object for each input.
 */
#ifndef CLI_FILES_INPUT_CODE_H
#define CLI_FILES_INPUT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/import.h"

struct input_code;

/*
 * import       the input, and the profile it is read into; borrowed
 * folders      of --symbols, num_folders of them; borrowed
 *
 * Returns NULL when out of memory.
 */
struct input_code *input_code_new(struct import *import, const char *const *folders,
				  size_t num_folders);
void input_code_free(struct input_code *code); /* NULL is fine */

/* As struct import's walk(). */
_must_check_ int input_code_walk(struct input_code *code, const struct import_stack *stack,
				 uint64_t *pcs, size_t max_pcs, size_t *ret_num);

/*
 * Give frames to all locations that have none. Kernel addresses get names only if the input was
 * recorded under the running kernel and boot; if not, import->warn() is called.
 *
 * progress  called now and then, with the context
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int input_code_name(struct input_code *code,
				 void (*progress)(uint32_t num_done, uint32_t num_total,
						  void *context),
				 void *context);

#endif
