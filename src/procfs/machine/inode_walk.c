/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/inode_walk.h"

#include <stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

enum wanted_state { WAITING, SOUGHT, WRITTEN, NOT_THERE };

struct inode_requests_key {
	uint64_t device;
	uint64_t inode;
};

struct inode_requests_entry {
	struct inode_requests_key key;
	enum wanted_state state;
	UT_hash_handle hh;
};

void inode_requests_deinit(struct inode_requests *w)
{
	struct inode_requests_entry *e, *next;

	HASH_ITER (hh, w->entries, e, next) {
		HASH_DEL(w->entries, e);
		free(e);
	}
	*w = (struct inode_requests){0};
}

static struct inode_requests_entry *find(const struct inode_requests *w,
					 const struct inode_requests_key *key)
{
	struct inode_requests_entry *e;

	HASH_FIND(hh, w->entries, key, sizeof(*key), e);
	return e;
}

void inode_requests_add(struct inode_requests *w, uint64_t device, uint64_t inode)
{
	const struct inode_requests_key key = {device, inode};
	struct inode_requests_entry *e;

	if (find(w, &key))
		return;
	e = HASH_COUNT(w->entries) < INODE_REQUESTS_MAX ? calloc(1, sizeof(*e)) : NULL;
	if (!e) {
		w->dropped++;
		return;
	}
	e->key = key;
	HASH_ADD(hh, w->entries, key, sizeof(e->key), e);
	if (!e->hh.tbl) { /* no memory */
		free(e);
		w->dropped++;
		return;
	}
	w->waiting++;
}

static unsigned add_device(uint64_t *devices, unsigned n, uint64_t device)
{
	for (unsigned i = 0; i < n; i++)
		if (devices[i] == device)
			return n;
	if (n < INODE_DEVICES_MAX)
		devices[n++] = device;
	return n;
}

unsigned inode_requests_begin(struct inode_requests *w,
			      uint64_t ret_devices[static INODE_DEVICES_MAX])
{
	struct inode_requests_entry *e, *next;
	unsigned n = 0;

	HASH_ITER (hh, w->entries, e, next) {
		if (e->state != WAITING)
			continue;
		e->state = SOUGHT;
		n = add_device(ret_devices, n, e->key.device);
	}
	w->sought += w->waiting;
	w->waiting = 0;
	return n;
}

bool inode_requests_take(struct inode_requests *w, uint64_t device, uint64_t inode)
{
	struct inode_requests_entry *e = find(w, &(struct inode_requests_key){device, inode});

	if (!e || e->state != SOUGHT)
		return false;
	e->state = WRITTEN;
	w->sought--;
	w->written++;
	return true;
}

void inode_requests_end(struct inode_requests *w)
{
	struct inode_requests_entry *e, *next;

	HASH_ITER (hh, w->entries, e, next)
		if (e->state == SOUGHT)
			e->state = NOT_THERE;
	w->not_there += w->sought;
	w->sought = 0;
}

/*
 * The walk goes depth first; the directories from the root to the current one are open. The kernel
 * returns inode and type with the name, so a file costs no system call. A directory is checked
 * before it is opened, because opening it may trigger an automount.
 */

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static enum inode_type type_of_mode(mode_t mode)
{
	return S_ISREG(mode) ? INODE_FILE : S_ISDIR(mode) ? INODE_DIRECTORY : INODE_OTHER;
}

static int push(struct inode_walk *w, int fd)
{
	DIR *dir = fdopendir(fd);

	if (!dir) {
		close(fd);
		return -errno;
	}
	w->levels[w->depth++] = (struct inode_level){.dir = dir, .path_len = w->path.len};
	return 0;
}

static void pop(struct inode_walk *w)
{
	closedir(w->levels[--w->depth].dir);
}

int inode_walk_begin(struct inode_walk *w, const char *root)
{
	_cleanup_(closep) int fd = -1;
	size_t len = strlen(root);
	struct stat st;

	inode_walk_end(w);
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	while (len > 0 && root[len - 1] == '/')
		len--;
	strbuf_clear(&w->path);
	strbuf_add(&w->path, root, len);
	if (w->path.failed)
		return -ENOMEM;
	w->device = st.st_dev;
	w->root_inode = st.st_ino;
	w->root_due = true;
	return push(w, TAKE_FD(fd));
}

/* Enters the subdirectory of that name, which is on the device. */
static void enter(struct inode_walk *w, const char *name)
{
	int at = dirfd(w->levels[w->depth - 1].dir), fd;
	struct stat st;

	if (w->depth == INODE_DEPTH_MAX) {
		w->too_deep++;
		return;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		/* It was removed or replaced. */
		if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR)
			w->unreadable++;
		return;
	}
	if (fstat(fd, &st) < 0 || st.st_dev != w->device)
		close(fd);
	else if (push(w, fd) < 0)
		w->unreadable++;
}

static void found(struct inode_walk *w, const struct dirent *d, struct inode_found *ret)
{
	int at = dirfd(w->levels[w->depth - 1].dir);
	enum inode_type type = d->d_type == DT_REG ? INODE_FILE : INODE_OTHER;
	uint64_t inode = d->d_ino;
	struct stat st;

	if (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) {
		if (fstatat(at, d->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 ||
		    st.st_dev != w->device)
			return;
		type = type_of_mode(st.st_mode);
		inode = st.st_ino;
	}
	strbuf_putc(&w->path, '/');
	strbuf_puts(&w->path, d->d_name);
	if (w->path.failed)
		return;
	*ret = (struct inode_found){
		.inode = inode, .type = type, .path = w->path.s, .path_len = w->path.len};
	if (type == INODE_DIRECTORY)
		enter(w, d->d_name);
}

/* Truncates the path to the current directory. */
static void cut_path(struct inode_walk *w)
{
	w->path.len = w->levels[w->depth - 1].path_len;
	w->path.s[w->path.len] = '\0';
}

static void return_root(struct inode_walk *w, struct inode_found *ret)
{
	bool is_top = w->path.len == 0;

	w->root_due = false;
	*ret = (struct inode_found){.inode = w->root_inode,
				    .type = INODE_DIRECTORY,
				    .path = is_top ? "/" : w->path.s,
				    .path_len = is_top ? 1 : w->path.len};
}

bool inode_walk_step(struct inode_walk *w, struct inode_found *ret_found)
{
	struct dirent *d;

	*ret_found = (struct inode_found){0};
	if (w->depth == 0)
		return false;
	if (w->path.failed) {
		inode_walk_end(w);
		return false;
	}
	if (w->root_due) {
		return_root(w, ret_found);
		return true;
	}
	cut_path(w);
	d = readdir(w->levels[w->depth - 1].dir);
	if (!d) {
		pop(w);
		return w->depth > 0;
	}
	if (!is_dot(d->d_name))
		found(w, d, ret_found);
	return true;
}

void inode_walk_end(struct inode_walk *w)
{
	while (w->depth > 0)
		pop(w);
	strbuf_deinit(&w->path);
}
