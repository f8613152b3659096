# Threads that wait for the global interpreter lock, and for other things. Main holds that lock while it computes, as long
# as its CPU time says, and nothing makes it let go of it before; it only waits while others do so for other things.
import sys
import threading
import time

ROUNDS = 5
SECONDS = 0.2
OTHER_SECONDS = 0.3


def waits_for_the_gil():
    for _ in range(ROUNDS):
        has_begun.release()
        time.sleep(0.02)


def waits_for_a_lock():
    lock.acquire(timeout=OTHER_SECONDS)


def sleeps():
    time.sleep(OTHER_SECONDS)


def compute():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        pass


sys.setswitchinterval(1000)
lock = threading.Lock()
lock.acquire()
# It counts: on a busy machine a round may begin before main has seen to the one before.
has_begun = threading.Semaphore(0)
thread = threading.Thread(target=waits_for_the_gil)
thread.start()
for _ in range(ROUNDS):
    # It lets go of the lock when it sleeps, and wants it again while it is had here.
    has_begun.acquire()
    compute()
thread.join()
for function in waits_for_a_lock, sleeps:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
print(int(ROUNDS * SECONDS * 1e6), int(OTHER_SECONDS * 1e6))
