/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writeback_by: pages that were written back, charged to those who dirtied them.
 *
 *	writeback_dirty_folio   device inode           a thread dirties a folio
 *	writeback_single_inode  device inode wrote     the flusher, or sync, wrote this many pages
 *
 * No event says which pages were written, nor how many pages a folio has. So the pages of a file
 * are charged to the threads in proportion to the folios that each has dirtied since they were last
 * written. When as many pages as these folios were written, the next folio begins a new list; until
 * then the old one stays, as a folio may have more pages.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/report/event_reader.h"
#include "analyze/report/pass.h"
#include "analyze/store/strings.h"
#include "base/core/hash_table.h"

enum writeback_event { WRITEBACK_OTHER, WRITEBACK_FOLIO, WRITEBACK_PAGE, WRITEBACK_WRITTEN };

/* writeback_dirty_page: before Linux 5.18. */
static const char *const writeback_event_names[] = {"writeback_dirty_folio", "writeback_dirty_page",
						    "writeback_single_inode"};

struct dirtier {
	uint32_t utid;
	uint32_t who; /* when it dirtied the first folio */
	uint64_t folios;
};

struct dirty_inode {
	struct {
		uint64_t ino;
		uint32_t device; /* a string of writeback.devices */
		uint32_t machine;
	} key;
	uint32_t number;
	struct dirtier *dirtiers; /* owned */
	size_t n, cap;
	bool is_written; /* all of the folios */
	UT_hash_handle hh;
};

struct writeback {
	const struct pass_input *in;
	const struct pass_who *who;
	struct dirty_inode *inodes; /* owned hash */
	const struct dirty_inode **by_number; /* owned */
	size_t by_number_cap;
	struct strings devices;
	struct budget budget;
	struct groups groups; /* of a who and the number of an inode */
	struct writeback_sum {
		uint64_t dirtied, written, own;
	} * sums; /* owned; by number in groups */
	size_t sums_cap;
	struct arg_list list; /* owned */
	bool failed;
};

/* Returns the sums for the pages of an inode that are charged to `who`, created if needed; NULL if
 * out of memory. */
static struct writeback_sum *writeback_get_sum(struct writeback *w, uint32_t who, uint32_t inode)
{
	const struct group *g =
		groups_add(&w->groups, &(struct group_sample){.key = (uint64_t)who << 32 | inode});
	size_t n = g ? (size_t)(g - w->groups.list) : 0;

	if (!g || array_reserve(&w->sums, &w->sums_cap, n + 1, sizeof(*w->sums))) {
		w->failed = true;
		return NULL;
	}
	if (g->n == 1)
		w->sums[n] = (struct writeback_sum){.dirtied = 0};
	return &w->sums[n];
}

/* Returns the inode of the current event, added if needed; NULL if out of memory. */
static struct dirty_inode *get_dirty_inode(struct writeback *w, uint32_t machine)
{
	const struct arg *name = event_reader_find(&w->list, "name");
	struct dirty_inode *found, key;

	memset(&key.key, 0, sizeof(key.key));
	key.key.ino = (uint64_t)event_reader_int(&w->list, "ino");
	key.key.machine = machine;
	key.key.device = name && name->type == ARG_STRING
				 ? strings_intern(&w->devices, name->s, name->len)
				 : strings_intern(&w->devices, "", 0);
	HASH_FIND(hh, w->inodes, &key.key, sizeof(key.key), found);
	if (found)
		return found;
	found = budget_alloc(&w->budget, sizeof(*found));
	if (!found)
		return NULL;
	found->key = key.key;
	found->number = HASH_COUNT(w->inodes);
	if (array_reserve(&w->by_number, &w->by_number_cap, (size_t)found->number + 1,
			  sizeof(*w->by_number))) {
		free(found);
		w->failed = true;
		return NULL;
	}
	found = BUDGET_HASH_ADD(&w->budget, w->inodes, key, found);
	if (found)
		w->by_number[found->number] = found;
	return found;
}

static bool writeback_counts(const struct writeback *w, uint32_t utid)
{
	return utid == NULL_U32 ? !w->in->some && !w->in->limited : w->in->chosen[utid];
}

/* Counts a page that a thread dirtied. The first one after the inode was written as a whole begins
 * a new list of dirtiers. */
static void add_dirtied_page(struct writeback *w, struct dirty_inode *inode, uint32_t utid,
			     int64_t ts)
{
	struct writeback_sum *sum;
	struct dirtier *d = NULL;

	if (inode->is_written)
		inode->n = 0;
	inode->is_written = false;
	for (size_t i = 0; i < inode->n && !d; i++)
		if (inode->dirtiers[i].utid == utid)
			d = &inode->dirtiers[i];
	if (!d && array_reserve(&inode->dirtiers, &inode->cap, inode->n + 1, sizeof(*d))) {
		w->failed = true;
		return;
	}
	if (!d) {
		d = &inode->dirtiers[inode->n++];
		*d = (struct dirtier){.utid = utid, .who = pass_find_who_at(w->who, utid, ts)};
	}
	d->folios++;
	if (ts < w->in->from || ts > w->in->to || !writeback_counts(w, utid))
		return;
	sum = writeback_get_sum(w, d->who, inode->number);
	if (sum)
		sum->dirtied++;
}

