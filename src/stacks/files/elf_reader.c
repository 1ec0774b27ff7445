/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/elf_reader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/helper_process.h"
#include "base/text/demangle.h"
#include "stacks/files/file_messages.h"
#include "stacks/files/jit_names.h"
#include "stacks/files/proc_maps.h"

#define MAPS_BUFFER (64u << 10) /* longer than a line of maps */
#define MAPS_MAX 65536 /* lines of maps that are read; the mappings of later lines are unknown */

struct open_file {
	uid_t owner;
	dev_t device;
	ino_t inode;
	struct timespec changed;
	off_t size;
	struct elf_symbols symbols;
};

struct jit_file {
	ino_t inode;
	int fd; /* owned: it stays open; 0: it does not */
	struct jit_names names;
};

/* A process that compiles code. */
struct jit_process {
	uid_t owner;
	int32_t pid;
	uint64_t started; /* distinguishes two processes with the same pid */
	uint32_t number; /* in answers; 0: the element is free */
	uint64_t used; /* number of the request that used it last */
	struct jit_file map, dump;
};

/* The process has one thread and one reader. */
static struct open_file files[ELF_READER_FILES];
static uint32_t n_files;
static int vdso = -1; /* owned: a copy of it; -1: there is none */
static struct jit_process jits[ELF_READER_JITS];
static uint32_t last_jit = ELF_READER_JITS_FIRST;
static uint64_t n_requests;
static struct file_request request;
static struct file_answer answer;

static void send_answer(int to)
{
	if (helper_send(to, &answer, FILE_ANSWER_HEAD + answer.n_bytes, -1, 0) < 0)
		_exit(0); /* the parent has ended */
	answer.n = answer.n_bytes = 0;
}

/* ---- mappings ---- */

/* Appends a record, a path and padding to the answer. Returns false if they do not fit. */
static bool add_record(const void *record, size_t size, struct span path)
{
	size_t padded = (path.len + 7) / 8 * 8;
	char *at = answer.body + answer.n_bytes;

	if (answer.n_bytes + size + padded > sizeof(answer.body))
		return false;
	memcpy(at, record, size);
	memset(at + size, 0, padded);
	memcpy(at + size, path.p, path.len);
	answer.n_bytes += (uint32_t)(size + padded);
	answer.n++;
	return true;
}

static void elf_reader_add_mapping(int to, struct span line)
{
	struct file_mapping m;
	struct span path;

	if (!proc_maps_parse_line(line, &m, &path) || path.len >= FILE_PATH_MAX)
		return;
	if (!add_record(&m, sizeof(m), path)) {
		answer.has_more = 1;
		send_answer(to);
		(void)add_record(&m, sizeof(m), path);
	}
}

/* The last mapping of a file so far, for the anonymous memory that follows it. */
static struct {
	struct file_mapping m;
	char path[FILE_PATH_MAX];
} last_file;

/* Adds a record of the mapping for each address of the request that it contains, or, if it is
 * anonymous and follows a file's mapping, a record of that mapping with is_behind. */
static void elf_reader_add_data_mapping(int to, struct span line)
{
	struct file_data_mapping d = {.is_behind = 0};
	struct file_mapping m;
	struct span path;

	(void)to;
	if (!proc_maps_parse_any_line(line, &m, &path) || path.len >= FILE_PATH_MAX)
		return;
	d.m = m;
	if (m.inode) {
		last_file.m = m;
		memcpy(last_file.path, path.p, path.len);
	} else if (last_file.m.inode && last_file.m.end == m.start && path.p[0] == '/') {
		d.m = last_file.m;
		d.is_behind = 1;
		path = (struct span){last_file.path, d.m.path_len};
	}
	for (uint32_t i = 0; i < request.n; i++)
		if (request.addresses[i] >= m.start && request.addresses[i] < m.end) {
			d.address = i;
			(void)add_record(&d, sizeof(d), path);
		}
}

/* Calls add for each line of /proc/PID/maps. Returns 0; -EFBIG if there are too many lines, or one
 * is too long; or -errno. */
static int read_maps(int to, int fd, void (*add)(int to, struct span line))
{
	static char buf[MAPS_BUFFER];
	size_t len = 0, n_lines = 0;
	ssize_t n;

	while ((n = read(fd, buf + len, sizeof(buf) - len)) > 0) {
		struct span text = {buf, len + (size_t)n};
		const char *end;

		while ((end = memchr(text.p, '\n', text.len)) && n_lines++ < MAPS_MAX) {
			add(to, (struct span){text.p, (size_t)(end - text.p)});
			text.len -= (size_t)(end + 1 - text.p);
			text.p = end + 1;
		}
		if (text.len == sizeof(buf) || n_lines >= MAPS_MAX)
			return -EFBIG;
		memmove(buf, text.p, text.len);
		len = text.len;
	}
	return n < 0 ? -errno : 0;
}

