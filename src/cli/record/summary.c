#include "cli/record/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "analysis/flat_table.h"
#include "analysis/sleepers.h"
#include "base/clock.h"
#include "base/table_format.h"
#include "cli/record/runtime_advice.h"
#include "runtime/runtime.h"
#include "viewer/page.h"

#define NUM_TOP         10
#define DEFAULT_COLUMNS 80
#define INDENT          "               "
/* Columns of a row of the top list besides the name. */
#define ROW_COLUMNS  12
#define THROTTLED_HZ 10000
/* Error of a CPU's idle time, at its start and end. */
#define IDLE_ERROR_NS (20 * NS_PER_MS)
/* After a number. */
#define KERNEL_ONLY "{sample has|samples have} none: kernel threads, or threads that start or exit"
/* Less would be shown as 0.00 s. */
#define SHOWN_NS 5000000

static void append_percent(struct text *text, uint64_t part, uint64_t whole)
{
	table_append_share(text, whole ? (double)part / (double)whole : 0, 1, 0);
}

static void append_part(struct text *text, uint64_t part, uint64_t whole, const char *what)
{
	table_append_counted(text, part, what);
	text_append_string(text, " (");
	append_percent(text, part, whole);
	text_append_char(text, ')');
}

/* A line below an item of the summary; nothing for a count of 0. */
static void append_reason(struct text *text, uint64_t count, const char *reason)
{
	if (!count)
		return;
	text_append_string(text, INDENT);
	table_append_counted(text, count, reason);
	text_append_char(text, '\n');
}

/* Report time without counting: the kernel had more events than the CPUs have counters. */
static void append_gaps(struct text *text, const struct event_counts *event)
{
	const struct event_times *times = &event->times;

	if (event_times_are_empty(times)) {
		text_printf(text,
			    INDENT
			    "%s was never counted: other events used the counters; record fewer at "
			    "once\n",
			    event->name);
		return;
	}
	if (!event_times_have_gaps(times))
		return;
	text_printf(text, INDENT "%s was counted ", event->name);
	append_percent(text, times->running_ns, times->enabled_ns);
	text_printf(text,
		    " of the time: other events used the counters;\n" INDENT
		    "weights are scaled by %.2f\n",
		    (double)times->enabled_ns / (double)times->running_ns);
}

/* "12,345 bytes", "1.234 s", or a number without a unit. */
static void append_weight(struct text *text, const struct event_counts *event, uint64_t weight)
{
	if (string_equals(event->unit, "nanoseconds")) {
		text_printf(text, "%.3f s", (double)weight / 1e9);
		return;
	}
	if (string_equals(event->unit, "bytes"))
		table_append_counted(text, weight, "{byte|bytes}");
	else
		table_append_count(text, weight, 0);
}

/* "± 0.25 %", "± 350 %": two digits. */
static void append_deviation(struct text *text, double percent)
{
	double unit = 10;

	if (percent < 99.5) {
		text_printf(text, "± %.2g %%", percent);
		return;
	}
	while (percent / unit >= 99.5)
		unit *= 10;
	text_printf(text, "± %.0f %%", round(percent / unit) * unit);
}

/*
 * Half of the interval that contains the true sum 19 times out of 20: twice the standard deviation
 * of a Poisson process with this many points. A sum of three mean distances has no point once in 20
 * times.
 */
static void append_error(struct text *text, const struct event_counts *event)
{
	double num_points = event->is_live ? (double)event->live : (double)event->samples;

	if (event->is_of_requests)
		num_points = event->effective_samples;
	if (event->is_estimated && num_points > 0) {
		text_append_string(text, " (");
		append_deviation(text, 200 / sqrt(num_points));
		text_append_char(text, ')');
	} else if (event->is_estimated && event->mean_distance && event->below_period) {
		text_append_string(text, " (below ");
		append_weight(text, event, 3 * event->mean_distance);
		text_append_string(text, ", 19 times out of 20)");
	}
}

