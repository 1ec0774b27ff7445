#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# Temperatures and frequencies of a board, by both families with one config: directories of the test lie over /sys/class and
# /sys/devices/system/cpu, in a mount namespace of its own, so that both programs see them. The same counters by the same
# names with the same values; what ours alone records is named here.
set -u
if [ -z "${IN_NAMESPACE:-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 77; }
  unshare -m true 2>/dev/null || { echo "no mount namespaces here" >&2; exit 77; }
  IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

class=$TMP/class cpus=$TMP/cpu devices=$TMP/devices
put() { # FILE TEXT
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "$2" >"$1"
}
# A device as /sys has it: the class has a link to its directory.
device() { # CLASS NAME
  mkdir -p "$devices/$2" "$class/$1"
  ln -sf "$devices/$2" "$class/$1/$2"
}

i=0
for zone in "cpu-0-0 45123" "soc 99999" "soc 1000" "battery 0"; do
  device thermal thermal_zone$i
  put "$devices/thermal_zone$i/type" "${zone% *}"
  put "$devices/thermal_zone$i/temp" "${zone#* }"
  i=$((i + 1))
done
device thermal cooling_device0
put "$devices/cooling_device0/type" Processor
for bus in "17000010.devfreq_mif 1539000" "1c500000.mali 800000000" "memlat 18446744073"; do
  device devfreq "${bus% *}"
  put "$devices/${bus% *}/cur_freq" "${bus#* }"
done
for i in 0 1 2 3; do
  put "$cpus/cpu$i/cpufreq/scaling_cur_freq" $((300000 + i * 1000))
  put "$cpus/cpu$i/cpuidle/state0/name" WFI
  put "$cpus/cpu$i/cpuidle/state0/time" $((i * 7777777))
  put "$cpus/cpu$i/cpuidle/state1/name" cpu-sleep
  put "$cpus/cpu$i/cpuidle/state1/time" 123456789012
done
for list in online possible present; do put "$cpus/$list" 0-3; done
put "$class/kgsl/kgsl-3d0/devfreq/cur_freq" 585000000
if ! mount --bind "$class" /sys/class 2>/dev/null || ! mount --bind "$cpus" /sys/devices/system/cpu; then
  echo "nothing can be mounted over /sys/class" >&2
  exit 77
fi

periods() { for p in "$@"; do echo "${p}_period_ms: 100"; done; }
config() { # NAME PERIOD...
  local name=$1
  shift
  printf '%s\n' 'buffers { size_kb: 1024 }' 'duration_ms: 450' 'data_sources { config { name: "linux.sys_stats" sys_stats_config {' \
    "$(periods "$@")" '} } }' >"$TMP/$name.config"
}
config all thermal devfreq cpufreq cpuidle gpufreq
config gpu gpufreq

# One line a counter, "own" before those of ours that any source of track events could have made: its name with its CPU,
# every value that it had; after them "error" and what trace_processor complains about.
counters() { # TRACE
  query "$1" "select iif(t.type = 'global_counter_track_event', 'own', t.type) || ' ' || t.name || ' ' ||
      coalesce(extract_arg(t.dimension_arg_set_id, 'cpu'), '-') || ' ' || (select group_concat(value) from
        (select distinct printf('%.0f', value) as value from counter where track_id = t.id order by 1)) ||
      iif(count(*) > 1 or t.type = 'global_counter_track_event', '', ' once') as line
    from counter c join counter_track t on c.track_id = t.id group by t.id" \
    "select 'error ' || name as line from stats where severity = 'error' and value > 0" |
    node -e 'for (const rows of require("fs").readFileSync(0, "utf8").trim().split("\n"))
      for (const row of JSON.parse(rows)) console.log(row.line)' | LC_ALL=C sort
}

# The whole board with an Adreno; then the same with Intel's GPU, then with AMD's.
record_boards() { # FAMILY
  local dir=$TMP/$1
  mkdir -p "$dir"
  use_sockets "$dir"
  put "$class/kgsl/kgsl-3d0/devfreq/cur_freq" 585000000
  start_service "$1" "$dir" && start_probes "$1" "$dir" && record "$1" "$TMP/all.config" "$dir/all.trace" "$dir/log" &&
    rm -r "$class/kgsl" && put "$class/drm/card0/gt_act_freq_mhz" 1150 &&
    record "$1" "$TMP/gpu.config" "$dir/intel.trace" "$dir/log" &&
    rm -r "$class/drm" && put "$class/drm/card0/device/pp_dpm_sclk" $'0: 300Mhz\n1: 1304Mhz *\n2: 2000Mhz' &&
    record "$1" "$TMP/gpu.config" "$dir/amd.trace" "$dir/log"
  verdict "$1 records three boards" $? "$dir/log"
  stop_all
  rm -r "$class/drm"
}
record_boards perfetto
record_boards sonda

for board in all intel amd; do
  for family in perfetto sonda; do counters "$TMP/$family/$board.trace" >"$TMP/$family.$board"; done
  diff "$TMP/perfetto.$board" <(grep -v '^own ' "$TMP/sonda.$board") >"$TMP/diff" && grep -q gpufreq "$TMP/sonda.$board"
  verdict "$board: the same counters with the same values" $? "$TMP/diff"
  ! grep -q '^error' "$TMP/sonda.$board"
  verdict "$board: trace_processor has no complaint" $? "$TMP/sonda.$board"
done
# trace_processor has zones of one type on one track.
[ "$(grep -vc '^own' "$TMP/sonda.all")" = $((3 + 3 + 4 + 8 + 1)) ]
verdict "each zone, bus, CPU, idle state and GPU is among them" $? "$TMP/sonda.all"

grep '^own ' "$TMP/sonda.all" >"$TMP/own"
diff - "$TMP/own" >"$TMP/diff" <<'END'
own battery (thermal_zone3) - 0
own cpu-0-0 (thermal_zone0) - 45123
own soc (thermal_zone1) - 99999
own soc (thermal_zone2) - 1000
END
verdict "ours alone has each zone in thousandths of a degree" $? "$TMP/diff"
exit $BAD
