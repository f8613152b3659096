/*
 * The account of a run: what became of every tick, how complete the stacks are, what it cost.
 * Its JSON (--stats) is a contract with the users' scripts.
 */
#ifndef CLI_ACCOUNT_H
#define CLI_ACCOUNT_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"
#include "collect/recorder.h"
#include "profile/profile.h"
#include "symbolize/symbolizer.h"

/* Why a user stack is not complete. */
enum truncation {
	TRUNCATED_FRAME_POINTER, /* the code keeps no frame pointer: the chain broke */
	TRUNCATED_DEPTH,         /* deeper than is walked */
	TRUNCATED_NO_STACK,      /* nothing could be read */
	TRUNCATED_NO_PROCESS,  /* its mappings were not known yet, and its raw stack did not help */
	TRUNCATED_NO_MAPPING,  /* nothing known is mapped at an address of the stack */
	TRUNCATED_NO_TABLE,    /* the file's table was not there */
	TRUNCATED_NO_RULE,     /* the table has nothing for the address */
	TRUNCATED_UNSUPPORTED, /* the rule is not one of ours */
	TRUNCATED_READ,        /* a part of the stack could not be read */
	TRUNCATED_STUCK,       /* the rules lead in a circle */
	TRUNCATED_NO_RETURN_ADDRESS, /* what should be one is none */
	NUM_TRUNCATIONS,
};

struct account {
	struct recorder_account ticks;
	uint32_t frequency_hz;
	uint64_t complete_user_stacks;
	uint64_t truncated_user_stacks[NUM_TRUNCATIONS];
	uint64_t named_frames; /* frames are counted once for every sample they are in */
	uint64_t unnamed_frames[NUM_UNNAMED_REASONS];
	uint64_t startup_ns;          /* from the program's start to the first tick */
	uint64_t recording_cpu_ns;    /* our CPU time between start and stop */
	uint64_t total_cpu_ns;        /* our CPU time in all */
	uint64_t recording_rss_bytes; /* our peak memory until the stop */
	uint64_t max_rss_bytes;       /* our peak memory in all */
	uint64_t output_ns;           /* from the last tick to finished files */
};

/* Fill what recorder, symbolizer and profile know; the rest is the caller's to set. */
void account_count(struct account *account, struct recorder *recorder,
		   struct symbolizer *symbolizer);

uint64_t account_sum_truncated(const struct account *account);
uint64_t account_sum_unnamed(const struct account *account);
uint64_t account_sum_lost(const struct account *account);

const char *truncation_get_name(enum truncation truncation);

/*
 * Give the profile what a reader of it must know: its tallies, named as in the JSON object.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int account_keep(const struct account *account, struct profile *profile);

/* Append the JSON object. */
void account_print_json(const struct account *account, struct text *ret);

/* CPU time of this program until now, user and system. */
uint64_t account_read_cpu_ns(void);
uint64_t account_read_max_rss_bytes(void);

#endif
