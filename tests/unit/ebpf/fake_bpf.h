/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A fake kernel that accepts every BPF program and runs none: bpf() for libbpf, in this process, and
 * without privileges. Maps exist with their values, which the test sets. A call fails with the errno
 * that the test sets for it. Include this file once in a test program, and call fake_bpf_reset()
 * before each test.
 *
 * A descriptor is a file in memory. Its inode identifies it, because libbpf duplicates descriptors.
 */
#define FAKE_MAPS 256
#define FAKE_PROGRAMS 256
#define FAKE_FAILURES 8
#define FAKE_BATCH_END ENOENT

struct fake_map {
	ino_t ino;
	char name[BPF_OBJ_NAME_LEN];
	uint32_t type, key_size, value_size, max_entries, n; /* n: elements of a hash */
	size_t stride, size; /* bytes of an element, of all CPUs; of the file */
	unsigned char *at; /* the file */
	unsigned char *keys; /* of a hash */
	int fd;
	uint64_t produced; /* bytes, of a ring */
};

struct fake_program {
	ino_t ino;
	char name[BPF_OBJ_NAME_LEN];
	uint64_t ns, runs, missed;
};

static struct {
	uint32_t cpus; /* values of a per-CPU map */
	struct fake_map maps[FAKE_MAPS];
	size_t n_maps;
	struct fake_program programs[FAKE_PROGRAMS];
	size_t n_programs;
	unsigned attached; /* so far */
	const char *verifier; /* what it says of a program that does not load */
	uint32_t refused_type; /* of programs; 0: none is refused for it */
	bool has_perf_events; /* else perf_event_open() fails: no program of a record is attached */
	struct {
		int cmd; /* BPF_PROG_LOAD ... */
		const char *name; /* of a program or a map; NULL: of all */
		int error;
	} failures[FAKE_FAILURES];
	size_t n_failures;
} fake_bpf;

static inline void fake_bpf_reset(uint32_t cpus)
{
	for (size_t i = 0; i < fake_bpf.n_maps; i++) {
		munmap(fake_bpf.maps[i].at, fake_bpf.maps[i].size);
		close(fake_bpf.maps[i].fd);
		free(fake_bpf.maps[i].keys);
	}
	memset(&fake_bpf, 0, sizeof(fake_bpf));
	fake_bpf.cpus = cpus;
}

/* From now on that call fails for programs or maps of the name. */
static inline void fake_bpf_fail(int cmd, const char *name, int error)
{
	assert(fake_bpf.n_failures < FAKE_FAILURES);
	fake_bpf.failures[fake_bpf.n_failures].cmd = cmd;
	fake_bpf.failures[fake_bpf.n_failures].name = name;
	fake_bpf.failures[fake_bpf.n_failures++].error = error;
}

static inline void fake_bpf_fail_no_more(void)
{
	fake_bpf.n_failures = 0;
}

/* Programs that were loaded, by their names, of which the kernel keeps 15 bytes. */
static inline unsigned fake_count_programs(const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake_bpf.n_programs; i++)
		n += !strncmp(fake_bpf.programs[i].name, name, BPF_OBJ_NAME_LEN - 1);
	return n;
}

/* The last that was made of the name; NULL: there is none. */
static inline struct fake_map *fake_map(const char *name)
{
	for (size_t i = fake_bpf.n_maps; i-- > 0;)
		if (!strncmp(fake_bpf.maps[i].name, name, BPF_OBJ_NAME_LEN - 1))
			return &fake_bpf.maps[i];
	return NULL;
}

/* The value of an array's element; of its only one on a CPU, where it is per CPU. */
static inline void *fake_value(const char *map, uint32_t i)
{
	struct fake_map *m = fake_map(map);

	assert(m);
	return m->at + i * (m->type == BPF_MAP_TYPE_PERCPU_ARRAY ? (m->value_size + 7u) / 8 * 8
								 : m->stride);
}

