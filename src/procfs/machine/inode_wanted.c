/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/inode_wanted.h"

#include <stdlib.h>

#include "base/core/hash_table.h"

enum wanted_state { WAITING, SOUGHT, TOLD, NOT_THERE };

struct inode_wanted_key {
	uint64_t device;
	uint64_t inode;
};

struct inode_wanted_entry {
	struct inode_wanted_key key;
	enum wanted_state state;
	UT_hash_handle hh;
};

void inode_wanted_deinit(struct inode_wanted *w)
{
	struct inode_wanted_entry *e, *next;

	HASH_ITER (hh, w->entries, e, next) {
		HASH_DEL(w->entries, e);
		free(e);
	}
	*w = (struct inode_wanted){0};
}

static struct inode_wanted_entry *find(const struct inode_wanted *w,
				       const struct inode_wanted_key *key)
{
	struct inode_wanted_entry *e;

	HASH_FIND(hh, w->entries, key, sizeof(*key), e);
	return e;
}

void inode_wanted_add(struct inode_wanted *w, uint64_t device, uint64_t inode)
{
	const struct inode_wanted_key key = {device, inode};
	struct inode_wanted_entry *e;

	if (find(w, &key))
		return;
	e = HASH_COUNT(w->entries) < INODE_WANTED_MAX ? calloc(1, sizeof(*e)) : NULL;
	if (!e) {
		w->dropped++;
		return;
	}
	e->key = key;
	HASH_ADD(hh, w->entries, key, sizeof(e->key), e);
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

unsigned inode_wanted_begin(struct inode_wanted *w, uint64_t ret_devices[static INODE_DEVICES_MAX])
{
	struct inode_wanted_entry *e, *next;
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

bool inode_wanted_take(struct inode_wanted *w, uint64_t device, uint64_t inode)
{
	struct inode_wanted_entry *e = find(w, &(struct inode_wanted_key){device, inode});

	if (!e || e->state != SOUGHT)
		return false;
	e->state = TOLD;
	w->sought--;
	w->told++;
	return true;
}

void inode_wanted_end(struct inode_wanted *w)
{
	struct inode_wanted_entry *e, *next;

	HASH_ITER (hh, w->entries, e, next)
		if (e->state == SOUGHT)
			e->state = NOT_THERE;
	w->not_there += w->sought;
	w->sought = 0;
}
