/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/crash_dat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

#define TEXT_MAX (1u << 20) /* bytes of a format */
#define SYMBOLS_MAX (64u << 20) /* bytes of kallsyms */
#define CPUS_MAX 4096
#define WORD_SIZE 10 /* of the words between the parts */

enum { OPTION_DONE = 0, OPTION_DATE = 1, OPTION_TRACECLOCK = 4, OPTION_UNAME = 5 };

/* ---- numbers and texts ---- */

static void dat_put_u16(struct strbuf *b, uint16_t v)
{
	strbuf_add(b, &v, sizeof(v));
}

static void dat_put_u32(struct strbuf *b, uint32_t v)
{
	strbuf_add(b, &v, sizeof(v));
}

static void dat_put_u64(struct strbuf *b, uint64_t v)
{
	strbuf_add(b, &v, sizeof(v));
}

/* Appends a text with its NUL. */
static void dat_put_string(struct strbuf *b, const char *text)
{
	strbuf_add(b, text, strlen(text) + 1);
}

static void dat_put_option(struct strbuf *b, uint16_t id, const char *text)
{
	dat_put_u16(b, id);
	dat_put_u32(b, (uint32_t)strlen(text) + 1);
	dat_put_string(b, text);
}

/* Appends the length and the text of root/events/name. Returns 0 or -errno. */
static int dat_put_file(struct strbuf *b, const char *root, const char *name)
{
	struct strbuf text = {0};
	char path[PATH_MAX];
	int r = -ENAMETOOLONG;

	if (snprintf(path, sizeof(path), "%s/events/%s", root, name) < (int)sizeof(path))
		r = fs_read_file(path, TEXT_MAX, &text);
	if (r == 0) {
		dat_put_u64(b, text.len);
		strbuf_add(b, text.s, text.len);
	}
	strbuf_deinit(&text);
	return r;
}

/* ---- what describes the events ---- */

static void dat_put_head(struct strbuf *b)
{
	static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

	strbuf_add(b, magic, sizeof(magic));
	dat_put_string(b, "6");
	strbuf_putc(b, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	strbuf_putc(b, sizeof(long));
	dat_put_u32(b, (uint32_t)sysconf(_SC_PAGESIZE));
}

/* Appends the formats, each in a group of its own. The number of groups comes first. */
static void dat_put_formats(struct strbuf *b, const char *tracefs,
			    const struct crash_dat_events *events)
{
	struct strbuf formats = {0};
	uint32_t n = 0;

	for (size_t i = 0; i < events->n; i++) {
		struct strbuf format = {0};
		char name[256], group[256];

		snprintf(name, sizeof(name), "%s/format", events->names[i]);
		snprintf(group, sizeof(group), "%.*s", (int)strcspn(events->names[i], "/"),
			 events->names[i]);
		if (dat_put_file(&format, tracefs, name) == 0) {
			dat_put_string(&formats, group);
			dat_put_u32(&formats, 1);
			strbuf_add(&formats, format.s, format.len);
			n++;
		}
		formats.failed |= format.failed;
		strbuf_deinit(&format);
	}
	dat_put_u32(b, n);
	strbuf_add(b, formats.s, formats.len);
	b->failed |= formats.failed;
	strbuf_deinit(&formats);
}

/* Appends the lines of the kernel's functions: none if this process may not see addresses, because
 * they are 0 then. */
static void dat_put_symbols(struct strbuf *b, const char *kallsyms)
{
	struct strbuf text = {0}, functions = {0};

	if (fs_read_file(kallsyms, SYMBOLS_MAX, &text) < 0)
		strbuf_clear(&text);
	for (const char *at = text.s, *end; at && *at; at = end) {
		const char *kind = strchrnul(at, ' ');

		end = strchrnul(at, '\n');
		end += *end == '\n';
		if (kind < end && at + strspn(at, "0") < kind && strchr("tTwW", kind[1]))
			strbuf_add(&functions, at, (size_t)(end - at));
	}
	dat_put_u32(b, (uint32_t)functions.len);
	strbuf_add(b, functions.s, functions.len);
	b->failed |= functions.failed;
	strbuf_deinit(&text);
	strbuf_deinit(&functions);
}

int crash_dat_begin(int fd, const char *tracefs, const char *kallsyms,
		    const struct crash_dat_events *events, struct err_text *e)
{
	const char *name = "header_page";
	struct strbuf b = {0};
	int r;

	dat_put_head(&b);
	dat_put_string(&b, name);
	r = dat_put_file(&b, tracefs, name);
	dat_put_string(&b, "header_event");
	if (r == 0)
		r = dat_put_file(&b, tracefs, name = "header_event");
	dat_put_u32(&b, 0); /* formats of events/ftrace */
	dat_put_formats(&b, tracefs, events);
	dat_put_symbols(&b, kallsyms);
	dat_put_u32(&b, 0); /* printk_formats */
	dat_put_u64(&b, 0); /* saved_cmdlines: sched_switch has the names */
	if (r < 0)
		err_set(e, r, "cannot read %.200s/events/%s: %s", tracefs, name, strerror(-r));
	else if (b.failed)
		r = err_set(e, -ENOMEM, "out of memory");
	else if ((r = fs_write_all(fd, b.s, b.len)) < 0 || (fsync(fd) < 0 && (r = -errno)))
		err_set(e, r, "cannot write the event formats: %s", strerror(-r));
	strbuf_deinit(&b);
	return r;
}

/* ---- the pages ---- */

struct dat_place {
	uint64_t offset, size;
};

/* Appends the pages of a CPU: none if it has no ring, and only those before the first page that
 * cannot be read. Returns 0, or -errno of the file that is written. */
static int dat_copy_pages(int fd, const char *instance, uint32_t cpu, struct dat_place *ret,
			  uint64_t *pages)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_(freep) char *page = malloc(size);
	_cleanup_(closep) int ring = -1;
	char path[PATH_MAX];
	ssize_t n;
	int r = 0;

	if (!page || snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", instance,
			      cpu) >= (int)sizeof(path))
		return -ENOMEM;
	ring = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (ring < 0)
		return 0;
	ret->offset = (uint64_t)lseek(fd, 0, SEEK_CUR);
	while (r == 0 && (n = read(ring, page, size)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) /* EAGAIN: it is empty */
			break;
		memset(page + n, 0, size - (size_t)n);
		r = fs_write_all(fd, page, size);
		ret->size += size;
		++*pages;
	}
	return r;
}