/* The same for a stack that has a tenth of the sum: binomial. */
static void append_error_of_parts(struct text *text, const struct event_counts *event)
{
	if (!(event->effective_samples > 0) || event->is_live)
		return;
	text_append_string(text,
			   INDENT "not every one is sampled: a stack with a tenth of them is ");
	append_deviation(text, 600 / sqrt(event->effective_samples));
	text_append_string(text, ";\n" INDENT "-c 1 samples each\n");
}

/* The share of lost samples is another one if they have weights. */
static void append_lost_weight(struct text *text, const struct event_counts *event)
{
	if (!event->lost_weight)
		return;
	text_append_string(text, event->is_live ? INDENT "up to " : INDENT);
	append_weight(text, event, event->lost_weight);
	text_append_string(text, " more (");
	append_percent(text, event->lost_weight, event->weight + event->lost_weight);
	text_printf(text, ") %s lost with %s samples\n",
		    event->is_live            ? "may be"
		    : event->lost_weight == 1 ? "is"
					      : "are",
		    event->is_live ? "their" : "the");
}

/* Hits that the last sample of their CPU does not represent either, as it has none. */
static void append_rest(struct text *text, const struct event_counts *event)
{
	if (!event->rest)
		return;
	text_append_string(text, INDENT);
	append_weight(text, event, event->rest);
	text_printf(text,
		    " more %s in no stack: no sample followed %s on %s CPU;\n" INDENT
		    "a smaller -c leaves less\n",
		    event->rest == 1 ? "is" : "are", event->rest == 1 ? "it" : "them",
		    event->rest == 1 ? "its" : "their");
}

/* Calls and requests without a known time. */
static void append_unseen(struct text *text, const struct event_counts *event)
{
	append_reason(text, event->unfinished,
		      "more {has|have} no time: {its|their} end was not seen");
	append_reason(
		text, event->unseen_begin,
		"more {has|have} no time: {it|they} started before the recording, or {its|their} "
		"start was not seen\n" INDENT "(seccomp may have refused {it|them})");
}

/* For memory: freed allocations are no part of the profile. */
static void append_live(struct text *text, const struct event_counts *event)
{
	if (!event->is_live || !event->samples)
		return;
	text_append_string(text, INDENT);
	table_append_counted(text, event->live, "of them {was|were} not freed by the end");
	if (event->live)
		text_printf(text, ", the oldest is %.1f s old", (double)event->oldest_ns / 1e9);
	text_append_char(text, '\n');
}

static void append_events(struct text *text, const struct account *account)
{
	for (size_t i = 0; i < account->num_events; i++) {
		const struct event_counts *event = &account->events[i];

		text_append_string(text, i ? INDENT : "  events       ");
		table_append_counted(text, event->samples, "{sample|samples} of ");
		text_printf(text, "%s represent%s ", event->name, event->samples == 1 ? "s" : "");
		append_weight(text, event, event->scaled_weight);
		append_error(text, event);
		text_append_char(text, '\n');
		append_error_of_parts(text, event);
		append_rest(text, event);
		append_unseen(text, event);
		append_lost_weight(text, event);
		append_live(text, event);
		append_gaps(text, event);
	}
}

static void append_ticks(struct text *text, const struct summary *summary)
{
	const struct recorder_account *ticks = &summary->account->ticks;

	table_append_counted(text, ticks->samples, "{sample|samples} in ");
	text_printf(text, "%.1f s on %u CPU%s", (double)ticks->duration_ns / 1e9, ticks->num_cpus,
		    ticks->num_cpus == 1 ? "" : "s");
	if (!summary->account->num_events)
		text_printf(text, " at %u Hz (%s)", summary->account->frequency_hz,
			    summary->event_name);
	if (ticks->idle) {
		text_append_string(text, "; idle: ");
		table_append_counted(text, ticks->idle,
				     summary->account->num_events ? "{event|events}"
								  : "{tick|ticks}");
	}
	text_append_char(text, '\n');
}