/* ---- ELF files ---- */

static bool is_same_file(const struct open_file *f, const struct stat *st)
{
	return f->device == st->st_dev && f->inode == st->st_ino && f->size == st->st_size &&
	       f->changed.tv_sec == st->st_ctim.tv_sec && f->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static size_t jit_process_bytes(const struct jit_process *p)
{
	return jit_names_bytes(&p->map.names) + jit_names_bytes(&p->dump.names);
}

/* Returns how many bytes the symbols of another file of this owner may take; 0: its share is used
 * up. */
static size_t symbol_budget(uid_t owner)
{
	size_t n = 0, n_others = 0, bytes = 0, bytes_others = 0, room;

	for (uint32_t i = 0; i < n_files; i++) {
		bool is_own = files[i].owner == owner;

		*(is_own ? &n : &n_others) += 1;
		*(is_own ? &bytes : &bytes_others) += elf_symbols_bytes(&files[i].symbols);
	}
	for (size_t i = 0; i < ELF_READER_JITS; i++)
		*(jits[i].owner == owner ? &bytes : &bytes_others) += jit_process_bytes(&jits[i]);
	room = (ELF_READER_SYMBOLS - bytes_others) / 2;
	return n < (ELF_READER_FILES - n_others) / 2 && bytes < room ? room - bytes : 0;
}

/* Returns 0 and the number of the file in *ret_file; reads its symbols if it is new. -EMFILE: there
 * is no room for it, or its owner has used up the share. Or another -errno. */
static int read_elf(int fd, uint32_t *ret_file)
{
	struct open_file *f = &files[n_files];
	struct stat st;
	size_t room;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	for (*ret_file = 0; *ret_file < n_files; (*ret_file)++)
		if (is_same_file(&files[*ret_file], &st))
			return 0;
	room = symbol_budget(st.st_uid);
	if (n_files == ELF_READER_FILES || room == 0)
		return -EMFILE;
	r = elf_symbols_read(fd, room, &f->symbols);
	if (r < 0)
		return r;
	f->owner = st.st_uid;
	f->device = st.st_dev;
	f->inode = st.st_ino;
	f->changed = st.st_ctim;
	f->size = st.st_size;
	f->symbols.facts.size = (uint64_t)st.st_size;
	f->symbols.facts.changed_s = st.st_ctim.tv_sec;
	f->symbols.facts.changed_ns = (uint32_t)st.st_ctim.tv_nsec;
	*ret_file = n_files++;
	return 0;
}

/* Replaces the symbols of a file by those of its debug file, if that belongs to root or to the
 * owner of the file: only they may decide what its functions are called. */
static void read_debug_file(int fd)
{
	struct open_file *f = &files[request.file];
	struct stat st;

	if (fd < 0 || request.file >= n_files || fstat(fd, &st) < 0 ||
	    (st.st_uid != 0 && st.st_uid != f->owner))
		return;
	(void)elf_symbols_replace_by_debug_file(&f->symbols, fd, symbol_budget(f->owner));
}

/* ---- code that a process compiled ---- */

static void jit_file_close(struct jit_file *f)
{
	if (f->fd)
		close(f->fd);
	f->fd = 0;
}

static void jit_process_free(struct jit_process *p)
{
	jit_file_close(&p->map);
	jit_file_close(&p->dump);
	jit_names_deinit(&p->map.names);
	jit_names_deinit(&p->dump.names);
	*p = (struct jit_process){0};
}

static struct jit_process *jit_process_find(uint32_t number)
{
	for (size_t i = 0; i < ELF_READER_JITS; i++)
		if (number && jits[i].number == number)
			return &jits[i];
	return NULL;
}

/* Returns the process of the request; NULL: there is none. may_add: adds it if it is new, in a free
 * element or, if its user's share is used up, in place of that user's least recently used
 * process. */
static struct jit_process *jit_process_get(bool may_add)
{
	struct jit_process *unused = NULL, *oldest = NULL;
	size_t n = 0, n_others = 0;

	for (size_t i = 0; i < ELF_READER_JITS; i++) {
		struct jit_process *p = &jits[i];
		bool is_own = p->number && p->owner == request.uid;

		if (is_own && p->pid == request.pid && p->started == request.started)
			return p;
		if (is_own && (!oldest || p->used < oldest->used))
			oldest = p;
		if (!p->number)
			unused = p;
		n += is_own;
		n_others += p->number && !is_own;
	}
	if (!may_add)
		return NULL;
	if (n >= (ELF_READER_JITS - n_others) / 2 && oldest) {
		jit_process_free(oldest);
		unused = oldest;
	}
	if (!unused)
		return NULL;
	*unused = (struct jit_process){.owner = request.uid,
				       .pid = request.pid,
				       .started = request.started,
				       .number = ++last_jit};
	return unused;
}

/* Keeps the file open if the share of its owner allows it. Closes the one that was open before, and
 * that of a process that has ended. */
static void keep_jit_file_open(struct jit_file *f, uid_t owner, int *fd)
{
	size_t n = 0, n_others = 0;

	if (request.has_ended || *fd >= 0)
		jit_file_close(f);
	for (size_t i = 0; i < ELF_READER_JITS; i++)
		*(jits[i].owner == owner ? &n : &n_others) += !!jits[i].map.fd + !!jits[i].dump.fd;
	if (!request.has_ended && *fd >= 0 && n < (ELF_READER_JIT_FILES - n_others) / 2)
		f->fd = TAKE_FD(*fd);
}

/* Reads the names in a file of compiled code. *fd: -errno if the file could not be opened; set to
 * -1 if the file stays open. Returns 0 or -errno. */
static int read_jit_file(int *fd)
{
	bool is_map = request.kind == FILE_REQUEST_PERF_MAP, has_moved;
	struct jit_process *p = jit_process_get(*fd >= 0);
	struct jit_file *f;
	struct jit_names *names;
	size_t budget;
	struct stat st;
	int r, from;

	if (!p)
		return *fd < 0 ? -(int32_t)request.n : -EMFILE;
	f = is_map ? &p->map : &p->dump;
	from = f->fd && (*fd < 0 || request.has_ended) ? f->fd : *fd;
	if (from < 0)
		return -(int32_t)request.n;
	if (fstat(from, &st) < 0)
		return -EMFILE;
	names = &f->names;
	/* Not the file that was read before: it was replaced, or rewritten from its beginning. */
	if (f->inode != st.st_ino || (uint64_t)st.st_size < names->at) {
		answer.has_moved = names->n > 0;
		jit_names_deinit(names);
		f->inode = st.st_ino;
	}
	budget = symbol_budget(p->owner) + jit_names_bytes(names);
	r = is_map ? jit_names_read_map(names, from, budget, &has_moved)
		   : jit_names_read_dump(names, from, budget, &has_moved);
	keep_jit_file_open(f, p->owner, fd);
	answer.has_moved |= has_moved;
	answer.n = (uint32_t)(p->map.names.n + p->dump.names.n);
	answer.file = p->number;
	p->used = n_requests;
	return r == -EBADMSG ? r : 0;
}

static const char *find_jit_name(struct jit_process *p, uint64_t address)
{
	const char *name = jit_names_find(&p->dump.names, address);

	p->used = n_requests;
	return name ?: jit_names_find(&p->map.names, address);
}

/* ---- names ---- */

/* Returns the name of a function or variable, or NULL, and its length. */
static const char *choose_symbol_name(const struct elf_symbol *symbol, const char *name,
				      size_t *ret_len)
{
	static char demangled[ELF_NAME_MAX + 1];

	*ret_len = symbol ? demangle_name(name, demangled, sizeof(demangled)) : 0;
	if (*ret_len)
		return demangled;
	*ret_len = name ? strlen(name) : 0;
	return name;
}

/* Appends the name of what is at the address to the answer. */
static void append_name(struct jit_process *jit, uint64_t address)
{
	const struct elf_symbols *of = jit ? NULL : &files[request.file].symbols;
	const struct elf_symbol *symbol = of ? elf_symbols_find(of, address) : NULL;
	char offset[FILE_OFFSET_MAX + 1] = "", *to = answer.body + answer.n_bytes;
	size_t len;
	const char *name = choose_symbol_name(symbol,
					      jit      ? find_jit_name(jit, address)
					      : symbol ? of->names + symbol->name
						       : NULL,
					      &len);
	uint16_t head;

	if (symbol && symbol->is_variable && address > symbol->address)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, address - symbol->address);
	head = (uint16_t)(len + strlen(offset));
	memcpy(to, &head, sizeof(head));
	if (len)
		memcpy(to + sizeof(head), name, len);
	memcpy(to + sizeof(head) + len, offset, strlen(offset));
	answer.n_bytes += (uint32_t)sizeof(head) + head;
	answer.n++;
}

