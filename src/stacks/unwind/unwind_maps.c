/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_maps.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/core/mem.h"

#define ROWS_SIZE (UNWIND_ROWS_MAX * sizeof(struct unwind_row))

int unwind_maps_create(struct unwind_maps *ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
	struct unwind_maps m;
	void *rows = MAP_FAILED;
	int r;

	m.rows_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_rows", sizeof(uint32_t),
				   sizeof(struct unwind_row), UNWIND_ROWS_MAX, &mapped);
	m.rules_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_rules", sizeof(uint32_t),
				    sizeof(struct unwind_rule), UNWIND_RULES_MAX, NULL);
	m.processes_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "unwind_process", sizeof(uint32_t),
					sizeof(struct unwind_process), UNWIND_PROCESSES_MAX, NULL);
	r = m.rows_fd < 0	 ? m.rows_fd
	    : m.rules_fd < 0	 ? m.rules_fd
	    : m.processes_fd < 0 ? m.processes_fd
				 : 0;
	if (r == 0) {
		rows = mmap(NULL, ROWS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m.rows_fd, 0);
		r = rows == MAP_FAILED ? -errno : 0;
	}
	if (r < 0) {
		closep(&m.rows_fd);
		closep(&m.rules_fd);
		closep(&m.processes_fd);
		return r;
	}
	m.rows = rows;
	*ret = m;
	return 0;
}

void unwind_maps_destroy(struct unwind_maps *m)
{
	munmap(m->rows, ROWS_SIZE);
	closep(&m->rows_fd);
	closep(&m->rules_fd);
	closep(&m->processes_fd);
}

int unwind_maps_set_rule(const struct unwind_maps *m, uint16_t number,
			 const struct unwind_rule *rule)
{
	const uint32_t key = number;

	return bpf_map_update_elem(m->rules_fd, &key, rule, BPF_ANY);
}

int unwind_maps_set_process(const struct unwind_maps *m, int32_t pid,
			    const struct unwind_process *p)
{
	return bpf_map_update_elem(m->processes_fd, &pid, p, BPF_ANY);
}

void unwind_maps_remove_process(const struct unwind_maps *m, int32_t pid)
{
	(void)bpf_map_delete_elem(m->processes_fd, &pid);
}
