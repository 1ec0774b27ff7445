/* SPDX-License-Identifier: Apache-2.0 */
/* Frames from r->named on are new. Their files are read first, then names are requested, up to
 * FILE_NAMES_MAX of one file in a request. The id of a request for names is its index in
 * r->requests; the id of a request for a file is the number of the file (mapped_files.h). */
#include "stacks/frames/stack_resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/log.h"
#include "stacks/frames/mapping_records.h"

/* Subtracted from a return address to get an address within the call instruction. */
#if defined(__x86_64__) || defined(__i386__)
#define CALL_SIZE 1
#else
#define CALL_SIZE 4
#endif

#define NO_NAMES UINT32_MAX

/* ---- mappings of processes ---- */

bool stack_resolver_ensure_maps(struct stack_resolver *r, struct address_space *a, uint32_t tid)
{
	if (a->is_known || !r->has_user_frames || r->reader_is_silent)
		return true;
	address_space_remove_mappings(&r->spaces, a);
	if (!file_reader_request_maps(&r->reader, a->pid, (int32_t)tid)) {
		a->is_known = !file_reader_is_alive();
		return a->is_known;
	}
	r->maps_of = a->pid;
	r->outstanding++;
	return false;
}

/* Stores the mappings of the process whose maps were requested. If a ring holds an unread exec of
 * the process, the mappings are those of the new program, and unread records before the exec are of
 * the old one: then they are dropped. */
static void store_maps(struct stack_resolver *r, const struct file_answer *a)
{
	struct address_space *space;
	uint32_t at = 0;

	if (!r->maps_of || r->maps_of != (int32_t)a->id)
		return;
	space = address_spaces_get(&r->spaces, r->maps_of);
	if (!space)
		return;
	for (uint32_t i = 0; i < a->n; i++) {
		struct file_mapping m;

		memcpy(&m, a->body + at, sizeof(m));
		at += sizeof(m);
		address_space_add_mapping(&r->spaces, space, &m, a->body + at);
		at += (m.path_len + 7) / 8 * 8;
	}
	if (a->has_more)
		return;
	if (cpu_rings_has_exec(r->rings, space->pid))
		address_space_remove_mappings(&r->spaces, space);
	space->is_known = true;
	r->maps_of = 0;
	r->outstanding -= r->outstanding > 0;
}

void stack_resolver_apply_record(struct stack_resolver *r, const struct perf_event_header *h)
{
	uint32_t jit = address_spaces_find_jit(&r->spaces, mapping_records_ended_process(h));

	if (jit)
		jit_space_end(&r->jits.items[jit - 1]);
	mapping_records_apply(&r->spaces, h);
}

/* ---- data ---- */

/* Requests the mappings of new objects, process after process. Returns false if the round has to
 * wait. */
static bool request_data_maps(struct stack_resolver *r)
{
	uint64_t addresses[FILE_NAMES_MAX];
	uint32_t tid, n;

	if (r->objects.pid)
		return false;
	n = data_objects_choose_request(&r->objects, &tid, addresses);
	if (!n)
		return true;
	if (!file_reader_request_data_maps(&r->reader, r->objects.pid, (int32_t)tid, addresses,
					   n)) {
		data_objects_handle_answer(&r->objects, NULL, &r->stacks);
		return true;
	}
	r->outstanding++;
	return false;
}

static void store_data_maps(struct stack_resolver *r, const struct file_answer *a)
{
	bool is_stale = a->result < 0 || cpu_rings_has_exec(r->rings, r->objects.pid);

	if (r->objects.pid == (int32_t)a->id)
		data_objects_handle_answer(&r->objects, is_stale ? NULL : a, &r->stacks);
}

/* ---- names of functions ---- */

static struct mapped_file *frame_file(const struct stack_resolver *r, size_t frame)
{
	return &r->files.items[r->stacks.mappings[r->stacks.frames[frame].mapping].file];
}

/* Returns a process that maps the file, through which it can be opened; 0: none. Sets the range of
 * the mapping. */
static int32_t find_mapping_process(const struct stack_resolver *r, const struct stack_mapping *m,
				    struct file_mapping *ret)
{
	const struct address_space *a, *next;

