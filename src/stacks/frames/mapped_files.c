/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/mapped_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/open_table.h"
#include "base/core/siphash.h"

#define SLOTS_FIRST 64

static uint64_t hash_path_and_inode(const char *path, size_t len, uint64_t inode)
{
	return siphash_keyed(path, len) ^ inode;
}

static int add_named_file(struct mapped_files *f, const char *path)
{
	if (array_reserve(&f->items, &f->cap, f->n + 1, sizeof(*f->items)) < 0)
		return -ENOMEM;
	f->items[f->n] =
		(struct mapped_file){.path = strdup(path), .state = MAPPED_FILE_UNREADABLE};
	return f->items[f->n++].path ? 0 : -ENOMEM;
}

int mapped_files_init(struct mapped_files *f)
{
	int r;

	*f = (struct mapped_files){0};
	r = add_named_file(f, "kernel"); /* as Perfetto's traced_perf names it */
	return r < 0 ? r : add_named_file(f, "[unknown]");
}

void mapped_files_deinit(struct mapped_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->items[i].path);
		free(f->items[i].elf);
	}
	free(f->items);
	free(f->slots);
	*f = (struct mapped_files){0};
}

/* Returns false for mappings without a file, such as "//anon" and "[vdso]". "/memfd:x (deleted)"
 * has an inode and is a file. */
static bool is_file_mapping(const struct file_mapping *m, const char *path)
{
	return m->inode && m->path_len > 1 && path[0] == '/' && path[1] != '/';
}

static bool is_memory_mapping(const struct file_mapping *m, const char *path)
{
	static const char *const of_kernel[] = {"[vdso]", "[vsyscall]", "[uprobes]"};

	for (size_t i = 0; i < ARRAY_SIZE(of_kernel); i++)
		if (strcmp(path, of_kernel[i]) == 0)
			return false;
	return !is_file_mapping(m, path) || strncmp(path, "/memfd:", 7) == 0;
}

static bool is_jitdump(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t len = name ? strlen(name) : 0;

	return len > 10 && strncmp(name, "/jit-", 5) == 0 && strcmp(name + len - 5, ".dump") == 0;
}

uint32_t mapped_files_add(struct mapped_files *f, const struct file_mapping *m, const char *path)
{
	uint64_t hash = hash_path_and_inode(path, m->path_len, m->inode);
	struct mapped_file *file;
	size_t slot, len = m->path_len;

	if (f->n < MAPPED_FILES_MAX && f->n * 2 >= f->n_slots &&
	    !OPEN_TABLE_GROW(f->slots, f->n_slots, SLOTS_FIRST, s, *s == 0,
			     hash_path_and_inode(f->items[*s].path, strlen(f->items[*s].path),
						 f->items[*s].inode)))
		return MAPPED_FILE_UNKNOWN;
	slot = OPEN_TABLE_FIND(f->n_slots, hash, at,
			       !f->slots[at] ||
				       (f->items[f->slots[at]].inode == m->inode &&
					f->items[f->slots[at]].major == m->major &&
					f->items[f->slots[at]].minor == m->minor &&
					f->items[f->slots[at]].generation == m->generation &&
					strlen(f->items[f->slots[at]].path) == len &&
					memcmp(f->items[f->slots[at]].path, path, len) == 0));
	if (f->slots[slot])
		return f->slots[slot];
	if (f->n >= MAPPED_FILES_MAX || f->n_bytes + len > MAPPED_FILES_BYTES_MAX ||
	    array_reserve(&f->items, &f->cap, f->n + 1, sizeof(*f->items)) < 0)
		return MAPPED_FILE_UNKNOWN;
	file = &f->items[f->n];
	*file = (struct mapped_file){.path = strndup(path, len),
				     .inode = m->inode,
				     .major = m->major,
				     .minor = m->minor,
				     .generation = m->generation,
				     .state = is_file_mapping(m, path) ? MAPPED_FILE_NEW
								       : MAPPED_FILE_UNREADABLE};
	if (!file->path)
		return MAPPED_FILE_UNKNOWN;
	file->is_memory = is_memory_mapping(m, file->path);
	file->is_jitdump = is_jitdump(file->path);
	f->n_bytes += len;
	f->slots[slot] = (uint32_t)f->n;
	return (uint32_t)f->n++;
}

void mapped_files_handle_answer(struct mapped_files *f, uint32_t number,
				const struct file_answer *a)
{
	struct mapped_file *file = number < f->n ? &f->items[number] : NULL;

	if (!file || (file->state != MAPPED_FILE_ASKED && file->state != MAPPED_FILE_NEW))
		return;
	file->state = MAPPED_FILE_UNREADABLE;
	file->error = a->result;
	file->elf = a->result < 0 ? NULL : malloc(sizeof(*file->elf));
	if (!file->elf)
		return;
	*file->elf = a->elf;
	file->reader_file = a->file;
	file->state = MAPPED_FILE_READ;
}

uint64_t mapped_file_load_bias(const struct mapped_file *f, uint64_t offset)
{
	for (uint32_t i = 0; f->elf && i < f->elf->n_segments; i++) {
		const struct elf_segment *s = &f->elf->segments[i];
		uint64_t start = s->offset & ~(uint64_t)4095; /* the kernel maps whole pages */

		if (offset >= start && offset - start < s->size + (s->offset - start))
			return s->address - s->offset;
	}
	return 0;
}

uint64_t mapped_file_data_address(const struct mapped_file *f, uint64_t offset, uint64_t at)
{
	for (uint32_t i = 0; f->elf && i < f->elf->n_data; i++) {
		const struct elf_segment *s = &f->elf->data[i];
		uint64_t start = s->offset & ~(uint64_t)4095; /* the kernel maps whole pages */

		if (offset >= start && at >= s->offset && at - s->offset < s->size)
			return at - s->offset + s->address;
	}
	return UINT64_MAX;
}