static void add_pages_to_writers(struct writeback *w, const struct dirty_inode *inode,
				 const struct dirtier *d, uint64_t pages, bool own, int64_t ts)
{
	struct writeback_sum *sum;

	if (!pages || ts < w->in->from || ts > w->in->to || !writeback_counts(w, d->utid))
		return;
	sum = writeback_get_sum(w, d->who, inode->number);
	if (sum) {
		sum->written += pages;
		sum->own += own ? pages : 0;
	}
}

/* Divides written pages among those that dirtied the inode, by the folios that each dirtied. */
static void add_written_pages(struct writeback *w, struct dirty_inode *inode, uint32_t utid,
			      int64_t ts, uint64_t pages)
{
	static const struct dirtier unknown = {.utid = NULL_U32, .who = NULL_U32};
	uint64_t folios = 0, left = pages, share;

	for (size_t i = 0; i < inode->n; i++)
		folios += inode->dirtiers[i].folios;
	for (size_t i = 0; i < inode->n; i++) {
		struct dirtier *d = &inode->dirtiers[i];

		/* The last one gets the remainder of the division. */
		share = i + 1 == inode->n
				? left
				: (uint64_t)((unsigned __int128)pages * d->folios / folios);
		add_pages_to_writers(w, inode, d, share, d->utid == utid, ts);
		left -= share;
		if (pages < folios)
			d->folios -= MIN(share, d->folios - 1);
	}
	if (!inode->n)
		add_pages_to_writers(w, inode, &unknown, pages, false, ts);
	inode->is_written = pages >= folios;
}

static void read_writeback(struct writeback *w, const uint8_t *kinds)
{
	const struct store *s = w->in->s;
	const struct table *t = &s->tables[TABLE_FTRACE];
	uint32_t threads = s->tables[TABLE_THREAD].rows;
	size_t at = 0;

	for (uint32_t row = 0; row < t->rows && !w->failed && !w->budget.error; row++) {
		uint8_t event = kinds[table_u16(t, FTRACE_KIND, row)];
		uint32_t utid = table_u32(t, FTRACE_UTID, row), cpu = table_u32(t, FTRACE_CPU, row);
		struct dirty_inode *inode;
		int64_t ts, wrote;

		if (event == WRITEBACK_OTHER || utid >= threads || !pass_cpu_counts(w->in, cpu))
			continue;
		ts = table_next_ts(t, FTRACE_TS, row, &at);
		if (!event_reader_args(s, row, &w->list)) {
			w->failed = true;
			return;
		}
		wrote = event_reader_int(&w->list, "wrote");
		if (event == WRITEBACK_WRITTEN && wrote <= 0)
			continue;
		inode = get_dirty_inode(w, cpu / STORE_CPUS_OF_A_MACHINE);
		if (!inode)
			return;
		if (event == WRITEBACK_WRITTEN)
			add_written_pages(w, inode, utid, ts, (uint64_t)wrote);
		else
			add_dirtied_page(w, inode, utid, ts);
	}
}

static void writeback_put_rows(const struct writeback *w, struct pass_rows *ret)
{
	for (size_t i = 0; i < w->groups.n; i++) {
		uint64_t key = w->groups.list[i].key;
		const struct dirty_inode *inode = w->by_number[(uint32_t)key];
		int64_t device = pass_text_id(ret);

		strbuf_puts(&ret->own_texts, strings_get(&w->devices, inode->key.device));
		PASS_ROW(ret, pass_who_value(w->who, (uint32_t)(key >> 32)),
			 (int64_t)inode->key.ino, device, (int64_t)w->sums[i].dirtied,
			 (int64_t)w->sums[i].written, (int64_t)w->sums[i].own);
	}
}

void pass_fill_writeback(const struct pass_input *in, struct pass_rows *ret)
{
	uint8_t *kinds =
		event_reader_kinds(in->s, writeback_event_names, ARRAY_SIZE(writeback_event_names));
	struct pass_who who;
	struct writeback w = {.in = in, .who = &who, .budget.limit = UINT64_MAX};
	struct dirty_inode *inode, *next;

	ret->failed = !pass_who_init(&who, in) || !kinds;
	strings_init(&w.devices, &w.budget);
	if (!ret->failed)
		read_writeback(&w, kinds);
	ret->failed |= w.failed || w.groups.failed || w.budget.error;
	if (!ret->failed)
		writeback_put_rows(&w, ret);
	HASH_ITER (hh, w.inodes, inode, next) {
		HASH_DEL(w.inodes, inode);
		free(inode->dirtiers);
		free(inode);
	}
	strings_deinit(&w.devices);
	groups_deinit(&w.groups);
	pass_who_deinit(&who);
	free(w.by_number);
	free(w.sums);
	free(w.list.args);
	free(kinds);
}
