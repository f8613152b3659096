/*
 * The program of events without a sampling counter: tracepoints, probes and software events (page
 * faults, context switches). It runs at every hit, and samples the thread once per period. Every
 * hit ends in exactly one counter. Only hits of the target that pass the event's filter are
 * counted, so samples represent only these.
 *
 * The weight of a hit is one, a constant, a field of its record, or the time since its thread was
 * at another tracepoint. A sample is taken whenever the sum of weights has covered a distance, and
 * has that distance as its weight. The distance is a random number around the period. So samples
 * are unbiased, whatever the weights and order of hits, and the sum is exact except for hits after
 * the last sample.
 *
 * The period is fixed, or it adapts: it starts at one and doubles when a CPU takes more samples in a
 * hundredth of a second than requested. It is halved when there are few. With a fixed period of one
 * each hit is a sample.
 *
 * Or the distances vary exponentially: samples are a Poisson process over the weight, and each
 * point of it represents a period, whatever happened before.
 *
 * While one program runs, the kernel skips others of its kind on the same CPU, and counts them
 * (since Linux 6.7). So a scratch area for each CPU is enough. It does not skip them at uprobes
 * (perf events since Linux 6.0, links in all versions), nor at raw tracepoints: see on_probe() and
 * on_request_end(). The kernel runs the program of a tracepoint as long as it is attached, whether
 * the perf event is enabled or not.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "allocator.h"
#define FIND_CALLER(ctx) (is_of_allocator ? find_caller(ctx) : 0)
#include "event_filter.h"
#include "live.h"
#include "maps.h"
#include "output.h"
#include "own_time.h"
#include "probe_argument.h"
#include "registers.h"
#include "request.h"
#include "system_call.h"
#include "take_sample.h"
#include "task.h"
#include "wait_target.h"
#include "wire/exponential.h"
#include "wire/wire.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by user space before loading: number of the requested event. */
const volatile __u32 event_number = 0;
/*
 * Weight of a sample; 0: adapted to the requested number of samples. For allocations, the mean of
 * the distances.
 */
const volatile __u64 fixed_period = 0;
/* Samples requested per CPU in WINDOW_NS. */
const volatile __u32 samples_per_window = 1;
/*
 * For a tracepoint, the weight's offset and size in the record; 0 bytes: every hit has hit_weight.
 */
const volatile __u32 weight_offset = 0;
const volatile __u32 weight_bytes = 0;
const volatile bool is_weight_signed = false;
/* The field is in such units: sectors, for example. */
const volatile __u32 weight_scale = 1;
/* Weight of a hit without another source. */
const volatile __u64 hit_weight = 1;
/* The weight of a hit is the time, in ns, since the start of its system call. */
const volatile bool weighs_time = false;
/* Hits are system calls: their starts, or their ends if they weigh time. */
const volatile bool has_calls = false;

/* Our own process: reading the samples of its allocations would make others. */
const volatile __u32 own_pid = 0;

/* Set by user space while it records. */
volatile bool is_recording = false;

#define WINDOW_NS      10000000ull
#define MAX_SILENCE_NS (2 * WINDOW_NS)
#define MAX_WEIGHT     (1ull << 48) /* of a hit: no amount is larger */
#define MAX_PERIOD     (1ull << 56)
/* Hash seed that keeps kernel stacks of this program apart from others, which start elsewhere. */
#define EVENT_SEED 3

PER_CPU(struct wire_period_state, period_states);

/*
 * The weight of a hit: 0 if the field is negative, as the result of a failed call, or not an
 * amount, as an address.
 */
static __always_inline __u64 read_weight(void *record)
{
	__u64 weight = 0;

	if (!weight_bytes)
		return hit_weight;
	/* Numbers are little endian. */
	if (bpf_probe_read_kernel(&weight, weight_bytes & 15, record + weight_offset))
		return 0;
	if (is_weight_signed && weight >> (weight_bytes * 8 - 1) & 1)
		return 0;
	return weight > MAX_WEIGHT ? 0 : weight * weight_scale;
}

/*
 * A new thread and a new program return from a system call that they have not made. It was made by
 * their parent, or by the process that has started the program for us. An entry of a new thread's
 * task would be of an older thread.
 */
