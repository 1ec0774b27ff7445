/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>

/*
 * Reports that a file may have appeared at a path, using an inotify descriptor for its directory.
 * Every user may be able to write into the directory, and a directory that changes all the time
 * must cost the caller little. So the caller does not poll the descriptor for a while after each
 * read:
 *
 *	fd is readable, and pause_ms have passed since the last read
 *	  file_watch_read() --> FILE_WATCH_QUIET	polls fd
 *	                    --> FILE_WATCH_OTHERS	polls fd after pause_ms
 *	                    --> FILE_WATCH_OURS		tries the file, then as FILE_WATCH_OTHERS
 *
 * pause_ms doubles with each read that finds events, up to FILE_WATCH_PAUSE_MAX_MS.
 */
#define FILE_WATCH_PAUSE_MIN_MS 100u
#define FILE_WATCH_PAUSE_MAX_MS 3200u

struct file_watch {
	int fd; /* owned; -1: none */
	unsigned pause_ms; /* 0: fd may be polled. It outlives the descriptor */
	char name[NAME_MAX + 1]; /* last part of the path */
};

enum file_watch_event {
	FILE_WATCH_QUIET, /* nothing has happened in the directory */
	FILE_WATCH_OTHERS, /* only other names */
	FILE_WATCH_OURS, /* the file was created, moved there, or has changed its mode */
};

/* Starts to watch a file. Initialize w with .fd = -1. Returns 0, -EINVAL (a path that ends in a
 * slash), -ENAMETOOLONG or -errno of inotify(7) (-ENOENT: the directory does not exist). */
int file_watch_open(struct file_watch *w, const char *path);
void file_watch_close(struct file_watch *w);
/* Reads all pending events. Returns FILE_WATCH_OURS also if some were lost. */
enum file_watch_event file_watch_read(struct file_watch *w);
