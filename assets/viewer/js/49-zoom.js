// Where a visitor has zoomed to in a plot, by clock and axis. Plotly forgets it as soon as a race makes an axis longer, and
// with the next run; here it stays until the visitor lets go of it, or a run has ended of which it shows nothing.

class Zoom {
  constructor(plot) {
    this.plot = plot;
    this.forget();
  }

  forget() {
    this.ranges = { pass: {}, time: {} };
    this.home = {}; // the axes of the drawing that is there, and their own ranges
  }

  // The layout with the visitor's ranges in place of its own.
  within(layout, clock) {
    this.read();
    this.clock = clock;
    this.home = Object.fromEntries(Object.entries(layout).filter(([, part]) => Array.isArray(part?.range)).map(([name, { range }]) => [name, range]));
    const chosen = this.ranges[clock];
    for (const name of Object.keys(chosen)) if (!this.home[name] || !(player.live || meet(chosen[name], this.home[name]))) delete chosen[name];
    // copies, since Plotly writes into them; and it is not to keep ranges of its own
    const axes = Object.entries(this.home).map(([name, range]) => [name, { ...layout[name], range: [...(chosen[name] ?? range)], uirevision: false }]);
    return { ...layout, ...Object.fromEntries(axes) };
  }

  // What the visitor has done since.
  read() {
    for (const [name, home] of Object.entries(this.home)) {
      const { range } = this.plot.layout[name];
      if (String(range) === String(home)) delete this.ranges[this.clock][name];
      else this.ranges[this.clock][name] = [...range];
    }
  }
}

// Whether two ranges have a part in common; an axis may run downwards.
function meet(one, other) {
  return Math.min(...one) < Math.max(...other) && Math.min(...other) < Math.max(...one);
}