static void append_names(size_t n)
{
	struct jit_process *jit = jit_process_find(request.file);

	if (!jit && request.file >= n_files) {
		answer.result = -ESTALE;
		return;
	}
	for (size_t i = 0; i < n; i++)
		append_name(jit, request.addresses[i]);
}

/* ---- unwind rows ---- */

/* Copies the vDSO, which is an ELF file in the memory of each process, into a file. */
static void copy_vdso(void)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t size = h ? h->e_shoff + (size_t)h->e_shnum * h->e_shentsize : 0;

	vdso = h ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	if (vdso >= 0 && write(vdso, h, size) != (ssize_t)size)
		closep(&vdso);
}

static void send_rows(int to, const struct eh_rows *r)
{
	size_t left = r->n_rows;

	answer.has_more = left > 0;
	while (left) {
		size_t n = MIN(left, (size_t)FILE_ROWS_MAX);

		send_answer(to);
		memcpy(answer.rows, r->rows + (r->n_rows - left), n * sizeof(*r->rows));
		answer.n = (uint32_t)n;
		answer.n_bytes = (uint32_t)(n * sizeof(*r->rows));
		left -= n;
		answer.has_more = left > 0;
	}
}

/* Reads the unwind rows of a file and sends them, except the last answer, which the caller sends.
 * Returns 0 or -errno. */
