/*
 * A recording from the first tick to finished files: shared by the commands that record. Each step
 * returns 0 or an exit status, and has printed the reason.
 */
#ifndef CLI_RECORD_RECORDING_H
#define CLI_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/output_file.h"
#include "cli/files/outputs.h"
#include "cli/options/progress.h"
#include "cli/record/account.h"
#include "cli/record/read_pace.h"
#include "cli/record/record_options.h"
#include "cli/record/zones_inputs.h"
#include "timeline/timeline.h"

/*
 * Receives the profile instead of the outputs. Each function returns an exit status and has printed
 * the reason.
 */
struct recording_keeper {
	/* In a process without rights: write to open files. */
	int (*write)(const struct profile *profile, void *context);
	/* Then, in ours. */
	int (*commit)(void *context);
	/* In ours, after the process has died: discard the output. Returns 0 or negative errno. */
	int (*rewind)(void *context);
	/* The descriptors that write() needs. */
	void (*add_fds)(const void *context, struct fd_list *fds);
	void *context;
};

/* Zeroed at first, except members that the caller sets. */
struct recording {
	const struct record_options *options; /* the caller's */
	struct outputs *outputs;              /* the caller's, with their formats */
	uint32_t number; /* the caller's: number of the flush's files, from 1; 0: no flushes */
	bool is_silent;  /* the caller's: the caller prints a summary itself */
	const struct recording_keeper *keeper; /* the caller's; NULL: use the outputs */
	bool is_of_many_users;                 /* the target may run programs of any user */
	mode_t output_mode;
	struct output_file *stats_file;
	struct recorder *recorder;
	struct event_counts *events; /* owned; the account's */
	struct account account;
	struct progress progress;
	struct read_pace pace;
	uint64_t start_cpu_ns;
	struct clock_snapshot start_clocks;
	ARRAY(struct clock_snapshot) later_clocks; /* taken when clocks had jumped */
	struct zones_inputs zones;
	uint64_t stop_ns;
	size_t num_columns; /* of the summary */
};

/*
 * Call before reading others' data: from then on we read, and print, the standard error of
 * processes without rights.
 */
void recording_take_messages(void);

/* Load, open, read /proc. */
_must_check_ int recording_set_up(struct recording *recording, const struct target *target);
/*
 * After setting up the first recording: keep only the rights that sampling needs, and those for
 * setting up further recordings, if any.
 */
void recording_give_up_rights(const struct recording *recording);
/* Open the files, with the recording's number in their names. */
_must_check_ int recording_open_outputs(struct recording *recording);
/* start_ns  when the user's wait started */
void recording_start(struct recording *recording, uint64_t start_ns);
/*
 * Wait for work, at most until end_ns, and take data from the kernel. Other descriptors may end the
 * wait; -1: none.
 */
_must_check_ int recording_read(struct recording *recording, uint64_t end_ns, int stop_fd,
				int other_fd);
_must_check_ int recording_stop(struct recording *recording);
/*
 * Symbolize, write the outputs and the account, print the summary: in other processes, see
 * finishing.c. May run on a thread of its own while another recording goes on; CPU time then
 * includes that of the other.
 *
 * stop_fd  when it becomes readable, symbolization ends and the results so far are written; -1:
 *          none
 */
_must_check_ int recording_finish(struct recording *recording, int stop_fd);
bool recording_is_empty(const struct recording *recording);
void recording_release(struct recording *recording);

#endif
