/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "procfs/counters/counter_files.h"
#include "procfs/counters/network_tables.h"
#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/counter_rig.h"

static Pb__NetworkStatsConfig stats;
static char *every[] = {(char[]){"*"}};

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
#define SHORT_HEADING "Inter-|Receive|Transmit\n face |bytes packets|bytes\n"

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

/* All counters, and files without a line. */
static void put_nothing(void)
{
	stats.counters = every;
	stats.n_counters = 1;
	put("net/dev", SHORT_HEADING);
	put("net/snmp", "T: A\nT: 1\n");
	put("net/netstat", "T: A\nT: 1\n");
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
	char *except[] = {(char[]){"lo"}};
	struct pb_field counter;

	put_laptop();
	stats.counters = every;
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
	assert_true(read_sub(read_find("network/protocols/IpExt/InOctets")->descriptor,
			     PB_TRACK_DESCRIPTOR_COUNTER, &counter));
	assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT), TRACK_UNIT_BYTES);
}

/* An exclude list that was truncated selects nothing: the missing entry must not widen it. */
FIXTURE_TEST(a_truncated_exclude_list_selects_no_interface)
{
	char *longer = malloc(COUNTER_PATTERN_SIZE + 1), *except[] = {(char[]){"lo"}, longer};

	memset(longer, 'x', COUNTER_PATTERN_SIZE);
	longer[COUNTER_PATTERN_SIZE] = '\0';
	put_laptop();
	stats.exclude_interfaces = except;
	stats.n_exclude_interfaces = 2;
	capture_log();
	create_and_start();
	assert_int_equal(captured("records no interfaces: exclude_interfaces is too long"), 1);
	assert_null(read_find("network/interfaces/eth0"));
	assert_int_equal(read_last("network/protocols/Tcp/RetransSegs"), 7);
	free(longer);
}

/* ---- texts ---- */

static const struct {
	const char *file, *text;
	const char *path; /* of a counter in the text */
	int64_t value;
	unsigned failures; /* in one pass */
} texts[] = {
	/* Columns are named by the heading; kernels before 2.6.39 leave the blank out. */
	{"net/dev", SHORT_HEADING " e0: 1 2 3\n", "interfaces/e0/tx bytes", 3, 0},
	{"net/dev", SHORT_HEADING " e0:123456789 2 3\n", "interfaces/e0/rx bytes", 123456789, 0},
	{"net/dev", SHORT_HEADING " e0: 1 2\n e1: 7 8 9\n", "interfaces/e1/rx packets", 8, 1},
	{"net/dev", SHORT_HEADING " e0: 1 2 3 4\n e1: 7 8 9\n", "interfaces/e1/rx packets", 8, 1},
	{"net/dev", SHORT_HEADING " e0: 1 x 3\n e1: 7 8 9\n", "interfaces/e1/rx packets", 8, 1},
	{"net/dev", SHORT_HEADING " e0 1 2 3\n : 1 2 3\n e1: 7 8 9\n", "interfaces/e1/tx bytes", 9,
	 2},
	{"net/dev", SHORT_HEADING "\x1b[2J: 1 2 3\n a/b: 4 5 6\n \xff: 7 8 9\n",
	 "interfaces/?/tx bytes", 9, 0},
	{"net/dev", "", NULL, 0, 1},
	{"net/dev", "x\ny\n", NULL, 0, 1},
	{"net/dev", "x\nface|bytes\n e0: 1\n", NULL, 0, 1},
	{"net/dev", "x\nface||\n e0: 1\n", NULL, 0, 1},
	{"net/dev", "x\n|bytes|bytes\n e0: 1 2\n", NULL, 0, 1},
	{"net/dev", "x\nface|a-name-that-is-much-longer-than-columns|b\n e0: 1 2\n", NULL, 0, 1},
	{"net/dev",
	 "x\nf|1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7|1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6\n e0: 1 2\n", NULL,
	 0, 1},
	/* Pairs of lines; a line without its pair is skipped. */
	{"net/snmp", "Tcp: A B\nTcp: 1 -1\nTcpExt: C\nTcpExt: 3\n", "protocols/TcpExt/C", 3, 0},
	{"net/snmp", "nothing\nIp: A\nTcp: A\nTcp: 1\nUdp: B\n", "protocols/Tcp/A", 1, 0},
	{"net/snmp", "Tcp: A B\nTcp: 1\n", "protocols/Tcp/A", 1, 1},
	{"net/snmp", "Tcp: A\nTcp: 1 2\n", "protocols/Tcp/A", 1, 1},
	{"net/snmp", "Tcp: A B\nTcp: x 2\n", "protocols/Tcp/B", 2, 1},
	{"net/snmp", "nothing\n", NULL, 0, 1},
	{"net/snmp",
	 "P-with-a-name-that-is-much-too-long: A\nP-with-a-name-that-is-much-too-long: 1\n", NULL,
	 0, 1},
	/* Names with their protocol in front. */
	{"net/snmp6", "Icmp6InType134 \t 18446744073709551615\n", "protocols/Icmp6/InType134",
	 INT64_MAX, 0},
	{"net/snmp6", "Ip6In\nIp6In x\nIp6In 1 2\nIpIn 1\n6In 1\nIp6 1\nUdp6Out 5\n",
	 "protocols/Udp6/Out", 5, 1},
	{"net/snmp6", "Udp6InErrors 1\nUdp6OutReq", "protocols/Udp6/InErrors", 1, 1},
};

