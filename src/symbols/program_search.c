/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/program_search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/helper_process.h"
#include "base/text/demangle.h"
#include "base/text/str.h"
#include "symbols/elf_symbols.h"
#include "symbols/usdt_notes.h"

#define SYMBOLS_BYTES (384u << 20) /* of symbols and names; functions beyond are not found */

/* The process reads one file, and answers one reader. */
static struct {
	struct elf_symbols symbols;
	struct usdt_notes usdt;
	bool usdt_is_read;
	int to;
} search;

static void send_message(const void *m, size_t len)
{
	if (helper_send(search.to, m, len, -1, 0) < 0)
		_exit(0); /* the parent has ended */
}

/* ---- places ---- */

/* Finds the offset of an address in the file. Returns false if it is in none of the segments. */
static bool find_offset(const struct elf_segment *segments, uint32_t n, uint64_t address,
			uint64_t *ret)
{
	for (uint32_t i = 0; i < n; i++)
		if (address >= segments[i].address &&
		    address - segments[i].address < segments[i].size) {
			*ret = address - segments[i].address + segments[i].offset;
			return true;
		}
	return false;
}

static void program_search_send_item(struct program_answer *a, const char *const texts[3])
{
	const struct elf_facts *facts = &search.symbols.facts;

	a->text_len = 0;
	for (int i = 0; i < 3; i++) {
		size_t len = strnlen(texts[i], ELF_NAME_MAX);

		memcpy(a->text + a->text_len, texts[i], len);
		a->text[a->text_len + len] = '\0';
		a->text_len += (uint32_t)len + 1;
	}
	a->has_no_code = a->kind != PROGRAM_SUGGESTION &&
			 !find_offset(facts->segments, facts->n_segments, a->address, &a->offset);
	send_message(a, PROGRAM_ANSWER_HEAD + a->text_len);
}

/* ---- functions ---- */

static void send_function(const struct elf_symbol *s, enum program_item_kind kind)
{
	static char full[ELF_NAME_MAX + 1];
	const char *name = search.symbols.names + s->name;
	struct program_answer a = {
		.kind = kind, .is_chosen_at_load = s->is_chosen_at_load, .address = s->address};

	program_search_send_item(
		&a, (const char *const[]){name, demangle_name(name, full, sizeof(full)) ? full : "",
					  ""});
}

/* A search for the functions that have a name. */
struct name_search {
	const char *wanted;
	char part[PROGRAM_NAME_MAX]; /* letters that mangled names have as they are; "": none */
	struct str_nearest nearest;
	char best[STR_NEAREST_SIZE];
};

/* Sets s->part to the last identifier of the wanted name ("method" of "ns::Class<int>::method"),
 * which is part of the mangled name, too. The name of an operator has none. */
static void choose_searched_part(struct name_search *s)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *at = s->wanted;

	for (size_t n; *at && *at != '(' && *at != '<'; at += n ? n : 1) {
		n = strspn(at, letters);
		if (n)
			memcpy(s->part, at, n), s->part[n] = '\0';
	}
	if (strstr(s->wanted, "operator"))
		s->part[0] = '\0';
}

static bool has_demangled_name(const struct name_search *s, const char *symbol)
{
	static char name[ELF_NAME_MAX + 1];

	return strstr(symbol, s->part) &&
	       ((demangle_short_name(symbol, name, sizeof(name)) && !strcmp(name, s->wanted)) ||
		(demangle_name(symbol, name, sizeof(name)) && !strcmp(name, s->wanted)));
}

/* Returns the name to compare: demangled if it may contain the searched part. */
static const char *suggested_name(const struct name_search *s, const char *symbol)
{
	static char name[ELF_NAME_MAX + 1];

	return strstr(symbol, s->part) && demangle_short_name(symbol, name, sizeof(name)) ? name
											  : symbol;
}

static bool can_be_suggested(const struct elf_symbol *f)
{
	return !f->is_variable && !f->is_chosen_at_load;
}

/* Sends the nearest name, then names that contain the searched one. */
static void suggest_functions(struct name_search *s)
{
	const struct elf_symbols *all = &search.symbols;
	struct program_answer a = {.kind = PROGRAM_SUGGESTION};
	const char *nearest;
	unsigned n = 0;

	str_nearest_init(&s->nearest, s->wanted);
	for (size_t i = 0; i < all->n_symbols; i++)
		if (can_be_suggested(&all->symbols[i]))
			str_nearest_try_copy(&s->nearest,
					     suggested_name(s, all->names + all->symbols[i].name),
					     s->best);
	nearest = str_nearest_get(&s->nearest);
	if (nearest)
		program_search_send_item(&a, (const char *const[]){nearest, "", ""});
	n += nearest != NULL;
	for (size_t i = 0; i < all->n_symbols && n < PROGRAM_SUGGESTIONS_MAX; i++) {
		const char *name = suggested_name(s, all->names + all->symbols[i].name);

		if (!can_be_suggested(&all->symbols[i]) || !strstr(name, s->wanted) ||
		    (nearest && !strcmp(name, nearest)))
			continue;
		program_search_send_item(&a, (const char *const[]){name, "", ""});
		n++;
	}
}

