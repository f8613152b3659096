/*
 * Which records a recorder passes on to whom, which samples are its own, what it counts, and which CPUs it samples. Its parts are
 * the test's: sampler, side band, and what takes samples in.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"

static uint64_t read_clock(void);

#define clock_now_ns read_clock

#define target_read_online_cpus          read_online_cpus
#define target_is_alive                  is_alive_of_test
#define side_band_follow                 follow
#define side_band_apply                  apply_event
#define side_band_open                   open_events
#define side_band_close_cpu              close_events
#define side_band_close                  close_all_events
#define side_band_for_each_fd            visit_no_fd
#define side_band_read                   read_events
#define side_band_catch_up               catch_up
#define side_band_get_lost_count         get_lost_events
#define side_band_get_last_change_ns     get_last_change
#define publisher_get_look_ns            get_look
#define publisher_new                    open_publisher
#define idle_time_read_ns                read_idle_ns
#define sample_ingest_add_stack          add_stack
#define sample_ingest_add_sample         add_ingested
#define sample_ingest_add_block          add_block
#define sample_ingest_add_rest           add_rest
#define sample_ingest_finish             finish_ingest
#define sample_ingest_get_event          get_ingested
#define sample_ingest_get_event_metric   get_metric
#define sample_ingest_get_counts         get_ingest_counts
#define sample_ingest_get_off_cpu_counts get_off_cpu_ingest_counts
#define sample_ingest_get_wakers         get_waker_waits
#define sample_ingest_get_waker_counts   get_waker_stacks
#define raw_samples_add                  add_raw
#define raw_samples_add_request          add_request
#define raw_samples_add_plain            add_to_kept
#define runtime_stacks_add               add_runtime
#define runtime_stacks_get_runtime       get_version
#define process_table_get                get_image
#define process_table_scan               scan_processes
#define process_table_get_count          count_images
#define process_table_find               find_process
#define process_table_read_code          read_code
#define process_table_trim               trim_processes
#define process_table_finish_code        finish_code
#define process_table_refresh_details    refresh_details
#define process_table_get_stats          get_process_stats
#define process_table_on_written         apply_written
#define elf_files_new                    make_elf_files
#define file_table_start_opener          start_opener
#define file_table_get_opener            get_opener
#define file_table_get_unopened_count    get_unopened
#define file_table_take_written          take_written_file
#define file_table_settle                settle_files
#define slow_opener_get_counts           get_opener_counts
#define slow_opener_read_cpu_ns          get_opener_ns
#define slow_opener_end                  end_opener
#define elf_files_get_cost               get_elf_cost
#define elf_files_finish                 finish_elf_files
#define trace_log_add_area               add_area
#define trace_log_complete               complete_log
#define trace_builder_build              build_trace
#define profile_scale_samples            scale_samples
#include "collect/recorder.c"

#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"

/* What happened, a word each. */
static char story[1024];

static int tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int tell(const char *format, ...)
{
	size_t length = strlen(story);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(story + length, sizeof(story) - length, format, arguments);
	va_end(arguments);
	return 0;
}

static uint64_t now_ns;
static uint64_t step_ns; /* by which each look at the clock is later */

static uint64_t read_clock(void)
{
	now_ns += step_ns;
	return now_ns;
}

uint64_t read_idle_ns(void)
{
	return 12;
}

static struct recorder *recorder;
static struct event events[3];
static pid_t ids[2] = {50, 51};

/* ---- parts ---------------------------------------------------------------------------------------------------------- */

#define NUM_CPUS 4

static bool online[NUM_CPUS];
static int online_error;

int read_online_cpus(bool *cpus, size_t num_cpus)
{
	if (online_error < 0)
		return online_error;
	assert_int_equal(num_cpus, NUM_CPUS);
	memcpy(cpus, online, sizeof(online));
	return online_error;
}

static pid_t alive;

bool is_alive_of_test(pid_t id)
{
	return id == alive;
}

static struct written_file written_files[2];
static size_t num_written;

void settle_files(struct file_table *files _unused_)
{
	tell("settle files,");
}

bool take_written_file(struct file_table *files _unused_, uint64_t time_ns,
		       struct written_file *ret)
{
	assert_int_equal(time_ns, now_ns);
	if (!num_written)
		return false;
	*ret = written_files[--num_written];
	return true;
}

int apply_written(struct process_table *processes _unused_, uint64_t time_ns,
		  const struct written_file *written)
{
	return tell("%u written at %llu,", written->file, (unsigned long long)time_ns);
}

int follow(struct side_band *side_band _unused_, pid_t pid)
{
	return tell("follow %d,", pid);
}

int apply_event(struct side_band *side_band _unused_, uint64_t time_ns, const void *record _unused_,
		size_t size)
{
	return tell("event %d of %zu,", (int)time_ns, size);
}

static int open_error, cpu_error;

int open_events(struct side_band *side_band _unused_, int cpu)
{
	tell("listen %d,", cpu);
	return open_error;
}

void close_all_events(struct side_band *side_band _unused_)
{
	tell("close all events,");
}

void close_events(struct side_band *side_band _unused_, int cpu)
{
	tell("close %d,", cpu);
}

void visit_no_fd(struct side_band *side_band _unused_,
		 void (*visit)(int fd, void *context) _unused_, void *context)
{
	assert_ptr_equal(context, recorder);
}

int read_events(struct side_band *side_band _unused_, int (*on_file)(void *context) _unused_,
		void *context _unused_)
{
	return tell("events,");
}

int catch_up(struct side_band *side_band _unused_)
{
	return tell("catch up,");
}

static uint64_t last_change_ns;
static uint64_t look_ns;

int open_publisher(const struct runtime_sources *sources _unused_,
		   struct process_table *processes _unused_,
		   const struct unwind_table_opts *table_opts _unused_, struct publisher **ret)
{
	tell("publish,");
	*ret = NULL;
	return 0;
}

uint64_t get_look(const struct publisher *publisher _unused_)
{
	return look_ns;
}

uint64_t get_last_change(const struct side_band *side_band _unused_)
{
	return last_change_ns;
}

uint64_t get_lost_events(const struct side_band *side_band _unused_)
{
	return 21;
}

int add_stack(struct sample_ingest *ingest _unused_, const struct wire_stack *record _unused_,
	      size_t size)
{
	return tell("stack of %zu,", size);
}

int add_ingested(struct sample_ingest *ingest _unused_, const struct wire_sample *sample)
{
	return tell("sample %d,", (int)sample->time_ns);
}

int add_rest(struct sample_ingest *ingest _unused_, size_t event, uint32_t cpu, uint64_t weight)
{
	return tell("rest %d of %zu on %u,", (int)weight, event, cpu);
}

int add_block(struct sample_ingest *ingest _unused_, size_t event, const struct wire_block *block,
	      uint64_t end_ns)
{
	return tell("block %u of %zu at %d,", block->slot, event, (int)end_ns);
}

int finish_ingest(struct sample_ingest *ingest _unused_)
{
	return tell("finish,");
}

static struct sample_ingest_event ingested[3];

struct sample_ingest_event get_ingested(const struct sample_ingest *ingest _unused_, size_t event)
{
	return ingested[event];
}

uint32_t get_metric(const struct sample_ingest *ingest _unused_, size_t event)
{
	return 10 + (uint32_t)event;
}

static struct sample_ingest_counts ingest_counts;
static struct sample_ingest_counts off_cpu_ingest_counts;
static uint64_t wait_weights[NUM_WAIT_KINDS] = {901, 902, 903, 904};

struct sample_ingest_counts get_ingest_counts(const struct sample_ingest *ingest _unused_)
{
	return ingest_counts;
}

struct sample_ingest_counts get_off_cpu_ingest_counts(const struct sample_ingest *ingest _unused_,
						      const uint64_t **ret_weights_ns)
{
	*ret_weights_ns = wait_weights;
	return off_cpu_ingest_counts;
}

struct sample_ingest_wakers get_waker_waits(const struct sample_ingest *ingest _unused_)
{
	return (struct sample_ingest_wakers){
		.known = 1, .open = 2, .unseen = 3, .lost = 4, .left_out = 5};
}

struct sample_ingest_counts get_waker_stacks(const struct sample_ingest *ingest _unused_)
{
	return (struct sample_ingest_counts){.user = {.in_exec = 6, .walks = {7}}};
}