static void append_stacks(struct text *text, const struct summary *summary,
			  const struct flat_table *table)
{
	const struct account *account = summary->account;
	uint64_t whole = account_sum_whole(account);
	uint64_t sum = whole + account_sum_truncated(account);
	uint64_t lack_frame_pointers = 0;

	if (!summary->has_user_stacks || !(sum + account->ticks.kernel_only))
		return;
	text_append_string(text, "  user stacks  ");
	if (sum)
		append_part(text, whole, sum, "complete");
	else
		text_append_string(text, "none");
	text_append_char(text, '\n');
	append_reason(text, account->ticks.in_exec, "of them inside an exec: kernel part only");
	append_reason(
		text, account->ticks.unproven,
		"of them may lack a caller: a frame-pointer step that no direct call before\n" INDENT
		"the return address confirms");
	append_reason(text, account->ticks.kernel_only, KERNEL_ONLY);
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++) {
		uint64_t count = account->truncated_user_stacks[i];

		append_reason(text, count, truncation_explain((enum truncation)i));
		if (i == TRUNCATED_FRAME_POINTER || i == TRUNCATED_JIT_CODE)
			lack_frame_pointers += count;
	}
	if (lack_frame_pointers && lack_frame_pointers >= sum / 100)
		runtime_advice_append_frame_pointers(text, table, &account->ticks, INDENT);
}

static const char *explain_runtime_fit(enum runtime_fit fit)
{
	switch (fit) {
	case RUNTIME_FITS_NOT:
		return "shown as native code: interpreter and native stack disagree";
	case RUNTIME_NO_THREAD:
		return "shown as native code: no thread state found";
	case RUNTIME_UNREADABLE:
		return "shown as native code: interpreter memory unreadable";
	case RUNTIME_EARLY:
		return "sampled before the interpreter was recognized";
	case RUNTIME_OUTSIDE:
		return "ran no interpreted code (startup, exit or native thread)";
	case RUNTIME_UNKNOWN:
		return "shown as native code: unsupported version or build";
	case RUNTIME_NONE:
	case RUNTIME_FITS:
	case NUM_RUNTIME_FITS:
		break;
	}
	return "";
}

static void append_runtimes(struct text *text, const struct recorder_account *ticks)
{
	for (size_t i = 0; i < ticks->num_runtimes; i++) {
		const struct runtime_counts *counts = &ticks->runtimes[i];
		const char *name = runtime_get(counts->runtime)->name;
		bool has_version = counts->major || counts->minor;
		char version[RUNTIME_VERSION_BYTES];
		char what[80];

		runtime_format_version(counts->runtime, counts->major, counts->minor, version);
		text_printf(text, "  %-12s ", name);
		if (runtime_is_named(counts->runtime)) {
			table_append_count(text, counts->samples, 0);
			text_printf(text, " shown as native code: frames of %s are not supported\n",
				    name);
			continue;
		}
		snprintf(what, sizeof(what), "with frames of %s%s%s", name, has_version ? " " : "",
			 has_version ? version : "");
		append_part(text, counts->fits[RUNTIME_FITS],
			    counts->samples - counts->fits[RUNTIME_OUTSIDE], what);
		text_append_char(text, '\n');
		for (enum runtime_fit fit = RUNTIME_FITS_NOT; fit < NUM_RUNTIME_FITS; fit++)
			append_reason(text, counts->fits[fit], explain_runtime_fit(fit));
		append_reason(text, counts->may_lack_inlined,
			      "may lack inlined functions: code metadata unreadable or incomplete");
	}
	append_reason(
		text, ticks->lost_runtime_codes,
		"{function has|functions have} no name: the limit of stored functions was reached");
}

