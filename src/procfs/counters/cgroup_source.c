/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/data_sources.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "client/counters/counter_number.h"
#include "procfs/counters/cgroup_tree.h"
#include "procfs/counters/counter_files.h"
#include "subjects/cgroup_walk.h"

/*
 * A pass walks the tree, parents before children:
 *
 *	cgroup --> list its children --> file, file, file ... --> next cgroup
 *
 * Each arrow leads to a step. All values of one group have the time before its first file was read,
 * unless a time slice ended in between.
 */

/* A file that each group may have. */
struct file_kind {
	const char *name; /* borrowed from the choice */
	struct counter_keys keys;
	bool error_logged; /* a read error was logged */
	bool seen;
};

struct cgroup_stats {
	struct polled_source poll;
	struct cgroup_choice choice;
	struct cgroup_tree tree;
	struct file_kind *kinds; /* owned; one for each file of the choice */
	struct cgroup *at; /* current group of the pass */
	size_t file; /* next step of the group: 0 lists its children, then its files */
	bool recorded_any;
	bool missing_logged;
};

/* ---- a pass ---- */

struct reading {
	struct cgroup_stats *s;
	struct cgroup *g;
	size_t i;
};

static void set_cgroup_counter(void *ctx, struct span name, const struct counter_number *v)
{
	const struct reading *r = ctx;
	struct tracks *t = r->s->poll.tracks;

	counter_number_set(t,
			   counter_keys_get_track(&r->s->kinds[r->i].keys,
						  &r->g->files[r->i].tracks, t, r->g->track, name),
			   v);
}

static void cgroup_source_read_file(struct cgroup_stats *s, struct cgroup *g, size_t i)
{
	struct reading reading = {.s = s, .g = g, .i = i};
	struct file_kind *k = &s->kinds[i];
	char path[4096];
	struct span text;
	int n, r;

	n = snprintf(path, sizeof(path), "%s%s%s", g->path, g->path[0] ? "/" : "", k->name);
	if ((size_t)n >= sizeof(path)) {
		polled_source_failed(&s->poll, &k->error_logged, g->path, ENAMETOOLONG);
		return;
	}
	r = counter_file_read(&g->files[i].file, &s->poll, s->tree.fd, path, true, &text);
	if (r == -ENOENT)
		return;
	k->seen = true;
	/* io.stat of a group without block devices is empty. */
	if (r == -ENODATA)
		return;
	if (text.len > 0 && cgroup_text_parse(text, set_cgroup_counter, &reading) < 0)
		r = -EBADMSG;
	if (r < 0)
		polled_source_failed(&s->poll, &k->error_logged, path, -r);
}

static void cgroup_begin(struct polled_source *p)
{
	struct cgroup_stats *s = container_of(p, struct cgroup_stats, poll);

	s->at = s->tree.root;
	s->file = 0;
}

/* Logs selections without effect, once, after the first pass. */
static void log_unmatched_selections(struct cgroup_stats *s)
{
	_cleanup_(strbuf_deinit) struct strbuf names = {0};

	if (s->missing_logged)
		return;
	s->missing_logged = true;
	if (!s->recorded_any) {
		log_info("linux.cgroup_stats: no control group matches the config yet");
		return;
	}
	counter_patterns_log_unmatched(&s->choice.counters, "linux.cgroup_stats: counters");
	/* If the config lists counters and no files, it is unknown which files they need. */
	for (size_t i = 0; i < s->choice.files.n; i++)
		if (!s->kinds[i].seen && (s->choice.files.matched || !s->choice.counters.matched))
			strbuf_printf(&names, "%s%s", names.len ? ", " : "", s->kinds[i].name);
	if (names.len)
		log_info("linux.cgroup_stats: no control group has the files %s", names.s);
}

static bool cgroup_step(struct polled_source *p)
{
	struct cgroup_stats *s = container_of(p, struct cgroup_stats, poll);

	if (cgroup_tree_free_lost(&s->tree))
		return true;
	if (!s->at) {
		log_unmatched_selections(s);
		return false;
	}
	if (s->file == 0) {
		tracks_begin(p->tracks, clock_boot_ns());
		cgroup_tree_list_children(&s->tree, s->at);
	} else {
		cgroup_source_read_file(s, s->at, s->file - 1);
		s->recorded_any = true;
	}
	s->file++;
	if (!s->at->recorded || s->file > s->choice.files.n) {
		s->at = cgroup_tree_next(s->at);
		s->file = 0;
	}
	return true;
}

static void cgroup_deinit(struct polled_source *p)
{
	struct cgroup_stats *s = container_of(p, struct cgroup_stats, poll);

	cgroup_tree_deinit(&s->tree);
	for (size_t i = 0; s->kinds && i < s->choice.files.n; i++)
		counter_keys_deinit(&s->kinds[i].keys);
	free(s->kinds);
	cgroup_choice_deinit(&s->choice);
	polled_source_deinit(&s->poll);
	free(s);
}

static const struct polled_source_ops cgroup_ops = {
	.name = "linux.cgroup_stats",
	.group = "cgroups",
	.begin = cgroup_begin,
	.step = cgroup_step,
	.deinit = cgroup_deinit,
};

/* ---- the data source ---- */

static bool select_cgroup_counter(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	return cgroup_choice_select_counter(ctx, shown, ret_spec);
}

static int classify_files(struct cgroup_stats *s)
{
	s->kinds = calloc(s->choice.files.n + 1, sizeof(*s->kinds));
	if (!s->kinds)
		return -ENOMEM;
	for (size_t i = 0; i < s->choice.files.n; i++) {
		s->kinds[i].name = s->choice.files.all[i];
		s->kinds[i].keys = (struct counter_keys){.decide = select_cgroup_counter,
							 .ctx = &s->choice,
							 .prefix = s->kinds[i].name};
	}
	return 0;
}

static int open_cgroup_tree(struct cgroup_stats *s, const char *sys_root)
{
	struct cgroup_mount mount;

	return cgroup_mount_find(sys_root, 0, &mount)
		       ? cgroup_tree_init(&s->tree, &s->choice, &s->poll, mount.path)
		       : -ENOENT;
}

static int cgroup_create(struct ds_handle *h, const struct ds_env *env,
			 const Pb__DataSourceConfig *config, void **ret_instance)
{
	const Pb__CgroupStatsConfig *c = config->cgroup_stats_config;
	struct cgroup_stats *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->tree.fd = -1;
	r = polled_source_init(&s->poll, &cgroup_ops, h, env, c ? c->period_ms : 0);
	if (r == 0)
		r = cgroup_choice_init(&s->choice, c);
	if (r == 0)
		r = classify_files(s);
	if (r < 0) {
		cgroup_deinit(&s->poll);
		return r;
	}
	r = open_cgroup_tree(s, env->sys_root);
	s->missing_logged = r < 0;
	if (r < 0)
		log_warn("linux.cgroup_stats records nothing: %s/fs/cgroup: %s", env->sys_root,
			 r == -ENOENT ? "no cgroup2 file system is mounted there" : strerror(-r));
	*ret_instance = &s->poll;
	return 0;
}

const struct data_source cgroup_stats_data_source = {
	.name = "linux.cgroup_stats",
	.capabilities = 1ull << CAP_DAC_READ_SEARCH | 1ull << CAP_SYS_NICE,
	.handles_incremental_state_clear = true,
	.create = cgroup_create,
	.start = polled_source_start,
	.flush = polled_source_flush,
	.clear = polled_source_clear,
	.stop = polled_source_stop,
	.destroy = polled_source_destroy,
};
