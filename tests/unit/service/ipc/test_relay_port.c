/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/remote_rig.h"
#include "unit/test.h"

#define PING 1

static struct rig rig;

static int setup(void **state)
{
	struct peer *p;

	remote_rig_init(&rig);
	p = remote_rig_peer(&rig, 1);
	peer_identify(p, 0, 1, "a", "guest");
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	rig_hang_up(&rig, *state);
	remote_rig_deinit(&rig);
	return 0;
}

static const struct remote_machine *only_machine(void)
{
	return rig.machines->n == 1 ? TAILQ_FIRST(&rig.machines->list) : NULL;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(relay_port_is_bound_beside_the_producers)
{
	struct peer *p = *state;

	peer_bind(p, "RelayPort");
	assert_true(peer_next(p));
	assert_true(p->f.success);
	assert_int_equal(p->f.service_id, PEER_RELAY);
}

FIXTURE_TEST(machine_is_what_the_relay_says)
{
	static const char info[] = "\x30\x80\x20"; /* page_size: 4096 */
	struct peer *p = *state;

	assert_true(peer_accepted(p, peer_init_relay(p, info, 3)));
	assert_non_null(only_machine());
	assert_int_equal(only_machine()->id, remote_rig_machine_id(1, "a"));
	assert_string_equal(only_machine()->name, "guest");
	assert_memory_equal(only_machine()->system_info, info, 3);
}

FIXTURE_TEST(info_must_be_sound_and_small)
{
	static uint8_t large[MAX_SYSTEM_INFO_BYTES + 1];
	struct peer *p = *state;
	size_t n = sizeof(large) - 4;

	assert_true(peer_rejected(p, peer_init_relay(p, "\x0a\x05", 2)));
	assert_true(peer_rejected(p, peer_init_relay(p, "\x0a\x01\x0a", 3))); /* inside utsname */
	assert_true(
		peer_rejected(p, peer_call_as(p, PEER_RELAY, R_INIT, false, "\x0a\x05", 2, -1)));
	/* android_build_fingerprint: '\0' ... */
	memcpy(large, (uint8_t[]){0x12, 0x80 | (n & 0x7f), 0x80 | (n >> 7 & 0x7f), n >> 14}, 4);
	assert_int_equal(rig.quota->refused[REFUSED_RELAY_REQUESTS], 0);
	assert_true(peer_rejected(p, peer_init_relay(p, large, sizeof(large))));
	assert_int_equal(rig.quota->refused[REFUSED_RELAY_REQUESTS], 1);
	assert_int_equal(rig.machines->n, 0);
	assert_true(peer_accepted(p, peer_init_relay(p, "", 0)));
}

FIXTURE_TEST(clocks_are_read_on_both_sides)
{
	struct peer *p = *state;
	uint64_t before = clock_boot_ns();
	const struct clock_sync *s;

	assert_true(peer_accepted(p, peer_sync_clock(p, PING, 1, 6, 777)));
	assert_non_null(only_machine());
	assert_int_equal(only_machine()->burst.n, 1);
	s = &only_machine()->burst.fastest;
	assert_int_equal(s->n_client, 6);
	assert_int_equal(s->client[5].id, 6);
	assert_int_equal(s->client[5].value, 777);
	assert_true(s->host.value[CLOCK_SNAPSHOT_BOOTTIME] >= before);
	assert_true(s->host.value[CLOCK_SNAPSHOT_BOOTTIME] <= clock_boot_ns());
}

/* What would stand in a trace and mean something else there. */
FIXTURE_TEST(odd_clocks_are_rejected)
{
	static const char twice[] = "\x12\x02\x08\x06\x12\x02\x08\x06";
	struct peer *p = *state;

	assert_true(peer_rejected(p, peer_sync_clock(p, PING, 1, 0, 1)));
	assert_true(peer_rejected(p, peer_sync_clock(p, PING, 0, 1, 1)));
	assert_true(peer_rejected(p, peer_sync_clock(p, PING, 64, 1, 1)));
	assert_true(peer_rejected(p, peer_sync_clock(p, PING, UINT32_MAX, 1, 1)));
	assert_int_equal(rig.quota->refused[REFUSED_RELAY_REQUESTS], 0);
	assert_true(peer_rejected(p, peer_sync_clock(p, PING, 1, MAX_SYNC_CLOCKS + 1, 1)));
	assert_int_equal(rig.quota->refused[REFUSED_RELAY_REQUESTS], 1);
	assert_true(peer_rejected(p, peer_call_as(p, PEER_RELAY, R_SYNC, false, twice, 8, -1)));
	assert_true(peer_rejected(
		p, peer_call_as(p, PEER_RELAY, R_SYNC, false, "\x12\x02\x08", 3, -1)));
	assert_int_equal(rig.machines->n, 0);
	assert_true(peer_accepted(p, peer_sync_clock(p, PING, 1, MAX_SYNC_CLOCKS, 1)));
}

FIXTURE_TEST(relay_of_this_machine_is_refused)
{
	struct peer *local;
	int fd;

	local = rig_peer(&rig, &fd);
	assert_int_equal(ipc_host_adopt(remote_host, fd, remote_entrance), 0);
	assert_true(peer_rejected(local, peer_init_relay(local, "", 0)));
	assert_true(peer_rejected(local, peer_sync_clock(local, PING, 1, 1, 1)));
	assert_int_equal(rig.machines->n, 0);
	rig_hang_up(&rig, local);
}

/* From a bridge, such as a port that ssh forwards: its producers are not of this machine. */
FIXTURE_TEST(relay_at_a_unix_socket_is_disconnected)
{
	struct peer *local;
	int fd;

	local = rig_peer(&rig, &fd);
	assert_int_equal(ipc_host_adopt(remote_host, fd, remote_entrance), 0);
	peer_identify(local, 0, 1, "a", "guest");
	assert_true(peer_is_hung_up(local));
	rig_hang_up(&rig, local);
}

FIXTURE_TEST(unix_socket_for_relays_takes_them_as_another_machine)
{
	struct ipc_entrance entrance = *remote_entrance;
	const struct remote_machine *m;
	struct peer *local;
	int fd;

	entrance.takes_relays = true;
	local = rig_peer(&rig, &fd);
	assert_int_equal(ipc_host_adopt(remote_host, fd, &entrance), 0);
	peer_identify(local, 1234, 77, "a", "guest");
	assert_true(peer_accepted(local, peer_init_relay(local, "", 0)));
	m = only_machine();
	assert_non_null(m);
	assert_true(m->id != 0 && m->id != remote_rig_machine_id(1, "a"));
	assert_string_equal(m->name, "guest");
	assert_int_equal(m->account.user, getuid()); /* no share beside that of its user */
	rig_hang_up(&rig, local);
}

FIXTURE_TEST(without_the_opt_in_there_is_no_relay_port)
{
	struct peer *p = rig_producer(&rig);

	peer_bind(p, "RelayPort");
	assert_true(peer_next(p));
	assert_false(p->f.success);
	assert_true(peer_rejected(p, peer_init_relay(p, "", 0)));
	rig_hang_up(&rig, p);
}