static const char *explain_unnamed(enum unnamed_reason reason)
{
	switch (reason) {
	case UNNAMED_NO_MAPPING:
		return "outside all known mappings";
	case UNNAMED_NO_FILE:
		return "in files that could not be opened";
	case UNNAMED_BUILD_ID_DIFFERS:
		return "in files that were replaced or overwritten";
	case UNNAMED_NO_SYMBOL:
		return "in code without symbols";
	case UNNAMED_NOT_REACHED:
		return "not reached before symbolization was stopped";
	case UNNAMED_NOT:
	case NUM_UNNAMED_REASONS:
		break;
	}
	return "";
}

static void append_unread(struct text *text, const struct unread_debug_info *unread)
{
	if (!unread->path)
		return;
	text_printf(text,
		    INDENT "inlined calls are missing: debug information of\n" INDENT "%s is in ",
		    unread->path);
	text_append_string(text, unread->is_split ? ".dwo files, which are not read;\n" INDENT
						    "build without -gsplit-dwarf\n"
						  : "a missing dwz file\n");
}

static void append_frames(struct text *text, const struct summary *summary,
			  const struct flat_table *table)
{
	const struct account *account = summary->account;
	uint64_t sum = account->named_frames + account_sum_unnamed(account);

	if (!sum)
		return;
	text_append_string(text, "  frames       ");
	append_part(text, account->named_frames, sum, "named");
	text_append_char(text, '\n');
	/* A few are in every recording: libc and the dynamic linker start with such code. */
	if (account->sizeless_frames >= sum / 100)
		append_reason(text, account->sizeless_frames,
			      "named by symbols without a size: their end is unknown");
	for (size_t i = UNNAMED_NOT + 1; i < NUM_UNNAMED_REASONS; i++)
		append_reason(text, account->unnamed_frames[i],
			      explain_unnamed((enum unnamed_reason)i));
	runtime_advice_append_names(text, table, &account->ticks, INDENT);
	append_unread(text, &summary->unread_debug_info);
	if (summary->is_kernel_restricted)
		text_append_string(text, INDENT "kernel functions have no names: /proc/kallsyms is "
						"restricted;\n" INDENT
						"set sysctl kernel.kptr_restrict=0 or run with "
						"CAP_SYSLOG\n");
}

/*
 * Whether more ticks are missing than those of idle CPUs. Some machines deliver no ticks to them,
 * and no sample is missing then. The kernel counts idle time in hundredths of a second.
 */
static bool is_throttled(const struct account *account)
{
	const struct recorder_account *ticks = &account->ticks;
	uint64_t undelivered = ticks->lost[LOSS_UNDELIVERED];
	uint64_t tick_ns = NS_PER_SECOND / (account->frequency_hz ? account->frequency_hz : 1);
	uint64_t asleep_ns = ticks->idle_ns + ticks->num_cpus * IDLE_ERROR_NS;

	if (account->frequency_hz < THROTTLED_HZ || undelivered <= ticks->fired / 100)
		return false;
	return (undelivered + ticks->idle) * tick_ns > asleep_ns + asleep_ns / 20;
}

static const char *describe_no_loss(const struct account *account, const struct trace_losses *trace)
{
	if (trace->error)
		return "nothing but in the trace";
	return account_sum_lost(account) ? "no sample that was taken" : "nothing";
}