static inline bool fake_is_array(const struct fake_map *m)
{
	return m->type == BPF_MAP_TYPE_ARRAY || m->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

/* The element of a key, or NULL. */
static inline unsigned char *fake_find(const struct fake_map *m, const void *key)
{
	uint32_t i;

	if (fake_is_array(m)) {
		memcpy(&i, key, sizeof(i));
		return i < m->max_entries ? m->at + i * m->stride : NULL;
	}
	for (i = 0; i < m->n; i++)
		if (!memcmp(m->keys + i * m->key_size, key, m->key_size))
			return m->at + i * m->stride;
	return NULL;
}

static inline int fake_put(struct fake_map *m, const void *key, const void *value)
{
	unsigned char *at = fake_find(m, key);

	if (!at && (fake_is_array(m) || m->n == m->max_entries))
		return -E2BIG;
	if (!at) {
		memcpy(m->keys + m->n * m->key_size, key, m->key_size);
		at = m->at + m->n++ * m->stride;
	}
	memcpy(at, value, m->stride);
	return 0;
}

static inline void fake_remove(struct fake_map *m, const void *key)
{
	unsigned char *at = fake_find(m, key);
	size_t i = at ? (size_t)(at - m->at) / m->stride : 0;

	if (!at || fake_is_array(m))
		return;
	m->n--;
	memmove(at, at + m->stride, (m->n - i) * m->stride);
	memmove(m->keys + i * m->key_size, m->keys + (i + 1) * m->key_size,
		(m->n - i) * m->key_size);
}

/* A record of a ring. */
static inline void fake_ring_put(const char *map, const void *record, uint32_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct fake_map *m = fake_map(map);
	unsigned char *at;
	const uint32_t head[2] = {size, 0};

	assert(m && m->type == BPF_MAP_TYPE_RINGBUF);
	at = m->at + 2 * page + m->produced % m->max_entries;
	memcpy(at, head, sizeof(head));
	memcpy(at + sizeof(head), record, size);
	m->produced += (sizeof(head) + size + 7) / 8 * 8;
	memcpy(m->at + page, &m->produced, sizeof(m->produced));
}

/* ---- the calls ---- */

static inline int fake_fd(ino_t *ret_ino)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);
	struct stat st;

	assert(fd >= 0 && fstat(fd, &st) == 0);
	*ret_ino = st.st_ino;
	return fd;
}

static inline struct fake_map *fake_map_of(int fd)
{
	struct stat st;

	for (size_t i = 0; fstat(fd, &st) == 0 && i < fake_bpf.n_maps; i++)
		if (fake_bpf.maps[i].ino == st.st_ino)
			return &fake_bpf.maps[i];
	return NULL;
}

static inline struct fake_program *fake_program_of(int fd)
{
	struct stat st;

	for (size_t i = 0; fstat(fd, &st) == 0 && i < fake_bpf.n_programs; i++)
		if (fake_bpf.programs[i].ino == st.st_ino)
			return &fake_bpf.programs[i];
	return NULL;
}

static inline int fake_map_create(const union bpf_attr *a)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
	struct fake_map *m = &fake_bpf.maps[fake_bpf.n_maps];
	ino_t ino;
	int fd = fake_fd(&ino);

	assert(fake_bpf.n_maps < FAKE_MAPS);
	*m = (struct fake_map){.ino = ino,
			       .type = a->map_type,
			       .key_size = a->key_size,
			       .value_size = a->value_size,
			       .max_entries = a->max_entries};
	memcpy(m->name, a->map_name, sizeof(m->name));
	m->stride = (a->value_size + 7u) / 8 * 8;
	if (m->type == BPF_MAP_TYPE_PERCPU_ARRAY || m->type == BPF_MAP_TYPE_PERCPU_HASH ||
	    m->type == BPF_MAP_TYPE_LRU_PERCPU_HASH)
		m->stride *= fake_bpf.cpus;
	else if (m->type == BPF_MAP_TYPE_HASH || m->type == BPF_MAP_TYPE_LRU_HASH)
		m->stride = m->value_size;
	size = m->type == BPF_MAP_TYPE_RINGBUF ? 2 * page + 2 * (size_t)m->max_entries
					       : m->stride * m->max_entries;
	m->size = (size + page) / page * page;
	m->fd = dup(fd);
	m->keys = calloc(m->max_entries + 1u, m->key_size + 1u);
	assert(m->keys && m->fd >= 0 && ftruncate(fd, (off_t)m->size) == 0);
	m->at = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert(m->at != MAP_FAILED);
	fake_bpf.n_maps++;
	return fd;
}