static __always_inline bool is_first_return(__u64 task, const struct user_registers *registers)
{
	__u64 call = get_call(get_current_task(), registers);

	if (is_new_thread(call, registers)) {
		bpf_map_delete_elem(&calls, &task);
		return true;
	}
	return is_new_program(call, registers) && !bpf_map_lookup_elem(&calls, &task);
}

/*
 * The running thread's registers: not on the program's stack, which has no room for them. NULL:
 * impossible.
 */
static __always_inline const struct user_registers *get_own_registers(void)
{
	struct scratch *scratch = get_scratch();

	if (!scratch)
		return NULL;
	read_registers(&scratch->registers, get_current_task());
	return &scratch->registers;
}

/*
 * End the running thread's system call. Its number is that of its start: sigreturn(2) and exec
 * change the registers. Returns whether it is one; ret->start_ns is 0 if its start is unknown.
 */
static __always_inline bool end_call(struct wire_call *ret)
{
	const struct user_registers *registers = get_own_registers();
	__u64 task = bpf_get_current_task();
	const struct wire_call *call;

	if (!registers || is_first_return(task, registers))
		return false;
	call = bpf_map_lookup_elem(&calls, &task);
	if (!call)
		return true;
	*ret = *call;
	bpf_map_delete_elem(&calls, &task);
	return true;
}

/* Time, in ns, since the start of a system call that has ended; 0: unknown. */
static __always_inline __u64 get_call_time(const struct wire_call *call)
{
	__u64 time_ns = bpf_ktime_get_ns() - call->start_ns;

	if (!call->start_ns)
		return 0;
	return time_ns ? time_ns : 1;
}

/*
 * From half a period to one and a half; the mean is a period. Otherwise a program that makes several
 * events in turn would be sampled at some of them only.
 */
static __always_inline __u64 draw_distance(__u64 period)
{
	__u64 half = period / 2;
	__u64 random;

	if (!half)
		return period;
	random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	return period - half + random % (2 * half + 1);
}

/*
 * The first hit after a silence is a sample, so that rare hits do not wait for the long period of a
 * burst. It counts for itself alone: it was not drawn, and would always have the weight of those before
 * it. The period is halved for each window without a sample. Returns
 * the weight before it.
 */
static __always_inline __u64 end_silence(struct wire_period_state *state, __u64 weight,
					 __u64 now_ns)
{
	__u64 num_windows = (now_ns - state->sample_ns) / WINDOW_NS;
	__u64 earlier = state->weight - weight;

	state->period = num_windows < 64 ? state->period >> num_windows : 0;
	if (!state->period)
		state->period = 1;
	state->next = draw_distance(state->period);
	state->weight = 0;
	state->sample_ns = state->window_ns = now_ns;
	state->num_samples = 1;
	return earlier;
}

/* A sample is taken. */
static __always_inline void adapt(struct wire_period_state *state, __u64 now_ns)
{
	state->sample_ns = now_ns;
	if (now_ns - state->window_ns >= WINDOW_NS) {
		__u64 num_windows = (now_ns - state->window_ns) / WINDOW_NS;

		if (state->num_samples * 4 < samples_per_window * num_windows && state->period > 1)
			state->period /= 2;
		state->window_ns = now_ns;
		state->num_samples = 0;
	}
	state->num_samples++;
	if (state->num_samples > samples_per_window && state->period < MAX_PERIOD) {
		state->period *= 2;
		state->window_ns = now_ns;
		state->num_samples = 0;
	}
}

/*
 * Part of the weight exceeds the sample that is due. Returns the weight of that sample: all
 * distances that have been covered.
 */
static __always_inline __u64 cover_distances(struct wire_period_state *state)
{
	__u64 covered = state->next;
	__u64 rest = state->weight - covered;
	__u64 num_periods = rest / state->period;

	covered += num_periods * state->period;
	rest -= num_periods * state->period;
	state->next = draw_distance(state->period);
	/* Less than a period is left: of two more, one may be in it. */
	if (rest >= state->next) {
		covered += state->next;
		rest -= state->next;
		state->next = draw_distance(state->period);
	}
	state->weight = rest;
	return covered;
}

/* Maximum number of points in a hit below the mean; more have a probability of 10^-14. */
#define MAX_POINTS 16

/*
 * Add a hit. Returns the weight of the points in it; 0: none. A hit with the mean or more is always
 * a sample, with its own weight, not left to chance.
 */
