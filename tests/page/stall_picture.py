# SPDX-License-Identifier: Apache-2.0
#
# The picture of README.md: PAGE is `sonda report --html` of a recording of examples/ledger.c, PICTURE the PNG to write. It
# shows the longest wait of the thread "reader", but for the first one, with the code that waited and the code that ended it.
import sys

from browser import Browser


def main(page, picture):
    b = Browser(1200, 790)
    try:
        b.scheme('light')
        b.open(page, 'window.sonda && !document.getElementById("main").hidden')
        # The states of the thread, without the first fifth of the recording: the longest one that has both stacks. (A longer one
        # without may be a wait for a CPU.)
        shown = b.run('''(async () => {
            const { tree, view } = sonda, row = tree.list.find((r) => r.kind === "thread" && r.thread.name === "reader");
            const lane = row.thread.states, after = view.least + (view.most - view.least) / 5;
            const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const length = (i) => lane.end[i] - lane.start[i];
            const longest = Array.from({ length: lane.n }, (_, i) => i).filter((i) => lane.start[i] >= after)
              .sort((a, b) => length(b) - length(a)).slice(0, 100);
            for (const index of longest) {
              sonda.showWindow(lane.start[index] - 4 * length(index), lane.end[index] + 4 * length(index));
              sonda.select({ row, lane, index });
              document.activeElement.blur();
              await frame();
              if (document.querySelectorAll("#table .stack").length === 2)
                return true;
            }
            return false; })()''')
        assert shown, 'no wait of reader has both stacks'
        b.picture(picture)
    finally:
        b.close()


main(*sys.argv[1:])