static inline int fake_program_load(const union bpf_attr *a)
{
	struct fake_program *p = &fake_bpf.programs[fake_bpf.n_programs % FAKE_PROGRAMS];
	int fd = fake_fd(&p->ino);

	memcpy(p->name, a->prog_name, sizeof(p->name));
	p->ns = p->runs = p->missed = 0;
	fake_bpf.n_programs += fake_bpf.n_programs < FAKE_PROGRAMS - 1;
	return fd;
}

static inline int fake_info(const union bpf_attr *a)
{
	const struct fake_program *p = fake_program_of((int)a->info.bpf_fd);
	const struct fake_map *m = fake_map_of((int)a->info.bpf_fd);
	void *to = (void *)(uintptr_t)a->info.info;

	if (p) {
		struct bpf_prog_info info = {
			.run_time_ns = p->ns, .run_cnt = p->runs, .recursion_misses = p->missed};

		memcpy(to, &info,
		       a->info.info_len < sizeof(info) ? a->info.info_len : sizeof(info));
	} else if (m) {
		struct bpf_map_info info = {.type = m->type,
					    .key_size = m->key_size,
					    .value_size = m->value_size,
					    .max_entries = m->max_entries};

		memcpy(to, &info,
		       a->info.info_len < sizeof(info) ? a->info.info_len : sizeof(info));
	}
	return p || m ? 0 : -EINVAL;
}

static inline int fake_lookup(const union bpf_attr *a)
{
	const struct fake_map *m = fake_map_of((int)a->map_fd);
	const unsigned char *at = m ? fake_find(m, (void *)(uintptr_t)a->key) : NULL;

	if (!at)
		return -ENOENT;
	memcpy((void *)(uintptr_t)a->value, at,
	       m->type == BPF_MAP_TYPE_ARRAY ? m->value_size : m->stride);
	return 0;
}

static inline int fake_update(const union bpf_attr *a)
{
	struct fake_map *m = fake_map_of((int)a->map_fd);
	unsigned char *at = m ? fake_find(m, (void *)(uintptr_t)a->key) : NULL;

	if (!m)
		return -EBADF;
	if (m->type != BPF_MAP_TYPE_ARRAY)
		return fake_put(m, (void *)(uintptr_t)a->key, (void *)(uintptr_t)a->value);
	if (at)
		memcpy(at, (void *)(uintptr_t)a->value, m->value_size);
	return at ? 0 : -E2BIG;
}

static inline int fake_next_key(const union bpf_attr *a)
{
	const struct fake_map *m = fake_map_of((int)a->map_fd);
	const void *key = (void *)(uintptr_t)a->key;
	const unsigned char *at = key ? fake_find(m, key) : NULL;
	size_t next = at ? (size_t)(at - m->at) / m->stride + 1 : 0;

	if (next >= m->n)
		return -ENOENT;
	memcpy((void *)(uintptr_t)a->next_key, m->keys + next * m->key_size, m->key_size);
	return 0;
}

static inline int fake_lookup_batch(union bpf_attr *a)
{
	const struct fake_map *m = fake_map_of((int)a->batch.map_fd);
	unsigned char *keys = (void *)(uintptr_t)a->batch.keys;
	unsigned char *values = (void *)(uintptr_t)a->batch.values;
	uint32_t all = fake_is_array(m) ? m->max_entries : m->n, at = 0, n = 0;

	if (a->batch.in_batch)
		memcpy(&at, (void *)(uintptr_t)a->batch.in_batch, sizeof(at));
	for (; at < all && n < a->batch.count; at++, n++) {
		if (fake_is_array(m))
			memcpy(keys + n * m->key_size, &at, sizeof(at));
		else
			memcpy(keys + n * m->key_size, m->keys + at * m->key_size, m->key_size);
		memcpy(values, m->at + at * m->stride,
		       m->type == BPF_MAP_TYPE_ARRAY ? m->value_size : m->stride);
		values += m->type == BPF_MAP_TYPE_ARRAY ? m->value_size : m->stride;
	}
	a->batch.count = n;
	memcpy((void *)(uintptr_t)a->batch.out_batch, &at, sizeof(at));
	return at >= all ? -FAKE_BATCH_END : 0;
}

