/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "unit/fixture.h"
#include "procfs/counters/counter_files.h"
#include "unit/procfs/counter_rig.h"
#include "procfs/data_sources.h"
#include "unit/procfs/captured_log.h"

static Pb__NetworkStatsConfig stats;

SETUP
{
	rig_setup(&network_stats_data_source);
	pb__network_stats_config__init(&stats);
	stats.period_ms = 1;
	config.network_stats_config = &stats;
}

TEARDOWN
{
	rig_teardown();
}

#define HEADING                                                                                    \
	"Inter-|   Receive                                                |  Transmit\n"           \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs " \
	"drop fifo colls carrier compressed\n"

/* A laptop: the columns of every kernel since 2.2. */
static void put_laptop(void)
{
	put("net/dev", HEADING "    lo: 100 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0\n"
			       "  eth0: 456711456 8227 1 2 0 0 0 5 319955 4678 3 4 0 0 0 0\n");
	put("net/snmp", "Ip: Forwarding DefaultTTL InReceives InHdrErrors\nIp: 1 64 9 8\n"
			"Tcp: RtoAlgorithm MaxConn CurrEstab RetransSegs InErrs\nTcp: 1 -1 3 7 2\n"
			"Udp: InDatagrams NoPorts InErrors\nUdp: 5 6 7\n");
	put("net/netstat", "TcpExt: ListenOverflows ListenDrops TCPTimeouts TCPPureAcks\n"
			   "TcpExt: 1 2 3 4\nIpExt: InOctets\nIpExt: 5\n");
	put("net/snmp6", "Ip6InReceives                   \t67541\n"
			 "Ip6InHdrErrors                  \t4\n"
			 "Icmp6InType134                  \t2\nUdpLite6InErrors \t9\n"
			 "Udp6InErrors                    \t3\n");
}

FIXTURE_TEST(each_number_has_its_track)
{
	put_laptop();
	create_and_start();
	assert_int_equal(read_last("network/interfaces/eth0/rx bytes"), 456711456);
	assert_int_equal(read_last("network/interfaces/eth0/rx errs"), 1);
	assert_int_equal(read_last("network/interfaces/eth0/tx drop"), 4);
	assert_int_equal(read_last("network/interfaces/lo/tx packets"), 2);
	assert_int_equal(read_last("network/protocols/Tcp/RetransSegs"), 7);
	assert_int_equal(read_last("network/protocols/Udp/InErrors"), 7);
	assert_int_equal(read_last("network/protocols/Ip/InHdrErrors"), 8);
	assert_int_equal(read_last("network/protocols/TcpExt/ListenDrops"), 2);
	assert_int_equal(read_last("network/protocols/Ip6/InHdrErrors"), 4);
	assert_int_equal(read_last("network/protocols/Udp6/InErrors"), 3);
	/* By default these are not among them. */
	assert_null(read_find("network/interfaces/eth0/rx multicast"));
	assert_null(read_find("network/protocols/Tcp/MaxConn"));
	assert_null(read_find("network/protocols/TcpExt/TCPPureAcks"));
	assert_null(read_find("network/failed reads"));
}

FIXTURE_TEST(all_on_request)
{
	char *all[] = {(char[]){"*"}}, *except[] = {(char[]){"lo"}};

	put_laptop();
	stats.counters = all;
	stats.n_counters = 1;
	stats.exclude_interfaces = except;
	stats.n_exclude_interfaces = 1;
	create_and_start();
	assert_int_equal(read_last("network/interfaces/eth0/rx multicast"), 5);
	assert_int_equal(read_last("network/protocols/Tcp/MaxConn"), -1);
	assert_int_equal(read_last("network/protocols/TcpExt/TCPPureAcks"), 4);
	assert_int_equal(read_last("network/protocols/IpExt/InOctets"), 5);
	assert_int_equal(read_last("network/protocols/Ip6/InReceives"), 67541);
	assert_int_equal(read_last("network/protocols/Icmp6/InType134"), 2);
	assert_int_equal(read_last("network/protocols/UdpLite6/InErrors"), 9);
	assert_null(read_find("network/interfaces/lo"));
}

