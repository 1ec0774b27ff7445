// SPDX-License-Identifier: Apache-2.0
// Colours of the canvases. The style sheet has those of the light and the dark theme; names get one of many hues.

const HUES = 18;

// fill, faint, state: as CSS has them; pixels: the same as numbers for an ImageData.
const colours = { dark: false, css: {}, fill: [], faint: [], state: [], pixels: new Map() };

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

function readColours() {
  const forced = document.documentElement.dataset.theme;
  const style = getComputedStyle(document.documentElement);
  colours.dark = forced ? forced === "dark" : darkScheme.matches;
  for (const name of ["ink", "dim", "line", "row", "row-focus", "paper", "accent", "running", "runnable", "blocked", "sleeping",
    "range", "counter", "counter-line", "on-fill"])
    colours.css[name] = style.getPropertyValue(`--${name}`).trim();
  for (let i = 0; i < HUES; i++) {
    // Neighbours in number are far apart in hue.
    const hue = (i * 137.508 + 250) % 360, step = i % 3;
    colours.fill[i] = colours.dark ? `oklch(${0.44 + 0.035 * step} 0.105 ${hue})` : `oklch(${0.86 - 0.045 * step} 0.095 ${hue})`;
    colours.faint[i] = colours.dark ? `oklch(0.33 0.02 ${hue})` : `oklch(0.93 0.012 ${hue})`;
  }
  colours.pixels.clear();
  if (flame.trees)
    drawFlame();
  colours.state = ["sleeping", "running", "runnable", "blocked", "sleeping"].map((name) => colours.css[name]);
}

const onePixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

// The four bytes of a colour, in the order of memory.
function pixelOf(colour) {
  let pixel = colours.pixels.get(colour);
  if (pixel === undefined) {
    onePixel.fillStyle = colour;
    onePixel.fillRect(0, 0, 1, 1);
    pixel = new Uint32Array(onePixel.getImageData(0, 0, 1, 1).data.buffer)[0];
    colours.pixels.set(colour, pixel);
  }
  return pixel;
}

function threadHue(thread) {
  return thread % HUES;
}

const textHues = new Map();

// Equal texts have equal hues in every trace.
function textHue(text) {
  let hue = textHues.get(text);
  if (hue === undefined) {
    hue = 5381;
    for (const c of text)
      hue = (hue * 33 + c.codePointAt(0)) % 1000003;
    textHues.set(text, hue %= HUES);
  }
  return hue;
}

// Of a string's number.
function nameHue(number) {
  return textHue(model.strings[number] || "");
}

function switchTheme() {
  document.documentElement.dataset.theme = colours.dark ? "light" : "dark";
  readColours();
  drawSoon(true);
  say(colours.dark ? "Dark theme" : "Light theme");
}