static void append_lost(struct text *text, const struct account *account,
			const struct trace_losses *trace)
{
	uint64_t lost = account_sum_lost_samples(account);

	text_append_string(text, "  lost         ");
	if (lost)
		append_part(text, lost, lost + account->ticks.samples, "{sample|samples}");
	else
		text_append_string(text, describe_no_loss(account, trace));
	text_append_char(text, '\n');
	append_reason(text, trace->lost_samples,
		      "missing in the trace: set TMPDIR to a directory with room");
	for (enum loss loss = 0; loss < NUM_LOSSES; loss++)
		append_reason(text, account->ticks.lost[loss], loss_explain(loss));
	if (account->ticks.lost[LOSS_RING_SAMPLE] || is_throttled(account))
		text_append_string(
			text,
			INDENT "take fewer samples, by a lower -F or a larger -c, to lose less\n");
	append_reason(text, account->ticks.outside,
		      "not recorded: processes outside this pid namespace");
	append_reason(text, account->ticks.unfollowed,
		      "new {thread was|threads were} not sampled: too many threads to follow");
	append_reason(text, account->ticks.lost_side_band,
		      "process {event|events} lost by the kernel: /proc was rescanned, some names "
		      "may be missing");
}

static const char *explain_wait(enum wait_kind kind)
{
	switch (kind) {
	case WAIT_BLOCKED:
		return "blocked until woken";
	case WAIT_UNINTERRUPTIBLE:
		return "blocked, uninterruptible";
	case WAIT_RUN_QUEUE:
		return "in a run queue after being woken";
	case WAIT_PREEMPTED:
		return "preempted, waiting for a CPU again";
	case NUM_WAIT_KINDS:
		break;
	}
	return "";
}

/* Difference between the threads' lifetime and the sum of its parts, if more than 1 %. */
static void append_unaccounted(struct text *text, const struct off_cpu_counts *counts)
{
	int64_t unaccounted_ns = off_cpu_counts_get_unaccounted_ns(counts);
	uint64_t size_ns = (uint64_t)(unaccounted_ns < 0 ? -unaccounted_ns : unaccounted_ns);
	const char *reason = "missing: waits whose start was not seen";

	if (!counts->knows_lives || size_ns <= counts->lived_ns / 100)
		return;
	if (unaccounted_ns < 0)
		reason = "counted twice: the kernel did not report all switches";
	else if (counts->unnoted)
		reason = "missing: waits that were not recorded";
	text_printf(text, INDENT "%.3f s (", (double)size_ns / 1e9);
	append_percent(text, size_ns, counts->lived_ns);
	text_printf(text, ") of the threads' time is %s\n", reason);
}

static void append_wakers(struct text *text, const struct waker_counts *counts)
{
	uint64_t sum = counts->known + counts->unseen + counts->lost;

	if (!counts->is_recorded || !sum)
		return;
	text_append_string(text, INDENT);
	append_part(text, counts->known, sum, "{wait|waits} with a known waker");
	text_append_char(text, '\n');
	append_reason(text, counts->lost, "waker seen, but its record was lost");
	append_reason(text, counts->lost_ring, "of these: ring full");
	append_reason(text, counts->lost_nested, "of these: an interrupt during another wakeup");
	append_reason(text, counts->hidden, "of these: another pid namespace");
	append_reason(
		text, counts->left_out,
		"user {stack|stacks} of wakers dropped: /proc/kallsyms is restricted;\n" INDENT
		"set sysctl kernel.kptr_restrict=0 or run with CAP_SYSLOG");
}

/* The share of the filtered time that is in the samples. */
static void append_coverage(struct text *text, const struct off_cpu_counts *counts)
{
	if (counts->only_futexes && !account_sum_waits(counts->exact_ns))
		text_printf(text, ": no thread waited for a futex%s\n",
			    counts->below_min_block ? " that long" : "");
	else
		text_printf(text, " represent%s %.2f%% of the time %s\n",
			    counts->samples == 1 ? "s" : "", account_get_coverage(counts),
			    counts->only_futexes ? "waited for futexes" : "off the CPU");
}

/* "2.5 ms", "10 s" */
static void append_duration(struct text *text, uint64_t duration_ns)
{
	bool is_long = duration_ns >= NS_PER_SECOND;

	text_printf(text, "%.3g %s", (double)duration_ns / (is_long ? 1e9 : 1e6),
		    is_long ? "s" : "ms");
}

