/*
 * Reading callgrind's profiles: stacks out of calls between two functions.
 *
 * The file knows what a function costs itself, and what its calls to another one cost in all, but
 * not which of these belong to which of its own callers. It is taken that they do so in proportion:
 * the stacks of a function share its own cost, and each of its calls, as they share its total. So a
 * flame graph is an estimate. What is exact:
 *
 *	- what every function costs itself, and with it the total: integers are shared out such that
 *	  nothing remains;
 *	- what the calls from one function to another cost in all, as long as these calls add up to
 *	  what the functions cost, and there are not too many stacks.
 *
 * For a function, rows are its stacks and columns are itself and its calls. Row by row, what is
 * left of the columns is cut where the row's part of their running sum ends. Every cell is thereby
 * its share, rounded up or down, and rows and columns keep their sums.
 *
 * Calls that lead back to where the way from the outermost function comes from (recursion) are left
 * out: their cost holds that of other calls again. Where calls to a function then add up to more
 * than it costs, they share what it costs; where they add up to less, the rest is a stack that
 * begins with it.
 *
 * Of the stacks of a function the heaviest are kept, the others become one below OTHER_CALLERS:
 * there may be as many as there are ways through the program.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/callgrind/read.h"
#include "formats/reader.h"

#define OTHER_CALLERS "[other callers]"

/* How many stacks are tried, over all events: so much memory that they take. */
#define FREE_STACKS     400000u
#define BYTES_PER_STACK 8u
#define MIN_STACKS      4u /* of a function */
#define MAX_STACKS      4096u
#define MAX_DEPTH       1000u

#define NONE UINT32_MAX

/* Of a function, where it is called from. */
struct context {
	uint64_t weight;
	uint32_t stack; /* of the caller */
	uint32_t depth; /* of the caller's stack */
	uint32_t next;  /* of the same function */
};

struct callgrind_builder {
	struct callgrind_graph *graph;
	size_t event;
	uint32_t metric;
	uint32_t other_callers; /* stack of one frame */
	uint32_t *first_out; /* by function: where its calls begin in `out`; one more at the end */
	uint32_t *out;       /* calls, by caller */
	uint32_t *first_in;
	uint32_t *in;       /* the same, by callee */
	uint32_t *order;    /* functions, callers before those that they call */
	bool *is_left_out;  /* by call: recursion */
	uint64_t *totals;   /* by function: itself and its calls */
	uint64_t *realized; /* by call: what it costs here */
	uint32_t *first;    /* by function: of its contexts */
	ARRAY(struct context) contexts;
	ARRAY(struct context) rows;
	ARRAY(uint64_t) columns; /* what is left of them */
	uint64_t shared;         /* costs that went into the profile, of the event */
	uint64_t num_tried;      /* stacks, of the event */
	bool has_merged;
};

void callgrind_graph_release(struct callgrind_graph *graph)
{
	callgrind_functions_release(&graph->functions);
	callgrind_calls_release(&graph->calls);
	array_release(&graph->self_costs);
	array_release(&graph->call_costs);
}

int callgrind_find_function(struct callgrind_graph *graph, uint32_t thread, uint32_t location,
			    uint32_t *ret)
{
	struct callgrind_function wanted = {.thread = thread, .location = location};
	size_t num_before = graph->functions.length;
	int err = callgrind_functions_intern(&graph->functions, &wanted, ret);

	if (err || graph->functions.length == num_before)
		return err;
	for (size_t i = 0; i < graph->num_events; i++)
		if (!array_add(&graph->self_costs))
			return -ENOMEM;
	return 0;
}

int callgrind_find_call(struct callgrind_graph *graph, uint32_t caller, uint32_t callee,
			uint32_t *ret)
{
	struct callgrind_call wanted = {.caller = caller, .callee = callee};
	size_t num_before = graph->calls.length;
	int err = callgrind_calls_intern(&graph->calls, &wanted, ret);

	if (err || graph->calls.length == num_before)
		return err;
	for (size_t i = 0; i < graph->num_events; i++)
		if (!array_add(&graph->call_costs))
			return -ENOMEM;
	return 0;
}

/* ---- the graph ---- */

