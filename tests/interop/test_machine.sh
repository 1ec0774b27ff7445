#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# What the machine is and has: the same config under Perfetto's traced_probes and under ours, and the same values in
# trace_processor. Where this machine has nothing to show, directories of the test lie over those of the kernel, in a mount
# namespace of its own, so that both programs see them.
set -u
if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
  unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; exit 77; }
  IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

put() { # FILE TEXT
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$2" >"$1"
}

errors="select name, idx, value from stats where severity = 'error' and value > 0"

# Records with our service and one family's probes; the rows of a query are then in $TMP/FAMILY.rows.
record_one() { # FAMILY WHAT CONFIG SQL [COMMAND...]
  local family=$1
  mkdir -p "$TMP/$family"
  use_sockets "$TMP/$family"
  start_service sonda "$TMP/$family" && start_probes "$family" "$TMP/$family" &&
    record sonda "$3" "$TMP/$family.trace" "$TMP/$family.log" "${@:5}"
  verdict "$2: $family records" $? "$TMP/$family.log"
  stop_all
  query "$TMP/$family.trace" "$errors" "$4" >"$TMP/$family.rows"
  [ "$(head -n 1 "$TMP/$family.rows")" = '[]' ]
  verdict "$2: trace_processor has no complaint about $family's" $? "$TMP/$family.rows"
  sed -i 1d "$TMP/$family.rows"
}

record_both() { # WHAT CONFIG SQL
  record_one sonda "$@"
  record_one perfetto "$@"
  diff "$TMP/perfetto.rows" "$TMP/sonda.rows" >"$TMP/diff" && grep -q '{' "$TMP/sonda.rows"
  verdict "$1: the same rows" $? "$TMP/diff"
}

# ---- batteries

supplies=$TMP/supplies
battery() { # NAME
  put "$supplies/$1/type" Battery
  put "$supplies/$1/present" 1
  put "$supplies/$1/charge_now" 2710000
  put "$supplies/$1/capacity" 87
  put "$supplies/$1/current_now" -1500000
  put "$supplies/$1/energy_now" 31000000
  put "$supplies/$1/voltage_now" 11700000
}
batteries="select t.name as name, min(c.value) as low, max(c.value) as high, count(*) > 1 as many
  from counter c join track t on c.track_id = t.id where t.name glob 'batt*' group by 1 order by 1"

sed 's/^duration_ms:.*/duration_ms: 1200/; s/name: "linux.sysfs_power"/& android_power_config { battery_poll_ms: 250 }/' \
  configs/power.cfg >"$TMP/power.cfg"
if mkdir "$supplies" && mount --bind "$supplies" /sys/class/power_supply 2>/dev/null; then
  battery BAT0
  put "$supplies/AC/type" Mains
  put "$supplies/AC/online" 1
  record_both "a battery" "$TMP/power.cfg" "$batteries"
  grep -q '"name":"batt.current_ua","low":-1500000,"high":-1500000' "$TMP/sonda.rows"
  verdict "a battery: a current below zero" $? "$TMP/sonda.rows"

  battery BAT1
  put "$supplies/BAT1/current_now" 250000
  record_both "two batteries" "$TMP/power.cfg" "$batteries"

  # The average is a value of its own; upstream writes it over the current.
  put "$supplies/BAT1/current_avg" 240000
  record_one sonda "one goes" "$TMP/power.cfg" "$batteries" -- sh -c 'sleep 0.6 && rm -r "$1" && sleep 0.6' sh "$supplies/BAT0"
  grep -q 'BAT1.current_ua","low":250000,"high":250000' "$TMP/sonda.rows" &&
    grep -q 'BAT1.current.avg_ua","low":240000' "$TMP/sonda.rows"
  verdict "one goes: an average current beside the current" $? "$TMP/sonda.rows"
  umount /sys/class/power_supply
else
  skip "batteries" "nothing can be mounted over /sys/class/power_supply"
fi

# ---- processors and interrupts

# The two messages as text, without what is ours alone: a model where Perfetto says unknown, and fields of our own.
machine_of() { # FAMILY
  protoc -Iprotos --decode=perfetto.protos.Trace trace/trace.proto <"$TMP/$1.trace" 2>/dev/null |
    awk '/^  (cpu_info|interrupt_info) {/ { on = 1 } on && /x86_identifier {/ { skip = 1 }
      on && !skip && !/processor:|feature_words:/ { print } /^ *}/ && skip { skip = 0; next } /^  }/ { on = 0 }'
}
same_messages() { # WHAT ENTRIES_AT_LEAST
  machine_of perfetto >"$TMP/perfetto.text"
  machine_of sonda >"$TMP/sonda.text"
  diff "$TMP/perfetto.text" "$TMP/sonda.text" >"$TMP/diff" && [ "$(grep -c '{' "$TMP/sonda.text")" -ge "$2" ]
  verdict "$1: the same messages" $? "$TMP/diff"
}
processors="select c.cpu, c.cluster_id, c.capacity, (select group_concat(freq) from cpu_available_frequencies f
  where f.ucpu = c.ucpu) as khz from cpu c order by 1"

# Four small processors and four big ones.
board=$TMP/board
for i in 0 1 2 3 4 5 6 7; do
  if [ $i -lt 4 ]; then part=0x803 capacity=398 khz='300000 576000 1766400 ' boost=
  else part=0x802 capacity=1024 khz='825600 2649600 ' boost='2803200 '; fi
  printf 'processor\t: %s\nBogoMIPS\t: 38.40\nFeatures\t: fp asimd aes\nCPU implementer\t: 0x51\nCPU architecture: 8\n' $i
  printf 'CPU variant\t: 0x7\nCPU part\t: %s\nCPU revision\t: 12\n\n' $part
  put "$board/cpu/cpu$i/cpu_capacity" $capacity
  put "$board/cpu/cpu$i/cpufreq/scaling_available_frequencies" "$khz"
  put "$board/cpu/cpu$i/cpufreq/scaling_boost_frequencies" "$boost"
done >"$TMP/cpuinfo"
for list in online possible present; do put "$board/cpu/$list" 0-7; done
cat >"$TMP/interrupts" <<'END'
           CPU0       CPU1
 11:       9120       1288     GICv3  30 Level     arch_timer
 14:          0          0     GICv3 118 Level     qcom,apps_rsc
 48:          3          1     PCI-MSI 524288 Edge      nvme0q0
IPI0:       120        231       Rescheduling interrupts
Err:          0
END

if ! command -v protoc >/dev/null; then
  skip "processors" "protoc is missing"
else
  record_both "this machine" configs/system_info.cfg "$processors"
  same_messages "this machine" 3
  if mount --bind "$board/cpu" /sys/devices/system/cpu 2>/dev/null &&
    mount --bind "$TMP/cpuinfo" /proc/cpuinfo && mount --bind "$TMP/interrupts" /proc/interrupts; then
    record_both "a board" configs/system_info.cfg "$processors"
    same_messages "a board" 21
    grep -q '"cpu":7,"cluster_id":1,"capacity":1024,"khz":"825600,2649600,2803200"' "$TMP/sonda.rows"
    verdict "a board: its processors in trace_processor" $? "$TMP/sonda.rows"
    umount /proc/interrupts /proc/cpuinfo /sys/devices/system/cpu
  fi
fi

exit $BAD