static void append_short_waits(struct text *text, const struct off_cpu_counts *counts)
{
	text_printf(text, INDENT "%.3f s skipped, in %" PRIu64 " wait%s below ",
		    (double)counts->below_min_block_ns / 1e9, counts->below_min_block,
		    counts->below_min_block == 1 ? "" : "s");
	append_duration(text, counts->min_block_ns);
	text_append_char(text, '\n');
}

static void append_off_cpu(struct text *text, const struct account *account,
			   const struct sleepers *sleepers)
{
	const struct off_cpu_counts *counts = &account->ticks.off_cpu;
	uint64_t whole = account->off_cpu.complete_user_stacks + counts->in_exec;
	uint64_t sum = whole;

	if (!counts->is_recorded)
		return;
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++)
		sum += account->off_cpu.truncated_user_stacks[i];
	text_append_string(text, "  off-CPU      ");
	table_append_counted(text, counts->samples, "{sample|samples} (period ");
	append_duration(text, counts->period_ns);
	text_append_char(text, ')');
	append_coverage(text, counts);
	for (enum wait_kind kind = 0; kind < NUM_WAIT_KINDS; kind++)
		if (counts->exact_ns[kind])
			text_printf(text, INDENT "%.3f s %s\n",
				    (double)counts->exact_ns[kind] / 1e9, explain_wait(kind));
	append_reason(text, sleepers->num_threads, "{thread|threads} slept throughout");
	if (counts->other_waits)
		text_printf(text,
			    INDENT "%.3f s skipped, in %" PRIu64
				   " wait%s for anything but a futex\n",
			    (double)counts->other_waits_ns / 1e9, counts->other_waits,
			    counts->other_waits == 1 ? "" : "s");
	if (counts->below_min_block)
		append_short_waits(text, counts);
	if (sum) {
		text_append_string(text, INDENT);
		append_part(text, whole, sum, "user {stack|stacks} complete");
		text_append_char(text, '\n');
	}
	append_reason(text, counts->kernel_only, KERNEL_ONLY);
	for (size_t i = 0; i < NUM_TRUNCATIONS; i++)
		append_reason(text, account->off_cpu.truncated_user_stacks[i],
			      truncation_explain((enum truncation)i));
	for (enum loss loss = 0; loss < NUM_LOSSES; loss++)
		append_reason(text, counts->lost[loss], loss_explain(loss));
	append_reason(text, counts->unnoted, "{wait|waits} not recorded: too many threads");
	append_unaccounted(text, counts);
	append_wakers(text, &counts->wakers);
}

static void append_scheduling(struct text *text, const struct scheduling_counts *counts)
{
	if (!counts->is_recorded)
		return;
	text_append_string(text, "  scheduling   ");
	table_append_counted(text, counts->switches, "{switch|switches} and ");
	table_append_counted(text, counts->wakeups, "{wakeup|wakeups}\n");
	append_reason(
		text, counts->kworks.kept,
		"{interrupt, softirq or workqueue item|interrupts, softirqs and workqueue items}");
	append_reason(text,
		      counts->kworks.lost_ring + counts->kworks.lost_nested +
			      counts->kworks.lost_storage,
		      "of these lost; --stats has the reasons");
	append_reason(text, counts->lost_ring, "lost: ring full");
	append_reason(text, counts->lost_nested,
		      "lost: {wakeup|wakeups} by an interrupt inside another event");
	append_reason(text, counts->lost_storage,
		      "lost: temporary file full; set TMPDIR to another directory");
	append_reason(text, counts->lost_unseen,
		      "lost: not reported by the kernel; the CPU shows [unknown] until its "
		      "thread is known");
}

