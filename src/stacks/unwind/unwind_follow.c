/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_follow.h"

#include <string.h>

#include "base/core/clock.h"
#include "stacks/frames/mapping_records.h"
#include "stacks/unwind/unwind_tables.h"

static bool may_have_rows(const char *path, size_t len)
{
	return len > 1 && path[0] == '/' && path[1] != '/';
}

void unwind_follow_mapping(int32_t pid, const struct file_mapping *m, const char *path)
{
	if (may_have_rows(path, m->path_len))
		unwind_tables_request_file(pid, m, path, false);
}

void unwind_follow_record(const struct perf_event_header *h)
{
	struct file_mapping m;
	int32_t pid;
	const char *path = mapping_records_mmap_path(h, &pid, &m);

	if (path)
		unwind_follow_mapping(pid, &m, path);
}

static void request_mapping_rows(const struct address_space *a, const struct mapped_files *files,
				 const struct process_mapping *m, bool lacks)
{
	const struct mapped_file *f = &files->items[m->file];
	const struct file_mapping mapping = {.start = m->start,
					     .end = m->end,
					     .offset = m->offset,
					     .inode = f->inode,
					     .major = f->major,
					     .minor = f->minor,
					     .path_len = (uint32_t)strlen(f->path),
					     .generation = m->generation};

	if (may_have_rows(f->path, mapping.path_len))
		unwind_tables_request_file(a->pid, &mapping, f->path, lacks);
}

void unwind_request_files_of_stack(struct address_space *a, const struct mapped_files *files,
				   const uint64_t *addresses, size_t n, uint64_t now)
{
	if (!a->is_known ||
	    (a->followed_ns && now < a->followed_ns + (UNWIND_FOLLOW_MS + a->n / 16) * NS_PER_MS))
		return;
	a->followed_ns = now;
	for (size_t i = 0; i < a->n; i++)
		request_mapping_rows(a, files, &a->mappings[i], false);
	for (size_t i = 0; i < n; i++) {
		const struct process_mapping *m = address_space_find_mapping(a, addresses[i]);

		if (m)
			request_mapping_rows(a, files, m, true);
	}
}