	for (a = r->spaces.all; a; a = next) {
		next = a->hh.next;
		for (size_t i = 0; i < a->n; i++)
			if (a->mappings[i].file == m->file) {
				ret->start = a->mappings[i].start;
				ret->end = a->mappings[i].end;
				return a->pid;
			}
	}
	return 0;
}

/* Requests the facts of the mapping's file. Returns false if the reader takes no request now. */
static bool request_file(struct stack_resolver *r, const struct stack_mapping *m)
{
	struct mapped_file *f = &r->files.items[m->file];
	struct file_mapping where = {.inode = f->inode, .major = f->major, .minor = f->minor};
	int32_t pid = find_mapping_process(r, m, &where);

	if (!file_reader_request_elf(&r->reader, m->file, pid, &where, f->path)) {
		f->state = file_reader_is_alive() ? MAPPED_FILE_NEW : MAPPED_FILE_UNREADABLE;
		return false;
	}
	f->state = MAPPED_FILE_ASKED;
	r->outstanding++;
	return true;
}

/* Requests the debug file of a file that is stripped. Returns false if the reader is busy. */
static bool request_debug_file(struct stack_resolver *r, const struct stack_mapping *m)
{
	struct mapped_file *f = &r->files.items[m->file];
	struct file_mapping where;

	if (f->is_debug_file_asked || !f->elf->is_stripped)
		return true;
	f->is_debug_file_asked = file_reader_request_debug_file(
		&r->reader, find_mapping_process(r, m, &where), f->reader_file, f->elf, f->path);
	return f->is_debug_file_asked;
}

/* Requests every file that a new frame is in, and its debug file. Returns false if the reader is
 * busy. */
static bool request_files(struct stack_resolver *r)
{
	for (size_t i = r->named; i < r->stacks.n_frames; i++) {
		const struct stack_mapping *m = &r->stacks.mappings[r->stacks.frames[i].mapping];

		int state = r->files.items[m->file].state;
		bool ok = state == MAPPED_FILE_NEW    ? request_file(r, m)
			  : state == MAPPED_FILE_READ ? request_debug_file(r, m)
						      : true;

		if (!ok && file_reader_is_alive())
			return false;
	}
	return true;
}

/* Requests names from the jitdump that the process maps. Returns false if it maps none, or the
 * reader is busy. */
static bool request_jitdump_names(struct stack_resolver *r, uint32_t number,
				  const struct jit_space *j)
{
	const struct address_space *a = address_spaces_get(&r->spaces, j->pid);

	if (j->process.has_ended)
		return file_reader_request_jitdump(&r->reader, number, &j->process,
						   &(struct file_mapping){0}, "");
	for (size_t i = 0; a && i < a->n; i++) {
		const struct process_mapping *m = &a->mappings[i];
		const struct mapped_file *f = &r->files.items[m->file];
		const struct file_mapping where = {.start = m->start,
						   .end = m->end,
						   .inode = f->inode,
						   .major = f->major,
						   .minor = f->minor};

		if (f->is_jitdump)
			return file_reader_request_jitdump(&r->reader, number, &j->process, &where,
							   f->path);
	}
	return false;
}

/* Requests the names of code that the process compiled, unless the process has ended. Returns false
 * if the reader is busy. */
static bool request_jit_names(struct stack_resolver *r, uint32_t number)
{
	struct jit_space *j = &r->jits.items[number - 1];

	if (jit_space_read_process(j, r->proc_root)) {
		if (!file_reader_request_perf_map(&r->reader, number, &j->process))
			return !file_reader_is_alive();
		r->outstanding += 1 + request_jitdump_names(r, number, j);
	}
	jit_space_set_requested(j);
	return true;
}

/* Sends the requests that are due. Returns false if one could not be sent. */
static bool request_all_jit_names(struct stack_resolver *r)
{
	for (uint32_t i = 1; i <= r->jits.n; i++)
		if (jit_space_is_request_due(&r->jits.items[i - 1], r->is_last_round) &&
		    !request_jit_names(r, i))
			return false;
	return true;
}

/* Returns the reader's number for the source of the frame's name; NO_NAMES: there is none. */
static uint32_t frame_reader_file(const struct stack_resolver *r, size_t frame)
{
	const struct mapped_file *f = frame_file(r, frame);
	uint32_t jit = r->stacks.frames[frame].jit;

	if (f->state == MAPPED_FILE_READ)
		return f->reader_file;
	return jit && r->jits.items[jit - 1].reader_file ? r->jits.items[jit - 1].reader_file
							 : NO_NAMES;
}