static void append_cost(struct text *text, const struct account *account)
{
	const struct program_time *programs = &account->ticks.program_time;
	uint64_t recording_ns = account->recording_cpu_ns + programs->ns;

	text_printf(text, "  our cost     %.2f s CPU", (double)recording_ns / 1e9);
	/* A shorter recording is little more than its start. */
	if (account->ticks.duration_ns >= NS_PER_SECOND)
		text_printf(text, " (%.2f%% of one CPU)",
			    100 * (double)recording_ns / (double)account->ticks.duration_ns);
	text_printf(text, " and %" PRIu64 " MB while recording;\n",
		    account->recording_rss_bytes >> 20);
	if (programs->ns >= SHOWN_NS)
		text_printf(text, INDENT "%.2f s of it in BPF programs, while others ran%s;\n",
			    (double)programs->ns / 1e9,
			    programs->is_sampled ? " (estimated: some runs are timed)" : "");
	text_printf(text, INDENT "%.2f s and %" PRIu64 " MB including symbolization\n",
		    (double)(account->total_cpu_ns + programs->ns) / 1e9,
		    account->max_rss_bytes >> 20);
}

size_t summary_get_columns(void)
{
	struct winsize window;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || window.ws_col < 40)
		return DEFAULT_COLUMNS;
	return window.ws_col;
}

/* Append a name truncated to the terminal; control characters are escaped. */
static void append_name(struct text *text, const struct flat_row *row, size_t columns)
{
	_cleanup_(text_release) struct text name = {0};

	text_append(&name, row->function, row->function_length);
	if (*row->module && row->function[0] != '[')
		text_printf(&name, "  (%s)", row->module);
	if (name.failed)
		text->failed = true;
	else
		table_append_name(text, name.data, name.length, columns);
}

static void append_top(struct text *text, const struct flat_table *table, const char *title,
		       bool by_total, size_t num_columns)
{
	size_t columns = num_columns - ROW_COLUMNS;

	text_printf(text, "\n  %s\n", title);
	for (size_t i = 0; i < table->num_rows && i < NUM_TOP; i++) {
		const struct flat_row *row = &table->rows[i];
		uint64_t value = by_total ? row->total : row->self;

		if (!value)
			break;
		text_append_string(text, "  ");
		table_append_share(text, table->sum ? (double)value / (double)table->sum : 0, 2, 7);
		text_append_string(text, "  ");
		append_name(text, row, columns);
		text_append_char(text, '\n');
	}
}

/* With several metrics: the one that a file contains, or shows first. */
static void append_metric(struct text *text, const struct output *output,
			  const struct summary *summary)
{
	if (profile_count_metrics(summary->profile) > 1 && output_shows_chosen_metric(output))
		text_printf(text, " of %s",
			    format_get_metric_name(summary->profile, summary->metric));
}

/* The path is the user's, or composed by a script: escape it for display. */
static void append_written(struct text *text, const char *path)
{
	text_append_string(text, "wrote ");
	table_append_name(text, path, strlen(path), SIZE_MAX);
}

static void append_outputs(struct text *text, const struct summary *summary)
{
	text_append_char(text, '\n');
	for (size_t i = 0; i < summary->outputs->length; i++) {
		const struct output *output = &summary->outputs->items[i];
		const char *path = output_file_get_path(output->file);

		if (output->has_failed || string_equals(path, "-"))
			continue;
		append_written(text, path);
		text_printf(text, " (%s", output->format->name);
		append_metric(text, output, summary);
		text_append_string(text, ", ");
		table_append_count(text, output_file_get_size(output->file), 0);
		text_append_string(text, output->format == &format_html
						 ? " bytes): open it with a browser, on any "
						   "machine\n"
						 : " bytes)\n");
	}
	if (summary->stats_path && !string_equals(summary->stats_path, "-")) {
		append_written(text, summary->stats_path);
		text_append_string(text, " (account of the run)\n");
	}
}

/* The whole that the functions below it have parts of. */
static void append_title(struct text *title, const struct summary *summary)
{
	const struct metric *metric = profile_get_metric(summary->profile, summary->metric);
	const char *unit = profile_get_string(summary->profile, metric->unit);

	if (!summary->account->num_events || string_equals(unit, "nanoseconds"))
		text_append_string(title, "where the time goes: by self");
	else
		text_printf(title, "where %s come from: by self",
			    profile_get_string(summary->profile, metric->name));
}

