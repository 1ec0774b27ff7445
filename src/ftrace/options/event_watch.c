// SPDX-License-Identifier: Apache-2.0
/*
 *	/sys/module         name and inode of each entry: a module that was loaded anew has another
 *	                    inode, whatever its name and address are
 *	dynamic_events      p:mine/read vfs_read a=%di          the text, and where mine/read is
 *	                    s:synthetic/lat u64 lat             selected, the inode of its folder
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system/fs.h"
#include "base/core/mem.h"
#include "ftrace/options/event_watch.h"
#include "ftrace/tracefs/owner.h"

#define MAX_DYNAMIC (16 << 20)

static uint64_t hash(uint64_t h, const void *data, size_t len)
{
	for (const uint8_t *p = data; len; len--)
		h = (h ^ *p++) * 0x100000001b3; /* FNV-1a */
	return h;
}

/* In no order, because a folder has none. */
static uint64_t hash_modules(const char *sys_root)
{
	uint64_t sum = 0;
	char path[4096];
	struct dirent *e;
	DIR *d;

	if (fs_join(path, sizeof(path), sys_root, "module") || !(d = opendir(path)))
		return 0;
	while ((e = readdir(d)))
		sum += hash(e->d_ino * 0x9e3779b97f4a7c15, e->d_name, strlen(e->d_name));
	closedir(d);
	return sum;
}

/* The group and name of a line; false where it has none. */
static bool names_of(char *line, char **ret_group, char **ret_name)
{
	char *colon;

	line[strcspn(line, " \t")] = '\0';
	colon = strchr(line, ':');
	if (!colon || !strchr(colon, '/'))
		return false;
	*ret_group = colon + 1;
	*ret_name = strchr(colon, '/');
	*(*ret_name)++ = '\0';
	return true;
}

/* Hashes dynamic_events; where there is a selection, also tells if one of it has another folder. */
static uint64_t hash_dynamic(const char *root, const struct instance *instance,
			     const struct event_selection *events, bool *moved)
{
	char path[4096], *line, *next, *group, *name;
	struct strbuf text = {0};
	uint64_t h = 0;

	if (!fs_join(path, sizeof(path), root, "dynamic_events") &&
	    !fs_read_file(path, MAX_DYNAMIC, &text) && text.s)
		for (line = text.s; *line; line = next) {
			const struct event_name *e;
			uint64_t whole;

			next = strchrnul(line, '\n');
			whole = hash(h, line, (size_t)(next - line));
			if (*next)
				*next++ = '\0';
			if (!names_of(line, &group, &name)) {
				h = whole;
				continue;
			}
			if (owner_name_is(group) || owner_name_is(name))
				continue;
			h = whole;
			e = events ? event_selection_find(events, group, name) : NULL;
			if (e && e->folder != event_folder_of(instance, group, name))
				*moved = true;
		}
	strbuf_deinit(&text);
	return h;
}

void event_watch_begin(struct event_watch *w, const char *root, const char *sys_root)
{
	*w = (struct event_watch){.root = root, .sys_root = sys_root};
	w->seen = hash_modules(sys_root) ^ hash_dynamic(root, NULL, NULL, NULL);
}

bool event_watch_changed(struct event_watch *w, const struct instance *instance,
			 const struct event_selection *events)
{
	bool moved = false;
	uint64_t now = hash_modules(w->sys_root) ^ hash_dynamic(w->root, instance, events, &moved);

	moved = moved || now != w->seen || w->again;
	w->seen = now;
	w->again = false;
	return moved;
}

void event_watch_again(struct event_watch *w)
{
	w->again = true;
}

uint64_t event_folder_of(const struct instance *instance, const char *group, const char *name)
{
	_cleanup_(freep) char *path = NULL;
	char file[600];
	struct stat st;
	int n = snprintf(file, sizeof(file), "events/%s/%s", group, name);

	if (n > 0 && (size_t)n < sizeof(file))
		path = instance_path_of(instance, file);
	return path && !stat(path, &st) ? st.st_ino : 0;
}
