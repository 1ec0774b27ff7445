#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: none
# check: long
#
# The case of README.md: examples/ledger.c stalls, the two commands name the code that waited and the code that held the
# mutex, and the page shows both. With PICTURE=FILE the picture of README.md is written there, and its report is printed.
. "$(dirname "$0")/lib.sh"

here=$PWD
gcc -O2 -o "$TMP/ledger" examples/ledger.c -pthread >"$TMP/log" 2>&1
verdict "the program is built" $? "$TMP/log"
cd "$TMP" || exit 1
"$BIN/sonda" record off-cpu -o ledger.pftrace -- ./ledger >"$TMP/log" 2>&1
verdict "it is recorded" $? "$TMP/log"
"$BIN/sonda" report why reader ledger.pftrace >"$TMP/why" 2>"$TMP/log"
verdict "report why reads it" $? "$TMP/log"
grep -qE '^ *[0-9.]+ ms .* asleep .* futex .* read_balance .* writer [0-9]+ .* save_entries .* reader [0-9]+$' "$TMP/why"
verdict "read_balance() waited for what save_entries() held" $? "$TMP/why"
"$BIN/sonda" report waits ledger.pftrace -p ledger >"$TMP/waits" 2>"$TMP/log"
grep -qE '^held up .* save_entries +ledger +fsync$' "$TMP/waits"
verdict "save_entries() waited for fsync" $? "$TMP/waits"
"$BIN/sonda" report --html ledger.pftrace -o ledger.html >"$TMP/log" 2>&1
verdict "the page is written" $? "$TMP/log"
[ -z "${PICTURE:-}" ] || "$BIN/sonda" report waits ledger.pftrace -p reader --by lock --top 1 | sed 's/^/# /'
cd "$here" || exit 1
if command -v chromium >/dev/null; then
  HOME=$TMP TMPDIR=$TMP timeout 100 python3 tests/page/stall_picture.py "$TMP/ledger.html" "${PICTURE:-$TMP/stall.png}" >"$TMP/log" 2>&1
  verdict "the page shows the wait with both stacks" $? "$TMP/log"
fi
exit $BAD