/* The functions with most of the time. */
static int append_tops(struct text *text, const struct summary *summary,
		       const struct sleepers *sleepers)
{
	_cleanup_(flat_table_release) struct flat_table table = {0};
	_cleanup_(text_release) struct text title = {0};
	_cleanup_(frame_tree_release) struct frame_tree tree;
	int err = frame_tree_init(&tree, summary->profile);

	if (err)
		return err;
	err = sleepers_group(sleepers, &tree, summary->metric, NULL, &table);
	if (err || !table.num_rows)
		return err;
	append_title(&title, summary);
	if (title.failed)
		return -ENOMEM;
	append_top(text, &table, title.data, false, summary->num_columns);
	flat_table_sort_by_total(&table);
	append_top(text, &table, "by total (including callees)", true, summary->num_columns);
	return 0;
}

int summary_append(const struct summary *summary, struct text *ret)
{
	_cleanup_(flat_table_release) struct flat_table table;
	_cleanup_(sleepers_release) struct sleepers sleepers = {0};
	int err = flat_table_init_profile(&table, summary->profile, 0);

	if (err)
		return err;
	err = sleepers_find(summary->profile, summary->metric, NULL, &sleepers);
	if (err)
		return err;
	append_ticks(ret, summary);
	append_events(ret, summary->account);
	append_stacks(ret, summary, &table);
	append_runtimes(ret, &summary->account->ticks);
	append_frames(ret, summary, &table);
	append_lost(ret, summary->account, &summary->trace_losses);
	append_off_cpu(ret, summary->account, &sleepers);
	append_scheduling(ret, &summary->account->ticks.scheduling);
	append_cost(ret, summary->account);
	err = append_tops(ret, summary, &sleepers);
	if (err)
		return err;
	append_outputs(ret, summary);
	return ret->failed ? -ENOMEM : 0;
}

int summary_append_line(const struct summary *summary, struct text *ret)
{
	const struct account *account = summary->account;
	uint64_t whole = account_sum_whole(account);
	uint64_t sum = whole + account_sum_truncated(account);
	size_t num_written = 0;

	table_append_counted(ret, account->ticks.samples, "{sample|samples} in ");
	text_printf(ret, "%.1f s", (double)account->ticks.duration_ns / 1e9);
	if (summary->has_user_stacks && sum) {
		text_append_string(ret, ", ");
		append_percent(ret, whole, sum);
		text_append_string(ret, " of the user stacks complete");
	}
	text_append_string(ret, ", lost ");
	table_append_count(ret, account_sum_lost_samples(account), 0);
	if (is_throttled(account)) {
		text_append_string(ret, ", ");
		append_percent(ret, account->ticks.lost[LOSS_UNDELIVERED], account->ticks.fired);
		text_append_string(ret, " of the ticks were not delivered");
	}
	for (size_t i = 0; i < summary->outputs->length; i++) {
		const struct output *output = &summary->outputs->items[i];

		if (output->has_failed)
			continue;
		text_printf(ret, "%s%s", num_written++ ? ", " : ": ",
			    output_file_get_path(output->file));
	}
	text_append_char(ret, '\n');
	return ret->failed ? -ENOMEM : 0;
}

static int print(const struct summary *summary,
		 int (*append)(const struct summary *summary, struct text *ret))
{
	_cleanup_(text_release) struct text text = {0};
	int err = append(summary, &text);

	if (!err)
		fwrite(text.data, 1, text.length, stderr);
	return err;
}

int summary_print(const struct summary *summary)
{
	return print(summary, summary_append);
}

int summary_print_line(const struct summary *summary)
{
	return print(summary, summary_append_line);
}
