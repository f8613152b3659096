#include "cli/record/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "runtime/runtime.h"

#define TRUNCATION(name, key, text) [TRUNCATED_##name] = {key, text},
static const struct {
	const char *key;
	const char *text;
} truncation_words[] = {TRUNCATIONS(TRUNCATION)};
#undef TRUNCATION

const char *truncation_get_name(enum truncation truncation)
{
	return truncation_words[truncation].key;
}

const char *truncation_explain(enum truncation truncation)
{
	return truncation_words[truncation].text;
}

static void count_user_stacks(struct account *account, struct recorder *recorder,
			      const struct names *names)
{
	const struct profile *profile = recorder_get_profile(recorder);
	size_t count;
	const struct user_stack_count *stacks = recorder_get_user_stacks(recorder, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t at_limit = stacks[i].num_at_limit;

		if (stacks[i].stack == STACK_EMPTY) {
			account->truncated_user_stacks[TRUNCATED_NO_STACK] += stacks[i].num_samples;
		} else if (names_are_outermost(names,
					       profile_find_outermost(profile, stacks[i].stack))) {
			account->complete_user_stacks += stacks[i].num_samples;
		} else {
			account->truncated_user_stacks[TRUNCATED_DEPTH] += at_limit;
			account->truncated_user_stacks[TRUNCATED_FRAME_POINTER] +=
				stacks[i].num_samples - at_limit;
		}
	}
}

/* Unwinding by table knows how it ended, unlike unwinding by frame pointers. */
static void count_walks(const uint64_t *walks, uint64_t *complete, uint64_t *truncated)
{
	static const enum truncation truncations[NUM_WALK_ENDS] = {
		[WALK_UNFINISHED] = TRUNCATED_NO_STACK,
		[WALK_NO_PROCESS] = TRUNCATED_NO_PROCESS,
		[WALK_NO_MAPPING] = TRUNCATED_NO_MAPPING,
		[WALK_NO_TABLE] = TRUNCATED_NO_TABLE,
		[WALK_NO_RULE] = TRUNCATED_NO_RULE,
		[WALK_UNSUPPORTED] = TRUNCATED_UNSUPPORTED,
		[WALK_READ_FAILED] = TRUNCATED_READ,
		[WALK_TOO_DEEP] = TRUNCATED_DEPTH,
		[WALK_NON_INCREASING_CFA] = TRUNCATED_STUCK,
		[WALK_FP_CHAIN] = TRUNCATED_FRAME_POINTER,
		[WALK_NO_RETURN_ADDRESS] = TRUNCATED_NO_RETURN_ADDRESS,
		[WALK_SKIPPED_FRAME] = TRUNCATED_SKIPPED_FRAME,
		[WALK_JIT_CODE] = TRUNCATED_JIT_CODE,
		[WALK_32_BIT] = TRUNCATED_32_BIT,
	};

	for (size_t end = 0; end < NUM_WALK_ENDS; end++) {
		if (end == WALK_COMPLETE)
			*complete += walks[end];
		else
			truncated[truncations[end]] += walks[end];
	}
}

static void count_frames_of(struct account *account, const struct profile *profile, uint32_t stack,
			    uint64_t num_samples)
{
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(profile, stack)) {
		const struct location *location =
			profile_get_location(profile, profile_get_stack_location(profile, stack));

		if (location->space == LOCATION_NAMED) /* [truncated]: no code */
			continue;
		account->sizeless_frames += location->is_sizeless ? num_samples : 0;
		if (location->unnamed_reason == UNNAMED_NOT)
			account->named_frames += num_samples * location->num_frames;
		else
			account->unnamed_frames[location->unnamed_reason] += num_samples;
	}
}

/* Frames of the chosen events, whatever their samples weigh. */
static void count_event_frames(struct account *account, struct recorder *recorder)
{
	size_t count;
	const struct stack_count *stacks = recorder_get_event_stacks(recorder, &count);

	for (size_t i = 0; i < count; i++)
		count_frames_of(account, recorder_get_profile(recorder), stacks[i].stack,
				stacks[i].num_samples);
}

