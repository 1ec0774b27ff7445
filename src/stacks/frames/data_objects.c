/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/data_objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void data_objects_remove_all(struct data_objects *o)
{
	HASH_FREE(o->all);
	o->all = NULL;
	o->n_new = 0;
	memset(o->requested, 0, sizeof(o->requested));
}

static void remove_object(struct data_objects *o, struct data_object *d)
{
	o->n_new -= d->kind == DATA_OBJECT_NEW;
	for (uint32_t i = 0; i < o->n; i++)
		if (o->requested[i] == d)
			o->requested[i] = NULL;
	HASH_DEL(o->all, d);
	free(d);
}

void data_objects_remove_process(struct data_objects *o, int32_t pid)
{
	struct data_object *d, *next;

	HASH_ITER (hh, o->all, d, next)
		if (d->key.pid == pid)
			remove_object(o, d);
}

static struct data_object *find_object(const struct data_objects *o, int32_t pid, uint64_t address)
{
	struct data_object *d, key = {.key = {address, pid, 0}};

	HASH_FIND(hh, o->all, &key.key, sizeof(key.key), d);
	return d;
}

void data_objects_add(struct data_objects *o, int32_t pid, uint32_t tid, uint64_t address,
		      uint64_t now)
{
	struct data_object *d = find_object(o, pid, address);

	if (d && (d->kind <= DATA_OBJECT_REQUESTED || now - d->wanted_ns < DATA_OBJECT_KEEP_NS))
		return;
	if (!d) {
		if (HASH_COUNT(o->all) >= DATA_OBJECTS_MAX)
			data_objects_remove_all(o);
		d = calloc(1, sizeof(*d));
		if (!d)
			return;
		d->key.address = address;
		d->key.pid = pid;
		HASH_ADD(hh, o->all, key, sizeof(d->key), d);
		if (!d->hh.tbl) {
			free(d);
			return;
		}
	}
	d->tid = tid;
	d->wanted_ns = now;
	d->kind = DATA_OBJECT_NEW;
	o->n_new++;
}

uint32_t data_objects_choose_request(struct data_objects *o, uint32_t *ret_tid,
				     uint64_t addresses[static FILE_NAMES_MAX])
{
	struct data_object *d, *next;

	o->pid = 0;
	o->n = 0;
	if (!o->n_new || o->n_requests >= DATA_OBJECTS_REQUESTS_MAX)
		return 0;
	o->n_requests++;
	HASH_ITER (hh, o->all, d, next) {
		if (d->kind != DATA_OBJECT_NEW || (o->pid && d->key.pid != o->pid))
			continue;
		o->pid = d->key.pid;
		*ret_tid = d->tid;
		addresses[o->n] = d->key.address;
		o->requested[o->n++] = d;
		if (o->n == FILE_NAMES_MAX)
			break;
	}
	for (uint32_t i = 0; i < o->n; i++)
		o->requested[i]->kind = DATA_OBJECT_REQUESTED;
	o->n_new -= o->n;
	return o->n;
}

/* ---- answers ---- */

static bool mapping_has_path(const struct file_mapping *m, const char *path, const char *want)
{
	return m->path_len == strlen(want) && memcmp(path, want, m->path_len) == 0;
}

/* Sets what is at the object's address. Leaves it unchanged if a table is full. */
static void data_object_store(struct data_object *d, const struct file_data_mapping *found,
			      const char *path, struct stacks *stacks)
{
	struct process_mapping m = {
		.start = found->m.start, .end = found->m.end, .offset = found->m.offset};
	int frame;

	if (mapping_has_path(&found->m, path, "[heap]")) {
		d->kind = DATA_OBJECT_HEAP;
	} else if (mapping_has_path(&found->m, path, "[stack]")) {
		d->kind = DATA_OBJECT_STACK;
	} else if (!found->m.inode || path[0] != '/') {
		d->kind = DATA_OBJECT_ANONYMOUS;
	} else {
		m.file = mapped_files_add(stacks->files, &found->m, path);
		frame = stacks_add_data_frame(stacks, &m, d->key.address);
		if (frame < 0 || m.file == MAPPED_FILE_UNKNOWN)
			return;
		d->frame = (uint32_t)frame;
		d->kind = found->is_behind ? DATA_OBJECT_BEHIND_FILE : DATA_OBJECT_IN_FILE;
	}
}

void data_objects_handle_answer(struct data_objects *o, const struct file_answer *a,
				struct stacks *stacks)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < o->n; i++)
		if (o->requested[i])
			o->requested[i]->kind = DATA_OBJECT_UNKNOWN;
	for (uint32_t i = 0; a && i < a->n; i++) {
		struct file_data_mapping d;

		memcpy(&d, a->body + at, sizeof(d));
		at += sizeof(d);
		if (d.address < o->n && o->requested[d.address])
			data_object_store(o->requested[d.address], &d, a->body + at, stacks);
		at += (d.m.path_len + 7) / 8 * 8;
	}
	o->pid = 0;
	o->n = 0;
}

/* ---- names ---- */

bool data_objects_format_name(const struct data_objects *o, int32_t pid, uint64_t address,
			      const struct stacks *stacks, char ret[static DATA_OBJECT_NAME_MAX])
{
	const struct data_object *d = find_object(o, pid, address);
	const struct stack_frame *f;
	const struct mapped_file *file;
	const struct stack_name *name;
	const char *base;
	uint64_t in_elf;

	if (!d || d->kind < DATA_OBJECT_IN_FILE)
		return false;
	if (d->kind >= DATA_OBJECT_HEAP) {
		strcpy(ret, d->kind == DATA_OBJECT_HEAP	   ? "heap"
			    : d->kind == DATA_OBJECT_STACK ? "stack"
							   : "anonymous");
		return true;
	}
	if (d->frame >= stacks->n_frames || !stacks->frames[d->frame].is_data)
		return false;
	f = &stacks->frames[d->frame];
	file = &stacks->files->items[stacks->mappings[f->mapping].file];
	base = strrchr(file->path, '/') + 1;
	name = f->name ? &stacks->names[f->name] : NULL;
	in_elf = mapped_file_data_address(file, stacks->mappings[f->mapping].offset, f->offset);
	if (name)
		snprintf(ret, DATA_OBJECT_NAME_MAX, "%s:%.*s", base, (int)name->len,
			 stacks->bytes + name->at);
	else if (d->kind == DATA_OBJECT_BEHIND_FILE && in_elf == UINT64_MAX)
		strcpy(ret, "anonymous");
	else
		snprintf(ret, DATA_OBJECT_NAME_MAX, "%s+0x%" PRIx64, base,
			 in_elf == UINT64_MAX ? f->offset : in_elf);
	return true;
}
