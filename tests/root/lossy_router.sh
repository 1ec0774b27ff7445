# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Network namespaces A (10.71.1.1) and B (10.71.2.1), which R connects; its queue to B takes 20 kB and drops the rest. Segments
# are not merged, so that each event is of one segment. Sourced.
lossy_router() { # A B R RATE
  local a=$1 b=$2 r=$3
  ip netns add "$a" && ip netns add "$b" && ip netns add "$r" &&
    ip -n "$a" link add eth type veth peer name ra netns "$r" && ip -n "$b" link add eth type veth peer name rb netns "$r" &&
    ip -n "$a" addr add 10.71.1.1/24 dev eth && ip -n "$r" addr add 10.71.1.2/24 dev ra &&
    ip -n "$b" addr add 10.71.2.1/24 dev eth && ip -n "$r" addr add 10.71.2.2/24 dev rb &&
    ip -n "$a" link set eth up gso_max_segs 1 && ip -n "$b" link set eth up gso_max_segs 1 &&
    ip -n "$r" link set ra up gso_max_segs 1 && ip -n "$r" link set rb up gso_max_segs 1 &&
    ip -n "$a" route add default via 10.71.1.2 && ip -n "$b" route add default via 10.71.2.2 &&
    ip netns exec "$r" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' &&
    ip netns exec "$r" tc qdisc add dev rb root tbf rate "$4" burst 5kb limit 20k
}
