/*
 * Groups of experiments, *.erg: a text that lists experiments, one per line. They are inputs like
 * those that the user names.
 */
#ifndef CLI_FILES_EXPERIMENT_GROUP_H
#define CLI_FILES_EXPERIMENT_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

struct experiment_paths {
	ARRAY(char *) items;
};

bool experiment_group_detect(const uint8_t *data, size_t size);

/*
 * The paths in a group; a relative path starts at the folder of the group's own path. Lines that
 * start with # are comments. Returns 0 or -ENOMEM; release in any case.
 */
_must_check_ int experiment_group_read(struct experiment_paths *paths, const char *group_path,
				       const uint8_t *data, size_t size);
void experiment_paths_release(struct experiment_paths *paths);

#endif