static uint64_t address_for_name_request(const struct stack_resolver *r,
					 const struct stack_frame *f)
{
	const struct stack_mapping *m = &r->stacks.mappings[f->mapping];
	const struct mapped_file *file = &r->files.items[m->file];

	if (f->is_data)
		return mapped_file_data_address(file, m->offset, f->offset);
	return file->state == MAPPED_FILE_READ ? f->offset + mapped_file_load_bias(file, m->offset)
					       : f->address;
}

/* Requests the names of frame `first` and of further frames in its file. Returns false if the
 * reader is busy or memory runs out. */
static bool request_names(struct stack_resolver *r, size_t first)
{
	uint32_t names = frame_reader_file(r, first);
	uint64_t addresses[FILE_NAMES_MAX];
	struct name_request *q;

	if (array_reserve(&r->requests, &r->cap_requests, r->n_requests + 1, sizeof(*r->requests)) <
	    0)
		return false;
	q = &r->requests[r->n_requests];
	q->n = 0;
	for (size_t i = first; i < r->stacks.n_frames && q->n < FILE_NAMES_MAX; i++) {
		const struct stack_frame *frame = &r->stacks.frames[i];

		if (frame->is_requested || frame_reader_file(r, i) != names)
			continue;
		addresses[q->n] = address_for_name_request(r, frame);
		q->frames[q->n++] = (uint32_t)i;
	}
	if (!file_reader_request_names(&r->reader, r->n_requests, names, addresses, q->n))
		return false;
	for (uint32_t i = 0; i < q->n; i++)
		r->stacks.frames[q->frames[i]].is_requested = true;
	r->n_requests++;
	r->outstanding++;
	return true;
}

bool stack_resolver_request_names(struct stack_resolver *r)
{
	if (r->reader_is_silent || !file_reader_is_alive())
		r->named = r->stacks.n_frames;
	else if (!request_all_jit_names(r) || !request_data_maps(r))
		return false;
	if (r->named == r->stacks.n_frames)
		return r->outstanding == 0;
	if (!request_files(r) || r->outstanding)
		return false;
	for (; r->named < r->stacks.n_frames; r->named++)
		if (!r->stacks.frames[r->named].is_requested &&
		    frame_reader_file(r, r->named) != NO_NAMES && !request_names(r, r->named))
			return false;
	return r->outstanding == 0;
}

static void store_names(struct stack_resolver *r, const struct name_request *q,
			const struct file_answer *a)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n && i < q->n; i++) {
		struct stack_frame *f = &r->stacks.frames[q->frames[i]];
		uint16_t len;
		int name;

		memcpy(&len, a->body + at, sizeof(len));
		at += sizeof(len);
		name = len ? stacks_add_name(&r->stacks, a->body + at, len) : 0;
		if (name > 0)
			f->name = (uint32_t)name;
		if (f->jit)
			f->version = r->jits.items[f->jit - 1].version;
		at += len;
	}
}

bool stack_resolver_end_packets(struct stack_resolver *r)
{
	r->n_requests = 0;
	if (!stacks_is_full(&r->stacks))
		return false;
	stacks_reset(&r->stacks);
	data_objects_remove_all(&r->objects);
	r->named = 0;
	return true;
}

/* ---- answers ---- */

bool stack_resolver_is_waiting(const struct stack_resolver *r)
{
	return r->outstanding || (r->symbols.joined && !r->symbols.is_ready);
}

void stack_resolver_begin_waiting(struct stack_resolver *r)
{
	/* The symbol table always becomes ready, so it has no deadline. */
	if (r->symbols.joined && !r->symbols.is_ready)
		return;
	if (!evtimer_pending(r->deadline, NULL))
		event_timer_ms(r->deadline, STACK_RESOLVER_ANSWER_MS);
}

void stack_resolver_end_round(struct stack_resolver *r)
{
	evtimer_del(r->deadline);
	r->objects.n_requests = 0;
	r->reader_is_silent = r->late > 0;
}

