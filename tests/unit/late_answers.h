/*
 * Waits for answers of another process, as a test wants them: late, or short. A test includes this before the source under
 * test, whose poll() then is this one.
 */
#pragma once

#include <poll.h>

static int
	num_late; /* answers that come after the end of the wait, from now on; nothing waits for them */
static int shortened_ms; /* longest wait, 0 if no wait is shortened */
static int asked_ms;     /* last wait that the source asked for */

static int poll_of_test(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	asked_ms = timeout_ms;
	if (num_late) {
		num_late--;
		return 0;
	}
	return poll(fds, count, shortened_ms ? shortened_ms : timeout_ms);
}

#define poll(fds, count, timeout_ms) poll_of_test(fds, count, timeout_ms)