/* What the call is about. */
static inline const char *fake_name_of(int cmd, const union bpf_attr *a)
{
	const struct fake_program *p = NULL;
	const struct fake_map *m = NULL;

	switch (cmd) {
	case BPF_MAP_CREATE:
		return a->map_name;
	case BPF_PROG_LOAD:
		return a->prog_name;
	case BPF_RAW_TRACEPOINT_OPEN:
		p = fake_program_of((int)a->raw_tracepoint.prog_fd);
		break;
	case BPF_LINK_CREATE:
		p = fake_program_of((int)a->link_create.prog_fd);
		break;
	case BPF_MAP_LOOKUP_BATCH:
		m = fake_map_of((int)a->batch.map_fd);
		break;
	default:
		m = fake_map_of((int)a->map_fd);
		break;
	}
	return p ? p->name : m ? m->name : "";
}

static inline int fake_failure(int cmd, const union bpf_attr *a)
{
	const char *name = fake_name_of(cmd, a);

	if (cmd == BPF_PROG_LOAD && fake_bpf.refused_type == a->prog_type && a->prog_type)
		return -EINVAL;
	for (size_t i = 0; i < fake_bpf.n_failures; i++)
		if (fake_bpf.failures[i].cmd == cmd &&
		    (!fake_bpf.failures[i].name ||
		     !strncmp(fake_bpf.failures[i].name, name, BPF_OBJ_NAME_LEN - 1)))
			return -fake_bpf.failures[i].error;
	return 0;
}

static inline int fake_call(int cmd, union bpf_attr *a)
{
	int r = fake_failure(cmd, a);
	ino_t ino;

	if (r < 0 && cmd == BPF_PROG_LOAD && a->log_size && fake_bpf.verifier)
		strncpy((char *)(uintptr_t)a->log_buf, fake_bpf.verifier, a->log_size - 1);
	if (r < 0)
		return r;
	switch (cmd) {
	case BPF_MAP_CREATE:
		return fake_map_create(a);
	case BPF_PROG_LOAD:
		return fake_program_load(a);
	case BPF_MAP_LOOKUP_ELEM:
		return fake_lookup(a);
	case BPF_MAP_LOOKUP_BATCH:
		return fake_lookup_batch(a);
	case BPF_MAP_UPDATE_ELEM:
		return fake_update(a);
	case BPF_MAP_GET_NEXT_KEY:
		return fake_next_key(a);
	case BPF_OBJ_GET_INFO_BY_FD:
		return fake_info(a);
	case BPF_MAP_FREEZE:
		return 0;
	case BPF_BTF_LOAD:
	case BPF_ENABLE_STATS:
		return fake_fd(&ino);
	case BPF_LINK_CREATE:
		/* So libbpf finds out that there are links of perf events. */
		if ((int)a->link_create.target_fd < 0)
			return -EBADF;
		/* fallthrough */
	case BPF_RAW_TRACEPOINT_OPEN:
		fake_bpf.attached++;
		return fake_fd(&ino);
	case BPF_MAP_DELETE_ELEM:
		fake_remove(fake_map_of((int)a->map_fd), (void *)(uintptr_t)a->key);
		return 0;
	case BPF_BTF_GET_NEXT_ID:
	case BPF_OBJ_GET:
		return -ENOENT;
	default:
		return -EINVAL;
	}
}

/* In place of the C library's, which libbpf calls. */
long syscall(long nr, ...)
{
	static long (*real)(long, ...);
	unsigned long x[6];
	va_list list;
	int r;

	va_start(list, nr);
	for (int i = 0; i < 6; i++)
		x[i] = va_arg(list, unsigned long);
	va_end(list);
	if (nr == SYS_bpf) {
		r = fake_call((int)x[0], (union bpf_attr *)x[1]);
		errno = r < 0 ? -r : errno;
		return r < 0 ? -1 : r;
	}
	if (nr == SYS_perf_event_open && fake_bpf.has_perf_events)
		return memfd_create("event", MFD_CLOEXEC);
	if (nr == SYS_perf_event_open) {
		errno = EACCES;
		return -1;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(nr, x[0], x[1], x[2], x[3], x[4], x[5]);
}

/* An event is a file in memory, which cannot be enabled. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (fake_bpf.has_perf_events &&
	    (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE))
		return 0;
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

/* A ring is waited for, which a file in memory cannot be. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	static int (*real)(int, int, int, struct epoll_event *);

	if (fake_map_of(fd))
		return 0;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "epoll_ctl");
	return real(epoll, op, fd, event);
}
