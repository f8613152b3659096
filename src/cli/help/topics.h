/*
 * Topics of `stackwide help`: the documents of packaging/docs/, which the program contains.
 */
#ifndef CLI_HELP_TOPICS_H
#define CLI_HELP_TOPICS_H

#include <stddef.h>

struct topic {
	const char *name;
	const char *text; /* Markdown */
};

/* In the order of the help, ended by an entry without name. */
const struct topic *topic_get_all(void);
/* Returns NULL if there is no topic of that name. */
const struct topic *topic_find(const char *name);

#endif
