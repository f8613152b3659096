/*
 * Reading callgrind's profiles: stacks out of calls between two functions.
 *
 * The file contains the self cost of a function, and the total cost of its calls to another one. It
 * does not contain how these are split among its own callers:
 *
 *	a ──30──► f ──20──► x        Did f call x because of a, or because of b? We assume both, in
 *	b ──10──► f ──20──► y        proportion: a;f;x 15, a;f;y 15, b;f;x 5, b;f;y 5.
 *
 * The stacks of a function share its own cost, and each of its calls, as they share its total.
 * gprof makes the same assumption. So a flame graph is an estimate. Only these are exact:
 *
 *	- the self cost of every function, and with it the total: integers are shared out such that
 *	  nothing remains;
 *	- the total cost of the calls from one function to another, as long as these calls add up to
 *	  the cost of the functions, and there are not too many stacks.
 *
 * How a function is shared out: think of a table, whose rows are its stacks and whose columns are
 * its own cost and its calls. Row by row, the remainder of the columns is split where the row's
 * share of their running sum ends. Every cell is thereby its exact share, rounded up or down, and
 * rows and columns keep their sums: integers are never lost to rounding.
 *
 * Functions are handled callers first, so a depth-first search orders them. Its back edges are
 * recursive calls, and are left out: their cost is part of that of the outer call already. If the
 * other calls to a function then add up to more than it costs, they share its cost; if they add up
 * to less, the rest is a stack that starts with the function.
 *
 * There may be as many stacks as there are paths through the call graph, exponentially many. The
 * heaviest of each function are kept, and the others become one below OTHER_CALLERS.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/callgrind/read.h"
#include "formats/reader.h"

#define OTHER_CALLERS "[other callers]"

/* A bound on memory: stacks that are made, over all events. Larger files may have more. */
#define FREE_STACKS     400000u
#define BYTES_PER_STACK 8u
#define MIN_STACKS      4u /* of a function */
#define MAX_STACKS      4096u
#define MAX_DEPTH       1000u

#define NONE UINT32_MAX

/* A stack that a function is called from. */
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
	uint32_t *first_out;    /* by function: start of its calls in `out`; one more at the end */
	uint32_t *out;          /* calls, by caller */
	uint32_t *first_in;
	uint32_t *in;       /* the same, by callee */
	uint32_t *order;    /* functions, callers before those that they call */
	bool *is_left_out;  /* by call: recursion */
	uint64_t *totals;   /* by function: itself and its calls */
	uint64_t *realized; /* by call: its cost in the profile, see realize_calls() */
	uint32_t *first;    /* by function: of its contexts */
	ARRAY(struct context) contexts;
	ARRAY(struct context) rows;
	ARRAY(uint64_t) columns; /* their remainders */
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
	/*
	 * A counting sort: first[i], the start of list i, moves to its end while the list is
	 * filled. That is the start of list i + 1, so a shift by one puts all right again.
	 */
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

static void steps_release(struct steps *steps)
{
	array_release(steps);
}

static int open_function(const struct callgrind_builder *builder, struct steps *steps,
			 uint32_t function, uint8_t *visits)
{
	struct step *step = array_add(steps);

	if (!step)
		return -ENOMEM;
	*step = (struct step){function, builder->first_out[function]};
	visits[function] = VISIT_OPEN;
	return 0;
}

/*
 * Depth-first search from a function, with a stack of our own, as call graphs may be deep. A call to
 * a function that is still open is recursive. Functions that are done are put into the order from
 * its end on, which is the reverse postorder: callers before callees.
 */