static __always_inline __u64 take_points(struct wire_period_state *state, __u64 weight)
{
	__u64 num_points = 0;

	if (weight >= fixed_period)
		return weight;
	if (!state->period) {
		state->period = fixed_period;
		state->next = wire_exponential_distance(bpf_get_prandom_u32(), fixed_period);
	}
	state->weight += weight;
	for (int i = 0; i < MAX_POINTS && state->weight > state->next; i++) {
		state->weight -= state->next;
		state->next = wire_exponential_distance(bpf_get_prandom_u32(), fixed_period);
		num_points++;
	}
	return num_points * fixed_period;
}

/*
 * Add a hit. Returns the weight of the sample that is due; 0: not yet.
 *
 * ret_earlier  weight that belongs to the sample before it
 */
static __always_inline __u64 add_weight(struct wire_period_state *state, __u64 weight,
					__u64 *ret_earlier)
{
	__u64 sum = state->weight + weight;
	__u64 now_ns;

	state->weight = sum;
	if (!state->period) {
		state->period = fixed_period ? fixed_period : 1;
		state->next = draw_distance(state->period);
	}
	if (sum < state->next && fixed_period)
		return 0;
	if (sum >= state->next) {
		sum = cover_distances(state);
		if (!fixed_period)
			adapt(state, bpf_ktime_get_ns());
		return sum;
	}
	now_ns = bpf_ktime_get_ns();
	if (now_ns - state->sample_ns < MAX_SILENCE_NS)
		return 0;
	*ret_earlier = end_silence(state, weight, now_ns);
	return weight;
}

/*
 * Without user stacks, tell user space at least who has called an allocator: the function, its
 * caller, and a caller of that (wire_sample.entered_from). Gives the hash of the stack; 0: lost.
 */
static __always_inline __u64 send_caller(const struct user_registers *ctx, struct scratch *scratch,
					 __u64 outer)
{
	scratch->stack.pcs[0] = PROBED_PC(ctx);
	scratch->stack.pcs[1] = find_caller(ctx);
	scratch->stack.pcs[2] = outer & ~WIRE_ENTERED_BY_HOOK;
	return send_stack(outer ? 3 : 2, BPF_F_USER_STACK);
}

/*
 * earlier  weight before it; of an allocation, the address in its place
 * slot     of memory that may stay live
 * subject  kind of a request, or number of a system call as in struct wire_sample; 0: neither, or a
 *          system call that starts
 * time_ns  duration of a system call
 */
static __always_inline void take_sample(void *ctx, struct wire_counters *counter, __u64 pid_tgid,
					__u64 weight, __u64 earlier, bool in_user_mode, __u32 slot,
					__u64 subject, __u64 time_ns)
{
	struct scratch *scratch = get_scratch();
	enum send_result result;

	if (!scratch)
		return; /* impossible */
	describe_task(scratch, pid_tgid, in_user_mode);
	scratch->sample.event = event_number;
	scratch->sample.weight = weight;
	scratch->sample.earlier_weight = earlier;
	if (weighs_time)
		scratch->sample.duration_ms = get_duration_ms(time_ns);
	if (is_live) {
		scratch->sample.block = slot + 1;
		expect_return(ctx, find_pointer(ctx), slot, scratch->sample.time_ns);
	}
	if (request_kinds)
		scratch->sample.request = subject;
	if (has_calls && subject)
		scratch->sample.call = subject;
	else if (has_calls && !(scratch->sample.flags & WIRE_SAMPLE_NO_USER_MEMORY))
		scratch->sample.call = get_call(get_current_task(), &scratch->registers);
	if (is_of_allocator && !take_user_stacks) {
		scratch->sample.user_stack = send_caller(ctx, scratch, earlier);
		if (!scratch->sample.user_stack) {
			counter->sends.lost_ring_stack++;
			counter->lost_weight += weight;
			return;
		}
	}
	result = send_stacks(ctx, scratch, take_kernel_stacks && !in_user_mode, EVENT_SEED);
	if (result != SEND_DONE)
		counter->lost_weight += weight;
	count_send(&counter->sends, result);
}

/*
 * Count a hit. Returns whether it is of the target: ret is then the running thread, pid in the
 * upper half. On an idle CPU it was an interrupt, which counts only if the whole machine is
 * recorded.
 */
