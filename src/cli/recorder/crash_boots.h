/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * What is left of earlier boots: the directory "boots" of a recorder.
 *
 *	20261127T200144-1c9d2f0a.boot		lines about a boot (crash_boots.c)
 *	20261127T200144-1c9d2f0a.dat		in that boot: the events' formats (crash_dat.h)
 *	20261127T200144-1c9d2f0a.pftrace	in the next one: what the kernel's ring held
 *
 * A name is the time at which the ring was armed (UTC), and the beginning of the boot's id.
 */
#define CRASH_BOOTS_KEPT 5
#define CRASH_BOOT_NAME_SIZE 32

struct crash_boot {
	char name[CRASH_BOOT_NAME_SIZE]; /* of its files, without the extension */
	char id[40]; /* /proc/sys/kernel/random/boot_id */
	char release[128]; /* of the kernel */
	char machine[320]; /* sysname, nodename, release and machine of uname(2) */
	char clock[32]; /* of the ring */
	uint64_t armed_s; /* CLOCK_REALTIME */
	uint64_t date_ns; /* CLOCK_REALTIME minus the ring's clock; 0: not known */
	uint64_t cpus;
	uint64_t saved_s; /* when the next boot saved the trace, or found none; 0: not yet */
	char why[256]; /* why there is no trace; "": there is one */
};

/* The boots, the oldest first. Zero-initialise; crash_boots_deinit frees. */
struct crash_boots {
	struct crash_boot *of; /* owned */
	size_t n, cap;
};
void crash_boots_deinit(struct crash_boots *b);

/* Reads the list of the recorder whose directory is dir. A directory that does not exist has none.
 * Files that cannot be read are left out. Returns 0 or -errno. */
int crash_boots_read(const char *dir, struct crash_boots *ret);
/* Removes the oldest boots until CRASH_BOOTS_KEPT are left. */
void crash_boots_prune(const char *dir);

/* Replaces the lines about a boot. Creates the directory. Returns 0 or -errno. */
int crash_boot_write(const char *dir, const struct crash_boot *b);
/* Writes the path of a file of the boot; extension: ".dat", ".pftrace". Returns 0 or
 * -ENAMETOOLONG. */
int crash_boot_path(const char *dir, const struct crash_boot *b, const char *extension,
		    char ret[static PATH_MAX]);

/* Reads the id of the running boot; "" if the kernel does not provide it. */
void crash_boot_read_id(char ret[static 40]);

/* Finds the boot that `sonda report --boot` names: -1 is the newest one before the running boot.
 * Returns 0; -ENOENT and sets e if there is none, or it has no trace; or -errno and sets e. */
int crash_boots_choose(const char *dir, int number, struct crash_boot *ret, struct err_text *e);
