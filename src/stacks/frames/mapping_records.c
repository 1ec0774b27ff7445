/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/mapping_records.h"

#include <stddef.h>
#include <string.h>

struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

const char *mapping_records_mmap_path(const struct perf_event_header *h, int32_t *ret_pid,
				      struct file_mapping *ret)
{
	const struct mmap_record *r = (const struct mmap_record *)h;
	size_t head = offsetof(struct mmap_record, path) + MAPPING_RECORD_END;

	if (h->type != PERF_RECORD_MMAP2 || h->size < head)
		return NULL;
	*ret_pid = (int32_t)r->pid;
	*ret = (struct file_mapping){
		.start = r->start,
		.end = r->start + r->length,
		/* Without a file the offset is the address, which other users must not see. */
		.offset = r->inode ? r->offset : 0,
		.inode = r->inode,
		.major = r->major,
		.minor = r->minor,
		.generation = (uint32_t)r->generation,
		.path_len = (uint32_t)strnlen(r->path, h->size - head)};
	return r->path;
}

static void apply_mmap(struct address_spaces *s, const struct perf_event_header *h)
{
	struct file_mapping m;
	int32_t pid;
	const char *path = mapping_records_mmap_path(h, &pid, &m);
	struct address_space *a = path ? address_spaces_get(s, pid) : NULL;

	if (a && a->is_known && m.start < m.end)
		address_space_add_mapping(s, a, &m, path);
}

/* Returns the process that executes another program; 0: none does. */
static int32_t read_exec_process(const struct perf_event_header *h)
{
	return h->type == PERF_RECORD_COMM && h->misc & PERF_RECORD_MISC_COMM_EXEC &&
			       h->size >= sizeof(struct comm_record) + MAPPING_RECORD_END
		       ? (int32_t)((const struct comm_record *)h)->pid
		       : 0;
}

/* Returns the process that ends; 0: none does. */
static int32_t read_exit_process(const struct perf_event_header *h)
{
	const struct task_record *task = (const struct task_record *)h;

	return h->type == PERF_RECORD_EXIT && h->size >= sizeof(*task) && task->pid == task->tid
		       ? (int32_t)task->pid
		       : 0;
}

int32_t mapping_records_started_process(const struct perf_event_header *h)
{
	const struct task_record *task = (const struct task_record *)h;

	if (h->type == PERF_RECORD_FORK && h->size >= sizeof(*task) && task->pid != task->parent)
		return (int32_t)task->pid;
	return read_exec_process(h);
}

int32_t mapping_records_ended_process(const struct perf_event_header *h)
{
	return read_exec_process(h) ?: read_exit_process(h);
}

void mapping_records_apply(struct address_spaces *s, const struct perf_event_header *h)
{
	const struct task_record *task = (const struct task_record *)h;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		apply_mmap(s, h);
		break;
	case PERF_RECORD_COMM:
		if (read_exec_process(h))
			address_spaces_exec(s, read_exec_process(h));
		break;
	case PERF_RECORD_FORK:
		if (h->size >= sizeof(*task) && task->pid != task->parent)
			address_spaces_fork(s, (int32_t)task->parent, (int32_t)task->pid);
		break;
	case PERF_RECORD_EXIT:
		if (read_exit_process(h))
			address_spaces_exit(s, read_exit_process(h));
		break;
	case PERF_RECORD_LOST:
		if (h->size >= sizeof(struct lost_record))
			address_spaces_remove_all(s);
		break;
	}
}