static __always_inline bool start_hit(struct wire_counters *counter, __u64 *ret)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (!(__u32)pid_tgid && !is_filtered && !is_of_cgroup && !pid_namespace_inode) {
		counter->fired++;
		*ret = 0;
		return true;
	}
	if (is_of_cgroup && !is_target((__u32)pid_tgid)) {
		counter->fired++;
		counter->filtered++;
		return false;
	}
	*ret = start_tick(counter);
	return *ret;
}

/* The weight of a probe's hit. */
static __always_inline __u64 weigh_probe(void *ctx, const struct wire_argument *argument)
{
	__u64 weight;

	if (!argument || argument->source == WIRE_ARGUMENT_NONE)
		return 1;
	weight = read_argument(ctx, argument);
	return weight > MAX_WEIGHT ? 0 : weight;
}

/* point  of a probe's points, which it is */
static __always_inline int handle_hit(void *ctx, void *record, bool has_filter, bool in_user_mode,
				      __u32 point)
{
	struct wire_counters *counter = get_per_cpu(&counters);
	struct wire_period_state *state = get_per_cpu(&period_states);
	struct wire_call call = {0};
	__u64 subject = 0;
	__u64 pid_tgid;
	__u64 earlier = 0;
	__u64 weight;
	__u64 sum;

	if (!is_recording || !counter || !state)
		return 0;
	if (!start_hit(counter, &pid_tgid))
		return 0;
	if (weighs_time) {
		if (!end_call(&call)) {
			counter->unmatched++;
			return 0;
		}
		subject = call.number;
	}
	if (has_filter && !passes_filter(record)) {
		counter->unmatched++;
		return 0;
	}
	if (record && request_kinds) {
		subject = read_kind(record);
		if (!(request_kinds >> subject & 1)) {
			counter->unmatched++;
			return 0;
		}
	}
	weight = is_of_probe   ? weigh_probe(ctx, bpf_map_lookup_elem(&arguments, &point))
		 : weighs_time ? get_call_time(&call)
		 : record      ? read_weight(record)
			       : hit_weight;
	if (weighs_time && !weight) {
		counter->unseen_begin++;
		return 0;
	}
	if (!weight) {
		counter->weightless++;
		return 0;
	}
	sum = add_weight(state, weight, &earlier);
	if (sum)
		take_sample(ctx, counter, pid_tgid, sum, earlier, in_user_mode, 0, subject, weight);
	else
		counter->below_period++;
	return 0;
}

/*
 * Handle an allocation of that size. A program may make ten million of them a second, with a sample
 * among thousands. Its owner, and whether it is a call from outside, is checked only if points of
 * the process are in it. Points in other hits are dropped, which leaves a process with the same
 * mean in the rest.
 */
static __always_inline void handle_allocation(struct user_registers *ctx, struct wire_running *mine,
					      __u32 point)
{
	const struct wire_argument *argument = bpf_map_lookup_elem(&arguments, &point);
	struct wire_counters *counter = get_per_cpu(&counters);
	struct wire_period_state *state = get_per_cpu(&period_states);
	__u64 pid_tgid;
	__u64 outer;
	__u64 weight;
	__u64 points;
	__u32 slot = 0;

	if (!argument || !counter || !state)
		return;
	weight = weigh_probe(ctx, argument);
	if (argument->may_jump)
		keep_call(ctx, mine, point, weight);
	points = take_points(state, weight);
	if (!points) {
		counter->fired++;
		if (weight)
			counter->below_period++;
		else
			counter->weightless++;
		return;
	}
	if (!start_hit(counter, &pid_tgid))
		return;
	if (own_pid && pid_tgid >> 32 == own_pid) {
		counter->filtered++;
		return;
	}
	outer = find_outer_call(ctx, mine, weight);
	if (outer == NO_CALL) {
		counter->weightless++;
	} else if (is_live && !take_slot(&slot)) {
		counter->lost_block++;
		counter->lost_weight += points;
	} else {
		take_sample(ctx, counter, pid_tgid, points, outer, true, slot, 0, 0);
	}
}

/*
 * Handle the free of a hit, whatever else it does: realloc() frees when it returns, if it has not
 * failed. Returns whether that is all.
 *
 * mine  NULL: preempted
 */
