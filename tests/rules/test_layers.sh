#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each folder of src/ includes only what the arrows of docs/architecture.md allow, and words shared between processes
# are touched in two files only.
set -u
cd "$(dirname "$0")/../.." || exit 2

allowed() {
  case $1 in
  base) echo "base" ;;
  wire) echo "wire base" ;;
  config) echo "config wire base" ;;
  client | service) echo "$1 config wire base" ;;
  ebpf) echo "ebpf bpf client config wire base" ;;
  ftrace | procfs) echo "$1 client config wire base" ;;
  probes) echo "probes ftrace procfs ebpf client config wire base" ;;
  analyze) echo "analyze wire base" ;;
  cli) echo "cli analyze client config wire base" ;;
  *) echo "" ;;
  esac
}

n=0 bad=0
verdict() { # NAME OFFENDERS
  n=$((n + 1))
  if [ -z "$2" ]; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    printf '%s\n' "$2" | sed 's/^/#   /'
    bad=1
  fi
}

for dir in src/*/; do
  layer=$(basename "$dir")
  may=$(allowed "$layer")
  # Headers made from protos/ (*.pb-c.h, gen/) belong to no layer.
  offenders=$(grep -HnE '^#include "' "$dir"*.[ch] | grep -v '\.pb-c\.h"' | while IFS= read -r line; do
    path=${line#*\"}
    path=${path%\"*}
    folder=${path%%/*}
    case " gen $may " in *" $folder "*) ;; *) echo "$line" ;; esac
  done)
  verdict "src/$layer includes only: ${may:-?}" "$offenders"
done

verdict "atomics are in wire/smb.h and client/arbiter.c only" \
  "$(grep -lE '_Atomic|memory_order' src/*/*.[ch] | grep -vxE 'src/wire/smb\.h|src/client/arbiter\.c')"
verdict "libraries return errors, they do not log" \
  "$(grep -nE '\blog_(error|warn|info|debug)\(' src/{wire,config,analyze}/*.c)"
exit $bad