/* Frames of running code: waits have other weights. */
static void count_frames(struct account *account, const struct profile *profile)
{
	uint32_t metric = profile_find_metric(profile, "samples");

	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		if (sample->metric == metric)
			count_frames_of(account, profile, sample->stack, sample->value);
	}
}

void account_count(struct account *account, struct recorder *recorder, const struct names *names)
{
	count_user_stacks(account, recorder, names);
	count_walks(account->ticks.walks, &account->complete_user_stacks,
		    account->truncated_user_stacks);
	count_walks(account->ticks.off_cpu.walks, &account->off_cpu.complete_user_stacks,
		    account->off_cpu.truncated_user_stacks);
	count_walks(account->ticks.off_cpu.wakers.walks, &account->off_cpu.complete_waker_stacks,
		    account->off_cpu.truncated_waker_stacks);
	if (account->num_events)
		count_event_frames(account, recorder);
	else
		count_frames(account, recorder_get_profile(recorder));
}

uint64_t account_sum_whole(const struct account *account)
{
	return account->complete_user_stacks + account->ticks.in_exec;
}

uint64_t account_sum_truncated(const struct account *account)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < NUM_TRUNCATIONS; i++)
		sum += account->truncated_user_stacks[i];
	return sum;
}

uint64_t account_sum_unnamed(const struct account *account)
{
	uint64_t sum = 0;

	for (size_t i = UNNAMED_NOT + 1; i < NUM_UNNAMED_REASONS; i++)
		sum += account->unnamed_frames[i];
	return sum;
}

uint64_t account_sum_lost_samples(const struct account *account)
{
	return losses_sum_samples(account->ticks.lost);
}

uint64_t account_sum_lost(const struct account *account)
{
	return losses_sum(account->ticks.lost);
}

uint64_t account_sum_waits(const uint64_t *waits_ns)
{
	uint64_t sum_ns = 0;

	for (size_t kind = 0; kind < NUM_WAIT_KINDS; kind++)
		sum_ns += waits_ns[kind];
	return sum_ns;
}

double account_get_coverage(const struct off_cpu_counts *counts)
{
	uint64_t exact_ns = account_sum_waits(counts->exact_ns);

	return exact_ns ? 100.0 * (double)account_sum_waits(counts->sampled_ns) / (double)exact_ns
			: 100;
}

static int keep_reason(struct profile *profile, const char *group, const char *reason,
		       uint64_t count)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", group, reason);
	return count ? profile_add_tally(profile, 0, name, count) : 0;
}

static int keep_losses(struct profile *profile, const char *group,
		       const uint64_t lost[static NUM_LOSSES], enum loss_kind kind)
{
	for (enum loss loss = 0; loss < NUM_LOSSES; loss++) {
		char name[64];
		int err;

		if (!loss_is(loss, kind))
			continue;
		snprintf(name, sizeof(name), "%s.%s", group, loss_get_key(loss));
		err = profile_add_tally(profile, 0, name, lost[loss]);
		if (err)
			return err;
	}
	return 0;
}

struct named_count {
	const char *name;
	uint64_t count;
};

static int keep_counts(struct profile *profile, const struct named_count *counts, size_t num_counts)
{
	for (size_t i = 0; i < num_counts; i++) {
		int err = profile_add_tally(profile, 0, counts[i].name, counts[i].count);

		if (err)
			return err;
	}
	return 0;
}

static int keep_off_cpu(const struct off_cpu_counts *waits, struct profile *profile)
{
#define NAMED_COUNT(name) {"off_cpu." #name, waits->name},
	const struct named_count counts[] = {NAMED_COUNT(fired)
						     WAIT_OUTCOMES(NAMED_COUNT, NAMED_COUNT)};
#undef NAMED_COUNT
	int err;

	if (!waits->is_recorded)
		return 0;
	err = keep_counts(profile, counts, ARRAY_LENGTH(counts));
	return err ? err : keep_losses(profile, "off_cpu.lost", waits->lost, LOSS_OF_WAITS);
}

