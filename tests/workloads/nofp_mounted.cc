/*
 * Fibers that two threads run by turns, each on a stack of its own, and the truth about these on
 * standard output, a line a turn:
 *
 *	BEGIN END HIGH LOW TID BOTTOM
 *
 * from when to when the stack was mounted (CLOCK_BOOTTIME), where it ends, how far down it was in
 * use, on which thread, and where it begins.
 *
 * usage: nofp_mounted [TURNS [MILLISECONDS]]     of each fiber; CPU time of a turn
 *
 * The stacks are of makecontext(): three of several sizes with mappings of their own, between guard
 * pages, and four in one mapping. Built with -DWITH_BOOST they are those that Boost.Context's
 * protected_fixedsize_stack gives, and fixedsize_stack.
 */
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>
#ifdef WITH_BOOST
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#else
#include <ucontext.h>
#endif

#include "spin.h"

namespace
{

/* Odd, so that each comes to the other thread the next time. */
constexpr int num_fibers = 7;
constexpr int num_apart = 3;
constexpr size_t page_bytes = 4096;
uint64_t turn_ns = 150 * NS_PER_MS;

struct fiber;
void work(fiber &self);

#ifdef WITH_BOOST

namespace ctx = boost::context;

/* Remembers where the stack is. */
struct watched_stack {
	uintptr_t *bottom;
	uintptr_t *high;
	bool is_apart;

	ctx::stack_context allocate()
	{
		ctx::stack_context context =
			is_apart ? ctx::protected_fixedsize_stack(256 << 10).allocate()
				 : ctx::fixedsize_stack().allocate();
		uintptr_t end = reinterpret_cast<uintptr_t>(context.sp);

		*bottom = end - context.size;
		if (is_apart)
			*bottom += page_bytes; /* the guard */
		*high = end;
		return context;
	}

	void deallocate(ctx::stack_context &context)
	{
		if (is_apart)
			ctx::protected_fixedsize_stack().deallocate(context);
		else
			ctx::fixedsize_stack().deallocate(context);
	}
};

struct fiber {
	ctx::fiber context;
	uintptr_t bottom;
	uintptr_t high;
	uintptr_t low;
	int number;
	int num_turns;

	void start()
	{
		context = ctx::fiber(std::allocator_arg,
				     watched_stack{&bottom, &high, number < num_apart},
				     [this](ctx::fiber &&thread) {
					     for (;;) {
						     work(*this);
						     thread = std::move(thread).resume();
					     }
					     return std::move(thread);
				     });
	}

	void mount()
	{
		context = std::move(context).resume();
	}
};

#else

constexpr size_t stack_bytes = 64 << 10;

/* Between guard pages. */
char *map_stack(size_t bytes)
{
	char *stack = static_cast<char *>(mmap(nullptr, bytes + 2 * page_bytes, PROT_NONE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) +
		      page_bytes;

	mprotect(stack, bytes, PROT_READ | PROT_WRITE);
	return stack;
}

struct fiber {
	ucontext_t context;
	ucontext_t *thread;
	uintptr_t bottom;
	uintptr_t high;
	uintptr_t low;
	int number;
	int num_turns;

	/* makecontext() hands on ints. */
	static void run(unsigned int lower, unsigned int upper)
	{
		fiber *self =
			reinterpret_cast<fiber *>(static_cast<uintptr_t>(upper) << 32 | lower);

		for (;;) {
			work(*self);
			swapcontext(&self->context, self->thread);
		}
	}

	void start()
	{
		static char *together = map_stack((num_fibers - num_apart) * stack_bytes);
		bool is_apart = number < num_apart;
		size_t bytes = is_apart ? (number + 2) * stack_bytes : stack_bytes;
		char *stack =
			is_apart ? map_stack(bytes) : together + (number - num_apart) * stack_bytes;
		uintptr_t self = reinterpret_cast<uintptr_t>(this);

		getcontext(&context);
		context.uc_stack.ss_sp = stack;
		context.uc_stack.ss_size = bytes;
		bottom = reinterpret_cast<uintptr_t>(stack);
		high = bottom + bytes;
		makecontext(&context, reinterpret_cast<void (*)()>(run), 2,
			    static_cast<unsigned int>(self), static_cast<unsigned int>(self >> 32));
	}

	void mount()
	{
		ucontext_t here;

		thread = &here;
		swapcontext(&here, &context);
	}
};

#endif

struct turn {
	uint64_t begin_ns;
	uint64_t end_ns;
	uintptr_t high;
	uintptr_t low;
	int tid;
	uintptr_t bottom;
};

std::mutex lock;
std::deque<fiber *> ready;
std::vector<turn> turns;
int num_left;

/* Every fiber uses more of its stack than the one before. */
__attribute__((noinline)) void descend(fiber &self, int level)
{
	volatile char room[1024];

	room[0] = static_cast<char>(level);
	if (level)
		descend(self, level - 1);
	else {
		self.low = reinterpret_cast<uintptr_t>(&room);
		spin_cpu_ns(turn_ns);
	}
	room[1] = room[0];
}

void work(fiber &self)
{
	descend(self, 2 + 4 * self.number);
}

/* nullptr: the others are on the other thread, or all is done. */
fiber *take()
{
	std::lock_guard<std::mutex> guard(lock);
	fiber *next = ready.empty() ? nullptr : ready.front();

	if (next)
		ready.pop_front();
	return next;
}

bool is_done()
{
	std::lock_guard<std::mutex> guard(lock);

	return !num_left;
}

void give_back(fiber *done, const turn &turn)
{
	std::lock_guard<std::mutex> guard(lock);

	turns.push_back(turn);
	if (--done->num_turns)
		ready.push_back(done);
	else
		num_left--;
}

void run_thread()
{
	while (!is_done()) {
		fiber *next = take();
		turn turn;

		if (!next) {
			sched_yield();
			continue;
		}
		turn.begin_ns = read_clock_ns(CLOCK_BOOTTIME);
		next->mount();
		turn.end_ns = read_clock_ns(CLOCK_BOOTTIME);
		turn.high = next->high;
		turn.low = next->low;
		turn.tid = gettid();
		turn.bottom = next->bottom;
		give_back(next, turn);
	}
}

} // namespace

int main(int argc, char **argv)
{
	static fiber fibers[num_fibers];

	if (argc > 2)
		turn_ns = strtoul(argv[2], nullptr, 10) * NS_PER_MS;
	num_left = num_fibers;
	for (int i = 0; i < num_fibers; i++) {
		fibers[i].number = i;
		fibers[i].num_turns = argc > 1 ? atoi(argv[1]) : 4;
		fibers[i].start();
		ready.push_back(&fibers[i]);
	}
	/* The thread's stack is not to be joined with the last one. */
	mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	std::thread other(run_thread);
	run_thread();
	other.join();
	for (const turn &turn : turns)
		printf("%" PRIu64 " %" PRIu64 " %" PRIuPTR " %" PRIuPTR " %d %" PRIuPTR "\n",
		       turn.begin_ns, turn.end_ns, turn.high, turn.low, turn.tid, turn.bottom);
	return fflush(stdout);
}
