/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New frames are those from s->named on. Their files are read first, then names are requested, up
 * to FILE_NAMES_MAX of one file in a request. The id of a request for names is its index in
 * s->asked; the id of a request for a file is the number of the file (mapped_files.h).
 */
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "stacks/samples/perf_session.h"

static struct mapped_file *frame_file(const struct perf_session *s, size_t frame)
{
	return &s->files.items[s->stacks.mappings[s->stacks.frames[frame].mapping].file];
}

/*
 * Returns a process that maps the file, through which it can be opened; 0: none. Sets the range of
 * the mapping.
 */
static int32_t find_mapping_process(const struct perf_session *s, const struct stack_mapping *m,
				    struct file_mapping *ret)
{
	const struct address_space *a, *next;

	for (a = s->spaces.all; a; a = next) {
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

static bool ask_file(struct perf_session *s, const struct stack_mapping *m)
{
	struct mapped_file *f = &s->files.items[m->file];
	struct file_mapping where = {.inode = f->inode, .major = f->major, .minor = f->minor};
	int32_t pid = find_mapping_process(s, m, &where);

	if (!file_reader_ask_elf(&s->reader, m->file, pid, &where, f->path)) {
		f->state = file_reader_is_alive() ? MAPPED_FILE_NEW : MAPPED_FILE_UNREADABLE;
		return false;
	}
	f->state = MAPPED_FILE_ASKED;
	s->outstanding++;
	return true;
}

/* Requests every file that a new frame is in. Returns false if the reader is busy. */
static bool ask_files(struct perf_session *s)
{
	for (size_t i = s->named; i < s->stacks.n_frames; i++) {
		const struct stack_mapping *m = &s->stacks.mappings[s->stacks.frames[i].mapping];

		if (s->files.items[m->file].state == MAPPED_FILE_NEW && !ask_file(s, m) &&
		    file_reader_is_alive())
			return false;
	}
	return true;
}

/*
 * Requests the names of frame `first` and of further frames in its file. Returns false if the
 * reader is busy or memory runs out.
 */
static bool ask_names(struct perf_session *s, size_t first)
{
	const struct mapped_file *f = frame_file(s, first);
	uint64_t addresses[FILE_NAMES_MAX];
	struct name_request *q;

	if (array_reserve(&s->asked, &s->cap_asked, s->n_asked + 1, sizeof(*s->asked)) < 0)
		return false;
	q = &s->asked[s->n_asked];
	q->n = 0;
	for (size_t i = first; i < s->stacks.n_frames && q->n < FILE_NAMES_MAX; i++) {
		const struct stack_frame *frame = &s->stacks.frames[i];

		if (frame->is_asked || frame_file(s, i) != f)
			continue;
		addresses[q->n] =
			frame->offset +
			mapped_file_load_bias(f, s->stacks.mappings[frame->mapping].offset);
		q->frames[q->n++] = (uint32_t)i;
	}
	if (!file_reader_ask_names(&s->reader, s->n_asked, f->reader_file, addresses, q->n))
		return false;
	for (uint32_t i = 0; i < q->n; i++)
		s->stacks.frames[q->frames[i]].is_asked = true;
	s->n_asked++;
	s->outstanding++;
	return true;
}

bool perf_names_ask(struct perf_session *s)
{
	if (s->reader_is_silent || !file_reader_is_alive())
		s->named = s->stacks.n_frames;
	if (s->named == s->stacks.n_frames)
		return s->outstanding == 0;
	if (!ask_files(s) || s->outstanding)
		return false;
	for (; s->named < s->stacks.n_frames; s->named++)
		if (!s->stacks.frames[s->named].is_asked &&
		    frame_file(s, s->named)->state == MAPPED_FILE_READ && !ask_names(s, s->named))
			return false;
	return s->outstanding == 0;
}

static void store_names(struct perf_session *s, const struct name_request *q,
			const struct file_answer *a)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->n && i < q->n; i++) {
		uint16_t len;
		int name;

		memcpy(&len, a->body + at, sizeof(len));
		at += sizeof(len);
		name = len ? stacks_add_name(&s->stacks, a->body + at, len) : 0;
		if (name > 0)
			s->stacks.frames[q->frames[i]].name = (uint32_t)name;
		at += len;
	}
}

void perf_names_handle_answer(struct perf_session *s, const struct file_answer *a)
{
	s->outstanding -= s->outstanding > 0;
	if (a->kind == FILE_REQUEST_ELF)
		mapped_files_handle_answer(&s->files, (uint32_t)a->id, a);
	else if (a->id < s->n_asked)
		store_names(s, &s->asked[a->id], a);
}

void perf_names_give_up(struct perf_session *s)
{
	for (size_t i = MAPPED_FILES_FIRST; i < s->files.n; i++)
		if (s->files.items[i].state == MAPPED_FILE_ASKED)
			s->files.items[i].state = MAPPED_FILE_UNREADABLE;
	s->named = s->stacks.n_frames;
}