static int visit(struct callgrind_builder *builder, uint32_t start, uint8_t *visits, size_t *place)
{
	const struct callgrind_graph *graph = builder->graph;
	_cleanup_(steps_release) struct steps steps = {0};
	int err = open_function(builder, &steps, start, visits);

	if (err)
		return err;
	while (steps.length) {
		struct step *step = &steps.items[steps.length - 1];
		uint32_t call;
		uint32_t callee;

		if (step->next == builder->first_out[step->function + 1]) {
			visits[step->function] = VISIT_DONE;
			builder->order[--*place] = step->function;
			steps.length--;
			continue;
		}
		call = builder->out[step->next++];
		callee = graph->calls.items[call].callee;
		builder->is_left_out[call] = visits[callee] == VISIT_OPEN;
		if (visits[callee] != VISIT_NOT)
			continue;
		err = open_function(builder, &steps, callee, visits);
		if (err)
			return err;
	}
	return 0;
}

/* Starts from the functions that nobody calls; the rest is in cycles that nobody calls. */
static int order_functions(struct callgrind_builder *builder)
{
	size_t count = builder->graph->functions.length;
	_cleanup_free_ uint8_t *visits = calloc(count + 1, 1);
	size_t place = count;
	int err;

	if (!visits)
		return -ENOMEM;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < count; i++) {
			bool is_called = builder->first_in[i] < builder->first_in[i + 1];

			if (visits[i] != VISIT_NOT || (is_called && !round))
				continue;
			err = visit(builder, i, visits, &place);
			if (err)
				return err;
		}
	}
	return 0;
}

static uint64_t get_self(const struct callgrind_builder *builder, uint32_t function)
{
	const struct callgrind_graph *graph = builder->graph;

	return graph->self_costs.items[function * graph->num_events + builder->event];
}

static uint64_t get_call(const struct callgrind_builder *builder, uint32_t call)
{
	const struct callgrind_graph *graph = builder->graph;

	return builder->is_left_out[call]
		       ? 0
		       : graph->call_costs.items[call * graph->num_events + builder->event];
}

/* a * b / c; b is at most c. */
static uint64_t scale(unsigned __int128 a, uint64_t b, unsigned __int128 c)
{
	return c ? (uint64_t)(a * b / c) : 0;
}

/*
 * Compute the cost of each call to a function in the profile: together no more than the function.
 */
static void realize_calls(struct callgrind_builder *builder, uint32_t function)
{
	unsigned __int128 demand = 0;
	unsigned __int128 passed = 0;
	uint64_t total = builder->totals[function];
	uint64_t given = 0;

	for (uint32_t i = builder->first_in[function]; i < builder->first_in[function + 1]; i++)
		demand += get_call(builder, builder->in[i]);
	for (uint32_t i = builder->first_in[function]; i < builder->first_in[function + 1]; i++) {
		uint64_t cost = get_call(builder, builder->in[i]);
		uint64_t end;

		builder->realized[builder->in[i]] = cost;
		if (demand <= total)
			continue;
		/* Both shifted so that the product fits 128 bits: a file whose calls exceed 2^64
		   makes no sense anyway. */
		passed += cost;
		end = demand >> 64 ? scale(passed >> 32, total, demand >> 32)
				   : scale(passed, total, demand);
		end = end > total ? total : end;
		builder->realized[builder->in[i]] = end - given;
		given = end;
	}
}

