/* SPDX-License-Identifier: Apache-2.0 */
#include "import/formats/tracing_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define GROUP_SIZE 128 /* bytes of a group's name, with the NUL */

/* ---- reading ---- */

static void free_events(struct tracing_data *d)
{
	for (size_t i = 0; i < d->n_events; i++) {
		free(d->events[i].group);
		free(d->events[i].format);
	}
	d->n_events = 0;
}

void tracing_data_deinit(struct tracing_data *d)
{
	free_events(d);
	free(d->events);
	free(d->header_page);
	free(d->kallsyms);
	free(d->printk_formats);
	free(d->saved_cmdlines);
	*d = (struct tracing_data){0};
}

/* Replaces *ret by a copy of the next len bytes as a string. Returns 0, -EBADMSG or -ENOMEM. */
static int read_text(struct byte_reader *r, uint64_t len, char **ret)
{
	const uint8_t *at = len <= TRACING_DATA_TEXT_MAX ? byte_reader_read(r, len) : NULL;
	char *text;

	if (!at)
		return -EBADMSG;
	text = malloc(len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, at, len);
	text[len] = '\0';
	free(*ret);
	*ret = text;
	return 0;
}

/* Skips a constant with its NUL, such as "header_page". Returns 0 or -EBADMSG. */
static int skip_word(struct byte_reader *r, const char *word)
{
	const uint8_t *at = byte_reader_read(r, strlen(word) + 1);

	return at && !memcmp(at, word, strlen(word) + 1) ? 0 : -EBADMSG;
}

int tracing_head_read(struct byte_reader *r, struct tracing_head *ret)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
	const uint8_t *at = byte_reader_read(r, sizeof(magic));
	struct tracing_head head;

	if (!at || memcmp(at, magic, sizeof(magic)))
		return -EBADMSG;
	byte_reader_string(r, head.version, sizeof(head.version));
	head.is_big_endian = byte_reader_u8(r);
	head.long_size = byte_reader_u8(r);
	head.page_size = byte_reader_u32(r);
	if (r->failed)
		return -EBADMSG;
	*ret = head;
	return 0;
}

int tracing_data_read_header(struct tracing_data *d, struct byte_reader *r)
{
	int error = skip_word(r, "header_page");

	if (!error)
		error = read_text(r, byte_reader_u64(r), &d->header_page);
	if (!error)
		error = skip_word(r, "header_event");
	if (!error && !byte_reader_read(r, byte_reader_u64(r)))
		error = -EBADMSG;
	return error;
}

static int add_format(struct tracing_data *d, struct byte_reader *r, const char *group)
{
	struct tracing_event event = {0};
	int error = read_text(r, byte_reader_u64(r), &event.format);

	if (!error && d->n_events == TRACING_DATA_EVENTS_MAX)
		error = -EBADMSG;
	if (!error &&
	    (array_reserve(&d->events, &d->events_cap, d->n_events + 1, sizeof(*d->events)) ||
	     !(event.group = strdup(group))))
		error = -ENOMEM;
	if (error)
		free(event.format);
	else
		d->events[d->n_events++] = event;
	return error;
}

int tracing_data_read_ftrace_formats(struct tracing_data *d, struct byte_reader *r)
{
	uint32_t n = byte_reader_u32(r);
	int error = 0;

	for (uint32_t i = 0; !error && i < n; i++)
		error = add_format(d, r, "ftrace");
	return error ? error : r->failed ? -EBADMSG : 0;
}

int tracing_data_read_formats(struct tracing_data *d, struct byte_reader *r)
{
	uint32_t n_groups = byte_reader_u32(r), n;
	char group[GROUP_SIZE];
	int error = 0;

	for (uint32_t i = 0; !error && !r->failed && i < n_groups; i++) {
		byte_reader_string(r, group, sizeof(group));
		n = byte_reader_u32(r);
		for (uint32_t k = 0; !error && k < n; k++)
			error = add_format(d, r, group);
	}
	return error ? error : r->failed ? -EBADMSG : 0;
}

int tracing_data_read_kallsyms(struct tracing_data *d, struct byte_reader *r)
{
	return read_text(r, byte_reader_u32(r), &d->kallsyms);
}

int tracing_data_read_printk(struct tracing_data *d, struct byte_reader *r)
{
	return read_text(r, byte_reader_u32(r), &d->printk_formats);
}

int tracing_data_read_cmdlines(struct tracing_data *d, struct byte_reader *r)
{
	return read_text(r, byte_reader_u64(r), &d->saved_cmdlines);
}

/* ---- compiling ---- */

int tracing_data_read_symbols(const char *kallsyms, struct symbol_table *ret)
{
	struct symbol_table_build *b;
	int r;

	*ret = (struct symbol_table){0};
	if (!kallsyms || !*kallsyms)
		return 0;
	r = symbol_table_build_new(&b);
	if (r)
		return r;
	r = symbol_table_build_feed(b, kallsyms, strlen(kallsyms));
	while (!r && (r = symbol_table_build_step(b)) > 0)
		r = 0;
	if (r)
		symbol_table_build_free(b);
	else
		*ret = symbol_table_build_finish(b);
	return r;
}

/* Copies the event's name from the first line of its format, "name: NAME". */
static bool read_event_name(const char *format, char ret[static GROUP_SIZE])
{
	static const char head[] = "name: ";
	size_t n;

	if (strncmp(format, head, strlen(head)) != 0)
		return false;
	format += strlen(head);
	n = strcspn(format, "\n \t");
	if (!n || n >= GROUP_SIZE)
		return false;
	memcpy(ret, format, n);
	ret[n] = '\0';
	return true;
}

int tracing_data_compile(struct tracing_data *d, struct event_table *table,
			 struct symbol_table *symbols, struct import_result *result)
{
	char count[STR_COUNT_SIZE];
	struct event_table_options options = {.compact = COMPACT_ALL};
	char name[GROUP_SIZE], first[GROUP_SIZE] = "";
	size_t n_refused = 0;
	uint16_t id;
	int r = tracing_data_read_symbols(d->kallsyms, symbols);

	options.symbols = symbols->n_functions > 0;
	if (!r && d->printk_formats)
		r = printk_formats_parse(&table->strings, d->printk_formats);
	for (size_t i = 0; r >= 0 && i < d->n_events; i++) {
		const struct tracing_event *event = &d->events[i];

		r = EVENT_TABLE_BAD_FORMAT;
		if (read_event_name(event->format, name))
			r = event_table_add(table, event->group, name, event->format, &options,
					    &id);
		else
			strcpy(name, "?");
		if (r > 0 && !n_refused++)
			memcpy(first, name, sizeof(first));
	}
	if (n_refused)
		import_add_note(
			result,
			"skipped the records of %s whose format sonda cannot decode (the first "
			"is %s)",
			str_count(n_refused, "event type", count), first);
	return r < 0 ? r : 0;
}
