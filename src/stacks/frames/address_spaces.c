/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/address_spaces.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void address_space_remove_mappings(struct address_spaces *s, struct address_space *a)
{
	s->n_mappings -= a->n;
	a->n = 0;
}

static void address_spaces_remove(struct address_spaces *s, struct address_space *a)
{
	address_space_remove_mappings(s, a);
	HASH_DEL(s->all, a);
	free(a->mappings);
	free(a);
}

void address_spaces_deinit(struct address_spaces *s)
{
	struct address_space *a, *next;

	HASH_ITER (hh, s->all, a, next)
		address_spaces_remove(s, a);
}

void address_spaces_remove_all(struct address_spaces *s)
{
	struct address_space *a, *next;

	HASH_ITER (hh, s->all, a, next) {
		a->is_known = a->is_checked = false;
		a->jit = 0;
	}
}

static struct address_space *address_spaces_find(const struct address_spaces *s, int32_t pid)
{
	struct address_space *a;

	HASH_FIND(hh, s->all, &pid, sizeof(pid), a);
	return a;
}

struct address_space *address_spaces_get(struct address_spaces *s, int32_t pid)
{
	struct address_space *a = address_spaces_find(s, pid);

	if (a)
		return a;
	if (HASH_COUNT(s->all) >= ADDRESS_SPACES_MAX ||
	    s->n_mappings >= ADDRESS_SPACES_MAPPINGS_MAX)
		address_spaces_deinit(s);
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->pid = pid;
	HASH_ADD(hh, s->all, pid, sizeof(pid), a);
	if (!a->hh.tbl)
		freep(&a);
	return a;
}

/* Returns the number of the first mapping that ends after the address. */
static size_t first_ending_after(const struct address_space *a, uint64_t address)
{
	size_t low = 0, high = a->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->mappings[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 *	old      |------a------|   |--b--|     |-----c-----|
 *	new             |-----------------------------|
 *	result   |--a--||-------------new-------------||-c-|
 */
void address_space_add_mapping(struct address_spaces *s, struct address_space *a,
			       const struct file_mapping *m, const char *path)
{
	struct process_mapping fresh = {m->start, m->end, m->offset,
					mapped_files_add(s->files, m, path), m->generation};
	struct process_mapping parts[3];
	size_t first = first_ending_after(a, m->start), behind = first, n = 0;

	if (a->n >= ADDRESS_SPACE_MAPPINGS_MAX ||
	    s->n_mappings >= 2 * ADDRESS_SPACES_MAPPINGS_MAX ||
	    array_reserve(&a->mappings, &a->cap, a->n + 2, sizeof(*a->mappings)) < 0)
		return;
	while (behind < a->n && a->mappings[behind].start < m->end)
		behind++;
	if (first < behind && a->mappings[first].start < m->start) {
		parts[n] = a->mappings[first];
		parts[n++].end = m->start;
	}
	parts[n++] = fresh;
	if (first < behind && a->mappings[behind - 1].end > m->end) {
		parts[n] = a->mappings[behind - 1];
		parts[n].offset += m->end - parts[n].start;
		parts[n++].start = m->end;
	}
	if (first + n != behind)
		memmove(a->mappings + first + n, a->mappings + behind,
			(a->n - behind) * sizeof(*a->mappings));
	memcpy(a->mappings + first, parts, n * sizeof(*parts));
	a->n = a->n - (behind - first) + n;
	s->n_mappings = s->n_mappings - (behind - first) + n;
}

void address_spaces_exec(struct address_spaces *s, int32_t pid)
{
	struct address_space *a = address_spaces_get(s, pid);

	if (!a)
		return;
	address_space_remove_mappings(s, a);
	a->is_known = true;
	a->is_checked = false;
	a->jit = 0;
	a->followed_ns = 0;
}

void address_spaces_fork(struct address_spaces *s, int32_t parent, int32_t child)
{
	const struct address_space *from = address_spaces_find(s, parent);
	struct address_space *to;

	address_spaces_exit(s, child); /* an earlier process with this id */
	if (!from || !from->is_known || s->n_mappings + from->n > 2 * ADDRESS_SPACES_MAPPINGS_MAX)
		return;
	to = address_spaces_get(s, child);
	from = address_spaces_find(s, parent); /* the call may have removed all processes */
	if (!to || !from ||
	    array_reserve(&to->mappings, &to->cap, from->n, sizeof(*to->mappings)) < 0)
		return;
	if (from->n)
		memcpy(to->mappings, from->mappings, from->n * sizeof(*to->mappings));
	to->n = from->n;
	s->n_mappings += to->n;
	to->is_known = true;
}

void address_spaces_exit(struct address_spaces *s, int32_t pid)
{
	struct address_space *a = address_spaces_find(s, pid);

	if (a)
		address_spaces_remove(s, a);
}

uint32_t address_spaces_find_jit(const struct address_spaces *s, int32_t pid)
{
	const struct address_space *a = pid ? address_spaces_find(s, pid) : NULL;

	return a ? a->jit : 0;
}

const struct process_mapping *address_space_find_mapping(const struct address_space *a,
							 uint64_t address)
{
	size_t i = first_ending_after(a, address);

	return i < a->n && a->mappings[i].start <= address ? &a->mappings[i] : NULL;
}