/* Lists of calls by one of their ends, in the order of the file. */
static void sort_calls(const struct callgrind_graph *graph, bool by_callee, uint32_t *first,
		       uint32_t *sorted)
{
	size_t num_functions = graph->functions.length;
	uint32_t sum = 0;

	array_for_each (&graph->calls, call)
		first[(by_callee ? call->callee : call->caller) + 1]++;
	for (size_t i = 0; i <= num_functions; i++) {
		sum += first[i];
		first[i] = sum;
	}
	/* first[i] is where the list of i begins; it moves to its end, which is where the next one
	   begins, so that the lists are shifted back below. */
	for (uint32_t i = 0; i < graph->calls.length; i++) {
		const struct callgrind_call *call = &graph->calls.items[i];

		sorted[first[by_callee ? call->callee : call->caller]++] = i;
	}
	for (size_t i = num_functions; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

enum visit { VISIT_NOT, VISIT_OPEN, VISIT_DONE };

struct step {
	uint32_t function;
	uint32_t next; /* place in `out` */
};

struct steps {
	struct step *items;
	size_t length;
	size_t capacity;
};

static int open_function(const struct callgrind_builder *maker, struct steps *steps,
			 uint32_t function, uint8_t *visits)
{
	struct step *step = array_add(steps);

	if (!step)
		return -ENOMEM;
	*step = (struct step){function, maker->first_out[function]};
	visits[function] = VISIT_OPEN;
	return 0;
}

/*
 * Go down from a function: calls to one that is still open lead back. Writes functions into the
 * order from its end on.
 */
static int visit(struct callgrind_builder *maker, uint32_t start, uint8_t *visits, size_t *place)
{
	const struct callgrind_graph *graph = maker->graph;
	struct steps steps = {0};
	int err = open_function(maker, &steps, start, visits);

	while (!err && steps.length) {
		struct step *step = &steps.items[steps.length - 1];
		uint32_t call;
		uint32_t callee;

		if (step->next == maker->first_out[step->function + 1]) {
			visits[step->function] = VISIT_DONE;
			maker->order[--*place] = step->function;
			steps.length--;
			continue;
		}
		call = maker->out[step->next++];
		callee = graph->calls.items[call].callee;
		maker->is_left_out[call] = visits[callee] == VISIT_OPEN;
		if (visits[callee] == VISIT_NOT)
			err = open_function(maker, &steps, callee, visits);
	}
	array_release(&steps);
	return err;
}

/* Functions that nobody calls first; the others are in rings that nobody calls. */
static int order_functions(struct callgrind_builder *maker)
{
	size_t count = maker->graph->functions.length;
	_cleanup_free_ uint8_t *visits = calloc(count + 1, 1);
	size_t place = count;
	int err = visits ? 0 : -ENOMEM;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; !err && i < count; i++) {
			bool is_called = maker->first_in[i] < maker->first_in[i + 1];

			if (visits[i] == VISIT_NOT && (round || !is_called))
				err = visit(maker, i, visits, &place);
		}
	}
	return err;
}

static uint64_t get_self(const struct callgrind_builder *maker, uint32_t function)
{
	const struct callgrind_graph *graph = maker->graph;

	return graph->self_costs.items[function * graph->num_events + maker->event];
}

static uint64_t get_call(const struct callgrind_builder *maker, uint32_t call)
{
	const struct callgrind_graph *graph = maker->graph;

	return maker->is_left_out[call]
		       ? 0
		       : graph->call_costs.items[call * graph->num_events + maker->event];
}

/* a * b / c; b is at most c. */
static uint64_t scale(unsigned __int128 a, uint64_t b, unsigned __int128 c)
{
	return c ? (uint64_t)(a * b / c) : 0;
}

/* What each call to a function costs here: no more than the function does, in all. */
static void realize_calls(struct callgrind_builder *maker, uint32_t function)
{
	unsigned __int128 demand = 0;
	unsigned __int128 passed = 0;
	uint64_t total = maker->totals[function];
	uint64_t given = 0;

	for (uint32_t i = maker->first_in[function]; i < maker->first_in[function + 1]; i++)
		demand += get_call(maker, maker->in[i]);
	for (uint32_t i = maker->first_in[function]; i < maker->first_in[function + 1]; i++) {
		uint64_t cost = get_call(maker, maker->in[i]);
		uint64_t end;

		maker->realized[maker->in[i]] = cost;
		if (demand <= total)
			continue;
		/* Shifted so that the product fits: that far beyond the total it is a guess. */
		passed += cost;
		end = demand >> 64 ? scale(passed >> 32, total, demand >> 32)
				   : scale(passed, total, demand);
		end = end > total ? total : end;
		maker->realized[maker->in[i]] = end - given;
		given = end;
	}
}

