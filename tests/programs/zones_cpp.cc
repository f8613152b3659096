// Example of zones in C++: a zone ends however its scope is left, and a forked child has a file of
// its own.
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <stackwide/zones.h>

static void fail(int depth)
{
	STACKWIDE_ZONE("fail");

	if (depth == 0)
		throw std::runtime_error("deep down");
	fail(depth - 1);
}

static bool survive()
{
	STACKWIDE_ZONE_AS(zone, "survive");

	stackwide_zone_decimal(&zone, "pi", 3.25);
	try {
		fail(2);
	} catch (const std::runtime_error &error) {
		stackwide_zone_text(&zone, "error", error.what());
		return true;
	}
	return false;
}

static int run_child()
{
	{
		STACKWIDE_ZONE("child");
		survive();
	}
	return 0;
}

int main()
{
	STACKWIDE_ZONE_FUNCTION();
	pid_t child;
	int status;

	survive();
	child = fork();
	if (child == 0)
		return run_child(); // and main's zone, which is its parent's, ends here, too
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	STACKWIDE_MARK("waited", 7);
	printf("%ld %ld\n", (long)getpid(), (long)child);
	return status;
}
