#include "collect/events.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/near_names.h"
#include "base/text.h"
#include "collect/events/event_device.h"
#include "collect/events/event_filter.h"
#include "collect/events/event_names.h"
#include "collect/events/event_tracepoints.h"
#include "collect/events/probe.h"
#include "collect/kernel/name_list.h"
#include "collect/kernel/private_mount.h"
#include "wire/request.h"

/* Limit for a word that is compared with names and with cache events. */
#define MAX_WORD 64
/* Limit for a hit's weight, so that sums fit into 64 bits. */
#define MAX_HIT_WEIGHT (1u << 30)

const char *event_kind_get_name(enum event_kind kind)
{
	static const char *const names[NUM_EVENT_KINDS] = {
		[EVENT_SOFTWARE] = "software",
		[EVENT_HARDWARE] = "hardware",
		[EVENT_CACHE] = "caches",
		[EVENT_RAW] = "raw",
		[EVENT_DEVICE] = "devices",
		[EVENT_TRACEPOINT] = "tracepoints",
		[EVENT_SYSTEM_CALL] = "system calls",
		[EVENT_BLOCK_IO] = "block devices",
		[EVENT_PROBE] = "probes",
	};

	return names[kind];
}

bool event_is_time(const struct event *event)
{
	return event->kind == EVENT_SOFTWARE && (event->config == PERF_COUNT_SW_CPU_CLOCK ||
						 event->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool event_is_clock(const struct event *event)
{
	return event->kind == EVENT_HARDWARE || event->kind == EVENT_CACHE ||
	       event->kind == EVENT_RAW || event->kind == EVENT_DEVICE || event_is_time(event);
}

bool event_shows_cpu_time(const struct event *event)
{
	bool is_of_all = !event->leaves_user_out && !event->leaves_kernel_out;
	bool is_cycles = event->kind == EVENT_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES;

	return is_of_all && (event_is_time(event) || is_cycles);
}

bool event_is_trace_event(const struct event *event)
{
	return event->kind == EVENT_TRACEPOINT || event->kind == EVENT_SYSTEM_CALL ||
	       event->kind == EVENT_BLOCK_IO || event->kind == EVENT_PROBE;
}

bool event_is_of_allocators(const struct event *event)
{
	return event->probe && event->probe->kind == PROBE_ALLOCATOR;
}

const char *event_get_unit(const struct event *event)
{
	if (event->unit)
		return event->unit;
	return event_is_time(event) ? "nanoseconds" : "count";
}

void event_list_release(struct event_list *list)
{
	array_for_each (&list->events, event) {
		free(event->name);
		free(event->unit);
		probe_free(event->probe);
		event_filter_free(event->filter);
	}
	array_release(&list->events);
}

void event_paths_find(struct event_paths *ret)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

	*ret = (struct event_paths){.devices = "/sys/bus/event_source/devices",
				    .tracing_mount = -1};
	for (size_t i = 0; i < ARRAY_LENGTH(mounts) && !ret->tracing; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/events", mounts[i]);
		/* An unreadable tracefs exists, too; the error is reported later. */
		if (!access(path, F_OK) || errno == EACCES)
			ret->tracing = mounts[i];
	}
	if (ret->tracing)
		return;
	ret->tracing_mount = private_mount_open("tracefs");
	if (ret->tracing_mount < 0)
		return;
	snprintf(ret->tracing_mount_path, sizeof(ret->tracing_mount_path), "/proc/self/fd/%d",
		 ret->tracing_mount);
	ret->tracing = ret->tracing_mount_path;
}

void event_paths_release(struct event_paths *paths)
{
	if (paths->tracing_mount >= 0)
		close(paths->tracing_mount);
	paths->tracing_mount = -1;
	paths->tracing = NULL;
}

static int compare_with(const char *name, void *context)
{
	near_names_compare(context, name);
	return 0;
}

static int refuse_unknown(const struct event_paths *paths, const char *word, struct error *error)
{
	struct near_names near = {.word = word};
	char cache[MAX_WORD];
	char names[NEAR_NAMES_TEXT_BYTES];

	for (size_t i = 0; i < num_event_names; i++)
		near_names_compare(&near, event_names[i].name);
	for (size_t i = 0; event_cache_get_name(i, cache, sizeof(cache)); i++)
		near_names_compare(&near, cache);
	/* Without tracepoints, if these are unreadable. */
	if (paths->tracing && strlen(word) <= MAX_WORD &&
	    event_tracepoints_list(paths->tracing, compare_with, &near) == -ENOMEM)
		return -ENOMEM;
	near_names_format(&near, names);
	return error_set(error, -EINVAL, "no event '%.*s'%s", MAX_WORD, word,
			 near.num_found ? names
					: "; 'stackwide events' lists the events of this machine");
}

/* ---- words -------------------------------------------------------------------------------- */

/* "u", "kpp": whose events are counted, and how precisely. */
static int take_modifiers(const char *word, const char *modifiers, struct event *event,
			  struct error *error)
{
	bool counts_user = false, counts_kernel = false, counts_hypervisor = false;

	for (const char *at = modifiers; *at; at++) {
		if (*at == 'u')
			counts_user = true;
		else if (*at == 'k')
			counts_kernel = true;
		else if (*at == 'h')
			counts_hypervisor = true;
		else if (*at == 'p' && event->precision < 3)
			event->precision++;
		else
			return error_set(
				error, -EINVAL,
				"%s: '%c' is not one of u (user), k (kernel), h (hypervisor) and, up "
				"to three times, p (precise)",
				word, *at);
	}
	if (!counts_user && !counts_kernel && !counts_hypervisor)
		return 0;
	event->leaves_user_out = !counts_user;
	event->leaves_kernel_out = !counts_kernel;
	event->leaves_hypervisor_out = !counts_hypervisor;
	return 0;
}

/*
 * unit   of its weight; NULL: a count
 */
static int add_event(const struct event *event, const char *name, const char *unit,
		     struct event_list *ret)
{
	struct event *added = array_add(&ret->events);

	if (!added)
		return -ENOMEM;
	*added = *event;
	added->name = strdup(name);
	added->unit = unit ? strdup(unit) : NULL;
	return added->name && (added->unit || !unit) ? 0 : -ENOMEM;
}

/* "cpu/event=0x3c/u". The metric has the name of the whole, without modifiers. */
static int add_device_event(const struct event_paths *paths, char *word, struct event_list *ret,
			    struct error *error)
{
	struct event event = {.kind = EVENT_DEVICE};
	char *words = strchr(word, '/');
	char *end = strrchr(word, '/');
	_cleanup_free_ char *name = NULL;
	int err;

	if (words == end)
		return error_set(error, -EINVAL, "%s: the second '/' is missing", word);
	err = take_modifiers(word, end + 1, &event, error);
	if (err)
		return err;
	end[1] = '\0';
	name = strdup(word);
	if (!name)
		return -ENOMEM;
	*words = *end = '\0';
	err = event_device_configure(paths->devices, word, words + 1, &event, error);
	return err ? err : add_event(&event, name, NULL, ret);
}

/* "r01c4": a number from the CPU's manual. */
static bool is_raw(const char *word, uint64_t *ret_config)
{
	size_t length = strlen(word);

	return length >= 2 && length <= 17 && word[0] == 'r' &&
	       hex_read(word + 1, length - 1, ret_config) == length - 1;
}

/* A name that is the same on all machines. */
static bool find_name(const char *word, struct event *ret)
{
	const struct event_name *name = event_name_find(word);

	if (name) {
		ret->kind = name->kind;
		ret->type = name->type;
		ret->config = name->config;
		return true;
	}
	if (event_cache_find(word, &ret->config)) {
		ret->kind = EVENT_CACHE;
		ret->type = PERF_TYPE_HW_CACHE;
		return true;
	}
	if (is_raw(word, &ret->config)) {
		ret->kind = EVENT_RAW;
		ret->type = PERF_TYPE_RAW;
		return true;
	}
	return false;
}

/* Split off the braces at the end: "{bytes:By}" */
static int split_field(char *word, char *brace, struct tracepoint_words *ret, struct error *error)
{
	char *end = strchr(brace, '}');
	uint8_t bytes;
	bool is_signed;

	if (!end || end[1] || end == brace + 1)
		return error_set(error, -EINVAL, "%s: expected a field's name in braces at the end",
				 word);
	*brace = *end = '\0';
	ret->field = brace + 1;
	ret->unit = strchr(ret->field, ':');
	if (ret->unit)
		*ret->unit++ = '\0';
	if (!*ret->field || (ret->unit && !*ret->unit))
		return error_set(error, -EINVAL,
				 "%s: expected a field's name and, after a colon, its unit", word);
	if (ret->unit && event_type_find(ret->unit, &bytes, &is_signed))
		return error_set(error, -EINVAL,
				 "%s{%s:%s}: only arguments of probes take a type; expected a unit "
				 "after the colon",
				 word, ret->field, ret->unit);
	return 0;
}

/* "block:block_rq_issue{bytes:By}" */
static int add_tracepoints(const struct event_paths *paths, char *word, struct event_list *ret,
			   struct error *error)
{
	struct tracepoint_words words = {.pattern = word};
	char *brace = strchr(word, '{');
	size_t num_before = ret->events.length;
	int err = brace ? split_field(word, brace, &words, error) : 0;

	if (err)
		return err;
	err = event_tracepoints_add(paths->tracing, &words, ret, error);
	if (err)
		return err;
	return ret->events.length > num_before ? 0 : refuse_unknown(paths, word, error);
}

/* "context-switches{2:us}": software events have no fields, but a constant weight can be set. */
static int add_weighed(char *word, char *brace, struct event_list *ret, struct error *error)
{
	struct tracepoint_words words = {.pattern = word};
	struct event event = {0};
	_cleanup_free_ char *name = NULL;
	char *end;
	int err = split_field(word, brace, &words, error);

	if (err)
		return err;
	errno = 0;
	event.hit_weight = strtoull(words.field, &end, 10);
	if (!find_name(word, &event) || event.kind != EVENT_SOFTWARE || event_is_time(&event))
		return error_set(error, -EINVAL, "%s{%s}: only tracepoints have fields", word,
				 words.field);
	if (errno || *end || !isdigit((unsigned char)*words.field) || !event.hit_weight ||
	    event.hit_weight > MAX_HIT_WEIGHT)
		return error_set(error, -EINVAL, "%s{%s}: expected the weight of each, up to %u",
				 word, words.field, MAX_HIT_WEIGHT);
	if (asprintf(&name, "%s{%s}", word, words.field) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return add_event(&event, name, words.unit ? event_unit_get(words.unit) : NULL, ret);
}

/*
 * Tracepoints of requests to block devices, whose records have the same fields: device, sector, letters and size.
 *
 * Later bios may be merged into a request until it is issued to its device, so its size at
 * block_io_start is not final. A bio is split to the device's limits first. Then it gets a request of
 * its own (block_getrq) or is merged into one. The sum over these three tracepoints is exact, and each
 * byte belongs to the code that submits it. A bio of a device that only maps others (dm, md) gets no
 * request, so nothing counts twice.
 *
 * There is one exception: a device that takes several ranges in one discard (NVMe). The kernel merges
 * discards for it that do not adjoin, without a tracepoint.
 */
struct request_tracepoints {
	const char *start;
	const char *more[2]; /* whose hits count, too; NULL: none */
	const char *
		end; /* in the subsystem "block", too, as raw tracepoints are called; NULL: its time is not weighed */
	const char *size; /* the field with it */
	uint16_t size_unit;
};
static const struct request_tracepoints bios = {
	.start = "block:block_getrq",
	.more = {"block:block_bio_backmerge", "block:block_bio_frontmerge"},
	.size = "nr_sector",
	.size_unit = 512,
};
static const struct request_tracepoints issues = {
	.start = "block:block_rq_issue",
	.size = "bytes",
	.size_unit = 1,
};
static const struct request_tracepoints times = {
	.start = "block:block_io_start",
	.end = "block_io_done",
	.size = "bytes",
};
/* Kernels before 6.5 first see a request when it is issued. */
static const struct request_tracepoints issue_times = {
	.start = "block:block_rq_issue",
	.end = "block_rq_complete",
	.size = "bytes",
};

#define KIND(name) (1u << WIRE_REQUEST_##name)
#define ALL_KINDS \
	(KIND(READ) | KIND(WRITE) | KIND(DISCARD) | KIND(FLUSH) | KIND(ZONE) | KIND(OTHER))

/* Bytes are read and written bytes, as in the kernel's statistics of a disk. */
static const struct request_word {
	const char *word;
	uint32_t kinds;
	const struct request_tracepoints *choices[2]; /* the first that the kernel has */
} request_words[] = {
	{"block-io", KIND(READ) | KIND(WRITE), {&bios, &issues}},
	{"block-discard", KIND(DISCARD), {&bios, &issues}},
	{"block-io-time", ALL_KINDS, {&times, &issue_times}},
};

/*
 * Find the fields of a record. is_another: they have to be where those of the first tracepoint are.
 */
static int find_request_fields(const char *tracing, const struct request_tracepoints *tracepoints,
			       const char *name, bool is_another, struct event_requests *ret,
			       struct error *error)
{
	const struct {
		const char *field;
		uint16_t *ret;
	} offsets[] = {
		{"dev", &ret->device_offset},
		{"sector", &ret->sector_offset},
		{"rwbs", &ret->letters_offset},
		{tracepoints->size, &ret->bytes_offset},
		{"nr_sector", &ret->num_sectors_offset},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
		uint16_t offset;
		int err = event_tracepoint_find_offset(tracing, name, offsets[i].field, &offset,
						       error);

		if (err)
			return err;
		if (is_another && offset != *offsets[i].ret)
			return error_set(error, -ENOTSUP, "%s and %s differ on this kernel", name,
					 tracepoints->start);
		*offsets[i].ret = offset;
	}
	return 0;
}

static int add_more_requests(const char *tracing, const struct request_tracepoints *tracepoints,
			     struct event *ret, struct error *error)
{
	for (size_t i = 0; i < ARRAY_LENGTH(tracepoints->more) && tracepoints->more[i]; i++) {
		const char *name = tracepoints->more[i];
		int err = event_tracepoint_find(tracing, name, &ret->more_configs[i], error);

		if (err)
			return err;
		err = find_request_fields(tracing, tracepoints, name, true, &ret->requests, error);
		if (err)
			return err;
		ret->num_more_configs++;
	}
	return 0;
}

static int describe_requests(const char *tracing, const struct request_tracepoints *tracepoints,
			     uint32_t kinds, struct event *ret, struct error *error)
{
	const char *start = tracepoints->start;
	int err = event_tracepoint_find(tracing, start, &ret->config, error);

	if (err)
		return err;
	ret->requests.kinds = kinds;
	err = find_request_fields(tracing, tracepoints, start, false, &ret->requests, error);
	if (err)
		return err;
	err = add_more_requests(tracing, tracepoints, ret, error);
	if (err)
		return err;
	if (tracepoints->end) {
		ret->requests.end = tracepoints->end;
		return 0;
	}
	ret->kind = EVENT_TRACEPOINT;
	ret->tracepoint = start;
	ret->field_scale = tracepoints->size_unit;
	return event_tracepoint_find_field(tracing, start, tracepoints->size, ret, error);
}

static int add_block_io(const struct event_paths *paths, const char *name, struct event_list *ret,
			struct error *error)
{
	const struct request_word *word = request_words;
	struct event event;
	int err = -ENOTSUP;

	while (!string_equals(word->word, name))
		word++;
	for (size_t i = 0; err == -ENOTSUP && i < ARRAY_LENGTH(word->choices) && word->choices[i];
	     i++) {
		event = (struct event){.kind = EVENT_BLOCK_IO, .type = PERF_TYPE_TRACEPOINT};
		err = describe_requests(paths->tracing, word->choices[i], word->kinds, &event,
					error);
	}
	if (err)
		return err;
	return add_event(&event, name, event.requests.end ? "nanoseconds" : "bytes", ret);
}

/*
 * Calls are counted at their start: some return twice, in another program or never. Their time is
 * known when they return.
 */
static int add_system_calls(const struct event_paths *paths, const char *word,
			    struct event_list *ret, struct error *error)
{
	struct event event = {.kind = EVENT_SYSTEM_CALL, .type = PERF_TYPE_TRACEPOINT};
	bool weighs_time = string_equals(word, "syscall-time");
	uint64_t start;
	int err = event_tracepoint_find(paths->tracing, "raw_syscalls:sys_enter", &start, error);

	if (err)
		return err;
	if (!weighs_time) {
		event.config = start;
		return add_event(&event, word, NULL, ret);
	}
	event.start_config = start;
	err = event_tracepoint_find(paths->tracing, "raw_syscalls:sys_exit", &event.config, error);
	return err ? err : add_event(&event, word, "nanoseconds", ret);
}

static int add_word(const struct event_paths *paths, char *word, struct event_list *ret,
		    struct error *error)
{
	struct event event = {0};
	char *colon = strpbrk(word, ":{");
	int err;

	if (!*word)
		return error_set(error, -EINVAL, "an event is missing before or after a ','");
	if (probe_is_one(word))
		return probe_parse(word, ret, error);
	if (memchr(word, '/', strcspn(word, "{")))
		return add_device_event(paths, word, ret, error);
	if (colon && *colon == '{')
		return add_weighed(word, colon, ret, error);
	if (colon)
		*colon = '\0';
	/* "syscalls:sys_exit_read" is a tracepoint. */
	if (find_name(word, &event) && !(colon && event_is_trace_event(&event))) {
		if (event.kind == EVENT_SYSTEM_CALL)
			return add_system_calls(paths, word, ret, error);
		if (event.kind == EVENT_BLOCK_IO)
			return add_block_io(paths, word, ret, error);
		if (event.kind == EVENT_PROBE)
			return probe_add_allocations(word, string_equals(word, "alloc-live"), ret);
		err = colon ? take_modifiers(word, colon + 1, &event, error) : 0;
		return err ? err : add_event(&event, word, NULL, ret);
	}
	if (!colon)
		return refuse_unknown(paths, word, error);
	*colon = ':';
	return add_tracepoints(paths, word, ret, error);
}

/* The end of the first word: a comma, except between the slashes of a device's event. */
static char *find_end(char *text)
{
	bool is_inside = false;

	if (probe_is_one(text))
		return text + probe_get_length(text);
	for (; *text; text++) {
		if (*text == '/')
			is_inside = !is_inside;
		if (*text == ',' && !is_inside)
			break;
	}
	return text;
}

int events_parse(const struct event_paths *paths, const char *text, struct event_list *ret,
		 struct error *error)
{
	_cleanup_free_ char *copy = strdup(text);
	char *word = copy;

	if (!copy)
		return -ENOMEM;
	for (;;) {
		char *end = find_end(word);
		bool is_last = !*end;
		int err;

		*end = '\0';
		err = add_word(paths, word, ret, error);
		if (err || is_last)
			return err;
		if (ret->events.length >= MAX_EVENTS)
			return error_set(error, -E2BIG, "more than %d events", MAX_EVENTS);
		word = end + 1;
	}
}

/* Before fields are looked for: none would be of use. */
static int check_have_filters(const struct event_list *list, size_t first, struct error *error)
{
	const struct event *with = NULL;
	const struct event *without = NULL;

	for (size_t i = first; i < list->events.length; i++) {
		const struct event *event = &list->events.items[i];

		if (event->kind == EVENT_TRACEPOINT)
			with = with ? with : event;
		else
			without = without ? without : event;
	}
	if (!without)
		return 0;
	if (!with)
		return error_set(error, -EINVAL, "%s: only tracepoints have filters",
				 without->name);
	return error_set(error, -EINVAL,
			 "%s: only tracepoints have filters; give %s an -e of its own",
			 without->name, with->name);
}

int events_filter(const struct event_paths *paths, const char *expression, size_t first,
		  struct event_list *list, struct error *error)
{
	int err = check_have_filters(list, first, error);

	if (err)
		return err;
	for (size_t i = first; i < list->events.length; i++) {
		struct event *event = &list->events.items[i];

		err = event_tracepoint_filter(paths->tracing, expression, event, error);
		if (err)
			return err;
	}
	return 0;
}

/* ---- list of available events ------------------------------------------------------------- */

/*
 * Whether the event can be sampled, tried for a thread: that needs few rights. Some devices can
 * only be read.
 */
static bool is_sampled(const struct event *event)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close((int)fd);
	/* Events without permission may exist. */
	return fd >= 0 || errno == EACCES || errno == EPERM;
}

struct event_listing {
	const struct event_paths *paths;
	const char *pattern;
	int (*handle)(const struct event_offer *offer, void *context);
	void *context;
};

static bool matches(const char *pattern, const char *name)
{
	if (!pattern || !name)
		return !pattern;
	if (strpbrk(pattern, "*?"))
		return !fnmatch(pattern, name, 0);
	return strcasestr(name, pattern);
}

static int offer(const struct event_listing *listing, const struct event_offer *offer)
{
	if (!matches(listing->pattern, offer->name) &&
	    !(listing->pattern && offer->alias && matches(listing->pattern, offer->alias)))
		return 0;
	return listing->handle(offer, listing->context);
}

/* Whether this kernel has the tracepoints it is made of. */
static bool is_found(const struct event_listing *listing, const struct event_name *name)
{
	_cleanup_(event_list_release) struct event_list described = {0};

	return !events_parse(listing->paths, name->name, &described, NULL);
}

static int offer_names(const struct event_listing *listing)
{
	for (size_t i = 0; i < num_event_names; i++) {
		const struct event_name *name = &event_names[i];
		struct event event = {
			.kind = name->kind, .type = name->type, .config = name->config};
		int err;

		/* Probes are listed together, later. */
		if (event.kind == EVENT_PROBE ||
		    (event_is_trace_event(&event) ? !is_found(listing, name) : !is_sampled(&event)))
			continue;
		err = offer(listing, &(struct event_offer){.kind = name->kind,
							   .name = name->name,
							   .alias = name->alias,
							   .purpose = name->purpose});
		if (err)
			return err;
	}
	return 0;
}

static int offer_caches(const struct event_listing *listing)
{
	struct event event = {.type = PERF_TYPE_HW_CACHE};
	char name[MAX_WORD];

	for (size_t i = 0; event_cache_get_name(i, name, sizeof(name)); i++) {
		int err;

		if (!event_cache_find(name, &event.config) || !is_sampled(&event))
			continue;
		err = offer(listing, &(struct event_offer){.kind = EVENT_CACHE, .name = name});
		if (err)
			return err;
	}
	return 0;
}

/* "cpu/cache-misses/" */
static int offer_device_event(const char *name, void *context)
{
	const struct event_listing *listing = context;
	_cleanup_(event_list_release) struct event_list described = {0};
	int err = events_parse(listing->paths, name, &described, NULL);

	if (err == -ENOMEM)
		return err;
	if (err || !is_sampled(&described.events.items[0]))
		return 0;
	return offer(listing, &(struct event_offer){.kind = EVENT_DEVICE, .name = name});
}

static int offer_tracepoint(const char *name, void *context)
{
	return offer(context, &(struct event_offer){.kind = EVENT_TRACEPOINT, .name = name});
}

static int offer_devices(struct event_listing *listing)
{
	_cleanup_(name_list_release) struct name_list found = {0};
	const char *devices = listing->paths->devices;
	int err = name_list_read(devices, &found);

	if (err)
		return err;
	array_for_each (&found.names, device) {
		err = event_device_list(devices, *device, offer_device_event, listing);
		if (err)
			return err;
	}
	return 0;
}

/* Probe points cannot be listed: each kind of probe is one line, after the named events. */
static int offer_probes(const struct event_listing *listing)
{
	struct event_offer probes = {.kind = EVENT_PROBE};

	for (size_t i = 0; i < num_event_names; i++) {
		int err;

		if (event_names[i].kind != EVENT_PROBE)
			continue;
		probes.name = event_names[i].name;
		probes.purpose = event_names[i].purpose;
		err = offer(listing, &probes);
		if (err)
			return err;
	}
	for (size_t i = 0; (probes.name = probe_kind_describe(i, &probes.purpose)); i++) {
		int err = offer(listing, &probes);

		if (err)
			return err;
	}
	return 0;
}

int events_list(const struct event_paths *paths, const char *pattern,
		int (*handle)(const struct event_offer *offer, void *context), void *context)
{
	struct event_listing listing = {
		.paths = paths, .pattern = pattern, .handle = handle, .context = context};
	int err = offer_names(&listing);

	if (err)
		return err;
	err = offer_caches(&listing);
	if (err)
		return err;
	err = offer_devices(&listing);
	if (err)
		return err;
	err = offer_probes(&listing);
	if (err || !paths->tracing)
		return err;
	return event_tracepoints_list(paths->tracing, offer_tracepoint, &listing);
}
