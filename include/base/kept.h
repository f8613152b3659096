/*
 * Memory of many pieces that is freed as a whole, once what was made of it is written.
 */
#ifndef BASE_KEPT_H
#define BASE_KEPT_H

#include "base/array.h"

/* All zero is empty. */
struct kept {
	ARRAY(void *) pieces;
};

/*
 * Keep what malloc() has given, or NULL. Returns it; NULL when out of memory, and it is freed.
 */
void *kept_add(struct kept *kept, void *memory);
/* Free all pieces; more may be added. */
void kept_clear(struct kept *kept);
void kept_release(struct kept *kept);

#endif