int add_raw(struct raw_samples *samples _unused_, uint64_t time_ns,
	    const struct wire_raw_sample *record _unused_, size_t size)
{
	return tell("raw %d of %zu,", (int)time_ns, size);
}

int add_request(struct raw_samples *samples _unused_, uint64_t time_ns,
		const struct wire_raw_sample *record _unused_, size_t size)
{
	return tell("request %d of %zu,", (int)time_ns, size);
}

static bool is_taken;
static int taken_error;

int add_to_kept(struct raw_samples *samples _unused_, uint64_t time_ns,
		const struct wire_sample *sample _unused_, bool *ret_is_taken)
{
	*ret_is_taken = is_taken;
	return tell("plain %d,", (int)time_ns) ? 0 : taken_error;
}

int add_runtime(struct runtime_stacks *stacks _unused_, const void *data _unused_, size_t size)
{
	return tell("runtime of %zu,", size);
}

static struct process process = {.id = 6};
static bool is_in_exec;
static int find_error;

int find_process(struct process_table *table _unused_, uint64_t time_ns, pid_t pid,
		 uint64_t generation, bool is_new _unused_, struct process **ret,
		 bool *ret_is_in_exec)
{
	tell("find %d at %d of %d,", pid, (int)time_ns, (int)generation);
	*ret = &process;
	*ret_is_in_exec = is_in_exec;
	return find_error;
}

int add_area(struct trace_log *log _unused_, uint32_t id, const struct wire_stack_area *area)
{
	return tell("area of %u at %d,", id, (int)area->time_ns);
}

int read_code(struct process_table *table _unused_, uint64_t at_ns _unused_)
{
	return 0;
}

void trim_processes(struct process_table *table _unused_, uint64_t at_ns _unused_)
{
}

int finish_code(struct process_table *table _unused_)
{
	return tell("code,");
}

int refresh_details(struct process_table *table _unused_)
{
	return tell("details,");
}

static struct process images[5];

uint32_t count_images(const struct process_table *table _unused_)
{
	return ARRAY_LENGTH(images);
}

const struct process *get_image(const struct process_table *table _unused_, uint32_t id)
{
	return &images[id];
}

/* All but the second one run an interpreter. */
struct process_runtime get_version(struct runtime_stacks *stacks _unused_,
				   const struct process *image)
{
	return (struct process_runtime){.is_there = image != &images[1],
					.is_known = image == &images[4],
					.runtime = WIRE_RUNTIME_PYTHON,
					.major = 3,
					.minor = (uint16_t)(10 + (image - images))};
}

static struct trace_source built;
static int build_error;

int build_trace(const struct trace_source *source, struct timeline *timeline _unused_)
{
	built = *source;
	tell("build,");
	return build_error;
}

int complete_log(struct trace_log *log _unused_)
{
	return tell("complete,");
}

struct process_table_stats get_process_stats(const struct process_table *table _unused_)
{
	return (struct process_table_stats){0};
}

static int elf_files_error, start_error;

int make_elf_files(uid_t user _unused_, struct elf_files **ret)
{
	*ret = NULL; /* nobody reads any */
	return elf_files_error;
}

int start_opener(struct file_table *table)
{
	assert_non_null(table);
	return start_error;
}

struct slow_opener *get_opener(const struct file_table *table _unused_)
{
	return NULL;
}

uint64_t get_unopened(const struct file_table *table _unused_)
{
	return 22;
}

struct slow_opener_counts get_opener_counts(const struct slow_opener *opener _unused_)
{
	return (struct slow_opener_counts){0};
}

uint64_t get_opener_ns(const struct slow_opener *opener _unused_)
{
	return 30;
}

void end_opener(struct slow_opener *opener _unused_)
{
	tell("opener ends,");
}

struct elf_worker_cost get_elf_cost(const struct elf_files *files _unused_)
{
	return (struct elf_worker_cost){.cpu_ns = 400, .max_rss_bytes = 5000};
}

void finish_elf_files(struct elf_files *files _unused_)
{
	tell("files end,");
}

int scale_samples(struct profile *profile _unused_, uint32_t metric, const struct ratio *ratio)
{
	return tell("scale %u by %d/%d,", metric, (int)ratio->numerator, (int)ratio->denominator);
}

int scan_processes(struct process_table *table _unused_)
{
	tell("scan,");
	return 0;
}

/* ---- sampler -------------------------------------------------------------------------------------------------------- */

static struct wire_counters counters[3];
static uint64_t rests[3], preempted[3], skipped[3];
static int rest_error;
static struct event_times times[3];
static int counters_error;
static uint64_t sleepers_until_ns;

static struct sampler_opts sampler_opts;
static int sampler_error;

int sampler_new(const struct sampler_opts *opts, struct sampler **ret, struct error *error)
{
	sampler_opts = *opts;
	if (sampler_error)
		return error_set(error, sampler_error, "no sampler");
	*ret = (void *)1;
	return 0;
}

void sampler_free(struct sampler *sampler _unused_)
{
}

int sampler_add_cpu(struct sampler *sampler _unused_, int cpu, struct error *error _unused_)
{
	tell("add %d,", cpu);
	return cpu_error;
}

int sampler_add_cgroup(struct sampler *sampler _unused_, int cgroup_fd, int cpu,
		       struct error *error _unused_)
{
	tell("add %d of %d,", cpu, cgroup_fd);
	return cpu_error;
}

int sampler_check_events(const struct sampler *sampler _unused_, struct error *error _unused_)
{
	return tell("check,");
}

void sampler_remove_cpu(struct sampler *sampler _unused_, int cpu)
{
	tell("remove %d,", cpu);
}

int sampler_add_target(struct sampler *sampler _unused_, pid_t tid _unused_,
		       struct error *error _unused_)
{
	return 0;
}

int sampler_get_targets_fd(const struct sampler *sampler _unused_)
{
	return -1;
}

int sampler_get_running_fd(const struct sampler *sampler _unused_)
{
	return -1;
}

void sampler_enable(struct sampler *sampler _unused_)
{
	tell("enable,");
}

void sampler_end(struct sampler *sampler _unused_)
{
	tell("end,");
	now_ns += 10;
}

void sampler_disable(struct sampler *sampler _unused_)
{
	tell("disable,");
	now_ns += 1000;
}

int sampler_attach_sites(struct sampler *sampler _unused_, size_t event _unused_,
			 const struct probe_site *sites _unused_, size_t count _unused_)
{
	return -ENOSPC;
}

uint64_t sampler_count_let_go(const struct sampler *sampler _unused_,
			      const struct leased_file *file _unused_)
{
	return 0;
}

struct left_probes sampler_get_left_probes(const struct sampler *sampler _unused_)
{
	return (struct left_probes){0};
}

uint64_t sampler_read_helper_cpu_ns(const struct sampler *sampler _unused_)
{
	return 0;
}

struct broken_leases sampler_get_broken_leases(const struct sampler *sampler _unused_)
{
	return (struct broken_leases){0};
}

int sampler_get_fd(const struct sampler *sampler _unused_)
{
	return -1;
}

void sampler_close_rings(struct sampler *sampler _unused_)
{
	tell("close rings,");
}

int sampler_read(struct sampler *sampler _unused_)
{
	return tell("read,");
}

int sampler_read_sleepers(struct sampler *sampler _unused_, uint64_t until_ns,
			  int (*handle_)(const void *record, size_t size, void *context) _unused_,
			  void *context _unused_, uint64_t *ret_num)
{
	sleepers_until_ns = until_ns;
	*ret_num = 3;
	return 0;
}

int sampler_read_counters(const struct sampler *sampler _unused_, size_t event,
			  struct wire_counters *ret)
{
	*ret = counters[event];
	return counters_error;
}

int sampler_read_rest(const struct sampler *sampler _unused_, size_t event, uint64_t *ret)
{
	*ret = rests[event];
	return 0;
}

int sampler_for_each_rest(const struct sampler *sampler _unused_, size_t event,
			  int (*handle_)(uint32_t cpu, uint64_t weight, void *context),
			  void *context)
{
	return rests[event] ? handle_(4, rests[event], context) : rest_error;
}

int sampler_read_preempted(const struct sampler *sampler _unused_, size_t event, uint64_t *ret)
{
	*ret = preempted[event];
	return 0;
}

static uint64_t due_ticks[3];

uint64_t sampler_count_due_ticks(const struct sampler *sampler _unused_, size_t event)
{
	return due_ticks[event];
}