/* Every unit of cost belongs to one function, and goes up one way: totals fit 64 bits as well. */
static void sum_up(struct callgrind_builder *maker)
{
	for (size_t i = maker->graph->functions.length; i-- > 0;) {
		uint32_t function = maker->order[i];
		uint64_t total = get_self(maker, function);

		for (uint32_t c = maker->first_out[function]; c < maker->first_out[function + 1];
		     c++)
			total += maker->realized[maker->out[c]];
		maker->totals[function] = total;
		realize_calls(maker, function);
	}
}

/* ---- stacks ---- */

static int compare_weights(const void *left, const void *right)
{
	const struct context *a = left;
	const struct context *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

/* How many stacks a function may have: its part of those that are left. */
static size_t get_max_stacks(const struct callgrind_builder *maker, size_t num_left,
			     size_t calls_left)
{
	const struct callgrind_graph *graph = maker->graph;
	uint64_t all = (FREE_STACKS + graph->import->size / BYTES_PER_STACK) / graph->num_events;
	uint64_t left = all > maker->num_tried ? all - maker->num_tried : 0;
	uint64_t part = left / (num_left + calls_left + 1);

	return part < MIN_STACKS ? MIN_STACKS : part > MAX_STACKS ? MAX_STACKS : (size_t)part;
}

static int add_row(struct callgrind_builder *maker, const struct context *context)
{
	struct context *row = array_add(&maker->rows);

	if (!row)
		return -ENOMEM;
	*row = *context;
	return 0;
}

/* Where a function is called from; their weights are its total. */
static int collect_rows(struct callgrind_builder *maker, uint32_t function, size_t max_rows)
{
	struct context other = {.stack = maker->other_callers, .depth = 1};
	struct context root = {.weight = maker->totals[function]};
	int err = 0;

	maker->rows.length = 0;
	for (uint32_t i = maker->first[function]; !err && i != NONE;
	     i = maker->contexts.items[i].next) {
		const struct context *context = &maker->contexts.items[i];

		root.weight -= context->weight;
		if (context->depth >= MAX_DEPTH)
			other.weight += context->weight;
		else
			err = add_row(maker, context);
	}
	if (!err && root.weight)
		err = add_row(maker, &root);
	if (err)
		return err;
	qsort(maker->rows.items, maker->rows.length, sizeof(*maker->rows.items), compare_weights);
	while (maker->rows.length > max_rows)
		other.weight += maker->rows.items[--maker->rows.length].weight;
	maker->has_merged |= other.weight != 0;
	return other.weight ? add_row(maker, &other) : 0;
}

static int add_context(struct callgrind_builder *maker, uint32_t function,
		       const struct context *context)
{
	struct context *added = maker->contexts.length < NONE ? array_add(&maker->contexts) : NULL;

	if (!added)
		return -ENOMEM;
	*added = *context;
	added->next = maker->first[function];
	maker->first[function] = (uint32_t)(maker->contexts.length - 1);
	return 0;
}

/* One stack of a function: its part of what is left goes to samples and to what is called. */
static int share_row(struct callgrind_builder *maker, uint32_t function, const struct context *row,
		     uint64_t left)
{
	const struct callgrind_graph *graph = maker->graph;
	const struct callgrind_function *itself = &graph->functions.items[function];
	struct context inner = {.depth = row->depth + 1};
	unsigned __int128 passed = 0;
	uint64_t given = 0;
	int err = profile_add_stack(graph->import->profile, row->stack, itself->location,
				    &inner.stack);

	for (size_t i = 0; !err && i < maker->columns.length; i++) {
		uint64_t end;

		passed += maker->columns.items[i];
		end = scale(passed, row->weight, left);
		inner.weight = end - given;
		given = end;
		maker->columns.items[i] -= inner.weight;
		if (!inner.weight)
			continue;
		maker->shared += i == 0 ? inner.weight : 0;
		if (i == 0)
			err = reader_add_sample(graph->import, 0, itself->thread, inner.stack,
						maker->metric, inner.weight);
		else
			err = add_context(
				maker,
				graph->calls.items[maker->out[maker->first_out[function] + i - 1]]
					.callee,
				&inner);
	}
	return err;
}

static int share_function(struct callgrind_builder *maker, uint32_t function, size_t max_rows)
{
	uint64_t left = maker->totals[function];
	uint64_t *column;
	int err = left ? collect_rows(maker, function, max_rows) : 0;

	if (err || !left)
		return err;
	maker->columns.length = 0;
	for (uint32_t c = maker->first_out[function]; c <= maker->first_out[function + 1]; c++) {
		column = array_add(&maker->columns);
		if (!column)
			return -ENOMEM;
		*column = c == maker->first_out[function] ? get_self(maker, function)
							  : maker->realized[maker->out[c - 1]];
	}
	maker->num_tried += maker->rows.length * maker->columns.length;
	for (size_t i = 0; !err && i < maker->rows.length; i++) {
		err = share_row(maker, function, &maker->rows.items[i], left);
		left -= maker->rows.items[i].weight;
	}
	return err;
}

static int share_event(struct callgrind_builder *maker)
{
	const struct callgrind_graph *graph = maker->graph;
	size_t calls_left = graph->calls.length;
	uint64_t total = 0;
	int err = 0;

	maker->shared = 0;
	maker->num_tried = 0;
	maker->contexts.length = 0;
	memset(maker->first, 0xff, (graph->functions.length + 1) * sizeof(*maker->first));
	sum_up(maker);
	for (size_t i = 0; !err && i < graph->functions.length; i++) {
		uint32_t function = maker->order[i];
		size_t max_rows = get_max_stacks(maker, graph->functions.length - i, calls_left);

		err = share_function(maker, function, max_rows);
		calls_left -= maker->first_out[function + 1] - maker->first_out[function];
		total += get_self(maker, function);
	}
	assert(err || maker->shared == total);
	return err;
}

/* ---- all of it ---- */

static int maker_init(struct callgrind_builder *maker)
{
	struct profile *profile = maker->graph->import->profile;
	size_t num_functions = maker->graph->functions.length + 2;
	size_t num_calls = maker->graph->calls.length + 1;
	struct frame frame = {0};
	uint32_t location;
	int err;

	maker->first_out = calloc(num_functions, sizeof(*maker->first_out));
	maker->out = calloc(num_calls, sizeof(*maker->out));
	maker->first_in = calloc(num_functions, sizeof(*maker->first_in));
	maker->in = calloc(num_calls, sizeof(*maker->in));
	maker->order = calloc(num_functions, sizeof(*maker->order));
	maker->is_left_out = calloc(num_calls, sizeof(*maker->is_left_out));
	maker->totals = calloc(num_functions, sizeof(*maker->totals));
	maker->realized = calloc(num_calls, sizeof(*maker->realized));
	maker->first = calloc(num_functions, sizeof(*maker->first));
	if (!maker->first_out || !maker->out || !maker->first_in || !maker->in || !maker->order ||
	    !maker->is_left_out || !maker->totals || !maker->realized || !maker->first)
		return -ENOMEM;
	err = profile_add_string(profile, OTHER_CALLERS, &frame.name);
	frame.full_name = frame.name;
	if (!err)
		err = profile_add_frame_location(profile, &frame, &location);
	return err ? err : profile_add_stack(profile, STACK_EMPTY, location, &maker->other_callers);
}

static void maker_release(struct callgrind_builder *maker)
{
	free(maker->first_out);
	free(maker->out);
	free(maker->first_in);
	free(maker->in);
	free(maker->order);
	free(maker->is_left_out);
	free(maker->totals);
	free(maker->realized);
	free(maker->first);
	array_release(&maker->contexts);
	array_release(&maker->rows);
	array_release(&maker->columns);
}

int callgrind_add_stacks(struct callgrind_graph *graph, const uint32_t *metrics)
{
	struct callgrind_builder maker = {.graph = graph};
	int err = maker_init(&maker);

	if (!err) {
		sort_calls(graph, false, maker.first_out, maker.out);
		sort_calls(graph, true, maker.first_in, maker.in);
		err = order_functions(&maker);
	}
	for (size_t i = 0; !err && i < graph->num_events; i++) {
		maker.event = i;
		maker.metric = metrics[i];
		err = share_event(&maker);
	}
	if (!err && graph->calls.length)
		import_warn(graph->import,
			    "stacks are estimated from what calls one function another; what "
			    "functions cost themselves is exact");
	if (!err && maker.has_merged)
		import_warn(graph->import,
			    "there are too many stacks: the lightest are below " OTHER_CALLERS);
	maker_release(&maker);
	return err;
}