/* Sends each function that has the name, once for an address. Returns their number. */
static size_t send_functions_named(const struct name_search *s, bool demangled)
{
	const struct elf_symbols *all = &search.symbols;
	uint64_t last = 0;
	size_t n = 0;

	for (size_t i = 0; i < all->n_symbols; i++) {
		const struct elf_symbol *f = &all->symbols[i];
		const char *name = all->names + f->name;

		if (f->is_variable || (n && f->address == last) ||
		    !(demangled ? has_demangled_name(s, name) : !strcmp(name, s->wanted)))
			continue;
		send_function(f, PROGRAM_FUNCTION);
		last = f->address;
		n++;
	}
	return n;
}

static void find_function(const char *wanted)
{
	static struct name_search s;

	s = (struct name_search){.wanted = wanted};
	choose_searched_part(&s);
	if (!send_functions_named(&s, false) && !send_functions_named(&s, true))
		suggest_functions(&s);
}

static void list_functions(const char *pattern)
{
	static char name[ELF_NAME_MAX + 1];
	const struct elf_symbols *all = &search.symbols;

	for (size_t i = 0; i < all->n_symbols; i++) {
		const char *symbol = all->names + all->symbols[i].name;

		if (all->symbols[i].is_variable)
			continue;
		/* .dynsym and .symtab may both have it. */
		if (i && all->symbols[i - 1].address == all->symbols[i].address &&
		    !strcmp(all->names + all->symbols[i - 1].name, symbol))
			continue;
		if (str_glob(pattern, symbol) ||
		    (demangle_short_name(symbol, name, sizeof(name)) && str_glob(pattern, name)))
			send_function(&all->symbols[i], PROGRAM_FUNCTION);
	}
}

/* ---- static probes ---- */

static int list_usdt(int program, const char *pattern)
{
	static char whole[USDT_TEXT_MAX + 2];
	const struct elf_facts *facts = &search.symbols.facts;
	const struct usdt_notes *u = &search.usdt;
	int r = search.usdt_is_read ? 0 : usdt_notes_read(program, &search.usdt);

	search.usdt_is_read |= r == 0;
	for (size_t i = 0; r == 0 && i < u->n; i++) {
		const struct usdt_note *note = &u->notes[i];
		const char *provider = u->texts + note->provider, *name = u->texts + note->name;
		struct program_answer a = {.kind = PROGRAM_USDT, .address = note->address};

		snprintf(whole, sizeof(whole), "%s:%s", provider, name);
		/* A probe whose semaphore lies nowhere never fires, but others of its name may. */
		if (!str_glob(pattern, whole) ||
		    (note->semaphore &&
		     !find_offset(facts->data, facts->n_data, note->semaphore, &a.semaphore)))
			continue;
		program_search_send_item(
			&a, (const char *const[]){provider, name, u->texts + note->arguments});
	}
	return r;
}

/* ---- requests ---- */

static void send_facts(int result)
{
	const struct program_facts_answer a = {.result = result, .elf = search.symbols.facts};

	send_message(&a, sizeof(a));
}

static void answer_program_request(struct program_request *q, int program, int fd)
{
	struct program_answer end = {.is_end = 1};

	q->name[sizeof(q->name) - 1] = '\0';
	switch (q->kind) {
	case PROGRAM_REQUEST_FACTS:
		send_facts(elf_symbols_read_aliases(program, SYMBOLS_BYTES, &search.symbols));
		return;
	case PROGRAM_REQUEST_DEBUG_FILE:
		send_facts(fd < 0 ? -EBADF
				  : elf_symbols_replace_by_debug_file(&search.symbols, fd,
								      SYMBOLS_BYTES / 2));
		return;
	case PROGRAM_REQUEST_FUNCTION:
		find_function(q->name);
		break;
	case PROGRAM_REQUEST_FUNCTIONS:
		list_functions(q->name);
		break;
	default: /* PROGRAM_REQUEST_USDT */
		end.result = list_usdt(program, q->name);
		break;
	}
	send_message(&end, PROGRAM_ANSWER_HEAD);
}

void program_search_run(int fd, void *ctx)
{
	static struct program_request q;
	const struct iovec part = {&q, sizeof(q)};
	const struct program_search_ctx *c = ctx;

	search.to = fd;
	(void)demangle_start_clock();
	/* If the kernel refuses this, the process continues with the rights that it had before. */
	(void)helper_confine_parser(PROGRAM_READER_MEMORY);
	for (;;) {
		int passed = -1;

		if (helper_receive(fd, &part, 1, -1, &passed) != (ssize_t)sizeof(q))
			_exit(0); /* the parent has ended */
		answer_program_request(&q, c->program, passed);
		closep(&passed);
	}
}