uint64_t sampler_get_skipped(const struct sampler *sampler _unused_, size_t event)
{
	return skipped[event];
}

struct event_times sampler_get_event_times(const struct sampler *sampler _unused_, size_t event)
{
	return times[event];
}

int sampler_for_each_block(const struct sampler *sampler _unused_, size_t event,
			   int (*handle_)(const struct wire_block *block, void *context),
			   void *context)
{
	const struct wire_block block = {.slot = 70 + (uint32_t)event};

	return handle_(&block, context);
}

int sampler_read_unfollowed(const struct sampler *sampler _unused_, uint64_t *ret)
{
	*ret = 23;
	return 0;
}

int sampler_read_off_cpu_counters(const struct sampler *sampler _unused_,
				  struct wire_off_cpu_counters *ret)
{
	uint64_t *words = (uint64_t *)ret;

	for (size_t i = 0; i < sizeof(*ret) / sizeof(*words); i++)
		words[i] = 100 + i;
	return 0;
}

bool sampler_knows_lives(const struct sampler *sampler _unused_)
{
	return true;
}

int sampler_read_waker_counters(const struct sampler *sampler _unused_,
				struct wire_waker_counters *ret)
{
	*ret = (struct wire_waker_counters){.lost_ring = 8, .lost_nested = 9, .hidden = 10};
	return 0;
}

uint32_t sampler_read_max_depth(void)
{
	return 127;
}

struct unwind_maps sampler_get_unwind_maps(const struct sampler *sampler _unused_)
{
	return (struct unwind_maps){0};
}

const char *sampler_get_event_name(const struct sampler *sampler _unused_)
{
	return "cycles";
}

static uint64_t programs_ns; /* 0: nothing is read */
static int programs_error;   /* after that */

