/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New frames are those from s->named on. For each, its file is read first, then names are asked for, up to
 * FILE_NAMES_MAX of one file in a request. A request for names has the number of its list of frames, a request
 * for a file that of the file.
 */
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "perf/perf_session.h"

#define IS_FILE (1ull << 32)

static struct mapped_file *file_of(const struct perf_session *s, size_t frame)
{
	return &s->files.items[s->stacks.mappings[s->stacks.frames[frame].mapping].file];
}

/* A process that has the mapping, if there is still one: the file can be opened through it. */
static int32_t process_with(const struct perf_session *s, const struct stack_mapping *m,
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
	struct file_mapping where = {.inode = f->inode};
	int32_t pid = process_with(s, m, &where);

	if (!file_reader_ask_elf(&s->reader, IS_FILE | m->file, pid, &where, f->path)) {
		f->state = file_reader_is_alive() ? MAPPED_FILE_NEW : MAPPED_FILE_UNREADABLE;
		return false;
	}
	f->state = MAPPED_FILE_ASKED;
	s->outstanding++;
	return true;
}

/* Asks for every file that a new frame is in. Returns false if the reader is busy. */
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

/* Asks for the frames of the file of frame `first` that have no request yet. */
static bool ask_names_of(struct perf_session *s, size_t first, uint8_t *has_request)
{
	const struct mapped_file *f = file_of(s, first);
	uint64_t addresses[FILE_NAMES_MAX];
	uint32_t n = 0, *list;

	if (array_reserve(&s->asked, &s->cap_asked, s->n_asked + 1, sizeof(*s->asked)) < 0)
		return false;
	list = s->asked[s->n_asked];
	for (size_t i = first; i < s->stacks.n_frames && n < FILE_NAMES_MAX; i++) {
		const struct stack_frame *frame = &s->stacks.frames[i];

		if (has_request[i - s->named] || file_of(s, i) != f)
			continue;
		has_request[i - s->named] = 1;
		addresses[n] = frame->offset +
			       mapped_file_load_bias(f, s->stacks.mappings[frame->mapping].offset);
		list[n++] = (uint32_t)i;
	}
	if (!file_reader_ask_names(&s->reader, s->n_asked, f->reader_file, addresses, n))
		return false;
	s->n_asked++;
	s->outstanding++;
	return true;
}

static void ask_names(struct perf_session *s)
{
	size_t n = s->stacks.n_frames - s->named;
	_cleanup_(freep) uint8_t *has_request = n ? calloc(n, 1) : NULL;

	for (size_t i = s->named; has_request && i < s->stacks.n_frames; i++)
		if (!has_request[i - s->named] && file_of(s, i)->state == MAPPED_FILE_READ &&
		    !ask_names_of(s, i, has_request))
			break; /* these frames keep no name */
	s->named = s->stacks.n_frames;
}

bool perf_names_ask(struct perf_session *s)
{
	if (s->named == s->stacks.n_frames)
		return true;
	if (!ask_files(s))
		return false;
	if (s->outstanding)
		return false;
	ask_names(s);
	return s->outstanding == 0;
}

void perf_names_answer(struct perf_session *s, const struct file_answer *a)
{
	uint32_t at = 0;

	s->outstanding -= s->outstanding > 0;
	if (a->kind == FILE_REQUEST_ELF) {
		mapped_files_answer(&s->files, (uint32_t)a->id, a);
		return;
	}
	if (a->id >= s->n_asked)
		return;
	for (uint32_t i = 0; i < a->n && i < FILE_NAMES_MAX; i++) {
		uint16_t len;
		int name;

		memcpy(&len, a->body + at, sizeof(len));
		at += sizeof(len);
		name = len ? stacks_name(&s->stacks, a->body + at, len) : 0;
		if (name > 0)
			s->stacks.frames[s->asked[a->id][i]].name = (uint32_t)name;
		at += len;
	}
}

void perf_names_give_up(struct perf_session *s)
{
	for (size_t i = MAPPED_FILES_FIRST; i < s->files.n; i++)
		if (s->files.items[i].state == MAPPED_FILE_ASKED)
			s->files.items[i].state = MAPPED_FILE_UNREADABLE;
	s->named = s->stacks.n_frames;
}
