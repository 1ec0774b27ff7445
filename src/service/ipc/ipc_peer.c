/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/ipc_peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/siphash.h"
#include "base/event_loop/sock.h"
#include "gen/fields.h"
#include "service/ipc/decode.h"

/* FNV-1a of 64 bits, of which the low half is the number of a machine. */
#define FNV_BASIS 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

static uint32_t machine_id_of(const void *hint, size_t len)
{
	const uint8_t *p = hint;
	uint64_t h = FNV_BASIS;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * FNV_PRIME;
	return (uint32_t)h ? (uint32_t)h : 1;
}

/* Peers of one address are one machine, unless they give a hint. */
static void number_by_address(struct ipc_peer *p)
{
	char text[REMOTE_ADDRESS_TEXT];

	remote_address_text(&p->address, text);
	p->machine_id = machine_id_of(text, strlen(text));
}

static void be_remote(struct ipc_peer *p)
{
	p->is_remote = true;
	p->uid = UID_UNKNOWN;
	/* Who comes from this machine and claims to be no other is of this machine. */
	if (!remote_address_is_loopback(&p->address))
		number_by_address(p);
}

int ipc_peer_of(int fd, const struct remote_allow *allow, struct ipc_peer *ret)
{
	struct ipc_peer p = {0};
	int r = sock_peer(fd, &p.uid, &p.pid);

	if (r == -EOPNOTSUPP) {
		r = remote_address_of_peer(fd, &p.address);
		if (r < 0)
			return r;
		be_remote(&p);
		r = allow && remote_allow_has(allow, &p.address) ? 0 : -EACCES;
	}
	if (r == 0 || r == -EACCES)
		*ret = p;
	return r;
}

#define REMOTE_USER (1ull << 63) /* above all uids */

uint64_t ipc_peer_user(const struct ipc_peer *p)
{
	uint8_t key[sizeof(p->address.ip) + 8] = {0};
	uint32_t cid = p->address.cid, family = (uint32_t)p->address.family;

	if (!p->is_remote)
		return p->uid;
	memcpy(key, p->address.ip, sizeof(p->address.ip));
	memcpy(key + sizeof(p->address.ip), &cid, 4);
	memcpy(key + sizeof(p->address.ip) + 4, &family, 4);
	return REMOTE_USER | siphash_keyed(key, sizeof(key));
}

void ipc_peer_deinit(struct ipc_peer *p)
{
	free(p->machine_name);
	p->machine_name = NULL;
}

void ipc_peer_introduce(struct ipc_peer *p, const uint8_t *identity, size_t len)
{
	int32_t uid = -1, pid = 0;
	struct pb_field f;
	struct pb_dec d;

	if (!p->is_remote || p->introduced)
		return;
	p->introduced = true;
	if (!p->machine_id)
		number_by_address(p);
	pb_dec_init(&d, identity, len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_IPC_FRAME_SET_PEER_IDENTITY_PID):
			pid = (int32_t)f.u64;
			break;
		case KEY_VARINT(PB_IPC_FRAME_SET_PEER_IDENTITY_UID):
			uid = (int32_t)f.u64;
			break;
		case KEY_BYTES(PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_ID_HINT):
			if (f.len > 0)
				p->machine_id = machine_id_of(f.data, f.len);
			break;
		case KEY_BYTES(PB_IPC_FRAME_SET_PEER_IDENTITY_MACHINE_NAME):
			/* One that cannot be had is as one that is not said. */
			if (f.len > 0)
				(void)decode_string(&f, MAX_MACHINE_NAME, &p->machine_name);
			break;
		}
	p->uid = uid > 0 ? (uid_t)uid : UID_UNKNOWN;
	p->pid = pid > 0 ? pid : 0;
}

void ipc_peer_text(const struct ipc_peer *p, char ret_text[static IPC_PEER_TEXT])
{
	char address[REMOTE_ADDRESS_TEXT];

	if (!p->is_remote) {
		snprintf(ret_text, IPC_PEER_TEXT, "process %d of uid %u", (int)p->pid,
			 (unsigned)p->uid);
		return;
	}
	remote_address_text(&p->address, address);
	snprintf(ret_text, IPC_PEER_TEXT, "%s", address);
}
