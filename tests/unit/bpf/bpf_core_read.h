/* Replaces libbpf's header: the kernel's structs are those of bpf/kernel.h. */
#ifndef BPF_BPF_CORE_READ_H
#define BPF_BPF_CORE_READ_H

#include "bpf/fake_kernel.h"

/* Fields that only older kernels have do not exist. */
static inline int fake_field_exists(const char *field)
{
	if (strstr(field, "rq_disk"))
		return 0;
	return !fake_kernel.lacked_field || !strstr(field, fake_kernel.lacked_field);
}

#define bpf_core_field_exists(field)            fake_field_exists(#field)
#define bpf_core_type_size(type)                sizeof(type)
#define bpf_core_enum_value_exists(type, value) (!fake_kernel.lacks_helpers)
#define bpf_core_read(ret, size, from)          bpf_probe_read_kernel(ret, size, from)

#define FAKE_READ_1(from, a)                   ((from)->a)
#define FAKE_READ_2(from, a, b)                ((from)->a->b)
#define FAKE_READ_3(from, a, b, c)             ((from)->a->b->c)
#define FAKE_READ_4(from, a, b, c, d)          ((from)->a->b->c->d)
#define FAKE_READ(from, a, b, c, d, name, ...) name
#define BPF_CORE_READ(...) \
	FAKE_READ(__VA_ARGS__, FAKE_READ_4, FAKE_READ_3, FAKE_READ_2, FAKE_READ_1)(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(from, field)        ((from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((from)->field)

#endif
