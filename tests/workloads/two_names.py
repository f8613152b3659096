"""A thread that changes its name while it runs; then another program in the same process: $NODE."""
import ctypes
import os
import threading
import time

PR_SET_NAME = 15


def compute(rounds):
    return sum(i * i for i in range(rounds))


def change_name():
    compute(400000)
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"second name", 0, 0, 0)
    compute(400000)
    time.sleep(0.01)


thread = threading.Thread(target=change_name)
thread.start()
compute(300000)
thread.join()
os.execv(os.environ["NODE"], ["node", "-e", """
const compute = (n) => (n < 2 ? n : compute(n - 1) + compute(n - 2));
const begin = Date.now();
while (Date.now() - begin < 200) compute(15);
setTimeout(() => {}, 10);
"""])
