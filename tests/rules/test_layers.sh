#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Directories and rooms of src/ include only what the arrows of docs/internals/architecture.md allow: those between directories stand here,
# those between the rooms of a directory in tests/rules/rooms. No units include each other in a circle. Atomics are in few
# files only.
. "$(dirname "$0")/../lib.sh"

allowed() {
  case $1 in
  base) echo "base include" ;; # base/core/version.h: the number of the public header
  wire) echo "wire base" ;;
  config) echo "config wire base" ;;
  client | service) echo "$1 config wire base" ;;
  relay) echo "relay client wire base" ;;
  lib) echo "lib client wire base" ;;
  embed) echo "embed service config lib base" ;;
  ebpf) echo "ebpf bpf subjects client config wire base" ;;
  subjects) echo "subjects config wire base" ;;
  symbols) echo "symbols wire base" ;;
  procfs) echo "procfs subjects client config wire base" ;;
  ftrace) echo "ftrace symbols subjects client config wire base" ;;
  stacks) echo "stacks ebpf bpf symbols subjects client config wire base" ;;
  probes) echo "probes ftrace stacks procfs ebpf subjects client config wire base" ;;
  analyze) echo "analyze wire base" ;;
  import) echo "import ftrace stacks symbols subjects client config wire base" ;;
  cli) echo "cli analyze import symbols subjects client config wire base" ;;
  multicall) echo "multicall base" ;;
  *) echo "" ;;
  esac
}

# Headers made from protos/ (*.pb-c.h, gen/) belong to no layer.
all_includes=$(grep -nE '^#include "' src/*/*.[ch] src/*/*/*.[ch] /dev/null | grep -v '\.pb-c\.h"')
for dir in src/*/; do
  layer=$(basename "$dir")
  may=$(allowed "$layer")
  offenders=$(grep "^src/$layer/" <<<"$all_includes" | while IFS= read -r line; do
    path=${line#*\"}
    path=${path%\"*}
    directory=${path%%/*}
    case " gen $may " in *" $directory "*) ;; *) echo "$line" ;; esac
  done)
  no_offenders "src/$layer includes only: ${may:-?}" "$offenders"
done

# rooms SAY: each include that breaks the table of rooms, in one line. SAY is "arrow", "door", "unused" (exceptions that
# no include needs) or "circle" (the table itself).
rooms() {
  awk -v say="$1" '
    function room_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    function dir_of(path) { sub(/\/.*/, "", path); return path }
    /^#/ || NF == 0 { next }
    FILENAME ~ /rooms$/ {
      split($0, column, / *\| */)
      room = column[1]; sub(/ *$/, "", room)
      is_room[room] = 1
      n = split(column[2], list, " ")
      for (i = 1; i <= n; i++) { t = dir_of(room) "/" list[i]; arrow[room, list[i] == dir_of(room) ? list[i] : t] = 1 }
      n = split(column[3], list, " ")
      for (i = 1; i <= n; i++) door[room, list[i]] = 1
      next
    }
    FILENAME ~ /rooms_exceptions$/ { exception[$1, $2] = 1; next }
    {
      file = $0; sub(/:.*/, "", file); sub(/^src\//, "", file)
      header = $0; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
      from = room_of(file); to = room_of(header)
      if (dir_of(header) == "gen" || dir_of(header) == "bpf" || dir_of(header) == "include" || from == to) next
      if (!(from in is_room)) { if (say == "arrow") print file " is in no room of tests/rules/rooms"; next }
      if (!(to in is_room)) { if (say == "arrow") print file " includes " header ", which is in no room"; next }
      if (dir_of(from) == dir_of(to) && !((from, to) in arrow)) {
        if ((file, header) in exception) needed[file, header] = 1
        else if (say == "arrow") print file " includes " header ": there is no arrow from " from " to " to
        next
      }
      name = header; sub(/^.*\//, "", name); sub(/\.h$/, "", name)
      if (!((to, "*") in door) && !((to, name) in door) && say == "door")
        print file " includes " header ", which is no door of " to
    }
    END {
      if (say == "unused") for (x in exception) if (!(x in needed)) { sub(SUBSEP, " ", x); print x }
      if (say != "circle") exit
      # Takes away the rooms without arrows, until none is left or all that are left lie on circles.
      do {
        gone = 0
        for (r in is_room) {
          points = 0
          for (x in arrow) { split(x, e, SUBSEP); if (e[1] == r && e[2] != r && (e[2] in is_room)) points = 1 }
          if (!points) { delete is_room[r]; gone = 1 }
        }
      } while (gone)
      for (r in is_room) print r " lies on a circle of arrows, or points at one"
    }' tests/rules/rooms tests/rules/rooms_exceptions - <<<"$all_includes"
}
no_offenders "rooms include along the arrows of tests/rules/rooms" "$(rooms arrow)"
no_offenders "other rooms enter by a door" "$(rooms door)"
no_offenders "the arrows between rooms have no circle" "$(rooms circle)"
no_offenders "every exception of tests/rules/rooms_exceptions is needed" "$(rooms unused)"
no_offenders "no units include each other in a circle" "$(python3 tests/rules/check_circles.py 2>&1)"
no_offenders "C files begin with their licence, and includes are sorted" "$(python3 tests/rules/check_style.py 2>&1)"
no_offenders "no files use each other's functions in a circle, as the linker sees them" \
  "$(python3 tests/rules/check_link_circles.py "$B" 2>&1)"
no_offenders "every global of src/ has a user in another file of src/" \
  "$(python3 tests/rules/check_globals.py "$B" 2>&1)"
no_offenders "no two files of a directory have one name" "$(find src -name '*.c' |
  sed -E 's,^src/([^/]+)/(.*/)?([^/]+)$,\1/\3,' | sort | uniq -d)"

no_offenders "atomics are in wire/smb.h, client/transport/arbiter.c, service/output/{file_helper,write_thread}.c and the two libraries only" \
  "$(grep -lE '_Atomic|memory_order|\batomic_' src/*/*.[ch] src/*/*/*.[ch] |
    grep -vxE 'src/wire/smb\.h|src/client/transport/arbiter\.c|src/service/output/(file_helper|write_thread)\.c|src/(lib|embed)/.*')"
no_offenders "libraries return errors, they do not log" \
  "$(grep -nE '\blog_(error|warn|info|debug)\(' src/{wire,config,analyze}/*.c)"
no_offenders "libevent's objects are freed by base/event_loop/event_free.h only" \
  "$(grep -rnE '\bevent(_base)?_free\(' src | grep -v '^src/base/event_loop/event_free\.h:')"
exit $BAD