/* Callees first. Self costs fit 64 bits together, and each goes up one path: so do the totals. */
static void sum_up(struct callgrind_builder *builder)
{
	for (size_t i = builder->graph->functions.length; i-- > 0;) {
		uint32_t function = builder->order[i];
		uint64_t total = get_self(builder, function);

		for (uint32_t c = builder->first_out[function];
		     c < builder->first_out[function + 1]; c++)
			total += builder->realized[builder->out[c]];
		builder->totals[function] = total;
		realize_calls(builder, function);
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

/* How many stacks a function may have: an equal part of the budget that is left. */
static size_t get_max_stacks(const struct callgrind_builder *builder, size_t num_left,
			     size_t calls_left)
{
	const struct callgrind_graph *graph = builder->graph;
	uint64_t all = (FREE_STACKS + graph->import->size / BYTES_PER_STACK) / graph->num_events;
	uint64_t left = all > builder->num_tried ? all - builder->num_tried : 0;
	uint64_t part = left / (num_left + calls_left + 1);

	return part < MIN_STACKS ? MIN_STACKS : part > MAX_STACKS ? MAX_STACKS : (size_t)part;
}

static int add_row(struct callgrind_builder *builder, const struct context *context)
{
	struct context *row = array_add(&builder->rows);

	if (!row)
		return -ENOMEM;
	*row = *context;
	return 0;
}

/*
 * The stacks that a function is called from, heaviest first; their weights add up to its total.
 * Weight that no call accounts for starts with the function itself; stacks that are too deep or too
 * many go to OTHER_CALLERS.
 */
static int collect_rows(struct callgrind_builder *builder, uint32_t function, size_t max_rows)
{
	struct context other = {.stack = builder->other_callers, .depth = 1};
	struct context root = {.weight = builder->totals[function]};
	int err;

	builder->rows.length = 0;
	for (uint32_t i = builder->first[function]; i != NONE;
	     i = builder->contexts.items[i].next) {
		const struct context *context = &builder->contexts.items[i];

		root.weight -= context->weight;
		if (context->depth >= MAX_DEPTH) {
			other.weight += context->weight;
			continue;
		}
		err = add_row(builder, context);
		if (err)
			return err;
	}
	if (root.weight) {
		err = add_row(builder, &root);
		if (err)
			return err;
	}
	qsort(builder->rows.items, builder->rows.length, sizeof(*builder->rows.items),
	      compare_weights);
	while (builder->rows.length > max_rows)
		other.weight += builder->rows.items[--builder->rows.length].weight;
	builder->has_merged |= other.weight != 0;
	return other.weight ? add_row(builder, &other) : 0;
}

static int add_context(struct callgrind_builder *builder, uint32_t function,
		       const struct context *context)
{
	struct context *added =
		builder->contexts.length < NONE ? array_add(&builder->contexts) : NULL;

	if (!added)
		return -ENOMEM;
	*added = *context;
	added->next = builder->first[function];
	builder->first[function] = (uint32_t)(builder->contexts.length - 1);
	return 0;
}

/* Share out one row: its share of each column becomes a sample (self) or a stack of the callee. */
static int share_row(struct callgrind_builder *builder, uint32_t function,
		     const struct context *row, uint64_t left)
{
	const struct callgrind_graph *graph = builder->graph;
	const struct callgrind_function *itself = &graph->functions.items[function];
	struct context inner = {.depth = row->depth + 1};
	unsigned __int128 passed = 0;
	uint64_t given = 0;
	int err = profile_add_stack(graph->import->profile, row->stack, itself->location,
				    &inner.stack);

	if (err)
		return err;
	for (size_t i = 0; i < builder->columns.length; i++) {
		uint64_t end;

		passed += builder->columns.items[i];
		end = scale(passed, row->weight, left);
		inner.weight = end - given;
		given = end;
		builder->columns.items[i] -= inner.weight;
		if (!inner.weight)
			continue;
		builder->shared += i == 0 ? inner.weight : 0;
		if (i == 0)
			err = reader_add_sample(graph->import, 0, itself->thread, inner.stack,
						builder->metric, inner.weight);
		else
			err = add_context(
				builder,
				graph->calls
					.items[builder->out[builder->first_out[function] + i - 1]]
					.callee,
				&inner);
		if (err)
			return err;
	}
	return 0;
}

static int share_function(struct callgrind_builder *builder, uint32_t function, size_t max_rows)
{
	uint64_t left = builder->totals[function];
	uint64_t *column;
	int err;

	if (!left)
		return 0;
	err = collect_rows(builder, function, max_rows);
	if (err)
		return err;
	builder->columns.length = 0;
	for (uint32_t c = builder->first_out[function]; c <= builder->first_out[function + 1];
	     c++) {
		column = array_add(&builder->columns);
		if (!column)
			return -ENOMEM;
		*column = c == builder->first_out[function]
				  ? get_self(builder, function)
				  : builder->realized[builder->out[c - 1]];
	}
	builder->num_tried += builder->rows.length * builder->columns.length;
	for (size_t i = 0; i < builder->rows.length; i++) {
		err = share_row(builder, function, &builder->rows.items[i], left);
		if (err)
			return err;
		left -= builder->rows.items[i].weight;
	}
	return 0;
}

static int share_event(struct callgrind_builder *builder)
{
	const struct callgrind_graph *graph = builder->graph;
	size_t calls_left = graph->calls.length;
	uint64_t total = 0;
	int err;

	builder->shared = 0;
	builder->num_tried = 0;
	builder->contexts.length = 0;
	memset(builder->first, 0xff, (graph->functions.length + 1) * sizeof(*builder->first));
	sum_up(builder);
	for (size_t i = 0; i < graph->functions.length; i++) {
		uint32_t function = builder->order[i];
		size_t max_rows = get_max_stacks(builder, graph->functions.length - i, calls_left);

		err = share_function(builder, function, max_rows);
		if (err)
			return err;
		calls_left -= builder->first_out[function + 1] - builder->first_out[function];
		total += get_self(builder, function);
	}
	assert(builder->shared == total);
	return 0;
}

/* ---- all of it ---- */

static int builder_init(struct callgrind_builder *builder)
{
	struct profile *profile = builder->graph->import->profile;
	size_t num_functions = builder->graph->functions.length + 2;
	size_t num_calls = builder->graph->calls.length + 1;
	struct frame frame = {0};
	uint32_t location;
	int err;

	builder->first_out = calloc(num_functions, sizeof(*builder->first_out));
	builder->out = calloc(num_calls, sizeof(*builder->out));
	builder->first_in = calloc(num_functions, sizeof(*builder->first_in));
	builder->in = calloc(num_calls, sizeof(*builder->in));
	builder->order = calloc(num_functions, sizeof(*builder->order));
	builder->is_left_out = calloc(num_calls, sizeof(*builder->is_left_out));
	builder->totals = calloc(num_functions, sizeof(*builder->totals));
	builder->realized = calloc(num_calls, sizeof(*builder->realized));
	builder->first = calloc(num_functions, sizeof(*builder->first));
	if (!builder->first_out || !builder->out || !builder->first_in || !builder->in ||
	    !builder->order || !builder->is_left_out || !builder->totals || !builder->realized ||
	    !builder->first)
		return -ENOMEM;
	err = profile_add_string(profile, OTHER_CALLERS, &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	err = profile_add_frame_location(profile, &frame, &location);
	if (err)
		return err;
	return profile_add_stack(profile, STACK_EMPTY, location, &builder->other_callers);
}

static void builder_release(struct callgrind_builder *builder)
{
	free(builder->first_out);
	free(builder->out);
	free(builder->first_in);
	free(builder->in);
	free(builder->order);
	free(builder->is_left_out);
	free(builder->totals);
	free(builder->realized);
	free(builder->first);
	array_release(&builder->contexts);
	array_release(&builder->rows);
	array_release(&builder->columns);
}

int callgrind_add_stacks(struct callgrind_graph *graph, const uint32_t *metrics)
{
	_cleanup_(builder_release) struct callgrind_builder builder = {.graph = graph};
	int err = builder_init(&builder);

	if (err)
		return err;
	sort_calls(graph, false, builder.first_out, builder.out);
	sort_calls(graph, true, builder.first_in, builder.in);
	err = order_functions(&builder);
	if (err)
		return err;
	for (size_t i = 0; i < graph->num_events; i++) {
		builder.event = i;
		builder.metric = metrics[i];
		err = share_event(&builder);
		if (err)
			return err;
	}
	if (graph->calls.length)
		import_warn(graph->import,
			    "stacks are estimated from calls between pairs of functions; self "
			    "costs are exact");
	if (builder.has_merged)
		import_warn(graph->import,
			    "too many stacks: the lightest are below " OTHER_CALLERS);
	return 0;
}