static __always_inline bool is_only_free(struct user_registers *ctx, struct wire_running *mine,
					 __u32 point)
{
	const struct wire_argument *argument = bpf_map_lookup_elem(&arguments, &point);
	__u64 address;

	if (!argument)
		return false;
	if (argument->frees == WIRE_NO_REGISTER)
		return argument->source == WIRE_ARGUMENT_NONE;
	address = read_register(ctx, argument->frees);
	if (argument->source == WIRE_ARGUMENT_NONE) {
		handle_free(find_block_key(mine, address));
		return true;
	}
	expect_free(ctx, mine, address, point, !read_argument(ctx, argument));
	return false;
}

/*
 * On a preemptible kernel a uprobe's program may be preempted, and another thread on the CPU may
 * hit a uprobe, too. The scratch area has room for one, and counters are not atomic. From Linux
 * 6.13 on the program's stack belongs to the CPU as well. So a program first disables preemption if
 * the kernel allows that (6.15, in programs of this size). Otherwise the other hit is counted as
 * lost, and so are all others until the preempted thread continues.
 *
 * Each program checks whether it is alone: of two that start at the same time both may find that
 * they are not, but never that both are. Linux 5.10 has no atomic operation other than adding.
 */
/* Set by user space before loading. */
const volatile bool keeps_cpu = false;

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

static __always_inline void keep_cpu(void)
{
	if (keeps_cpu && bpf_preempt_disable)
		bpf_preempt_disable();
}

static __always_inline void let_cpu_go(void)
{
	if (keeps_cpu && bpf_preempt_disable)
		bpf_preempt_enable();
}

static __always_inline bool start_alone(struct wire_running *mine)
{
	const volatile __u64 *num_running = &mine->num_running;

	__sync_fetch_and_add(&mine->num_running, 1);
	return *num_running == 1;
}

static __always_inline void end_run(struct wire_running *mine)
{
	__sync_fetch_and_add(&mine->num_running, -1);
}

static __always_inline void handle_point(struct user_registers *ctx, struct wire_running *mine,
					 bool is_alone)
{
	__u32 point = get_point(ctx);

	if (is_live && is_only_free(ctx, is_alone ? mine : NULL, point))
		return;
	if (!is_alone)
		__sync_fetch_and_add(&mine->lost, 1);
	else if (!is_of_allocator)
		handle_hit(ctx, NULL, false, is_probe_of_user_mode, point);
	else if (!is_hit_again(mine, ctx, point))
		handle_allocation(ctx, mine, point);
}

/*
 * User space clears is_recording, and then waits for the runs that have started. So the flag is
 * checked after the run is counted.
 */
SEC("kprobe")
int on_probe(struct user_registers *ctx)
{
	COUNT_OWN_TIME;
	struct wire_running *mine;

	keep_cpu();
	mine = get_per_cpu(&running);
	if (mine) {
		bool is_alone = start_alone(mine);

		if (is_recording)
			handle_point(ctx, mine, is_alone);
		end_run(mine);
	}
	let_cpu_go();
	return 0;
}

/* At the return of an allocator's function, in addition to on_probe(). */
SEC("kprobe")
int on_return(struct user_registers *ctx)
{
	COUNT_OWN_TIME;

	keep_cpu();
	handle_return(ctx, get_point(ctx));
	let_cpu_go();
	return 0;
}

/* User space loads one of the handlers: without a filter, none of the filter's code is loaded. */
SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	COUNT_OWN_TIME;

	return handle_hit(ctx, ctx, false, false, 0);
}

SEC("tracepoint")
int on_filtered_tracepoint(void *ctx)
{
	COUNT_OWN_TIME;

	return handle_hit(ctx, ctx, true, false, 0);
}

/* And this one beside, where time is weighed: the start of a system call. */
SEC("tracepoint")
int on_start(void *ctx)
{
	COUNT_OWN_TIME;
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 task = bpf_get_current_task();
	struct wire_call call = {.start_ns = bpf_ktime_get_ns()};
	const struct user_registers *registers;

	if (!is_recording || !tid || !is_target(tid))
		return 0;
	registers = get_own_registers();
	if (!registers)
		return 0;
	call.number = get_call(get_current_task(), registers);
	if (ends_thread(call.number))
		bpf_map_delete_elem(&calls, &task);
	else /* if the map is full, the start will be unknown at the end */
		(void)bpf_map_update_elem(&calls, &task, &call, BPF_ANY);
	return 0;
}

