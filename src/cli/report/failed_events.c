// SPDX-License-Identifier: Apache-2.0
/*
 *	sched/sched_switch (filter refused: Field not found at character 18: prev_pid == 1 && ^x)
 *
 *	event sched/sched_switch could not be recorded: filter refused: Field not found
 *	  prev_pid == 1 && x
 *	                   ^
 *
 * A pattern makes many events fail for one reason, so those are told together.
 */

#include "cli/report/failed_events.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define NAMED 3 /* events of one reason; the others are counted */

/* A view of one entry. */
struct entry {
	const char *what;
	size_t what_len;
	const char *reason; /* without its brackets; "" for none */
	size_t reason_len;
};

static struct entry read_entry(const char *text)
{
	const char *open = strstr(text, " (");
	size_t len = strlen(text);

	if (!open || text[len - 1] != ')')
		return (struct entry){text, len, "", 0};
	return (struct entry){text, (size_t)(open - text), open + 2,
			      (size_t)(text + len - 1 - (open + 2))};
}

static bool is_option(const struct entry *e)
{
	return str_starts(e->what, "option:");
}

static bool same_reason(const struct entry *a, const struct entry *b)
{
	return a->reason_len == b->reason_len && !memcmp(a->reason, b->reason, a->reason_len) &&
	       !is_option(a) && !is_option(b);
}

/* ---- the place ---- */

/* "WHAT at character N: SHOWN" with a '^' in SHOWN before that character; "..." stands for what is
 * cut off before it. */
struct place {
	size_t what_len;
	const char *shown;
	const char *caret;
};

static bool find_place(const char *reason, size_t len, struct place *ret)
{
	static const char mark[] = " at character ";
	const char *at = memmem(reason, len, mark, strlen(mark)), *end = reason + len;
	char *shown;
	size_t n;

	if (!at)
		return false;
	n = strtoul(at + strlen(mark), &shown, 10);
	if (!n || shown + 2 > end || shown[0] != ':' || shown[1] != ' ')
		return false;
	shown += 2;
	*ret = (struct place){.what_len = (size_t)(at - reason), .shown = shown};
	if (n <= (size_t)(end - shown) && shown[n - 1] == '^')
		ret->caret = shown + n - 1;
	else
		ret->caret = memchr(shown, '^', (size_t)(end - shown));
	return ret->caret;
}

/* As many blanks as the text is wide. */
static void put_blanks(const char *text, const char *end, struct strbuf *lines)
{
	for (; text < end; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			strbuf_putc(lines, *text == '\t' ? '\t' : ' ');
}

static void put_reason(const struct entry *e, struct strbuf *lines)
{
	const char *end = e->reason + e->reason_len;
	struct place p;

	if (!e->reason_len) {
		strbuf_putc(lines, '\n');
		return;
	}
	strbuf_puts(lines, ": ");
	if (!find_place(e->reason, e->reason_len, &p)) {
		strbuf_add(lines, e->reason, e->reason_len);
		strbuf_putc(lines, '\n');
		return;
	}
	strbuf_add(lines, e->reason, p.what_len);
	strbuf_puts(lines, "\n  ");
	strbuf_add(lines, p.shown, (size_t)(p.caret - p.shown));
	strbuf_add(lines, p.caret + 1, (size_t)(end - p.caret - 1));
	strbuf_puts(lines, "\n  ");
	put_blanks(p.shown, p.caret, lines);
	strbuf_puts(lines, "^\n");
}

/* ---- entries ---- */

static void tell_option(const struct entry *e, struct strbuf *lines)
{
	size_t prefix = strlen("option:");

	strbuf_puts(lines, "ftrace option ");
	strbuf_add(lines, e->what + prefix, e->what_len - prefix);
	put_reason(e, lines);
}

static const char trigger_refused[] = "trigger refused: ";

/* The event itself is recorded. */
static bool is_trigger(const struct entry *e)
{
	return e->reason_len > strlen(trigger_refused) && str_starts(e->reason, trigger_refused);
}

static void tell_refused(struct entry *e, struct strbuf *lines)
{
	strbuf_puts(lines, " is refused");
	e->reason += strlen(trigger_refused);
	e->reason_len -= strlen(trigger_refused);
}

/* The entry at first, and all of the same reason behind it. */
static void tell_events(const struct name_list *failed, size_t first, struct strbuf *lines)
{
	struct entry e = read_entry(failed->names[first]);
	struct strbuf names = {0};
	size_t n = 0;

	for (size_t i = first; i < failed->n; i++) {
		struct entry other = read_entry(failed->names[i]);

		if (!same_reason(&e, &other))
			continue;
		if (n++ >= NAMED)
			continue;
		strbuf_puts(&names, n == 1 ? "" : ", ");
		strbuf_add(&names, other.what, other.what_len);
	}
	strbuf_printf(lines, "%sevent%s %s", is_trigger(&e) ? "trigger at " : "", n == 1 ? "" : "s",
		      names.s ? names.s : "");
	if (n > NAMED)
		strbuf_printf(lines, " and %zu others", n - NAMED);
	if (is_trigger(&e))
		tell_refused(&e, lines);
	else
		strbuf_puts(lines, " could not be recorded");
	put_reason(&e, lines);
	strbuf_deinit(&names);
}

static bool is_told(const struct name_list *failed, size_t i, const struct entry *e)
{
	while (i-- > 0) {
		struct entry earlier = read_entry(failed->names[i]);

		if (same_reason(e, &earlier))
			return true;
	}
	return false;
}

void failed_events_tell(const struct name_list *failed, struct strbuf *lines)
{
	for (size_t i = 0; i < failed->n; i++) {
		struct entry e = read_entry(failed->names[i]);

		if (is_option(&e))
			tell_option(&e, lines);
		else if (!is_told(failed, i, &e))
			tell_events(failed, i, lines);
	}
}
