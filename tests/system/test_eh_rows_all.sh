#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: heavy
#
# As test_eh_rows.sh, with large programs and libraries, as far as they are installed.
files=
for name in libcrypto.so.3 libstdc++.so.6 ld-linux-x86-64.so.2; do
  files+=" $(ldconfig -p 2>/dev/null | awk -v n="$name" '$1 == n && /x86-64/ { print $NF; exit }')"
done
for name in python3 node nginx redis-server openssl gdb; do
  file=$(readlink -f "/usr/bin/$name" || readlink -f "/usr/sbin/$name")
  [ "$(head -c 4 "$file" 2>/dev/null | tail -c 3)" != ELF ] || files+=" $file" # others are scripts
done
EXTRA_FILES="$files $(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null)" exec "$(dirname "$0")/test_eh_rows.sh"