int sampler_read_time(const struct sampler *sampler _unused_, struct own_times *ret)
{
	struct own_time_reading *reading;

	if (!programs_ns)
		return programs_error;
	reading = array_add(&ret->readings);
	assert_non_null(reading);
	reading->measured_ns = programs_ns;
	reading->num_measured = programs_ns / 100;
	return programs_error;
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

static int set_up(void **state _unused_)
{
	story[0] = '\0';
	now_ns = 1000000000;
	step_ns = 0;
	online_error = open_error = cpu_error = counters_error = find_error = sampler_error = 0;
	memset(online, 1, sizeof(online));
	alive = 0;
	is_in_exec = false;
	memset(ingested, 0, sizeof(ingested));
	memset(counters, 0, sizeof(counters));
	memset(rests, 0, sizeof(rests));
	memset(preempted, 0, sizeof(preempted));
	memset(skipped, 0, sizeof(skipped));
	memset(times, 0, sizeof(times));
	memset(events, 0, sizeof(events));
	ingest_counts = off_cpu_ingest_counts = (struct sample_ingest_counts){0};
	programs_ns = 0;
	programs_error = rest_error = 0;
	recorder = calloc(1, sizeof(*recorder));
	assert_non_null(recorder);
	recorder->opts.frequency_hz = 100;
	recorder->opts.target.kind = TARGET_SYSTEM;
	recorder->until_ns = UINT64_MAX;
	recorder->epoll_fd = recorder->cgroup_fd = -1;
	recorder->queue = event_queue_new();
	recorder->thread_times = thread_times_new();
	recorder->num_possible_cpus = NUM_CPUS;
	recorder->cpus = calloc(NUM_CPUS, sizeof(*recorder->cpus));
	for (size_t i = 0; i < 3; i++)
		assert_non_null(array_add(&recorder->num_of_others));
	/* Samples are not read meanwhile. */
	recorder->next_meanwhile_ns = UINT64_MAX;
	return 0;
}

static int tear_down(void **state _unused_)
{
	recorder->runtimes = NULL;
	recorder->trace_log = NULL;
	recorder_free(recorder);
	return 0;
}

static void expect_story(const char *expected)
{
	assert_string_equal(story, expected);
	story[0] = '\0';
}

static struct wire_sample sample_of(uint32_t pid, uint8_t flags)
{
	return (struct wire_sample){
		.type = WIRE_SAMPLE, .pid = pid, .tid = pid, .time_ns = 500, .flags = flags};
}

static void be_of_processes(void)
{
	recorder->opts.target = (struct target){
		.kind = TARGET_PROCESSES, .ids = ids, .num_ids = 2, .leaves_children_out = true};
	for (size_t i = 0; i < 2; i++) {
		uint32_t number;

		assert_int_equal(target_ids_intern(&recorder->threads.pids,
						   &(struct target_id){ids[i]}, &number),
				 0);
	}
}

static uint64_t count_others(void)
{
	uint64_t sum = 0;

	array_for_each (&recorder->num_of_others, num)
		sum += *num;
	return sum;
}

static void records_go_to_whom_they_are_for(void **state _unused_)
{
	static struct wire_raw_sample raw = {.sample.type = WIRE_RAW_SAMPLE, .sample.time_ns = 600};
	struct wire_stack stack = {.type = WIRE_STACK};
	struct wire_sample sample = sample_of(50, 0);
	struct wire_stack_area area = {
		.type = WIRE_STACK_AREA, .time_ns = 700, .pid = 8, .generation = 9};
	wire_u32 other = 99;

	assert_int_equal(on_record(&stack, 64, recorder), 0);
	expect_story("stack of 64,");
	assert_int_equal(on_record(&sample, sizeof(sample) + 8, recorder), 0);
	assert_int_equal(on_record(&raw, sizeof(raw), recorder), 0);
	assert_int_equal(on_record(&area, sizeof(area) + 8, recorder), 0);
	/* Shorter ones are none. */
	assert_int_equal(on_record(&sample, sizeof(sample) - 1, recorder), 0);
	assert_int_equal(on_record(&raw, sizeof(sample) - 1, recorder), 0);
	assert_int_equal(on_record(&area, sizeof(area) - 1, recorder), 0);
	assert_int_equal(on_record(&stack, 3, recorder), 0);
	assert_int_equal(on_record(&other, 4, recorder), 0);
	expect_story("");
	assert_int_equal(event_queue_get_length(recorder->queue), 3);
	recorder->trace_log = (void *)1;
	assert_int_equal(event_queue_drain(recorder->queue, UINT64_MAX, handle, recorder), 0);
	{
		char expected[128];

		snprintf(expected, sizeof(expected),
			 "sample 500,raw 600 of %zu,find 8 at 700 of 9,area of 6 at 700,",
			 sizeof(raw));
		expect_story(expected);
	}
	recorder->runtimes = (void *)1;
	assert_int_equal(on_record(&other, 4, recorder), 0);
	expect_story("runtime of 4,");
}

static void files_that_were_written_are_handled_in_order_of_time(void **state _unused_)
{
	struct wire_sample sample = sample_of(50, 0);

	written_files[0] = (struct written_file){.time_ns = 501, .file = 3};
	written_files[1] = (struct written_file){.time_ns = 499, .file = 4};
	num_written = 2;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	assert_int_equal(read_written(recorder), 0);
	assert_int_equal(event_queue_drain(recorder->queue, UINT64_MAX, handle, recorder), 0);
	expect_story("4 written at 499,sample 500,3 written at 501,");
}

/* Mappings that were read are handled some time later, when the recorder is read again. */
static void mappings_that_were_read_are_due_later(void **state _unused_)
{
	recorder->next_hotplug_ns = UINT64_MAX;
	look_ns = UINT64_MAX;
	last_change_ns = now_ns - 1;
	assert_int_equal(recorder_read(recorder, NULL), 0);
	assert_true(recorder_get_due_ns(recorder) == UINT64_MAX); /* nobody walks by them */
	recorder->publisher = (void *)1;
	assert_int_equal(recorder_get_due_ns(recorder), last_change_ns + EVENT_QUEUE_HOLD_BACK_NS);
	recorder->publisher = NULL;
	now_ns = last_change_ns + EVENT_QUEUE_HOLD_BACK_NS - 1;
	assert_int_equal(recorder_read(recorder, NULL), 0);
	recorder->publisher = (void *)1;
	assert_int_equal(recorder_get_due_ns(recorder), last_change_ns + EVENT_QUEUE_HOLD_BACK_NS);
	recorder->publisher = NULL;
	now_ns++;
	assert_int_equal(recorder_read(recorder, NULL), 0);
	recorder->publisher = (void *)1;
	assert_true(recorder_get_due_ns(recorder) == UINT64_MAX);
	/* A HotSpot may be due before or after them. */
	look_ns = now_ns + 7;
	assert_int_equal(recorder_get_due_ns(recorder), look_ns);
	last_change_ns = now_ns;
	assert_int_equal(recorder_get_due_ns(recorder), look_ns);
	look_ns = now_ns + EVENT_QUEUE_HOLD_BACK_NS + 7;
	assert_int_equal(recorder_get_due_ns(recorder), now_ns + EVENT_QUEUE_HOLD_BACK_NS);
	recorder->publisher = NULL;
	story[0] = '\0';
}

/* A sample proves that its process is a target. */
static void processes_with_samples_are_followed(void **state _unused_)
{
	struct wire_sample sample = sample_of(77, 0);

	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	expect_story("");
	be_of_processes();
	recorder->opts.target.leaves_children_out = false;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	expect_story("follow 77,");
	sample.flags = WIRE_SAMPLE_WAKER;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	expect_story("follow 77,");
	/* A waker outside the target. */
	sample.flags = WIRE_SAMPLE_WAKER | WIRE_SAMPLE_NO_USER_MEMORY;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	expect_story("");
	sample.flags = WIRE_SAMPLE_NO_USER_MEMORY;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	expect_story("follow 77,");
	assert_int_equal(event_queue_get_length(recorder->queue), 5);
}

static void children_may_be_left_out(void **state _unused_)
{
	struct wire_sample sample = sample_of(51, 0);

	be_of_processes();
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	expect_story("follow 51,");
	sample = sample_of(52, 0);
	sample.event = 2;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	assert_int_equal(recorder->num_of_others.items[2], 1);
	/* What was not asked for is of the first event. */
	sample.event = 3;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	assert_int_equal(recorder->num_of_others.items[0], 1);
	sample.flags = WIRE_SAMPLE_OFF_CPU;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	assert_int_equal(recorder->num_waits_of_others, 1);
	sample.flags = WIRE_SAMPLE_WAKER | WIRE_SAMPLE_OFF_CPU;
	assert_int_equal(on_record(&sample, sizeof(sample), recorder), 0);
	assert_int_equal(recorder->num_waits_of_others, 1);
	assert_int_equal(count_others(), 2);
	expect_story("");
	assert_int_equal(event_queue_get_length(recorder->queue), 1);
}

static void handle_sample(uint64_t time_ns, uint8_t flags)
{
	struct wire_sample sample = sample_of(50, flags);

	assert_int_equal(handle(time_ns, RECORD_SAMPLE, &sample, sizeof(sample), recorder), 0);
}

/* After the one's last and up to the other's. */
static void samples_between_two_recordings_are_of_one(void **state _unused_)
{
	recorder->from_ns = 100;
	recorder->until_ns = 200;
	handle_sample(100, 0);
	handle_sample(201, 0);
	expect_story("");
	assert_int_equal(count_others(), 2);
	handle_sample(101, 0);
	handle_sample(200, 0);
	expect_story("sample 101,sample 200,");
	assert_int_equal(count_others(), 2);
	handle_sample(201, WIRE_SAMPLE_OFF_CPU);
	assert_int_equal(recorder->num_waits_of_others, 1);
	assert_int_equal(handle(300, RECORD_SIDE_BAND, "event", 5, recorder), 0);
	expect_story("event 300 of 5,");
	handle_sample(150, WIRE_SAMPLE_WAKER);
	expect_story("sample 150,");
}

/* Threads with samples lived, but for those who only woke others. */
static void threads_with_samples_are_observed(void **state _unused_)
{
	handle_sample(150, WIRE_SAMPLE_WAKER);
	assert_int_equal(thread_times_sum_ns(recorder->thread_times, 100, 200), 0);
	handle_sample(150, 0);
	assert_int_equal(thread_times_sum_ns(recorder->thread_times, 100, 200), 100);
	recorder->start_ns = 100;
	recorder->stop_ns = 200;
	assert_int_equal(sum_observed_ns(recorder), 100);
	recorder->from_ns = 110;
	assert_int_equal(sum_observed_ns(recorder), 90);
	recorder->until_ns = 150;
	assert_int_equal(sum_observed_ns(recorder), 40);
	recorder->from_ns = 50;
	recorder->until_ns = 250;
	assert_int_equal(sum_observed_ns(recorder), 100);
}

static void handle_area_at(uint64_t time_ns)
{
	struct wire_stack_area area = {.type = WIRE_STACK_AREA, .time_ns = time_ns, .pid = 8};

	assert_int_equal(handle(time_ns, RECORD_STACK_AREA, &area, sizeof(area), recorder),
			 find_error);
}

static void areas_are_kept_for_a_trace(void **state _unused_)
{
	recorder->from_ns = 100;
	handle_area_at(100);
	expect_story("");
	handle_area_at(101);
	expect_story("find 8 at 101 of 0,");
	recorder->trace_log = (void *)1;
	is_in_exec = true;
	handle_area_at(102);
	expect_story("find 8 at 102 of 0,");
	is_in_exec = false;
	handle_area_at(103);
	expect_story("find 8 at 103 of 0,area of 6 at 103,");
	find_error = -ENOMEM;
	handle_area_at(104);
	expect_story("find 8 at 104 of 0,");
	assert_int_equal(count_others(), 0);
}

/* So that no ring fills up while something else takes long. */
static void samples_are_read_meanwhile(void **state _unused_)
{
	static char large[1 << 20];

	recorder->next_meanwhile_ns = now_ns + 1;
	handle_sample(10, WIRE_SAMPLE_WAKER);
	expect_story("sample 10,");
	now_ns++;
	handle_sample(11, WIRE_SAMPLE_WAKER);
	expect_story("read,sample 11,");
	assert_int_equal(recorder->next_meanwhile_ns, now_ns + 20000000);
	now_ns += 20000000 - 1;
	handle_sample(12, WIRE_SAMPLE_WAKER);
	expect_story("sample 12,");
	/* Not if too much waits already. */
	now_ns++;
	for (int i = 0; i < 65; i++)
		assert_int_equal(
			event_queue_add(recorder->queue, 1, RECORD_SIDE_BAND, large, sizeof(large)),
			0);
	handle_sample(13, WIRE_SAMPLE_WAKER);
	expect_story("sample 13,");
}

static void sleepers_are_taken_at_the_end(void **state _unused_)
{
	static struct wire_raw_sample raw = {
		.sample = {.type = WIRE_RAW_SAMPLE, .pid = 50, .time_ns = 600}};
	struct wire_stack stack = {.type = WIRE_STACK};
	struct wire_sample sample = sample_of(50, WIRE_SAMPLE_OFF_CPU);
	char expected[64];

	be_of_processes();
	assert_int_equal(on_sleeper(&stack, 64, recorder), 0);
	expect_story("stack of 64,");
	assert_int_equal(on_sleeper(&sample, sizeof(sample), recorder), 0);
	expect_story("sample 500,");
	assert_int_equal(on_sleeper(&raw, sizeof(raw), recorder), 0);
	snprintf(expected, sizeof(expected), "raw 600 of %zu,", sizeof(raw));
	expect_story(expected);
	sample.pid = 52;
	assert_int_equal(on_sleeper(&sample, sizeof(sample), recorder), 0);
	expect_story("");
	assert_int_equal(recorder->num_waits_of_others, 1);
}

/* A sample without a stack of its own belongs to one that is kept, or not. */
static void what_belongs_to_a_copy_is_added_with_it(void **state _unused_)
{
	static struct wire_raw_sample raw = {
		.sample = {.type = WIRE_RAW_REQUEST, .pid = 50, .time_ns = 600}};
	struct wire_sample sample = sample_of(50, 0);
	char expected[64];

	assert_int_equal(on_record(&raw, sizeof(raw), recorder), 0);
	assert_int_equal(on_record(&raw, sizeof(raw.sample) - 1, recorder), 0);
	assert_int_equal(event_queue_drain(recorder->queue, UINT64_MAX, handle, recorder), 0);
	snprintf(expected, sizeof(expected), "request 600 of %zu,", sizeof(raw));
	expect_story(expected);
	recorder->raw_samples = (void *)1;
	is_taken = true;
	assert_int_equal(handle(500, RECORD_SAMPLE, &sample, sizeof(sample), recorder), 0);
	expect_story("plain 500,");
	is_taken = false;
	assert_int_equal(handle(500, RECORD_SAMPLE, &sample, sizeof(sample), recorder), 0);
	expect_story("plain 500,sample 500,");
	taken_error = -ENOMEM;
	assert_int_equal(handle(500, RECORD_SAMPLE, &sample, sizeof(sample), recorder), -ENOMEM);
	expect_story("plain 500,");
	taken_error = 0;
	/* A waker's copy is walked as others are. */
	raw.sample.flags = WIRE_SAMPLE_WAKER;
	assert_int_equal(handle(500, RECORD_RAW_SAMPLE, &raw, sizeof(raw), recorder), 0);
	snprintf(expected, sizeof(expected), "raw 500 of %zu,", sizeof(raw));
	expect_story(expected);
	/* A request outside the recording is nobody's, and counted when it ends. */
	recorder->from_ns = 600;
	assert_int_equal(handle(600, RECORD_RAW_REQUEST, &raw, sizeof(raw), recorder), 0);
	expect_story("");
	assert_int_equal(count_others(), 0);
	recorder->raw_samples = NULL;
}

/* ---- CPUs ------------------------------------------------------------------------------------------------------------ */

static void cpus_that_are_online_are_sampled(void **state _unused_)
{
	online[1] = false;
	online_error = 3; /* so many */
	assert_int_equal(listen_to_cpus(recorder, NULL), 0);
	expect_story("listen 0,listen 2,listen 3,");
	assert_int_equal(sample_cpus(recorder, NULL), 0);
	expect_story("add 0,add 2,add 3,check,");
	assert_int_equal(recorder->num_cpus, 3);
	for (size_t i = 0; i < NUM_CPUS; i++)
		assert_int_equal(recorder->cpus[i], i != 1);
	online_error = -EIO;
	assert_int_equal(listen_to_cpus(recorder, NULL), -EIO);
}

static void a_cpu_may_be_gone(void **state _unused_)
{
	open_error = -ENODEV;
	assert_int_equal(open_cpu(recorder, 2, NULL), 0);
	expect_story("listen 2,");
	open_error = 0;
	cpu_error = -ENODEV;
	assert_int_equal(open_cpu(recorder, 2, NULL), 0);
	expect_story("listen 2,add 2,close 2,");
	assert_false(recorder->cpus[2]);
	cpu_error = -EPERM;
	assert_int_equal(open_cpu(recorder, 2, NULL), -EPERM);
	expect_story("listen 2,add 2,close 2,");
	assert_false(recorder->cpus[2]);
	open_error = -EPERM;
	assert_int_equal(open_cpu(recorder, 2, NULL), -EPERM);
	open_error = cpu_error = 0;
	story[0] = '\0';
	recorder->opts.target.kind = TARGET_CGROUP;
	recorder->cgroup_fd = -7;
	assert_int_equal(open_cpu(recorder, 2, NULL), 0);
	expect_story("listen 2,add 2 of -7,");
	assert_true(recorder->cpus[2]);
	recorder->cgroup_fd = -1;
}

/* Once a second. */
static void cpus_come_and_go(void **state _unused_)
{
	const uint64_t start_ns = now_ns;

	recorder->next_hotplug_ns = start_ns;
	recorder->cpus[0] = recorder->cpus[1] = true;
	online[0] = online[3] = false;
	assert_int_equal(follow_cpus(recorder, start_ns - 1, NULL), 0);
	expect_story("");
	assert_int_equal(follow_cpus(recorder, start_ns, NULL), 0);
	expect_story("remove 0,close 0,listen 2,add 2,enable,");
	assert_int_equal(recorder->next_hotplug_ns, start_ns + NS_PER_SECOND);
	online[1] = false;
	assert_int_equal(follow_cpus(recorder, start_ns + NS_PER_SECOND - 1, NULL), 0);
	expect_story("");
	assert_int_equal(follow_cpus(recorder, start_ns + NS_PER_SECOND, NULL), 0);
	expect_story("remove 1,close 1,");
	assert_int_equal(follow_cpus(recorder, start_ns + 3 * NS_PER_SECOND, NULL), 0);
	expect_story("");
	online_error = -EIO;
	online[0] = true;
	assert_int_equal(follow_cpus(recorder, start_ns + 5 * NS_PER_SECOND, NULL), 0);
	expect_story("");
	online_error = 0;
	cpu_error = -EPERM;
	assert_int_equal(follow_cpus(recorder, start_ns + 7 * NS_PER_SECOND, NULL), -EPERM);
	expect_story("listen 0,add 0,close 0,");
}

static void it_ends_with_its_last_process(void **state _unused_)
{
	assert_false(recorder_has_ended(recorder));
	be_of_processes();
	for (size_t i = 0; i < 2; i++) {
		alive = ids[i];
		assert_false(recorder_has_ended(recorder));
	}
	alive = 0;
	assert_true(recorder_has_ended(recorder));
}

static void it_starts_at_once(void **state _unused_)
{
	programs_ns = 1000;
	recorder_start(recorder);
	expect_story("enable,");
	assert_true(recorder->is_running);
	assert_true(recorder->start_ns == now_ns);
	assert_true(recorder->next_hotplug_ns == now_ns + HOTPLUG_INTERVAL_NS);
	/* What the programs took before is not its own. */
	programs_ns = 4000;
	read_program_time(recorder);
	assert_int_equal(recorder->program_time.ns, 3000);
	assert_int_equal(recorder->program_time.num_runs, 30);
	assert_false(recorder->program_time.is_sampled);
	recorder->is_running = false;
}

/* Half of a reading is none. */
static void times_of_programs_that_cannot_be_read_are_left_out(void **state _unused_)
{
	programs_ns = 1000;
	programs_error = -ENOMEM;
	recorder_start(recorder);
	assert_int_equal(recorder->times_at_start.readings.length, 0);
	programs_ns = 4000;
	read_program_time(recorder);
	assert_int_equal(recorder->program_time.ns, 0);
	programs_error = 0;
	read_program_time(recorder);
	assert_int_equal(recorder->program_time.ns, 4000);
	recorder->is_running = false;
}

static const struct sampler_opts *get_sampler_opts(void)
{
	assert_int_equal(load_sampler(recorder, NULL), 0);
	return &sampler_opts;
}

/* Meanwhile, in this order: what happens after a process was read is heard of. */
static void processes_are_read_while_the_sampler_is_loaded(void **state _unused_)
{
	assert_int_equal(load_sampler(recorder, NULL), 0);
	expect_story("listen 0,listen 1,listen 2,listen 3,scan,");
	assert_non_null(recorder->sampler);
	recorder->opts.target.kind = TARGET_PROCESSES;
	recorder->opts.user_stacks = USER_STACKS_TABLE;
	assert_int_equal(load_sampler(recorder, NULL), 0);
	expect_story("listen 0,listen 1,listen 2,listen 3,publish,");
}

static void the_sampler_s_error_is_reported_first(void **state _unused_)
{
	struct error error = {0};

	open_error = -EPERM;
	assert_int_equal(load_sampler(recorder, &error), -EPERM);
	assert_string_not_equal(error.message, "no sampler");
	assert_non_null(recorder->sampler);
	recorder->sampler = NULL;
	sampler_error = -ENOTSUP;
	assert_int_equal(load_sampler(recorder, &error), -ENOTSUP);
	assert_string_equal(error.message, "no sampler");
	assert_null(recorder->sampler);
}

/* Each wish is passed on, and nothing else is wanted then. */
static void the_sampler_is_told_what_is_wanted(void **state _unused_)
{
	struct recorder_opts *opts = &recorder->opts;
	const struct {
		bool *wish;
		const bool *told;
	} wishes[] = {
		{&opts->no_kernel_stacks, &sampler_opts.no_kernel_stacks},
		{&opts->makes_trace, &sampler_opts.takes_areas},
		{&opts->records_schedule, &sampler_opts.tracks_running},
		{&opts->target.starts_on_exec, &sampler_opts.starts_on_exec},
		{&opts->target.leaves_children_out, &sampler_opts.leaves_children_out},
		{&opts->takes_wakers, &sampler_opts.off_cpu.takes_wakers},
		{&opts->only_futexes, &sampler_opts.off_cpu.only_futexes},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(wishes); i++) {
		*wishes[i].wish = true;
		(void)get_sampler_opts();
		for (size_t k = 0; k < ARRAY_LENGTH(wishes); k++)
			assert_int_equal(*wishes[k].told, i == k);
		*wishes[i].wish = false;
	}
	assert_int_equal(sampler_opts.frequency_hz, 100);
	assert_int_equal(sampler_opts.cgroup_fd, -1);
	assert_int_equal(sampler_opts.off_cpu.scheduler_pc, 0);
	assert_false(sampler_opts.is_filtered);
	assert_ptr_equal(sampler_opts.on_record, on_record);
	assert_ptr_equal(sampler_opts.context, recorder);
	opts->user_stacks = USER_STACKS_NONE;
	assert_true(get_sampler_opts()->no_user_stacks);
	assert_false(sampler_opts.walks_by_table);
	opts->user_stacks = USER_STACKS_TABLE;
	assert_false(get_sampler_opts()->no_user_stacks);
	assert_true(sampler_opts.walks_by_table);
	assert_false(sampler_opts.takes_runtime_frames);
	recorder->runtimes = (void *)1;
	assert_true(get_sampler_opts()->takes_runtime_frames);
	opts->target.kind = TARGET_PROCESSES;
	assert_true(get_sampler_opts()->is_filtered);
	opts->events = events;
	opts->num_events = 2;
	opts->event_count = 3;
	opts->ring_bytes = 4096;
	opts->off_cpu_period_ns = 5;
	opts->off_cpu_min_block_ns = 6;
	recorder->scheduler =
		(struct scheduler_code){.start = 7, .end = 9, .text_start = 5, .text_end = 11};
	recorder->cgroup_fd = 10;
	(void)get_sampler_opts();
	recorder->cgroup_fd = -1;
	assert_ptr_equal(sampler_opts.events, events);
	assert_int_equal(sampler_opts.num_events, 2);
	assert_int_equal(sampler_opts.count, 3);
	assert_int_equal(sampler_opts.ring_bytes, 4096);
	assert_int_equal(sampler_opts.off_cpu.period_ns, 5);
	assert_int_equal(sampler_opts.off_cpu.min_block_ns, 6);
	assert_int_equal(sampler_opts.off_cpu.scheduler_pc, 8);
	assert_int_equal(sampler_opts.off_cpu.scheduler_text_start, 5);
	assert_int_equal(sampler_opts.off_cpu.scheduler_text_end, 11);
	assert_int_equal(sampler_opts.cgroup_fd, 10);
}

/* ---- the end ---------------------------------------------------------------------------------------------------------- */

static void a_stop_reads_what_is_left(void **state _unused_)
{
	recorder->opts.num_events = 3;
	recorder->opts.events = events;
	events[1].is_live = true;
	recorder->until_ns = 7777;
	recorder->idle_at_start_ns = 5;
	recorder->is_running = true;
	assert_int_equal(recorder_stop(recorder, NULL), 0);
	/* Nothing counts any more, and blocks are live until then, however long it takes to take probes away. */
	expect_story(
		"end,disable,catch up,code,events,read,details,code,block 71 of 1 at 1000000010,"
		"finish,files end,settle files,opener ends,close rings,close all events,");
	assert_int_equal(sleepers_until_ns, 7777);
	assert_int_equal(recorder->num_sleepers, 3);
	assert_int_equal(recorder->stop_ns, 1000000010);
	assert_int_equal(recorder_get_account(recorder).idle_ns, 7);
	assert_false(recorder->is_running);
}

/* A last sample is known when the stacks of all others are. */
static void hits_after_the_last_sample_are_added(void **state _unused_)
{
	recorder->opts.num_events = 3;
	recorder->opts.events = events;
	recorder->until_ns = UINT64_MAX;
	rests[0] = 30;
	rests[2] = 50;
	rest_error = -EIO; /* of the other one */
	assert_int_equal(recorder_stop(recorder, NULL), 0);
	expect_story("end,disable,catch up,code,events,read,details,code,"
		     "rest 30 of 0 on 4,rest 50 of 2 on 4,"
		     "finish,files end,settle files,opener ends,close rings,close all events,");
	rests[0] = 0;
	rest_error = -ENOMEM;
	assert_int_equal(add_rests(recorder), -ENOMEM);
	/* Another recording has begun to count them. */
	recorder->until_ns = 7777;
	assert_int_equal(add_rests(recorder), 0);
}

static void events_that_took_turns_are_scaled(void **state _unused_)
{
	recorder->opts.num_events = 3;
	recorder->opts.events = events;
	times[0] = (struct event_times){1000, 1000};
	times[1] = (struct event_times){1000, 500};
	times[2] = (struct event_times){1000, 0};
	assert_int_equal(scale_events(recorder), 0);
	expect_story("scale 11 by 1000/500,");
	assert_int_equal(recorder->scales.length, 1);
	assert_int_equal(recorder->scales.items[0].metric, 11);
}

static void the_duration_is_the_time_whose_samples_are_ours(void **state _unused_)
{
	recorder->num_of_others.length = 1;
	recorder->start_ns = 1000;
	recorder->stop_ns = 5000;
	assert_int_equal(recorder_get_account(recorder).duration_ns, 4000);
	recorder->from_ns = 1500;
	recorder->until_ns = 4500;
	assert_int_equal(recorder_get_account(recorder).duration_ns, 3000);
	recorder->is_running = true;
	recorder->until_ns = UINT64_MAX;
	assert_int_equal(recorder_get_account(recorder).duration_ns, now_ns - 1500);
}

static void one_recording_ends_where_the_next_starts(void **state _unused_)
{
	struct recorder next = {.until_ns = UINT64_MAX};

	recorder_hand_over(recorder, &next);
	assert_int_equal(recorder->until_ns, 1000000000);
	assert_int_equal(next.from_ns, 1000000000);
	assert_int_equal(recorder->from_ns, 0);
	assert_true(next.until_ns == UINT64_MAX);
}

static void processes_that_run_an_interpreter_are_listed_while_they_live(void **state _unused_)
{
	struct runtime_process *found;
	size_t count;

	for (size_t i = 0; i < ARRAY_LENGTH(images); i++)
		images[i] = (struct process){.id = (uint32_t)i, .pid = 60 + (uint32_t)i};
	strcpy(images[4].comm, "server");
	images[2].is_exited = true;
	images[3].end_ns = 5; /* an exec has replaced it */
	assert_int_equal(recorder_list_runtimes(recorder, &found, &count), 0);
	assert_int_equal(count, 0);
	recorder->runtimes = (void *)1;
	assert_int_equal(recorder_list_runtimes(recorder, &found, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(found[0].pid, 60);
	assert_false(found[0].is_known);
	assert_int_equal(found[1].pid, 64);
	assert_true(found[1].is_known);
	assert_int_equal(found[1].runtime, WIRE_RUNTIME_PYTHON);
	assert_int_equal(found[1].major, 3);
	assert_int_equal(found[1].minor, 14);
	assert_string_equal(found[1].comm, "server");
	free(found);
}

/* ---- traces ----------------------------------------------------------------------------------------------------------- */

static void a_trace_weighs_by_the_periods_of_its_recording(void **state _unused_)
{
	struct metric_scale *scale = array_add(&recorder->scales);

	assert_non_null(scale);
	recorder->opts.off_cpu_period_ns = 55;
	recorder->trace_log = (void *)1;
	assert_int_equal(recorder_build_trace(recorder, NULL), 0);
	expect_story("build,complete,");
	assert_ptr_equal(built.log, recorder->trace_log);
	assert_int_equal(built.period_ns, 10000000);
	assert_int_equal(built.wait_ns, 55);
	assert_ptr_equal(built.scales, scale);
	assert_int_equal(built.num_scales, 1);
	build_error = -ENOMEM;
	assert_int_equal(recorder_build_trace(recorder, NULL), -ENOMEM);
	build_error = 0;
	expect_story("build,");
}

/* RLIMIT_FSIZE acts like a full disk. */
static void what_a_trace_lost_is_told_by_its_kind(void **state _unused_)
{
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	const struct region_fill fill = {0};
	const struct timed_wait wait = {0};
	const struct task_event event = {0};
	const struct timed_sample sample = {0};
	struct trace_losses losses;
	struct trace_log *log;
	struct rlimit before;

	assert_int_equal(trace_log_new(test_parent_folder(), &log, NULL), 0);
	recorder->trace_log = log;
	assert_int_equal(recorder_get_trace_losses(recorder).error, 0);
	spool_add(trace_log_get_fills(log), &fill);
	for (int i = 0; i < 2; i++)
		trace_log_add_wait(log, &wait);
	for (int i = 0; i < 3; i++)
		spool_add(trace_log_get_task_events(log), &event);
	for (int i = 0; i < 4; i++)
		trace_log_add_sample(log, &sample);
	for (int i = 0; i < 5; i++)
		trace_log_count_lost_rename(log);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(spool_rewind(trace_log_get_fills(log)), 0);
	losses = recorder_get_trace_losses(recorder);
	assert_int_equal(losses.lost_fills, 1);
	assert_int_equal(losses.lost_waits, 0);
	assert_int_equal(losses.error, EFBIG); /* also where no sample is lost */
	assert_int_equal(spool_rewind(trace_log_get_waits(log)), 0);
	assert_int_equal(spool_rewind(trace_log_get_task_events(log)), 0);
	assert_int_equal(spool_rewind(trace_log_get_samples(log)), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	trace_log_add_sample(log, &sample);
	assert_int_equal(spool_rewind(trace_log_get_samples(log)), 0);
	losses = recorder_get_trace_losses(recorder);
	assert_int_equal(losses.num_samples, 5);
	assert_int_equal(losses.lost_samples, 4);
	assert_int_equal(losses.lost_fills, 1);
	assert_int_equal(losses.lost_waits, 2);
	assert_int_equal(losses.lost_occupancies, 0);
	assert_int_equal(losses.lost_task_events, 3);
	assert_int_equal(losses.lost_renames, 5);
	trace_log_free(log);
}

/* ---- counts ----------------------------------------------------------------------------------------------------------- */

/* Each count of an event is a number of its own. */
static void set_counts(size_t event, uint64_t base)
{
	counters[event] = (struct wire_counters){.fired = base * 1000,
						 .idle = base + 1,
						 .filtered = base + 2,
						 .unmatched = base + 3,
						 .weightless = base + 4,
						 .unseen_begin = base + 5,
						 .unfinished = base + 6,
						 .below_period = base + 7,
						 .sends.lost_ring_sample = base + 8,
						 .sends.lost_ring_stack = base + 9,
						 .lost_block = base + 10,
						 .outside = base + 11};
	preempted[event] = base + 12;
	skipped[event] = base + 13;
	rests[event] = base + 14;
	ingested[event] = (struct sample_ingest_event){.samples = base + 15,
						       .unknown_stack = base + 16,
						       .weight = base + 17,
						       .rest = 10,
						       .live = base + 18,
						       .oldest_ns = base + 19};
	recorder->num_of_others.items[event] = base + 20;
}

static void an_event_has_all_its_counts(void **state _unused_)
{
	static char name[] = "some";
	struct event_counts counts;

	set_counts(1, 100);
	events[1] = (struct event){.name = name, .mean_distance = 5};
	recorder->opts.events = events;
	recorder->opts.num_events = 3;
	times[1] = (struct event_times){1000, 500};
	counts = count_event(recorder, 1);
	assert_int_equal(counts.mean_distance, 5);
	recorder->opts.event_count = 9;
	assert_int_equal(count_event(recorder, 1).mean_distance, 9);
	assert_int_equal(count_event(recorder, 0).mean_distance, 0);
	recorder->opts.event_count = 0;
	assert_string_equal(counts.name, "some");
	assert_int_equal(counts.fired, 100000 + 112 + 113);
	assert_int_equal(counts.idle, 101);
	assert_int_equal(counts.filtered, 102 + 120);
	assert_int_equal(counts.unmatched, 103);
	assert_int_equal(counts.weightless, 104);
	assert_int_equal(counts.unseen_begin, 105);
	assert_int_equal(counts.unfinished, 106);
	assert_int_equal(counts.below_period, 107);
	assert_int_equal(counts.lost[LOSS_RING_SAMPLE], 108);
	assert_int_equal(counts.lost[LOSS_RING_STACK], 109);
	assert_int_equal(counts.lost[LOSS_BLOCK], 110);
	assert_int_equal(counts.outside, 111);
	assert_int_equal(counts.lost[LOSS_PREEMPTED], 112);
	assert_int_equal(counts.lost[LOSS_SKIPPED], 113);
	assert_int_equal(counts.rest, 104);
	assert_int_equal(counts.samples, 115);
	assert_int_equal(counts.lost[LOSS_UNKNOWN_STACK], 116);
	assert_int_equal(counts.weight, 117);
	assert_int_equal(counts.scaled_weight, 234);
	assert_int_equal(counts.live, 118);
	assert_int_equal(counts.oldest_ns, 119);
	assert_int_equal(counts.times.running_ns, 500);
	assert_true(counts.is_estimated);
	assert_false(counts.is_live);
	events[1].mean_distance = 1; /* each byte: nothing is left to chance */
	assert_false(count_event(recorder, 1).is_estimated);
	events[1].mean_distance = 2;
	assert_true(count_event(recorder, 1).is_estimated);
	recorder->opts.event_count = 1; /* each is a sample */
	assert_false(count_event(recorder, 1).is_estimated);
	recorder->opts.event_count = 2;
	assert_true(count_event(recorder, 1).is_estimated);
	recorder->opts.event_count = 0;
	events[1] = (struct event){.name = name, .is_live = true};
	times[1].running_ns = 1000;
	counts = count_event(recorder, 1);
	assert_true(counts.is_live);
	assert_false(counts.is_estimated);
	assert_int_equal(counts.scaled_weight, 117);
}

static void ticks_that_were_not_delivered_are_lost(void **state _unused_)
{
	struct event_counts counts;

	set_counts(1, 100);
	recorder->num_of_others.length = 3;
	counts = count_event(recorder, 1);
	assert_int_equal(counts.lost[LOSS_UNDELIVERED], 0);
	assert_int_equal(counts.fired, 100000 + 112 + 113);
	due_ticks[1] = 100007;
	counts = count_event(recorder, 1);
	assert_int_equal(counts.lost[LOSS_UNDELIVERED], 7);
	assert_int_equal(counts.fired, 100007 + 112 + 113);
	due_ticks[1] = 0;
}

static void without_events_there_are_samples(void **state _unused_)
{
	struct event_counts *counts;

	set_counts(0, 100);
	recorder->num_of_others.length = 1;
	times[0] = (struct event_times){1000, 500};
	counts = recorder_get_event_counts(recorder);
	assert_string_equal(counts[0].name, "samples");
	assert_string_equal(counts[0].unit, "count");
	assert_int_equal(counts[0].samples, 115);
	assert_int_equal(counts[0].times.enabled_ns, 0);
	assert_int_equal(counts[0].scaled_weight, 117);
	assert_false(counts[0].is_live || counts[0].is_estimated);
	free(counts);
}

static void the_account_sums_up_all_events(void **state _unused_)
{
	struct recorder_account account;

	for (size_t i = 0; i < 3; i++)
		set_counts(i, 100 * (i + 1));
	recorder->opts.events = events;
	recorder->opts.num_events = 3;
	recorder->start_ns = 1000;
	recorder->stop_ns = 5000;
	recorder->observed_ns = 66;
	recorder->num_cpus = 2;
	ingest_counts = (struct sample_ingest_counts){
		.recovered = 25,
		.user = {.in_exec = 24, .kernel_only = 28, .unproven = 26, .walks = {27}}};
	account = recorder_get_account(recorder);
	assert_int_equal(account.fired, 600000 + 3 * (12 + 13 - 3 - 4 - 5 - 6 - 7) + 600 * (2 - 5));
	assert_int_equal(account.idle, 600 + 3 * 1);
	assert_int_equal(account.filtered, 2 * 600 + 3 * (2 + 20));
	assert_int_equal(account.outside, 600 + 3 * 11);
	assert_int_equal(account.samples, 600 + 3 * 15);
	assert_int_equal(account.lost[LOSS_RING_SAMPLE], 600 + 3 * 8);
	assert_int_equal(account.lost[LOSS_RING_STACK], 600 + 3 * 9);
	assert_int_equal(account.lost[LOSS_UNKNOWN_STACK], 600 + 3 * 16);
	assert_int_equal(account.lost[LOSS_PREEMPTED], 600 + 3 * 12);
	assert_int_equal(account.lost[LOSS_SKIPPED], 600 + 3 * 13);
	assert_int_equal(account.lost[LOSS_BLOCK], 600 + 3 * 10);
	assert_int_equal(account.lost_side_band, 21);
	assert_int_equal(account.unopened_files, 22);
	assert_int_equal(account.unfollowed, 23);
	assert_int_equal(account.in_exec, 24);
	assert_int_equal(account.kernel_only, 28);
	assert_int_equal(account.recovered, 25);
	assert_int_equal(account.unproven, 26);
	assert_int_equal(account.walks[0], 27);
	assert_int_equal(account.duration_ns, 4000);
	assert_int_equal(account.observed_ns, 66);
	assert_int_equal(account.num_cpus, 2);
	assert_int_equal(account.tables.worker_cpu_ns, 430);
	assert_int_equal(account.tables.worker_rss_bytes, 5000);
	assert_false(account.off_cpu.is_recorded);
	/* While it runs. */
	recorder->is_running = true;
	now_ns = 9000;
	assert_int_equal(recorder_get_account(recorder).duration_ns, 8000);
}

static void waits_have_all_their_counts(void **state _unused_)
{
	struct off_cpu_counts counts;
	struct wire_off_cpu_counters seen;

	(void)!sampler_read_off_cpu_counters(NULL, &seen);
	recorder->opts.off_cpu_period_ns = 55;
	recorder->opts.off_cpu_min_block_ns = 56;
	recorder->opts.takes_wakers = true;
	recorder->num_waits_of_others = 1000;
	recorder->num_sleepers = 40;
	off_cpu_ingest_counts = (struct sample_ingest_counts){
		.samples = 31,
		.unknown_stack = 32,
		.user = {.in_exec = 33, .kernel_only = 35, .walks = {34}}};
	counts = recorder_get_account(recorder).off_cpu;
	assert_true(counts.is_recorded);
	assert_int_equal(counts.period_ns, 55);
	assert_int_equal(counts.min_block_ns, 56);
	assert_int_equal(counts.fired, seen.fired);
	assert_int_equal(counts.filtered, seen.filtered + 1000);
	assert_int_equal(counts.unseen_begin, seen.unseen_begin);
	assert_int_equal(counts.other_waits, seen.other_waits);
	assert_int_equal(counts.other_waits_ns, seen.other_waits_ns);
	assert_int_equal(counts.below_min_block, seen.below_min_block);
	assert_int_equal(counts.below_min_block_ns, seen.below_min_block_ns);
	assert_int_equal(counts.below_period, seen.below_period);
	assert_int_equal(counts.samples, 31);
	assert_int_equal(counts.lost[LOSS_RING_SAMPLE], seen.sends.lost_ring_sample);
	assert_int_equal(counts.lost[LOSS_RING_STACK], seen.sends.lost_ring_stack);
	assert_int_equal(counts.lost[LOSS_UNKNOWN_STACK], 32);
	assert_int_equal(counts.lost[LOSS_UNREAD], seen.sent_unfinished - 40);
	assert_int_equal(counts.unfinished, seen.unfinished);
	assert_int_equal(counts.unnoted, seen.unnoted);
	assert_int_equal(counts.exact_ns[WAIT_BLOCKED], seen.blocked_ns);
	assert_int_equal(counts.exact_ns[WAIT_UNINTERRUPTIBLE], seen.uninterruptible_ns);
	assert_int_equal(counts.exact_ns[WAIT_RUN_QUEUE], seen.run_queue_ns);
	assert_int_equal(counts.exact_ns[WAIT_PREEMPTED], seen.preempted_ns);
	assert_int_equal(counts.cpu_ns, seen.cpu_ns);
	assert_int_equal(counts.lived_ns, seen.lived_ns);
	assert_int_equal(counts.in_exec, 33);
	assert_int_equal(counts.kernel_only, 35);
	assert_int_equal(counts.walks[0], 34);
	assert_memory_equal(counts.sampled_ns, wait_weights, sizeof(wait_weights));
	assert_true(counts.knows_lives);
	assert_int_equal(counts.wakers.known, 1);
	assert_int_equal(counts.wakers.open, 2);
	assert_int_equal(counts.wakers.unseen, 3);
	assert_int_equal(counts.wakers.lost, 4);
	assert_int_equal(counts.wakers.left_out, 5);
	assert_int_equal(counts.wakers.in_exec, 6);
	assert_int_equal(counts.wakers.walks[0], 7);
	assert_int_equal(counts.wakers.lost_ring, 8);
	assert_int_equal(counts.wakers.lost_nested, 9);
	assert_int_equal(counts.wakers.hidden, 10);
	assert_true(counts.wakers.is_recorded);
}

/* ---- parts that cannot be made -------------------------------------------------------------------------------------- */

/* The sampler, which comes after all other parts, is not supported here. */
static int make_all_parts(void *context)
{
	static char names[MAX_EVENTS][8];
	static struct event counted[MAX_EVENTS];
	const struct recorder_opts opts = {.frequency_hz = 100,
					   .events = counted,
					   .num_events = MAX_EVENTS,
					   .target = {.kind = TARGET_SYSTEM},
					   .user_stacks = USER_STACKS_TABLE,
					   .temporary_folder = test_parent_folder(),
					   .keeps_timestamps = true,
					   .keeps_scripts = true,
					   .makes_trace = true,
					   .checks_calls = true};
	struct recorder *made = NULL;
	int err;

	for (int i = 0; i < MAX_EVENTS; i++) {
		snprintf(names[i], sizeof(names[i]), "event%d", i);
		counted[i].name = names[i];
	}
	sampler_error = online_error = -ENOTSUP;
	err = recorder_new(&opts, &made, context);
	assert_null(made);
	return err == -ENOTSUP ? 0 : err;
}

static void each_part_that_lacks_memory_is_an_error(void **state _unused_)
{
	failing_memory_try_all(make_all_parts, NULL);
}

/* The recorder would wait for file systems of users itself, which may never answer. */
static void without_those_who_read_files_nothing_is_recorded(void **state _unused_)
{
	struct error error;

	start_error = -EAGAIN;
	assert_int_equal(make_all_parts(&error), -EAGAIN);
	assert_string_equal(error.message,
			    "cannot start recording: Resource temporarily unavailable");
	start_error = 0;
	elf_files_error = -EMFILE;
	assert_int_equal(make_all_parts(&error), -EMFILE);
	elf_files_error = 0;
	assert_int_equal(make_all_parts(&error), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_go_to_whom_they_are_for),
		TEST(files_that_were_written_are_handled_in_order_of_time),
		TEST(mappings_that_were_read_are_due_later),
		TEST(processes_with_samples_are_followed),
		TEST(children_may_be_left_out),
		TEST(samples_between_two_recordings_are_of_one),
		TEST(threads_with_samples_are_observed),
		TEST(areas_are_kept_for_a_trace),
		TEST(samples_are_read_meanwhile),
		TEST(sleepers_are_taken_at_the_end),
		TEST(what_belongs_to_a_copy_is_added_with_it),
		TEST(cpus_that_are_online_are_sampled),
		TEST(a_cpu_may_be_gone),
		TEST(cpus_come_and_go),
		TEST(it_ends_with_its_last_process),
		TEST(processes_are_read_while_the_sampler_is_loaded),
		TEST(the_sampler_s_error_is_reported_first),
		TEST(the_sampler_is_told_what_is_wanted),
		TEST(it_starts_at_once),
		TEST(times_of_programs_that_cannot_be_read_are_left_out),
		TEST(a_stop_reads_what_is_left),
		TEST(hits_after_the_last_sample_are_added),
		TEST(events_that_took_turns_are_scaled),
		TEST(the_duration_is_the_time_whose_samples_are_ours),
		TEST(one_recording_ends_where_the_next_starts),
		TEST(processes_that_run_an_interpreter_are_listed_while_they_live),
		TEST(a_trace_weighs_by_the_periods_of_its_recording),
		TEST(what_a_trace_lost_is_told_by_its_kind),
		TEST(an_event_has_all_its_counts),
		TEST(ticks_that_were_not_delivered_are_lost),
		TEST(without_events_there_are_samples),
		TEST(the_account_sums_up_all_events),
		TEST(waits_have_all_their_counts),
		cmocka_unit_test(each_part_that_lacks_memory_is_an_error),
		cmocka_unit_test(without_those_who_read_files_nothing_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
