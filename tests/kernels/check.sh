#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: BUILD=DIR tests/kernels/check.sh [KERNEL...]        5.10 6.1 6.12 newest without a list
#
# Boots each kernel (boot.sh) and runs the tests of tests/root and of guest/ there. The traces that they leave in /out
# are brought here and read by Perfetto's trace_processor. Speaks TAP. A kernel that cannot be had is skipped, with the
# reason. TESTS='PATTERN...' chooses tests by their names without test_ and .sh, ALL=1 runs each of them on each kernel.
#
#     guest/test_NAME.sh           as in tests/root; asks the kernel, not its version, what it can do
#     # boot: OPTION...            a line in it: it has a boot of its own, with these options of boot.sh
#     # kernels: KERNEL...         a line in it: only there, where the kernels differ for it (none: with ALL=1 only)
#     # check: heavy             a line in it: only with HEAVY=1, as in make check-long, with ALL=1, or if TESTS names it
#     # build: modules            a line in it: those of tests/kernels/modules are there, to be loaded
#     # modules: NAME...           a line in it: these are loaded, with those that they need, when the guest boots
#     /out/NAME.pftrace            in the guest, with /out/NAME.sql beside it:
#     what is true<TAB>SELECT      each line a statement whose first column is 1 (in its one row)
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -gt 0 ] || set -- 5.10 6.1 6.12 newest
export BUILD=${BUILD:-build}

tmp=$(mktemp -d)
trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT
trap 'kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM HUP

# ---- which tests ---------------------------------------------------------------------------------------------------

is_chosen() { # FILE
  local name=${1##*/test_} pattern
  [ -n "${TESTS:-}" ] || return 0
  for pattern in $TESTS; do
    # A pattern is meant.
    # shellcheck disable=SC2053
    [[ ${name%.sh} != $pattern ]] || return 0
  done
  return 1
}
said_in() { # FILE WORD
  sed -n "s/^# $2: *//p" "$1"
}
tests_for() { # KERNEL: sets together (in one boot) and alone
  local t kernels
  together=() alone=()
  for t in "$root"/tests/root/test_*.sh "$here"/guest/test_*.sh; do
    [ -e "$t" ] && is_chosen "$t" || continue
    kernels=" $(said_in "$t" kernels) "
    [ -z "${ALL:-}" ] || kernels='  '
    case $kernels in '  ' | *" $1 "*) ;; *) continue ;; esac
    [ "$(said_in "$t" check)" != heavy ] || [ -n "${HEAVY:-}${ALL:-}${TESTS:-}" ] || continue
    if [ -n "$(said_in "$t" boot)" ]; then alone+=("$t"); else together+=("${t#"$root/"}"); fi
  done
}
module_options() { # FILE...
  local file
  for file; do said_in "$file" build; done | sed -n '1s/.*/-b /p'
  for file; do said_in "$file" modules; done | tr -s ' ' '\n' | sort -u | sed 's/^/-m /' | tr '\n' ' '
}

# ---- one kernel: TAP without numbers -------------------------------------------------------------------------------

skip_unavailable() { # KERNEL ERR
  echo "ok - $1 # SKIP $(sed 's/^kernels: //' "$2" | tail -n 1)"
}

boot() { # KERNEL WHAT BOOT_OPTION... -- TEST...
  local kernel=$1 what=$2 err=$tmp/$1-$2.err
  shift 2
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  "$here/boot.sh" -o "$tmp/$kernel" -t "${BOOT_TIMEOUT:-900}" "${options[@]}" "$kernel" -- \
    tests/kernels/guest.sh "$@" 2>"$err" </dev/null
  case $? in
  0) ;;
  77)
    skip_unavailable "$kernel" "$err"
    return 77
    ;;
  *)
    echo "not ok - $what: the guest ends well"
    sed 's/^/#   /' "$err"
    ;;
  esac
}

traces() { # KERNEL
  local trace name words=() what sql rows
  compgen -G "$tmp/$1/*.pftrace" >/dev/null || return
  [ -n "$TP_ASSETS" ] || { echo "ok - traces # SKIP $(tail -n 1 "$tmp/peers.err")"; return; }
  for trace in "$tmp/$1"/*.pftrace; do
    [ ${#words[@]} = 0 ] || words+=(--next)
    words+=("$trace" "select name, idx, value from stats where severity in ('error', 'data_loss') and value > 0")
    touch "${trace%.pftrace}.sql"
    while IFS=$'\t' read -r _ sql; do words+=("$sql"); done <"${trace%.pftrace}.sql"
  done
  node "$root/tests/interop/tpq.mjs" "${words[@]}" >"$tmp/$1/rows" 2>"$tmp/$1/rows.err"

  # Its lines are the answers, in the order of the questions.
  exec 7<"$tmp/$1/rows"
  for trace in "$tmp/$1"/*.pftrace; do
    name=$(basename "$trace" .pftrace)
    if read -r rows <&7 && [ "$rows" = '[]' ]; then
      echo "ok - trace of $name: no error, nothing lost"
    else
      echo "not ok - trace of $name: no error, nothing lost"
      printf '%s\n' "$rows" "$(cat "$tmp/$1/rows.err")" | sed 's/^/#   /'
    fi
    while IFS=$'\t' read -r what sql; do
      if read -r rows <&7 && [[ $rows =~ ^\[\{\"[^:]*\":1[,\}] ]]; then
        echo "ok - trace of $name: $what"
      else
        echo "not ok - trace of $name: $what"
        printf '#   %s\n' "$sql" "$rows"
      fi
    done <"${trace%.pftrace}.sql"
  done
  exec 7<&-
}

one_kernel() { # KERNEL
  local t began=$SECONDS options together alone
  mkdir -p "$tmp/$1"
  tests_for "$1"
  # Word splitting is intended.
  # shellcheck disable=SC2046
  [ ${#together[@]} = 0 ] ||
    boot "$1" tests $(module_options "${together[@]/#/$root/}") -- "${together[@]}" || return
  for t in "${alone[@]}"; do
    eval "options=($(said_in "$t" boot) $(module_options "$t"))"
    boot "$1" "$(basename "$t" .sh)" "${options[@]}" -- "${t#"$root/"}" || return
  done
  traces "$1"
  echo "# $1 took $((SECONDS - began)) s"
}

# ---- all of them at the same time, as each guest is one thread ------------------------------------------------------

TP_ASSETS=$("$root/tests/interop/peers.sh" 2>"$tmp/peers.err")/tp
[ -d "$TP_ASSETS" ] || TP_ASSETS=
export TP_ASSETS

# Passes the lines on. Lines with the duration of a test also go to the progress file of run.sh, or to stderr.
report_progress() { # KERNEL
  local line
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in '# '*' took '*) echo "Linux $1: ${line#\# }" >>"${TEST_PROGRESS:-/dev/stderr}" ;; esac
  done
}

pids=()
for kernel; do
  one_kernel "$kernel" | report_progress "$kernel" >"$tmp/$kernel.tap" &
  pids+=($!)
done
n=0 bad=0
for kernel; do
  wait "${pids[0]}"
  pids=("${pids[@]:1}")
  while IFS= read -r line; do
    case $line in
    'ok - '*) n=$((n + 1)) && line="ok $n - $kernel: ${line#ok - }" ;;
    'not ok - '*) n=$((n + 1)) bad=1 && line="not ok $n - $kernel: ${line#not ok - }" ;;
    esac
    echo "$line"
  done <"$tmp/$kernel.tap"
done
echo "1..$n"
exit $bad