FIXTURE_TEST(interfaces_appear_and_disappear)
{
	put_laptop();
	create_and_start();
	put("net/dev", HEADING " veth7: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	run_pass();
	assert_int_equal(read_last("network/interfaces/veth7/tx packets"), 10);
	assert_int_equal(read_count("network/interfaces/eth0/rx bytes"), 2);
	assert_int_equal(read_last("network/interfaces/eth0/rx bytes"), 456711456);
	put_laptop();
	run_pass();
	assert_int_equal(read_count("network/interfaces/eth0/rx bytes"), 3);
}

FIXTURE_TEST(a_file_that_is_cut_ends_no_interface)
{
	put_laptop();
	create_and_start();
	put("net/dev", HEADING "    lo: 200 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0\n  eth0: 4567");
	run_pass();
	assert_int_equal(read_last("network/interfaces/lo/rx bytes"), 200);
	assert_int_equal(read_count("network/interfaces/eth0/rx bytes"), 1);
	assert_int_equal(read_last("network/failed reads"), 1);
	put("net/dev", "a newer format\n");
	run_pass();
	assert_int_equal(read_last("network/failed reads"), 2);
	assert_int_equal(read_count("network/interfaces/eth0/rx bytes"), 1);
	assert_int_equal(read_last("network/protocols/Tcp/RetransSegs"), 7);
}

FIXTURE_TEST(files_that_are_not_there)
{
	put("net/snmp", "Tcp: InErrs\nTcp: 2\n");
	create_and_start();
	assert_int_equal(read_last("network/protocols/Tcp/InErrs"), 2);
	/* Not that of IPv6, which a kernel may be without. */
	assert_int_equal(read_last("network/failed reads"), 2);
	put_laptop();
	put("net/snmp6", "Udp6InErrors 1\nUdp6OutReq");
	for (unsigned i = 0; i < COUNTER_FILE_RETRY; i++)
		run_pass();
	assert_int_equal(read_last("network/protocols/Udp6/InErrors"), 1);
	assert_true(read_last("network/failed reads") > 2);
}

FIXTURE_TEST(a_server_with_many_interfaces)
{
	static char text[256 * 1024];
	size_t n;

	put_laptop();
	n = (size_t)snprintf(text, sizeof(text), "%s", HEADING);
	for (unsigned i = 0; i < 1000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "veth%u: %u 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", i, i);
	put("net/dev", text);
	{
		char *wanted[] = {(char[]){"rx bytes"}};

		stats.counters = wanted;
		stats.n_counters = 1;
		create_and_start();
	}
	assert_int_equal(read_last("network/interfaces/veth999/rx bytes"), 999);
	run_pass();
	assert_int_equal(rd.n_values, 1000);
}

FIXTURE_TEST(a_machine_without_proc)
{
	env.proc_root = "/nowhere";
	create_and_start();
	run_pass();
	flush_source(1);
	stop_source();
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(values_at_the_flush_and_at_the_stop)
{
	size_t n;

	put_laptop();
	create_and_start();
	n = rd.n_values;
	make_pass_new();
	flush_source(8); /* all of them have just been written */
	assert_int_equal(rd.n_values, n);
	run_pass();
	make_pass_new();
	stop_source();
	assert_int_equal(rd.n_values, 2 * n);
}

FIXTURE_TEST(names_without_a_match_are_logged)
{
	char *only[] = {(char[]){"eth*"}, (char[]){"wlan7"}},
	     *counters[] = {(char[]){"Tcp Nope"}, (char[]){"rx bytes"}};

	put_laptop();
	stats.interfaces = only;
	stats.counters = counters;
	stats.n_interfaces = stats.n_counters = 2;
	capture_log();
	create_and_start();
	run_pass();
	assert_int_equal(captured("nothing matches "), 2);
	assert_non_null(strstr(log_text, "interfaces: nothing matches 'wlan7' so far\n"));
	assert_non_null(strstr(log_text, "counters: nothing matches 'Tcp Nope' so far\n"));
	assert_int_equal(read_last("network/interfaces/eth0/rx bytes"), 456711456);
}

/* An hour at ten a second, with an interface that comes and one that goes every ten seconds. */
FIXTURE_TEST(memory_does_not_grow_with_the_passes)
{
	size_t used = 0;

	put_laptop();
	create_and_start();
	for (unsigned i = 0; i < 36000; i++) {
		char text[1024];

		if (i % 100 == 0) {
			snprintf(text, sizeof(text),
				 HEADING "  eth0: %u 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0\n"
					 " veth%u: %u 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
				 i, i / 100, i);
			put("net/dev", text);
		}
		pass_at_once();
		if (i == 1900)
			used = mallinfo2().uordblks;
	}
	assert_true(rig_poll()->pass > 36000);
	assert_int_equal(rig_poll()->errors.failures, 0);
	assert_true(mallinfo2().uordblks <= used + 4096);
	source->clear(instance);
	run_pass();
	assert_int_equal(read_last("network/interfaces/veth359/rx bytes"), 35900);
	assert_int_equal(tracks_counts(rig_poll()->tracks).refused, 0);
}
