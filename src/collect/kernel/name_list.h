/* The names in a folder. */
#ifndef COLLECT_KERNEL_NAME_LIST_H
#define COLLECT_KERNEL_NAME_LIST_H

#include "base/array.h"
#include "base/attributes.h"

/*
 * The names in a folder, except those that start with a dot, sorted. The caller frees each, and the
 * array.
 */
struct name_list {
	ARRAY(char *) names;
};
void name_list_release(struct name_list *list);
/* A missing folder has no names. Returns 0, -EACCES, or another negative errno. */
_must_check_ int name_list_read(const char *folder, struct name_list *ret);

#endif