static int read_rows(int to, int fd)
{
	bool is_vdso = request.file == FILE_VDSO;
	struct eh_rows rows;
	struct stat st;
	int r;

	if (is_vdso)
		fd = vdso;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!is_vdso && (request.file >= n_files || !is_same_file(&files[request.file], &st)))
		return -ESTALE;
	r = eh_rows_read(fd, EH_ROWS_MAX, &rows);
	if (r < 0)
		return r;
	answer.rules.head = (struct file_rows){.base = rows.base,
					       .owner = is_vdso ? 0 : st.st_uid,
					       .n_rows = (uint32_t)rows.n_rows,
					       .is_cut = rows.is_cut};
	if (rows.n_rules)
		memcpy(answer.rules.rules, rows.rules, rows.n_rules * sizeof(*rows.rules));
	answer.n = (uint32_t)rows.n_rules;
	answer.n_bytes = (uint32_t)(sizeof(answer.rules.head) + rows.n_rules * sizeof(*rows.rules));
	send_rows(to, &rows);
	eh_rows_deinit(&rows);
	return 0;
}

/* ---- requests ---- */

/* Answers a request. *file: the descriptor that came with it; -1: none. Set to -1 if the file stays
 * open. */
static void answer_request(int to, size_t len, int *file)
{
	int fd = *file;

	answer = (struct file_answer){.kind = request.kind, .user = request.user, .id = request.id};
	n_requests++;
	switch (request.kind) {
	case FILE_REQUEST_MAPS:
		answer.result =
			fd < 0 ? -(int32_t)request.n : read_maps(to, fd, elf_reader_add_mapping);
		answer.has_more = 0;
		break;
	case FILE_REQUEST_DATA_MAPS:
		request.n = (uint32_t)MIN((len - FILE_REQUEST_HEAD) / sizeof(uint64_t),
					  (size_t)FILE_NAMES_MAX);
		last_file.m = (struct file_mapping){0};
		answer.result = fd < 0 ? -ESRCH : read_maps(to, fd, elf_reader_add_data_mapping);
		break;
	case FILE_REQUEST_ELF:
		answer.result = fd < 0 ? -(int32_t)request.n : read_elf(fd, &answer.file);
		if (answer.result == 0) {
			answer.elf = files[answer.file].symbols.facts;
			answer.n_bytes = sizeof(answer.elf);
		}
		break;
	case FILE_REQUEST_PERF_MAP:
	case FILE_REQUEST_JITDUMP:
		answer.result = read_jit_file(file);
		break;
	case FILE_REQUEST_NAMES:
		append_names(
			MIN((len - FILE_REQUEST_HEAD) / sizeof(uint64_t), (size_t)FILE_NAMES_MAX));
		break;
	case FILE_REQUEST_ROWS:
		answer.result = fd < 0 && request.file != FILE_VDSO ? -(int32_t)request.n
								    : read_rows(to, fd);
		break;
	case FILE_REQUEST_DEBUG_FILE:
		read_debug_file(fd);
		return;
	default: /* FILE_REQUEST_CLOSE_ALL */
		for (uint32_t i = 0; i < n_files; i++)
			elf_symbols_deinit(&files[i].symbols);
		n_files = 0;
		for (size_t i = 0; i < ELF_READER_JITS; i++)
			jit_process_free(&jits[i]);
		return;
	}
	send_answer(to);
}

void elf_reader_run(int fd, int other, void *ctx)
{
	const struct iovec part = {&request, sizeof(request)};

	copy_vdso();
	(void)demangle_start_clock();
	/* If the kernel refuses this, the process continues with the rights that it had before. */
	(void)helper_confine_parser(ELF_READER_MEMORY);
	for (;;) {
		int file = -1;
		ssize_t n = helper_receive(other, &part, 1, -1, &file);

		if (n < (ssize_t)FILE_REQUEST_HEAD)
			_exit(0); /* the parent has ended */
		answer_request(fd, (size_t)n, &file);
		closep(&file);
	}
}