/* Continues the round without the outstanding answers. */
static void stop_waiting(struct stack_resolver *r)
{
	struct address_space *a = r->maps_of ? address_spaces_get(&r->spaces, r->maps_of) : NULL;

	r->late += r->outstanding;
	r->reader_is_silent = true;
	r->outstanding = 0;
	r->maps_of = 0;
	data_objects_handle_answer(&r->objects, NULL, &r->stacks);
	if (a)
		a->is_known = true;
	for (size_t i = MAPPED_FILES_FIRST; i < r->files.n; i++)
		if (r->files.items[i].state == MAPPED_FILE_ASKED)
			r->files.items[i].state = MAPPED_FILE_UNREADABLE;
	r->named = r->stacks.n_frames;
}

static void stack_resolver_on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct stack_resolver *r = ctx;

	if (r->outstanding)
		log_debug("%s: the file reader did not answer within %d ms", r->source,
			  STACK_RESOLVER_ANSWER_MS);
	stop_waiting(r);
	r->ready(r->ctx);
}

static void handle_answer(struct stack_resolver *r, const struct file_answer *a)
{
	if (a->kind == FILE_REQUEST_MAPS) {
		store_maps(r, a);
		return;
	}
	r->outstanding -= r->outstanding > 0;
	if (a->kind == FILE_REQUEST_ELF)
		mapped_files_handle_answer(&r->files, (uint32_t)a->id, a);
	else if (a->kind == FILE_REQUEST_DATA_MAPS)
		store_data_maps(r, a);
	else if (a->kind == FILE_REQUEST_NAMES && a->id < r->n_requests)
		store_names(r, &r->requests[a->id], a);
	else if (a->kind != FILE_REQUEST_NAMES && a->id - 1 < r->jits.n)
		jit_space_handle_answer(&r->jits.items[a->id - 1], a);
}

static void stack_resolver_on_answer(void *ctx, const struct file_answer *a)
{
	struct stack_resolver *r = ctx;

	if (a->kind == FILE_REQUEST_CLOSE_ALL) { /* the file reader has ended */
		log_warn("%s: the helper that reads program files has exited; user functions will "
			 "have no names from now on",
			 r->source);
		stop_waiting(r);
		r->ready(r->ctx);
		return;
	}
	if (r->late) {
		r->late -= !a->has_more;
		r->reader_is_silent = r->late > 0;
		return;
	}
	handle_answer(r, a);
	evtimer_del(r->deadline);
	if (r->outstanding)
		stack_resolver_begin_waiting(r);
	else
		r->ready(r->ctx);
}

static void stack_resolver_on_symbols(void *ctx)
{
	struct stack_resolver *r = ctx;

	r->ready(r->ctx);
}

/* ---- its life ---- */

int stack_resolver_init(struct stack_resolver *r, struct event_base *loop, bool hides_addresses)
{
	int error = mapped_files_init(&r->files);

	if (error < 0)
		return error;
	r->spaces.files = &r->files;
	stacks_init(&r->stacks, &r->files, hides_addresses);
	r->deadline = evtimer_new(loop, stack_resolver_on_deadline, r);
	return r->deadline ? 0 : -ENOMEM;
}

int stack_resolver_join(struct stack_resolver *r, struct event_base *loop, const char *proc_root,
			bool has_user_frames, bool has_kernel_frames)
{
	int error = 0;

	r->has_user_frames = has_user_frames;
	r->proc_root = proc_root;
	r->symbols = (struct symbol_cache_user){.ready = stack_resolver_on_symbols, .ctx = r};
	r->reader = (struct file_reader_user){.answered = stack_resolver_on_answer, .ctx = r};
	if (has_user_frames)
		error = file_reader_join(&r->reader, loop);
	if (error == -ENOTSUP) {
		log_warn("%s: the helper that reads program files is not running; user functions "
			 "have no names",
			 r->source);
		error = 0;
	}
	if (error == 0 && has_kernel_frames)
		error = symbol_cache_join(&r->symbols, loop, proc_root, SYMBOL_CACHE_NONE);
	return error;
}

void stack_resolver_deinit(struct stack_resolver *r)
{
	event_freep(&r->deadline);
	symbol_cache_leave(&r->symbols);
	file_reader_leave(&r->reader);
	stacks_deinit(&r->stacks);
	address_spaces_deinit(&r->spaces);
	jit_spaces_deinit(&r->jits);
	data_objects_remove_all(&r->objects);
	mapped_files_deinit(&r->files);
	freep(&r->requests);
}

