/*
 * A compilation unit with more lines than are kept in memory: FIRST and SECOND are the names of its
 * functions.
 */
static inline __attribute__((always_inline)) int twice(int x)
{
	return x + x;
}

/* Each instruction has a line of its own. */
#define MANY_LINES                                           \
	__asm__ volatile(".set many_lines, 0\n"              \
			 ".rept 40000\n"                     \
			 ".set many_lines, many_lines + 1\n" \
			 ".loc 1 many_lines\n"               \
			 "nop\n"                             \
			 ".endr")

int FIRST(int x);
int SECOND(int x);

int FIRST(int x)
{
	x = twice(x * 3);
	MANY_LINES;
	return twice(x * 5);
}

int SECOND(int x)
{
	MANY_LINES;
	return twice(x * 7);
}

#ifdef HAS_MAIN
int main(int argc, char **argv)
{
	(void)argv;
	return FIRST(argc) + SECOND(argc);
}
#endif
