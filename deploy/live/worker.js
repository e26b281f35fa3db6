"use strict";
// Plays kernels that were compiled for browsers, away from the page. What each is called with was prepared by the lab;
// here it is only copied to where the kernel reads it.
const bytes_of = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
const product = shape => shape.reduce((one, other) => one * other, 1);
const AT_ONCE = 64, BETWEEN = 200; // most runs in one call of a kernel, and milliseconds between two news of them

function held(kernel, bytes) {
  const place = kernel.allocate(bytes.length);
  if (!place) throw new Error("the browser gives no more memory");
  new Uint8Array(kernel.memory.buffer, place, bytes.length).set(bytes);
  return place;
}

// An array as compiled code takes it: owners (nobody), size, size of an item, place, shape, strides.
function array(place, shape, item = 8) {
  const strides = shape.map((_, axis) => item * product(shape.slice(axis + 1)));
  return [0, 0, BigInt(product(shape)), BigInt(item), place, ...shape.map(BigInt), ...strides.map(BigInt)];
}

function taken(kernel, [kind, shape, text]) {
  const bytes = bytes_of(text), view = new DataView(bytes.buffer);
  if (shape) return array(held(kernel, bytes), shape, +kind.slice(1));
  return [{ f8: () => view.getFloat64(0, true), i8: () => view.getBigInt64(0, true), b1: () => view.getUint8(0) }[kind]()];
}

// Runs `first` to `first + runs - 1`: regret and pulls of best arms (runs x checkpoints), and all pulls (runs x arms).
function play(kernel, call, times, seed, first, runs) {
  const checkpoints = times[1][0], shapes = [[runs, checkpoints], [runs, checkpoints], [runs, call.arms], [runs, 0]];
  const state = held(kernel, new Uint8Array(64 * runs));
  kernel.streams(BigInt(seed), first, runs, state);
  const places = shapes.map(shape => held(kernel, new Uint8Array(8 * product(shape))));
  const record = [...taken(kernel, times), ...shapes.flatMap((shape, each) => array(places[each], shape)),
    ...array(held(kernel, new Uint8Array(16)), [2])];
  const given = call.arguments.flatMap(each => taken(kernel, each));
  const answer = [held(kernel, new Uint8Array(8)), held(kernel, new Uint8Array(8))];
  if (kernel.play(...answer, ...array(state, [runs, 8]), ...given, ...record)) throw new Error("the kernel gave up");
  const [regret, best, pulls] = shapes.map((shape, each) => new Float64Array(kernel.memory.buffer, places[each], product(shape)).slice());
  return { regret, best, pulls };
}

async function answer({ wasm, calls, times, seed, runs }) {
  for (const call of calls) {
    const module = await WebAssembly.compile(bytes_of(wasm[call.kernel]));
    for (let first = 0, group = 1; first < runs;) {
      const count = Math.min(group, runs - first), began = performance.now();
      const found = play(new WebAssembly.Instance(module, {}).exports, call, times, seed, first, count);
      postMessage({ line: call.line, first, count, ...found });
      first += count;
      group = Math.max(1, Math.min(AT_ONCE, Math.floor(count * BETWEEN / Math.max(.1, performance.now() - began))));
    }
  }
  postMessage({ done: true });
}

globalThis.onmessage = ({ data }) => answer(data).catch(error => postMessage({ error: String(error.message || error) }));
