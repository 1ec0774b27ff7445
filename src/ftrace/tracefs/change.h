/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

/*
 * One knob of a place of tracefs that is not ours, changed for a time: how it read before, and
 * how since. With that it can be put back, by us or by whoever comes after us.
 */
struct change {
	TAILQ_ENTRY(change) link;
	char *file; /* owned: below the place's folder */
	char *was; /* owned: as the file read; of a command empty */
	char *is; /* owned: how it reads since; of a command, what was written; NULL: not known */
};

TAILQ_HEAD(changes, change);

/* 0, or -ENOMEM with nothing to deinit. */
int change_init(struct change *c, const char *file, const char *was);
/* Zeroed is fine. */
void change_deinit(struct change *c);

/*
 * Puts the knob back as it was. What somebody else has made of it since is not ours to undo, and
 * stays. folder: of the place. 0 or -errno; a file that is gone is fine.
 */
int change_undo(const struct change *c, const char *folder);
/* An error of it that may be none another time. */
bool change_later(int error);
