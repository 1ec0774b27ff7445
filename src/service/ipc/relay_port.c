/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/relay_port.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "common/system_info.pb-c.h"
#include "config/unpack.h"
#include "gen/fields.h"
#include "ipc/relay_port.pb-c.h"
#include "service/ipc/remote_machines.h"
#include "service/ipc/request_decode.h"

/* Clocks above this number are private to the writer of a sequence. */
#define MAX_BUILTIN_CLOCK 63u

struct relay_port {
	struct remote_machines *machines; /* borrowed */
	struct ipc_conn *conn; /* borrowed: it outlives us */
	const struct ipc_peer *peer; /* borrowed: of conn */
};

/* ---- InitRelay ---- */

/* Sets *ret to the system info of an InitRelayRequest. Returns 0, -EBADMSG if a message is
 * malformed, or -EMSGSIZE. */
static int find_system_info(const uint8_t *args, size_t len, struct pb_field *ret)
{
	struct pb_field f, found = {.data = (const uint8_t *)""};
	ProtobufCMessage *m;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		if (FIELD_KEY(f) == KEY_BYTES(PB_INIT_RELAY_REQUEST_SYSTEM_INFO))
			found = f;
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	if (found.len > MAX_SYSTEM_INFO_BYTES)
		return -EMSGSIZE;
	/* It is written to traces, so it must be valid. */
	if (unpack_untrusted(&pb__system_info__descriptor, found.data, found.len, &m) < 0)
		return -EBADMSG;
	protobuf_c_message_free_unpacked(m, NULL);
	*ret = found;
	return 0;
}

static int handle_init_relay(void *endpoint, const struct ipc_call *call, const uint8_t *args,
			     size_t len)
{
	struct relay_port *p = endpoint;
	struct pb_field info;
	int r = find_system_info(args, len, &info);

	p->machines->quota->refused[REFUSED_RELAY_REQUESTS] += r == -EMSGSIZE;
	if (r < 0)
		return r;
	r = remote_machines_set_info(p->machines, p->peer, info.data, info.len);
	if (r == 0)
		ipc_reply_empty(p->conn, call);
	return r;
}

/* ---- SyncClock ---- */

static int decode_clock(const struct pb_field *message, struct machine_clock *ret)
{
	struct machine_clock clock = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, message->data, message->len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID):
			clock.id = f.u64 <= MAX_BUILTIN_CLOCK ? (uint32_t)f.u64 : 0;
			break;
		case KEY_VARINT(PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP):
			clock.value = f.u64;
			break;
		}
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	*ret = clock;
	return 0;
}

static bool has_clock(const struct clock_sync *s, uint32_t id)
{
	for (size_t i = 0; i < s->n_client; i++)
		if (s->client[i].id == id)
			return true;
	return false;
}

/* Reads a SyncClockRequest into s, which is zeroed. Returns 0; -EBADMSG (malformed); -EINVAL (no
 * clocks, an id that is not a built-in clock, or the same one twice); or -ENOBUFS (too many
 * clocks). */
static int decode_sync(const uint8_t *args, size_t len, struct clock_sync *s)
{
	struct machine_clock clock;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f)) {
		if (FIELD_KEY(f) == KEY_VARINT(PB_SYNC_CLOCK_REQUEST_PHASE))
			s->is_last = f.u64 == PB__SYNC_CLOCK_REQUEST__PHASE__UPDATE;
		if (FIELD_KEY(f) != KEY_BYTES(PB_SYNC_CLOCK_REQUEST_CLOCKS))
			continue;
		if (decode_clock(&f, &clock) < 0)
			return -EBADMSG;
		if (clock.id == 0 || has_clock(s, clock.id))
			return -EINVAL;
		if (s->n_client == MAX_SYNC_CLOCKS)
			return -ENOBUFS;
		s->client[s->n_client++] = clock;
	}
	if (!pb_dec_ok(&d))
		return -EBADMSG;
	return s->n_client > 0 ? 0 : -EINVAL;
}

static int sync_clock(void *endpoint, const struct ipc_call *call, const uint8_t *args, size_t len)
{
	struct relay_port *p = endpoint;
	struct clock_sync sync = {0};
	int r;

	/* Read the clocks first: the time until they are read counts as delay of the message. */
	clock_snapshot_take(&sync.host);
	r = decode_sync(args, len, &sync);
	p->machines->quota->refused[REFUSED_RELAY_REQUESTS] += r == -ENOBUFS;
	if (r < 0)
		return r;
	r = remote_machines_add_sync(p->machines, p->peer, &sync);
	if (r == 0)
		ipc_reply_empty(p->conn, call);
	return r;
}

/* ---- the port ---- */

static int relay_port_open(void *ctx, struct ipc_conn *conn, void **ret_endpoint)
{
	const struct ipc_peer *peer = ipc_conn_peer(conn);
	struct relay_port *p;

	if (!peer->is_remote || !peer->machine_id)
		return -EPERM;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*p = (struct relay_port){.machines = ctx, .conn = conn, .peer = peer};
	*ret_endpoint = p;
	return 0;
}

static void relay_port_close(void *endpoint)
{
	free(endpoint);
}

static const struct ipc_method methods[] = {
	{"InitRelay", handle_init_relay},
	{"SyncClock", sync_clock},
};

const struct ipc_service relay_port_service = {
	.name = "RelayPort",
	.methods = methods,
	.n_methods = ARRAY_SIZE(methods),
	.open = relay_port_open,
	.close = relay_port_close,
};
