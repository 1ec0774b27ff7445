/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/counter_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

void counter_file_close(struct counter_file *f, struct polled_source *p)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	p->fds--;
}

/* Returns true for a missing file: its object was removed (-ENODEV), or the feature is off. */
static bool is_missing_file_error(int r)
{
	return r == -ENOENT || r == -ENODEV || r == -ENOTDIR || r == -EOPNOTSUPP;
}

static int counter_files_open_file(struct counter_file *f, struct polled_source *p, int at,
				   const char *path)
{
	if (f->retry && (int32_t)(p->pass - f->retry) < 0)
		return -ENOENT;
	/* O_NONBLOCK, in case it is a pipe or a device. */
	f->fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return -errno;
	p->fds++;
	f->retry = 0;
	return 0;
}

/* Sets *ret to the text without a truncated last line, whose number is truncated too. */
static int cut_to_whole_lines(const struct strbuf *b, struct span *ret)
{
	const char *nl = b->len > 0 ? memrchr(b->s, '\n', b->len) : NULL;

	if (b->len == 0)
		return -ENODATA;
	*ret = (struct span){b->s, nl ? (size_t)(nl + 1 - b->s) : 0};
	return ret->len == b->len ? 0 : -EBADMSG;
}

int counter_file_read(struct counter_file *f, struct polled_source *p, int at, const char *path,
		      bool whole, struct span *ret_text)
{
	int r = f->fd < 0 ? counter_files_open_file(f, p, at, path) : 0;

	*ret_text = (struct span){NULL, 0};
	if (r == 0)
		r = fs_reread(f->fd, whole, COUNTER_FILE_MAX, &p->text);
	if (r < 0 || p->fds > COUNTER_FDS_MAX)
		counter_file_close(f, p);
	if (is_missing_file_error(r)) {
		if (!f->retry || (int32_t)(p->pass - f->retry) >= 0)
			f->retry = p->pass + COUNTER_FILE_RETRY;
		return -ENOENT;
	}
	return r < 0 ? r : cut_to_whole_lines(&p->text, ret_text);
}

void counter_keys_deinit(struct counter_keys *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->all[i].shown);
	free(k->all);
	k->all = NULL;
	k->n = k->cap = 0;
}

void counter_tracks_deinit(struct counter_tracks *x)
{
	free(x->all);
	*x = (struct counter_tracks){0};
}

/* Returns "PREFIX NAME", or the part that exists, which the caller frees, or NULL if out of
 * memory. */
static char *make_prefixed_name(const char *prefix, struct span name)
{
	char *s;

	if (!prefix)
		return strndup(name.p, name.len);
	if (name.len == 0)
		return strdup(prefix);
	return asprintf(&s, "%s %.*s", prefix, (int)name.len, name.p) < 0 ? NULL : s;
}

static struct counter_key *add_key(struct counter_keys *k, struct span name)
{
	_cleanup_(freep) char *shown = NULL;
	struct counter_key *key;

	if (k->n >= COUNTER_KEYS_MAX || name.len >= COUNTER_KEY_SIZE ||
	    memchr(name.p, '\0', name.len))
		return NULL;
	shown = make_prefixed_name(k->prefix, name);
	if (!shown || array_reserve(&k->all, &k->cap, k->n + 1, sizeof(*k->all)) < 0)
		return NULL;
	key = &k->all[k->n++];
	*key = (struct counter_key){.name = shown + strlen(shown) - name.len};
	key->wanted = k->decide(k->ctx, shown, &key->spec);
	key->shown = TAKE_PTR(shown);
	return key;
}

static struct counter_key *find_key(struct counter_keys *k, struct span name)
{
	struct counter_key *key = NULL;

	for (size_t i = 0; i < k->n && !key; i++, k->next++) {
		if (k->next >= k->n)
			k->next = 0;
		if (span_is(name, k->all[k->next].name))
			key = &k->all[k->next];
	}
	return key ? key : add_key(k, name);
}

static bool counter_tracks_reserve(struct counter_tracks *x, size_t n)
{
	if (array_reserve(&x->all, &x->cap, n, sizeof(*x->all)) < 0)
		return false;
	for (; x->n < n; x->n++)
		x->all[x->n] = TRACK_ROOT;
	return true;
}

uint32_t counter_keys_get_track(struct counter_keys *k, struct counter_tracks *x, struct tracks *t,
				uint32_t group, struct span name)
{
	struct counter_key *key = find_key(k, name);
	struct track_spec spec;
	size_t i;

	if (!key || !key->wanted)
		return TRACK_VOID;
	i = (size_t)(key - k->all);
	if (i >= x->n && !counter_tracks_reserve(x, i + 1))
		return TRACK_VOID;
	if (x->all[i] == TRACK_ROOT) {
		spec = key->spec;
		spec.kind = TRACK_COUNTER;
		spec.parent = group;
		spec.name = key->shown;
		x->all[i] = tracks_add(t, &spec);
	}
	return x->all[i];
}