/* ---- walks ---- */

static void stack_walk_add_frame(struct stack_walk *w, int frame)
{
	if (frame < 0 || w->n == STACKS_FRAMES_MAX)
		w->error = STACK_TOO_MANY_FRAMES;
	else
		w->frames[w->n++] = (uint32_t)frame;
}

/* Returns an address in the call instruction of a caller. */
static uint64_t call_address(uint64_t address, bool is_caller)
{
	return is_caller && address > CALL_SIZE ? address - CALL_SIZE : address;
}

static void stack_walk_add_kernel(struct stack_walk *w, struct stack_resolver *r, uint64_t address)
{
	const struct symbol_table *table = symbol_cache_table(&r->symbols);
	char name[SYMBOL_TABLE_NAME_MAX + 1];
	size_t len = table ? symbol_table_find_name(table, address, name) : 0;
	stack_walk_add_frame(w, stacks_add_kernel_frame(&r->stacks, name, len));
}

/* Adds a frame of code that the process compiled itself. Returns its number or -ENOMEM. */
static int add_jit_frame(struct stack_resolver *r, struct address_space *a,
			 const struct process_mapping *m, uint64_t address)
{
	struct jit_space *j;

	if (!a->jit)
		a->jit = jit_spaces_add(&r->jits, a->pid);
	if (!a->jit)
		return stacks_add_user_frame(&r->stacks, m, address);
	j = &r->jits.items[a->jit - 1];
	j->is_used = true;
	/* The first request is sent at once: the process may end before the round requests other
	 * names. */
	if (!j->requested && !r->reader_is_silent)
		(void)request_jit_names(r, a->jit);
	return stacks_add_jit_frame(&r->stacks, m, address, a->jit, j->version, j->moved);
}

/* Adds the frame of an address. Returns false if the address has no mapping; then adds an unknown
 * frame, unless it is the address of a caller. An address of a caller is in its call
 * instruction. */
static bool stack_walk_add_user(struct stack_walk *w, struct stack_resolver *r,
				struct address_space *a, uint64_t address, bool is_caller)
{
	const struct process_mapping *m = address_space_find_mapping(a, address);

	if (m && r->files.items[m->file].is_memory)
		stack_walk_add_frame(w, add_jit_frame(r, a, m, address));
	else if (m)
		stack_walk_add_frame(w, stacks_add_user_frame(&r->stacks, m, address));
	else if (!is_caller)
		stack_walk_add_frame(w, stacks_add_unknown_frame(&r->stacks));
	if (!m)
		w->error = STACK_INVALID_MAP;
	return m;
}

void stack_walk_add_chain(struct stack_walk *w, struct stack_resolver *r, struct address_space *a,
			  const uint64_t *addresses, size_t n)
{
	uint64_t context = 0;
	bool is_caller = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t address = addresses[i];

		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			context = address;
			is_caller = false;
			continue;
		}
		address = call_address(address, is_caller);
		if (context == (uint64_t)PERF_CONTEXT_KERNEL)
			stack_walk_add_kernel(w, r, address);
		else if (context == (uint64_t)PERF_CONTEXT_USER &&
			 !stack_walk_add_user(w, r, a, address, is_caller))
			break;
		is_caller = true;
	}
}

void stack_walk_add_kernel_stack(struct stack_walk *w, struct stack_resolver *r,
				 const uint64_t *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		stack_walk_add_kernel(w, r, call_address(addresses[i], i > 0));
}

void stack_walk_add_user_stack(struct stack_walk *w, struct stack_resolver *r,
			       struct address_space *a, const uint64_t *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!stack_walk_add_user(w, r, a, addresses[i], i > 0))
			return;
}

uint32_t stack_walk_end(struct stack_walk *w, struct stack_resolver *r)
{
	int number;

	for (uint32_t i = 0; i < w->n / 2; i++) {
		uint32_t frame = w->frames[i];

		w->frames[i] = w->frames[w->n - 1 - i];
		w->frames[w->n - 1 - i] = frame;
	}
	number = w->n ? stacks_add_stack(&r->stacks, w->frames, w->n) : -ENOENT;
	return number < 0 ? 0 : (uint32_t)number + 1;
}
