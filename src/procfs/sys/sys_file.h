/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/span.h"
#include "procfs/sys/sys_packet.h"

/* The names in a folder of /sys that begin with a prefix, in the order of the numbers in them.
 * Zero-initialise. */

/* Further ones are left out. */
#define SYS_NAMES_MAX 8192

struct sys_names {
	char **names; /* owned, as is each */
	size_t n;
};

/* With digits: only names that are the prefix and a number. 0 or -errno, with nothing in it. */
int sys_names_read(struct sys_names *s, const char *folder, const char *prefix, bool digits);
void sys_names_deinit(struct sys_names *s);
bool sys_names_equal(const struct sys_names *a, const struct sys_names *b);
/* The number at the end of a name, UINT32_MAX if there is none. */
uint32_t sys_names_number(const char *name, const char *prefix);

/*
 * A file of /proc or /sys that is read again and again: opened once, then read from its beginning
 * with pread, which makes the kernel write it anew. Both file systems allow that for every file
 * here. Where it has gone with its device (-ENODEV), or never was, it is looked for again every ten
 * seconds.
 */

/* 8192 CPUs with 150 bytes in /proc/stat, and as many interrupts with 20, are 1.4 MB. */
#define SYS_FILE_SIZE_MAX (32u << 20)
#define SYS_FILE_RETRY_NS (10 * 1000000000ull)

struct sys_file {
	char *path; /* owned */
	int fd; /* owned; -1: not open */
	/* A single read gives all of it: files of /sys, and those of /proc that the kernel makes in
	 * one piece. Others come in pieces of about a page, and end with an empty one. */
	bool whole;
	uint64_t retry; /* CLOCK_MONOTONIC, before which it is not opened again */
	/* Set by the owner, or 0: a file of more bytes is -EFBIG; */
	size_t max;
	/* another one than a regular file of this file system that everybody may read is -EPERM. */
	dev_t public_on;
};

/* path: root and what the format makes. Opens nothing. 0 or -ENOMEM. */
int sys_file_init(struct sys_file *f, bool whole, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void sys_file_deinit(struct sys_file *f, struct sys_packet *p);

/* The whole file, in p->text until the next read. 0, -errno (-ENODATA: it is empty), or -EAGAIN: it
 * failed less than ten seconds ago. */
int sys_file_read(struct sys_file *f, struct sys_packet *p, struct span *ret_text);
/* The same for a source: what fails, but for -EAGAIN, is told and counted. */
bool sys_file_get(struct sys_file *f, struct sys_packet *p, struct sys_errors *t,
		  struct span *ret_text);

/* Reads it and gives it to the parser; tells and counts what fails of either. */
void sys_file_poll(struct sys_file *f, struct sys_packet *p, struct sys_errors *t,
		   int (*parse)(void *state, struct sys_packet *p, struct span text), void *state);

/* A small file that is read once, without its last newline. 0 or -errno. */
int sys_file_once(struct strbuf *b, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
