/*
 * An event of a trace of Chrome.
 */
#ifndef FORMATS_CHROME_READ_EVENT_H
#define FORMATS_CHROME_READ_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/json_table.h"

#define CHROME_NOWHERE JSON_TABLE_NOWHERE

struct chrome_event {
	size_t offset;
	size_t args;  /* where they stand in the input; CHROME_NOWHERE */
	size_t stack; /* the same */
	uint64_t pid;
	uint64_t tid;
	uint64_t ts_ns;
	uint64_t dur_ns;
	char phase; /* 0: none */
	bool has_ts;
	bool has_global_id; /* that is not one of the process */
};

#endif