static void dat_put_options(struct strbuf *b, const struct crash_dat_facts *facts)
{
	char date[32];

	strbuf_add(b, "options  ", WORD_SIZE);
	if (facts->date_ns) {
		snprintf(date, sizeof(date), "%" PRId64, facts->date_ns / 1000);
		dat_put_option(b, OPTION_DATE, date);
	}
	dat_put_option(b, OPTION_TRACECLOCK, facts->clock);
	dat_put_option(b, OPTION_UNAME, facts->machine);
	dat_put_u16(b, OPTION_DONE);
}

/* Writes what comes before the pages, up to a page boundary, with an empty table of their places.
 * *ret_table: the offset of that table, which crash_dat_finish() fills in. */
static int dat_write_options(int fd, const struct crash_dat_facts *facts, uint64_t *ret_table)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct strbuf b = {0};
	off_t at = lseek(fd, 0, SEEK_END);
	int r = at < 0 ? -errno : 0;

	dat_put_u32(&b, facts->n_cpus);
	dat_put_options(&b, facts);
	strbuf_add(&b, "flyrecord", WORD_SIZE);
	*ret_table = (uint64_t)at + b.len;
	for (uint32_t i = 0; i < facts->n_cpus; i++) {
		dat_put_u64(&b, 0);
		dat_put_u64(&b, 0);
	}
	while (!b.failed && ((uint64_t)at + b.len) % page)
		strbuf_putc(&b, '\0');
	if (r == 0)
		r = b.failed ? -ENOMEM : fs_write_all(fd, b.s, b.len);
	strbuf_deinit(&b);
	return r;
}

/* Writes the table of the places, which dat_write_options() has left empty. */
static int dat_write_places(int fd, const struct dat_place *places, size_t n, uint64_t table)
{
	const char *at = (const char *)places;
	size_t left = n * sizeof(*places);

	while (left) {
		ssize_t written = pwrite(fd, at, left, (off_t)table);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		at += written;
		left -= (size_t)written;
		table += (uint64_t)written;
	}
	return 0;
}

int crash_dat_finish(int fd, const char *instance, const struct crash_dat_facts *facts,
		     struct crash_dat_pages *ret, struct err_text *e)
{
	_cleanup_(freep) struct dat_place *places = calloc(CPUS_MAX, sizeof(*places));
	struct crash_dat_pages all = {0};
	uint64_t table;
	int r = !places ? -ENOMEM : facts->n_cpus > CPUS_MAX ? -EBADMSG : 0;

	if (r == 0)
		r = dat_write_options(fd, facts, &table);
	for (uint32_t i = 0; r == 0 && i < facts->n_cpus; i++) {
		r = dat_copy_pages(fd, instance, i, &places[i], &all.pages);
		all.cpus += places[i].size > 0;
	}
	if (r == 0)
		r = dat_write_places(fd, places, facts->n_cpus, table);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		return err_set(e, r, "cannot save the ring buffer of instance %.200s: %s", instance,
			       strerror(-r));
	*ret = all;
	return 0;
}
