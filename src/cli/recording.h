/*
 * One recording from the first tick to finished files, as the commands that record have it in
 * common. Each step returns 0 or an exit status, and has told the user why.
 */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/output_file.h"
#include "cli/account.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/record_options.h"
#include "symbolize/symbolizer.h"
#include "timeline/timeline.h"

/* Zero it, but for what is said to be the caller's. */
struct recording {
	const struct record_options *options; /* the caller's */
	struct outputs *outputs;              /* the caller's, with their formats */
	uint32_t number; /* the caller's: of the files of a flush, from 1; 0: there is one */
	bool is_silent;  /* the caller's: it sums up itself */
	struct output_file *stats_file;
	struct recorder *recorder;
	struct symbolizer *symbolizer;
	struct account account;
	struct progress progress;
	uint64_t begin_cpu_ns;
	struct clock_snapshot begin_clocks;
	ARRAY(struct clock_snapshot) later_clocks; /* when they had jumped */
	uint64_t stop_ns;
};

/* Load, open, read /proc. */
_must_check_ int recording_set_up(struct recording *recording, const struct target *target);
/* Open the files, with the recording's number in their names. */
_must_check_ int recording_open_outputs(struct recording *recording);
/* start_ns  when the user began to wait */
void recording_start(struct recording *recording, uint64_t start_ns);
/* Wait for something to do, at most until end_ns, and take in what the kernel has. Other
   descriptors that end the wait may be given; -1 is none. */
_must_check_ int recording_read(struct recording *recording, uint64_t end_ns, int stop_fd,
				int other_fd);
_must_check_ int recording_stop(struct recording *recording);
/*
 * Name the frames, write the outputs and the account, tell the user. May run on a thread of its
 * own while another recording goes on, whose cost then counts as this one's too.
 */
_must_check_ int recording_finish(struct recording *recording);
bool recording_is_empty(const struct recording *recording);
void recording_release(struct recording *recording);

#endif