/* Keep the due sample, which represents so many requests. */
static __always_inline void keep_request(void *ctx, struct wire_counters *counter, __u64 pid_tgid,
					 __u64 num_requests)
{
	struct scratch *scratch = get_scratch();
	struct wire_request_key key;

	if (!scratch)
		return; /* impossible */
	describe_task(scratch, pid_tgid, false);
	scratch->sample.event = event_number;
	scratch->sample.weight = num_requests;
	scratch->sample.request = read_kind(ctx);
	scratch->sample.wait_ns = bpf_ktime_get_ns();
	if (take_stacks(ctx, scratch, take_kernel_stacks, EVENT_SEED) == SEND_LOST_STACK) {
		count_send(&counter->sends, SEND_LOST_STACK);
		return;
	}
	if (!read_key(ctx, &key)) {
		count_send(&counter->sends, SEND_LOST_SAMPLE);
		return;
	}
	/*
	 * An older request at the same sector whose end was not seen, as it was merged with another
	 * one.
	 */
	if (!bpf_map_delete_elem(&requests, &key))
		counter->unfinished++;
	/* Its stack will be gone when it ends. */
	scratch->sample.request_ns = scratch->sample.wait_ns;
	if (!is_recoverable(scratch->sample.walk_end) || send_raw(WIRE_RAW_REQUEST))
		scratch->sample.request_ns = 0;
	if (bpf_map_update_elem(&requests, &key, &scratch->sample, BPF_ANY))
		count_send(&counter->sends, SEND_LOST_SAMPLE);
}

SEC("tracepoint")
int on_request(void *ctx)
{
	COUNT_OWN_TIME;
	struct wire_counters *counter = get_per_cpu(&counters);
	struct wire_period_state *state = get_per_cpu(&period_states);
	__u64 num_requests;
	__u64 earlier = 0;
	__u64 pid_tgid;

	if (!is_recording || !counter || !state)
		return 0;
	if (!start_hit(counter, &pid_tgid))
		return 0;
	/* The sample before it may not have been sent yet: this one represents those, too. */
	num_requests = add_weight(state, 1, &earlier) + earlier;
	if (num_requests)
		keep_request(ctx, counter, pid_tgid, num_requests);
	else
		counter->below_period++;
	return 0;
}

/*
 * The end of a request, in any thread: requests that are not in the map belong to others, or were
 * below the period and have been counted.
 *
 * An interrupt reports it, perhaps while a program runs or a map is changed on this CPU. At a
 * tracepoint the kernel would skip the program then, but not at a raw one. So it uses nothing that
 * other programs use: no scratch area, and separate counters. The one that removes a sample from
 * the map sends it.
 */
PER_CPU(struct wire_counters, end_counters);

SEC("raw_tp")
int on_request_end(__u64 *arguments)
{
	COUNT_OWN_TIME;
	struct wire_counters *counter = get_per_cpu(&end_counters);
	struct wire_request_key key;
	struct wire_sample *pending;
	struct wire_sample sample;
	void *ring = get_ring();
	__u64 time_ns;

	if (!is_recording || !counter || !ring)
		return 0;
	key = get_key((struct request *)arguments[0]);
	pending = bpf_map_lookup_elem(&requests, &key);
	if (!pending)
		return 0;
	sample = *pending;
	if (bpf_map_delete_elem(&requests, &key))
		return 0;
	time_ns = bpf_ktime_get_ns() - sample.wait_ns;
	sample.weight *= time_ns ? time_ns : 1;
	sample.wait_ns = 0;
	sample.duration_ms = get_duration_ms(time_ns);
	/* Without data it looks as those of zones do. */
	if (is_of_driver(get_operation((struct request *)arguments[0])))
		sample.request = WIRE_REQUEST_OTHER;
	sample.time_ns = bpf_ktime_get_boot_ns();
	if (send(ring, &sample, sizeof(sample)))
		__sync_fetch_and_add(&counter->sends.lost_ring_sample, 1);
	else
		__sync_fetch_and_add(&counter->sends.sent, 1);
	return 0;
}

SEC("perf_event")
int on_software_event(struct bpf_perf_event_data *ctx)
{
	COUNT_OWN_TIME;

	return handle_hit(ctx, NULL, false, REGISTERS_IN_USER_MODE(ctx->regs), 0);
}