FIXTURE_TEST(texts_of_every_format)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char path[128];

		put_nothing();
		proc_remove("net/snmp6");
		put(texts[i].file, texts[i].text);
		create_and_start();
		if (texts[i].path) {
			snprintf(path, sizeof(path), "network/%s", texts[i].path);
			assert_true(read_last(path) == texts[i].value);
		}
		assert_int_equal(
			read_find("network/failed reads") ? read_last("network/failed reads") : 0,
			texts[i].failures);
		stop_source();
		source->destroy(instance);
		instance = NULL;
		fake_reset();
	}
}

FIXTURE_TEST(newer_kernels_have_further_names)
{
	put_nothing();
	put("net/snmp", "Tcp: A B\nTcp: 1 2\n");
	create_and_start();
	put("net/snmp", "Tcp: A New B\nTcp: 1 9 3\n");
	run_pass();
	assert_int_equal(read_last("network/protocols/Tcp/New"), 9);
	assert_int_equal(read_last("network/protocols/Tcp/B"), 3);
	assert_int_equal(read_count("network/protocols/Tcp/A"), 1);
}

/* ---- interfaces ---- */

FIXTURE_TEST(interfaces_appear_disappear_and_move)
{
	put_laptop();
	create_and_start();
	put("net/dev", HEADING " veth7: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
	run_pass();
	assert_int_equal(read_last("network/interfaces/veth7/tx packets"), 10);
	assert_int_equal(read_count("network/interfaces/eth0/rx bytes"), 2);
	assert_int_equal(read_last("network/interfaces/eth0/rx bytes"), 456711456);
	put("net/dev", HEADING "  eth0: 5 8227 1 2 0 0 0 5 319955 4678 3 4 0 0 0 0\n"
			       "    lo: 7 2 0 0 0 0 0 0 100 2 0 0 0 0 0 0\n");
	run_pass();
	assert_int_equal(read_last("network/interfaces/eth0/rx bytes"), 5);
	assert_int_equal(read_last("network/interfaces/lo/rx bytes"), 7);
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

FIXTURE_TEST(files_that_are_missing)
{
	put("net/snmp", "Tcp: InErrs\nTcp: 2\n");
	create_and_start();
	assert_int_equal(read_last("network/protocols/Tcp/InErrs"), 2);
	/* net/snmp6 does not count: a kernel may lack IPv6. */
	assert_int_equal(read_last("network/failed reads"), 2);
	put_laptop();
	for (unsigned i = 0; i < COUNTER_FILE_RETRY; i++)
		run_pass();
	assert_int_equal(read_last("network/interfaces/eth0/rx bytes"), 456711456);
}

/* Further interfaces, protocols and names of counters are skipped. */
FIXTURE_TEST(limits)
{
	char *wanted[] = {(char[]){"rx bytes"}, (char[]){"P* *"}};
	char *dev, *snmp;
	size_t len;
	FILE *out = open_memstream(&dev, &len);

	fputs(SHORT_HEADING, out);
	for (unsigned i = 0; i < NETWORK_LINKS_MAX + 2; i++)
		fprintf(out, "veth%u: %u 0 0\n", i, i);
	fclose(out);
	out = open_memstream(&snmp, &len);
	for (unsigned i = 0; i <= NETWORK_PROTOCOLS_MAX; i++)
		fprintf(out, "P%u: A\nP%u: 1\n", i, i);
	fclose(out);
	put_nothing();
	put("net/dev", dev);
	put("net/snmp", snmp);
	free(dev);
	free(snmp);
	stats.counters = wanted;
	stats.n_counters = 2;
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	finish_pass();
	assert_int_equal(rig_poll()->errors.failures, 4);
	assert_int_equal(tracks_counts(rig_poll()->tracks).values,
			 NETWORK_LINKS_MAX + NETWORK_PROTOCOLS_MAX + 1); /* "failed reads" */
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
	assert_null(read_find("network/interfaces/lo"));
}

/* An hour at ten a second, with an interface that appears and one that disappears every ten
 * seconds. */
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