static int keep_reasons(const struct account *account, struct profile *profile)
{
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++) {
		int err = keep_reason(profile, "user_stacks.truncated",
				      truncation_get_name((enum truncation)i),
				      account->truncated_user_stacks[i]);

		if (err)
			return err;
	}
	for (size_t i = UNNAMED_NOT + 1; i < NUM_UNNAMED_REASONS; i++) {
		int err = keep_reason(profile, "frames.unnamed",
				      unnamed_reason_get_name((enum unnamed_reason)i),
				      account->unnamed_frames[i]);

		if (err)
			return err;
	}
	return 0;
}

int account_keep(const struct account *account, struct profile *profile)
{
	const struct recorder_account *ticks = &account->ticks;
#define NAMED_COUNT(name) {#name, ticks->name},
	const struct named_count outcomes[] = {{"cpus", ticks->num_cpus},
					       NAMED_COUNT(fired)
						       TICK_OUTCOMES(NAMED_COUNT, NAMED_COUNT)};
#undef NAMED_COUNT
	const struct named_count stacks[] = {
		{"user_stacks.complete", account->complete_user_stacks},
		{"user_stacks.in_exec", ticks->in_exec},
		{"user_stacks.kernel_only", ticks->kernel_only},
		{"user_stacks.recovered", ticks->recovered},
		{"user_stacks.unproven", ticks->unproven},
		{"frames.named", account->named_frames},
		{"frames.sizeless", account->sizeless_frames},
	};
	int err = keep_counts(profile, outcomes, ARRAY_LENGTH(outcomes));

	if (err)
		return err;
	err = keep_losses(profile, "lost", ticks->lost, LOSS_OF_TICKS);
	if (err)
		return err;
	err = keep_counts(profile, stacks, ARRAY_LENGTH(stacks));
	if (err)
		return err;
	err = keep_reasons(account, profile);
	return err ? err : keep_off_cpu(&ticks->off_cpu, profile);
}

/* Leaves the JSON object open. */
static void print_user_stacks(uint64_t complete, uint64_t in_exec, const uint64_t *truncated,
			      struct text *ret)
{
	text_printf(ret,
		    "\"user_stacks\": {\"complete\": %" PRIu64 ", \"in_exec\": %" PRIu64
		    ", \"truncated\": {",
		    complete, in_exec);
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++)
		text_printf(ret, "%s\"%s\": %" PRIu64, i ? ", " : "",
			    truncation_get_name((enum truncation)i), truncated[i]);
	text_append_char(ret, '}');
}

static void print_losses(const uint64_t lost[static NUM_LOSSES], enum loss_kind kind,
			 struct text *ret)
{
	const char *comma = "";

	text_append_string(ret, "\"lost\": {");
	for (enum loss loss = 0; loss < NUM_LOSSES; loss++) {
		if (!loss_is(loss, kind))
			continue;
		text_printf(ret, "%s\"%s\": %" PRIu64, comma, loss_get_key(loss), lost[loss]);
		comma = ", ";
	}
	text_append_char(ret, '}');
}

