/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/tcp.h"
#include "ebpf/families/families.h"

static struct tcp_cpu *cpu(uint32_t i)
{
	return fake_value("cpus", i);
}

static void each_enumerator(void *ctx, const char *type,
			    void (*fn)(void *arg, const char *name, int64_t value), void *arg)
{
	assert_string_equal(type, "skb_drop_reason");
	fn(arg, "SKB_DROP_REASON_NO_SOCKET", 3);
	fn(arg, "SKB_DROP_REASON_MAX", TCP_REASONS + 7);
	fn(arg, "SKB_DROP_REASON_NONE", -1);
}

static void each_symbol(void *ctx, const char *event, const char *field,
			void (*fn)(void *arg, const char *name, int64_t value), void *arg)
{
	assert_string_equal(event, "skb/kfree_skb");
	assert_string_equal(field, "reason");
	fn(arg, "NO_SOCKETS", 3); /* types know better */
	fn(arg, "PKT_TOO_SMALL", 5);
}

#define GROUP "eBPF/Network/"

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(reasons_have_their_names)
{
	rig.features.each_enumerator = each_enumerator;
	rig.features.each_symbol = each_symbol;
	rig_start(&tcp_family);
	cpu(0)->dropped = 5;
	cpu(1)->dropped = 4;
	cpu(0)->reasons[3] = 5;
	cpu(1)->reasons[4] = 2;
	cpu(1)->reasons[5] = 1;
	cpu(1)->reasons[TCP_REASONS - 1] = 1;
	cpu(2)->retransmits = 9;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last(GROUP "dropped packets"), 9);
	assert_int_equal(read_last(GROUP "dropped packets by reason/NO_SOCKET"), 5);
	assert_int_equal(read_last(GROUP "dropped packets by reason/reason 4"), 2);
	assert_int_equal(read_last(GROUP "dropped packets by reason/PKT_TOO_SMALL"), 1);
	assert_int_equal(read_last(GROUP "dropped packets by reason/of a subsystem"), 1);
	assert_int_equal(read_last(GROUP "TCP retransmits"), 9);
	assert_null(read_find(GROUP "TCP retransmits failed"));
	cpu(2)->retransmits_failed = 1;
	rig_read();
	assert_int_equal(read_last(GROUP "TCP retransmits failed"), 1);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1);
}

FIXTURE_TEST(without_drops_there_is_no_group_of_reasons)
{
	rig_start(&tcp_family);
	rig_read();
	assert_int_equal(read_last(GROUP "dropped packets"), 0);
	assert_null(read_find(GROUP "dropped packets by reason"));
}

/* Before 5.17 kfree_skb had two arguments, and no reason. */
FIXTURE_TEST(older_arguments)
{
	rig.tracepoint = "kfree_skb";
	rig.args = 2;
	rig_start(&tcp_family);
	assert_string_equal(rig.run.variant->name, "tp_btf");
}
