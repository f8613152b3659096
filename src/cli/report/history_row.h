/* A capture's row in an overview. */
#ifndef CLI_REPORT_HISTORY_ROW_H
#define CLI_REPORT_HISTORY_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

struct history_row {
	char *file; /* owned, like all strings here */
	int64_t time_s;
	uint64_t duration_ns; /* 0: unknown, like the next two */
	double load;          /* busy CPUs, on average; below 0: unknown */
	double complete;      /* share of complete user stacks; below 0: unknown */
	uint64_t samples;
	uint64_t lost;
	uint64_t weight; /* of the first metric; no count of samples if events were chosen */
	char *process;   /* the one with most weight, or NULL */
	uint64_t process_weight;
	char *function; /* the one with most weight of its own */
	char *module;
	uint64_t function_weight;
	bool is_damaged; /* only file and time are known */
};

/*
 * Sum up a capture's profile. file is copied.
 *
 * Returns 0 or -ENOMEM. history_row_release() either way.
 */
_must_check_ int history_row_init(struct history_row *row, const char *file, int64_t time_s,
				  const struct profile *profile);
/* The same for a capture that cannot be read. */
_must_check_ int history_row_init_damaged(struct history_row *row, const char *file,
					  int64_t time_s);
/*
 * Read a capture and sum it up. If it cannot be read, the reason is printed.
 *
 * fd            of the file, which is open; NULL: it is opened by its path
 * ret_is_final  whether another reading, later or elsewhere, gives the same row and prints as
 *               little: it was read without messages, and no name is from another file
 *
 * Returns 0 or -ENOMEM. history_row_release() either way.
 */
_must_check_ int history_row_read(struct history_row *row, const char *path, int64_t time_s,
				  const int *fd, bool *ret_is_final);
/*
 * Make a row from a text of history_row_append_text(). Returns 0, -EINVAL (no such text), or
 * -ENOMEM. history_row_release() either way.
 */
_must_check_ int history_row_init_text(struct history_row *row, const char *file, int64_t time_s,
				       const char *text);
void history_row_release(struct history_row *row);

/*
 * Append all but file and time, as one line without its newline. False if the text could not give
 * the same row back (a damaged capture, or names that are not UTF-8), or when out of memory.
 * Something may have been appended then.
 */
bool history_row_append_text(const struct history_row *row, struct text *text);

/*
 * Append a line of a table, or the heading, with its newline.
 *
 * num_columns  of the terminal: names are truncated, and counts hidden, to fit; 0: any length
 */
void history_print_heading(struct text *text, size_t num_columns);
void history_row_print(const struct history_row *row, struct text *text, size_t num_columns);
/* Append a JSON object. */
void history_row_print_json(const struct history_row *row, struct text *text);

/*
 * Append the load over time as a line of bars, from `num_columns` equal time spans; a blank without
 * captures.
 */
void history_print_sparkline(const struct history_row *rows, size_t num_rows, size_t num_columns,
			     struct text *text);

#endif
