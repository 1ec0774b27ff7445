/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/fs.h"
#include "ftrace/events/event_table.h"
#include "ftrace/format/ring_page.h"

/* A directory of tests/data/ftrace (see record.sh there): recorded pages of a few CPUs, and the
 * formats of all events in them. */
#define PAGE_SET_CPUS 4

struct page_set {
	struct ring_page_layout layout;
	struct event_table table;
	struct {
		uint8_t *pages;
		size_t len;
	} cpus[PAGE_SET_CPUS];
	unsigned n_cpus;
};

/* The file's bytes, NUL-terminated; NULL where there is none. */
__attribute__((format(printf, 2, 3))) static inline char *page_set_read(size_t *ret_len,
									const char *fmt, ...)
{
	struct strbuf s = {0};
	char path[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	assert(n > 0 && (size_t)n < sizeof(path));
	if (fs_read_file(path, 1 << 26, &s))
		return NULL;
	if (ret_len)
		*ret_len = s.len;
	return strbuf_take(&s);
}

static inline void page_set_add(struct page_set *set, const char *dir, const char *group,
				const struct event_table_options *options)
{
	char path[512];
	struct dirent *d;
	uint16_t id;
	DIR *events;

	snprintf(path, sizeof(path), "%s/events/%s", dir, group);
	events = opendir(path);
	while (events && (d = readdir(events))) {
		char *format = d->d_name[0] == '.'
				       ? NULL
				       : page_set_read(NULL, "%s/%s/format", path, d->d_name);

		if (!format)
			continue;
		assert(event_table_add(&set->table, group, d->d_name, format, options, &id) == 0);
		free(format);
	}
	if (events)
		closedir(events);
}

/* Adds the events of a set that is not loaded otherwise. */
static inline void page_set_load_events(struct page_set *set, const char *dir,
					const struct event_table_options *options)
{
	char path[512];
	struct dirent *d;
	DIR *events;

	snprintf(path, sizeof(path), "%s/events", dir);
	events = opendir(path);
	while (events && (d = readdir(events)))
		if (d->d_name[0] != '.')
			page_set_add(set, dir, d->d_name, options);
	if (events)
		closedir(events);
}

static inline void page_set_load(struct page_set *set, const char *dir,
				 const struct event_table_options *options)
{
	char *text, cpu[16];

	memset(set, 0, sizeof(*set));
	text = page_set_read(NULL, "%s/events/header_page", dir);
	assert(text && ring_page_layout_parse(text, &set->layout) == 0);
	free(text);
	text = page_set_read(NULL, "%s/printk_formats", dir);
	if (text)
		assert(printk_formats_parse(&set->table.strings, text) == 0);
	free(text);

	page_set_load_events(set, dir, options);
	for (; set->n_cpus < PAGE_SET_CPUS; set->n_cpus++) {
		snprintf(cpu, sizeof(cpu), "cpu%u", set->n_cpus);
		text = page_set_read(&set->cpus[set->n_cpus].len, "%s/%s.pages", dir, cpu);
		if (!text)
			break;
		set->cpus[set->n_cpus].pages = (uint8_t *)text;
	}
}

static inline void page_set_free(struct page_set *set)
{
	event_table_deinit(&set->table);
	for (unsigned i = 0; i < set->n_cpus; i++)
		free(set->cpus[i].pages);
}