#define PRINT_OUTCOME(name) text_printf(ret, "\"" #name "\": %" PRIu64 ", ", counts->name);
#define PRINT_TIMED_OUTCOME(name) \
	PRINT_OUTCOME(name)       \
	PRINT_OUTCOME(name##_ns)

static void print_events(const struct account *account, struct text *ret)
{
	if (!account->num_events)
		return;
	text_append_string(ret, "  \"events\": [");
	for (size_t i = 0; i < account->num_events; i++) {
		const struct event_counts *counts = &account->events[i];

		text_append_string(ret, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
		json_append_string(ret, counts->name, strlen(counts->name));
		text_append_string(ret, ", \"unit\": ");
		json_append_string(ret, counts->unit, strlen(counts->unit));
		text_append_string(ret, ", ");
		PRINT_OUTCOME(fired)
		EVENT_OUTCOMES(PRINT_OUTCOME, PRINT_OUTCOME)
		print_losses(counts->lost, LOSS_OF_TICKS, ret);
		text_printf(ret,
			    ", \"live\": %" PRIu64 ", \"oldest_ns\": %" PRIu64
			    ", \"enabled_ns\": %" PRIu64 ", \"running_ns\": %" PRIu64
			    ", \"weight\": %" PRIu64 ", \"scaled_weight\": %" PRIu64
			    ", \"rest\": %" PRIu64 ", \"lost_weight\": %" PRIu64 "}",
			    counts->live, counts->oldest_ns, counts->times.enabled_ns,
			    counts->times.running_ns, counts->weight, counts->scaled_weight,
			    counts->rest, counts->lost_weight);
	}
	text_append_string(ret, "],\n");
}

/* The fate of interpreters' frames. */
static void print_runtimes(const struct recorder_account *ticks, struct text *ret)
{
	const char *comma = "";

	text_append_string(ret, "  \"runtimes\": [");
	for (size_t i = 0; i < ticks->num_runtimes; i++) {
		const struct runtime_counts *counts = &ticks->runtimes[i];
		char version[RUNTIME_VERSION_BYTES];

		runtime_format_version(counts->runtime, counts->major, counts->minor, version);
		text_printf(ret, "%s\n    {\"name\": \"%s\", \"version\": \"%s\", ", comma,
			    runtime_get(counts->runtime)->account_name, version);
		text_printf(ret, "\"processes\": %" PRIu64 ", \"samples\": %" PRIu64,
			    counts->processes, counts->samples);
		for (enum runtime_fit fit = RUNTIME_FITS; fit < NUM_RUNTIME_FITS; fit++)
			text_printf(ret, ", \"%s\": %" PRIu64, runtime_fit_get_name(fit),
				    counts->fits[fit]);
		text_printf(ret, ", \"may_lack_inlined\": %" PRIu64 "}", counts->may_lack_inlined);
		comma = ",";
	}
	text_printf(ret, "],\n  \"lost_code_objects\": %" PRIu64 ",\n", ticks->lost_runtime_codes);
}

static void print_reasons(const struct account *account, struct text *ret)
{
	text_append_string(ret, "  ");
	print_losses(account->ticks.lost, LOSS_OF_TICKS, ret);
	text_append_string(ret, ",\n  ");
	print_user_stacks(account->complete_user_stacks, account->ticks.in_exec,
			  account->truncated_user_stacks, ret);
	text_printf(ret,
		    ", \"kernel_only\": %" PRIu64 ", \"recovered\": %" PRIu64
		    ", \"unproven\": %" PRIu64 "},\n",
		    account->ticks.kernel_only, account->ticks.recovered, account->ticks.unproven);
	text_printf(ret,
		    "  \"frames\": {\"total\": %" PRIu64 ", \"named\": %" PRIu64
		    ", \"sizeless\": %" PRIu64 ", \"unnamed\": {",
		    account->named_frames + account_sum_unnamed(account), account->named_frames,
		    account->sizeless_frames);
	for (size_t i = UNNAMED_NOT + 1; i < NUM_UNNAMED_REASONS; i++)
		text_printf(ret, "%s\"%s\": %" PRIu64, i > UNNAMED_NOT + 1 ? ", " : "",
			    unnamed_reason_get_name((enum unnamed_reason)i),
			    account->unnamed_frames[i]);
	text_printf(ret, "}},\n");
}

static void print_waits(const uint64_t *waits_ns, struct text *ret)
{
	for (enum wait_kind kind = 0; kind < NUM_WAIT_KINDS; kind++)
		text_printf(ret, "%s\"%s\": %" PRIu64, kind ? ", " : "", wait_kind_get_name(kind),
			    waits_ns[kind]);
}

static void print_wakers(const struct account *account, struct text *ret)
{
	const struct waker_counts *counts = &account->ticks.off_cpu.wakers;

	if (!counts->is_recorded)
		return;
	text_printf(ret,
		    ",\n    \"wakers\": {\"known\": %" PRIu64 ", \"open\": %" PRIu64
		    ", \"unseen\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"lost_ring\": %" PRIu64
		    ", \"lost_nested\": %" PRIu64 ", \"hidden\": %" PRIu64 ",\n      ",
		    counts->known, counts->open, counts->unseen, counts->lost, counts->lost_ring,
		    counts->lost_nested, counts->hidden);
	print_user_stacks(account->off_cpu.complete_waker_stacks, counts->in_exec,
			  account->off_cpu.truncated_waker_stacks, ret);
	text_printf(ret, ", \"left_out\": %" PRIu64 "}}", counts->left_out);
}

static void print_off_cpu(const struct account *account, struct text *ret)
{
	const struct off_cpu_counts *counts = &account->ticks.off_cpu;

	if (!counts->is_recorded)
		return;
	text_printf(ret,
		    "  \"off_cpu\": {\"period_ns\": %" PRIu64 ", \"min_block_ns\": %" PRIu64
		    ", \"only_futexes\": %s, ",
		    counts->period_ns, counts->min_block_ns,
		    counts->only_futexes ? "true" : "false");
	PRINT_OUTCOME(fired)
	WAIT_OUTCOMES(PRINT_OUTCOME, PRINT_TIMED_OUTCOME)
	print_losses(counts->lost, LOSS_OF_WAITS, ret);
	text_printf(ret,
		    ", \"unfinished\": %" PRIu64 ", \"unnoted\": %" PRIu64 ",\n    \"exact_ns\": {",
		    counts->unfinished, counts->unnoted);
	print_waits(counts->exact_ns, ret);
	text_append_string(ret, "}, \"sampled_ns\": {");
	print_waits(counts->sampled_ns, ret);
	text_printf(ret, "}, \"coverage_percent\": %.3f,\n    \"cpu_ns\": %" PRIu64,
		    account_get_coverage(counts), counts->cpu_ns);
	if (counts->knows_lives)
		text_printf(ret, ", \"lived_ns\": %" PRIu64 ", \"unaccounted_ns\": %" PRId64,
			    counts->lived_ns, off_cpu_counts_get_unaccounted_ns(counts));
	text_append_string(ret, ",\n    ");
	print_user_stacks(account->off_cpu.complete_user_stacks, counts->in_exec,
			  account->off_cpu.truncated_user_stacks, ret);
	text_printf(ret, ", \"kernel_only\": %" PRIu64 "}", counts->kernel_only);
	print_wakers(account, ret);
	text_append_string(ret, "},\n");
}

static void print_scheduling(const struct scheduling_counts *counts, struct text *ret)
{
	const struct kwork_counts *kworks = &counts->kworks;

	if (!counts->is_recorded)
		return;
	text_printf(ret,
		    "  \"sched\": {\"fired\": %" PRIu64 ", \"switches\": %" PRIu64
		    ", \"wakings\": %" PRIu64 ", \"lost\": {\"ring\": %" PRIu64
		    ", \"nested\": %" PRIu64 ", \"storage\": %" PRIu64 ", \"unseen\": %" PRIu64
		    "},\n",
		    counts->fired, counts->switches, counts->wakeups, counts->lost_ring,
		    counts->lost_nested, counts->lost_storage, counts->lost_unseen);
	text_printf(ret,
		    "    \"kwork\": {\"fired\": %" PRIu64 ", \"kept\": %" PRIu64
		    ", \"unseen_begin\": %" PRIu64 ", \"lost\": {\"ring\": %" PRIu64
		    ", \"nested\": %" PRIu64 ", \"storage\": %" PRIu64 "}}},\n",
		    kworks->fired, kworks->kept, kworks->unseen_begin, kworks->lost_ring,
		    kworks->lost_nested, kworks->lost_storage);
}

#define PRINT_OUTCOME_LINE(name) text_printf(ret, "  \"" #name "\": %" PRIu64 ",\n", ticks->name);

void account_print_json(const struct account *account, struct text *ret)
{
	const struct recorder_account *ticks = &account->ticks;

	text_printf(ret, "{\n  \"version\": \"%s\",\n", STACKWIDE_VERSION);
	text_printf(ret,
		    "  \"duration_ns\": %" PRIu64 ",\n  \"cpus\": %u,\n  \"frequency_hz\": %u,\n",
		    ticks->duration_ns, ticks->num_cpus, account->frequency_hz);
	PRINT_OUTCOME_LINE(fired)
	TICK_OUTCOMES(PRINT_OUTCOME_LINE, PRINT_OUTCOME_LINE)
	text_printf(ret, "  \"unfollowed_threads\": %" PRIu64 ",\n", ticks->unfollowed);
	print_events(account, ret);
	print_reasons(account, ret);
	text_printf(ret,
		    "  \"unwind_tables\": {\"objfiles\": %" PRIu64 ", \"rows\": %" PRIu64
		    ", \"bytes\": %" PRIu64 ", \"frame_info_bytes\": %" PRIu64
		    ", \"build_ns\": %" PRIu64 ", \"build_wall_ns\": %" PRIu64
		    ", \"dropped\": %" PRIu64 "},\n",
		    ticks->tables.num_objfiles, ticks->tables.num_rows, ticks->tables.size_bytes,
		    ticks->tables.frame_info_bytes, ticks->tables.build_ns,
		    ticks->tables.build_wall_ns, ticks->tables.num_dropped);
	print_runtimes(ticks, ret);
	print_off_cpu(account, ret);
	print_scheduling(&ticks->scheduling, ret);
	if (ticks->calls.checked)
		text_printf(ret,
			    "  \"call_check\": {\"checked\": %" PRIu64 ", \"failed\": %" PRIu64
			    "},\n",
			    ticks->calls.checked, ticks->calls.failed);
	text_printf(ret,
		    "  \"processes\": {\"forks\": %" PRIu64 ", \"execs\": %" PRIu64
		    ", \"exits\": %" PRIu64 ", \"missed_execs\": %" PRIu64
		    ", \"lost_events\": %" PRIu64 ", \"late_events\": %" PRIu64
		    ", \"cut_code_maps\": %" PRIu64 ", \"unopened_files\": %" PRIu64
		    ", \"late_allocators\": %" PRIu32 ", \"followed_allocators\": %" PRIu32
		    ", \"follow_delay_ns\": %" PRIu64 ", \"unsearched_files\": %" PRIu32
		    ", \"unknown_allocators\": %" PRIu32 ", \"overwritten_files\": %" PRIu32
		    ", \"late_reads\": %" PRIu64 ", \"refused_reads\": %" PRIu64 "},\n",
		    ticks->processes.forks, ticks->processes.execs, ticks->processes.exits,
		    ticks->processes.missed_execs, ticks->lost_side_band, ticks->late_events,
		    ticks->processes.truncated_code_maps, ticks->unopened_files,
		    ticks->late_allocators.num_files, ticks->late_allocators.num_followed,
		    ticks->late_allocators.max_delay_ns, ticks->late_allocators.num_unread,
		    ticks->late_allocators.num_unknown, ticks->overwritten.count,
		    ticks->opener.num_late, ticks->opener.num_refused);
	text_printf(ret,
		    "  \"profiler\": {\"cpu_ns\": %" PRIu64 ", \"total_cpu_ns\": %" PRIu64
		    ", \"bpf_ns\": %" PRIu64 ", \"bpf_runs\": %" PRIu64 ", \"bpf_sampled\": %s"
		    ", \"max_rss_bytes\": %" PRIu64 ", \"recording_rss_bytes\": %" PRIu64
		    ", \"startup_ns\": %" PRIu64 ", \"output_ns\": %" PRIu64 "}\n}\n",
		    account->recording_cpu_ns, account->total_cpu_ns, ticks->program_time.ns,
		    ticks->program_time.num_runs, ticks->program_time.is_sampled ? "true" : "false",
		    account->max_rss_bytes, account->recording_rss_bytes, account->startup_ns,
		    account->output_ns);
}

uint64_t account_read_cpu_ns(void)
{
	return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t account_read_max_rss_bytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_maxrss * 1024;
}
