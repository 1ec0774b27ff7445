/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/jit_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/span.h"

#define MAP_BUFFER (64u << 10) /* a longer line of a perf map ends the reading of the file */

/* ---- the table ---- */

size_t jit_names_bytes(const struct jit_names *j)
{
	return j->n * sizeof(*j->functions) + j->n_bytes;
}

void jit_names_deinit(struct jit_names *j)
{
	freep(&j->functions);
	freep(&j->names);
	*j = (struct jit_names){0};
}

static const char *jit_function_name(const struct jit_names *j, const struct jit_function *f)
{
	return j->names + f->name;
}

/* Returns how many of the sorted functions begin below the address. */
static size_t count_functions_below(const struct jit_names *j, uint64_t address)
{
	size_t low = 0, high = j->n_sorted;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (j->functions[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the sorted function that overlaps the range and is the last of these in the file, or
 * NULL. Looks at JIT_OVERLAPS_MAX functions at most. */
static const struct jit_function *find_overlap(const struct jit_names *j, uint64_t start,
					       uint64_t end)
{
	const struct jit_function *best = NULL;
	size_t n = count_functions_below(j, end);

	for (size_t i = n; i > 0 && n - i < JIT_OVERLAPS_MAX; i--) {
		const struct jit_function *f = &j->functions[i - 1];

		if (f->max_end <= start)
			break;
		if (f->end > start && (!best || f->number > best->number))
			best = f;
	}
	return best;
}

const char *jit_names_find(const struct jit_names *j, uint64_t address)
{
	const struct jit_function *f =
		address < UINT64_MAX ? find_overlap(j, address, address + 1) : NULL;

	return f ? jit_function_name(j, f) : NULL;
}

/* Adds a function. The file belongs to another process, so control characters in the name become
 * '?'. Ignores an invalid function. Returns 0, -EFBIG above a limit, or -ENOMEM. */
static int jit_names_add(struct jit_names *j, uint64_t start, uint64_t size, struct span name,
			 size_t max_bytes)
{
	size_t len = MIN(name.len, (size_t)JIT_NAME_MAX);
	char *copy;

	if (len == 0 || size == 0 || start + size < start)
		return 0;
	if (j->n >= JIT_FUNCTIONS_MAX ||
	    jit_names_bytes(j) + sizeof(*j->functions) + len + 1 > max_bytes ||
	    j->n_bytes + len + 1 > UINT32_MAX)
		return -EFBIG;
	if (array_reserve(&j->functions, &j->cap, j->n + 1, sizeof(*j->functions)) < 0 ||
	    array_reserve(&j->names, &j->cap_bytes, j->n_bytes + len + 1, 1) < 0)
		return -ENOMEM;
	copy = memcpy(j->names + j->n_bytes, name.p, len);
	copy[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)copy[i] < ' ' || copy[i] == 0x7f)
			copy[i] = '?';
	j->functions[j->n] = (struct jit_function){.start = start,
						   .end = start + size,
						   .name = (uint32_t)j->n_bytes,
						   .number = (uint32_t)j->n};
	j->n++;
	j->n_bytes += len + 1;
	return 0;
}

static int compare_by_start(const void *a, const void *b)
{
	const struct jit_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Sorts the new functions, and merges them with the others. Returns true if one overlaps an older
 * one with another name. If memory runs out, drops the new functions and returns false. */
static bool sort_new_functions(struct jit_names *j)
{
	size_t n_new = j->n - j->n_sorted, old = j->n_sorted, to = j->n;
	struct jit_function *fresh;
	bool has_moved = false;
	uint64_t max_end = 0;

	if (n_new == 0)
		return false;
	fresh = j->functions + j->n_sorted;
	for (size_t i = 0; i < n_new && !has_moved; i++) {
		const struct jit_function *f = find_overlap(j, fresh[i].start, fresh[i].end);

		has_moved =
			f && strcmp(jit_function_name(j, f), jit_function_name(j, &fresh[i])) != 0;
	}
	fresh = malloc(n_new * sizeof(*fresh));
	if (!fresh) {
		j->n = j->n_sorted;
		return false;
	}
	memcpy(fresh, j->functions + j->n_sorted, n_new * sizeof(*fresh));
	qsort(fresh, n_new, sizeof(*fresh), compare_by_start);
	while (n_new > 0) {
		bool is_old =
			old > 0 && compare_by_start(&j->functions[old - 1], &fresh[n_new - 1]) > 0;

		j->functions[--to] = is_old ? j->functions[--old] : fresh[--n_new];
	}
	free(fresh);
	j->n_sorted = j->n;
	for (size_t i = 0; i < j->n; i++) {
		max_end = MAX(max_end, j->functions[i].end);
		j->functions[i].max_end = max_end;
	}
	return has_moved;
}

/* ---- perf maps ---- */

/* Reads a hexadecimal number and skips the blanks after it, of which there must be one. Returns
 * false if the text is something else. */
static bool read_hex(struct span *s, uint64_t *ret)
{
	size_t n = 0;
	uint64_t v = 0;

	for (; n < s->len && n <= 16; n++) {
		char c = s->p[n];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			break;
		v = v << 4 | (unsigned)digit;
	}
	if (n == 0 || n > 16 || n == s->len || s->p[n] != ' ')
		return false;
	while (n < s->len && s->p[n] == ' ')
		n++;
	*s = (struct span){s->p + n, s->len - n};
	*ret = v;
	return true;
}

static int read_map_line(struct jit_names *j, struct span line, size_t max_bytes)
{
	uint64_t start, size;

	if (!read_hex(&line, &start) || !read_hex(&line, &size))
		return 0;
	return jit_names_add(j, start, size, line, max_bytes);
}

int jit_names_read_map(struct jit_names *j, int fd, size_t max_bytes, bool *ret_moved)
{
	static char buf[MAP_BUFFER];
	uint64_t until = j->at + JIT_READ_MAX;
	int r = 0;
	ssize_t n;

	while (r == 0 && j->at < until && (n = pread(fd, buf, sizeof(buf), (off_t)j->at)) > 0) {
		struct span text = {buf, (size_t)n};
		const char *end;

		while (r == 0 && (end = memchr(text.p, '\n', text.len))) {
			r = read_map_line(j, (struct span){text.p, (size_t)(end - text.p)},
					  max_bytes);
			text.len -= (size_t)(end + 1 - text.p);
			text.p = end + 1;
		}
		if (text.len == (size_t)n)
			break;
		j->at += (uint64_t)n - text.len;
	}
	*ret_moved = sort_new_functions(j);
	return r;
}

/* ---- jitdumps ---- */

#define JITDUMP_MAGIC 0x4A695444 /* "JiTD", in the byte order of the process */
enum { JIT_CODE_LOAD, JIT_CODE_MOVE };

struct jitdump_header {
	uint32_t magic, version, total_size, elf_machine, pad, pid;
	uint64_t timestamp, flags;
};

struct jitdump_record {
	uint32_t id, total_size;
	uint64_t timestamp;
	uint32_t pid, tid; /* of CODE_LOAD and CODE_MOVE, as are the others */
	uint64_t vma;
	union {
		struct {
			uint64_t address, size, index;
			char name[JIT_NAME_MAX]; /* a NUL ends it; then the code */
		} load;
		struct {
			uint64_t old_address, new_address, size, index;
		} move;
	};
};
#define JITDUMP_PREFIX offsetof(struct jitdump_record, pid)

struct dump_reading {
	struct jit_names *names; /* borrowed */
	size_t max_bytes;
	size_t n_sorted; /* functions, each counted once for each sort */
	bool has_moved;
};

/* Adds the function at its new address, with the name that it has at the old one. Ignores it if it
 * has none, or after JIT_SORTS_MAX. Returns 0 or -errno. */
static int read_move_record(struct dump_reading *d, const struct jitdump_record *r)
{
	struct jit_names *j = d->names;
	const char *name;

	d->n_sorted += j->n;
	if (d->n_sorted > JIT_SORTS_MAX)
		return 0;
	d->has_moved |= sort_new_functions(j);
	/* The name is copied within its array, so the array is grown before the copy. */
	if (array_reserve(&j->names, &j->cap_bytes, j->n_bytes + JIT_NAME_MAX + 1, 1) < 0)
		return -ENOMEM;
	name = jit_names_find(j, r->move.old_address);
	return name ? jit_names_add(j, r->move.new_address, r->move.size,
				    (struct span){name, strlen(name)}, d->max_bytes)
		    : 0;
}

/* Handles a record of which len bytes are valid. Ignores kinds without names, and incomplete
 * records. Returns 0 or -errno. */
static int read_dump_record(struct dump_reading *d, const struct jitdump_record *r, size_t len)
{
	size_t name = offsetof(struct jitdump_record, load.name),
	       end = offsetof(struct jitdump_record, move) + sizeof(r->move);

	if (r->id == JIT_CODE_LOAD && len > name)
		return jit_names_add(d->names, r->load.address, r->load.size,
				     (struct span){r->load.name, strnlen(r->load.name, len - name)},
				     d->max_bytes);
	return r->id == JIT_CODE_MOVE && len >= end ? read_move_record(d, r) : 0;
}

int jit_names_read_dump(struct jit_names *j, int fd, size_t max_bytes, bool *ret_moved)
{
	static struct jitdump_record record;
	struct dump_reading d = {.names = j, .max_bytes = max_bytes};
	struct jitdump_header head;
	struct stat st;
	uint64_t size;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	size = (uint64_t)st.st_size;
	if (pread(fd, &head, sizeof(head), 0) < (ssize_t)sizeof(head) ||
	    head.magic != JITDUMP_MAGIC || head.total_size < sizeof(head))
		return -EBADMSG;
	if (j->at == 0)
		j->at = head.total_size;
	for (size_t i = 0; r == 0 && i < JIT_RECORDS_MAX && j->at < size; i++) {
		ssize_t n = pread(fd, &record, sizeof(record), (off_t)j->at);

		if (n < (ssize_t)JITDUMP_PREFIX || record.total_size < JITDUMP_PREFIX ||
		    record.total_size > size - j->at)
			break;
		r = read_dump_record(&d, &record, MIN((size_t)n, (size_t)record.total_size));
		j->at += record.total_size;
	}
	*ret_moved = sort_new_functions(j) || d.has_moved;
	return r;
}
