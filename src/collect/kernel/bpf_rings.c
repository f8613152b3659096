#include "collect/kernel/bpf_rings.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "wire/wire.h"

#define MAX_RING_BYTES (1u << 30)

uint32_t bpf_rings_get_count(uint32_t num_cpus)
{
	return (num_cpus + WIRE_CPUS_PER_RING - 1) / WIRE_CPUS_PER_RING;
}

int bpf_rings_create_map(uint32_t num_cpus)
{
	/* The kernel takes rings of all sizes if the map was created for one. */
	_cleanup_close_ int ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0,
						     (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)ring_fd);

	return ring_fd < 0 ? ring_fd
			   : bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", sizeof(uint32_t),
					    sizeof(uint32_t), bpf_rings_get_count(num_cpus), &opts);
}

static int add_ring(struct bpf_rings *rings, uint32_t size_bytes)
{
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, size_bytes, NULL);
	struct epoll_event interest = {.events = EPOLLIN};
	struct bpf_ring *ring = fd < 0 ? NULL : array_add(&rings->rings);
	int err;

	if (!ring)
		return fd < 0 ? fd : -ENOMEM;
	err = bpf_ring_init(ring, fd, size_bytes);
	if (err) {
		rings->rings.length--;
		return err;
	}
	fd = -1; /* the ring's now */
	return epoll_ctl(rings->epoll_fd, EPOLL_CTL_ADD, ring->fd, &interest) ? -errno : 0;
}

/* All in one batch, as each call waits for a grace period. Before Linux 5.19 there is no batch. */
static int put_rings(const struct bpf_rings *rings, int map_fd)
{
	uint32_t count = (uint32_t)rings->rings.length;
	_cleanup_free_ uint32_t *numbers = calloc(count, sizeof(*numbers));
	_cleanup_free_ int *fds = calloc(count, sizeof(*fds));
	uint32_t num_put = count;

	if (!numbers || !fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		numbers[i] = i;
		fds[i] = rings->rings.items[i].fd;
	}
	if (!bpf_map_update_batch(map_fd, numbers, fds, &num_put, NULL))
		return 0;
	for (uint32_t i = 0; i < count; i++)
		if (bpf_map_update_elem(map_fd, &numbers[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

int bpf_rings_init(struct bpf_rings *rings, int map_fd, uint32_t num_cpus, uint32_t size_bytes)
{
	uint32_t power = (uint32_t)sysconf(_SC_PAGESIZE);
	int err;

	*rings = (struct bpf_rings){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	if (rings->epoll_fd < 0)
		return -errno;
	while (power < size_bytes && power < MAX_RING_BYTES)
		power *= 2;
	for (uint32_t i = 0; i < bpf_rings_get_count(num_cpus); i++) {
		err = add_ring(rings, power);
		if (err)
			return err;
	}
	return put_rings(rings, map_fd);
}

void bpf_rings_release(struct bpf_rings *rings)
{
	array_for_each (&rings->rings, ring)
		bpf_ring_release(ring);
	array_release(&rings->rings);
	if (rings->epoll_fd >= 0)
		close(rings->epoll_fd);
	rings->epoll_fd = -1;
}

int bpf_rings_read(struct bpf_rings *rings,
		   int (*handle)(const void *record, size_t size, void *context), void *context)
{
	int err;

	for (size_t i = 0; i < rings->rings.length; i++) {
		err = bpf_ring_read(&rings->rings.items[i], handle, context);
		if (err)
			return err;
	}
	return 0;
}

int bpf_counters_read_each(int map_fd, size_t size, void **ret, size_t *ret_num_cpus)
{
	int num_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ void *per_cpu = NULL;
	uint32_t zero = 0;

	if (num_cpus < 0)
		return num_cpus;
	per_cpu = calloc((size_t)num_cpus, size);
	if (!per_cpu)
		return -ENOMEM;
	if (bpf_map_lookup_elem(map_fd, &zero, per_cpu))
		return -errno;
	*ret = return_ptr(per_cpu);
	*ret_num_cpus = (size_t)num_cpus;
	return 0;
}

int bpf_counters_read(int map_fd, void *ret, size_t size)
{
	_cleanup_free_ void *values = NULL;
	size_t num_counters = size / sizeof(uint64_t);
	uint64_t *per_cpu;
	size_t num_cpus;
	int err = bpf_counters_read_each(map_fd, size, &values, &num_cpus);

	assert(size % sizeof(*per_cpu) == 0);
	if (err)
		return err;
	per_cpu = values;
	for (size_t cpu = 1; cpu < num_cpus; cpu++)
		for (size_t i = 0; i < num_counters; i++)
			per_cpu[i] += per_cpu[cpu * num_counters + i];
	memcpy(ret, per_cpu, size);
	return 0;
}

int bpf_program_read_misses(int program_fd, uint64_t *ret)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_fd, &info, &size))
		return -errno;
	*ret = info.recursion_misses;
	return 0;
}
