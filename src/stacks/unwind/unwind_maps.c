/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_maps.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/core/mem.h"

#define ROWS_SIZE (UNWIND_ROWS_MAX * sizeof(struct unwind_row))

static void unwind_maps_close(struct unwind_maps *m)
{
	closep(&m->rows_fd);
	closep(&m->rules_fd);
	closep(&m->files_fd);
	closep(&m->state_fd);
}

static int write_state(const struct unwind_maps *m)
{
	const struct unwind_state state = {
		.changes = m->changes,
		.page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE))};
	const uint32_t key = 0;

	return bpf_map_update_elem(m->state_fd, &key, &state, BPF_ANY);
}

int unwind_maps_create(struct unwind_maps *ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
	struct unwind_maps m = {0};
	void *rows = MAP_FAILED;
	int r;

	m.rows_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_rows", sizeof(uint32_t),
				   sizeof(struct unwind_row), UNWIND_ROWS_MAX, &mapped);
	m.rules_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_rules", sizeof(uint32_t),
				    sizeof(struct unwind_rule), UNWIND_RULES_MAX, NULL);
	m.files_fd =
		bpf_map_create(BPF_MAP_TYPE_HASH, "unwind_files", sizeof(struct unwind_file_key),
			       sizeof(struct unwind_file), UNWIND_FILES_MAX, NULL);
	m.state_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_state", sizeof(uint32_t),
				    sizeof(struct unwind_state), 1, NULL);
	r = m.rows_fd < 0    ? m.rows_fd
	    : m.rules_fd < 0 ? m.rules_fd
	    : m.files_fd < 0 ? m.files_fd
	    : m.state_fd < 0 ? m.state_fd
			     : write_state(&m);
	if (r == 0) {
		rows = mmap(NULL, ROWS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, m.rows_fd, 0);
		r = rows == MAP_FAILED ? -errno : 0;
	}
	if (r < 0) {
		unwind_maps_close(&m);
		return r;
	}
	m.rows = rows;
	*ret = m;
	return 0;
}

void unwind_maps_destroy(struct unwind_maps *m)
{
	munmap(m->rows, ROWS_SIZE);
	unwind_maps_close(m);
}

int unwind_maps_set_rule(const struct unwind_maps *m, uint16_t number,
			 const struct unwind_rule *rule)
{
	const uint32_t key = number;

	return bpf_map_update_elem(m->rules_fd, &key, rule, BPF_ANY);
}

int unwind_maps_set_file(const struct unwind_maps *m, const struct unwind_file_key *key,
			 const struct unwind_file *f)
{
	return bpf_map_update_elem(m->files_fd, key, f, BPF_ANY);
}

void unwind_maps_remove_file(const struct unwind_maps *m, const struct unwind_file_key *key)
{
	(void)bpf_map_delete_elem(m->files_fd, key);
}

uint64_t unwind_maps_read_last_use(const struct unwind_maps *m, const struct unwind_file_key *key)
{
	struct unwind_file f;

	return bpf_map_lookup_elem(m->files_fd, key, &f) < 0 ? 0 : f.used_ns;
}

void unwind_maps_increment_changes(struct unwind_maps *m)
{
	m->changes++;
	(void)write_state(m);
}
